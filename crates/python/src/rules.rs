//! The published formulas, applied to a scenario.

use forebay_scenario::{BufferSize, ClosedForm, Holds};
use pyo3::prelude::*;

use crate::listening::listening;
use crate::scenario::Scenario;

/// The verdict of one closed-form model on a scenario.
#[pyclass(frozen, get_all, module = "forebay._core")]
pub(crate) struct Rule {
    /// Name of the model.
    name: String,
    /// The buffer that it recommends, in packets; None if it recommends none.
    packets: Option<f64>,
    /// The reason why it has no buffer, if there is none.
    refusal: Option<String>,
    /// (assumption, "yes" | "partly" | "no" | "unknown", reason, share of the flows or of the
    /// load).
    checks: Vec<(String, String, String, Option<f64>)>,
    /// Predicted metrics at the scenario's own buffer, by their names in reports.
    predicted: Vec<(String, f64)>,
    /// Notes on the predictions.
    notes: Vec<String>,
}

/// Return the verdict of every closed-form model.
#[pyfunction]
pub(crate) fn rules(py: Python<'_>, scenario: PyRef<'_, Scenario>) -> PyResult<Vec<Rule>> {
    let scenario = scenario.inner.clone();
    listening(py, true, move || {
        let models = forebay_engines::rules().iter();
        models.map(|model| ask(*model, &scenario)).collect()
    })
}

fn ask(model: &dyn ClosedForm, scenario: &forebay_scenario::Scenario) -> Rule {
    let checks = model.assumptions(scenario).into_iter().map(|check| {
        let holds = match check.holds {
            Holds::Yes => "yes",
            Holds::Partly => "partly",
            Holds::No => "no",
            Holds::Unknown => "unknown",
        };
        (
            check.assumption.to_owned(),
            holds.to_owned(),
            check.why,
            check.share,
        )
    });
    let mut rule = Rule {
        name: model.name().to_owned(),
        packets: None,
        refusal: None,
        checks: checks.collect(),
        predicted: Vec::new(),
        notes: Vec::new(),
    };
    match model.size(scenario, scenario.goals()) {
        Ok(size) => rule.packets = size.and_then(|size| in_packets(scenario, size)),
        Err(error) => rule.refusal = Some(error.to_string()),
    }
    if let Ok(prediction) = model.predict(scenario) {
        let metrics = prediction.metrics.into_iter();
        rule.predicted = metrics
            .map(|(metric, x)| (metric.name().to_owned(), x))
            .collect();
        rule.notes = prediction.notes;
    }
    rule
}

/// The buffer in packets of the scenario's mean size.
fn in_packets(scenario: &forebay_scenario::Scenario, size: BufferSize) -> Option<f64> {
    match size {
        BufferSize::Packets(packets) => Some(packets as f64),
        other => scenario
            .with_buffer(other)
            .ok()
            .map(|changed| changed.buffer().packets),
    }
}
