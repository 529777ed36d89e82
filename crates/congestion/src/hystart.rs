//! HyStart++ (RFC 9406): leaves slow start when the round-trip time grows, by way of a
//! conservative phase that returns to slow start where the growth was a false alarm.

use crate::packet::{Needs, Round, Sample, Samples, Window};

/// Bounds of the growth of the round-trip time that counts, seconds, and its share of the
/// round-trip time (RFC 9406 section 4.3).
const MIN_THRESHOLD: f64 = 4e-3;
const MAX_THRESHOLD: f64 = 16e-3;
const RTT_DIVISOR: f64 = 8.0;

/// Samples before a round is judged.
const SAMPLES: u32 = 8;

/// Growth in conservative slow start is this much slower, for so many rounds.
const GROWTH_DIVISOR: f64 = 4.0;
const CONSERVATIVE_ROUNDS: u32 = 5;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    SlowStart,
    /// Conservative slow start: the round-trip time that began it, and its rounds.
    Conservative {
        baseline: f64,
        rounds: u32,
    },
    Over,
}

/// The state of HyStart++; initial slow start only (RFC 9406 section 4.3).
#[derive(Clone, Debug)]
pub(crate) struct Hystart {
    phase: Phase,
    round: Round,
    last_round: f64,
    this_round: f64,
    samples: u32,
}

impl Hystart {
    pub(crate) fn new() -> Self {
        Self {
            phase: Phase::SlowStart,
            round: Round::default(),
            last_round: f64::INFINITY,
            this_round: f64::INFINITY,
            samples: 0,
        }
    }

    /// What a controller with this option asks of the engine.
    pub(crate) fn needs(option: Option<&Self>) -> Needs {
        Needs {
            samples: if option.is_some() {
                Samples::RoundTrips
            } else {
                Samples::None
            },
            ..Needs::default()
        }
    }

    /// What slow start may grow by for so many packets.
    #[inline]
    pub(crate) fn slowed(option: Option<&Self>, acked: f64) -> f64 {
        option.map_or(acked, |hystart| acked / hystart.divisor())
    }

    /// By how much slow start's growth is divided now.
    #[inline]
    pub(crate) fn divisor(&self) -> f64 {
        match self.phase {
            Phase::Conservative { .. } => GROWTH_DIVISOR,
            Phase::SlowStart | Phase::Over => 1.0,
        }
    }

    /// A congestion ends slow start.
    pub(crate) fn stop(&mut self) {
        self.phase = Phase::Over;
    }

    /// Looks at an acknowledgement; lowers the threshold to the window where slow start is over.
    pub(crate) fn on_sample(&mut self, window: &mut Window, sample: &Sample) {
        if self.phase == Phase::Over {
            return;
        }
        if window.cwnd >= window.ssthresh {
            self.stop();
            return;
        }
        if self.round.begins(sample) {
            self.begin_round(window);
        }
        let Some(rtt) = sample.rtt else {
            return;
        };
        self.this_round = self.this_round.min(rtt);
        self.samples += 1;
        if self.samples < SAMPLES {
            return;
        }
        match self.phase {
            Phase::SlowStart if self.last_round.is_finite() => {
                let threshold = (self.last_round / RTT_DIVISOR).clamp(MIN_THRESHOLD, MAX_THRESHOLD);
                if self.this_round >= self.last_round + threshold {
                    self.phase = Phase::Conservative {
                        baseline: self.this_round,
                        rounds: 0,
                    };
                }
            }
            Phase::Conservative { baseline, .. } if self.this_round < baseline => {
                self.phase = Phase::SlowStart;
            }
            _ => {}
        }
    }

    fn begin_round(&mut self, window: &mut Window) {
        self.last_round = self.this_round;
        self.this_round = f64::INFINITY;
        self.samples = 0;
        if let Phase::Conservative { rounds, .. } = &mut self.phase {
            *rounds += 1;
            if *rounds > CONSERVATIVE_ROUNDS {
                window.ssthresh = window.cwnd;
                self.phase = Phase::Over;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::{sample, window};

    /// A round of twenty acknowledgements with this round-trip time.
    fn round(hystart: &mut Hystart, window: &mut Window, number: u64, rtt: f64) {
        for k in 0..20 {
            let mut seen = sample(rtt);
            seen.acknowledged = number * 20 + k;
            seen.next = number * 20 + 20;
            hystart.on_sample(window, &seen);
        }
    }

    fn start() -> (Hystart, Window) {
        let window = window(100.0, f64::INFINITY);
        (Hystart::new(), window)
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
}
