//! CUBIC's growth and cut on packets as Linux computes them (net/ipv4/tcp_cubic.c of 6.x), in whole
//! packets and milliseconds; the fields have the kernel's names.
//!
//! It differs from RFC 9438 where it matters for small windows: what is left of the cubic's
//! distance to `W_max` is rounded down, so the window is back at `W_max` while C (t - K)^3 is
//! still between 0 and -1, up to 1.36 s before K; a window grows by whole packets; the
//! Reno-friendly window grows by the same fraction above the window before the cut as below; a
//! timeout forgets `W_max`.

use forebay_units::Time;

use super::curve::{BETA_SCALE, Curve, clock, friendly_eighths};
use super::law::{Cubic, FastConvergence, FriendlyRegion};
use crate::classic::WindowGrowth;
use crate::packet::{Ack, CongestionEvent, Idle, Path, Requirements, Sample, Window};
use crate::whole_packets::WholePackets;

/// Growth before any loss: a packet for each 20 acknowledged at least (5 % per round trip).
const COUNT_BEFORE_LOSS: u64 = 20;

/// The window grows by half per round trip at most.
const SMALLEST_COUNT: u64 = 2;

/// The largest window that the arithmetic is made for.
pub(super) const LARGEST_WINDOW: f64 = 1e9;

/// Ticks of the kernel's clock per second (`CONFIG_HZ`: 250 unless configured otherwise).
const HZ: u64 = 250;

/// Whole ticks.
fn jiffies(time: Time) -> u64 {
    time.as_picos() / (1_000_000_000_000 / HZ)
}

/// Parameters and state; windows are whole numbers of packets.
#[derive(Clone, Debug)]
pub struct LinuxCubic {
    /// Fraction of the window that remains after a reduction, in units of 1/[`BETA_SCALE`].
    beta: u64,
    curve: Curve,
    fast_convergence: FastConvergence,
    /// Eighths of a window acknowledged per packet of the friendly window's growth; none without
    /// the friendly region.
    beta_scale: Option<u64>,
    grown: WholePackets,
    /// Packets acknowledged per packet of growth.
    cnt: u64,
    /// W_max, zero before the first loss.
    last_max_cwnd: u64,
    last_cwnd: u64,
    last_time: u64,
    /// In jiffies; none between a cut and its first acknowledgment.
    epoch_start: Option<u64>,
    ack_cnt: u64,
    /// W_est: the friendly window.
    tcp_cwnd: u64,
    /// Smallest round-trip time, seconds; infinite before the first.
    delay_min: f64,
}

impl LinuxCubic {
    /// Creates the controller with the parameters of the fluid model. `beta` is the fraction of the
    /// window that remains: one less the reduction of that model.
    pub(crate) fn new(law: &Cubic, beta: f64) -> Self {
        let beta = (beta * BETA_SCALE as f64).round() as u64;
        let friendly = law.friendly_region == FriendlyRegion::On;
        Self {
            beta,
            curve: Curve::new(law.scale),
            fast_convergence: law.fast_convergence,
            beta_scale: friendly.then(|| friendly_eighths(beta)),
            grown: WholePackets::default(),
            cnt: 0,
            last_max_cwnd: 0,
            last_cwnd: 0,
            last_time: 0,
            epoch_start: None,
            ack_cnt: 0,
            tcp_cwnd: 0,
            delay_min: f64::INFINITY,
        }
    }

    /// `bictcp_update`.
    fn update(&mut self, cwnd: u64, acked: u64, now: u64) {
        self.ack_cnt += acked;
        if self.last_cwnd == cwnd && now - self.last_time <= HZ / 32 {
            return;
        }
        // The cubic is computed once per jiffy at most.
        if self.epoch_start.is_none() || now != self.last_time {
            self.last_cwnd = cwnd;
            self.last_time = now;
            self.cnt = self.cubic_count(cwnd, acked, now);
        }
        self.befriend(cwnd);
        self.cnt = self.cnt.max(SMALLEST_COUNT);
    }

    /// Packets acknowledged per packet of growth, by the cubic a round trip ahead.
    fn cubic_count(&mut self, cwnd: u64, acked: u64, now: u64) -> u64 {
        let epoch_start = if let Some(epoch_start) = self.epoch_start {
            epoch_start
        } else {
            self.begin_epoch(cwnd, acked, now);
            now
        };
        let ahead = if self.delay_min.is_finite() {
            (self.delay_min * HZ as f64).ceil() as u64
        } else {
            0
        };
        let count = self.curve.count(cwnd, clock(now - epoch_start + ahead, HZ));
        if self.last_max_cwnd == 0 {
            count.min(COUNT_BEFORE_LOSS)
        } else {
            count
        }
    }

    fn begin_epoch(&mut self, cwnd: u64, acked: u64, now: u64) {
        self.epoch_start = Some(now);
        self.ack_cnt = acked;
        self.tcp_cwnd = cwnd;
        self.curve.begin(cwnd, self.last_max_cwnd);
    }

    /// At least as fast as the friendly window.
    fn befriend(&mut self, cwnd: u64) {
        let Some(eighths) = self.beta_scale else {
            return;
        };
        let each = ((cwnd * eighths) >> 3).max(1);
        if self.ack_cnt > each {
            // As many as leave at least one and at most `each`.
            let more = (self.ack_cnt - 1) / each;
            self.ack_cnt -= more * each;
            self.tcp_cwnd += more;
        }
        if self.tcp_cwnd > cwnd {
            self.cnt = self.cnt.min(cwnd / (self.tcp_cwnd - cwnd));
        }
    }
}

impl WindowGrowth for LinuxCubic {
    const NEEDS: Requirements = Requirements::ROUND_TRIPS;

    /// `cubictcp_cong_avoid` after slow start.
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, _: &Path) {
        if ack.acked <= 0.0 {
            return;
        }
        window.cwnd = window.cwnd.floor();
        let cwnd = window.cwnd.min(LARGEST_WINDOW) as u64;
        let acked = ack.acked as u64;
        self.update(cwnd, acked, jiffies(ack.now));
        self.grown.grow(window, self.cnt, acked);
    }

    /// `cubictcp_recalc_ssthresh`, and `bictcp_reset` on a timeout, which is not taken back where
    /// that was spurious.
    fn on_congestion_event(
        &mut self,
        window: &mut Window,
        event: CongestionEvent,
        _: Time,
        _: &Path,
    ) {
        let cwnd = window.cwnd.min(LARGEST_WINDOW) as u64;
        self.epoch_start = None;
        let released = self.fast_convergence == FastConvergence::On && cwnd < self.last_max_cwnd;
        self.last_max_cwnd = if released {
            cwnd * (BETA_SCALE + self.beta) / (2 * BETA_SCALE)
        } else {
            cwnd
        };
        if event == CongestionEvent::Timeout {
            self.cnt = 0;
            self.last_max_cwnd = 0;
            self.last_cwnd = 0;
            self.last_time = 0;
            self.delay_min = f64::INFINITY;
        }
        window.cut((cwnd * self.beta / BETA_SCALE) as f64, event);
    }

    /// `cubictcp_acked`.
    fn on_sample(&mut self, _: &mut Window, sample: &Sample, path: &Path) {
        if let Some(rtt) = sample.rtt
            && self.base_rtt(sample.now, path).is_some()
        {
            self.delay_min = self.delay_min.min(rtt);
        }
    }

    /// Delays right after a recovery do not count.
    fn base_rtt(&self, now: Time, _: &Path) -> Option<f64> {
        let now = jiffies(now);
        let recent = self.epoch_start.is_some_and(|start| now - start < HZ);
        (!recent).then_some(self.delay_min)
    }

    // tcp_cubic has no `min_cwnd`: the threshold.
    fn recovery_floor(&self, window: &Window) -> f64 {
        window.ssthresh
    }

    /// `cubictcp_cwnd_event` at `CA_EVENT_TX_START`: the epoch moves on by the time with nothing in
    /// flight, but begins no later than now.
    fn on_idle(&mut self, idle: &Idle) {
        let (time, now) = (jiffies(idle.time), jiffies(idle.now));
        self.epoch_start = self.epoch_start.map(|start| (start + time).min(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::{sample, window};

    const ROUND: f64 = 0.05;

    fn cubic() -> LinuxCubic {
        LinuxCubic::new(&Cubic::default(), 0.7)
    }

    fn cut(cubic: &mut LinuxCubic, window: &mut Window, event: CongestionEvent) {
        cubic.on_congestion_event(window, event, Time::ZERO, &Path::default());
    }

    /// A flow after a loss at 262 packets; the times in seconds since then, in which its window
    /// reaches the values given.
    fn times_to(values: &[f64]) -> Vec<f64> {
        let mut cubic = cubic();
        let mut window = window(262.0, 100.0);
        cubic.delay_min = ROUND;
        cut(&mut cubic, &mut window, CongestionEvent::Loss);
        assert_eq!(window.cwnd, 183.0, "floor(262 x 717 / 1024)");
        let start = 10.0;
        let mut now = start;
        let mut reached = Vec::new();
        while reached.len() < values.len() && now < start + 60.0 {
            now += 2.0 * ROUND / window.cwnd;
            let ack = Ack {
                acked: 2.0,
                now: Time::from_secs_f64(now),
            };
            cubic.on_ack(&mut window, &ack, &Path::default());
            assert_eq!(window.cwnd, window.cwnd.floor());
            if window.cwnd >= values[reached.len()] {
                reached.push(now - start);
            }
        }
        reached
    }

    #[test]
    fn the_window_is_back_before_k_because_the_distance_is_rounded_down() {
        // K = 5.81 s; 0.4 (t - K)^3 is above -1 from t = 4.45 s on, less the round trip that the
        // target is ahead, plus the one in which the window follows.
        let reached = times_to(&[261.0, 262.0, 263.0]);
        assert!((4.2..4.7).contains(&reached[1]), "{reached:?}");
        // The next packet needs a whole one above: 1.36 s after K.
        assert!((7.0..7.4).contains(&reached[2]), "{reached:?}");
    }

    #[test]
    fn small_windows_grow_as_the_friendly_one_does() {
        let mut cubic = cubic();
        let mut window = window(20.0, 10.0);
        cubic.delay_min = 0.01;
        cut(&mut cubic, &mut window, CongestionEvent::Loss);
        assert_eq!(window.cwnd, 14.0);
        let mut now = 1.0;
        let mut acked = 0.0;
        while window.cwnd < 24.0 {
            now += 0.01 / window.cwnd;
            acked += 1.0 / window.cwnd;
            let ack = Ack {
                acked: 1.0,
                now: Time::from_secs_f64(now),
            };
            cubic.on_ack(&mut window, &ack, &Path::default());
        }
        // 8/15 packets per round trip: 15/8 rounds each, above the old peak as below it; and the
        // window follows within two rounds or three.
        let rounds = 10.0 * 1.875;
        assert!((rounds..rounds + 3.0).contains(&acked), "{acked}");
    }

    #[test]
    fn fast_convergence_lowers_the_peak_and_a_timeout_forgets_it() {
        let mut cubic = cubic();
        let mut window = window(100.0, 50.0);
        cut(&mut cubic, &mut window, CongestionEvent::Loss);
        window.cwnd = 90.0;
        cut(&mut cubic, &mut window, CongestionEvent::Loss);
        assert_eq!((cubic.last_max_cwnd, window.cwnd), (90 * 1741 / 2048, 63.0));
        cut(&mut cubic, &mut window, CongestionEvent::Timeout);
        assert_eq!(
            (cubic.last_max_cwnd, window.cwnd, window.ssthresh),
            (0, 1.0, 44.0)
        );
    }

    #[test]
    fn round_trips_right_after_a_recovery_do_not_count() {
        let mut cubic = cubic();
        let (mut at, path) = (window(100.0, 50.0), Path::default());
        let mut see = |cubic: &mut LinuxCubic, millis, rtt| {
            let mut seen = sample(rtt);
            seen.now = Time::from_millis(millis);
            cubic.on_sample(&mut at, &seen, &path);
            cubic.base_rtt(seen.now, &path)
        };
        assert_eq!(see(&mut cubic, 1000, 0.05), Some(0.05));
        cubic.epoch_start = Some(jiffies(Time::from_millis(2000)));
        assert_eq!(see(&mut cubic, 2999, 0.04), None);
        assert_eq!(see(&mut cubic, 3000, 0.06), Some(0.05));
    }
}
