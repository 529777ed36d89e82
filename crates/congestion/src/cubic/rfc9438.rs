//! CUBIC's growth and cut on packets as in RFC 9438; the fields have the names of its section
//! 4.1.2.

use forebay_units::Time;

use super::law::{Cubic, FastConvergence, FriendlyRegion};
use crate::classic::WindowGrowth;
use crate::packet::{Ack, CongestionEvent, Idle, Path, Window};

/// CUBIC as in RFC 9438.
#[derive(Clone, Debug)]
pub struct CubicGrowth {
    /// C, packets per second^3.
    c: f64,
    /// Fraction of the window that remains after a reduction.
    beta_cubic: f64,
    fast_convergence: FastConvergence,
    /// Growth of the Reno-friendly window; zero without the friendly region.
    alpha_cubic: f64,
    /// Packets.
    w_max: f64,
    /// Seconds.
    k: f64,
    /// When this congestion-avoidance epoch began; none between a cut and its first ACK.
    epoch_start: Option<Time>,
    /// Packets.
    w_est: f64,
    /// Window before the cut: past it W_est grows as fast as Reno (section 4.3).
    cwnd_prior: f64,
    /// Whether the last congestion was a timeout, after which K is 0 (section 4.8).
    after_timeout: bool,
}

impl CubicGrowth {
    /// Creates the controller with the parameters of the fluid model. `beta_cubic` is the fraction
    /// of the window that remains: one less the reduction of that model.
    pub(crate) fn new(law: &Cubic, beta_cubic: f64) -> Self {
        Self {
            c: law.scale,
            beta_cubic,
            fast_convergence: law.fast_convergence,
            alpha_cubic: match law.friendly_region {
                FriendlyRegion::On => 3.0 * (1.0 - beta_cubic) / (1.0 + beta_cubic),
                FriendlyRegion::Off => 0.0,
            },
            w_max: 0.0,
            k: 0.0,
            epoch_start: None,
            w_est: 0.0,
            cwnd_prior: f64::INFINITY,
            after_timeout: false,
        }
    }

    #[cold]
    fn begin_epoch(&mut self, window: &Window, now: Time) -> Time {
        self.epoch_start = Some(now);
        self.w_est = window.cwnd;
        if self.w_max <= window.cwnd || self.after_timeout {
            self.w_max = window.cwnd;
            self.k = 0.0;
        } else {
            self.k = libm::cbrt((self.w_max - window.cwnd) / self.c);
        }
        self.after_timeout = false;
        now
    }

    /// C (t - K)^3 + W_max (equation 1).
    #[inline]
    fn w_cubic(&self, seconds: f64) -> f64 {
        let x = seconds - self.k;
        self.c * x * x * x + self.w_max
    }
}

impl WindowGrowth for CubicGrowth {
    // Two controllers have it: the compiler would make it a call, 20 instructions per packet.
    #[expect(clippy::inline_always, reason = "it is on every packet's way")]
    #[inline(always)]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, path: &Path) {
        if ack.acked <= 0.0 {
            return;
        }
        let epoch_start = match self.epoch_start {
            Some(epoch_start) => epoch_start,
            None => self.begin_epoch(window, ack.now),
        };
        let elapsed = ack.now.saturating_sub(epoch_start).as_secs_f64();
        let per_packet = ack.acked / window.cwnd;
        let alpha_cubic = if self.w_est < self.cwnd_prior || self.alpha_cubic == 0.0 {
            self.alpha_cubic
        } else {
            1.0
        };
        self.w_est += alpha_cubic * per_packet;
        if self.w_cubic(elapsed) < self.w_est && self.alpha_cubic > 0.0 {
            window.cwnd = window.cwnd.max(self.w_est);
            return;
        }
        // Section 4.4: towards the window one round trip ahead, at most half faster.
        let target = self.w_cubic(elapsed + path.smoothed_rtt);
        let target = target.clamp(window.cwnd, 1.5 * window.cwnd);
        window.cwnd += (target - window.cwnd) * per_packet;
    }

    fn on_congestion_event(
        &mut self,
        window: &mut Window,
        event: CongestionEvent,
        _: Time,
        path: &Path,
    ) {
        self.cwnd_prior = path.flight;
        let released = self.fast_convergence == FastConvergence::On && path.flight < self.w_max;
        self.w_max = if released {
            0.5 * path.flight * (1.0 + self.beta_cubic)
        } else {
            path.flight
        };
        self.epoch_start = None;
        self.after_timeout = event == CongestionEvent::Timeout;
        window.cut(self.beta_cubic * path.flight, event);
    }

    // As Linux's tcp_cubic, which has no `min_cwnd`: the threshold.
    fn recovery_floor(&self, window: &Window) -> f64 {
        window.ssthresh
    }

    /// The time of an epoch does not count what the application had nothing to send (section 5.8).
    fn on_idle(&mut self, idle: &Idle) {
        let moved = |start: Time| start.saturating_add(idle.time).min(idle.now);
        self.epoch_start = self.epoch_start.map(moved);
    }

    // Section 4.9.2.
    fn on_undo(&mut self, before: &Self) {
        self.clone_from(before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::window;

    /// Equation 2, without the friendly region, which is faster on so short a path. RFC 9438
    /// section 4.3: once W_est has reached the window before the cut (not only passed it), it grows
    /// by a whole packet in a round trip.
    #[test]
    fn the_estimate_of_reno_grows_by_one_from_the_window_before_the_cut_on() {
        for (prior, alpha) in [(500.0, 1.0), (499.0, 1.0), (501.0, 3.0 * 0.3 / 1.7)] {
            let mut cubic = CubicGrowth::new(&Cubic::default(), 0.7);
            let mut window = window(500.0, 100.0);
            let ack = Ack {
                acked: 1.0,
                now: Time::from_secs(1),
            };
            cubic.begin_epoch(&window, ack.now);
            cubic.cwnd_prior = prior;
            cubic.on_ack(&mut window, &ack, &Path::default());
            let grown = (cubic.w_est - 500.0) * 500.0;
            assert!((grown - alpha).abs() < 1e-9, "{prior} {grown}");
        }
    }

    #[test]
    fn the_window_is_back_at_w_max_after_k() {
        let law = Cubic {
            friendly_region: FriendlyRegion::Off,
            ..Cubic::default()
        };
        let mut cubic = CubicGrowth::new(&law, 0.7);
        let path = Path {
            smoothed_rtt: 0.01,
            flight: 1000.0,
            ..Path::default()
        };
        let mut window = window(1000.0, 10.0);
        cubic.on_congestion_event(&mut window, CongestionEvent::Loss, Time::ZERO, &path);
        assert_eq!((window.cwnd, cubic.cwnd_prior), (700.0, 1000.0));
        let k = libm::cbrt(300.0 / 0.4);
        for millis in 0..=(1e3 * k) as u64 {
            let ack = Ack {
                acked: 0.1 * window.cwnd,
                now: Time::from_millis(millis),
            };
            cubic.on_ack(&mut window, &ack, &path);
        }
        assert!((cubic.k - k).abs() < 1e-12 && cubic.w_max == 1000.0);
        assert!((window.cwnd - 1000.0).abs() < 0.1, "{}", window.cwnd);
        // Fast convergence: the next peak is lower.
        let path = Path {
            flight: 900.0,
            ..path
        };
        cubic.on_congestion_event(
            &mut window,
            CongestionEvent::Loss,
            Time::from_secs(9),
            &path,
        );
        assert_eq!(cubic.w_max, 900.0 * 0.85);
    }

    /// A window of 1000 was cut at time zero and has this size now; what one packet's
    /// acknowledgment adds so long after the first, times the window.
    fn added(event: CongestionEvent, cwnd: f64, seconds: f64, rtt: f64) -> f64 {
        let law = Cubic {
            friendly_region: FriendlyRegion::Off,
            ..Cubic::default()
        };
        let mut cubic = CubicGrowth::new(&law, 0.7);
        let path = Path {
            smoothed_rtt: rtt,
            flight: 1000.0,
            ..Path::default()
        };
        let mut window = window(1000.0, 10.0);
        cubic.on_congestion_event(&mut window, event, Time::ZERO, &path);
        window.cwnd = cwnd;
        let mut ack = |acked, now| {
            let before = window.cwnd;
            cubic.on_ack(&mut window, &Ack { acked, now }, &path);
            (window.cwnd - before) * before
        };
        ack(1e-9, Time::ZERO);
        ack(1.0, Time::from_secs_f64(seconds))
    }

    /// Section 4.4: towards the cubic a round trip from now, and at most half of the window.
    #[test]
    fn growth_aims_a_round_trip_ahead_and_at_most_half_higher() {
        let k = libm::cbrt(300.0 / 0.4);
        for (seconds, rtt) in [(1.0, 0.2), (4.0, 1.0), (k, 2.0)] {
            let x: f64 = seconds + rtt - k;
            let target = 1000.0 + 0.4 * x * x * x;
            let ours = added(CongestionEvent::Loss, 700.0, seconds, rtt);
            assert!((ours - (target - 700.0)).abs() < 1e-6, "{ours} {target}");
        }
        assert!((added(CongestionEvent::Loss, 700.0, 100.0, 0.1) - 350.0).abs() < 1e-6);
    }

    /// Section 4.8: after a timeout K is 0 and the window it began with the origin, not the old
    /// peak.
    #[test]
    fn after_a_timeout_the_cubic_starts_at_the_window_of_then() {
        let grown = added(CongestionEvent::Timeout, 700.0, 3.0, 0.5);
        assert!((grown - 0.4 * 3.5 * 3.5 * 3.5).abs() < 1e-6, "{grown}");
    }

    /// Section 4.3: 9/17 of a packet per round trip up to the window before the cut, then one.
    #[test]
    fn the_friendly_window_grows_as_renos_past_the_window_before_the_cut() {
        let mut cubic = CubicGrowth::new(&Cubic::default(), 0.7);
        let path = Path {
            smoothed_rtt: 1e-3,
            flight: 20.0,
            ..Path::default()
        };
        let mut window = window(20.0, 10.0);
        cubic.on_congestion_event(&mut window, CongestionEvent::Loss, Time::ZERO, &path);
        let mut rounds_to = |goal: f64| {
            let mut rounds = 0.0;
            while window.cwnd < goal {
                let (acked, now) = (1.0, Time::ZERO);
                rounds += acked / window.cwnd;
                cubic.on_ack(&mut window, &Ack { acked, now }, &path);
            }
            rounds
        };
        let (below, above) = (rounds_to(20.0), rounds_to(26.0));
        assert!((below - 6.0 * 17.0 / 9.0).abs() < 0.1, "{below}");
        assert!((above - 6.0).abs() < 0.1, "{above}");
    }
}
