//! The preset `linux` against what the Linux 6.18 kernel did in the same place (50 Mb/s, 50 ms; the
//! rows are in tests/reference/linux.jsonl).

use forebay_scenario::{Metric, Report};

use super::{replication, scenario, value};

const LINK: &str = r#"
[link]
rate = "50Mbps"
buffer = "52p"

[[flows]]
name = "kernel"
cca = "cubic"
stack = "linux"
rtt = "50ms"
packet = "1500B"
start = { uniform = ["0s", "2s"] }
workload = "persistent"

[run]
warmup = "20s"
measure = "100s"
"#;

fn run(changes: &[&str], seed: u64) -> Report {
    replication(&scenario(LINK, changes), seed)
}

/// Packets dropped of those that arrived in 100 s.
fn drops(report: &Report) -> f64 {
    let arrived = value(report, Metric::Utilization) * 50e6 * 100.0 / 12e3;
    value(report, Metric::LossRate) * arrived
}

#[test]
fn one_cubic_flow_cycles_and_waits_as_the_kernel_s() {
    // The kernel: 22 drops, one per cycle of 4.6 s, and 6.8 ms; RFC 9438's cubic takes 5.9 s.
    for seed in 1..=3 {
        let linux = run(&[], seed);
        assert!((drops(&linux) - 22.0).abs() < 3.0, "{}", drops(&linux));
        let wait = value(&linux, Metric::QueueDelayMean);
        assert!((wait / 6.84e-3 - 1.0).abs() < 0.1, "{wait}");
    }
    let rfc = run(
        &[
            "flows.kernel.cca={ kind = \"cubic\", variant = \"rfc\" }",
            "flows.kernel.offload=false",
        ],
        1,
    );
    assert!(drops(&rfc) < 19.0, "{}", drops(&rfc));
}

#[test]
fn bursts_of_offload_queue_longer_than_single_packets() {
    // The kernel's Reno at 10 packets: 0.47 ms with offload, 0.32 ms without.
    let reno = ["flows.kernel.cca=newreno", "link.buffer=10p"];
    let gathered = value(&run(&reno, 1), Metric::QueueDelayMean);
    let single = [&reno[..], &["flows.kernel.offload=false"]].concat();
    let single = value(&run(&single, 1), Metric::QueueDelayMean);
    assert!((gathered / 0.47e-3 - 1.0).abs() < 0.15, "{gathered}");
    assert!((single / 0.317e-3 - 1.0).abs() < 0.15, "{single}");
}

#[test]
fn four_bbr_flows_at_a_small_buffer_lose_a_tenth_and_the_slowest_a_fifth() {
    // The kernel: 10.5 %; 22.6, 22.4, 2.6 and 1.4 Mb/s; 19 and 21 % of the slow flows' packets.
    // Without the suspicion of a policer it would be 14 and 28 %.
    let changes = [
        "flows.kernel.cca=bbr",
        "flows.kernel.count=4",
        "link.buffer=10p",
    ];
    let mut loss = 0.0;
    for seed in 1..=4 {
        let report = run(&changes, seed);
        loss += value(&report, Metric::LossRate) / 4.0;
        let flows = &report.groups[0].per_flow;
        let slowest = flows
            .iter()
            .min_by(|a, b| a.goodput_bps.total_cmp(&b.goodput_bps));
        let slowest = slowest.expect("four flows");
        assert!(slowest.goodput_bps < 4e6, "{slowest:?}");
        assert!((0.15..0.25).contains(&slowest.loss_rate), "{slowest:?}");
    }
    assert!((loss / 0.105 - 1.0).abs() < 0.15, "{loss}");
}

/// Bursts of segmentation offload end at 64 KiB: seven packets of 9000 bytes.
#[test]
fn jumbo_packets_leave_in_bursts_that_a_small_buffer_holds() {
    let jumbo = |buffer: &str, cca: &str| {
        let text = format!(
            r#"
[link]
rate = "10Gbps"
buffer = "{buffer}"

[[flows]]
cca = "{cca}"
stack = "linux"
rtt = "1.2ms"
packet = "9000B"
access = {{ rate = "20Gbps" }}

[run]
warmup = "300ms"
measure = "300ms"
"#
        );
        replication(&scenario::<&str>(&text, &[]), 1)
    };
    // A burst of 44 such packets, as of 1500 bytes, would overrun 18 packets at each start.
    let utilization = value(&jumbo("18p", "bbr"), Metric::Utilization);
    assert!(utilization > 0.9, "{utilization}");
    // With room for a burst at either end and two products nothing is lost, and little waits.
    let report = jumbo("400p", "bbr");
    assert_eq!(value(&report, Metric::LossRate), 0.0);
    let waiting = value(&report, Metric::QueueMean);
    assert!(waiting < 60.0, "{waiting}");
}

/// `PROBE_RTT` lasts a hundred short round trips, with four packets in each: what comes after it
/// is as fast as what was before.
#[test]
fn bbr_fills_a_short_path_again_after_a_probe_of_its_round_trip() {
    let text = r#"
[link]
rate = "100Mbps"
buffer = "100p"

[[flows]]
name = "short"
cca = "bbr"
stack = "linux"
rtt = "2ms"

[run]
warmup = "11s"
measure = "8s"
"#;
    let utilization = value(
        &replication(&scenario::<&str>(text, &[]), 1),
        Metric::Utilization,
    );
    assert!(utilization > 0.93, "{utilization}");
}
