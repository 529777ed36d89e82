//! Media that lose packets: beside the queue, and counted apart from it.

use forebay_scenario::{Metric, Report};

use super::disciplines::names;
use super::{of_group, run_with, value};

pub(crate) const POISSON: &str = r#"
[link]
rate = "100Mbps"
buffer = "30p"
[[flows]]
name = "first"
count = 7
packet = "1250B"
workload = { poisson = { rate = "50Mbps" } }
[[flows]]
name = "second"
count = 3
packet = "1250B"
workload = { poisson = { rate = "45Mbps" } }
[run]
warmup = "1s"
measure = "20s"
seed = 4
"#;

fn queues() -> impl Iterator<Item = String> {
    names().map(|name| format!("link.queue={name}"))
}

fn goodput(report: &Report) -> f64 {
    value(report, Metric::Goodput)
}

/// If no flow reacts to losses, a medium changes nothing before it: the queue, its losses, marks
/// and delays are the same bits for every discipline. The stated share of the departing packets
/// arrives.
#[test]
fn a_medium_takes_its_share_behind_every_queue() {
    let lossy = [
        "random=5%",
        "gilbert_elliott={ to_bad = 0.02, to_good = 0.38 }",
    ];
    for queue in queues() {
        let whole = run_with(POISSON, &[queue.as_str()]);
        assert_eq!(whole.value(Metric::MediumLossRate), None, "{queue}");
        for (distribution, burst) in lossy.iter().zip([1.0, 2.0 / 0.38]) {
            let report = run_with(
                POISSON,
                &[queue.as_str(), &format!("link.loss.{distribution}")],
            );
            let lost = value(&report, Metric::MediumLossRate);
            // The estimate has some 150,000 packets, in bursts that scale the variance.
            let error = (0.05 * burst / 150_000.0_f64).sqrt();
            assert!(
                (lost - 0.05).abs() < 4.0 * error,
                "{queue} {distribution} {lost}"
            );
            let mut in_front = report.metrics.clone();
            in_front.remove(&Metric::MediumLossRate);
            assert_eq!(in_front, whole.metrics, "{queue} {distribution}");
            let arrived: f64 = (0..2)
                .map(|group| of_group(&report, group, Metric::Goodput))
                .sum();
            let sent: f64 = (0..2)
                .map(|group| of_group(&whole, group, Metric::Goodput))
                .sum();
            // The packets that wait at both ends of the measured time: 30 of 150,000.
            let kept = arrived / sent;
            assert!((kept - (1.0 - lost)).abs() < 2e-4, "{queue} {kept} {lost}");
        }
    }
}

const FLOW: &str = r#"
[link]
rate = "10Gbps"
buffer = "100000p"
[[flows]]
name = "flow"
count = 8
cca = "newreno"
recovery = "sack"
rtt = { linspace = ["40ms", "60ms"] }
packet = "1500B"
workload = "persistent"
min_rto = "200ms"
[run]
warmup = "20s"
measure = "400s"
seed = 2
"#;

/// Mathis, Semke, Mahdavi and Ott 1997: a window of sqrt(3 / 2p) packets where losses come at
/// random; at these losses timeouts are rare. Their own simulations lie within a tenth of it.
#[test]
fn windows_are_those_of_random_losses() {
    for (loss, share) in [("0.1%", 0.001), ("0.5%", 0.005)] {
        let report = run_with(FLOW, &[format!("link.loss.random={loss}")]);
        assert_eq!(report.value(Metric::LossRate), Some(0.0));
        let lost = value(&report, Metric::MediumLossRate);
        let error = (share / report.cost.data_packets as f64).sqrt();
        assert!((lost - share).abs() < 4.0 * error, "{lost}");
        let window: f64 = (1.5 / share).sqrt();
        let per_round_trip: f64 = (0..8)
            .map(|n| 1.0 / (0.04 + 0.02 * f64::from(n) / 7.0))
            .sum();
        let theory = window * per_round_trip * 1460.0 * 8.0;
        let found = goodput(&report) / theory;
        assert!((0.85..1.1).contains(&found), "{loss} {found}");
    }
}

/// Losses of a medium are no losses of a queue: no congestion event, no loss rate of groups.
#[test]
fn a_queue_is_not_blamed_for_its_medium() {
    let report = run_with(FLOW, &["link.loss.random=1%", "run.measure=20s"]);
    assert_eq!(report.value(Metric::LossRate), Some(0.0));
    assert_eq!(report.value(Metric::CongestionEvents), Some(0.0));
    assert_eq!(of_group(&report, 0, Metric::LossRate), 0.0);
    assert!(of_group(&report, 0, Metric::Retransmissions) > 100.0);
}

/// Acknowledgments cross media too: a way back that loses a tenth of them costs little, for those
/// that follow say the same.
#[test]
fn acknowledgments_are_lost_on_their_way_too() {
    let path = FLOW
        .replace(
            "[link]\nrate = \"10Gbps\"\nbuffer = \"100000p\"",
            "[[links]]\nname = \"there\"\nrate = \"20Mbps\"\nbuffer = \"100p\"\ntarget = true\n[[links]]\nname = \"back\"\nrate = \"20Mbps\"\nbuffer = \"100p\"",
        )
        .replace("[run]", "path = [\"there\"]\nreverse = [\"back\"]\n[run]")
        .replace("400s", "40s");
    let whole = run_with::<&str>(&path, &[]);
    let lossy = run_with(&path, &["links.back.loss.random=10%"]);
    let back = &lossy.links[0];
    let lost = back.metrics[&Metric::MediumLossRate].mean;
    assert!((lost - 0.1).abs() < 0.01, "{lost}");
    assert!(goodput(&lossy) > 0.9 * goodput(&whole));
    assert_ne!(lossy.metrics, whole.metrics);
}

/// Packets carried before the warm-up ended do not count.
#[test]
fn a_medium_that_carries_nothing_any_more_has_no_loss_rate() {
    let stopped = POISSON.replace("packet =", "stop = \"0.5s\"\npacket =");
    let whole = run_with(POISSON, &["link.loss.random=5%", "run.measure=1s"]);
    let report = run_with(&stopped, &["link.loss.random=5%", "run.measure=1s"]);
    assert!(value(&whole, Metric::MediumLossRate) > 0.0);
    assert_eq!(report.value(Metric::MediumLossRate), None);
}
