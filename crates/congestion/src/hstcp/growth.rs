//! HighSpeed TCP's growth and cut on packets.

use forebay_units::Time;

use super::response::HstcpResponse;
use crate::classic::WindowGrowth;
use crate::packet::{Ack, CongestionEvent, Path, Window};

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

    /// a(w), recomputed once the window has moved by more than one part in 500 (an error of a(w) of
    /// at most 0.2 %). Parameters far from the RFC's may ask for any increase: a window that grows
    /// by more than is acknowledged outruns every link (RFC 5681 section 3.1 bounds slow start by
    /// that).
    #[inline]
    fn a(&mut self, w: f64) -> f64 {
        if (w - self.a_at).abs() * 500.0 > self.a_at {
            self.a = self.functions.bounded_increase(w).min(w).max(1.0);
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

    fn on_congestion_event(
        &mut self,
        window: &mut Window,
        event: CongestionEvent,
        _: Time,
        path: &Path,
    ) {
        let cut = self.functions.bounded_decrease(path.flight).clamp(0.0, 0.5);
        window.cut((1.0 - cut) * path.flight, event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::window;

    #[test]
    fn no_parameters_let_a_window_grow_by_more_than_is_acknowledged() {
        for low_window in [2.0, 38.0, 1e6] {
            for high_window in [10.0, 83_000.0, 1e9] {
                for (low_loss, high_loss) in [(1e-3, 1e-7), (1e-6, 0.01), (0.1, 1e-12)] {
                    let mut growth = HstcpGrowth::by(HstcpResponse {
                        low_window,
                        high_window,
                        low_loss,
                        high_loss,
                        ..HstcpResponse::default()
                    });
                    for cwnd in [2.0, 20.0, 1e3, 1e6, 1e9] {
                        let mut window = window(cwnd, 1.0);
                        let ack = Ack {
                            acked: 2.0,
                            now: Time::ZERO,
                        };
                        growth.on_ack(&mut window, &ack, &Path::default());
                        let grown = window.cwnd - cwnd;
                        assert!((0.0..=2.0).contains(&grown), "{grown} at {cwnd}");
                    }
                }
            }
        }
    }

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
            growth.on_congestion_event(&mut window, CongestionEvent::Loss, Time::ZERO, &path);
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
