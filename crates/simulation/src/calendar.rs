//! The calendar: what happens next.
//!
//! Deliveries whose delay is one constant per lane arrive in the order they are pushed, so a lane
//! is a ring and only its head competes. Many lanes would make the merge the cost: then deliveries
//! go into a wheel of time buckets. Timers and other rare events sit in a heap. The order is that
//! of (time, tag) whatever the structure: it never depends on the order of insertion.

mod access_queue;
pub(crate) mod event;
mod lanes;
mod ring;
mod side_lanes;
mod wheel;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use forebay_units::Time;

pub(crate) use self::access_queue::AccessQueue;
pub(crate) use self::access_queue::WaitingPackets;
use self::lanes::Lanes;
pub use self::lanes::MAX_LANES;
pub(crate) use self::side_lanes::MAX_SIDE_LANES;
use self::side_lanes::SideLanes;
use self::wheel::Wheel;
use crate::calendar::event::{Event, NEVER};
use crate::ids::LaneId;

/// The storage of deliveries.
// Each packet asks three times which it is: a tag of its own is quicker to compare than a niche.
#[derive(Debug)]
#[repr(u8)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one of them, and it must not be behind a pointer"
)]
enum Deliveries {
    /// One ring per constant delay.
    Lanes(Lanes),
    Wheel(Wheel),
    /// A wheel, and rings beside it for what leaves access links.
    Beside(Wheel, SideLanes),
}

/// The storage of timers and other rare events.
#[derive(Debug)]
enum Rare {
    Heap(BinaryHeap<Reverse<Event>>),
    /// With many flows a heap no longer fits into the caches.
    Wheel(Wheel),
}

impl Rare {
    /// More flows than this have their timers in a wheel.
    const MAX_HEAP: usize = 256;

    /// About one timer per flow and second.
    fn new(flows: usize, end: Time) -> Self {
        if flows > Self::MAX_HEAP {
            let grain = Time::from_picos(Time::from_secs(1).as_picos() / flows as u64);
            Self::Wheel(Wheel::new(grain, end))
        } else {
            Self::Heap(BinaryHeap::new())
        }
    }

    /// The first event, or an instant before which there is none.
    fn next(&self) -> Event {
        match self {
            Self::Heap(heap) => heap.peek().map_or(NEVER, |Reverse(event)| *event),
            Self::Wheel(wheel) => wheel.bound(),
        }
    }
}

/// All future events.
#[derive(Debug)]
pub struct Calendar {
    deliveries: Deliveries,
    rare: Rare,
    /// The result of [`Rare::next`], stored here so that the common comparison is one load.
    next_rare: Event,
    /// Packets that wait at access links.
    pub(crate) waiting: WaitingPackets,
}

/// The ways of deliveries for which a calendar has rings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ways {
    /// All of them: this many constant delays.
    Constant(usize),
    /// The delays are not constant, except for those of this many kinds of access link.
    Access(usize),
}

impl Calendar {
    /// A calendar with rings for `ways`. `grain` is about the time between two deliveries, `end`
    /// that of the run.
    pub(crate) fn new(ways: Ways, grain: Time, flows: usize, end: Time) -> Self {
        let deliveries = match ways {
            Ways::Constant(count) => Deliveries::Lanes(Lanes::new(count.clamp(1, MAX_LANES))),
            Ways::Access(0) => Deliveries::Wheel(Wheel::new(grain, end)),
            Ways::Access(count) => {
                Deliveries::Beside(Wheel::new(grain, end), SideLanes::new(count))
            }
        };
        Self {
            deliveries,
            rare: Rare::new(flows, end),
            next_rare: NEVER,
            waiting: WaitingPackets::new(),
        }
    }

    /// Adds an event to a lane; within one lane the times never fall.
    #[inline]
    pub fn push_delivery(&mut self, lane: LaneId, event: Event) {
        match &mut self.deliveries {
            Deliveries::Lanes(lanes) => lanes.push(lane, event),
            Deliveries::Wheel(wheel) | Deliveries::Beside(wheel, _) => wheel.push(event),
        }
    }

    /// Adds the end of a transmission on an access link, to the lane of links with that
    /// transmission time if there is one. Ends of shorter packets may be out of order.
    #[inline]
    pub(crate) fn push_access(&mut self, lane: Option<LaneId>, event: Event) {
        let pushed = match (&mut self.deliveries, lane) {
            (Deliveries::Lanes(lanes), Some(lane)) => lanes.insert(lane, event),
            (Deliveries::Beside(_, side), Some(lane)) => side.insert(lane, event),
            _ => Err(event),
        };
        if let Err(event) = pushed {
            self.push_frequent(event);
        }
    }

    /// Adds any other event.
    pub fn push(&mut self, event: Event) {
        match &mut self.rare {
            Rare::Heap(heap) => heap.push(Reverse(event)),
            Rare::Wheel(wheel) => wheel.push(event),
        }
        self.next_rare = self.rare.next();
    }

    /// Adds an event that occurs about once per packet but in no lane's order.
    #[inline]
    pub fn push_frequent(&mut self, event: Event) {
        match &mut self.deliveries {
            Deliveries::Wheel(wheel) | Deliveries::Beside(wheel, _) => wheel.push(event),
            Deliveries::Lanes(_) => self.push(event),
        }
    }

    /// Removes the next event where it comes before `end`; otherwise the event is later. From time
    /// to time `ahead` is shown the events that come next, in no order, so that what they need can
    /// be fetched at once.
    #[inline]
    pub(crate) fn pop_before(&mut self, end: Time, ahead: impl FnMut(&[Event])) -> Event {
        let delivery = match &mut self.deliveries {
            Deliveries::Lanes(lanes) => lanes.next,
            Deliveries::Wheel(wheel) => wheel.first_before(NEVER, ahead),
            Deliveries::Beside(wheel, side) => {
                let next = side.next;
                wheel.first_before(next, ahead).min(next)
            }
        };
        if self.next_rare < delivery
            && let Some(event) = self.pop_rare(delivery.min(Event::first_of(end)))
        {
            return event;
        }
        if delivery.time < end {
            match &mut self.deliveries {
                Deliveries::Lanes(lanes) => lanes.advance(),
                Deliveries::Beside(_, side) if side.next == delivery => side.advance(),
                Deliveries::Wheel(wheel) | Deliveries::Beside(wheel, _) => wheel.advance(),
            }
        }
        delivery
    }

    /// Removes the next event, if there is one.
    pub fn pop(&mut self) -> Option<Event> {
        Some(self.pop_before(Time::MAX, |_| {})).filter(|event| event.time < Time::MAX)
    }

    /// Removes the first rare event where it comes before `limit`.
    #[cold]
    #[inline(never)]
    fn pop_rare(&mut self, limit: Event) -> Option<Event> {
        let event = match &mut self.rare {
            Rare::Heap(_) if self.next_rare >= limit => None,
            Rare::Heap(heap) => heap.pop().map(|Reverse(event)| event),
            Rare::Wheel(wheel) => wheel.pop_before(limit),
        };
        self.next_rare = self.rare.next();
        event
    }

    /// An instant before which nothing happens.
    pub fn next_time(&mut self) -> Time {
        let delivery = match &mut self.deliveries {
            Deliveries::Lanes(lanes) => lanes.next,
            Deliveries::Wheel(wheel) => wheel.first_before(NEVER, |_| {}),
            Deliveries::Beside(wheel, side) => wheel.first_before(side.next, |_| {}).min(side.next),
        };
        delivery.time.min(self.next_rare.time)
    }

    /// Deliveries in progress.
    pub(crate) fn deliveries(&self) -> usize {
        let moving = match &self.deliveries {
            Deliveries::Lanes(lanes) => lanes.len(),
            Deliveries::Wheel(wheel) => wheel.count,
            Deliveries::Beside(wheel, side) => wheel.count + side.len(),
        };
        moving + self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::event::Kind;
    use crate::ids::ResponsiveId;
    use proptest::prelude::*;

    fn event(time: u64, flow: usize) -> Event {
        let flow = ResponsiveId::new(flow).number();
        Event::of(Time::from_picos(time), Kind::Delivery.number(), flow, 7)
    }

    /// Sorted in one by one these would take a minute.
    #[test]
    fn a_million_beginnings_at_once_are_soon_entered() {
        let mut calendar = Calendar::new(
            Ways::Access(0),
            Time::from_picos(1_000_000),
            1_000_000,
            NEVER.time,
        );
        for flow in 0..500_000 {
            calendar.push(event(0, flow));
            calendar.push_delivery(LaneId::new(0), event(1, flow));
        }
        let mut last = event(0, 0);
        while let Some(next) = calendar.pop() {
            assert!(last <= next);
            last = next;
        }
        assert_eq!(last, event(1, 499_999));
    }

    proptest! {
        /// Lanes, wheel and heap give the same order as sorting, however pushes and pops mix.
        #[test]
        fn every_structure_pops_in_order(
            steps in prop::collection::vec((0u64..5_000_000, 0usize..40, prop::bool::ANY), 1..400),
            lanes in prop::sample::select(vec![Some(1usize), Some(5), Some(24), Some(40), None, None]),
            accesses in 0usize..9,
            disorder in prop::sample::select(vec![0u64, 1_000, 5_000_000]),
            grain in 1u64..100_000,
            flows in prop::sample::select(vec![1usize, 1000, 1_000_000_000]),
            end in prop::sample::select(vec![0u64, 1_000_000, u64::MAX]),
        ) {
            let ways = lanes.map_or(Ways::Access(accesses), |count| Ways::Constant(count + accesses));
            let mut calendar = Calendar::new(ways, Time::from_picos(grain), flows, Time::from_picos(end));
            let mut expected = BinaryHeap::new();
            let mut last = vec![0u64; 40];
            let mut now = 0;
            for (delay, flow, pop) in steps {
                let lane = lanes.map_or(0, |count| flow % count);
                let mut time = now + delay;
                if lanes.is_some() {
                    // A lane's events rise strictly, as those behind one link do.
                    time = time.max(last[lane] + 1);
                    last[lane] = time;
                }
                // An access link's packets leave after a constant time, or a little before.
                let of_access = accesses > 0 && flow % 2 == 0;
                if of_access {
                    time = now + 3_000_000 - delay.min(disorder).min(3_000_000);
                }
                let event = event(time, flow);
                if of_access {
                    let lane = LaneId::new(lanes.unwrap_or(0) + flow % accesses);
                    calendar.push_access(Some(lane), event);
                } else if flow == 39 {
                    calendar.push(event);
                } else {
                    calendar.push_delivery(LaneId::new(lane), event);
                }
                expected.push(Reverse(event));
                if pop {
                    let next = calendar.next_time();
                    // Up to an instant before all that is to come nothing does, and nothing is
                    // lost.
                    let before = calendar.pop_before(next, |_| {});
                    prop_assert!(before.time >= next);
                    let event = calendar.pop();
                    prop_assert!(event.is_none_or(|event| next <= event.time));
                    prop_assert_eq!(event, expected.pop().map(|Reverse(event)| event));
                    now = event.map_or(now, |event| event.time.as_picos());
                }
            }
            while let Some(Reverse(event)) = expected.pop() {
                prop_assert_eq!(calendar.pop(), Some(event));
            }
            prop_assert_eq!((calendar.pop(), calendar.next_time()), (None, Time::MAX));
        }
    }
}
