//! Errors of formulas that have no result, and the guards that return them.

use forebay_scenario::{ModelError, Unknown};

use crate::words::figure;

/// The reason why a formula has no result: the quantity, the value found and the allowed values.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FormulaError {
    /// An input lies outside the range in which the model is defined.
    #[error("{quantity} is {found}; allowed: {allowed}")]
    OutOfRange {
        /// The input's name, with its unit if it has one.
        quantity: &'static str,
        /// The value found.
        found: f64,
        /// The values allowed.
        allowed: &'static str,
    },
    /// The inputs are valid, but no value within the model reaches the requested one.
    #[error("{quantity} {found} cannot be reached: {bound}")]
    Unreachable {
        /// The requested quantity.
        quantity: &'static str,
        /// The requested value.
        found: f64,
        /// The bound that prevents it.
        bound: String,
    },
    /// The result is too large or too small for a double, or an intermediate value was.
    #[error("{quantity} is not representable (found {found}); allowed: a finite number")]
    NotRepresentable {
        /// The computed quantity.
        quantity: &'static str,
        /// The result of the arithmetic.
        found: f64,
    },
    /// A name that no model, quantity or variant has.
    #[error("{0}")]
    Unknown(Unknown),
    /// A required parameter was not given.
    #[error("parameter `{parameter}` is missing; needed: {needed}")]
    Missing {
        /// The parameter's name.
        parameter: String,
        /// The parameters that the quantity needs, separated by commas.
        needed: String,
    },
    /// A parameter's text is not a number (nor a ratio of two, nor a list where one is allowed).
    #[error("parameter `{parameter}` is `{found}`; allowed: {allowed}")]
    Malformed {
        /// The parameter's name.
        parameter: String,
        /// The text found.
        found: String,
        /// The allowed forms.
        allowed: &'static str,
    },
    /// Two parameter arrays cannot be broadcast together.
    #[error("parameter `{parameter}` has {found} values; allowed: 1 or {allowed}")]
    Length {
        /// The parameter's name.
        parameter: String,
        /// Its number of values.
        found: usize,
        /// The common length of the other parameters.
        allowed: usize,
    },
}

impl From<FormulaError> for ModelError {
    fn from(error: FormulaError) -> Self {
        match error {
            FormulaError::OutOfRange {
                quantity,
                found,
                allowed,
            } => Self::OutOfRange {
                quantity: quantity.into(),
                found: figure(found),
                allowed: in_words(allowed),
            },
            FormulaError::Unknown(unknown) => Self::Unknown(unknown),
            FormulaError::Unreachable {
                quantity, bound, ..
            } => Self::NoSolution(format!("the {quantity} is out of reach: {bound}")),
            FormulaError::NotRepresentable { quantity, .. } => {
                Self::NoSolution(format!("the {quantity} is beyond every number"))
            }
            other => Self::NoSolution(other.to_string()),
        }
    }
}

/// The words of a range in a sentence.
fn in_words(allowed: &str) -> String {
    let range = allowed.split(" (").next().unwrap_or(allowed);
    let words = match range {
        "a finite number > 0" => "more than 0",
        "a finite number >= 0" => "0 or more",
        "a finite number >= 1" => "1 or more",
        "0 < x < 1" => "more than 0 and less than 1",
        "0 <= x <= 1" => "0 to 1",
        "0 < x <= 1" => "more than 0, up to 1",
        "0 <= x < 1" => "less than 1",
        "0 < x < 2" => "more than 0 and less than 2",
        other if other.contains(['<', '>']) => "another",
        other => other,
    };
    words.into()
}

/// `value` if it is finite and above zero.
pub(crate) fn positive(quantity: &'static str, value: f64) -> Result<f64, FormulaError> {
    check(quantity, value, "a finite number > 0", value > 0.0)
}

/// `value` if it is finite and not below zero.
pub(crate) fn non_negative(quantity: &'static str, value: f64) -> Result<f64, FormulaError> {
    check(quantity, value, "a finite number >= 0", value >= 0.0)
}

/// `value` if it is finite and not below one.
pub(crate) fn at_least_one(quantity: &'static str, value: f64) -> Result<f64, FormulaError> {
    check(quantity, value, "a finite number >= 1", value >= 1.0)
}

/// `value` if it lies strictly between zero and one.
pub(crate) fn open_unit(quantity: &'static str, value: f64) -> Result<f64, FormulaError> {
    check(quantity, value, "0 < x < 1", value > 0.0 && value < 1.0)
}

/// `value` if it lies between zero and one, either end included.
pub(crate) fn unit(quantity: &'static str, value: f64) -> Result<f64, FormulaError> {
    check(quantity, value, "0 <= x <= 1", (0.0..=1.0).contains(&value))
}

/// `value` if it is a probability above zero: 0 < x <= 1.
pub(crate) fn probability(quantity: &'static str, value: f64) -> Result<f64, FormulaError> {
    check(quantity, value, "0 < x <= 1", value > 0.0 && value <= 1.0)
}

/// `value` if it is a load below one, at which a stationary distribution exists.
pub(crate) fn stable_load(quantity: &'static str, value: f64) -> Result<f64, FormulaError> {
    let inside = (0.0..1.0).contains(&value);
    check(
        quantity,
        value,
        "0 <= x < 1 (no stationary law at 1 and above)",
        inside,
    )
}

/// `value` if `inside` is true, otherwise the error that names `allowed`.
pub(crate) fn check(
    quantity: &'static str,
    value: f64,
    allowed: &'static str,
    inside: bool,
) -> Result<f64, FormulaError> {
    if inside && value.is_finite() {
        Ok(value)
    } else {
        Err(FormulaError::OutOfRange {
            quantity,
            found: value,
            allowed,
        })
    }
}

/// `value` if the arithmetic gave a finite number.
pub(crate) fn representable(quantity: &'static str, value: f64) -> Result<f64, FormulaError> {
    if value.is_finite() {
        Ok(value)
    } else {
        Err(FormulaError::NotRepresentable {
            quantity,
            found: value,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_quantity_value_and_bound() {
        let error = stable_load("load", 1.5).unwrap_err();
        assert_eq!(
            error.to_string(),
            "load is 1.5; allowed: 0 <= x < 1 (no stationary law at 1 and above)"
        );
    }

    #[test]
    fn no_guard_lets_nan_or_infinity_through() {
        for guard in [
            positive,
            non_negative,
            at_least_one,
            open_unit,
            unit,
            probability,
            stable_load,
        ] {
            assert!(guard("x", f64::NAN).is_err());
            assert!(guard("x", f64::INFINITY).is_err());
            assert!(guard("x", -1.0).is_err());
        }
        assert!(representable("x", f64::NAN).is_err());
    }
}
