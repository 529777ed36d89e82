//! How many acknowledgments a receiver sends: laws that hold at any rate and round trip.

use forebay_scenario::{Metric, Report};

use super::{run_with, value};

/// Acknowledgments return over a link of their own, which counts them.
const ONE_WAY: &str = r#"
[[links]]
name = "down"
rate = "100Mbps"
buffer = "20000p"
target = true
[[links]]
name = "up"
rate = "10Gbps"
buffer = "100000p"
[[flows]]
name = "bulk"
cca = "newreno"
stack = "linux"
rtt = "40ms"
packet = "1500B"
path = ["down"]
initial_ssthresh = "600p"
reverse = ["up"]
workload = "persistent"
[run]
warmup = "3s"
measure = "2s"
"#;

/// Acknowledgments, of 52 bytes each, per data packet.
fn acknowledgments(report: &Report, megabits: f64) -> f64 {
    let packets = value(report, Metric::Utilization) * megabits / (1500.0 * 8.0);
    let up = report.links[0].metrics[&Metric::Utilization].mean * 10e3 / (52.0 * 8.0);
    up / packets
}

fn run_at(megabits: f64, rtt: &str, more: &[&str]) -> f64 {
    let rate = format!("links.down.rate={megabits}Mbps");
    let rtt = format!("flows.bulk.rtt={rtt}");
    let settings: Vec<&str> = [rate.as_str(), rtt.as_str()]
        .into_iter()
        .chain(more.iter().copied())
        .collect();
    acknowledgments(&run_with(ONE_WAY, &settings), megabits)
}

/// Every second packet, and the last of each burst of segmentation offload in addition where that
/// is an odd one.
#[test]
fn a_push_adds_half_an_acknowledgment_to_a_burst_at_most() {
    for (megabits, rtt) in [(30.0, "10ms"), (100.0, "40ms"), (400.0, "5ms")] {
        let plain = run_at(megabits, rtt, &["flows.bulk.delayed_ack.push=false"]);
        let single = run_at(megabits, rtt, &["flows.bulk.offload=false"]);
        let pushed = run_at(megabits, rtt, &[]);
        assert!((plain - 0.5).abs() < 0.005, "{megabits} {plain}");
        assert!((single - 0.5).abs() < 0.005, "{megabits} {single}");
        // A burst is 1/1024 s at 1.2 times the rate, and no shorter than two packets.
        let burst = (1.2 * megabits * 1e6 / 12_000.0 / 1024.0).floor().max(2.0);
        let most = 0.5 + 0.5 / burst + 0.03;
        assert!(
            (0.499..most).contains(&pushed),
            "{megabits} {pushed} {most}"
        );
    }
}

/// A network card that interrupts every T delivers all that arrived in T as one, up to 64 KiB.
#[test]
fn a_card_that_gathers_has_one_acknowledgment_for_what_it_gathered() {
    for (megabits, gathers_us) in [
        (100.0, 1000.0),
        (400.0, 250.0),
        (1000.0, 100.0),
        (1000.0, 900.0),
    ] {
        let gro = format!("flows.bulk.delayed_ack.gro={gathers_us}us");
        // Bursts of one, so that no PSH ends a segment, and a window that fills the link.
        let full = "flows.bulk.initial_ssthresh=4000p";
        let ours = run_at(megabits, "20ms", &[&gro, "flows.bulk.offload=false", full]);
        let gathered = gathers_us * megabits / 12_000.0;
        let distribution = (gathered / 45.0).ceil() / gathered;
        assert!(
            (ours / distribution - 1.0).abs() < 0.1,
            "{megabits} {gathers_us}us {ours} {distribution}"
        );
    }
}

/// Four BBR flows over a small buffer lose a tenth, so that there is nearly always a hole: with
/// compression an acknowledgment tells of several packets, and without it of nearly one each.
#[test]
fn packets_beyond_a_hole_are_acknowledged_once_in_a_millisecond() {
    let lossy = [
        "links.down.buffer=10p",
        "flows.bulk.cca=bbr",
        "flows.bulk.count=4",
    ];
    for (megabits, rtt) in [(200.0, "50ms"), (500.0, "30ms")] {
        let with = run_at(megabits, rtt, &lossy);
        let mut without = lossy.to_vec();
        without.push("flows.bulk.delayed_ack.sack_delay=0s");
        let without = run_at(megabits, rtt, &without);
        // One for each at most, but for those on the way when measuring begins and ends.
        assert!((0.75..1.002).contains(&without), "{megabits} {without}");
        assert!(with < 0.7 * without, "{megabits} {with} {without}");
    }
}
