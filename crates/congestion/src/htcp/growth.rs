//! H-TCP's growth and cut on packets as published (Leith and Shorten 2004;
//! draft-leith-tcp-htcp-06), whose names the fields have.

use forebay_units::Time;

use super::law::{Htcp, RateSwitch};
use crate::classic::WindowGrowth;
use crate::packet::{Ack, CongestionEvent, Path, Window};

/// The paper's H-TCP.
#[derive(Clone, Debug)]
pub struct HtcpGrowth {
    rate_switch: RateSwitch,
    /// Fraction of the window that remained after the last reduction.
    beta: f64,
    /// When that was, or the first packet was acknowledged.
    last_cong: Option<Time>,
    /// The rate at the last cut, packets per second.
    last_rate: f64,
}

impl HtcpGrowth {
    /// With the law's rate switch.
    pub(crate) fn new(law: &Htcp) -> Self {
        Self {
            rate_switch: law.rate_switch,
            beta: 0.5,
            last_cong: None,
            last_rate: 0.0,
        }
    }

    /// Packets added per round trip, `elapsed` seconds after the last cut.
    #[inline]
    fn increase(&self, elapsed: f64) -> f64 {
        let d = elapsed - 1.0;
        let alpha = if d <= 0.0 {
            1.0
        } else {
            1.0 + 10.0 * d + 0.25 * d * d
        };
        2.0 * (1.0 - self.beta) * alpha
    }
}

impl WindowGrowth for HtcpGrowth {
    /// The clock starts with the first packet of slow start.
    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, _: &Path) {
        let since = *self.last_cong.get_or_insert(ack.now);
        let elapsed = ack.now.saturating_sub(since).as_secs_f64();
        window.cwnd += self.increase(elapsed) * ack.acked / window.cwnd;
    }

    fn on_congestion_event(
        &mut self,
        window: &mut Window,
        event: CongestionEvent,
        now: Time,
        path: &Path,
    ) {
        let rate = path.flight / path.smoothed_rtt.max(1e-9);
        let switched = self.rate_switch == RateSwitch::On
            && (self.last_rate <= 0.0 || (rate - self.last_rate).abs() > 0.2 * self.last_rate);
        self.beta = if switched || path.max_rtt <= 0.0 {
            0.5
        } else {
            (path.min_rtt / path.max_rtt).clamp(0.5, 0.8)
        };
        self.last_rate = rate;
        self.last_cong = Some(now);
        window.cut(self.beta * path.flight, event);
    }

    // Linux's tcp_htcp has no `min_cwnd`: the threshold.
    fn recovery_floor(&self, window: &Window) -> f64 {
        window.ssthresh
    }

    // Linux: htcp_cwnd_undo.
    fn on_undo(&mut self, before: &Self) {
        self.clone_from(before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::window;

    #[test]
    fn a_cut_halves_where_the_rate_changed_and_else_keeps_what_the_queue_leaves() {
        let mut growth = HtcpGrowth::new(&Htcp::default());
        let after_decrease = [1e4, 1e4, 1e4, 1.3e4, 1.3e4].map(|rate| {
            let path = Path {
                smoothed_rtt: 1000.0 / rate,
                min_rtt: 0.07,
                max_rtt: 0.1,
                flight: 1000.0,
            };
            let mut window = window(1000.0, 10.0);
            growth.on_congestion_event(&mut window, CongestionEvent::Loss, Time::ZERO, &path);
            window.cwnd.round()
        });
        assert_eq!(after_decrease, [500.0, 700.0, 700.0, 500.0, 700.0]);
    }

    /// 1 + 10 x 2 + 2^2 / 4 three seconds after a cut, and beta = 1/2.
    #[test]
    fn the_increase_is_that_of_the_paper_whatever_the_round_trip() {
        for rtt in [0.01, 0.12, 1.0] {
            let mut growth = HtcpGrowth::new(&Htcp::default());
            let path = Path {
                smoothed_rtt: rtt,
                min_rtt: rtt,
                max_rtt: rtt,
                flight: 1000.0,
            };
            let mut window = window(1000.0, 10.0);
            let ack = |now, acked| Ack { acked, now };
            growth.on_ack(&mut window, &ack(Time::ZERO, 0.0), &path);
            growth.on_ack(&mut window, &ack(Time::from_secs(3), 1000.0), &path);
            assert_eq!(window.cwnd - 1000.0, 22.0);
        }
    }
}
