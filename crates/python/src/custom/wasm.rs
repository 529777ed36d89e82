//! Controllers as WebAssembly modules.

use std::sync::Mutex;

use forebay_webassembly::{Limits, Module};
use pyo3::prelude::*;

use crate::errors::CodeError;

/// Names and facts of the modules that this process has compiled.
static COMPILED: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());

/// Compile a WebAssembly module and register its controller under `name`, ready to run. `file` is
/// its name in errors. Return its facts as JSON. A module that this process knows is not compiled
/// again.
#[pyfunction]
pub(crate) fn activate_wasm(
    py: Python<'_>,
    name: &str,
    file: &str,
    module: &[u8],
) -> PyResult<String> {
    let mut compiled = COMPILED
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some((_, facts)) = compiled.iter().find(|(known, _)| known == name) {
        return Ok(facts.clone());
    }
    let made = py.detach(|| {
        let module = Module::compile(file, module, Limits::default())?;
        let facts = serde_json::to_string(module.facts()).map_err(|error| error.to_string())?;
        forebay_webassembly::register(name, module)?;
        Ok(facts)
    });
    let facts: String = made.map_err(|text: String| CodeError::new_err(text))?;
    compiled.push((name.to_owned(), facts.clone()));
    Ok(facts)
}
