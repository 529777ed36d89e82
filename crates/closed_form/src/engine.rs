//! The closed-form engine: applies the published rule that fits a scenario's regime, or the
//! requested one.
//!
//! Auge & Roberts distinguish three regimes. Transparent: no flow can fill the link. Elastic: long
//! flows share it. Overload: the offered load exceeds the link's rate.

use forebay_scenario::{
    Engine, EngineDescription, EngineError, Estimate, FlowGroup, GroupReport, Holds, Link, Metric,
    ModelError, Report, RunOptions, Scenario, Warning, WarningKind,
};

use crate::models::bbr;
use crate::rules::{rule, rules};
use crate::situation::Situation;
use crate::words::{act, count, percent};

/// The relation between the traffic and the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Regime {
    /// No flow can fill the link. Its losses are those of a queue of smooth traffic.
    Transparent,
    /// Long flows fill the capacity that the background leaves.
    Elastic,
    /// The offered load exceeds the capacity.
    Overload,
}

/// The regime of a scenario, and the reason in a sentence.
pub fn regime(scenario: &Scenario) -> (Regime, String) {
    let s = Situation::new(scenario);
    let fixed = s.background + s.open_loop;
    if fixed >= 1.0 {
        return (
            Regime::Overload,
            format!("unresponsive traffic has a load of {}", percent(fixed)),
        );
    }
    if s.bottlenecked > 0.0 {
        let flows = act(s.bottlenecked, "long flow", ("fills", "fill"));
        return (Regime::Elastic, format!("{flows} the link"));
    }
    if s.persistent > 0.0 && s.open_loop + s.closed_loop == 0.0 {
        let flows = count(s.persistent, "flow");
        let why =
            format!("receive windows and access links limit {flows}, so that the link is not full");
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
                "access links limit the flows; the link itself limits them {} of the time",
                percent(limits)
            ),
        ),
        _ => (
            Regime::Elastic,
            "transfers fill the link while they last".into(),
        ),
    }
}

/// The name of the rule that applies to the scenario by default, and the reason.
pub fn default_model(scenario: &Scenario) -> (&'static str, String) {
    let s = Situation::new(scenario);
    let (regime, why) = regime(scenario);
    let name = match regime {
        Regime::Overload => "overload",
        Regime::Transparent => "mm1k",
        Regime::Elastic if bbr::decides(&s.mix) => "bbr",
        Regime::Elastic if s.bottlenecked == 0.0 => "processor-sharing",
        Regime::Elastic if s.bottlenecked >= 100.0 => "sqrt-n",
        Regime::Elastic => "one-flow",
    };
    (name, why)
}

/// The closed-form engine. The regime selects the rule unless the run's options name one.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClosedFormEngine;

impl Engine for ClosedFormEngine {
    fn description(&self) -> &'static EngineDescription {
        const {
            &EngineDescription {
                name: "closed_form",
                title: "The published formulas and fixed points; an answer takes microseconds.",
                source: "what each model names",
                cheap: true,
                replicates: false,
                traces: false,
                real_time: false,
                simulates_hosts: false,
                assumes_losses: false,
                models: || rules().iter().map(|rule| rule.name()).collect(),
            }
        }
    }

    fn run(&self, scenario: &Scenario, options: &RunOptions) -> Result<Report, EngineError> {
        options.check(self.description())?;
        let is_routed = |group: &FlowGroup| group.routing.is_some();
        let feature = if scenario.flows().iter().any(is_routed) {
            Some("flows between hosts of a `[fabric]`")
        } else if scenario.target().memory.is_some() {
            Some("a memory that links share")
        } else if scenario.links().iter().any(Link::is_lossless) {
            Some("lossless queues (`pfc`)")
        } else if scenario
            .target_flows()
            .any(|group| !group.reverse.is_empty())
        {
            Some("acknowledgments that queue (`reverse`)")
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
        let mut report = Report::new("closed_form", scenario, options.seed.seed);
        let (default, why) = default_model(scenario);
        let model = rule(options.model.as_deref().unwrap_or(default))?;
        let name = model.name();
        report.warnings = scenario.averages();
        let refuse = |error| ModelError::NotApplicable(format!("{name} does not apply: {error}"));
        let prediction = model.predict(scenario).map_err(refuse)?;
        if options.model.is_none() {
            let text = format!("the model {name} was chosen, because {why}");
            report
                .warnings
                .push(Warning::new(WarningKind::Model, text).about(name));
        }
        for check in model.assumptions(scenario) {
            if check.holds != Holds::Yes {
                let doubt = match check.holds {
                    Holds::No => " does not apply:",
                    Holds::Partly | Holds::Yes => "",
                    Holds::Unknown => " may not apply:",
                };
                let text = format!("{name}{doubt} {}", check.why);
                let warning = Warning::new(WarningKind::Assumption, text);
                report.warnings.push(warning.about(check.assumption));
            }
        }
        for note in prediction.notes {
            let warning = Warning::new(WarningKind::Note, format!("{name}: {note}"));
            report.warnings.push(warning.about(note));
        }
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
        let silent: Vec<&str> = Metric::OF_EVERY_ENGINE
            .into_iter()
            .filter(|metric| !report.metrics.contains_key(metric))
            .map(Metric::name)
            .collect();
        let silent = silent.join(", ");
        let text = format!("{name} does not compute {silent}");
        let warning = Warning::new(WarningKind::Silent, text);
        report.warnings.push(warning.about(silent));
        Ok(report)
    }
}
