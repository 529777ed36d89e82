//! The scheduler of flow queueing (RFC 8290 sections 4.1 and 4.2): deficit round robin over the
//! queues. New queues, which have just become active, go before the old ones. FQ-CoDel, FQ-PIE and
//! CAKE use it.

use forebay_units::Bytes;
use forebay_units::parameter::{Parameter, ParameterKind, Parameters, Value};

use crate::flow_queues::{FlowQueues, Longest, QueueList};
use crate::packet::Packet;
use crate::queue_discipline::Storage;

/// The parameter `flows`.
pub(crate) const FLOWS: Parameter = Parameter {
    name: "flows",
    meaning: "Number of queues that flows are hashed into (RFC 8290 section 5.2.1).",
    kind: ParameterKind::Number {
        min: 1.0,
        max: 1_048_576.0,
        unit: "queues",
    },
    default: Value::Number(1024.0),
};

/// The parameter `quantum`.
pub(crate) const QUANTUM: Parameter = Parameter {
    name: "quantum",
    meaning: "Size that a queue may send per turn, at least 64 bytes (RFC 8290 section 5.2.3).",
    kind: ParameterKind::Bytes,
    default: Value::Bytes(Bytes::new(1514)),
};

/// The value of the parameter `quantum`, in bytes.
pub(crate) fn quantum(parameters: &Parameters) -> f64 {
    parameters.bytes("quantum").get().clamp(64, 1 << 40) as f64
}

/// The list that a queue is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Place {
    /// In no list: the queue is empty and has had its turn.
    #[default]
    Nowhere,
    New,
    Old,
}

/// The scheduler's state of a queue.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Member {
    /// Bytes that the queue may send; negative if it has sent more. Whole bytes are exact, far
    /// below 2^53.
    credits: f64,
    place: Place,
}

/// Queues that take turns, each with a state of the discipline.
#[derive(Clone, Debug)]
pub(crate) struct FlowScheduler<S> {
    pub(crate) queues: FlowQueues<Member>,
    states: Vec<S>,
    new: QueueList,
    old: QueueList,
}

impl<S: Clone> FlowScheduler<S> {
    /// Memory of the scheduler. A discipline that drops at departure may discard all waiting
    /// packets at once.
    pub(crate) const STORAGE: Storage = {
        let queues = FlowQueues::<Member>::STORAGE.with_flow(size_of::<S>());
        Storage {
            packet: queues.packet + size_of::<Packet>(),
            ..queues
        }
    };

    pub(crate) fn new(longest: Longest) -> Self {
        Self {
            queues: FlowQueues::new(longest),
            states: Vec::new(),
            new: QueueList::default(),
            old: QueueList::default(),
        }
    }

    /// Makes sure that queue number `queue` exists. New queues begin with `state`.
    #[inline]
    pub(crate) fn ensure(&mut self, queue: u32, state: S) {
        self.queues.ensure(queue);
        let count = queue as usize + 1;
        if count > self.states.len() {
            self.states.resize(count, state);
        }
    }

    /// The number of queues.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.queues.len()
    }

    /// The discipline's state of a queue, and the packets of all queues.
    #[inline]
    pub(crate) fn state_and_queues(&mut self, queue: u32) -> (&mut S, &mut FlowQueues<Member>) {
        (&mut self.states[queue as usize], &mut self.queues)
    }

    /// Adds a packet at a queue's tail. A queue that becomes active is new and gets the `quantum`
    /// of its state (RFC 8290 section 4.1).
    #[expect(
        clippy::inline_always,
        reason = "a call would pass the packet in memory"
    )]
    #[inline(always)]
    pub(crate) fn push(&mut self, queue: u32, packet: Packet, quantum: impl FnOnce(&mut S) -> f64) {
        let member = self.queues.state(queue);
        if member.place == Place::Nowhere {
            member.place = Place::New;
            member.credits = quantum(&mut self.states[queue as usize]);
            self.queues.append(&mut self.new, queue);
        }
        self.queues.push(queue, packet);
    }

    /// The queue whose turn it is: the first with credits left. Each queue before it gets the
    /// `quantum` of its state and of the list that it leaves. It then goes to the end of the old
    /// queues (RFC 8290 section 4.2). The caller charges the bytes sent, or retires the queue if it
    /// has no packet.
    #[inline]
    pub(crate) fn next(&mut self, mut quantum: impl FnMut(&mut S, Place) -> f64) -> Option<u32> {
        loop {
            let queue = self.new.first().or_else(|| self.old.first())?;
            let member = self.queues.state(queue);
            // As in Linux; the RFC has below zero.
            if member.credits > 0.0 {
                return Some(queue);
            }
            member.credits += quantum(&mut self.states[queue as usize], member.place);
            self.move_to_old(queue);
        }
    }

    /// Charges `size` bytes to the queue.
    #[inline]
    pub(crate) fn charge(&mut self, queue: u32, size: u32) {
        self.queues.state(queue).credits -= f64::from(size);
    }

    /// Retires the queue whose turn it is, because it has no packet. Returns the list that it
    /// leaves and the place where it goes. An empty new queue takes a turn among the old queues, if
    /// there are any, before it may be new again. No flow is therefore always new (RFC 8290 section
    /// 4.2).
    pub(crate) fn retire(&mut self, queue: u32) -> (Place, Place) {
        let from = self.queues.state(queue).place;
        if from == Place::New && self.old.first().is_some() {
            self.move_to_old(queue);
            return (from, Place::Old);
        }
        let list = match from {
            Place::New => &mut self.new,
            _ => &mut self.old,
        };
        self.queues.remove(list, queue);
        self.queues.state(queue).place = Place::Nowhere;
        (from, Place::Nowhere)
    }

    /// Moves the queue at the head of its list to the end of the old ones.
    fn move_to_old(&mut self, queue: u32) {
        let member = self.queues.state(queue);
        if member.place == Place::Old {
            self.queues.rotate(&mut self.old);
            return;
        }
        member.place = Place::Old;
        self.queues.remove(&mut self.new, queue);
        self.queues.append(&mut self.old, queue);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::testing::packet;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    const QUANTUM: i64 = 1000;

    /// RFC 8290 sections 4.1 and 4.2 with plain lists.
    #[derive(Default)]
    struct Model {
        queues: [VecDeque<Packet>; 5],
        credits: [i64; 5],
        new: VecDeque<usize>,
        old: VecDeque<usize>,
    }

    impl Model {
        fn push(&mut self, queue: usize, packet: Packet) {
            self.queues[queue].push_back(packet);
            if !self.new.contains(&queue) && !self.old.contains(&queue) {
                self.new.push_back(queue);
                self.credits[queue] = QUANTUM;
            }
        }

        fn pop(&mut self) -> Option<Packet> {
            loop {
                let is_new = !self.new.is_empty();
                let list = if is_new { &mut self.new } else { &mut self.old };
                let queue = *list.front()?;
                if self.credits[queue] > 0
                    && let Some(packet) = self.queues[queue].pop_front()
                {
                    self.credits[queue] -= i64::from(packet.size);
                    return Some(packet);
                }
                list.pop_front();
                if self.credits[queue] <= 0 {
                    self.credits[queue] += QUANTUM;
                    self.old.push_back(queue);
                } else if is_new && !self.old.is_empty() {
                    self.old.push_back(queue);
                }
            }
        }
    }

    fn scheduler() -> FlowScheduler<u32> {
        let mut scheduler = FlowScheduler::new(Longest::Untracked);
        scheduler.ensure(4, 0);
        scheduler
    }

    /// The packet to send. Each queue's state is the number of quanta that it received.
    fn pop(scheduler: &mut FlowScheduler<u32>) -> Option<Packet> {
        loop {
            let queue = scheduler.next(|given, _| {
                *given += 1;
                QUANTUM as f64
            })?;
            if let Some(packet) = scheduler.queues.pop(queue) {
                scheduler.charge(queue, packet.size);
                return Some(packet);
            }
            scheduler.retire(queue);
        }
    }

    fn push(scheduler: &mut FlowScheduler<u32>, packet: Packet) {
        scheduler.push(packet.flow, packet, |given| {
            *given += 1;
            QUANTUM as f64
        });
    }

    proptest! {
        /// The turns agree with plain lists.
        #[test]
        fn turns_are_those_of_a_plain_model(
            steps in prop::collection::vec((0u32..5, 40u32..3000, 0u8..2), 1..400),
        ) {
            let (mut scheduler, mut model) = (scheduler(), Model::default());
            for (number, (queue, size, step)) in steps.into_iter().enumerate() {
                if step == 0 {
                    let packet = packet(queue, number as u32, size);
                    push(&mut scheduler, packet);
                    model.push(queue as usize, packet);
                } else {
                    prop_assert_eq!(pop(&mut scheduler), model.pop());
                }
            }
            while let Some(packet) = model.pop() {
                prop_assert_eq!(pop(&mut scheduler), Some(packet));
            }
            prop_assert_eq!(pop(&mut scheduler), None);
        }
    }

    #[test]
    fn an_empty_new_queue_takes_a_turn_among_the_old_ones() {
        let mut scheduler = scheduler();
        let next = |scheduler: &mut FlowScheduler<u32>| scheduler.next(|_, _| QUANTUM as f64);
        for queue in 0..2 {
            push(&mut scheduler, packet(queue, 0, 100));
            assert_eq!(next(&mut scheduler), Some(0));
        }
        // The first queue goes to the old ones with its credits used up. The empty ones then wait
        // for a turn.
        scheduler.charge(0, 1000);
        assert_eq!(next(&mut scheduler), Some(1));
        assert_eq!(scheduler.retire(1), (Place::New, Place::Old));
        assert_eq!(next(&mut scheduler), Some(0));
        assert_eq!(scheduler.retire(0), (Place::Old, Place::Nowhere));
        assert_eq!(scheduler.retire(1), (Place::Old, Place::Nowhere));
        // No queue is old, so this one does not wait.
        push(&mut scheduler, packet(2, 0, 100));
        assert_eq!(scheduler.retire(2), (Place::New, Place::Nowhere));
        assert_eq!(next(&mut scheduler), None);
    }
}
