//! Runs scenarios with every engine and compares them with every formula.

use std::sync::mpsc;
use std::time::Duration;

use forebay_scenario::{
    ClosedForm, Engine, EngineError, FlowGroup, Format, Report, RunOptions, Scenario, Seed,
    Workload,
};

use crate::allocations::{BESIDE, peak_of};
use crate::{answers, check_scenario, check_sentence, random_scenario};

/// The engines and formulas to run. The crate of the engines depends on this one, so the caller
/// passes them in.
#[derive(Clone, Copy)]
pub struct Runner {
    /// The engines. Engines that run in real time are left out, because they are slow and do not
    /// repeat their results.
    pub engines: &'static [&'static dyn Engine],
    /// The formulas.
    pub rules: &'static [&'static dyn ClosedForm],
    /// Combines the reports of several replications into one.
    pub aggregate: fn(Vec<Report>) -> Option<Report>,
    /// The largest number of events of a run, as the scenario estimates it.
    pub most_events: f64,
    /// The longest time that a run may take.
    pub patience: Duration,
}

impl Runner {
    /// Runs the scenario that the bytes define; two bytes are a word of the tape.
    ///
    /// # Panics
    /// If an invariant is broken.
    pub fn feed(&self, bytes: &[u8]) {
        let words: Vec<u16> = bytes
            .chunks(2)
            .map(|pair| {
                pair.iter()
                    .fold(0, |word, byte| word << 8 | u16::from(*byte))
            })
            .take(400)
            .collect();
        self.check(&random_scenario(&words));
    }

    /// Runs a scenario that may be refused. Returns the number of engines that answered.
    ///
    /// # Panics
    /// If an invariant is broken.
    pub fn check(&self, text: &str) -> usize {
        let scenario = match Scenario::parse(text, Format::Toml, "random", &[]) {
            Ok(scenario) => scenario,
            Err(error) => {
                check_sentence(&error.to_string());
                return 0;
            }
        };
        check_scenario(&scenario);
        self.check_rules(&scenario);
        if scenario.most_events() > self.most_events {
            return 0;
        }
        let answers = self
            .engines
            .iter()
            .filter(|engine| !engine.description().real_time)
            .filter(|engine| self.check_engine(**engine, &scenario));
        answers.count()
    }

    /// Whether the engine answers. Its report satisfies the invariants, a second run gives the
    /// same, and its means over replications are means.
    fn check_engine(&self, engine: &'static dyn Engine, scenario: &Scenario) -> bool {
        let seed = |replication| Seed {
            seed: scenario.run().seed,
            replication,
        };
        let first = match self.run(engine, scenario, seed(0)) {
            Ok(report) => report,
            Err(error) => {
                answers::check_refusal(&error);
                assert_eq!(
                    self.run(engine, scenario, seed(0)),
                    Err(error),
                    "the same again"
                );
                return false;
            }
        };
        answers::check(scenario, &first);
        let again = self.run(engine, scenario, seed(0));
        let again = again.unwrap_or_else(|error| panic!("once only: {error}"));
        assert_eq!(bytes(&again), bytes(&first), "the same bytes again");
        let Ok(second) = self.run(engine, scenario, seed(1)) else {
            return true; // another draw may be too large
        };
        let both = [first, second];
        let together = (self.aggregate)(both.to_vec()).expect("two reports are some");
        answers::check(scenario, &together);
        answers::check_means(&both, &together);
        true
    }

    /// Runs one replication and cancels it after `patience`.
    fn run(
        &self,
        engine: &'static dyn Engine,
        scenario: &Scenario,
        seed: Seed,
    ) -> Result<Report, EngineError> {
        let options = RunOptions::from(seed);
        let cancel = options.cancel.clone();
        let (done, finished) = mpsc::channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                if finished.recv_timeout(self.patience) == Err(mpsc::RecvTimeoutError::Timeout) {
                    cancel.request();
                }
            });
            let (answer, taken) = peak_of(|| engine.run(scenario, &options));
            drop(done);
            let needs = engine.needs(scenario, &options);
            let told: f64 = needs.iter().map(|need| need.bytes).sum();
            // The number of open-loop transfers at one time is known only during the run. The
            // memory limit ends such a run.
            let open = |group: &FlowGroup| matches!(group.workload, Workload::OpenLoop { .. });
            let known = !scenario.flows().iter().any(open);
            // The estimate is that of the mean of random counts, and right within a factor of two.
            let most = 2.0 * told + BESIDE;
            let dear = known && engine.description().replicates && taken as f64 > most;
            assert!(!dear, "{taken} bytes taken of {told} told: {needs:?}");
            answer
        })
    }

    /// Checks that every formula predicts finite figures and a finite buffer, or gives a reason.
    fn check_rules(&self, scenario: &Scenario) {
        for rule in self.rules {
            let name = rule.name();
            for check in rule.assumptions(scenario) {
                check_sentence(&check.why);
                let share = check.share.is_none_or(|share| (0.0..=1.0).contains(&share));
                assert!(share, "{name}: {check:?}");
            }
            match rule.predict(scenario) {
                Ok(prediction) => {
                    for (metric, value) in prediction.metrics {
                        assert!(value.is_finite(), "{name}: {} is {value}", metric.name());
                    }
                    prediction
                        .notes
                        .iter()
                        .for_each(|note| check_sentence(note));
                }
                Err(error) => check_sentence(&error.to_string()),
            }
            match rule.size(scenario, scenario.goals()) {
                Ok(Some(size)) => {
                    // The result is a buffer, or larger than any buffer.
                    if let Ok(changed) = scenario.with_buffer(size) {
                        assert!(changed.buffer().bytes.is_finite(), "{name}: {size}");
                    }
                }
                Ok(None) => {}
                Err(error) => check_sentence(&error.to_string()),
            }
        }
    }
}

/// A report as the bytes that users see.
fn bytes(report: &Report) -> String {
    report.to_cached().expect("a report is JSON")
}
