//! The current part of a stream: as many bytes as a record needs, advanced when records are taken.
//! It grows with the bytes that arrived, never with the length in a header.

use std::io::{self, Read};
use std::ops::Range;

/// Bytes that are read in one call; they stay in the cache of a core.
const CHUNK: usize = 1 << 18;

/// Result of a request for bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ahead {
    /// All requested bytes are available.
    Whole,
    /// Fewer bytes are available, and the stream ends after them.
    Part,
    /// The stream has ended.
    None,
}

/// A part of a stream.
pub(super) struct Window {
    source: Box<dyn Read + Send>,
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// Bytes of the stream before `bytes`.
    before: u64,
    ended: bool,
}

impl Window {
    pub(super) fn new(source: Box<dyn Read + Send>) -> Self {
        Self {
            source,
            bytes: vec![0; CHUNK],
            start: 0,
            end: 0,
            before: 0,
            ended: false,
        }
    }

    /// Offset of the window in the stream, in bytes.
    pub(super) fn offset(&self) -> u64 {
        self.before + self.start as u64
    }

    /// The available bytes of the stream.
    #[inline]
    pub(super) fn data(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Bytes that were available before the last `take`. They are valid until the next read.
    #[inline]
    pub(super) fn part(&self, range: Range<usize>) -> &[u8] {
        &self.bytes[range]
    }

    /// Removes `bytes` available bytes from the beginning and returns their range.
    #[inline]
    pub(super) fn take(&mut self, bytes: usize) -> Range<usize> {
        let start = self.start;
        self.start += bytes;
        assert!(self.start <= self.end, "more was taken than is there");
        start..self.start
    }

    /// Reads until `bytes` bytes are available.
    #[inline]
    pub(super) fn need(&mut self, bytes: usize) -> io::Result<Ahead> {
        if self.end - self.start >= bytes {
            return Ok(Ahead::Whole);
        }
        self.read(bytes)
    }

    #[cold]
    fn read(&mut self, bytes: usize) -> io::Result<Ahead> {
        self.bytes.copy_within(self.start..self.end, 0);
        self.before += self.start as u64;
        self.end -= self.start;
        self.start = 0;
        while self.end < bytes && !self.ended {
            if self.end == self.bytes.len() {
                self.bytes.resize(2 * self.end, 0);
            }
            let read = self.source.read(&mut self.bytes[self.end..])?;
            self.ended = read == 0;
            self.end += read;
        }
        Ok(match self.end {
            there if there >= bytes => Ahead::Whole,
            0 => Ahead::None,
            _ => Ahead::Part,
        })
    }

    /// Ends the stream after the available bytes, because the rest cannot be unpacked.
    pub(super) fn end(&mut self) {
        self.ended = true;
    }
}
