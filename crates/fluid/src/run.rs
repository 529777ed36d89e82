//! A run of a model with any method: flows, links, scheduled events, measurement and outcome.
//!
//! An [`Integrator`] advances windows and queues by a step or an interval. The run opens congestion
//! events, applies scheduled events, returns cuts to the integrator and counts. A new method is a
//! file with an `Integrator`.

use crate::capacity::SILENT;
use crate::error::{FluidError, count, range};
use crate::exposure::Losses;
use crate::flows::{Flows, with_class};
use crate::links::{Link, Stretch};
use crate::measurement::Measurement;
use crate::model::{FluidModel, Measure};
use crate::outcome::{FluidOutcome, jain, link_outcome};
use crate::samples::Samples;
use crate::schedule::{Cause, Occurrence, Schedule};
use crate::synchronization::Candidate;
use crate::tally::Tally;

/// Steps times flows between two checks of cancellation, which take some hundredths of a second.
const FLOW_STEPS_PER_LOOK: u64 = 1 << 20;

/// Packets that a silent flow may seem to send by the rounding of its integrals. Its loss fraction
/// is then meaningless.
const NOTHING: f64 = 1e-6;

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
    pub(crate) schedule: Schedule,
    pub(crate) now: f64,
    /// Time of the next change of a link's capacity or of the senders' knowledge. No step passes
    /// it.
    pub(crate) next_change: f64,
    pub(crate) measurement: Measurement,
    pub(crate) samples: Samples,
    /// Flows of the link at which an event is about to open.
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) steps: u64,
    /// Number of steps that the error control rejected.
    pub(crate) refused: u64,
    /// Number of steps between two checks of cancellation.
    steps_per_look: u64,
}

/// A cut that a flow takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) slot: usize,
    pub(crate) cause: Cause,
}

impl<'m> Run<'m> {
    /// The model at time 0, with the measured part `measure`.
    pub(crate) fn new(model: &'m FluidModel, measure: Measure) -> Result<Self, FluidError> {
        model.check()?;
        let flows = Flows::new(model);
        let crowd = model.crowd();
        let lags = model.propagation_by_link();
        let links: Vec<Link> = (0..model.links.len())
            .map(|l| {
                let link = &model.links[l];
                Link::new(link, l, (crowd[l], flows.len()), model.seed).with_changes(link, lags[l])
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

    /// Ends a canceled run with an error.
    fn look(&self) -> Result<(), FluidError> {
        if self.model.cancel.requested() {
            return Err(FluidError::Interrupted);
        }
        Ok(())
    }

    /// The links that a class crosses.
    #[inline]
    pub(crate) fn path(&self, class: usize) -> &'m [usize] {
        &self.model.paths[self.flows.classes[class].path]
    }

    /// Queueing delay along a class's path now.
    #[inline]
    pub(crate) fn delay(&self, class: usize) -> f64 {
        self.path(class)
            .iter()
            .map(|&l| self.links[l].delay())
            .sum()
    }

    /// Waiting time along the path of a class for an arrival at `at`, in seconds.
    pub(crate) fn wait(&self, class: usize, at: f64) -> f64 {
        self.path(class)
            .iter()
            .map(|&l| self.links[l].wait(at))
            .sum()
    }

    /// Whether a class sends over a link. It does not if senders know of an outage on its path.
    #[inline]
    pub(crate) fn offers(&self, class: usize, link: usize) -> bool {
        let path = self.path(class);
        path.contains(&link) && path.iter().all(|&l| self.links[l].hold < SILENT)
    }

    /// Applies the changes of capacities and of the senders' knowledge that are due. Returns
    /// whether any is.
    pub(crate) fn change_capacities(&mut self) -> bool {
        let due = self.next_change <= self.now;
        if due {
            let (now, end) = (self.now, self.measurement.end);
            for link in &mut self.links {
                if link.change(now) && now < end {
                    link.count_fall(now);
                }
            }
            self.next_change = next_change(&self.links);
        }
        due
    }

    /// Highest capacity of the narrowest link of a class's path, in packets of the class per
    /// second.
    pub(crate) fn capacity(&self, class: usize) -> f64 {
        let capacities = self.path(class).iter().map(|&l| self.links[l].highest());
        capacities.fold(f64::INFINITY, f64::min) / self.flows.classes[class].size
    }

    /// Current rate of the flows at a link, in packets per second.
    pub(crate) fn arrivals(&mut self, link: usize) -> f64 {
        let now = self.now;
        let mut sum = 0.0;
        for class in 0..self.flows.classes.len() {
            if self.offers(class, link) {
                let delay = self.delay(class);
                let rate =
                    with_class!(self.model, self.flows, class, part => part.rate(now, delay));
                sum += self.flows.classes[class].size * rate;
            }
        }
        sum
    }

    /// Applies the events that are due at `until`, up to the next cut, which the integrator makes.
    #[inline]
    pub(crate) fn next_cut(&mut self, until: f64) -> Option<Cut> {
        if self.schedule.next_time() <= until {
            return self.take_due(until);
        }
        None
    }

    #[inline(never)]
    fn take_due(&mut self, until: f64) -> Option<Cut> {
        while let Some(what) = self.schedule.take_due(until) {
            match what {
                Occurrence::Cut { cause, slot } => {
                    let slot = slot as usize;
                    return Some(Cut { slot, cause });
                }
                Occurrence::Close { link } => self.links[link as usize].close_event(),
                Occurrence::Redraw { link: number } => {
                    let link = &mut self.links[number as usize];
                    link.redraw();
                    if let Some(interval) = link.redraw_interval() {
                        self.schedule.enter(self.now + interval, what);
                    }
                }
                Occurrence::Measure => {
                    self.measurement
                        .begin(self.now, &mut self.flows, &mut self.links);
                }
            }
        }
        None
    }

    /// Opens a congestion event at a link at the time `at`. The candidates are the flows of the
    /// link.
    pub(crate) fn open_event(&mut self, link: usize, at: f64) {
        if self.candidates.is_empty() {
            // Every flow waits for its timer, so RED drops only background packets, and its next
            // drop comes later.
            if let Some(red) = &mut self.links[link].red {
                red.restart();
            }
            return;
        }
        let law = &self.model.synchronization;
        let count = self.links[link].choose_victims(law, &mut self.candidates);
        let fraction = count as f64 / self.links[link].events.crowd as f64;
        let (mut first, mut last) = (f64::INFINITY, at);
        let follows = self.links[link].event_follows();
        for (place, flow) in self.candidates.iter().enumerate() {
            let time = at + flow.round_trip;
            let exposure = &mut self.flows.exposure[flow.slot as usize];
            if place >= count {
                if !follows {
                    exposure.shelter(at, time);
                }
                continue;
            }
            (first, last) = (first.min(time), last.max(time));
            self.links[link].events.lose(flow.slot as usize);
            if exposure.shelter(at, time) {
                let (cause, slot) = (Cause::Event, flow.slot);
                self.schedule.enter(time, Occurrence::Cut { cause, slot });
            }
        }
        self.links[link].expect_answer(if follows { at } else { first });
        let number = link as u32;
        self.schedule
            .enter(last, Occurrence::Close { link: number });
        if link == self.model.target {
            self.measurement
                .delimit(at, &mut self.flows, &mut self.links);
        }
        let tally = &mut self.links[link].tally;
        tally.events += 1;
        tally.fractions += fraction;
    }

    /// Counts an interval at a link and distributes its losses.
    pub(crate) fn account(&mut self, link: usize, stretch: Stretch) -> Result<(), FluidError> {
        let lost = self.links[link].account(&stretch);
        if !(stretch.arrived.is_finite() && self.links[link].queue.is_finite()) {
            return Err(FluidError::NotFinite { time: self.now });
        }
        if lost > 0.0 {
            self.share_losses(link, lost / stretch.arrived, stretch.span);
        }
        Ok(())
    }

    /// Distributes a link's losses in an interval of `span` seconds in proportion to the sent
    /// packets.
    pub(crate) fn share_losses(&mut self, link: usize, fraction: f64, span: f64) {
        let goes_on = self.links[link].overflow_goes_on(self.now);
        for class in 0..self.flows.classes.len() {
            if self.path(class).contains(&link) {
                if goes_on {
                    self.expose(link, class, Losses { fraction, span });
                }
                let range = self.flows.classes[class].range.clone();
                let survivors = &mut self.flows.stretch[range.clone()];
                for (total, packets) in self.flows.lost[range].iter_mut().zip(survivors) {
                    // Packets that are lost here cannot be lost again at a later link.
                    *total += fraction * *packets;
                    *packets -= fraction * *packets;
                }
            }
        }
    }

    /// The outcome of the run.
    pub(crate) fn outcome(mut self) -> FluidOutcome {
        let conservation = self.links.iter().map(Link::defect).fold(0.0, f64::max);
        let counts = self.measurement.counts(self.now, &self.flows, &self.links);
        let time = counts.at - self.measurement.from;
        let mut goodput = vec![0.0; counts.sent.len()];
        let mut loss = vec![0.0; counts.sent.len()];
        let mut sized = Vec::with_capacity(counts.sent.len());
        // Accepted packets that are still in a link have not arrived. Each of several links sees
        // all sent packets, so the link that has held back most determines the arrivals.
        let delivered: Vec<f64> = counts.tallies.iter().map(Tally::delivered).collect();
        for (slot, &number) in self.flows.number.iter().enumerate() {
            let (sent, lost) = (counts.sent[slot], counts.lost[slot]);
            let path = self.path(self.flows.class_of[slot] as usize);
            let arrives = path.iter().map(|&link| delivered[link]);
            let arrives = arrives.fold(f64::INFINITY, f64::min);
            // The packets of a flow that hardly sends may be below 0 by an error of its integral.
            let rate = ((sent - lost) / time * arrives).max(0.0);
            goodput[number as usize] = rate;
            loss[number as usize] = if sent > NOTHING { lost / sent } else { 0.0 };
            sized.push(rate * self.flows.classes[self.flows.class_of[slot] as usize].size);
        }
        FluidOutcome {
            from: self.measurement.from,
            to: counts.at,
            measured_by: self.measurement.by,
            links: counts
                .tallies
                .iter()
                .zip(&self.links)
                .zip(&self.model.links)
                .map(|((tally, link), spec)| {
                    let possible = link.possible(self.measurement.from, counts.at);
                    link_outcome(tally, (spec.capacity, possible), time)
                })
                .collect(),
            goodput,
            loss,
            sent: self.flows.by_number(&counts.sent),
            peak_window: self.flows.by_number(&self.flows.peak_window),
            jain: jain(&sized),
            trace: self.samples.trace,
            conservation,
            steps: self.steps,
            refused: self.refused,
        }
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
    use crate::model::{Background, FluidFlow, FluidLink, Limits, QueueLaw};
    use crate::outcome::MeasuredBy;
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
                queue: QueueLaw::DropTail,
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
        let crowd = model.crowd();
        let window = |flow: usize| model.fair_window(&model.flows[flow], &crowd);
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
