//! Traced packets as a capture in pcapng (draft-ietf-opsawg-pcapng) that tshark and Wireshark open.
//!
//! One interface looks at the target link as tcpdump does: it sees each packet when its transmission begins.
//! A scenario may ask for the side before the queue instead, which sees each packet when it arrives,
//! with a comment where it is dropped, or for both. Packets are raw IPv4 (LINKTYPE_RAW) with TCP
//! headers, or UDP for unresponsive traffic; of each only the headers are captured, with the lengths
//! that the whole has. Acknowledgments are there where they cross the link. Times are nanoseconds
//! since the start of the run.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use forebay_scenario::{Capture, PacketRecord, Segment, TracedGroup, Traces};

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;

/// Raw IP, version by the first nibble.
const LINKTYPE_RAW: u16 = 101;

const OPTION_COMMENT: u16 = 1;
const OPTION_APPLICATION: u16 = 4;
const OPTION_NAME: u16 = 2;
const OPTION_TIME_RESOLUTION: u16 = 9;

const IPV4: usize = 20;
const UDP: usize = 8;
/// The least and most of a TCP header.
const TCP: (usize, usize) = (20, 60);

const SYN: u8 = 0x02;
const ACK: u8 = 0x10;

/// Writes the traced packets to a file.
///
/// # Errors
/// The file cannot be written.
pub fn write_pcapng(traces: &Traces, path: &Path) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    pcapng(traces, &mut file)?;
    file.flush()
}

/// Writes the traced packets, in the order of their times.
///
/// # Errors
/// Those of `out`.
pub fn pcapng(traces: &Traces, out: &mut impl Write) -> io::Result<()> {
    let mut section = Vec::new();
    section.extend(BYTE_ORDER_MAGIC.to_le_bytes());
    section.extend(1u16.to_le_bytes());
    section.extend(0u16.to_le_bytes());
    // The section's length is not given.
    section.extend(u64::MAX.to_le_bytes());
    option(
        &mut section,
        OPTION_APPLICATION,
        concat!("forebay ", env!("CARGO_PKG_VERSION")).as_bytes(),
    );
    end_options(&mut section);
    block(out, SECTION_HEADER, &section)?;
    let sides = sides(traces.capture);
    for side in sides {
        let mut interface = Vec::new();
        interface.extend(LINKTYPE_RAW.to_le_bytes());
        interface.extend(0u16.to_le_bytes());
        // No limit on captured lengths.
        interface.extend(0u32.to_le_bytes());
        option(&mut interface, OPTION_NAME, side.name().as_bytes());
        option(&mut interface, OPTION_TIME_RESOLUTION, &[9]);
        end_options(&mut interface);
        block(out, INTERFACE_DESCRIPTION, &interface)?;
    }
    for sight in sights(&traces.packets, sides) {
        let record = &traces.packets[sight.record];
        let group = traces
            .groups
            .get(record.group as usize)
            .copied()
            .unwrap_or_default();
        packet(out, &sight, record, group)?;
    }
    Ok(())
}

/// A side of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Arrivals,
    Departures,
}

impl Side {
    /// The name of its interface.
    fn name(self) -> &'static str {
        match self {
            Self::Arrivals => "arrivals",
            Self::Departures => "departures",
        }
    }

    /// When it sees a packet, in seconds; never one that is dropped before.
    fn sees(self, packet: &PacketRecord) -> Option<f64> {
        match self {
            Self::Arrivals => Some(packet.time_s),
            Self::Departures => (!packet.dropped).then_some(packet.time_s + packet.wait_s),
        }
    }
}

/// The sides that a capture looks at, an interface each.
fn sides(capture: Capture) -> &'static [Side] {
    match capture {
        Capture::Departures => &[Side::Departures],
        Capture::Arrivals => &[Side::Arrivals],
        Capture::Both => &[Side::Arrivals, Side::Departures],
    }
}

/// A packet at one of the interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Sight {
    nanoseconds: u64,
    interface: u32,
    side: Side,
    record: usize,
}

fn sights(packets: &[PacketRecord], sides: &[Side]) -> Vec<Sight> {
    let mut all = Vec::with_capacity(packets.len() * sides.len());
    for (interface, &side) in (0..).zip(sides) {
        let seen = packets.iter().enumerate();
        all.extend(seen.filter_map(|(record, packet)| {
            // A float-to-integer cast saturates.
            let nanoseconds = (side.sees(packet)? * 1e9).round() as u64;
            Some(Sight {
                nanoseconds,
                interface,
                side,
                record,
            })
        }));
    }
    all.sort_unstable();
    all
}

fn packet(
    out: &mut impl Write,
    sight: &Sight,
    record: &PacketRecord,
    group: TracedGroup,
) -> io::Result<()> {
    let marked = record.marked && sight.side == Side::Departures;
    let data = headers(record, group, marked);
    let mut body = Vec::with_capacity(128);
    body.extend(sight.interface.to_le_bytes());
    body.extend(((sight.nanoseconds >> 32) as u32).to_le_bytes());
    body.extend((sight.nanoseconds as u32).to_le_bytes());
    body.extend((data.len() as u32).to_le_bytes());
    body.extend(record.bytes.max(data.len() as u32).to_le_bytes());
    body.extend(&data);
    pad(&mut body);
    if record.dropped {
        option(&mut body, OPTION_COMMENT, b"dropped");
        end_options(&mut body);
    }
    block(out, ENHANCED_PACKET, &body)
}

/// The IPv4 header and what follows it, without payload.
fn headers(record: &PacketRecord, group: TracedGroup, marked: bool) -> Vec<u8> {
    let transport = if group.responsive {
        (group.header as usize)
            .saturating_sub(IPV4)
            .clamp(TCP.0, TCP.1)
            & !3
    } else {
        UDP
    };
    let total = (record.bytes as usize).max(IPV4 + transport) as u16;
    // Neither SYNs nor acknowledgments without data are ECN-capable (RFC 3168 sections 6.1.1, 6.1.4).
    let ecn = match (marked, record.segment != Segment::Data) {
        (true, _) => 3,
        (false, true) => 0,
        (false, false) => group.ecn,
    };
    let mut header = Vec::with_capacity(IPV4 + transport);
    header.extend([0x45, ecn]);
    header.extend(total.to_be_bytes());
    header.extend((record.packet as u16).to_be_bytes());
    // Do not fragment; time to live 64; checksum below.
    header.extend([0x40, 0, 64, if group.responsive { 6 } else { 17 }, 0, 0]);
    let ends = Ends::of(record, group);
    header.extend(ends.from.0);
    header.extend(ends.to.0);
    let sum = checksum(&header).to_be_bytes();
    header[10..12].copy_from_slice(&sum);
    header.extend(ends.from.1.to_be_bytes());
    header.extend(ends.to.1.to_be_bytes());
    if group.responsive {
        let (sequence, acknowledged) = numbers(record);
        header.extend(sequence.to_be_bytes());
        header.extend(acknowledged.to_be_bytes());
        let flags = match record.segment {
            Segment::Syn => SYN,
            Segment::SynAck => SYN | ACK,
            Segment::Data | Segment::Ack => ACK,
        };
        header.extend([((transport / 4) as u8) << 4, flags]);
        header.extend([0xff, 0xff, 0, 0, 0, 0]);
        // No-operation options up to the header's length.
        header.resize(IPV4 + transport, 1);
    } else {
        header.extend((total - IPV4 as u16).to_be_bytes());
        header.extend([0, 0]);
    }
    header
}

/// Address and port of where a packet comes from and of where it goes.
struct Ends {
    from: ([u8; 4], u16),
    to: ([u8; 4], u16),
}

impl Ends {
    /// Each connection has a sender of its own; all receivers are one. What nobody answers goes to the
    /// discard port (RFC 863).
    fn of(record: &PacketRecord, group: TracedGroup) -> Self {
        let [_, a, b, c] = record.connection.to_be_bytes();
        let sender = ([10, a, b, c], 10_000 + (record.group % 50_000) as u16);
        let receiver = ([192, 0, 2, 1], if group.responsive { 5001 } else { 9 });
        if record.segment.acknowledges() {
            Self {
                from: receiver,
                to: sender,
            }
        } else {
            Self {
                from: sender,
                to: receiver,
            }
        }
    }
}

/// Sequence and acknowledgment numbers of a packet with TCP. The sender's count bytes from packet 0 on;
/// a SYN has the one before its data, and the receiver's own is 0.
fn numbers(record: &PacketRecord) -> (u32, u32) {
    let bytes = |packets: u64| packets.wrapping_mul(u64::from(record.payload)) as u32;
    match record.segment {
        Segment::Data => (bytes(record.packet), 1),
        Segment::Syn => (bytes(record.packet + 1).wrapping_sub(1), 0),
        Segment::Ack => (1, bytes(record.packet)),
        Segment::SynAck => (0, bytes(record.packet)),
    }
}

/// The Internet checksum (RFC 1071).
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes
        .chunks(2)
        .map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// A block: type, length, body, length again.
fn block(out: &mut impl Write, kind: u32, body: &[u8]) -> io::Result<()> {
    let length = (body.len() as u32 + 12).to_le_bytes();
    out.write_all(&kind.to_le_bytes())?;
    out.write_all(&length)?;
    out.write_all(body)?;
    out.write_all(&length)
}

fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend(code.to_le_bytes());
    body.extend((value.len() as u16).to_le_bytes());
    body.extend(value);
    pad(body);
}

fn end_options(body: &mut Vec<u8>) {
    body.extend([0; 4]);
}

/// Up to the next multiple of four bytes.
fn pad(body: &mut Vec<u8>) {
    body.resize(body.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
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
    };

    fn traces(capture: Capture) -> Traces {
        let packets = vec![
            PacketRecord {
                segment: Segment::Syn,
                ..record(0.5, 1, 52)
            },
            PacketRecord {
                marked: true,
                ..record(1.000_000_001, 2, 1500)
            },
            PacketRecord {
                dropped: true,
                ..record(1.0005, 3, 1500)
            },
            PacketRecord {
                segment: Segment::Ack,
                ..record(1.0008, 3, 52)
            },
            PacketRecord {
                group: 1,
                ..record(5.0, 9, 65_535)
            },
        ];
        Traces {
            packets,
            groups: vec![TCP_GROUP, TracedGroup::default()],
            capture,
            ..Traces::default()
        }
    }

    /// A block as it is in the file: type and body.
    fn blocks(mut bytes: &[u8]) -> Vec<(u32, Vec<u8>)> {
        let word =
            |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let mut all = Vec::new();
        while !bytes.is_empty() {
            let length = word(bytes, 4) as usize;
            assert_eq!(length % 4, 0);
            assert_eq!(word(bytes, length - 4) as usize, length);
            all.push((word(bytes, 0), bytes[8..length - 4].to_vec()));
            bytes = &bytes[length..];
        }
        all
    }

    /// A packet as it is in the file: interface, nanoseconds, length, ECN codepoint, whether it is
    /// said to be dropped.
    type Seen = (u32, u64, u32, u8, bool);

    /// The number of interfaces and the packets of a capture.
    fn read(file: &[u8]) -> (usize, Vec<Seen>) {
        let blocks = blocks(file);
        let is = |kind: u32| blocks.iter().filter(|block| block.0 == kind).count();
        let interfaces = is(INTERFACE_DESCRIPTION);
        assert_eq!(is(SECTION_HEADER), 1);
        assert_eq!(blocks[0].0, SECTION_HEADER);
        let word =
            |body: &[u8], at: usize| u32::from_le_bytes(body[at..at + 4].try_into().unwrap());
        let mut seen = Vec::new();
        for (kind, body) in &blocks[1 + interfaces..] {
            assert_eq!(*kind, ENHANCED_PACKET);
            let time = u64::from(word(body, 4)) << 32 | u64::from(word(body, 8));
            let (captured, original) = (word(body, 12) as usize, word(body, 16));
            let data = &body[20..20 + captured];
            assert_eq!(
                checksum(&data[..IPV4]),
                0,
                "a header with its checksum sums to zero"
            );
            assert_eq!(u32::from(u16::from_be_bytes([data[2], data[3]])), original);
            let rest = &body[(20 + captured).next_multiple_of(4)..];
            let comment = rest.get(4..11).map(|text| text == b"dropped");
            seen.push((
                word(body, 0),
                time,
                original,
                data[1] & 3,
                comment.unwrap_or(false),
            ));
        }
        assert!(seen.is_sorted_by_key(|each| each.1));
        (interfaces, seen)
    }

    fn captured(capture: Capture) -> (usize, Vec<Seen>) {
        let mut file = Vec::new();
        pcapng(&traces(capture), &mut file).unwrap();
        read(&file)
    }

    #[test]
    fn the_link_is_seen_after_its_queue() {
        let (interfaces, seen) = captured(Capture::default());
        assert_eq!(interfaces, 1);
        assert_eq!(
            seen,
            [
                (0, 501_000_000, 52, 0, false),
                (0, 1_001_000_001, 1500, 3, false),
                (0, 1_001_800_000, 52, 0, false),
                // Beyond 32 bits of nanoseconds.
                (0, 5_001_000_000, 65_535, 0, false),
            ]
        );
    }

    #[test]
    fn the_other_side_and_both_are_asked_for() {
        let (interfaces, arrivals) = captured(Capture::Arrivals);
        assert_eq!(interfaces, 1);
        assert_eq!(
            arrivals,
            [
                (0, 500_000_000, 52, 0, false),
                (0, 1_000_000_001, 1500, 2, false),
                (0, 1_000_500_000, 1500, 2, true),
                (0, 1_000_800_000, 52, 0, false),
                (0, 5_000_000_000, 65_535, 0, false),
            ]
        );
        let (interfaces, both) = captured(Capture::Both);
        assert_eq!(interfaces, 2);
        let side = |number: u32| {
            let mine = both.iter().filter(move |each| each.0 == number);
            mine.map(|each| (0, each.1, each.2, each.3, each.4))
                .collect::<Vec<Seen>>()
        };
        assert_eq!(side(0), arrivals);
        assert_eq!(side(1), captured(Capture::Departures).1);
    }

    #[test]
    fn headers_have_the_lengths_of_their_packets() {
        let traces = traces(Capture::default());
        let of = |at: usize| {
            headers(
                &traces.packets[at],
                traces.groups[traces.packets[at].group as usize],
                false,
            )
        };
        let (syn, data, datagram) = (of(0), of(1), of(4));
        assert_eq!(
            (syn.len(), syn[33], data.len(), data[33]),
            (52, SYN, 52, ACK)
        );
        // 32 bytes of TCP header, of which 12 are options.
        assert_eq!(data[32] >> 4, 8);
        assert_eq!(data[12..16], [10, 1, 2, 3]);
        assert_eq!((datagram.len(), datagram[9]), (28, 17));
        assert_eq!(u16::from_be_bytes([datagram[22], datagram[23]]), 9);
        assert_eq!(u16::from_be_bytes([datagram[24], datagram[25]]), 65_515);
        // Headers of other sizes than real ones have: what is captured stays a packet.
        for (header, bytes) in [(0, 1), (1000, 1500), (41, 60)] {
            let group = TracedGroup {
                responsive: true,
                header,
                ..TracedGroup::default()
            };
            let data = headers(&record(0.0, 1, bytes), group, false);
            assert!(
                (40..=80).contains(&data.len())
                    && data.len() == IPV4 + usize::from(data[32] >> 4) * 4
            );
        }
    }

    /// A connection as a reader of captures follows it: each side's numbers go on from the other's.
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
        ] = seen.map(numbers);
        assert_eq!((none, server), (0, 0));
        assert_eq!(answered, syn.wrapping_add(1));
        assert_eq!((first, expects), (answered, 1));
        assert_eq!(
            second,
            first.wrapping_add(1448),
            "a short packet is where it belongs"
        );
        assert_eq!((own, all), (1, second.wrapping_add(1448)));
        let flags = |record: &PacketRecord| headers(record, TCP_GROUP, false)[33];
        assert_eq!(seen.map(flags), [SYN, SYN | ACK, ACK, ACK, ACK]);
        let ends = |record: &PacketRecord| {
            let header = headers(record, TCP_GROUP, false);
            let from = (header[12..16].to_vec(), header[20..22].to_vec());
            let to = (header[16..20].to_vec(), header[22..24].to_vec());
            (from, to)
        };
        let (there, back) = (ends(&data), ends(&acknowledgment));
        assert_eq!((there.0, there.1), (back.1, back.0));
    }
}
