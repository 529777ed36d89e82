//! The packets of both directions in a capture, and the contents of their headers.

use std::collections::{BTreeMap, BTreeSet};

use forebay_scenario::{
    AcknowledgmentRecord, HeaderFields, HeaderRecord, PacketRecord, Report, Segment, Traces,
};

use super::traced;

/// Situations with losses, delayed and lost acknowledgments, marks, short transfers and other
/// links.
const SITUATIONS: &[(&str, &str)] = &[
    ("plain", "[[flows]]\nrtt = \"30ms\"\ncount = 2\n"),
    (
        "linux",
        "[[flows]]\nrtt = \"30ms\"\ncount = 3\nstack = \"linux\"\n",
    ),
    (
        "reno",
        "[[flows]]\nrtt = \"30ms\"\ncount = 2\nstack = \"ns2\"\n",
    ),
    (
        "gathering",
        "[[flows]]\nrtt = \"30ms\"\ncount = 2\nstack = \"linux\"\ndelayed_ack = { packets = 2, gro = \"300us\" }\nprocessing = \"1ms\"\n",
    ),
    (
        "marked",
        "[[flows]]\nrtt = \"30ms\"\ncount = 2\nstack = \"linux\"\necn = true\ncca = \"dctcp\"\n",
    ),
    (
        "short",
        "[[flows]]\nrtt = \"30ms\"\nstack = \"linux\"\nworkload = { open_loop = { interarrival = { exponential = \"20ms\" }, size = \"20kB\" } }\n",
    ),
    (
        "kept_open",
        "[[flows]]\nrtt = \"30ms\"\ncount = 3\nstack = \"linux\"\nworkload = { periodic = { every = \"200ms\", size = \"30kB\" } }\n",
    ),
    (
        "access",
        "[[flows]]\nrtt = \"30ms\"\ncount = 3\naccess = { rate = \"8Mbps\", queue = \"20p\" }\n",
    ),
    (
        "mixed",
        "[[flows]]\nrtt = \"30ms\"\nstack = \"linux\"\n[[flows]]\nworkload = { poisson = { rate = \"1Mbps\" } }\npacket = \"500B\"\n",
    ),
];

fn link(name: &str) -> &'static str {
    match name {
        "marked" => "queue = { kind = \"step\", threshold = \"5p\" }\n",
        _ => "",
    }
}

const RUN: &str = "[run]\nwarmup = \"0s\"\nmeasure = \"4s\"\n[trace]\nrecord = [\"packets\"]\n";

fn text(name: &str, flows: &str, more: &str) -> String {
    let queue = link(name);
    format!("[link]\nrate = \"10Mbps\"\nbuffer = \"15p\"\n{queue}{flows}{RUN}{more}")
}

/// The same with a link in front of the target and a way back over another, or over none.
fn over_links(reverse: &str, stack: &str) -> String {
    format!(
        r#"
[[links]]
name = "near"
rate = "40Mbps"
buffer = "100p"
delay = "4ms"
[[links]]
name = "far"
rate = "10Mbps"
buffer = "15p"
target = true
[[links]]
name = "back"
rate = "120kbps"
buffer = "5p"
[[flows]]
rtt = "30ms"
count = 2
stack = "{stack}"
path = ["near", "far"]
{reverse}
{RUN}acknowledgments = true
"#
    )
}

fn all_situations() -> impl Iterator<Item = (String, Report)> {
    let plain = SITUATIONS.iter().map(|(name, flows)| {
        let text = text(name, flows, "acknowledgments = true\n");
        ((*name).to_owned(), traced(&text))
    });
    let ways = [
        ("", "linux"),
        ("", "rfc"),
        ("reverse = [\"back\"]", "linux"),
        ("reverse = [\"back\"]", "rfc"),
    ];
    let linked = ways.into_iter().map(|(reverse, stack)| {
        let report = traced(&over_links(reverse, stack));
        (format!("{reverse} {stack}"), report)
    });
    // No longer than twice the way to the link: acknowledgments come from behind it nevertheless.
    let near = over_links("", "rfc").replace("rtt = \"30ms\"", "rtt = \"5ms\"");
    let near = std::iter::once(("near".to_owned(), traced(&near)));
    plain.chain(linked).chain(near)
}

fn traces(report: &Report) -> &Traces {
    report.traces.as_ref().expect("traces")
}

fn fields(header: &HeaderRecord) -> HeaderFields {
    match header {
        HeaderRecord::Simulated(fields) => *fields,
        other => panic!("{other:?}"),
    }
}

/// Acknowledgments in the order in which they pass.
fn passing(traces: &Traces) -> Vec<&AcknowledgmentRecord> {
    let mut all: Vec<_> = traces.acknowledgments.iter().collect();
    all.sort_by(|a, b| a.packet.time_s.total_cmp(&b.packet.time_s));
    all
}

/// Packets of responsive flows with what they say.
fn data(traces: &Traces) -> impl Iterator<Item = (&PacketRecord, HeaderFields)> {
    assert_eq!(traces.packets.len(), traces.headers.len());
    let all = traces.packets.iter().zip(&traces.headers);
    all.filter_map(|(packet, header)| match header {
        HeaderRecord::Plain => {
            assert!(!traces.groups[packet.group as usize].responsive);
            None
        }
        header => Some((packet, fields(header))),
    })
}

fn milliseconds(time_s: f64) -> f64 {
    // Times are exact in picoseconds, seconds as floats are not.
    (time_s * 1e12).round() / 1e9
}

#[test]
fn a_capture_changes_nothing_that_it_sees() {
    for (name, flows) in SITUATIONS {
        let of = |more: &str| {
            let mut report = traced(&text(name, flows, more));
            report.scenario_sha256.clear();
            (report.cost.cpu_s, report.cost.wall_s) = (0.0, 0.0);
            report.cost.peak_rss_bytes = 0;
            let traces = report.traces.take().expect("traces");
            (serde_json::to_string(&report).expect("a report"), traces)
        };
        let (without, seen) = of("");
        assert!(seen.headers.is_empty() && seen.acknowledgments.is_empty());
        let (with, both) = of("acknowledgments = true\n");
        assert_eq!(with, without, "{name}");
        assert_eq!(both.packets, seen.packets, "{name}");
        assert!(both.acknowledgments.len() > 100, "{name}");
    }
}

/// A packet that is acknowledged, reported beyond a hole or echoed has crossed the link before; so
/// has the end.
#[test]
fn acknowledgments_tell_of_what_has_crossed_the_link() {
    for (name, report) in all_situations() {
        let traces = traces(&report);
        let mut crossed: Vec<_> = data(traces)
            .filter(|(packet, _)| !packet.dropped && !packet.segment.acknowledges())
            .map(|(packet, fields)| (packet.time_s + packet.wait_s, packet, fields))
            .collect();
        crossed.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut crossed = crossed.into_iter().peekable();
        let mut seen: BTreeMap<u32, [BTreeSet<u64>; 3]> = BTreeMap::new();
        let mut told = 0;
        for AcknowledgmentRecord {
            packet: ack,
            header,
        } in passing(traces)
        {
            while let Some((_, packet, fields)) = crossed.next_if(|each| each.0 <= ack.time_s) {
                let [packets, ends, times] = seen.entry(packet.connection).or_default();
                packets.insert(packet.packet);
                times.insert(u64::from(fields.timestamp));
                if fields.finishes {
                    ends.insert(packet.packet + 1);
                }
            }
            let [packets, ends, times] = seen.get(&ack.connection).expect("data before");
            let fields = fields(header);
            let echo = fields.echo.map(u64::from);
            assert!(
                echo.is_none_or(|echo| times.contains(&echo)),
                "{name} {ack:?}"
            );
            let begins = ack.packet == 1;
            assert!(
                begins || packets.contains(&(ack.packet - 1)),
                "{name} {ack:?}"
            );
            assert_eq!(
                fields.finishes,
                ends.contains(&ack.packet),
                "{name} {ack:?}"
            );
            for (from, to) in fields.blocks.into_iter().filter(|block| block.0 != block.1) {
                assert!(from < to, "{name}");
                for packet in u64::from(from)..u64::from(to) {
                    assert!(packets.contains(&packet), "{name} {packet} {ack:?}");
                    told += u64::from(packet > ack.packet);
                }
                assert!(!(from..to).contains(&(ack.packet as u32)), "{name} {ack:?}");
            }
        }
        let dropped = traces.packets.iter().any(|packet| packet.dropped);
        let selective = traces.groups[0].selective;
        assert_eq!(told > 0, dropped && selective, "{name} {told}");
    }
}

#[test]
fn a_duplicate_says_which_packet_caused_it() {
    let report = traced(&text("plain", SITUATIONS[0].1, "acknowledgments = true\n"));
    let mut before = BTreeMap::new();
    let mut duplicates = 0;
    for AcknowledgmentRecord { packet, header } in &traces(&report).acknowledgments {
        if before.insert(packet.connection, packet.packet) == Some(packet.packet) {
            duplicates += 1;
            let (from, to) = fields(header).blocks[0];
            assert!(from < to && from > packet.packet as u32, "{packet:?}");
        }
    }
    assert!(duplicates > 50, "{duplicates}");
}

/// If the sender is at the link, each packet states when it set out, and echoes the newest
/// timestamp that its sender has received.
#[test]
fn data_says_when_it_set_out_and_what_was_heard_last() {
    for (name, flows) in SITUATIONS.iter().filter(|(name, _)| *name != "access") {
        let report = traced(&text(name, flows, "acknowledgments = true\n"));
        let traces = traces(&report);
        let mut heard: BTreeMap<u32, u32> = BTreeMap::new();
        let mut acks = traces.acknowledgments.iter().peekable();
        let mut echoes = 0;
        for (packet, fields) in data(traces) {
            while let Some(ack) = acks.next_if(|ack| ack.packet.time_s <= packet.time_s) {
                let time = milliseconds(ack.packet.time_s).floor() as u32;
                heard.insert(ack.packet.connection, time);
            }
            let time = milliseconds(packet.time_s).floor() as u32;
            assert_eq!(fields.timestamp, time, "{name} {packet:?}");
            if packet.segment == Segment::Syn && fields.echo.is_none() {
                // A new connection, which knows nothing of the one before.
                heard.remove(&packet.connection);
            }
            assert_eq!(
                fields.echo,
                heard.get(&packet.connection).copied(),
                "{name} {packet:?}"
            );
            echoes += u64::from(fields.echo.is_some());
        }
        assert!(echoes > 500, "{name} {echoes}");
    }
}

const STEADY: &str = r#"
[[links]]
name = "near"
rate = "40Mbps"
buffer = "100p"
delay = "4ms"
[[links]]
name = "far"
rate = "10Mbps"
buffer = "100p"
target = true
[[flows]]
rtt = "30ms"
packet = "1500B"
path = ["near", "far"]
access = { rate = "20Mbps" }
receive_window = "1p"
processing = "0s"
WAY
[run]
warmup = "0s"
measure = "3s"
[trace]
record = ["packets", "cwnd"]
acknowledgments = true
every = "500ms"
"#;

/// One packet at a time: from data to its acknowledgment, and from that to the next data, is the
/// round trip that the sender measures; so is what the echoed timestamps say, within a millisecond,
/// and all of it but the link's part of the way lies behind the router.
#[test]
fn both_parts_of_a_round_trip_are_the_whole() {
    let reverse = "[[links]]\nname = \"back\"\nrate = \"10Mbps\"\nbuffer = \"9p\"\n[[flows]]";
    for (way, first) in [("", "[[flows]]"), ("reverse = [\"back\"]", reverse)] {
        let text = STEADY.replace("WAY", way).replace("[[flows]]", first);
        let report = traced(&text);
        let traces = traces(&report);
        let measured = traces.flows.last().expect("samples").rtt_s;
        let acks = passing(traces);
        assert!(acks.len() > 60 && traces.packets.len() > 60);
        for ((packet, next), ack) in traces.packets.iter().zip(&traces.packets[1..]).zip(acks) {
            assert_eq!(ack.packet.packet, packet.packet + 1);
            let there = ack.packet.time_s - packet.time_s;
            let back = next.time_s - ack.packet.time_s;
            assert!(
                (there + back - measured).abs() < 1e-9,
                "{there} {back} {measured}"
            );
            // 4 ms and the transmissions, twice.
            let way = 4e-3 + 1500.0 * 8.0 * (1.0 / 40e6 + 1.0 / 20e6);
            assert!((back - 2.0 * way).abs() < 1e-9, "{back} {way}");
            let arrives = milliseconds(ack.packet.time_s + way);
            let echoed = fields(&ack.header).echo.expect("an echo");
            let rtt = arrives.floor() - f64::from(echoed);
            assert!((rtt - measured * 1e3).abs() <= 1.0, "{rtt} {measured}");
        }
    }
}

/// A delayed acknowledgment echoes the first packet that it is for (RFC 7323 section 4.3).
#[test]
fn a_delayed_acknowledgment_answers_its_first_packet() {
    let flows = "[[flows]]\nrtt = \"30ms\"\npacket = \"1500B\"\nreceive_window = \"9p\"\ndelayed_ack = { packets = 2 }\nhandshake = true\n";
    let report = traced(&text("", flows, "acknowledgments = true\n"));
    let traces = traces(&report);
    let sent: BTreeMap<u64, u32> = data(traces)
        .map(|(packet, fields)| (packet.packet, fields.timestamp))
        .collect();
    assert_eq!(sent.len(), traces.packets.len(), "nothing is lost");
    let mut awaited = 1;
    let mut together = 0;
    for ack in &traces.acknowledgments {
        let fields = fields(&ack.header);
        assert_eq!(fields.echo, Some(sent[&awaited]), "{ack:?}");
        let opens = ack.packet.segment == Segment::SynAck;
        assert_eq!(opens, awaited == 1);
        together += u64::from(ack.packet.packet - awaited == 2);
        awaited = ack.packet.packet;
    }
    assert!(together > 100);
}

/// Each transfer over a connection of its own ends with a packet that says so, and with an
/// acknowledgment of it.
#[test]
fn connections_end_with_their_transfers() {
    let of = |name: &str| {
        let flows = SITUATIONS.iter().find(|each| each.0 == name).expect("one");
        traced(&text(name, flows.1, "acknowledgments = true\n"))
    };
    let report = of("short");
    let traces_of = traces(&report);
    let syns: BTreeSet<_> = traces_of
        .packets
        .iter()
        .filter(|packet| packet.segment == Segment::Syn)
        .map(|packet| (packet.connection, packet.packet))
        .collect();
    let ends: BTreeSet<_> = data(traces_of)
        .filter(|(_, fields)| fields.finishes)
        .map(|(packet, _)| (packet.connection, packet.packet))
        .collect();
    assert!(syns.len() > 100);
    // 20 kB are 14 packets of 1448 B after the SYN; the last ones are in flight.
    let expected: BTreeSet<_> = syns.iter().map(|(flow, syn)| (*flow, syn + 14)).collect();
    assert!(ends.is_subset(&expected));
    assert!(
        expected.len() - ends.len() <= 20,
        "{} {}",
        expected.len(),
        ends.len()
    );
    let heard = traces_of.acknowledgments.iter();
    let heard: BTreeSet<_> = heard
        .filter(|ack| fields(&ack.header).finishes)
        .map(|ack| (ack.packet.connection, ack.packet.packet - 1))
        .collect();
    assert!(heard.is_subset(&ends) && heard.len() + 20 >= ends.len());
    for name in ["kept_open", "linux"] {
        let report = of(name);
        assert!(
            data(traces(&report)).all(|(_, fields)| !fields.finishes),
            "{name}"
        );
    }
}

/// Acknowledgments that cross the link are among its packets, say the same there, and come back
/// nowhere else.
#[test]
fn what_crosses_the_link_is_seen_once() {
    // A link whose packets are seen is on the path of some.
    let beside = "[[flows]]\nname = \"beside\"\npath = [\"back\"]\npacket = \"100B\"\nworkload = { cbr = { rate = \"1kbps\" } }\n[run]";
    let text = over_links("reverse = [\"back\"]", "linux").replace("[run]", beside);
    let around = traced(&text);
    let target = text
        .replace("target = true\n", "")
        .replace("name = \"back\"\n", "name = \"back\"\ntarget = true\n");
    let across = traced(&target);
    assert!(traces(&across).acknowledgments.is_empty());
    let crossing: BTreeMap<(u32, u32), _> = data(traces(&across))
        .map(|(packet, fields)| {
            assert!(packet.segment.acknowledges());
            ((packet.connection, fields.timestamp), fields)
        })
        .collect();
    assert!(traces(&across).packets.iter().any(|packet| packet.dropped));
    let returned = &traces(&around).acknowledgments;
    assert!(returned.len() > 300);
    let packets = &traces(&around).packets;
    assert!(packets.iter().all(|packet| !packet.segment.acknowledges()));
    for ack in returned {
        let fields = fields(&ack.header);
        assert!(crossing.contains_key(&(ack.packet.connection, fields.timestamp)));
    }
}

#[test]
fn acknowledgments_are_recorded_from_when_to_when_packets_are() {
    let bounds = "from = \"1s\"\nuntil = \"1500ms\"\nacknowledgments = true\n";
    let report = traced(&text("plain", SITUATIONS[0].1, bounds));
    let times = traces(&report)
        .acknowledgments
        .iter()
        .map(|ack| ack.packet.time_s);
    let (first, last) = times.fold((f64::MAX, 0.0_f64), |(a, b), t| (a.min(t), b.max(t)));
    assert!(
        (1.0..1.01).contains(&first) && (1.49..=1.5).contains(&last),
        "{first} {last}"
    );
    assert_eq!(traces(&report).headers.len(), traces(&report).packets.len());
}

/// Nor where data and acknowledgments share a link.
#[test]
fn what_shares_the_link_with_its_data_does_not_come_back_beside_it() {
    let shared = over_links("reverse = [\"far\"]", "linux");
    let report = traced(&shared.replace("path = [\"near\", \"far\"]", "path = [\"far\"]"));
    let traces = traces(&report);
    let back = data(traces).filter(|(packet, _)| packet.segment.acknowledges());
    assert!(back.count() > 300);
    assert!(traces.acknowledgments.is_empty());
}
