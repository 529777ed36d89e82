//! Acknowledgements that cross links.

use forebay_scenario::{Metric, Report};

use super::{of_group, run, run_with, value};

fn goodput(report: &Report, group: usize) -> f64 {
    of_group(report, group, Metric::Goodput)
}

const ONE_WAY: &str = r#"
[[links]]
name = "down"
rate = "20Mbps"
buffer = "60p"
target = true
[[links]]
name = "up"
rate = "1Gbps"
buffer = "1000p"
[[flows]]
name = "bulk"
count = 4
cca = "newreno"
rtt = "40ms"
packet = "1500B"
path = ["down"]
start = { uniform = ["0s", "1s"] }
[run]
warmup = "10s"
measure = "60s"
"#;

/// Acknowledgements that nothing holds up make no difference of note.
#[test]
fn a_fast_way_back_is_as_good_as_none() {
    for stack in ["rfc", "linux", "ns2"] {
        for recovery in ["sack", "newreno", "rack"] {
            let stack = format!("flows.bulk.stack={stack}");
            let recovery = format!("flows.bulk.recovery={recovery}");
            let without = run_with(ONE_WAY, &[&stack, &recovery]);
            let with = run_with(ONE_WAY, &[&stack, &recovery, "flows.bulk.reverse=[\"up\"]"]);
            let ratio = goodput(&with, 0) / goodput(&without, 0);
            assert!((0.98..1.02).contains(&ratio), "{stack} {recovery} {ratio}");
            let losses = [&with, &without].map(|report| value(report, Metric::LossRate));
            assert!(
                (losses[0] / losses[1] - 1.0).abs() < 0.2,
                "{stack} {recovery} {losses:?}"
            );
        }
    }
}

/// One acknowledgement lets one packet go: a way back of 0.3 Mb/s carries 937.5 of 40 bytes a second, and two
/// packets each with delayed acknowledgements.
#[test]
fn a_slow_way_back_slows_the_sender_down() {
    for (together, packets) in [(1, 937.5), (2, 1875.0)] {
        let together =
            format!("flows.bulk.delayed_ack={{ packets = {together}, timeout = \"500ms\" }}");
        let report = run_with(
            ONE_WAY,
            &[
                "flows.bulk.reverse=[\"up\"]",
                "flows.bulk.count=1",
                "links.down.rate=100Mbps",
                "links.down.buffer=10000p",
                "links.up.rate=300kbps",
                "links.up.buffer=100000p",
                "run.warmup=5s",
                "run.measure=5s",
                &together,
            ],
        );
        let ours = goodput(&report, 0) / (1460.0 * 8.0);
        assert!(
            (ours / packets - 1.0).abs() < 0.01,
            "{together} {ours} {packets}"
        );
        let up = &report.links[0].metrics;
        assert!(up[&Metric::Utilization].mean > 0.99);
    }
}

/// Dropped acknowledgements are made up for by those that follow.
#[test]
fn lost_acknowledgements_are_covered_by_later_ones() {
    let report = run_with(
        ONE_WAY,
        &[
            "flows.bulk.reverse=[\"up\"]",
            "links.up.rate=300kbps",
            "links.up.buffer=3p",
        ],
    );
    let up = &report.links[0].metrics;
    // 1667 packets a second at most, 937.5 acknowledgements: four in nine are lost.
    let lost = up[&Metric::LossRate].mean;
    assert!((0.3..0.5).contains(&lost), "{lost}");
    let used = value(&report, Metric::Utilization);
    assert!(used > 0.85, "{used}");
}

/// Data of both directions: acknowledgements wait behind data and come in bunches (Zhang, Shenker and Clark 1991),
/// and a share of each link goes to them.
#[test]
fn two_way_traffic_shares_each_link_with_acknowledgements() {
    let two_way = format!(
        "{}\n{}",
        ONE_WAY
            .replace("1Gbps", "20Mbps")
            .replace("buffer = \"1000p\"", "buffer = \"60p\"")
            .replace("path = [\"down\"]", "path = [\"down\"]\nreverse = [\"up\"]"),
        r#"
[[flows]]
name = "back"
count = 4
cca = "newreno"
rtt = "40ms"
packet = "1500B"
path = ["up"]
reverse = ["down"]
start = { uniform = ["0s", "1s"] }
"#
    );
    let report = run(&two_way);
    let one_way = run_with(ONE_WAY, &["flows.bulk.reverse=[\"up\"]"]);
    for group in [0, 1] {
        let ratio = goodput(&report, group) / goodput(&one_way, 0);
        // At best 1500 of 1540 bytes of a link are data; bunched acknowledgements cost more.
        let most = 1500.0 / 1540.0 + 0.01;
        assert!((0.6..most).contains(&ratio), "{group} {ratio}");
    }
    // Both ways are alike.
    let ratio = goodput(&report, 0) / goodput(&report, 1);
    assert!((0.9..1.1).contains(&ratio), "{ratio}");
    // Half of the packets at a link are acknowledgements.
    let data = (goodput(&report, 0) / (1460.0 * 8.0)) * 60.0;
    let all = report.distributions["queue_delay_s"].count() as f64;
    assert!((data / all - 0.5).abs() < 0.05, "{}", data / all);
}

#[test]
fn transfers_complete_over_a_way_back() {
    for workload in [
        "{ closed_loop = { users = 20, think = { exponential = \"200ms\" }, size = { exponential = \"20p\" } } }",
        "{ open_loop = { load = 0.5, size = { exponential = \"20p\" } } }",
    ] {
        let workload = format!("flows.bulk.workload={workload}");
        let text = ONE_WAY.replace("count = 4\n", "");
        let without = run_with(&text, &[&workload]);
        let with = run_with(&text, &[&workload, "flows.bulk.reverse=[\"up\"]"]);
        let count = |report: &Report| {
            report.groups[0]
                .completions
                .as_ref()
                .map_or(0, |c| c.completed) as f64
        };
        assert!(count(&with) > 1000.0);
        assert!(
            (count(&with) / count(&without) - 1.0).abs() < 0.03,
            "{} {}",
            count(&with),
            count(&without)
        );
        // A packet from a slot that was used before counts once.
        let slowdown = of_group(&with, 0, Metric::SlowdownP50);
        assert!((1.0..4.0).contains(&slowdown), "{slowdown}");
    }
}
