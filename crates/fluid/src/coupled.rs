//! The classical coupled model, with a continuous loss rate instead of congestion events. It is one
//! of the three integrators.
//!
//! Losses occur at the rate lambda_i = p W_i / R_i, and each takes its part of a cut: W_i' = growth
//! / R_i - b(W_i) W_i lambda_i (Misra, Gong and Towsley 2000; equations (1) to (5) of Kumar, Azad
//! and Park). At a drop-tail queue p is the clipped fraction of the arrivals; at RED it is the drop
//! probability of the averaged queue. Feedback is immediate, as published. Therefore a drop-tail
//! queue slides along its limit with a loss rate that balances the growth. After the first overflow
//! the utilization is 1 for any buffer. This is the error of the model, and the reason why the
//! engine's own model has events.
//!
//! Laws with a clock take the expected jump (Vardoyan, Hollot and Towsley 2018). In a time dt the
//! state moves by the fraction lambda dt to the state after a cut, with the clock back at 0.
//! Forward Euler integrates with a step of a hundredth of the shortest round-trip time.

use forebay_congestion::fluid::{CutConditions, Epoch, EulerStep, FluidWindow};

use crate::capacity::NO_ARRIVALS;
use crate::error::FluidError;
use crate::fixed::FixedSteps;
use crate::flows::{Loop, queued, with_class};
use crate::model::{FluidModel, Measure};
use crate::outcome::{FluidOutcome, jain};
use crate::run::{Integrator, Run};

/// Runs the classical coupled model. It has no congestion events. The measured part extends from
/// the earliest start of the model's [`crate::Measure`] to its horizon.
///
/// # Errors
///
/// If [`FluidModel::check`] refuses the model, or the run takes more than 2e10 flow steps.
pub fn integrate_coupled(model: &FluidModel) -> Result<FluidOutcome, FluidError> {
    let start = model.measure.start();
    let mut run = Run::new(model, Measure::Fixed { start })?;
    let mut coupled = Coupled::new(&mut run)?;
    run.complete(&mut coupled)?;
    let outcome = run.outcome();
    // The sum runs in the model's order of flows.
    let flows = outcome.goodput.iter().zip(&model.flows);
    let sized: Vec<f64> = flows.map(|(rate, flow)| rate * flow.size).collect();
    Ok(FluidOutcome {
        jain: jain(&sized),
        ..outcome
    })
}

struct Coupled {
    steps: FixedSteps,
    /// Seconds since each flow's clock was last set to 0, by slot.
    clocks: Vec<f64>,
    /// Fraction of the arrivals that each link drops. In a step it is first the signal to the
    /// flows, then the actual fraction.
    drop: Vec<f64>,
    /// Fraction that each link's RED drops.
    early: Vec<f64>,
    /// Decrease of the arrivals at each link if every packet were lost, in packets per step.
    response: Vec<f64>,
}

impl Integrator for Coupled {
    fn advance(&mut self, run: &mut Run<'_>) -> Result<(), FluidError> {
        // No congestion event opens here, so no event that is due is a cut.
        let cut = run.next_cut(run.now);
        debug_assert_eq!(cut, None);
        self.steps.begin(run);
        self.response.fill(0.0);
        for class in 0..run.flows.classes.len() {
            self.grow(run, class);
        }
        self.steps.sample(run);
        for link in 0..run.links.len() {
            self.signal(run, link);
        }
        for class in 0..run.flows.classes.len() {
            self.respond(run, class);
        }
        for link in 0..run.links.len() {
            self.settle(run, link);
        }
        for class in 0..run.flows.classes.len() {
            self.count_losses(run, class);
        }
        self.steps.end(run)
    }

    fn finish(&mut self, run: &mut Run<'_>) -> Result<(), FluidError> {
        self.steps.check(run.now)
    }
}

impl Coupled {
    fn new(run: &mut Run<'_>) -> Result<Self, FluidError> {
        let propagation = run.model.flows.iter().map(|f| f.propagation);
        let shortest = propagation.fold(run.model.horizon, f64::min);
        Ok(Self {
            steps: FixedSteps::new(run, 0.01 * shortest)?,
            clocks: vec![0.0; run.flows.len()],
            drop: vec![0.0; run.links.len()],
            early: vec![0.0; run.links.len()],
            response: vec![0.0; run.links.len()],
        })
    }

    /// Grows the windows of a class. Adds its packets, and their decrease after losses, to its
    /// links.
    fn grow(&mut self, run: &mut Run<'_>, class: usize) {
        let at = CoupledStep {
            span: self.steps.span,
            delay: run.delay(class),
            drop: 0.0,
        };
        let (windows, clocks) = (&mut self.steps.windows, &mut self.clocks);
        let (sent, response) =
            with_class!(run.model, run.flows, class, part => part.grow(windows, clocks, &at));
        let size = run.flows.classes[class].size;
        if at.delay >= NO_ARRIVALS {
            return;
        }
        for &l in run.path(class) {
            self.steps.arrived[l] += size * sent;
            self.response[l] += size * response;
        }
    }

    /// Computes the fraction that a link drops in this step. At a full queue the excess remains
    /// after the flows have answered, p A = excess - p response. One lost packet may cut more than
    /// the excess of a whole step.
    fn signal(&mut self, run: &mut Run<'_>, number: usize) {
        let link = &mut run.links[number];
        let (step, arrived) = (self.steps.span, self.steps.arrived[number]);
        let excess = link.queue + arrived - link.capacity * step - link.buffer;
        let early = link.drop_early(arrived, step).drops / arrived.max(1e-300);
        let clipped = excess.max(0.0) / (arrived + self.response[number]).max(1e-300);
        self.early[number] = early.min(1.0);
        self.drop[number] = (clipped + early).min(1.0);
    }

    /// Advances a queue. Flows at their smallest windows respond less than expected, so the link
    /// drops more than signaled. The flows lose the actual drops, so that no more arrives than the
    /// link sends.
    fn settle(&mut self, run: &mut Run<'_>, number: usize) {
        let arrived = self.steps.arrived[number];
        let lost = run.links[number].step(arrived, (run.now, self.steps.span));
        let kept = 1.0 - (lost / arrived.max(1e-300)).min(1.0);
        self.drop[number] = 1.0 - (1.0 - self.early[number]) * kept;
    }

    /// Counts the losses of a class's flows along their path.
    fn count_losses(&self, run: &mut Run<'_>, class: usize) {
        let drop = self.along(run.path(class));
        if drop > 0.0 {
            for slot in run.flows.classes[class].range.clone() {
                run.flows.lost[slot] += run.flows.stretch[slot] * drop;
            }
        }
    }

    /// The fraction that is dropped along a path.
    fn along(&self, path: &[usize]) -> f64 {
        1.0 - path.iter().map(|&l| 1.0 - self.drop[l]).product::<f64>()
    }

    /// Cuts the windows of a class by the drops of its path. Subtracts the packets that are no
    /// longer sent.
    fn respond(&mut self, run: &mut Run<'_>, class: usize) {
        let path = run.path(class);
        let drop = self.along(path);
        if drop <= 0.0 {
            return;
        }
        let at = CoupledStep {
            span: self.steps.span,
            delay: run.delay(class),
            drop,
        };
        let (windows, clocks) = (&mut self.steps.windows, &mut self.clocks);
        let fall =
            with_class!(run.model, run.flows, class, part => part.respond(windows, clocks, &at));
        for &l in path {
            self.steps.arrived[l] -= run.flows.classes[class].size * fall;
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
    /// Grows the windows. Returns the sent packets, and their decrease if each flow's window
    /// responded to the loss of all of them.
    fn grow(&mut self, windows: &mut [f64], clocks: &mut [f64], at: &CoupledStep) -> (f64, f64) {
        let (mut sum, mut response) = (0.0, 0.0);
        for i in self.range.clone() {
            let round_trip = self.flows.propagation[i] + at.delay;
            let rounds = at.span / round_trip;
            let packets = windows[i] * rounds;
            let largest = &mut self.flows.largest_delay[i];
            *largest = largest.max(queued(at.delay));
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

    /// Cuts the windows by the expected number of losses. Returns the decrease of the sent packets.
    fn respond(&mut self, windows: &mut [f64], clocks: &mut [f64], at: &CoupledStep) -> f64 {
        let mut sum = 0.0;
        for i in self.range.clone() {
            let packets = self.flows.stretch[i];
            // A step has at most one cut.
            let cuts = (packets * at.drop).min(1.0);
            let (cut, fall) = self.expected_cut(i, windows[i], clocks[i], at);
            windows[i] -= cuts * fall;
            clocks[i] *= 1.0 - cuts;
            blend(&mut self.flows.epoch[i], &cut, cuts);
            let rounds = at.span / (self.flows.propagation[i] + at.delay);
            let fewer = (cuts * rounds * fall).min(packets);
            self.flows.sent[i] -= fewer;
            self.flows.stretch[i] -= fewer;
            sum += fewer;
        }
        sum
    }

    /// The epoch after a cut, and the decrease of the window.
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
