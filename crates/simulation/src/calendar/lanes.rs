//! Lanes: rings of events, one per constant delay, of which only the heads compete.

use forebay_units::Time;

use crate::calendar::event::{Event, NEVER};
use crate::calendar::ring::{Place, Ring};
use crate::ids::LaneId;

/// More lanes than this go into the wheel.
pub const MAX_LANES: usize = 64;

/// Nodes of the tournament's tree.
const NODES: usize = 2 * MAX_LANES;

/// Lanes merged by a tournament: each inner node of a binary tree knows the lane below it whose
/// head comes first, so that a new head meets one rival per level (Knuth, The Art of Computer
/// Programming, volume 3, section 5.4.1).
#[derive(Debug)]
pub(super) struct Lanes {
    rings: Vec<Ring>,
    /// The event at the head of each lane, [`NEVER`] for an empty one.
    heads: [Event; MAX_LANES],
    /// When it is due: nearly always that alone decides.
    times: [Time; MAX_LANES],
    /// The lane that wins at each node: the root is node 1, the children of k are 2k and 2k + 1,
    /// and lane l of n is the leaf n + l.
    winners: [u8; NODES],
    /// The lane that comes first, and its head.
    first: usize,
    pub(super) next: Event,
}

impl Lanes {
    pub(super) fn new(count: usize) -> Self {
        let mut winners = [0; NODES];
        for lane in 0..count {
            winners[count + lane] = lane as u8;
        }
        for node in (1..count).rev() {
            winners[node] = winners[2 * node];
        }
        Self {
            rings: (0..count).map(|_| Ring::new()).collect(),
            heads: [NEVER; MAX_LANES],
            times: [NEVER.time; MAX_LANES],
            winners,
            first: 0,
            next: NEVER,
        }
    }

    #[expect(
        clippy::inline_always,
        reason = "a call costs each packet 20 of 340 instructions"
    )]
    #[inline(always)]
    pub(super) fn push(&mut self, lane: LaneId, event: Event) {
        let at = lane.index();
        let lane = &mut self.rings[at];
        // Events at [`Time::MAX`] never come and have no order.
        debug_assert!(
            lane.is_empty() || lane.last() < event || event.time == Time::MAX,
            "{event:?}"
        );
        lane.push(event);
        if lane.len() == 1 {
            self.enter(at, event);
        }
    }

    /// The same where events of the lane may be a little out of order. An event that would have to
    /// pass many others is returned.
    #[inline]
    pub(super) fn insert(&mut self, lane: LaneId, event: Event) -> Result<(), Event> {
        let at = lane.index();
        if self.rings[at].insert(event)? == Place::Head {
            self.enter(at, event);
        }
        Ok(())
    }

    /// Removes the head of the first lane: the matches on its way to the root are played again.
    #[inline]
    pub(super) fn advance(&mut self) {
        let at = self.first;
        let lane = &mut self.rings[at];
        let head = lane.advance();
        let (mut best, mut time) = (at, head.time);
        self.set_head(at, head);
        let mut node = self.leaf(at);
        while node > 1 {
            let rival = self.winner(node ^ 1);
            let other = self.times[rival];
            if other <= time && (other < time || self.heads[rival] < self.heads[best % MAX_LANES]) {
                best = rival;
                time = other;
            }
            node >>= 1;
            self.winners[node] = best as u8;
        }
        self.first = best;
        self.next = self.heads[best % MAX_LANES];
    }

    /// A lane that was empty has a head, or an earlier one: it wins up to its first lost match.
    #[inline]
    fn enter(&mut self, at: usize, head: Event) {
        self.set_head(at, head);
        let mut node = self.leaf(at);
        while node > 1 {
            if self.heads[self.winner(node ^ 1)] < head {
                return;
            }
            node >>= 1;
            self.winners[node] = at as u8;
        }
        self.first = at;
        self.next = head;
    }

    #[inline]
    fn set_head(&mut self, lane: usize, head: Event) {
        self.heads[lane % MAX_LANES] = head;
        self.times[lane % MAX_LANES] = head.time;
    }

    /// The node at which a lane enters. That it is one of all spares its way to the root all
    /// checks.
    #[inline]
    fn leaf(&self, lane: usize) -> usize {
        (self.rings.len() + lane) % NODES
    }

    /// The lane that wins at a node.
    #[inline]
    fn winner(&self, node: usize) -> usize {
        usize::from(self.winners[node]) % MAX_LANES
    }

    /// Events in all lanes.
    pub(super) fn len(&self) -> usize {
        self.rings.iter().map(Ring::len).sum()
    }
}
