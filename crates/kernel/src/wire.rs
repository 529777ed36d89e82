//! The header fields that the path reads from packets, and the one field that it changes: the
//! congestion mark.

use std::net::Ipv4Addr;

use etherparse::{IpNumber, Ipv4HeaderSlice, TcpHeaderSlice};
use forebay_discipline::Ecn;

use crate::side::Side;

/// Header fields of a TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Address and port in the near namespace, which opened the connection.
    pub(crate) near: (Ipv4Addr, u16),
    /// Port of the other end.
    pub(crate) far: u16,
    pub(crate) sequence: u32,
    pub(crate) acknowledgment: u32,
    /// Bytes of payload.
    pub(crate) payload: u32,
    flags: u8,
}

/// Reason why a packet belongs to no connection: another program of the namespace sent it, or it is
/// forged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stray {
    /// Its headers are truncated, contradict its length, or have another IP version.
    Malformed,
    /// The packet is a fragment.
    Fragment,
    /// The protocol is not TCP.
    OtherProtocol,
}

impl Segment {
    /// Reads the segment of a packet that a namespace has sent.
    pub(crate) fn read(packet: &[u8], from: Side) -> Result<Self, Stray> {
        let ip = Ipv4HeaderSlice::from_slice(packet).map_err(|_| Stray::Malformed)?;
        if ip.is_fragmenting_payload() {
            return Err(Stray::Fragment);
        }
        let header = ip.slice().len();
        if usize::from(ip.total_len()) != packet.len() || header > packet.len() {
            return Err(Stray::Malformed);
        }
        if ip.protocol() != IpNumber::TCP {
            return Err(Stray::OtherProtocol);
        }
        let body = &packet[header..];
        let tcp = TcpHeaderSlice::from_slice(body).map_err(|_| Stray::Malformed)?;
        let source = (ip.source_addr(), tcp.source_port());
        let destination = (ip.destination_addr(), tcp.destination_port());
        let (near, (_, far)) = match from {
            Side::Near => (source, destination),
            Side::Far => (destination, source),
        };
        Ok(Self {
            near,
            far,
            sequence: tcp.sequence_number(),
            acknowledgment: tcp.acknowledgment_number(),
            payload: (body.len() - tcp.slice().len()) as u32,
            flags: tcp.slice()[FLAGS_AT],
        })
    }

    /// The sequence number after the segment. SYN and FIN count one each (RFC 9293 section 3.4).
    pub(crate) fn end(&self) -> u32 {
        let flags = u32::from(self.syn()) + u32::from(self.flags & FIN != 0);
        self.sequence.wrapping_add(self.payload).wrapping_add(flags)
    }

    /// Whether it is a SYN or SYN-ACK.
    pub(crate) fn syn(&self) -> bool {
        self.flags & SYN != 0
    }

    /// Whether it resets the connection.
    pub(crate) fn rst(&self) -> bool {
        self.flags & RST != 0
    }

    /// Whether it carries a valid acknowledgment number.
    pub(crate) fn acknowledges(&self) -> bool {
        self.flags & (ACK | RST) == ACK
    }
}

#[cfg(test)]
impl Segment {
    /// A segment of the sender, from this sequence number on.
    pub(crate) fn of_data(near: (Ipv4Addr, u16), sequence: u32, payload: u32) -> Self {
        let (acknowledgment, flags) = (1, ACK);
        Self {
            near,
            far: 5201,
            sequence,
            acknowledgment,
            payload,
            flags,
        }
    }

    /// The first segment of a connection.
    pub(crate) fn of_syn(near: (Ipv4Addr, u16), sequence: u32) -> Self {
        Self {
            flags: SYN,
            ..Self::of_data(near, sequence, 0)
        }
    }

    /// A segment of the receiver.
    pub(crate) fn of_answer(near: (Ipv4Addr, u16), acknowledgment: u32) -> Self {
        Self {
            acknowledgment,
            ..Self::of_data(near, 1, 0)
        }
    }

    /// Adds a FIN flag.
    pub(crate) fn last(self) -> Self {
        Self {
            flags: self.flags | FIN,
            ..self
        }
    }

    pub(crate) fn cut_off(self) -> Self {
        Self {
            flags: self.flags | RST,
            ..self
        }
    }
}

/// Offset of the flags in a TCP header, and some flags (RFC 9293 section 3.1).
const FLAGS_AT: usize = 13;
const FIN: u8 = 1;
const SYN: u8 = 1 << 1;
const RST: u8 = 1 << 2;
const ACK: u8 = 1 << 4;

/// An IPv4 packet up to the end of its TCP header, or all of it if it is shorter.
pub(crate) fn headers(packet: &[u8]) -> &[u8] {
    let words = |at: usize, nibble: fn(u8) -> u8| {
        let word = packet.get(at).copied().map_or(0, nibble);
        4 * usize::from(word)
    };
    let ip = words(0, |byte| byte & 0x0f);
    // The data offset is the upper nibble (RFC 9293 section 3.1).
    let tcp = words(ip + FLAGS_AT - 1, |byte| byte >> 4);
    &packet[..packet.len().min(ip + tcp)]
}

/// The ECN bits of the header's second byte (RFC 3168 section 5).
const ECN_BITS: u8 = 0b11;

/// The codepoint of an IPv4 packet. A packet with a mark counts as ECN-capable.
pub(crate) fn codepoint(packet: &[u8]) -> Ecn {
    match packet.get(1).map_or(0, |byte| byte & ECN_BITS) {
        0b00 => Ecn::NotCapable,
        0b01 => Ecn::Scalable,
        _ => Ecn::Classic,
    }
}

/// Marks an IPv4 packet with congestion experienced and updates the header checksum (RFC 1624
/// equation 3).
pub(crate) fn mark(packet: &mut [u8]) {
    let [_, service, .., high, low] = &mut packet[..12] else {
        return;
    };
    let before = u16::from(*service);
    *service |= ECN_BITS;
    let after = u16::from(*service);
    // The complement of the checksum, in one's complement arithmetic: ~HC + ~m + m'.
    let sum = u32::from(!u16::from_be_bytes([*high, *low])) + u32::from(!before) + u32::from(after);
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    [*high, *low] = (!(folded as u16)).to_be_bytes();
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::PacketBuilder;
    use proptest::prelude::*;

    fn packet(ecn: u8, sequence: u32, payload: &[u8]) -> Vec<u8> {
        let mut header =
            etherparse::Ipv4Header::new(0, 64, IpNumber::TCP, [198, 18, 0, 1], [198, 18, 1, 1])
                .unwrap();
        header.ecn = ecn.try_into().unwrap();
        let builder = PacketBuilder::ip(etherparse::IpHeaders::Ipv4(
            header,
            etherparse::Ipv4Extensions::default(),
        ));
        let builder = builder.tcp(40_000, 5001, sequence, 65_535).ack(77);
        let mut bytes = Vec::new();
        builder.write(&mut bytes, payload).unwrap();
        bytes
    }

    #[test]
    fn a_segment_says_whose_it_is_whichever_way_it_goes() {
        let bytes = packet(0, 9, &[0; 100]);
        let there = Segment::read(&bytes, Side::Near).unwrap();
        assert_eq!(there.near, (Ipv4Addr::new(198, 18, 0, 1), 40_000));
        assert_eq!(there.far, 5001);
        let back = Segment::read(&bytes, Side::Far).unwrap();
        assert_eq!(back.near, (Ipv4Addr::new(198, 18, 1, 1), 5001));
        assert_eq!(back.far, 40_000);
        let (end, payload) = (there.end(), there.payload);
        assert_eq!((end, payload, there.acknowledgment), (109, 100, 77));
        assert!(there.acknowledges() && !there.syn() && !there.rst());
    }

    proptest! {
        /// A mark is visible, changes no other field, and leaves the checksum valid.
        #[test]
        fn a_marked_packet_is_valid(ecn in 0u8..4, sequence in any::<u32>(), length in 0usize..1400, identification in any::<u16>()) {
            let mut bytes = packet(ecn, sequence, &vec![7; length]);
            // The checksum takes any value.
            bytes[4..6].copy_from_slice(&identification.to_be_bytes());
            let header = Ipv4HeaderSlice::from_slice(&bytes).unwrap().to_header();
            bytes[10..12].copy_from_slice(&header.calc_header_checksum().to_be_bytes());
            let before = bytes.clone();
            mark(&mut bytes);
            let after = Ipv4HeaderSlice::from_slice(&bytes).unwrap().to_header();
            prop_assert_eq!(after.calc_header_checksum(), after.header_checksum);
            prop_assert_eq!(bytes[1] & 3, 3);
            prop_assert_eq!(&bytes[12..], &before[12..]);
            prop_assert_eq!(&bytes[2..10], &before[2..10]);
        }

        /// All bytes that a namespace sends are read or called stray.
        #[test]
        fn any_bytes_are_read_or_stray(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 0usize..120) {
            let _ = Segment::read(&bytes, Side::Near);
            let whole = packet(1, 5, &[1; 60]);
            let cut = &whole[..cut.min(whole.len() - 1)];
            prop_assert!(Segment::read(cut, Side::Far).is_err());
        }
    }

    #[test]
    fn headers_end_where_the_payload_begins() {
        let whole = packet(0, 9, &[7; 100]);
        assert_eq!(headers(&whole), &whole[..40]);
        let mut longer = whole.clone();
        // The TCP header has 32 bytes, 12 of them options.
        longer[32] = 8 << 4;
        assert_eq!(headers(&longer), &longer[..52]);
        for cut in 0..40 {
            assert!(headers(&whole[..cut]).len() <= cut);
        }
    }

    #[test]
    fn strays_are_told_apart() {
        let mut fragment = packet(0, 1, &[0; 8]);
        fragment[6] |= 0x20;
        assert_eq!(Segment::read(&fragment, Side::Near), Err(Stray::Fragment));
        let mut udp = packet(0, 1, &[0; 8]);
        udp[9] = 17;
        assert_eq!(Segment::read(&udp, Side::Near), Err(Stray::OtherProtocol));
        let mut six = packet(0, 1, &[0; 8]);
        six[0] = 0x65;
        assert_eq!(Segment::read(&six, Side::Near), Err(Stray::Malformed));
        let mut long = packet(0, 1, &[0; 8]);
        long.push(0);
        assert_eq!(Segment::read(&long, Side::Near), Err(Stray::Malformed));
    }
}
