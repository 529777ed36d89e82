//! HyStart++ (RFC 9406): leaves slow start when the round-trip time grows, by way of a
//! conservative phase that returns to slow start where the growth was a false alarm.

use crate::classic::SlowStart;
use crate::packet::{Capabilities, CongestionEvent, Path, Round, Sample, Window};

/// Bounds of the growth of the round-trip time that counts, seconds, and its share of the
/// round-trip time (RFC 9406 section 4.3, whose names these and the fields have).
const MIN_RTT_THRESH: f64 = 4e-3;
const MAX_RTT_THRESH: f64 = 16e-3;
const MIN_RTT_DIVISOR: f64 = 8.0;

/// Samples before a round is judged.
const N_RTT_SAMPLE: u32 = 8;

/// Growth in conservative slow start is slower by this factor, for `CSS_ROUNDS` rounds.
const CSS_GROWTH_DIVISOR: f64 = 4.0;
const CSS_ROUNDS: u32 = 5;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    SlowStart,
    /// Conservative slow start: the round-trip time that began it, and its rounds.
    Css {
        baseline_min_rtt: f64,
        rounds: u32,
    },
    Over,
}

/// The state of HyStart++; initial slow start only (RFC 9406 section 4.3).
#[derive(Clone, Debug)]
pub struct HystartPlusPlus {
    phase: Phase,
    round: Round,
    last_round_min_rtt: f64,
    current_round_min_rtt: f64,
    rtt_sample_count: u32,
}

impl Default for HystartPlusPlus {
    fn default() -> Self {
        Self {
            phase: Phase::SlowStart,
            round: Round::default(),
            last_round_min_rtt: f64::INFINITY,
            current_round_min_rtt: f64::INFINITY,
            rtt_sample_count: 0,
        }
    }
}

impl HystartPlusPlus {
    /// The current divisor of slow start's growth.
    #[inline]
    fn divisor(&self) -> f64 {
        match self.phase {
            Phase::Css { .. } => CSS_GROWTH_DIVISOR,
            Phase::SlowStart | Phase::Over => 1.0,
        }
    }

    fn begin_round(&mut self, window: &mut Window) {
        self.last_round_min_rtt = self.current_round_min_rtt;
        self.current_round_min_rtt = f64::INFINITY;
        self.rtt_sample_count = 0;
        if let Phase::Css { rounds, .. } = &mut self.phase {
            *rounds += 1;
            if *rounds > CSS_ROUNDS {
                window.ssthresh = window.cwnd;
                self.phase = Phase::Over;
            }
        }
    }

    /// Whether a round's smallest round-trip time has grown, or was no growth after all.
    fn judge(&mut self) {
        match self.phase {
            Phase::SlowStart if self.last_round_min_rtt.is_finite() => {
                let thresh = self.last_round_min_rtt / MIN_RTT_DIVISOR;
                let thresh = thresh.clamp(MIN_RTT_THRESH, MAX_RTT_THRESH);
                if self.current_round_min_rtt >= self.last_round_min_rtt + thresh {
                    self.phase = Phase::Css {
                        baseline_min_rtt: self.current_round_min_rtt,
                        rounds: 0,
                    };
                }
            }
            Phase::Css {
                baseline_min_rtt, ..
            } if self.current_round_min_rtt < baseline_min_rtt => {
                self.phase = Phase::SlowStart;
            }
            _ => {}
        }
    }
}

impl SlowStart for HystartPlusPlus {
    const SAMPLES: Capabilities = Capabilities::RoundTrips;

    #[inline]
    fn on_ack(&mut self, window: &mut Window, acked: f64) -> f64 {
        window.slow_start(acked / self.divisor())
    }

    /// Lowers the threshold to the window where slow start is over.
    fn on_sample(&mut self, window: &mut Window, sample: &Sample, _: &Path) {
        if self.phase == Phase::Over {
            return;
        }
        if window.cwnd >= window.ssthresh {
            self.phase = Phase::Over;
            return;
        }
        if self.round.begins(sample) {
            self.begin_round(window);
        }
        let Some(rtt) = sample.rtt else {
            return;
        };
        self.current_round_min_rtt = self.current_round_min_rtt.min(rtt);
        self.rtt_sample_count += 1;
        if self.rtt_sample_count >= N_RTT_SAMPLE {
            self.judge();
        }
    }

    /// A congestion ends it.
    fn on_congestion_event(&mut self, _: CongestionEvent) {
        self.phase = Phase::Over;
    }

    fn on_undo(&mut self, before: &Self) {
        self.clone_from(before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::{sample, window};

    /// A round of twenty acknowledgments with this round-trip time.
    fn round(hystart: &mut HystartPlusPlus, window: &mut Window, number: u64, rtt: f64) {
        for k in 0..20 {
            let mut seen = sample(rtt);
            seen.acknowledged = number * 20 + k;
            seen.next = number * 20 + 20;
            hystart.on_sample(window, &seen, &Path::default());
        }
    }

    fn start() -> (HystartPlusPlus, Window) {
        let window = window(100.0, f64::INFINITY);
        (HystartPlusPlus::default(), window)
    }

    #[test]
    fn a_steady_round_trip_never_ends_slow_start() {
        let (mut hystart, mut window) = start();
        for number in 0..50 {
            round(&mut hystart, &mut window, number, 0.1);
        }
        assert_eq!((hystart.divisor(), window.ssthresh), (1.0, f64::INFINITY));
    }

    #[test]
    fn growth_beyond_the_threshold_slows_and_then_ends_it() {
        let (mut hystart, mut window) = start();
        round(&mut hystart, &mut window, 0, 0.1);
        round(&mut hystart, &mut window, 1, 0.111);
        assert_eq!(hystart.divisor(), 1.0, "an eighth of 100 ms is 12.5 ms");
        round(&mut hystart, &mut window, 2, 0.126);
        assert_eq!(hystart.divisor(), 4.0);
        for number in 3..9 {
            round(&mut hystart, &mut window, number, 0.13);
        }
        assert_eq!((hystart.divisor(), window.ssthresh), (1.0, 100.0));
    }

    #[test]
    fn a_false_alarm_returns_to_slow_start() {
        let (mut hystart, mut window) = start();
        round(&mut hystart, &mut window, 0, 0.1);
        round(&mut hystart, &mut window, 1, 0.12);
        assert_eq!(hystart.divisor(), 4.0);
        round(&mut hystart, &mut window, 2, 0.1);
        assert_eq!((hystart.divisor(), window.ssthresh), (1.0, f64::INFINITY));
    }

    /// RFC 9406 section 4.3: in the initial slow start only, unless the timeout was spurious.
    #[test]
    fn a_congestion_ends_it_until_that_is_undone() {
        let (mut hystart, mut window) = start();
        round(&mut hystart, &mut window, 0, 0.1);
        let before = hystart.clone();
        hystart.on_congestion_event(CongestionEvent::Timeout);
        round(&mut hystart, &mut window, 1, 0.12);
        assert_eq!(hystart.divisor(), 1.0);
        hystart.on_undo(&before);
        round(&mut hystart, &mut window, 2, 0.12);
        assert_eq!(hystart.divisor(), 4.0);
    }
}
