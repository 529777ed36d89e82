//! A packet as a queue discipline sees it: 24 bytes.

use forebay_units::Time;

/// What a packet's sender understands of explicit congestion notification (RFC 3168 section 5,
/// RFC 9331 section 2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Not ECN-capable: congestion is signalled by dropping it.
    #[default]
    NotCapable,
    /// ECT(0): a mark means what a drop means.
    Classic,
    /// ECT(1): a mark is one of many small signals (L4S).
    Scalable,
}

/// A packet, waiting or about to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// When it arrived here.
    pub arrival: Time,
    /// Its flow, numbered densely from zero.
    pub flow: u32,
    /// What the engine knows it by; a discipline does not look at it.
    pub number: u32,
    /// Bytes, headers included.
    pub size: u32,
    /// Where on its path it is; a discipline does not look at it.
    pub hop: u8,
    /// Its class where classes are treated differently, the first being 0.
    pub class: u8,
    /// What its sender understands.
    pub ecn: Ecn,
    /// Whether it carries a congestion mark.
    pub marked: bool,
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// A packet of `size` bytes.
    pub(crate) fn packet(flow: u32, number: u32, size: u32) -> Packet {
        Packet {
            arrival: Time::ZERO,
            flow,
            number,
            size,
            hop: 0,
            class: 0,
            ecn: Ecn::NotCapable,
            marked: false,
        }
    }

    #[test]
    fn a_packet_takes_24_bytes() {
        assert_eq!(size_of::<Packet>(), 24);
    }
}
