//! Acknowledgments that cross links: they queue behind data of the other direction, and may be
//! dropped.
//!
//! Elsewhere a receiver answers over a constant delay and is a part of its sender (see
//! [`crate::connection`]). Here it is between the two paths and decides alone when to acknowledge.
//! An acknowledgment announces the packets that arrived since the one before, and the packets of
//! acknowledgments that were dropped on the way, as cumulative and selective acknowledgments do.
//! Its sender learns of them when the acknowledgment arrives. Half of the round trip that remains
//! beside the links' delays lies on each side of the receiver.
//!
//! Where an acknowledgment of a duplicate is dropped, a sender without SACK still counts the
//! duplicate when the next one arrives.

use std::collections::VecDeque;

use forebay_scenario::{DelayedAck, Recovery};
use forebay_simulation::{Mark, UnresponsiveId};
use forebay_units::Time;

use crate::connection::{AckDecision, HostDelay, PendingPacket, Receiver};

/// A packet that the sender does not know of yet.
#[derive(Clone, Copy, Debug)]
struct UnreportedArrival {
    /// The acknowledgment that says so.
    by: u32,
    packet: u32,
    /// The next packet that the receiver awaits from then on.
    rcv_nxt: u32,
    marked: bool,
    /// Whether the acknowledgment is a NACK, which says nothing of the packet itself.
    nack: bool,
}

/// The content of an acknowledgment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckContents {
    /// The next packet in order that the receiver awaits.
    pub(crate) rcv_nxt: u64,
    /// The packet that it answers.
    pub(crate) packet: u64,
}

/// A receiver whose acknowledgments take a path of links.
#[derive(Clone, Debug)]
pub(crate) struct RemoteReceiver {
    /// The flow of its acknowledgments among the unresponsive ones.
    acks: u32,
    /// From the last link of that path to the sender.
    pub(crate) delay: Time,
    policy: (Recovery, DelayedAck),
    receiver: Receiver,
    /// Number of the next acknowledgment.
    next: u32,
    unreported: VecDeque<UnreportedArrival>,
    /// Parts of the data, if their arrival is reported. Acknowledgments then cross no links.
    parts: Option<Parts>,
}

/// Parts of the data of a connection whose arrival is reported.
#[derive(Clone, Copy, Debug)]
struct Parts {
    /// Packets of a part.
    packets: u64,
    /// The packet after the first part that has not been reported.
    next: u64,
}

impl RemoteReceiver {
    /// A receiver whose acknowledgments are packets of the unresponsive flow `acks`.
    pub(crate) fn new(
        (acks, delay): (u32, Time),
        policy: (Recovery, DelayedAck),
        late: Option<HostDelay>,
    ) -> Self {
        let (recovery, delayed_ack) = policy;
        Self {
            policy,
            acks,
            delay,
            receiver: Receiver::new(0, delayed_ack, late).with(recovery),
            next: 0,
            unreported: VecDeque::new(),
            parts: None,
        }
    }

    /// Reports the arrival of each part of this many packets.
    pub(crate) fn report_parts(&mut self, packets: u64) {
        self.parts = Some(Parts {
            packets,
            next: packets,
        });
    }

    /// Whether its acknowledgments cross links.
    pub(crate) fn over_links(&self) -> bool {
        self.parts.is_none()
    }

    /// Whether a part has arrived that has not been reported.
    pub(crate) fn has_parts(&self) -> bool {
        let rcv_nxt = self.receiver.rcv_nxt();
        self.parts.is_some_and(|parts| parts.next <= rcv_nxt)
    }

    /// The number of such parts, which are reported now.
    pub(crate) fn take_parts(&mut self) -> u64 {
        let rcv_nxt = self.receiver.rcv_nxt();
        let Some(parts) = &mut self.parts else {
            return 0;
        };
        let arrived = (rcv_nxt + parts.packets).saturating_sub(parts.next) / parts.packets;
        parts.next += arrived * parts.packets;
        arrived
    }

    /// A transfer begins whose packets are numbered from `first` on.
    pub(crate) fn restart(&mut self, first: u64) {
        let host_delay = self.receiver.host_delay();
        let (recovery, delayed_ack) = self.policy;
        self.receiver = Receiver::new(first, delayed_ack, host_delay).with(recovery);
        if let Some(parts) = &mut self.parts {
            parts.next = first + parts.packets;
        }
    }

    /// A packet arrives.
    pub(crate) fn receive(&mut self, held: PendingPacket) -> AckDecision {
        let reply = self.receiver.receive(held.arrival);
        if reply != AckDecision::Discarded {
            self.announce(held);
        }
        reply
    }

    /// Consecutive packets arrive as one.
    pub(crate) fn receive_merged(&mut self, segment: &[PendingPacket]) -> AckDecision {
        if self.receiver.discards() {
            let replies = segment.iter().map(|held| self.receive(*held));
            let replies = replies.filter(|reply| *reply != AckDecision::Discarded);
            return replies.last().unwrap_or(AckDecision::Discarded);
        }
        let reply = self.receiver.receive_merged(segment);
        for held in segment {
            self.announce(*held);
        }
        reply
    }

    /// Whether packets wait at the network card.
    pub(crate) fn gathers(&self) -> bool {
        self.receiver.gathers()
    }

    /// A packet arrives at the network card.
    pub(crate) fn gather(&mut self, held: PendingPacket) {
        self.receiver.gather(held);
    }

    /// The packets that the network card delivers now.
    pub(crate) fn take_gathered(&mut self, now: Time, most: usize) -> Vec<Vec<PendingPacket>> {
        self.receiver.take_gathered(now, most)
    }

    /// The next packet in order.
    pub(crate) fn rcv_nxt(&self) -> u64 {
        self.receiver.rcv_nxt()
    }

    /// The flow of its acknowledgments.
    pub(crate) fn acks(&self) -> UnresponsiveId {
        UnresponsiveId::new(self.acks as usize)
    }

    /// The next acknowledgment announces this packet, which has just been received.
    fn announce(&mut self, held: PendingPacket) {
        self.unreported.push_back(UnreportedArrival {
            by: self.next,
            packet: held.arrival.packet as u32,
            rcv_nxt: self.receiver.rcv_nxt() as u32,
            marked: held.marked,
            nack: self.receiver.take_nack(),
        });
    }

    /// The content of acknowledgment `number`, while it is on its way.
    pub(crate) fn fields(&self, number: u32) -> AckContents {
        let sent = |each: &UnreportedArrival| number.wrapping_sub(each.by) <= u32::MAX / 2;
        let last = self.unreported.partition_point(sent).checked_sub(1);
        let Some(last) = last.map(|at| self.unreported[at]) else {
            let rcv_nxt = self.receiver.rcv_nxt();
            return AckContents {
                rcv_nxt,
                packet: rcv_nxt,
            };
        };
        AckContents {
            rcv_nxt: self.receiver.full_number(last.rcv_nxt),
            packet: self.receiver.full_number(last.packet),
        }
    }

    /// The next packet that acknowledgment `number`, or one lost before it, announces: its low
    /// bits and mark. A lost NACK stays lost.
    pub(crate) fn next_announced(&mut self, number: u32) -> Option<(u32, Mark)> {
        let known = |next: &&UnreportedArrival| number.wrapping_sub(next.by) <= u32::MAX / 2;
        loop {
            let next = *self.unreported.front().filter(known)?;
            self.unreported.pop_front();
            if !next.nack || next.by == number {
                return Some((next.packet, Mark::of(next.marked)));
            }
        }
    }

    /// An acknowledgment sets out: its number.
    pub(crate) fn set_out(&mut self) -> u32 {
        self.receiver.acknowledge();
        let number = self.next;
        self.next = number.wrapping_add(1);
        number
    }

    /// When a delayed acknowledgment is due, where one is.
    pub(crate) fn acknowledgment_due(&self) -> Option<Time> {
        self.receiver.acknowledgment_due()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::Arrival;

    /// The packets that the acknowledgments with these numbers announce, if all before are lost.
    fn announced(receiver: &mut RemoteReceiver, number: u32) -> Vec<u32> {
        let next = || receiver.next_announced(number);
        std::iter::from_fn(next).map(|(packet, _)| packet).collect()
    }

    #[test]
    fn a_lost_nack_stays_lost_and_its_packet_is_discarded() {
        for is_lost in [false, true] {
            let policy = (Recovery::GoBackN, DelayedAck::AT_ONCE);
            let mut receiver = RemoteReceiver::new((0, Time::ZERO), policy, None);
            receiver.restart(1);
            let mut numbers = Vec::new();
            // 2 is missing: 3 causes a NACK, 4 and 5 nothing.
            for packet in [1, 3, 4, 5, 2] {
                let arrival = Arrival {
                    packet,
                    now: Time::ZERO,
                    pushed: false,
                    rtt: Time::ZERO,
                };
                let marked = false;
                match receiver.receive(PendingPacket { arrival, marked }) {
                    AckDecision::Immediate { .. } => numbers.push(receiver.set_out()),
                    reply => assert_eq!(reply, AckDecision::Discarded),
                }
            }
            assert_eq!((receiver.rcv_nxt(), numbers.len()), (3, 3));
            assert_eq!(announced(&mut receiver, numbers[0]), [1]);
            if !is_lost {
                assert_eq!(announced(&mut receiver, numbers[1]), [3]);
            }
            assert_eq!(announced(&mut receiver, numbers[2]), [2]);
        }
    }
}
