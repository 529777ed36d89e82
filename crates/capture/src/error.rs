//! Why a file cannot be read as a capture: one line each, with the file, what was found and what is
//! allowed.

/// Why a capture cannot be read, or not any further.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CaptureError {
    /// The system does not give its bytes.
    #[error("{name}: cannot be read: {why}")]
    Unreadable {
        /// The file.
        name: String,
        /// What the system says.
        why: String,
    },
    /// It is something else.
    #[error(
        "{name}: found {found}; allowed: a capture in the format pcap or pcapng, plain or packed with gzip or zstd"
    )]
    NotACapture {
        /// The file.
        name: String,
        /// What it begins with.
        found: String,
    },
    /// What it is packed with is damaged, or needs more than is allowed.
    #[error("{name}: near byte {offset}, in what {packing} has packed: {why}")]
    Packed {
        /// The file.
        name: String,
        /// Bytes of the file that had been read.
        offset: u64,
        /// What it is packed with.
        packing: &'static str,
        /// What was found there.
        why: String,
    },
    /// A header, a block or a record cannot be one.
    #[error("{name}: at byte {offset}{unpacked}: found {found}; allowed: {allowed}")]
    Malformed {
        /// The file.
        name: String,
        /// Where the header, block or record begins, in bytes of the capture.
        offset: u64,
        /// Says that the bytes are counted after unpacking; empty for a plain file.
        unpacked: &'static str,
        /// What was found there.
        found: String,
        /// What may be there.
        allowed: String,
    },
    /// Several files have more interfaces together than there are numbers for.
    #[error("{name}: found interface {} with those of the files before; allowed: at most {most}", .most + 1)]
    TooManyInterfaces {
        /// The file that has one too many.
        name: String,
        /// As many as there may be.
        most: usize,
    },
}

/// Characters of a name that a message shows.
const MOST_CHARACTERS: usize = 200;

/// A name as a message may show it: short, and without characters that steer a terminal or turn the
/// text around.
pub(crate) fn legible(name: &str) -> String {
    let mut shown = String::new();
    for (number, letter) in name.chars().enumerate() {
        if number == MOST_CHARACTERS {
            shown.push_str("...");
            break;
        }
        if steers(letter) {
            shown.extend(letter.escape_default());
        } else {
            shown.push(letter);
        }
    }
    shown
}

/// C0, C1, Unicode's separators and directional formatting.
fn steers(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{feff}')
        || ('\u{2028}'..='\u{202e}').contains(&letter)
        || ('\u{2066}'..='\u{2069}').contains(&letter)
}
