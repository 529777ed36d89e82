//! Packets that wait at access links behind others of their flow. Only the first packet of a queue
//! is in the calendar.

use forebay_units::Time;

/// No packet.
const NONE: u32 = u32::MAX;

/// A packet, and the place of the one behind it or of the next free one.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// The time at which it leaves; the one that it takes, if a pause may hold it.
    time: Time,
    number: u32,
    next: u32,
}

/// The queue of one access link: the places of its first and its last packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AccessQueue {
    first: u32,
    last: u32,
}

impl AccessQueue {
    pub(crate) const EMPTY: Self = Self {
        first: NONE,
        last: NONE,
    };

    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.first == NONE
    }
}

/// The packets of all queues.
#[derive(Debug)]
pub(crate) struct WaitingPackets {
    places: Vec<Waiting>,
    free: u32,
    count: usize,
}

impl WaitingPackets {
    pub(super) const fn new() -> Self {
        Self {
            places: Vec::new(),
            free: NONE,
            count: 0,
        }
    }

    /// Adds a packet at the end of a queue; `time` is when it leaves, or what it takes.
    pub(crate) fn push(&mut self, queue: &mut AccessQueue, (time, number): (Time, u32)) {
        let waiting = Waiting {
            time,
            number,
            next: NONE,
        };
        let at = self.free;
        let at = if let Some(place) = self.places.get_mut(at as usize) {
            self.free = place.next;
            *place = waiting;
            at
        } else {
            self.places.push(waiting);
            (self.places.len() - 1) as u32
        };
        match self.places.get_mut(queue.last as usize) {
            Some(last) => last.next = at,
            None => queue.first = at,
        }
        queue.last = at;
        self.count += 1;
    }

    /// Removes the first packet of a queue: its time and its number.
    #[inline]
    pub(crate) fn pop(&mut self, queue: &mut AccessQueue) -> Option<(Time, u32)> {
        let place = self.places.get_mut(queue.first as usize)?;
        let packet = (place.time, place.number);
        let at = std::mem::replace(&mut queue.first, place.next);
        place.next = std::mem::replace(&mut self.free, at);
        if queue.is_empty() {
            queue.last = NONE;
        }
        self.count -= 1;
        Some(packet)
    }

    /// Packets in all queues.
    pub(super) fn len(&self) -> usize {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// However pushes and pops of several queues mix, each is first in, first out.
        #[test]
        fn every_queue_keeps_its_order(
            steps in prop::collection::vec((0usize..5, prop::bool::ANY), 1..300),
        ) {
            let mut packets = WaitingPackets::new();
            let mut queues = [AccessQueue::EMPTY; 5];
            let mut expected: [VecDeque<(Time, u32)>; 5] = Default::default();
            for (step, (at, pushes)) in steps.into_iter().enumerate() {
                let packet = (Time::from_picos(step as u64), step as u32);
                if pushes {
                    packets.push(&mut queues[at], packet);
                    expected[at].push_back(packet);
                } else {
                    prop_assert_eq!(packets.pop(&mut queues[at]), expected[at].pop_front());
                }
                prop_assert_eq!(queues[at].is_empty(), expected[at].is_empty());
                prop_assert_eq!(packets.len(), expected.iter().map(VecDeque::len).sum::<usize>());
            }
        }
    }
}
