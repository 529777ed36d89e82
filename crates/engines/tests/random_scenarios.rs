//! Random scenarios, run by every engine and compared with every formula. This is a short version
//! of `make fuzz ONLY=scenarios`, together with the cases that the fuzzer found.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use std::{fs, slice};

use forebay_attack::allocations::Counted;
use forebay_attack::{Runner, random_scenario};
use forebay_engines::{aggregate, engines, rules};
use proptest::prelude::*;

/// The memory of a run is compared with its estimate.
#[global_allocator]
static ALLOCATOR: Counted = Counted;

fn runner() -> Runner {
    Runner {
        engines: engines(),
        rules: rules(),
        aggregate,
        most_events: 1e6,
        patience: Duration::from_secs(60),
    }
}

/// A scenario that a failure prints as a file contains it.
#[derive(Clone)]
struct Text(String);

impl std::fmt::Debug for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "\n{}", self.0)
    }
}

/// 100 cases, or `PROPTEST_CASES` of them.
fn cases() -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok();
    ProptestConfig::with_cases(asked.and_then(|count| count.parse().ok()).unwrap_or(100))
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn every_engine_answers_within_the_laws_or_refuses_by_name(
        text in prop::collection::vec(any::<u16>(), 0..160).prop_map(|words| Text(random_scenario(&words)))
    ) {
        runner().check(&text.0);
    }
}

/// Tapes that led the fuzzer to new code, or to a broken invariant.
#[test]
fn what_the_fuzzer_found_stays_mended() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/runs");
    let files = fs::read_dir(&corpus).expect("a corpus");
    let mut fed = 0;
    for file in files {
        let path = file.expect("an entry").path();
        let bytes = fs::read(&path).expect("a readable file");
        println!("{}", path.display());
        runner().feed(&bytes);
        fed += 1;
    }
    assert!(fed > 0, "an empty corpus");
}

/// Scenarios that broke an invariant, shortened.
#[test]
fn what_random_scenarios_broke_stays_mended() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/found");
    let runner = Runner {
        most_events: f64::INFINITY,
        ..runner()
    };
    let mut answered = 0;
    for file in fs::read_dir(&folder).expect("a folder") {
        let path = file.expect("an entry").path();
        println!("{}", path.display());
        answered += runner.check(&fs::read_to_string(&path).expect("a readable file"));
    }
    assert!(answered > 3, "{answered}");
}

/// Most random scenarios are accepted and answered, and every engine answers some. A generator of
/// refused scenarios would test nothing.
#[test]
fn random_scenarios_are_answered() {
    // Real time would take hours.
    let timeless = || engines().iter().filter(|it| !it.description().real_time);
    let mut answered: BTreeMap<_, usize> =
        timeless().map(|it| (it.description().name, 0)).collect();
    let mut words = 1_u64;
    for _ in 0..400 {
        let tape: Vec<u16> = (0..120)
            .map(|_| {
                // Knuth's generator MMIX.
                words = words
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                (words >> 48) as u16
            })
            .collect();
        let text = random_scenario(&tape);
        for engine in timeless() {
            let runner = Runner {
                engines: slice::from_ref(engine),
                rules: &[],
                ..runner()
            };
            *answered.entry(engine.description().name).or_default() += runner.check(&text);
        }
    }
    // Few random scenarios contain only features that the fluid engine supports.
    assert!(answered.values().all(|&count| count >= 2), "{answered:?}");
}
