//! The flows as a structure of arrays, with the loops over them that all integrators share.
//!
//! Flows with the same law, path and packet size form a class, which is a contiguous range. The law
//! is dispatched once per class, and the queueing delay D is one number per class. A position obeys
//! v' = r(clock) / (rtt + D(t)), which does not depend on v. Therefore a Rosenbrock stage needs
//! from each flow only its growth rho_m = r/R and its rate A_m = W/R at the stage. All sums over
//! k_j = h rho_j + h v_D G_j + h^2 gamma_j v_t then reduce to scalars per class. Here v_D = dv'/dD,
//! v_t = dv'/dt, and G_m is the sum of gamma_mj times the stages of D.

use std::ops::Range;

use forebay_congestion::fluid::{CutConditions, Epoch, FluidWindow};
use forebay_congestion::with_fluid_law;
use forebay_random::{Purpose, Stream};

use crate::capacity::NO_ARRIVALS;
use crate::exposure::Exposure;
use crate::model::{FluidModel, Limits};
use crate::rosenbrock::STAGES;

/// Flows with the same law, path and packet size.
#[derive(Clone, Debug)]
pub(crate) struct Class {
    pub(crate) law: usize,
    pub(crate) path: usize,
    /// Packets of the links per packet of the flows.
    pub(crate) size: f64,
    pub(crate) range: Range<usize>,
}

/// State and workspace of all flows. The index of a flow here is its slot.
#[derive(Clone, Debug)]
pub(crate) struct Flows {
    pub(crate) classes: Vec<Class>,
    /// Class of each slot.
    pub(crate) class_of: Vec<u32>,
    /// Number in the model of the flow in each slot.
    pub(crate) number: Vec<u32>,
    pub(crate) propagation: Vec<f64>,
    pub(crate) limits: Vec<Limits>,
    pub(crate) cut_at: Vec<f64>,
    /// Seconds of silence of the flow after a loss that only its timer detects; 0 disables
    /// timeouts.
    pub(crate) timeout: Vec<f64>,
    /// Shelter of each flow against further cuts, and its expected losses until the next one
    /// ([`crate::run`]).
    pub(crate) exposure: Vec<Exposure>,
    pub(crate) epoch: Vec<Epoch>,
    /// Largest queueing delay since the last cut, seconds.
    pub(crate) largest_delay: Vec<f64>,
    /// Largest window so far. Windows grow only between cuts, so it is updated at cuts.
    pub(crate) peak_window: Vec<f64>,
    /// Packets sent and lost since the measurement began.
    pub(crate) sent: Vec<f64>,
    pub(crate) lost: Vec<f64>,
    /// Packets sent in the latest interval.
    pub(crate) stretch: Vec<f64>,
    work: Work,
}

/// Values of each flow for one Rosenbrock step.
#[derive(Clone, Debug, Default)]
struct Work {
    growth: [Vec<f64>; STAGES],
    rate: [Vec<f64>; STAGES],
    start: Vec<StepStart>,
}

/// A flow at the start of a step. It is smaller than a cache line, and is written and read as a
/// whole.
#[derive(Clone, Copy, Debug, Default)]
struct StepStart {
    position: f64,
    /// dA/dv, dA/dD, dA/dt.
    rate_by_position: f64,
    rate_by_delay: f64,
    rate_by_time: f64,
    /// dv'/dD, dv'/dt.
    growth_by_delay: f64,
    growth_by_time: f64,
}

/// A class's sums at the start of a step.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Base {
    /// Sum of A, and of dA/dv times growth.
    pub(crate) rate: f64,
    pub(crate) coupled: f64,
    /// Sums of dA/dD and dA/dt.
    pub(crate) by_delay: f64,
    pub(crate) by_time: f64,
    /// Sums of dA/dv dv'/dD and dA/dv dv'/dt.
    pub(crate) coupled_by_delay: f64,
    pub(crate) coupled_by_time: f64,
}

/// Point at which a stage is evaluated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StagePoint {
    /// Time of the stage, seconds.
    pub(crate) time: f64,
    /// Queueing delay at the stage, seconds.
    pub(crate) delay: f64,
    /// Step, seconds.
    pub(crate) step: f64,
    /// alpha_mj of the stage m.
    pub(crate) alpha: &'static [f64; STAGES],
    /// h sum alpha_mj G_j.
    pub(crate) by_delay: f64,
    /// h^2 sum alpha_mj gamma_j.
    pub(crate) by_time: f64,
}

/// Weights of the result of a step, or of its dense output, for one class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Combination {
    /// Number of stages with a weight.
    pub(crate) stages: usize,
    /// h b_m.
    pub(crate) weights: [f64; STAGES],
    /// h sum b_m G_m, h^2 sum b_m gamma_m.
    pub(crate) by_delay: f64,
    pub(crate) by_time: f64,
    /// h^2 beta_j with beta_j = sum over m of b_m gamma_mj.
    pub(crate) coupled: [f64; STAGES],
    /// h^2 sum beta_j G_j, h^3 sum beta_j gamma_j.
    pub(crate) coupled_by_delay: f64,
    pub(crate) coupled_by_time: f64,
}

impl Flows {
    /// Sorts the model's flows into classes and initializes them at time 0.
    pub(crate) fn new(model: &FluidModel) -> Self {
        let key = |i: usize| {
            let flow = &model.flows[i];
            (flow.law, flow.path, flow.size.to_bits(), i)
        };
        let mut numbers: Vec<usize> = (0..model.flows.len()).collect();
        numbers.sort_by_key(|&i| key(i));
        let mut classes: Vec<Class> = Vec::new();
        let mut class_of = Vec::with_capacity(numbers.len());
        for (slot, &i) in numbers.iter().enumerate() {
            let flow = &model.flows[i];
            let same = |c: &Class| c.law == flow.law && c.path == flow.path && c.size == flow.size;
            match classes.last_mut().filter(|c| same(c)) {
                Some(class) => class.range.end = slot + 1,
                None => classes.push(Class {
                    law: flow.law,
                    path: flow.path,
                    size: flow.size,
                    range: slot..slot + 1,
                }),
            }
            class_of.push(classes.len() as u32 - 1);
        }
        let flow_count = model.flow_count();
        let start = |&i: &usize| {
            let flow = &model.flows[i];
            let window = flow.initial_window.unwrap_or_else(|| {
                let mut stream = Stream::new(model.seed, i as u64, Purpose::InitialWindow);
                (0.2 + 0.6 * stream.uniform()) * model.fair_window(flow, &flow_count)
            });
            with_fluid_law!(&model.laws[flow.law], law => law.start(window))
        };
        let n = numbers.len();
        Self {
            classes,
            class_of,
            propagation: numbers
                .iter()
                .map(|&i| model.flows[i].propagation)
                .collect(),
            limits: numbers.iter().map(|&i| model.flows[i].limits).collect(),
            epoch: numbers.iter().map(start).collect(),
            number: numbers.iter().map(|&i| i as u32).collect(),
            cut_at: vec![0.0; n],
            timeout: vec![0.0; n],
            exposure: vec![Exposure::default(); n],
            largest_delay: vec![0.0; n],
            peak_window: vec![0.0; n],
            sent: vec![0.0; n],
            lost: vec![0.0; n],
            stretch: vec![0.0; n],
            work: Work::new(n),
        }
    }

    /// Number of flows.
    pub(crate) fn len(&self) -> usize {
        self.propagation.len()
    }

    /// Reorders values by slot into the model's order of flows.
    pub(crate) fn by_number(&self, values: &[f64]) -> Vec<f64> {
        let mut ordered = vec![0.0; values.len()];
        for (&number, &value) in self.number.iter().zip(values) {
            ordered[number as usize] = value;
        }
        ordered
    }

    /// The largest window that acknowledgments can have produced, in packets of the flow in a slot.
    /// `capacity` is that of its path, in such packets per second.
    ///
    /// A path holds C R + 1 packets: the packets of one round trip, queueing included, and the one
    /// in transmission. A larger window is known to lose within a round trip, in which at most that
    /// many packets are acknowledged. Each acknowledged packet adds at most one to a window (RFC
    /// 5681 sections 3.1 and 3.2). Therefore a window is at most twice the content of the path when
    /// it is cut.
    pub(crate) fn largest_window(&self, slot: usize, capacity: f64, delay: f64) -> f64 {
        let round_trip = self.propagation[slot] + self.largest_delay[slot].max(delay);
        2.0 * (capacity * round_trip + 1.0)
    }

    /// Resets the counts of sent and lost packets.
    pub(crate) fn reset_counts(&mut self) {
        self.sent.fill(0.0);
        self.lost.fill(0.0);
    }
}

impl Work {
    fn new(n: usize) -> Self {
        let zeros = || vec![0.0; n];
        Self {
            growth: std::array::from_fn(|_| zeros()),
            rate: std::array::from_fn(|_| zeros()),
            start: vec![StepStart::default(); n],
        }
    }
}

/// The loops over one class, compiled once per law.
pub(crate) struct Loop<'a, L> {
    pub(crate) law: &'a L,
    pub(crate) flows: &'a mut Flows,
    pub(crate) range: Range<usize>,
}

impl<L: FluidWindow> Loop<'_, L> {
    /// Sum of the rates at `now`, packets of the class per second.
    pub(crate) fn rate(&self, now: f64, delay: f64) -> f64 {
        let mut sum = 0.0;
        for i in self.range.clone() {
            let epoch = &self.flows.epoch[i];
            let window = self
                .law
                .window(epoch, epoch.position, now - self.flows.cut_at[i]);
            sum += window / (self.flows.propagation[i] + delay);
        }
        sum
    }

    /// The sum of the rates `span` seconds after `now` at a constant delay, and its first three
    /// derivatives.
    #[inline]
    pub(crate) fn rate_ahead(&self, now: f64, span: f64, delay: f64) -> [f64; 4] {
        let mut sums = [0.0; 4];
        let n = self.range.len();
        let epochs = &self.flows.epoch[self.range.clone()][..n];
        let cuts = &self.flows.cut_at[self.range.clone()][..n];
        let propagation = &self.flows.propagation[self.range.clone()][..n];
        for i in 0..n {
            let epoch = &epochs[i];
            let inverse = 1.0 / (propagation[i] + delay);
            let clock = now - cuts[i];
            let position = epoch.position + inverse * self.law.growth_integral(epoch, clock, span);
            let window = self.law.derivatives(epoch, position, clock + span, inverse);
            for (sum, derivative) in sums.iter_mut().zip(window) {
                *sum += derivative * inverse;
            }
        }
        sums
    }

    /// Advances the flows by `span` seconds at a constant delay. Returns the sent packets.
    pub(crate) fn advance_pinned(&mut self, now: f64, span: f64, delay: f64) -> f64 {
        let mut sum = 0.0;
        let queued = queued(delay);
        let n = self.range.len();
        let epochs = &mut self.flows.epoch[self.range.clone()][..n];
        let cuts = &self.flows.cut_at[self.range.clone()][..n];
        let propagation = &self.flows.propagation[self.range.clone()][..n];
        let sent = &mut self.flows.sent[self.range.clone()][..n];
        let stretch = &mut self.flows.stretch[self.range.clone()][..n];
        let largest = &mut self.flows.largest_delay[self.range.clone()][..n];
        for i in 0..n {
            let epoch = &mut epochs[i];
            let round_trip = propagation[i] + delay;
            let clock = now - cuts[i];
            let packets = self.law.window_integral(epoch, clock, span, round_trip) / round_trip;
            let grown = self.law.growth_integral(epoch, clock, span);
            let position = epoch.position + grown / round_trip;
            self.law.settle(epoch, position);
            stretch[i] = packets;
            sent[i] += packets;
            sum += packets;
            largest[i] = largest[i].max(queued);
        }
        sum
    }

    /// Evaluates the first stage and the Jacobian's entries at `now`.
    pub(crate) fn prepare(&mut self, now: f64, delay: f64) -> Base {
        let mut base = Base::default();
        let n = self.range.len();
        let epochs = &self.flows.epoch[self.range.clone()][..n];
        let cuts = &self.flows.cut_at[self.range.clone()][..n];
        let propagation = &self.flows.propagation[self.range.clone()][..n];
        let work = &mut self.flows.work;
        let first_growth = &mut work.growth[0][self.range.clone()][..n];
        let first_rate = &mut work.rate[0][self.range.clone()][..n];
        let starts = &mut work.start[self.range.clone()][..n];
        for i in 0..n {
            let epoch = &epochs[i];
            let inverse = 1.0 / (propagation[i] + delay);
            let clock = now - cuts[i];
            let rate = self.law.window(epoch, epoch.position, clock) * inverse;
            let (by_position, by_clock) = self.law.window_slopes(epoch, epoch.position, clock);
            let growth = self.law.growth_per_round(epoch, clock) * inverse;
            let start = StepStart {
                position: epoch.position,
                rate_by_position: by_position * inverse,
                rate_by_delay: -rate * inverse,
                rate_by_time: by_clock * inverse,
                growth_by_delay: -growth * inverse,
                growth_by_time: self.law.growth_slope(epoch, clock) * inverse,
            };
            first_growth[i] = growth;
            first_rate[i] = rate;
            base.rate += rate;
            base.coupled += start.rate_by_position * growth;
            base.by_delay += start.rate_by_delay;
            base.by_time += start.rate_by_time;
            base.coupled_by_delay += start.rate_by_position * start.growth_by_delay;
            base.coupled_by_time += start.rate_by_position * start.growth_by_time;
            starts[i] = start;
        }
        base
    }

    /// Evaluates stage M (from 1). Returns the sums of A and of dA/dv times growth.
    pub(crate) fn stage<const M: usize>(&mut self, at: &StagePoint) -> (f64, f64) {
        let n = self.range.len();
        let epochs = &self.flows.epoch[self.range.clone()][..n];
        let cuts = &self.flows.cut_at[self.range.clone()][..n];
        let propagation = &self.flows.propagation[self.range.clone()][..n];
        let work = &mut self.flows.work;
        let starts = &work.start[self.range.clone()][..n];
        let (before, from_here) = work.growth.split_at_mut(M);
        let earlier: [&[f64]; M] = std::array::from_fn(|j| &before[j][self.range.clone()][..n]);
        let growths = &mut from_here[0][self.range.clone()][..n];
        let rates = &mut work.rate[M][self.range.clone()][..n];
        let weights: [f64; M] = std::array::from_fn(|j| at.step * at.alpha[j]);
        let (mut sum, mut coupled) = (0.0, 0.0);
        for i in 0..n {
            let epoch = &epochs[i];
            let inverse = 1.0 / (propagation[i] + at.delay);
            let clock = at.time - cuts[i];
            let start = &starts[i];
            let mut position = start.position + start.growth_by_delay * at.by_delay;
            position += start.growth_by_time * at.by_time;
            for j in 0..M {
                position += weights[j] * earlier[j][i];
            }
            let rate = self.law.window(epoch, position, clock) * inverse;
            let growth = self.law.growth_per_round(epoch, clock) * inverse;
            growths[i] = growth;
            rates[i] = rate;
            sum += rate;
            coupled += start.rate_by_position * growth;
        }
        (sum, coupled)
    }

    /// Position of a flow by a combination of the stages.
    fn position(work: &Work, i: usize, c: &Combination) -> f64 {
        let start = &work.start[i];
        let mut change = start.growth_by_delay * c.by_delay + start.growth_by_time * c.by_time;
        for m in 0..STAGES {
            change += c.weights[m] * work.growth[m][i];
        }
        start.position + change
    }

    /// Advances the flows to a combination of the stages, with the queueing delay `delay` there.
    /// Returns the sent packets.
    pub(crate) fn commit(&mut self, c: &Combination, delay: f64) -> f64 {
        match c.stages {
            1 => self.commit_stages::<1>(c, delay),
            _ => self.commit_stages::<STAGES>(c, delay),
        }
    }

    fn commit_stages<const M: usize>(&mut self, c: &Combination, delay: f64) -> f64 {
        let mut sum = 0.0;
        let queued = queued(delay);
        let n = self.range.len();
        let epochs = &mut self.flows.epoch[self.range.clone()][..n];
        let sent = &mut self.flows.sent[self.range.clone()][..n];
        let stretch = &mut self.flows.stretch[self.range.clone()][..n];
        let largest = &mut self.flows.largest_delay[self.range.clone()][..n];
        let work = &self.flows.work;
        let starts = &work.start[self.range.clone()][..n];
        let growths: [&[f64]; M] =
            std::array::from_fn(|m| &work.growth[m][self.range.clone()][..n]);
        let rates: [&[f64]; M] = std::array::from_fn(|m| &work.rate[m][self.range.clone()][..n]);
        for i in 0..n {
            let start = &starts[i];
            let mut position = start.position
                + start.growth_by_delay * c.by_delay
                + start.growth_by_time * c.by_time;
            let mut coupled = start.growth_by_delay * c.coupled_by_delay
                + start.growth_by_time * c.coupled_by_time;
            let mut packets = 0.0;
            for m in 0..M {
                position += c.weights[m] * growths[m][i];
                packets += c.weights[m] * rates[m][i];
                coupled += c.coupled[m] * growths[m][i];
            }
            packets += start.rate_by_position * coupled
                + start.rate_by_delay * c.by_delay
                + start.rate_by_time * c.by_time;
            self.law.settle(&mut epochs[i], position);
            stretch[i] = packets;
            sent[i] += packets;
            sum += packets;
            largest[i] = largest[i].max(queued);
        }
        sum
    }

    /// The sum of the rates within a step, at `time`, by its dense output.
    pub(crate) fn dense_rate(&self, c: &Combination, time: f64, delay: f64) -> f64 {
        let mut sum = 0.0;
        for i in self.range.clone() {
            let position = Self::position(&self.flows.work, i, c);
            let clock = time - self.flows.cut_at[i];
            let window = self.law.window(&self.flows.epoch[i], position, clock);
            sum += window / (self.flows.propagation[i] + delay);
        }
        sum
    }

    /// Calls `record` with the slot and window of each flow within a step.
    pub(crate) fn dense_windows(
        &self,
        c: &Combination,
        time: f64,
        mut record: impl FnMut(usize, f64),
    ) {
        for i in self.range.clone() {
            let position = Self::position(&self.flows.work, i, c);
            let clock = time - self.flows.cut_at[i];
            record(i, self.law.window(&self.flows.epoch[i], position, clock));
        }
    }

    /// Calls `record` with the slot and window of each flow after `span` seconds at a constant
    /// delay.
    pub(crate) fn pinned_windows(
        &self,
        (now, span, delay): (f64, f64, f64),
        mut record: impl FnMut(usize, f64),
    ) {
        for i in self.range.clone() {
            let epoch = &self.flows.epoch[i];
            let clock = now - self.flows.cut_at[i];
            let grown = self.law.growth_integral(epoch, clock, span);
            let position = epoch.position + grown / (self.flows.propagation[i] + delay);
            record(i, self.law.window(epoch, position, clock + span));
        }
    }

    /// Cuts the flow in a slot. Returns the window before the cut.
    pub(crate) fn cut(&mut self, slot: usize, now: f64, (delay, capacity): (f64, f64)) -> f64 {
        let flows = &mut *self.flows;
        let largest = flows.largest_window(slot, capacity, delay);
        let epoch = &mut flows.epoch[slot];
        let clock = now - flows.cut_at[slot];
        let window = self.law.window(epoch, epoch.position, clock).min(largest);
        let propagation = flows.propagation[slot];
        let conditions = CutConditions {
            clock,
            rate: window / (propagation + delay),
            propagation,
            largest_round_trip: propagation + flows.largest_delay[slot].max(delay),
        };
        *epoch = self.law.cut(epoch, window, &conditions);
        flows.peak_window[slot] = flows.peak_window[slot].max(window);
        flows.cut_at[slot] = now;
        flows.largest_delay[slot] = delay;
        window
    }

    /// Restarts the flow in a slot with `window` packets.
    pub(crate) fn begin(&mut self, slot: usize, now: f64, (delay, window): (f64, f64)) {
        self.flows.epoch[slot] = self.law.start(window);
        self.flows.cut_at[slot] = now;
        self.flows.largest_delay[slot] = delay;
    }

    /// Updates the peak windows at the end of a run.
    pub(crate) fn note_peaks(&mut self, now: f64) {
        for i in self.range.clone() {
            let epoch = &self.flows.epoch[i];
            let clock = now - self.flows.cut_at[i];
            let window = self.law.window(epoch, epoch.position, clock);
            self.flows.peak_window[i] = self.flows.peak_window[i].max(window);
        }
    }

    /// Whether every position is finite and every window within the law's range.
    pub(crate) fn is_sound(&self, now: f64) -> bool {
        self.range.clone().all(|i| {
            let epoch = &self.flows.epoch[i];
            let window = self
                .law
                .window(epoch, epoch.position, now - self.flows.cut_at[i]);
            window.is_finite() && window > 0.0 && window < self.law.window_limit()
        })
    }
}

/// The part of a delay that is a queue's. A known outage delays senders without a queue.
#[inline]
pub(crate) fn queued(delay: f64) -> f64 {
    if delay < NO_ARRIVALS { delay } else { 0.0 }
}

/// Evaluates an expression with the [`Loop`] of a class under its law's own type.
macro_rules! with_class {
    ($model:expr, $flows:expr, $class:expr, $name:ident => $body:expr) => {{
        let range = $flows.classes[$class].range.clone();
        forebay_congestion::with_fluid_law!(&$model.laws[$flows.classes[$class].law], law => {
            #[allow(unused_mut)]
            let mut $name = $crate::flows::Loop { law, flows: &mut $flows, range };
            $body
        })
    }};
}
pub(crate) use with_class;
