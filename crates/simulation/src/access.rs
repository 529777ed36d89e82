//! The access link of a flow, which its packets pass before all other links. Hosts send through it
//! into the network.

use forebay_scenario::FlowGroup;
use forebay_units::{Bytes, Rate, Time};

use crate::calendar::event::AccessWait;
use crate::calendar::{AccessQueue, WaitingPackets};
use crate::ids::LaneId;

/// A flow's own access link: packets leave it one after the other.
#[derive(Clone, Copy, Debug)]
pub struct AccessLink {
    rate: Rate,
    /// Size of a full packet in bytes, and the time that it takes.
    full: (u32, Time),
    busy_until: Time,
    /// Work that may wait; none for an unlimited queue.
    most_work: Option<Time>,
    /// Packets that wait behind the one that leaves next.
    queue: AccessQueue,
    /// Lane of what leaves it; none where there are too many different links.
    pub lane: Option<LaneId>,
}

impl AccessLink {
    /// The access link of a flow of this group, if it has one. `wire` is the size of its packets in
    /// bytes.
    pub fn new(group: &FlowGroup, wire: u32) -> Option<Self> {
        let access = group.access.as_ref()?;
        let transmission = access.rate.time_to_send(Bytes::new(u64::from(wire)));
        Some(Self {
            rate: access.rate,
            full: (wire, transmission),
            busy_until: Time::ZERO,
            most_work: access.queue.map(|queue| transmission.saturating_mul(queue)),
            queue: AccessQueue::EMPTY,
            lane: None,
        })
    }

    /// The time that a full packet takes.
    pub(crate) fn transmission(&self) -> Time {
        self.full.1
    }

    /// A packet of `size` bytes arrives: when it reaches the network and whether it waits before;
    /// `None` where the queue is full.
    pub fn enqueue(&mut self, now: Time, size: u32) -> Option<(Time, AccessWait)> {
        let ahead = self.busy_until.saturating_sub(now);
        if self.most_work.is_some_and(|most| ahead > most) {
            return None;
        }
        let wait = if ahead == Time::ZERO {
            AccessWait::None
        } else {
            AccessWait::BehindOthers
        };
        let transmission = if size == self.full.0 {
            self.full.1
        } else {
            self.rate.time_to_send(Bytes::new(u64::from(size)))
        };
        self.busy_until = now + ahead + transmission;
        Some((self.busy_until, wait))
    }

    /// The packet with this number will leave behind another one.
    pub(crate) fn wait(&mut self, leaving: (Time, u32), waiting: &mut WaitingPackets) {
        waiting.push(&mut self.queue, leaving);
    }

    /// The packet that leaves next after one has left: when, and its number.
    #[inline]
    pub(crate) fn next(&mut self, waiting: &mut WaitingPackets) -> Option<(Time, u32)> {
        waiting.pop(&mut self.queue)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two packets of 1 ms may wait behind the one that is sent, and what is taken leaves in order.
    #[test]
    fn packets_leave_one_after_the_other_and_beyond_the_limit_not_at_all() {
        let mut access = AccessLink {
            rate: Rate::from_bits_per_second(8_000_000),
            full: (1000, Time::from_millis(1)),
            busy_until: Time::ZERO,
            most_work: Some(Time::from_millis(2)),
            queue: AccessQueue::EMPTY,
            lane: None,
        };
        let fates: Vec<_> = (0..5).map(|_| access.enqueue(Time::ZERO, 1000)).collect();
        let (alone, behind) = (AccessWait::None, AccessWait::BehindOthers);
        let taken = [(1, alone), (2, behind), (3, behind)];
        let taken = taken.map(|(ms, wait)| Some((Time::from_millis(ms), wait)));
        assert_eq!(fates[..3], taken);
        assert_eq!(fates[3..], [None, None]);
        assert!(access.enqueue(Time::from_millis(1), 1000).is_some());
        access.most_work = None;
        assert!((0..50).all(|_| access.enqueue(Time::ZERO, 1000).is_some()));
    }
}
