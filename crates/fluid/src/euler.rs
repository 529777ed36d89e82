//! Forward Euler with a fixed step: the reference for the adaptive integrator, and the integrator
//! of flows with limits.
//!
//! It follows the statement of the model and shares only the run with the adaptive integrator. Each
//! step computes the rates W/R and the queue, which is reflected at 0 and clipped at its limit.
//! Then it computes the windows by their law's plain form, and the cuts that are due.
//!
//! The limits of a flow ([`crate::Limits`]) act through its round trip. Packets that the access
//! link cannot send wait there, so R = max(rtt + queueing, W / access rate). Growth slows with R,
//! and the flow sends W / R. The access queue has its equilibrium value, which it reaches within a
//! round trip.

use forebay_congestion::fluid::{CutConditions, EulerStep, FluidWindow};

use crate::capacity::NO_ARRIVALS;
use crate::error::{FluidError, range};
use crate::exposure::RESTART_WINDOW;
use crate::fixed::FixedSteps;
use crate::flows::{Flows, Loop, queued, with_class};
use crate::model::{FluidModel, Limits};
use crate::outcome::FluidOutcome;
use crate::run::{Cut, Integrator, Run};
use crate::schedule::Cause;
use crate::synchronization::Candidate;

/// Runs a model by forward Euler with steps of `step` seconds and with the limits of the flows.
///
/// # Errors
///
/// If [`FluidModel::check`] refuses the model, or the step is outside 1e-7 s to a tenth of the
/// horizon. A run of more than 2e10 flow steps is also refused.
pub fn integrate_euler(model: &FluidModel, step: f64) -> Result<FluidOutcome, FluidError> {
    integrate_euler_with(model, step, &[])
}

/// Runs a model by forward Euler with timeouts, as in [`crate::integrate_with`].
///
/// # Errors
///
/// Those of [`integrate_euler`] and [`crate::integrate_with`].
pub fn integrate_euler_with(
    model: &FluidModel,
    step: f64,
    timeouts: &[f64],
) -> Result<FluidOutcome, FluidError> {
    let mut run = Run::new(model, model.measure)?.with_timeouts(timeouts)?;
    range(
        "euler step",
        step,
        (1e-7, 0.1 * model.horizon),
        "1e-7 s to a tenth of the horizon",
    )?;
    let mut euler = Euler::new(&mut run, step)?;
    run.complete(&mut euler)?;
    // Unlike goodputs, the sent and lost packets of each flow are counted to the end of the run,
    // beyond the last whole cycle.
    let sent = run.flows.by_number(&run.flows.sent);
    let lost = run.flows.by_number(&run.flows.lost);
    let rate = |(lost, sent): (&f64, &f64)| lost / sent.max(1e-300);
    Ok(FluidOutcome {
        loss: lost.iter().zip(&sent).map(rate).collect(),
        sent,
        ..run.outcome()
    })
}

struct Euler {
    steps: FixedSteps,
    /// Whether any flow has limits.
    limited: bool,
    /// Whether each flow waits for the cut of a loss at its access link.
    awaits_cut: Vec<bool>,
    /// Whether each link loses packets in the current step.
    loses: Vec<bool>,
}

impl Integrator for Euler {
    fn advance(&mut self, run: &mut Run<'_>) -> Result<(), FluidError> {
        // Each event takes place at the step nearest to its time.
        while let Some(cut) = run.next_cut(run.now + 0.5 * self.steps.size) {
            self.cut(run, cut);
        }
        self.steps.begin(run);
        for class in 0..run.flows.classes.len() {
            self.grow(run, class);
        }
        self.steps.sample(run);
        for link in 0..run.links.len() {
            self.loses[link] = self.fill(run, link);
        }
        // An event delimits the measurement, so it follows the accounting of the whole step at
        // every link.
        for link in 0..run.links.len() {
            if self.loses[link] {
                self.open_event(run, link);
            }
        }
        self.steps.end(run)
    }

    fn finish(&mut self, run: &mut Run<'_>) -> Result<(), FluidError> {
        let windows = &self.steps.windows;
        for (peak, window) in run.flows.peak_window.iter_mut().zip(windows) {
            *peak = peak.max(*window);
        }
        self.steps.check(run.now)
    }
}

impl Euler {
    fn new(run: &mut Run<'_>, step: f64) -> Result<Self, FluidError> {
        let mut flows = run.model.flows.iter();
        Ok(Self {
            steps: FixedSteps::new(run, step)?,
            limited: flows.any(|f| f.limits != Limits::default()),
            awaits_cut: vec![false; run.flows.len()],
            loses: vec![false; run.links.len()],
        })
    }

    /// Makes one step of a class: its sent packets, then its windows.
    fn grow(&mut self, run: &mut Run<'_>, class: usize) {
        let delay = run.delay(class);
        let (now, step) = (run.now, self.steps.span);
        let windows = &mut self.steps.windows;
        let sent = if self.limited {
            with_class!(run.model, run.flows, class, part => part.euler_limited(windows, now, step, delay))
        } else {
            with_class!(run.model, run.flows, class, part => part.euler(windows, now, step, delay))
        };
        let arrived = run.flows.classes[class].size * sent;
        if delay >= NO_ARRIVALS {
            return;
        }
        for &l in run.path(class) {
            self.steps.arrived[l] += arrived;
        }
        if self.limited {
            for slot in run.flows.classes[class].range.clone() {
                self.overflow_access(run, slot, delay);
            }
        }
    }

    /// Cuts a flow whose access queue is full, one round trip later and at most once a round trip.
    fn overflow_access(&mut self, run: &mut Run<'_>, slot: usize, delay: f64) {
        let limits = &run.flows.limits[slot];
        let round_trip = run.flows.propagation[slot] + delay;
        let room = limits.access_rate * round_trip + limits.access_buffer;
        let window = self.steps.windows[slot];
        if window > room && !self.awaits_cut[slot] {
            self.awaits_cut[slot] = true;
            let time = run.now + self.steps.span + window / limits.access_rate;
            let cause = Cause::Access;
            run.schedule_cut(time, Cut { slot, cause });
        }
    }

    /// Makes one step of a queue. Returns whether it is clipped, or RED expects its first drop
    /// since the last event.
    fn fill(&mut self, run: &mut Run<'_>, link: usize) -> bool {
        let (step, arrived) = (self.steps.span, self.steps.arrived[link]);
        let state = &mut run.links[link];
        let dropped = state.red.is_some() && state.drop_early(arrived, step).first.is_some();
        let lost = state.step(arrived, (run.now, step));
        if lost > 0.0 {
            run.share_losses(link, lost / arrived, step);
        }
        dropped || lost > 0.0
    }

    fn open_event(&mut self, run: &mut Run<'_>, link: usize) {
        if !run.links[link].may_open_event() {
            return;
        }
        run.candidates.clear();
        for class in 0..run.flows.classes.len() {
            if !run.path(class).contains(&link) {
                continue;
            }
            let end = run.now + self.steps.span;
            let (delay, wait) = (run.delay(class), run.wait(class, end));
            for slot in run.flows.classes[class].range.clone() {
                let window = self.steps.windows[slot];
                let sent = window / run.flows.round_trip(slot, window, delay);
                let round_trip = run.flows.round_trip(slot, window, wait);
                let (flow, rate) = (run.flows.number[slot], sent);
                run.candidates
                    .push(Candidate::new(flow, slot as u32, rate, round_trip));
            }
        }
        run.exclude_in_rto();
        // Losses occur at the end of the step.
        run.open_event(link, run.now + self.steps.span);
    }

    fn cut(&mut self, run: &mut Run<'_>, Cut { slot, cause }: Cut) {
        let class = run.flows.class_of[slot] as usize;
        let (now, delay) = (run.now, run.wait(class, run.now));
        if cause == Cause::Timeout {
            run.end_rto(slot);
            self.steps.windows[slot] = RESTART_WINDOW;
            let begin = (delay, RESTART_WINDOW);
            with_class!(run.model, run.flows, class, part => part.begin(slot, now, begin));
            return;
        }
        // Another cut has already answered the loss at the access link.
        if cause == Cause::Access && !self.awaits_cut[slot] {
            return;
        }
        self.awaits_cut[slot] = false;
        let path = (delay, run.capacity(class));
        let windows = &mut self.steps.windows;
        let window = with_class!(run.model, run.flows, class, part => part.euler_cut(windows, slot, now, path));
        run.answer(slot, window, delay);
    }
}

impl<L: FluidWindow> Loop<'_, L> {
    /// Makes one Euler step of the class. Returns the sent packets.
    fn euler(&mut self, windows: &mut [f64], now: f64, span: f64, delay: f64) -> f64 {
        let mut sum = 0.0;
        let queued = queued(delay);
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
            largest[i] = largest[i].max(queued);
        }
        sum
    }

    /// Makes one Euler step of the class with the limits of its flows. Returns the sent packets.
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
            let waiting = queued(round_trip - self.flows.propagation[i]);
            self.flows.largest_delay[i] = self.flows.largest_delay[i].max(waiting);
        }
        sum
    }

    fn euler_cut(
        &mut self,
        windows: &mut [f64],
        slot: usize,
        now: f64,
        (delay, capacity): (f64, f64),
    ) -> f64 {
        let flows = &mut *self.flows;
        windows[slot] = windows[slot].min(flows.largest_window(slot, capacity, delay));
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
        let before = windows[slot];
        let epoch = self.law.cut(&flows.epoch[slot], before, &at);
        windows[slot] = self.law.window(&epoch, epoch.position, 0.0);
        flows.epoch[slot] = epoch;
        flows.cut_at[slot] = now;
        flows.largest_delay[slot] = delay;
        before
    }
}

impl Flows {
    /// Round-trip time of the flow in a slot, in seconds, with its waiting time for the access
    /// link.
    fn round_trip(&self, slot: usize, window: f64, delay: f64) -> f64 {
        (self.propagation[slot] + delay).max(window / self.limits[slot].access_rate)
    }
}
