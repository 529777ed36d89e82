//! The common result of both formats: a frame with the place of its bytes in the window, or the
//! reason why reading stops.

use std::io;
use std::ops::Range;

use super::window::{Ahead, Window};

/// A frame of a capture.
#[derive(Clone, Debug)]
pub(super) struct Record {
    /// Time in nanoseconds since 1970.
    pub(super) time: u64,
    /// Number of the interface in the file.
    pub(super) interface: u16,
    /// Number of the link type.
    pub(super) link_type: u16,
    /// Range of the captured bytes in the window.
    pub(super) captured: Range<usize>,
    /// Bytes of the frame on the wire.
    pub(super) wire: u32,
    /// Whether the frame came in; `None` if its flags do not say so.
    pub(super) inbound: Option<bool>,
    /// Whether the comment of the frame says that it was dropped.
    pub(super) dropped: bool,
}

/// Reason why there is no further record.
#[derive(Debug)]
pub(super) enum Stop {
    /// The stream ends between two records.
    Ended,
    /// The stream ends in the middle of a record.
    EndedEarly,
    /// The stream cannot be read.
    Unreadable(io::Error),
    /// The bytes are no record.
    Malformed {
        /// Offset in the stream, in bytes.
        offset: u64,
        /// Description of the bytes that were found.
        found: String,
        /// Description of the allowed values.
        allowed: String,
    },
}

impl Stop {
    /// A malformed record at the beginning of the window.
    pub(super) fn malformed(
        window: &Window,
        found: impl Into<String>,
        allowed: impl Into<String>,
    ) -> Self {
        Self::Malformed {
            offset: window.offset(),
            found: found.into(),
            allowed: allowed.into(),
        }
    }
}

/// Makes `bytes` bytes available at the beginning of the window.
#[inline]
pub(super) fn need(window: &mut Window, bytes: usize) -> Result<(), Stop> {
    match window.need(bytes) {
        Ok(Ahead::Whole) => Ok(()),
        Ok(Ahead::Part) => Err(Stop::EndedEarly),
        Ok(Ahead::None) => Err(Stop::Ended),
        Err(error) => Err(Stop::Unreadable(error)),
    }
}

/// Byte order of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Little,
    Big,
}

impl Order {
    #[inline]
    pub(super) fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        }
    }

    #[inline]
    pub(super) fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }

    #[inline]
    pub(super) fn u64(self, bytes: [u8; 8]) -> u64 {
        match self {
            Self::Little => u64::from_le_bytes(bytes),
            Self::Big => u64::from_be_bytes(bytes),
        }
    }
}

/// The `N` bytes from index `at` on, which must exist.
#[inline]
pub(super) fn array<const N: usize>(data: &[u8], at: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&data[at..at + N]);
    bytes
}
