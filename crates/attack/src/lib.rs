//! Hostile and random inputs, and what must hold of whatever becomes of them: for tests only.
//!
//! A [`Target`] takes any bytes and panics where a law is broken. The fuzzer of `fuzz/` feeds it, and
//! so does a test on stable that runs every target over every file of its corpus. [`random_scenario`]
//! spells random scenarios over everything that is registered, [`Runner`] runs them, and [`answers`]
//! says what must hold of their reports.

pub mod allocations;
pub mod answers;
mod captures;
mod distributions;
mod kept;
mod quantities;
mod random_scenario;
mod random_traffic;
mod runs;
mod sentence;
mod tape;
mod texts;

pub use random_scenario::{hostile, random_scenario};
pub use runs::Runner;
pub use sentence::check_sentence;
pub use tape::Tape;
pub use texts::check_scenario;

/// Something that reads what it cannot trust.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, which is that of its corpus.
    pub name: &'static str,
    /// What it reads.
    pub reads: &'static str,
    /// Feeds it.
    ///
    /// # Panics
    /// Where a law is broken: that is what it is for.
    pub feed: fn(&[u8]),
}

/// All that need no engine; [`Runner`] feeds those.
pub static TARGETS: [Target; 7] = [
    Target {
        name: "scenario",
        reads: "a scenario in TOML",
        feed: texts::toml,
    },
    Target {
        name: "json",
        reads: "a scenario in JSON",
        feed: texts::json,
    },
    Target {
        name: "overrides",
        reads: "changes `key=value`, one a line, to a scenario with something in every section",
        feed: texts::overrides,
    },
    Target {
        name: "distributions",
        reads: "a law of times or sizes, behind the number of the key that has it",
        feed: distributions::feed,
    },
    Target {
        name: "quantities",
        reads: "a time, rate, size, number of packets or share, or a misspelled name",
        feed: quantities::feed,
    },
    Target {
        name: "kept",
        reads: "a report as an unfinished search keeps it",
        feed: kept::feed,
    },
    Target {
        name: "captures",
        reads: "a capture of packets in the format pcap or pcapng, plain or packed",
        feed: captures::feed,
    },
];

/// The target of this name.
///
/// # Panics
/// Where there is none.
pub fn target(name: &str) -> &'static Target {
    let found = TARGETS.iter().find(|target| target.name == name);
    found.unwrap_or_else(|| panic!("no target {name}"))
}

/// Longer inputs only cost time; that the time is linear is another test.
const MOST_BYTES: usize = 1 << 16;

/// Bytes as a text of a bounded length; none where they are none.
fn text(bytes: &[u8]) -> Option<&str> {
    if bytes.len() > MOST_BYTES {
        return None;
    }
    std::str::from_utf8(bytes).ok()
}
