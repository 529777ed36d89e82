//! CUBIC as Linux computes it (net/ipv4/tcp_cubic.c of 6.x), in whole packets and milliseconds,
//! and Linux's `HyStart` (Ha and Rhee 2008).
//!
//! It differs from RFC 9438 where it matters for small windows: what is left of the cubic's
//! distance to `W_max` is rounded down, so the window is back at `W_max` while C (t - K)^3 is
//! still between 0 and -1, up to 1.36 s before K; a window grows by whole packets; the
//! Reno-friendly window grows by the same fraction above the window before the cut as below; a
//! timeout forgets `W_max`. The cube root is exact where the kernel's is off by 0.2 %.

use forebay_units::Time;

use crate::packet::{Ack, Path, Sample, Signal, Window};
use crate::whole_packets::WholePackets;

/// `BICTCP_HZ`: times are in 2^-10 s.
const CLOCK_BITS: u32 = 10;

/// `BICTCP_BETA_SCALE`.
const BETA_SCALE: u64 = 1024;

/// Growth before any loss: a packet for each 20 acknowledged at least (5 % per round trip).
const COUNT_BEFORE_LOSS: u64 = 20;

/// The window grows by half per round trip at most.
const SMALLEST_COUNT: u64 = 2;

/// The largest window that the arithmetic is made for.
const LARGEST_WINDOW: f64 = 1e9;

/// The clock's millisecond (`HZ`).
fn jiffies(time: Time) -> u64 {
    time.as_picos() / 1_000_000_000
}

/// Parameters and state; windows are whole numbers of packets.
#[derive(Clone, Debug)]
pub(crate) struct LinuxCubic {
    /// Kept fraction of the window, of [`BETA_SCALE`].
    beta: u64,
    /// C times 1024.
    scale: u64,
    fast_convergence: bool,
    /// Eighths of a window acknowledged per packet of the friendly window's growth; none without
    /// the friendly region.
    friendly: Option<u64>,
    grown: WholePackets,
    /// Packets acknowledged per packet of growth (`cnt`).
    count: u64,
    /// `last_max_cwnd`, zero before the first loss.
    peak: u64,
    last_window: u64,
    last_time: u64,
    origin: u64,
    /// K in 2^-10 s.
    inflection: u64,
    /// In jiffies; none between a cut and its first acknowledgement.
    epoch: Option<u64>,
    acked: u64,
    friendly_window: u64,
    /// Smallest round-trip time, seconds; infinite before the first.
    delay_min: f64,
    train: Hystart,
}

impl LinuxCubic {
    /// With the kept fraction `beta`, C = `scale`, and the two options of CUBIC.
    pub(crate) fn new(beta: f64, scale: f64, fast_convergence: bool, friendly: bool) -> Self {
        let beta = (beta * BETA_SCALE as f64).round() as u64;
        let eighths = 8 * (BETA_SCALE + beta) / 3 / (BETA_SCALE - beta).max(1);
        Self {
            beta,
            // bic_scale is a tenth of it and whole: 41 for 0.4.
            scale: ((scale * 102.4).round() as u64).max(1) * 10,
            fast_convergence,
            friendly: friendly.then_some(eighths.max(1)),
            grown: WholePackets::default(),
            count: 0,
            peak: 0,
            last_window: 0,
            last_time: 0,
            origin: 0,
            inflection: 0,
            epoch: None,
            acked: 0,
            friendly_window: 0,
            delay_min: f64::INFINITY,
            train: Hystart::default(),
        }
    }

    /// `cubictcp_cong_avoid` after slow start.
    pub(crate) fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        window.cwnd = window.cwnd.floor();
        let cwnd = window.cwnd.min(LARGEST_WINDOW) as u64;
        let acked = ack.acked as u64;
        self.update(cwnd, acked, jiffies(ack.now));
        self.grown.grow(window, self.count, acked);
    }

    /// `cubictcp_cwnd_event` at `CA_EVENT_TX_START`: the epoch moves on by what nothing was under
    /// way.
    pub(crate) fn on_idle(&mut self, idle: Time) {
        self.epoch = self.epoch.map(|epoch| epoch + jiffies(idle));
    }

    /// `bictcp_update`.
    fn update(&mut self, cwnd: u64, acked: u64, now: u64) {
        self.acked += acked;
        if self.last_window == cwnd && now - self.last_time <= 1000 / 32 {
            return;
        }
        // The cubic is computed once per jiffy at most.
        if self.epoch.is_none() || now != self.last_time {
            self.last_window = cwnd;
            self.last_time = now;
            self.count = self.cubic_count(cwnd, acked, now);
        }
        self.befriend(cwnd);
        self.count = self.count.max(SMALLEST_COUNT);
    }

    /// Packets acknowledged per packet of growth, by the cubic a round trip ahead.
    fn cubic_count(&mut self, cwnd: u64, acked: u64, now: u64) -> u64 {
        let epoch = if let Some(epoch) = self.epoch {
            epoch
        } else {
            self.begin_epoch(cwnd, acked, now);
            now
        };
        let ahead = if self.delay_min.is_finite() {
            (self.delay_min * 1e3).ceil() as u64
        } else {
            0
        };
        let time = ((now - epoch + ahead) << CLOCK_BITS) / 1000;
        let offset = u128::from(time.abs_diff(self.inflection));
        let cube = u128::from(self.scale) * offset * offset * offset;
        let delta = (cube >> (10 + 3 * CLOCK_BITS)).min(u128::from(u64::MAX >> 1)) as u64;
        let target = if time < self.inflection {
            self.origin.saturating_sub(delta)
        } else {
            self.origin.saturating_add(delta)
        };
        let count = if target > cwnd {
            cwnd / (target - cwnd)
        } else {
            100 * cwnd
        };
        if self.peak == 0 {
            count.min(COUNT_BEFORE_LOSS)
        } else {
            count
        }
    }

    fn begin_epoch(&mut self, cwnd: u64, acked: u64, now: u64) {
        self.epoch = Some(now);
        self.acked = acked;
        self.friendly_window = cwnd;
        if self.peak <= cwnd {
            self.inflection = 0;
            self.origin = cwnd;
        } else {
            let cubed = (1_u64 << (10 + 3 * CLOCK_BITS)) / self.scale;
            self.inflection = libm::cbrt(cubed as f64 * (self.peak - cwnd) as f64) as u64;
            self.origin = self.peak;
        }
    }

    /// At least as fast as the friendly window.
    fn befriend(&mut self, cwnd: u64) {
        let Some(eighths) = self.friendly else {
            return;
        };
        let each = ((cwnd * eighths) >> 3).max(1);
        if self.acked > each {
            // As many as leave at least one and at most `each`.
            let more = (self.acked - 1) / each;
            self.acked -= more * each;
            self.friendly_window += more;
        }
        if self.friendly_window > cwnd {
            self.count = self.count.min(cwnd / (self.friendly_window - cwnd));
        }
    }

    /// `cubictcp_acked`.
    pub(crate) fn on_sample(&mut self, window: &mut Window, sample: &Sample, path: &Path) {
        let Some(rtt) = sample.rtt else {
            return;
        };
        // Delays right after a recovery do not count.
        let now = jiffies(sample.now);
        if self.epoch.is_some_and(|epoch| now - epoch < 1000) {
            return;
        }
        self.delay_min = self.delay_min.min(rtt);
        if window.cwnd < window.ssthresh {
            self.train.update(window, sample, rtt, self.delay_min, path);
        }
    }

    /// `cubictcp_recalc_ssthresh`, and `bictcp_reset` on a timeout.
    pub(crate) fn on_congestion(&mut self, window: &mut Window, signal: Signal) {
        let cwnd = window.cwnd.min(LARGEST_WINDOW) as u64;
        self.epoch = None;
        self.peak = if self.fast_convergence && cwnd < self.peak {
            cwnd * (BETA_SCALE + self.beta) / (2 * BETA_SCALE)
        } else {
            cwnd
        };
        if signal == Signal::Timeout {
            self.count = 0;
            self.peak = 0;
            self.last_window = 0;
            self.last_time = 0;
            self.delay_min = f64::INFINITY;
            self.train = Hystart::default();
        }
        window.cut((cwnd * self.beta / BETA_SCALE) as f64, signal);
    }
}

/// Windows below this never end slow start (`hystart_low_window`).
const LOW_WINDOW: f64 = 16.0;

/// Acknowledgements this close belong to one train (`hystart_ack_delta_us`), seconds.
const TRAIN_GAP: f64 = 2e-3;

/// Round-trip times of a round before their minimum is judged (`HYSTART_MIN_SAMPLES`).
const SAMPLES: u32 = 8;

/// Bounds of the growth of the round-trip time that ends slow start, seconds.
const MIN_GROWTH: f64 = 4e-3;
const MAX_GROWTH: f64 = 16e-3;

/// Four bursts of 64 KiB, in packets, and the longest time allowed for them, seconds
/// (`hystart_ack_delay`).
const BURSTS: f64 = 4.0 * 45.0;
const LONGEST_BURSTS: f64 = 1e-3;

/// Hybrid slow start: a long train of acknowledgements, or growth of the round-trip time, ends it.
#[derive(Clone, Copy, Debug)]
struct Hystart {
    found: bool,
    /// The round ends when more than this is acknowledged; none before the first.
    end: Option<u64>,
    round_start: Time,
    last_ack: Time,
    rtt: f64,
    samples: u32,
}

impl Default for Hystart {
    fn default() -> Self {
        Self {
            found: false,
            end: None,
            round_start: Time::ZERO,
            last_ack: Time::ZERO,
            rtt: f64::INFINITY,
            samples: 0,
        }
    }
}

impl Hystart {
    /// `hystart_update`.
    fn update(
        &mut self,
        window: &mut Window,
        sample: &Sample,
        rtt: f64,
        delay_min: f64,
        path: &Path,
    ) {
        if self.found {
            return;
        }
        if self.end.is_none_or(|end| sample.acknowledged > end) {
            *self = Self {
                end: Some(sample.next),
                round_start: sample.now,
                last_ack: sample.now,
                ..Self::default()
            };
        }
        if window.cwnd < LOW_WINDOW {
            return;
        }
        let since = |start: Time| sample.now.saturating_sub(start).as_secs_f64();
        if since(self.last_ack) <= TRAIN_GAP {
            self.last_ack = sample.now;
            // Half, as nothing is paced.
            let rate = 2.0 * window.cwnd / path.smoothed_rtt;
            let threshold = 0.5 * (delay_min + (BURSTS / rate).min(LONGEST_BURSTS));
            self.found |= since(self.round_start) > threshold;
        }
        self.rtt = self.rtt.min(rtt);
        if self.samples < SAMPLES {
            self.samples += 1;
        } else {
            let growth = (0.125 * delay_min).clamp(MIN_GROWTH, MAX_GROWTH);
            self.found |= self.rtt > delay_min + growth;
        }
        if self.found {
            window.ssthresh = window.cwnd;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::{sample, window};

    const ROUND: f64 = 0.05;

    fn cubic() -> LinuxCubic {
        LinuxCubic::new(0.7, 0.4, true, true)
    }

    /// A flow after a loss at 262 packets; the times in seconds since then, in which its window
    /// reaches the values given.
    fn times_to(values: &[f64]) -> Vec<f64> {
        let mut cubic = cubic();
        let mut window = window(262.0, 100.0);
        cubic.delay_min = ROUND;
        cubic.on_congestion(&mut window, Signal::Loss);
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
            cubic.on_ack(&mut window, &ack);
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
        cubic.on_congestion(&mut window, Signal::Loss);
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
            cubic.on_ack(&mut window, &ack);
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
        cubic.on_congestion(&mut window, Signal::Loss);
        window.cwnd = 90.0;
        cubic.on_congestion(&mut window, Signal::Loss);
        assert_eq!((cubic.peak, window.cwnd), (90 * 1741 / 2048, 63.0));
        cubic.on_congestion(&mut window, Signal::Timeout);
        assert_eq!((cubic.peak, window.cwnd, window.ssthresh), (0, 1.0, 44.0));
    }

    /// Rounds of acknowledgements at this distance with this round-trip time.
    fn slow_start(rtts: &[f64], gap: f64, each: u64) -> Window {
        let mut cubic = cubic();
        let mut window = window(40.0, f64::INFINITY);
        let path = Path {
            smoothed_rtt: ROUND,
            ..Path::default()
        };
        let (mut seen, mut now) = (sample(ROUND), 1.0);
        for (number, &rtt) in rtts.iter().enumerate() {
            for k in 1..=each {
                seen.rtt = Some(rtt);
                seen.now = Time::from_secs_f64(now + k as f64 * gap);
                seen.acknowledged = number as u64 * each + k;
                seen.next = number as u64 * each + k + each;
                cubic.on_sample(&mut window, &seen, &path);
            }
            now += ROUND;
        }
        window
    }

    #[test]
    fn hystart_ends_slow_start_by_trains_and_by_delay_and_not_otherwise() {
        let steady = [ROUND; 4];
        assert_eq!(slow_start(&steady, 5e-4, 40).ssthresh, f64::INFINITY);
        // A train longer than half of the round trip.
        assert_eq!(slow_start(&steady, 5e-4, 60).ssthresh, 40.0);
        // Gaps break the train.
        assert_eq!(slow_start(&steady, 3e-3, 15).ssthresh, f64::INFINITY);
        // An eighth of the round trip more.
        let growing = [ROUND, ROUND, 1.13 * ROUND];
        assert_eq!(slow_start(&growing, 5e-4, 20).ssthresh, 40.0);
        let little = [ROUND, ROUND, 1.12 * ROUND];
        assert_eq!(slow_start(&little, 5e-4, 20).ssthresh, f64::INFINITY);
    }
}
