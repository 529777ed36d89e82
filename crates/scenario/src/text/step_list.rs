//! Steps: what holds from which time on, as links' rates and delays have them.

use forebay_units::{StepsError, Time};
use serde_json::{Value, json};

use crate::text::cursor::Cursor;
use crate::text::form::Unit;
use crate::text::grammar::{Grammar, KeyText};
use crate::text::tree::ScenarioError;

/// The most steps.
const MAX_STEPS: usize = 100_000;

/// How steps of a kind of value are written.
pub(crate) struct StepList<V: 'static> {
    /// Noun for the value of each step: "rate".
    pub(crate) of: &'static str,
    /// As in `[["0s", "50Mbps"], ["10s", "5Mbps"]]`.
    pub(crate) example: &'static str,
    pub(crate) read: fn(&Cursor<'_>) -> Result<V, ScenarioError>,
}

impl<V: Unit + Copy> StepList<V> {
    fn allowed(&self) -> String {
        let Self { of, example, .. } = self;
        format!("a list of one to {MAX_STEPS} steps [time, {of}], as in steps = {example}")
    }

    /// The descriptions of `steps` and `repeat`.
    pub(crate) fn keys(&self, meaning: &str) -> [KeyText; 2] {
        let step = json!({
            "type": "array",
            "prefixItems": [Time::schema(), V::schema()],
            "minItems": 2,
            "maxItems": 2,
        });
        let list = json!({"type": "array", "minItems": 1, "maxItems": MAX_STEPS, "items": step});
        [
            KeyText::of("steps", meaning, Grammar::new(list, self.allowed())),
            KeyText::of(
                "repeat",
                &format!(
                    "Period after which the steps repeat; without it the last {} lasts to the end of the run.",
                    self.of
                ),
                Grammar::new(Time::schema(), "a time later than the last step"),
            ),
        ]
    }

    /// Reads the keys `steps` and `repeat` of a table; `make` says whether they are steps.
    pub(crate) fn steps<S>(
        &self,
        at: &Cursor<'_>,
        make: impl Fn(&[(Time, V)], Option<Time>) -> Result<S, StepsError>,
    ) -> Result<S, ScenarioError> {
        let list = at.require("steps", self.example)?;
        let items = list.items().filter(|items| items.len() <= MAX_STEPS);
        let items = items.ok_or_else(|| list.error(self.allowed()))?;
        let read = items.iter().map(|item| self.step(item));
        let read: Vec<(Time, V)> = read.collect::<Result<_, _>>()?;
        let repeat = at.get("repeat").map(|repeat| repeat.unit()).transpose()?;
        make(&read, repeat).map_err(|error| match error {
            StepsError::Empty => list.error(self.allowed()),
            StepsError::LateStart => time_of(&items[0]).error("0s, where the first step begins"),
            StepsError::Unsorted(step) => {
                let before = read[step - 1].0;
                time_of(&items[step]).error(format!("a time after {before}, the step before"))
            }
            StepsError::ShortPeriod(last) => {
                let at = at.get("repeat").unwrap_or_else(|| at.clone());
                let last = read[last].0;
                at.error(format!(
                    "a time later than the last step, which is at {last}"
                ))
            }
            StepsError::ZeroForEver(_) => list.error_found(
                "a rate of 0bps for ever",
                "a last rate above 0bps, or `repeat` and a rate above 0bps",
            ),
        })
    }

    fn step(&self, at: &Cursor<'_>) -> Result<(Time, V), ScenarioError> {
        let items = at.items().unwrap_or_default();
        let [time, value] = &items[..] else {
            let last = self.example.rfind('[').unwrap_or_default();
            let example = self.example[last..].trim_end_matches(']');
            return Err(at.error(format!("a step [time, {}] such as {example}]", self.of)));
        };
        let value = (self.read)(value)?;
        Ok((time.unit()?, value))
    }
}

/// Steps as they are written.
pub(crate) fn written<V: ToString>(
    steps: impl Iterator<Item = (Time, V)>,
    repeat: Option<Time>,
) -> Value {
    let list: Vec<_> = steps
        .map(|(begin, value)| [begin.to_string(), value.to_string()])
        .collect();
    let mut table = json!({ "steps": list });
    if let Some(repeat) = repeat {
        table["repeat"] = repeat.to_string().into();
    }
    table
}

/// The time of a step.
fn time_of<'a>(step: &Cursor<'a>) -> Cursor<'a> {
    let first = step.items().and_then(|items| items.into_iter().next());
    first.unwrap_or_else(|| step.clone())
}
