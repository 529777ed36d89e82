//! Engines whose answers are known, for the tests of this crate.

use std::collections::BTreeMap;

use forebay_scenario::{Engine, EngineError, Format, Metric, Report, Scenario, Seed};

/// A small valid scenario.
pub(crate) fn scenario() -> Scenario {
    let text = "[link]\nrate = \"50Mbps\"\nbuffer = \"100p\"\n[[flows]]\nrtt = \"100ms\"\n";
    Scenario::parse(text, Format::Toml, "test.toml", &[]).unwrap()
}

/// Always the same utilisation.
pub(crate) struct Constant(pub(crate) f64);

impl Engine for Constant {
    fn name(&self) -> &'static str {
        "constant"
    }

    fn run(&self, scenario: &Scenario, seed: Seed) -> Result<Report, EngineError> {
        let mut report = Report::new(self.name(), scenario, seed.seed);
        report.metrics = BTreeMap::from([(Metric::Utilization, self.0.into())]);
        report.cost.data_packets = 10;
        Ok(report)
    }
}

/// The replication's number, later replications finishing sooner.
pub(crate) struct BySeed;

impl Engine for BySeed {
    fn name(&self) -> &'static str {
        "by-seed"
    }

    fn run(&self, scenario: &Scenario, seed: Seed) -> Result<Report, EngineError> {
        let pause =
            std::time::Duration::from_micros(1 + 50 * (40_u64.saturating_sub(seed.replication)));
        std::thread::sleep(pause);
        Constant(seed.replication as f64).run(scenario, seed)
    }
}

/// Never an answer.
pub(crate) struct Failing;

impl Engine for Failing {
    fn name(&self) -> &'static str {
        "failing"
    }

    fn run(&self, _: &Scenario, _: Seed) -> Result<Report, EngineError> {
        Err(EngineError::Unsupported {
            engine: self.name(),
            feature: "anything".into(),
        })
    }
}

/// A defect.
pub(crate) struct Panicking;

impl Engine for Panicking {
    fn name(&self) -> &'static str {
        "panicking"
    }

    fn run(&self, _: &Scenario, _: Seed) -> Result<Report, EngineError> {
        panic!("broken invariant")
    }
}

/// The number of flows that the engine was given.
pub(crate) struct Counting {
    /// Whether it answers draws.
    pub(crate) replicates: bool,
}

impl Engine for Counting {
    fn name(&self) -> &'static str {
        "counting"
    }

    fn replicates(&self) -> bool {
        self.replicates
    }

    fn run(&self, scenario: &Scenario, seed: Seed) -> Result<Report, EngineError> {
        Constant(scenario.flows()[0].count as f64).run(scenario, seed)
    }
}
