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
use crate::links::{Link, Mode, Stretch};
use crate::model::{FluidError, FluidModel};
use crate::outcome::{FluidOutcome, MeasuredBy, jain, link_outcome};
use crate::samples::{Samples, StepState};
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
    /// Fall of the arrivals at each link, packets per step, if every packet were lost.
    response: Vec<f64>,
    schedule: Schedule,
    now: f64,
    from: f64,
    steps: u64,
    samples: Samples,
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
            response: vec![0.0; links.len()],
            samples: Samples::new(model),
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
            self.response.fill(0.0);
            for class in 0..self.flows.classes.len() {
                self.grow(class);
            }
            self.sample();
            for link in 0..self.links.len() {
                self.signal(link);
            }
            for class in 0..self.flows.classes.len() {
                self.respond(class);
            }
            for link in 0..self.links.len() {
                self.fill(link);
            }
            self.steps += 1;
            self.now = self.steps as f64 * self.step;
            if self.steps.is_multiple_of(4096) && forebay_scenario::interrupted() {
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
                Occurrence::Cut { .. }
                | Occurrence::AccessCut { .. }
                | Occurrence::Close { .. } => {}
            }
        }
    }

    /// Grows a class's windows and adds what it sends, and how that would fall, to its links.
    fn grow(&mut self, class: usize) {
        let path = &self.model.paths[self.flows.classes[class].path];
        let at = CoupledStep {
            span: self.step,
            delay: path.iter().map(|&l| self.links[l].delay()).sum(),
            drop: 0.0,
        };
        let (windows, clocks) = (&mut self.windows, &mut self.clocks);
        let (sent, response) =
            with_class!(self.model, self.flows, class, part => part.grow(windows, clocks, &at));
        let size = self.flows.classes[class].size;
        for &l in path {
            self.arrived[l] += size * sent;
            self.response[l] += size * response;
        }
    }

    /// The fraction that a link drops in this step. At a full queue the excess is what remains
    /// after the flows have answered, p A = excess - p response: one lost packet may cut more than
    /// the excess of a whole step.
    fn signal(&mut self, number: usize) {
        let link = &mut self.links[number];
        let arrived = self.arrived[number];
        let excess = link.queue + arrived - link.capacity * self.step - link.buffer;
        let queue = link.queue;
        let mut early = 0.0;
        if let Some(red) = &mut link.red {
            let stretch = red.follow(self.step, |_| queue, |_| arrived / self.step);
            let drops = red.settle(&stretch);
            link.tally.early += drops;
            early = drops / arrived.max(1e-300);
        }
        let clipped = excess.max(0.0) / (arrived + self.response[number]).max(1e-300);
        self.drop[number] = (clipped + early).min(1.0);
    }

    /// Cuts a class's windows by what its path drops and takes back what they no longer send.
    fn respond(&mut self, class: usize) {
        let path = &self.model.paths[self.flows.classes[class].path];
        let drop = 1.0 - path.iter().map(|&l| 1.0 - self.drop[l]).product::<f64>();
        if drop <= 0.0 {
            return;
        }
        let at = CoupledStep {
            span: self.step,
            delay: path.iter().map(|&l| self.links[l].delay()).sum(),
            drop,
        };
        let (windows, clocks) = (&mut self.windows, &mut self.clocks);
        let fall =
            with_class!(self.model, self.flows, class, part => part.respond(windows, clocks, &at));
        for &l in path {
            self.arrived[l] -= self.flows.classes[class].size * fall;
        }
    }

    /// One step of a queue.
    fn fill(&mut self, number: usize) {
        let link = &mut self.links[number];
        let arrived = self.arrived[number];
        let served = link.capacity * self.step;
        let queue = link.queue;
        let next = queue + arrived - served;
        let lost = (next - link.buffer).max(0.0);
        link.mode = if lost > 0.0 {
            Mode::Full
        } else if next <= 0.0 {
            Mode::Empty
        } else {
            Mode::Free
        };
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
    }

    fn sample(&mut self) {
        self.samples.take(&StepState {
            now: self.now,
            step: self.step,
            flows: &self.flows,
            windows: &self.windows,
            links: &self.links,
            arrived: &self.arrived,
        });
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
            peak_window: self.flows.by_number(&self.flows.peak_window),
            jain: jain(&sized),
            trace: self.samples.trace,
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
    /// Grows the windows; returns the packets sent and by how many fewer they would be if each
    /// flow's windows answered the loss of all of them.
    fn grow(&mut self, windows: &mut [f64], clocks: &mut [f64], at: &CoupledStep) -> (f64, f64) {
        let (mut sum, mut response) = (0.0, 0.0);
        for i in self.range.clone() {
            let round_trip = self.flows.propagation[i] + at.delay;
            let rounds = at.span / round_trip;
            let packets = windows[i] * rounds;
            let largest = &mut self.flows.largest_delay[i];
            *largest = largest.max(at.delay);
            self.flows.stretch[i] = packets;
            self.flows.sent[i] += packets;
            sum += packets;
            let step = EulerStep {
                span: at.span,
                rounds,
            };
            let epoch = &mut self.flows.epoch[i];
            windows[i] = self.law.euler_step(epoch, windows[i], clocks[i], step);
            clocks[i] += at.span;
            let peak = &mut self.flows.peak_window[i];
            *peak = peak.max(windows[i]);
            let (_, fall) = self.expected_cut(i, windows[i], clocks[i], at);
            response += packets * rounds * fall;
        }
        (sum, response)
    }

    /// Cuts the windows by the expected number of losses; returns by how much less was sent.
    fn respond(&mut self, windows: &mut [f64], clocks: &mut [f64], at: &CoupledStep) -> f64 {
        let mut sum = 0.0;
        for i in self.range.clone() {
            let packets = self.flows.stretch[i];
            // At most one cut in a step.
            let cuts = (packets * at.drop).min(1.0);
            let (cut, fall) = self.expected_cut(i, windows[i], clocks[i], at);
            windows[i] -= cuts * fall;
            clocks[i] *= 1.0 - cuts;
            blend(&mut self.flows.epoch[i], &cut, cuts);
            let rounds = at.span / (self.flows.propagation[i] + at.delay);
            let fewer = (cuts * rounds * fall).min(packets);
            self.flows.sent[i] -= fewer;
            self.flows.lost[i] += (packets - fewer) * at.drop;
            sum += fewer;
        }
        sum
    }

    /// The epoch after a cut, and by how much it lowers the window.
    fn expected_cut(&self, i: usize, window: f64, clock: f64, at: &CoupledStep) -> (Epoch, f64) {
        let propagation = self.flows.propagation[i];
        let conditions = CutConditions {
            clock,
            rate: window / (propagation + at.delay),
            propagation,
            largest_round_trip: propagation + self.flows.largest_delay[i],
        };
        let cut = self.law.cut(&self.flows.epoch[i], window, &conditions);
        (
            cut,
            (window - self.law.window(&cut, cut.position, 0.0)).max(0.0),
        )
    }
}

/// Moves an epoch a fraction of the way to another.
fn blend(epoch: &mut Epoch, to: &Epoch, fraction: f64) {
    let mix = |a: &mut f64, b: f64| *a += fraction * (b - *a);
    mix(&mut epoch.position, to.position);
    mix(&mut epoch.w_max, to.w_max);
    mix(&mut epoch.k, to.k);
    mix(&mut epoch.gain, to.gain);
    mix(&mut epoch.last_cut_rate, to.last_cut_rate);
}
