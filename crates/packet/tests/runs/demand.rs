//! The memory demand of a run is reported before anything runs, with the key that causes it.

use std::path::Path;
use std::time::{Duration, Instant};

use forebay_packet::PacketEngine;
use forebay_scenario::{Engine, EngineError, Format, RunOptions, Scenario};
use forebay_units::Bytes;

use super::scenario;

const LINK: &str = "[link]\nrate = \"10Mbps\"\nbuffer = \"50p\"\n";
const BULK: &str = "[[flows]]\nname = \"bulk\"\nrtt = \"20ms\"\n";

fn refusal(text: &str, options: &RunOptions) -> String {
    let scenario = scenario::<&str>(text, &[]);
    let started = Instant::now();
    let outcome = PacketEngine.run(&scenario, options);
    assert!(started.elapsed() < Duration::from_secs(2), "at once");
    match outcome {
        Err(error @ EngineError::TooLarge { .. }) => error.to_string(),
        other => panic!("{text}\n{other:?}"),
    }
}

/// Whatever asks for more memory than is allowed is refused at once, and named.
#[test]
fn what_asks_for_too_much_memory_is_refused_by_its_key() {
    let two = |rate: &str| {
        let source = |name: &str, size: &str| {
            format!(
                "[[flows]]\nname = \"{name}\"\npacket = \"{size}\"\nworkload = {{ cbr = {{ rate = \"{rate}\" }} }}\n"
            )
        };
        source("one", "100B") + &source("other", "1500B")
    };
    let endless = |queue: &str| LINK.replace("50p", "1e12p") + &format!("queue = \"{queue}\"\n");
    let traced = RunOptions {
        traces: true,
        ..RunOptions::default()
    };
    let plain = RunOptions::default();
    let long = "[run]\nmeasure = \"1000s\"\n";
    let mut cases = vec![
        (
            format!("{LINK}{BULK}count = 16000000\n"),
            &plain,
            "flows.bulk.count",
        ),
        (
            format!(
                "{LINK}{BULK}workload = {{ closed_loop = {{ users = 9000000, think = \"1s\", size = \"3p\" }} }}\n"
            ),
            &plain,
            "flows.bulk.workload",
        ),
        (
            format!(
                "{LINK}{BULK}workload = {{ open_loop = {{ interarrival = \"20ns\", size = \"3p\" }} }}\n"
            ),
            &plain,
            "flows.bulk.workload",
        ),
        (
            format!("{LINK}{BULK}count = 10\n{long}[trace]\nevery = \"1us\"\n"),
            &traced,
            "trace.every",
        ),
        (
            format!(
                "{}{BULK}{long}[trace]\nrecord = [\"packets\"]\n",
                LINK.replace("10M", "10G")
            ),
            &traced,
            "trace.record",
        ),
        (
            format!(
                "{}{BULK}count = 1000\n{long}",
                LINK.replace("10M", "1T").replace("50p", "900000000000000B")
            ),
            &plain,
            "link.buffer",
        ),
    ];
    for queue in ["droptail", "codel", "fq_codel", "red", "pie"] {
        cases.push((
            format!("{}{}", endless(queue), two("40Gbps")),
            &plain,
            "link.buffer",
        ));
    }
    for (text, options, key) in cases {
        let message = refusal(&text, options);
        let named = message.contains(&format!("`{key}`"));
        assert!(
            named && message.contains("4.0 GB") && message.contains("--memory"),
            "{message}"
        );
        assert_eq!(message.lines().count(), 1);
    }
}

/// The bound is what its user says: what needs more is refused, what needs less runs.
#[test]
fn the_bound_on_memory_is_the_users() {
    let text = format!("{LINK}{BULK}count = 100\n[run]\nwarmup = \"0s\"\nmeasure = \"1s\"\n");
    let given = |bytes: u64| RunOptions {
        memory: Some(Bytes::new(bytes)),
        ..RunOptions::default()
    };
    assert!(refusal(&text, &given(100_000)).contains("100 kB"));
    let scenario = scenario::<&str>(&text, &[]);
    assert!(PacketEngine.run(&scenario, &given(10_000_000)).is_ok());
}

/// Sources that never end a run are refused with the estimate.
#[test]
fn arrivals_that_would_take_hours_are_refused_with_their_number() {
    let gigabytes = RunOptions {
        memory: Some(Bytes::new(u64::MAX)),
        ..RunOptions::default()
    };
    for workload in [
        "{ open_loop = { interarrival = \"1ns\", size = \"1p\" } }",
        "{ cbr = { rate = \"100Tbps\" } }",
        "{ poisson = { rate = \"10Tbps\" } }",
        "{ on_off = { peak = \"100Tbps\", on = \"1s\", off = \"1s\" } }",
    ] {
        let text = format!("{LINK}{BULK}workload = {workload}\n");
        let message = refusal(&text, &gigabytes);
        assert!(
            message.contains("`flows.bulk.workload`") && message.contains("run.measure"),
            "{message}"
        );
    }
}

/// The scenarios that forebay ships fit into the memory that it allows itself, by a wide margin.
#[test]
fn every_shipped_scenario_fits() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut seen = 0;
    for folder in ["scenarios", "benches"] {
        for entry in std::fs::read_dir(root.join(folder)).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.extension().is_none_or(|extension| extension != "toml") {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a text");
            let Ok(scenario) = Scenario::parse(&text, Format::Toml, "shipped", &[]) else {
                continue;
            };
            let cancel = RunOptions::default();
            cancel.cancel.request();
            let outcome = PacketEngine.run(&scenario, &cancel);
            let large = matches!(outcome, Err(EngineError::TooLarge { .. }));
            assert!(!large, "{}: {outcome:?}", path.display());
            seen += 1;
        }
    }
    assert!(seen >= 10, "{seen}");
}
