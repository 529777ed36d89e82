//! Acknowledgements that cross links: they queue behind data of the other direction, and may be
//! dropped.
//!
//! Elsewhere a receiver answers over a constant delay and lives in its sender (see
//! [`crate::sender`]). Here it stands between the two paths and decides alone when to acknowledge. An
//! acknowledgement announces the packets that arrived since the one before, and those of others
//! that were dropped on the way, as cumulative and selective acknowledgements do; its sender
//! learns of them when it arrives. Half of the round trip that is left beside the links' delays lies on each
//! side of the receiver.
//!
//! Where an acknowledgement of a duplicate is dropped, a sender without SACK still counts the
//! duplicate when the next one arrives.

use std::collections::VecDeque;

use forebay_units::Time;

use crate::bitmap::Bitmap;
use crate::calendar::{Event, Kind};
use crate::flow::{Acks, Unresponsive};
use crate::simulation::{LAST_FLOW, Simulation};

/// A packet that the sender does not know of yet.
#[derive(Clone, Copy, Debug)]
struct Announced {
    /// The acknowledgement that says so.
    by: u32,
    packet: u32,
    marked: bool,
}

/// A receiver whose acknowledgements take a path of links.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    /// The flow of its acknowledgements among the unresponsive ones.
    acks: u32,
    /// From the last link of that path to the sender.
    pub(crate) delay: Time,
    /// The next packet in order.
    expected: u64,
    /// Packets beyond it that have arrived.
    received: Bitmap,
    out_of_order: u64,
    /// Packets in order that are not acknowledged, and since when.
    pending: u32,
    pending_since: Time,
    timer_armed: bool,
    /// Number of the next acknowledgement.
    next: u32,
    announced: VecDeque<Announced>,
}

/// What a receiver does about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reply {
    AtOnce,
    /// It waits for more packets or a timer.
    Later,
}

impl Receiver {
    fn new(acks: u32, delay: Time) -> Self {
        Self {
            acks,
            delay,
            expected: 0,
            received: Bitmap::default(),
            out_of_order: 0,
            pending: 0,
            pending_since: Time::ZERO,
            timer_armed: false,
            next: 0,
            announced: VecDeque::new(),
        }
    }

    /// A transfer begins whose packets are numbered from `first` on.
    pub(crate) fn restart(&mut self, first: u64) {
        self.expected = first;
        self.received = Bitmap::default();
        self.out_of_order = 0;
        self.pending = 0;
    }

    /// A packet arrives; those in order may wait for `together` of them (RFC 5681 section 4.2).
    fn take(&mut self, packet: u64, together: u32, now: Time) -> Reply {
        if packet != self.expected || self.out_of_order > 0 {
            self.take_otherwise(packet);
            return Reply::AtOnce;
        }
        self.expected += 1;
        self.pending += 1;
        if self.pending == 1 {
            self.pending_since = now;
        }
        if self.pending < together {
            Reply::Later
        } else {
            Reply::AtOnce
        }
    }

    fn take_otherwise(&mut self, packet: u64) {
        if packet > self.expected {
            self.out_of_order += u64::from(self.received.set(packet, self.expected));
        } else if packet == self.expected {
            let next = self.received.take_run(packet + 1);
            self.out_of_order -= next - (packet + 1);
            self.expected = next;
        }
    }
}

impl Simulation<'_> {
    /// Gives a flow whose group has a reverse path its receiver.
    pub(crate) fn attach_receiver(&mut self, at: usize, delay: Time) {
        let flow = &mut self.flows[at];
        let group = &self.groups[flow.group as usize];
        let Some(route) = group.ack_route else {
            return;
        };
        let acks = Acks {
            flow: at as u32,
            bytes: group.spec.stack.syn().get() as u32,
        };
        flow.direct = false;
        flow.receiver = Some(Box::new(Receiver::new(
            self.unresponsive.len() as u32,
            delay,
        )));
        self.unresponsive.push(Unresponsive {
            group: flow.group,
            route,
            acks: Some(acks),
            ..Unresponsive::default()
        });
    }

    /// A data packet reaches a receiver.
    #[inline(never)]
    pub(crate) fn receive(&mut self, event: Event) {
        let (at, now) = (event.flow() as usize, event.time);
        let flow = &mut self.flows[at];
        let packet = flow.connection.full_number(event.packet());
        let stack = &self.groups[flow.group as usize].spec.stack;
        let Some(receiver) = &mut flow.receiver else {
            return;
        };
        if packet < flow.connection.first() {
            // Of an earlier transfer.
            return;
        }
        receiver.announced.push_back(Announced {
            by: receiver.next,
            packet: event.packet(),
            marked: event.kind() == Kind::MarkedDelivery as u8,
        });
        let together = if flow.connection.is_syn(packet) {
            1
        } else {
            stack.delayed_ack.packets
        };
        if receiver.take(packet, together, now) == Reply::AtOnce {
            self.reply(at, now);
        } else if !receiver.timer_armed {
            receiver.timer_armed = true;
            let due = now.saturating_add(stack.delayed_ack.timeout);
            self.calendar
                .push(Event::new(due, Kind::DelayedAck, at as u32, 0));
        }
    }

    /// A receiver's timer for delayed acknowledgements.
    pub(crate) fn receiver_timer(&mut self, at: usize, now: Time) {
        let flow = &mut self.flows[at];
        let stack = &self.groups[flow.group as usize].spec.stack;
        let Some(receiver) = &mut flow.receiver else {
            return;
        };
        receiver.timer_armed = false;
        if receiver.pending == 0 {
            return;
        }
        let due = receiver
            .pending_since
            .saturating_add(stack.delayed_ack.timeout);
        if due > now {
            receiver.timer_armed = true;
            self.calendar
                .push(Event::new(due, Kind::DelayedAck, at as u32, 0));
        } else {
            self.reply(at, now);
        }
    }

    /// An acknowledgement sets out.
    fn reply(&mut self, at: usize, now: Time) {
        let Some(receiver) = &mut self.flows[at].receiver else {
            return;
        };
        receiver.pending = 0;
        let (flow, number) = (LAST_FLOW - receiver.acks, receiver.next);
        receiver.next = receiver.next.wrapping_add(1);
        self.arrive(flow, number, 0, now);
    }

    /// An acknowledgement has left the last link of its path at `departure`.
    pub(crate) fn send_back(&mut self, acks: Acks, flow: u32, number: u32, departure: Time) {
        let receiver = &self.flows[acks.flow as usize].receiver;
        let delay = receiver.as_ref().map_or(Time::ZERO, |r| r.delay);
        let time = departure.saturating_add(delay);
        let event = Event::new(time, Kind::Delivery, flow, number);
        self.calendar.push_frequent(event);
    }

    /// An acknowledgement reaches its sender, with what it and those lost before it announce.
    pub(crate) fn acknowledged(&mut self, acks: Acks, number: u32, now: Time) {
        let at = acks.flow as usize;
        let flow = &mut self.flows[at];
        let Some(receiver) = &mut flow.receiver else {
            return;
        };
        while let Some(next) = receiver.announced.front()
            && number.wrapping_sub(next.by) <= u32::MAX / 2
        {
            let packet = flow.connection.full_number(next.packet);
            if next.marked {
                flow.connection.deliver_marked(packet, now);
            } else {
                flow.connection.deliver(packet, now);
            }
            receiver.announced.pop_front();
        }
        self.send(at, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_in_order_wait_for_each_other_and_others_do_not() {
        let mut receiver = Receiver::new(0, Time::ZERO);
        receiver.restart(5);
        let mut take = |packet| receiver.take(packet, 2, Time::ZERO);
        assert_eq!((take(5), take(6)), (Reply::Later, Reply::AtOnce));
        // 7 is missing: 8 and 9 ask for it, 7 fills the hole, 7 again is a duplicate.
        for packet in [8, 9, 7, 7] {
            assert_eq!(take(packet), Reply::AtOnce);
        }
        assert_eq!((receiver.expected, receiver.out_of_order), (10, 0));
    }
}
