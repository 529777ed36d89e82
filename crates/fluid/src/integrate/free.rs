//! Free stretches: a queue moves, and one accepted step of the Taylor series or of the Rosenbrock method
//! takes flows and queues on, ended early by the first event in it.

use super::location::Ending;
use super::{ClassStep, Run};
use crate::dense::Dense;
use crate::flows::{Combination, Method, with_class};
use crate::links::{Mode, Stretch};
use crate::model::FluidError;
use crate::rosenbrock::{GAMMA_SUMS, dense_weights, dot, jacobian_weights};

/// Where a queue is about to meet a limit at its present rate, a step tries to end this much later:
/// often the series is enough for it, and no stages are spent beyond the event.
const AHEAD: f64 = 1.5;

/// A jump after which the error control has no history to go by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opening {
    /// Something scheduled: a cut, or a new background rate.
    Jump,
    /// Arrivals have passed the capacity of an empty link.
    Overflow,
}

impl Run<'_> {
    /// Moves on by one accepted step, at most to `limit`, ended early by the first event in it.
    pub(super) fn free_stretch(&mut self, limit: f64) -> Result<(), FluidError> {
        self.prepare();
        let room = limit - self.now;
        let mut step = self.suggested.min(room);
        if step > 0.9 * room {
            step = room;
        }
        self.method = Method::Taylor;
        let near = AHEAD * self.time_to_limit();
        if near < step && self.try_taylor(near) {
            step = near;
        } else if self.try_taylor(step) {
            if step >= self.suggested {
                self.suggest(step, 4.0);
            }
        } else {
            self.method = Method::Rosenbrock;
            step = self.shrink_to_tolerance(step)?;
        }
        let (theta, ending) = self.first_ending(step);
        let span = theta * step;
        self.sample_free(step, span);
        self.commit(step, theta)?;
        self.now = if ending == Ending::None && step == room {
            limit
        } else {
            self.now + span
        };
        self.settle_red();
        self.end_stretch(ending);
        Ok(())
    }

    /// Tries Rosenbrock steps from `step` seconds downwards until one meets the tolerance.
    fn shrink_to_tolerance(&mut self, mut step: f64) -> Result<f64, FluidError> {
        loop {
            let error = self.try_step(step);
            let factor = if error.is_finite() {
                (0.9 / error.max(1e-8).sqrt().sqrt()).clamp(0.2, 6.0)
            } else {
                0.1
            };
            if error <= 1.0 {
                self.suggest(step, factor);
                return Ok(step);
            }
            self.refused += 1;
            self.work += self.flows.len() as u64;
            step *= factor.min(0.9);
            self.suggested = step;
            if step < 1e-14 * (self.now + 1.0) {
                return Err(FluidError::NotFinite { time: self.now });
            }
        }
    }

    /// Takes over what the error control makes of an accepted step; a step that was limited by
    /// something else never shortens the next one.
    fn suggest(&mut self, step: f64, factor: f64) {
        let next = step * factor;
        self.suggested = if step < self.suggested {
            self.suggested.max(next)
        } else {
            next
        };
        if let Some(opening) = self.opening.take() {
            self.openings[opening as usize] = self.suggested;
        }
    }

    /// Starts the step control anew after a jump, with the step that served after the last jump
    /// of the kind.
    pub(super) fn reopen(&mut self, opening: Opening) {
        self.opening = Some(opening);
        self.suggested = self.openings[opening as usize];
    }

    /// Whether the Taylor series of order 2 serves for a step of `h` seconds; if so, fills in the
    /// queues' dense output. Between the cuts of one event a step is a small part of a round trip
    /// and the first stage with the Jacobian, at hand already, says all.
    pub(super) fn try_taylor(&mut self, h: f64) -> bool {
        if h > self.restart {
            return false;
        }
        for link in &mut self.links {
            link.dense = Dense {
                start: link.queue,
                slope: [0.0; 3],
            };
            if link.mode == Mode::Free {
                link.dense.slope[0] = h * link.rate;
            }
        }
        for class in 0..self.classes.len() {
            let path = &self.model.paths[self.flows.classes[class].path];
            self.classes[class].delay_rate = path
                .iter()
                .map(|&l| self.links[l].dense.slope[0] * self.links[l].per_packet)
                .sum::<f64>()
                / h;
        }
        self.solver.free.iter().all(|&l| {
            let (mut second, mut relaxation) = (0.0, 0.0);
            for (class, step) in self.classes.iter().enumerate() {
                if self.model.paths[self.flows.classes[class].path].contains(&l) {
                    let base = &step.base;
                    let size = self.flows.classes[class].size;
                    second +=
                        size * (base.coupled + base.by_delay * step.delay_rate + base.by_time);
                    relaxation += size * base.by_delay;
                }
            }
            let link = &mut self.links[l];
            link.dense.slope[1] = 0.5 * h * h * second;
            // The third derivative is at most about the relaxation rate times the second, plus the
            // square of the relative change of delay; the estimate takes both at full size.
            let relaxed = h * relaxation.abs() * link.per_packet;
            let [c1, c2, _] = link.dense.slope;
            let third = relaxed * (2.0 * c2.abs() + relaxed * c1.abs()) / 6.0;
            third <= 0.5 * link.tolerated
        })
    }

    /// Evaluates the classes at the start of a step and lists the free links.
    pub(super) fn prepare(&mut self) {
        let now = self.now;
        for class in 0..self.flows.classes.len() {
            let delay = self.delay(class);
            let base = with_class!(self.model, self.flows, class, part => part.prepare(now, delay));
            self.classes[class] = ClassStep {
                base,
                delay,
                ..ClassStep::default()
            };
        }
        let free = &mut self.solver.free;
        free.clear();
        free.extend((0..self.links.len()).filter(|&l| self.links[l].mode == Mode::Free));
        for &l in &self.solver.free {
            let arrivals: f64 = (self.classes.iter().enumerate())
                .filter(|(class, _)| self.model.paths[self.flows.classes[*class].path].contains(&l))
                .map(|(class, step)| self.flows.classes[class].size * step.base.rate)
                .sum();
            let link = &mut self.links[l];
            link.rate = arrivals + link.background - link.capacity;
        }
    }

    /// Seconds after which the first free queue is empty or full at its present rate.
    fn time_to_limit(&self) -> f64 {
        let time = |&l: &usize| {
            let link = &self.links[l];
            let room = if link.rate > 0.0 {
                link.buffer - link.queue
            } else {
                link.queue
            };
            room / link.rate.abs()
        };
        // A queue that starts at a limit leaves it, however slowly.
        self.solver
            .free
            .iter()
            .map(time)
            .filter(|time| *time > 0.0)
            .fold(f64::INFINITY, f64::min)
    }

    /// The weights with which a class's stages make up its state at the fraction `theta`.
    pub(super) fn combination(&self, class: usize, h: f64, theta: f64) -> Combination {
        let step = &self.classes[class];
        if self.method == Method::Taylor {
            let (first, second) = (theta * h, 0.5 * theta * theta * h * h);
            return Combination {
                method: Method::Taylor,
                weights: [first, 0.0, 0.0, 0.0, 0.0, 0.0],
                by_delay: second * step.delay_rate,
                by_time: second,
                coupled: [second, 0.0, 0.0, 0.0, 0.0, 0.0],
                coupled_by_delay: 0.0,
                coupled_by_time: 0.0,
            };
        }
        let b = dense_weights(theta);
        let beta = jacobian_weights(&b);
        Combination {
            method: Method::Rosenbrock,
            weights: b.map(|x| h * x),
            by_delay: h * dot(&b, &step.delay_sums),
            by_time: h * h * dot(&b, &GAMMA_SUMS),
            coupled: beta.map(|x| h * h * x),
            coupled_by_delay: h * h * dot(&beta, &step.delay_sums),
            coupled_by_time: h * h * h * dot(&beta, &GAMMA_SUMS),
        }
    }

    /// Moves flows and links to the fraction `theta` of the accepted step.
    pub(super) fn commit(&mut self, step: f64, theta: f64) -> Result<(), FluidError> {
        let span = theta * step;
        self.solver.right.clear();
        self.solver
            .right
            .extend(self.links.iter().map(|link| link.background * span));
        for class in 0..self.classes.len() {
            let combination = self.combination(class, step, theta);
            let delay = self.dense_delay(class, theta);
            let sent = with_class!(self.model, self.flows, class, part => part.commit(&combination, delay));
            let arrived = self.flows.classes[class].size * sent;
            for &l in self.path(class) {
                self.solver.right[l] += arrived;
            }
        }
        for l in 0..self.links.len() {
            let arrived = self.solver.right[l];
            self.account(
                l,
                Stretch {
                    span,
                    arrived,
                    theta,
                },
            )?;
        }
        Ok(())
    }
}
