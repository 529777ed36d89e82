//! Runs on the cores of one machine. Results come in job order, whatever the number of threads, so
//! all results computed from them are independent of the scheduling.

use std::borrow::Cow;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use forebay_scenario::{Engine, EngineError, Report, RunOptions, Scenario, Seed};
use forebay_units::custom::CodeError;

use crate::admission::Admission;
use crate::live_memory::LiveMemory;
use crate::meter::Meter;

/// One replication of one scenario on one engine.
#[derive(Clone)]
pub struct Job {
    /// The scenario. It is shared, because many jobs differ only in their seed.
    pub scenario: Arc<Scenario>,
    /// The engine that runs it.
    pub engine: &'static dyn Engine,
    /// Random streams, traces and model of the run; the batch cancels it.
    pub options: RunOptions,
}

impl Job {
    /// Whether other jobs at the same time would falsify it.
    fn in_real_time(&self) -> bool {
        self.engine.description().real_time
    }
}

/// A job without an answer, or a batch that was stopped.
#[derive(Debug, thiserror::Error)]
pub enum BatchError {
    /// An engine has no answer.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// An engine broke one of its own invariants: a defect of forebay, not of the scenario.
    #[error(
        "internal error in the {engine} engine at seed {}, replication {}: {what}",
        seed.seed,
        seed.replication
    )]
    Defect {
        /// Name of the engine.
        engine: &'static str,
        /// The seed that replays it.
        seed: Seed,
        /// The panic's message.
        what: String,
    },
    /// The system could not start a thread.
    #[error("no thread can be started: {0}")]
    Thread(std::io::Error),
    /// The observer stopped the batch.
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

/// Locked while a job in real time runs, in any batch.
static REAL_TIME: Mutex<()> = Mutex::new(());

/// Interval of calls to the observer while no job finishes.
const HEARTBEAT: Duration = Duration::from_millis(50);

/// Runs `job` in this thread and measures its cost.
///
/// # Errors
/// The engine's own. A panic of the engine becomes [`BatchError::Defect`].
fn run_one(job: &Job, memory: &LiveMemory) -> Outcome {
    let alone = job.in_real_time().then(|| REAL_TIME.lock());
    // The batch may have been stopped while the job waited for another.
    job.options.cancel.check()?;
    let meter = Meter::start();
    let engine = job.engine.description();
    let drawn = if engine.replicates {
        job.scenario.drawn(job.options.seed)
    } else {
        Cow::Borrowed(&*job.scenario)
    };
    let run = || memory.count(|| job.engine.run(&drawn, &job.options));
    let answer = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
    let mut report = match answer {
        Ok(answer) => answer?,
        Err(panic) => {
            if let Some(CodeError(why)) = panic.downcast_ref() {
                let why = why.clone();
                return Err(EngineError::Code { why }.into());
            }
            let what = panic.downcast_ref::<&str>().map(ToString::to_string);
            let what = what.or_else(|| panic.downcast_ref::<String>().cloned());
            return Err(BatchError::Defect {
                engine: engine.name,
                seed: job.options.seed,
                what: what.unwrap_or_default(),
            });
        }
    };
    report.asked_by(&job.scenario);
    meter.stop(&mut report.cost);
    drop(alone);
    Ok(report)
}

/// Runs a job in this thread. Nothing limits its memory but the estimate before it starts.
///
/// # Errors
/// Those of [`run_batch`].
pub fn run_here(job: &Job) -> Outcome {
    run_one(job, &LiveMemory::new())
}

/// The report of one job, or its error.
pub type Outcome = Result<Report, BatchError>;

/// Runs all jobs on `threads` threads. Jobs of engines in real time come after the others, one at a
/// time and with no others beside them.
///
/// The calling thread calls `observe` with each outcome, in the order of finishing. In between it
/// calls `observe` with `None` every 50 ms. A failed job does not stop the others unless the
/// observer stops the batch.
///
/// # Errors
/// [`BatchError::Interrupted`] when `observe` returns [`Next::Stop`]. Jobs in progress are then
/// canceled: each ends in the background when its engine next checks for it.
pub fn run_batch(
    jobs: Vec<Job>,
    threads: NonZeroUsize,
    mut observe: impl FnMut(Option<(usize, &Outcome)>) -> Next,
) -> Result<Vec<Outcome>, BatchError> {
    let count = jobs.len();
    let jobs = Arc::new(jobs);
    let real_time = |index: &usize| jobs[*index].in_real_time();
    let (alone, beside): (Vec<usize>, Vec<usize>) = (0..count).partition(real_time);
    let mut outcomes: Vec<Option<Outcome>> = (0..count).map(|_| None).collect();
    for (order, threads) in [(beside, threads.get()), (alone, 1)] {
        let threads = threads.min(order.len());
        let admission = Arc::new(Admission::new(&jobs, order));
        let results = start(&jobs, &admission, threads)?;
        loop {
            let verdict = match results.recv_timeout(HEARTBEAT) {
                Ok((index, outcome)) => {
                    let verdict = observe(Some((index, &outcome)));
                    outcomes[index] = Some(outcome);
                    verdict
                }
                Err(mpsc::RecvTimeoutError::Timeout) => observe(None),
                // Every thread has ended, so no job runs beside the next ones.
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            };
            if verdict == Next::Stop {
                admission.stop();
                return Err(BatchError::Interrupted);
            }
            admission.enforce();
        }
    }
    outcomes
        .into_iter()
        .collect::<Option<Vec<_>>>()
        .ok_or(BatchError::Interrupted)
}

/// Starts jobs on `threads` threads as they are admitted. Each sends its outcome when it ends.
fn start(
    jobs: &Arc<Vec<Job>>,
    admission: &Arc<Admission>,
    threads: usize,
) -> Result<mpsc::Receiver<(usize, Outcome)>, BatchError> {
    let (send, results) = mpsc::channel();
    for started in 0..threads {
        let (jobs, admission, send) = (jobs.clone(), admission.clone(), send.clone());
        let thread = thread::Builder::new().spawn(move || {
            while let Some(running) = admission.begin() {
                let index = running.index();
                let mut job = jobs[index].clone();
                job.options.cancel = running.cancel.clone();
                let engine = job.engine.description().name;
                let outcome = match run_one(&job, &running.memory) {
                    Err(BatchError::Engine(error)) => admission
                        .end(&running, engine, Err(error))
                        .map(|outcome| outcome.map_err(BatchError::Engine)),
                    outcome => {
                        let ended = admission.end(&running, engine, Ok(outcome));
                        ended.and_then(Result::ok)
                    }
                };
                // A batch that was stopped has no receiver.
                if outcome.is_some_and(|outcome| send.send((index, outcome)).is_err()) {
                    break;
                }
            }
        });
        match thread {
            Ok(_) => {}
            // Fewer threads take longer and give the same results.
            Err(_) if started > 0 => break,
            Err(error) => return Err(BatchError::Thread(error)),
        }
    }
    Ok(results)
}

/// Creates one job per replication number of one scenario.
pub fn replications(
    scenario: &Arc<Scenario>,
    engine: &'static dyn Engine,
    seed: u64,
    numbers: impl IntoIterator<Item = u64>,
) -> Vec<Job> {
    let job = |replication| Job {
        scenario: scenario.clone(),
        engine,
        options: Seed { seed, replication }.into(),
    };
    numbers.into_iter().map(job).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::testing::{
        Alone, BySeed, Counting, Endless, Failing, Neighbors, Panicking, scenario,
    };
    use forebay_scenario::{Format, Metric};

    fn threads(count: usize) -> NonZeroUsize {
        NonZeroUsize::new(count).unwrap()
    }

    fn jobs(engine: &'static dyn Engine, count: u64) -> Vec<Job> {
        replications(&Arc::new(scenario()), engine, 7, 0..count)
    }

    #[test]
    fn results_come_in_job_order_at_any_number_of_threads() {
        for count in [1, 2, 3, 8, 64] {
            let outcomes =
                run_batch(jobs(&BySeed, 40), threads(count), |_| Next::Continue).unwrap();
            let value = |outcome: &Outcome| outcome.as_ref().unwrap().value(Metric::Utilization);
            let values: Vec<f64> = outcomes.iter().map(|o| value(o).unwrap()).collect();
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
    fn a_failing_job_does_not_stop_the_others() {
        let mut mixed = jobs(&BySeed, 9);
        mixed.insert(4, jobs(&Failing, 1).remove(0));
        let outcomes = run_batch(mixed, threads(3), |_| Next::Continue).unwrap();
        let failed: Vec<bool> = outcomes.iter().map(Result::is_err).collect();
        let expected: Vec<bool> = (0..10).map(|index| index == 4).collect();
        assert_eq!(failed, expected);
        let error = outcomes[4].as_ref().unwrap_err().to_string();
        assert!(error.contains("does not support anything"), "{error}");
    }

    #[test]
    fn each_replication_draws_its_own_number_of_flows() {
        let text = "[link]\nrate = \"50Mbps\"\nbuffer = \"0.5BDP\"\n[[flows]]\nrtt = \"100ms\"\n\
                    count = { poisson = 40 }\n";
        let asked = Scenario::parse(text, Format::Toml, "test.toml", &[]).unwrap();
        let counts = |engine: &'static dyn Engine| -> Vec<f64> {
            let jobs = replications(&Arc::new(asked.clone()), engine, 7, 0..20);
            let outcomes = run_batch(jobs, threads(2), |_| Next::Continue).unwrap();
            let reports = outcomes.into_iter().map(Result::unwrap);
            let value = |report: Report| {
                assert_eq!(report.scenario_sha256, asked.sha256());
                assert_eq!(report.buffer, asked.buffer());
                report.value(Metric::Utilization).unwrap()
            };
            reports.map(value).collect()
        };
        let mut drawn = counts(&Counting { replicates: true });
        assert_eq!(drawn, counts(&Counting { replicates: true }));
        drawn.sort_by(f64::total_cmp);
        assert!(drawn[0] < 40.0 && drawn[19] > 40.0, "{drawn:?}");
        assert_eq!(counts(&Counting { replicates: false }), vec![40.0; 20]);
    }

    #[test]
    fn a_panic_becomes_an_error_with_what_replays_it() {
        let outcomes = run_batch(jobs(&Panicking, 1), threads(1), |_| Next::Continue).unwrap();
        let text = outcomes[0].as_ref().unwrap_err().to_string();
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
    fn a_stopped_batch_leaves_nothing_running() {
        let endless: &'static Endless = Box::leak(Box::default());
        let running = || endless.running.load(Ordering::SeqCst);
        let stopped = run_batch(jobs(endless, 8), threads(2), |_| {
            if running() == 2 {
                Next::Stop
            } else {
                Next::Continue
            }
        });
        assert!(matches!(stopped, Err(BatchError::Interrupted)));
        while running() > 0 {
            thread::yield_now();
        }
    }

    fn neighbors() -> &'static Neighbors {
        Box::leak(Box::default())
    }

    /// Nine jobs; every third runs in real time.
    fn mixed(neighbors: &'static Neighbors) -> Vec<Job> {
        let engine = |real_time| -> &'static Alone {
            Box::leak(Box::new(Alone {
                real_time,
                neighbors,
            }))
        };
        let engines = [false, true, false].map(engine);
        let of = |(at, mut job): (usize, Job)| {
            job.engine = engines[at % 3];
            job
        };
        jobs(&BySeed, 9).into_iter().enumerate().map(of).collect()
    }

    #[test]
    fn what_runs_in_real_time_runs_alone_and_the_rest_side_by_side() {
        let (neighbors, mut seen) = (neighbors(), Vec::new());
        let outcomes = run_batch(mixed(neighbors), threads(4), |result| {
            seen.extend(result.map(|(index, _)| index));
            Next::Continue
        })
        .unwrap();
        for (replication, outcome) in outcomes.iter().enumerate() {
            let report = outcome.as_ref().expect("nothing beside it");
            assert_eq!(report.value(Metric::Utilization), Some(replication as f64));
        }
        assert!(neighbors.most() > 1, "the test would see neighbors");
        let last: Vec<usize> = seen.split_off(6);
        assert_eq!(last, [1, 4, 7], "in their order, after all others");
    }

    #[test]
    fn two_batches_take_turns_with_real_time() {
        let neighbors = neighbors();
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let real_time = mixed(neighbors).into_iter().skip(1).step_by(3).collect();
                    let outcomes = run_batch(real_time, threads(3), |_| Next::Continue).unwrap();
                    for outcome in outcomes {
                        outcome.expect("nothing beside it");
                    }
                });
            }
        });
        assert_eq!(neighbors.most(), 1);
    }

    #[test]
    fn a_batch_that_is_stopped_while_it_waits_for_its_turn_runs_no_job() {
        let neighbors = neighbors();
        let turn = REAL_TIME.lock();
        let real_time = mixed(neighbors).into_iter().skip(1).step_by(3).collect();
        let stopped = run_batch(real_time, threads(1), |result| {
            assert!(result.is_none(), "it is not its turn");
            Next::Stop
        });
        assert!(matches!(stopped, Err(BatchError::Interrupted)));
        drop(turn);
        thread::sleep(Duration::from_millis(50));
        assert_eq!(neighbors.begun(), 0);
    }

    #[test]
    fn cost_is_measured() {
        let outcomes = run_batch(jobs(&BySeed, 1), threads(1), |_| Next::Continue).unwrap();
        let cost = outcomes[0].as_ref().unwrap().cost;
        assert!(cost.wall_s > 0.0);
        assert!(cost.peak_rss_bytes > 1 << 20);
    }
}
