//! Laws of go-back-N, the loss recovery of RoCE.

use forebay_scenario::{Metric, Report};

use super::{of_group, run, value};

/// Packets in flight of the flow below: HPCC fills 0.9505 of the 100 packets of a round trip.
const WINDOW: f64 = 95.05;

/// One flow of HPCC, which a loss does not slow down, over a link of 10 Gb/s that loses packets
/// with this probability. A round trip of 80 us has 100 packets of 1000 bytes.
fn lossy(recovery: &str, loss: f64, more: &str) -> Report {
    run(&format!(
        r#"
[[links]]
name = "there"
target = true
rate = "10Gbps"
buffer = "1MB"
loss = {{ random = {loss} }}
[[links]]
name = "back"
rate = "10Gbps"
buffer = "1MB"
[[flows]]
path = ["there"]
cca = {{ kind = "hpcc", base_rtt = "80us" }}
recovery = "{recovery}"
rtt = "79.2us"
packet = "1000B"
header = "0B"
min_rto = "160us"
initial_rto = "1ms"
processing = "0s"
{more}
[run]
warmup = "20ms"
measure = "400ms"
"#
    ))
}

/// The closed form of go-back-N with a NACK: a loss wastes the lost packet and those in flight
/// behind it, so that the share of useful packets is `(1 - p)/(1 - p + p (W + 1))` (Bertsekas and
/// Gallager, Data Networks, section 2.4.2). A retransmission that is lost waits for the timer, and
/// then sends the same packets again.
#[test]
fn the_useful_share_of_packets_is_that_of_the_closed_form() {
    for (loss, more) in [
        (0.0001, ""),
        (0.001, ""),
        (0.003, ""),
        (0.01, ""),
        (0.003, "reverse = [\"back\"]"),
    ] {
        let report = lossy("go_back_n", loss, more);
        let sent = value(&report, Metric::Utilization) * 10e9;
        let useful = of_group(&report, 0, Metric::Goodput) / sent;
        let expected = (1.0 - loss) / (1.0 - loss + loss * (WINDOW + 1.0));
        let losses = loss * sent * 0.4 / 8e3;
        let deviation = expected * (1.0 - expected) / losses.sqrt();
        let error = (useful - expected) / deviation;
        assert!(error.abs() < 3.0, "{loss} {more}: {useful} {expected}");
    }
}

/// Selective repeat wastes the lost packets only.
#[test]
fn selective_repeat_wastes_nothing_else() {
    let report = lossy("sack", 0.001, "");
    let sent = value(&report, Metric::Utilization) * 10e9;
    let useful = of_group(&report, 0, Metric::Goodput) / sent;
    assert!((useful - 0.999).abs() < 2e-4, "{useful}");
}

/// RoCE with DCQCN over a lossless queue: the receiver discards nothing, and nothing is sent again.
#[test]
fn over_a_lossless_queue_nothing_is_sent_again() {
    let report = run(r#"
[link]
rate = "40Gbps"
buffer = "10MB"
queue = { kind = "red", weight = 1, min = "5kB", max = "10MB", max_p = 0.5 }
pfc = { xoff = "100kB", xon = "97kB", headroom = "50kB", cable = "100m" }
[[flows]]
count = 8
cca = "dcqcn"
ecn = true
recovery = "go_back_n"
rtt = "20us"
packet = "1000B"
min_rto = "5ms"
access = { rate = "40Gbps" }
initial_window = "100p"
[run]
warmup = "0s"
measure = "40ms"
"#);
    assert!(value(&report, Metric::PauseFrames) > 0.0);
    assert_eq!(value(&report, Metric::LossRate), 0.0);
    assert_eq!(of_group(&report, 0, Metric::Retransmissions), 0.0);
    assert!(value(&report, Metric::Utilization) > 0.9);
}
