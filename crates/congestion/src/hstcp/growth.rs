//! HighSpeed TCP's growth and cut on packets.

use forebay_units::Time;

use super::response::HstcpResponse;
use crate::classic::WindowGrowth;
use crate::packet::{Ack, Path, Signal, Window};

/// HighSpeed TCP's growth by the exact functions of RFC 3649 section 5.
#[derive(Clone, Debug)]
pub struct HstcpGrowth {
    functions: HstcpResponse,
    /// a(w), and the window it was last computed for: it changes slowly.
    a: f64,
    a_at: f64,
}

impl HstcpGrowth {
    /// By these functions.
    pub fn by(functions: HstcpResponse) -> Self {
        Self {
            functions,
            a: 1.0,
            a_at: 0.0,
        }
    }

    /// a(w), recomputed once the window has moved by more than one part in 500 (an error of a(w)
    /// of at most 0.2 %).
    #[inline]
    fn a(&mut self, w: f64) -> f64 {
        if (w - self.a_at).abs() * 500.0 > self.a_at {
            self.a = self.functions.bounded_increase(w).max(1.0);
            self.a_at = w;
        }
        self.a
    }
}

impl WindowGrowth for HstcpGrowth {
    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, _: &Path) {
        if ack.acked > 0.0 {
            window.cwnd += self.a(window.cwnd) * ack.acked / window.cwnd;
        }
    }

    fn on_congestion(&mut self, window: &mut Window, signal: Signal, _: Time, path: &Path) {
        let cut = self.functions.bounded_decrease(path.flight).clamp(0.0, 0.5);
        window.cut((1.0 - cut) * path.flight, signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::window;

    #[test]
    fn a_window_grows_by_a_per_round_trip_and_is_cut_by_b() {
        let response = HstcpResponse::default();
        let mut growth = HstcpGrowth::by(response);
        for cwnd in [20.0, 1000.0, 80_000.0] {
            let mut window = window(cwnd, 10.0);
            let ack = Ack {
                acked: cwnd,
                now: Time::ZERO,
            };
            growth.on_ack(&mut window, &ack, &Path::default());
            let grown = window.cwnd - cwnd;
            assert!(
                (grown / response.increase(cwnd) - 1.0).abs() < 1e-9,
                "{cwnd}"
            );
            let path = Path {
                flight: cwnd,
                ..Path::default()
            };
            growth.on_congestion(&mut window, Signal::Loss, Time::ZERO, &path);
            let kept = 1.0 - response.decrease(cwnd);
            assert!((window.cwnd / (kept * cwnd) - 1.0).abs() < 1e-12, "{cwnd}");
        }
    }
    #[test]
    fn a_is_renewed_before_it_is_wrong_by_two_parts_in_a_thousand() {
        let response = HstcpResponse::default();
        let mut growth = HstcpGrowth::by(response);
        let mut w = 100.0;
        while w < 50_000.0 {
            assert!(
                (growth.a(w) / response.increase(w) - 1.0).abs() < 2e-3,
                "{w}"
            );
            w *= 1.0007;
        }
    }
}
