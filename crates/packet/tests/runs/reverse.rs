//! Acknowledgments that cross links.

use std::collections::BTreeMap;

use forebay_scenario::{Metric, PacketRecord, Report, Segment};

use super::{of_group, run, run_with, traced, value};

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

/// Acknowledgments that nothing holds up make no difference of note.
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

/// One acknowledgment lets one packet go: a way back of 0.3 Mb/s carries 937.5 of 40 bytes a
/// second, and two packets each with delayed acknowledgments.
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

/// Dropped acknowledgments are made up for by those that follow.
#[test]
fn lost_acknowledgments_are_covered_by_later_ones() {
    let report = run_with(
        ONE_WAY,
        &[
            "flows.bulk.reverse=[\"up\"]",
            "links.up.rate=300kbps",
            "links.up.buffer=3p",
        ],
    );
    let up = &report.links[0].metrics;
    // 1667 packets a second at most, 937.5 acknowledgments: four in nine are lost.
    let lost = up[&Metric::LossRate].mean;
    assert!((0.3..0.5).contains(&lost), "{lost}");
    let used = value(&report, Metric::Utilization);
    assert!(used > 0.85, "{used}");
}

/// Data of both directions: acknowledgments wait behind data and come in bunches (Zhang, Shenker
/// and Clark 1991), and a share of each link goes to them.
#[test]
fn two_way_traffic_shares_each_link_with_acknowledgments() {
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
        // At best 1500 of 1540 bytes of a link are data; bunched acknowledgments cost more.
        let most = 1500.0 / 1540.0 + 0.01;
        assert!((0.6..most).contains(&ratio), "{group} {ratio}");
    }
    // Both ways are alike.
    let ratio = goodput(&report, 0) / goodput(&report, 1);
    assert!((0.9..1.1).contains(&ratio), "{ratio}");
    // Half of the packets at a link are acknowledgments.
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

/// The scenario with its acknowledgments on links "up" and "last", of which one is the target that
/// packets are recorded at; a trickle of other packets crosses both.
fn recorded(target: &str, changes: &[(&str, &str)]) -> Report {
    let mut text = format!(
        "{}{}",
        ONE_WAY
            .replace("target = true", "")
            .replace(
                "path = [\"down\"]",
                "path = [\"down\"]\nreverse = [\"up\", \"last\"]"
            )
            .replace("measure = \"60s\"", "measure = \"5s\""),
        r#"
[[links]]
name = "last"
rate = "1Gbps"
buffer = "1000p"
[[flows]]
name = "trickle"
packet = "100B"
path = ["up", "last"]
workload = { cbr = { rate = "1kbps" } }
[trace]
record = ["packets"]
"#
    );
    let name = format!("name = \"{target}\"\n");
    let named = format!("{name}target = true\n");
    for (from, to) in [(name.as_str(), named.as_str())].iter().chain(changes) {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    traced(&text)
}

fn acknowledgments(report: &Report) -> Vec<PacketRecord> {
    let packets = &report.traces.as_ref().expect("traces").packets;
    let (acks, others): (Vec<_>, Vec<_>) = packets
        .iter()
        .copied()
        .partition(|packet| packet.segment.acknowledges());
    assert!(
        others
            .iter()
            .all(|packet| packet.group == 1 && packet.segment == Segment::Data)
    );
    assert!(acks.iter().all(|packet| packet.group == 0));
    acks
}

/// Acknowledgments are recorded as such, under the connection whose packets they acknowledge, with
/// what the receiver has by then, however many of them are lost.
#[test]
fn recorded_acknowledgments_say_what_has_arrived() {
    for (stack, handshake) in [("linux", true), ("ns2", true), ("rfc", false)] {
        let stacked = format!("cca = \"newreno\"\nstack = \"{stack}\"");
        let narrow = "rate = \"300kbps\"\nbuffer = \"3p\"";
        let changes = [
            ("cca = \"newreno\"", stacked.as_str()),
            (
                "name = \"up\"\ntarget = true\nrate = \"1Gbps\"\nbuffer = \"1000p\"",
                &format!("name = \"up\"\ntarget = true\n{narrow}"),
            ),
        ];
        let report = recorded("up", &changes);
        let acks = acknowledgments(&report);
        assert!(acks.iter().any(|ack| ack.dropped));
        let mut connections: BTreeMap<u32, Vec<PacketRecord>> = BTreeMap::new();
        for ack in acks {
            assert_eq!(
                ack.connection, ack.flow,
                "persistent flows keep their connection"
            );
            connections.entry(ack.connection).or_default().push(ack);
        }
        assert_eq!(connections.len(), 4);
        for (connection, acks) in connections {
            // The acknowledgments of the SYN come first, again if they are lost.
            let opening = acks.iter().take_while(|ack| ack.segment == Segment::SynAck);
            let opens = opening
                .inspect(|ack| assert_eq!(ack.packet, acks[0].packet))
                .count();
            assert_eq!(opens > 0, handshake, "{stack} {connection}");
            assert!(
                !acks[opens..]
                    .iter()
                    .any(|ack| ack.segment == Segment::SynAck),
                "{stack} {connection}"
            );
            let awaited: Vec<u64> = acks.iter().map(|ack| ack.packet).collect();
            assert!(awaited.is_sorted(), "{stack} {connection}");
            let delivered = (awaited[awaited.len() - 1] * u64::from(acks[0].payload) * 8) as f64;
            // At the least what was delivered in the measured time.
            let goodput = report.groups[0].per_flow[connection as usize].goodput_bps;
            assert!(delivered >= 0.99 * goodput * 5.0, "{stack} {connection}");
        }
    }
}

/// An acknowledgment shows what was there when it set out, however long it has been on its way.
#[test]
fn an_acknowledgment_does_not_know_what_came_after_it_set_out() {
    let far = ("name = \"up\"\n", "name = \"up\"\ndelay = \"15ms\"\n");
    let numbers = |target: &str| -> Vec<u64> {
        let report = recorded(target, &[("count = 4", "count = 1"), far]);
        acknowledgments(&report)
            .iter()
            .map(|ack| ack.packet)
            .collect()
    };
    let (near, far) = (numbers("up"), numbers("last"));
    assert!(far.len() > 1000 && near.len() > far.len());
    assert_eq!(near[..far.len()], far, "the others are still on their way");
}
