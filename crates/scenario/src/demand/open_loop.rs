//! The number of transfers of an open loop that are alive at the same time. `at_once.rs` counts their packets.

use forebay_units::{Bytes, Rate, Time};

use super::at_once::{SWING, swung};
use crate::flows::FlowGroup;
use crate::law::Law;
use crate::link::BufferLimit;
use crate::scenario::Scenario;
use crate::workload::Workload;

/// The share of transfers that wait for a timeout where links drop packets.
const TIMED_OUT: f64 = 0.1;

impl Scenario {
    /// The number of transfers of an open loop that are alive at once, by Little's law: arrivals per second
    /// times the seconds that a transfer stays, plus the transfers that share a busy link, plus those that an
    /// overloaded link leaves unfinished. The number swings like a Poisson count. An engine enforces the limit
    /// itself, because a long tail of sizes may exceed any estimate.
    pub(super) fn transfers_alive(&self, group: &FlowGroup, interarrival: &Law<Time>) -> f64 {
        let arrivals = self.arrivals(interarrival);
        let Workload::OpenLoop { size, .. } = &group.workload else {
            return arrivals;
        };
        let long = || self.flows().iter().filter(|group| group.persistent());
        let windows: f64 = long()
            .map(|group| group.count as f64 * self.slow_start_window(group))
            .sum();
        let long: f64 = long().map(|group| group.count as f64).sum();
        let loads = group.path.iter().map(|&at| {
            let here = self.flows().iter().filter(|group| group.path.contains(&at));
            let offered = here.filter_map(|g| g.unresponsive_rate().or(g.open_loop_rate()));
            offered.sum::<f64>() / self.links()[at].lowest_rate().as_bits_per_second() as f64
        });
        let load = loads.fold(0.0, f64::max);
        // The part of the run in which the buffer is full.
        let full = if windows * self.packet_bytes() > self.pipe_bytes(group) {
            1.0
        } else {
            let drain: f64 = group.path.iter().map(|&at| self.drain_time(at)).sum();
            1.0 - (drain / (load - 1.0).max(1e-9) / self.seconds().max(1e-12)).min(1.0)
        };
        let staying = arrivals * self.stay(group, size, full) / self.seconds().max(1e-12);
        let sharing = (long + 1.0) * load / (1.0 - load).max(0.01);
        let left = arrivals * left_over(load, size);
        let most = staying + sharing + left;
        (most + SWING * most.sqrt()).min(swung(arrivals))
    }

    /// Mean seconds within a run that a transfer of an open loop stays where no other transfer slows it down: a round
    /// trip for the handshake and one for each doubling of the window, the time on its access link, and in the part of
    /// the run in which buffers are `full` the wait there and a share of a timeout. A transfer that would stay for
    /// longer is there at the end if it has arrived at all.
    fn stay(&self, group: &FlowGroup, size: &Law<Bytes>, full: f64) -> f64 {
        let stack = &group.stack;
        let packet = group.payload().get().max(1) as f64;
        let handshake = f64::from(u8::from(stack.handshake));
        let wait: f64 = group.path.iter().map(|&at| self.drain_time(at)).sum();
        let trip = self.mean_trip_of_many(group) + full * wait;
        let timeout = full * TIMED_OUT * stack.min_rto.max(stack.clock).as_secs_f64();
        let access = group.access.as_ref();
        let sizes = size.representatives(1);
        let stays = sizes.iter().map(|bytes| {
            let windows = (bytes / packet).ceil().max(1.0) / stack.initial_window.max(1.0);
            let rounds = libm::log2(windows + 1.0).ceil().max(1.0) + handshake;
            let access = access.map_or(0.0, |it| bytes / it.rate.as_bytes_per_second());
            (rounds * trip + access + timeout).min(self.seconds())
        });
        stays.sum::<f64>() / sizes.len().max(1) as f64
    }

    /// Bytes that fill the slowest link of a group's path for a round trip.
    fn pipe_bytes(&self, group: &FlowGroup) -> f64 {
        let rates = group.path.iter().map(|&at| self.links()[at].lowest_rate());
        let slowest = rates.map(Rate::as_bytes_per_second);
        slowest.fold(f64::INFINITY, f64::min) * group.rtt.mean()
    }

    /// Seconds that a full buffer of a link takes to drain, the whole run at most.
    fn drain_time(&self, at: usize) -> f64 {
        let link = &self.links()[at];
        let bytes = match link.buffer {
            BufferLimit::Packets(count) => count as f64 * self.packet_bytes(),
            BufferLimit::Bytes(bytes) => bytes.get() as f64,
        };
        (bytes / link.lowest_rate().as_bytes_per_second().max(1e-9)).min(self.seconds())
    }
}

/// The share x of transfers that are left over where they bring `load` times what can be carried and share it equally:
/// x = E[1 - exp(-load x S / E[S])] for transfers of size S (Jean-Marie and Robert, On the transient behavior of
/// the processor sharing queue, 1994).
fn left_over(load: f64, size: &Law<Bytes>) -> f64 {
    if load <= 1.0 {
        return 0.0;
    }
    let sizes = size.representatives(1);
    let mean = sizes.iter().sum::<f64>() / sizes.len().max(1) as f64;
    let mut share = 1.0;
    for _ in 0..200 {
        let left = |bytes: &f64| -libm::expm1(-load * share * bytes / mean);
        let next = sizes.iter().map(left).sum::<f64>() / sizes.len().max(1) as f64;
        if next > 0.99 * share {
            return next;
        }
        share = next;
    }
    share
}
