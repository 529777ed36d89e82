//! Facts of single packets beside their payload: flags, blocks, windows, codepoints, stations and
//! sizes.

use crate::connections::{ACK, FIN, MILLISECOND, SECOND, SYN, Transfer, datagram, ends, packet};
use forebay_capture::{
    Ecn, Flags, Observation, Observer, Packet, Settings, Stream, Tcp, Transport,
};

fn observed(packets: &[Packet]) -> Observation {
    let mut observer = Observer::new(Settings::default());
    for packet in packets {
        observer.observe(packet);
    }
    observer.finish()
}

fn first(observation: &Observation) -> &Stream {
    &observation.interfaces[0].directions[0].streams.sample[0]
}

/// Ten segments, and a changed acknowledgment of each.
fn exchange(change: impl Fn(u32, &mut Packet, &mut Tcp)) -> Vec<Packet> {
    let mut packets = Vec::new();
    for number in 0..10u32 {
        let time = SECOND + u64::from(number) * MILLISECOND;
        let data = Tcp {
            sequence: 1000 + number * 100,
            acknowledgment: 7,
            flags: Flags(ACK),
            payload: 100,
            window: 10,
            ..Tcp::default()
        };
        let answer = Tcp {
            sequence: 7,
            acknowledgment: data.sequence + 100,
            flags: Flags(ACK),
            payload: 0,
            window: 10,
            ..Tcp::default()
        };
        for (tcp, flow) in [(data, ends(0)), (answer, ends(0).reversed())] {
            let mut made = packet(time, flow, tcp);
            let mut tcp = tcp;
            change(number, &mut made, &mut tcp);
            made.transport = Transport::Tcp(tcp);
            packets.push(made);
        }
    }
    packets
}

#[test]
fn marks_and_their_echoes_are_counted() {
    let packets = exchange(|number, packet, tcp| {
        if tcp.payload > 0 {
            packet.ecn = if number < 3 {
                Ecn::Marked
            } else {
                Ecn::Capable0
            };
            tcp.flags.0 |= if number == 5 { 0x80 } else { 0 };
        } else if number < 4 {
            tcp.flags.0 |= 0x40;
        }
    });
    let observation = observed(&packets);
    let stream = first(&observation);
    assert_eq!((stream.capable, stream.marks), (10, 3));
    assert_eq!((stream.echoes, stream.reduced), (4, 1));
    let load = &observation.interfaces[0].directions[0].load;
    let counted = load.codepoints.map(|it| it.packets);
    assert_eq!(counted, [0, 7, 0, 3]);
}

#[test]
fn selective_acknowledgments_are_told_from_duplicates() {
    let blocks = |first: (u32, u32), second: Option<(u32, u32)>| {
        let packets = exchange(|number, _, tcp| {
            if tcp.payload == 0 && number == 5 {
                tcp.sacked = [Some(first), second, None, None];
            }
        });
        let observation = observed(&packets);
        let stream = first_counts(&observation);
        (stream.0, stream.1)
    };
    // The acknowledgment number is 1600.
    assert_eq!(blocks((1700, 1800), None), (1, 0));
    assert_eq!(blocks((1500, 1600), None), (1, 1));
    assert_eq!(blocks((1700, 1800), Some((1700, 1900))), (1, 1));
    assert_eq!(blocks((1700, 1800), Some((1900, 2000))), (1, 0));
}

fn first_counts(observation: &Observation) -> (u64, u64) {
    let stream = first(observation);
    (stream.selective_acks, stream.duplicate_selective_acks)
}

#[test]
fn windows_that_are_closed_and_numbers_that_repeat_are_counted() {
    let packets = exchange(|number, _, tcp| {
        if tcp.payload == 0 {
            tcp.window = u16::from(number < 6);
            // From the fifth acknowledgment on, no more data is acknowledged.
            tcp.acknowledgment = tcp.acknowledgment.min(1500);
        }
    });
    let observation = observed(&packets);
    let stream = first(&observation);
    assert_eq!((stream.zero_windows, stream.duplicate_acks), (4, 5));
    assert_eq!(stream.largest_flight, Some(500));
    // Without acknowledgments, later data has no round trips.
    assert_eq!(stream.behind.count(), 4);
}

#[test]
fn a_handshake_that_was_repeated_tells_no_round_trip() {
    let packets = Transfer::default().packets();
    for again in [0, 1] {
        let mut repeated = packets.clone();
        let mut copy = repeated[again];
        copy.time += MILLISECOND;
        repeated.insert(again + 1, copy);
        let observation = observed(&repeated);
        let streams = &observation.interfaces[0].directions[0].streams;
        let stream = &streams.long[0];
        let answered = again == 1;
        assert_eq!(stream.handshake_behind.is_some(), answered);
        assert_eq!(stream.handshake_before, None);
        assert!(stream.begun && stream.scale_known);
        assert_eq!((stream.announced_segment, stream.unseen), (Some(1460), 0));
    }
}

#[test]
fn a_closed_connection_is_forgotten_soon() {
    let open = |time, flags| {
        let tcp = Tcp {
            flags: Flags(flags),
            payload: 10,
            ..Tcp::default()
        };
        packet(time, ends(0), tcp)
    };
    for (flags, wait, connections) in [(FIN, 4, 1), (FIN, 6, 2), (ACK, 6, 1), (ACK, 301, 2)] {
        let packets = [
            open(SECOND, flags),
            // A datagram of another flow advances the time.
            datagram((1 + wait) * SECOND, ends(9), 1),
            open((1 + wait) * SECOND, ACK),
        ];
        let observation = observed(&packets);
        assert_eq!(observation.connections, connections + 1, "{flags} {wait}");
    }
}

#[test]
fn a_third_station_leaves_the_sides_to_addresses() {
    let mut packets = Vec::new();
    for (number, station) in [(0, 5), (1, 6), (2, 7), (3, 5)] {
        // The second station answers, and the third one is a client too.
        let flow = if number == 1 {
            ends(0).reversed()
        } else {
            ends(number)
        };
        let mut made = datagram(u64::from(number) * MILLISECOND, flow, 100);
        made.stations = Some((station, 9));
        packets.push(made);
    }
    let observation = observed(&packets);
    let evidence = observation.interfaces[0].evidence;
    // The answer belongs to the first connection. The server is known when the third station sends.
    assert_eq!((evidence.by_station, evidence.by_address), (1, 2));
    let directions = &observation.interfaces[0].directions;
    assert_eq!(
        directions.each_ref().map(|it| it.load.total.packets),
        [3, 1]
    );
}

#[test]
fn packets_that_no_frame_holds_are_counted() {
    let mut packets = Vec::new();
    for (number, bytes) in [(0, 1500), (1, 1514), (2, 1515), (3, 64_000), (4, 70_000)] {
        let mut made = datagram(number, ends(0), 100);
        (made.bytes, made.frame_bytes) = (bytes, bytes + 14);
        packets.push(made);
    }
    let observation = observed(&packets);
    let load = &observation.interfaces[0].directions[0].load;
    assert_eq!((load.oversized.packets, load.oversized.bytes), (3, 135_515));
    assert_eq!(
        (load.largest, load.frame_bytes),
        (70_000, load.total.bytes + 70)
    );
    assert_eq!((load.sizes[1500], load.sizes[65_535]), (1, 1));
    assert_eq!(load.protocols[17], load.total);
}

#[test]
fn data_on_a_syn_is_data() {
    let syn = Tcp {
        sequence: 99,
        flags: Flags(SYN),
        payload: 50,
        ..Tcp::default()
    };
    let data = Tcp {
        sequence: 150,
        flags: Flags(ACK),
        payload: 50,
        ..Tcp::default()
    };
    let answer = |acknowledgment| Tcp {
        acknowledgment,
        flags: Flags(ACK),
        ..Tcp::default()
    };
    let observation = observed(&[
        packet(0, ends(0), syn),
        packet(1, ends(0).reversed(), answer(150)),
        packet(2, ends(0), data),
        packet(3, ends(0).reversed(), answer(200)),
    ]);
    let stream = first(&observation);
    assert_eq!(
        (stream.distinct, stream.unseen, stream.repeated),
        (100, 0, 0)
    );
    assert_eq!(stream.largest_flight, Some(50));
}
