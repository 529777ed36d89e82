//! The headers of TCP and UDP, as far as they were captured. This module replaces the reader of
//! etherparse, which accepts only whole headers and stops at unknown options (Multipath TCP, Fast
//! Open).

use super::link::Bytes;
use crate::packet::{Flags, Tcp, Timestamps, Transport, Udp};

const TCP: u8 = 6;
const UDP: u8 = 17;
/// DCCP, SCTP and UDP-Lite have their ports at the same place as TCP.
const OTHERS_WITH_PORTS: [u8; 3] = [33, 132, 136];

/// Fields of a transport header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub(super) source_port: u16,
    pub(super) destination_port: u16,
    pub(super) transport: Transport,
    /// Whether the header or its options were cut off.
    pub(super) cut: bool,
}

impl Segment {
    /// A segment without a header.
    #[inline]
    pub(super) fn fragment() -> Self {
        Self {
            source_port: 0,
            destination_port: 0,
            transport: Transport::Fragment,
            cut: false,
        }
    }

    /// Reads the payload of an IP packet of a protocol.
    #[inline]
    pub(super) fn read(protocol: u8, payload: Bytes<'_>) -> Self {
        let mut segment = Self {
            source_port: 0,
            destination_port: 0,
            transport: Transport::Other,
            cut: false,
        };
        let has_ports = protocol == TCP || protocol == UDP || OTHERS_WITH_PORTS.contains(&protocol);
        if !has_ports {
            return segment;
        }
        let captured = payload.captured;
        let short = (captured.len() as u32) < payload.wire;
        let Some(ports) = captured.first_chunk::<4>() else {
            segment.cut = short;
            return segment;
        };
        segment.source_port = be16(ports, 0);
        segment.destination_port = be16(ports, 2);
        match protocol {
            TCP => segment.tcp(payload, short),
            UDP => segment.udp(payload, short),
            _ => {}
        }
        segment
    }

    #[inline]
    fn tcp(&mut self, payload: Bytes<'_>, short: bool) {
        let Some(head) = payload.captured.first_chunk::<20>() else {
            self.cut = short;
            return;
        };
        let length = usize::from(head[12] >> 4) * 4;
        if length < head.len() || payload.wire < length as u32 {
            return;
        }
        let mut tcp = Tcp {
            sequence: be32(head, 4),
            acknowledgment: be32(head, 8),
            // The upper bit is NS, or AE of Accurate ECN.
            flags: Flags(be16(head, 12) & 0x01ff),
            window: be16(head, 14),
            payload: payload.wire - length as u32,
            ..Tcp::default()
        };
        let there = payload.captured.len().min(length);
        self.cut = there < length;
        options(&payload.captured[head.len()..there], &mut tcp);
        self.transport = Transport::Tcp(tcp);
    }

    #[inline]
    fn udp(&mut self, payload: Bytes<'_>, short: bool) {
        let Some(head) = payload.captured.first_chunk::<8>() else {
            self.cut = short;
            return;
        };
        // A length of zero means a jumbogram (RFC 2675 section 4).
        let stated = match u32::from(be16(head, 4)) {
            0 => payload.wire,
            stated => stated,
        };
        let Some(bytes) = stated.min(payload.wire).checked_sub(head.len() as u32) else {
            return;
        };
        let first = payload.captured.get(head.len()).copied();
        self.transport = Transport::Udp(Udp {
            payload: bytes,
            first: first.filter(|_| bytes > 0),
        });
    }
}

/// Reads the options that were captured whole, up to the first invalid one.
#[inline]
fn options(options: &[u8], tcp: &mut Tcp) {
    const END: u8 = 0;
    const NOTHING: u8 = 1;
    let mut rest = options;
    while let [kind, behind @ ..] = rest {
        if *kind == END {
            return;
        }
        if *kind == NOTHING {
            rest = behind;
            continue;
        }
        let Some(length) = behind.first().map(|length| usize::from(*length)) else {
            return;
        };
        if length < 2 || length > rest.len() {
            return;
        }
        option(*kind, &rest[2..length], tcp);
        rest = &rest[length..];
    }
}

/// Reads one option. An option of a wrong length is ignored.
#[inline]
fn option(kind: u8, value: &[u8], tcp: &mut Tcp) {
    const SEGMENT_SIZE: u8 = 2;
    const WINDOW_SHIFT: u8 = 3;
    const SELECTIVE: u8 = 4;
    const SACKED: u8 = 5;
    const TIMESTAMPS: u8 = 8;
    match (kind, value) {
        (SEGMENT_SIZE, &[high, low]) => {
            tcp.segment_size = Some(u16::from_be_bytes([high, low]));
        }
        (WINDOW_SHIFT, &[shift]) => tcp.window_shift = Some(shift),
        (SELECTIVE, []) => tcp.selective = true,
        (SACKED, blocks) if blocks.len() % 8 == 0 => {
            let (blocks, _) = blocks.as_chunks::<8>();
            for (told, block) in tcp.sacked.iter_mut().zip(blocks) {
                *told = Some((be32(block, 0), be32(block, 4)));
            }
        }
        (TIMESTAMPS, value) => {
            if let Ok(value) = <&[u8; 8]>::try_from(value) {
                tcp.timestamps = Some(Timestamps {
                    value: be32(value, 0),
                    echo: be32(value, 4),
                });
            }
        }
        _ => {}
    }
}

#[inline]
fn be16<const N: usize>(head: &[u8; N], at: usize) -> u16 {
    u16::from_be_bytes([head[at], head[at + 1]])
}

#[inline]
fn be32<const N: usize>(head: &[u8; N], at: usize) -> u32 {
    u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]])
}
