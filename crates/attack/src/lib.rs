//! Hostile and random inputs, with the invariants of every result: for tests only.
//!
//! A [`Target`] takes any bytes and panics if an invariant is broken. The fuzzer of `fuzz/` feeds
//! it. A test on stable runs every target over every file of its corpus. [`random_scenario`] writes
//! random scenarios over all registered algorithms, [`Runner`] runs them, and [`answers`] checks
//! the invariants of their reports.

pub mod allocations;
pub mod answers;
mod cached_reports;
mod captures;
mod distributions;
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

/// A reader of untrusted input.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, which is also the name of its corpus.
    pub name: &'static str,
    /// A phrase that names its input.
    pub reads: &'static str,
    /// Feeds the target.
    ///
    /// # Panics
    /// If an invariant is broken. That is its purpose.
    pub feed: fn(&[u8]),
}

/// All targets that need no engine; [`Runner`] feeds the engines.
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
        feed: cached_reports::feed,
    },
    Target {
        name: "captures",
        reads: "a capture of packets in the format pcap or pcapng, plain or packed",
        feed: captures::feed,
    },
];

/// The target with this name.
///
/// # Panics
/// If there is none.
pub fn target(name: &str) -> &'static Target {
    let found = TARGETS.iter().find(|target| target.name == name);
    found.unwrap_or_else(|| panic!("no target {name}"))
}

/// Longer inputs only cost time. Another test checks that the time is linear.
const MOST_BYTES: usize = 1 << 16;

/// The bytes as a text of bounded length; `None` if they are too many or not UTF-8.
fn text(bytes: &[u8]) -> Option<&str> {
    if bytes.len() > MOST_BYTES {
        return None;
    }
    std::str::from_utf8(bytes).ok()
}
