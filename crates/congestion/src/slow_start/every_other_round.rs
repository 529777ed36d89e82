//! Slow start of TCP Vegas (Brakmo and Peterson 1995 section 3.3): the window doubles in every
//! other round trip and stays in between, so that a round trip of a constant window shows whether
//! packets queue.

use crate::classic::SlowStart;
use crate::packet::{Capabilities, Path, Sample, Window};

/// Rounds that alternate: in one the window may grow, in the next one it stays.
///
/// A round ends with the acknowledgment of the first packet that was sent in it, the paper's
/// distinguished segment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AlternateRounds {
    /// The packet whose acknowledgment ends the round.
    distinguished: u64,
    /// Rounds begun.
    begun: u64,
}

impl AlternateRounds {
    /// Whether this acknowledgment ends a round, and begins the next one.
    #[inline]
    pub(crate) fn begins(&mut self, sample: &Sample) -> bool {
        let begins = sample.acknowledged > self.distinguished || self.begun == 0;
        if begins {
            self.distinguished = sample.next;
            self.begun += 1;
        }
        begins
    }

    /// Whether the window stays in this round. It grows in the first.
    #[inline]
    pub(crate) fn holds(&self) -> bool {
        self.begun > 0 && self.begun.is_multiple_of(2)
    }
}

/// It grows in every other round only.
#[derive(Clone, Copy, Debug, Default)]
pub struct EveryOtherRound {
    rounds: AlternateRounds,
}

impl SlowStart for EveryOtherRound {
    const SAMPLES: Capabilities = Capabilities::RoundTrips;

    #[inline]
    fn on_ack(&mut self, window: &mut Window, acked: f64) -> f64 {
        if self.rounds.holds() {
            0.0
        } else {
            window.slow_start(acked)
        }
    }

    fn on_sample(&mut self, _: &mut Window, sample: &Sample, _: &Path) {
        self.rounds.begins(sample);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::{sample, window};

    /// Round trips of as many packets as the window has: 10, 20, 20, 40, 40, 80.
    #[test]
    fn the_window_doubles_in_every_other_round_trip() {
        let (mut slow_start, mut at) = (EveryOtherRound::default(), window(10.0, f64::INFINITY));
        let (mut acked, mut sizes) = (0, Vec::new());
        let mut seen = sample(0.1);
        seen.next = 10;
        for _ in 0..6 {
            for _ in 0..at.cwnd as u64 {
                acked += 1;
                slow_start.on_ack(&mut at, 1.0);
                seen.acknowledged = acked;
                slow_start.on_sample(&mut at, &seen, &Path::default());
                seen.next = acked + at.cwnd as u64;
            }
            sizes.push(at.cwnd);
        }
        let doubled = [20.0, 20.0, 40.0, 40.0, 80.0, 80.0];
        for (size, expected) in sizes.iter().zip(doubled) {
            // The acknowledgment that begins a round still counts in the one that it ends: a packet
            // more.
            assert!((size / expected - 1.0).abs() <= 0.051, "{sizes:?}");
        }
    }
}
