//! The current step by any method: its start, the Taylor series, its dense output and its end.

use crate::adaptive::solver::Solver;
use crate::dense::Dense;
use crate::error::FluidError;
use crate::flows::{Base, Combination, with_class};
use crate::links::{Interval, Mode};
use crate::rosenbrock::{Rosenbrock, STAGES, dot};
use crate::run::Run;

/// Largest relative change of a round-trip time in a step of the Taylor series. The series of 1 /
/// (1 + x) diverges beyond 1.
const MOST_BEND: f64 = 0.3;

/// The current step.
#[derive(Debug)]
pub(crate) struct Step {
    /// Method of the step.
    pub(crate) method: Method,
    /// Table of the Rosenbrock method.
    pub(crate) table: &'static Rosenbrock,
    pub(crate) classes: Vec<ClassStep>,
    pub(crate) solver: Solver,
}

/// Method of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Method {
    /// The Taylor series of order 2, from the first stage and the Jacobian alone.
    Taylor,
    /// All stages of a Rosenbrock method.
    #[default]
    Rosenbrock,
}

/// Values of a class in the step that is tried.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ClassStep {
    pub(crate) base: Base,
    /// Queueing delay at the start of the step.
    pub(crate) delay: f64,
    /// G_m: sum over j <= m of gamma_mj times the stages of the delay.
    pub(crate) delay_sums: [f64; STAGES],
    /// Sum over the flows of dA/dv times the stages of v.
    pub(crate) coupled: [f64; STAGES],
    /// Derivative of the queueing delay at the start of the step.
    pub(crate) delay_rate: f64,
}

impl ClassStep {
    /// The relative change of the round-trip time in `h` seconds at its present rate. A rate W / R
    /// falls with R by W / R^2, so its relative derivative is 1 / R. Without flows the change is 0.
    fn bend(&self, h: f64) -> f64 {
        let change = h * self.delay_rate * self.base.by_delay;
        if change == 0.0 {
            0.0
        } else {
            (change / self.base.rate).abs()
        }
    }
}

impl Step {
    /// The steps of a run. The Rosenbrock method is used if the Taylor series does not suffice.
    pub(crate) fn new(run: &Run<'_>, table: &'static Rosenbrock) -> Self {
        Self {
            method: Method::default(),
            table,
            classes: vec![ClassStep::default(); run.flows.classes.len()],
            solver: Solver::default(),
        }
    }

    /// Evaluates the classes at the start of a step and lists the free links.
    pub(crate) fn prepare(&mut self, run: &mut Run<'_>) {
        let now = run.now;
        for class in 0..run.flows.classes.len() {
            let delay = run.delay(class);
            let base = with_class!(run.model, run.flows, class, part => part.prepare(now, delay));
            self.classes[class] = ClassStep {
                base,
                delay,
                ..ClassStep::default()
            };
        }
        let free = &mut self.solver.free;
        free.clear();
        free.extend((0..run.links.len()).filter(|&l| run.links[l].mode == Mode::Free));
        for &l in &self.solver.free {
            let arrivals: f64 = (self.classes.iter().enumerate())
                .filter(|(class, _)| run.offers(*class, l))
                .map(|(class, step)| run.flows.classes[class].size * step.base.rate)
                .sum();
            let link = &mut run.links[l];
            link.rate = arrivals + link.background - link.capacity;
        }
    }

    /// Seconds until the first free queue is empty or full at its present rate.
    pub(crate) fn time_to_limit(&self, run: &Run<'_>) -> f64 {
        let time = |&l: &usize| {
            let link = &run.links[l];
            let room = if link.rate > 0.0 {
                link.buffer - link.queue
            } else {
                link.queue
            };
            room / link.rate.abs()
        };
        // A queue that starts at a limit leaves it, even if slowly.
        self.solver
            .free
            .iter()
            .map(time)
            .filter(|time| *time > 0.0)
            .fold(f64::INFINITY, f64::min)
    }

    /// Whether the Taylor series of order 2 suffices for a step of `h` seconds. If so, sets the
    /// dense output of the queues. Between the cuts of one event a step is a small part of a round
    /// trip, and the first stage with the Jacobian suffices.
    pub(crate) fn try_taylor(&mut self, run: &mut Run<'_>, h: f64) -> bool {
        self.method = Method::Taylor;
        for link in &mut run.links {
            link.dense = Dense {
                start: link.queue,
                slope: [0.0; 3],
            };
            if link.mode == Mode::Free {
                link.dense.slope[0] = h * link.rate;
            }
        }
        for class in 0..self.classes.len() {
            let path = &run.model.paths[run.flows.classes[class].path];
            self.classes[class].delay_rate = path
                .iter()
                .map(|&l| run.links[l].dense.slope[0] * run.links[l].per_packet)
                .sum::<f64>()
                / h;
        }
        if !self.classes.iter().all(|class| class.bend(h) <= MOST_BEND) {
            return false;
        }
        self.solver.free.iter().all(|&l| {
            let (mut second, mut relaxation, mut bent) = (0.0, 0.0, 0.0);
            for (class, step) in self.classes.iter().enumerate() {
                if run.model.paths[run.flows.classes[class].path].contains(&l) {
                    let base = &step.base;
                    let size = run.flows.classes[class].size;
                    second +=
                        size * (base.coupled + base.by_delay * step.delay_rate + base.by_time);
                    relaxation += size * base.by_delay;
                    bent += size * base.rate * step.bend(h) * step.bend(h);
                }
            }
            let link = &mut run.links[l];
            link.dense.slope[1] = 0.5 * h * h * second;
            // The third derivative is at most about the relaxation rate times the second one, plus
            // the effect of the changing delay on the rates. The estimate adds both at full size.
            let relaxed = h * relaxation.abs() * link.per_packet;
            let [c1, c2, _] = link.dense.slope;
            let third = (relaxed * (2.0 * c2.abs() + relaxed * c1.abs()) + 2.0 * h * bent) / 6.0;
            third <= 0.5 * link.tolerated
        })
    }

    /// The weights of a class's stages for its state at the fraction `theta`.
    pub(crate) fn combination(&self, class: usize, h: f64, theta: f64) -> Combination {
        let step = &self.classes[class];
        if self.method == Method::Taylor {
            let (first, second) = (theta * h, 0.5 * theta * theta * h * h);
            return Combination {
                stages: 1,
                weights: [first, 0.0, 0.0, 0.0, 0.0, 0.0],
                by_delay: second * step.delay_rate,
                by_time: second,
                coupled: [second, 0.0, 0.0, 0.0, 0.0, 0.0],
                coupled_by_delay: 0.0,
                coupled_by_time: 0.0,
            };
        }
        let b = self.table.dense_weights(theta);
        let beta = self.table.jacobian_weights(&b);
        let gammas = &self.table.gamma_sums;
        Combination {
            stages: self.table.stages,
            weights: b.map(|x| h * x),
            by_delay: h * dot(&b, &step.delay_sums),
            by_time: h * h * dot(&b, gammas),
            coupled: beta.map(|x| h * h * x),
            coupled_by_delay: h * h * dot(&beta, &step.delay_sums),
            coupled_by_time: h * h * h * dot(&beta, gammas),
        }
    }

    /// The rate of the flows at a link within the accepted step, in packets per second.
    pub(crate) fn dense_arrivals(
        &self,
        run: &mut Run<'_>,
        link: usize,
        (step, theta): (f64, f64),
    ) -> f64 {
        let mut sum = 0.0;
        for class in 0..self.classes.len() {
            if run.offers(class, link) {
                let combination = self.combination(class, step, theta);
                let delay = dense_delay(run, class, theta);
                let time = run.now + theta * step;
                let rate = with_class!(run.model, run.flows, class, part => part.dense_rate(&combination, time, delay));
                sum += run.flows.classes[class].size * rate;
            }
        }
        sum
    }

    /// Advances flows and links to the fraction `theta` of the accepted step.
    pub(crate) fn commit(
        &mut self,
        run: &mut Run<'_>,
        (step, theta): (f64, f64),
    ) -> Result<(), FluidError> {
        let span = theta * step;
        self.solver.right.clear();
        self.solver
            .right
            .extend(run.links.iter().map(|link| link.background * span));
        for class in 0..self.classes.len() {
            let combination = self.combination(class, step, theta);
            let delay = dense_delay(run, class, theta);
            let sent =
                with_class!(run.model, run.flows, class, part => part.commit(&combination, delay));
            let arrived = run.flows.classes[class].size * sent;
            for &l in run.path(class) {
                self.solver.right[l] += arrived;
            }
        }
        for l in 0..run.links.len() {
            let arrived = self.solver.right[l];
            run.account(
                l,
                Interval {
                    begin: run.now,
                    span,
                    arrived,
                    theta,
                },
            )?;
        }
        Ok(())
    }
}

/// Queueing delay of a class within the accepted step, in seconds.
fn dense_delay(run: &Run<'_>, class: usize, theta: f64) -> f64 {
    let at = |l: usize| {
        let link = &run.links[l];
        let queue = if link.mode == Mode::Free {
            link.dense.at(theta)
        } else {
            link.queue
        };
        queue.clamp(0.0, link.buffer) * link.per_packet + link.hold
    };
    run.path(class).iter().map(|&l| at(l)).sum()
}
