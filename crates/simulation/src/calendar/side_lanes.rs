//! Rings beside the wheel: events that come a constant time after they are pushed need no bucket.

use crate::calendar::event::{Event, NEVER};
use crate::calendar::ring::{Place, Ring};
use crate::ids::LaneId;

/// At most this many: their heads are compared one by one.
pub(crate) const MAX_SIDE_LANES: usize = 8;

/// A few rings, of which the heads compete.
#[derive(Debug)]
pub(super) struct SideLanes {
    rings: Vec<Ring>,
    /// The event at the head of each ring, [`NEVER`] for an empty one.
    heads: [Event; MAX_SIDE_LANES],
    first: usize,
    /// The first event of all, or [`NEVER`].
    pub(super) next: Event,
}

impl SideLanes {
    pub(super) fn new(count: usize) -> Self {
        Self {
            rings: (0..count.min(MAX_SIDE_LANES))
                .map(|_| Ring::new())
                .collect(),
            heads: [NEVER; MAX_SIDE_LANES],
            first: 0,
            next: NEVER,
        }
    }

    /// Adds an event, which may be a little out of order. An event that would have to pass many
    /// others is returned.
    #[inline]
    pub(super) fn insert(&mut self, lane: LaneId, event: Event) -> Result<(), Event> {
        let at = lane.index();
        let Some(ring) = self.rings.get_mut(at) else {
            return Err(event);
        };
        if ring.insert(event)? == Place::Head {
            self.heads[at % MAX_SIDE_LANES] = event;
            if event < self.next {
                (self.first, self.next) = (at, event);
            }
        }
        Ok(())
    }

    /// Removes the first event.
    #[inline]
    pub(super) fn advance(&mut self) {
        self.heads[self.first % MAX_SIDE_LANES] = self.rings[self.first].advance();
        self.next = NEVER;
        for at in 0..self.rings.len() {
            if self.heads[at % MAX_SIDE_LANES] < self.next {
                (self.first, self.next) = (at, self.heads[at % MAX_SIDE_LANES]);
            }
        }
    }

    /// Events in all rings.
    pub(super) fn len(&self) -> usize {
        self.rings.iter().map(Ring::len).sum()
    }
}
