//! Batches of runs for Python, without the GIL and with reaction to Ctrl-C.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use forebay_engines::{Next, Outcome};
use forebay_scenario::{RunOptions, Seed};
use forebay_units::Bytes;
use pyo3::exceptions::PyTimeoutError;
use pyo3::prelude::*;

use crate::errors::{InputError, batch_error, engine_error};
use crate::listening::listen;
use crate::report::Report;
use crate::scenario::Scenario;

/// An engine and the facts that a user may request about it.
#[pyclass(module = "forebay._core", frozen, get_all)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, each asked for by its name"
)]
pub(crate) struct Engine {
    name: &'static str,
    title: &'static str,
    source: &'static str,
    cheap: bool,
    replicates: bool,
    traces: bool,
    real_time: bool,
    simulates_hosts: bool,
    assumes_losses: bool,
    models: Vec<&'static str>,
}

/// Return the engines, the default first.
#[pyfunction]
pub(crate) fn engines() -> Vec<Engine> {
    let described = forebay_engines::engines().iter().map(|engine| {
        let description = engine.description();
        Engine {
            name: description.name,
            title: description.title,
            source: description.source,
            cheap: description.cheap,
            replicates: description.replicates,
            traces: description.traces,
            real_time: description.real_time,
            simulates_hosts: description.simulates_hosts,
            assumes_losses: description.assumes_losses,
            models: (description.models)(),
        }
    });
    described.collect()
}

/// Bytes that a run of this process may need if its job gives no limit; 0 for the default.
static MEMORY: AtomicU64 = AtomicU64::new(0);

/// Allow the runs of a batch `size` bytes together.
#[pyfunction]
pub(crate) fn allow_memory(size: u64) {
    MEMORY.store(size, Ordering::Relaxed);
}

/// Run a fixed amount of work of `events` events and return its checksum.
#[pyfunction]
pub(crate) fn yardstick(events: u64) -> u64 {
    forebay_engines::yardstick(events)
}

/// Return the bytes that the runs of a batch may take together.
#[pyfunction]
pub(crate) fn allowed_memory() -> u64 {
    allowed().unwrap_or(forebay_scenario::DEFAULT_MEMORY.get())
}

fn allowed() -> Option<u64> {
    Some(MEMORY.load(Ordering::Relaxed)).filter(|size| *size > 0)
}

/// One replication of one scenario on one engine.
#[pyclass(module = "forebay._core", frozen)]
pub(crate) struct Job(forebay_engines::Job);

#[pymethods]
impl Job {
    #[new]
    #[pyo3(signature = (scenario, engine, seed, replication, *, traces=false, model=None, memory=None))]
    fn new(
        scenario: &Scenario,
        engine: &str,
        seed: u64,
        replication: u64,
        traces: bool,
        model: Option<String>,
        memory: Option<u64>,
    ) -> PyResult<Self> {
        let engine = forebay_engines::engine(engine)
            .map_err(|unknown| InputError::new_err((unknown.to_string(), "engine")))?;
        let options = RunOptions {
            traces,
            model,
            memory: memory.or_else(allowed).map(Bytes::new),
            ..Seed { seed, replication }.into()
        };
        let checked = options.check(engine.description());
        checked.map_err(|error| engine_error(&error))?;
        Ok(Self(forebay_engines::Job {
            scenario: scenario.inner.clone(),
            engine,
            options,
        }))
    }

    /// Return the job for another process: scenario as JSON, engine, seed, replication, whether it
    /// records traces, model, and memory in bytes.
    fn described(
        &self,
    ) -> (
        String,
        &'static str,
        u64,
        u64,
        bool,
        Option<String>,
        Option<u64>,
    ) {
        let options = &self.0.options;
        (
            self.0.scenario.canonical_json(),
            self.0.engine.description().name,
            options.seed.seed,
            options.seed.replication,
            options.traces,
            options.model.clone(),
            options.memory.map(Bytes::get),
        )
    }

    /// Return the code of users that the job runs: (file and class, text, "controller" or
    /// "discipline") of each.
    fn code(&self) -> Vec<(String, String, &'static str)> {
        if self.0.engine.description().name != "packet" {
            return Vec::new();
        }
        let found = self.0.scenario.code();
        let found = found.into_iter();
        found
            .map(|(code, controls)| {
                let role = if controls { "controller" } else { "discipline" };
                (code.place.clone(), code.source.clone(), role)
            })
            .collect()
    }

    /// Estimate of the memory that the job needs, in bytes.
    #[getter]
    fn memory_estimate(&self) -> f64 {
        let needs = self.0.engine.needs(&self.0.scenario, &self.0.options);
        needs.iter().map(|need| need.bytes).sum()
    }
}

/// Run jobs on `threads` threads.
///
/// `observe` is called with the index of each finished job and its report or exception, in the
/// order of finishing. An exception from `observe` ends the batch and cancels the running jobs.
/// After `within` seconds a `TimeoutError` does the same. Return reports and exceptions in job
/// order.
#[pyfunction]
#[pyo3(signature = (jobs, threads, observe=None, within=None))]
pub(crate) fn run_batch(
    py: Python<'_>,
    jobs: Vec<Py<Job>>,
    threads: usize,
    observe: Option<Py<PyAny>>,
    within: Option<f64>,
) -> PyResult<Vec<Py<PyAny>>> {
    let threads = NonZeroUsize::new(threads)
        .ok_or_else(|| InputError::new_err(("found 0; allowed: 1 or more", "jobs")))?;
    let jobs = jobs.iter().map(|job| job.get().0.clone()).collect();
    let mut raised = None;
    let started = Instant::now();
    let over = || within.is_some_and(|seconds| started.elapsed().as_secs_f64() >= seconds);
    let answer = py.detach(|| {
        forebay_engines::run_batch(jobs, threads, |finished| {
            match notify(observe.as_ref(), finished) {
                Ok(()) if over() => {
                    raised = Some(PyTimeoutError::new_err("the time is over"));
                    Next::Stop
                }
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

/// Run a job in this thread, without the GIL but where code of a user needs it. Nothing reacts to
/// Ctrl-C.
#[pyfunction]
pub(crate) fn run_here(py: Python<'_>, job: &Job) -> PyResult<Report> {
    let outcome = py.detach(|| forebay_engines::run_here(&job.0));
    outcome
        .map(Report::new)
        .map_err(|error| batch_error(&error))
}

/// Lets Python handle signals and calls the observer.
fn notify(observe: Option<&Py<PyAny>>, finished: Option<(usize, &Outcome)>) -> PyResult<()> {
    Python::attach(|py| {
        listen(py)?;
        if let (Some(observe), Some((index, outcome))) = (observe, finished) {
            observe.call1(py, (index, shown(py, outcome)?))?;
        }
        Ok(())
    })
}

/// A report, or the exception of a failure.
fn shown(py: Python<'_>, outcome: &Outcome) -> PyResult<Py<PyAny>> {
    Ok(match outcome {
        Ok(report) => Py::new(py, Report::new(report.clone()))?.into_any(),
        Err(error) => batch_error(error).into_value(py).into_any(),
    })
}

/// Combine the replications of one scenario into one report, in the order given.
#[pyfunction]
pub(crate) fn aggregate(py: Python<'_>, replications: Vec<Py<Report>>) -> PyResult<Report> {
    let traces = replications
        .iter()
        .find_map(|it| it.get().traces_elsewhere(py));
    let together = forebay_engines::aggregate(owned(&replications))
        .map(Report::new)
        .ok_or_else(|| InputError::new_err(("found none; allowed: 1 or more", "replications")))?;
    Ok(match traces {
        Some(traces) => together.with_traces(traces),
        None => together,
    })
}

/// Combine one replication of each stratum into one observation. Means are weighted by the strata's
/// probabilities.
#[pyfunction]
pub(crate) fn weighted(replications: Vec<Py<Report>>, weights: Vec<f64>) -> PyResult<Report> {
    forebay_engines::weighted(owned(&replications), &weights)
        .map(Report::new)
        .ok_or_else(|| {
            InputError::new_err((
                "found others; allowed: above 0, one for each replication",
                "weights",
            ))
        })
}

fn owned(replications: &[Py<Report>]) -> Vec<forebay_scenario::Report> {
    replications
        .iter()
        .map(|report| (*report.get().0).clone())
        .collect()
}
