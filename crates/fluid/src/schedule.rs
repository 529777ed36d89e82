//! The calendar of scheduled events, ordered by (time, kind, link, flow) so that ties have one
//! order. Each run has one.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Event at a scheduled time. The order of the variants is the order at equal times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Occurrence {
    /// The flow in this slot takes a cut.
    Cut {
        /// Reason of the cut.
        cause: Cause,
        /// Slot of the flow.
        slot: u32,
    },
    /// A link's congestion event closes.
    Close {
        /// Index of the link.
        link: u32,
    },
    /// A link's background rate is redrawn.
    Redraw {
        /// Index of the link.
        link: u32,
    },
    /// The measurement starts.
    Measure,
}

/// Reason of a cut. The order of the variants is the order at equal times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cause {
    /// A congestion event.
    Event,
    /// A loss at the flow's own access link.
    Access,
    /// The expired retransmission timer: the flow was silent and sends again.
    Timeout,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Entry {
    time: f64,
    what: Occurrence,
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.time
            .total_cmp(&other.time)
            .then(self.what.cmp(&other.what))
    }
}

/// The calendar of discrete events.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    entries: BinaryHeap<Reverse<Entry>>,
}

impl Schedule {
    /// An empty calendar with room for `size` entries.
    pub(crate) fn with_room(size: usize) -> Self {
        Self {
            entries: BinaryHeap::with_capacity(size),
        }
    }

    /// Enters an event.
    pub(crate) fn enter(&mut self, time: f64, what: Occurrence) {
        self.entries.push(Reverse(Entry { time, what }));
    }

    /// Time of the next event, or infinity.
    #[inline]
    pub(crate) fn next_time(&self) -> f64 {
        self.entries
            .peek()
            .map_or(f64::INFINITY, |Reverse(entry)| entry.time)
    }

    /// Removes the next event that is due at `now`.
    pub(crate) fn take_due(&mut self, now: f64) -> Option<Occurrence> {
        if self.next_time() <= now {
            return self.entries.pop().map(|Reverse(entry)| entry.what);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_times_come_in_the_order_of_kind_and_number() {
        let cause = Cause::Event;
        let cut = |slot| Occurrence::Cut { cause, slot };
        let mut schedule = Schedule::with_room(4);
        schedule.enter(2.0, Occurrence::Measure);
        schedule.enter(1.0, Occurrence::Close { link: 0 });
        schedule.enter(1.0, cut(7));
        schedule.enter(1.0, cut(3));
        let mut order = Vec::new();
        while let Some(what) = schedule.take_due(1.5) {
            order.push(what);
        }
        let expected = [cut(3), cut(7), Occurrence::Close { link: 0 }];
        assert_eq!(order, expected);
        assert_eq!(schedule.next_time(), 2.0);
    }
}
