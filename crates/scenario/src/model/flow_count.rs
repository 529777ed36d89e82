//! Numbers of flows, fixed or random for each replication. Flow groups have them.

use forebay_random::Stream;
use serde_json::{Value, json};

use crate::text::cursor::Cursor;
use crate::text::grammar::Grammar;
use crate::text::keys::{Context, Form};
use crate::text::tree::ScenarioError;

/// The most flows alive at once in one scenario (packet events number them in 24 bits).
pub const MAX_FLOWS: u64 = (1 << 24) - 2;

/// A number of flows that is not known exactly. Each draw is at least 1.
#[derive(Clone, Debug, PartialEq)]
pub enum FlowCount {
    /// Always the same.
    Fixed(u64),
    /// Poisson with this mean; a draw of 0 counts as 1.
    Poisson(f64),
    /// Each whole number from the first to the second equally likely.
    Uniform(u64, u64),
    /// One of these.
    Choice(Vec<u64>),
}

/// The largest mean of a Poisson number of flows.
const MOST_POISSON: f64 = 1e6;

const KINDS: &str = "a whole number from 1 to 16777214, { poisson = 40 }, { uniform = [20, 60] } or \
{ choice = [10, 40] }";

impl FlowCount {
    pub(crate) fn read(cursor: &Cursor<'_>) -> Result<Self, ScenarioError> {
        let Ok(entries) = cursor.entries() else {
            let fixed = cursor.integer_in(1, MAX_FLOWS);
            return fixed.map(Self::Fixed).map_err(|_| cursor.error(KINDS));
        };
        let [(kind, argument)] = &entries[..] else {
            return Err(cursor.error(KINDS));
        };
        match *kind {
            "poisson" => {
                let mean = argument.number_in(0.1, MOST_POISSON)?;
                Ok(Self::Poisson(mean))
            }
            "uniform" => {
                let ends = list(argument)?;
                match ends[..] {
                    [low, high] if low <= high => Ok(Self::Uniform(low, high)),
                    _ => Err(argument.error("two whole numbers, the smaller first")),
                }
            }
            "choice" => Ok(Self::Choice(list(argument)?)),
            _ => {
                let known = ["poisson", "uniform", "choice"];
                Err(cursor.unknown("distribution", kind, known))
            }
        }
    }

    /// The mean, rounded and at least 1: what formulas and bandwidth-delay products count with.
    pub fn nominal(&self) -> u64 {
        let mean = match self {
            Self::Fixed(count) => return *count,
            Self::Poisson(mean) => *mean,
            Self::Uniform(low, high) => f64::midpoint(*low as f64, *high as f64),
            Self::Choice(counts) => {
                counts.iter().map(|count| *count as f64).sum::<f64>() / counts.len() as f64
            }
        };
        (mean.round() as u64).max(1)
    }

    /// As it is written.
    pub(crate) fn shown(&self) -> Value {
        match self {
            Self::Fixed(count) => (*count).into(),
            Self::Poisson(mean) => json!({ "poisson": mean }),
            Self::Uniform(low, high) => json!({ "uniform": [low, high] }),
            Self::Choice(counts) => json!({ "choice": counts }),
        }
    }

    /// One draw, at least 1.
    pub(crate) fn draw(&self, stream: &mut Stream) -> u64 {
        match self {
            Self::Fixed(count) => *count,
            Self::Poisson(mean) => poisson(*mean, stream).max(1),
            Self::Uniform(low, high) => low + stream.below(high - low + 1),
            Self::Choice(counts) => counts[stream.below(counts.len() as u64) as usize],
        }
    }
}

/// Arrivals of a unit-rate Poisson process in `mean` units of time: exact, and at most a million
/// draws once per replication.
fn poisson(mean: f64, stream: &mut Stream) -> u64 {
    let mut count = 0;
    let mut time = stream.exponential();
    while time < mean {
        count += 1;
        time += stream.exponential();
    }
    count
}

fn list(cursor: &Cursor<'_>) -> Result<Vec<u64>, ScenarioError> {
    let items = cursor.items().filter(|items| !items.is_empty());
    let items = items.ok_or_else(|| cursor.error("a list of whole numbers"))?;
    items
        .iter()
        .map(|item| item.integer_in(1, MAX_FLOWS))
        .collect()
}

/// The form of a number of flows.
pub(crate) struct Flows;

impl Form<FlowCount> for Flows {
    fn read(&self, at: &Cursor<'_>, _: &Context<'_>) -> Result<FlowCount, ScenarioError> {
        FlowCount::read(at)
    }

    fn write(&self, count: &FlowCount, _: &Context<'_>) -> Option<Value> {
        Some(count.shown())
    }

    fn grammar(&self) -> Grammar {
        Grammar::new(json!({"$ref": "#/$defs/count"}), KINDS)
    }
}

/// JSON Schema of a number of flows.
pub(crate) fn schema() -> Value {
    let whole = || json!({"type": "integer", "minimum": 1});
    let list = |least: u32| json!({"type": "array", "minItems": least, "items": whole()});
    let distribution = |name: &str, argument: Value| json!({"type": "object", "additionalProperties": false, "properties": {name: argument}});
    let mean = json!({"type": "number", "minimum": 0.1, "maximum": MOST_POISSON});
    json!({"oneOf": [
        whole(), distribution("poisson", mean), distribution("uniform", list(2)), distribution("choice", list(1)),
    ]})
}
