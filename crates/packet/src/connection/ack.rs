//! An acknowledgment as it reaches the sender. The connection makes it of what its receiver
//! acknowledges, and loss recovery reads it.

use forebay_units::Time;

/// The content of an acknowledgment.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckEvent<'a> {
    pub(super) now: Time,
    /// The lowest packet not acknowledged before.
    pub(super) from: u64,
    /// Packets it acknowledges in order.
    pub(super) acked: u64,
    /// Packets among them that arrived in order while it was delayed.
    pub(super) delayed: u64,
    /// Packets that arrived beyond a hole while it was delayed.
    pub(super) sack_blocks: &'a [u64],
    /// The new packet that caused it; none where a duplicate or a timer did.
    pub(super) packet: Option<u64>,
    /// Whether the window limited the sender.
    pub(super) limited: bool,
    /// The shortest round trip before it, in seconds.
    pub(super) min_rtt: f64,
}

impl AckEvent<'_> {
    /// The packets that it makes known to have arrived.
    #[inline]
    pub(super) fn arrivals(&self) -> impl Iterator<Item = u64> {
        let waited = self.from + self.delayed;
        let direct = self.packet.filter(|packet| *packet >= waited);
        (self.from..waited)
            .chain(self.sack_blocks.iter().copied())
            .chain(direct)
    }

    /// How many they are.
    pub(super) fn arrived(&self) -> u64 {
        let waited = self.from + self.delayed;
        let sacked = self.sack_blocks.len() as u64;
        self.delayed + sacked + u64::from(self.packet.is_some_and(|packet| packet >= waited))
    }

    /// Whether a packet caused it that had arrived before (a DSACK, RFC 2883).
    pub(super) fn duplicate(&self) -> bool {
        self.packet.is_none() && self.delayed == 0 && self.sack_blocks.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(delayed: u64, packet: Option<u64>) -> AckEvent<'static> {
        AckEvent {
            sack_blocks: &[],
            now: Time::ZERO,
            from: 10,
            acked: 0,
            delayed,
            packet,
            limited: true,
            min_rtt: 0.1,
        }
    }

    #[test]
    fn a_delayed_packet_counts_once_even_where_it_caused_the_acknowledgment() {
        for (delayed, packet, expected) in [
            (0, None, vec![]),
            (2, None, vec![10, 11]),
            (2, Some(11), vec![10, 11]),
            (1, Some(15), vec![10, 15]),
            (0, Some(10), vec![10]),
        ] {
            let ack = ack(delayed, packet);
            assert_eq!(ack.arrived(), expected.len() as u64);
            assert_eq!(ack.duplicate(), expected.is_empty());
            assert_eq!(ack.arrivals().collect::<Vec<_>>(), expected);
        }
    }
}
