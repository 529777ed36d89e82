//! Descriptions of controllers, queue disciplines and scenario keys from their registries, for
//! `explain`.

use forebay_units::parameter::{Description, ParameterKind};
use pyo3::prelude::*;

/// A parameter: name, meaning, allowed values, default.
type ParameterText = (&'static str, &'static str, String, String);

/// The registry's description of a controller or queue discipline.
#[pyclass(module = "forebay._core", frozen, get_all)]
pub(crate) struct Algorithm {
    name: &'static str,
    /// Other names of the same algorithm.
    aliases: Vec<&'static str>,
    /// One sentence that says what the algorithm is.
    title: &'static str,
    /// The algorithm's rule, one line per equation or condition.
    formula: Vec<&'static str>,
    source: &'static str,
    /// The comparisons that checked it, one per line.
    checked: Vec<String>,
    parameters: Vec<ParameterText>,
}

/// Return the keys of scenario files as JSON: a tree of name, meaning, allowed, default, required,
/// keys.
#[pyfunction]
pub(crate) fn scenario_keys() -> String {
    serde_json::json!(forebay_scenario::sections()).to_string()
}

/// Return the congestion controllers.
#[pyfunction]
pub(crate) fn controllers() -> Vec<Algorithm> {
    describe(forebay_congestion::descriptions())
}

/// Return the queue disciplines.
#[pyfunction]
pub(crate) fn disciplines() -> Vec<Algorithm> {
    describe(forebay_discipline::descriptions())
}

fn describe(descriptions: &[&'static Description]) -> Vec<Algorithm> {
    let parameter = |p: &forebay_units::parameter::Parameter| {
        (p.name, p.meaning, allowed(p.kind), p.default.to_string())
    };
    descriptions
        .iter()
        .map(|d| Algorithm {
            name: d.name,
            aliases: d.aliases.to_vec(),
            title: d.title,
            formula: d.formula.to_vec(),
            source: d.source,
            checked: d.checks(),
            parameters: d.parameters.iter().map(parameter).collect(),
        })
        .collect()
}

fn allowed(kind: ParameterKind) -> String {
    match kind {
        ParameterKind::Choice { .. }
        | ParameterKind::Number {
            unit: "" | "probability" | "fraction",
            ..
        } => kind.range(),
        ParameterKind::Number { unit, .. } => format!("{} {unit}", kind.range()),
        ParameterKind::Time => "a time such as 15ms".into(),
        ParameterKind::Bytes => "a size such as 1500B".into(),
        ParameterKind::Rate => "a rate such as 10Mbps".into(),
        ParameterKind::Threshold => "40% of the buffer, packets, bytes or time".into(),
        ParameterKind::Switch => "true or false".into(),
    }
}
