//! A run of a model with any method, in these parts:
//!
//! 1. `mod` (this file): the state, its beginning, and the loop that lets an [`Integrator`] advance
//!    it.
//! 2. `paths`: delays and rates along the path of a class of flows.
//! 3. `events`: scheduled events and changes of capacities. They return cuts to the integrator.
//! 4. `congestion_events`: the opening of a congestion event, with the flows that lose in it.
//! 5. `overflow`: losses in an overflow that continues, and timeouts.
//! 6. `losses`: lost packets, in proportion to the packets of each flow.
//! 7. `outcome`: the numbers of the measured part.
//!
//! An integrator reads and writes windows, queues and the time. It reaches the schedule, the
//! measurement and the changes of capacities by methods alone. A new method is a file with an
//! `Integrator`.

mod congestion_events;
mod events;
mod losses;
mod outcome;
mod overflow;
mod paths;

pub(crate) use events::Cut;

use crate::error::{FluidError, count, range};
use crate::flows::Flows;
use crate::links::Link;
use crate::measurement::Measurement;
use crate::model::{FluidModel, Measure};
use crate::samples::Samples;
use crate::schedule::{Occurrence, Schedule};
use crate::synchronization::Candidate;

/// Steps times flows between two checks of cancellation, which take some hundredths of a second.
const FLOW_STEPS_PER_LOOK: u64 = 1 << 20;

/// A method of integration.
pub(crate) trait Integrator {
    /// Advances the run by a step or an interval and applies the events that are due.
    fn advance(&mut self, run: &mut Run<'_>) -> Result<(), FluidError>;

    /// Updates the peak windows at the end of the run, and refuses a state that is no solution.
    fn finish(&mut self, run: &mut Run<'_>) -> Result<(), FluidError>;
}

/// State of a run.
#[derive(Debug)]
pub(crate) struct Run<'m> {
    pub(crate) model: &'m FluidModel,
    pub(crate) flows: Flows,
    pub(crate) links: Vec<Link>,
    schedule: Schedule,
    pub(crate) now: f64,
    /// Time of the next change of a link's capacity or of the senders' knowledge. No step passes
    /// it.
    next_change: f64,
    measurement: Measurement,
    pub(crate) samples: Samples,
    /// Flows of the link at which an event is about to open.
    pub(crate) candidates: Vec<Candidate>,
    steps: u64,
    /// Number of steps that the error control rejected.
    pub(crate) refused: u64,
    /// Number of steps between two checks of cancellation.
    steps_per_look: u64,
}

impl<'m> Run<'m> {
    /// The model at time 0, with the measured part `measure`.
    pub(crate) fn new(model: &'m FluidModel, measure: Measure) -> Result<Self, FluidError> {
        model.check()?;
        let flows = Flows::new(model);
        let flow_count = model.flow_count();
        let lags = model.propagation_by_link();
        let links: Vec<Link> = (0..model.links.len())
            .map(|l| {
                let link = &model.links[l];
                Link::new(link, l, (flow_count[l], flows.len()), model.seed)
                    .with_changes(link, lags[l])
            })
            .collect();
        let mut schedule = Schedule::with_room(flows.len() + 3 * links.len() + 1);
        for (number, link) in (0..).zip(&links) {
            if let Some(interval) = link.redraw_interval() {
                schedule.enter(interval, Occurrence::Redraw { link: number });
            }
        }
        schedule.enter(measure.start(), Occurrence::Measure);
        Ok(Self {
            candidates: Vec::with_capacity(flows.len()),
            steps_per_look: (FLOW_STEPS_PER_LOOK / (flows.len() as u64 + 8)).clamp(1, 1024),
            measurement: Measurement::new(measure, model.horizon),
            samples: Samples::new(model),
            model,
            flows,
            next_change: next_change(&links),
            links,
            schedule,
            now: 0.0,
            steps: 0,
            refused: 0,
        })
    }

    /// Adds timeouts: the seconds of silence of each flow after a loss that only its timer detects.
    /// An empty slice disables timeouts.
    pub(crate) fn with_timeouts(mut self, timeouts: &[f64]) -> Result<Self, FluidError> {
        if timeouts.is_empty() {
            return Ok(self);
        }
        let flows = self.flows.len();
        count(
            "timeouts",
            timeouts.len(),
            (flows, flows),
            "none, or one for each flow",
        )?;
        for (slot, &number) in self.flows.number.iter().enumerate() {
            let timeout = timeouts[number as usize];
            range(
                &format!("timeout of flow {number}"),
                timeout,
                (0.0, 1e6),
                "0 to 1e6 s",
            )?;
            self.flows.timeout[slot] = timeout;
        }
        Ok(self)
    }

    /// Runs an integrator to the end of the run.
    pub(crate) fn complete(&mut self, integrator: &mut impl Integrator) -> Result<(), FluidError> {
        self.look()?;
        while self.now < self.measurement.end {
            integrator.advance(self)?;
        }
        integrator.finish(self)
    }

    /// Counts a step, and checks cancellation from time to time.
    #[inline]
    pub(crate) fn count_step(&mut self) -> Result<(), FluidError> {
        self.steps += 1;
        if self.steps.is_multiple_of(self.steps_per_look) {
            return self.look();
        }
        Ok(())
    }

    /// Number of steps so far.
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    /// Ends a canceled run with an error.
    fn look(&self) -> Result<(), FluidError> {
        if self.model.cancel.requested() {
            return Err(FluidError::Interrupted);
        }
        Ok(())
    }
}

/// Time of the next change of a link's capacity or of the senders' knowledge.
fn next_change(links: &[Link]) -> f64 {
    let times = links.iter().map(Link::next_change);
    times.fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::model::{Background, FluidFlow, FluidLink, Limits, QueueDistribution};
    use crate::outcome::MeasuredBy;
    use crate::schedule::Cause;
    use crate::synchronization::Synchronization;
    use forebay_congestion::aimd::Aimd;
    use forebay_congestion::fluid::FluidLaw;
    use forebay_random::Seed;
    use forebay_scenario::Cancel;

    /// A drop-tail link of 1000 packets per second with a buffer of 50 packets, and one flow per
    /// propagation time.
    pub(crate) fn model(propagation: &[f64]) -> FluidModel {
        let flow = |propagation| FluidFlow {
            propagation,
            law: 0,
            path: 0,
            size: 1.0,
            initial_window: Some(10.0),
            limits: Limits::default(),
        };
        FluidModel {
            links: vec![FluidLink {
                capacity: 1000.0,
                steps: None,
                buffer: 50.0,
                background: Background::Constant(0.0),
                queue: QueueDistribution::DropTail,
            }],
            target: 0,
            paths: vec![vec![0]],
            laws: vec![FluidLaw::Aimd(Aimd::default())],
            flows: propagation.iter().copied().map(flow).collect(),
            synchronization: Synchronization::default(),
            measure: Measure::WholeCycles {
                start: 1.0,
                duration: 20.0,
            },
            horizon: 100.0,
            tolerance: 1e-4,
            trace: None,
            seed: Seed::default(),
            cancel: Cancel::default(),
        }
    }

    /// On a link that is shared by bytes, packets twice as large have half the window.
    #[test]
    fn a_fair_window_is_of_bytes() {
        let mut model = model(&[0.1, 0.1, 0.1, 0.3]);
        (model.flows[1].size, model.flows[2].size) = (2.0, 0.25);
        let flow_count = model.flow_count();
        let window = |flow: usize| model.fair_window(&model.flows[flow], &flow_count);
        assert_eq!(window(0), 1000.0 / 4.0 * 0.1);
        assert_eq!(window(1), window(0) / 2.0);
        assert_eq!(window(2), window(0) * 4.0);
        assert!((window(3) - 3.0 * window(0)).abs() < 1e-12);
    }

    #[test]
    fn what_is_counted_ends_with_the_last_whole_cycle() {
        let model = model(&[0.1, 0.2]);
        let mut run = Run::new(&model, model.measure).unwrap();
        let mut event = |now: f64, sent: f64, lost: f64| {
            run.now = now;
            assert_eq!(run.next_cut(now), None);
            (run.flows.sent[1], run.flows.lost[1]) = (sent, lost);
            run.measurement.delimit(now, &mut run.flows, &mut run.links);
            run.measurement.end
        };
        // The first event after the start begins the cycles, and later events end them.
        assert_eq!(event(0.5, 7.0, 3.0), 100.0);
        assert_eq!(event(2.0, 70.0, 30.0), 22.0);
        event(4.0, 100.0, 10.0);
        event(7.0, 300.0, 20.0);
        run.now = 22.0;
        (run.flows.sent[1], run.flows.lost[1]) = (900.0, 90.0);
        let outcome = run.outcome();
        assert_eq!((outcome.from, outcome.to), (2.0, 7.0));
        assert_eq!(outcome.measured_by, MeasuredBy::WholeCycles);
        assert_eq!(outcome.sent[1], 300.0);
        assert_eq!(outcome.loss[1], 20.0 / 300.0);
        assert_eq!(outcome.goodput[1], 280.0 / 5.0);
    }

    #[test]
    fn an_event_cuts_each_victim_a_round_trip_later_and_closes_after_the_last() {
        let mut model = model(&[0.1, 0.2]);
        model.synchronization.minimum = 1.0;
        let mut run = Run::new(&model, model.measure).unwrap();
        for slot in 0..2 {
            let round_trip = run.flows.propagation[slot];
            run.candidates
                .push(Candidate::new(slot as u32, slot as u32, 1.0, round_trip));
        }
        assert!(run.links[0].may_open_event());
        run.open_event(0, 0.3);
        assert!(!run.links[0].may_open_event());
        let cut = |slot| {
            let cause = Cause::Event;
            Some(Cut { slot, cause })
        };
        assert_eq!(run.next_cut(0.39), None);
        assert_eq!(run.next_cut(0.41), cut(0));
        assert_eq!(run.next_cut(0.51), cut(1));
        assert!(!run.links[0].may_open_event());
        assert_eq!(run.next_cut(0.51), None);
        assert!(run.links[0].may_open_event());
    }
}
