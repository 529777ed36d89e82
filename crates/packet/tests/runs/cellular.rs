//! Cellular links: blocks in slots, repeated until they have arrived.

use forebay_scenario::Metric;

use super::disciplines::names;
use super::{of_group, run_with, scenario, value};

/// Packets of half a block and a little more, at a third more than what arrives.
const FLOOD: &str = r#"
[link]
rate = "12Mbps"
buffer = "200p"
medium = "cellular"
[[flows]]
packet = "800B"
workload = { cbr = { rate = "14.4Mbps" } }
[run]
warmup = "1s"
measure = "20s"
"#;

/// Whatever holds the packets, a link that is never idle carries its blocks and uses all of them:
/// nine tenths of the slots' on average.
#[test]
fn a_flooded_link_carries_its_blocks() {
    let told = scenario::<&str>(FLOOD, &[]).target().rate;
    assert_eq!(told.to_string(), "10.8Mbps");
    for name in names() {
        let report = run_with(FLOOD, &[format!("link.queue={name}")]);
        let used = value(&report, Metric::Utilization);
        assert!(used > 0.95 && used <= 1.0, "{name} {used}");
        assert!(used > 0.9999 || name != "droptail", "{used}");
        let sent = 14.4e6 * (1.0 - value(&report, Metric::LossRate));
        // A tenth of the 20,000 slots is for repeats, by chance.
        let carried = sent / (used * 10.8e6);
        assert!((carried - 1.0).abs() < 0.012, "{name} {carried}");
    }
}

/// Sparse packets wait for half a slot on average, and repeats are no wait of the queue.
#[test]
fn a_single_packet_waits_for_its_slot() {
    let sparse = FLOOD
        .replace("cbr", "poisson")
        .replace("14.4Mbps", "64kbps");
    let report = run_with(&sparse, &["run.measure=400s"]);
    let wait = value(&report, Metric::QueueDelayMean);
    // Ten packets a second: one in a thousand slots finds another before it, or a repeat.
    assert!((wait / 0.5e-3 - 1.0).abs() < 0.05, "{wait}");
    let used = value(&report, Metric::Utilization);
    assert!((used / (64e3 / 10.8e6) - 1.0).abs() < 0.05, "{used}");
}

/// A flow fills the link, and its round trips are longer by what repeats cost: its packets arrive
/// in order, so that none is taken for lost.
#[test]
fn repeats_look_like_no_losses() {
    let flow = FLOOD.replace(
        "workload = { cbr = { rate = \"14.4Mbps\" } }",
        "rtt = \"40ms\"",
    );
    let whole = ["link.buffer=1000p", "flows.0.receive_window=300p"];
    let report = run_with(&flow, &whole);
    assert_eq!(report.value(Metric::LossRate), Some(0.0));
    assert_eq!(of_group(&report, 0, Metric::Retransmissions), 0.0);
    assert!(value(&report, Metric::Utilization) > 0.99);
}

/// Its rate may change: the same as that of a wire of nine tenths of each rate, but for slots.
#[test]
fn a_rate_in_steps_is_the_blocks() {
    let changes = [
        "link.rate.steps=[[\"0s\", \"12Mbps\"], [\"1s\", \"3Mbps\"]]",
        "link.rate.repeat=2s",
        "link.medium.block_error=0",
    ];
    let change = |medium: bool| -> Vec<&str> {
        let kept = changes
            .iter()
            .filter(|change| medium || !change.contains("medium"));
        kept.copied().collect()
    };
    let report = run_with(FLOOD, &change(true));
    let wire = run_with(
        &FLOOD.replace("medium = \"cellular\"\n", ""),
        &change(false),
    );
    for metric in [Metric::LossRate, Metric::QueueMean, Metric::Utilization] {
        let (found, as_wire) = (value(&report, metric), value(&wire, metric));
        assert!(
            (found / as_wire - 1.0).abs() < 0.01,
            "{metric:?} {found} {as_wire}"
        );
    }
}

/// Fading: a full buffer takes twice as long to drain while blocks carry half, the median of each
/// phase is that of the buffer at its rate, and what waits at a fall takes the longer one.
#[test]
fn a_fading_link_has_two_phases() {
    let fading =
        "link.rate={ steps = [[\"0s\", \"12Mbps\"], [\"1s\", \"6Mbps\"]], repeat = \"2s\" }";
    let report = run_with(FLOOD, &[fading, "link.buffer=50p"]);
    let slow = value(&report, Metric::QueueDelayP50Slow);
    let fast = value(&report, Metric::QueueDelayP50Fast);
    // 50 packets of 800 bytes, at nine tenths of 6 and 12 Mb/s.
    let drains = 50.0 * 800.0 * 8.0 / (0.9 * 6e6);
    assert!((slow / drains - 1.0).abs() < 0.06, "{slow} {drains}");
    let fall = value(&report, Metric::DrainTimeMax);
    assert!((fall / drains - 1.0).abs() < 0.06, "{fall} {drains}");
    assert!(
        (fast / (drains / 2.0) - 1.0).abs() < 0.06,
        "{fast} {drains}"
    );
}

/// A slot counts evenly over its time: however short the measured time, no more is sent than can
/// be.
#[test]
fn a_moment_is_used_no_more_than_whole() {
    for warmup in (0..60).map(|number| 1_000_000 + 313 * number) {
        let changes = [
            "run.measure=1us".to_owned(),
            format!("run.warmup={warmup}us"),
            "link.rate=9999991bps".to_owned(),
            "flows.0.workload={ poisson = { rate = \"9Mbps\" } }".to_owned(),
        ];
        let used = value(&run_with(FLOOD, &changes), Metric::Utilization);
        assert!(used <= 1.0 + 1e-9, "{changes:?} {used}");
    }
}
