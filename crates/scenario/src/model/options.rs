//! How long a scenario is simulated (`[run]`), what is recorded (`[trace]`), and the options of the
//! fluid engine (`[fluid]`).

use forebay_units::Time;
use serde_json::{Value, json};

use crate::text::cursor::Cursor;
use crate::text::form::words;
use crate::text::form::{Any, List, Maybe, Number, Switch, WholeNumber, Within, Words};
use crate::text::grammar::Grammar;
use crate::text::grammar::{entry, required, words as one_of};
use crate::text::keys::{Context, Form, Section, keys};
use crate::text::tree::ScenarioError;

keys! {
    /// How long and how often a scenario is simulated (`[run]`).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct RunPlan {
        /// Simulated time before the measured time.
        warmup: Time = Time::from_secs(10), always(WARMUP);
        /// Measured time, after the warm-up.
        measure: Time = Time::from_secs(60), always(MEASURE);
        /// Seed of all random streams.
        seed: u64 = 1, always(WholeNumber(0, i64::MAX as u64));
        /// Number of independent replications.
        replications: u64 = 1, always(WholeNumber(1, 1_000_000));
    }
}

impl RunPlan {
    /// When a run ends: warm-up and measured time after its beginning.
    pub fn end(&self) -> Time {
        self.warmup + self.measure
    }
}

const LONGEST: Time = Time::from_secs(100 * 86400);

const WARMUP: Within<Time> = Within {
    least: Time::ZERO,
    most: LONGEST,
    allowed: "a time up to 100d",
};

const MEASURE: Within<Time> = Within {
    least: Time::from_picos(1),
    most: LONGEST,
    allowed: "a time above 0s and up to 100d",
};

keys! {
    /// The records over time (`[trace]`).
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct TraceOptions {
        /// Time between samples.
        every: Time = Time::from_millis(100), always(EVERY);
        /// Kinds of data that are recorded.
        record: Vec<Recorded> = vec![Recorded::Cwnd, Recorded::Queue, Recorded::Utilization],
            always(RECORDS);
        /// Beginning of the recording.
        from: Time = Time::ZERO, always(Any);
        /// End of the recording; without it the end of the run.
        until: Option<Time> = None, key(Maybe(Any));
        /// Side of the target link's queue at which `packets.pcapng` records the packets.
        capture: Capture = Capture::default(), key(Words);
        /// Whether `packets.pcapng` also has the acknowledgments that pass the target link's router
        /// without crossing that link, and the options of TCP headers.
        acknowledgments: bool = false, key(Switch);
    }
}

const EVERY: Within<Time> = Within {
    least: Time::from_micros(1),
    most: Time::MAX,
    allowed: "a time of at least 1us",
};

const RECORDS: List<Words> = List {
    of: Words,
    least: 0,
    allowed: "a list of cwnd, queue, utilization, packets, transfers, pauses",
};

words! {
    /// One kind of record.
    pub enum Recorded {
        /// Window, threshold and round-trip time of each flow.
        Cwnd = "cwnd",
        /// Number of packets that wait at the target link.
        Queue = "queue",
        /// Share of the target link's capacity that was used since the last sample.
        Utilization = "utilization",
        /// Each packet that arrives at the target link, with its delay or loss.
        Packets = "packets",
        /// Every transfer that begins, with its number, size, times and losses.
        Transfers = "transfers",
        /// Every pause of a link or host by a lossless queue, with its beginning and its end.
        Pauses = "pauses",
    }
}

words! {
    /// Where a capture of packets is taken.
    pub enum Capture {
        /// After the queue, when their transmission begins.
        Departures = "departures",
        /// Before the queue, when they arrive, dropped packets included.
        Arrivals = "arrivals",
        /// Both sides, as two interfaces.
        Both = "both",
    }
}

#[expect(
    clippy::derivable_impls,
    reason = "`words!` takes no attributes of variants"
)]
impl Default for Capture {
    fn default() -> Self {
        Self::Departures
    }
}

keys! {
    /// Options of the fluid engine (`[fluid]`).
    #[derive(Clone, Debug, PartialEq)]
    pub struct FluidOptions {
        /// X of Kumar, Azad and Park: the smallest fraction of the flows that lose in each event.
        minimum_synchronization: f64 = 0.3, always(Number(0.0, 1.0));
        /// Distribution of the number of flows that lose in an event.
        law: VictimCountLaw = VictimCountLaw::TruncatedNormal, always(Words);
        /// Flows that lose in an event.
        victims: VictimPolicy = VictimPolicy::HighestRate, always(Victims);
        /// Time over which the means are taken.
        window: MeasurementWindow = MeasurementWindow::WholeCycles, always(Words);
        /// Largest error of the utilization from the integration.
        tolerance: f64 = 1e-4, always(Number(1e-9, 0.1));
        /// Numbers of flows that lost in observed events, for `law = "empirical"`: each event uses
        /// one of them, with equal probability.
        empirical: Vec<u64> = Vec::new(), key(EMPIRICAL);
        /// Variation of unresponsive traffic over time.
        background: BackgroundRate = BackgroundRate::Constant, key(Background);
    }
}

const EMPIRICAL: List<WholeNumber> = List {
    of: WholeNumber(1, 1 << 24),
    least: 1,
    allowed: "a list of numbers of flows",
};

words! {
    /// The law of the number of flows that lose in one congestion event.
    pub enum VictimCountLaw {
        /// Normal distribution around the middle of {ceil(XN)..N}, truncated to it.
        TruncatedNormal = "truncated_normal",
        /// Uniform distribution on {ceil(XN)..N}.
        Uniform = "uniform",
        /// Always ceil(XN).
        Fixed = "fixed",
        /// A list whose numbers have equal probabilities.
        Empirical = "empirical",
        /// No congestion events: the classical model with a continuous loss rate.
        Continuous = "continuous",
    }
}

/// Which flows lose in a congestion event.
#[derive(Clone, Debug, PartialEq)]
pub enum VictimPolicy {
    /// Those with the highest arrival rates.
    HighestRate,
    /// Any, with equal probabilities.
    Random,
    /// Any, with probabilities in proportion to the arrival rates.
    RateProportional,
    /// Those with the largest numbers in a row that has one per persistent flow, ties at random;
    /// event k of a link uses row k modulo their number.
    Priority(Vec<Vec<f64>>),
}

/// The rate of unresponsive traffic over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackgroundRate {
    /// Its mean, always.
    Constant,
    /// Resampled at this interval from a normal distribution, cut off at 0, with the mean and the
    /// variance of the sources' packets in that time.
    Resampled(Time),
}

words! {
    /// Over which time the fluid engine takes its means.
    pub enum MeasurementWindow {
        /// From the first congestion event after the warm-up to the last.
        WholeCycles = "whole_cycles",
        /// The scenario's measured time.
        Fixed = "fixed",
    }
}

impl FluidOptions {
    /// Reads `[fluid]` of a scenario; the context has its number of persistent flows.
    pub(crate) fn read_section(
        table: Option<&Cursor<'_>>,
        context: &Context<'_>,
    ) -> Result<Self, ScenarioError> {
        let Some(table) = table else {
            return Ok(Self::defaults());
        };
        let options = Self::read(table, context)?;
        if options.law == VictimCountLaw::Empirical && options.empirical.is_empty() {
            return Err(table.error_found("no `empirical`", "empirical = [3, 5, ...] beside `law`"));
        }
        Ok(options)
    }
}

/// The form of `victims`: a word, or a table with priorities.
struct Victims;

impl Victims {
    const WORDS: [(&'static str, VictimPolicy); 3] = [
        ("highest_rate", VictimPolicy::HighestRate),
        ("random", VictimPolicy::Random),
        ("rate_proportional", VictimPolicy::RateProportional),
    ];

    fn allowed() -> String {
        let words = Self::WORDS.map(|(word, _)| word);
        format!("{}, {{ priority = [[...]] }}", words.join(", "))
    }
}

impl Form<VictimPolicy> for Victims {
    fn read(&self, at: &Cursor<'_>, context: &Context<'_>) -> Result<VictimPolicy, ScenarioError> {
        let Some(priority) = at.get("priority") else {
            let found = Self::WORDS
                .into_iter()
                .find(|(word, _)| at.text() == Some(word));
            let found = found.map(|(_, policy)| policy);
            return found.ok_or_else(|| match at.text() {
                Some(text) => {
                    let words = Self::WORDS.map(|(word, _)| word);
                    let known = words.into_iter().chain(["priority"]);
                    at.unknown("victims", text, known)
                }
                None => at.error(Self::allowed()),
            });
        };
        at.only(&["priority"])?;
        let persistent = context.persistent;
        let allowed =
            format!("rows of {persistent} numbers, one per persistent flow, as in [[3, 2, 1]]");
        let rows = priority.items().filter(|rows| !rows.is_empty());
        let rows = rows.ok_or_else(|| priority.error(allowed.as_str()))?;
        let row = |row: &Cursor<'_>| {
            let items = row.items().filter(|items| items.len() as u64 == persistent);
            let items = items.ok_or_else(|| row.error(allowed.as_str()))?;
            items
                .iter()
                .map(|item| item.number_in(-1e300, 1e300))
                .collect()
        };
        let rows = rows.iter().map(row).collect::<Result<_, _>>()?;
        Ok(VictimPolicy::Priority(rows))
    }

    fn write(&self, policy: &VictimPolicy, _: &Context<'_>) -> Option<Value> {
        if let VictimPolicy::Priority(rows) = policy {
            return Some(json!({ "priority": rows }));
        }
        let found = Self::WORDS.into_iter().find(|(_, known)| known == policy);
        found.map(|(word, _)| word.into())
    }

    fn grammar(&self) -> Grammar {
        let row = json!({"type": "array", "items": {"type": "number"}});
        let rows = json!({"type": "array", "minItems": 1, "items": row,
            "description": "rows used in turn, one number per persistent flow; the largest lose"});
        let words = one_of(&Self::WORDS.map(|(word, _)| word));
        let schema = json!({"oneOf": [words, required(&[entry("priority", rows)])]});
        Grammar::new(schema, Self::allowed())
    }
}

/// The form of `background`: constant, or a table with the time between draws.
struct Background;

impl Background {
    const ALLOWED: &'static str =
        "constant, { resampled = \"100ms\" } with a time from 1us to 1e6s";
}

impl Form<BackgroundRate> for Background {
    fn read(&self, at: &Cursor<'_>, _: &Context<'_>) -> Result<BackgroundRate, ScenarioError> {
        let Some(interval) = at.get("redrawn") else {
            return match at.text() {
                Some("constant") => Ok(BackgroundRate::Constant),
                _ => Err(at.error(Self::ALLOWED)),
            };
        };
        at.only(&["redrawn"])?;
        let every: Time = interval.unit()?;
        if every < Time::from_micros(1) || every > Time::from_secs(1_000_000) {
            return Err(interval.error(Self::ALLOWED));
        }
        Ok(BackgroundRate::Resampled(every))
    }

    fn write(&self, rate: &BackgroundRate, _: &Context<'_>) -> Option<Value> {
        Some(match rate {
            BackgroundRate::Constant => "constant".into(),
            BackgroundRate::Resampled(every) => json!({ "redrawn": every.to_string() }),
        })
    }

    fn grammar(&self) -> Grammar {
        let time = Form::<Time>::grammar(&Any).schema;
        let resampled = required(&[entry("resampled", time.clone())]);
        let redrawn = required(&[entry("redrawn", time)]);
        let schema = json!({"oneOf": [one_of(&["constant"]), resampled, redrawn]});
        Grammar::new(schema, Self::ALLOWED)
    }
}
