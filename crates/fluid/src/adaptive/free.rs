//! Free stretches: a queue moves, and one accepted step of the Taylor series or of the Rosenbrock method
//! takes flows and queues on, ended early by the first event in it.

use crate::adaptive::control::StepControl;
use crate::adaptive::location::Ending;
use crate::adaptive::step::Step;
use crate::error::FluidError;
use crate::run::Run;

/// Where a queue is about to meet a limit at its present rate, a step tries to end this much later:
/// often the series is enough for it, and no stages are spent beyond the event.
const AHEAD: f64 = 1.5;

/// By how much the step may grow after one that the series served.
const SERIES_GROWTH: f64 = 4.0;

impl Step {
    /// Moves on by one accepted step, at most to `limit`, ended early by the first event in it, which
    /// is returned.
    pub(crate) fn free_stretch(
        &mut self,
        run: &mut Run<'_>,
        control: &mut StepControl,
        limit: f64,
    ) -> Result<Ending, FluidError> {
        self.prepare(run);
        let room = limit - run.now;
        let mut step = control.suggested.min(room);
        if step > 0.9 * room {
            step = room;
        }
        let near = AHEAD * self.time_to_limit(run);
        let mut serves = |h: f64| h <= control.restart && self.try_taylor(run, h);
        if near < step && serves(near) {
            step = near;
        } else if serves(step) {
            if step >= control.suggested {
                control.suggest(step, SERIES_GROWTH);
            }
        } else {
            step = self.shrink_to_tolerance(run, control, step)?;
        }
        let (theta, ending) = self.first_ending(run, step);
        let span = theta * step;
        self.sample(run, (step, span));
        self.commit(run, (step, theta))?;
        run.now = if ending == Ending::None && step == room {
            limit
        } else {
            run.now + span
        };
        Ok(ending)
    }

    /// Tries Rosenbrock steps from `step` seconds downwards until one meets the tolerance.
    pub(super) fn shrink_to_tolerance(
        &mut self,
        run: &mut Run<'_>,
        control: &mut StepControl,
        mut step: f64,
    ) -> Result<f64, FluidError> {
        loop {
            let error = self.try_rosenbrock(run, step);
            let factor = self.table.step_factor(error);
            if error <= 1.0 {
                control.suggest(step, factor);
                return Ok(step);
            }
            run.refused += 1;
            step *= factor.min(0.9);
            control.suggested = step;
            if step < 1e-14 * (run.now + 1.0) {
                return Err(FluidError::NotFinite { time: run.now });
            }
        }
    }
}
