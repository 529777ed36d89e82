//! The bytes of a capture, unpacked while they are read: plain, gzip (several members, RFC 1952) or
//! Zstandard (several frames, RFC 8878). The unpacked stream is never held as a whole.

use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// Bytes of a packed file that are read in one call.
const PACKED_CHUNK: usize = 1 << 17;

/// Largest window of a Zstandard frame that is unpacked, in bytes. It is the default limit of
/// `zstd` (`--long=27`).
const MOST_WINDOW: u64 = 1 << 27;

/// Largest ratio of unpacked to packed bytes, once the stream is longer than `FREE_EXPANSION`
/// bytes. Captures shrink to a tenth, and those of one repeated packet to a hundredth. Zeros shrink
/// by 1032 in gzip; in Zstandard four bytes can encode 128 KiB of zeros.
const MOST_EXPANSION: u64 = 400;
const FREE_EXPANSION: u64 = 1 << 28;

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// A skippable Zstandard frame begins with one of sixteen numbers that end with these bytes.
const SKIPPABLE: [u8; 3] = [0x2a, 0x4d, 0x18];

/// Compression of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    Plain,
    Gzip,
    Zstd,
}

impl Packing {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Plain => "nothing",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }
}

/// Progress of reading the file, shared with code that has no access to the file.
#[derive(Debug, Default)]
pub(super) struct ReadProgress {
    read: AtomicU64,
    ended: AtomicBool,
    failure: AtomicI32,
}

impl ReadProgress {
    /// Bytes of the file that have been read.
    pub(super) fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Whether the end of the file was reached.
    pub(super) fn ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Error of the system when the file could not be read, even if the decoder reported another
    /// error.
    pub(super) fn failure(&self) -> Option<io::Error> {
        match self.failure.load(Ordering::Relaxed) {
            0 => None,
            code => Some(io::Error::from_raw_os_error(code)),
        }
    }
}

/// The unpacked bytes of a source, and its compression.
pub(super) fn unpacked(
    source: impl Read + Send + 'static,
    tally: &Arc<ReadProgress>,
) -> io::Result<(Box<dyn Read + Send>, Packing)> {
    let mut source = Counted {
        inner: source,
        tally: Arc::clone(tally),
    };
    let mut head = [0; 4];
    let mut known = 0;
    while known < head.len() {
        match source.read(&mut head[known..])? {
            0 => break,
            more => known += more,
        }
    }
    let packing = sniffed(&head[..known]);
    let whole = Cursor::new(head).take(known as u64).chain(source);
    let unpacked: Box<dyn Read + Send> = match packing {
        Packing::Plain => Box::new(whole),
        Packing::Gzip => {
            let packed = BufReader::with_capacity(PACKED_CHUNK, whole);
            Box::new(Bounded::new(MultiGzDecoder::new(packed), tally))
        }
        Packing::Zstd => {
            let packed = BufReader::with_capacity(PACKED_CHUNK, whole);
            Box::new(Bounded::new(Frames::new(packed), tally))
        }
    };
    Ok((unpacked, packing))
}

fn sniffed(head: &[u8]) -> Packing {
    if head.starts_with(&GZIP) {
        return Packing::Gzip;
    }
    let skippable = head.len() == 4 && head[0] & 0xf0 == 0x50 && head[1..] == SKIPPABLE;
    if head.starts_with(&ZSTD) || skippable {
        return Packing::Zstd;
    }
    Packing::Plain
}

/// A reader that counts its bytes.
struct Counted<R> {
    inner: R,
    tally: Arc<ReadProgress>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.inner.read(space) {
                Ok(bytes) => {
                    self.tally.read.fetch_add(bytes as u64, Ordering::Relaxed);
                    if bytes == 0 && !space.is_empty() {
                        self.tally.ended.store(true, Ordering::Relaxed);
                    }
                    return Ok(bytes);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let code = error.raw_os_error().unwrap_or(0);
                    self.tally.failure.store(code, Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
    }
}

/// An unpacked stream that fails if it is far longer than its file.
struct Bounded<R> {
    inner: R,
    tally: Arc<ReadProgress>,
    /// Bytes that were delivered.
    unpacked: u64,
}

impl<R: Read> Bounded<R> {
    fn new(inner: R, tally: &Arc<ReadProgress>) -> Self {
        Self {
            inner,
            tally: Arc::clone(tally),
            unpacked: 0,
        }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        let bytes = self.inner.read(space)?;
        self.unpacked += bytes as u64;
        let packed = self.tally.read();
        if self.unpacked > packed.saturating_mul(MOST_EXPANSION).max(FREE_EXPANSION) {
            return Err(damaged(&format!(
                "found more than {} bytes in {packed}; allowed: {MOST_EXPANSION} times as many",
                self.unpacked
            )));
        }
        Ok(bytes)
    }
}

/// All frames of a Zstandard stream. The streaming reader of the crate stops after the first frame
/// and compares no checksum.
struct Frames<R> {
    packed: R,
    decoder: FrameDecoder,
    within: bool,
}

impl<R: BufRead> Frames<R> {
    fn new(packed: R) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(MOST_WINDOW);
        Self {
            packed,
            decoder,
            within: false,
        }
    }

    /// Enters the next frame and skips skippable ones. Returns whether there is a frame.
    fn enter(&mut self) -> io::Result<bool> {
        while !self.packed.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.packed) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let mut skipped = (&mut self.packed).take(u64::from(length));
                    if io::copy(&mut skipped, &mut io::sink())? < u64::from(length) {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(damage(&error)),
            }
        }
        Ok(false)
    }

    fn check(&self) -> io::Result<()> {
        let stated = self.decoder.get_checksum_from_data();
        if stated.is_some() && stated != self.decoder.get_calculated_checksum() {
            return Err(damaged("a checksum that is not that of its frame"));
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        if space.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.within {
                self.within = self.enter()?;
                if !self.within {
                    return Ok(0);
                }
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                let done = self.decoder.decode_blocks(&mut self.packed, one);
                done.map_err(|error| damage(&error))?;
            }
            let bytes = self.decoder.read(space)?;
            if bytes > 0 {
                return Ok(bytes);
            }
            self.check()?;
            self.within = false;
        }
    }
}

/// The error in our words, because the messages of the crate mention its own types.
fn damage(error: &FrameDecoderError) -> io::Error {
    match error {
        FrameDecoderError::WindowSizeTooBig { requested, max } => damaged(&format!(
            "found a window of {requested} bytes; allowed: at most {max}"
        )),
        FrameDecoderError::DictNotProvided { dict_id } => damaged(&format!(
            "found dictionary {dict_id}; allowed: frames that need none"
        )),
        _ => damaged("a damaged frame"),
    }
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}
