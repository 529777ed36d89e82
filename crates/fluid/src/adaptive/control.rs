//! Control of the step size of the adaptive integrator, from the error estimate of each step.

/// State of the step size control. Times are in seconds.
#[derive(Debug)]
pub(crate) struct StepControl {
    /// Step size that the error control suggests.
    pub(crate) suggested: f64,
    /// A quarter of the shortest round trip: the initial step size, and the largest one of the
    /// Taylor series.
    pub(crate) restart: f64,
    /// Jump before the next step, and the step size that succeeded after the last jump of each
    /// kind.
    opening: Option<Opening>,
    openings: [f64; 2],
}

/// A jump, after which the error control has no history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    /// A scheduled event: a cut, or a new background rate.
    Jump,
    /// The arrivals exceed the capacity of an empty link.
    Overflow,
}

impl StepControl {
    /// The initial state, with steps of `restart` seconds.
    pub(crate) fn new(restart: f64) -> Self {
        Self {
            suggested: restart,
            restart,
            opening: None,
            openings: [restart; 2],
        }
    }

    /// Takes the error control's `factor` for an accepted step. A step that another limit shortened
    /// never shortens the next one.
    pub(crate) fn suggest(&mut self, step: f64, factor: f64) {
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

    /// Restarts after a jump, with the step size that succeeded after the last jump of its kind.
    pub(crate) fn reopen(&mut self, opening: Opening) {
        self.opening = Some(opening);
        self.suggested = self.openings[opening as usize];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_jump_restarts_with_the_step_that_served_it_last() {
        let mut control = StepControl::new(0.1);
        control.reopen(Opening::Overflow);
        control.suggest(0.1, 0.5);
        control.suggest(0.05, 4.0);
        assert_eq!(control.suggested, 0.2);
        control.reopen(Opening::Jump);
        assert_eq!(control.suggested, 0.1);
        control.reopen(Opening::Overflow);
        assert_eq!(control.suggested, 0.05);
    }

    #[test]
    fn a_step_that_something_else_limited_shortens_nothing() {
        let mut control = StepControl::new(0.1);
        control.suggest(0.01, 2.0);
        assert_eq!(control.suggested, 0.1);
        control.suggest(0.1, 0.3);
        assert_eq!(control.suggested, 0.03);
    }
}
