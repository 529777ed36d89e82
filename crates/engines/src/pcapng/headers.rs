//! Headers of a traced packet: IPv4, and TCP with the fields of its connection, or UDP for
//! unresponsive traffic. Headers of real packets are copied.

use forebay_scenario::{HeaderFields, HeaderRecord, PacketRecord, Segment, TracedGroup};

const IPV4: usize = 20;
const UDP: usize = 8;
/// The smallest and largest TCP header, in bytes.
const TCP: (usize, usize) = (20, 60);

const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const ACK: u8 = 0x10;

/// The codepoint "congestion experienced" (RFC 3168 section 5).
const MARK: u8 = 3;

// Kinds of TCP options, and their lengths if these are constant.
const NO_OPERATION: u8 = 1;
const SEGMENT_SIZE: [u8; 2] = [2, 4];
const WINDOW_SCALE: [u8; 2] = [3, 3];
const SACK_PERMITTED: [u8; 2] = [4, 2];
const SACK: u8 = 5;
const TIMESTAMPS: [u8; 2] = [8, 10];

/// Size of IP and TCP headers with timestamps in each packet, in bytes. Two no-operations precede
/// them, as RFC 7323 appendix A recommends.
const STAMPED: u32 = (IPV4 + TCP.0 + 12) as u32;

/// The largest window scale shift (RFC 7323 section 2.3).
const MOST_SHIFT: u8 = 14;

/// A packet as an interface sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'a> {
    pub(super) record: &'a PacketRecord,
    pub(super) header: &'a HeaderRecord,
    pub(super) group: TracedGroup,
    pub(super) way: Way,
    /// Identification of the IP header.
    pub(super) identification: u16,
    /// Whether the IP header has a congestion mark.
    pub(super) marked: bool,
    /// Whether the capture has both directions and records that of each packet.
    pub(super) directed: bool,
}

/// The path on which a packet passes the router.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Way {
    /// The reverse path to its sender.
    Back,
    /// The target link, whose packets have their exact size.
    Link,
}

/// The IP header and the transport header, without payload.
pub(super) fn headers(frame: &Frame<'_>) -> Vec<u8> {
    match frame.header {
        HeaderRecord::Whole(bytes) => real(bytes, frame.marked),
        HeaderRecord::Simulated(fields) if frame.group.responsive => made(frame, Some(fields)),
        HeaderRecord::Simulated(_) | HeaderRecord::Plain => made(frame, None),
    }
}

/// Headers of a real packet, with the link's mark if there is one.
fn real(bytes: &[u8], marked: bool) -> Vec<u8> {
    let mut header = bytes.to_vec();
    if marked && header.len() >= IPV4 {
        header[1] |= MARK;
        let end = (4 * usize::from(header[0] & 0x0f)).clamp(IPV4, header.len());
        header[10..12].fill(0);
        let sum = checksum(&header[..end]).to_be_bytes();
        header[10..12].copy_from_slice(&sum);
    }
    header
}

/// Headers of a simulated packet.
fn made(frame: &Frame<'_>, fields: Option<&HeaderFields>) -> Vec<u8> {
    let Frame { record, group, .. } = *frame;
    let options = fields.map_or_else(Vec::new, |fields| options(frame, fields));
    let transport = if group.responsive {
        let whole = (group.header as usize).saturating_sub(IPV4);
        let least = (TCP.0 + options.len()).next_multiple_of(4);
        (whole.clamp(TCP.0, TCP.1) & !3).max(least)
    } else {
        UDP
    };
    let total = (record.bytes as usize).max(IPV4 + transport) as u16;
    // SYNs and acknowledgments without data are not ECN-capable (RFC 3168 sections 6.1.1, 6.1.4).
    let ecn = match (frame.marked, record.segment != Segment::Data) {
        (true, _) => MARK,
        (false, true) => 0,
        (false, false) => group.ecn,
    };
    let mut header = Vec::with_capacity(IPV4 + transport);
    header.extend([0x45, ecn]);
    header.extend(total.to_be_bytes());
    header.extend(frame.identification.to_be_bytes());
    // The packet must not be fragmented, and its time to live is 64. The checksum is set below.
    header.extend([0x40, 0, 64, if group.responsive { 6 } else { 17 }, 0, 0]);
    let ends = Ends::of(record, group);
    header.extend(ends.from.0);
    header.extend(ends.to.0);
    let sum = checksum(&header).to_be_bytes();
    header[10..12].copy_from_slice(&sum);
    header.extend(ends.from.1.to_be_bytes());
    header.extend(ends.to.1.to_be_bytes());
    if group.responsive {
        let finishes = fields.is_some_and(|fields| fields.finishes);
        let (sequence, acknowledged) = numbers(record, finishes);
        header.extend(sequence.to_be_bytes());
        header.extend(acknowledged.to_be_bytes());
        let flags = match record.segment {
            Segment::Syn => SYN,
            Segment::SynAck => SYN | ACK,
            Segment::Data if finishes => FIN | ACK,
            Segment::Data | Segment::Ack => ACK,
        };
        header.extend([((transport / 4) as u8) << 4, flags]);
        let window = fields.map_or(u16::MAX, |_| window(record, group));
        header.extend(window.to_be_bytes());
        // The checksum and the urgent pointer are zero.
        header.extend([0; 4]);
        header.extend(options);
        header.resize(IPV4 + transport, NO_OPERATION);
    } else {
        header.extend((total - IPV4 as u16).to_be_bytes());
        header.extend([0, 0]);
    }
    header
}

/// Source and destination of a packet: addresses and ports.
struct Ends {
    from: ([u8; 4], u16),
    to: ([u8; 4], u16),
}

impl Ends {
    /// Each connection has its own sender address; all receivers share one. Unresponsive traffic
    /// goes to the discard port (RFC 863).
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

/// Sequence and acknowledgment number of a TCP packet. The sender counts bytes from packet 0 on.
/// Its SYN has the number before its data; the receiver's SYN has 0. A FIN that has arrived counts
/// one.
fn numbers(record: &PacketRecord, finishes: bool) -> (u32, u32) {
    match record.segment {
        Segment::Data => (bytes_before(record, record.packet as u32), 1),
        Segment::Syn => {
            let data = bytes_before(record, (record.packet + 1) as u32);
            (data.wrapping_sub(1), 0)
        }
        Segment::Ack => {
            let data = bytes_before(record, record.packet as u32);
            (1, data.wrapping_add(u32::from(finishes)))
        }
        Segment::SynAck => (0, bytes_before(record, record.packet as u32)),
    }
}

/// The sequence number of the first byte of a connection's packet.
fn bytes_before(record: &PacketRecord, packet: u32) -> u32 {
    packet.wrapping_mul(record.payload)
}

// --- What a connection says ---

/// The options of a packet's TCP header.
fn options(frame: &Frame<'_>, fields: &HeaderFields) -> Vec<u8> {
    let Frame { record, group, .. } = *frame;
    let stamped = group.header >= STAMPED;
    let mut options = Vec::with_capacity(TCP.1 - TCP.0);
    if record.segment.opens() {
        options.extend(SEGMENT_SIZE);
        options.extend(segment_size(record, group).to_be_bytes());
        if group.selective {
            options.extend(SACK_PERMITTED);
        }
        if stamped {
            options.extend(timestamps(record, fields));
        }
        options.extend(WINDOW_SCALE);
        options.push(shift(record, group));
        return options;
    }
    if stamped {
        options.extend([NO_OPERATION; 2]);
        options.extend(timestamps(record, fields));
    }
    let blocks = fields.blocks.iter().filter(|block| block.0 != block.1);
    let blocks: Vec<_> = blocks.take(most_blocks(frame, options.len())).collect();
    if !blocks.is_empty() {
        options.extend([NO_OPERATION; 2]);
        options.extend([SACK, 2 + 8 * blocks.len() as u8]);
        for &&(from, to) in &blocks {
            options.extend(bytes_before(record, from).to_be_bytes());
            options.extend(bytes_before(record, to).to_be_bytes());
        }
    }
    options
}

/// The largest number of SACK blocks after `before` bytes of options. On the link a packet must not
/// become longer than it was.
fn most_blocks(frame: &Frame<'_>, before: usize) -> usize {
    let room = match frame.way {
        Way::Back => TCP.1,
        Way::Link => (frame.record.bytes as usize)
            .saturating_sub(IPV4)
            .min(TCP.1),
    };
    room.saturating_sub(TCP.0 + before + 4) / 8
}

/// The maximum segment size of an end, without the options of each packet (RFC 6691).
fn segment_size(record: &PacketRecord, group: TracedGroup) -> u16 {
    let options = group.header.saturating_sub((IPV4 + TCP.0) as u32);
    let size = record.payload.saturating_add(options);
    size.min(u32::from(u16::MAX)) as u16
}

/// The timestamps option. Each end of a connection has a clock with its own offset. The echo is
/// zero before a first timestamp was received (RFC 7323 section 3.2).
fn timestamps(record: &PacketRecord, fields: &HeaderFields) -> [u8; 10] {
    let acknowledges = record.segment.acknowledges();
    let offset = |receiver| offset(record.connection, receiver);
    let value = fields.timestamp.wrapping_add(offset(acknowledges));
    let echo = fields
        .echo
        .map(|echo| echo.wrapping_add(offset(!acknowledges)));
    let mut option = [0; 10];
    option[..2].copy_from_slice(&TIMESTAMPS);
    option[2..6].copy_from_slice(&value.to_be_bytes());
    option[6..].copy_from_slice(&echo.unwrap_or(0).to_be_bytes());
    option
}

/// Clock offset at an end of a connection: the finalizer of SplitMix64 (Steele et al. 2014) of its
/// number.
fn offset(connection: u32, receiver: bool) -> u32 {
    let mut bits = u64::from(connection) << 1 | u64::from(receiver);
    bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (bits ^ bits >> 31) as u32
}

/// Receive window of a connection in bytes; `None` if it has no limit.
fn receive_window(record: &PacketRecord, group: TracedGroup) -> Option<u64> {
    let packets = group.receive_window?;
    Some(packets.saturating_mul(u64::from(record.payload)))
}

/// The window scale shift: the smallest that suffices.
fn shift(record: &PacketRecord, group: TracedGroup) -> u8 {
    let fits = |window: u64, shift: u8| u16::try_from(window >> shift).is_ok();
    receive_window(record, group).map_or(MOST_SHIFT, |window| {
        let mut shifts = 0..MOST_SHIFT;
        shifts
            .find(|&shift| fits(window, shift))
            .unwrap_or(MOST_SHIFT)
    })
}

/// The window field: the receiver's window, shifted except in its SYN (RFC 7323 section 2.2). The
/// sender's own window is the largest possible.
fn window(record: &PacketRecord, group: TracedGroup) -> u16 {
    let own = if record.segment.acknowledges() {
        receive_window(record, group)
    } else {
        None
    };
    let shift = if record.segment.opens() {
        0
    } else {
        shift(record, group)
    };
    let window = own.map_or(u64::MAX, |window| window >> shift);
    window.min(u64::from(u16::MAX)) as u16
}

/// The Internet checksum (RFC 1071).
pub(super) fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes
        .chunks(2)
        .map(|word| u32::from(word[0]) << 8 | u32::from(*word.get(1).unwrap_or(&0)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests;
