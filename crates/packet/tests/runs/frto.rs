//! F-RTO (RFC 5682) where bursts of other traffic delay a flow for longer than its timer waits.

use forebay_scenario::{Metric, Report};

use super::{of_group, replication, scenario};

/// The flow keeps 40 packets in flight. Other packets queue beside them and are never dropped. The
/// hosts are exact, so that each burst delays the whole window.
const LINK: &str = r#"
[link]
rate = "10Mbps"
buffer = "2000p"

[[flows]]
name = "late"
cca = "cubic"
rtt = "20ms"
packet = "1250B"
min_rto = "200ms"
receive_window = "40p"
processing = "0s"
workload = "persistent"

[[flows]]
name = "bursts"
packet = "1250B"
workload = { on_off = { peak = "20Gbps", on = "250us", off = "5s" } }

[run]
warmup = "2s"
measure = "60s"
"#;

fn value(report: &Report, metric: Metric) -> f64 {
    of_group(report, 0, metric)
}

const RECOVERIES: [&str; 4] = ["newreno", "sack", "fack", "rack"];

/// The same stack and recovery without F-RTO and with it.
fn compare(stack: &str, recovery: &str, changes: &[&str]) -> [Report; 2] {
    ["false", "true"].map(|frto| {
        let chosen = [
            &format!("flows.late.stack={stack}"),
            &format!("flows.late.recovery={recovery}"),
            &format!("flows.late.frto={frto}"),
        ];
        let chosen: Vec<&str> = chosen.into_iter().map(String::as_str).collect();
        replication(&scenario(LINK, &[&chosen, changes].concat()), 1)
    })
}

#[test]
fn a_delay_longer_than_the_timer_costs_a_packet_instead_of_a_window() {
    for stack in ["rfc", "linux"] {
        for recovery in RECOVERIES {
            let [off, on] = compare(stack, recovery, &[]);
            let name = format!("{stack} {recovery}");
            let timeouts = value(&on, Metric::Timeouts);
            assert!(timeouts >= 10.0, "{name} {timeouts}");
            assert_eq!(timeouts, value(&off, Metric::Timeouts), "{name}");
            assert_eq!(off.value(Metric::LossRate), Some(0.0), "{name}");
            // Tail loss probes go before the timer.
            let probes = if recovery == "rack" { timeouts } else { 0.0 };
            let again = |report: &Report| value(report, Metric::Retransmissions) - probes;
            assert_eq!(again(&on), timeouts, "{name}");
            assert!(again(&off) > 35.0 * timeouts, "{name} {}", again(&off));
            // The link is busy with what had arrived before: 38 packets of 12 in 60 s.
            let gain = value(&on, Metric::Goodput) / value(&off, Metric::Goodput);
            assert!((1.007..1.010).contains(&gain), "{name} {gain}");
        }
    }
}

#[test]
fn without_timeouts_nothing_changes() {
    for stack in ["rfc", "linux"] {
        for recovery in RECOVERIES {
            let [off, on] = compare(
                stack,
                recovery,
                &[
                    "flows.bursts.workload={ cbr = { rate = \"1Mbps\" } }",
                    "link.buffer=30p",
                    "flows.late.receive_window=1000p",
                ],
            );
            let name = format!("{stack} {recovery}");
            assert_eq!(value(&on, Metric::Timeouts), 0.0, "{name}");
            assert!(value(&on, Metric::Retransmissions) > 0.0, "{name}");
            assert_eq!(off.metrics, on.metrics, "{name}");
            assert_eq!(off.groups, on.groups, "{name}");
        }
    }
}

#[test]
fn real_timeouts_cost_no_goodput() {
    for stack in ["rfc", "linux"] {
        for recovery in RECOVERIES {
            let [off, on] = compare(
                stack,
                recovery,
                &[
                    "flows.bursts.workload={ cbr = { rate = \"1Mbps\" } }",
                    "link.buffer=5p",
                    "flows.late.count=30",
                    "flows.late.min_rto=200ms",
                    "flows.late.rtt={ linspace = [\"15ms\", \"25ms\"] }",
                    "flows.late.start={ uniform = [\"0s\", \"1s\"] }",
                    "run.measure=200s",
                ],
            );
            let name = format!("{stack} {recovery}");
            assert!(value(&off, Metric::Timeouts) > 3000.0, "{name}");
            let [without, with] = [&off, &on].map(|report| value(report, Metric::Goodput));
            assert!(
                (with / without - 1.0).abs() < 0.015,
                "{name} {without} {with}"
            );
        }
    }
}
