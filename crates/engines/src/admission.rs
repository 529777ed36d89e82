//! Admission of a batch's jobs: as many run side by side as fit into the allowed memory. A run that
//! shares the memory and reaches the limit is repeated alone. A job that reaches the limit alone
//! ends with an error of one line.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use forebay_scenario::{Cancel, DEFAULT_MEMORY, EngineError, MORE_MEMORY, rounded};

use crate::batch::Job;
use crate::live_memory::LiveMemory;

/// The waiting and the running jobs of a batch.
#[derive(Debug)]
pub(crate) struct Admission {
    queues: Mutex<Queues>,
    /// Signals that a job has ended or the batch was stopped.
    changed: Condvar,
}

#[derive(Debug)]
struct Queues {
    waiting: VecDeque<Waiting>,
    running: Vec<Arc<Running>>,
    stopped: bool,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// Number of the job.
    index: usize,
    /// Estimate of its memory, in bytes.
    estimate: f64,
    /// Memory that all running jobs together may take while it runs, in bytes.
    allowed: f64,
    /// Whether it must run alone.
    alone: bool,
}

/// A running job.
#[derive(Debug)]
pub(crate) struct Running {
    job: Waiting,
    pub(crate) memory: LiveMemory,
    pub(crate) cancel: Cancel,
    limit: Mutex<Option<Limit>>,
}

/// The reason why the batch ended a run.
#[derive(Clone, Copy, Debug)]
enum Limit {
    /// The run alone holds this many bytes.
    Reached(f64),
    /// The run and its neighbors together hold too much.
    Shared,
}

impl Running {
    /// Number of the job.
    pub(crate) fn index(&self) -> usize {
        self.job.index
    }
}

impl Admission {
    /// Creates the queue of the jobs in the order in which they begin.
    pub(crate) fn new(jobs: &[Job], order: Vec<usize>) -> Self {
        let mut waiting: VecDeque<Waiting> = VecDeque::with_capacity(order.len());
        for index in order {
            let job = &jobs[index];
            // Replications of one scenario have the same estimate.
            let same = waiting.back().filter(|before| {
                let before = &jobs[before.index];
                Arc::ptr_eq(&before.scenario, &job.scenario)
                    && before.options.traces == job.options.traces
                    && before.options.memory == job.options.memory
                    && before.engine.description().name == job.engine.description().name
            });
            let next = same.map_or_else(
                || Waiting::of(index, job),
                |same| Waiting { index, ..*same },
            );
            waiting.push_back(next);
        }
        Self {
            queues: Mutex::new(Queues {
                waiting,
                running: Vec::new(),
                stopped: false,
            }),
            changed: Condvar::new(),
        }
    }

    fn queues(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the next job until it fits beside the running jobs; `None` at the end of the
    /// batch.
    pub(crate) fn begin(&self) -> Option<Arc<Running>> {
        let mut queues = self.queues();
        loop {
            if queues.stopped || (queues.waiting.is_empty() && queues.running.is_empty()) {
                return None;
            }
            if let Some(running) = queues.admit() {
                return Some(running);
            }
            let waited = self.changed.wait(queues);
            queues = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Returns the outcome of a job that has ended; `None` if it is to run a second time, alone.
    pub(crate) fn end<T>(
        &self,
        running: &Arc<Running>,
        engine: &'static str,
        outcome: Result<T, EngineError>,
    ) -> Option<Result<T, EngineError>> {
        let mut queues = self.queues();
        queues.running.retain(|other| !Arc::ptr_eq(other, running));
        self.changed.notify_all();
        let limit = *running.limit.lock().unwrap_or_else(PoisonError::into_inner);
        match (outcome, limit) {
            (Err(EngineError::Interrupted), Some(Limit::Reached(bytes))) => {
                Some(Err(EngineError::TooLarge {
                    engine,
                    why: format!(
                        "it reached {} of memory; allowed: {} ({MORE_MEMORY}; a shorter run or fewer flows need less)",
                        rounded(bytes),
                        rounded(running.job.allowed)
                    ),
                }))
            }
            (Err(EngineError::Interrupted), Some(Limit::Shared)) if !queues.stopped => {
                let alone = true;
                queues.waiting.push_back(Waiting {
                    alone,
                    ..running.job
                });
                None
            }
            (outcome, _) => Some(outcome),
        }
    }

    /// Ends the run that began last if the running jobs hold more than is allowed.
    pub(crate) fn enforce(&self) {
        let queues = self.queues();
        let held: u64 = queues.running.iter().map(|each| each.memory.bytes()).sum();
        let allowed = queues.running.iter().map(|each| each.job.allowed);
        if held as f64 <= allowed.fold(f64::INFINITY, f64::min) {
            return;
        }
        // One run at a time is ended, because its memory is free soon.
        if queues.running.iter().any(|each| each.cancel.requested()) {
            return;
        }
        let Some(last) = queues.running.last() else {
            return;
        };
        let limit = match queues.running.len() {
            1 => Limit::Reached(held as f64),
            _ => Limit::Shared,
        };
        *last.limit.lock().unwrap_or_else(PoisonError::into_inner) = Some(limit);
        last.cancel.request();
    }

    /// Ends all runs. No other job begins.
    pub(crate) fn stop(&self) {
        let mut queues = self.queues();
        queues.stopped = true;
        for running in &queues.running {
            running.cancel.request();
        }
        self.changed.notify_all();
    }
}

impl Queues {
    /// Starts the first waiting job if it fits beside the running jobs.
    fn admit(&mut self) -> Option<Arc<Running>> {
        let first = self.waiting.front()?;
        if !self.running.is_empty() {
            let estimates: f64 = self.running.iter().map(|each| each.job.estimate).sum();
            let allowed = self.running.iter().map(|each| each.job.allowed);
            let allowed = allowed.fold(first.allowed, f64::min);
            let alone = first.alone || self.running.iter().any(|each| each.job.alone);
            if alone || estimates + first.estimate > allowed {
                return None;
            }
        }
        let running = Arc::new(Running {
            job: self.waiting.pop_front()?,
            memory: LiveMemory::new(),
            cancel: Cancel::default(),
            limit: Mutex::default(),
        });
        self.running.push(running.clone());
        Some(running)
    }
}

impl Waiting {
    fn of(index: usize, job: &Job) -> Self {
        let needs = job.engine.needs(&job.scenario, &job.options);
        let allowed = job.options.memory.unwrap_or(DEFAULT_MEMORY);
        Self {
            index,
            estimate: needs.iter().map(|need| need.bytes).sum(),
            allowed: allowed.get() as f64,
            alone: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use forebay_scenario::{Engine, EngineDescription, Need, Report, RunOptions, Scenario, Seed};
    use forebay_units::Bytes;

    use super::*;
    use crate::batch::{Next, Outcome, run_batch};
    use crate::testing::{described, scenario};

    const MB: usize = 1 << 20;

    /// An engine whose runs hold memory until another run exists or some time has passed.
    #[derive(Debug, Default)]
    struct Holding {
        estimate: f64,
        holds: usize,
        running: AtomicUsize,
        most: AtomicUsize,
    }

    impl Engine for Holding {
        fn description(&self) -> &'static EngineDescription {
            const { &described("holding") }
        }

        fn needs(&self, _: &Scenario, _: &RunOptions) -> Vec<Need> {
            vec![Need::new("run", 1.0, "run", self.estimate)]
        }

        fn run(&self, _: &Scenario, options: &RunOptions) -> Result<Report, EngineError> {
            let now = self.running.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(now, Ordering::SeqCst);
            let held = vec![1_u8; self.holds];
            let mut stopped = Ok(());
            for _ in 0..40 {
                std::thread::sleep(std::time::Duration::from_millis(5));
                stopped = options.cancel.check();
                if stopped.is_err() {
                    break;
                }
            }
            drop(held);
            self.running.fetch_sub(1, Ordering::SeqCst);
            stopped?;
            Err(EngineError::Unsupported {
                engine: "holding",
                feature: "an answer".to_owned(),
            })
        }
    }

    fn outcomes(engine: &'static Holding, count: u64, allowed: usize) -> Vec<String> {
        let job = |replication| Job {
            scenario: Arc::new(scenario()),
            engine,
            options: RunOptions {
                memory: Some(Bytes::new(allowed as u64)),
                ..Seed {
                    seed: 1,
                    replication,
                }
                .into()
            },
        };
        let jobs = (0..count).map(job).collect();
        let threads = NonZeroUsize::new(2).unwrap();
        let told = |outcome: Outcome| outcome.unwrap_err().to_string();
        let outcomes = run_batch(jobs, threads, |_| Next::Continue).unwrap();
        outcomes.into_iter().map(told).collect()
    }

    fn engine(estimate: usize, holds: usize) -> &'static Holding {
        Box::leak(Box::new(Holding {
            estimate: estimate as f64,
            holds,
            ..Holding::default()
        }))
    }

    #[test]
    fn as_many_jobs_run_side_by_side_as_fit() {
        for (estimate, most) in [(40 * MB, 2), (60 * MB, 1), (150 * MB, 1)] {
            let engine = engine(estimate, MB);
            let told = outcomes(engine, 4, 100 * MB);
            assert!(
                told.iter().all(|told| told.contains("an answer")),
                "{told:?}"
            );
            assert_eq!(engine.most.load(Ordering::SeqCst), most, "{estimate}");
        }
    }

    #[test]
    fn a_run_that_reaches_the_limit_alone_ends_with_a_line() {
        let told = outcomes(engine(MB, 120 * MB), 1, 100 * MB);
        assert!(
            told[0].contains("it reached 126 MB of memory; allowed: 105 MB"),
            "{told:?}"
        );
    }

    #[test]
    fn runs_that_reach_the_limit_together_run_one_after_the_other() {
        let told = outcomes(engine(MB, 70 * MB), 3, 100 * MB);
        assert_eq!(told.len(), 3);
        assert!(
            told.iter().all(|told| told.contains("an answer")),
            "{told:?}"
        );
    }
}
