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

    /// An acknowledged packet adds max_ssthresh / (2 cwnd): the square of the window grows by
    /// max_ssthresh with each, and by the square of what was added.
    #[test]
    fn the_square_of_the_window_grows_by_the_limit_with_each_packet() {
        for (limit, cwnd) in [(100.0, 101.0), (100.0, 4000.0), (30.0, 31.0)] {
            let (mut window, mut limited) = (window(cwnd, f64::INFINITY), Limited::above(limit));
            for _ in 0..500 {
                let before = window.cwnd;
                limited.on_ack(&mut window, 1.0);
                let added = window.cwnd - before;
                let squares = window.cwnd * window.cwnd - before * before - added * added;
                assert!(
                    (squares / limit - 1.0).abs() < 1e-6,
                    "{limit} {before} {squares}"
                );
            }
        }
        // At the limit itself, and below, slow start is the usual one.
        let mut window = window(100.0, f64::INFINITY);
        Limited::above(100.0).on_ack(&mut window, 1.0);
        assert_eq!(window.cwnd, 101.0);
    }

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
