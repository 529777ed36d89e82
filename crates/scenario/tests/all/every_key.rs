//! Every key of scenario files, with a value that is not its default: the value has an effect, is
//! written and read again, and the ends of its range are where its description says.
use std::collections::BTreeSet;

use forebay_scenario::{Format, KeyText, Override, Scenario, ScenarioError, sections};
use serde_json::Value;

const FILE: &str = r#"
memories = [{ name = "chip", size = "1MB" }]
links = [
    { name = "near", rate = "1Gbps", buffer = "90p", memory = "chip" },
    { name = "far", rate = "100Mbps", buffer = "50p", delay = "1ms", target = true },
]
flows = [
    { name = "long", count = 4, rtt = "40ms", path = ["far"] },
    { name = "mice", workload = { poisson = { rate = "1Mbps" } }, path = ["far"] },
]
"#;

fn read(changes: &[(&str, &str)]) -> Result<Scenario, ScenarioError> {
    let overrides: Vec<_> = changes
        .iter()
        .map(|(key, value)| Override::of("test", key, value))
        .collect();
    Scenario::parse(FILE, Format::Toml, "test.toml", &overrides)
}

/// The canonical form at a key such as `flows.0.rtt`.
fn written(scenario: &Scenario, key: &str) -> Value {
    let all: Value = serde_json::from_str(&scenario.canonical_json()).unwrap();
    let pointer = format!("/{}", key.replace('.', "/"));
    all.pointer(&pointer).unwrap_or(&Value::Null).clone()
}

/// Keys with a value each that is written as it is read.
const AS_WRITTEN: &[(&str, &str)] = &[
    ("links.1.name", "\"remote\""),
    ("links.1.rate", "\"30Mbps\""),
    ("links.1.buffer", "\"64kB\""),
    (
        "links.1.delay",
        r#"{"in_order":true,"repeat":"30s","steps":[["0ps","3ms"],["15s","5ms"]]}"#,
    ),
    ("links.1.rate_layer", "\"l1\""),
    ("links.1.memory", "\"chip\""),
    ("links.0.memory_alpha", "0.5"),
    ("links.0.memory_reserved", "\"3kB\""),
    ("memories.0.threshold", "\"lqd\""),
    ("memories.0.short_alpha", "16.0"),
    ("memories.0.short_flow", "\"30kB\""),
    ("memories.0.short_idle", "\"10ms\""),
    ("memories.0.cell", "\"192B\""),
    ("memories.0.pfc_counters", "\"ingress\""),
    ("memories.0.headroom", "\"3kB\""),
    (
        "links.1.pfc",
        r#"{"cable":"300m","headroom":"5kB","response":"2us","xoff":"9kB","xon":"6kB"}"#,
    ),
    (
        "links.0.pfc",
        r#"{"alpha":0.5,"headroom":"5kB","xoff":"9kB","xon":"6kB"}"#,
    ),
    ("links.0.target", "true"),
    ("flows.0.name", "\"elephants\""),
    ("flows.0.count", "7"),
    ("flows.0.rtt", "\"30ms\""),
    ("flows.0.packet", "\"900B\""),
    ("flows.0.start", "\"2s\""),
    ("flows.0.stop", "\"20s\""),
    ("flows.0.access", r#"{"queue":"50p","rate":"30Mbps"}"#),
    ("flows.0.processing", "\"20us\""),
    ("flows.0.path", r#"["near","far"]"#),
    ("flows.0.reverse", r#"["near"]"#),
    ("flows.0.recovery", "\"newreno\""),
    ("flows.0.reduction", "\"rate_halving\""),
    ("flows.0.partial_ack_timer", "\"every\""),
    ("flows.0.fast_retransmit_timer", "\"restart\""),
    ("flows.0.limited_transmit", "\"always\""),
    ("flows.0.full_ack_window", "\"deflated\""),
    ("flows.0.rto_arithmetic", "\"ticks\""),
    ("flows.0.ack_counting", "\"acks\""),
    ("links.1.medium", r#"{"kind":"wifi","stations":3}"#),
    (
        "links.1.outages",
        r#"{"flush":true,"times":[["30s","2s"],["40s","1s"]]}"#,
    ),
    (
        "links.1.loss",
        r#"{"gilbert_elliott":{"good":"0.1%","to_bad":"1%","to_good":"25%"},"random":"0.01%"}"#,
    ),
    (
        "links.1.policer",
        r#"{"burst":"20kB","excess_burst":"30kB","rate":"30Mbps","yellow":"drop"}"#,
    ),
    (
        "links.1.shaper",
        r#"{"burst":"20kB","kind":"htb","peak":"50Mbps","peak_burst":"3kB","rate":"30Mbps"}"#,
    ),
    ("flows.0.min_rto", "\"300ms\""),
    ("flows.0.initial_rto", "\"2s\""),
    ("flows.0.clock", "\"10ms\""),
    (
        "flows.0.delayed_ack",
        r#"{"gro":"20us","packets":2,"push":true,"quick":3,"sack_delay":"1ms","timeout":"40ms"}"#,
    ),
    ("flows.0.initial_window", "\"3p\""),
    ("flows.0.initial_ssthresh", "\"64p\""),
    ("flows.0.receive_window", "\"40p\""),
    ("flows.0.header", "\"52B\""),
    ("flows.0.timestamps", "true"),
    ("flows.0.handshake", "true"),
    ("flows.0.pacing", "true"),
    ("flows.0.offload", "true"),
    ("flows.0.offload_grows", "true"),
    ("flows.0.ecn", "true"),
    ("flows.0.frto", "true"),
    ("flows.0.slow_start_after_idle", "false"),
    ("run.warmup", "\"7s\""),
    ("run.measure", "\"50s\""),
    ("run.seed", "17"),
    ("run.replications", "12"),
    ("fluid.minimum_synchronization", "0.75"),
    ("fluid.law", "\"uniform\""),
    ("fluid.victims", "\"random\""),
    ("fluid.window", "\"fixed\""),
    ("fluid.tolerance", "0.001"),
    ("fluid.empirical", "[1,2,4]"),
    ("fluid.background", r#"{"redrawn":"20ms"}"#),
    ("trace.every", "\"20ms\""),
    ("trace.record", r#"["queue","packets"]"#),
    ("trace.from", "\"3s\""),
    ("trace.until", "\"9s\""),
    ("trace.capture", "\"both\""),
    ("trace.acknowledgments", "true"),
];

/// Keys whose value says more than one thing, or is written otherwise than it is read.
const OTHERWISE: &[(&str, &str)] = &[
    ("flows.0.timeout_ssthresh", "\"every\""),
    ("links.1.queue", "\"codel\""),
    ("flows.0.cca", "\"hstcp\""),
    ("flows.0.stack", "\"linux\""),
    ("flows.0.workload", "{ finite = { size = \"1MB\" } }"),
];

#[test]
fn every_key_is_heeded_written_and_read_again() {
    let plain = read(&[]).unwrap();
    for (as_written, (key, value)) in (AS_WRITTEN.iter().map(|entry| (true, entry)))
        .chain(OTHERWISE.iter().map(|entry| (false, entry)))
    {
        // Tables of JSON with the sign of TOML.
        let table = value.replace("\":", "\"=");
        let mut changes = vec![(*key, table.as_str())];
        match *key {
            "links.0.target" => {
                changes.extend([("links.1.target", "false"), ("flows.0.path", "[\"near\"]")]);
            }
            "links.1.name" => {
                changes.extend([
                    ("flows.0.path", "[\"remote\"]"),
                    ("flows.1.path", "[\"remote\"]"),
                ]);
            }
            "memories.0.headroom" => changes.push((
                "links.0.pfc",
                "{ xoff = \"9kB\", xon = \"6kB\", headroom = \"5kB\" }",
            )),
            "memories.0.short_alpha" | "memories.0.short_flow" | "memories.0.short_idle" => {
                changes.push(("memories.0.threshold", "\"fab\""));
            }
            "fluid.empirical" => changes.push(("fluid.law", "\"empirical\"")),
            _ => {}
        }
        let changed = read(&changes).unwrap_or_else(|error| panic!("{error}"));
        assert!(changed != plain, "{key}");
        assert_ne!(changed.sha256(), plain.sha256(), "{key}");
        if as_written {
            let expected: Value = serde_json::from_str(value).unwrap();
            assert_eq!(written(&changed, key), expected, "{key}");
            assert_ne!(written(&plain, key), expected, "{key}");
        }
        let json = changed.canonical_json();
        let again = Scenario::parse(&json, Format::Json, "again", &[]).unwrap();
        assert!(again == changed, "{key}");
        assert_eq!(again.canonical_json(), json, "{key}");
        assert_eq!(again.sha256(), changed.sha256(), "{key}");
        // A change of what was read is the same as a change of the text.
        let overrides: Vec<_> = changes
            .iter()
            .map(|(key, value)| Override::of("test", key, value))
            .collect();
        // To what was read every key was given, and a preset gives way to what is given.
        if *key != "flows.0.stack" {
            assert!(plain.with(&overrides).unwrap() == changed, "{key}");
        }
        // Both hold of what a program gets: it serializes to its canonical form.
        assert_eq!(
            serde_json::to_value(&changed).unwrap(),
            serde_json::from_str::<Value>(&json).unwrap()
        );
        let shapes = [
            "[]",
            "{}",
            "{ nonsense = 1 }",
            "-1",
            "\"\"",
            "true",
            "nan",
            "[[[]]]",
            "\"nonsense\"",
        ];
        let refused = shapes
            .iter()
            .filter(|shape| read(&[(key, shape)]).is_err())
            .count();
        assert!(refused >= 6, "{key} takes anything: {refused}");
    }
}

/// Keys of flows that `fabric.rs` walks.
const OF_FABRICS: &[(&str, &str)] = &[
    ("flows.0.from", ""),
    ("flows.0.to", ""),
    ("flows.0.spray", ""),
];

/// A key that is added has its line above.
#[test]
fn no_key_is_left_out() {
    let is_of_a_memory = |key: &String| !key.starts_with("memories.");
    let mine: BTreeSet<String> = AS_WRITTEN
        .iter()
        .chain(OTHERWISE)
        .chain(OF_FABRICS)
        .map(|(key, _)| {
            key.replace(".0.", ".")
                .replace(".1.", ".")
                .replace("links.", "link.")
        })
        .filter(is_of_a_memory)
        .collect();
    let texts = sections();
    let keys = |section: &KeyText| {
        let name = section.name.clone();
        let keys = section
            .keys
            .iter()
            .map(move |key| format!("{name}.{}", key.name));
        keys.collect::<Vec<_>>()
    };
    let known: BTreeSet<String> = texts
        .iter()
        .filter(|section| {
            ["link", "flows", "run", "fluid", "trace"].contains(&section.name.as_str())
        })
        .flat_map(keys)
        .collect();
    assert_eq!(mine, known);
}

/// Least and most that a key takes, with the next value beyond each.
#[test]
fn the_ends_are_taken_and_nothing_beyond() {
    for (key, below, least, most, above) in [
        ("links.1.rate", "999bps", "1kbps", "100Tbps", "101Tbps"),
        ("flows.0.packet", "40B", "41B", "65535B", "65536B"),
        ("flows.0.count", "0", "1", "16777213", "16777214"),
        ("flows.0.min_rto", "999ns", "1us", "60s", "60001ms"),
        ("flows.0.initial_rto", "999ns", "1us", "60s", "60001ms"),
        ("flows.0.clock", "-1s", "0s", "1s", "1001ms"),
        ("links.1.loss.random", "-0.1%", "0%", "100%", "101%"),
        ("links.1.loss.random", "-1", "0", "1", "1.01"),
        ("links.1.medium.stations", "-1", "0", "250", "251"),
        ("links.1.medium.frames", "0", "1", "256", "257"),
        ("links.1.medium.air", "99us", "100us", "5484us", "5485us"),
        (
            "links.1.medium.slot",
            "62499ns",
            "62500ns",
            "10ms",
            "10001us",
        ),
        ("links.1.medium.block_error", "-1%", "0%", "50%", "51%"),
        ("links.1.medium.repeats", "-1", "0", "31", "32"),
        ("links.1.medium.feedback", "0", "1", "64", "65"),
        ("links.1.medium.recovery", "999us", "1ms", "1s", "1001ms"),
        ("links.1.medium.map", "99us", "100us", "100ms", "101ms"),
        ("links.1.medium.grant", "0", "1", "64", "65"),
        ("flows.0.delayed_ack.packets", "0", "1", "1000", "1001"),
        ("flows.0.delayed_ack.quick", "-1", "0", "1000", "1001"),
        ("flows.0.delayed_ack.timeout", "-1s", "0s", "1s", "1001ms"),
        ("flows.0.delayed_ack.gro", "-1s", "0s", "1s", "1001ms"),
        (
            "flows.0.delayed_ack.sack_delay",
            "-1s",
            "0s",
            "1s",
            "1001ms",
        ),
        ("flows.0.initial_window", "0.5p", "1p", "1e9p", "1.1e9p"),
        ("flows.0.receive_window", "0.5p", "1p", "1e9p", "1.1e9p"),
        ("flows.0.initial_ssthresh", "1p", "2p", "1e9p", "1.1e9p"),
        ("run.measure", "0s", "1ms", "100d", "8640001s"),
        ("run.warmup", "-1s", "0s", "100d", "8640001s"),
        ("run.replications", "0", "1", "1000000", "1000001"),
        (
            "run.seed",
            "-1",
            "0",
            "9223372036854775807",
            "9223372036854775808",
        ),
        ("fluid.minimum_synchronization", "-0.01", "0", "1", "1.01"),
        ("fluid.tolerance", "9e-10", "1e-9", "0.1", "0.11"),
    ] {
        // Keys of a medium are those of its kind.
        let cellular = ["slot", "block_error", "repeats", "feedback", "recovery"];
        let of = |words: &[&str]| words.iter().any(|word| key.ends_with(word));
        let kind = match () {
            () if of(&cellular) => "cellular",
            () if of(&["map", "grant"]) => "docsis",
            () => "wifi",
        };
        let kind = ("links.1.medium", kind);
        let read = |(key, value)| {
            let medium = Some(kind).filter(|_| str::contains(key, ".medium."));
            let changes: Vec<_> = medium.into_iter().chain([(key, value)]).collect();
            read(&changes)
        };
        for allowed in [least, most] {
            if let Err(error) = read((key, allowed)) {
                panic!("{key} {allowed}: {error}");
            }
        }
        for refused in [below, above] {
            let error = read((key, refused)).expect_err(key);
            assert!(!error.value_error.allowed().is_empty(), "{key} {refused}");
        }
    }
}

/// Every word that a key takes is written as itself, and different words are different scenarios.
#[test]
fn every_word_stays_itself() {
    let texts = sections();
    let mut examined = 0;
    for (section, prefix) in [
        ("link", "links.1"),
        ("flows", "flows.0"),
        ("fluid", "fluid"),
        ("trace", "trace"),
    ] {
        let section = texts.iter().find(|text| text.name == section).unwrap();
        for key in &section.keys {
            let name = format!("{prefix}.{}", key.name);
            let words = key.keys.iter().map(|word| word.name.as_str());
            let given: Vec<(&str, Scenario)> = words
                .filter_map(|word| Some((word, read(&[(&name, &format!("\"{word}\""))]).ok()?)))
                .collect();
            for (at, (word, scenario)) in given.iter().enumerate() {
                let again = Scenario::parse(&scenario.canonical_json(), Format::Json, "again", &[]);
                assert_eq!(again.as_ref(), Ok(scenario), "{name} {word}");
                for (other, another) in &given[..at] {
                    // `app_limited` and the like may be a table, too, and presets are what they
                    // stand for.
                    assert!(scenario != another, "{name}: {word} {other}");
                }
                examined += 1;
            }
        }
    }
    assert!(examined > 20, "{examined}");
}
