//! Runs: many at once, without the GIL, answering Ctrl-C.

use std::num::NonZeroUsize;
use std::sync::Arc;

use forebay_engines::{Job, Next};
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

/// Run jobs (scenario, engine, seed, replication) on `threads` threads; reports in job order.
/// `observe` is called with the index of each finished job; an exception it raises ends the batch.
#[pyfunction]
#[pyo3(signature = (jobs, threads, observe=None))]
pub(crate) fn run_batch(
    py: Python<'_>,
    jobs: Vec<(Py<Scenario>, String, u64, u64)>,
    threads: usize,
    observe: Option<Py<PyAny>>,
) -> PyResult<Vec<Report>> {
    let threads = NonZeroUsize::new(threads)
        .ok_or_else(|| InputError::new_err("jobs: found 0; allowed: 1 or more"))?;
    let jobs: Vec<Job> = jobs
        .into_iter()
        .map(|(scenario, engine, seed, replication)| {
            let engine = forebay_engines::engine(&engine).map_err(InputError::new_err)?;
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
            let index = finished.map(|(index, _)| index);
            match notify(observe.as_ref(), index) {
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
    let reports = answer.map_err(|error| batch_error(&error))?;
    Ok(reports
        .into_iter()
        .map(|report| Report(Arc::new(report)))
        .collect())
}

/// Lets Python handle signals and tells the observer.
fn notify(observe: Option<&Py<PyAny>>, finished: Option<usize>) -> PyResult<()> {
    Python::attach(|py| {
        py.check_signals()?;
        if let (Some(observe), Some(index)) = (observe, finished) {
            observe.call1(py, (index,))?;
        }
        Ok(())
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
