//! What a run may need, said before anything runs: memory by the key that asks for it, and arrivals
//! that nothing holds back. A scenario that asks for more than is allowed is refused by that key.

use forebay_units::Bytes;
use forebay_units::parameter::Value;

use crate::engine::EngineError;
use crate::flows::FlowGroup;
use crate::link::BufferLimit;
use crate::naming::counted;
use crate::options::{Recorded, TraceOptions};
use crate::report::{FlowSample, PacketRecord, QueueSample};
use crate::scenario::Scenario;
use crate::workload::Workload;

/// The memory that one replication may need where nobody says otherwise.
pub const DEFAULT_MEMORY: Bytes = Bytes::new(4_000_000_000);

/// The most packets and transfers that sources may send into one run by their own clock: hours of
/// computing.
const MAX_ARRIVALS: f64 = 1e10;

/// Events that a packet may take: its way over each hop, its acknowledgment's, and the timers that both
/// set; packets of which a flow's first window has more are sent as links drain; times that a flow may
/// set a timer to no avail; and what a run needs of its own, such as samples.
const EVENTS_OF_A_PACKET: f64 = 40.0;
const MOST_AT_ONCE: f64 = 1e4;
const TIMERS_OF_A_FLOW: f64 = 100.0;
const EVENTS_OF_A_RUN: f64 = 1e4;

/// Records are kept in lists that double as they grow, and are copied once on their way out.
const COPIES: f64 = 3.0;

/// Bytes that an engine keeps of each.
#[derive(Clone, Copy, Debug)]
pub struct Footprint {
    /// Responsive flow of a group.
    pub flow: fn(&FlowGroup) -> f64,
    /// Unresponsive flow.
    pub source: f64,
    /// Packet that waits at a link.
    pub waiting: f64,
}

/// What one key of a scenario asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Need {
    /// The key, dotted.
    pub key: String,
    /// What takes the memory: "16000000 flows".
    pub what: String,
    /// How much, at most.
    pub bytes: f64,
}

impl Need {
    fn new(key: String, count: f64, noun: &str, each: f64) -> Self {
        Self {
            key,
            what: if count < 1e7 {
                counted(count.ceil() as u64, noun)
            } else {
                format!("{count:.0e} {noun}s")
            },
            bytes: count * each,
        }
    }
}

impl Scenario {
    /// What a run may need at most, by key, where an engine keeps so much of each.
    pub fn needs(&self, each: Footprint, traces: bool) -> Vec<Need> {
        let mut needs: Vec<Need> = Vec::new();
        for group in self.flows() {
            let (key, count) = self.alive(group);
            let (noun, bytes) = if group.responsive() {
                ("flow", (each.flow)(group))
            } else {
                ("source", each.source)
            };
            needs.push(Need::new(key, count, noun, bytes));
        }
        for at in 0..self.links().len() {
            let key = match self.links().len() {
                1 => "link.buffer".to_owned(),
                _ => format!("links.{}.buffer", self.links()[at].name),
            };
            let waiting = self.most_waiting(at);
            needs.push(Need::new(key, waiting, "waiting packet", each.waiting));
        }
        if traces {
            needs.extend(self.recorded());
        }
        needs
    }

    /// Refuses what needs more than `allowed` bytes, by the key that asks for most of it.
    ///
    /// # Errors
    /// [`EngineError::TooLarge`] with the key, what it needs and what is allowed.
    pub fn afford(
        &self,
        engine: &'static str,
        needs: &[Need],
        allowed: Option<Bytes>,
    ) -> Result<(), EngineError> {
        let allowed = allowed.unwrap_or(DEFAULT_MEMORY);
        let total: f64 = needs.iter().map(|need| need.bytes).sum();
        let largest = needs.iter().max_by(|a, b| a.bytes.total_cmp(&b.bytes));
        let Some(largest) = largest.filter(|_| total > allowed.get() as f64) else {
            return Ok(());
        };
        Err(EngineError::TooLarge {
            engine,
            why: format!(
                "`{}` may need {} of memory ({}); allowed: {} (`--memory` allows more)",
                largest.key,
                rounded(largest.bytes),
                largest.what,
                rounded(allowed.get() as f64)
            ),
        })
    }

    /// Refuses sources and arrivals that go by their own clock, where a run would have too many.
    ///
    /// # Errors
    /// [`EngineError::TooLarge`] with the key, the estimate and what is allowed.
    pub fn check_arrivals(&self, engine: &'static str) -> Result<(), EngineError> {
        let seconds = self.seconds();
        for group in self.flows() {
            let count = arrivals_per_second(group) * seconds;
            if count > MAX_ARRIVALS {
                let noun = if group.responsive() {
                    "transfers"
                } else {
                    "packets"
                };
                let why = format!(
                    "`flows.{}.workload` sends about {count:.1e} {noun} in {seconds} s; allowed: {MAX_ARRIVALS:e}, by a shorter `run.measure` or fewer arrivals",
                    group.name
                );
                return Err(EngineError::TooLarge { engine, why });
            }
        }
        Ok(())
    }

    /// The most events that a run of packets takes: a few for each packet that the links can carry, that
    /// sources send and that flows begin with.
    pub fn most_events(&self) -> f64 {
        let smallest = self.flows().iter().map(|group| group.packet.infimum());
        let smallest = smallest.fold(f64::INFINITY, f64::min).max(1.0);
        let links = self.links().iter();
        let carried: f64 = links.map(|link| link.rate.as_bytes_per_second()).sum();
        let offered = self.flows().iter().map(|group| {
            let sent = group.unresponsive_rate().or(group.open_loop_rate());
            sent.filter(|rate| rate.is_finite()).unwrap_or(0.0) / 8.0
        });
        let first = self.flows().iter().map(|group| {
            let window = group.stack.initial_window.min(MOST_AT_ONCE);
            group.count as f64 * (window + TIMERS_OF_A_FLOW)
        });
        let packets = (carried + offered.sum::<f64>()) * self.seconds() / smallest;
        let pushed: f64 = self.flows().iter().map(|group| self.pushed(group)).sum();
        EVENTS_OF_A_PACKET * (packets + first.sum::<f64>() + pushed) + EVENTS_OF_A_RUN
    }

    /// The most packets that a group's flows send to no avail, for their window grows by more a round trip than
    /// a link can take: in each no more than the largest number that was chosen for the controller above its
    /// default, as with `{ kind = "aimd", increase = 1e6 }`.
    fn pushed(&self, group: &FlowGroup) -> f64 {
        let controller = &group.controller;
        let above = controller.description().parameters.iter().filter_map(|of| {
            match (controller.parameters().get(of.name), of.default) {
                (Value::Number(chosen), Value::Number(usual)) if chosen > usual => Some(chosen),
                _ => None,
            }
        });
        let round_trips = self.seconds() / group.rtt.infimum().max(1e-9);
        group.count as f64 * round_trips * above.fold(0.0, f64::max)
    }

    /// Seconds of a run, warm-up included.
    fn seconds(&self) -> f64 {
        (self.run().warmup + self.run().measure).as_secs_f64()
    }

    /// The key that says how many flows of a group there are at once, and how many that may be. Of an
    /// open loop those of two round trips, and what its links cannot carry.
    fn alive(&self, group: &FlowGroup) -> (String, f64) {
        let seconds = self.seconds();
        let key = |key: &str| format!("flows.{}.{key}", group.name);
        let Workload::OpenLoop { interarrival, .. } = &group.workload else {
            let from = match group.workload {
                Workload::ClosedLoop { .. } | Workload::Incast { .. } => "workload",
                _ => "count",
            };
            return (key(from), group.count as f64);
        };
        let arrivals = seconds / interarrival.mean().max(1e-12);
        let rates = group.path.iter().map(|&at| self.links()[at].rate);
        let slowest = rates
            .map(|rate| rate.as_bits_per_second() as f64)
            .fold(f64::INFINITY, f64::min);
        let offered = group.open_loop_rate().unwrap_or(0.0);
        let left = (1.0 - slowest / offered.max(1.0)).max(0.0);
        let trips = (2.0 * group.rtt.mean() / seconds).min(1.0);
        (key("workload"), arrivals * (left + trips).min(1.0))
    }

    /// The most packets that may wait at a link: its buffer, or all that can come. Senders that are
    /// acknowledged send at most two packets for each that the link has sent, and their first windows.
    fn most_waiting(&self, at: usize) -> f64 {
        let link = &self.links()[at];
        let seconds = self.seconds();
        let here = || self.flows().iter().filter(|group| crosses(group, at));
        let smallest = here().map(|group| group.packet.infimum());
        let smallest = smallest.fold(f64::INFINITY, f64::min).max(1.0);
        if !smallest.is_finite() {
            return 0.0;
        }
        let limit = match link.buffer {
            BufferLimit::Packets(count) => count as f64,
            BufferLimit::Bytes(bytes) => bytes.get() as f64 / smallest,
        };
        let carried = link.rate.as_bytes_per_second() * seconds;
        let pushed: f64 = here()
            .filter_map(FlowGroup::unresponsive_rate)
            .map(|rate| rate / 8.0 * seconds)
            .sum();
        let mut coming = 0.0;
        let mut waits = false;
        for group in here().filter(|group| group.responsive()) {
            waits = true;
            let packet = group.packet.infimum().max(1.0);
            let first = group.count as f64 * group.stack.initial_window;
            let most = match group.stack.receive_window {
                Some(window) if !matches!(group.workload, Workload::OpenLoop { .. }) => {
                    group.count as f64 * window
                }
                _ => f64::INFINITY,
            };
            coming += (carried / packet + first).min(most);
        }
        let sources = if waits {
            pushed
        } else {
            (pushed - carried).max(0.0)
        };
        (coming + sources / smallest).min(limit)
    }

    /// What `[trace]` records.
    fn recorded(&self) -> Vec<Need> {
        let trace = self.trace();
        let end = self.seconds();
        let until = trace
            .until
            .map_or(end, |until| until.as_secs_f64().min(end));
        let span = (until - trace.from.as_secs_f64()).max(0.0);
        let samples = span / trace.every.as_secs_f64() + 1.0;
        let asks = |what| trace.record.contains(&what);
        let mut needs = Vec::new();
        let every = || "trace.every".to_owned();
        if asks(Recorded::Cwnd) {
            let flows: f64 = self
                .flows()
                .iter()
                .filter(|group| group.responsive())
                .map(|group| self.alive(group).1)
                .sum();
            let each = size_of::<FlowSample>() as f64 * COPIES;
            needs.push(Need::new(every(), samples * flows, "sample", each));
        }
        if asks(Recorded::Queue) || asks(Recorded::Utilization) {
            let each = size_of::<QueueSample>() as f64 * COPIES;
            needs.push(Need::new(every(), samples, "sample", each));
        }
        if asks(Recorded::Packets) {
            needs.push(self.captured(trace, span));
        }
        needs
    }

    /// Records of packets: of all that come to the target link.
    fn captured(&self, trace: &TraceOptions, span: f64) -> Need {
        let groups = || self.target_flows();
        let smallest = groups().map(|group| group.packet.infimum());
        let smallest = smallest.fold(f64::INFINITY, f64::min).max(1.0);
        let rate = self.target().rate.as_bytes_per_second();
        let pushed: f64 = groups().filter_map(FlowGroup::unresponsive_rate).sum();
        let responsive = if groups().any(FlowGroup::responsive) {
            2.0 * rate
        } else {
            0.0
        };
        let packets = span * (responsive + pushed / 8.0) / smallest;
        let each = size_of::<PacketRecord>() as f64 * COPIES;
        debug_assert!(trace.record.contains(&Recorded::Packets));
        Need::new("trace.record".to_owned(), packets, "packet", each)
    }
}

/// Whether packets of a group, or their acknowledgments, go over a link.
fn crosses(group: &FlowGroup, link: usize) -> bool {
    group.path.contains(&link) || group.reverse.contains(&link)
}

/// Packets per second of a group's sources, or transfers per second of its open loop; none where flows
/// wait for what they have sent.
fn arrivals_per_second(group: &FlowGroup) -> f64 {
    if let Workload::OpenLoop { interarrival, .. } = &group.workload {
        return 1.0 / interarrival.mean().max(1e-12);
    }
    let rate = group.unresponsive_rate().unwrap_or(0.0);
    rate / (8.0 * group.packet.mean().max(1.0))
}

/// Bytes in the largest unit that leaves a whole one, to two figures.
fn rounded(bytes: f64) -> String {
    let units = [
        (1e15, "PB"),
        (1e12, "TB"),
        (1e9, "GB"),
        (1e6, "MB"),
        (1e3, "kB"),
    ];
    let unit = units.into_iter().find(|(scale, _)| bytes >= *scale);
    let (scale, unit) = unit.unwrap_or((1.0, "B"));
    let value = bytes / scale;
    if value < 10.0 {
        format!("{value:.1} {unit}")
    } else {
        format!("{value:.0} {unit}")
    }
}
