//! What the contract says of metrics, and quantities as users write them.

use forebay_scenario::{Dimension, Mistake};
use pyo3::prelude::*;

use crate::errors::InputError;

/// What a report may measure.
#[pyclass(module = "forebay._core", frozen, get_all)]
pub(crate) struct Metric {
    /// In reports, with its unit.
    name: &'static str,
    /// In goals, without it.
    goal_name: &'static str,
    /// "share", "s", "bps", "packets" or "number".
    unit: &'static str,
    more_is_better: bool,
    /// "link", "group" or "both": which part of a report carries it.
    scope: &'static str,
    meaning: &'static str,
}

/// All metrics in the order of reports.
#[pyfunction]
pub(crate) fn metrics() -> Vec<Metric> {
    let all = forebay_scenario::Metric::ALL.into_iter();
    all.map(|metric| Metric {
        name: metric.name(),
        goal_name: metric.goal_name(),
        unit: metric.unit().name(),
        more_is_better: metric.more_is_better(),
        scope: metric.scope().name(),
        meaning: metric.meaning(),
    })
    .collect()
}

/// The value of a text in the base unit of its dimension: "time" (seconds), "rate" (bits per
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
    let mistake = |mistake: Mistake| InputError::new_err(mistake.to_string());
    wanted.read(text).map_err(mistake)
}

/// The number that a text begins with and the unit that follows, or None where it begins with none.
#[pyfunction]
pub(crate) fn split_quantity(text: &str) -> Option<(f64, &str)> {
    forebay_scenario::split_quantity(text)
}
