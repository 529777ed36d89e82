//! Losses in an overflow that continues after the first cuts of its congestion event.
//!
//! The count law states the number of flows that lose before any flow answers. If the queue is
//! still clipped after the first cut, it loses the fraction p = 1 - C / A of all arrivals. Each
//! flow then loses packets at the rate p W / R. Its first loss comes after an expected number that
//! is exponential with mean 1, because all packets are lost alike. The cut follows one round trip
//! of the flow later. Further losses of that window cause no further cut (RFC 6582 section 3.2: one
//! reduction per window). In the first round trip of a flow after the opening only the count law
//! applies. Therefore flows with short round trips are cut as often as they overshoot. A flow with
//! a long round trip has not yet learned of its first loss. With equal round trips this law has no
//! effect.

use super::Run;
use forebay_random::{Purpose, Stream, mix};

use crate::capacity::NO_ARRIVALS;
use crate::exposure::{FAST_RETRANSMIT_WINDOW, LONGEST_BACKOFF, Losses};
use crate::schedule::{Cause, Occurrence};

impl Run<'_> {
    /// The effect when a flow with `window` packets learns of a loss. Three duplicate
    /// acknowledgments cause no more than the cut. With fewer packets the flow is silent until its
    /// timer expires (RFC 5681 section 3.2).
    ///
    /// The timer takes its lower bound or a round trip, whichever is longer (RFC 6298 section 2).
    /// The retransmission can be lost like any packet, which doubles the timer (section 5.5). Then
    /// one packet is sent, and a round trip later two. This equals two packets that start after
    /// half a round trip.
    pub(crate) fn answer(&mut self, slot: usize, window: f64, delay: f64) {
        let timeout = self.flows.timeout[slot];
        if timeout <= 0.0 || window >= FAST_RETRANSMIT_WINDOW || self.is_in_rto(slot) {
            return;
        }
        let round_trip = self.flows.propagation[slot] + delay;
        let rto = timeout.max(round_trip) * self.rto_backoffs(slot);
        let until = self.now + rto + 0.5 * round_trip;
        self.flows.propagation[slot] = NO_ARRIVALS;
        self.flows.exposure[slot].recovery_until = until;
        let (cause, slot) = (Cause::Timeout, slot as u32);
        self.schedule.enter(until, Occurrence::Cut { cause, slot });
    }

    /// Draws the total time of a flow's timer until a retransmission arrives, in units of its first
    /// length. Each retransmission is lost with the path's loss fraction so far.
    fn rto_backoffs(&mut self, slot: usize) -> f64 {
        let class = self.flows.class_of[slot] as usize;
        let kept = |&l: &usize| 1.0 - self.links[l].loss_share();
        let lost = 1.0 - self.path(class).iter().map(kept).product::<f64>();
        let flow = &mut self.flows.exposure[slot];
        flow.silences += 1;
        let number = mix(flow.silences).wrapping_add(u64::from(self.flows.number[slot]));
        let mut stream = Stream::new(self.model.seed, number, Purpose::Timeout);
        let (mut length, mut sum) = (1.0, 1.0);
        while length < LONGEST_BACKOFF && stream.uniform() < lost {
            length *= 2.0;
            sum += length;
        }
        sum
    }

    /// Whether a flow waits for its timer.
    pub(crate) fn is_in_rto(&self, slot: usize) -> bool {
        self.flows.propagation[slot] >= NO_ARRIVALS
    }

    /// Ends the silence of a flow whose timer has expired.
    pub(crate) fn end_rto(&mut self, slot: usize) {
        let number = self.flows.number[slot] as usize;
        self.flows.propagation[slot] = self.model.flows[number].propagation;
    }

    /// Removes flows that wait for their timers from the candidates, because they send nothing.
    pub(crate) fn exclude_in_rto(&mut self) {
        let propagation = &self.flows.propagation;
        self.candidates
            .retain(|flow| propagation[flow.slot as usize] < NO_ARRIVALS);
    }

    /// Exposes a class to the losses of a link in the interval that begins now. A flow that loses
    /// is cut a round trip later.
    pub(crate) fn expose(&mut self, link: usize, class: usize, losses: Losses) {
        let end = self.now + losses.span;
        let delay = self.wait(class, end);
        let Self { flows, links, .. } = self;
        let link = &mut links[link];
        for slot in flows.classes[class].range.clone() {
            let flow = &mut flows.exposure[slot];
            if flow.recovery_until >= end {
                continue;
            }
            if flow.remaining == f64::INFINITY {
                flow.remaining = flow.threshold(&link.events, flows.number[slot]);
            }
            let expected = losses.fraction * flows.stretch[slot];
            let Some(before_end) = flow.lose(end, losses.span, expected) else {
                continue;
            };
            let answer = end - before_end + flows.propagation[slot] + delay;
            flow.recovery_until = answer;
            flow.losses += 1;
            flow.remaining = f64::INFINITY;
            if link.events.lose(slot) {
                link.counters.fractions += 1.0 / link.events.flow_count as f64;
            }
            let (cause, slot) = (Cause::Event, slot as u32);
            self.schedule.enter(answer, Occurrence::Cut { cause, slot });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exposure::Exposure;
    use crate::model::{FluidModel, Measure};
    use crate::run::Cut;
    use crate::synchronization::{Candidate, CutCountDistribution, Synchronization};

    fn model(flows: usize) -> FluidModel {
        FluidModel {
            synchronization: Synchronization {
                minimum: 0.5,
                count: CutCountDistribution::Fixed,
                ..Synchronization::default()
            },
            measure: Measure::Fixed { start: 1.0 },
            ..crate::run::tests::model(&vec![0.1; flows])
        }
    }

    fn run(model: &FluidModel, timeout: f64) -> Run<'_> {
        let run = Run::new(model, model.measure).unwrap();
        run.with_timeouts(&vec![timeout; model.flows.len()])
            .unwrap()
    }

    #[test]
    fn only_what_comes_after_the_shelter_counts() {
        let exposure = |remaining| Exposure {
            recovery_until: 1.5,
            remaining,
            ..Exposure::default()
        };
        let mut flow = exposure(10.0);
        assert_eq!(flow.lose(2.0, 1.0, 4.0), None);
        assert_eq!(flow.remaining, 8.0);
        // One of two expected losses is enough: it occurs halfway through the exposed half second.
        assert_eq!(exposure(1.0).lose(2.0, 1.0, 4.0), Some(0.25));
        assert_eq!(exposure(1.0).lose(1.5, 1.0, 4.0), None);
    }

    #[test]
    fn a_flow_is_cut_once_in_a_round_trip() {
        let mut flow = Exposure::default();
        assert!(flow.shelter(0.3, 0.4));
        assert!(!flow.shelter(0.35, 0.5));
        assert!(flow.shelter(0.4, 0.6));
        assert!(!flow.shelter(0.5, 0.9));
        assert_eq!(flow.recovery_until, 0.6);
    }

    #[test]
    fn an_exposed_flow_answers_a_round_trip_after_its_loss() {
        let model = model(1);
        let mut run = run(&model, 0.0);
        run.flows.stretch[0] = 1e6;
        let losses = Losses {
            fraction: 0.5,
            span: 0.01,
        };
        run.expose(0, 0, losses);
        // The threshold is about one of half a million expected losses.
        let answer = run.schedule.next_time();
        assert!(answer > 0.1 && answer < 0.1001, "{answer}");
        run.expose(0, 0, losses);
        let cut = Cut {
            slot: 0,
            cause: Cause::Event,
        };
        assert_eq!(run.next_cut(0.5), Some(cut));
        assert_eq!(run.next_cut(0.5), None);
    }

    /// A flow loses once in an event of a link, and events of another link are independent.
    #[test]
    fn each_link_remembers_who_lost_in_its_event() {
        let mut model = model(2);
        model.links.push(model.links[0].clone());
        model.paths = vec![vec![0, 1]];
        let mut run = run(&model, 0.0);
        run.flows.stretch.fill(1e6);
        let losses = Losses {
            fraction: 0.5,
            span: 0.01,
        };
        for (at, link) in [(0.0, 0), (0.0, 1), (9.0, 0)] {
            for slot in 0..2 {
                run.candidates.push(Candidate::new(slot, slot, 1.0, 0.1));
            }
            (run.now, run.links[link].counters.fractions) = (at, 0.0);
            run.open_event(link, at);
            run.candidates.clear();
            assert_eq!(run.links[link].counters.fractions, 0.5);
        }
        // In the continuing overflow of both events the other flow loses, and both lose again.
        for (now, link, fractions) in [(10.0, 0, 1.0), (20.0, 1, 1.0), (30.0, 0, 1.0)] {
            run.now = now;
            run.expose(link, 0, losses);
            assert_eq!(run.links[link].counters.fractions, fractions, "{now}");
        }
    }

    #[test]
    fn a_timer_takes_longer_the_more_retransmissions_are_lost() {
        let model = model(1);
        let mut run = run(&model, 1.0);
        let mean = |run: &mut Run<'_>| (0..200_000).map(|_| run.rto_backoffs(0)).sum::<f64>() / 2e5;
        assert_eq!(mean(&mut run), 1.0);
        run.links[0].step(2100.0, (0.0, 1.0));
        assert_eq!(run.links[0].loss_share(), 0.5);
        // Each of six doublings has half the probability of the one before it: 1 + 6.
        let found = mean(&mut run);
        assert!((found - 7.0).abs() < 0.2, "{found}");
    }

    #[test]
    fn who_waits_for_a_timer_sends_nothing_and_is_not_drawn() {
        let model = model(4);
        let mut run = run(&model, 1.0);
        run.answer(0, 3.9, 0.02);
        run.answer(1, 2.0, 0.02);
        run.answer(2, 4.0, 0.02);
        assert_eq!(
            [0, 1, 2, 3].map(|slot| run.is_in_rto(slot)),
            [true, true, false, false]
        );
        assert!(run.arrivals(0) < 2.0 * 100.0 + 1e-9);
        for slot in 0..4 {
            run.candidates.push(Candidate::new(slot, slot, 1.0, 0.1));
        }
        run.exclude_in_rto();
        run.open_event(0, 0.0);
        // The event cuts one of the two flows that send.
        assert_eq!(run.links[0].counters.fractions, 0.25);
        assert_eq!(run.next_cut(0.2).map(|cut| cut.cause), Some(Cause::Event));
        assert_eq!(run.next_cut(1.05), None);
        run.now = 1.06;
        for _ in 0..2 {
            let cut = run.next_cut(1.07).unwrap();
            assert_eq!(cut.cause, Cause::Timeout);
            run.end_rto(cut.slot);
        }
        assert!((0..4).all(|slot| run.flows.propagation[slot] == 0.1));
    }
}
