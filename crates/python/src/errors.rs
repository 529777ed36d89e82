//! Rust errors become the exceptions of `forebay.errors`.

use forebay_engines::BatchError;
use forebay_scenario::{EngineError, ModelError, ScenarioError, Source};
use pyo3::PyErr;

pyo3::import_exception!(forebay.errors, ForebayError);
pyo3::import_exception!(forebay.errors, InputError);
pyo3::import_exception!(forebay.errors, Interrupted);
pyo3::import_exception!(forebay.errors, UnavailableError);
pyo3::import_exception!(forebay.errors, UnsupportedError);
pyo3::import_exception!(forebay.errors, UntrustedError);

/// A mistake in a scenario: the user's.
pub(crate) fn scenario_error(error: &ScenarioError) -> PyErr {
    match &error.source {
        Source::Argument(argument) => InputError::new_err((error.at_key(), argument.to_string())),
        Source::File { .. } => InputError::new_err(error.to_string()),
    }
}

/// An engine's refusal, of a scenario, of this machine or of its own run.
pub(crate) fn engine_error(error: &EngineError) -> PyErr {
    match error {
        EngineError::Interrupted => Interrupted::new_err("interrupted"),
        EngineError::Model(ModelError::Unknown(unknown)) => {
            InputError::new_err((unknown.to_string(), unknown.what.clone()))
        }
        EngineError::Unavailable { .. } => UnavailableError::new_err(error.to_string()),
        EngineError::Untrusted { .. } => UntrustedError::new_err(error.to_string()),
        EngineError::Unsupported { .. } | EngineError::TooLarge { .. } | EngineError::Model(_) => {
            UnsupportedError::new_err(error.to_string())
        }
    }
}

/// What ended a batch.
pub(crate) fn batch_error(error: &BatchError) -> PyErr {
    match error {
        BatchError::Engine(source) => engine_error(source),
        BatchError::Defect { .. } | BatchError::Thread(_) => {
            ForebayError::new_err(error.to_string())
        }
        BatchError::Interrupted => Interrupted::new_err("interrupted"),
    }
}

/// A formula outside of its domain, or a name that no model has.
pub(crate) fn model_error(error: &forebay_closed_form::FormulaError) -> PyErr {
    InputError::new_err(error.to_string())
}
