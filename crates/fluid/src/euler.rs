//! Forward Euler with a fixed step: the reference that the adaptive integrator is compared with, and
//! the integrator of flows that their own links or their receivers hold back.
//!
//! Written as the model is stated and with nothing shared with the adaptive integrator but the
//! state's layout, the draws and the ledger: per step the rates W/R, the queue reflected at 0 and
//! clipped at its limit, the windows by their law's plain form, then the cuts that are due.
//!
//! What holds a flow back ([`crate::Limits`]) is in the round trip: what the access link cannot send
//! waits there, so that R = max(rtt + queueing, W / access rate), growth slows with R and the flow
//! sends W / R. The access queue is taken at its equilibrium, which it reaches within a round trip.

use forebay_congestion::fluid::{CutConditions, EulerStep, FluidWindow};

use crate::flows::{Flows, Loop, with_class};
use crate::links::{Link, Mode, Stretch};
use crate::model::{FluidError, FluidModel, Limits, Measure, range};
use crate::outcome::{FluidOutcome, MeasuredBy, jain, link_outcome};
use crate::samples::{Samples, StepState};
use crate::schedule::{Occurrence, Schedule};
use crate::synchronisation::Candidate;
use crate::tally::Tally;

/// Steps times flows after which a run is given up.
const WORK_LIMIT: f64 = 2e10;

/// Runs a model by forward Euler with steps of `step` seconds, the flows' limits included.
///
/// # Errors
///
/// A model that [`FluidModel::check`] refuses, a step outside 1e-7 s to a tenth of the horizon, or a
/// run of more than 2e10 flow steps.
pub fn integrate_euler(model: &FluidModel, step: f64) -> Result<FluidOutcome, FluidError> {
    model.check()?;
    range(
        "euler step",
        step,
        (1e-7, 0.1 * model.horizon),
        "1e-7 s to a tenth of the horizon",
    )?;
    let work = model.horizon / step * (model.flows.len() + 8) as f64;
    if work > WORK_LIMIT {
        return Err(FluidError::TooLong {
            time: 0.0,
            horizon: model.horizon,
            limit: WORK_LIMIT as u64,
        });
    }
    let mut run = EulerRun::new(model, step);
    run.go()?;
    Ok(run.outcome())
}

struct EulerRun<'m> {
    model: &'m FluidModel,
    step: f64,
    flows: Flows,
    windows: Vec<f64>,
    /// Whether any flow has limits.
    limited: bool,
    /// Whether each flow awaits the cut of a loss at its access link.
    awaits_cut: Vec<bool>,
    links: Vec<Link>,
    arrivals: Vec<f64>,
    samples: Samples,
    schedule: Schedule,
    now: f64,
    steps: u64,
    /// Whether the measurement may start, and whether a first event has started it.
    open: bool,
    began: bool,
    from: f64,
    end: f64,
    measured_by: MeasuredBy,
    closed: Option<(f64, Vec<Tally>, Vec<f64>)>,
}

impl<'m> EulerRun<'m> {
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
        let measured_by = match model.measure {
            Measure::Fixed { .. } => MeasuredBy::Time,
            _ => MeasuredBy::TooFewEvents,
        };
        Self {
            arrivals: vec![0.0; links.len()],
            samples: Samples::new(model),
            limited: model.flows.iter().any(|f| f.limits != Limits::default()),
            awaits_cut: vec![false; flows.len()],
            model,
            step,
            flows,
            windows,
            links,
            schedule,
            now: 0.0,
            steps: 0,
            open: false,
            began: false,
            from: 0.0,
            end: model.horizon,
            measured_by,
            closed: None,
        }
    }

    fn go(&mut self) -> Result<(), FluidError> {
        while self.now < self.end {
            self.occur();
            for link in 0..self.links.len() {
                self.arrivals[link] = self.links[link].background * self.step;
            }
            for class in 0..self.flows.classes.len() {
                self.grow(class);
            }
            self.samples.take(&StepState {
                now: self.now,
                step: self.step,
                flows: &self.flows,
                windows: &self.windows,
                links: &self.links,
                arrived: &self.arrivals,
            });
            for link in 0..self.links.len() {
                self.fill(link);
            }
            self.steps += 1;
            self.now = self.steps as f64 * self.step;
            if self.steps.is_multiple_of(4096) && forebay_scenario::interrupted() {
                return Err(FluidError::Interrupted);
            }
        }
        for (peak, window) in self.flows.peak_window.iter_mut().zip(&self.windows) {
            *peak = peak.max(*window);
        }
        if self.windows.iter().all(|w| w.is_finite()) {
            Ok(())
        } else {
            Err(FluidError::NotFinite { time: self.now })
        }
    }

    /// One step of a class: what it sends, then its windows.
    fn grow(&mut self, class: usize) {
        let path = &self.model.paths[self.flows.classes[class].path];
        let delay = path.iter().map(|&l| self.links[l].delay()).sum();
        let (now, step) = (self.now, self.step);
        let windows = &mut self.windows;
        let sent = if self.limited {
            with_class!(self.model, self.flows, class, part => part.euler_limited(windows, now, step, delay))
        } else {
            with_class!(self.model, self.flows, class, part => part.euler(windows, now, step, delay))
        };
        for &l in path {
            self.arrivals[l] += self.flows.classes[class].size * sent;
        }
        if self.limited {
            for slot in self.flows.classes[class].range.clone() {
                self.overflow_access(slot, delay);
            }
        }
    }

    /// Cuts a flow whose access queue is full, one round trip later and once a round trip.
    fn overflow_access(&mut self, slot: usize, delay: f64) {
        let limits = &self.flows.limits[slot];
        let round_trip = self.flows.propagation[slot] + delay;
        let room = limits.access_rate * round_trip + limits.access_buffer;
        if self.windows[slot] > room && !self.awaits_cut[slot] {
            self.awaits_cut[slot] = true;
            let time = self.now + self.step + self.windows[slot] / limits.access_rate;
            let slot = slot as u32;
            self.schedule.enter(time, Occurrence::AccessCut { slot });
        }
    }

    /// RED's expected drops in a step; the first since the last event opens one.
    fn drop_early(&mut self, number: usize) {
        let (step, arrived) = (self.step, self.arrivals[number]);
        let link = &mut self.links[number];
        let queue = link.queue;
        let Some(red) = &mut link.red else {
            return;
        };
        let stretch = red.follow(step, |_| queue, |_| arrived / step);
        link.tally.early += red.settle(&stretch);
        if stretch.first.is_some() {
            self.open_event(number);
        }
    }

    /// One step of a queue.
    fn fill(&mut self, number: usize) {
        self.drop_early(number);
        let link = &mut self.links[number];
        let arrived = self.arrivals[number];
        let served = link.capacity * self.step;
        let before = link.queue;
        let unbounded = before + arrived - served;
        link.queue = unbounded.clamp(0.0, link.buffer);
        let lost = (unbounded - link.buffer).max(0.0);
        let departed = (before + arrived - lost).min(served);
        link.mode = if lost > 0.0 {
            Mode::Full
        } else if unbounded <= 0.0 {
            Mode::Empty
        } else {
            Mode::Free
        };
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
            link.enter_level(before, self.step);
        }
        if lost > 0.0 {
            self.share_losses(number, lost / arrived);
            self.open_event(number);
        }
    }

    fn share_losses(&mut self, link: usize, fraction: f64) {
        for class in &self.flows.classes {
            if self.model.paths[class.path].contains(&link) {
                for slot in class.range.clone() {
                    let lost = fraction * self.flows.stretch[slot];
                    self.flows.lost[slot] += lost;
                    self.flows.stretch[slot] -= lost;
                }
            }
        }
    }

    fn open_event(&mut self, number: usize) {
        if self.links[number].event_open || self.links[number].crowd == 0 {
            return;
        }
        let mut candidates = Vec::new();
        for class in &self.flows.classes {
            let path = &self.model.paths[class.path];
            if path.contains(&number) {
                let delay: f64 = path.iter().map(|&l| self.links[l].delay()).sum();
                for slot in class.range.clone() {
                    let round_trip = self.flows.round_trip(slot, self.windows[slot], delay);
                    let flow = self.flows.number[slot];
                    let rate = self.windows[slot] / round_trip;
                    candidates.push(Candidate::new(flow, slot as u32, rate, round_trip));
                }
            }
        }
        let law = &self.model.synchronisation;
        let link = &mut self.links[number];
        let count = law.draw_count(link.crowd, &mut link.counts);
        law.choose(&mut candidates, count, link.event_number, &mut link.victims);
        link.event_number += 1;
        link.event_open = true;
        if let Some(red) = &mut link.red {
            red.restart();
        }
        let fraction = count as f64 / link.crowd as f64;
        // The queue is clipped at the end of the step.
        let now = self.now + self.step;
        let mut last = now;
        for chosen in &candidates[..count] {
            let time = now + chosen.round_trip;
            last = last.max(time);
            self.schedule
                .enter(time, Occurrence::Cut { slot: chosen.slot });
        }
        self.schedule.enter(
            last,
            Occurrence::Close {
                link: number as u32,
            },
        );
        if number == self.model.target {
            self.delimit(now);
        }
        let tally = &mut self.links[number].tally;
        tally.events += 1;
        tally.fractions += fraction;
    }

    /// Takes what is due, each at the step nearest to its time.
    fn occur(&mut self) {
        while let Some(what) = self.schedule.take_due(self.now + 0.5 * self.step) {
            match what {
                Occurrence::Cut { slot } => self.cut(slot as usize),
                Occurrence::AccessCut { slot } => {
                    // Another cut since the loss has done its work.
                    if self.awaits_cut[slot as usize] {
                        self.cut(slot as usize);
                    }
                }
                Occurrence::Close { link } => {
                    let link = &mut self.links[link as usize];
                    link.event_open = false;
                    if let Some(red) = &mut link.red {
                        red.restart();
                    }
                }
                Occurrence::Redraw { link } => {
                    self.links[link as usize].redraw();
                    if let Some(interval) = self.links[link as usize].redraw_interval() {
                        self.schedule.enter(self.now + interval, what);
                    }
                }
                Occurrence::Measure => self.begin(self.now),
            }
        }
    }

    fn cut(&mut self, slot: usize) {
        let class = self.flows.class_of[slot] as usize;
        let path = &self.model.paths[self.flows.classes[class].path];
        let delay: f64 = path.iter().map(|&l| self.links[l].delay()).sum();
        let (now, windows) = (self.now, &mut self.windows);
        self.awaits_cut[slot] = false;
        with_class!(self.model, self.flows, class, part => part.euler_cut(windows, slot, now, delay));
    }

    fn begin(&mut self, now: f64) {
        self.open = true;
        self.from = now;
        self.flows.reset_counts();
        self.links.iter_mut().for_each(|link| link.tally.reset());
    }

    fn delimit(&mut self, now: f64) {
        let Some(duration) = self.model.measure.duration().filter(|_| self.open) else {
            return;
        };
        if !self.began {
            self.began = true;
            self.begin(now);
            self.end = self.model.horizon.min(now + duration);
            if let Measure::FromFirstEvent { .. } = self.model.measure {
                self.measured_by = MeasuredBy::FirstEvent;
            }
        } else if let Measure::WholeCycles { .. } = self.model.measure {
            self.measured_by = MeasuredBy::WholeCycles;
            let tallies = self.links.iter().map(|link| link.tally.clone()).collect();
            let accepted = self.accepted();
            self.closed = Some((now, tallies, accepted));
        }
    }

    /// Packets of each flow, by slot, that were sent and not lost.
    fn accepted(&self) -> Vec<f64> {
        self.flows
            .sent
            .iter()
            .zip(&self.flows.lost)
            .map(|(sent, lost)| sent - lost)
            .collect()
    }

    fn outcome(mut self) -> FluidOutcome {
        let conservation = self.links.iter().map(Link::defect).fold(0.0, f64::max);
        let closed = self.closed.take();
        let (to, tallies, accepted) = closed.unwrap_or_else(|| {
            let tallies = self.links.iter().map(|link| link.tally.clone()).collect();
            (self.now, tallies, self.accepted())
        });
        let time = to - self.from;
        let mut goodput = vec![0.0; accepted.len()];
        let mut loss = vec![0.0; accepted.len()];
        let mut rates = Vec::new();
        for (slot, &number) in self.flows.number.iter().enumerate() {
            goodput[number as usize] = accepted[slot] / time;
            loss[number as usize] = self.flows.lost[slot] / self.flows.sent[slot].max(1e-300);
            let size = self.flows.classes[self.flows.class_of[slot] as usize].size;
            rates.push(goodput[number as usize] * size);
        }
        FluidOutcome {
            from: self.from,
            to,
            measured_by: self.measured_by,
            links: tallies
                .iter()
                .zip(&self.links)
                .map(|(tally, link)| link_outcome(tally, link.capacity, time))
                .collect(),
            goodput,
            loss,
            sent: self.flows.by_number(&self.flows.sent),
            peak_window: self.flows.by_number(&self.flows.peak_window),
            jain: jain(&rates),
            trace: self.samples.trace,
            conservation,
            steps: self.steps,
            refused: 0,
        }
    }
}

impl<L: FluidWindow> Loop<'_, L> {
    /// One Euler step of the class; returns the packets sent in it.
    fn euler(&mut self, windows: &mut [f64], now: f64, span: f64, delay: f64) -> f64 {
        let mut sum = 0.0;
        let n = self.range.len();
        let windows = &mut windows[self.range.clone()][..n];
        let epochs = &mut self.flows.epoch[self.range.clone()][..n];
        let cuts = &self.flows.cut_at[self.range.clone()][..n];
        let propagation = &self.flows.propagation[self.range.clone()][..n];
        let sent = &mut self.flows.sent[self.range.clone()][..n];
        let stretch = &mut self.flows.stretch[self.range.clone()][..n];
        let largest = &mut self.flows.largest_delay[self.range.clone()][..n];
        for i in 0..n {
            let rounds = span / (propagation[i] + delay);
            let packets = windows[i] * rounds;
            let step = EulerStep { span, rounds };
            windows[i] = self
                .law
                .euler_step(&mut epochs[i], windows[i], now - cuts[i], step);
            stretch[i] = packets;
            sent[i] += packets;
            sum += packets;
            largest[i] = largest[i].max(delay);
        }
        sum
    }

    /// The same with the flows' limits.
    fn euler_limited(&mut self, windows: &mut [f64], now: f64, span: f64, delay: f64) -> f64 {
        let mut sum = 0.0;
        for i in self.range.clone() {
            let round_trip = self.flows.round_trip(i, windows[i], delay);
            let rounds = span / round_trip;
            let packets = windows[i] * rounds;
            let step = EulerStep { span, rounds };
            let clock = now - self.flows.cut_at[i];
            let epoch = &mut self.flows.epoch[i];
            let window = self.law.euler_step(epoch, windows[i], clock, step);
            windows[i] = window.min(self.flows.limits[i].receive_window);
            self.flows.stretch[i] = packets;
            self.flows.sent[i] += packets;
            sum += packets;
            let waiting = round_trip - self.flows.propagation[i];
            self.flows.largest_delay[i] = self.flows.largest_delay[i].max(waiting);
        }
        sum
    }

    fn euler_cut(&mut self, windows: &mut [f64], slot: usize, now: f64, delay: f64) {
        let flows = &mut *self.flows;
        let propagation = flows.propagation[slot];
        let round_trip = flows.round_trip(slot, windows[slot], delay);
        let waiting = round_trip - propagation;
        let at = CutConditions {
            clock: now - flows.cut_at[slot],
            rate: windows[slot] / round_trip,
            propagation,
            largest_round_trip: propagation + flows.largest_delay[slot].max(waiting),
        };
        flows.peak_window[slot] = flows.peak_window[slot].max(windows[slot]);
        let epoch = self.law.cut(&flows.epoch[slot], windows[slot], &at);
        windows[slot] = self.law.window(&epoch, epoch.position, 0.0);
        flows.epoch[slot] = epoch;
        flows.cut_at[slot] = now;
        flows.largest_delay[slot] = delay;
    }
}

impl Flows {
    /// Round-trip time of the flow in a slot, its wait for the access link included.
    fn round_trip(&self, slot: usize, window: f64, delay: f64) -> f64 {
        (self.propagation[slot] + delay).max(window / self.limits[slot].access_rate)
    }
}
