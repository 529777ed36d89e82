//! The closed-form engine: the published rule that fits a scenario's regime, or the one asked for.
//!
//! Regimes after Auge & Roberts: transparent (no flow can fill the link), elastic (long flows
//! share it), overload (more is offered than the link carries).

use std::sync::LazyLock;

use forebay_scenario::{
    Engine, EngineError, Estimate, GroupReport, Holds, Metric, ModelError, Report, Scenario, Seed,
};

use crate::rules::{rule, rules};
use crate::situation::Situation;

/// How the traffic and the link stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Regime {
    /// No flow can fill the link: losses are those of a queue of smooth traffic.
    Transparent,
    /// Flows fill what the background leaves.
    Elastic,
    /// More is offered than the link carries.
    Overload,
}

/// The regime of a scenario, and why in a sentence.
pub fn regime(scenario: &Scenario) -> (Regime, String) {
    let s = Situation::new(scenario);
    let fixed = s.background + s.open_loop;
    if fixed >= 1.0 {
        return (
            Regime::Overload,
            format!("traffic that does not yield offers {fixed:.3} of the link"),
        );
    }
    if s.bottlenecked > 0.0 {
        let why = format!(
            "{} persistent flows take what the rest leaves",
            s.bottlenecked
        );
        return (Regime::Elastic, why);
    }
    if s.persistent > 0.0 && s.open_loop + s.closed_loop == 0.0 {
        let why = format!(
            "windows and access links hold {} flows below the link",
            s.persistent
        );
        return (Regime::Transparent, why);
    }
    if s.open_loop + s.closed_loop == 0.0 {
        return (
            Regime::Transparent,
            "all traffic is unresponsive and below the link's rate".into(),
        );
    }
    match s.core_limits {
        Some(limits) if limits < 0.1 => (
            Regime::Transparent,
            format!(
                "access links limit the flows; the link does {:.1} % of the time",
                limits * 100.0
            ),
        ),
        _ => (
            Regime::Elastic,
            "transfers fill the link while they last".into(),
        ),
    }
}

/// Name of the rule that speaks for the scenario where none is asked for, and why.
pub fn default_model(scenario: &Scenario) -> (&'static str, String) {
    let s = Situation::new(scenario);
    let (regime, why) = regime(scenario);
    let name = match regime {
        Regime::Overload => "overload",
        Regime::Transparent => "mm1k",
        Regime::Elastic if s.controller.as_ref().is_some_and(|c| c.name == "bbr") => "bbr",
        Regime::Elastic if s.bottlenecked == 0.0 => "processor-sharing",
        Regime::Elastic if s.bottlenecked >= 100.0 => "sqrt-n",
        Regime::Elastic => "one-flow",
    };
    (name, why)
}

/// The closed-form engine; the rule is chosen by regime, or fixed by name.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClosedFormEngine {
    /// The rule's name, where one was asked for.
    fixed: Option<&'static str>,
}

/// The engine that chooses by regime.
static BY_REGIME: ClosedFormEngine = ClosedFormEngine { fixed: None };

/// The engines of each rule, in their order.
static BY_NAME: LazyLock<Vec<ClosedFormEngine>> = LazyLock::new(|| {
    let fixed = rules().iter().map(|rule| Some(rule.name()));
    fixed.map(|fixed| ClosedFormEngine { fixed }).collect()
});

impl ClosedFormEngine {
    /// The engine that chooses by regime.
    pub const fn by_regime() -> &'static Self {
        &BY_REGIME
    }

    /// The engine that always uses the rule `name`.
    ///
    /// # Errors
    /// The names that exist.
    ///
    /// ```
    /// use forebay_closed_form::ClosedFormEngine;
    ///
    /// assert!(ClosedFormEngine::with_model("sqrt-n").is_ok());
    /// let error = ClosedFormEngine::with_model("sqrt").unwrap_err();
    /// assert!(error.to_string().contains("known: bdp, one-flow"));
    /// ```
    pub fn with_model(name: &str) -> Result<&'static Self, ModelError> {
        let known = rule(name)?.name();
        let mut engines = BY_NAME.iter();
        let found = engines.find(|engine| engine.fixed == Some(known));
        Ok(found.unwrap_or(&BY_REGIME))
    }
}

impl Engine for ClosedFormEngine {
    fn name(&self) -> &'static str {
        "closed_form"
    }

    fn replicates(&self) -> bool {
        false
    }

    fn run(&self, scenario: &Scenario, seed: Seed) -> Result<Report, EngineError> {
        let feature = if scenario.target().memory.is_some() {
            Some("a memory that links share")
        } else if scenario
            .target_flows()
            .any(|group| !group.reverse.is_empty())
        {
            Some("acknowledgements that queue (`reverse`)")
        } else {
            None
        };
        if let Some(feature) = feature {
            return Err(EngineError::Unsupported {
                engine: "closed_form",
                feature: feature.into(),
            });
        }
        let situation = Situation::new(scenario);
        if situation.persistent == 0.0 && situation.offered_load() == 0.0 {
            return Err(EngineError::Unsupported {
                engine: "closed_form",
                feature: "finite transfers alone: they have no steady state".into(),
            });
        }
        let mut report = Report::new("closed_form", scenario, seed.seed);
        let (default, why) = default_model(scenario);
        let name = self.fixed.unwrap_or(default);
        let model = rule(name)?;
        let prediction = model.predict(scenario)?;
        if self.fixed.is_none() {
            report.warnings.push(format!("model {name}: {why}"));
        }
        for check in model.assumptions(scenario) {
            if check.holds != Holds::Yes {
                let doubt = if check.holds == Holds::No {
                    "does not hold"
                } else {
                    "is not known"
                };
                report.warnings.push(format!(
                    "{name}: {} {doubt}: {}",
                    check.assumption, check.why
                ));
            }
        }
        report.warnings.extend(
            prediction
                .notes
                .into_iter()
                .map(|note| format!("{name}: {note}")),
        );
        for (metric, value) in prediction.metrics {
            report.metrics.insert(metric, Estimate::from(value));
        }
        report.groups = scenario
            .flows()
            .iter()
            .map(|group| GroupReport {
                name: group.name.clone(),
                flows: group.count,
                ..GroupReport::default()
            })
            .collect();
        let silent: Vec<&str> = Metric::ALL
            .into_iter()
            .take(11)
            .filter(|metric| !report.metrics.contains_key(metric))
            .map(Metric::name)
            .collect();
        report
            .warnings
            .push(format!("{name} says nothing about {}", silent.join(", ")));
        Ok(report)
    }
}
