//! The product integrator: closed forms while every queue is pinned, Rosenbrock steps otherwise.
//!
//! While a queue is empty or full its delay is constant, every window is an explicit function of
//! time and the next event is a root of the summed rates ([`pinned`]). While a queue moves it relaxes
//! within a round trip although a cycle may last thousands of them, hence a linearly implicit method
//! ([`free`], [`stages`]). A step ends early, by its dense output, where a queue empties or fills
//! ([`location`]); cuts and other known times are never stepped over ([`events`]).

mod events;
mod free;
mod location;
mod measurement;
mod pinned;
mod sampling;
mod stages;
#[cfg(test)]
mod tests;

use crate::flows::{Base, Flows, Method, with_class};
use crate::links::{Link, Mode, RedStretch, Stretch};
use crate::model::{FluidError, FluidModel, Measure};
use crate::outcome::{FluidOutcome, MeasuredBy, Trace};
use crate::rosenbrock::STAGES;
use crate::schedule::{Occurrence, Schedule};
use crate::synchronisation::Candidate;
use free::Opening;
use measurement::{Measurement, Phase};
use stages::Solver;

/// Steps times flows after which a run is given up.
const WORK_LIMIT: u64 = 4_000_000_000;

/// Runs a model by the adaptive integrator, without the flows' limits ([`crate::Limits`]).
///
/// # Errors
///
/// A model that [`FluidModel::check`] refuses, a run of more than 4e9 flow steps, or one that
/// leaves the finite numbers.
pub fn integrate(model: &FluidModel) -> Result<FluidOutcome, FluidError> {
    model.check()?;
    let mut run = Run::new(model);
    run.go()?;
    Ok(run.outcome())
}

/// State of a run.
struct Run<'m> {
    model: &'m FluidModel,
    flows: Flows,
    links: Vec<Link>,
    now: f64,
    schedule: Schedule,
    classes: Vec<ClassStep>,
    solver: Solver,
    /// How the step at hand is made.
    method: Method,
    /// Step that the error control suggests.
    suggested: f64,
    /// A quarter of the shortest round trip: below it a step is short.
    restart: f64,
    /// The jump that the next step follows, and the step that served after the last of each kind.
    opening: Option<Opening>,
    openings: [f64; 2],
    candidates: Vec<Candidate>,
    red_stretches: Vec<Option<RedStretch>>,
    measurement: Measurement,
    trace: Trace,
    next_sample: f64,
    work: u64,
    steps: u64,
    refused: u64,
}

/// A class's part of the step being tried.
#[derive(Clone, Copy, Debug, Default)]
struct ClassStep {
    base: Base,
    /// Queueing delay at the start of the step.
    delay: f64,
    /// G_m: sum over j <= m of gamma_mj times the stages of the delay.
    delay_sums: [f64; STAGES],
    /// Sum over the flows of dA/dv times the stages of v.
    coupled: [f64; STAGES],
    /// Derivative of the queueing delay at the start of the step.
    delay_rate: f64,
}

impl<'m> Run<'m> {
    fn new(model: &'m FluidModel) -> Self {
        let flows = Flows::new(model);
        let crowd = model.crowd();
        let mut links: Vec<Link> = (0..model.links.len())
            .map(|l| Link::new(&model.links[l], l, crowd[l], model.seed))
            .collect();
        for link in &mut links {
            link.tolerate(model.tolerance);
        }
        let mut schedule = Schedule::with_room(flows.len() + 3 * links.len() + 1);
        for (number, link) in links.iter().enumerate() {
            if let Some(interval) = link.redraw_interval() {
                schedule.enter(
                    interval,
                    Occurrence::Redraw {
                        link: number as u32,
                    },
                );
            }
        }
        schedule.enter(model.measure.start(), Occurrence::Measure);
        let by = match model.measure {
            Measure::Fixed { .. } => MeasuredBy::Time,
            _ => MeasuredBy::TooFewEvents,
        };
        let shortest = flows
            .propagation
            .iter()
            .copied()
            .fold(f64::INFINITY, f64::min);
        let restart = if shortest.is_finite() {
            0.25 * shortest
        } else {
            model.horizon
        };
        Self {
            classes: vec![ClassStep::default(); flows.classes.len()],
            candidates: Vec::with_capacity(flows.len()),
            red_stretches: vec![None; links.len()],
            measurement: Measurement {
                from: 0.0,
                end: model.horizon,
                by,
                phase: Phase::Before,
                closed: None,
            },
            trace: Trace::for_model(model),
            next_sample: if model.trace.is_some() {
                0.0
            } else {
                f64::INFINITY
            },
            model,
            flows,
            links,
            now: 0.0,
            schedule,
            solver: Solver::default(),
            method: Method::default(),
            suggested: restart,
            restart,
            opening: None,
            openings: [restart; 2],
            work: 0,
            steps: 0,
            refused: 0,
        }
    }

    fn go(&mut self) -> Result<(), FluidError> {
        self.place_links();
        while self.now < self.measurement.end {
            let limit = self.schedule.next_time().min(self.measurement.end);
            if limit > self.now {
                self.charge()?;
                if self.links.iter().any(|link| link.mode == Mode::Free) {
                    self.free_stretch(limit)?;
                } else {
                    self.pinned_stretch(limit)?;
                }
            }
            if self.schedule.next_time() <= self.now {
                self.occur();
            }
        }
        let now = self.now;
        for class in 0..self.flows.classes.len() {
            with_class!(self.model, self.flows, class, part => part.note_peaks(now));
            if !with_class!(self.model, self.flows, class, part => part.is_sound(now)) {
                return Err(FluidError::NotFinite { time: now });
            }
        }
        Ok(())
    }

    /// Counts a stretch against the limit on work.
    fn charge(&mut self) -> Result<(), FluidError> {
        self.steps += 1;
        if self.steps.is_multiple_of(1024) && forebay_scenario::interrupted() {
            return Err(FluidError::Interrupted);
        }
        self.work += self.flows.len() as u64 + 8;
        if self.work > WORK_LIMIT {
            return Err(FluidError::TooLong {
                time: self.now,
                horizon: self.model.horizon,
                limit: WORK_LIMIT,
            });
        }
        Ok(())
    }

    fn path(&self, class: usize) -> &'m [usize] {
        &self.model.paths[self.flows.classes[class].path]
    }

    /// Queueing delay along a class's path now.
    fn delay(&self, class: usize) -> f64 {
        self.path(class)
            .iter()
            .map(|&l| self.links[l].delay())
            .sum()
    }

    /// Packets per second that the flows offer a link now.
    fn arrivals(&mut self, link: usize) -> f64 {
        let now = self.now;
        let mut sum = 0.0;
        for class in 0..self.flows.classes.len() {
            if self.path(class).contains(&link) {
                let delay = self.delay(class);
                let rate =
                    with_class!(self.model, self.flows, class, part => part.rate(now, delay));
                sum += self.flows.classes[class].size * rate;
            }
        }
        sum
    }

    /// What the flows will offer a link `span` seconds on if no delay changes, with three
    /// derivatives.
    fn arrivals_ahead(&mut self, link: usize, span: f64) -> [f64; 4] {
        let now = self.now;
        let mut sums = [0.0; 4];
        for class in 0..self.flows.classes.len() {
            if self.path(class).contains(&link) {
                let delay = self.delay(class);
                let rates = with_class!(self.model, self.flows, class, part => part.rate_ahead(now, span, delay));
                let size = self.flows.classes[class].size;
                for (sum, rate) in sums.iter_mut().zip(rates) {
                    *sum += size * rate;
                }
            }
        }
        sums
    }

    /// Places every queue in its mode after a jump; a clipped one opens a congestion event.
    fn place_links(&mut self) {
        for l in 0..self.links.len() {
            let link = &mut self.links[l];
            if link.queue > 0.0 && link.queue < link.buffer {
                link.mode = Mode::Free;
                continue;
            }
            let arrivals = self.arrivals(l);
            self.links[l].place(arrivals);
            if self.links[l].mode == Mode::Full {
                self.open_event(l);
            }
        }
    }

    fn settle_red(&mut self) {
        for (link, stretch) in self.links.iter_mut().zip(&mut self.red_stretches) {
            if let (Some(red), Some(end)) = (&mut link.red, stretch.take()) {
                link.tally.early += red.settle(&end);
            }
        }
    }

    /// Enters a stretch into a link's ledger and shares its losses out in proportion to what was
    /// sent.
    fn account(&mut self, link: usize, stretch: Stretch) -> Result<(), FluidError> {
        let lost = self.links[link].account(&stretch);
        if !(stretch.arrived.is_finite() && self.links[link].queue.is_finite()) {
            return Err(FluidError::NotFinite { time: self.now });
        }
        if lost > 0.0 {
            let fraction = lost / stretch.arrived;
            for class in 0..self.flows.classes.len() {
                if self.path(class).contains(&link) {
                    let range = self.flows.classes[class].range.clone();
                    let survivors = &mut self.flows.stretch[range.clone()];
                    for (total, packets) in self.flows.lost[range].iter_mut().zip(survivors) {
                        // What is lost here cannot be lost again further on.
                        *total += fraction * *packets;
                        *packets -= fraction * *packets;
                    }
                }
            }
        }
        Ok(())
    }
}
