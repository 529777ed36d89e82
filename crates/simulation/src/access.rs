//! The access link of a flow, which its packets pass before all other links. Hosts send through it
//! into the network.

use forebay_scenario::FlowGroup;
use forebay_units::{Bytes, Rate, Time};

use crate::calendar::event::AccessWait;
use crate::ids::LaneId;

/// A flow's own access link: packets leave it one after the other.
#[derive(Clone, Copy, Debug)]
pub struct AccessLink {
    rate: Rate,
    busy_until: Time,
    /// Work that may wait; none for an unlimited queue.
    most_work: Option<Time>,
    /// Lane of what leaves it; none where its flow joined too late to have one.
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
            busy_until: Time::ZERO,
            most_work: access.queue.map(|queue| transmission.saturating_mul(queue)),
            lane: None,
        })
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
        self.busy_until = now + ahead + self.rate.time_to_send(Bytes::new(u64::from(size)));
        Some((self.busy_until, wait))
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
            busy_until: Time::ZERO,
            most_work: Some(Time::from_millis(2)),
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
