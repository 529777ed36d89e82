//! The packet record of queue disciplines: 24 bytes.

use forebay_units::Time;

/// The ECN capability of a packet's sender (RFC 3168 section 5, RFC 9331 section 2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Not ECN-capable: congestion is signaled by a drop.
    #[default]
    NotCapable,
    /// ECT(0): a mark means the same as a drop.
    Classic,
    /// ECT(1): a mark is one of many small signals (L4S).
    Scalable,
}

/// A packet that waits or is about to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The time of its arrival at this queue.
    pub arrival: Time,
    /// Its flow, numbered densely from zero.
    pub flow: u32,
    /// The engine's number of the packet; disciplines do not use it.
    pub number: u32,
    /// Size in bytes, headers included.
    pub size: u32,
    /// Its hop, flow group, codepoint and mark.
    pub label: Label,
}

/// A packet's hop, flow group, codepoint and mark in one word. Records of whole words are copied
/// several times faster than records of single bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Label(u32);

impl Label {
    const ECN: u32 = 3 << 24;
    const MARKED: u32 = 1 << 26;

    /// Creates the label of a packet without a mark. `hop` is its place on its path; disciplines do
    /// not use it. `group` is its flow group, counted from zero. `ecn` is its sender's capability.
    #[inline]
    pub fn new(hop: u8, group: u16, ecn: Ecn) -> Self {
        let ecn = match ecn {
            Ecn::NotCapable => 0,
            Ecn::Scalable => 1,
            Ecn::Classic => 2,
        };
        Self(u32::from(hop) | u32::from(group) << 8 | ecn << 24)
    }

    /// The same label for a sender that is not ECN-capable.
    #[inline]
    #[must_use]
    pub fn not_capable(self) -> Self {
        Self(self.0 & !Self::ECN)
    }

    /// The same label with a congestion mark.
    #[inline]
    #[must_use]
    pub fn with_mark(self) -> Self {
        Self(self.0 | Self::MARKED)
    }
}

impl Packet {
    /// The number of the hop on its path.
    #[inline]
    pub fn hop(&self) -> usize {
        usize::from(self.label.0 as u8)
    }

    /// Its flow group, counted from zero.
    #[inline]
    pub fn group(&self) -> u16 {
        (self.label.0 >> 8) as u16
    }

    /// The ECN capability of its sender.
    #[inline]
    pub fn ecn(&self) -> Ecn {
        match (self.label.0 >> 24) & 3 {
            0 => Ecn::NotCapable,
            1 => Ecn::Scalable,
            _ => Ecn::Classic,
        }
    }

    /// Whether it carries a congestion mark.
    #[inline]
    pub fn marked(&self) -> bool {
        self.label.0 & Label::MARKED != 0
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// A packet of `size` bytes that arrived at time zero.
    pub(crate) fn packet(flow: u32, number: u32, size: u32) -> Packet {
        Packet {
            arrival: Time::ZERO,
            flow,
            number,
            size,
            label: Label::default(),
        }
    }

    /// A packet of 1000 bytes with this ECN capability.
    pub(crate) fn with_ecn(ecn: Ecn, number: u32) -> Packet {
        Packet {
            label: Label::new(0, 0, ecn),
            ..packet(0, number, 1000)
        }
    }

    #[test]
    fn a_packet_takes_24_bytes_and_keeps_its_label() {
        assert_eq!(size_of::<Packet>(), 24);
        for ecn in [Ecn::NotCapable, Ecn::Classic, Ecn::Scalable] {
            let label = Label::new(15, 9_999, ecn);
            for label in [label, label.with_mark()] {
                let packet = Packet {
                    label,
                    ..packet(1, 2, 3)
                };
                assert_eq!(
                    (packet.hop(), packet.group(), packet.ecn()),
                    (15, 9_999, ecn)
                );
            }
        }
    }
}
