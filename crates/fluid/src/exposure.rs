//! What a flow's next loss in an overflow depends on ([`crate::overflow`]).

use forebay_random::{Purpose, Stream, mix};

use crate::links::Events;

/// Packets in flight of which three duplicate acknowledgments report a loss: the lost one and three.
pub(crate) const FAST_RETRANSMIT_WINDOW: f64 = 4.0;

/// Window after a timeout: the least slow-start threshold (RFC 5681 equation 4).
pub(crate) const RESTART_WINDOW: f64 = 2.0;

/// By how much a timer grows at most (Padhye et al. 1998 section II.B).
pub(crate) const LONGEST_BACKOFF: f64 = 64.0;

/// What a flow's next loss in an overflow depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Exposure {
    /// Seconds until which a loss brings no further cut.
    pub(crate) sheltered_until: f64,
    /// Expected losses that remain until the flow loses; infinite until drawn.
    pub(crate) remaining: f64,
    /// Losses since the latest event opened.
    pub(crate) losses: u32,
    /// How often the flow waited for its timer.
    pub(crate) silences: u64,
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
            losses: 0,
            silences: 0,
        }
    }
}

impl Exposure {
    /// Shelters the flow from the opening of an event at `at` until it would have answered, if it is not sheltered;
    /// returns whether it was not: a loss is then answered by another cut than the one that it awaits.
    pub(crate) fn shelter(&mut self, at: f64, until: f64) -> bool {
        (self.remaining, self.losses) = (f64::INFINITY, 0);
        let open = self.sheltered_until <= at;
        if open {
            self.sheltered_until = until;
        }
        open
    }

    /// Draws after how many expected losses the flow loses next in an event: each draw has a stream of its
    /// own, so that who loses elsewhere or earlier leaves it alone.
    pub(crate) fn threshold(&self, events: &Events, flow: u32) -> f64 {
        let event = mix(events.number).wrapping_add(u64::from(self.losses));
        let flow = mix(event).wrapping_add(u64::from(flow));
        Stream::new(events.seed, flow, Purpose::Overflow).exponential()
    }

    /// Exposes the flow to `expected` losses, evenly until `end` or from its shelter's end on; returns how
    /// many seconds before `end` it loses a packet, if it does.
    pub(crate) fn lose(&mut self, end: f64, span: f64, expected: f64) -> Option<f64> {
        let exposed = (end - self.sheltered_until).min(span);
        let expected = expected * exposed / span;
        if expected <= 0.0 {
            return None;
        }
        self.remaining -= expected;
        let beyond = -self.remaining / expected;
        (beyond >= 0.0).then_some(beyond.min(1.0) * exposed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::links::Link;
    use crate::model::{Background, FluidLink, QueueLaw};
    use forebay_random::Seed;

    /// Losses come at random: how many are expected until the next is exponential of mean 1, another number for
    /// each flow, event and loss, and the same whenever it is asked for.
    #[test]
    fn losses_until_the_next_are_exponential() {
        let link = FluidLink {
            capacity: 1.0,
            steps: None,
            buffer: 1.0,
            background: Background::Constant(0.0),
            queue: QueueLaw::DropTail,
        };
        let seed = Seed {
            seed: 3,
            replication: 0,
        };
        let mut events = Link::new(&link, 0, (1, 1), seed).events;
        let mut draws = Vec::new();
        for number in 0..20 {
            events.number = number;
            for losses in 0..10 {
                let exposure = Exposure {
                    losses,
                    ..Exposure::default()
                };
                for flow in 0..20 {
                    let draw = exposure.threshold(&events, flow);
                    assert_eq!(draw, exposure.threshold(&events, flow));
                    draws.push(draw);
                }
            }
        }
        let n = draws.len() as f64;
        let mean = draws.iter().sum::<f64>() / n;
        assert!((mean - 1.0).abs() < 4.0 / n.sqrt(), "{mean}");
        let beyond = draws.iter().filter(|draw| **draw > 1.0).count() as f64 / n;
        assert!(
            (beyond - libm::exp(-1.0)).abs() < 2.0 / n.sqrt(),
            "{beyond}"
        );
        draws.sort_by(f64::total_cmp);
        draws.dedup();
        assert_eq!(draws.len() as f64, n, "each has its own");
    }

    /// A loss comes as long before the end as expected losses are left over, and a shelter spares what is before it.
    #[test]
    fn a_flow_loses_where_its_expected_losses_are_used_up() {
        let flow = |sheltered_until, remaining| Exposure {
            sheltered_until,
            remaining,
            ..Exposure::default()
        };
        let near = |found: Option<f64>, before: f64| (found.unwrap() - before).abs() < 1e-12;
        // Of four losses in two seconds up to 10 s the third comes half a second before the end.
        assert!(near(flow(0.0, 3.0).lose(10.0, 2.0, 4.0), 0.5));
        assert_eq!(flow(0.0, 5.0).lose(10.0, 2.0, 4.0), None);
        assert!(near(flow(0.0, 4.0).lose(10.0, 2.0, 4.0), 0.0));
        // With a shelter up to 9 s two are left to lose.
        assert!(near(flow(9.0, 1.5).lose(10.0, 2.0, 4.0), 0.25));
        assert_eq!(flow(9.0, 3.0).lose(10.0, 2.0, 4.0), None);
        assert_eq!(flow(10.0, 0.1).lose(10.0, 2.0, 4.0), None);
        // What is not lost in one stretch is less to lose in the next.
        let mut patient = flow(0.0, 5.0);
        assert_eq!(patient.lose(2.0, 2.0, 4.0), None);
        assert!(near(patient.lose(4.0, 2.0, 4.0), 1.5));
        // A sheltered flow awaits no further cut, and forgets what was drawn.
        let mut exposed = flow(5.0, 1.0);
        assert!(!exposed.shelter(4.0, 8.0) && exposed.sheltered_until == 5.0);
        assert_eq!(exposed.remaining, f64::INFINITY);
        assert!(exposed.shelter(5.0, 8.0) && exposed.sheltered_until == 8.0);
    }
}
