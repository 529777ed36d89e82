//! What both formats of captures give: a frame, where its bytes lie in the window; and how reading ends.

use std::io;
use std::ops::Range;

use super::window::{Ahead, Window};

/// A frame of a capture.
#[derive(Clone, Debug)]
pub(super) struct Record {
    /// In nanoseconds since 1970.
    pub(super) time: u64,
    /// Number of its interface in the file.
    pub(super) interface: u16,
    /// Number of its link type.
    pub(super) link_type: u16,
    /// Its captured bytes, as a part of the window.
    pub(super) captured: Range<usize>,
    /// Its bytes on the wire.
    pub(super) wire: u32,
    /// Which way it went, where its flags say so.
    pub(super) inbound: Option<bool>,
    /// Whether its comment says that it was dropped.
    pub(super) dropped: bool,
}

/// Why there is no record.
#[derive(Debug)]
pub(super) enum Stop {
    /// The stream ends between two records.
    Ended,
    /// The stream ends in the middle of one.
    EndedEarly,
    /// The stream cannot be read.
    Unreadable(io::Error),
    /// What is there cannot be a record.
    Malformed {
        /// Where, in bytes of the stream.
        offset: u64,
        /// What is there.
        found: String,
        /// What may be there.
        allowed: String,
    },
}

impl Stop {
    /// At the beginning of the window.
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

/// Has so many bytes at the beginning of the window.
#[inline]
pub(super) fn need(window: &mut Window, bytes: usize) -> Result<(), Stop> {
    match window.need(bytes) {
        Ok(Ahead::Whole) => Ok(()),
        Ok(Ahead::Part) => Err(Stop::EndedEarly),
        Ok(Ahead::None) => Err(Stop::Ended),
        Err(error) => Err(Stop::Unreadable(error)),
    }
}

/// The order of the bytes of numbers.
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

/// So many bytes from a place that is there.
#[inline]
pub(super) fn array<const N: usize>(data: &[u8], at: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&data[at..at + N]);
    bytes
}
