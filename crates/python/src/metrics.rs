//! Metrics of the report contract, and quantities as users write them.

use forebay_scenario::{Dimension, ValueError};
use pyo3::prelude::*;

use crate::errors::InputError;

/// A metric that a report may contain.
#[pyclass(module = "forebay._core", frozen, get_all)]
pub(crate) struct Metric {
    /// Name in reports, with the unit.
    name: &'static str,
    /// Name in goals, without the unit.
    goal_name: &'static str,
    /// Title in tables and pictures.
    title: &'static str,
    /// "share", "s", "bps", "packets" or "number".
    unit: &'static str,
    more_is_better: bool,
    /// "link", "group" or "both": the part of a report that has the metric.
    scope: &'static str,
    meaning: &'static str,
}

/// Return all metrics in the order of reports.
#[pyfunction]
pub(crate) fn metrics() -> Vec<Metric> {
    let all = forebay_scenario::Metric::ALL.into_iter();
    all.map(|metric| Metric {
        name: metric.name(),
        goal_name: metric.goal_name(),
        title: metric.title(),
        unit: metric.unit().name(),
        more_is_better: metric.more_is_better(),
        scope: metric.scope().name(),
        meaning: metric.meaning(),
    })
    .collect()
}

/// Return the value of a text in the base unit of its dimension: "time" (seconds), "rate" (bits per
/// second), "bytes", "packets" or "share" (a fraction).
#[pyfunction]
pub(crate) fn parse_quantity(text: &str, dimension: &str) -> PyResult<f64> {
    let known = Dimension::ALL.into_iter();
    let found = known.clone().find(|known| known.name() == dimension);
    let wanted = found.ok_or_else(|| {
        let names: Vec<&str> = known.map(Dimension::name).collect();
        InputError::new_err(format!(
            "found the dimension `{dimension}`; allowed: {}",
            names.join(", ")
        ))
    })?;
    let value_error = |value_error: ValueError| InputError::new_err(value_error.to_string());
    wanted.read(text).map_err(value_error)
}

/// Return the number at the beginning of a text and the unit after it; None if there is no number.
#[pyfunction]
pub(crate) fn split_quantity(text: &str) -> Option<(f64, &str)> {
    forebay_scenario::split_quantity(text)
}
