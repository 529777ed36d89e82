//! Policers: what comes too fast is dropped in front of the queue, and counted apart from it.

use std::collections::BTreeMap;

use forebay_scenario::{Estimate, Metric, Report};

use super::disciplines::names;
use super::media::POISSON;
use super::{of_group, run_with, value};

fn policer(rate: &str, burst: u64, more: &str) -> String {
    format!("link.policer={{ rate = \"{rate}\", burst = \"{burst}B\"{more} }}")
}

/// A bucket of k + 1 packets drops the packets that a queue for k at its rate would: those that
/// come when k packets' time of work is ahead. The queue waits, the bucket does not.
#[test]
fn a_policer_loses_what_a_queue_of_its_burst_would() {
    for (rate, burst) in [("90Mbps", 0), ("90Mbps", 9), ("97Mbps", 30), ("40Mbps", 3)] {
        let queue = [format!("link.rate={rate}"), format!("link.buffer={burst}p")];
        let queue = run_with(POISSON, &queue);
        let fast = [
            "link.rate=10Gbps".to_owned(),
            policer(rate, 1250 * (burst + 1), ""),
        ];
        let policed = run_with(POISSON, &fast);
        let expected = value(&queue, Metric::LossRate);
        assert!(expected > 0.001, "{rate} {burst}");
        assert_eq!(value(&policed, Metric::PolicerLossRate), expected);
        assert_eq!(value(&policed, Metric::LossRate), 0.0);
        assert_eq!(queue.value(Metric::PolicerLossRate), None);
        // The packets that pass are those that arrive; packets that wait at the ends make the
        // difference.
        for group in 0..2 {
            let goodput = |report: &Report| of_group(report, group, Metric::Goodput);
            let waiting = (burst + 1) as f64 * 10_000.0 / 20.0;
            assert!((goodput(&policed) - goodput(&queue)).abs() <= waiting);
            assert_eq!(of_group(&policed, group, Metric::LossRate), 0.0);
        }
    }
}

/// Where yellow packets pass, only the higher of two rates drops, as a policer of its own; where
/// they are dropped, so is all that exceeds the lower one. Surplus tokens of one rate help once.
#[test]
fn yellow_packets_pass_the_lower_rate_or_are_dropped_at_it() {
    let run = |policer: String| run_with(POISSON, &[policer]);
    let peak = ", peak = \"80Mbps\", peak_burst = \"12500B\"";
    let excess = ", excess_burst = \"250kB\"";
    let plain = |rate, burst| run(policer(rate, burst, "")).metrics;
    let with = |more: &str| run(policer("60Mbps", 125_000, more)).metrics;
    let dropped = |more: &str| with(&format!("{more}, yellow = \"drop\""));
    assert_eq!(with(peak), plain("80Mbps", 12_500));
    assert_eq!(dropped(excess), plain("60Mbps", 125_000));
    // Full now and then, the buckets lose few tokens: a load of 95 Mb/s takes them all.
    let used = |metrics: &BTreeMap<Metric, Estimate>| metrics[&Metric::Utilization].mean;
    let bucket = 125_000.0 * 8.0 / 2e9;
    for metrics in [dropped(peak), with(excess), plain("60Mbps", 125_000)] {
        assert!((used(&metrics) - 0.6).abs() < bucket, "{}", used(&metrics));
    }
}

/// A policer that nothing exceeds changes nothing, behind whichever queue.
#[test]
fn a_policer_that_nothing_exceeds_is_none() {
    let queues = names().map(|name| format!("link.queue={name}"));
    for queue in queues {
        let mut text = FLOW.replace("400s", "4s").replace("20s", "1s");
        text += POISSON
            .split_once("[[flows]]")
            .unwrap()
            .1
            .split_once("[run]")
            .unwrap()
            .0;
        let text = text.replace("name = \"first\"", "[[flows]]\nname = \"first\"");
        let changes = [
            "link.rate=30Mbps",
            "link.buffer=40p",
            "flows.first.workload.poisson.rate=15Mbps",
            "flows.second.workload.poisson.rate=5Mbps",
            &queue,
        ];
        let whole = run_with(&text, &changes);
        let roomy = policer("1Gbps", 1_000_000_000, "");
        let policed = run_with(&text, &[&changes[..], &[&roomy]].concat());
        assert_eq!(value(&policed, Metric::PolicerLossRate), 0.0);
        let mut metrics = policed.metrics.clone();
        metrics.remove(&Metric::PolicerLossRate);
        assert_eq!(metrics, whole.metrics, "{queue}");
        for (mine, other) in policed.groups.iter().zip(&whole.groups) {
            assert_eq!(mine.metrics, other.metrics, "{queue}");
        }
    }
}

const FLOW: &str = r#"
[link]
rate = "1Gbps"
buffer = "10000p"
[[flows]]
name = "flow"
cca = "newreno"
recovery = "sack"
rtt = "100ms"
packet = "1250B"
header = "40B"
pacing = true
delayed_ack = { packets = 1 }
min_rto = "200ms"
[run]
warmup = "20s"
measure = "400s"
seed = 2
"#;

/// Bytes of a bandwidth-delay product of 10 Mb/s and 100 ms: 100 packets.
const BDP: f64 = 125_000.0;

/// The throughput of a paced NewReno flow through a policer, and its theory. The window W grows by
/// a packet in each round trip. Above a bandwidth-delay product D it takes tokens of the bucket,
/// `(W - D)^2 / 2` packets, until the bucket of b packets is empty and W halves at `D + sqrt(2 b)`.
/// The mean of the sawtooth is `3 W / 4`, up to the rate itself if the bucket never fills again, at
/// `b = D^2 / 18`. The theory of a queue differs by the square only: a policer delays no packet, so
/// it does not slow a window's growth.
#[test]
fn a_small_burst_costs_a_flow_up_to_a_quarter_of_the_rate() {
    let packets = BDP / 1250.0;
    let mut last = 0.0;
    for burst in [20.0, 60.0, 150.0, 555.6, 1000.0] {
        let report = run_with(FLOW, &[policer("10Mbps", (burst * 1250.0) as u64, "")]);
        assert_eq!(value(&report, Metric::LossRate), 0.0);
        assert!(value(&report, Metric::PolicerLossRate) > 0.0);
        let share = value(&report, Metric::Goodput) * 1250.0 / 1210.0 / 10e6;
        let theory = (0.75 * (1.0 + (2.0_f64 * burst).sqrt() / packets)).min(1.0);
        assert!(
            (share / theory - 1.0).abs() < 0.03,
            "{burst}: {share} {theory}"
        );
        assert!(share > last - 0.01 && share <= 1.0 + burst * 10_000.0 / 4e9);
        last = share;
    }
}

/// Flach and others 2016 found policed flows to lose many packets and to get far less than the
/// rate: so it is where bursts of a window are larger than the bucket, unless that holds a
/// bandwidth-delay product.
#[test]
fn a_flow_that_is_not_paced_gets_far_less_behind_a_small_burst() {
    let share = |burst: f64| {
        let changes = [
            policer("10Mbps", burst as u64, ""),
            "flows.flow.pacing=false".into(),
            "flows.flow.cca=cubic".into(),
        ];
        value(&run_with(FLOW, &changes), Metric::Goodput) / 10e6
    };
    let (small, large) = (share(3750.0), share(BDP));
    assert!(small < 0.6, "{small}");
    assert!(large > 0.85, "{large}");
}

/// Losses of a policer are no losses of a queue: no congestion event, no loss rate of groups.
#[test]
fn a_queue_is_not_blamed_for_its_policer() {
    let report = run_with(
        FLOW,
        &[policer("10Mbps", 30_000, ""), "run.measure=20s".into()],
    );
    assert_eq!(value(&report, Metric::CongestionEvents), 0.0);
    assert_eq!(of_group(&report, 0, Metric::LossRate), 0.0);
    assert!(of_group(&report, 0, Metric::Retransmissions) > 2.0);
}
