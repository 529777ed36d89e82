//! A file of packets, read once from its beginning to its end. The reader detects the compression
//! and the format; each frame becomes a [`Packet`] or a count in [`Notes`]. The memory does not
//! grow with the file.

mod clock;
mod interfaces;
mod pcap;
mod pcapng;
mod record;
mod source;
mod window;

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

pub use interfaces::Interface;

use crate::error::{CaptureError, sanitized};
use crate::frame::{self, Frame};
use crate::notes::Notes;
use crate::packet::Packet;
use interfaces::Interfaces;
use pcap::Pcap;
use pcapng::Pcapng;
use record::{Record, Stop};
use source::{Packing, ReadProgress, unpacked};
use window::{Ahead, Window};

/// Reads one capture.
///
/// ```
/// use forebay_capture::Reader;
///
/// // A file in the format pcap without a packet.
/// let mut file = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0];
/// file.extend([0; 8]);
/// file.extend([0, 0, 4, 0, 1, 0, 0, 0]);
/// let mut reader = Reader::new("empty.pcap", std::io::Cursor::new(file), None)?;
/// assert_eq!(reader.next()?, None);
/// # Ok::<(), forebay_capture::CaptureError>(())
/// ```
pub struct Reader {
    name: String,
    tally: Arc<ReadProgress>,
    size: Option<u64>,
    packing: Packing,
    window: Window,
    format: Format,
    interfaces: Interfaces,
    notes: Notes,
    dropped: bool,
    done: bool,
}

#[derive(Debug)]
enum Format {
    Pcap(Pcap),
    Pcapng(Pcapng),
}

/// Progress of reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of the file, still packed, that have been read.
    pub read: u64,
    /// Size of the file in bytes; `None` if it is unknown.
    pub size: Option<u64>,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut told = formatter.debug_struct("Reader");
        told.field("name", &self.name);
        told.field("packing", &self.packing);
        told.field("notes", &self.notes).finish_non_exhaustive()
    }
}

impl Reader {
    /// Opens a file or a named pipe.
    ///
    /// # Errors
    /// If the file cannot be read or is no capture.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, CaptureError> {
        let name = path.as_ref().display().to_string();
        let file = File::open(&path).map_err(|error| unreadable(&name, &error))?;
        let about = file.metadata().map_err(|error| unreadable(&name, &error))?;
        let size = about.is_file().then_some(about.len());
        Self::new(&name, file, size)
    }

    /// Reads from any source. `name` is its name in errors; `size` is its size in bytes, if known.
    ///
    /// # Errors
    /// If the source cannot be read or is no capture.
    pub fn new(
        name: &str,
        source: impl Read + Send + 'static,
        size: Option<u64>,
    ) -> Result<Self, CaptureError> {
        let name = sanitized(name);
        let tally = Arc::new(ReadProgress::default());
        let (unpacked, packing) =
            unpacked(source, &tally).map_err(|error| unreadable(&name, &error))?;
        let mut window = Window::new(unpacked);
        let mut interfaces = Interfaces::default();
        let format = match Format::begin(&mut window, &mut interfaces, &tally) {
            Ok(Some(format)) => format,
            Ok(None) => {
                let found = describe_unreadable(window.data(), packing);
                return Err(CaptureError::NotACapture { name, found });
            }
            Err(stop) => return Err(refusal(&name, packing, &tally, stop)),
        };
        Ok(Self {
            name,
            tally,
            size,
            packing,
            window,
            format,
            interfaces,
            notes: Notes::default(),
            dropped: false,
            done: false,
        })
    }

    /// The next packet; `None` at the end. Frames that carry no packet are counted in
    /// [`Reader::notes`].
    ///
    /// # Errors
    /// If the file is damaged. The error is returned once, and no packet follows it.
    #[expect(
        clippy::should_implement_trait,
        reason = "errors come between packets and the end"
    )]
    #[inline]
    pub fn next(&mut self) -> Result<Option<Packet>, CaptureError> {
        while !self.done {
            match self.record() {
                Ok(record) => {
                    if let Some(packet) = self.packet(&record)? {
                        return Ok(Some(packet));
                    }
                }
                Err(stop) => self.stop(stop)?,
            }
        }
        Ok(None)
    }

    /// Whether the comment of the last packet says that it was dropped.
    pub fn was_dropped(&self) -> bool {
        self.dropped
    }

    /// The name of the file in errors.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The progress of reading.
    pub fn progress(&self) -> Progress {
        Progress {
            read: self.tally.read(),
            size: self.size,
        }
    }

    /// The counts beside the packets, so far.
    pub fn notes(&self) -> Notes {
        let mut notes = self.notes.clone();
        notes.lost = self.interfaces.lost();
        notes
    }

    /// The interfaces that have been declared so far, indexed by [`Packet::interface`].
    pub fn interfaces(&self) -> &[Interface] {
        self.interfaces.all()
    }

    #[inline]
    fn record(&mut self) -> Result<Record, Stop> {
        let Self {
            format,
            window,
            interfaces,
            notes,
            ..
        } = self;
        match format {
            Format::Pcap(pcap) => pcap.next(window, interfaces, notes),
            Format::Pcapng(pcapng) => pcapng.next(window, interfaces, notes),
        }
    }

    /// Converts a frame into a packet.
    #[inline]
    fn packet(&mut self, record: &Record) -> Result<Option<Packet>, CaptureError> {
        let captured = self.window.part(record.captured.clone());
        let mut interface = record.interface;
        if let Some(index) = frame::kernel_index(record.link_type, captured) {
            let Some(number) = self.interfaces.cooked(interface, index) else {
                let stop = pcapng::too_many(&self.window);
                self.done = true;
                return Err(refusal(&self.name, self.packing, &self.tally, stop));
            };
            interface = number;
        }
        let frame = Frame {
            time: record.time,
            interface,
            inbound: record.inbound,
            link_type: record.link_type,
            captured,
            wire: record.wire,
        };
        let packet = frame::packet(&frame, &mut self.notes);
        self.dropped = record.dropped && packet.is_some();
        self.notes.dropped += u64::from(self.dropped);
        Ok(packet)
    }

    /// Ends the reading, or returns the error.
    #[cold]
    fn stop(&mut self, stop: Stop) -> Result<(), CaptureError> {
        match stop {
            Stop::Unreadable(_) if self.cut_off() => {
                // The bytes that were unpacked before the end of the file are still to be read.
                self.window.end();
                self.notes.ended_early = 1;
                Ok(())
            }
            Stop::Ended => {
                self.done = true;
                Ok(())
            }
            Stop::EndedEarly => {
                self.done = true;
                self.notes.ended_early = 1;
                Ok(())
            }
            stop => {
                self.done = true;
                Err(refusal(&self.name, self.packing, &self.tally, stop))
            }
        }
    }

    /// Whether unpacking failed because the file had ended.
    fn cut_off(&self) -> bool {
        self.packing != Packing::Plain && self.tally.ended() && self.tally.failure().is_none()
    }
}

impl Format {
    /// Detects the format and reads its header; `None` if it is neither pcap nor pcapng.
    fn begin(
        window: &mut Window,
        interfaces: &mut Interfaces,
        tally: &ReadProgress,
    ) -> Result<Option<Self>, Stop> {
        let ahead = window.need(4).or_else(|error| {
            // A packed file that is cut off may have delivered some bytes before.
            if tally.ended() && tally.failure().is_none() {
                window.end();
                return Ok(Ahead::Part);
            }
            Err(Stop::Unreadable(error))
        })?;
        if ahead != Ahead::Whole {
            return Ok(None);
        }
        let head = record::array(window.data(), 0);
        let format = if pcap::begins(head) {
            Pcap::begin(window, interfaces).map(Self::Pcap)
        } else if pcapng::begins(head) {
            Pcapng::begin(window).map(Self::Pcapng)
        } else {
            return Ok(None);
        };
        match format {
            Ok(format) => Ok(Some(format)),
            Err(Stop::Ended | Stop::EndedEarly) => {
                let found = format!("{} bytes of a header", window.data().len());
                Err(Stop::malformed(window, found, "a whole one"))
            }
            Err(stop) => Err(stop),
        }
    }
}

/// Describes the first bytes of a file that is no capture.
fn describe_unreadable(head: &[u8], packing: Packing) -> String {
    let within = match packing {
        Packing::Plain => String::new(),
        packed => format!(" within {}", packed.name()),
    };
    if head.is_empty() {
        return format!("no byte{within}");
    }
    let bytes = head.iter().take(4).map(|byte| format!("{byte:02x}"));
    let told: Vec<String> = bytes.collect();
    format!("bytes {} at the beginning{within}", told.join(" "))
}

fn unreadable(name: &str, error: &std::io::Error) -> CaptureError {
    CaptureError::Unreadable {
        name: sanitized(name),
        why: why(error),
    }
}

/// The message of the system without its error number.
fn why(error: &std::io::Error) -> String {
    let told = error.to_string();
    let words = match told.split_once(" (os error") {
        Some((words, _)) => words,
        None => &told,
    };
    sanitized(words)
}

fn refusal(name: &str, packing: Packing, tally: &ReadProgress, stop: Stop) -> CaptureError {
    let name = name.to_owned();
    match (stop, tally.failure()) {
        (Stop::Unreadable(_), Some(error)) => CaptureError::Unreadable {
            name,
            why: why(&error),
        },
        (Stop::Unreadable(error), None) if packing == Packing::Plain => CaptureError::Unreadable {
            name,
            why: why(&error),
        },
        (Stop::Unreadable(error), None) => CaptureError::Packed {
            name,
            offset: tally.read(),
            packing: packing.name(),
            why: why(&error),
        },
        (
            Stop::Malformed {
                offset,
                found,
                allowed,
            },
            _,
        ) => CaptureError::Malformed {
            name,
            offset,
            unpacked: match packing {
                Packing::Plain => "",
                _ => " of what is unpacked",
            },
            found,
            allowed,
        },
        (Stop::Ended | Stop::EndedEarly, _) => CaptureError::Malformed {
            name,
            offset: tally.read(),
            unpacked: "",
            found: "the end of the file".to_owned(),
            allowed: "a whole header".to_owned(),
        },
    }
}
