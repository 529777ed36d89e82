//! Rules: the models that describe links, applied to a scenario. They give the checked assumptions,
//! the recommended buffer and the predictions at the scenario's buffer.

use std::sync::LazyLock;

use forebay_scenario::{
    BufferSize, Check, ClosedForm, Goal, Link, ModelError, Prediction, Scenario, Unknown,
};

use crate::checks::{checked, unknown};
use crate::model::{Model, Sizing};
use crate::models::models;
use crate::situation::{Situation, Targets};
use crate::words::{figure, percent};

/// All models with a sizing rule or a prediction for links, in the order of the registry.
///
/// ```
/// let rules = forebay_closed_form::rules();
/// assert_eq!(rules[0].name(), "bdp");
/// ```
pub fn rules() -> &'static [&'static dyn ClosedForm] {
    static ALL: LazyLock<Vec<&'static dyn ClosedForm>> = LazyLock::new(|| {
        let speaking = models().filter(|model| model.sizing.is_some());
        speaking.map(|model| model as &dyn ClosedForm).collect()
    });
    &ALL
}

/// The rule with this name.
///
/// # Errors
/// The existing names, if `name` is unknown.
pub fn rule(name: &str) -> Result<&'static dyn ClosedForm, ModelError> {
    let found = rules().iter().find(|rule| rule.name() == name);
    found.copied().ok_or_else(|| {
        let known = rules().iter().map(|rule| rule.name());
        ModelError::Unknown(Unknown::among("model", name, known))
    })
}

impl Model {
    /// Its rule for links, or the error that it has none.
    fn sizing(&self) -> Result<&Sizing, ModelError> {
        let none = || "the model says nothing about a link".to_owned();
        self.sizing
            .as_ref()
            .ok_or_else(|| ModelError::NotApplicable(none()))
    }
}

impl ClosedForm for Model {
    fn name(&self) -> &'static str {
        self.name
    }

    fn assumptions(&self, scenario: &Scenario) -> Vec<Check> {
        let situation = Situation::new(scenario);
        let sizing = self.sizing.as_ref();
        let mut checks = sizing.map_or_else(Vec::new, |rule| (rule.assumptions)(&situation));
        if situation.other_links > 0 {
            let others = situation.other_links as f64;
            let why = format!("{} and may hold up the flows", on_the_paths(others));
            checks.push(unknown("one bottleneck", why));
        }
        if scenario.flows().iter().any(|group| group.routing.is_some()) {
            let why = "flows take several paths through the fabric".to_owned();
            checks.push(checked("one path", false, why));
        }
        if let Some(link) = scenario.links().iter().find(|link| link.loss.rate() > 0.0) {
            let lost = percent(link.loss.rate());
            let why = format!("the medium behind “{}” loses {lost} besides", link.name);
            checks.push(checked("losses at the queue alone", false, why));
        }
        let policed = |link: &Link| Some((link.name.clone(), link.policer?.rate));
        if let Some((name, rate)) = scenario.links().iter().find_map(policed) {
            let why =
                format!("the policer in front of “{name}” drops what comes faster than {rate}");
            checks.push(checked("no losses in front of the queue", false, why));
        }
        let target = scenario.target();
        if let Some(shaper) = target.shaper {
            let why = format!("the shaper lets {} leave at once", shaper.burst);
            checks.push(unknown("packets that leave at the link's rate", why));
        }
        if target.changes() {
            let how = if target.opportunities().is_some() {
                "comes in opportunities".to_owned()
            } else {
                let (low, high) = (target.lowest_rate(), target.highest_rate());
                format!("changes between {low} and {high}")
            };
            let average = target.rate;
            let why = format!("the rate {how}, and the rule takes its average, {average}");
            checks.push(checked("a constant rate", false, why));
        }
        if scenario.links().iter().any(|link| link.delays.is_some()) {
            let why = "the delay of a link changes, and the rule takes its average".to_owned();
            checks.push(checked("constant round trips", false, why));
        }
        if let Some(why) = target.takes_turns() {
            checks.push(checked("one packet after the other", false, why));
        }
        let classes = scenario.target().classes.len();
        if classes > 1 {
            let why = format!("{classes} classes with a queue each share the link");
            checks.push(checked("one queue for all traffic", false, why));
        }
        checks
    }

    fn predict(&self, scenario: &Scenario) -> Result<Prediction, ModelError> {
        let sizing = self.sizing()?;
        let sizes_only = || "the rule gives a buffer and predicts nothing at another".to_owned();
        let predict = sizing
            .predict
            .ok_or_else(|| ModelError::NotApplicable(sizes_only()))?;
        let mut prediction = Prediction::default();
        for (metric, value) in predict(&Situation::new(scenario))? {
            if !value.is_finite() {
                let name = metric.name().replace('_', " ");
                return Err(ModelError::NoSolution(format!(
                    "the formula gives no finite {name}"
                )));
            }
            prediction.metrics.insert(metric, value);
        }
        if !sizing.note.is_empty() {
            prediction.notes.push(sizing.note.to_owned());
        }
        Ok(prediction)
    }

    fn size(&self, scenario: &Scenario, goals: &[Goal]) -> Result<Option<BufferSize>, ModelError> {
        let Some(size) = self.sizing()?.size else {
            return Ok(None);
        };
        let packets = size(&Situation::new(scenario), &Targets::new(goals))?;
        packets.map(whole_packets).transpose()
    }
}

/// The number of other links, in words.
fn on_the_paths(others: f64) -> String {
    match others {
        1.0 => "one more link is on the paths".into(),
        _ => format!("{others} more links are on the paths"),
    }
}

/// A buffer of at least `packets`, whole.
fn whole_packets(packets: f64) -> Result<BufferSize, ModelError> {
    if !(0.0..=1e12).contains(&packets) {
        return Err(ModelError::OutOfRange {
            quantity: "buffer".into(),
            found: format!("{} packets", figure(packets)),
            allowed: "one of 1e12 packets at most".into(),
        });
    }
    Ok(BufferSize::Packets((packets * (1.0 - 1e-12)).ceil() as u64))
}
