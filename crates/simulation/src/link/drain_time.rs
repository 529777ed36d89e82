//! The effect of a fall of a link's rate on the waiting packets: the time that the link takes from
//! then on to send all packets in its queue at that instant. Later arrivals, later drops and the
//! order of service do not change it. If no packet waits the time is zero, even if a packet is in
//! transmission.

use std::sync::Arc;

use forebay_units::{RateSteps, Time};

use crate::link::Link;

/// The falls of the rates of all links, one after the other. They are looked at just behind each,
/// when all that happens at its very instant has happened: what an outage flushes no longer waits.
#[derive(Debug)]
pub(crate) struct RateFalls(Vec<Falling>);

/// The falls of one link's rate.
#[derive(Debug)]
struct Falling {
    /// None where it never changes.
    steps: Option<Arc<RateSteps>>,
    /// The next one.
    next: Time,
    /// The longest time to drain so far.
    longest: Option<Time>,
}

const BEHIND: Time = Time::from_picos(1);

impl RateFalls {
    /// The falls from `start` on.
    pub(crate) fn new(links: &[Link], start: Time) -> Self {
        let falling = |link: &Link| {
            let mut falling = Falling {
                steps: link.line().steps().cloned(),
                next: Time::MAX,
                longest: None,
            };
            falling.go_on(start);
            falling
        };
        Self(links.iter().map(falling).collect())
    }

    /// When to look next; never where no rate falls any more.
    pub(crate) fn next(&self) -> Time {
        let next = self.0.iter().map(|link| link.next).min();
        next.unwrap_or(Time::MAX).saturating_add(BEHIND)
    }

    /// Measures the links whose rate has just fallen.
    pub(crate) fn look(&mut self, now: Time, links: &mut [Link]) {
        let fallen = |falling: &Falling| falling.next.saturating_add(BEHIND) == now;
        for (falling, link) in self.0.iter_mut().zip(links) {
            if fallen(falling) {
                let drains = match link.count_waiting(now) {
                    0 => Time::ZERO,
                    _ => link.backlog(now).saturating_add(BEHIND),
                };
                falling.longest = falling.longest.max(Some(drains));
                falling.go_on(now);
            }
        }
    }

    /// The longest that link number `at` took, where its rate fell.
    pub(crate) fn longest(&self, at: usize) -> Option<Time> {
        self.0[at].longest
    }
}

impl Falling {
    fn go_on(&mut self, from: Time) {
        let next = self.steps.as_ref().and_then(|steps| steps.next_fall(from));
        self.next = next.unwrap_or(Time::MAX);
    }
}
