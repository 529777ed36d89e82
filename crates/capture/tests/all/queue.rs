//! Queues captured on both sides: waiting times, drops, marks and backlogs equal the constructed
//! ones.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::connections::{ACK, SECOND, datagram, ends, packet};
use forebay_capture::{Crossed, Ecn, Flags, FlowKey, Observation, Observer, Packet, Settings, Tcp};
use proptest::prelude::*;

/// A simple model of a queue of limited bytes in front of a link (ns per byte).
#[derive(Debug, Default)]
struct Truth {
    packets: Vec<Packet>,
    waits: Vec<u64>,
    drops: BTreeMap<u64, u64>,
    dropped_bytes: u64,
    marked: u64,
    largest: u64,
    at_drops: Vec<u64>,
}

fn queue(arrivals: &[(u64, u32, u32)], per_byte: u64, limit: u64, mark: u64) -> Truth {
    let mut truth = Truth::default();
    let mut inside = VecDeque::new();
    let (mut free, mut backlog, mut time) = (0, 0u64, SECOND);
    for (number, &(gap, flow, payload)) in (0..).zip(arrivals) {
        time += gap;
        while let Some(&(leaves, bytes)) = inside.front()
            && leaves <= time
        {
            backlog -= bytes;
            inside.pop_front();
        }
        let mut packet = datagram(time, ends(flow), payload);
        packet.identification = Some(number);
        packet.ecn = Ecn::Capable0;
        truth.packets.push(packet);
        let bytes = u64::from(packet.bytes);
        if backlog + bytes > limit {
            *truth.drops.entry(u64::from(flow)).or_default() += 1;
            truth.dropped_bytes += bytes;
            truth.at_drops.push(backlog);
            continue;
        }
        if backlog > mark {
            packet.ecn = Ecn::Marked;
            truth.marked += 1;
        }
        backlog += bytes;
        truth.largest = truth.largest.max(backlog);
        free = time.max(free) + bytes * per_byte;
        inside.push_back((free, bytes));
        packet.interface = 1;
        packet.time = free;
        truth.waits.push(free - time);
        truth.packets.push(packet);
    }
    // The queue is empty, and a packet passes it much later.
    let end = free.max(time) + 11 * SECOND;
    for (interface, time) in [(0, end), (1, end + 1)] {
        let mut last = datagram(time, ends(0), 10);
        last.interface = interface;
        truth.packets.push(last);
    }
    truth.waits.push(1);
    // A departure at the time of an arrival is before it, as above.
    truth.packets.sort_by_key(|it| (it.time, 1 - it.interface));
    truth
}

fn observed(packets: &[Packet]) -> Observation {
    observed_with(packets, Settings::default().alive)
}

fn observed_with(packets: &[Packet], alive: usize) -> Observation {
    let mut observer = Observer::new(Settings {
        queue: Some((0, 1)),
        alive,
        ..Settings::default()
    });
    for packet in packets {
        observer.observe(packet);
    }
    observer.finish()
}

fn crossed(observation: &Observation) -> &Crossed {
    observation.queue.as_ref().expect("a queue")
}

fn arrivals() -> impl Strategy<Value = Vec<(u64, u32, u32)>> {
    let arrival = (
        prop_oneof![0u64..2000, 0u64..30_000],
        0u32..4,
        prop_oneof![1u32..200, Just(1472)],
    );
    prop::collection::vec(arrival, 1..400)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_queue_is_seen_as_it_is(arrivals in arrivals(), limit in 2000u64..30_000, mark in 0u64..30_000, alive in prop_oneof![Just(1usize), Just(100)]) {
        let truth = queue(&arrivals, 8, limit, mark);
        // The losses of a stream are known after it has ended.
        let observation = observed_with(&truth.packets, alive);
        let crossed = crossed(&observation);
        prop_assert_eq!((crossed.strangers, crossed.hurried, crossed.unattributed), (0, 0, 0));
        let crossing = &crossed.directions[0];
        let drops: u64 = truth.drops.values().sum();
        prop_assert_eq!((crossing.dropped.packets, crossing.dropped.bytes), (drops, truth.dropped_bytes));
        prop_assert_eq!(crossing.through.packets, truth.waits.len() as u64);
        prop_assert_eq!((crossing.unfinished.packets, crossing.negative), (0, 0));
        prop_assert_eq!(crossing.largest_backlog.bytes.max(38), truth.largest.max(38));
        prop_assert_eq!(crossing.marked, truth.marked);
        prop_assert_eq!((crossing.overtaken, crossing.overtaken_inside), (0, 0));
        let windows = crossing.windows.bins();
        prop_assert_eq!(windows.iter().map(|it| it.wait).sum::<i64>(), truth.waits.iter().sum::<u64>() as i64);
        prop_assert_eq!(windows.iter().filter_map(|it| it.waits).map(|it| it.1).max(), truth.waits.iter().max().map(|&it| it as i64));
        prop_assert_eq!(windows.iter().map(|it| it.dropped.packets).sum::<u64>(), drops);
        let mut at_drops = truth.at_drops.clone();
        at_drops.sort_unstable();
        let counted: Vec<_> = crossing.backlog_at_drops.bins().collect();
        prop_assert_eq!(crossing.backlog_at_drops.total(), at_drops.len() as u64);
        if let (Some(bin), Some(&least)) = (counted.first(), at_drops.first()) {
            prop_assert!((bin.least..=bin.most).contains(&least));
        }
        // Each stream has its own drops.
        let port = observation.interfaces.iter().find(|it| it.number == 0).unwrap();
        let streams = &port.directions[0].streams.sample;
        prop_assert_eq!(streams.iter().map(|it| it.dropped).sum::<u64>(), drops);
        prop_assert_eq!(streams.iter().map(|it| it.marked_inside).sum::<u64>(), truth.marked);
        if alive == 1 {
            return Ok(());
        }
        let mut per_stream: Vec<_> = streams.iter().map(|it| it.dropped).filter(|&it| it > 0).collect();
        per_stream.sort_unstable();
        let mut expected: Vec<_> = truth.drops.values().copied().collect();
        expected.sort_unstable();
        prop_assert_eq!(per_stream, expected);
    }

    #[test]
    fn clocks_that_differ_are_reported_and_nothing_else(arrivals in arrivals(), offset in -2_000_000i64..2_000_000) {
        let truth = queue(&arrivals, 8, 1 << 40, 1 << 40);
        let mut packets = truth.packets.clone();
        for packet in packets.iter_mut().filter(|it| it.interface == 1) {
            packet.time = packet.time.wrapping_add_signed(offset);
        }
        packets.sort_by_key(|it| (it.time, 1 - it.interface));
        let observation = observed(&packets);
        let crossing = &crossed(&observation).directions[0];
        prop_assert_eq!(crossing.through.packets, truth.waits.len() as u64);
        prop_assert_eq!((crossing.dropped.packets, crossed(&observation).strangers), (0, 0));
        let smallest = crossing.offsets.bins().iter().filter_map(|it| it.0).min().unwrap();
        prop_assert_eq!(smallest, *truth.waits.iter().min().unwrap() as i64 + offset);
        let negative = truth.waits.iter().filter(|&&it| (it as i64) < -offset).count();
        prop_assert_eq!(crossing.negative, negative as u64);
    }
}

#[test]
fn the_end_of_a_capture_is_not_a_drop() {
    // Two packets come and one leaves; a packet that came before that one never left.
    let mut packets = Vec::new();
    for (number, time) in [(0, 0), (1, 10), (2, 20)] {
        let mut packet = datagram(SECOND + time, ends(number), 100);
        packet.identification = Some(number as u16);
        packets.push(packet);
    }
    let mut gone = packets[1];
    (gone.interface, gone.time) = (1, SECOND + 30);
    packets.push(gone);
    let observation = observed(&packets);
    let crossing = &crossed(&observation).directions[0];
    assert_eq!(crossing.through.packets, 1);
    assert_eq!(crossing.dropped.packets, 1);
    assert_eq!(crossing.unfinished.packets, 1);
}

#[test]
fn order_among_streams_is_told() {
    // Two queues are served in turn: the second stream passes the first one's backlog.
    let (mut packets, mut identification) = (Vec::new(), 0);
    let mut pass = |flow, arrives: u64, leaves: u64| {
        let mut packet = datagram(SECOND + arrives, ends(flow), 1000);
        identification += 1;
        packet.identification = Some(identification);
        packets.push(packet);
        (packet.interface, packet.time) = (1, SECOND + leaves);
        packets.push(packet);
    };
    for packet in 0..10 {
        pass(0, packet, 1000 * (packet + 1));
    }
    pass(1, 20, 2500);
    packets.sort_by_key(|it| it.time);
    let observation = observed(&packets);
    let crossing = &crossed(&observation).directions[0];
    assert_eq!((crossing.overtaken, crossing.overtaken_inside), (8, 0));
}

#[test]
fn equal_datagrams_are_told_apart_by_what_passed_between() {
    // The second of three packets is lost; others come and go between them.
    let mut packets = Vec::new();
    for number in 0..6u64 {
        let (flow, payload) = if number % 2 == 0 {
            (0, 100)
        } else {
            (1, number as u32)
        };
        let arrives = SECOND + number * 1000;
        let made = datagram(arrives, ends(flow), payload);
        packets.push(made);
        if number != 2 {
            let (interface, time) = (1, arrives + 500);
            packets.push(Packet {
                interface,
                time,
                ..made
            });
        }
    }
    let observation = observed(&packets);
    let crossing = &crossed(&observation).directions[0];
    let waits: Vec<_> = crossing.waits.bins().map(|it| it.count).collect();
    assert_eq!((waits, crossing.dropped.packets), (vec![5], 1));
    assert_eq!((crossing.overtaken, crossing.unfinished.packets), (0, 0));
}

#[test]
fn what_goes_the_other_way_is_another_direction() {
    // The direction with more bytes comes first.
    for (there, back, first) in [(1000, 50, 0), (50, 1000, 1)] {
        go_both_ways(there, back, first);
    }
}

fn go_both_ways(there_bytes: u32, back_bytes: u32, first: usize) {
    let mut packets = Vec::new();
    for number in 0..100u64 {
        let time = SECOND + number * 1000;
        let (there, back) = if number % 2 == 0 { (0, 1) } else { (1, 0) };
        let flow = if there == 0 {
            ends(0)
        } else {
            ends(0).reversed()
        };
        let mut packet = datagram(
            time,
            flow,
            if there == 0 { there_bytes } else { back_bytes },
        );
        packet.identification = Some(number as u16);
        packet.interface = there;
        packets.push(packet);
        (packet.interface, packet.time) = (back, time + 300);
        packets.push(packet);
    }
    let observation = observed(&packets);
    let directions = &crossed(&observation).directions;
    let (through, other) = (&directions[first], &directions[1 - first]);
    assert_eq!((through.through.packets, through.negative), (50, 0));
    assert_eq!((other.through.packets, other.negative), (50, 50));
    assert_eq!(through.dropped.packets + other.dropped.packets, 0);
}

#[test]
fn what_was_repeated_keeps_its_order() {
    // The same datagram comes four times, without an identification; the third one is lost.
    let mut packets = Vec::new();
    for (arrives, leaves) in [
        (0, Some(500)),
        (1000, Some(1500)),
        (2000, None),
        (3000, Some(3500)),
    ] {
        let packet = datagram(SECOND + arrives, ends(0), 100);
        packets.push(packet);
        if let Some(leaves) = leaves {
            let time = SECOND + leaves;
            packets.push(Packet {
                interface: 1,
                time,
                ..packet
            });
        }
    }
    packets.sort_by_key(|it| it.time);
    let observation = observed(&packets);
    let crossing = &crossed(&observation).directions[0];
    // The capture cannot show which of the last two was lost: the first waiting one is taken.
    let waits: Vec<_> = crossing.waits.bins().map(|it| it.count).collect();
    assert_eq!(crossing.through.packets, 3);
    assert_eq!(waits, [2, 1]);
    assert_eq!(crossing.unfinished.packets, 1);
}

#[test]
fn a_repetition_is_not_taken_for_what_was_lost() {
    // A segment is lost and retransmitted, without identification or timestamps; others pass
    // between.
    let segment = |sequence| Tcp {
        sequence,
        flags: Flags(ACK),
        payload: 100,
        ..Tcp::default()
    };
    let mut packets = Vec::new();
    for (number, sequence) in [0, 100, 200, 300, 100, 400].into_iter().enumerate() {
        let arrives = SECOND + number as u64 * 1000;
        let made = packet(arrives, ends(0), segment(sequence));
        packets.push(made);
        if number != 1 {
            let time = arrives + 500;
            let interface = 1;
            packets.push(Packet {
                interface,
                time,
                ..made
            });
        }
    }
    let observation = observed(&packets);
    let crossing = &crossed(&observation).directions[0];
    assert_eq!((crossing.through.packets, crossing.dropped.packets), (5, 1));
    assert_eq!(
        (crossing.overtaken_inside, crossing.unfinished.packets),
        (0, 0)
    );
    let waits: Vec<_> = crossing.waits.bins().map(|it| it.count).collect();
    assert_eq!(waits, [5]);
}

/// The paths of all streams of an interface, with the bytes that identify each stream in the test.
fn paths(observation: &Observation, interface: usize) -> BTreeMap<u64, u64> {
    let directions = &observation.interfaces[interface].directions;
    let streams = directions.iter().flat_map(|it| &it.streams.sample);
    streams
        .map(|it| (it.largest_payload.into(), it.path))
        .collect()
}

#[test]
fn a_stream_has_one_path_at_both_interfaces_and_no_other_stream_has_it() {
    let mut packets = Vec::new();
    for number in 0..50u32 {
        let (there, time) = (ends(number), SECOND + u64::from(number) * 1000);
        let back = FlowKey {
            source: there.destination,
            destination: there.source,
            source_port: there.destination_port,
            destination_port: there.source_port,
            ..there
        };
        for (flow, payload) in [(there, 100 + number), (back, 500 + number)] {
            for interface in 0..2 {
                // After the queue either end may come first.
                let later = if interface == 1 && number % 2 == 0 && payload >= 500 {
                    1
                } else {
                    9
                };
                let mut packet = datagram(time + u64::from(interface) * 100 + later, flow, payload);
                packet.interface = interface;
                packets.push(packet);
            }
        }
    }
    packets.sort_by_key(|it| it.time);
    let observation = observed(&packets);
    let (before, behind) = (paths(&observation, 0), paths(&observation, 1));
    assert_eq!(before.len(), 100);
    assert_eq!(before, behind);
    let distinct: BTreeSet<u64> = before.into_values().collect();
    assert_eq!(distinct.len(), 100);
}
