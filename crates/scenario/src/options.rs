//! Options of single engines: `[fluid]` and `[trace]`.

use forebay_units::Time;
use serde::Serialize;

use crate::node::{Cursor, ScenarioError};

/// Options of the fluid engine (`[fluid]`).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FluidOptions {
    /// X of Kumar, Azad and Park: at least this fraction of the flows loses in each event.
    pub minimum_synchronization: f64,
    /// How many flows lose in an event.
    pub law: VictimCountLaw,
    /// Which flows lose.
    pub victims: VictimPolicy,
    /// Over which time the means are taken.
    pub window: MeasurementWindow,
    /// Largest error of the utilisation that the integrator may make.
    pub tolerance: f64,
    /// Numbers of victims observed in events, for the law `empirical`: each event draws one of them,
    /// all with equal probability.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub empirical: Vec<u64>,
    /// What unresponsive traffic does over time.
    #[serde(skip_serializing_if = "BackgroundRate::is_constant")]
    pub background: BackgroundRate,
}

impl Default for FluidOptions {
    fn default() -> Self {
        Self {
            minimum_synchronization: 0.3,
            law: VictimCountLaw::TruncatedNormal,
            victims: VictimPolicy::HighestRate,
            window: MeasurementWindow::WholeCycles,
            tolerance: 1e-4,
            empirical: Vec::new(),
            background: BackgroundRate::Constant,
        }
    }
}

/// The law of the number of flows that lose in one congestion event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum VictimCountLaw {
    /// Normal around the middle of {ceil(XN)..N}, truncated to it.
    TruncatedNormal,
    /// Uniform on {ceil(XN)..N}.
    Uniform,
    /// Always ceil(XN).
    Fixed,
    /// A list, drawn from with equal probabilities.
    Empirical,
    /// No congestion events: the classical model with a continuous loss rate.
    Continuous,
}

/// Which flows lose in a congestion event.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BackgroundRate {
    /// Its mean, always.
    Constant,
    /// Redrawn every so often from a normal law with the mean and the variance that the sources'
    /// packets have over that time, cut off at 0.
    Redrawn(Time),
}

impl BackgroundRate {
    fn is_constant(&self) -> bool {
        *self == Self::Constant
    }
}

/// Over which time the fluid engine takes its means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MeasurementWindow {
    /// From the first congestion event after the warm-up to the last.
    WholeCycles,
    /// The scenario's measured time.
    Fixed,
}

/// Reads `[fluid]` of a scenario with this many persistent flows.
pub(crate) fn read_fluid(
    cursor: Option<Cursor<'_>>,
    persistent: u64,
) -> Result<FluidOptions, ScenarioError> {
    let mut options = FluidOptions::default();
    let Some(cursor) = cursor else {
        return Ok(options);
    };
    cursor.only(&[
        "minimum_synchronization",
        "law",
        "victims",
        "window",
        "tolerance",
        "empirical",
        "background",
    ])?;
    if let Some(at) = cursor.get("minimum_synchronization") {
        options.minimum_synchronization = at.number_in(0.0, 1.0)?;
    }
    if let Some(at) = cursor.get("law") {
        options.law = at.word(&[
            ("truncated_normal", VictimCountLaw::TruncatedNormal),
            ("uniform", VictimCountLaw::Uniform),
            ("fixed", VictimCountLaw::Fixed),
            ("empirical", VictimCountLaw::Empirical),
            ("continuous", VictimCountLaw::Continuous),
        ])?;
    }
    if let Some(at) = cursor.get("victims") {
        options.victims = read_victims(&at, persistent)?;
    }
    if let Some(at) = cursor.get("window") {
        options.window = at.word(&[
            ("whole_cycles", MeasurementWindow::WholeCycles),
            ("fixed", MeasurementWindow::Fixed),
        ])?;
    }
    if let Some(at) = cursor.get("tolerance") {
        options.tolerance = at.number_in(1e-9, 0.1)?;
    }
    if let Some(at) = cursor.get("empirical") {
        let items = at.items().filter(|items| !items.is_empty());
        let items = items.ok_or_else(|| at.error("a list of numbers of flows"))?;
        options.empirical = items
            .iter()
            .map(|item| item.integer_in(1, 1 << 24))
            .collect::<Result<_, _>>()?;
    }
    if let Some(at) = cursor.get("background") {
        options.background = read_background(&at)?;
    }
    if options.law == VictimCountLaw::Empirical && options.empirical.is_empty() {
        return Err(cursor.error_found("no `empirical`", "empirical = [3, 5, ...] beside the law"));
    }
    Ok(options)
}

fn read_victims(at: &Cursor<'_>, persistent: u64) -> Result<VictimPolicy, ScenarioError> {
    let words = ["highest_rate", "random", "rate_proportional"];
    let Some(priority) = at.get("priority") else {
        return match at.text() {
            Some("highest_rate") => Ok(VictimPolicy::HighestRate),
            Some("random") => Ok(VictimPolicy::Random),
            Some("rate_proportional") => Ok(VictimPolicy::RateProportional),
            _ => Err(at.error(format!("{}, {{ priority = [[...]] }}", words.join(", ")))),
        };
    };
    at.only(&["priority"])?;
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

fn read_background(at: &Cursor<'_>) -> Result<BackgroundRate, ScenarioError> {
    let allowed = "constant, { redrawn = \"100ms\" } with a time from 1us to 1e6s";
    let Some(redrawn) = at.get("redrawn") else {
        return match at.text() {
            Some("constant") => Ok(BackgroundRate::Constant),
            _ => Err(at.error(allowed)),
        };
    };
    at.only(&["redrawn"])?;
    let every: Time = redrawn.unit()?;
    if every < Time::from_micros(1) || every > Time::from_secs(1_000_000) {
        return Err(redrawn.error(allowed));
    }
    Ok(BackgroundRate::Redrawn(every))
}

/// What is recorded over time (`[trace]`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TraceOptions {
    /// Time between samples.
    pub every: Time,
    /// What is recorded.
    pub record: Vec<Recorded>,
    /// Record nothing before this time.
    pub from: Time,
    /// Record nothing after this time; none for the end of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
}

impl Default for TraceOptions {
    fn default() -> Self {
        let record = vec![Recorded::Cwnd, Recorded::Queue, Recorded::Utilization];
        Self {
            every: Time::from_millis(100),
            record,
            from: Time::ZERO,
            until: None,
        }
    }
}

/// One kind of record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Recorded {
    /// Window, threshold and round-trip time of each flow.
    Cwnd,
    /// Packets waiting at the target link.
    Queue,
    /// Share of the target link's capacity used since the last sample.
    Utilization,
    /// Every arrival at the target link, with its fate.
    Packets,
    /// Every transfer that begins, with its number, size, times and losses.
    Transfers,
}

pub(crate) fn read_trace(cursor: Option<Cursor<'_>>) -> Result<TraceOptions, ScenarioError> {
    let mut options = TraceOptions::default();
    let Some(cursor) = cursor else {
        return Ok(options);
    };
    cursor.only(&["every", "record", "from", "until"])?;
    if let Some(at) = cursor.get("every") {
        options.every = at.unit()?;
        if options.every < Time::from_micros(1) {
            return Err(at.error("a time of at least 1us"));
        }
    }
    if let Some(at) = cursor.get("record") {
        let items = at
            .items()
            .ok_or_else(|| at.error("a list of cwnd, queue, utilization, packets, transfers"))?;
        options.record = items
            .iter()
            .map(|item| {
                item.word(&[
                    ("cwnd", Recorded::Cwnd),
                    ("queue", Recorded::Queue),
                    ("utilization", Recorded::Utilization),
                    ("packets", Recorded::Packets),
                    ("transfers", Recorded::Transfers),
                ])
            })
            .collect::<Result<_, _>>()?;
    }
    if let Some(at) = cursor.get("from") {
        options.from = at.unit()?;
    }
    if let Some(at) = cursor.get("until") {
        options.until = Some(at.unit()?);
    }
    Ok(options)
}
