//! Export of traced packets as a capture in pcapng (draft-ietf-opsawg-pcapng) for tshark and
//! Wireshark.
//!
//! By default one interface sees each packet when its transmission begins, as tcpdump does. A
//! scenario may choose the side before the queue, or both sides. That side sees each packet when it
//! arrives, with a comment if it is dropped.
//!
//! Packets are raw IPv4 (LINKTYPE_RAW) with TCP headers, or UDP for unresponsive traffic
//! ([`headers`]). Only the headers are captured, with the original lengths. Acknowledgments that
//! cross the link are included. The same interfaces also see those of the reverse path if the
//! scenario asks for them. Times are nanoseconds since the start of the run.

mod headers;

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use forebay_scenario::{Capture, HeaderRecord, PacketRecord, Traces};

use self::headers::{Frame, Way, headers};

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;

/// Raw IP; the first four bits give the version.
const LINKTYPE_RAW: u16 = 101;

const OPTION_COMMENT: u16 = 1;
const OPTION_FLAGS: u16 = 2;
const OPTION_APPLICATION: u16 = 4;
const OPTION_NAME: u16 = 2;
const OPTION_TIME_RESOLUTION: u16 = 9;

/// Values of the direction in a packet's flags.
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;

/// Writes the traced packets to a file.
///
/// # Errors
/// The error of the file system if the file cannot be written.
pub fn write_pcapng(traces: &Traces, path: &Path) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    pcapng(traces, &mut file)?;
    file.flush()
}

/// Writes the traced packets in the order of their times.
///
/// # Errors
/// The errors of `out`.
pub fn pcapng(traces: &Traces, out: &mut impl Write) -> io::Result<()> {
    let mut section = Vec::new();
    section.extend(BYTE_ORDER_MAGIC.to_le_bytes());
    section.extend(1u16.to_le_bytes());
    section.extend(0u16.to_le_bytes());
    // The length of the section is not given.
    section.extend(u64::MAX.to_le_bytes());
    option(
        &mut section,
        OPTION_APPLICATION,
        concat!("forebay ", env!("CARGO_PKG_VERSION")).as_bytes(),
    );
    end_options(&mut section);
    block(out, SECTION_HEADER, &section)?;
    let sides = sides(traces);
    for side in sides {
        let mut interface = Vec::new();
        interface.extend(LINKTYPE_RAW.to_le_bytes());
        interface.extend(0u16.to_le_bytes());
        // The captured length has no limit.
        interface.extend(0u32.to_le_bytes());
        option(&mut interface, OPTION_NAME, side.name().as_bytes());
        option(&mut interface, OPTION_TIME_RESOLUTION, &[9]);
        end_options(&mut interface);
        block(out, INTERFACE_DESCRIPTION, &interface)?;
    }
    let identifications = Identifications::of(traces);
    for sight in sights(traces, sides) {
        packet(out, &sight, &frame(traces, &sight, &identifications))?;
    }
    Ok(())
}

/// Whether the trace contains header fields or acknowledgments of the reverse path.
fn both_ways(traces: &Traces) -> bool {
    !(traces.headers.is_empty() && traces.acknowledgments.is_empty())
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

    /// The time at which it sees a packet, in seconds; `None` for a packet dropped before.
    fn sees(self, packet: &PacketRecord) -> Option<f64> {
        match self {
            Self::Arrivals => Some(packet.time_s),
            Self::Departures => (!packet.dropped).then_some(packet.time_s + packet.wait_s),
        }
    }

    /// Direction of a packet at this port: arrivals are inbound, departures outbound. Packets of
    /// the reverse path have the opposite direction.
    fn direction(self, way: Way) -> u32 {
        match (self, way) {
            (Self::Arrivals, Way::Link) | (Self::Departures, Way::Back) => INBOUND,
            (Self::Arrivals, Way::Back) | (Self::Departures, Way::Link) => OUTBOUND,
        }
    }
}

/// The captured sides, one interface each.
fn sides(traces: &Traces) -> &'static [Side] {
    match traces.capture {
        Capture::Departures => &[Side::Departures],
        Capture::Arrivals => &[Side::Arrivals],
        Capture::Both => &[Side::Arrivals, Side::Departures],
    }
}

/// A packet at one of the interfaces. The order puts an acknowledgment before the packets that its
/// sender sends at the same instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Sight {
    nanoseconds: u64,
    way: Way,
    interface: u32,
    side: Side,
    record: usize,
}

fn sights(traces: &Traces, sides: &[Side]) -> Vec<Sight> {
    // A float-to-integer cast saturates.
    let nanoseconds = |seconds: f64| (seconds * 1e9).round() as u64;
    let mut all = Vec::with_capacity(traces.packets.len() * sides.len());
    for (interface, &side) in (0..).zip(sides) {
        let sight = |time_s, way, record| Sight {
            nanoseconds: nanoseconds(time_s),
            way,
            interface,
            side,
            record,
        };
        let back = traces.acknowledgments.iter().enumerate();
        all.extend(back.map(|(record, back)| sight(back.packet.time_s, Way::Back, record)));
        let packets = traces.packets.iter().enumerate();
        all.extend(
            packets
                .filter_map(|(record, packet)| Some(sight(side.sees(packet)?, Way::Link, record))),
        );
    }
    all.sort_unstable();
    all
}

/// IP identifications of the packets. With both directions in the capture, each end of a connection
/// counts its packets. Otherwise the packet's number is used.
struct Identifications {
    packets: Vec<u16>,
    acknowledgments: Vec<u16>,
}

impl Identifications {
    fn of(traces: &Traces) -> Self {
        let mut counts: HashMap<(u32, bool), u16> = HashMap::new();
        let mut next = |packet: &PacketRecord| {
            let sender = (packet.connection, packet.segment.acknowledges());
            let count = counts.entry(sender).or_default();
            *count = count.wrapping_add(1);
            *count
        };
        let packets = traces.packets.iter();
        let back = traces.acknowledgments.iter();
        Self {
            packets: if both_ways(traces) {
                packets.map(&mut next).collect()
            } else {
                packets.map(|packet| packet.packet as u16).collect()
            },
            acknowledgments: back.map(|back| next(&back.packet)).collect(),
        }
    }
}

/// The frame that an interface sees.
fn frame<'a>(traces: &'a Traces, sight: &Sight, all: &Identifications) -> Frame<'a> {
    let at = sight.record;
    let (record, header, identification) = match sight.way {
        Way::Back => {
            let back = &traces.acknowledgments[at];
            (&back.packet, &back.header, all.acknowledgments[at])
        }
        Way::Link => {
            let header = traces.headers.get(at).unwrap_or(&HeaderRecord::Plain);
            (&traces.packets[at], header, all.packets[at])
        }
    };
    let group = traces.groups.get(record.group as usize);
    Frame {
        record,
        header,
        group: group.copied().unwrap_or_default(),
        way: sight.way,
        identification,
        marked: record.marked && sight.side == Side::Departures,
        directed: both_ways(traces),
    }
}

fn packet(out: &mut impl Write, sight: &Sight, frame: &Frame<'_>) -> io::Result<()> {
    let data = headers(frame);
    let mut body = Vec::with_capacity(160);
    body.extend(sight.interface.to_le_bytes());
    body.extend(((sight.nanoseconds >> 32) as u32).to_le_bytes());
    body.extend((sight.nanoseconds as u32).to_le_bytes());
    body.extend((data.len() as u32).to_le_bytes());
    body.extend(frame.record.bytes.max(data.len() as u32).to_le_bytes());
    body.extend(&data);
    pad(&mut body);
    if frame.record.dropped {
        option(&mut body, OPTION_COMMENT, b"dropped");
    }
    if frame.directed {
        let direction = sight.side.direction(frame.way);
        option(&mut body, OPTION_FLAGS, &direction.to_le_bytes());
    }
    if frame.record.dropped || frame.directed {
        end_options(&mut body);
    }
    block(out, ENHANCED_PACKET, &body)
}

/// Writes a block: type, length, body, length.
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

/// Pads to the next multiple of four bytes.
fn pad(body: &mut Vec<u8>) {
    body.resize(body.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::headers::checksum;
    use super::*;
    use forebay_scenario::{AcknowledgmentRecord, HeaderFields, Segment, TracedGroup};

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

    /// The blocks of a file: type and body.
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

    /// A packet in the file: interface, nanoseconds, length, ECN codepoint, and whether it is
    /// marked as dropped.
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
                checksum(&data[..20]),
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
                // This time exceeds 32 bits of nanoseconds.
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

    /// The same trace with header fields and three acknowledgments. One of them comes at the
    /// instant of a data packet, and one belongs to a real connection.
    fn two_way(capture: Capture) -> Traces {
        let mut traces = traces(capture);
        let fields = |timestamp| {
            HeaderRecord::Simulated(HeaderFields {
                timestamp,
                ..HeaderFields::default()
            })
        };
        traces.headers = vec![
            fields(499),
            fields(999),
            fields(1000),
            fields(1000),
            HeaderRecord::Plain,
        ];
        let mut real = headers(&Frame {
            record: &traces.packets[3],
            header: &HeaderRecord::Plain,
            group: TCP_GROUP,
            way: Way::Back,
            identification: 77,
            marked: false,
            directed: true,
        });
        // The packet is 60 bytes long, of which 52 are headers.
        real[3] = 60;
        real[10..12].fill(0);
        let sum = checksum(&real[..20]).to_be_bytes();
        real[10..12].copy_from_slice(&sum);
        let back = |time_s, bytes, header| AcknowledgmentRecord {
            packet: PacketRecord {
                wait_s: 0.0,
                segment: Segment::Ack,
                ..record(time_s, 3, bytes)
            },
            header,
        };
        traces.acknowledgments = vec![
            back(1.002, 52, fields(1002)),
            back(1.001_000_001, 52, fields(1001)),
            back(4.0, 60, HeaderRecord::Whole(real.into())),
        ];
        traces
    }

    fn both(capture: Capture) -> Vec<u8> {
        let mut file = Vec::new();
        pcapng(&two_way(capture), &mut file).unwrap();
        file
    }

    /// The same interfaces see the acknowledgments. The other packets are the same as without them.
    #[test]
    fn acknowledgments_come_back_past_the_queue() {
        for capture in [Capture::Departures, Capture::Arrivals, Capture::Both] {
            let (interfaces, seen) = read(&both(capture));
            let (others, alone) = captured(capture);
            assert_eq!(interfaces, others);
            let without_growth = |seen: &[Seen]| -> Vec<_> {
                // SYNs are longer, because they carry their options.
                seen.iter()
                    .map(|each| (each.0, each.1, each.2.max(60), each.3, each.4))
                    .collect()
            };
            let returning: Vec<_> = (0..others as u32)
                .flat_map(|port| [1_001_000_001, 1_002_000_000, 4_000_000_000].map(|at| (port, at)))
                .collect();
            let (mut back, mut there) = (Vec::new(), Vec::new());
            for each in seen {
                let first = !back
                    .iter()
                    .any(|other: &Seen| (other.0, other.1) == (each.0, each.1));
                // At one instant, the acknowledgment comes first.
                if first && returning.contains(&(each.0, each.1)) {
                    back.push(each);
                } else {
                    there.push(each);
                }
            }
            assert_eq!(without_growth(&there), without_growth(&alone));
            let mut back: Vec<_> = back.iter().map(|each| (each.0, each.1, each.2)).collect();
            back.sort_unstable();
            let lengths = [52, 52, 60].into_iter().cycle();
            let expected: Vec<_> = returning
                .into_iter()
                .zip(lengths)
                .map(|((port, at), length)| (port, at, length))
                .collect();
            assert_eq!(back, expected);
        }
    }

    /// Each packet has a direction and an identification that differs from all others of its
    /// sender.
    #[test]
    fn packets_of_both_directions_are_told_apart() {
        let mut found = Vec::new();
        for (kind, body) in blocks(&both(Capture::Arrivals)) {
            if kind != ENHANCED_PACKET {
                continue;
            }
            let captured = u32::from_le_bytes(body[12..16].try_into().unwrap()) as usize;
            let identification = u16::from_be_bytes([body[24], body[25]]);
            let flags = [OPTION_FLAGS as u8, 0, 4, 0];
            let told = body[20 + captured.next_multiple_of(4)..]
                .chunks(4)
                .collect::<Vec<_>>();
            let at = told.iter().position(|word| *word == flags).unwrap();
            let direction = u32::from_le_bytes(told[at + 1].try_into().unwrap());
            let half =
                |at: usize| u64::from(u32::from_le_bytes(body[at..at + 4].try_into().unwrap()));
            let time = half(4) << 32 | half(8);
            // At the port where data arrive, acknowledgments are outbound.
            let back = [1_001_000_001, 1_002_000_000, 4_000_000_000].contains(&time);
            assert_eq!(direction, if back { OUTBOUND } else { INBOUND });
            if identification != 77 {
                found.push((body[32..36].to_vec(), identification));
            }
        }
        assert_eq!(found.len(), 7);
        found.sort();
        found.dedup();
        assert_eq!(found.len(), 7, "{found:?}");
    }
}
