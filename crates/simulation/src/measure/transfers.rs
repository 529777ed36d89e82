//! The measurements of transfers: the slowdown compared with an empty path, and whether a transfer
//! is short or long.
//!
//! Dhamdhere and Dovrolis (2006, section 2) call a flow short that spends most of its life in slow
//! start, and count in N only the others, of those the ones that the target link limits: long
//! flows that lose elsewhere, or that their window or access link holds back so that they never
//! lose, do not belong to it. Slow start ends here with the first congestion signal; what follows
//! a timeout does not count as slow start again.

use std::collections::HashMap;

use forebay_scenario::{FlowGroup, Recorded, Scenario, TraceOptions, TransferRecord};
use forebay_units::Time;

use crate::ends::Ends;
use crate::flow::Flow;
use crate::histogram::Histogram;
use crate::ids::Route;

/// Slowdowns are counted in units of 1/1024.
pub(crate) const SLOWDOWN_UNIT: f64 = 1.0 / 1024.0;

/// The measurements of a group's transfers.
#[derive(Debug)]
pub(crate) struct Transfers {
    /// Rate in bytes per second of each link of the path and of the access link, and the bytes that
    /// may leave at once before the rate counts.
    ways: Vec<(f64, f64)>,
    /// Delays between the links of the path and of the way back.
    between: Time,
    /// Time by which a round trip may be shorter.
    earliness: Time,
    pub(crate) completed: u64,
    pub(crate) completion_times: Histogram,
    /// In whole bits per second.
    pub(crate) goodputs: Histogram,
    /// Completion time over that on an empty path, in [`SLOWDOWN_UNIT`].
    pub(crate) slowdowns: Histogram,
    slowdown_sum: f64,
    pub(crate) short: u64,
    pub(crate) long: u64,
    /// Measured life of long flows that the target link limited, summed in ticks.
    bottlenecked: u128,
    /// When counting begins.
    warmup: Time,
    /// How much shorter the way from the last link back to the sender is than the group's, on
    /// shorter paths of a fabric.
    shortcuts: HashMap<Route, Time>,
}

impl Transfers {
    pub(crate) fn new<'a>(scenario: &Scenario, spec: &'a FlowGroup, earliness: Time) -> Self {
        let links = spec.path.iter().map(|&at| &scenario.links()[at]);
        let ways = links.map(|link| {
            let rate = link.highest_rate().as_bytes_per_second();
            (
                rate,
                link.opportunities()
                    .map_or(0.0, |list| list.at_once().get() as f64),
            )
        });
        let access = spec.access.iter();
        let access = access.map(|access| (access.rate.as_bytes_per_second(), 0.0));
        let inner = |path: &'a [usize]| path.iter().take(path.len().saturating_sub(1));
        let inner = inner(&spec.path).chain(inner(&spec.reverse));
        Self {
            ways: ways.chain(access).collect(),
            between: inner.map(|&at| scenario.links()[at].delay).sum(),
            earliness,
            completed: 0,
            completion_times: Histogram::new(),
            goodputs: Histogram::new(),
            slowdowns: Histogram::new(),
            slowdown_sum: 0.0,
            short: 0,
            long: 0,
            bottlenecked: 0,
            warmup: scenario.run().warmup,
            shortcuts: HashMap::new(),
        }
    }

    /// A path is shorter than the group's by this delay.
    pub(crate) fn shorten(&mut self, route: Route, shortcut: Time) {
        if shortcut > Time::ZERO {
            self.shortcuts.insert(route, shortcut);
        }
    }

    /// By how much a path is shorter than the group's.
    pub(crate) fn shortcut(&self, route: Route) -> Time {
        self.shortcuts.get(&route).copied().unwrap_or(Time::ZERO)
    }

    /// A flow's transfer that began at `since` is complete at `now`, the flow's life with it.
    pub(crate) fn completed<E: Ends>(&mut self, flow: &Flow<E>, spec: &FlowGroup, now: Time) {
        let Some(since) = flow.transfer.since else {
            return;
        };
        let (packets, wire) = (flow.ends.transfer_packets(), flow.transit.packet_bytes);
        let duration = now - since;
        self.slow_down(flow, spec, duration);
        if is_long(flow, since, now) {
            self.long += 1;
        } else {
            self.short += 1;
        }
        self.lived(flow, now);
        self.completed += 1;
        self.completion_times.add(duration);
        let payload = u64::from(wire) - spec.stack.header.get();
        let goodput = (packets * payload * 8) as f64 / duration.as_secs_f64().max(1e-12);
        self.goodputs.add_value(goodput as u64);
    }

    /// A transfer took `duration`. The slowdown is the ratio to its time on an empty path. That
    /// time is a round trip (two if it opens a connection with a handshake), the shortest in which
    /// hosts with a processing time answer, and its bytes at the slowest rate. A ratio that is
    /// below 1 only by the rounding of ticks counts as 1.
    fn slow_down<E: Ends>(&mut self, flow: &Flow<E>, spec: &FlowGroup, duration: Time) {
        let trips = 1.0 + f64::from(u8::from(spec.stack.handshake && flow.transfer.opens));
        let trip = (flow.trip() + self.between)
            .saturating_sub(self.earliness + self.shortcut(flow.transit.route));
        let trip = trip.as_secs_f64();
        let packets = flow.ends.transfer_packets() as f64;
        let bytes = packets * f64::from(flow.transit.packet_bytes);
        let sent = self.ways.iter();
        let sent = sent.map(|(rate, at_once)| (bytes - at_once).max(0.0) / rate);
        let ideal = trips * trip + sent.fold(0.0, f64::max);
        let slowdown = duration.as_secs_f64() / ideal;
        // Ticks that serialization has rounded away, one per packet and one per end.
        let rounding = 1e-12 + (packets + 2.0) * 1e-12 / ideal;
        debug_assert!(slowdown >= 1.0 - rounding, "{slowdown} of {duration}");
        let slowdown = if slowdown >= 1.0 - rounding {
            slowdown.max(1.0)
        } else {
            slowdown
        };
        self.slowdown_sum += slowdown;
        self.slowdowns.add_value((slowdown / SLOWDOWN_UNIT) as u64);
    }

    /// A flow's life ends at `now`, of which the part behind the warm-up counts.
    pub(crate) fn lived<E: Ends>(&mut self, flow: &Flow<E>, now: Time) {
        let Some(since) = flow.transfer.since else {
            return;
        };
        if is_long(flow, since, now) && limited_here(flow) {
            let from = since.max(self.warmup);
            self.bottlenecked += u128::from(now.saturating_sub(from).as_picos());
        }
    }

    pub(crate) fn mean_slowdown(&self) -> f64 {
        self.slowdown_sum / (self.short + self.long).max(1) as f64
    }

    /// Mean number of long flows that the target link limited over the measured `seconds`.
    pub(crate) fn long_flows(&self, seconds: f64) -> f64 {
        self.bottlenecked as f64 * 1e-12 / seconds
    }
}

/// The record of a flow's current transfer that is complete at `completed`, or not by the end of
/// the run, where `[trace]` asks for the transfers that begin then.
pub(crate) fn record<E: Ends>(
    flow: &Flow<E>,
    trace: &TraceOptions,
    completed: Option<Time>,
) -> Option<TransferRecord> {
    let since = flow.transfer.since?;
    let within = since >= trace.from && trace.until.is_none_or(|until| since <= until);
    let losses = flow.transfer_losses();
    (within && trace.record.contains(&Recorded::Transfers)).then(|| TransferRecord {
        group: flow.transit.group.index() as u32,
        user: flow.index,
        transfer: flow.transfer.number,
        begun_s: since.as_secs_f64(),
        completed_s: completed.map_or(f64::INFINITY, Time::as_secs_f64),
        first_signal_s: first_congestion_event(flow).map_or(f64::INFINITY, Time::as_secs_f64),
        packets: flow.ends.transfer_packets(),
        arrived: losses.arrived,
        dropped: losses.dropped,
        drops_off_target: losses.elsewhere,
    })
}

/// When the first congestion signal of a flow's transfer came, if any has.
fn first_congestion_event<E: Ends>(flow: &Flow<E>) -> Option<Time> {
    flow.ends.first_congestion_event()
}

/// Whether a flow spent at most half of its life before its first congestion signal.
fn is_long<E: Ends>(flow: &Flow<E>, since: Time, now: Time) -> bool {
    first_congestion_event(flow).is_some_and(|cut| {
        let slow = cut.saturating_sub(since);
        cut < now && slow.as_picos() <= (now - since).as_picos() / 2
    })
}

/// Whether a flow lost (or was marked) here at least as often as elsewhere.
fn limited_here<E: Ends>(flow: &Flow<E>) -> bool {
    let losses = flow.transfer_losses();
    losses.dropped >= losses.elsewhere
}
