//! Acknowledgements that cross links: they queue behind data of the other direction, and may be
//! dropped.
//!
//! Elsewhere a receiver answers over a constant delay and lives in its sender (see
//! [`crate::connection`]). Here it stands between the two paths and decides alone when to acknowledge. An
//! acknowledgement announces the packets that arrived since the one before, and those of others
//! that were dropped on the way, as cumulative and selective acknowledgements do; its sender
//! learns of them when it arrives. Half of the round trip that is left beside the links' delays lies on each
//! side of the receiver.
//!
//! Where an acknowledgement of a duplicate is dropped, a sender without SACK still counts the
//! duplicate when the next one arrives.

use std::collections::VecDeque;

use forebay_scenario::DelayedAck;
use forebay_units::Time;

use crate::calendar::{Event, Kind};
use crate::connection::{Receiver, Reply};
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
pub(crate) struct RemoteReceiver {
    /// The flow of its acknowledgements among the unresponsive ones.
    acks: u32,
    /// From the last link of that path to the sender.
    pub(crate) delay: Time,
    receiver: Receiver,
    timer_armed: bool,
    /// Number of the next acknowledgement.
    next: u32,
    announced: VecDeque<Announced>,
}

impl RemoteReceiver {
    fn new(acks: u32, delay: Time, policy: DelayedAck) -> Self {
        Self {
            acks,
            delay,
            receiver: Receiver::new(0, policy),
            timer_armed: false,
            next: 0,
            announced: VecDeque::new(),
        }
    }

    /// A transfer begins whose packets are numbered from `first` on.
    pub(crate) fn restart(&mut self, first: u64) {
        self.receiver.restart(first);
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
        flow.receiver = Some(Box::new(RemoteReceiver::new(
            self.unresponsive.len() as u32,
            delay,
            group.spec.stack.delayed_ack,
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
        let waits = receiver.receiver.receive(packet, now) == Reply::Later;
        if !waits || flow.connection.is_syn(packet) {
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
        let Some(receiver) = &mut self.flows[at].receiver else {
            return;
        };
        receiver.timer_armed = false;
        let Some(due) = receiver.receiver.acknowledgement_due() else {
            return;
        };
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
        receiver.receiver.acknowledge();
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
