//! The clock of HyStart in Linux up to 5.5 (net/ipv4/tcp_cubic.c: `bictcp_acked`,
//! `hystart_update`), which counts whole milliseconds (`bictcp_clock`), and round-trip times in
//! eighths of one. On a path of less than 2 ms half a round trip is no millisecond, so that a train
//! of acknowledgments ends slow start as soon as the clock ticks within it.

use forebay_units::Time;

use super::hystart::{Hystart, TrainClock};
use crate::packet::Path;

/// HyStart up to Linux 5.5.
pub(crate) type MillisecondHystart = Hystart<MillisecondClock>;

/// A clock that counts milliseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct MillisecondClock;

/// Acknowledgments this close belong to one train (`hystart_ack_delta`), milliseconds.
const ACK_DELTA: u64 = 2;

/// Bounds of the growth of the round-trip time that ends slow start, eighths of a millisecond
/// (`HYSTART_DELAY_MIN`, `HYSTART_DELAY_MAX`).
const DELAY_MIN: u64 = 4 << 3;
const DELAY_MAX: u64 = 16 << 3;

/// Ticks from one time to another (`bictcp_clock`).
fn ticks(from: Time, to: Time) -> u64 {
    let clock = |time: Time| time.as_picos() / Time::from_millis(1).as_picos();
    clock(to).saturating_sub(clock(from))
}

/// Whole eighths of a millisecond, at least one, of a time in whole microseconds.
fn eighths(seconds: f64) -> u64 {
    let micros = (seconds * 1e6).round() as u64;
    (micros.saturating_mul(8) / 1000).max(1)
}

impl TrainClock for MillisecondClock {
    const FIRST_SAMPLES_ONLY: bool = true;

    fn one_train(&self, last: Time, now: Time) -> bool {
        ticks(last, now) <= ACK_DELTA
    }

    fn too_long(&self, start: Time, now: Time, _: f64, path: &Path) -> bool {
        ticks(start, now) > eighths(path.min_rtt) >> 4
    }

    fn too_late(&self, rtt: f64, path: &Path) -> bool {
        let delay_min = eighths(path.min_rtt);
        eighths(rtt) > delay_min + (delay_min >> 3).clamp(DELAY_MIN, DELAY_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classic::SlowStart;
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
}
