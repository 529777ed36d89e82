//! The state that determines a flow's next loss in an overflow ([`crate::run`]).

use forebay_random::{Purpose, Stream, mix};

use crate::links::Events;

/// Packets in flight from which three duplicate acknowledgments report a loss: the lost one and
/// three more.
pub(crate) const FAST_RETRANSMIT_WINDOW: f64 = 4.0;

/// Window after a timeout, in packets: the smallest slow-start threshold (RFC 5681 equation 4).
pub(crate) const RESTART_WINDOW: f64 = 2.0;

/// Maximum factor of a timer's backoff (Padhye et al. 1998 section II.B).
pub(crate) const LONGEST_BACKOFF: f64 = 64.0;

/// The state that determines a flow's next loss in an overflow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Exposure {
    /// Time until which a loss causes no further cut, in seconds.
    pub(crate) recovery_until: f64,
    /// Expected losses until the flow loses; infinite until drawn.
    pub(crate) remaining: f64,
    /// Number of losses since the latest event opened.
    pub(crate) losses: u32,
    /// Number of times that the flow waited for its timer.
    pub(crate) silences: u64,
}

/// Losses of a link over an interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Losses {
    /// Lost fraction of the arrivals.
    pub(crate) fraction: f64,
    /// Length of the interval, in seconds.
    pub(crate) span: f64,
}

impl Default for Exposure {
    fn default() -> Self {
        Self {
            recovery_until: 0.0,
            remaining: f64::INFINITY,
            losses: 0,
            silences: 0,
        }
    }
}

impl Exposure {
    /// Shelters the flow from the opening of an event at `at` until its answer, unless it is
    /// already sheltered. Returns whether it was not sheltered: a loss is then answered by its own
    /// cut.
    pub(crate) fn shelter(&mut self, at: f64, until: f64) -> bool {
        (self.remaining, self.losses) = (f64::INFINITY, 0);
        let open = self.recovery_until <= at;
        if open {
            self.recovery_until = until;
        }
        open
    }

    /// Draws the expected number of losses until the flow's next loss in an event. Each draw has
    /// its own random stream, so it does not depend on other losses.
    pub(crate) fn threshold(&self, events: &Events, flow: u32) -> f64 {
        let event = mix(events.number).wrapping_add(u64::from(self.losses));
        let flow = mix(event).wrapping_add(u64::from(flow));
        Stream::new(events.seed, flow, Purpose::Overflow).exponential()
    }

    /// Exposes the flow to `expected` losses, evenly over `span` seconds before `end` or from the
    /// end of its shelter on. Returns the seconds before `end` at which it loses a packet, if it
    /// does.
    pub(crate) fn lose(&mut self, end: f64, span: f64, expected: f64) -> Option<f64> {
        let exposed = (end - self.recovery_until).min(span);
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
    use crate::model::{Background, FluidLink, QueueDistribution};
    use forebay_random::Seed;

    /// Losses are random: the expected number until the next one is exponential with mean 1. Each
    /// flow, event and loss has its own number, which is the same at every query.
    #[test]
    fn losses_until_the_next_are_exponential() {
        let link = FluidLink {
            capacity: 1.0,
            steps: None,
            buffer: 1.0,
            background: Background::Constant(0.0),
            queue: QueueDistribution::DropTail,
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

    /// A loss occurs when the expected losses are used up, and a shelter prevents earlier ones.
    #[test]
    fn a_flow_loses_where_its_expected_losses_are_used_up() {
        let flow = |recovery_until, remaining| Exposure {
            recovery_until,
            remaining,
            ..Exposure::default()
        };
        let near = |found: Option<f64>, before: f64| (found.unwrap() - before).abs() < 1e-12;
        // Four losses are expected in the two seconds before 10 s; the third one occurs half a
        // second before the end.
        assert!(near(flow(0.0, 3.0).lose(10.0, 2.0, 4.0), 0.5));
        assert_eq!(flow(0.0, 5.0).lose(10.0, 2.0, 4.0), None);
        assert!(near(flow(0.0, 4.0).lose(10.0, 2.0, 4.0), 0.0));
        // With a shelter up to 9 s, two expected losses remain.
        assert!(near(flow(9.0, 1.5).lose(10.0, 2.0, 4.0), 0.25));
        assert_eq!(flow(9.0, 3.0).lose(10.0, 2.0, 4.0), None);
        assert_eq!(flow(10.0, 0.1).lose(10.0, 2.0, 4.0), None);
        // Expected losses of one interval reduce the number for the next one.
        let mut patient = flow(0.0, 5.0);
        assert_eq!(patient.lose(2.0, 2.0, 4.0), None);
        assert!(near(patient.lose(4.0, 2.0, 4.0), 1.5));
        // A sheltered flow takes no further cut, and its draw is dropped.
        let mut exposed = flow(5.0, 1.0);
        assert!(!exposed.shelter(4.0, 8.0) && exposed.recovery_until == 5.0);
        assert_eq!(exposed.remaining, f64::INFINITY);
        assert!(exposed.shelter(5.0, 8.0) && exposed.recovery_until == 8.0);
    }
}
