//! Packets that a sender sends while a lost packet has not been repaired. `concurrency.rs` adds
//! them to the packets in the network, because a sender keeps records of all packets above the
//! lowest that is not acknowledged.

use forebay_congestion::packet::Capabilities;

use super::concurrency::{smallest, swung};
use crate::answer::footprint::{controller_requirements, grown};
use crate::model::flows::FlowGroup;
use crate::model::scenario::Scenario;
use crate::model::stack::{PartialAckTimer, Recovery};

/// The part of lost packets that one flow loses, in multiples of its share.
const SWUNG_SHARE: f64 = 4.0;

/// The largest share of long flows that wait for a lost retransmission at the same time.
const AWAITING: f64 = 0.1;

/// The loss rate of rate-based flows that compete. A controller accepts what its gain makes up for:
/// the estimate of BBR holds while 1 / 1.25 of the packets of a probe arrive, and in start-up 1 /
/// 2.89 (Cardwell et al., 2016), which is a loss rate of 20 and 65 %. Simulated flows whose
/// start-ups follow each other lose 20 to 40 %. Version 3 lowers its bounds at 2 %
/// (draft-ietf-ccwg-bbr, section 2.6).
const ACCEPTED_LOSS: f64 = 0.3;
const ACCEPTED_LOSS_BBR3: f64 = 0.02;

impl Scenario {
    /// Packets that the flows of a group send while a lost packet has not been repaired; `there` of
    /// their packets are in the network.
    ///
    /// This is a bound. The cases are:
    ///
    /// - With SACK a lost retransmission waits for a timeout (RFC 6675). The slow start of each
    ///   flow may lose one where slow starts overflow a buffer; later the loss rate follows from
    ///   the windows.
    /// - A rate-based controller and a recovery without SACK may lose retransmissions at any time:
    ///   the flow waits for a timeout, for another of twice the length, and for three round trips.
    /// - Without SACK a round trip fills one of the holes of a flow (RFC 6582, section 3.2). A
    ///   timer that only the first partial acknowledgment restarts ends that recovery (section 4).
    /// - RACK waits for no timer: it detects a lost retransmission when a packet that was sent
    ///   later has arrived (RFC 8985).
    /// - Rate-based flows that compete lose packets all the time. [`repair_rounds`] counts their
    ///   round trips.
    pub(super) fn sent_during_recovery(&self, group: &FlowGroup, there: f64) -> f64 {
        let stack = &group.stack;
        let flows = self.alive(group).1.max(1.0);
        let window = there / flows;
        let tick = stack.clock.as_secs_f64();
        let trip = self.longest_trip(group) + tick;
        // A coarse clock reads up to a tick more than the round trip, and a timer begins at three
        // times what it reads (RFC 6298, sections 2.2 and 5.5).
        let timer = stack.min_rto.as_secs_f64().max(3.0 * tick);
        let carried = self.carried(group) / self.seconds().max(1e-12);
        let offered = group.open_loop_rate();
        let carried = offered.map_or(carried, |bits| carried.min(bits / 8.0 / smallest(group)));
        let last = group.path.last();
        let rate = last.map_or(1.0, |&at| self.share(group, at)) * carried;
        let wait: f64 = group.path.iter().map(|&at| self.drain_time(at)).sum();
        // Nothing is missing before the slow starts have filled the network, and no loss is noticed
        // for a round trip.
        let windows = window / stack.initial_window.max(1.0);
        let slow_start = libm::log2(windows.max(1.0)) * group.rtt.mean();
        let noticed = slow_start + group.start.mean() + group.rtt.mean() + wait;
        let left = (self.seconds() - noticed).max(0.0);
        let rate_based = controller_requirements(group).samples == Capabilities::Rates;
        if rate_based && stack.recovery == Recovery::Rack && self.competes(group) {
            let round = self.mean_trip(group) + tick + wait;
            // At such a loss rate flows that reduce their windows at each loss leave the link to
            // them. Transfers of an open loop do not: they arrive at the same rate. Half of the
            // link is left at least.
            let beside = self.flows().iter().filter(|it| it.name != group.name);
            let beside = beside.filter(|it| last.is_some_and(|at| it.path.contains(at)));
            let load = beside
                .filter_map(|it| it.unresponsive_rate().or(it.open_loop_rate()))
                .sum::<f64>()
                / last.map_or(1.0, |&at| {
                    self.links()[at].lowest_rate().as_bits_per_second() as f64
                });
            let free = if group.persistent() {
                (1.0 - load).max(0.5)
            } else {
                1.0
            };
            return free * carried * (repair_rounds(group, window) * round).min(left);
        }
        let known = !rate_based && grown(group) <= 0.0;
        let timers = match stack.recovery {
            Recovery::Rack => 0.0,
            Recovery::Sack | Recovery::Fack if known => 1.0,
            _ => 3.0,
        };
        let trips = match (stack.recovery, stack.partial_ack_timer) {
            (Recovery::NewReno, PartialAckTimer::Every) => (SWUNG_SHARE * window).min(there),
            _ => 3.0,
        };
        let seconds = (timers * timer + trips.max(3.0) * trip).min(left);
        let without_sack = !stack.recovery.is_selective();
        let waiting = if known && !without_sack {
            (lost_again(group, window) * seconds).min(AWAITING)
        } else {
            AWAITING
        };
        let at_the_same_time = if known && !without_sack && self.overshoots(group) {
            1.0
        } else {
            (swung(waiting * flows) / flows).min(1.0)
        };
        at_the_same_time * rate * seconds
    }

    /// Whether other responsive flows use a link of a group's path.
    fn competes(&self, group: &FlowGroup) -> bool {
        let here = |it: &&FlowGroup| it.path.iter().any(|at| group.path.contains(at));
        let responsive = self.flows().iter().filter(|it| it.responsive());
        responsive.filter(here).count() > 1 || group.count > 1
    }

    /// Whether the slow starts of the long flows on a link of a group's path fill the link and
    /// overflow its buffer. Beside them the link carries what other groups offer.
    pub(super) fn overshoots(&self, group: &FlowGroup) -> bool {
        group.path.iter().any(|&at| {
            let here = || self.flows().iter().filter(|it| it.path.contains(&at));
            let rate = self.links()[at].lowest_rate().as_bytes_per_second();
            let offered = here().filter_map(|it| it.unresponsive_rate().or(it.open_loop_rate()));
            let free = (1.0 - offered.sum::<f64>() / (8.0 * rate)).max(0.0);
            let long = || here().filter(|it| it.persistent());
            let flows: f64 = long().map(|it| it.count as f64).sum();
            let trips = long()
                .map(|it| it.count as f64 * it.rtt.mean())
                .sum::<f64>();
            let room = rate * (free * trips / flows.max(1.0) + self.drain_time(at));
            let windows = long().map(|it| self.slow_start_windows(it) * it.packet.mean());
            windows.sum::<f64>() > room
        })
    }

    /// The loss rate that the long flows beside an open loop cause on its path, where other groups
    /// offer `load` of the slowest link. It is 1 where it does not follow from windows. The flows
    /// share a link that they keep busy.
    pub(super) fn loss_beside(&self, group: &FlowGroup, load: f64) -> f64 {
        let shared = |at: &usize| group.path.contains(at) && !self.isolates(*at);
        let here = |it: &&FlowGroup| it.path.iter().any(shared);
        let closed = || {
            let responsive = self.flows().iter().filter(|it| it.responsive());
            responsive
                .filter(|it| it.open_loop_rate().is_none())
                .filter(here)
        };
        let flows: f64 = closed().map(|it| it.count as f64).sum();
        let losses = closed().map(|it| {
            let rate_based = controller_requirements(it).samples == Capabilities::Rates;
            if rate_based || grown(it) > 0.0 || !it.persistent() {
                return 1.0;
            }
            let pipe = self.pipe_bytes(it) / it.packet.mean().max(1.0);
            loss_rate((1.0 - load).max(0.0) * pipe / flows, it.rtt.mean())
        });
        losses.fold(0.0, f64::max)
    }
}

/// Round trips in which a rate-based flow with `window` packets in flight repairs the packets that
/// it lost in one: one to detect them, and one for each repetition until none of them is lost
/// again.
fn repair_rounds(group: &FlowGroup, window: f64) -> f64 {
    let accepted = match group.controller.name() {
        "bbr3" => ACCEPTED_LOSS_BBR3,
        _ => ACCEPTED_LOSS,
    };
    let lost = (accepted * window).max(1.0);
    2.0 + libm::log(lost) / -libm::log(accepted)
}

/// Retransmissions per second that a flow loses, where it has `window` packets in flight. A
/// retransmission leaves a round trip after an overflow and is lost at the same rate as other
/// packets.
fn lost_again(group: &FlowGroup, window: f64) -> f64 {
    let trip = group.rtt.mean().max(1e-9);
    let loss = loss_rate(window, trip);
    loss * loss * window.max(1.0) / trip
}

/// The loss rate that holds a window at `window` packets: 1.5 / W^2 (Mathis et al., 1997) or, where
/// CUBIC grows faster, 0.79 RTT / W^(4/3) (RFC 9438, section 5.1, with C = 0.4).
fn loss_rate(window: f64, trip: f64) -> f64 {
    let window = window.max(1.0);
    let loss = (1.5 / (window * window)).max(0.79 * trip / libm::pow(window, 4.0 / 3.0));
    loss.min(1.0)
}
