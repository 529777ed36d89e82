//! Rates of links, which are constant or change with time. The table of a link reads them.

use std::sync::Arc;

use forebay_units::{Opportunities, OpportunitiesError, Rate, RateSteps};
use serde_json::{Value, json};

use crate::model::varying::{Markov, MarkovState, RATE, Varying};
use crate::text::cursor::Cursor;
use crate::text::form::words;
use crate::text::form::{List, Table, Words};
use crate::text::grammar::object;
use crate::text::grammar::{Grammar, KeyText};
use crate::text::keys::{Context, Form};
use crate::text::naming::shortened;
use crate::text::step_list::{StepList, written};
use crate::text::tree::ScenarioError;

words! {
    /// How a trace of opportunities is played.
    pub(crate) enum Played {
        /// Each line is an instant at which 1,504 bytes may leave; unused bytes are lost.
        Opportunities = "opportunities",
        /// The mean rate of each 100 ms, as steps.
        Rate = "rate",
    }
}

#[expect(
    clippy::derivable_impls,
    reason = "`words!` takes no attributes of variants"
)]
impl Default for Played {
    fn default() -> Self {
        Self::Opportunities
    }
}

/// A rate, and how it changes where it does.
pub(crate) type LinkRate = (Rate, Option<Varying>);

/// The form of a link's rate: a rate, or steps. The average of steps is known when the run is.
pub(crate) struct RateForm;

impl RateForm {
    /// The descriptions of its keys.
    fn keys() -> [KeyText; 7] {
        let [steps, repeat] =
            STEPS.keys(
                "List of [time, rate]: each rate lasts from its time to the next. The first time is 0s, and a rate \
                    of 0bps is an outage.",
            );
        let file = |allowed: &str| Grammar::new(json!({"type": "string"}), allowed);
        [
            steps,
            repeat,
            KeyText::of(
                "file",
                "CSV file beside the scenario with the steps, in place of `steps`. Its first line is, for example, \
                    \"time_s,rate_Mbps\".",
                file("the name of a CSV file"),
            ),
            KeyText::of(
                "markov",
                "States of a Markov chain, each with a rate and an exponentially distributed duration; the next state \
                    is any of the others with equal probability.",
                Form::<Vec<MarkovState>>::grammar(&STATES),
            ),
            KeyText::of(
                "mahimahi",
                "Mahimahi trace beside the scenario: each line is a millisecond at which up to 1,504 bytes leave. It \
                    repeats.",
                file("the name of a trace of Mahimahi's"),
            ),
            KeyText::of(
                "opportunities",
                "Milliseconds of the trace itself, in place of `mahimahi`.",
                file("milliseconds such as \"1 1 4\", in order"),
            ),
            KeyText::of(
                "as",
                "Meaning of the trace.",
                Form::<Played>::grammar(&Words),
            ),
        ]
    }

    fn read_varying(at: &Cursor<'_>, context: &Context<'_>) -> Result<Varying, ScenarioError> {
        for name in ["file", "mahimahi"] {
            if let Some(file) = at.get(name) {
                // The caller that reads files replaces this key by their content.
                return Err(
                    file.error("a file beside a scenario that is a file itself, or `steps`")
                );
            }
        }
        if let Some(states) = at.get("markov") {
            at.only(&["markov"])?;
            let found = STATES.read(&states, context)?;
            return Markov::new(found)
                .map(Varying::Markov)
                .map_err(|allowed| states.error(allowed));
        }
        if let Some(list) = at.get("opportunities") {
            at.only(&["opportunities", "as"])?;
            let played = at
                .get("as")
                .map(|word| Words.read(&word, context))
                .transpose()?;
            return read_opportunities(&list, played.unwrap_or_default());
        }
        let steps = STEPS.steps(at, RateSteps::new)?;
        at.only(&["steps", "repeat"])?;
        Ok(Varying::Steps(Arc::new(steps)))
    }

    fn read_rate(at: &Cursor<'_>) -> Result<Rate, ScenarioError> {
        let value: Rate = at.unit()?;
        if value > RATE.most || value < RATE.least && value != Rate::default() {
            return Err(at.error(format!("{}, or 0bps", RATE.allowed)));
        }
        Ok(value)
    }
}

/// Steps of a rate.
const STEPS: StepList<Rate> = StepList {
    of: "rate",
    example: "[[\"0s\", \"50Mbps\"], [\"10s\", \"5Mbps\"]]",
    read: RateForm::read_rate,
};

/// The states of a Markov rate.
const STATES: List<Table> = List {
    of: Table,
    least: 2,
    allowed: "two to 1000 states { rate = \"50Mbps\", mean_time = \"2s\" }",
};

/// Opportunities, or the steps that they are on average.
fn read_opportunities(list: &Cursor<'_>, played: Played) -> Result<Varying, ScenarioError> {
    use OpportunitiesError::{AllAtZero, Empty, NoTime, TooMany, Unsorted};
    const ALLOWED: &str = "milliseconds such as \"1 1 4\", in order";
    let text = list.text().ok_or_else(|| list.error(ALLOWED))?;
    let parsed: Result<Opportunities, _> = text.parse();
    let opportunities = parsed.map_err(|error| {
        let word = |number: usize| {
            text.split_ascii_whitespace()
                .nth(number)
                .unwrap_or_default()
        };
        let told = |number| {
            format!(
                "`{}`, number {} of them",
                shortened(word(number)),
                number + 1
            )
        };
        match error {
            Empty => list.error_found("no opportunity", "at least one"),
            NoTime(number) => {
                list.error_found(told(number), "whole milliseconds, from 0 to 4294967295")
            }
            Unsorted(number) => list.error_found(
                told(number),
                format!("{} at least, the one before", word(number - 1)),
            ),
            AllAtZero => list.error_found(
                "opportunities at 0 only",
                "a last one above 0, at which they restart",
            ),
            TooMany => list.error_found("too many opportunities", "at most 4 million"),
        }
    })?;
    Ok(match played {
        Played::Opportunities => Varying::Opportunities(Arc::new(opportunities)),
        Played::Rate => {
            let steps = opportunities.smoothed(Opportunities::WINDOW);
            Varying::Steps(Arc::new(steps.ok_or_else(|| {
                list.error_found("hardly an opportunity", "an average of 1kbps at least")
            })?))
        }
    })
}

impl Form<LinkRate> for RateForm {
    fn read(&self, at: &Cursor<'_>, context: &Context<'_>) -> Result<LinkRate, ScenarioError> {
        if at.entries().is_err() {
            return Ok((RATE.read(at, context)?, None));
        }
        Ok(match Self::read_varying(at, context)? {
            Varying::Steps(steps) if steps.constant().is_some() => {
                (steps.constant().unwrap_or_default(), None)
            }
            varying => (Rate::default(), Some(varying)),
        })
    }

    fn write(&self, (rate, varying): &LinkRate, context: &Context<'_>) -> Option<Value> {
        Some(match varying {
            None => return RATE.write(rate, context),
            Some(Varying::Steps(steps)) => {
                if let Some(rate) = steps.constant() {
                    // Only the outages change the rate.
                    return RATE.write(&rate, context);
                }
                written(steps.steps(), steps.repeat())
            }
            Some(Varying::Markov(markov)) => {
                json!({ "markov": STATES.write(&markov.states, context)? })
            }
            Some(Varying::Opportunities(list)) => json!({ "opportunities": list.to_string() }),
        })
    }

    fn grammar(&self) -> Grammar {
        let keys = Self::keys();
        let plain = Form::<Rate>::grammar(&RATE);
        let mut steps = object(&keys);
        let kinds = ["steps", "file", "markov", "mahimahi", "opportunities"];
        steps["oneOf"] = kinds.map(|kind| json!({ "required": [kind] })).into();
        let schema = json!({"anyOf": [plain.schema, steps]});
        let allowed = format!("{}, or {{ steps = {} }}", plain.allowed, STEPS.example);
        Grammar::new(schema, allowed).with_keys(keys.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::scenario::Scenario;
    use crate::text::overrides::Override;
    use crate::text::tree::Format;

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
                "in the whole measured time",
            ),
            ("{ steps = [[\"0s\", \"1Mbps\"]], again = \"2s\" }", "again"),
            (
                "{ mahimahi = \"a.up\" }",
                "link.rate.mahimahi: found `a.up`; allowed: a file beside",
            ),
            (
                "{ markov = [] }",
                "link.rate.markov: found a list of 0; allowed: two to 1000 states",
            ),
            (
                "{ markov = [{ rate = \"1Mbps\", mean_time = \"1s\" }] }",
                "two to 1000 states",
            ),
            (
                "{ markov = [{ rate = \"0bps\", mean_time = \"1s\" }, { rate = \"0bps\", mean_time = \"2s\" }] }",
                "a rate above 0bps in one state",
            ),
            (
                "{ markov = [{ rate = \"1bps\", mean_time = \"1s\" }, { rate = \"1Mbps\", mean_time = \"2s\" }] }",
                "1kbps to 100Tbps, or 0bps",
            ),
            (
                "{ markov = [{ rate = \"1Mbps\", mean_time = \"1us\" }, { rate = \"2Mbps\", mean_time = \"2us\" }] }",
                "about 26666667 changes of the rate in 40s; allowed: at most a million",
            ),
            (
                "{ markov = [{ rate = \"1Mbps\" }, { rate = \"2Mbps\" }] }",
                "mean_time",
            ),
            (
                "{ opportunities = \"\" }",
                "found no opportunity; allowed: at least one",
            ),
            ("{ opportunities = 3 }", "milliseconds such as"),
            (
                "{ opportunities = \"1 x 3\" }",
                "found `x`, number 2 of them; allowed: whole milliseconds",
            ),
            (
                "{ opportunities = \"1 3 2\" }",
                "found `2`, number 3 of them; allowed: 3 at least",
            ),
            ("{ opportunities = \"0 0\" }", "opportunities at 0 only"),
            (
                "{ opportunities = \"1 4000000\" }",
                "an average of 6bps over 4000s; allowed: an average of 1kbps",
            ),
            (
                "{ opportunities = \"1 2\", as = \"rat\" }",
                "link.rate.as: unknown as `rat`; did you mean `rate`",
            ),
            ("{ opportunities = \"1 2\", repeat = \"2s\" }", "repeat"),
        ] {
            let error = with_rate(rate).unwrap_err().to_string();
            assert!(error.contains(found), "{rate}: {error}");
            assert!(
                error.starts_with("x.toml:2: link.rate") && !error.contains('\n'),
                "{error}"
            );
        }
    }

    /// The average over a period, or over the run, is the integral of the rate over its time, by
    /// hand.
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
            let notes = scenario.averages();
            assert_eq!(notes[0].values["average_bps"], bits);
        }
        assert!(with_rate("\"5Mbps\"").unwrap().averages().is_empty());
    }

    /// Opportunities as they are or as a rate, and states that are drawn, are written as they were
    /// read.
    #[test]
    fn what_is_no_steps_reads_back() {
        let markov = "{ markov = [{ rate = \"50Mbps\", mean_time = \"2s\" }, { rate = \"5Mbps\", mean_time = \"1s\" }] }";
        for (rate, average) in [
            (markov, "35Mbps"),
            ("{ opportunities = \"0  1 \\n 2\" }", "18.048Mbps"),
            (
                "{ opportunities = \"1 2\", as = \"opportunities\" }",
                "12.032Mbps",
            ),
            (
                "{ opportunities = \"1 150\", as = \"rate\" }",
                "160.427kbps",
            ),
        ] {
            let scenario = with_rate(rate).unwrap();
            assert_eq!(scenario.target().rate.to_string(), average, "{rate}");
            let json = scenario.canonical_json();
            let again = Scenario::parse(&json, Format::Json, "y", &[]).unwrap();
            assert_eq!((again.sha256(), &again), (scenario.sha256(), &scenario));
            assert_eq!(scenario.averages().len(), 1);
        }
        let smooth = with_rate("{ opportunities = \"1 150\", as = \"rate\" }").unwrap();
        let steps = smooth.target().steps.clone().unwrap();
        let found: Vec<_> = steps
            .steps()
            .map(|(at, rate)| (at.to_string(), rate.to_string()))
            .collect();
        let step = |at: &str, rate: &str| (at.to_owned(), rate.to_owned());
        // 1,504 bytes in 100 ms, and in 50 ms.
        assert_eq!(
            found,
            [step("0ps", "120.32kbps"), step("100ms", "240.64kbps")]
        );
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
