//! The parts that both versions of BBR share: rounds of delivery, the plateau of the bandwidth, the
//! smallest window and the changes to and from it, the aggregation of acknowledgments, and the
//! initial pacing rate. Sections are those of draft-ietf-ccwg-bbr-06, as in `bbr3.rs`.

use forebay_units::Time;

use crate::packet::{Path, Sample, Window};

/// Rounds by delivered packets (draft-ietf-ccwg-bbr section 5.5.1).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rounds {
    end: u64,
    /// Rounds so far.
    pub(crate) count: u64,
    /// Whether the last acknowledgment began one.
    pub(crate) started: bool,
}

impl Rounds {
    /// Takes in an acknowledgment; a round ends with a packet that was sent after its beginning.
    pub(crate) fn update(&mut self, sample: &Sample) {
        self.started = false;
        let Some(delivery) = &sample.delivery else {
            return;
        };
        if delivery.prior_delivered >= self.end {
            self.restart(sample.delivered);
            self.count += 1;
            self.started = true;
        }
    }

    /// Begins a round after this number of delivered packets, without counting it.
    pub(crate) fn restart(&mut self, delivered: u64) {
        self.end = delivered;
    }
}

/// The bandwidth has stopped growing after `FULL_ROUNDS` rounds with growth by less than this
/// factor.
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;

/// The detector of the plateau of the bandwidth, at which the pipe is full (draft-ietf-ccwg-bbr
/// section 5.3.1; Linux: `bbr_check_full_bw_reached`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Plateau {
    baseline: f64,
    rounds: u32,
}

impl Plateau {
    /// Measures growth compared with this bandwidth from now on.
    pub(crate) fn restart(&mut self, baseline: f64) {
        *self = Self {
            baseline,
            rounds: 0,
        };
    }

    /// The next bandwidth is growth, whatever it is; a plateau that was reached stays so (Linux:
    /// `bbr_set_state` after a timeout).
    pub(crate) fn forget_baseline(&mut self) {
        self.baseline = 0.0;
    }

    /// Takes in the bandwidth of a round.
    pub(crate) fn update(&mut self, bandwidth: f64) {
        if bandwidth >= FULL_GROWTH * self.baseline {
            self.restart(bandwidth);
        } else {
            self.rounds += 1;
        }
    }

    pub(crate) fn reached(&self) -> bool {
        self.rounds >= FULL_ROUNDS
    }
}

/// The window to return to after a recovery and after `ProbeRTT` (draft-ietf-ccwg-bbr section
/// 5.6.4.4; Linux: `bbr_save_cwnd`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SavedWindow {
    cwnd: f64,
}

impl SavedWindow {
    /// Saves this window; one that is not `calm`, in recovery or `ProbeRTT`, only where it is
    /// larger than the one saved before.
    pub(crate) fn save(&mut self, cwnd: f64, calm: bool) {
        self.cwnd = if calm { cwnd } else { self.cwnd.max(cwnd) };
    }

    pub(crate) fn restore(self, window: &mut Window) {
        window.cwnd = window.cwnd.max(self.cwnd);
    }
}

/// The smallest window, packets (draft-ietf-ccwg-bbr section 2, MinPipeCwnd; Linux:
/// `bbr_cwnd_min_target`); in version 1 the window of `ProbeRTT`, too.
pub(crate) const MIN_WINDOW: f64 = 4.0;

/// Delivered packets up to which the window always grows: Linux's initial window (`TCP_INIT_CWND`).
const INITIAL_WINDOW: u64 = 10;

/// The window that the model allows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TargetWindow {
    pub(crate) packets: f64,
    /// Whether the pipe is full: until then no window is cut to the target.
    pub(crate) full: bool,
}

impl TargetWindow {
    /// The window grows towards it by what arrived (draft-ietf-ccwg-bbr section 5.6.4; Linux:
    /// `bbr_set_cwnd`).
    pub(crate) fn approach(self, window: &mut Window, sample: &Sample) {
        if self.full {
            window.cwnd = (window.cwnd + sample.arrived).min(self.packets);
        } else if window.cwnd < self.packets || sample.delivered < INITIAL_WINDOW {
            window.cwnd += sample.arrived;
        }
        window.cwnd = window.cwnd.max(MIN_WINDOW);
    }
}

/// Time for which few packets are in flight in `ProbeRTT`.
const PROBE_RTT_TIME: Time = Time::from_millis(200);

/// `ProbeRTT`: it lasts 200 ms and a round from the time at which few packets are in flight
/// (draft-ietf-ccwg-bbr section 5.3.4; Linux: `bbr_update_min_rtt`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RoundTripProbe {
    /// Its end, once few packets are in flight, and whether a round has passed since.
    drained: Option<(Time, bool)>,
}

impl RoundTripProbe {
    /// Takes in an acknowledgment, where up to `few` packets are few; says whether it is over.
    pub(crate) fn update(&mut self, sample: &Sample, few: f64, rounds: &mut Rounds) -> bool {
        match &mut self.drained {
            Some((end, passed)) => {
                *passed |= rounds.started;
                return *passed && sample.now > *end;
            }
            None if sample.in_flight <= few => {
                self.drained = Some((sample.now.saturating_add(PROBE_RTT_TIME), false));
                rounds.restart(sample.delivered);
            }
            None => {}
        }
        false
    }

    /// Whether it has lasted its 200 ms (draft-ietf-ccwg-bbr section 5.3.4.3, CheckProbeRTTDone).
    pub(crate) fn has_lasted(&self, now: Time) -> bool {
        self.drained.is_some_and(|(end, _)| now > end)
    }
}

/// The expected arrivals, with which the aggregation of acknowledgments is compared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expectation {
    /// Packets per second.
    pub(crate) bandwidth: f64,
    /// Congestion window, packets: more is never counted.
    pub(crate) window: f64,
    /// Length of each of the two windows of the maximum, in rounds.
    pub(crate) rounds: u32,
    /// Whether a round began.
    pub(crate) round: bool,
}

/// How much arrives at once beyond the estimated rate (draft-ietf-ccwg-bbr section 5.5.9).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Aggregation {
    /// Whether the expected packets are rounded down to whole packets.
    whole_packets: bool,
    since: Time,
    acked: f64,
    most: [f64; 2],
    current: usize,
    rounds: u32,
}

impl Aggregation {
    /// Counts whole expected packets, as `bbr_update_ack_aggregation` of Linux 6.18 does. A
    /// measured aggregation is then up to one packet larger than with the draft's bytes.
    pub(crate) fn in_whole_packets() -> Self {
        Self {
            whole_packets: true,
            ..Self::default()
        }
    }

    /// Takes in an acknowledgment that delivered something at a known rate.
    pub(crate) fn update(&mut self, sample: &Sample, expectation: Expectation) {
        if sample.delivery.is_none() || sample.arrived <= 0.0 {
            return;
        }
        if expectation.round {
            self.rounds += 1;
            if self.rounds >= expectation.rounds {
                self.rounds = 0;
                self.current = 1 - self.current;
                self.most[self.current] = 0.0;
            }
        }
        let elapsed = sample.now.saturating_sub(self.since).as_secs_f64();
        let mut expected = expectation.bandwidth * elapsed;
        if self.whole_packets {
            expected = expected.floor();
        }
        if self.acked <= expected {
            self.acked = 0.0;
            self.since = sample.now;
            expected = 0.0;
        }
        self.acked += sample.arrived;
        let extra = (self.acked - expected).min(expectation.window);
        self.most[self.current] = self.most[self.current].max(extra);
    }

    /// Packets arrive again after a pause (draft-ietf-ccwg-bbr section 5.4.1; Linux:
    /// `bbr_cwnd_event`).
    pub(crate) fn restart(&mut self, now: Time) {
        self.since = now;
        self.acked = 0.0;
    }

    /// The most of both windows, packets.
    pub(crate) fn most(&self) -> f64 {
        self.most[0].max(self.most[1])
    }
}

/// The pace stays this much below the estimate, so that queues drain (draft-ietf-ccwg-bbr section
/// 5.6.2; Linux: `bbr_pacing_margin_percent`).
pub(crate) const PACING_MARGIN: f64 = 0.99;

/// `gain` windows per round-trip time, in packets per second: the pace before the bandwidth is
/// known; none before the round-trip time is.
pub(crate) fn initial_rate(gain: f64, window: &Window, path: &Path) -> Option<f64> {
    (path.smoothed_rtt > 0.0).then(|| gain * window.cwnd / path.smoothed_rtt)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Delivery;
    use crate::packet::tests::{sample, window};

    #[test]
    fn a_round_ends_with_a_packet_sent_after_it_began() {
        let mut rounds = Rounds::default();
        let mut seen = sample(0.1);
        for delivered in 1..=100 {
            seen.delivered = delivered;
            seen.delivery = Some(Delivery {
                prior_delivered: delivered.saturating_sub(20),
                ..Delivery::default()
            });
            rounds.update(&seen);
        }
        assert_eq!(rounds.count, 5);
        seen.delivery = None;
        rounds.update(&seen);
        assert!(!rounds.started);
    }

    #[test]
    fn a_plateau_takes_three_rounds_without_a_quarter_more() {
        let mut plateau = Plateau::default();
        // A quarter more restarts, and so does anything after the baseline is forgotten.
        for bandwidth in [100.0, 124.0, 124.0, 125.0, 156.0, 156.0] {
            plateau.update(bandwidth);
            assert!(!plateau.reached());
        }
        plateau.forget_baseline();
        for bandwidth in [50.0, 40.0, 50.0] {
            plateau.update(bandwidth);
            assert!(!plateau.reached());
        }
        plateau.update(60.0);
        assert!(plateau.reached());
        plateau.forget_baseline();
        assert!(plateau.reached());
    }

    #[test]
    fn a_window_saved_in_recovery_is_none_smaller() {
        let mut saved = SavedWindow::default();
        let restored = |saved: &SavedWindow, cwnd| {
            let mut window = window(cwnd, f64::INFINITY);
            saved.restore(&mut window);
            window.cwnd
        };
        saved.save(50.0, true);
        saved.save(20.0, false);
        assert_eq!(
            [restored(&saved, 4.0), restored(&saved, 60.0)],
            [50.0, 60.0]
        );
        saved.save(20.0, true);
        assert_eq!(restored(&saved, 4.0), 20.0);
    }

    #[test]
    fn a_probe_of_the_round_trip_takes_200_ms_and_a_round_with_few_packets_under_way() {
        let mut probe = RoundTripProbe::default();
        let mut rounds = Rounds::default();
        let mut seen = sample(0.1);
        let mut over = |ms, in_flight, started| {
            seen.now = Time::from_millis(ms);
            seen.in_flight = in_flight;
            rounds.started = started;
            probe.update(&seen, 4.0, &mut rounds)
        };
        assert!(!over(0, 5.0, true));
        assert!(!over(1000, 4.0, true));
        assert!(!over(1201, 4.0, false));
        assert!(over(1202, 4.0, true));
        let mut probe = RoundTripProbe::default();
        let mut over = |ms, started| {
            seen.now = Time::from_millis(ms);
            rounds.started = started;
            probe.update(&seen, 4.0, &mut rounds)
        };
        assert!(!over(1000, false));
        assert!(!over(1200, true));
        assert!(over(1201, false));
    }

    #[test]
    fn a_window_beyond_the_target_is_cut_once_the_pipe_is_full() {
        let mut seen = sample(0.1);
        seen.arrived = 2.0;
        seen.delivered = 100;
        for (cwnd, target, full, expected) in [
            (50.0, 60.0, false, 52.0),
            (59.0, 60.0, false, 61.0),
            (61.0, 60.0, false, 61.0),
            (50.0, 60.0, true, 52.0),
            (61.0, 60.0, true, 60.0),
            (61.0, 0.0, true, MIN_WINDOW),
        ] {
            let mut window = window(cwnd, f64::INFINITY);
            TargetWindow {
                packets: target,
                full,
            }
            .approach(&mut window, &seen);
            assert_eq!(window.cwnd, expected, "{target} {full}");
        }
    }

    #[test]
    fn a_burst_beyond_the_rate_is_remembered_for_two_windows() {
        let mut aggregation = Aggregation::default();
        let expectation = |round| Expectation {
            bandwidth: 100.0,
            window: 50.0,
            rounds: 1,
            round,
        };
        let mut seen = sample(0.1);
        seen.arrived = 30.0;
        aggregation.update(&seen, expectation(false));
        assert_eq!(aggregation.most(), 0.0);
        seen.delivery = Some(Delivery::default());
        aggregation.update(&seen, expectation(false));
        assert_eq!(aggregation.most(), 30.0);
        // Ten packets in a second are fewer than expected: nothing is aggregated but they.
        seen.arrived = 10.0;
        for seconds in 2..4 {
            seen.now = Time::from_secs(seconds);
            aggregation.update(&seen, expectation(true));
        }
        assert_eq!(aggregation.most(), 10.0);
        seen.arrived = 1e6;
        aggregation.update(&seen, expectation(false));
        assert_eq!(aggregation.most(), 50.0);
    }

    /// Two packets arrive while half a packet is expected. Linux divides in integers and expects
    /// none (tcp_bbr.c: `bbr_update_ack_aggregation`); the draft counts bytes.
    #[test]
    fn linux_rounds_the_expected_packets_down() {
        for (mut aggregation, extra) in [
            (Aggregation::default(), 1.5),
            (Aggregation::in_whole_packets(), 2.0),
        ] {
            let mut seen = sample(0.1);
            seen.delivery = Some(Delivery::default());
            for (ms, arrived) in [(1000, 1.0), (1005, 1.0)] {
                seen.now = Time::from_millis(ms);
                seen.arrived = arrived;
                let expectation = Expectation {
                    bandwidth: 100.0,
                    window: 50.0,
                    rounds: 5,
                    round: false,
                };
                aggregation.update(&seen, expectation);
            }
            assert_eq!(aggregation.most(), extra);
        }
    }

    #[test]
    fn the_first_windows_packets_let_it_grow_beyond_the_target() {
        for (delivered, full, expected) in [(9, false, 62.0), (10, false, 60.0), (9, true, 50.0)] {
            let mut seen = sample(0.1);
            (seen.arrived, seen.delivered) = (2.0, delivered);
            let mut window = window(60.0, f64::INFINITY);
            let target = TargetWindow {
                packets: 50.0,
                full,
            };
            target.approach(&mut window, &seen);
            assert_eq!(window.cwnd, expected, "{delivered} {full}");
        }
    }

    #[test]
    fn the_first_pace_is_a_windows_worth_per_round_trip() {
        let window = window(10.0, f64::INFINITY);
        let of = |smoothed_rtt| {
            let path = Path {
                smoothed_rtt,
                ..Path::default()
            };
            initial_rate(2.885, &window, &path)
        };
        assert_eq!(of(0.0), None);
        assert_eq!(of(0.1), Some(2.885 * 10.0 / 0.1));
        assert_eq!(of(10.0), Some(2.885));
    }

    /// Aggregation counts the arrivals beyond the rate since arrivals last fell to it. A burst of
    /// 20 packets at 1000 packets per second counts 20, less one for each millisecond. The maximum
    /// covers two windows of rounds and is at most the congestion window.
    #[test]
    fn aggregation_is_what_arrives_beyond_the_rate() {
        let mut aggregation = Aggregation::default();
        let mut arrive = |ms: u64, arrived: f64, round: bool, window: f64| {
            let mut seen = sample(0.1);
            seen.now = Time::from_millis(ms);
            seen.arrived = arrived;
            seen.delivery = Some(Delivery::default());
            let expectation = Expectation {
                bandwidth: 1000.0,
                window,
                rounds: 5,
                round,
            };
            aggregation.update(&seen, expectation);
            aggregation.most()
        };
        assert_eq!(arrive(1000, 1.0, false, 100.0), 1.0);
        assert_eq!(arrive(1100, 20.0, false, 100.0), 20.0);
        // In time from there on: 5 ms later 4 packets more than the rate explains have come in all.
        assert_eq!(arrive(1105, 9.0, false, 100.0), 24.0);
        assert_eq!(arrive(1200, 90.0, false, 50.0), 50.0);
        // Nothing new: forgotten after the second window of five rounds, not after the first.
        let kept: Vec<f64> = (1..=10)
            .map(|k| arrive(2000 + 100 * k, 1.0, true, 100.0))
            .collect();
        assert_eq!(kept[..9], [50.0; 9]);
        assert_eq!(kept[9], 1.0);
        // An acknowledgment that delivers nothing changes nothing.
        let before = arrive(4000, 1.0, false, 100.0);
        assert_eq!(arrive(4001, 0.0, false, 100.0), before);
    }
}
