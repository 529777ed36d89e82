//! Congestion control and queue disciplines that a user writes in Python, or as WebAssembly.
//! `forebay.algorithms` registers them; the packet engine calls their objects here.

mod control;
mod queue;
mod wasm;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use forebay_random::Stream;
use forebay_units::custom::{CodeError, Declaration, Described};
use forebay_units::parameter::{Parameters, Value};
use forebay_webassembly::Declared;
use pyo3::prelude::*;
use pyo3::types::PyDict;

pub(crate) use control::{Ack, CongestionEvent, Idle, Sample, register_controller};
pub(crate) use queue::{Link, QueuePacket, register_discipline};
pub(crate) use wasm::activate_wasm;

use crate::errors::InputError;

/// Milliseconds since the start of this process at which the present call of a user's code began; 0
/// if none is in progress.
static CALL: AtomicU64 = AtomicU64::new(0);

fn milliseconds() -> u64 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let elapsed = START.get_or_init(Instant::now).elapsed();
    u64::try_from(elapsed.as_millis())
        .unwrap_or(u64::MAX)
        .max(1)
}

/// Return the seconds for which the present call of a user's code has run; 0 if none does.
#[pyfunction]
pub(crate) fn code_runs_s() -> f64 {
    match CALL.load(Ordering::Relaxed) {
        0 => 0.0,
        begun => milliseconds().saturating_sub(begun) as f64 / 1e3,
    }
}

/// A random stream of one connection or link.
#[pyclass(module = "forebay._core")]
pub(crate) struct Random(Stream);

#[pymethods]
impl Random {
    /// Return a number from 0 to 1, 1 excluded.
    fn uniform(&mut self) -> f64 {
        self.0.uniform()
    }

    /// Return an exponential number of mean 1.
    fn exponential(&mut self) -> f64 {
        self.0.exponential()
    }

    /// Return a normal number of mean 0 and variance 1.
    fn normal(&mut self) -> f64 {
        self.0.normal()
    }

    /// Return a whole number from 0 to `n`, `n` excluded.
    fn below(&mut self, n: u64) -> PyResult<u64> {
        if n == 0 {
            return Err(InputError::new_err(("found 0; allowed: 1 or more", "n")));
        }
        Ok(self.0.below(n))
    }
}

/// The parameters of an algorithm.
fn described(parameters: Vec<Declared>) -> PyResult<Vec<Described>> {
    let described = |(name, meaning, kind, default, least, most): Declared| {
        let declaration = Declaration {
            name: name.clone(),
            meaning,
            kind,
            default,
            least,
            most,
        };
        let described = declaration.described();
        described.map_err(|text| InputError::new_err((text, name)))
    };
    parameters.into_iter().map(described).collect()
}

/// The values of parameters as arguments of a class: numbers, times in seconds, rates in bits per
/// second, sizes in bytes. An automatic value is left to the class.
fn arguments<'py>(py: Python<'py>, parameters: &Parameters) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    for (name, value) in parameters.iter() {
        match *value {
            Value::Number(x) => found.set_item(name, x)?,
            Value::Time(x) => found.set_item(name, x.as_secs_f64())?,
            Value::Bytes(x) => found.set_item(name, x.get())?,
            Value::Rate(x) => found.set_item(name, x.as_bits_per_second())?,
            Value::Switch(x) => found.set_item(name, x)?,
            Value::Word(x) => found.set_item(name, x)?,
            Value::Threshold(_) | Value::Automatic => {}
        }
    }
    Ok(found)
}

/// Calls the code of a user. An error of the code ends the run, with the state that `state`
/// describes.
fn call<T>(
    state: impl FnOnce() -> String,
    work: impl for<'py> FnOnce(Python<'py>) -> PyResult<T>,
) -> T {
    CALL.store(milliseconds(), Ordering::Relaxed);
    let done = Python::attach(|py| work(py).map_err(|error| described_error(py, &error)));
    CALL.store(0, Ordering::Relaxed);
    done.unwrap_or_else(|what| CodeError(format!("{what} ({})", state())).raise())
}

/// File, line, class and text of an exception, in one line.
fn described_error(py: Python<'_>, error: &PyErr) -> String {
    let value = error.value(py);
    if let Some(traceback) = error.traceback(py) {
        // Without it the text has no line.
        let _ = value.setattr("__traceback__", traceback);
    }
    let shown = py
        .import("forebay.algorithms.errors")
        .and_then(|module| module.call_method1("described", (value,)))
        .and_then(|text| text.extract::<String>());
    shown.unwrap_or_else(|_| error.to_string())
}

/// The error of a value that a method may not return.
fn wrong_value(method: &str, found: &str, allowed: &str) -> PyErr {
    let text = format!("`{method}` returned {found}; allowed: {allowed}");
    pyo3::exceptions::PyValueError::new_err(text)
}

/// Functions of `libm` that have the same result on every machine. `name` selects one.
#[pyfunction]
pub(crate) fn exact_math(name: &str, x: f64, y: f64) -> PyResult<f64> {
    if name == "sqrt" {
        return Ok(x.sqrt());
    }
    forebay_webassembly::exact(name, x, y).ok_or_else(|| {
        let text = format!(
            "found `{name}`; allowed: cbrt, cos, exp, exp2, log, log2, pow, sin, sqrt, tanh"
        );
        InputError::new_err((text, "name"))
    })
}
