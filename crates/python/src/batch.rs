//! Runs: many at once, without the GIL, answering Ctrl-C.

use std::num::NonZeroUsize;
use std::sync::Arc;

use forebay_engines::{Job, Next, Outcome};
use forebay_scenario::Seed;
use pyo3::prelude::*;

use crate::errors::{InputError, batch_error};
use crate::report::Report;
use crate::scenario::Scenario;

/// Names of the engines, the default first.
#[pyfunction]
pub(crate) fn engines() -> Vec<&'static str> {
    forebay_engines::engines()
        .iter()
        .map(|engine| engine.name())
        .collect()
}

/// Run jobs (scenario, engine, seed, replication) on `threads` threads; an engine named
/// "packet+traces" also records what the scenario's `[trace]` asks for. `observe` is called with
/// the index of each finished job and its report or exception, in the order of finishing; an
/// exception that it raises ends the batch. Returns reports and exceptions in job order.
#[pyfunction]
#[pyo3(signature = (jobs, threads, observe=None))]
pub(crate) fn run_batch(
    py: Python<'_>,
    jobs: Vec<(Py<Scenario>, String, u64, u64)>,
    threads: usize,
    observe: Option<Py<PyAny>>,
) -> PyResult<Vec<Py<PyAny>>> {
    let threads = NonZeroUsize::new(threads)
        .ok_or_else(|| InputError::new_err("jobs: found 0; allowed: 1 or more"))?;
    let jobs: Vec<Job> = jobs
        .into_iter()
        .map(|(scenario, engine, seed, replication)| {
            let engine = match engine.strip_suffix("+traces") {
                Some(engine) => forebay_engines::tracing_engine(engine),
                None => forebay_engines::engine(&engine),
            };
            let engine = engine.map_err(InputError::new_err)?;
            let scenario = scenario.get().0.clone();
            Ok(Job {
                scenario,
                engine,
                seed: Seed { seed, replication },
            })
        })
        .collect::<PyResult<_>>()?;
    let mut raised = None;
    let answer = py.detach(|| {
        forebay_engines::run_batch(jobs, threads, |finished| {
            match notify(observe.as_ref(), finished) {
                Ok(()) => Next::Continue,
                Err(error) => {
                    raised = Some(error);
                    Next::Stop
                }
            }
        })
    });
    if let Some(error) = raised {
        return Err(error);
    }
    let outcomes = answer.map_err(|error| batch_error(&error))?;
    outcomes.iter().map(|outcome| shown(py, outcome)).collect()
}

/// Lets Python handle signals and tells the observer.
fn notify(observe: Option<&Py<PyAny>>, finished: Option<(usize, &Outcome)>) -> PyResult<()> {
    Python::attach(|py| {
        py.check_signals()?;
        if let (Some(observe), Some((index, outcome))) = (observe, finished) {
            observe.call1(py, (index, shown(py, outcome)?))?;
        }
        Ok(())
    })
}

/// A report, or the exception that stands for a failure.
fn shown(py: Python<'_>, outcome: &Outcome) -> PyResult<Py<PyAny>> {
    Ok(match outcome {
        Ok(report) => Py::new(py, Report(Arc::new(report.clone())))?.into_any(),
        Err(error) => batch_error(error).into_value(py).into_any(),
    })
}

/// Combine the replications of one scenario into one report, in the order given.
#[pyfunction]
pub(crate) fn aggregate(replications: Vec<Py<Report>>) -> PyResult<Report> {
    let reports = replications
        .iter()
        .map(|report| (*report.get().0).clone())
        .collect();
    forebay_engines::aggregate(reports)
        .map(|report| Report(Arc::new(report)))
        .ok_or_else(|| InputError::new_err("replications: found none; allowed: 1 or more"))
}
