//! Limited slow start (RFC 3742) for large windows.

use crate::classic::SlowStart;
use crate::packet::Window;

/// Above `max_ssthresh` the window grows by half of that per round trip at most.
#[derive(Clone, Copy, Debug)]
pub struct Limited {
    max_ssthresh: f64,
}

impl Limited {
    /// With `max_ssthresh` in packets.
    pub fn above(max_ssthresh: f64) -> Self {
        Self { max_ssthresh }
    }
}

impl SlowStart for Limited {
    #[inline]
    fn on_ack(&mut self, window: &mut Window, acked: f64) -> f64 {
        let mut acked = acked;
        if window.cwnd > self.max_ssthresh {
            // RFC 3742 section 2: K = cwnd / (0.5 max_ssthresh), 1/K packets per packet.
            acked *= (0.5 * self.max_ssthresh / window.cwnd).min(1.0);
        }
        window.slow_start(acked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::window;

    /// RFC 3742 section 2: half of max_ssthresh per round trip, whatever the window.
    #[test]
    fn a_round_trip_adds_half_of_the_limit_above_it_and_a_window_below() {
        for (cwnd, grown) in [(60.0, 60.0), (200.0, 50.0), (4000.0, 50.0)] {
            let mut window = window(cwnd, f64::INFINITY);
            let mut limited = Limited::above(100.0);
            for _ in 0..cwnd as u64 {
                assert_eq!(limited.on_ack(&mut window, 1.0), 0.0);
            }
            let error = (window.cwnd - cwnd) / grown - 1.0;
            assert!((-0.2..=0.0).contains(&error), "{cwnd} {}", window.cwnd);
        }
    }
}
