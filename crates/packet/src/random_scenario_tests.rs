//! Random valid scenarios over everything that is registered: a test only.
//!
//! Each scenario is spelled from a tape of random words, so that a failure shrinks towards a plain
//! one and prints the text that replays it. Each runs to its end, counts every packet once and
//! reports only finite numbers, or is refused by name.

mod checks;

use forebay_attack::{hostile, random_scenario};
use forebay_scenario::{Engine, EngineError, Format, Scenario, Seed};
use proptest::prelude::*;

use crate::PacketEngine;
use checks::check;

/// A scenario that a failure prints in the form of a file.
#[derive(Clone)]
struct Text(String);

impl std::fmt::Debug for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "\n{}", self.0)
    }
}

fn words() -> impl Strategy<Value = Vec<u16>> {
    prop::collection::vec(any::<u16>(), 0..160)
}

/// 500 of them, or as many as `PROPTEST_CASES` says.
fn cases() -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok();
    ProptestConfig::with_cases(asked.and_then(|count| count.parse().ok()).unwrap_or(500))
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn every_scenario_runs_or_is_refused_by_name(text in words().prop_map(|words| Text(random_scenario(&words)))) {
        check(&text.0);
    }

    #[test]
    fn hostile_values_are_refused_or_survived(
        text in (words(), any::<u16>(), any::<u16>()).prop_map(|(words, at, value)| {
            Text(hostile(&random_scenario(&words), at, value))
        })
    ) {
        match Scenario::parse(&text.0, Format::Toml, "hostile", &[]) {
            // A larger scenario is only set up.
            Ok(scenario) if scenario.most_events() < 5e6 => check(&text.0),
            Ok(_) => {}
            Err(error) => prop_assert!(!error.value_error.allowed().is_empty()),
        }
    }
}

/// Two thousand windows that grow by a million packets in a round trip: 31 GB, by what forty of
/// them need.
#[test]
fn what_may_not_be_held_in_memory_is_refused() {
    let text = r#"
        link = { rate = "10Mbps", buffer = "50p" }
        run = { measure = "2s" }
        [[flows]]
        name = "g0"
        count = 2000
        cca = { kind = "aimd", increase = 1e6 }
        rtt = "20ms"
        stack = "linux"
        "#;
    let scenario = Scenario::parse(text, Format::Toml, "test", &[]).unwrap();
    let refused = PacketEngine.run(&scenario, &Seed::default().into());
    assert!(matches!(refused, Err(EngineError::TooLarge { .. })));
    check(text);
}
