//! What is not known of the traffic: numbers of flows and common round-trip times that every
//! replication draws anew. The scenario itself keeps their means; engines only ever see draws.

use std::borrow::Cow;

use forebay_random::{Purpose, Seed, Stream};
use forebay_units::Time;
use serde_json::{Value, json};

use crate::cursor::Cursor;
use crate::flows::{FlowGroup, MAX_FLOWS};
use crate::keys::{Context, Form, Grammar};
use crate::law::Law;
use crate::node::ScenarioError;
use crate::scenario::Scenario;
use crate::workload::Workload;

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
                Err(cursor.unknown("law", kind, known))
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
    fn draw(&self, stream: &mut Stream) -> u64 {
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
    let law = |name: &str, argument: Value| json!({"type": "object", "additionalProperties": false, "properties": {name: argument}});
    let mean = json!({"type": "number", "minimum": 0.1, "maximum": MOST_POISSON});
    json!({"oneOf": [
        whole(), law("poisson", mean), law("uniform", list(2)), law("choice", list(1)),
    ]})
}

impl FlowGroup {
    /// Whether replications draw this group's number of flows or round-trip time.
    pub fn uncertain(&self) -> bool {
        self.common_rtt || !matches!(self.count_law, FlowCount::Fixed(_))
    }

    /// The group of one replication, which its `number` among the groups and the seed determine.
    fn drawn(&self, number: u64, seed: Seed) -> Self {
        let mut group = self.clone();
        let count = self.drawn_count(number, seed);
        group.count = count;
        group.count_law = FlowCount::Fixed(count);
        match &mut group.workload {
            Workload::ClosedLoop { users, .. } => *users = count,
            Workload::Incast { servers, .. } => *servers = count,
            _ => {}
        }
        if let Some(rtt) = self.drawn_rtt(number, seed) {
            group.rtt = Law::Value(rtt);
            group.common_rtt = false;
        }
        group
    }

    /// The number of flows that the replication of this seed draws for this group, the scenario's group of
    /// this `number`.
    pub fn drawn_count(&self, number: u64, seed: Seed) -> u64 {
        match self.count_law {
            FlowCount::Fixed(count) => count,
            _ => self
                .count_law
                .draw(&mut Stream::new(seed, number, Purpose::FlowCount)),
        }
    }

    /// The common round-trip time that the replication of this seed draws for this group, likewise; none
    /// where the flows have no common one.
    pub fn drawn_rtt(&self, number: u64, seed: Seed) -> Option<Time> {
        self.common_rtt.then(|| {
            let mut stream = Stream::new(seed, number, Purpose::CommonRoundTrip);
            self.rtt.draw(0, 1, &mut stream).max(Time::from_micros(1))
        })
    }
}

impl Scenario {
    /// Whether replications differ in more than their random traffic.
    pub fn uncertain(&self) -> bool {
        self.flows().iter().any(FlowGroup::uncertain)
    }

    /// The scenario of one replication: itself where everything is known. The buffer stays as it
    /// was resolved, whatever bandwidth-delay product the draws have.
    pub fn drawn(&self, seed: Seed) -> Cow<'_, Self> {
        if !self.uncertain() {
            return Cow::Borrowed(self);
        }
        let groups = self.flows().iter().enumerate();
        Cow::Owned(
            self.with_groups(
                groups
                    .map(|(number, group)| group.drawn(number as u64, seed))
                    .collect(),
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::Format;

    const LINK: &str = "[link]\nrate = \"50Mbps\"\nbuffer = \"0.5BDP\"\n";

    fn scenario(group: &str) -> Scenario {
        let text = format!("{LINK}[[flows]]\n{group}\n");
        Scenario::parse(&text, Format::Toml, "test.toml", &[]).unwrap()
    }

    fn refused(group: &str) -> String {
        let text = format!("{LINK}[[flows]]\n{group}\n");
        let error = Scenario::parse(&text, Format::Toml, "test.toml", &[]).unwrap_err();
        error.to_string()
    }

    fn counts(scenario: &Scenario, draws: u64) -> Vec<f64> {
        let seed = |replication| Seed {
            seed: 1,
            replication,
        };
        (0..draws)
            .map(|replication| scenario.drawn(seed(replication)).flows()[0].count as f64)
            .collect()
    }

    fn moments(values: &[f64]) -> (f64, f64) {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let square = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
        (mean, square / (n - 1.0))
    }

    #[test]
    fn draws_have_the_moments_of_their_law() {
        let rtt = "rtt = \"50ms\"";
        // Variances: the mean; (n^2 - 1)/12; over 4,000 draws within four standard errors.
        for (law, mean, variance) in [
            ("{ poisson = 40 }", 40.0, 40.0),
            ("{ uniform = [20, 60] }", 40.0, (41.0 * 41.0 - 1.0) / 12.0),
            ("{ choice = [10, 70] }", 40.0, 900.0),
        ] {
            let scenario = scenario(&format!("{rtt}\ncount = {law}"));
            assert!(scenario.uncertain());
            assert_eq!(scenario.flows()[0].count, 40);
            let (found_mean, found_variance) = moments(&counts(&scenario, 4000));
            let error = f64::sqrt(variance / 4000.0);
            assert!(
                (found_mean - mean).abs() < 4.0 * error,
                "{law}: {found_mean}"
            );
            assert!(
                (found_variance / variance - 1.0).abs() < 0.1,
                "{law}: {found_variance}"
            );
        }
    }

    #[test]
    fn a_replication_draws_the_same_whatever_the_buffer() {
        let one = scenario("rtt = \"50ms\"\ncount = { poisson = 40 }");
        let buffer = crate::link::BufferSize::Packets(7);
        let other = one.with_buffer(buffer).unwrap();
        assert_eq!(counts(&one, 20), counts(&other, 20));
        assert_ne!(counts(&one, 2)[0], counts(&one, 2)[1]);
    }

    #[test]
    fn a_common_round_trip_is_one_for_all_flows_of_a_replication() {
        let law = "{ common = { uniform = [\"20ms\", \"80ms\"] } }";
        let scenario = scenario(&format!("count = 3\nrtt = {law}"));
        let harmonic = scenario.harmonic_rtt().unwrap();
        assert!(
            (harmonic - 0.06 / libm::log(4.0)).abs() < 1e-12,
            "from the law: {harmonic}"
        );
        let mut seen = Vec::new();
        for replication in 0..50 {
            let drawn = scenario.drawn(Seed {
                seed: 1,
                replication,
            });
            assert_eq!(drawn.buffer().bytes, scenario.buffer().bytes);
            let Law::Value(rtt) = drawn.flows()[0].rtt else {
                panic!("not one value")
            };
            assert!((0.02..=0.08).contains(&rtt.as_secs_f64()));
            seen.push(rtt);
        }
        seen.dedup();
        assert_eq!(seen.len(), 50);
    }

    #[test]
    fn users_of_a_closed_loop_are_drawn() {
        let workload =
            "{ closed_loop = { users = { uniform = [5, 9] }, think = \"1s\", size = \"9kB\" } }";
        let scenario = scenario(&format!("rtt = \"50ms\"\nworkload = {workload}"));
        let drawn = scenario.drawn(Seed {
            seed: 1,
            replication: 3,
        });
        let Workload::ClosedLoop { users, .. } = drawn.flows()[0].workload else {
            panic!()
        };
        assert_eq!(users, drawn.flows()[0].count);
        assert!((5..=9).contains(&users));
    }

    #[test]
    fn what_is_read_is_what_is_written() {
        for group in [
            "rtt = \"50ms\"\ncount = { poisson = 40 }",
            "rtt = { common = { choice = [\"20ms\", \"80ms\"] } }\ncount = { uniform = [2, 3] }",
            "rtt = \"50ms\"\nworkload = { closed_loop = { users = { poisson = 7 }, think = \"1s\", size = \"9kB\" } }",
        ] {
            let once = scenario(group);
            let again = Scenario::parse(&once.canonical_json(), Format::Json, "again", &[]);
            assert_eq!(once, again.unwrap(), "{}", once.canonical_json());
        }
    }

    #[test]
    fn what_is_certain_is_not_drawn() {
        let scenario = scenario("rtt = { uniform = [\"20ms\", \"80ms\"] }\ncount = 4");
        assert!(!scenario.uncertain());
        assert!(matches!(scenario.drawn(Seed::default()), Cow::Borrowed(_)));
    }

    #[test]
    fn mistakes_name_what_was_found_and_what_is_allowed() {
        for (group, complaint) in [
            (
                "rtt = \"9ms\"\ncount = { poisson = 0 }",
                "flows[0].count.poisson: found `0`",
            ),
            ("rtt = \"9ms\"\ncount = { poisson = 2e6 }", "0.1 to 1000000"),
            (
                "rtt = \"9ms\"\ncount = { uniform = [9, 3] }",
                "the smaller first",
            ),
            ("rtt = \"9ms\"\ncount = { uniform = [0, 3] }", "from 1 to"),
            (
                "rtt = \"9ms\"\ncount = { normal = 3 }",
                "unknown law `normal`",
            ),
            ("rtt = \"9ms\"\ncount = \"many\"", "{ poisson = 40 }"),
            ("rtt = \"9ms\"\ncount = {}", "{ poisson = 40 }"),
            (
                "rtt = [\"9ms\"]\ncount = { poisson = 3 }",
                "no list beside a count that is drawn",
            ),
            ("rtt = { common = [\"9ms\"] }", "not a list or linspace"),
            (
                "rtt = { common = { uniform = [\"0s\", \"9ms\"] } }",
                "above 0s",
            ),
        ] {
            let message = refused(group);
            assert!(message.contains(complaint), "{group}: {message}");
        }
    }
}
