//! Quantiles of Student's t distribution and of the beta distribution, for intervals.

use pyo3::prelude::*;

use crate::errors::InputError;

fn probability(value: f64) -> PyResult<f64> {
    if value > 0.0 && value < 1.0 {
        return Ok(value);
    }
    let message = format!("expected a probability strictly between 0 and 1, found {value}");
    Err(InputError::new_err(message))
}

/// Return the half width of the interval around 0 that contains Student's t with this probability.
#[pyfunction]
pub(crate) fn two_sided_quantile(confidence: f64, degrees: u64) -> PyResult<f64> {
    Ok(forebay_engines::two_sided_quantile(
        probability(confidence)?,
        degrees,
    ))
}

/// Return the probability that a beta variable with shapes `a` and `b` is at most `x`.
#[pyfunction]
pub(crate) fn beta_distribution(x: f64, a: f64, b: f64) -> f64 {
    forebay_engines::beta_distribution(x, a, b)
}

/// Return the value that a beta variable with shapes `a` and `b` stays below with this probability.
#[pyfunction]
pub(crate) fn beta_quantile(value: f64, a: f64, b: f64) -> PyResult<f64> {
    Ok(forebay_engines::beta_quantile(probability(value)?, a, b))
}
