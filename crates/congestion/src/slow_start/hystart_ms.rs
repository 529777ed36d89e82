//! Hybrid slow start as in Linux up to 5.5 (net/ipv4/tcp_cubic.c: `bictcp_acked`, `hystart_update`),
//! whose clock counts whole milliseconds (`bictcp_clock`) and whose round-trip times are in eighths
//! of one. On a path of less than 2 ms half a round trip is no millisecond, so that a train of
//! acknowledgments ends slow start as soon as the clock ticks within it.

use forebay_units::Time;

use super::hystart::LOW_WINDOW;
use crate::classic::SlowStart;
use crate::packet::{Path, Sample, Samples, Signal, Window};

/// Acknowledgments this close belong to one train (`hystart_ack_delta`), milliseconds.
const ACK_DELTA: u64 = 2;

/// Round-trip times of a round before their minimum is judged (`HYSTART_MIN_SAMPLES`).
const MIN_SAMPLES: u32 = 8;

/// Bounds of the growth of the round-trip time that ends slow start, eighths of a millisecond
/// (`HYSTART_DELAY_MIN`, `HYSTART_DELAY_MAX`).
const DELAY_MIN: u64 = 4 << 3;
const DELAY_MAX: u64 = 16 << 3;

/// The kernel's state, by its names.
#[derive(Clone, Copy, Debug, Default)]
pub struct MillisecondHystart {
    /// Whether the end was found; a timeout looks for it anew (`bictcp_reset`).
    found: bool,
    /// The round ends when more than this is acknowledged; none before the first (`end_seq`).
    end_seq: Option<u64>,
    round_start: u64,
    last_ack: u64,
    /// The smallest of the round's first round-trip times; none before the first.
    curr_rtt: Option<u64>,
    sample_cnt: u32,
}

/// Whole milliseconds (`bictcp_clock`).
fn clock(time: Time) -> u64 {
    time.as_picos() / Time::from_millis(1).as_picos()
}

/// Whole eighths of a millisecond, at least one, of a time in whole microseconds.
fn eighths(seconds: f64) -> u64 {
    let micros = (seconds * 1e6).round() as u64;
    (micros.saturating_mul(8) / 1000).max(1)
}

impl SlowStart for MillisecondHystart {
    const SAMPLES: Samples = Samples::RoundTrips;

    #[inline]
    fn on_ack(&mut self, window: &mut Window, acked: f64) -> f64 {
        window.slow_start(acked)
    }

    fn on_sample(&mut self, window: &mut Window, sample: &Sample, path: &Path) {
        let Some(rtt) = sample.rtt else {
            return;
        };
        if self.found || window.cwnd >= window.ssthresh {
            return;
        }
        let now = clock(sample.now);
        if self.end_seq.is_none_or(|end| sample.acknowledged > end) {
            *self = Self {
                end_seq: Some(sample.next),
                round_start: now,
                last_ack: now,
                ..Self::default()
            };
        }
        if window.cwnd < LOW_WINDOW {
            return;
        }
        let delay_min = eighths(path.min_rtt);
        if now.saturating_sub(self.last_ack) <= ACK_DELTA {
            self.last_ack = now;
            self.found |= now.saturating_sub(self.round_start) > delay_min >> 4;
        }
        if self.sample_cnt < MIN_SAMPLES {
            let delay = eighths(rtt);
            self.curr_rtt = Some(self.curr_rtt.map_or(delay, |least| least.min(delay)));
            self.sample_cnt += 1;
        } else {
            let most = delay_min + (delay_min >> 3).clamp(DELAY_MIN, DELAY_MAX);
            self.found |= self.curr_rtt.is_some_and(|least| least > most);
        }
        if self.found {
            window.ssthresh = window.cwnd;
        }
    }

    /// `bictcp_reset`.
    fn on_congestion(&mut self, signal: Signal) {
        if signal == Signal::Timeout {
            *self = Self::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::{sample, window};

    /// Whether rounds of acknowledgments at this distance with these round-trip times end slow
    /// start; all times in microseconds.
    fn ends(rtts: &[u64], gap: u64, each: u64, from: u64) -> bool {
        let mut hystart = MillisecondHystart::default();
        let mut window = window(40.0, f64::INFINITY);
        let mut seen = sample(1e-6 * rtts[0] as f64);
        let mut path = Path {
            min_rtt: f64::INFINITY,
            ..Path::default()
        };
        let mut now = from;
        for (number, &rtt) in rtts.iter().enumerate() {
            let seconds = 1e-6 * rtt as f64;
            path.min_rtt = path.min_rtt.min(seconds);
            for k in 1..=each {
                seen.rtt = Some(seconds);
                seen.now = Time::from_micros(now + k * gap);
                seen.acknowledged = number as u64 * each + k;
                seen.next = number as u64 * each + k + each;
                hystart.on_sample(&mut window, &seen, &path);
            }
            now += rtt;
        }
        window.ssthresh.is_finite()
    }

    /// The train is measured from tick to tick: more than half of a round trip in whole
    /// milliseconds.
    #[test]
    fn a_train_longer_than_half_of_a_round_trip_ends_slow_start() {
        let steady = [50_000; 3];
        assert!(!ends(&steady, 500, 51, 0), "25 ms from tick to tick");
        assert!(ends(&steady, 500, 53, 0), "26 ms");
        assert!(!ends(&steady, 3000, 15, 0), "gaps break the train");
    }

    /// At 1.2 ms half of a round trip is less than a tick, so that one tick is enough.
    #[test]
    fn on_a_short_path_a_tick_within_a_train_is_enough() {
        for (from, ticks) in [(100, false), (650, true)] {
            // 20 acknowledgments in 0.4 ms.
            assert_eq!(ends(&[1200], 20, 20, from), ticks, "{from}");
        }
    }

    /// An eighth of the round trip more, but 4 ms at least.
    #[test]
    fn a_delay_that_grows_ends_slow_start() {
        for (rtt, grown, found) in [
            (50_000, 56_500, true),
            (50_000, 56_000, false),
            (10_000, 14_250, true),
            (10_000, 14_000, false),
        ] {
            assert_eq!(ends(&[rtt, rtt, grown], 100, 20, 0), found, "{rtt} {grown}");
        }
    }

    #[test]
    fn what_was_found_is_looked_for_anew_after_a_timeout_only() {
        let mut hystart = MillisecondHystart {
            found: true,
            ..MillisecondHystart::default()
        };
        for signal in [Signal::Loss, Signal::Mark] {
            hystart.on_congestion(signal);
            assert!(hystart.found);
        }
        hystart.on_congestion(Signal::Timeout);
        assert!(!hystart.found);
    }
}
