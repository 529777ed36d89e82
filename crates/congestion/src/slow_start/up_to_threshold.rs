//! Slow start as Linux had it up to 4.1 (net/ipv4/tcp_cong.c: `tcp_slow_start`, without the byte
//! counting of RFC 3465): a window at the threshold still belongs to it, and an acknowledgment adds
//! one packet however many it is for. So a window grows by one with the first acknowledgment after
//! a recovery.

use crate::classic::SlowStart;
use crate::packet::Window;

/// It ends above the threshold, not at it.
#[derive(Clone, Copy, Debug, Default)]
pub struct UpToThreshold;

impl SlowStart for UpToThreshold {
    #[inline]
    fn covers(&self, window: &Window) -> bool {
        window.cwnd <= window.ssthresh
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, acked: f64) -> f64 {
        if acked > 0.0 {
            window.cwnd += 1.0;
        }
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::window;

    #[test]
    fn a_window_at_the_threshold_grows_by_one_and_is_then_above_it() {
        let (mut slow_start, mut window) = (UpToThreshold, window(50.0, 50.0));
        assert!(slow_start.covers(&window));
        assert_eq!(slow_start.on_ack(&mut window, 7.0), 0.0);
        assert_eq!(window.cwnd, 51.0);
        assert!(!slow_start.covers(&window));
        window.cwnd = 50.0;
        slow_start.on_ack(&mut window, 0.0);
        assert_eq!(window.cwnd, 50.0);
    }
}
