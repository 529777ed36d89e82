//! What a transfer was: how much slower than on an empty path, and whether short or long.
//!
//! Dhamdhere and Dovrolis (2006, section 2) call a flow short that spends most of its life in slow
//! start, and count in N only the others, of those the ones that the target link limits: long
//! flows that lose elsewhere, or that their window or access link holds back so that they never
//! lose, do not belong to it. Slow start ends here with the first congestion signal; what follows
//! a timeout does not count as slow start again.

use forebay_scenario::{FlowGroup, Recorded, Scenario, TraceOptions, TransferRecord};
use forebay_units::Time;

use crate::flow::Flow;
use crate::statistics::Histogram;

/// Slowdowns are counted in units of 1/1024.
pub(crate) const SLOWDOWN_UNIT: f64 = 1.0 / 1024.0;

/// What is kept of a group's transfers.
#[derive(Debug)]
pub(crate) struct Transfers {
    /// The slowest rate of the path and the access link, in bytes per second.
    slowest: f64,
    /// Delays between the links of the path and of the way back.
    between: Time,
    /// Completion time over that on an empty path, in [`SLOWDOWN_UNIT`].
    pub(crate) slowdowns: Histogram,
    slowdown_sum: f64,
    pub(crate) short: u64,
    pub(crate) long: u64,
    /// Measured life of long flows that the target link limited, summed in ticks.
    bottlenecked: u128,
}

impl Transfers {
    pub(crate) fn new<'a>(scenario: &Scenario, spec: &'a FlowGroup) -> Self {
        let links = spec.path.iter().map(|&at| &scenario.links()[at]);
        let rates = links.map(|link| link.rate.as_bytes_per_second());
        let access = spec.access.iter().map(|a| a.rate.as_bytes_per_second());
        let inner = |path: &'a [usize]| path.iter().take(path.len().saturating_sub(1));
        let inner = inner(&spec.path).chain(inner(&spec.reverse));
        Self {
            slowest: rates.chain(access).fold(f64::INFINITY, f64::min),
            between: inner.map(|&at| scenario.links()[at].delay).sum(),
            slowdowns: Histogram::new(),
            slowdown_sum: 0.0,
            short: 0,
            long: 0,
            bottlenecked: 0,
        }
    }

    /// A transfer is complete: its duration over that on an empty path, which is a round trip
    /// (two with a handshake) and its bytes at the slowest rate.
    pub(crate) fn completed(&mut self, flow: &Flow, spec: &FlowGroup, now: Time) {
        let trips = 1.0 + f64::from(u8::from(spec.stack.handshake));
        let trip = (flow.trip() + self.between).as_secs_f64();
        let bytes = flow.connection.transfer_packets() as f64 * f64::from(flow.wire);
        let ideal = trips * trip + bytes / self.slowest;
        let slowdown = (now - flow.since).as_secs_f64() / ideal;
        self.slowdown_sum += slowdown;
        self.slowdowns.add_value((slowdown / SLOWDOWN_UNIT) as u64);
        if is_long(flow, now) {
            self.long += 1;
        } else {
            self.short += 1;
        }
    }

    /// A flow's life ends at `now`, of which the part behind `measured` counts.
    pub(crate) fn lived(&mut self, flow: &Flow, measured: Time, now: Time) {
        if is_long(flow, now) && limited_here(flow) {
            let from = flow.since.max(measured);
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

/// The record of a flow's current transfer that is complete at `completed` ([`Time::MAX`] for
/// never), where `[trace]` asks for the transfers that begin then.
pub(crate) fn record(flow: &Flow, trace: &TraceOptions, completed: Time) -> Option<TransferRecord> {
    let within = flow.since >= trace.from && trace.until.is_none_or(|until| flow.since <= until);
    (within && trace.record.contains(&Recorded::Transfers)).then(|| TransferRecord {
        group: flow.group,
        user: flow.index,
        transfer: flow.transfer,
        begun_s: flow.since.as_secs_f64(),
        completed_s: seconds_or_never(completed),
        first_signal_s: seconds_or_never(flow.connection.first_cut().unwrap_or(Time::MAX)),
        packets: flow.connection.transfer_packets(),
        arrived: flow.arrived - flow.arrived_before,
        dropped: flow.dropped - flow.dropped_before,
        lost_elsewhere: flow.lost_elsewhere - flow.lost_elsewhere_before,
    })
}

fn seconds_or_never(time: Time) -> f64 {
    if time == Time::MAX {
        f64::INFINITY
    } else {
        time.as_secs_f64()
    }
}

/// Whether a flow spent at most half of its life before its first congestion signal.
fn is_long(flow: &Flow, now: Time) -> bool {
    let Some(cut) = flow.connection.first_cut() else {
        return false;
    };
    let slow = cut.saturating_sub(flow.since);
    cut < now && slow.as_picos() <= (now - flow.since).as_picos() / 2
}

/// Whether a flow lost (or was marked) here at least as often as elsewhere.
fn limited_here(flow: &Flow) -> bool {
    let here = flow.dropped - flow.dropped_before;
    let elsewhere = flow.lost_elsewhere - flow.lost_elsewhere_before;
    here >= elsewhere
}
