//! Delays of links, which are constant or change with time. The table of a link reads them.

use std::sync::Arc;

use forebay_units::{DelaySteps, Time};
use serde_json::{Value, json};

use crate::text::cursor::Cursor;
use crate::text::form::{Any, Switch};
use crate::text::grammar::object;
use crate::text::grammar::{Grammar, KeyText};
use crate::text::keys::{Context, Form};
use crate::text::step_list::{StepList, written};
use crate::text::tree::ScenarioError;

/// How the delay of a link changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Delays {
    /// The delay of what leaves the link at a time.
    pub steps: Arc<DelaySteps>,
    /// Whether what leaves later never arrives earlier.
    pub in_order: bool,
}

/// A delay, the shortest where it changes.
pub(crate) type LinkDelay = (Time, Option<Delays>);

/// The form of a link's delay.
pub(crate) struct DelayForm;

const STEPS: StepList<Time> = StepList {
    of: "delay",
    example: "[[\"0s\", \"20ms\"], [\"15s\", \"35ms\"]]",
    read: |at| at.unit(),
};

impl DelayForm {
    fn keys() -> [KeyText; 4] {
        let [steps, repeat] = STEPS.keys(
            "List of [time, delay]: each delay lasts from its time to the next. The first time is 0s. If the delay \
                falls, packets that leave later may arrive earlier.",
        );
        let file = KeyText::of(
            "file",
            "CSV file beside the scenario with the steps, in place of `steps`. Its first line is, for example, \
                \"time_s,delay_ms\".",
            Grammar::new(json!({"type": "string"}), "the name of a CSV file"),
        );
        let in_order = KeyText::of(
            "in_order",
            "Whether a packet that leaves later waits for earlier packets instead of overtaking them.",
            Form::<bool>::grammar(&Switch),
        );
        [steps, repeat, file, in_order]
    }
}

impl Form<LinkDelay> for DelayForm {
    fn read(&self, at: &Cursor<'_>, context: &Context<'_>) -> Result<LinkDelay, ScenarioError> {
        if at.entries().is_err() {
            return Ok((Any.read(at, context)?, None));
        }
        if let Some(file) = at.get("file") {
            // The caller that reads files replaces this key by their content.
            return Err(file.error("a file beside a scenario that is a file itself, or `steps`"));
        }
        let steps = STEPS.steps(at, DelaySteps::new)?;
        at.only(&["steps", "repeat", "in_order"])?;
        let in_order = at.get("in_order");
        let in_order = in_order
            .map(|word| Switch.read(&word, context))
            .transpose()?;
        if let Some(delay) = steps.constant() {
            return Ok((delay, None));
        }
        let delays = Delays {
            steps: Arc::new(steps),
            in_order: in_order.unwrap_or_default(),
        };
        Ok((delays.steps.least(), Some(delays)))
    }

    fn write(&self, (delay, delays): &LinkDelay, context: &Context<'_>) -> Option<Value> {
        let Some(Delays { steps, in_order }) = delays else {
            return Any.write(delay, context);
        };
        let mut table = written(steps.steps(), steps.repeat());
        if *in_order {
            table["in_order"] = true.into();
        }
        Some(table)
    }

    fn grammar(&self) -> Grammar {
        let keys = Self::keys();
        let plain = Form::<Time>::grammar(&Any);
        let mut steps = object(&keys);
        steps["oneOf"] = json!([{"required": ["steps"]}, {"required": ["file"]}]);
        let schema = json!({"anyOf": [plain.schema, steps]});
        let allowed = format!("{}, or {{ steps = {} }}", plain.allowed, STEPS.example);
        Grammar::new(schema, allowed).with_keys(keys.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::link::Link;
    use crate::model::scenario::Scenario;
    use crate::text::tree::Format;

    fn link(delay: &str) -> Link {
        let text = format!(
            "[link]\nrate = \"10Mbps\"\nbuffer = \"10p\"\ndelay = {delay}\n[[flows]]\nrtt = \"40ms\""
        );
        let scenario = Scenario::parse(&text, Format::Toml, "x.toml", &[]);
        scenario.expect("a scenario").target().clone()
    }

    /// The delay of a link is its shortest; what is more on average is that of a whole period,
    /// however long the run, or of the run where nothing repeats.
    #[test]
    fn a_delay_is_the_shortest_and_what_is_more_is_of_a_period() {
        let steps = "steps = [[\"0s\", \"10ms\"], [\"1s\", \"30ms\"], [\"3s\", \"15ms\"]]";
        let repeating = link(&format!("{{ {steps}, repeat = \"4s\" }}"));
        let lasting = link(&format!("{{ {steps} }}"));
        let more = |seconds: [f64; 3]| {
            let all: f64 = seconds.iter().sum();
            (0.02 * seconds[1] + 0.005 * seconds[2]) / all
        };
        for (link, expected) in [
            (repeating, more([1.0, 2.0, 1.0])),
            (lasting, more([1.0, 2.0, 2.0])),
        ] {
            assert_eq!(link.delay, Time::from_millis(10));
            assert_eq!(link.longest_delay(), Time::from_millis(30));
            assert_eq!(link.most_extra_delay(), Time::from_millis(20));
            let found = link.mean_extra_delay(Time::from_secs(5));
            assert!((found - expected).abs() < 1e-15, "{found} {expected}");
        }
    }

    /// Steps of one delay are that delay.
    #[test]
    fn a_delay_that_does_not_change_is_constant() {
        let plain = link("\"10ms\"");
        let steps = "{ steps = [[\"0s\", \"10ms\"], [\"1s\", \"10ms\"]], repeat = \"3s\" }";
        assert_eq!((plain.delays.clone(), link(steps)), (None, plain));
    }
}
