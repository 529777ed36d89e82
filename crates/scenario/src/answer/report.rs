//! The answer of an engine to a scenario: a report. The batches of `crates/engines` aggregate
//! reports.

use std::collections::BTreeMap;

use serde::ser::{SerializeSeq, Serializer};
use serde::{Deserialize, Deserializer, Serialize};

use crate::answer::warning::Warning;
use crate::model::buffer::BufferReport;
use crate::model::metric::Metric;
use crate::model::options::Capture;
use crate::model::scenario::Scenario;

/// The version that reports carry.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The answer of one engine to one scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Name of the engine.
    pub engine: String,
    /// Version of forebay.
    pub version: String,
    /// SHA-256 of the canonical resolved scenario.
    pub scenario_sha256: String,
    /// Seed of the run.
    pub seed: u64,
    /// Replications behind the numbers.
    pub replications: u64,
    /// The target link's buffer.
    pub buffer: BufferReport,
    /// Metrics of the target link.
    pub metrics: BTreeMap<Metric, Estimate>,
    /// One entry per flow group.
    pub groups: Vec<GroupReport>,
    /// Histograms at the target link by name, in the unit that the name ends with.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub distributions: BTreeMap<String, MeasuredDistribution>,
    /// The other links.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkReport>,
    /// Cost of the run.
    pub cost: Cost,
    /// Warnings that a reader must know before using the numbers. They are sentences in JSON, which
    /// does not restore them: [`Report::from_cached`] does.
    #[serde(skip_deserializing)]
    pub warnings: Vec<Warning>,
    /// Traces over time, if they were asked for.
    #[serde(skip)]
    pub traces: Option<Box<Traces>>,
}

impl Report {
    /// A report without numbers, for `scenario`.
    pub fn new(engine: &str, scenario: &Scenario, seed: u64) -> Self {
        Self {
            engine: engine.to_owned(),
            version: VERSION.to_owned(),
            scenario_sha256: scenario.sha256(),
            seed,
            replications: 1,
            buffer: scenario.buffer(),
            metrics: BTreeMap::new(),
            groups: Vec::new(),
            distributions: BTreeMap::new(),
            links: Vec::new(),
            cost: Cost::default(),
            warnings: Vec::new(),
            traces: None,
        }
    }

    /// Says what was asked, where `scenario` leaves draws to each replication: the scenario with
    /// its laws, not what [`Scenario::drawn`] made of it.
    pub fn asked_by(&mut self, scenario: &Scenario) {
        if !scenario.uncertain() {
            return;
        }
        self.scenario_sha256 = scenario.sha256();
        self.buffer = scenario.buffer();
        for (group, asked) in self.groups.iter_mut().zip(scenario.flows()) {
            group.flows = asked.count;
        }
    }

    /// The value of `metric`, where it was measured.
    pub fn value(&self, metric: Metric) -> Option<f64> {
        self.metrics.get(&metric).map(|estimate| estimate.mean)
    }
}

/// A number with its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Mean over the replications.
    pub mean: f64,
    /// Half width of the confidence interval; none for one replication or an exact number.
    pub half_width: Option<f64>,
    /// Confidence of the interval.
    pub confidence: f64,
}

impl From<f64> for Estimate {
    fn from(mean: f64) -> Self {
        Self {
            mean,
            half_width: None,
            confidence: 0.95,
        }
    }
}

/// More flows than this, all groups together, are not listed one by one.
pub const MAX_LISTED_FLOWS: usize = 1000;

/// The report of one flow group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupReport {
    /// Name of the group.
    pub name: String,
    /// Number of flows.
    pub flows: u64,
    /// Metrics of the group.
    pub metrics: BTreeMap<Metric, Estimate>,
    /// Quantiles of the flows' goodputs in bits per second ("p10", ...).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub flow_goodput_bps: BTreeMap<String, f64>,
    /// Transfers completed, and how long they took.
    #[serde(flatten)]
    pub completions: Option<Completions>,
    /// Histograms of the group by name, in the unit that the name ends with.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub distributions: BTreeMap<String, MeasuredDistribution>,
    /// One entry per flow, for up to [`MAX_LISTED_FLOWS`] in all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub per_flow: Vec<FlowReport>,
}

/// A histogram: its memory does not grow with what it counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MeasuredDistribution {
    /// Bins that hold something, in rising order.
    pub bins: Vec<Bin>,
}

/// One bin; `[low, high, count]` in JSON.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// Smallest value that falls into it.
    pub low: f64,
    /// Upper bound of the values in it, exclusive.
    pub high: f64,
    /// How many values it holds.
    pub count: u64,
}

impl Serialize for Bin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_seq(Some(3))?;
        row.serialize_element(&self.low)?;
        row.serialize_element(&self.high)?;
        row.serialize_element(&self.count)?;
        row.end()
    }
}

impl<'de> Deserialize<'de> for Bin {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (low, high, count) = Deserialize::deserialize(deserializer)?;
        Ok(Self { low, high, count })
    }
}

impl MeasuredDistribution {
    /// Adds what another run counted.
    pub fn merge(&mut self, other: &Self) {
        for bin in &other.bins {
            match self
                .bins
                .binary_search_by(|mine| mine.low.total_cmp(&bin.low))
            {
                Ok(at) => self.bins[at].count += bin.count,
                Err(at) => self.bins.insert(at, *bin),
            }
        }
    }

    /// How many values it holds.
    pub fn count(&self) -> u64 {
        self.bins.iter().map(|bin| bin.count).sum()
    }
}

/// Completed transfers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Completions {
    /// How many.
    pub completed: u64,
    /// Quantiles of their durations in seconds ("p50", "p95", "p99").
    pub completion_time_s: BTreeMap<String, f64>,
}

/// The report of one flow after the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowReport {
    /// In-order payload in bits per second.
    pub goodput_bps: f64,
    /// Packets dropped / packets arrived at the target link.
    pub loss_rate: f64,
    /// Packets sent again.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Congestion events at the target link in which it lost a packet.
    pub congestion_events: u64,
}

/// Metrics of a link that is not the target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkReport {
    /// Name of the link.
    pub name: String,
    /// Its metrics.
    pub metrics: BTreeMap<Metric, Estimate>,
}

/// The cost of a run. It is the only part of a report that differs between equal runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Data packets that arrived at the target link, the warm-up's included like all of the cost.
    pub data_packets: u64,
    /// Events processed (steps of the integrator for the fluid engine).
    pub events: u64,
    /// Processor time.
    pub cpu_s: f64,
    /// Elapsed time.
    pub wall_s: f64,
    /// Largest resident memory of the process.
    pub peak_rss_bytes: u64,
    /// How late the machine was; none of a run that is not in real time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lateness: Option<Lateness>,
}

/// How closely a run in real time followed the clock, its warm-up included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lateness {
    /// Median of how long after its time a packet was handed over, in seconds.
    pub p50_s: f64,
    /// 99th percentile of the same.
    pub p99_s: f64,
    /// 99.9th percentile of the same.
    pub p999_s: f64,
    /// The latest packet of all.
    pub max_s: f64,
    /// Time for which the emulated clock stopped because the machine was busy elsewhere, in
    /// seconds.
    pub frozen_s: f64,
    /// Number of times that it stopped.
    pub freezes: u64,
}

impl Lateness {
    /// That of two runs together: the worse of each quantile, and the sums of what was frozen.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            p50_s: self.p50_s.max(other.p50_s),
            p99_s: self.p99_s.max(other.p99_s),
            p999_s: self.p999_s.max(other.p999_s),
            max_s: self.max_s.max(other.max_s),
            frozen_s: self.frozen_s + other.frozen_s,
            freezes: self.freezes + other.freezes,
        }
    }
}

/// The records of a run over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Traces {
    /// Samples of each flow.
    pub flows: Vec<FlowSample>,
    /// Samples of the target link.
    pub queue: Vec<QueueSample>,
    /// Every arrival at the target link.
    pub packets: Vec<PacketRecord>,
    /// Headers of these, one for each if `trace.acknowledgments` asks for it; else none.
    #[serde(skip)]
    pub headers: Vec<HeaderRecord>,
    /// Acknowledgments that pass the target link's router on their way back, where that asks for
    /// them, in the order in which they reach their senders.
    #[serde(skip)]
    pub acknowledgments: Vec<AcknowledgmentRecord>,
    /// Every transfer that began in the traced time, in the order of completion.
    pub transfers: Vec<TransferRecord>,
    /// Every pause of a sender that overlaps the traced time, in the order of the beginnings.
    pub pauses: Vec<PauseRecord>,
    /// Properties of the packets of each flow group.
    pub groups: Vec<TracedGroup>,
    /// Place at which a capture of the packets is taken.
    #[serde(skip)]
    pub capture: Capture,
}

/// The properties of a flow group's packets that a capture needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TracedGroup {
    /// Whether its packets are acknowledged.
    pub responsive: bool,
    /// Header bytes in each data packet.
    pub header: u32,
    /// ECN codepoint of its data packets in the IP header (RFC 3168 section 5): 0, 1 or 2.
    pub ecn: u8,
    /// Whether its receivers acknowledge selectively (RFC 2018).
    pub selective: bool,
    /// Receive window in packets; without it there is no limit.
    pub receive_window: Option<u64>,
}

/// A sample of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FlowSample {
    /// Time in seconds.
    pub time_s: f64,
    /// Flow, numbered over all groups in order.
    pub flow: u32,
    /// Flow group, in the scenario's order.
    pub group: u32,
    /// The transfer that it is at: its number, as in [`TransferRecord`].
    pub transfer: u64,
    /// Congestion window in packets.
    pub cwnd_packets: f64,
    /// Slow-start threshold in packets; infinite before the first loss.
    pub ssthresh_packets: f64,
    /// Smoothed round-trip time in seconds; zero before the first measurement.
    pub rtt_s: f64,
}

/// A sample of the target link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct QueueSample {
    /// Time in seconds.
    pub time_s: f64,
    /// Packets waiting.
    pub packets: f64,
    /// Time to drain what is there, in seconds.
    pub delay_s: f64,
    /// Share of the capacity used since the last sample.
    pub utilization: f64,
}

/// One transfer of a group that has such: finite, closed-loop or open-loop.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TransferRecord {
    /// Flow group, in the scenario's order.
    pub group: u32,
    /// User or flow within its group; 0 for all of an open loop.
    pub user: u64,
    /// Number among the transfers of its user, or of its open-loop group, from 0 on: the same
    /// transfer has the same number whatever the buffer.
    pub transfer: u64,
    /// When it began, in seconds.
    pub begun_s: f64,
    /// When its last acknowledgment was there, in seconds; infinite where the run ended first.
    pub completed_s: f64,
    /// Its first congestion signal, in seconds; infinite for none.
    pub first_signal_s: f64,
    /// Its size in packets with data.
    pub packets: u64,
    /// Packets of it that arrived at the target link, those sent again included.
    pub arrived: u64,
    /// Packets that the target link dropped.
    pub dropped: u64,
    /// Packets of it that other links dropped.
    pub drops_off_target: u64,
}

/// A pause of one sender by lossless queues: the time in which it may not begin a packet.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PauseRecord {
    /// Name of the paused link, or of its class as `link.class`; empty for a host.
    pub link: String,
    /// Flow group of the paused host, in the scenario's order; -1 for a link.
    pub group: i64,
    /// Flow of the paused host, numbered over all groups in order; -1 for a link.
    pub flow: i64,
    /// When the first pause frame took effect, in seconds.
    pub begun_s: f64,
    /// When the sender might send again, in seconds; infinite where the run ended first.
    pub ended_s: f64,
}

/// The kind of a packet's segment within its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Segment {
    /// The packet carries data, or has no acknowledgment.
    Data,
    /// It opens the connection.
    Syn,
    /// It acknowledges what has arrived, on its way from the receiver to the sender.
    Ack,
    /// The same of the packet that opens the connection.
    SynAck,
}

impl Segment {
    /// Whether the receiver sends it.
    #[must_use]
    pub fn acknowledges(self) -> bool {
        matches!(self, Self::Ack | Self::SynAck)
    }

    /// Whether it belongs to the opening of the connection.
    #[must_use]
    pub fn opens(self) -> bool {
        matches!(self, Self::Syn | Self::SynAck)
    }
}

/// One arrival at the target link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PacketRecord {
    /// Arrival in seconds.
    pub time_s: f64,
    /// Flow, numbered over all groups in order.
    pub flow: u32,
    /// Flow group, in the scenario's order.
    pub group: u32,
    /// Connection: transfers that share one follow one another in its packet numbers.
    pub connection: u32,
    /// Packet number within the flow; of an acknowledgment, the next one that the receiver awaits.
    pub packet: u64,
    /// Bytes on the wire.
    pub bytes: u32,
    /// Kind of its segment.
    pub segment: Segment,
    /// Bytes of payload in the connection's full packets.
    pub payload: u32,
    /// Whether it was dropped.
    pub dropped: bool,
    /// Whether it leaves with a congestion mark.
    pub marked: bool,
    /// Time it waits, in seconds; zero where it was dropped.
    pub wait_s: f64,
}

/// An acknowledgment as it passes the target link's router on its way back.
#[derive(Clone, Debug, PartialEq)]
pub struct AcknowledgmentRecord {
    /// Record as of any packet; its time is that of its passing, and it does not wait.
    pub packet: PacketRecord,
    /// Its header.
    pub header: HeaderRecord,
}

/// The headers of a packet, as far as they are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum HeaderRecord {
    /// No header beside [`PacketRecord`]: such packets have no acknowledgments.
    #[default]
    Plain,
    /// The header of a simulated connection.
    Simulated(HeaderFields),
    /// The bytes of a real packet, from the IP header to the end of the TCP header.
    Whole(Box<[u8]>),
}

/// The TCP header of a simulated packet, without its numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeaderFields {
    /// When the packet set out, in milliseconds since the run began (`TSval` of RFC 7323, without
    /// an offset).
    pub timestamp: u32,
    /// The other end's timestamp that it echoes; none where nothing has come from there yet.
    pub echo: Option<u32>,
    /// Blocks that have arrived beyond a hole (RFC 2018), the one that caused the acknowledgment
    /// first: the low bits of their first packet and of the one behind their last. Equal ones are
    /// none.
    pub blocks: [(u32, u32); MAX_BLOCKS],
    /// Whether its connection ends with it, or, of an acknowledgment, whether that end has arrived.
    pub finishes: bool,
}

/// Blocks of a selective acknowledgment beside timestamps (RFC 2018 section 3).
pub const MAX_BLOCKS: usize = 3;
