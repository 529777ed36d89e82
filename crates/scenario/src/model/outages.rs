//! Times at which a link sends nothing: listed, or drawn for each replication. The table of a link
//! reads them.

use forebay_random::{Purpose, Seed, Stream};
use forebay_units::Time;
use serde_json::{Value, json};

use crate::model::distribution::Distribution;
use crate::model::distribution::form::Drawn;
use crate::text::cursor::Cursor;
use crate::text::form::{Maybe, Switch, Unit};
use crate::text::grammar::Grammar;
use crate::text::grammar::object;
use crate::text::keys::{Context, Form, Section, keys};
use crate::text::tree::ScenarioError;

keys! {
    /// When a link sends nothing: what is in transmission goes on, and what waits does so until the
    /// end.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Outages {
        /// List of [beginning, duration] of each outage, in place of `between` and `duration`.
        times: Vec<(Time, Time)> = Vec::new(), key(OutageTimes);
        /// Time from the end of an outage to the next one; the first counts from the beginning of
        /// the run.
        between: Option<Distribution<Time>> = None, key(Maybe(Drawn));
        /// Duration of each outage.
        duration: Option<Distribution<Time>> = None, key(Maybe(Drawn), "lasting");
        /// Whether an outage drops the packets in the queue when it begins.
        flush: bool = false, key(Switch);
    }
}

/// The most outages of a list.
const MOST: usize = 100_000;

/// The times of outages that are listed.
struct OutageTimes;

impl OutageTimes {
    const EXAMPLE: &'static str = "a list of outages [time, how long], as in [[\"30s\", \"2s\"]]";
    const EACH: &'static str = "an outage [time, how long] such as [\"30s\", \"2s\"]";
}

impl Form<Vec<(Time, Time)>> for OutageTimes {
    fn read(&self, at: &Cursor<'_>, _: &Context<'_>) -> Result<Vec<(Time, Time)>, ScenarioError> {
        let items = at.items().filter(|items| (1..=MOST).contains(&items.len()));
        let items = items.ok_or_else(|| at.error(Self::EXAMPLE))?;
        let mut times = Vec::with_capacity(items.len());
        let mut free = Time::ZERO;
        for item in &items {
            let pair = item.items().unwrap_or_default();
            let [begin, lasts] = &pair[..] else {
                return Err(item.error(Self::EACH));
            };
            let (time, long): (Time, Time) = (begin.unit()?, lasts.unit()?);
            if time < free {
                let allowed = format!("{free} at least, the end of the one before");
                return Err(begin.error(allowed));
            }
            if long == Time::ZERO {
                return Err(lasts.error("a time above 0s"));
            }
            times.push((time, long));
            free = time.saturating_add(long);
        }
        Ok(times)
    }

    fn write(&self, times: &Vec<(Time, Time)>, _: &Context<'_>) -> Option<Value> {
        let texts = times
            .iter()
            .map(|(time, long)| [time.to_string(), long.to_string()]);
        Some(
            texts
                .collect::<Vec<_>>()
                .into_iter()
                .map(Vec::from)
                .collect(),
        )
    }

    fn grammar(&self) -> Grammar {
        let pair = json!({
            "type": "array",
            "prefixItems": [Time::schema(), Time::schema()],
            "minItems": 2,
            "maxItems": 2,
        });
        let list = json!({"type": "array", "minItems": 1, "maxItems": MOST, "items": pair});
        Grammar::new(list, Self::EXAMPLE)
    }
}

/// Outages as a link has them: a list of times alone, or a table.
pub(crate) struct OutagesForm;

impl Form<Outages> for OutagesForm {
    fn read(&self, at: &Cursor<'_>, context: &Context<'_>) -> Result<Outages, ScenarioError> {
        if at.items().is_some() {
            return Ok(Outages {
                times: OutageTimes.read(at, context)?,
                ..Outages::NONE
            });
        }
        let outages = Outages::read(at, context)?;
        let drawn = outages.between.is_some() && outages.duration.is_some();
        if outages.times.is_empty() != drawn || outages.between.is_some() != drawn {
            let found = "neither one nor the other";
            return Err(at.error_found(found, "either `times`, or `between` and `duration`"));
        }
        let above_zero = |distribution: &Option<Distribution<Time>>| {
            distribution
                .as_ref()
                .is_none_or(|distribution| distribution.mean() > 0.0)
        };
        if !above_zero(&outages.between) || !above_zero(&outages.duration) {
            return Err(at.error_found("a time of zero", "times above 0s on average"));
        }
        Ok(outages)
    }

    fn write(&self, outages: &Outages, context: &Context<'_>) -> Option<Value> {
        if !outages.any() {
            return None;
        }
        if outages.flush || outages.times.is_empty() {
            return Some(outages.write(context).into());
        }
        OutageTimes.write(&outages.times, context)
    }

    fn grammar(&self) -> Grammar {
        let times = OutageTimes.grammar();
        let texts = Outages::texts();
        let schema = json!({"anyOf": [times.schema, object(&texts)]});
        let allowed = format!(
            "{}, or {{ {} }}",
            OutageTimes::EXAMPLE,
            Outages::documented_names().join(", ")
        );
        Grammar::new(schema, allowed).with_keys(texts)
    }
}

impl Outages {
    /// There are none.
    pub const NONE: Self = Self {
        times: Vec::new(),
        between: None,
        duration: None,
        flush: false,
    };

    /// Whether there are any.
    pub fn any(&self) -> bool {
        !self.times.is_empty() || self.between.is_some()
    }

    /// Whether each replication draws its own.
    pub fn drawn(&self) -> bool {
        self.between.is_some()
    }

    /// Share of a time without them: of this one, or of all time where they are drawn.
    pub fn up(&self, from: Time, to: Time) -> f64 {
        if let (Some(between), Some(duration)) = (&self.between, &self.duration) {
            let (up, down) = (between.mean(), duration.mean());
            // Where either may last without end on average, it does.
            return if up.is_finite() {
                up / (up + down)
            } else {
                1.0
            };
        }
        let within = |&(begin, long): &(Time, Time)| {
            let end = begin.saturating_add(long).min(to);
            end.saturating_sub(begin.max(from)).as_secs_f64()
        };
        let down: f64 = self.times.iter().map(within).sum();
        1.0 - down / (to - from).as_secs_f64()
    }

    /// How many begin in a run, on average where they are drawn.
    pub fn count(&self, end: Time) -> f64 {
        match (&self.between, &self.duration) {
            (Some(between), Some(duration)) => {
                end.as_secs_f64() / (between.mean() + duration.mean())
            }
            _ => self.times.len() as f64,
        }
    }

    /// The beginning and the end of each until `end`, in the replication of this seed at the link
    /// of this number: none begins before the one before has ended.
    pub fn realized(&self, seed: Seed, number: usize, end: Time) -> Vec<(Time, Time)> {
        let (Some(between), Some(duration)) = (&self.between, &self.duration) else {
            let ends = self.times.iter();
            let ends = ends.map(|&(begin, long)| (begin, begin.saturating_add(long)));
            return ends.take_while(|(begin, _)| *begin < end).collect();
        };
        let mut draws = Stream::new(seed, number as u64, Purpose::Outage);
        let (mut now, mut all) = (Time::ZERO, Vec::new());
        // Times that are hardly ever above zero do not hold up a run.
        let tick = Time::from_picos(1);
        for index in 0..MAX_RANDOM_OUTAGES {
            now = now.saturating_add(
                between
                    .draw(index, MAX_RANDOM_OUTAGES, &mut draws)
                    .max(tick),
            );
            if now >= end {
                break;
            }
            let long = duration
                .draw(index, MAX_RANDOM_OUTAGES, &mut draws)
                .max(tick);
            all.push((now, now.saturating_add(long)));
            now = now.saturating_add(long);
        }
        all
    }
}

/// The most outages that are drawn for a run.
const MAX_RANDOM_OUTAGES: u64 = 4_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::scenario::Scenario;
    use crate::text::tree::Format;

    fn outages(text: &str) -> Result<Outages, ScenarioError> {
        let text = format!(
            "[link]\nrate = \"10Mbps\"\nbuffer = \"10p\"\noutages = {text}\n[[flows]]\nrtt = \"20ms\"\n\
             [run]\nmeasure = \"1h\""
        );
        let scenario = Scenario::parse(&text, Format::Toml, "x.toml", &[])?;
        Ok(scenario.target().outages.clone())
    }

    #[test]
    fn what_are_no_outages_is_refused_in_a_line() {
        for (text, found) in [
            ("[]", "a list of outages"),
            ("[[\"3s\"]]", "an outage [time, how long]"),
            ("[[\"3s\", \"0s\"]]", "found `0s`; allowed: a time above 0s"),
            (
                "[[\"3s\", \"2s\"], [\"4s\", \"1s\"]]",
                "found `4s`; allowed: 5s at least",
            ),
            ("[[\"3s\", \"2s\"], [\"1s\", \"1s\"]]", "found `1s`"),
            ("[[\"-3s\", \"2s\"]]", "found `-3s`"),
            ("{ flush = true }", "either `times`, or `between`"),
            ("{ between = \"3s\" }", "either `times`, or `between`"),
            ("{ duration = \"3s\" }", "either `times`, or `between`"),
            (
                "{ times = [[\"3s\", \"1s\"]], between = \"3s\", duration = \"1s\" }",
                "either `times`, or `between`",
            ),
            (
                "{ between = \"3s\", duration = \"0s\" }",
                "times above 0s on average",
            ),
            // All of the run.
            ("[[\"0s\", \"2h\"]]", "0bps"),
        ] {
            let error = outages(text).unwrap_err().to_string();
            assert!(error.contains(found), "{text}: {error}");
            assert!(
                error.starts_with("x.toml:") && !error.contains('\n'),
                "{error}"
            );
        }
        // One may begin as the one before ends.
        outages("[[\"3s\", \"2s\"], [\"5s\", \"1s\"]]").unwrap();
    }

    /// The share of a time without outages is the same as that of many instants.
    #[test]
    fn listed_outages_take_their_share_of_a_time() {
        let list =
            outages("[[\"0s\", \"1s\"], [\"3s\", \"2s\"], [\"5s\", \"1s\"], [\"8s\", \"9s\"]]")
                .unwrap();
        let times = list.realized(Seed::default(), 0, Time::from_secs(9));
        let seconds = [(0, 1), (3, 5), (5, 6), (8, 17)];
        assert_eq!(
            times,
            seconds.map(|(begin, end)| (Time::from_secs(begin), Time::from_secs(end)))
        );
        assert_eq!(list.count(Time::from_secs(9)), 4.0);
        let out = |second| {
            seconds
                .iter()
                .any(|&(begin, end)| begin <= second && second < end)
        };
        for from in 0..20 {
            for to in from + 1..20 {
                let looks = (from..to).filter(|&second| !out(second)).count();
                let up = list.up(Time::from_secs(from), Time::from_secs(to));
                let expected = looks as f64 / (to - from) as f64;
                assert!((up - expected).abs() < 1e-12, "{from} {to}: {up}");
            }
        }
    }

    /// A renewal process: one after the other, as long and as far apart on average as their laws
    /// say, and so as often, and as much of the time (the renewal reward theorem).
    #[test]
    fn drawn_outages_follow_one_another_as_their_laws_say() {
        let text = "{ between = { exponential = \"2s\" }, duration = { uniform = [\"500ms\", \"1500ms\"] } }";
        let drawn = outages(text).unwrap();
        let end = Time::from_secs(60_000);
        let times = drawn.realized(Seed::default(), 0, end);
        let (mut free, mut up, mut down) = (Time::ZERO, 0.0, 0.0);
        for &(begin, over) in &times {
            assert!(free < begin && begin < over && begin < end);
            let lasts = (over - begin).as_secs_f64();
            assert!((0.5..=1.5).contains(&lasts), "{lasts}");
            up += (begin - free).as_secs_f64();
            down += lasts;
            free = over;
        }
        let count = times.len() as f64;
        // Standard errors of a mean are 2 and 0.29 over the root of the count, that of the count
        // itself a cycle's coefficient of variation, 2.02 / 3, times its root.
        assert!((up / count - 2.0).abs() < 4.0 * 2.0 / count.sqrt());
        assert!((down / count - 1.0).abs() < 4.0 * 0.29 / count.sqrt());
        let expected = drawn.count(end);
        assert_eq!(expected, 20_000.0);
        assert!((count - expected).abs() < 4.0 * 0.68 * expected.sqrt());
        let share = drawn.up(Time::ZERO, end);
        assert!((share - 2.0 / 3.0).abs() < 1e-12);
        assert!((up / (up + down) - share).abs() < 0.01);
    }
}
