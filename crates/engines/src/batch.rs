//! Many runs over the cores of one machine. Results come in job order, whatever the number of
//! threads, so everything computed from them is independent of scheduling.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use forebay_scenario::{Engine, EngineError, Report, Scenario, Seed};

use crate::meter::Meter;

/// One replication of one scenario on one engine.
#[derive(Clone)]
pub struct Job {
    /// What is run; shared, since many jobs differ in their seed only.
    pub scenario: Arc<Scenario>,
    /// On what.
    pub engine: &'static dyn Engine,
    /// With which random streams.
    pub seed: Seed,
}

/// A job that cannot be answered, or a batch that was stopped.
#[derive(Debug, thiserror::Error)]
pub enum BatchError {
    /// An engine has no answer.
    #[error("{source}")]
    Engine {
        /// Index of the job.
        job: usize,
        /// Why.
        source: EngineError,
    },
    /// An engine broke one of its own invariants: a defect of forebay, not of the scenario.
    #[error(
        "internal error in the {engine} engine at seed {}, replication {}: {what}",
        seed.seed,
        seed.replication
    )]
    Defect {
        /// Name of the engine.
        engine: &'static str,
        /// What replays it.
        seed: Seed,
        /// The panic's message.
        what: String,
    },
    /// The observer asked to stop.
    #[error("interrupted")]
    Interrupted,
}

/// Whether a batch goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Go on.
    Continue,
    /// Stop now, without waiting for the jobs in progress.
    Stop,
}

/// How often the observer is called while no job finishes.
const HEARTBEAT: Duration = Duration::from_millis(50);

/// Runs `job` here and now and measures its cost.
///
/// # Errors
/// The engine's own; a panic of the engine becomes [`BatchError::Defect`].
fn run_one(index: usize, job: &Job) -> Result<Report, BatchError> {
    let meter = Meter::start();
    let run = || job.engine.run(&job.scenario, job.seed);
    let answer = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
    let mut report = match answer {
        Ok(answer) => answer.map_err(|source| BatchError::Engine { job: index, source })?,
        Err(panic) => {
            let what = panic.downcast_ref::<&str>().map(ToString::to_string);
            let what = what.or_else(|| panic.downcast_ref::<String>().cloned());
            return Err(BatchError::Defect {
                engine: job.engine.name(),
                seed: job.seed,
                what: what.unwrap_or_default(),
            });
        }
    };
    meter.stop(&mut report.cost);
    Ok(report)
}

/// Runs all jobs on `threads` threads. `observe` is called in the calling thread with each
/// result as it finishes, in the order of finishing, and every 50 ms in between with `None`.
///
/// # Errors
/// That of the first failing job in job order among those that ran; [`BatchError::Interrupted`]
/// as soon as `observe` says so. Jobs in progress are then left to run out in the background.
pub fn run_batch(
    jobs: Vec<Job>,
    threads: NonZeroUsize,
    mut observe: impl FnMut(Option<(usize, &Report)>) -> Next,
) -> Result<Vec<Report>, BatchError> {
    let count = jobs.len();
    let jobs = Arc::new(jobs);
    let next = Arc::new(AtomicUsize::new(0));
    let stop = Arc::new(AtomicBool::new(false));
    let (send, results) = mpsc::channel();
    for _ in 0..threads.get().min(count) {
        let (jobs, next, stop, send) = (jobs.clone(), next.clone(), stop.clone(), send.clone());
        thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(job) = jobs.get(index) else { break };
                if send.send((index, run_one(index, job))).is_err() {
                    break;
                }
            }
        });
    }
    drop(send);
    let mut reports: Vec<Option<Report>> = (0..count).map(|_| None).collect();
    let mut failure: Option<(usize, BatchError)> = None;
    loop {
        let verdict = match results.recv_timeout(HEARTBEAT) {
            Ok((index, Ok(report))) => {
                let verdict = observe(Some((index, &report)));
                reports[index] = Some(report);
                verdict
            }
            Ok((index, Err(error))) => {
                // Jobs already begun may fail too: the first in job order is reported.
                stop.store(true, Ordering::Relaxed);
                if failure.as_ref().is_none_or(|(at, _)| index < *at) {
                    failure = Some((index, error));
                }
                Next::Continue
            }
            Err(mpsc::RecvTimeoutError::Timeout) => observe(None),
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
        };
        if verdict == Next::Stop {
            stop.store(true, Ordering::Relaxed);
            return Err(BatchError::Interrupted);
        }
    }
    match failure {
        Some((_, error)) => Err(error),
        None => reports
            .into_iter()
            .collect::<Option<Vec<_>>>()
            .ok_or(BatchError::Interrupted),
    }
}

/// Runs `replications` replications from `first` on of one scenario, and keeps them apart.
pub fn replications(
    scenario: &Arc<Scenario>,
    engine: &'static dyn Engine,
    seed: u64,
    numbers: impl IntoIterator<Item = u64>,
) -> Vec<Job> {
    let job = |replication| Job {
        scenario: scenario.clone(),
        engine,
        seed: Seed { seed, replication },
    };
    numbers.into_iter().map(job).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{BySeed, Failing, Panicking, scenario};
    use forebay_scenario::Metric;

    fn threads(count: usize) -> NonZeroUsize {
        NonZeroUsize::new(count).unwrap()
    }

    fn jobs(engine: &'static dyn Engine, count: u64) -> Vec<Job> {
        replications(&Arc::new(scenario()), engine, 7, 0..count)
    }

    #[test]
    fn results_come_in_job_order_at_any_number_of_threads() {
        for count in [1, 2, 3, 8, 64] {
            let reports = run_batch(jobs(&BySeed, 40), threads(count), |_| Next::Continue).unwrap();
            let values: Vec<f64> = reports
                .iter()
                .map(|report| report.value(Metric::Utilization).unwrap())
                .collect();
            let expected: Vec<f64> = (0..40).map(f64::from).collect();
            assert_eq!(values, expected);
        }
    }

    #[test]
    fn an_empty_batch_is_done() {
        assert!(
            run_batch(Vec::new(), threads(4), |_| Next::Continue)
                .unwrap()
                .is_empty()
        );
    }

    #[test]
    fn each_result_is_observed_once() {
        let mut seen = Vec::new();
        run_batch(jobs(&BySeed, 20), threads(4), |result| {
            seen.extend(result.map(|(index, _)| index));
            Next::Continue
        })
        .unwrap();
        seen.sort_unstable();
        assert_eq!(seen, (0..20).collect::<Vec<_>>());
    }

    #[test]
    fn the_first_failure_in_job_order_is_reported() {
        let error = run_batch(jobs(&Failing, 20), threads(8), |_| Next::Continue).unwrap_err();
        assert!(error.to_string().contains("does not support"), "{error}");
    }

    #[test]
    fn a_panic_becomes_an_error_with_what_replays_it() {
        let error = run_batch(jobs(&Panicking, 1), threads(1), |_| Next::Continue).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("seed 7, replication 0: broken invariant"),
            "{text}"
        );
    }

    #[test]
    fn the_observer_can_stop_a_batch() {
        let error = run_batch(jobs(&BySeed, 1000), threads(2), |_| Next::Stop).unwrap_err();
        assert!(matches!(error, BatchError::Interrupted));
    }

    #[test]
    fn cost_is_measured() {
        let reports = run_batch(jobs(&BySeed, 1), threads(1), |_| Next::Continue).unwrap();
        assert!(reports[0].cost.wall_s > 0.0);
        assert!(reports[0].cost.peak_rss_bytes > 1 << 20);
    }
}
