//! Random groups of flows, written as in a file.

use std::fmt::Write as _;

use forebay_units::parameter::{Description, Parameters};

use crate::Tape;
use crate::random_scenario::algorithm;

/// The kind of traffic of a scenario's groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Traffic {
    /// Any traffic.
    Any,
    /// Traffic that formulas and the fluid engine support, too: flows without an end, and sources.
    Steady,
}

/// Controllers that have a model in the fluid engine.
fn with_a_fluid_face() -> Vec<&'static Description> {
    let all = forebay_congestion::descriptions().iter().copied();
    let found: Vec<_> = all
        .filter(|description| {
            let defaults = Parameters::defaults(description.parameters);
            forebay_congestion::fluid_law(description.name, &defaults).is_some()
        })
        .collect();
    assert!(!found.is_empty(), "no controller has a fluid face");
    found
}

fn steady(tape: &mut Tape<'_>) -> String {
    let rate = tape.one(&["1Mbps", "9Mbps", "20Mbps", "1kbps"]);
    match tape.below(6) {
        4 => format!("{{ poisson = {{ rate = \"{rate}\" }} }}"),
        5 => format!("{{ cbr = {{ rate = \"{rate}\" }} }}"),
        _ => "\"persistent\"".to_owned(),
    }
}

const ROUND_TRIPS: [&str; 13] = [
    "\"20ms\"",
    "{ linspace = [\"5ms\", \"80ms\"] }",
    "{ uniform = [\"10ms\", \"50ms\"] }",
    "\"100us\"",
    "{ exponential = \"30ms\" }",
    "{ lognormal = { median = \"30ms\", sigma = 1.0 } }",
    "{ choice = [\"5ms\", \"7ms\"] }",
    "{ value = \"20ms\", jitter = \"5ms\" }",
    "{ common = { uniform = [\"10ms\", \"50ms\"] } }",
    "{ weibull = { shape = 0.6, mean = \"30ms\" } }",
    "{ pareto = { shape = 1.1, minimum = \"2ms\", maximum = \"300ms\" } }",
    "{ cdf = [[\"1ms\", 0.0], [\"20ms\", 0.5], [\"200ms\", 1.0]] }",
    "{ mixture = [{ weight = 0.5, value = \"2ms\" }, { weight = 0.5, exponential = \"40ms\" }] }",
];

const SIZES: [&str; 11] = [
    "\"20p\"",
    "\"1p\"",
    "\"1B\"",
    "\"0B\"",
    "{ exponential = \"30p\" }",
    "{ pareto = { shape = 1.2, mean = \"20p\" } }",
    "{ lognormal = { median = \"10kB\", sigma = 2.0 } }",
    "{ cdf = [[\"1kB\", 0.0], [\"10kB\", 0.9], [\"1MB\", 1.0]] }",
    "{ mixture = [{ weight = 0.3, value = \"3p\" }, { weight = 0.7, exponential = \"9kB\" }] }",
    "{ weibull = { shape = 0.5, scale = \"5kB\" } }",
    "{ measured = \"web_search\" }",
];

fn workload(tape: &mut Tape<'_>) -> String {
    let size = tape.one(&SIZES);
    let rate = tape.one(&["1Mbps", "9Mbps", "20Mbps", "1kbps"]);
    let period = |tape: &mut Tape<'_>| {
        tape.one(&[
            "{ exponential = \"50ms\" }",
            "\"10ms\"",
            "{ pareto = { shape = 1.5, mean = \"20ms\" } }",
        ])
    };
    match tape.below(12) {
        8 => {
            let pause = tape.one(&["{ exponential = \"100ms\" }", "\"10ms\"", "\"0s\""]);
            let delay = tape.one(&["{ exponential = \"1ms\" }", "\"0s\""]);
            let servers = 1 + tape.below(20);
            format!(
                "{{ incast = {{ servers = {servers}, pause = {pause}, delay = {delay}, size = {size} }} }}"
            )
        }
        9 => format!("{{ app_limited = {{ rate = \"{rate}\" }} }}"),
        10 => "\"voip\"".to_owned(),
        11 => {
            let every = period(tape);
            format!("{{ periodic = {{ every = {every}, size = {size} }} }}")
        }
        0 => "\"persistent\"".to_owned(),
        1 => format!("{{ finite = {{ size = {size} }} }}"),
        2 => {
            let think = tape.one(&["{ exponential = \"100ms\" }", "\"10ms\"", "\"1s\""]);
            let users = 1 + tape.below(20);
            format!("{{ closed_loop = {{ users = {users}, think = {think}, size = {size} }} }}")
        }
        3 => {
            let load = tape.one(&["0.5", "1.2", "0.01"]);
            // A transfer of zero bytes still takes a packet.
            format!("{{ open_loop = {{ load = {load}, size = {size} }} }}")
        }
        4 => {
            let gap = tape.one(&["{ exponential = \"20ms\" }", "\"7ms\""]);
            format!("{{ open_loop = {{ interarrival = {gap}, size = {size} }} }}")
        }
        5 => format!("{{ poisson = {{ rate = \"{rate}\" }} }}"),
        6 => format!("{{ cbr = {{ rate = \"{rate}\" }} }}"),
        _ => {
            let (on, off) = (period(tape), period(tape));
            format!("{{ on_off = {{ peak = \"{rate}\", on = {on}, off = {off} }} }}")
        }
    }
}

/// Keys of the stack, sometimes a few of them.
fn stack(tape: &mut Tape<'_>) -> String {
    let text = format!("stack = \"{}\"\n", tape.one(&["rfc", "ns2", "linux"]));
    let keys: [(&str, &[&str]); 21] = [
        (
            "recovery",
            &["\"sack\"", "\"newreno\"", "\"rack\"", "\"fack\""],
        ),
        ("timeout_cut", &["\"first\"", "\"every\""]),
        ("initial_rto", &["\"1s\"", "\"3s\"", "\"1us\""]),
        ("partial_ack_timer", &["\"first\"", "\"every\""]),
        ("min_rto", &["\"200ms\"", "\"1us\"", "\"60s\""]),
        ("clock", &["\"10ms\"", "\"0s\"", "\"1s\""]),
        (
            "delayed_ack",
            &[
                "{ packets = 2, timeout = \"40ms\" }",
                "{ packets = 1000, timeout = \"1s\" }",
                "{ packets = 3, timeout = \"0s\" }",
                "{ packets = 2, push = true, quick = 3, sack_delay = \"1ms\" }",
                "{ packets = 2, gro = \"100us\", sack_delay = \"1s\" }",
                "{ gro = \"1s\" }",
            ],
        ),
        ("initial_window", &["\"1p\"", "\"10p\"", "\"1000p\"", "1.5"]),
        ("initial_ssthresh", &["\"2p\"", "\"50p\""]),
        (
            "receive_window",
            &["\"20p\"", "\"1p\"", "\"1000000000p\"", "1.5"],
        ),
        ("header", &["\"40B\"", "\"0B\"", "\"499B\""]),
        ("timestamps", &["false", "true"]),
        ("handshake", &["false", "true"]),
        ("pacing", &["false", "true"]),
        ("offload", &["false", "true"]),
        ("offload_grows", &["false", "true"]),
        ("ecn", &["false", "true"]),
        ("frto", &["false", "true"]),
        ("processing", &["\"packet\"", "\"10us\"", "\"5ms\""]),
        ("slow_start_after_idle", &["true", "false"]),
        (
            "access",
            &[
                "{ rate = \"20Mbps\" }",
                "{ rate = \"2Mbps\", queue = \"5p\" }",
                "{ rate = \"5Mbps\", queue = \"0p\" }",
            ],
        ),
    ];
    text + &tape.some_of(&keys, 4)
}

/// A group of flows. `paths` are its possible paths; it is empty if there is only one.
pub(crate) fn group(
    tape: &mut Tape<'_>,
    number: usize,
    paths: &[&str],
    traffic: Traffic,
) -> String {
    let workload = match traffic {
        Traffic::Any => workload(tape),
        Traffic::Steady => steady(tape),
    };
    let unresponsive = ["poisson", "cbr", "on_off"]
        .iter()
        .any(|kind| workload.contains(kind));
    let mut text = format!("[[flows]]\nname = \"g{number}\"\nworkload = {workload}\n");
    if !workload.contains("users") && !workload.contains("open_loop") {
        let count = tape.one(&[
            "1",
            "3",
            "40",
            "{ poisson = 5.5 }",
            "{ uniform = [1, 9] }",
            "{ choice = [2, 20] }",
        ]);
        let _ = writeln!(text, "count = {count}");
    }
    let _ = writeln!(
        text,
        "cca = {}",
        match traffic {
            Traffic::Any => algorithm(tape, forebay_congestion::descriptions()),
            Traffic::Steady => algorithm(tape, &with_a_fluid_face()),
        }
    );
    let _ = writeln!(text, "rtt = {}", tape.one(&ROUND_TRIPS));
    let packets = [
        "\"1500B\"",
        "\"1000B\"",
        "{ choice = [\"600B\", \"1500B\"] }",
        "\"65535B\"",
    ];
    let _ = writeln!(text, "packet = {}", tape.one(&packets));
    text += &stack(tape);
    let starts = [
        "{ uniform = [\"0s\", \"500ms\"] }",
        "\"0s\"",
        "\"1s\"",
        "\"100s\"",
    ];
    let _ = writeln!(text, "start = {}", tape.one(&starts));
    if tape.rarely(4) {
        let _ = writeln!(
            text,
            "stop = {}",
            tape.one(&["\"1s\"", "\"0s\"", "\"1500ms\""])
        );
    }
    if !paths.is_empty() {
        let _ = writeln!(text, "path = {}", tape.one(paths));
        if tape.rarely(3) && !unresponsive {
            let _ = writeln!(text, "reverse = {}", tape.one(paths));
        }
    }
    text
}
