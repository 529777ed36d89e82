//! Slow starts: the windows that flows reach by the end of a run, and the packets of transfers that
//! are in flight then. `concurrency.rs` and `open_loop.rs` bound packets and transfers by them,
//! because a short run ends before they are over.

use forebay_units::{Bytes, Time};

use super::concurrency::{N_SIGMA, most_of, smallest};
use crate::model::distribution::Distribution;
use crate::model::flows::FlowGroup;
use crate::model::scenario::Scenario;
use crate::model::workload::Workload;

/// Whole round trips are counted although a division has lost the last digits.
const ROUNDING: f64 = 1e-6;

/// Doublings after which a window is as good as infinite; its square is still a number.
const MOST_DOUBLINGS: f64 = 400.0;

/// Values of a law over which a sum of windows is averaged.
const REPRESENTATIVES: usize = 32;

impl Scenario {
    /// The windows of a group's slow starts by the end of the run, all together, as if no threshold
    /// ended them.
    ///
    /// A window doubles in each round trip (RFC 5681, section 3.1), as the rate of a controller
    /// that paces by measured rates does (Cardwell et al., BBR: Congestion-based congestion
    /// control, 2016). The first window leaves after the handshake, and the acknowledgments of a
    /// window arrive a round trip after the window.
    pub(super) fn doubled_windows(&self, group: &FlowGroup) -> f64 {
        self.summed(group, |trip, sending| doubled(group, trip, sending))
    }

    /// The windows at which a group's slow starts end: at the threshold, or at the end of the run.
    pub(super) fn slow_start_windows(&self, group: &FlowGroup) -> f64 {
        let most = threshold(group);
        self.summed(group, |trip, sending| {
            doubled(group, trip, sending).min(most)
        })
    }

    /// The windows of a group by the end of the run, all together: slow start up to the threshold,
    /// and congestion avoidance.
    ///
    /// Congestion avoidance adds a packet in each round trip (RFC 5681, section 3.1), and CUBIC `C
    /// t^3` packets in t seconds (RFC 9438, section 4.2). A loss starts that growth again from a
    /// smaller window, so that the sum over all epochs is no larger. A controller whose growth is
    /// not known here grows as in slow start.
    pub(super) fn windows(&self, group: &FlowGroup) -> f64 {
        let most = threshold(group);
        self.summed(group, |trip, sending| {
            let scale = match group.controller.name() {
                "cubic" => group.controller.parameters().number("scale"),
                "newreno" | "dctcp" => 0.0,
                _ => f64::INFINITY,
            };
            let grown = scale * sending * sending * sending + sending / trip + 1.0;
            doubled(group, trip, sending).min(most + grown)
        })
    }

    /// The sum over a group's flows of a value that depends on the round trip and on the seconds in
    /// which a flow sends: the mean over the laws of both, and swings. No flow has more than the
    /// value of the shortest trip and the first start.
    fn summed(&self, group: &FlowGroup, of: impl Fn(f64, f64) -> f64) -> f64 {
        let value = |trip: f64, start: f64| of(trip.max(1e-9), (self.seconds() - start).max(0.0));
        let flows = group.count as f64;
        let most = value(group.rtt.infimum(), group.start.infimum());
        if group.count <= 1 {
            return flows * most;
        }
        let few = |distribution: &Distribution<Time>| -> Vec<f64> {
            let all = distribution.representatives(group.count);
            let step = all.len().div_ceil(REPRESENTATIVES);
            all.into_iter().skip(step / 2).step_by(step).collect()
        };
        let (trips, starts) = (few(&group.rtt), few(&group.start));
        let (mut sum, mut squares) = (0.0, 0.0);
        for &trip in &trips {
            for &start in &starts {
                let each = value(trip, start).min(most);
                sum += each;
                squares += each * each;
            }
        }
        let count = (trips.len() * starts.len()).max(1) as f64;
        let mean = sum / count;
        let variance = (squares / count - mean * mean).max(0.0);
        (flows * mean + N_SIGMA * (flows * variance).sqrt()).min(flows * most)
    }

    /// Packets of an open loop that propagate or wait at access links at once. Infinite for other
    /// groups.
    pub(super) fn offered_at_once(&self, group: &FlowGroup) -> f64 {
        let (mean, deviation) = self.open_loop_flight(group);
        mean + N_SIGMA * deviation
    }

    /// Packets of an open loop that wait at a link which is offered `load` < 1 of its rate and
    /// carries `pipe` packets in a round trip.
    ///
    /// In `t` round trips the arrivals exceed their mean by at most `N_SIGMA d sqrt(t)`, if they
    /// exceed it by `N_SIGMA d` in one, and the link carries `(1 - load) pipe t` packets more than
    /// their mean. The difference is largest at `(N_SIGMA d)^2 / (4 (1 - load) pipe)` packets. The
    /// packets of one round trip may arrive in a bunch.
    pub(super) fn open_loop_queue(&self, group: &FlowGroup, load: f64, pipe: f64) -> f64 {
        let (_, deviation) = self.open_loop_flight(group);
        let swing = N_SIGMA * deviation;
        swing + swing * swing / (4.0 * (1.0 - load) * pipe).max(1.0)
    }

    /// Mean and standard deviation of the packets of an open loop that are in flight at once.
    /// Infinite for other groups.
    ///
    /// Transfers arrive at random, so that the count at the end of the run is a compound Poisson
    /// count: a transfer that has `w` packets in flight for `d` seconds adds `w d` to its mean and
    /// `w^2 d` to its variance, times the arrivals per second. The packets of a window are in
    /// flight for a round trip and for the time of the transfer on its access link. Windows that a
    /// transfer would send after the end of the run do not count.
    fn open_loop_flight(&self, group: &FlowGroup) -> (f64, f64) {
        let (Workload::OpenLoop { size, interarrival }, Some(offered)) =
            (&group.workload, group.open_loop_rate())
        else {
            return (f64::INFINITY, f64::INFINITY);
        };
        let (packets, seconds, squares) = self.packet_seconds(group, size);
        // The tail of the sizes is in the offered rate. The sizes that stand for the law lack a
        // part of it.
        let rate = offered / 8.0 / smallest(group) / packets.max(1.0);
        let arrivals = rate.max(1.0 / interarrival.mean().max(1e-12));
        (arrivals * seconds, (arrivals * squares).sqrt())
    }

    /// The mean number of packets of a transfer, and within a run the means of the seconds that its
    /// packets are in flight, all together, and of the same with the square of the packets in
    /// flight.
    fn packet_seconds(&self, group: &FlowGroup, size: &Distribution<Bytes>) -> (f64, f64, f64) {
        let stack = &group.stack;
        let payload = group.payload().get().max(1) as f64;
        let access = group.access.as_ref();
        let each_at_access =
            access.map_or(0.0, |it| smallest(group) / it.rate.as_bytes_per_second());
        let end = self.seconds();
        let trip = self.mean_trip_of_many(group);
        let shortest = group.rtt.infimum();
        let handshake = f64::from(u8::from(stack.handshake)) * shortest;
        let sizes = size.representatives(1);
        let (mut packets, mut seconds, mut squares) = (0.0, 0.0, 0.0);
        for bytes in &sizes {
            let all = (bytes / payload).ceil().max(1.0);
            packets += all;
            let (mut left, mut start) = (all, handshake);
            let mut window = stack.initial_window.max(1.0);
            while left > 0.0 && start < end {
                let sent = left.min(window);
                let flight = (trip + all * each_at_access).min(end - start);
                seconds += sent * flight;
                squares += sent * sent * flight;
                left -= sent;
                window *= 2.0;
                start += shortest;
            }
        }
        let count = sizes.len().max(1) as f64;
        (packets / count, seconds / count, squares / count)
    }

    /// The share of an open loop's packets that slow starts send before the run ends. It is small
    /// in a run of few round trips, because a large transfer sends most of its packets in its last
    /// windows. 1 for other groups.
    pub(super) fn sent_share(&self, group: &FlowGroup) -> f64 {
        let Workload::OpenLoop { size, .. } = &group.workload else {
            return 1.0;
        };
        let stack = &group.stack;
        let payload = group.payload().get().max(1) as f64;
        let trip = self.mean_trip_of_many(group);
        let end = self.seconds().max(1e-12);
        let handshake = f64::from(u8::from(stack.handshake)) * trip;
        let (mut sent, mut all) = (0.0, 0.0);
        for bytes in &size.representatives(1) {
            let packets = (bytes / payload).ceil().max(1.0);
            all += packets;
            let (mut left, mut start) = (packets, handshake);
            let mut window = stack.initial_window.max(1.0);
            // Transfers begin at any time of the run: those of its last `start` seconds do not come
            // this far.
            while left > 0.0 && start < end {
                sent += left.min(window) * (1.0 - start / end);
                left -= window;
                window *= 2.0;
                start += trip.max(1e-9);
            }
        }
        sent / all.max(1.0)
    }

    /// The mean round trip of many transfers, in seconds, with every delay of links that changes at
    /// its longest.
    pub(super) fn mean_trip_of_many(&self, group: &FlowGroup) -> f64 {
        group.rtt.mean() + self.longest_trip(group) - most_of(&group.rtt)
    }
}

/// The slow-start threshold of a group in packets; infinite where slow starts end at a loss.
fn threshold(group: &FlowGroup) -> f64 {
    let first = group.stack.initial_window;
    let chosen = group.stack.initial_ssthresh;
    chosen.map_or(f64::INFINITY, |most| most.max(first))
}

/// The window of a slow start after `sending` seconds.
fn doubled(group: &FlowGroup, trip: f64, sending: f64) -> f64 {
    let round_trips = (sending / trip + ROUNDING).floor();
    let handshake = f64::from(u8::from(group.stack.handshake));
    let doublings = (round_trips - handshake).clamp(0.0, MOST_DOUBLINGS);
    group.stack.initial_window * libm::exp2(doublings)
}
