//! The closed-form models without a scenario: their descriptions, and their quantities on NumPy
//! arrays.

use std::collections::BTreeMap;

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::errors::{InputError, model_error};

/// Return every model as JSON: name, title, formula, symbols, assumptions, source, errata,
/// quantities, and a worked example.
#[pyfunction]
pub(crate) fn models() -> PyResult<Vec<String>> {
    forebay_closed_form::models()
        .map(|model| {
            let explanation = forebay_closed_form::explain(model.name);
            let explanation = explanation.map_err(|error| model_error(&error))?;
            serde_json::to_string(&explanation).map_err(|e| InputError::new_err(e.to_string()))
        })
        .collect()
}

/// Return the values of one quantity of a model for arrays of its parameters. Arrays of one value
/// are repeated. All numbers are in the units that the model states.
#[pyfunction]
pub(crate) fn call_model<'py>(
    py: Python<'py>,
    model: &str,
    quantity: &str,
    parameters: BTreeMap<String, PyReadonlyArray1<'py, f64>>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let parameters: BTreeMap<String, Vec<f64>> = parameters
        .iter()
        .map(|(name, values)| (name.clone(), values.as_array().to_vec()))
        .collect();
    let values = py.detach(|| forebay_closed_form::call(model, quantity, &parameters));
    let values = values.map_err(|error| model_error(&error))?;
    Ok(PyArray1::from_vec(py, values))
}

/// Return the value of one row of a reference table; `inputs` is a JSON object.
#[pyfunction]
pub(crate) fn evaluate(model: &str, quantity: &str, inputs: &str) -> PyResult<f64> {
    let inputs = serde_json::from_str(inputs).map_err(|e| InputError::new_err(e.to_string()))?;
    let value = forebay_closed_form::evaluate(model, quantity, &inputs);
    value.map_err(|error| model_error(&error))
}
