//! Runs that ns-2.35's agents answer otherwise than the RFCs.

use forebay_scenario::Metric;

use super::{of_group, run};

/// Timeouts of three patient New Reno flows of about 300 ms at 10 Mb/s in ten minutes.
fn timeouts(fast_retransmit_timer: &str) -> f64 {
    let report = run(&format!(
        r#"
[link]
rate = "10Mbps"
buffer = "19p"
[[flows]]
count = 3
cca = "newreno"
stack = "ns2"
partial_ack_timer = "every"
{fast_retransmit_timer}
rtt = ["280.11ms", "300.6ms", "320.3ms"]
packet = "1000B"
access = {{ rate = "100Mbps" }}
start = {{ uniform = ["0s", "5s"] }}
[run]
warmup = "100s"
measure = "500s"
"#
    ));
    of_group(&report, 0, Metric::Timeouts)
}

/// With ns-2's margin over a steady round trip, a few ticks of its clock, the rest of a timer runs
/// out before the repair is acknowledged, and a whole one does not: ns-2 has 0 to 2 timeouts in
/// these runs.
#[test]
fn a_restarted_timer_waits_for_the_repair_of_a_loss() {
    let (restarted, kept) = (timeouts(""), timeouts("fast_retransmit_timer = \"keep\""));
    assert!(restarted <= 2.0, "{restarted}");
    assert!(kept > 20.0, "{kept}");
}
