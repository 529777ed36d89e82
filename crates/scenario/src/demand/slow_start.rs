//! Slow starts: the windows that flows reach by the end of a run, and the packets of transfers that are in flight then.
//! `at_once.rs` and `open_loop.rs` bound packets and transfers by them, because a short run ends before they are over.

use forebay_units::Bytes;

use super::at_once::{SWING, most_of, smallest};
use crate::flows::FlowGroup;
use crate::law::Law;
use crate::scenario::Scenario;
use crate::workload::Workload;

/// Whole round trips are counted although a division has lost the last digits.
const ROUNDING: f64 = 1e-6;

/// Doublings after which a window is as good as infinite.
const MOST_DOUBLINGS: f64 = 1000.0;

impl Scenario {
    /// The largest window in packets that a slow start of a persistent flow reaches by the end of the run.
    ///
    /// It doubles in each round trip (RFC 5681, section 3.1), as the rate of a controller that paces by measured rates does
    /// (Cardwell et al., BBR: Congestion-based congestion control, 2016). The first window leaves after the handshake,
    /// and the acknowledgments of a window arrive a round trip after the window.
    pub(super) fn slow_start_window(&self, group: &FlowGroup) -> f64 {
        let sending = self.seconds() - group.start.infimum();
        let round_trips = (sending / group.rtt.infimum().max(1e-9) + ROUNDING).floor();
        let handshake = f64::from(u8::from(group.stack.handshake));
        let doublings = (round_trips - handshake).clamp(0.0, MOST_DOUBLINGS);
        group.stack.initial_window * libm::exp2(doublings)
    }

    /// Packets of an open loop that propagate or wait at access links at once. Infinite for other groups.
    pub(super) fn offered_at_once(&self, group: &FlowGroup) -> f64 {
        let (mean, deviation) = self.open_loop_flight(group);
        mean + SWING * deviation
    }

    /// Packets of an open loop that wait at a link which is offered `load` < 1 of its rate and carries `pipe` packets in
    /// a round trip.
    ///
    /// In `t` round trips the arrivals exceed their mean by at most `SWING d sqrt(t)`, if they exceed it by `SWING d` in one,
    /// and the link carries `(1 - load) pipe t` packets more than their mean. The difference is largest at
    /// `(SWING d)^2 / (4 (1 - load) pipe)` packets. The packets of one round trip may arrive in a bunch.
    pub(super) fn open_loop_queue(&self, group: &FlowGroup, load: f64, pipe: f64) -> f64 {
        let (_, deviation) = self.open_loop_flight(group);
        let swing = SWING * deviation;
        swing + swing * swing / (4.0 * (1.0 - load) * pipe).max(1.0)
    }

    /// Mean and standard deviation of the packets of an open loop that are in flight at once. Infinite for other groups.
    ///
    /// Transfers arrive at random, so that the count at the end of the run is a compound Poisson count: a transfer that
    /// has `w` packets in flight for `d` seconds adds `w d` to its mean and `w^2 d` to its variance, times the
    /// arrivals per second. The packets of a window are in flight for a round trip and for the time of the transfer on
    /// its access link. Windows that a transfer would send after the end of the run do not count.
    fn open_loop_flight(&self, group: &FlowGroup) -> (f64, f64) {
        let (Workload::OpenLoop { size, interarrival }, Some(offered)) =
            (&group.workload, group.open_loop_rate())
        else {
            return (f64::INFINITY, f64::INFINITY);
        };
        let (packets, seconds, squares) = self.packet_seconds(group, size);
        // The tail of the sizes is in the offered rate. The sizes that stand for the law lack a part of it.
        let rate = offered / 8.0 / smallest(group) / packets.max(1.0);
        let arrivals = rate.max(1.0 / interarrival.mean().max(1e-12));
        (arrivals * seconds, (arrivals * squares).sqrt())
    }

    /// The mean number of packets of a transfer, and within a run the means of the seconds that its packets are in
    /// flight, all together, and of the same with the square of the packets in flight.
    fn packet_seconds(&self, group: &FlowGroup, size: &Law<Bytes>) -> (f64, f64, f64) {
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

    /// The mean round trip of many transfers, in seconds, with every delay of links that changes at its longest.
    pub(super) fn mean_trip_of_many(&self, group: &FlowGroup) -> f64 {
        group.rtt.mean() + self.longest_trip(group) - most_of(&group.rtt)
    }
}
