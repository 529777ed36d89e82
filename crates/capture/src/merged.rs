//! Several captures as one, in order of time: both sides of a queue, or a capture that was rotated.
//! Interfaces are numbered over all files.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::error::CaptureError;
use crate::file::{Interface, Progress, Reader};
use crate::notes::Notes;
use crate::packet::Packet;

/// Reads several captures in order of time.
///
/// Packets of the same time come in the order of their files. Where a clock stepped backward within a file
/// ([`Notes::steps_back`]) its packets stay in the order of the file.
#[derive(Debug)]
pub struct Merged {
    files: Vec<File>,
    /// Of each file that goes on, the time of its next packet and its place.
    next: BinaryHeap<Reverse<(u64, usize)>>,
    /// Files and their interfaces, by number.
    interfaces: Vec<(usize, usize)>,
    dropped: bool,
    /// What is told once the packets before it have been.
    failed: Option<CaptureError>,
}

#[derive(Debug)]
struct File {
    reader: Reader,
    ahead: Option<Packet>,
    /// Whether that packet was dropped.
    dropped: bool,
    /// Numbers over all files, by the file's own.
    numbers: Vec<u16>,
    /// By how many nanoseconds its times are ahead of those of the other files.
    ahead_by: i64,
}

/// Several captures as one; see [`Merged`].
///
/// # Errors
/// Where one of them is damaged before its first packet.
pub fn merged(readers: Vec<Reader>) -> Result<Merged, CaptureError> {
    let level = vec![0; readers.len()];
    merged_level(readers, &level)
}

/// Several captures as one, where the times of some are ahead of the others': by another clock, or because
/// they were taken further down the same way. So many nanoseconds are taken off the times of each file; a file
/// beyond the list is not ahead.
///
/// # Errors
/// Where one of them is damaged before its first packet.
pub fn merged_level(readers: Vec<Reader>, ahead_by: &[i64]) -> Result<Merged, CaptureError> {
    let mut merged = Merged {
        files: Vec::with_capacity(readers.len()),
        next: BinaryHeap::with_capacity(readers.len()),
        interfaces: Vec::new(),
        dropped: false,
        failed: None,
    };
    for (place, reader) in readers.into_iter().enumerate() {
        merged.files.push(File {
            reader,
            ahead: None,
            dropped: false,
            numbers: Vec::new(),
            ahead_by: ahead_by.get(place).copied().unwrap_or(0),
        });
        merged.advance(place)?;
        // Those that stand before its first packet have their numbers in the order of the files.
        merged.number(place)?;
    }
    Ok(merged)
}

impl Merged {
    /// The next packet; none at the end of all files.
    ///
    /// # Errors
    /// Where a file is damaged, once: nothing comes behind.
    #[expect(
        clippy::should_implement_trait,
        reason = "errors come between packets and the end"
    )]
    pub fn next(&mut self) -> Result<Option<Packet>, CaptureError> {
        if let Some(error) = self.failed.take() {
            self.next.clear();
            return Err(error);
        }
        if self.files.len() == 1 {
            return self.only();
        }
        let Some(Reverse((_, place))) = self.next.pop() else {
            return Ok(None);
        };
        let Some(mut packet) = self.files[place].ahead.take() else {
            return Ok(None);
        };
        self.dropped = self.files[place].dropped;
        let own = usize::from(packet.interface);
        if own >= self.files[place].numbers.len() {
            self.number(place)?;
        }
        packet.interface = self.files[place].numbers[own];
        self.failed = self.advance(place).err();
        Ok(Some(packet))
    }

    /// The next packet of a single file, which competes with none.
    fn only(&mut self) -> Result<Option<Packet>, CaptureError> {
        // Its first packet stands here until it is over.
        if self.next.is_empty() {
            return Ok(None);
        }
        let file = &mut self.files[0];
        let mut packet = if let Some(first) = file.ahead.take() {
            self.dropped = file.dropped;
            first
        } else {
            let read = file.reader.next();
            self.dropped = file.reader.was_dropped();
            let Ok(Some(mut packet)) = read else {
                self.next.clear();
                return read;
            };
            packet.time = level(packet.time, file.ahead_by);
            packet
        };
        let own = usize::from(packet.interface);
        if own >= file.numbers.len() {
            self.number(0)?;
        }
        packet.interface = self.files[0].numbers[own];
        Ok(Some(packet))
    }

    /// Whether the packet that came last was dropped, as its comment says.
    pub fn was_dropped(&self) -> bool {
        self.dropped
    }

    /// How far all files have been read together.
    pub fn progress(&self) -> Progress {
        let none = Progress {
            read: 0,
            size: Some(0),
        };
        self.files.iter().fold(none, |sum, file| {
            let one = file.reader.progress();
            Progress {
                read: sum.read + one.read,
                size: sum.size.zip(one.size).map(|(sum, size)| sum + size),
            }
        })
    }

    /// What was found beside packets in all files together, so far.
    pub fn notes(&self) -> Notes {
        let mut notes = Notes::default();
        for file in &self.files {
            notes.add(&file.reader.notes());
        }
        notes
    }

    /// The files and their notes, in the order that they were given in.
    pub fn readers(&self) -> impl Iterator<Item = &Reader> {
        self.files.iter().map(|file| &file.reader)
    }

    /// The place of the file and the interface that [`Packet::interface`] is the number of.
    pub fn interface(&self, number: u16) -> Option<(usize, &Interface)> {
        let &(place, own) = self.interfaces.get(usize::from(number))?;
        let interface = self.files[place].reader.interfaces().get(own)?;
        Some((place, interface))
    }

    /// Reads on in a file.
    fn advance(&mut self, place: usize) -> Result<(), CaptureError> {
        let file = &mut self.files[place];
        file.ahead = file.reader.next()?;
        file.dropped = file.reader.was_dropped();
        if let Some(packet) = &mut file.ahead {
            packet.time = level(packet.time, file.ahead_by);
            self.next.push(Reverse((packet.time, place)));
        }
        Ok(())
    }

    /// Gives numbers to the interfaces of a file that have none yet.
    fn number(&mut self, place: usize) -> Result<(), CaptureError> {
        let file = &mut self.files[place];
        for own in file.numbers.len()..file.reader.interfaces().len() {
            let Ok(number) = u16::try_from(self.interfaces.len()) else {
                self.next.clear();
                return Err(CaptureError::TooManyInterfaces {
                    name: file.reader.name().to_owned(),
                    most: 1 << 16,
                });
            };
            file.numbers.push(number);
            self.interfaces.push((place, own));
        }
        Ok(())
    }
}

fn level(time: u64, ahead_by: i64) -> u64 {
    time.saturating_add_signed(ahead_by.saturating_neg())
}
