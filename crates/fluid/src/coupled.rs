//! The classical coupled model: a continuous loss rate instead of congestion events.
//!
//! Losses come at the rate lambda_i = p W_i / R_i and each takes its part of a cut,
//! W_i' = growth / R_i - b(W_i) W_i lambda_i (Misra, Gong and Towsley 2000; equations (1) to (5) of
//! Kumar, Azad and Park). At a drop-tail queue p is the clipped fraction of the arrivals, at RED
//! the drop probability of the averaged queue. Feedback is immediate, as published: a drop-tail
//! queue then slides along its limit with a loss rate that just balances the growth, and the
//! utilisation is 1 after the first overflow whatever the buffer. That is the model's error, and
//! why the engine's own model has events.
//!
//! Laws with a clock take the expected jump: in a time dt the state moves by lambda dt of the way
//! to the state after a cut, the clock back to 0 (Vardoyan, Hollot and Towsley 2018).
//! Integrated by forward Euler with a step of a hundredth of the shortest round-trip time.

use forebay_congestion::fluid::{CutConditions, Epoch, EulerStep, FluidWindow};

use crate::flows::{Flows, Loop, with_class};
use crate::integrate::link_outcome;
use crate::links::{Link, Mode, Stretch};
use crate::model::{FluidError, FluidModel};
use crate::outcome::{FluidOutcome, MeasuredBy, Trace, jain};
use crate::schedule::{Occurrence, Schedule};

/// Steps times flows after which a run is given up.
const WORK_LIMIT: f64 = 2e10;

/// Runs the classical coupled model. It has no congestion events, so the measured part is from the
/// earliest start of the model's [`crate::Measure`] to its horizon.
///
/// # Errors
///
/// A model that [`FluidModel::check`] refuses, or one that takes more than 2e10 flow steps.
pub fn integrate_coupled(model: &FluidModel) -> Result<FluidOutcome, FluidError> {
    model.check()?;
    let shortest = model
        .flows
        .iter()
        .map(|f| f.propagation)
        .fold(model.horizon, f64::min);
    let step = 0.01 * shortest;
    let work = model.horizon / step * (model.flows.len() + 8) as f64;
    if work > WORK_LIMIT {
        let limit = WORK_LIMIT as u64;
        return Err(FluidError::TooLong {
            time: 0.0,
            horizon: model.horizon,
            limit,
        });
    }
    let mut run = CoupledRun::new(model, step);
    run.go()?;
    Ok(run.outcome())
}

struct CoupledRun<'m> {
    model: &'m FluidModel,
    step: f64,
    flows: Flows,
    windows: Vec<f64>,
    clocks: Vec<f64>,
    links: Vec<Link>,
    /// Packets that arrived at each link in the step.
    arrived: Vec<f64>,
    /// Fraction of the arrivals that each link drops.
    drop: Vec<f64>,
    schedule: Schedule,
    now: f64,
    from: f64,
    steps: u64,
    trace: Trace,
    next_sample: f64,
}

impl<'m> CoupledRun<'m> {
    fn new(model: &'m FluidModel, step: f64) -> Self {
        let mut flows = Flows::new(model);
        let mut windows = vec![0.0; flows.len()];
        for class in 0..flows.classes.len() {
            with_class!(model, flows, class, part => {
                part.pinned_windows((0.0, 0.0, 0.0), |slot, w| windows[slot] = w);
            });
        }
        let crowd = model.crowd();
        let links: Vec<Link> = (0..model.links.len())
            .map(|l| Link::new(&model.links[l], l, crowd[l], model.seed))
            .collect();
        let mut schedule = Schedule::with_room(links.len() + 1);
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
        Self {
            clocks: vec![0.0; flows.len()],
            arrived: vec![0.0; links.len()],
            drop: vec![0.0; links.len()],
            trace: Trace::for_model(model),
            next_sample: if model.trace.is_some() {
                0.0
            } else {
                f64::INFINITY
            },
            model,
            step,
            flows,
            windows,
            links,
            schedule,
            now: 0.0,
            from: 0.0,
            steps: 0,
        }
    }

    fn go(&mut self) -> Result<(), FluidError> {
        while self.now < self.model.horizon {
            self.occur();
            for (arrived, link) in self.arrived.iter_mut().zip(&self.links) {
                *arrived = link.background * self.step;
            }
            for class in 0..self.flows.classes.len() {
                self.grow(class);
            }
            self.sample();
            for link in 0..self.links.len() {
                self.fill(link);
            }
            self.steps += 1;
            self.now = self.steps as f64 * self.step;
            if self.steps % 4096 == 0 && forebay_scenario::interrupted() {
                return Err(FluidError::Interrupted);
            }
        }
        if self.windows.iter().all(|w| w.is_finite()) {
            Ok(())
        } else {
            Err(FluidError::NotFinite { time: self.now })
        }
    }

    fn occur(&mut self) {
        while let Some(what) = self.schedule.take_due(self.now) {
            match what {
                Occurrence::Redraw { link } => {
                    self.links[link as usize].redraw();
                    if let Some(interval) = self.links[link as usize].redraw_interval() {
                        self.schedule.enter(self.now + interval, what);
                    }
                }
                Occurrence::Measure => {
                    self.from = self.now;
                    self.flows.reset_counts();
                    self.links.iter_mut().for_each(|link| link.tally.reset());
                }
                Occurrence::Cut { .. } | Occurrence::Close { .. } => {}
            }
        }
    }

    fn grow(&mut self, class: usize) {
        let path = &self.model.paths[self.flows.classes[class].path];
        let delay = path.iter().map(|&l| self.links[l].delay()).sum();
        let kept: f64 = path.iter().map(|&l| 1.0 - self.drop[l]).product();
        let at = CoupledStep {
            span: self.step,
            delay,
            drop: 1.0 - kept,
        };
        let (windows, clocks) = (&mut self.windows, &mut self.clocks);
        let sent =
            with_class!(self.model, self.flows, class, part => part.coupled(windows, clocks, &at));
        for &l in path {
            self.arrived[l] += self.flows.classes[class].size * sent;
        }
    }

    /// One step of a queue, and the fraction it drops in the next.
    fn fill(&mut self, number: usize) {
        let link = &mut self.links[number];
        let arrived = self.arrived[number];
        let served = link.capacity * self.step;
        let next = link.queue + arrived - served;
        let full = next > link.buffer;
        link.mode = if full {
            Mode::Full
        } else if next <= 0.0 {
            Mode::Empty
        } else {
            Mode::Free
        };
        let queue = link.queue;
        let mut early = 0.0;
        if let Some(red) = &mut link.red {
            let stretch = red.follow(self.step, |_| queue, |_| arrived / self.step);
            early = red.settle(&stretch) / arrived.max(1e-300);
        }
        let lost = if full { next - link.buffer } else { 0.0 };
        let departed = (queue + arrived - lost).min(served);
        link.queue = next.clamp(0.0, link.buffer);
        link.enter(
            &Stretch {
                span: self.step,
                arrived,
                theta: 1.0,
            },
            departed,
            lost,
        );
        if link.mode == Mode::Free {
            link.enter_level(queue, self.step);
        }
        link.tally.early += early * arrived;
        self.drop[number] = (lost / arrived.max(1e-300) + early).min(1.0);
    }

    fn sample(&mut self) {
        while self.next_sample <= self.now {
            for (slot, &number) in self.flows.number.iter().enumerate() {
                self.trace.windows[number as usize].push(self.windows[slot]);
            }
            for (l, link) in self.links.iter().enumerate() {
                let rate = self.arrived[l] / self.step / link.capacity;
                self.trace.queues[l].push(link.queue);
                self.trace.used[l].push(if link.queue > 0.0 { 1.0 } else { rate.min(1.0) });
            }
            self.trace.times.push(self.next_sample);
            let cadence = self.model.trace.unwrap_or(f64::INFINITY);
            self.next_sample = self.trace.times.len() as f64 * cadence;
        }
    }

    fn outcome(self) -> FluidOutcome {
        let conservation = self.links.iter().map(Link::defect).fold(0.0, f64::max);
        let time = self.now - self.from;
        let sent = self.flows.by_number(&self.flows.sent);
        let lost = self.flows.by_number(&self.flows.lost);
        let goodput: Vec<f64> = sent
            .iter()
            .zip(&lost)
            .map(|(s, l)| (s - l) / time)
            .collect();
        let sized: Vec<f64> = goodput
            .iter()
            .zip(&self.model.flows)
            .map(|(rate, flow)| rate * flow.size)
            .collect();
        FluidOutcome {
            from: self.from,
            to: self.now,
            measured_by: MeasuredBy::Time,
            links: self
                .links
                .iter()
                .map(|link| link_outcome(&link.tally, link.capacity, time))
                .collect(),
            loss: sent
                .iter()
                .zip(&lost)
                .map(|(s, l)| l / s.max(1e-300))
                .collect(),
            goodput,
            sent,
            jain: jain(&sized),
            trace: self.trace,
            conservation,
            steps: self.steps,
            refused: 0,
        }
    }
}

/// One Euler step of a class.
struct CoupledStep {
    span: f64,
    delay: f64,
    /// Fraction of the packets that is lost along the path.
    drop: f64,
}

impl<L: FluidWindow> Loop<'_, L> {
    fn coupled(&mut self, windows: &mut [f64], clocks: &mut [f64], at: &CoupledStep) -> f64 {
        let flows = &mut *self.flows;
        let mut sum = 0.0;
        for i in self.range.clone() {
            let propagation = flows.propagation[i];
            let round_trip = propagation + at.delay;
            let rounds = at.span / round_trip;
            let packets = windows[i] * rounds;
            flows.sent[i] += packets;
            flows.lost[i] += packets * at.drop;
            sum += packets;
            flows.largest_delay[i] = flows.largest_delay[i].max(at.delay);
            let step = EulerStep {
                span: at.span,
                rounds,
            };
            let epoch = &mut flows.epoch[i];
            let grown = self.law.euler_step(epoch, windows[i], clocks[i], step);
            clocks[i] += at.span;
            // Expected cuts in the step; at most one.
            let cuts = (packets * at.drop).min(1.0);
            if cuts > 0.0 {
                let conditions = CutConditions {
                    clock: clocks[i],
                    rate: windows[i] / round_trip,
                    propagation,
                    largest_round_trip: propagation + flows.largest_delay[i],
                };
                let cut = self.law.cut(epoch, grown, &conditions);
                let after = self.law.window(&cut, cut.position, 0.0);
                windows[i] = grown + cuts * (after - grown);
                clocks[i] *= 1.0 - cuts;
                blend(epoch, &cut, cuts);
            } else {
                windows[i] = grown;
            }
        }
        sum
    }
}

/// Moves an epoch a fraction of the way to another.
fn blend(epoch: &mut Epoch, to: &Epoch, fraction: f64) {
    let mix = |a: &mut f64, b: f64| *a += fraction * (b - *a);
    mix(&mut epoch.position, to.position);
    mix(&mut epoch.plateau, to.plateau);
    mix(&mut epoch.inflection, to.inflection);
    mix(&mut epoch.gain, to.gain);
    mix(&mut epoch.last_cut_rate, to.last_cut_rate);
}
