//! Traced packets as a capture in pcapng (draft-ietf-opsawg-pcapng) that tshark and Wireshark open.
//!
//! Two interfaces look at the target link: the first sees each packet when it arrives at the
//! queue, with a comment where it is dropped, the second when its transmission begins. Packets are raw
//! IPv4 (LINKTYPE_RAW) with TCP headers, or UDP for unresponsive traffic; of each only the headers
//! are captured, with the lengths that the whole has. Times are nanoseconds since the start of the
//! run. Acknowledgements do not cross the target link and so are not in the capture.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use forebay_scenario::{PacketRecord, TracedGroup, Traces};

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
    for name in ["arrivals", "departures"] {
        let mut interface = Vec::new();
        interface.extend(LINKTYPE_RAW.to_le_bytes());
        interface.extend(0u16.to_le_bytes());
        // No limit on captured lengths.
        interface.extend(0u32.to_le_bytes());
        option(&mut interface, OPTION_NAME, name.as_bytes());
        option(&mut interface, OPTION_TIME_RESOLUTION, &[9]);
        end_options(&mut interface);
        block(out, INTERFACE_DESCRIPTION, &interface)?;
    }
    for sight in sights(&traces.packets) {
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

/// A packet at one of the interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Sight {
    nanoseconds: u64,
    interface: u32,
    record: usize,
}

fn sights(packets: &[PacketRecord]) -> Vec<Sight> {
    // A float-to-integer cast saturates.
    let at = |seconds: f64| (seconds * 1e9).round() as u64;
    let arrivals = packets.iter().enumerate().map(|(record, packet)| Sight {
        nanoseconds: at(packet.time_s),
        interface: 0,
        record,
    });
    let kept = packets
        .iter()
        .enumerate()
        .filter(|(_, packet)| !packet.dropped);
    let departures = kept.map(|(record, packet)| Sight {
        nanoseconds: at(packet.time_s + packet.wait_s),
        interface: 1,
        record,
    });
    let mut all: Vec<Sight> = arrivals.chain(departures).collect();
    all.sort_unstable();
    all
}

fn packet(
    out: &mut impl Write,
    sight: &Sight,
    record: &PacketRecord,
    group: TracedGroup,
) -> io::Result<()> {
    let marked = record.marked && sight.interface == 1;
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
    let syn = group.syn == Some(record.bytes);
    let transport = if group.responsive {
        (group.header as usize)
            .saturating_sub(IPV4)
            .clamp(TCP.0, TCP.1)
            & !3
    } else {
        UDP
    };
    let total = (record.bytes as usize).max(IPV4 + transport) as u16;
    let ecn = match (marked, syn) {
        (true, _) => 3,
        (false, true) => 0,
        (false, false) => group.ecn,
    };
    let [_, a, b, c] = record.connection.to_be_bytes();
    let mut header = Vec::with_capacity(IPV4 + transport);
    header.extend([0x45, ecn]);
    header.extend(total.to_be_bytes());
    header.extend((record.packet as u16).to_be_bytes());
    // Do not fragment; time to live 64; checksum below.
    header.extend([0x40, 0, 64, if group.responsive { 6 } else { 17 }, 0, 0]);
    header.extend([10, a, b, c]);
    header.extend([192, 0, 2, 1]);
    let sum = checksum(&header).to_be_bytes();
    header[10..12].copy_from_slice(&sum);
    let port = 10_000 + (record.group % 50_000) as u16;
    header.extend(port.to_be_bytes());
    if group.responsive {
        let payload = u64::from(record.bytes.saturating_sub(group.header));
        let per_packet = if syn { 1 } else { payload };
        header.extend(5001u16.to_be_bytes());
        // Sequence numbers count bytes from packet 0 on; a SYN counts as one packet there.
        header.extend((record.packet.wrapping_mul(per_packet) as u32).to_be_bytes());
        header.extend(u32::from(!syn).to_be_bytes());
        header.extend([((transport / 4) as u8) << 4, if syn { SYN } else { ACK }]);
        header.extend([0xff, 0xff, 0, 0, 0, 0]);
        // No-operation options up to the header's length.
        header.resize(IPV4 + transport, 1);
    } else {
        header.extend(9u16.to_be_bytes());
        header.extend((total - IPV4 as u16).to_be_bytes());
        header.extend([0, 0]);
    }
    header
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
            dropped: false,
            marked: false,
            wait_s: 0.001,
        }
    }

    fn traces() -> Traces {
        let tcp = TracedGroup {
            responsive: true,
            header: 52,
            syn: Some(52),
            ecn: 2,
        };
        let packets = vec![
            record(0.5, 1, 52),
            PacketRecord {
                marked: true,
                ..record(1.000_000_001, 2, 1500)
            },
            PacketRecord {
                dropped: true,
                ..record(1.0005, 3, 1500)
            },
            PacketRecord {
                group: 1,
                ..record(5.0, 9, 65_535)
            },
        ];
        Traces {
            packets,
            groups: vec![tcp, TracedGroup::default()],
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

    #[test]
    fn a_capture_reads_back() {
        let mut file = Vec::new();
        pcapng(&traces(), &mut file).unwrap();
        let blocks = blocks(&file);
        let kinds: Vec<u32> = blocks.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(
            kinds[..3],
            [SECTION_HEADER, INTERFACE_DESCRIPTION, INTERFACE_DESCRIPTION]
        );
        // Four arrivals, three of which depart.
        assert_eq!(kinds.len(), 3 + 7);
        let word =
            |body: &[u8], at: usize| u32::from_le_bytes(body[at..at + 4].try_into().unwrap());
        let mut seen = Vec::new();
        for (kind, body) in &blocks[3..] {
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
        assert_eq!(
            seen,
            [
                (0, 500_000_000, 52, 0, false),
                (1, 501_000_000, 52, 0, false),
                (0, 1_000_000_001, 1500, 2, false),
                (0, 1_000_500_000, 1500, 2, true),
                (1, 1_001_000_001, 1500, 3, false),
                // Beyond 32 bits of nanoseconds.
                (0, 5_000_000_000, 65_535, 0, false),
                (1, 5_001_000_000, 65_535, 0, false),
            ]
        );
    }

    #[test]
    fn headers_have_the_lengths_of_their_packets() {
        let traces = traces();
        let of = |at: usize| {
            headers(
                &traces.packets[at],
                traces.groups[traces.packets[at].group as usize],
                false,
            )
        };
        let (syn, data, datagram) = (of(0), of(1), of(3));
        assert_eq!(
            (syn.len(), syn[33], data.len(), data[33]),
            (52, SYN, 52, ACK)
        );
        // 32 bytes of TCP header, of which 12 are options.
        assert_eq!(data[32] >> 4, 8);
        assert_eq!(data[12..16], [10, 1, 2, 3]);
        // 1448 bytes of payload in each packet.
        assert_eq!(
            u32::from_be_bytes(data[24..28].try_into().unwrap()),
            2 * 1448
        );
        assert_eq!((datagram.len(), datagram[9]), (28, 17));
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
}
