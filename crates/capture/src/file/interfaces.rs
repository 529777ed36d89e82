//! The interfaces of one file: names, latest times and losses. Each section of a file declares its
//! interfaces again, and the same interface keeps its number.

use std::collections::HashMap;

use crate::notes::Notes;

/// Maximum number of interfaces of a file, because their numbers have 16 bits.
pub(super) const MOST_INTERFACES: usize = 1 << 16;

/// Maximum number of characters of a stored name. Linux has 15; identifiers of Windows have about
/// 50.
const MOST_CHARACTERS: usize = 128;

/// An interface at which packets were captured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// Name of the interface in the capture.
    pub name: Option<String>,
    /// Number of the link type (the list of tcpdump.org).
    pub link_type: u16,
    /// Maximum number of captured bytes of a frame; `None` if it is not limited.
    pub snap_length: Option<u32>,
    /// Index of the interface in the kernel, if one Linux cooked capture has several interfaces.
    pub kernel_index: Option<u32>,
    /// Packets that the capture lost at the interface by its own account.
    pub lost: u64,
}

impl Interface {
    /// An interface as a capture declares it. A snap length of zero means no limit.
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
    /// Losses of earlier sections.
    earlier: u64,
    /// Losses of this section, as its packets report them.
    told: u64,
    /// The same losses, as the statistics of the section report them.
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
    /// Latest time of each interface, in nanoseconds.
    latest: Vec<Option<u64>>,
    lost: Vec<Lost>,
    /// Interface numbers by place in a section, link type and name.
    declared: HashMap<(usize, u16, Option<String>), u16>,
    /// Interface numbers by declared number and kernel index.
    cooked: HashMap<(u16, u32), u16>,
    /// Last result of `cooked`, because consecutive packets often have the same interface.
    last_cooked: Option<((u16, u32), u16)>,
}

impl Interfaces {
    pub(super) fn all(&self) -> &[Interface] {
        &self.all
    }

    /// The number of the interface that a section declares at a place; `None` if there are too
    /// many. An interface with the same place, name and link type as in an earlier section keeps
    /// its number. Rotated or concatenated captures declare it again.
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

    /// The number of the interface that a cooked packet names; `None` if there are too many. The
    /// first kernel index takes the declared number.
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

    /// Processes the time of a frame at an interface, in nanoseconds.
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

    /// Adds the losses that a packet reports.
    pub(super) fn lost_before_packet(&mut self, number: u16, packets: u64) {
        let lost = &mut self.lost[usize::from(number)];
        lost.told = lost.told.saturating_add(packets);
        self.all[usize::from(number)].lost = lost.in_all();
    }

    /// Processes the losses that statistics report since the capture began. The largest count is
    /// the latest.
    pub(super) fn lost_so_far(&mut self, number: u16, packets: u64) {
        let lost = &mut self.lost[usize::from(number)];
        lost.stated = lost.stated.max(packets);
        self.all[usize::from(number)].lost = lost.in_all();
    }

    /// Lost packets of all interfaces.
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
