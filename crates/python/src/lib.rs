//! `forebay._core`: what the Python package may ask of the engines. This crate
//! converts, calls and converts back; it holds no science.

use pyo3::prelude::*;

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    Ok(())
}
