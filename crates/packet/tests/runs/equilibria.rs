//! Equilibria of controllers against theory: windows at random loss, and delay-based controllers.
//! For these Low, Peterson and Wang 2002 ("Understanding TCP Vegas: a duality model") give the
//! queue of latecomers: a flow that begins while others queue takes their queue for propagation.

use forebay_scenario::{Metric, Report};

use super::{of_group, run, value};

/// Packets of 1000 bytes per second at 50 Mb/s.
const RATE: f64 = 6250.0;

/// Mean packets in the queue at the end of a run of `flows` flows with this controller, one every
/// 100 seconds.
fn queued(cca: &str, flows: u32) -> f64 {
    let starts: Vec<String> = (0..flows)
        .map(|flow| format!("\"{}s\"", 100 * flow))
        .collect();
    let group = format!(
        "count = {flows}\ncca = {cca}\nrtt = \"50ms\"\nstart = [{}]",
        starts.join(", ")
    );
    waiting(&at_50_mbps(&group, 100 * flows))
}

/// A run of one group of flows at 50 Mb/s whose last 100 seconds are measured.
fn at_50_mbps(group: &str, warmup_s: u32) -> Report {
    run(&format!(
        r#"
[link]
rate = "50Mbps"
buffer = "5000p"
[[flows]]
packet = "1000B"
{group}
[run]
warmup = "{warmup_s}s"
measure = "100s"
"#
    ))
}

/// Mean packets in the queue.
fn waiting(report: &Report) -> f64 {
    value(report, Metric::QueueDelayMean) * RATE
}

/// The queue that `flows` flows with `alpha` packets each make if each begins at the equilibrium of
/// those before it (section 5.2): a flow that began at a queue of e keeps its rate at alpha / (q -
/// e), and the rates fill the link.
fn queue_of_latecomers(alpha: f64, flows: u32) -> f64 {
    let mut before: Vec<f64> = Vec::new();
    let mut queue = 0.0;
    for _ in 0..flows {
        before.push(queue);
        // The sum of the shares falls from infinity to 0 above the last flow's error.
        let (mut low, mut high) = (queue, 1e6);
        for _ in 0..100 {
            let middle = 0.5 * (low + high);
            let shares = before.iter().map(|error| alpha / (middle - error));
            if shares.sum::<f64>() > 1.0 {
                low = middle;
            } else {
                high = middle;
            }
        }
        queue = high;
    }
    queue
}

/// FAST with alpha = 20: 52, 92 and 186 packets.
#[test]
fn latecomers_queue_with_fast_as_in_theory() {
    for (flows, expected) in [(1, 20.0), (2, 52.36), (3, 92.2), (5, 186.0)] {
        let theory = queue_of_latecomers(20.0, flows);
        assert!((theory / expected - 1.0).abs() < 0.01, "{flows} {theory}");
        let ours = queued("\"fast\"", flows);
        assert!(
            (ours / theory - 1.0).abs() < 0.05,
            "{flows}: {ours} {theory}"
        );
    }
}

/// The bounds alpha and beta of Brakmo and Peterson 1995, section 3.2, for one flow on links with
/// products from 31 to 1250 packets.
#[test]
fn a_flow_of_vegas_queues_two_to_four_packets() {
    for rtt in ["5ms", "50ms", "200ms"] {
        let report = at_50_mbps(&format!("cca = \"vegas\"\nrtt = \"{rtt}\""), 100);
        let packets = waiting(&report);
        assert!((2.0..=4.0).contains(&packets), "{rtt}: {packets}");
        let utilization = value(&report, Metric::Utilization);
        assert!(utilization > 0.999, "{rtt}: {utilization}");
    }
}

/// With alpha = beta = 20 the equilibrium is FAST's, to the packet that each flow goes up and down.
#[test]
fn latecomers_queue_with_vegas_as_in_theory() {
    for flows in [1, 2, 3] {
        let theory = queue_of_latecomers(20.0, flows);
        let vegas = "{ kind = \"vegas\", alpha = 20, beta = 20 }";
        let ours = queued(vegas, flows);
        assert!(
            (ours / theory - 1.0).abs() < 0.1,
            "{flows}: {ours} {theory}"
        );
    }
}

/// Goodput of eight flows at random losses on a link that they do not fill.
fn at_random_loss(loss: &str, flow: &str) -> f64 {
    let report = run(&format!(
        r#"
[link]
rate = "200Mbps"
buffer = "1BDP"
loss = {{ random = "{loss}" }}
[[flows]]
count = 8
rtt = "100ms"
packet = "1000B"
{flow}
[run]
warmup = "20s"
measure = "400s"
"#
    ));
    of_group(&report, 0, Metric::Goodput)
}

/// Padhye et al. 1998: the window at random losses is in proportion to 1/sqrt(b), b the packets per
/// acknowledgment, where acknowledgments are counted. Where packets are, b does not matter (RFC
/// 3465 section 2.1). The law is that of windows of many packets, in which timeouts do not count:
/// 55 packets here.
#[test]
fn counted_acknowledgments_take_the_root_of_their_packets_from_the_goodput() {
    let goodput = |counting: &str, each: u32| {
        at_random_loss(
            "0.05%",
            &format!(
                "cca = \"newreno\"\nack_counting = \"{counting}\"\ndelayed_ack = {{ packets = {each} }}"
            ),
        )
    };
    let [single, packets, acks] = [("packets", 1), ("packets", 2), ("acks", 2)]
        .map(|(counting, each)| goodput(counting, each));
    assert!((packets / single - 1.0).abs() < 0.05, "{packets} {single}");
    let ratio = single / acks;
    assert!((ratio / 2.0_f64.sqrt() - 1.0).abs() < 0.05, "{ratio}");
    // Each packet is acknowledged: there is no difference.
    let same = goodput("acks", 1);
    assert!((same / single - 1.0).abs() < 0.02, "{same} {single}");
}

/// Grieco and Mascolo 2004, section 4: random losses hardly lower the estimate of the bandwidth,
/// and so the window.
#[test]
fn westwood_of_linux_keeps_its_window_at_random_losses() {
    let reno = at_random_loss("0.5%", "cca = \"newreno\"");
    for variant in ["paper", "linux"] {
        let westwood = at_random_loss(
            "0.5%",
            &format!("cca = {{ kind = \"westwood\", variant = \"{variant}\" }}"),
        );
        assert!(westwood > 1.5 * reno, "{variant}: {westwood} {reno}");
    }
}
