//! Engines with known answers, for the tests of this crate.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use forebay_scenario::{
    Engine, EngineDescription, EngineError, Format, Metric, Report, RunOptions, Scenario,
};

/// A small valid scenario.
pub(crate) fn scenario() -> Scenario {
    let text = "[link]\nrate = \"50Mbps\"\nbuffer = \"100p\"\n[[flows]]\nrtt = \"100ms\"\n";
    Scenario::parse(text, Format::Toml, "test.toml", &[]).unwrap()
}

/// The description of an engine that replicates.
pub(crate) const fn described(name: &'static str) -> EngineDescription {
    EngineDescription {
        name,
        title: "an engine of the tests",
        source: "none",
        cheap: true,
        replicates: true,
        traces: false,
        real_time: false,
        simulates_hosts: false,
        assumes_losses: false,
        models: Vec::new,
    }
}

/// An engine that always reports the same utilization.
pub(crate) struct Constant(pub(crate) f64);

impl Engine for Constant {
    fn description(&self) -> &'static EngineDescription {
        const { &described("constant") }
    }

    fn run(&self, scenario: &Scenario, options: &RunOptions) -> Result<Report, EngineError> {
        let mut report = Report::new(self.description().name, scenario, options.seed.seed);
        report.metrics = BTreeMap::from([(Metric::Utilization, self.0.into())]);
        report.cost.data_packets = 10;
        Ok(report)
    }
}

/// An engine that reports the replication's number. Later replications finish sooner.
pub(crate) struct BySeed;

impl Engine for BySeed {
    fn description(&self) -> &'static EngineDescription {
        const { &described("by-seed") }
    }

    fn run(&self, scenario: &Scenario, options: &RunOptions) -> Result<Report, EngineError> {
        let pause = std::time::Duration::from_micros(
            1 + 50 * (40_u64.saturating_sub(options.seed.replication)),
        );
        std::thread::sleep(pause);
        Constant(options.seed.replication as f64).run(scenario, options)
    }
}

/// An engine that refuses every scenario.
pub(crate) struct Failing;

impl Engine for Failing {
    fn description(&self) -> &'static EngineDescription {
        const { &described("failing") }
    }

    fn run(&self, _: &Scenario, _: &RunOptions) -> Result<Report, EngineError> {
        Err(EngineError::Unsupported {
            engine: self.description().name,
            feature: "anything".into(),
        })
    }
}

/// An engine that panics in every run.
pub(crate) struct Panicking;

impl Engine for Panicking {
    fn description(&self) -> &'static EngineDescription {
        const { &described("panicking") }
    }

    fn run(&self, _: &Scenario, _: &RunOptions) -> Result<Report, EngineError> {
        panic!("broken invariant")
    }
}

/// An engine that reports the number of flows that it was given.
pub(crate) struct Counting {
    /// Whether it receives drawn scenarios.
    pub(crate) replicates: bool,
}

impl Engine for Counting {
    fn description(&self) -> &'static EngineDescription {
        if self.replicates {
            const { &described("counting") }
        } else {
            const {
                &EngineDescription {
                    replicates: false,
                    ..described("counting")
                }
            }
        }
    }

    fn run(&self, scenario: &Scenario, options: &RunOptions) -> Result<Report, EngineError> {
        Constant(scenario.flows()[0].count as f64).run(scenario, options)
    }
}

/// An engine that runs until it is canceled and counts the runs in progress.
#[derive(Debug, Default)]
pub(crate) struct Endless {
    /// Runs in progress.
    pub(crate) running: AtomicUsize,
}

impl Engine for Endless {
    fn description(&self) -> &'static EngineDescription {
        const { &described("endless") }
    }

    fn run(&self, _: &Scenario, options: &RunOptions) -> Result<Report, EngineError> {
        self.running.fetch_add(1, Ordering::SeqCst);
        let stopped = loop {
            if let Err(stopped) = options.cancel.check() {
                break stopped;
            }
            std::thread::yield_now();
        };
        self.running.fetch_sub(1, Ordering::SeqCst);
        Err(stopped)
    }
}

/// Counts of the jobs that run at one time.
#[derive(Debug, Default)]
pub(crate) struct Neighbors {
    now: AtomicUsize,
    most: AtomicUsize,
    begun: AtomicUsize,
    real_time: AtomicUsize,
}

impl Neighbors {
    /// The largest number of jobs that ran at one time.
    pub(crate) fn most(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }

    /// The number of jobs that began.
    pub(crate) fn begun(&self) -> usize {
        self.begun.load(Ordering::SeqCst)
    }
}

/// An engine that reports the replication's number. It refuses a run if a job in real time ran
/// beside another.
#[derive(Debug)]
pub(crate) struct Alone {
    /// Whether its jobs must run alone.
    pub(crate) real_time: bool,
    /// Counts of the other jobs.
    pub(crate) neighbors: &'static Neighbors,
}

impl Engine for Alone {
    fn description(&self) -> &'static EngineDescription {
        if self.real_time {
            const {
                &EngineDescription {
                    real_time: true,
                    ..described("alone")
                }
            }
        } else {
            const { &described("beside") }
        }
    }

    fn run(&self, scenario: &Scenario, options: &RunOptions) -> Result<Report, EngineError> {
        let it = self.neighbors;
        it.begun.fetch_add(1, Ordering::SeqCst);
        let now = 1 + it.now.fetch_add(1, Ordering::SeqCst);
        it.most.fetch_max(now, Ordering::SeqCst);
        let own = usize::from(self.real_time);
        let real_time = own + it.real_time.fetch_add(own, Ordering::SeqCst);
        std::thread::sleep(std::time::Duration::from_millis(5));
        it.real_time.fetch_sub(own, Ordering::SeqCst);
        it.now.fetch_sub(1, Ordering::SeqCst);
        if real_time > 0 && now > 1 {
            return Err(EngineError::Untrusted {
                engine: self.description().name,
                why: format!("{now} jobs ran at once"),
            });
        }
        Constant(options.seed.replication as f64).run(scenario, options)
    }
}
