//! The interfaces of one file and what is known of each: its name, its clock's last reading, and how many
//! packets it lost. A file of several sections declares its interfaces again in each.

use std::collections::HashMap;

use crate::notes::Notes;

/// Interfaces of a file whose packets have numbers of their own.
pub(super) const MOST_INTERFACES: usize = 1 << 16;

/// Characters of a name that are kept: Linux has 15, Windows' identifiers about 50.
const MOST_CHARACTERS: usize = 128;

/// An interface that packets were seen at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// Its name, as the capture has it.
    pub name: Option<String>,
    /// Number of its link type (the list of tcpdump.org).
    pub link_type: u16,
    /// Bytes of a frame that are captured at most, where that is limited.
    pub snap_length: Option<u32>,
    /// The kernel's number of it, where one capture of Linux's cooked packets has several.
    pub kernel_index: Option<u32>,
    /// Packets that the capture lost at it by its own account.
    pub lost: u64,
}

impl Interface {
    /// As a capture declares it; a snap length of zero limits nothing.
    pub(super) fn new(name: Option<&[u8]>, link_type: u16, snap_length: u32) -> Self {
        let text = name.map(|bytes| String::from_utf8_lossy(bytes));
        Self {
            name: text
                .map(|text| text.chars().take(MOST_CHARACTERS).collect::<String>())
                .filter(|name| !name.is_empty()),
            link_type,
            snap_length: (snap_length != 0).then_some(snap_length),
            kernel_index: None,
            lost: 0,
        }
    }
}

/// Packets that an interface lost.
#[derive(Clone, Copy, Debug, Default)]
struct Lost {
    /// In earlier sections.
    earlier: u64,
    /// In this one, as its packets tell.
    told: u64,
    /// The same packets, as its statistics tell.
    stated: u64,
}

impl Lost {
    fn in_all(self) -> u64 {
        self.earlier.saturating_add(self.told.max(self.stated))
    }
}

/// All interfaces of a file.
#[derive(Debug, Default)]
pub(super) struct Interfaces {
    all: Vec<Interface>,
    /// The latest time of each, in nanoseconds.
    latest: Vec<Option<u64>>,
    lost: Vec<Lost>,
    /// By place in a section, link type and name.
    declared: HashMap<(usize, u16, Option<String>), u16>,
    /// By the number that they were declared under, and the kernel's number.
    cooked: HashMap<(u16, u32), u16>,
    /// The last that was asked of `cooked`: packets come in rows.
    last_cooked: Option<((u16, u32), u16)>,
}

impl Interfaces {
    pub(super) fn all(&self) -> &[Interface] {
        &self.all
    }

    /// The number of the interface that a section declares at a place; none where there are too many. It
    /// is the interface of an earlier section that stood at the same place with the same name and link
    /// type: captures that rotate, or are concatenated, declare it anew.
    pub(super) fn declare(&mut self, place: usize, interface: Interface) -> Option<u16> {
        let key = (place, interface.link_type, interface.name.clone());
        if let Some(&number) = self.declared.get(&key) {
            let lost = &mut self.lost[usize::from(number)];
            let earlier = lost.in_all();
            *lost = Lost {
                earlier,
                ..Lost::default()
            };
            return Some(number);
        }
        let number = self.push(interface)?;
        self.declared.insert(key, number);
        Some(number)
    }

    /// The number of the interface that a cooked packet names; none where there are too many. The first
    /// takes the number that was declared for all of them.
    pub(super) fn cooked(&mut self, declared: u16, kernel_index: u32) -> Option<u16> {
        let key = (declared, kernel_index);
        if let Some((last, number)) = self.last_cooked
            && last == key
        {
            return Some(number);
        }
        let number = if let Some(number) = self.cooked.get(&key) {
            *number
        } else {
            let shared = &mut self.all[usize::from(declared)];
            let number = if shared.kernel_index.is_none() {
                shared.kernel_index = Some(kernel_index);
                declared
            } else {
                let mut another = shared.clone();
                another.kernel_index = Some(kernel_index);
                another.lost = 0;
                self.push(another)?
            };
            self.cooked.insert(key, number);
            number
        };
        self.last_cooked = Some((key, number));
        Some(number)
    }

    /// The time of a frame at an interface, in nanoseconds.
    #[inline]
    pub(super) fn clock(&mut self, number: u16, time: u64, notes: &mut Notes) {
        let latest = &mut self.latest[usize::from(number)];
        if let Some(before) = *latest
            && time < before
        {
            notes.steps_back += 1;
            notes.largest_step_back = notes.largest_step_back.max(before - time);
        }
        *latest = Some(time);
    }

    /// A packet says how many were lost before it.
    pub(super) fn lost_before_packet(&mut self, number: u16, packets: u64) {
        let lost = &mut self.lost[usize::from(number)];
        lost.told = lost.told.saturating_add(packets);
        self.all[usize::from(number)].lost = lost.in_all();
    }

    /// Statistics say how many were lost since the capture began: the last to come has the most.
    pub(super) fn lost_so_far(&mut self, number: u16, packets: u64) {
        let lost = &mut self.lost[usize::from(number)];
        lost.stated = lost.stated.max(packets);
        self.all[usize::from(number)].lost = lost.in_all();
    }

    /// Packets lost over all interfaces.
    pub(super) fn lost(&self) -> u64 {
        let each = self.all.iter().map(|interface| interface.lost);
        each.fold(0, u64::saturating_add)
    }

    fn push(&mut self, interface: Interface) -> Option<u16> {
        let number = u16::try_from(self.all.len()).ok()?;
        self.all.push(interface);
        self.latest.push(None);
        self.lost.push(Lost::default());
        Some(number)
    }
}
