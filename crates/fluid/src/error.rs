//! Why a fluid model cannot be run, and the checks of its numbers.

use forebay_congestion::fluid::LawError;

/// Why a fluid model cannot be run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FluidError {
    /// A number outside its range.
    #[error("{field} is {value}, allowed is {allowed}")]
    OutOfRange {
        /// The field's name, with its index where it has one.
        field: String,
        /// The value found.
        value: f64,
        /// The values allowed, in words.
        allowed: &'static str,
    },
    /// A window law's parameter outside its range.
    #[error(transparent)]
    Law(#[from] LawError),
    /// The run would take more than the permitted work.
    #[error(
        "the fluid engine stopped at {time} s of {horizon} s simulated: it would take more than {limit} flow steps"
    )]
    TooLong {
        /// Simulated seconds done.
        time: f64,
        /// Simulated seconds asked for.
        horizon: f64,
        /// The limit on steps times flows.
        limit: u64,
    },
    /// The capacities change too often to end a step at each change.
    #[error(
        "the rates of the links change {found} times in {horizon} s simulated; the fluid engine, which ends its steps there, follows up to {most} changes"
    )]
    TooManyChanges {
        /// Changes until the end of the run.
        found: f64,
        /// Simulated seconds asked for.
        horizon: f64,
        /// The limit.
        most: f64,
    },
    /// The run was stopped from outside.
    #[error("interrupted")]
    Interrupted,
    /// The state left the range of finite numbers or of a window law.
    #[error("the fluid model has no finite solution beyond {time} s")]
    NotFinite {
        /// Simulated seconds done.
        time: f64,
    },
}

/// The refusal of a number.
pub(crate) fn refuse(field: String, value: f64, allowed: &'static str) -> FluidError {
    FluidError::OutOfRange {
        field,
        value,
        allowed,
    }
}

/// Refuses a number outside a closed range; NaN is outside every range.
pub(crate) fn range(
    field: &str,
    value: f64,
    (low, high): (f64, f64),
    allowed: &'static str,
) -> Result<(), FluidError> {
    if value >= low && value <= high {
        Ok(())
    } else {
        Err(refuse(field.into(), value, allowed))
    }
}

/// Refuses a number of things, or an index, outside a closed range.
pub(crate) fn count(
    field: &str,
    value: usize,
    (low, high): (usize, usize),
    allowed: &'static str,
) -> Result<(), FluidError> {
    let empty = high == usize::MAX && low == 0;
    if value >= low && value <= high && !empty {
        return Ok(());
    }
    Err(refuse(field.into(), value as f64, allowed))
}
