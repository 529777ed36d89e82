//! The errors of reading a capture. Each message is one line with the file, what was found and what
//! is allowed.

/// Reason why a capture cannot be read, or not to its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CaptureError {
    /// The system cannot read the file.
    #[error("{name}: cannot be read: {why}")]
    Unreadable {
        /// Name of the file.
        name: String,
        /// Message of the system.
        why: String,
    },
    /// The file is not a capture.
    #[error(
        "{name}: found {found}; allowed: a capture in the format pcap or pcapng, plain or packed with gzip or zstd"
    )]
    NotACapture {
        /// Name of the file.
        name: String,
        /// First bytes of the file, as text.
        found: String,
    },
    /// The compressed data is damaged, or needs more memory than is allowed.
    #[error("{name}: near byte {offset}, in what {packing} has packed: {why}")]
    Packed {
        /// Name of the file.
        name: String,
        /// Bytes of the file that had been read.
        offset: u64,
        /// Name of the compression format.
        packing: &'static str,
        /// Description of the damage.
        why: String,
    },
    /// A header, a block or a record is malformed.
    #[error("{name}: at byte {offset}{unpacked}: found {found}; allowed: {allowed}")]
    Malformed {
        /// Name of the file.
        name: String,
        /// Start of the header, block or record, in bytes of the capture.
        offset: u64,
        /// Note that the offset counts unpacked bytes; empty for a plain file.
        unpacked: &'static str,
        /// Description of the bytes that were found.
        found: String,
        /// Description of the allowed values.
        allowed: String,
    },
    /// The files together have more interfaces than there are interface numbers.
    #[error("{name}: found interface {} with those of the files before; allowed: at most {most}", .most + 1)]
    TooManyInterfaces {
        /// Name of the file with the first interface that has no number.
        name: String,
        /// Maximum number of interfaces.
        most: usize,
    },
}

/// Maximum number of characters of a name in a message.
const MOST_CHARACTERS: usize = 200;

/// A name that is safe in a message: shortened, with control and directional characters escaped.
pub(crate) fn sanitized(name: &str) -> String {
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

/// Whether a character is C0, C1, a Unicode separator or directional formatting.
fn steers(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{feff}')
        || ('\u{2028}'..='\u{202e}').contains(&letter)
        || ('\u{2066}'..='\u{2069}').contains(&letter)
}
