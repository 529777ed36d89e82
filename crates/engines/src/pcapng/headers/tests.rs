use super::*;

fn record(time_s: f64, packet: u64, bytes: u32) -> PacketRecord {
    PacketRecord {
        time_s,
        flow: 0,
        group: 0,
        connection: 0x0001_0203,
        packet,
        bytes,
        segment: Segment::Data,
        payload: 1448,
        dropped: false,
        marked: false,
        wait_s: 0.001,
    }
}

const TCP_GROUP: TracedGroup = TracedGroup {
    responsive: true,
    header: 52,
    ecn: 2,
    selective: true,
    receive_window: None,
};

fn frame<'a>(record: &'a PacketRecord, header: &'a HeaderRecord, group: TracedGroup) -> Frame<'a> {
    Frame {
        record,
        header,
        group,
        way: Way::Link,
        identification: record.packet as u16,
        marked: false,
        directed: false,
    }
}

/// The headers of a packet of which only the record is known.
fn plain(record: &PacketRecord, group: TracedGroup) -> Vec<u8> {
    headers(&frame(record, &HeaderRecord::Plain, group))
}

#[test]
fn headers_have_the_lengths_of_their_packets() {
    let of = |record, group| plain(&record, group);
    let opening = PacketRecord {
        segment: Segment::Syn,
        ..record(0.5, 1, 52)
    };
    let unanswered = PacketRecord {
        group: 1,
        ..record(5.0, 9, 65_535)
    };
    let (syn, data, datagram) = (
        of(opening, TCP_GROUP),
        of(record(1.0, 2, 1500), TCP_GROUP),
        of(unanswered, TracedGroup::default()),
    );
    assert_eq!(
        (syn.len(), syn[33], data.len(), data[33]),
        (52, SYN, 52, ACK)
    );
    // The TCP header has 32 bytes, of which 12 are options.
    assert_eq!(data[32] >> 4, 8);
    assert_eq!(data[12..16], [10, 1, 2, 3]);
    assert_eq!((datagram.len(), datagram[9]), (28, 17));
    assert_eq!(u16::from_be_bytes([datagram[22], datagram[23]]), 9);
    assert_eq!(u16::from_be_bytes([datagram[24], datagram[25]]), 65_515);
    // Header sizes that real packets do not have still give a valid packet.
    for (header, bytes) in [(0, 1), (1000, 1500), (41, 60)] {
        let group = TracedGroup {
            responsive: true,
            header,
            ..TracedGroup::default()
        };
        let data = plain(&record(0.0, 1, bytes), group);
        assert!(
            (40..=80).contains(&data.len()) && data.len() == IPV4 + usize::from(data[32] >> 4) * 4
        );
    }
}

/// A connection as a reader of captures follows it: the numbers of each side continue those of the
/// other.
#[test]
fn numbers_follow_from_the_handshake_on() {
    let opening = PacketRecord {
        segment: Segment::Syn,
        ..record(0.0, 7, 52)
    };
    let answer = PacketRecord {
        segment: Segment::SynAck,
        packet: 8,
        ..opening
    };
    let data = record(0.1, 8, 1500);
    let last = record(0.2, 9, 700);
    let acknowledgment = PacketRecord {
        segment: Segment::Ack,
        ..record(0.3, 10, 52)
    };
    let seen = [&opening, &answer, &data, &last, &acknowledgment];
    let [
        (syn, none),
        (server, answered),
        (first, expects),
        (second, _),
        (own, all),
    ] = seen.map(|record| numbers(record, false));
    assert_eq!((none, server), (0, 0));
    assert_eq!(answered, syn.wrapping_add(1));
    assert_eq!((first, expects), (answered, 1));
    assert_eq!(
        second,
        first.wrapping_add(1448),
        "a short packet is where it belongs"
    );
    assert_eq!((own, all), (1, second.wrapping_add(1448)));
    let flags = |record: &PacketRecord| plain(record, TCP_GROUP)[33];
    assert_eq!(seen.map(flags), [SYN, SYN | ACK, ACK, ACK, ACK]);
    let ends = |record: &PacketRecord| {
        let header = plain(record, TCP_GROUP);
        let from = (header[12..16].to_vec(), header[20..22].to_vec());
        let to = (header[16..20].to_vec(), header[22..24].to_vec());
        (from, to)
    };
    let (there, back) = (ends(&data), ends(&acknowledgment));
    assert_eq!((there.0, there.1), (back.1, back.0));
}

/// The options of a TCP header, parsed.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    segment_size: Option<u16>,
    shift: Option<u8>,
    selective: bool,
    timestamps: Option<(u32, u32)>,
    blocks: Vec<(u32, u32)>,
}

fn read(header: &[u8]) -> Options {
    let word = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().unwrap());
    let (mut at, end) = (40, 20 + usize::from(header[32] >> 4) * 4);
    assert_eq!(end, header.len());
    let mut found = Options::default();
    while at < end {
        if header[at] == NO_OPERATION {
            at += 1;
            continue;
        }
        let option = &header[at..at + usize::from(header[at + 1])];
        match (option[0], option.len()) {
            (2, 4) => found.segment_size = Some(u16::from_be_bytes([option[2], option[3]])),
            (3, 3) => found.shift = Some(option[2]),
            (4, 2) => found.selective = true,
            (8, 10) => found.timestamps = Some((word(&option[2..6]), word(&option[6..]))),
            (5, _) => {
                let edges = option[2..].chunks(8);
                found.blocks = edges
                    .map(|edge| (word(&edge[..4]), word(&edge[4..])))
                    .collect();
            }
            other => panic!("option {other:?}"),
        }
        at += option.len();
    }
    found
}

fn told(record: &PacketRecord, fields: HeaderFields, group: TracedGroup, way: Way) -> Vec<u8> {
    let header = HeaderRecord::Simulated(fields);
    headers(&Frame {
        way,
        ..frame(record, &header, group)
    })
}

const SAID: HeaderFields = HeaderFields {
    timestamp: 5000,
    echo: Some(4000),
    blocks: [(12, 14), (17, 18), (0, 0)],
    finishes: false,
};

fn of(segment: Segment) -> PacketRecord {
    PacketRecord {
        segment,
        ..record(1.0, 10, if segment == Segment::Data { 1500 } else { 52 })
    }
}

/// The clocks of the two ends differ, and each is echoed as it was read.
#[test]
fn an_echo_is_what_the_other_end_has_said() {
    let stamps =
        |segment, fields| read(&told(&of(segment), fields, TCP_GROUP, Way::Link)).timestamps;
    let (value, _) = stamps(Segment::Data, SAID).unwrap();
    let heard = HeaderFields {
        timestamp: 9,
        echo: Some(5000),
        ..SAID
    };
    let (own, echo) = stamps(Segment::Ack, heard).unwrap();
    assert_eq!(echo, value);
    let answering = HeaderFields {
        timestamp: 6000,
        echo: Some(9),
        ..SAID
    };
    let (later, echo) = stamps(Segment::Data, answering).unwrap();
    assert_eq!((later.wrapping_sub(value), echo), (1000, own));
    assert!(value != 5000 && own != 9, "with an offset");
    let first = HeaderFields { echo: None, ..SAID };
    assert_eq!(stamps(Segment::Syn, first).unwrap().1, 0);
    let narrow = TracedGroup {
        header: 51,
        ..TCP_GROUP
    };
    let data = told(&of(Segment::Data), SAID, narrow, Way::Link);
    assert_eq!(read(&data).timestamps, None, "no room");
}

#[test]
fn a_syn_offers_what_the_connection_does() {
    let syn = |group| {
        let header = told(&of(Segment::Syn), SAID, group, Way::Link);
        assert_eq!(header.len() % 4, 0);
        let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
        assert_eq!(total, header.len().max(52));
        read(&header)
    };
    let linux = syn(TCP_GROUP);
    assert_eq!(
        (linux.segment_size, linux.selective, linux.shift),
        (Some(1460), true, Some(14))
    );
    assert!(linux.timestamps.is_some() && linux.blocks.is_empty());
    let reno = syn(TracedGroup {
        header: 40,
        selective: false,
        receive_window: Some(100),
        ..TCP_GROUP
    });
    // A window of 144800 bytes needs a shift of two.
    assert_eq!(
        (
            reno.segment_size,
            reno.selective,
            reno.shift,
            reno.timestamps
        ),
        (Some(1448), false, Some(2), None)
    );
}

/// A reader that applies the shift of the SYN recovers the scenario's window, as exactly as the
/// shift allows.
#[test]
fn the_receivers_window_is_as_the_scenario_has_it() {
    for packets in [1, 45, 46, 1000, 100_000, 1_000_000_000] {
        let group = TracedGroup {
            receive_window: Some(packets),
            ..TCP_GROUP
        };
        let window = |segment| {
            let header = told(&of(segment), SAID, group, Way::Back);
            u64::from(u16::from_be_bytes([header[34], header[35]]))
        };
        let shift = read(&told(&of(Segment::SynAck), SAID, group, Way::Back))
            .shift
            .unwrap();
        let bytes = packets * 1448;
        let most = 65_535 << 14;
        let meant = window(Segment::Ack) << shift;
        assert_eq!(
            meant,
            if bytes > most {
                most
            } else {
                bytes >> shift << shift
            }
        );
        assert!(
            shift == 0 || bytes >> (shift - 1) > 65_535,
            "as little as suffices"
        );
        assert_eq!(window(Segment::SynAck), bytes.min(65_535), "never shifted");
        assert_eq!(window(Segment::Data), 65_535, "the sender's own");
    }
}

/// SACK blocks are included if they fit. On the link a packet keeps its length.
#[test]
fn blocks_are_bytes_of_the_packets_beyond_the_hole() {
    let ack = of(Segment::Ack);
    let back = told(&ack, SAID, TCP_GROUP, Way::Back);
    let expected = [(12 * 1448, 14 * 1448), (17 * 1448, 18 * 1448)];
    assert_eq!(read(&back).blocks, expected);
    assert_eq!(u16::from_be_bytes([back[2], back[3]]), 72);
    let crossing = told(&ack, SAID, TCP_GROUP, Way::Link);
    assert_eq!((read(&crossing).blocks, crossing.len()), (vec![], 52));
    let longer = PacketRecord { bytes: 70, ..ack };
    let one = told(&longer, SAID, TCP_GROUP, Way::Link);
    assert_eq!(read(&one).blocks, expected[..1]);
    let three = HeaderFields {
        blocks: [(12, 14), (17, 18), (20, 30)],
        ..SAID
    };
    let full = told(&ack, three, TCP_GROUP, Way::Back);
    assert_eq!((read(&full).blocks.len(), full.len()), (3, 80));
}

#[test]
fn an_end_counts_one_and_is_acknowledged() {
    let last = HeaderFields {
        finishes: true,
        ..SAID
    };
    let numbers = |header: &[u8]| {
        let word = |at: usize| u32::from_be_bytes(header[at..at + 4].try_into().unwrap());
        (word(24), word(28), header[33])
    };
    let data = told(&of(Segment::Data), last, TCP_GROUP, Way::Link);
    assert_eq!(numbers(&data), (14_480, 1, FIN | ACK));
    let acknowledgment = PacketRecord {
        packet: 11,
        ..of(Segment::Ack)
    };
    let ack = told(&acknowledgment, last, TCP_GROUP, Way::Back);
    assert_eq!(numbers(&ack), (1, 14_480 + 1448 + 1, ACK));
}

/// A real packet is unchanged except for the mark of the link.
#[test]
fn a_real_packet_stays_as_it_was() {
    let bytes = plain(&of(Segment::Data), TCP_GROUP);
    let header = HeaderRecord::Whole(bytes.clone().into());
    let of_packet = of(Segment::Data);
    let seen = |marked| {
        headers(&Frame {
            marked,
            ..frame(&of_packet, &header, TCP_GROUP)
        })
    };
    assert_eq!(seen(false), bytes);
    let marked = seen(true);
    assert_eq!((marked[1] & 3, checksum(&marked[..20])), (3, 0));
    assert_eq!(
        (&marked[2..10], &marked[12..]),
        (&bytes[2..10], &bytes[12..])
    );
}
