//! A resolved scenario with the preset of each group's stack named again: another preset or
//! controller then changes all that the first one had set, as it would in the file.

use forebay_units::parameter::ParameterKind;
use serde_json::{Map, Value};

use super::Scenario;
use crate::model::algorithm::Algorithm;
use crate::model::flows::FlowGroup;
use crate::model::stack::Preset;
use crate::text::keys::{Context, Section};
use crate::text::tree::Format;

impl Scenario {
    /// The resolved scenario as JSON that reads back as an equal one, where keys of a stack stand
    /// beside the preset that leaves the fewest of them to be said.
    pub(super) fn json_with_presets(&self) -> String {
        let mut whole = self.portable();
        let Some(Value::Array(groups)) = whole.get("flows").cloned() else {
            return Value::from(whole).to_string();
        };
        let ranked: Vec<Vec<Value>> = self
            .flows
            .iter()
            .zip(&groups)
            .map(|(group, shown)| briefest_first(group, shown))
            .collect();
        let mut chosen = groups;
        let mut settled = vec![false; chosen.len()];
        for rank in 0..PRESETS.len() {
            let waiting: Vec<usize> = (0..chosen.len()).filter(|&at| !settled[at]).collect();
            let before = chosen.clone();
            for &at in &waiting {
                if let Some(brief) = ranked[at].get(rank) {
                    chosen[at] = brief.clone();
                }
            }
            whole.insert("flows".into(), chosen.clone().into());
            let text = Value::from(whole.clone()).to_string();
            let read = Self::parse_any(&text, Format::Json, "scenario", &[]);
            for at in waiting {
                // A key that one preset sets and the others never write cannot be said beside it.
                settled[at] = read
                    .as_ref()
                    .is_ok_and(|it| it.flows.get(at) == self.flows.get(at));
                if !settled[at] {
                    chosen[at] = before[at].clone();
                }
            }
            if settled.iter().all(|&it| it) {
                break;
            }
        }
        whole.insert("flows".into(), chosen.into());
        Value::from(whole).to_string()
    }
}

const PRESETS: [(&str, Preset); 3] = [
    ("linux", Preset::Linux),
    ("ns2", Preset::Ns2),
    ("rfc", Preset::Rfc),
];

/// A group of TCP in the words of each preset, the one with the fewest keys first; none of other
/// groups.
fn briefest_first(group: &FlowGroup, shown: &Value) -> Vec<Value> {
    let Some(table) = shown.as_object().filter(|it| it.contains_key("recovery")) else {
        return Vec::new();
    };
    let mut found: Vec<Map<String, Value>> = PRESETS
        .iter()
        .map(|&(name, preset)| within(group, table, (name, preset)))
        .collect();
    found.sort_by_key(Map::len);
    found.into_iter().map(Value::from).collect()
}

/// A group without what this preset says of it.
fn within(
    group: &FlowGroup,
    shown: &Map<String, Value>,
    (name, preset): (&str, Preset),
) -> Map<String, Value> {
    let says = preset.stack(&group.controller).write(&Context::default());
    let mut brief = without(shown, &says);
    if let Some(Value::Object(controller)) = brief.get_mut("cca") {
        let description = group.controller.description();
        let usual = Algorithm::new(description).within(name);
        for parameter in description.parameters {
            if matches!(parameter.kind, ParameterKind::Choice { .. })
                && usual.parameters().get(parameter.name)
                    == group.controller.parameters().get(parameter.name)
            {
                controller.shift_remove(parameter.name);
            }
        }
    }
    // A switch that is off is not shown; beside a preset that has it on it must be.
    for (key, value) in says {
        if value == Value::Bool(true) && !shown.contains_key(&key) {
            brief.insert(key, false.into());
        }
    }
    brief.insert("stack".into(), name.into());
    brief
}

/// The entries of a table that another one does not have.
fn without(shown: &Map<String, Value>, says: &Map<String, Value>) -> Map<String, Value> {
    let differing = shown
        .iter()
        .filter(|(key, value)| says.get(*key) != Some(value));
    differing
        .map(|(key, value)| match (value, says.get(key)) {
            (Value::Object(inner), Some(Value::Object(said))) => {
                (key.clone(), without(inner, said).into())
            }
            _ => (key.clone(), value.clone()),
        })
        .collect()
}
