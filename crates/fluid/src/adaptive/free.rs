//! Free intervals, in which a queue moves. One accepted step of the Taylor series or of the
//! Rosenbrock method advances flows and queues; the first event in the step ends it early.

use crate::adaptive::control::StepControl;
use crate::adaptive::location::Ending;
use crate::adaptive::step::Step;
use crate::error::FluidError;
use crate::run::Run;

/// Factor beyond the expected time of a limit at which a step ends. Often the Taylor series
/// suffices for this step, and no stages are computed beyond the event.
const AHEAD: f64 = 1.5;

/// Maximum growth factor of the step size after a step of the Taylor series.
const SERIES_GROWTH: f64 = 4.0;

impl Step {
    /// Advances by one accepted step, at most to `limit`. Returns the first event in the step,
    /// which ends it early.
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
