//! The errors of the fluid engine, and the checks of its numbers.

use forebay_congestion::fluid::LawError;

/// Reason why a fluid model cannot be run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FluidError {
    /// A number is outside its range.
    #[error("{field} is {value}, allowed is {allowed}")]
    OutOfRange {
        /// Name of the field, with its index if it has one.
        field: String,
        /// Value of the field.
        value: f64,
        /// Allowed values, in words.
        allowed: &'static str,
    },
    /// A parameter of a window law is outside its range.
    #[error(transparent)]
    Distribution(#[from] LawError),
    /// The run would take more work than is permitted.
    #[error(
        "the fluid engine stopped at {time} s of {horizon} s simulated: it would take more than {limit} flow steps"
    )]
    TooLong {
        /// Simulated time so far, in seconds.
        time: f64,
        /// Simulated time of the whole run, in seconds.
        horizon: f64,
        /// Limit of steps times flows.
        limit: u64,
    },
    /// The capacities change too often to end a step at each change.
    #[error(
        "the rates of the links change {found} times in {horizon} s simulated; the fluid engine allows up to {most} changes"
    )]
    TooManyChanges {
        /// Number of changes until the end of the run.
        found: f64,
        /// Simulated time of the whole run, in seconds.
        horizon: f64,
        /// Maximum number of changes.
        most: f64,
    },
    /// The run was canceled.
    #[error("interrupted")]
    Interrupted,
    /// The state left the range of finite numbers or of a window law.
    #[error("the fluid model has no finite solution beyond {time} s")]
    NotFinite {
        /// Simulated time so far, in seconds.
        time: f64,
    },
}

/// The error for a number outside its range.
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

/// Refuses a count or an index outside a closed range.
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
