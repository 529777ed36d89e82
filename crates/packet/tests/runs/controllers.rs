//! The contract of every controller with every way of recovery: loops over the registry, so that a
//! new controller is covered by its registry line.

use forebay_scenario::Metric;

use super::{replication, run, scenario, value};

const RECOVERIES: [&str; 4] = ["newreno", "go_back_n", "sack", "rack"];

fn names() -> impl Iterator<Item = &'static str> {
    forebay_congestion::descriptions().iter().map(|d| d.name)
}

/// The controller as a group names it, for a link of this rate and this round trip. The times and
/// rates of controllers that set rates belong to 40 Gb/s and 20 us. They are scaled to the link.
fn suited(name: &str, mbps: f64, rtt_ms: f64) -> String {
    let us = |time: f64| format!("\"{}us\"", time * rtt_ms * 1e3 / 20.0);
    let kbps = |rate: f64| format!("\"{}kbps\"", 1e3 * rate * mbps / 40e3);
    match name {
        "dcqcn" => format!(
            "{{ kind = \"dcqcn\", timer = {}, alpha_timer = {}, cnp_interval = {}, r_ai = {}, r_hai = {}, min_rate = {}, line_rate = {} }}",
            us(55.0),
            us(55.0),
            us(50.0),
            kbps(40.0),
            kbps(400.0),
            kbps(100.0),
            kbps(40e3)
        ),
        // Hosts vary, and losses halve the rate: smaller segments and larger increments than the
        // paper's, so that the rate recovers from losses.
        "timely" => format!(
            "{{ kind = \"timely\", t_low = {}, t_high = {}, delta = {}, min_rate = {}, line_rate = {}, segment = \"3kB\" }}",
            us(25.0),
            us(35.0),
            kbps(200.0),
            kbps(40.0),
            kbps(40e3)
        ),
        _ => format!("\"{name}\""),
    }
}

/// The controller as the group with delayed acknowledgments names it.
fn with_delayed_acks(name: &str) -> String {
    match name {
        // Hosts of data centers do not delay acknowledgments (Kumar et al. 2020, section 3.6). The
        // target and the thresholds cover them here.
        "swift" => "{ kind = \"swift\", base_target = \"100ms\" }".to_owned(),
        "timely" => suited(name, 5.0, 80.0),
        _ => suited(name, 5.0, 40.0),
    }
}

/// One flow sends through a buffer of one bandwidth-delay product. A controller that reduces its
/// window by at most a half keeps such a link busy. The margins are the drain of BBR (200 ms and
/// two round trips of 10 s), its pacing margin of 1 %, and the slowdowns of LEDBAT++, which may
/// take a tenth of the time. Without SACK a hole is repaired each round trip and the growth of a
/// whole round may be lost at once, so every partial acknowledgment must restart the timer. Hosts
/// with varying processing times cause more losses in a round, and each costs a round trip without
/// SACK. Go-back-N is left out: it waits for the timer if a retransmission is lost, which the burst
/// after a NACK causes in a full queue (`go_back_n.rs` has its laws).
#[test]
fn one_flow_fills_an_empty_link() {
    for name in names() {
        let cca = suited(name, 20.0, 40.0);
        for (recovery, processing) in RECOVERIES
            .into_iter()
            .flat_map(|recovery| ["0s", "packet"].map(|processing| (recovery, processing)))
            .filter(|way| *way != ("newreno", "packet") && way.0 != "go_back_n")
        {
            let report = run(&format!(
                r#"
[link]
rate = "20Mbps"
buffer = "1BDP"
[[flows]]
cca = {cca}
recovery = "{recovery}"
min_rto = "200ms"
partial_ack_timer = "every"
rtt = "40ms"
packet = "1500B"
processing = "{processing}"
[run]
warmup = "20s"
measure = "60s"
"#
            ));
            let utilization = value(&report, Metric::Utilization);
            let least = match name {
                "ledbatpp" => 0.9,
                // Its target is 0.95 of the rate (`hpcc.rs`), and hosts vary.
                "hpcc" => 0.94,
                // Its sawtooth has an empty queue (`delay_based.rs`).
                "cdg" => 0.75,
                _ => 0.95,
            };
            assert!(utilization > least, "{name} {recovery} {utilization}");
            assert!(utilization <= 1.0 + 1e-9);
            assert!(value(&report, Metric::LossRate) < 0.02, "{name} {recovery}");
        }
    }
}

/// Many flows over a buffer of a few packets, with delayed acknowledgments, pacing and marks in
/// turn: repairs of repairs, timeouts, tiny windows. Whatever the counts say must fit together
/// (the engine checks each connection at its end), and no flow may starve for good. The noise
/// breaks the phase effects of drop-tail queues, which do starve flows (Floyd and Jacobson 1992).
#[test]
fn heavy_loss_leaves_the_counts_right_and_no_flow_dead() {
    for (number, name) in names().enumerate() {
        let cca = with_delayed_acks(name);
        for recovery in RECOVERIES {
            for (packets, pacing, ecn) in [(1, false, false), (2, false, true), (2, true, false)] {
                let text = format!(
                    r#"
[link]
rate = "5Mbps"
buffer = "{}p"
queue = {{ kind = "step", threshold = "2p" }}
[[flows]]
count = 12
cca = {cca}
recovery = "{recovery}"
delayed_ack = {{ packets = {packets}, timeout = "40ms" }}
pacing = {pacing}
ecn = {ecn}
timestamps = {ecn}
min_rto = "200ms"
rtt = {{ uniform = ["20ms", "40ms"] }}
packet = "1500B"
start = {{ uniform = ["0s", "1s"] }}
[[flows]]
name = "noise"
packet = "100B"
workload = {{ poisson = {{ rate = "250kbps" }} }}
[run]
warmup = "5s"
measure = "40s"
"#,
                    3 + number % 3
                );
                let report = run(&text);
                let utilization = value(&report, Metric::Utilization);
                // Go-back-N waits for the timer whenever a retransmission is lost.
                let least = if recovery == "go_back_n" { 0.3 } else { 0.5 };
                assert!(
                    (least..=1.0 + 1e-9).contains(&utilization),
                    "{utilization}\n{text}"
                );
                let slowest = report.groups[0].flow_goodput_bps["p10"];
                assert!(slowest > 1e3, "{slowest}\n{text}");
                let goodput = value(&report, Metric::Goodput);
                assert!(goodput <= utilization * 5e6 + 1e5, "{goodput}\n{text}");
            }
        }
    }
}

/// Users that transfer, think and transfer again: each transfer begins afresh and ends.
#[test]
fn transfers_end_and_begin_again() {
    for name in names() {
        let cca = suited(name, 10.0, 50.0);
        for stack in ["rfc", "ns2", "linux"] {
            let text = format!(
                r#"
[link]
rate = "10Mbps"
buffer = "20p"
[[flows]]
cca = {cca}
stack = "{stack}"
rtt = "50ms"
packet = "1500B"
workload = {{ closed_loop = {{ users = 5, think = {{ exponential = "500ms" }}, size = "60p" }} }}
[run]
warmup = "2s"
measure = "60s"
"#
            );
            let report = run(&text);
            let completions = report.groups[0].completions.as_ref().expect("transfers");
            let completed = completions.completed;
            // Even at a tenth of its fair rate a transfer takes less than 4 s.
            assert!(completed > 5 * 60 / 5, "{name} {stack} {completed}");
        }
    }
}

#[test]
fn a_run_repeats_itself() {
    for name in names() {
        let cca = suited(name, 20.0, 40.0);
        let text = format!(
            r#"
[link]
rate = "20Mbps"
buffer = "20p"
[[flows]]
count = 3
cca = {cca}
stack = "linux"
rtt = ["20ms", "30ms", "45ms"]
packet = "1500B"
start = {{ uniform = ["0s", "1s"] }}
[run]
warmup = "1s"
measure = "5s"
"#
        );
        let (first, second) = (run(&text), run(&text));
        assert_eq!(first.metrics, second.metrics, "{name}");
        assert_eq!(first.cost.events, second.cost.events, "{name}");
    }
}

/// Classic and accurate reactions to marks: the queue stays near the threshold, nothing is lost.
#[test]
fn marks_hold_the_queue_without_loss() {
    for name in ["newreno", "cubic", "dctcp", "prague"] {
        for recovery in RECOVERIES {
            let text = format!(
                r#"
[link]
rate = "100Mbps"
buffer = "2000p"
queue = {{ kind = "step", threshold = "40p" }}
[[flows]]
count = 2
cca = "{name}"
recovery = "{recovery}"
ecn = true
rtt = "10ms"
packet = "1500B"
initial_ssthresh = "60p"
[run]
warmup = "5s"
measure = "20s"
"#
            );
            let report = run(&text);
            assert_eq!(value(&report, Metric::LossRate), 0.0, "{name} {recovery}");
            let queue = value(&report, Metric::QueueMean);
            assert!((10.0..60.0).contains(&queue), "{name} {recovery} {queue}");
            assert!(value(&report, Metric::MarkRate) > 0.0);
        }
    }
}

/// Paced packets of a small window reach an empty link one by one: they never wait.
#[test]
fn paced_packets_do_not_queue() {
    let text = |pacing: bool| {
        format!(
            r#"
[link]
rate = "100Mbps"
buffer = "1000p"
[[flows]]
cca = "newreno"
rtt = "50ms"
packet = "1500B"
receive_window = "100p"
initial_ssthresh = "50p"
delayed_ack = {{ packets = 2 }}
pacing = {pacing}
[run]
warmup = "5s"
measure = "10s"
"#
        )
    };
    let waits = |pacing| value(&run(&text(pacing)), Metric::QueueDelayMean);
    assert!(waits(false) > 20e-6, "{}", waits(false));
    assert!(waits(true) < 2e-6, "{}", waits(true));
}

/// Version 3 of BBR bounds its packets in flight by the losses of its probes. In shallow buffers it
/// loses far less than version 1, whose window of two products ignores losses.
#[test]
fn bbr3_loses_far_less_than_bbr_in_shallow_buffers() {
    for buffer in ["0.25BDP", "0.5BDP", "1BDP"] {
        let run = |name: &str| {
            run(&format!(
                r#"
[link]
rate = "50Mbps"
buffer = "{buffer}"
[[flows]]
count = 4
cca = "{name}"
recovery = "sack"
min_rto = "200ms"
rtt = ["40ms", "41ms", "42ms", "43ms"]
packet = "1500B"
start = {{ uniform = ["0s", "1s"] }}
[run]
warmup = "15s"
measure = "60s"
"#
            ))
        };
        let (first, third) = (run("bbr"), run("bbr3"));
        let losses = [&first, &third].map(|report| value(report, Metric::LossRate));
        assert!(losses[0] > 0.02, "{buffer} {losses:?}");
        assert!(losses[1] < 0.25 * losses[0], "{buffer} {losses:?}");
        let utilization = value(&third, Metric::Utilization);
        assert!(utilization > 0.9, "{buffer} {utilization}");
    }
}

/// A controller's random numbers come from the seed, and from nothing else. If the scenario draws
/// nothing, only BBR's phases and CDG's backoffs differ between seeds.
#[test]
fn only_bbr_and_cdg_draw() {
    for name in names() {
        let cca = suited(name, 20.0, 40.0);
        let text = format!(
            r#"
[link]
rate = "20Mbps"
buffer = "1BDP"
[[flows]]
count = 3
cca = {cca}
rtt = ["40ms", "41ms", "43ms"]
packet = "1500B"
processing = "0s"
[run]
warmup = "2s"
measure = "10s"
"#
        );
        let scenario = scenario::<&str>(&text, &[]);
        let goodputs = |seed| {
            replication(&scenario, seed).groups[0]
                .flow_goodput_bps
                .clone()
        };
        assert_eq!(goodputs(1), goodputs(1), "{name}");
        let draws = ["bbr", "bbr3", "cdg"].contains(&name);
        assert_eq!(goodputs(1) != goodputs(2), draws, "{name}");
    }
}

/// Prague's flows of 5 and of 20 ms share a link about evenly; DCTCP's do not. The noise breaks
/// the phase effects of a threshold, which mark one flow's packets and spare another's.
#[test]
fn prague_hardly_favors_short_round_trips() {
    let ratio = |name: &str| {
        let text = format!(
            r#"
[link]
rate = "50Mbps"
buffer = "1000p"
queue = {{ kind = "step", threshold = "1ms" }}
[[flows]]
name = "short"
count = 2
cca = "{name}"
ecn = true
rtt = "5ms"
packet = "1500B"
start = {{ uniform = ["0s", "1s"] }}
[[flows]]
name = "long"
count = 2
cca = "{name}"
ecn = true
rtt = "20ms"
packet = "1500B"
start = {{ uniform = ["0s", "1s"] }}
[[flows]]
name = "noise"
packet = "1500B"
workload = {{ poisson = {{ rate = "5Mbps" }} }}
[run]
warmup = "20s"
measure = "40s"
"#
        );
        let report = run(&text);
        assert_eq!(value(&report, Metric::LossRate), 0.0);
        let goodput = |group: usize| report.groups[group].flow_goodput_bps["p50"];
        goodput(0) / goodput(1)
    };
    let (dctcp, prague) = (ratio("dctcp"), ratio("prague"));
    assert!(dctcp > 3.0, "{dctcp}");
    assert!((0.6..1.5).contains(&prague), "{prague}");
}

/// LEDBAT++ alone keeps the queue below its target of 60 ms in a deep buffer, and leaves a link
/// that it shares to the others.
#[test]
fn ledbatpp_holds_its_target_and_yields() {
    let text = |others: &str| {
        format!(
            r#"
[link]
rate = "20Mbps"
buffer = "300ms"
[[flows]]
name = "background"
cca = "ledbatpp"
rtt = "40ms"
packet = "1500B"
{others}
[run]
warmup = "30s"
measure = "120s"
"#
        )
    };
    let alone = run(&text(""));
    let delay = value(&alone, Metric::QueueDelayMean);
    assert!((0.02..0.06).contains(&delay), "{delay}");
    assert_eq!(value(&alone, Metric::LossRate), 0.0);
    let utilization = value(&alone, Metric::Utilization);
    assert!(utilization > 0.85, "{utilization}");
    let shared = run(&text(
        "[[flows]]\nname = \"reno\"\ncca = \"newreno\"\nrtt = \"40ms\"\npacket = \"1500B\"",
    ));
    let goodput = |group: usize| shared.groups[group].flow_goodput_bps["p50"];
    let share = goodput(0) / (goodput(0) + goodput(1));
    assert!(share < 0.1, "{share}");
}
