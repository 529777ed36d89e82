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
    /// How it stands if a lossless queue behind it may pause it.
    pause: Option<Pause>,
    /// Lane of what leaves it; none where there are too many different links.
    pub lane: Option<LaneId>,
}

/// How an access link stands that may be paused.
#[derive(Clone, Copy, Debug, Default)]
struct Pause {
    /// Pauses that have begun, less those that have ended. Frames of one instant come in any order.
    by: i32,
    /// Whether a packet is in transmission.
    transmits: bool,
    /// Transmission time of the packets that wait behind it.
    work: Time,
}

impl AccessLink {
    /// The access link of a flow of this group, if it has one. `wire` is the size of its packets in
    /// bytes.
    pub fn new(group: &FlowGroup, wire: u32) -> Option<Self> {
        let access = group.access.as_ref()?;
        Some(Self::of(access.rate, access.queue, wire))
    }

    /// The access link of a flow of this group in front of a lossless queue, which may pause it.
    /// Without an access link the host sends at the rate of that queue, `rate`.
    pub(crate) fn pausable(group: &FlowGroup, wire: u32, rate: Rate) -> Self {
        Self {
            pause: Some(Pause::default()),
            ..Self::new(group, wire).unwrap_or_else(|| Self::of(rate, None, wire))
        }
    }

    /// An access link of this rate with room for `queue` packets.
    fn of(rate: Rate, queue: Option<u64>, wire: u32) -> Self {
        let transmission = rate.time_to_send(Bytes::new(u64::from(wire)));
        Self {
            rate,
            full: (wire, transmission),
            busy_until: Time::ZERO,
            most_work: queue.map(|queue| transmission.saturating_mul(queue)),
            queue: AccessQueue::EMPTY,
            pause: None,
            lane: None,
        }
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
        self.busy_until = now + ahead + self.time_to_send(size);
        Some((self.busy_until, wait))
    }

    /// The time that a packet of `size` bytes takes.
    fn time_to_send(&self, size: u32) -> Time {
        if size == self.full.0 {
            return self.full.1;
        }
        self.rate.time_to_send(Bytes::new(u64::from(size)))
    }

    /// A packet comes: it is sent, it waits, or it is lost. A pause holds the first packet of the
    /// queue in its place.
    #[inline]
    pub(crate) fn take(
        &mut self,
        (now, number, size): (Time, u32, u32),
        waiting: &mut WaitingPackets,
    ) -> Taken {
        if self.pause.is_some() {
            return self.take_or_hold((now, number, size), waiting);
        }
        match (self.enqueue(now, size), self.lane) {
            (None, _) => Taken::Lost,
            (Some((leaves, AccessWait::BehindOthers)), Some(_)) => {
                waiting.push(&mut self.queue, (leaves, number));
                Taken::Waits
            }
            (Some((leaves, wait)), _) => Taken::Sent(leaves, wait),
        }
    }

    /// The same where the link may be paused.
    #[inline(never)]
    fn take_or_hold(
        &mut self,
        (now, number, size): (Time, u32, u32),
        waiting: &mut WaitingPackets,
    ) -> Taken {
        let own = self.time_to_send(size);
        let pause = self.pause.get_or_insert_default();
        if !pause.transmits && pause.by <= 0 && self.queue.is_empty() {
            pause.transmits = true;
            self.busy_until = now + own;
            return Taken::Sent(self.busy_until, AccessWait::None);
        }
        let ahead = self.busy_until.saturating_sub(now) + pause.work;
        if self.most_work.is_some_and(|most| ahead > most) {
            return Taken::Lost;
        }
        pause.work += own;
        waiting.push(&mut self.queue, (own, number));
        Taken::Waits
    }

    /// A packet has left: the packet that is sent after it, if one waits and may be sent. When it
    /// has left, and its number.
    #[inline]
    pub(crate) fn next(&mut self, now: Time, waiting: &mut WaitingPackets) -> Option<(Time, u32)> {
        match &mut self.pause {
            None => waiting.pop(&mut self.queue),
            Some(pause) => {
                pause.transmits = false;
                self.next_unpaused(now, waiting)
            }
        }
    }

    /// Whether packets wait.
    pub(crate) fn has_waiting(&self) -> bool {
        !self.queue.is_empty()
    }

    /// A pause begins or ends: the packet that may be sent then.
    pub(crate) fn pause(
        &mut self,
        begins: bool,
        now: Time,
        waiting: &mut WaitingPackets,
    ) -> Option<(Time, u32)> {
        self.pause.as_mut()?.by += if begins { 1 } else { -1 };
        self.next_unpaused(now, waiting)
    }

    /// The next packet if no pause holds it: when it has left, and its number.
    #[inline(never)]
    fn next_unpaused(&mut self, now: Time, waiting: &mut WaitingPackets) -> Option<(Time, u32)> {
        let pause = self.pause.as_mut()?;
        if pause.by > 0 || pause.transmits {
            return None;
        }
        let (own, number) = waiting.pop(&mut self.queue)?;
        pause.work -= own;
        pause.transmits = true;
        self.busy_until = now + own;
        Some((self.busy_until, number))
    }
}

/// The fate of a packet at an access link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// It has left at this time.
    Sent(Time, AccessWait),
    /// It waits for others to leave.
    Waits,
    /// There was no place.
    Lost,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two packets of 1 ms may wait behind the one that is sent, and what is taken leaves in order.
    #[test]
    fn packets_leave_one_after_the_other_and_beyond_the_limit_not_at_all() {
        let rate = Rate::from_bits_per_second(8_000_000);
        let mut access = AccessLink::of(rate, Some(2), 1000);
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
