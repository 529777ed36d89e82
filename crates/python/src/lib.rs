//! `forebay._core`: the interface of the Python package to the engines. This crate converts, calls
//! and converts back; it contains no science. Long calls release the GIL and react to Ctrl-C.

// PyO3 passes converted arguments by value.
#![allow(clippy::needless_pass_by_value)]

mod batch;
mod custom;
mod describe;
mod emulation;
mod errors;
mod listening;
mod metrics;
mod models;
mod naming;
mod observing;
mod quantiles;
mod report;
mod rules;
mod scenario;

/// Counts the bytes that each run holds, so that a batch can end a run at its limit.
#[global_allocator]
static ALLOCATOR: forebay_engines::CountingAllocator = forebay_engines::CountingAllocator;

#[pyo3::pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::batch::{
        Engine, Job, aggregate, allow_memory, allowed_memory, engines, run_batch, run_here,
        weighted, yardstick,
    };
    #[pymodule_export]
    use crate::custom::{
        Ack, CongestionEvent, Idle, Link, QueuePacket, Random, Sample, code_runs_s, exact_math,
        register_controller, register_discipline,
    };
    #[pymodule_export]
    use crate::describe::{Algorithm, controllers, disciplines, scenario_keys};
    #[pymodule_export]
    use crate::emulation::{Emulation, Live, Program, kernel_sysctls};
    #[pymodule_export]
    use crate::metrics::{Metric, metrics, parse_quantity, split_quantity};
    #[pymodule_export]
    use crate::models::{call_model, evaluate, models};
    #[pymodule_export]
    use crate::naming::{american, likeliest, unknown};
    #[pymodule_export]
    use crate::observing::observe_captures;
    #[pymodule_export]
    use crate::quantiles::{beta_distribution, beta_quantile, two_sided_quantile};
    #[pymodule_export]
    use crate::report::Report;
    #[pymodule_export]
    use crate::rules::{Rule, rules};
    #[pymodule_export]
    use crate::scenario::{Scenario, schema};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add(
            "REFERENCE_TOLERANCE",
            forebay_closed_form::REFERENCE_TOLERANCE,
        )?;
        module.add("MORE_MEMORY", forebay_scenario::MORE_MEMORY)?;
        module.add("MAX_TEXT", forebay_scenario::MAX_TEXT)?;
        module.add("__version__", forebay_scenario::VERSION)
    }
}
