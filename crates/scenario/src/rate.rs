//! Rates of links: one for ever, or one that changes with time.

use std::sync::Arc;

use forebay_units::{Rate, RateSteps, StepsError, Time};
use serde_json::{Map, Value, json};

use crate::cursor::Cursor;
use crate::form::{Unit, Within};
use crate::keys::{Context, Form, Grammar, Key, KeyText, Part, Presence};
use crate::link::Link;
use crate::node::ScenarioError;
use crate::options::RunPlan;
use crate::scenario::Scenario;
use crate::schema::object;
use crate::warning::{Warning, WarningKind};

/// The most steps of a rate.
const MAX_STEPS: usize = 100_000;

const RATE: Within<Rate> = Within {
    least: Rate::from_bits_per_second(1000),
    most: Rate::from_bits_per_second(100_000_000_000_000),
    allowed: "a rate from 1kbps to 100Tbps",
};

/// The key `rate` of a link.
pub(crate) struct RateKey;

/// A rate, and its steps where it has more than one.
type LinkRate = (Rate, Option<Arc<RateSteps>>);

impl RateKey {
    const KEY: Key<RateForm> = Key {
        name: "rate",
        meaning: &["Bits of IP packets per second, headers included; in steps where it changes."],
        presence: Presence::Required("\"50Mbps\""),
        form: RateForm,
    };
}

impl Part<Link> for RateKey {
    fn names(&self) -> Vec<&'static str> {
        vec![Self::KEY.name]
    }

    fn read(
        &self,
        link: &mut Link,
        table: &Cursor<'_>,
        context: &Context<'_>,
    ) -> Result<(), ScenarioError> {
        if let Some(at) = Self::KEY.find(table)? {
            (link.rate, link.steps) = Self::KEY.form.read(&at, context)?;
        }
        Ok(())
    }

    fn write(&self, link: &Link, context: &Context<'_>, map: &mut Map<String, Value>) {
        let rate = (link.rate, link.steps.clone());
        Self::KEY.write((&rate, &LinkRate::default()), context, map);
    }

    fn texts(&self) -> Vec<KeyText> {
        vec![Self::KEY.text(&LinkRate::default())]
    }
}

/// The form of a link's rate: a rate, or steps. The average of steps is known when the run is.
struct RateForm;

impl RateForm {
    const EXAMPLE: &'static str = "steps = [[\"0s\", \"50Mbps\"], [\"10s\", \"5Mbps\"]]";
    const STEP: &'static str = "a step [time, rate] such as [\"10s\", \"5Mbps\"]";

    /// What is said of its keys.
    fn keys() -> [KeyText; 3] {
        let step = json!({
            "type": "array",
            "prefixItems": [Time::schema(), Rate::schema()],
            "minItems": 2,
            "maxItems": 2,
        });
        let list = json!({"type": "array", "minItems": 1, "maxItems": MAX_STEPS, "items": step});
        let allowed = format!(
            "a list of one to {MAX_STEPS} steps [time, rate], as in {}",
            Self::EXAMPLE
        );
        let steps = KeyText::of(
            "steps",
            "When each rate begins, the first at 0s; a rate of 0bps is an outage.",
            Grammar::new(list, allowed),
        );
        let repeat = KeyText::of(
            "repeat",
            "When they begin anew; without it the last rate lasts.",
            Grammar::new(Time::schema(), "a time later than the last step"),
        );
        let file = KeyText::of(
            "file",
            "Instead of `steps`: a table of them beside the scenario, under a line such as \"time_s,rate_Mbps\".",
            Grammar::new(json!({"type": "string"}), "the name of a CSV file"),
        );
        [steps, repeat, file]
    }

    fn read_steps(at: &Cursor<'_>) -> Result<RateSteps, ScenarioError> {
        if let Some(file) = at.get("file") {
            // Whoever reads files puts what they say in its place.
            return Err(file.error("a file beside a scenario that is a file itself, or `steps`"));
        }
        at.only(&["steps", "repeat"])?;
        let list = at.require("steps", "[[\"0s\", \"50Mbps\"], [\"10s\", \"5Mbps\"]]")?;
        let items = list.items().filter(|items| items.len() <= MAX_STEPS);
        let [steps, ..] = Self::keys();
        let items = items.ok_or_else(|| list.error(steps.allowed.clone()))?;
        let read = items.iter().map(Self::read_step);
        let read: Vec<(Time, Rate)> = read.collect::<Result<_, _>>()?;
        let repeat = at.get("repeat").map(|repeat| repeat.unit()).transpose()?;
        RateSteps::new(&read, repeat).map_err(|error| match error {
            StepsError::Empty => list.error(steps.allowed),
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

    fn read_step(at: &Cursor<'_>) -> Result<(Time, Rate), ScenarioError> {
        let items = at.items().unwrap_or_default();
        let [time, rate] = &items[..] else {
            return Err(at.error(Self::STEP));
        };
        let value: Rate = rate.unit()?;
        if value > RATE.most || value < RATE.least && value != Rate::default() {
            return Err(rate.error(format!("{}, or 0bps", RATE.allowed)));
        }
        Ok((time.unit()?, value))
    }
}

/// Where the time of a step stands.
fn time_of<'a>(step: &Cursor<'a>) -> Cursor<'a> {
    let first = step.items().and_then(|items| items.into_iter().next());
    first.unwrap_or_else(|| step.clone())
}

impl Form<LinkRate> for RateForm {
    fn read(&self, at: &Cursor<'_>, context: &Context<'_>) -> Result<LinkRate, ScenarioError> {
        if at.entries().is_err() {
            return Ok((RATE.read(at, context)?, None));
        }
        let steps = Self::read_steps(at)?;
        Ok(match steps.constant() {
            Some(rate) => (rate, None),
            None => (Rate::default(), Some(Arc::new(steps))),
        })
    }

    fn write(&self, (rate, steps): &LinkRate, context: &Context<'_>) -> Option<Value> {
        let Some(steps) = steps else {
            return RATE.write(rate, context);
        };
        let list = steps.steps();
        let list: Vec<_> = list
            .map(|(begin, rate)| [begin.to_string(), rate.to_string()])
            .collect();
        let mut table = json!({ "steps": list });
        if let Some(repeat) = steps.repeat() {
            table["repeat"] = repeat.to_string().into();
        }
        Some(table)
    }

    fn grammar(&self) -> Grammar {
        let keys = Self::keys();
        let plain = Form::<Rate>::grammar(&RATE);
        let mut steps = object(&keys);
        steps["oneOf"] = json!([{"required": ["steps"]}, {"required": ["file"]}]);
        let schema = json!({"anyOf": [plain.schema, steps]});
        let allowed = format!("{}, or steps {{ {} }}", plain.allowed, Self::EXAMPLE);
        Grammar::new(schema, allowed).with_keys(keys.into())
    }
}

impl Link {
    /// Averages a rate that changes: over a period, or where it does not repeat over the run.
    pub(crate) fn average_rate(
        &mut self,
        table: &Cursor<'_>,
        run: &RunPlan,
    ) -> Result<(), ScenarioError> {
        let Some(steps) = &self.steps else {
            return Ok(());
        };
        let at = table.get("rate").unwrap_or_else(|| table.clone());
        let over = steps.repeat().unwrap_or(run.end());
        self.rate = Rate::from_bits_per_second(steps.mean(Time::ZERO, over).round() as u64);
        if self.rate < RATE.least {
            let found = format!("an average of {} over {over}", self.rate);
            return Err(at.error_found(found, "an average of 1kbps at least"));
        }
        if steps.mean(run.warmup, run.end()) == 0.0 {
            let found = format!(
                "0bps from {} to {}, all that is measured",
                run.warmup,
                run.end()
            );
            return Err(at.error_found(found, "a rate above 0bps in the measured time"));
        }
        Ok(())
    }

    /// The highest rate.
    pub fn highest_rate(&self) -> Rate {
        self.steps
            .as_ref()
            .map_or(self.rate, |steps| steps.highest())
    }

    /// The lowest rate, zero in an outage.
    pub fn lowest_rate(&self) -> Rate {
        self.steps
            .as_ref()
            .map_or(self.rate, |steps| steps.lowest())
    }

    /// Mean rate between two times, in bits per second.
    pub fn mean_rate(&self, from: Time, to: Time) -> f64 {
        let constant = self.rate.as_bits_per_second() as f64;
        self.steps
            .as_ref()
            .map_or(constant, |steps| steps.mean(from, to))
    }
}

impl Scenario {
    /// A remark for each link whose rate changes: what is of its average.
    ///
    /// ```
    /// use forebay_scenario::{Format, Scenario};
    ///
    /// let text = r#"
    ///     [link]
    ///     rate = { steps = [["0s", "50Mbps"], ["10s", "5Mbps"]], repeat = "20s" }
    ///     buffer = "1BDP"
    ///     [[flows]]
    ///     rtt = "100ms"
    /// "#;
    /// let scenario = Scenario::parse(text, Format::Toml, "changing.toml", &[])?;
    /// assert_eq!(scenario.target().rate.to_string(), "27.5Mbps");
    /// assert_eq!(scenario.buffer().bytes, 27.5e6 / 8.0 * 0.1);
    /// assert!(scenario.averages()[0].text.contains("27.5Mbps"));
    /// # Ok::<(), forebay_scenario::ScenarioError>(())
    /// ```
    pub fn averages(&self) -> Vec<Warning> {
        let remark = |link: &Link| {
            let over = match link.steps.as_ref()?.repeat() {
                Some(period) => format!("its period of {period}"),
                None => format!("the run of {}", self.run().end()),
            };
            let text = format!(
                "the rate of `{}` changes: its BDP, and its buffers in time or BDP, are of the average over {over}, {}",
                link.name, link.rate
            );
            let warning = Warning::new(WarningKind::AverageRate, text).about(&link.name);
            Some(warning.with("average_bps", link.rate.as_bits_per_second() as f64))
        };
        self.links().iter().filter_map(remark).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::Format;
    use crate::overrides::Override;

    fn with_rate(rate: &str) -> Result<Scenario, ScenarioError> {
        let text = format!(
            "[link]\nrate = {rate}\nbuffer = \"1BDP\"\n[[flows]]\nrtt = \"100ms\"\n\
             [run]\nwarmup = \"10s\"\nmeasure = \"30s\""
        );
        Scenario::parse(&text, Format::Toml, "x.toml", &[])
    }

    /// Steps by their own key take the place of a rate; what is set is what would stand there.
    #[test]
    fn steps_may_be_set_where_there_was_a_rate() {
        let changed = |text: &str| {
            let changes = [Override::parse(text).unwrap()];
            with_rate("\"7Mbps\"").unwrap().with(&changes)
        };
        let steps = r#"[["0s", "1Mbps"], ["1s", "3Mbps"]]"#;
        let found = changed(&format!("link.rate.steps={steps}")).unwrap();
        let whole = with_rate(&format!("{{ steps = {steps} }}")).unwrap();
        assert_eq!(found.target().steps, whole.target().steps);
        assert_eq!(found.target().rate, whole.target().rate);
        let refusal = changed("link.rate.repeat=20s").unwrap_err().to_string();
        assert!(refusal.contains("rate: found no `steps`"), "{refusal}");
        let refusal = changed("link.rate.file=x.csv").unwrap_err().to_string();
        assert!(refusal.contains("allowed: a file beside"), "{refusal}");
    }

    #[test]
    fn what_is_no_rate_in_steps_is_refused_in_a_line() {
        for (rate, found) in [
            ("{}", "link.rate: found no `steps`"),
            ("{ steps = [] }", "link.rate.steps: found a list of 0"),
            ("{ steps = 3 }", "link.rate.steps: found `3`"),
            ("{ steps = [3] }", "link.rate.steps[0]: found `3`"),
            ("{ steps = [[\"0s\"]] }", "a step [time, rate]"),
            (
                "{ steps = [[\"1s\", \"1Mbps\"]] }",
                "link.rate.steps[0][0]: found `1s`; allowed: 0s, where",
            ),
            (
                "{ steps = [[\"-1s\", \"1Mbps\"]] }",
                "link.rate.steps[0][0]",
            ),
            (
                "{ steps = [[\"0s\", \"-1Mbps\"]] }",
                "link.rate.steps[0][1]",
            ),
            (
                "{ steps = [[\"0s\", \"1bps\"]] }",
                "1kbps to 100Tbps, or 0bps",
            ),
            (
                "{ steps = [[\"0s\", \"1000Tbps\"]] }",
                "1kbps to 100Tbps, or 0bps",
            ),
            (
                "{ steps = [[\"0s\", \"1Mbps\"], [\"2s\", \"2Mbps\"], [\"1s\", \"3Mbps\"]] }",
                "link.rate.steps[2][0]: found `1s`; allowed: a time after 2s, the step before",
            ),
            (
                "{ steps = [[\"0s\", \"1Mbps\"], [\"2s\", \"2Mbps\"]], repeat = \"2s\" }",
                "link.rate.repeat: found `2s`; allowed: a time later than the last step, which is at 2s",
            ),
            (
                "{ steps = [[\"0s\", \"0bps\"]], repeat = \"2s\" }",
                "0bps for ever",
            ),
            (
                "{ steps = [[\"0s\", \"1Mbps\"], [\"2s\", \"0bps\"]] }",
                "0bps for ever",
            ),
            (
                "{ steps = [[\"0s\", \"0bps\"], [\"50s\", \"1Mbps\"]] }",
                "an average of 0bps over 40s",
            ),
            (
                "{ steps = [[\"0s\", \"1Mbps\"], [\"9s\", \"0bps\"], [\"50s\", \"1Mbps\"]] }",
                "all that is measured",
            ),
            ("{ steps = [[\"0s\", \"1Mbps\"]], again = \"2s\" }", "again"),
        ] {
            let error = with_rate(rate).unwrap_err().to_string();
            assert!(error.contains(found), "{rate}: {error}");
            assert!(
                error.starts_with("x.toml:2: link.rate") && !error.contains('\n'),
                "{error}"
            );
        }
    }

    /// The average over a period, or over the run, is the integral of the rate over its time, by hand.
    #[test]
    fn the_average_is_that_of_a_period_or_of_the_run() {
        let steps = "steps = [[\"0s\", \"50Mbps\"], [\"10s\", \"5Mbps\"]]";
        for (rate, megabits) in [
            (format!("{{ {steps} }}"), (500.0 + 30.0 * 5.0) / 40.0),
            (
                format!("{{ {steps}, repeat = \"12s\" }}"),
                (500.0 + 2.0 * 5.0) / 12.0,
            ),
        ] {
            let scenario = with_rate(&rate).unwrap();
            let link = scenario.target();
            let bits = link.rate.as_bits_per_second() as f64;
            assert!((bits - megabits * 1e6).abs() <= 0.5, "{rate}: {bits}");
            assert_eq!(scenario.buffer().bytes, (bits / 8.0 * 0.1).floor());
            assert_eq!(
                (
                    link.highest_rate().to_string(),
                    link.lowest_rate().to_string()
                ),
                ("50Mbps".into(), "5Mbps".into())
            );
            let remarks = scenario.averages();
            assert_eq!(remarks[0].values["average_bps"], bits);
        }
        assert!(with_rate("\"5Mbps\"").unwrap().averages().is_empty());
    }

    #[test]
    fn the_canonical_form_reads_back_and_takes_changes() {
        let steps = "{ steps = [[\"0s\", \"50Mbps\"], [\"1s\", \"50Mbps\"], [\"10s\", \"0bps\"]], repeat = \"20s\" }";
        let scenario = with_rate(steps).unwrap();
        let json = scenario.canonical_json();
        assert!(
            json.contains(r#""rate":{"steps":[["0ps","50Mbps"],["10s","0bps"]],"repeat":"20s"}"#),
            "{json}"
        );
        let again = Scenario::parse(&json, Format::Json, "y", &[]).unwrap();
        assert_eq!((again.sha256(), &again), (scenario.sha256(), &scenario));
        let with = |change: &str| scenario.with(&[Override::parse(change).unwrap()]);
        assert!(with("link.rate=7Mbps").unwrap().target().steps.is_none());
        assert_eq!(
            with("link.rate.repeat=25s")
                .unwrap()
                .target()
                .rate
                .to_string(),
            "20Mbps"
        );
        assert!(with("link.rate.repeat=5s").is_err());
        let constant = with_rate("\"50Mbps\"").unwrap();
        let one = with_rate("{ steps = [[\"0s\", \"50Mbps\"], [\"3s\", \"50Mbps\"]] }").unwrap();
        assert_eq!((one.sha256(), &one), (constant.sha256(), &constant));
    }
}
