//! Links whose rate changes, in the packet-level and the fluid engine: the differences and their
//! causes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use forebay_engines::engine;
use forebay_scenario::{Format, Metric, Report, RunOptions, Scenario, WarningKind};

const SQUARE: &str = r#"{ steps = [["0s", "50Mbps"], ["10s", "5Mbps"]], repeat = "20s" }"#;

/// Four satellites of a constellation, 15 s each.
const SATELLITES: &str = r#"{ steps = [["0s", "50Mbps"], ["15s", "250Mbps"], ["30s", "120Mbps"],
    ["45s", "180Mbps"]], repeat = "60s" }"#;

const OUTAGE: &str = r#"{ steps = [["0s", "50Mbps"], ["19s", "0bps"]], repeat = "20s" }"#;

const DRAWN: &str = r#"{ markov = [{ rate = "50Mbps", mean_time = "2s" }, { rate = "5Mbps", mean_time = "1s" },
    { rate = "0bps", mean_time = "100ms" }] }"#;

/// The reports of both engines, the packet-level one first.
fn both(rate: &str, buffer: &str, flows: &str) -> [Report; 2] {
    let text = format!(
        "[link]\nrate = {}\nbuffer = \"{buffer}\"\n[[flows]]\n{flows}\n[run]\nwarmup = \"40s\"\nmeasure = \"240s\"",
        rate.replace('\n', " ")
    );
    let scenario = Scenario::parse(&text, Format::Toml, "test", &[]);
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}\n{text}"));
    ["packet", "fluid"].map(|name| {
        let run = engine(name).unwrap().run(&scenario, &RunOptions::default());
        run.unwrap_or_else(|error| panic!("{error}\n{text}"))
    })
}

/// Utilizations differ by less than two hundredths if the buffer holds the arrivals of a round trip
/// after a drop. Mean delays are higher in the fluid engine, because its events reduce fewer
/// windows. Constant links show the same: 12.5 and 10.8 ms with twenty New Reno flows and 1 MB at
/// 50 Mb/s. Hosts are exact: then flows of one round trip lose together, as those of the fluid
/// engine do. With a varied processing time the smallest buffer here has 0.9 points more
/// utilization.
#[test]
fn both_engines_see_the_same_link() {
    for (rate, buffer, flows, (least, most)) in [
        (SQUARE, "1MB", "cca = \"cubic\"", (1.0, 1.2)),
        (SQUARE, "50kB", "cca = \"cubic\"\ncount = 20", (1.0, 1.25)),
        (SQUARE, "1MB", "cca = \"newreno\"\ncount = 20", (1.1, 1.45)),
        (SATELLITES, "1MB", "cca = \"cubic\"\ncount = 20", (1.0, 1.3)),
        (OUTAGE, "1MB", "cca = \"newreno\"\ncount = 20", (1.0, 1.3)),
        (
            OUTAGE,
            "1MB",
            "cca = \"newreno\"\nmin_rto = \"3s\"",
            (1.0, 1.4),
        ),
        (DRAWN, "1MB", "cca = \"cubic\"\ncount = 8", (0.9, 1.2)),
    ] {
        let flows = format!("rtt = \"100ms\"\nprocessing = \"0s\"\n{flows}");
        let [packet, fluid] = both(rate, buffer, &flows);
        let values = |metric| [&packet, &fluid].map(|report| report.value(metric).unwrap());
        let [one, other] = values(Metric::Utilization);
        assert!((one - other).abs() < 0.02, "{rate} {flows}: {one} {other}");
        let [one, other] = values(Metric::QueueDelayMean);
        let ratio = other / one;
        assert!(
            (least..most).contains(&ratio),
            "{rate} {flows}: {one} {other}"
        );
        let [one, other] = values(Metric::DrainTimeMax);
        assert!(
            (0.85..1.35).contains(&(other / one)),
            "{rate} {flows}: {one} {other}"
        );
        let [one, other] = values(Metric::QueueDelayMax);
        assert!(
            (other / one - 1.0).abs() < 0.04,
            "{rate} {flows}: {one} {other}"
        );
    }
}

/// Timers of a second expire in an outage of a second, and the flow restarts. The fluid model omits
/// that and warns of it. With timers of three seconds it gives no warning.
#[test]
fn the_fluid_says_that_outages_outlast_timers() {
    let flows = "rtt = \"100ms\"\ncca = \"newreno\"";
    let [packet, fluid] = both(OUTAGE, "1MB", flows);
    let [one, other] =
        [packet, fluid.clone()].map(|report| report.value(Metric::Utilization).unwrap());
    assert!(one < 0.8 && other > 0.99, "{one} {other}");
    let text_of = |report: &Report| {
        let outside = report
            .warnings
            .iter()
            .filter(|warning| warning.kind == WarningKind::OutsideDomain);
        outside
            .map(|warning| warning.subject.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(text_of(&fluid), ["outage"]);
    let [_, patient] = both(OUTAGE, "1MB", &format!("{flows}\nmin_rto = \"3s\""));
    assert!(text_of(&patient).is_empty());
}

/// Unresponsive traffic differs by at most a packet's length: evenly spaced packets wait as long as
/// the fluid.
#[test]
fn an_even_load_is_the_same_in_both() {
    for (rate, buffer) in [
        (SQUARE, "1MB"),
        (SQUARE, "100MB"),
        (OUTAGE, "400kB"),
        (SATELLITES, "1MB"),
    ] {
        let [packet, fluid] = both(
            rate,
            buffer,
            "workload = { cbr = { rate = \"20Mbps\" } }\npacket = \"500B\"",
        );
        for (metric, within) in [
            (Metric::Utilization, 1e-3),
            (Metric::LossRate, 1e-3),
            (Metric::QueueDelayMean, 2e-3),
            (Metric::QueueDelayP50, 5e-3),
            (Metric::QueueDelayP99, 5e-3),
            (Metric::QueueDelayMax, 2e-3),
            // Packets are sampled 59 ms apart, and the drain time changes by up to 3 s in a second.
            (Metric::QueueDelayP50Slow, 0.03),
            (Metric::QueueDelayP99Slow, 0.03),
            (Metric::QueueDelayP50Fast, 0.03),
            (Metric::QueueDelayP99Fast, 0.03),
        ] {
            let [one, other] = [&packet, &fluid].map(|report| report.value(metric).unwrap());
            let apart = (one - other).abs() / one.abs().max(1.0);
            assert!(
                apart < within,
                "{rate} {buffer} {}: {one} {other}",
                metric.goal_name()
            );
        }
    }
}

/// An even load fills a buffer, and each fall of the rate finds it full. The queue is then sent at
/// the rates that follow.
#[test]
fn a_standing_queue_takes_as_long_in_both() {
    let stairs = r#"{ steps = [["0s", "10Mbps"], ["10s", "8Mbps"], ["10100ms", "0bps"], ["11s", "4Mbps"],
        ["15s", "30Mbps"]], repeat = "60s" }"#;
    // The link sends 0.8 Mbit in the first 0.1 s, nothing for 0.9 s, and the rest at 4 Mb/s. The
    // second fall finds a full buffer, and all of it is sent after that. A buffer that drains at 10
    // Mb/s is empty at the third.
    for (buffer, expected) in [
        ("50kB", 0.9 + 0.1),
        ("100kB", 0.9 + 0.2),
        ("1MB", 0.9 + 2.0),
        ("1375kB", 0.9 + 2.75),
    ] {
        let [packet, fluid] = both(
            stairs,
            buffer,
            "workload = { cbr = { rate = \"20Mbps\" } }\npacket = \"500B\"",
        );
        for report in [packet, fluid] {
            let found = report.value(Metric::DrainTimeMax).unwrap();
            let error = (found - expected).abs();
            assert!(error < 0.004, "{} {buffer}: {found}", report.engine);
        }
    }
}

/// Steps of one rate give the constant link to the last byte.
#[test]
fn steps_of_one_rate_are_that_rate() {
    let list: Vec<String> = (0..10)
        .map(|at| format!("[\"{at}s\", \"20Mbps\"]"))
        .collect();
    let steps = format!("{{ steps = [{}], repeat = \"10s\" }}", list.join(", "));
    for flows in [
        "rtt = \"50ms\"\ncount = 3",
        "workload = { poisson = { rate = \"19Mbps\" } }",
    ] {
        let [packets, fluid] = both(&steps, "60p", flows);
        let [same_packets, same_fluid] = both("\"20Mbps\"", "60p", flows);
        assert_eq!(
            format!("{:?}", packets.metrics),
            format!("{:?}", same_packets.metrics)
        );
        assert_eq!(format!("{fluid:?}"), format!("{same_fluid:?}"));
    }
}
