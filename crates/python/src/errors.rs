//! Conversion of Rust errors to the exceptions of `forebay.errors`.

use forebay_engines::BatchError;
use forebay_scenario::{EngineError, ModelError, ScenarioError, Source};
use pyo3::PyErr;

pyo3::import_exception!(forebay.errors, CodeError);
pyo3::import_exception!(forebay.errors, ForebayError);
pyo3::import_exception!(forebay.errors, InputError);
pyo3::import_exception!(forebay.errors, Interrupted);
pyo3::import_exception!(forebay.errors, UnavailableError);
pyo3::import_exception!(forebay.errors, UnsupportedError);
pyo3::import_exception!(forebay.errors, UntrustedError);

/// The exception of an error in a scenario, which the user can correct.
pub(crate) fn scenario_error(error: &ScenarioError) -> PyErr {
    match &error.source {
        Source::Argument(argument) => InputError::new_err((error.at_key(), argument.to_string())),
        Source::File { .. } => InputError::new_err(error.to_string()),
    }
}

/// The exception of an engine that refuses a scenario, this machine or its own run.
pub(crate) fn engine_error(error: &EngineError) -> PyErr {
    match error {
        EngineError::Interrupted => Interrupted::new_err("interrupted"),
        EngineError::Model(ModelError::Unknown(unknown)) => {
            InputError::new_err((unknown.to_string(), unknown.what.clone()))
        }
        EngineError::Code { .. } => CodeError::new_err(error.to_string()),
        EngineError::Unavailable { .. } => UnavailableError::new_err(error.to_string()),
        EngineError::Untrusted { .. } => UntrustedError::new_err(error.to_string()),
        EngineError::Unsupported { .. } | EngineError::TooLarge { .. } | EngineError::Model(_) => {
            UnsupportedError::new_err(error.to_string())
        }
    }
}

/// The exception that ends a batch.
pub(crate) fn batch_error(error: &BatchError) -> PyErr {
    match error {
        BatchError::Engine(source) => engine_error(source),
        BatchError::Defect { .. } | BatchError::Thread(_) => {
            ForebayError::new_err(error.to_string())
        }
        BatchError::Interrupted => Interrupted::new_err("interrupted"),
    }
}

/// The exception of a formula outside of its domain, or of a name that no model has.
pub(crate) fn model_error(error: &forebay_closed_form::FormulaError) -> PyErr {
    InputError::new_err(error.to_string())
}
