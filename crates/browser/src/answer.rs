//! Answers as JSON: a resolved scenario, the closed forms' verdicts, or an error.
//! [`crate::laboratory`] writes them.

use forebay_scenario::{
    BufferReport, BufferSize, Check, ClosedForm, EngineError, Goal, MORE_MEMORY, ModelError,
    Relation, Scenario, ScenarioError, Source,
};
use serde::Serialize;

use crate::controls::Controls;
use crate::modules::Wanted;

/// The reason why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Refusal {
    /// The party that has to correct something.
    pub(crate) kind: Fault,
    /// One line, as on the command line.
    pub(crate) message: String,
    /// The line of the scenario's text that is wrong, if there is one.
    pub(crate) line: Option<usize>,
    /// The key that is wrong, if there is one.
    pub(crate) key: Option<String>,
    /// The module that needs the consent of the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) module: Option<Wanted>,
}

/// The party that has to correct something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Fault {
    /// The scenario is wrong.
    Scenario,
    /// No party: the engine does not support it, or not in a page.
    Engine,
    /// The page is wrong: there is no such request, or not in this state.
    Request,
    /// The code of a user.
    Code,
    /// No party: the user has not let the code run yet.
    Consent,
}

impl Refusal {
    /// A refusal of a request that makes no sense.
    pub(crate) fn of_request(message: impl Into<String>) -> Self {
        Self {
            kind: Fault::Request,
            message: message.into(),
            line: None,
            key: None,
            module: None,
        }
    }

    /// A refusal of the code of a user.
    pub(crate) fn of_code(kind: Fault, message: String, key: Option<String>) -> Self {
        Self {
            kind,
            message,
            line: None,
            key,
            module: None,
        }
    }

    /// A refusal of changes to a text. The changed text is shown nowhere, so it has no line.
    pub(crate) fn of_change(error: ScenarioError) -> Self {
        Self {
            message: error.at_key(),
            line: None,
            ..Self::from(error)
        }
    }
}

impl From<ScenarioError> for Refusal {
    fn from(error: ScenarioError) -> Self {
        let line = match &error.source {
            Source::File { line, .. } => *line,
            Source::Argument(_) => None,
        };
        Self {
            kind: Fault::Scenario,
            message: error.to_string(),
            line,
            key: (!error.key.is_empty()).then_some(error.key),
            module: None,
        }
    }
}

impl From<EngineError> for Refusal {
    fn from(error: EngineError) -> Self {
        let kind = match error {
            EngineError::Model(ModelError::Unknown(_)) => Fault::Request,
            _ => Fault::Engine,
        };
        // A page has no options.
        let message = error
            .to_string()
            .replace(MORE_MEMORY, "the command line allows more");
        Self {
            kind,
            message,
            line: None,
            key: None,
            module: None,
        }
    }
}

/// A valid scenario, resolved.
#[derive(Debug, Serialize)]
pub(crate) struct Resolved<'a> {
    title: &'a str,
    sha256: String,
    /// The whole scenario as canonical JSON.
    canonical: String,
    seed: u64,
    replications: u64,
    warmup_s: f64,
    measure_s: f64,
    /// Upper estimate of the events of a packet-level run.
    most_events: f64,
    /// Time between two samples of a trace.
    trace_every_s: f64,
    buffer: BufferReport,
    /// Mean packet size, in bytes.
    packet_bytes: f64,
    bdp_packets: Option<f64>,
    /// Number of the target link, which reports describe.
    target: usize,
    links: Vec<ResolvedLink<'a>>,
    groups: Vec<ResolvedGroup<'a>>,
    goals: Vec<ResolvedGoal<'a>>,
    controls: Controls,
}

/// A condition that a buffer must meet.
#[derive(Debug, Serialize)]
struct ResolvedGoal<'a> {
    /// Flow group of the metric; `None` for the link.
    group: Option<&'a str>,
    /// Name of the metric in reports.
    metric: &'static str,
    /// Whether the metric must be at least the bound; otherwise it must be at most the bound.
    at_least: bool,
    /// Bound in the unit of reports.
    bound: f64,
    /// The condition as a scenario writes it: `loss_rate <= 0.01`.
    text: String,
}

impl<'a> From<&'a Goal> for ResolvedGoal<'a> {
    fn from(goal: &'a Goal) -> Self {
        Self {
            group: goal.group.as_deref(),
            metric: goal.metric.name(),
            at_least: goal.relation == Relation::AtLeast,
            bound: goal.threshold,
            text: format!("{} {}", goal.key(), goal.text()),
        }
    }
}

#[derive(Debug, Serialize)]
struct ResolvedLink<'a> {
    name: &'a str,
    queue: &'static str,
    /// Rate in bit/s; the average if it changes.
    rate_bps: u64,
    rate_changes: bool,
}

#[derive(Debug, Serialize)]
pub(crate) struct ResolvedGroup<'a> {
    name: &'a str,
    count: u64,
    controller: &'static str,
    /// Whether it has congestion control.
    responsive: bool,
    /// Number of its first flow over all groups, as pictures count them.
    first_flow: u64,
}

impl<'a> Resolved<'a> {
    pub(crate) fn of(scenario: &'a Scenario, controls: Controls) -> Self {
        let run = scenario.run();
        let links = scenario.links().iter().map(|link| ResolvedLink {
            name: &link.name,
            queue: link.discipline.name(),
            rate_bps: link.rate.as_bits_per_second(),
            rate_changes: link.changes() || link.phy.is_some(),
        });
        Self {
            title: scenario.title(),
            sha256: scenario.sha256(),
            canonical: scenario.canonical_json(),
            seed: run.seed,
            replications: run.replications,
            warmup_s: run.warmup.as_secs_f64(),
            measure_s: run.measure.as_secs_f64(),
            most_events: scenario.most_events(),
            trace_every_s: scenario.trace().every.as_secs_f64(),
            buffer: scenario.buffer(),
            packet_bytes: scenario.packet_bytes(),
            bdp_packets: scenario.bdp_packets(),
            target: scenario.target_index(),
            links: links.collect(),
            groups: groups(scenario),
            goals: scenario.goals().iter().map(ResolvedGoal::from).collect(),
            controls,
        }
    }
}

/// The groups of a scenario; of a drawn scenario with the drawn values.
pub(crate) fn groups(scenario: &Scenario) -> Vec<ResolvedGroup<'_>> {
    let mut next = 0;
    let groups = scenario.flows().iter().map(|group| {
        let first_flow = next;
        next += group.count;
        ResolvedGroup {
            name: &group.name,
            count: group.count,
            controller: group.controller.name(),
            responsive: group.responsive(),
            first_flow,
        }
    });
    groups.collect()
}

/// The verdict of a closed form on a scenario.
#[derive(Debug, Serialize)]
pub(crate) struct Verdict {
    name: &'static str,
    /// Whether the closed-form engine chooses this model.
    is_default: bool,
    /// The buffer that it recommends, in packets; `None` if it recommends none.
    packets: Option<f64>,
    /// The reason why it has no buffer, if there is none.
    refusal: Option<String>,
    checks: Vec<Check>,
    /// Predicted values at the scenario's own buffer, by metric.
    predicted: Vec<(&'static str, f64)>,
    notes: Vec<String>,
}

impl Verdict {
    /// The verdict of `model`; `default` is the name of the model that the engine chooses.
    pub(crate) fn of(model: &'static dyn ClosedForm, scenario: &Scenario, default: &str) -> Self {
        let size = model.size(scenario, scenario.goals());
        let prediction = model.predict(scenario).unwrap_or_default();
        let metrics = prediction.metrics.into_iter();
        Self {
            name: model.name(),
            is_default: model.name() == default,
            refusal: size.as_ref().err().map(ToString::to_string),
            packets: size.ok().flatten().and_then(|it| in_packets(scenario, it)),
            checks: model.assumptions(scenario),
            predicted: metrics
                .map(|(metric, value)| (metric.name(), value))
                .collect(),
            notes: prediction.notes,
        }
    }
}

/// The buffer in packets of the scenario's mean size.
fn in_packets(scenario: &Scenario, size: BufferSize) -> Option<f64> {
    match size {
        BufferSize::Packets(packets) => Some(packets as f64),
        other => {
            let changed = scenario.with_buffer(other).ok()?;
            Some(changed.buffer().packets)
        }
    }
}
