//! Who loses while an overflow goes on that the first cuts of its congestion event did not end.
//!
//! The count law says how many flows lose before any of them answers. A queue that is still clipped
//! after the first cut was felt loses on, p = 1 - C / A of whatever arrives: each flow loses
//! packets at the rate p W / R, its first after an expected number that is exponential with mean 1
//! (every packet is lost alike), and is cut a round trip of its own later. What else it loses of
//! that window brings no further cut (RFC 6582 section 3.2: one reduction per window), and a flow
//! has a round trip of its own from the opening of the event in which the count law alone
//! decides. So flows with short round trips are cut as often as they overshoot, while
//! one with a long round trip has not yet heard of its first loss; with equal round
//! trips nothing is left for this law to do.

use crate::run::Run;
use crate::schedule::{Cause, Occurrence};

/// What a flow's next loss in an overflow depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Exposure {
    /// Seconds until which a loss brings no further cut.
    sheltered_until: f64,
    /// Expected losses that remain until the flow loses; infinite until drawn.
    remaining: f64,
    /// Number of the latest event in which the flow lost.
    lost_in: u64,
}

/// What a link loses over a stretch of time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Losses {
    /// Part of what arrives.
    pub(crate) fraction: f64,
    /// Seconds.
    pub(crate) span: f64,
}

impl Default for Exposure {
    fn default() -> Self {
        Self {
            sheltered_until: 0.0,
            remaining: f64::INFINITY,
            lost_in: 0,
        }
    }
}

impl Exposure {
    /// Shelters the flow from the opening of an event at `at` until it would have answered, and says
    /// whether it was not so already; `lost_in` is the event's number if it loses in it.
    pub(crate) fn shelter(&mut self, at: f64, until: f64, lost_in: Option<u64>) -> bool {
        if let Some(event) = lost_in {
            self.lost_in = event;
        }
        let open = self.sheltered_until <= at;
        if open {
            self.sheltered_until = until;
        }
        open
    }

    /// Exposes the flow to `expected` losses, evenly until `end` or from its shelter's end on; returns how
    /// many seconds before `end` it loses a packet, if it does.
    fn lose(&mut self, end: f64, span: f64, expected: f64) -> Option<f64> {
        let exposed = (end - self.sheltered_until).min(span);
        let expected = expected * exposed / span;
        if !(expected > 0.0) {
            return None;
        }
        self.remaining -= expected;
        let beyond = -self.remaining / expected;
        (beyond >= 0.0).then_some(beyond.min(1.0) * exposed)
    }
}

impl Run<'_> {
    /// Exposes a class to the losses of a link over the stretch that begins now; who loses is cut a round trip
    /// later.
    pub(crate) fn expose(&mut self, link: usize, class: usize, losses: Losses) {
        let delay = self.delay(class);
        let end = self.now + losses.span;
        let Self { flows, links, .. } = self;
        let link = &mut links[link];
        for slot in flows.classes[class].range.clone() {
            let flow = &mut flows.exposure[slot];
            if flow.sheltered_until >= end {
                continue;
            }
            if flow.remaining == f64::INFINITY {
                flow.remaining = link.events.overflow.exponential();
            }
            let expected = losses.fraction * flows.stretch[slot];
            let Some(before_end) = flow.lose(end, losses.span, expected) else {
                continue;
            };
            let answer = end - before_end + flows.propagation[slot] + delay;
            flow.sheltered_until = answer;
            flow.remaining = link.events.overflow.exponential();
            if flow.lost_in != link.events.number {
                flow.lost_in = link.events.number;
                link.tally.fractions += 1.0 / link.events.crowd as f64;
            }
            let (cause, slot) = (Cause::Event, slot as u32);
            self.schedule
                .enter(answer, Occurrence::Cut { cause, slot });
        }
    }
}
