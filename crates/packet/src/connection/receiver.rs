//! A receiver: it puts packets in order, counts what comes in order to its sender's goodput, and
//! decides when to acknowledge (RFC 5681 section 4.2, RFC 1122 section 4.2.3.2).
//!
//! Where acknowledgments return over a constant delay, this receiver is also its sender's
//! knowledge: the packets beyond a hole are the SACK blocks. Where acknowledgments cross links,
//! [`crate::reverse`] has a receiver of its own, and the connection's receiver holds the packets
//! that acknowledgments have reported to the sender.

use forebay_scenario::{DelayedAck, Recovery};
use forebay_units::Time;

use super::bitmap::Bitmap;
use super::compression::Compression;
use super::nic_coalescing::{Arrival, HostDelay, PendingPacket, ReceiveOffload};

/// A receiver of packets that are numbered one by one.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Receiver {
    /// The next packet in order (RCV.NXT).
    rcv_nxt: u64,
    /// Packets beyond it that have arrived.
    out_of_order: u64,
    /// Which they are.
    sack_blocks: Bitmap,
    /// Packets in order that are not acknowledged, and since when.
    pending: u32,
    /// Packets in order that one acknowledgment waits for.
    acknowledged_at_once: u16,
    /// Its treatment of packets beyond a hole.
    out_of_order_policy: OutOfOrder,
    /// Whether the next acknowledgment is a NACK.
    nack: bool,
    pending_since: Time,
    /// How long it waits for them.
    timeout: Time,
    /// Its further rules for acknowledgments, if it has any.
    compression: Option<Box<Compression>>,
    /// Card on which packets wait before the receiver sees them.
    receive_offload: Option<Box<ReceiveOffload>>,
}

/// The treatment of packets beyond a hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OutOfOrder {
    /// They are kept.
    Keep,
    /// They are discarded, and the next one causes a NACK (InfiniBand specification, volume 1,
    /// section 9.7.5: a NAK of a sequence error).
    DiscardWithNack,
    /// They are discarded silently until the missing packet arrives.
    Discard,
}

/// The packets that an acknowledgment covers when it leaves.
#[derive(Clone, Debug, Default)]
pub(crate) struct AckInfo {
    /// Packets in order that it was delayed for.
    pub(crate) in_order: u32,
    /// Packets beyond a hole, in the order of arrival.
    pub(crate) sack_blocks: Vec<u64>,
}

/// The receiver's reply to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AckDecision {
    /// It acknowledges at once.
    Immediate {
        /// Whether the packet had not arrived before.
        new: bool,
    },
    /// It waits for more packets or a timer.
    Delayed,
    /// It discards the packet silently.
    Discarded,
}

impl Receiver {
    /// A receiver of packets from `first` on.
    pub(crate) fn new(first: u64, policy: DelayedAck, host_delay: Option<HostDelay>) -> Self {
        Self {
            compression: Compression::new(policy),
            receive_offload: ReceiveOffload::new(policy.gro, host_delay),
            rcv_nxt: first,
            out_of_order: 0,
            sack_blocks: Bitmap::default(),
            pending: 0,
            acknowledged_at_once: policy.packets.min(u32::from(u16::MAX)) as u16,
            out_of_order_policy: OutOfOrder::Keep,
            nack: false,
            pending_since: Time::ZERO,
            timeout: policy.timeout,
        }
    }

    /// The same receiver with this loss recovery: with go-back-N it discards packets beyond a hole.
    pub(crate) fn with(self, recovery: Recovery) -> Self {
        let out_of_order_policy = match recovery {
            Recovery::GoBackN => OutOfOrder::DiscardWithNack,
            _ => OutOfOrder::Keep,
        };
        Self {
            out_of_order_policy,
            ..self
        }
    }

    /// A packet arrives. Duplicates, those beyond a hole and those that fill one are acknowledged
    /// at once, or as [`Compression`] has it.
    #[inline]
    pub(crate) fn receive(&mut self, arrival: Arrival) -> AckDecision {
        let Arrival { packet, now, .. } = arrival;
        if packet != self.rcv_nxt || self.out_of_order > 0 {
            if self.discards() {
                return self.discard(packet);
            }
            let new = self.receive_around_hole(packet);
            return if new && self.delays_ack(arrival) {
                self.note_reported(&[packet]);
                AckDecision::Delayed
            } else {
                AckDecision::Immediate { new }
            };
        }
        if self.discards() {
            self.out_of_order_policy = OutOfOrder::DiscardWithNack;
        }
        self.rcv_nxt += 1;
        self.pending += 1;
        if self.pending == 1 {
            self.pending_since = now;
        }
        self.reply_in_order(arrival)
    }

    /// Whether it discards packets beyond a hole.
    pub(crate) fn discards(&self) -> bool {
        self.out_of_order_policy != OutOfOrder::Keep
    }

    /// A packet arrives that is not the next one: a duplicate is acknowledged, and the first packet
    /// beyond a hole causes a NACK.
    #[cold]
    fn discard(&mut self, packet: u64) -> AckDecision {
        if packet < self.rcv_nxt {
            return AckDecision::Immediate { new: false };
        }
        let policy = std::mem::replace(&mut self.out_of_order_policy, OutOfOrder::Discard);
        if policy == OutOfOrder::Discard {
            return AckDecision::Discarded;
        }
        self.nack = true;
        AckDecision::Immediate { new: false }
    }

    /// Whether the acknowledgment of the last packet is a NACK.
    pub(crate) fn take_nack(&mut self) -> bool {
        std::mem::take(&mut self.nack)
    }

    /// The reply to packets in order; `arrival` is the last of them.
    #[inline]
    fn reply_in_order(&self, arrival: Arrival) -> AckDecision {
        if self.pending < u32::from(self.acknowledged_at_once) && !self.ack_immediately(arrival) {
            AckDecision::Delayed
        } else {
            AckDecision::Immediate { new: true }
        }
    }

    /// Consecutive packets arrive as one; `new` of the reply is about the last.
    pub(crate) fn receive_merged(&mut self, segment: &[PendingPacket]) -> AckDecision {
        let (Some(first), Some(last)) = (segment.first(), segment.last()) else {
            return AckDecision::Delayed;
        };
        let (first, last) = (first.arrival, last.arrival);
        if segment.len() == 1 {
            return self.receive(last);
        }
        if self.discards() {
            return self.receive_each(segment);
        }
        if first.packet == self.rcv_nxt && self.out_of_order == 0 {
            if self.pending == 0 {
                self.pending_since = first.now;
            }
            self.rcv_nxt += segment.len() as u64;
            self.pending += segment.len() as u32;
            return self.reply_in_order(last);
        }
        let packets = segment.iter().map(|held| held.arrival.packet);
        let mut fresh: Vec<u64> = packets
            .filter(|packet| self.receive_around_hole(*packet))
            .collect();
        let new = fresh.last() == Some(&last.packet);
        let waits = !fresh.is_empty() && self.delays_ack(last);
        if new && !waits {
            fresh.pop();
        }
        self.note_reported(&fresh);
        if waits {
            AckDecision::Delayed
        } else {
            AckDecision::Immediate { new }
        }
    }

    /// The same of packets one by one: the reply to the last one that is not discarded.
    #[cold]
    fn receive_each(&mut self, segment: &[PendingPacket]) -> AckDecision {
        let replies = segment.iter().map(|held| self.receive(held.arrival));
        let replies = replies.filter(|reply| *reply != AckDecision::Discarded);
        replies.last().unwrap_or(AckDecision::Discarded)
    }

    /// The next acknowledgment tells of these packets beyond a hole, too.
    fn note_reported(&mut self, packets: &[u64]) {
        if let Some(compression) = &mut self.compression {
            compression.note_reported(packets);
        }
    }

    /// Whether packets wait at the network card.
    pub(crate) fn gathers(&self) -> bool {
        self.receive_offload.is_some()
    }

    /// How late it is from now on, where it is.
    pub(crate) fn host_delay(&mut self) -> Option<HostDelay> {
        self.receive_offload
            .as_mut()
            .and_then(|receive_offload| receive_offload.host_delay.take())
    }

    /// A packet arrives at the network card.
    pub(crate) fn gather(&mut self, held: PendingPacket) {
        if let Some(receive_offload) = &mut self.receive_offload {
            receive_offload.hold(held);
        }
    }

    /// The packets that the network card delivers now, in segments of `most` packets at most.
    pub(crate) fn take_gathered(&mut self, now: Time, most: usize) -> Vec<Vec<PendingPacket>> {
        let receive_offload = self.receive_offload.as_mut();
        receive_offload.map_or_else(Vec::new, |receive_offload| receive_offload.take(now, most))
    }

    /// Whether a new packet that has arrived beyond a hole waits to be acknowledged.
    fn delays_ack(&mut self, arrival: Arrival) -> bool {
        let Arrival {
            packet, now, rtt, ..
        } = arrival;
        let Some(compression) = &mut self.compression else {
            return false;
        };
        packet > self.rcv_nxt && compression.delays_ack(self.rcv_nxt, (now, rtt))
    }

    /// Whether a packet in order is acknowledged whatever others there are.
    fn ack_immediately(&self, arrival: Arrival) -> bool {
        let compression = self.compression.as_ref();
        compression.is_some_and(|compression| compression.ack_immediately(arrival.pushed))
    }

    /// The same where something is missing or the packet is not the next one; whether it is new.
    #[inline]
    fn receive_around_hole(&mut self, packet: u64) -> bool {
        if packet < self.rcv_nxt {
            return false;
        }
        if packet == self.rcv_nxt {
            let next = self.sack_blocks.take_run(packet + 1);
            self.out_of_order -= next - (packet + 1);
            self.rcv_nxt = next;
            return true;
        }
        let new = self.sack_blocks.set(packet, self.rcv_nxt);
        self.out_of_order += u64::from(new);
        new
    }

    /// A packet arrives. Returns whether it arrives for the first time, beyond a hole, and is
    /// acknowledged at once; otherwise nothing changes.
    #[inline]
    pub(super) fn receive_beyond(&mut self, packet: u64) -> bool {
        let plain = packet > self.rcv_nxt && self.compression.is_none();
        plain && self.receive_around_hole(packet)
    }

    /// Whether the packet with these low 32 bits is the next one and nothing has arrived beyond it.
    #[inline]
    pub(super) fn is_next(&self, low: u32) -> bool {
        low == self.rcv_nxt as u32 && self.out_of_order == 0
    }

    /// The packet of which [`Self::is_next`] said so arrives and is acknowledged; its number.
    #[inline]
    pub(super) fn receive_next(&mut self) -> u64 {
        let packet = self.rcv_nxt;
        self.rcv_nxt = packet + 1;
        packet
    }

    /// An acknowledgment leaves: what it was delayed for.
    pub(crate) fn acknowledge(&mut self) -> AckInfo {
        let compression = self.compression.as_mut();
        AckInfo {
            in_order: std::mem::take(&mut self.pending),
            sack_blocks: compression.map_or_else(Vec::new, |compression| compression.acknowledge()),
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
        let receive_offload = self
            .receive_offload
            .as_ref()
            .and_then(|receive_offload| receive_offload.due());
        delayed.into_iter().chain(receive_offload).min()
    }

    /// Packets beyond a hole that wait to be acknowledged.
    pub(super) fn unsacked_packets(&self) -> u64 {
        self.unsacked().len() as u64
    }

    /// The next packet in order.
    #[inline]
    pub(crate) fn rcv_nxt(&self) -> u64 {
        self.rcv_nxt
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
        let ahead = low.wrapping_sub(self.rcv_nxt as u32) as i32;
        self.rcv_nxt.wrapping_add_signed(i64::from(ahead))
    }

    /// Packets beyond a hole that have arrived and that no acknowledgment has reported yet.
    fn unsacked(&self) -> &[u64] {
        let compression = self.compression.as_ref();
        compression.map_or(&[], |compression| compression.unsacked())
    }

    /// The lowest packet that no acknowledgment has reported.
    #[inline]
    pub(super) fn last_ack_sent(&self) -> u64 {
        self.rcv_nxt - u64::from(self.pending)
    }

    /// Whether an acknowledgment has reported the arrival of a packet.
    #[inline]
    pub(super) fn has(&self, packet: u64) -> bool {
        packet < self.last_ack_sent()
            || self.sack_blocks.get(packet) && !self.unsacked().contains(&packet)
    }

    /// The first packet of `from..to` that acknowledgments have not reported. They have reported
    /// all packets below `from`.
    pub(super) fn next_missing(&self, from: u64, to: u64) -> Option<u64> {
        if from < self.rcv_nxt.min(to) {
            return Some(from);
        }
        let unsacked = self.unsacked().iter().copied();
        let unsacked = unsacked.filter(|packet| (from..to).contains(packet));
        unsacked.chain(self.sack_blocks.next_clear(from, to)).min()
    }

    /// How many of them are.
    pub(super) fn count_missing(&self, from: u64, to: u64) -> u64 {
        if self.compression.is_none() && from >= self.rcv_nxt {
            return self.sack_blocks.count_clear(from, to);
        }
        let start = from.max(self.rcv_nxt.min(to));
        let unsacked = self.unsacked().iter();
        let unsacked = unsacked.filter(|packet| (start..to).contains(packet));
        start - from + self.sack_blocks.count_clear(start, to) + unsacked.count() as u64
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
        let at_once = |new| AckDecision::Immediate { new };
        assert_eq!((take(5), take(6)), (AckDecision::Delayed, at_once(true)));
        // 7 is missing: 8 and 9 ask for it, 7 fills the hole, 7 again is a duplicate.
        for (packet, new) in [(8, true), (9, true), (7, true), (7, false)] {
            assert_eq!(take(packet), at_once(new));
        }
        assert_eq!((receiver.rcv_nxt(), receiver.out_of_order()), (10, 0));
    }

    #[test]
    fn an_acknowledgment_is_due_so_long_after_the_first_packet_it_waits_for() {
        let mut receiver = Receiver::new(1, EVERY_SECOND, None);
        assert_eq!(receiver.acknowledgment_due(), None);
        assert_eq!(
            receiver.receive(arrival(1, Time::from_millis(7))),
            AckDecision::Delayed
        );
        assert_eq!(receiver.acknowledgment_due(), Some(Time::from_millis(47)));
        assert_eq!(receiver.acknowledge().in_order, 1);
        assert_eq!(receiver.acknowledgment_due(), None);
    }

    /// Checks the sender's knowledge: the packets that acknowledgments have reported, whatever else
    /// has arrived.
    fn assert_known(receiver: &Receiver, flow_stats: &BTreeSet<u64>) -> Result<(), TestCaseError> {
        let lowest = (1..=200).find(|p| !flow_stats.contains(p)).unwrap();
        prop_assert_eq!(receiver.last_ack_sent(), lowest);
        for from in [lowest, lowest + 1, lowest + 7] {
            let missing: Vec<u64> = (from..200).filter(|p| !flow_stats.contains(p)).collect();
            prop_assert_eq!(receiver.count_missing(from, 200), missing.len() as u64);
            prop_assert_eq!(receiver.next_missing(from, 200), missing.first().copied());
        }
        for p in 1..200 {
            prop_assert_eq!(receiver.has(p), flow_stats.contains(&p));
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
                let mut flow_stats = BTreeSet::new();
                for (step, packet) in arrivals.into_iter().enumerate() {
                    let in_order = packet == receiver.rcv_nxt() && receiver.out_of_order() == 0;
                    let fresh = arrived.insert(packet);
                    let reply = receiver.receive(arrival(packet, Time::from_micros(step as u64)));
                    match reply {
                        AckDecision::Immediate { new } => {
                            prop_assert_eq!(new, fresh);
                            let waited = receiver.acknowledge().in_order;
                            prop_assert!(waited <= packets);
                            prop_assert!(!in_order || waited == packets);
                            flow_stats.clone_from(&arrived);
                        }
                        AckDecision::Delayed => prop_assert!(in_order && packets > 1),
                        AckDecision::Discarded => prop_assert!(false),
                    }
                    let prefix = (1..=200).find(|p| !arrived.contains(p)).unwrap();
                    prop_assert_eq!(receiver.rcv_nxt(), prefix);
                    let sack_blocks = arrived.range(prefix..).count() as u64;
                    prop_assert_eq!(receiver.out_of_order(), sack_blocks);
                    assert_known(&receiver, &flow_stats)?;
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
            let mut flow_stats = BTreeSet::new();
            let mut acknowledged = 1;
            for (step, (first, count)) in arrivals.into_iter().enumerate() {
                let now = Time::from_micros(step as u64);
                let held = |packet| PendingPacket { arrival: arrival(packet, now), marked: false };
                let segment: Vec<PendingPacket> = (first..first + count).map(held).collect();
                let last = first + count - 1;
                arrived.extend(first..=last);
                let reply = receiver.receive_merged(&segment);
                let prefix = (1..=70).find(|p| !arrived.contains(p)).unwrap();
                prop_assert_eq!(receiver.rcv_nxt(), prefix);
                if let AckDecision::Immediate { new } = reply {
                    let AckInfo { in_order, sack_blocks } = receiver.acknowledge();
                    let delayed = acknowledged..acknowledged + u64::from(in_order);
                    let direct = new.then_some(last).filter(|last| *last >= delayed.end);
                    for packet in delayed.chain(sack_blocks).chain(direct) {
                        prop_assert!(flow_stats.insert(packet), "{}", packet);
                    }
                    acknowledged = prefix;
                    prop_assert_eq!(&flow_stats, &arrived);
                }
                assert_known(&receiver, &flow_stats)?;
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
