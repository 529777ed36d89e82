//! Hybrid slow start as in Linux (Ha and Rhee 2008; net/ipv4/tcp_cubic.c): a long train of
//! acknowledgments, or growth of the round-trip time, ends it. Here is what all kernels do, and the
//! clock of those since 5.6; that of older ones is in [`super::hystart_ms`].

use std::fmt::Debug;

use forebay_units::{Bytes, Time};

use crate::classic::SlowStart;
use crate::packet::{Capabilities, CongestionEvent, Path, Sample, Window};
use crate::segmentation::Segmentation;

/// Windows below this never end slow start (`hystart_low_window`).
const LOW_WINDOW: f64 = 16.0;

/// Round-trip times of a round before their minimum is judged (`HYSTART_MIN_SAMPLES`).
const MIN_SAMPLES: u32 = 8;

/// How a kernel measures trains and delays.
pub trait TrainClock: Clone + Copy + Debug + Default {
    /// Whether the first eight round-trip times of a round are all that count for its smallest.
    const FIRST_SAMPLES_ONLY: bool;

    /// Whether acknowledgments at these times belong to one train.
    fn one_train(&self, last: Time, now: Time) -> bool;

    /// Whether a train from `start` to `now` is too long for the path at this window.
    fn too_long(&self, start: Time, now: Time, cwnd: f64, path: &Path) -> bool;

    /// Whether a round-trip time of `rtt` seconds is too long for the path.
    fn too_late(&self, rtt: f64, path: &Path) -> bool;

    /// A connection opens. A full packet carries this payload.
    fn on_open(&mut self, _payload: Bytes) {}
}

/// The kernel's state, by its names.
#[derive(Clone, Copy, Debug)]
pub struct Hystart<C = MicrosecondClock> {
    clock: C,
    /// Whether the end was found; after a timeout the search restarts (`bictcp_reset`).
    found: bool,
    /// The round ends when more than this is acknowledged; none before the first (`end_seq`).
    end_seq: Option<u64>,
    round_start: Time,
    last_ack: Time,
    /// The round's smallest round-trip time, seconds.
    curr_rtt: f64,
    sample_cnt: u32,
}

impl<C: TrainClock> Default for Hystart<C> {
    fn default() -> Self {
        Self::before_the_first(C::default())
    }
}

impl<C: TrainClock> Hystart<C> {
    /// The state before anything was seen.
    fn before_the_first(clock: C) -> Self {
        Self {
            clock,
            found: false,
            end_seq: None,
            round_start: Time::ZERO,
            last_ack: Time::ZERO,
            curr_rtt: f64::INFINITY,
            sample_cnt: 0,
        }
    }
}

impl<C: TrainClock> SlowStart for Hystart<C> {
    const SAMPLES: Capabilities = Capabilities::RoundTrips;

    #[inline]
    fn on_ack(&mut self, window: &mut Window, acked: f64) -> f64 {
        window.slow_start(acked)
    }

    fn on_open(&mut self, payload: Bytes) {
        self.clock.on_open(payload);
    }

    /// `hystart_update`.
    fn on_sample(&mut self, window: &mut Window, sample: &Sample, path: &Path) {
        let Some(rtt) = sample.rtt else {
            return;
        };
        if self.found || window.cwnd >= window.ssthresh {
            return;
        }
        let now = sample.now;
        if self.end_seq.is_none_or(|end| sample.acknowledged > end) {
            *self = Self {
                end_seq: Some(sample.next),
                round_start: now,
                last_ack: now,
                ..Self::before_the_first(self.clock)
            };
        }
        if window.cwnd < LOW_WINDOW {
            return;
        }
        if self.clock.one_train(self.last_ack, now) {
            self.last_ack = now;
            let start = self.round_start;
            self.found |= self.clock.too_long(start, now, window.cwnd, path);
        }
        let first = self.sample_cnt < MIN_SAMPLES;
        if first || !C::FIRST_SAMPLES_ONLY {
            self.curr_rtt = self.curr_rtt.min(rtt);
        }
        if first {
            self.sample_cnt += 1;
        } else {
            self.found |= self.clock.too_late(self.curr_rtt, path);
        }
        if self.found {
            window.ssthresh = window.cwnd;
        }
    }

    /// `bictcp_reset`.
    fn on_congestion_event(&mut self, event: CongestionEvent) {
        if event == CongestionEvent::Timeout {
            *self = Self::before_the_first(self.clock);
        }
    }
}

/// The clock of Linux since 5.6, which counts microseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct MicrosecondClock {
    segmentation: Segmentation,
}

/// Acknowledgments this close belong to one train (`hystart_ack_delta_us`), seconds.
const ACK_DELTA: f64 = 2e-3;

/// Bounds of the growth of the round-trip time that ends slow start, seconds (`HYSTART_DELAY_MIN`,
/// `HYSTART_DELAY_MAX`).
const DELAY_MIN: f64 = 4e-3;
const DELAY_MAX: f64 = 16e-3;

/// Bursts of the largest size, and the longest time allowed for them, seconds
/// (`hystart_ack_delay`).
const BURSTS: f64 = 4.0;
const LONGEST_BURSTS: f64 = 1e-3;

/// Seconds from one time to another.
fn seconds(from: Time, to: Time) -> f64 {
    to.saturating_sub(from).as_secs_f64()
}

impl TrainClock for MicrosecondClock {
    const FIRST_SAMPLES_ONLY: bool = false;

    fn one_train(&self, last: Time, now: Time) -> bool {
        seconds(last, now) <= ACK_DELTA
    }

    fn too_long(&self, start: Time, now: Time, cwnd: f64, path: &Path) -> bool {
        // Half, as nothing is paced.
        let rate = 2.0 * cwnd / path.smoothed_rtt;
        let bursts = BURSTS * self.segmentation.largest() / rate;
        let threshold = 0.5 * (path.min_rtt + bursts.min(LONGEST_BURSTS));
        seconds(start, now) > threshold
    }

    fn too_late(&self, rtt: f64, path: &Path) -> bool {
        let growth = (0.125 * path.min_rtt).clamp(DELAY_MIN, DELAY_MAX);
        rtt > path.min_rtt + growth
    }

    fn on_open(&mut self, payload: Bytes) {
        self.segmentation = Segmentation::of(payload);
    }
}

#[cfg(test)]
mod tests {
    use super::super::hystart_ms::MillisecondClock;
    use super::*;
    use crate::packet::tests::{sample, window};

    const ROUND: f64 = 0.05;

    /// Rounds of acknowledgments at this distance with this round-trip time.
    fn slow_start(rtts: &[f64], gap: f64, each: u64) -> Window {
        let mut hystart: Hystart = Hystart::default();
        let mut window = window(40.0, f64::INFINITY);
        let (mut seen, mut now) = (sample(ROUND), 1.0);
        let mut path = Path {
            smoothed_rtt: ROUND,
            min_rtt: f64::INFINITY,
            ..Path::default()
        };
        for (number, &rtt) in rtts.iter().enumerate() {
            path.min_rtt = path.min_rtt.min(rtt);
            for k in 1..=each {
                seen.rtt = Some(rtt);
                seen.now = Time::from_secs_f64(now + k as f64 * gap);
                seen.acknowledged = number as u64 * each + k;
                seen.next = number as u64 * each + k + each;
                hystart.on_sample(&mut window, &seen, &path);
            }
            now += ROUND;
        }
        window
    }

    #[test]
    fn hystart_ends_slow_start_by_trains_and_by_delay_and_not_otherwise() {
        let steady = [ROUND; 4];
        assert_eq!(slow_start(&steady, 5e-4, 40).ssthresh, f64::INFINITY);
        // A train longer than half of the round trip.
        assert_eq!(slow_start(&steady, 5e-4, 60).ssthresh, 40.0);
        // Gaps break the train.
        assert_eq!(slow_start(&steady, 3e-3, 15).ssthresh, f64::INFINITY);
        // An eighth of the round trip more.
        let growing = [ROUND, ROUND, 1.13 * ROUND];
        assert_eq!(slow_start(&growing, 5e-4, 20).ssthresh, 40.0);
        let little = [ROUND, ROUND, 1.12 * ROUND];
        assert_eq!(slow_start(&little, 5e-4, 20).ssthresh, f64::INFINITY);
    }

    /// `bictcp_hystart_update` (6.x): a train is long from half of min_rtt + hystart_ack_delay on,
    /// which is the time of four largest bursts at the pace of slow start, a millisecond at most
    /// (sk_pacing_rate is twice the window in a round trip, and half of that where nothing is
    /// paced).
    #[test]
    fn a_train_is_long_from_half_of_the_round_trip_and_four_bursts_on() {
        let clock = MicrosecondClock::default();
        let start = Time::from_secs(1);
        let largest = clock.segmentation.largest();
        for (cwnd, rtt) in [(40.0, 0.05), (4e5, 0.05), (1e7, 0.05), (1e6, 0.3)] {
            let path = Path {
                smoothed_rtt: 1.5 * rtt,
                min_rtt: rtt,
                ..Path::default()
            };
            let bursts: f64 = 4.0 * largest * 1.5 * rtt / (2.0 * cwnd);
            let threshold = 0.5 * (rtt + bursts.min(1e-3));
            let long = |part: f64| {
                clock.too_long(
                    start,
                    start + Time::from_secs_f64(part * threshold),
                    cwnd,
                    &path,
                )
            };
            assert!(!long(0.9999) && long(1.0001), "{cwnd} {rtt}");
        }
    }

    fn what_was_found_is_looked_for_anew_after_a_timeout_only_by<C: TrainClock>() {
        let mut hystart: Hystart<C> = Hystart {
            found: true,
            ..Hystart::default()
        };
        for event in [CongestionEvent::Loss, CongestionEvent::Mark] {
            hystart.on_congestion_event(event);
            assert!(hystart.found);
        }
        hystart.on_congestion_event(CongestionEvent::Timeout);
        assert!(!hystart.found);
    }

    #[test]
    fn what_was_found_is_looked_for_anew_after_a_timeout_only() {
        what_was_found_is_looked_for_anew_after_a_timeout_only_by::<MicrosecondClock>();
        what_was_found_is_looked_for_anew_after_a_timeout_only_by::<MillisecondClock>();
    }
}
