//! Cable modems: what waits is asked for, and sent when it is granted.

use forebay_scenario::Metric;

use super::disciplines::names;
use super::{of_group, run_with, value};

const SPARSE: &str = r#"
[link]
rate = "12Mbps"
buffer = "200p"
medium = "docsis"
[[flows]]
packet = "800B"
workload = { poisson = { rate = "64kbps" } }
[run]
warmup = "1s"
measure = "400s"
"#;

/// A packet that comes at any time of an interval waits for half of one to be asked for, and for
/// two more to be granted. Until then it is in the queue.
#[test]
fn a_single_packet_is_asked_for_and_granted() {
    for (medium, wait) in [
        ("\"docsis\"", 5e-3),
        ("{ kind = \"docsis\", map = \"1ms\", grant = 6 }", 6.5e-3),
    ] {
        let report = run_with(SPARSE, &[format!("link.medium={medium}")]);
        let found = value(&report, Metric::QueueDelayMean);
        // 4,000 packets, uniform over an interval: five standard errors of it are 0.05 ms.
        assert!((found - wait).abs() < 0.05e-3, "{medium} {found} {wait}");
        let used = value(&report, Metric::Utilization);
        assert!((used / (64e3 / 12e6) - 1.0).abs() < 0.08, "{used}");
    }
}

/// Requests are made long before they are granted, so that a link that is never idle loses nothing
/// by them, whatever holds the packets.
#[test]
fn a_flooded_link_is_always_granted() {
    for name in names() {
        let changes = [
            format!("link.queue={name}"),
            "run.measure=20s".to_owned(),
            "flows.0.workload={ cbr = { rate = \"16Mbps\" } }".to_owned(),
        ];
        let report = run_with(SPARSE, &changes);
        let used = value(&report, Metric::Utilization);
        assert!(used > 0.999 || name != "droptail", "{used}");
        // CHOKe drops two packets at each arrival to a queue that is as long as grants take.
        assert!(used > 0.9 || name == "choke", "{name} {used}");
        assert!(used <= 1.0, "{name} {used}");
    }
}

/// To a flow that fills the link a modem is one with longer round trips: by the grant and by what
/// is asked for late.
#[test]
fn a_flow_sees_a_longer_round_trip() {
    let flow = SPARSE.replace(
        "workload = { poisson = { rate = \"64kbps\" } }",
        "rtt = \"30ms\"",
    );
    let changes = ["link.buffer=24p", "run.measure=200s"];
    let modem = run_with(&flow, &changes);
    let wire = run_with(
        &flow.replace("medium = \"docsis\"", ""),
        &["link.buffer=12p", changes[1], "flows.0.rtt=36ms"],
    );
    let rates = [&modem, &wire].map(|report| of_group(report, 0, Metric::Goodput));
    assert!(rates[0] < 12e6 && rates[1] < 12e6, "{rates:?}");
    assert!((rates[0] / rates[1] - 1.0).abs() < 0.1, "{rates:?}");
}
