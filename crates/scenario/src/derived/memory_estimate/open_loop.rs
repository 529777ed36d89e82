//! The number of transfers of an open loop that are alive at the same time. `concurrency.rs` counts
//! their packets.

use forebay_units::{Bytes, Rate, Time};

use super::concurrency::{N_SIGMA, swung};
use crate::model::buffer::BufferLimit;
use crate::model::distribution::Distribution;
use crate::model::flows::FlowGroup;
use crate::model::scenario::Scenario;
use crate::model::workload::Workload;

/// The share of transfers that wait for a timeout where links drop packets.
const TIMED_OUT: f64 = 0.1;

/// Queue disciplines with a queue for each flow.
const FLOW_QUEUES: [&str; 6] = ["fq_codel", "fq_pie", "cake", "drr", "stfq", "sfq"];

impl Scenario {
    /// The number of transfers of an open loop that are alive at once, by Little's law: arrivals
    /// per second times the seconds that a transfer stays, plus the transfers that share a busy
    /// link, plus those that an overloaded link leaves unfinished. The number swings like a Poisson
    /// count. An engine enforces the limit itself, because a long tail of sizes may exceed any
    /// estimate.
    pub(super) fn transfers_alive(
        &self,
        group: &FlowGroup,
        interarrival: &Distribution<Time>,
    ) -> f64 {
        let arrivals = self.arrivals(interarrival);
        let Workload::OpenLoop { size, .. } = &group.workload else {
            return arrivals;
        };
        let long = || self.flows().iter().filter(|group| group.persistent());
        let windows: f64 = long().map(|group| self.windows(group)).sum();
        let long: f64 = long().map(|group| group.count as f64).sum();
        let loads = group.path.iter().map(|&at| {
            let here = self.flows().iter().filter(|group| group.path.contains(&at));
            let offered = here.filter_map(|it| {
                let open_loop = it.open_loop_rate().map(|bits| bits * self.sent_share(it));
                it.unresponsive_rate().or(open_loop)
            });
            offered.sum::<f64>() / self.links()[at].lowest_rate().as_bits_per_second() as f64
        });
        let load = loads.fold(0.0, f64::max);
        let drain: f64 = group.path.iter().map(|&at| self.drain_time(at)).sum();
        // The windows of long flows exceed the data that the link carries beside the offered load;
        // the excess waits.
        let beyond = windows * self.packet_bytes() - (1.0 - load).max(0.0) * self.pipe_bytes(group);
        let queue = if beyond > 0.0 {
            let wait = beyond / self.slowest_rate(group).max(1e-9);
            let wait = if load < 1.0 { wait.min(drain) } else { drain };
            Queue { full: 1.0, wait }
        } else {
            let filling = drain / (load - 1.0).max(1e-9);
            let full = 1.0 - (filling / self.seconds().max(1e-12)).min(1.0);
            Queue { full, wait: drain }
        };
        let (served, timeouts) = self.stay(group, size, load, queue);
        let staying = arrivals * (served + timeouts) / self.seconds().max(1e-12);
        let sharing = (long + 1.0) * load / (1.0 - load).max(0.01);
        let left = arrivals * unfinished(load, size, served, timeouts);
        let most = staying + sharing + left;
        (most + N_SIGMA * most.sqrt()).min(swung(arrivals))
    }

    /// Mean seconds within a run that a transfer of an open loop is served where no other transfer
    /// slows it down, and mean seconds that it waits for a timeout. A round trip goes to the
    /// handshake and one to each doubling of the window; the time on the access link is added, and
    /// in the part of the run in which buffers are full the wait there and a share of a timeout. A
    /// transfer that would stay for longer is there at the end if it has arrived at all.
    fn stay(
        &self,
        group: &FlowGroup,
        size: &Distribution<Bytes>,
        load: f64,
        queue: Queue,
    ) -> (f64, f64) {
        let stack = &group.stack;
        let packet = group.payload().get().max(1) as f64;
        let handshake = f64::from(u8::from(stack.handshake));
        let trip = self.mean_trip_of_many(group) + queue.full * queue.wait;
        let timeout = queue.full * rto(group);
        let loss = self.loss_beside(group, load);
        let overflows = self.overflowing(group, load);
        let access = group.access.as_ref();
        let sizes = size.representatives(1);
        let end = self.seconds();
        let (mut served, mut timeouts) = (0.0, 0.0);
        for bytes in &sizes {
            let packets = (bytes / packet).ceil().max(1.0);
            let windows = packets / stack.initial_window.max(1.0);
            let rounds = libm::log2(windows + 1.0).ceil().max(1.0) + handshake;
            let access = access.map_or(0.0, |it| bytes / it.rate.as_bytes_per_second());
            let own = (rounds * trip + access).min(end);
            served += own;
            let timed_out = (loss * packets + overflows).min(TIMED_OUT);
            timeouts += (timed_out * timeout).min(end - own);
        }
        let count = sizes.len().max(1) as f64;
        (served / count, timeouts / count)
    }

    /// The share of time in which slow starts overflow a buffer on the path of an open loop; 1
    /// where links are overloaded.
    ///
    /// The last window of a transfer has half of its packets. Half of that window waits, because a
    /// slow start sends two packets for each that the link delivers. Long flows leave a quarter of
    /// the buffer free on the average, because a queue that they fill falls by half of the buffer
    /// at least. A transfer that has more packets than the buffer therefore overflows it, for about
    /// a round trip. So does each long flow whose slow start no threshold ends; such overflows are
    /// felt until the timers expire that they caused.
    fn overflowing(&self, group: &FlowGroup, load: f64) -> f64 {
        if load >= 1.0 {
            return 1.0;
        }
        let shared = group.path.iter().filter(|&&at| !self.isolates(at));
        let shares = shared.map(|&at| {
            let drain = self.drain_time(at);
            let buffer = drain * self.links()[at].lowest_rate().as_bytes_per_second();
            let here = || self.flows().iter().filter(|it| it.path.contains(&at));
            let busy = here().map(|it| {
                let trip = it.rtt.mean() + drain;
                if let Workload::OpenLoop { size, interarrival } = &it.workload {
                    let sizes = size.representatives(1);
                    let large = sizes.iter().filter(|bytes| **bytes > buffer).count() as f64;
                    let share = large / sizes.len().max(1) as f64;
                    share * trip / interarrival.mean().max(1e-12)
                } else if it.persistent() && self.overshoots(it) {
                    it.count as f64 * trip / rto(it)
                } else {
                    0.0
                }
            });
            busy.sum::<f64>()
        });
        shares.fold(0.0, f64::max).min(1.0)
    }

    /// Whether a link has a queue for each flow. A full buffer then drops packets of the longest
    /// queue, and no short transfer loses packets to the others.
    pub(super) fn isolates(&self, at: usize) -> bool {
        let link = &self.links()[at];
        link.classes.is_empty() && FLOW_QUEUES.contains(&link.discipline.name())
    }

    /// Bytes per second of the slowest link of a group's path.
    pub(super) fn slowest_rate(&self, group: &FlowGroup) -> f64 {
        let rates = group.path.iter().map(|&at| self.links()[at].lowest_rate());
        let slowest = rates.map(Rate::as_bytes_per_second);
        slowest.fold(f64::INFINITY, f64::min)
    }

    /// Bytes that fill the slowest link of a group's path for a round trip.
    pub(super) fn pipe_bytes(&self, group: &FlowGroup) -> f64 {
        self.slowest_rate(group) * group.rtt.mean()
    }

    /// Seconds that a full buffer of a link takes to drain, the whole run at most.
    pub(super) fn drain_time(&self, at: usize) -> f64 {
        let link = &self.links()[at];
        let bytes = match link.buffer {
            BufferLimit::Packets(count) => count as f64 * self.packet_bytes(),
            BufferLimit::Bytes(bytes) => bytes.get() as f64,
        };
        (bytes / link.lowest_rate().as_bytes_per_second().max(1e-9)).min(self.seconds())
    }
}

/// The queue on the path of an open loop.
#[derive(Clone, Copy)]
struct Queue {
    /// The part of the run in which the buffer is full.
    full: f64,
    /// Seconds that a packet waits then.
    wait: f64,
}

/// Seconds of a retransmission timeout.
fn rto(group: &FlowGroup) -> f64 {
    group.stack.min_rto.max(group.stack.clock).as_secs_f64()
}

/// The share of transfers that an overloaded link leaves unfinished. On average a transfer is
/// served for `served` seconds and waits for timeouts for `timeouts` seconds.
///
/// Transfers that share the link equally leave the large ones unfinished ([`left_over`]). Transfers
/// that mostly wait for timeouts wait for as long whatever their size, so that the link leaves the
/// same share of each size: what it cannot carry, 1 - 1 / load. The share is between the two, by
/// the part of the time that is a timeout.
fn unfinished(load: f64, size: &Distribution<Bytes>, served: f64, timeouts: f64) -> f64 {
    let equally = left_over(load, size);
    let any = (1.0 - 1.0 / load.max(1.0)).max(equally);
    equally + (any - equally) * timeouts / (timeouts + served).max(1e-12)
}

/// The share x of transfers that are left over where they bring `load` times what can be carried
/// and share it equally: x = E[1 - exp(-load x S / E[S])] for transfers of size S (Jean-Marie and
/// Robert, On the transient behavior of the processor sharing queue, 1994).
fn left_over(load: f64, size: &Distribution<Bytes>) -> f64 {
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
