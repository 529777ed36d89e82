//! A receiver: it puts packets in order, counts what comes in order to its sender's goodput, and
//! decides when to acknowledge (RFC 5681 section 4.2, RFC 1122 section 4.2.3.2).
//!
//! Where acknowledgments return over a constant delay, this receiver is also its sender's
//! knowledge: the packets beyond a hole are the SACK blocks. Where acknowledgments cross links,
//! [`crate::reverse`] has a receiver of its own, and the connection's receiver holds the packets
//! that acknowledgments have reported to the sender.

use forebay_scenario::DelayedAck;
use forebay_units::Time;

use super::bitmap::Bitmap;
use super::card::{Arrival, Card, Held, Lateness};
use super::compression::Compression;

/// A receiver of packets that are numbered one by one.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Receiver {
    /// The next packet in order (RCV.NXT).
    expected: u64,
    /// Packets beyond it that have arrived.
    out_of_order: u64,
    /// Which they are.
    beyond: Bitmap,
    /// Packets in order that are not acknowledged, and since when.
    pending: u32,
    /// Packets in order that one acknowledgment waits for.
    acknowledged_at_once: u32,
    pending_since: Time,
    /// How long it waits for them.
    timeout: Time,
    /// Its further rules for acknowledgments, if it has any.
    compression: Option<Box<Compression>>,
    /// Card on which packets wait before the receiver sees them.
    card: Option<Box<Card>>,
}

/// The packets that an acknowledgment covers when it leaves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Awaited {
    /// Packets in order that it was delayed for.
    pub(crate) in_order: u32,
    /// Packets beyond a hole, in the order of arrival.
    pub(crate) beyond: Vec<u64>,
}

/// The receiver's reply to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// It acknowledges at once.
    AtOnce {
        /// Whether the packet had not arrived before.
        new: bool,
    },
    /// It waits for more packets or a timer.
    Later,
}

impl Receiver {
    /// A receiver of packets from `first` on.
    pub(crate) fn new(first: u64, policy: DelayedAck, lateness: Option<Lateness>) -> Self {
        Self {
            compression: Compression::new(policy),
            card: Card::new(policy.gro, lateness),
            expected: first,
            out_of_order: 0,
            beyond: Bitmap::default(),
            pending: 0,
            acknowledged_at_once: policy.packets,
            pending_since: Time::ZERO,
            timeout: policy.timeout,
        }
    }

    /// A packet arrives. Duplicates, those beyond a hole and those that fill one are acknowledged at
    /// once, or as [`Compression`] has it.
    #[inline]
    pub(crate) fn receive(&mut self, arrival: Arrival) -> Reply {
        let Arrival { packet, now, .. } = arrival;
        if packet != self.expected || self.out_of_order > 0 {
            let new = self.receive_around_hole(packet);
            return if new && self.defers(arrival) {
                self.tell(&[packet]);
                Reply::Later
            } else {
                Reply::AtOnce { new }
            };
        }
        self.expected += 1;
        self.pending += 1;
        if self.pending == 1 {
            self.pending_since = now;
        }
        self.reply_in_order(arrival)
    }

    /// The reply to packets in order; `arrival` is the last of them.
    #[inline]
    fn reply_in_order(&self, arrival: Arrival) -> Reply {
        if self.pending < self.acknowledged_at_once && !self.hurries(arrival) {
            Reply::Later
        } else {
            Reply::AtOnce { new: true }
        }
    }

    /// Consecutive packets arrive as one; `new` of the reply is about the last.
    pub(crate) fn receive_merged(&mut self, segment: &[Held]) -> Reply {
        let (Some(first), Some(last)) = (segment.first(), segment.last()) else {
            return Reply::Later;
        };
        let (first, last) = (first.arrival, last.arrival);
        if segment.len() == 1 {
            return self.receive(last);
        }
        if first.packet == self.expected && self.out_of_order == 0 {
            if self.pending == 0 {
                self.pending_since = first.now;
            }
            self.expected += segment.len() as u64;
            self.pending += segment.len() as u32;
            return self.reply_in_order(last);
        }
        let packets = segment.iter().map(|held| held.arrival.packet);
        let mut fresh: Vec<u64> = packets
            .filter(|packet| self.receive_around_hole(*packet))
            .collect();
        let new = fresh.last() == Some(&last.packet);
        let waits = !fresh.is_empty() && self.defers(last);
        if new && !waits {
            fresh.pop();
        }
        self.tell(&fresh);
        if waits {
            Reply::Later
        } else {
            Reply::AtOnce { new }
        }
    }

    /// The next acknowledgment tells of these packets beyond a hole, too.
    fn tell(&mut self, packets: &[u64]) {
        if let Some(compression) = &mut self.compression {
            compression.tell(packets);
        }
    }

    /// Whether packets wait on a card before it sees them.
    pub(crate) fn gathers(&self) -> bool {
        self.card.is_some()
    }

    /// How late it is from now on, where it is.
    pub(crate) fn lateness(&mut self) -> Option<Lateness> {
        self.card.as_mut().and_then(|card| card.lateness.take())
    }

    /// A packet arrives at the card.
    pub(crate) fn gather(&mut self, held: Held) {
        if let Some(card) = &mut self.card {
            card.hold(held);
        }
    }

    /// The packets that the card hands up now, in segments of `most` packets at most.
    pub(crate) fn take_gathered(&mut self, now: Time, most: usize) -> Vec<Vec<Held>> {
        let card = self.card.as_mut();
        card.map_or_else(Vec::new, |card| card.take(now, most))
    }

    /// Whether a new packet that has arrived beyond a hole waits to be acknowledged.
    fn defers(&mut self, arrival: Arrival) -> bool {
        let Arrival {
            packet, now, rtt, ..
        } = arrival;
        let Some(compression) = &mut self.compression else {
            return false;
        };
        packet > self.expected && compression.defers(self.expected, (now, rtt))
    }

    /// Whether a packet in order is acknowledged whatever others there are.
    fn hurries(&self, arrival: Arrival) -> bool {
        let compression = self.compression.as_ref();
        compression.is_some_and(|compression| compression.hurries(arrival.pushed))
    }

    /// The same where something is missing or the packet is not the next one; whether it is new.
    #[inline]
    fn receive_around_hole(&mut self, packet: u64) -> bool {
        if packet < self.expected {
            return false;
        }
        if packet == self.expected {
            let next = self.beyond.take_run(packet + 1);
            self.out_of_order -= next - (packet + 1);
            self.expected = next;
            return true;
        }
        let new = self.beyond.set(packet, self.expected);
        self.out_of_order += u64::from(new);
        new
    }

    /// A packet arrives. Returns whether it arrives for the first time, beyond a hole, and is
    /// acknowledged at once; otherwise nothing changes.
    #[inline]
    pub(super) fn receive_beyond(&mut self, packet: u64) -> bool {
        let plain = packet > self.expected && self.compression.is_none();
        plain && self.receive_around_hole(packet)
    }

    /// Whether the packet with these low 32 bits is the next one and nothing has arrived beyond it.
    #[inline]
    pub(super) fn is_next(&self, low: u32) -> bool {
        low == self.expected as u32 && self.out_of_order == 0
    }

    /// The packet of which [`Self::is_next`] said so arrives and is acknowledged; its number.
    #[inline]
    pub(super) fn receive_next(&mut self) -> u64 {
        let packet = self.expected;
        self.expected = packet + 1;
        packet
    }

    /// An acknowledgment leaves: what it was delayed for.
    pub(crate) fn acknowledge(&mut self) -> Awaited {
        let compression = self.compression.as_mut();
        Awaited {
            in_order: std::mem::take(&mut self.pending),
            beyond: compression.map_or_else(Vec::new, |compression| compression.acknowledge()),
        }
    }

    /// Whether one acknowledgment may wait for several packets.
    pub(super) fn delays(&self) -> bool {
        self.acknowledged_at_once > 1 || self.gathers()
    }

    /// When a delayed acknowledgment is due, where one is.
    pub(crate) fn acknowledgment_due(&self) -> Option<Time> {
        let delayed = if self.pending > 0 {
            Some(self.pending_since.saturating_add(self.timeout))
        } else {
            self.compression.as_ref().and_then(|wait| wait.due())
        };
        let card = self.card.as_ref().and_then(|card| card.due());
        delayed.into_iter().chain(card).min()
    }

    /// Packets beyond a hole that wait to be acknowledged.
    pub(super) fn unannounced(&self) -> u64 {
        self.untold().len() as u64
    }

    /// The next packet in order.
    #[inline]
    pub(crate) fn expected(&self) -> u64 {
        self.expected
    }

    /// Packets that have arrived beyond it.
    #[inline]
    pub(crate) fn out_of_order(&self) -> u64 {
        self.out_of_order
    }

    /// The full number of a packet whose low 32 bits are `low`: the one nearest to the next in
    /// order.
    #[inline]
    pub(crate) fn full_number(&self, low: u32) -> u64 {
        let ahead = low.wrapping_sub(self.expected as u32) as i32;
        self.expected.wrapping_add_signed(i64::from(ahead))
    }

    /// Packets beyond a hole that have arrived and that no acknowledgment has reported yet.
    fn untold(&self) -> &[u64] {
        let compression = self.compression.as_ref();
        compression.map_or(&[], |compression| compression.untold())
    }

    /// The lowest packet that no acknowledgment has reported.
    #[inline]
    pub(super) fn told(&self) -> u64 {
        self.expected - u64::from(self.pending)
    }

    /// Whether an acknowledgment has reported the arrival of a packet.
    #[inline]
    pub(super) fn has(&self, packet: u64) -> bool {
        packet < self.told() || self.beyond.get(packet) && !self.untold().contains(&packet)
    }

    /// The first packet of `from..to` that acknowledgments have not reported. They have reported
    /// all packets below `from`.
    pub(super) fn next_missing(&self, from: u64, to: u64) -> Option<u64> {
        if from < self.expected.min(to) {
            return Some(from);
        }
        let untold = self.untold().iter().copied();
        let untold = untold.filter(|packet| (from..to).contains(packet));
        untold.chain(self.beyond.next_clear(from, to)).min()
    }

    /// How many of them are.
    pub(super) fn count_missing(&self, from: u64, to: u64) -> u64 {
        if self.compression.is_none() && from >= self.expected {
            return self.beyond.count_clear(from, to);
        }
        let beyond = from.max(self.expected.min(to));
        let untold = self.untold().iter();
        let untold = untold.filter(|packet| (beyond..to).contains(packet));
        beyond - from + self.beyond.count_clear(beyond, to) + untold.count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const EVERY_SECOND: DelayedAck = DelayedAck {
        packets: 2,
        timeout: Time::from_millis(40),
        ..DelayedAck::AT_ONCE
    };

    const RTT: Time = Time::from_millis(50);

    fn arrival(packet: u64, now: Time) -> Arrival {
        Arrival {
            packet,
            now,
            pushed: false,
            rtt: RTT,
        }
    }

    #[test]
    fn packets_in_order_wait_for_each_other_and_others_do_not() {
        let mut receiver = Receiver::new(5, EVERY_SECOND, None);
        let mut take = |packet| receiver.receive(arrival(packet, Time::ZERO));
        let at_once = |new| Reply::AtOnce { new };
        assert_eq!((take(5), take(6)), (Reply::Later, at_once(true)));
        // 7 is missing: 8 and 9 ask for it, 7 fills the hole, 7 again is a duplicate.
        for (packet, new) in [(8, true), (9, true), (7, true), (7, false)] {
            assert_eq!(take(packet), at_once(new));
        }
        assert_eq!((receiver.expected(), receiver.out_of_order()), (10, 0));
    }

    #[test]
    fn an_acknowledgment_is_due_so_long_after_the_first_packet_it_waits_for() {
        let mut receiver = Receiver::new(1, EVERY_SECOND, None);
        assert_eq!(receiver.acknowledgment_due(), None);
        assert_eq!(
            receiver.receive(arrival(1, Time::from_millis(7))),
            Reply::Later
        );
        assert_eq!(receiver.acknowledgment_due(), Some(Time::from_millis(47)));
        assert_eq!(receiver.acknowledge().in_order, 1);
        assert_eq!(receiver.acknowledgment_due(), None);
    }

    /// Checks the sender's knowledge: the packets that acknowledgments have reported, whatever else
    /// has arrived.
    fn assert_known(receiver: &Receiver, told: &BTreeSet<u64>) -> Result<(), TestCaseError> {
        let lowest = (1..=200).find(|p| !told.contains(p)).unwrap();
        prop_assert_eq!(receiver.told(), lowest);
        for from in [lowest, lowest + 1, lowest + 7] {
            let missing: Vec<u64> = (from..200).filter(|p| !told.contains(p)).collect();
            prop_assert_eq!(receiver.count_missing(from, 200), missing.len() as u64);
            prop_assert_eq!(receiver.next_missing(from, 200), missing.first().copied());
        }
        for p in 1..200 {
            prop_assert_eq!(receiver.has(p), told.contains(&p));
        }
        Ok(())
    }

    proptest! {
        /// Whatever the order of arrival, and however often: what is delivered in order is the
        /// contiguous prefix of what has arrived, what is out of order is the rest, and an
        /// acknowledgment waits only while nothing is missing.
        #[test]
        fn what_is_in_order_is_the_prefix_of_what_arrived(
            arrivals in prop::collection::vec(1u64..80, 1..300),
            shuffled in Just((1u64..200).collect::<Vec<_>>()).prop_shuffle(),
            packets in 1u32..4,
        ) {
            for arrivals in [arrivals, shuffled] {
                let policy = DelayedAck { packets, ..EVERY_SECOND };
                let (mut receiver, mut arrived) = (Receiver::new(1, policy, None), BTreeSet::new());
                let mut told = BTreeSet::new();
                for (step, packet) in arrivals.into_iter().enumerate() {
                    let in_order = packet == receiver.expected() && receiver.out_of_order() == 0;
                    let fresh = arrived.insert(packet);
                    let reply = receiver.receive(arrival(packet, Time::from_micros(step as u64)));
                    match reply {
                        Reply::AtOnce { new } => {
                            prop_assert_eq!(new, fresh);
                            let waited = receiver.acknowledge().in_order;
                            prop_assert!(waited <= packets);
                            prop_assert!(!in_order || waited == packets);
                            told.clone_from(&arrived);
                        }
                        Reply::Later => prop_assert!(in_order && packets > 1),
                    }
                    let prefix = (1..=200).find(|p| !arrived.contains(p)).unwrap();
                    prop_assert_eq!(receiver.expected(), prefix);
                    let beyond = arrived.range(prefix..).count() as u64;
                    prop_assert_eq!(receiver.out_of_order(), beyond);
                    assert_known(&receiver, &told)?;
                }
            }
        }

        /// However packets are merged, the packets in order are the prefix of the arrived packets.
        /// Each new packet is acknowledged once, in order or not.
        #[test]
        fn merged_packets_are_told_of_once(
            arrivals in prop::collection::vec((1u64..60, 1u64..9), 1..80),
            sack_ms in 0u64..2,
        ) {
            let policy = DelayedAck {
                gro: Time::from_micros(50),
                sack_delay: Time::from_millis(sack_ms),
                ..EVERY_SECOND
            };
            let (mut receiver, mut arrived) = (Receiver::new(1, policy, None), BTreeSet::new());
            let mut told = BTreeSet::new();
            let mut acknowledged = 1;
            for (step, (first, count)) in arrivals.into_iter().enumerate() {
                let now = Time::from_micros(step as u64);
                let held = |packet| Held { arrival: arrival(packet, now), marked: false };
                let segment: Vec<Held> = (first..first + count).map(held).collect();
                let last = first + count - 1;
                arrived.extend(first..=last);
                let reply = receiver.receive_merged(&segment);
                let prefix = (1..=70).find(|p| !arrived.contains(p)).unwrap();
                prop_assert_eq!(receiver.expected(), prefix);
                if let Reply::AtOnce { new } = reply {
                    let Awaited { in_order, beyond } = receiver.acknowledge();
                    let delayed = acknowledged..acknowledged + u64::from(in_order);
                    let direct = new.then_some(last).filter(|last| *last >= delayed.end);
                    for packet in delayed.chain(beyond).chain(direct) {
                        prop_assert!(told.insert(packet), "{}", packet);
                    }
                    acknowledged = prefix;
                    prop_assert_eq!(&told, &arrived);
                }
                assert_known(&receiver, &told)?;
            }
        }

        /// A packet's low 32 bits tell its number as long as it is within two thousand million of
        /// the next one in order.
        #[test]
        fn low_bits_name_the_nearest_packet(first in 1u64 << 31..1 << 40, ahead in -(1i64 << 31)..1 << 31) {
            let receiver = Receiver::new(first, EVERY_SECOND, None);
            let packet = first.wrapping_add_signed(ahead);
            prop_assert_eq!(receiver.full_number(packet as u32), packet);
        }
    }
}
