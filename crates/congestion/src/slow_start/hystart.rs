//! Hybrid slow start as in Linux (Ha and Rhee 2008; net/ipv4/tcp_cubic.c of 6.x): a long train of
//! acknowledgments, or growth of the round-trip time, ends it.

use forebay_units::{Bytes, Time};

use crate::classic::SlowStart;
use crate::packet::{Path, Sample, Samples, Signal, Window};
use crate::segmentation::Segmentation;

/// Windows below this never end slow start (`hystart_low_window`).
pub(super) const LOW_WINDOW: f64 = 16.0;

/// Acknowledgments this close belong to one train (`hystart_ack_delta_us`), seconds.
const ACK_DELTA: f64 = 2e-3;

/// Round-trip times of a round before their minimum is judged (`HYSTART_MIN_SAMPLES`).
const MIN_SAMPLES: u32 = 8;

/// Bounds of the growth of the round-trip time that ends slow start, seconds (`HYSTART_DELAY_MIN`,
/// `HYSTART_DELAY_MAX`).
const DELAY_MIN: f64 = 4e-3;
const DELAY_MAX: f64 = 16e-3;

/// Bursts of the largest size, and the longest time allowed for them, seconds (`hystart_ack_delay`).
const BURSTS: f64 = 4.0;
const LONGEST_BURSTS: f64 = 1e-3;

/// The kernel's state, by its names.
#[derive(Clone, Copy, Debug)]
pub struct Hystart {
    segmentation: Segmentation,
    /// Whether the end was found; a timeout looks for it anew (`bictcp_reset`).
    found: bool,
    /// The round ends when more than this is acknowledged; none before the first (`end_seq`).
    end_seq: Option<u64>,
    round_start: Time,
    last_ack: Time,
    /// The round's smallest round-trip time, seconds.
    curr_rtt: f64,
    sample_cnt: u32,
}

impl Default for Hystart {
    fn default() -> Self {
        Self {
            segmentation: Segmentation::default(),
            found: false,
            end_seq: None,
            round_start: Time::ZERO,
            last_ack: Time::ZERO,
            curr_rtt: f64::INFINITY,
            sample_cnt: 0,
        }
    }
}

impl Hystart {
    /// The state before anything was seen.
    fn anew(&self) -> Self {
        Self {
            segmentation: self.segmentation,
            ..Self::default()
        }
    }
}

impl SlowStart for Hystart {
    const SAMPLES: Samples = Samples::RoundTrips;

    #[inline]
    fn on_ack(&mut self, window: &mut Window, acked: f64) -> f64 {
        window.slow_start(acked)
    }

    fn on_open(&mut self, payload: Bytes) {
        self.segmentation = Segmentation::of(payload);
    }

    /// `hystart_update`.
    fn on_sample(&mut self, window: &mut Window, sample: &Sample, path: &Path) {
        let Some(rtt) = sample.rtt else {
            return;
        };
        if self.found || window.cwnd >= window.ssthresh {
            return;
        }
        if self.end_seq.is_none_or(|end| sample.acknowledged > end) {
            *self = Self {
                end_seq: Some(sample.next),
                round_start: sample.now,
                last_ack: sample.now,
                ..self.anew()
            };
        }
        if window.cwnd < LOW_WINDOW {
            return;
        }
        let since = |start: Time| sample.now.saturating_sub(start).as_secs_f64();
        if since(self.last_ack) <= ACK_DELTA {
            self.last_ack = sample.now;
            // Half, as nothing is paced.
            let rate = 2.0 * window.cwnd / path.smoothed_rtt;
            let bursts = BURSTS * self.segmentation.largest() / rate;
            let threshold = 0.5 * (path.min_rtt + bursts.min(LONGEST_BURSTS));
            self.found |= since(self.round_start) > threshold;
        }
        self.curr_rtt = self.curr_rtt.min(rtt);
        if self.sample_cnt < MIN_SAMPLES {
            self.sample_cnt += 1;
        } else {
            let growth = (0.125 * path.min_rtt).clamp(DELAY_MIN, DELAY_MAX);
            self.found |= self.curr_rtt > path.min_rtt + growth;
        }
        if self.found {
            window.ssthresh = window.cwnd;
        }
    }

    /// `bictcp_reset`.
    fn on_congestion(&mut self, signal: Signal) {
        if signal == Signal::Timeout {
            *self = self.anew();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::{sample, window};

    const ROUND: f64 = 0.05;

    /// Rounds of acknowledgments at this distance with this round-trip time.
    fn slow_start(rtts: &[f64], gap: f64, each: u64) -> Window {
        let mut hystart = Hystart::default();
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

    #[test]
    fn what_was_found_is_looked_for_anew_after_a_timeout_only() {
        let mut hystart = Hystart {
            found: true,
            ..Hystart::default()
        };
        for signal in [Signal::Loss, Signal::Mark] {
            hystart.on_congestion(signal);
            assert!(hystart.found);
        }
        hystart.on_congestion(Signal::Timeout);
        assert!(!hystart.found);
    }
}
