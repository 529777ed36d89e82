//! Merges several captures in order of time: both sides of a queue, or the files of a rotated
//! capture. Interfaces are numbered over all files.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::error::CaptureError;
use crate::file::{Interface, Progress, Reader};
use crate::notes::Notes;
use crate::packet::Packet;

/// Reads several captures in order of time.
///
/// Packets of the same time keep the order of their files. If a clock steps backward within a file
/// ([`Notes::steps_back`]), its packets keep the order of the file.
#[derive(Debug)]
pub struct Merged {
    files: Vec<File>,
    /// Time of the next packet and index of each file that has not ended.
    next: BinaryHeap<Reverse<(u64, usize)>>,
    /// Index of the file and interface within it, by number.
    interfaces: Vec<(usize, usize)>,
    dropped: bool,
    /// Error that is returned after the packets before it.
    failed: Option<CaptureError>,
}

#[derive(Debug)]
struct File {
    reader: Reader,
    ahead: Option<Packet>,
    /// Whether the packet `ahead` was dropped.
    dropped: bool,
    /// Numbers over all files, indexed by the file's own numbers.
    numbers: Vec<u16>,
    /// Nanoseconds by which the times of the file are ahead of those of the other files.
    ahead_by: i64,
}

/// Merges several captures; see [`Merged`].
///
/// # Errors
/// If one of them is damaged before its first packet.
pub fn merged(readers: Vec<Reader>) -> Result<Merged, CaptureError> {
    let level = vec![0; readers.len()];
    merged_level(readers, &level)
}

/// Merges several captures whose times differ by constant offsets: clocks differ, or a capture was
/// taken further along the path. `ahead_by` holds one offset per file in nanoseconds, which is
/// subtracted from its times. A file without an entry has offset zero.
///
/// # Errors
/// If one of them is damaged before its first packet.
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
        // Interfaces that are declared before a file's first packet are numbered in the order of
        // the files.
        merged.number(place)?;
    }
    Ok(merged)
}

impl Merged {
    /// The next packet; `None` at the end of all files.
    ///
    /// # Errors
    /// If a file is damaged. The error is returned once, and no packet follows it.
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

    /// The next packet of a single file, which needs no merging.
    fn only(&mut self) -> Result<Option<Packet>, CaptureError> {
        // The queue holds the first packet until the file has ended.
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

    /// Whether the comment of the last packet says that it was dropped.
    pub fn was_dropped(&self) -> bool {
        self.dropped
    }

    /// The common progress of all files.
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

    /// The counts beside the packets of all files, so far.
    pub fn notes(&self) -> Notes {
        let mut notes = Notes::default();
        for file in &self.files {
            notes.add(&file.reader.notes());
        }
        notes
    }

    /// The readers of the files, in the order in which they were given.
    pub fn readers(&self) -> impl Iterator<Item = &Reader> {
        self.files.iter().map(|file| &file.reader)
    }

    /// The index of the file and the interface that a [`Packet::interface`] means.
    pub fn interface(&self, number: u16) -> Option<(usize, &Interface)> {
        let &(place, own) = self.interfaces.get(usize::from(number))?;
        let interface = self.files[place].reader.interfaces().get(own)?;
        Some((place, interface))
    }

    /// Reads the next packet of a file.
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

    /// Numbers the new interfaces of a file.
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
