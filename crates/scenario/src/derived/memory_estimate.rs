//! The demand of a run, estimated before it starts: memory by the key that causes it, and arrivals
//! that nothing limits. A scenario that needs more than is allowed is refused with that key. The
//! parts are:
//!
//! - `concurrency.rs`: the number of flows and packets at once.
//! - `fabric.rs`: the demand of one receiver in a fabric, for those of all.
//! - `open_loop.rs`: the number of open-loop transfers.
//! - `slow_start.rs`: the growth of windows and transfers within a run.
//! - `loss_recovery.rs`: the packets that senders send while they repair losses.
//! - `recorded.rs`: the records of `[trace]`.

mod concurrency;
mod fabric;
mod loss_recovery;
mod open_loop;
mod recorded;
mod slow_start;

use forebay_congestion::packet::Capabilities;
use forebay_units::{Bytes, Rate};

use crate::answer::engine::EngineError;
use crate::answer::footprint::{
    Footprint, Need, TIMERS_OF_A_FLOW, Waiting, controller_requirements, grown,
};
use crate::model::flows::FlowGroup;
use crate::model::scenario::Scenario;
use crate::model::workload::Workload;

/// The memory that one replication may need by default.
pub const DEFAULT_MEMORY: Bytes = Bytes::new(4_000_000_000);

/// The factor by which an estimate of memory may be wrong. A run whose estimate is larger than the
/// limit times this factor is refused before it starts.
pub const MARGIN: f64 = 2.0;

/// The key of the memory that a run takes whatever the scenario contains.
const A_RUN: &str = "run";

/// The key of the memory that each group takes.
const GROUPS: &str = "flows";

/// The hint about more memory in a refusal.
pub const MORE_MEMORY: &str = "`--memory` allows more";

/// The most packets and transfers that sources may send into one run by their own clock: hours of
/// computing.
const MAX_ARRIVALS: f64 = 1e10;

/// Events that a packet may take: its way over each hop, its acknowledgment's, and the timers that
/// both set; packets of which an unpaced first window has more leave in one event; times that a
/// flow may set a timer to no avail; and what a run needs of its own, such as samples.
const EVENTS_OF_A_PACKET: f64 = 40.0;
const MOST_AT_ONCE: f64 = 1e4;
const EVENTS_OF_A_RUN: f64 = 1e4;

impl Scenario {
    /// The largest memory that a run may need, by key. `each` states the memory of an engine for
    /// each item.
    pub fn needs(&self, each: &impl Footprint, traces: bool) -> Vec<Need> {
        if self.has_routes() {
            let (one, receivers) = self.of_one_receiver();
            let mut needs = one.needs(each, traces);
            // Each port has its queue already, but packets and flows are only those of one.
            let once = |need: &Need| {
                let last = need.key.rsplit('.').next();
                [A_RUN, GROUPS].contains(&&*need.key) || last == Some("queue")
            };
            for need in needs.iter_mut().filter(|need| !once(need)) {
                need.bytes *= receivers;
            }
            return needs;
        }
        let alive: Vec<(String, f64)> = self.flows().iter().map(|g| self.alive(g)).collect();
        let groups = self.flows().len() as f64;
        let mut needs = vec![
            Need::new(A_RUN, 1.0, "run", each.run(self)),
            Need::new(GROUPS, groups, "group", each.group(self)),
        ];
        for (group, (key, count)) in self.flows().iter().zip(&alive) {
            let (noun, bytes) = if group.responsive() {
                ("flow", each.flow(group))
            } else {
                ("source", each.source(group))
            };
            needs.push(Need::new(key.clone(), *count, noun, bytes));
        }
        let flows = alive.iter().map(|(_, count)| count).sum();
        let waiting: Vec<Waiting> = (0..self.links().len()).map(|at| self.waiting(at)).collect();
        for (at, waiting) in waiting.iter().enumerate() {
            let key = |key: &str| match self.links().len() {
                1 => format!("link.{key}"),
                _ => format!("links.{}.{key}", self.links()[at].name),
            };
            let bytes = each.waiting(self, at, *waiting);
            let packets = waiting.packets;
            let mut need = Need::new(key("buffer"), packets, "waiting packet", 0.0);
            need.bytes = bytes;
            needs.push(need);
            needs.push(Need::new(
                key("queue"),
                1.0,
                "queue",
                each.link(self, at, flows),
            ));
        }
        needs.extend(self.sent(each, &waiting));
        if traces {
            needs.extend(self.recorded(&waiting));
        }
        needs.retain(|need| need.bytes > 0.0);
        needs
    }

    /// Refuses a run whose needs are more than [`MARGIN`] times `allowed` bytes. An estimate below
    /// that may be wrong by as much: the run starts, and the batch ends it if it reaches the limit.
    ///
    /// # Errors
    /// [`EngineError::TooLarge`] with the sum of the needs, the key that asks for most of it, and
    /// the limit.
    pub fn afford(
        &self,
        engine: &'static str,
        needs: &[Need],
        allowed: Option<Bytes>,
    ) -> Result<(), EngineError> {
        let allowed = allowed.unwrap_or(DEFAULT_MEMORY);
        let total: f64 = needs.iter().map(|need| need.bytes).sum();
        let Some(largest) = largest_need(needs).filter(|_| total > MARGIN * allowed.get() as f64)
        else {
            return Ok(());
        };
        Err(EngineError::TooLarge {
            engine,
            why: format!(
                "it may need {} of memory, {} of it for `{}` ({}); allowed: {} ({MORE_MEMORY})",
                rounded(total),
                rounded(largest.bytes),
                largest.key,
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

    /// The most events that a run of packets takes: a few for each packet that the links can carry,
    /// that sources send and that flows begin with.
    pub fn most_events(&self) -> f64 {
        let smallest = self.flows().iter().map(|group| group.packet.infimum());
        let smallest = smallest.fold(f64::INFINITY, f64::min).max(1.0);
        let links = self.links().iter();
        let carried: f64 = links
            .map(|link| link.highest_rate().as_bytes_per_second())
            .sum();
        let offered = self.flows().iter().map(|group| {
            let sent = group.unresponsive_rate().or(group.open_loop_rate());
            sent.filter(|rate| rate.is_finite()).unwrap_or(0.0) / 8.0
        });
        let first = self.flows().iter().map(|group| {
            let most = if paced(group) {
                f64::INFINITY
            } else {
                MOST_AT_ONCE
            };
            group.count as f64 * (group.stack.initial_window.min(most) + TIMERS_OF_A_FLOW)
        });
        let packets = (carried + offered.sum::<f64>()) * self.seconds() / smallest;
        let pushed: f64 = self.flows().iter().map(|group| self.pushed(group)).sum();
        EVENTS_OF_A_PACKET * (packets + first.sum::<f64>() + pushed) + EVENTS_OF_A_RUN
    }

    /// The most packets that a group's flows send and links do not take: of windows that grow by
    /// many packets in a round trip, and of controllers that set a rate. Such a rate is above that
    /// of a slow link until enough acknowledgments have arrived.
    fn pushed(&self, group: &FlowGroup) -> f64 {
        let round_trips = self.seconds() / group.rtt.infimum().max(1e-9);
        let rate = controller_requirements(group).line_rate;
        let rate = rate.map_or(0.0, Rate::as_bytes_per_second);
        let access = group
            .access
            .as_ref()
            .map_or(f64::INFINITY, |access| access.rate.as_bytes_per_second());
        let paced = rate.min(access) * self.seconds() / group.packet.infimum().max(1.0);
        group.count as f64 * (round_trips * grown(group) + paced)
    }

    /// Seconds of a run, warm-up included.
    fn seconds(&self) -> f64 {
        self.run().end().as_secs_f64()
    }
}

/// Whether each packet leaves at a time of its own, those of a first window, too: by the stack's
/// choice, or by a controller that measures rates.
fn paced(group: &FlowGroup) -> bool {
    group.stack.pacing || controller_requirements(group).samples == Capabilities::Rates
}

/// Packets per second of a group's sources, or transfers per second of its open loop; none where
/// flows wait for what they have sent.
fn arrivals_per_second(group: &FlowGroup) -> f64 {
    if let Workload::OpenLoop { interarrival, .. } = &group.workload {
        return 1.0 / interarrival.mean().max(1e-12);
    }
    let rate = group.unresponsive_rate().unwrap_or(0.0);
    rate / (8.0 * group.packet.mean().max(1.0))
}

/// The largest need. The memory that every run takes counts only if it is the only need, because no
/// key causes it.
pub fn largest_need(needs: &[Need]) -> Option<&Need> {
    let counts = |need: &&Need| needs.len() == 1 || need.key != A_RUN;
    let counted = needs.iter().filter(counts);
    counted.max_by(|a, b| a.bytes.total_cmp(&b.bytes))
}

/// Bytes in the largest unit that leaves a whole one, to two figures.
pub fn rounded(bytes: f64) -> String {
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
