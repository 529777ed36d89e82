//! CUBIC's growth and cut on packets as Linux 2.6.22 computes them (net/ipv4/tcp_cubic.c "v2.1"),
//! which ns-2.35's Linux agents run; the fields have the kernel's names.
//!
//! It differs from the kernel's of today in this: the count of packets per packet of growth is
//! divided by what it takes for the ratio of packets to acknowledgments, which begins at two and,
//! in whole sixteenths, never falls below 31/16 where each packet is acknowledged; past the
//! inflection the window grows by 16 packets per 100 ms at most; after the start and a timeout a
//! packet for 50 acknowledgments; and the acknowledgment with which the window grows is not
//! counted.

use forebay_units::Time;

use super::curve::{BETA_SCALE, Curve, clock, friendly_eighths};
use super::law::{Cubic, FastConvergence, FriendlyRegion};
use super::linux::LARGEST_WINDOW;
use crate::ack_ratio::{AckRatio, LARGEST_COUNT};
use crate::classic::WindowGrowth;
use crate::packet::{Ack, CongestionEvent, Path, Requirements, Sample, Window};

/// `max_increment`: packets per 100 ms past the inflection.
const MAX_INCREMENT: u64 = 16;

/// Growth before any loss: a packet for each 50 acknowledged.
const COUNT_BEFORE_LOSS: u64 = 50;

/// Ticks of the clock per second, as ns-2.35 compiles the kernel's files
/// (tcp/linux/ns-linux-util.h: `HZ`).
const HZ: u64 = 1000;

/// Whole ticks.
fn jiffies(time: Time) -> u64 {
    time.as_picos() / (1_000_000_000_000 / HZ)
}

/// The jiffy at which the packet with this round-trip time left. ns-2.35 rounds it to the next one,
/// and rounds down that of the acknowledgment (tcp-linux.cc: `rcv_tsecr`, `tcp_time_stamp`).
fn sent_at(now: Time, rtt: f64) -> u64 {
    ((now.as_secs_f64() - rtt) * HZ as f64).round().max(0.0) as u64
}

/// Parameters and state; windows are whole numbers of packets.
#[derive(Clone, Debug)]
pub struct Linux26Cubic {
    /// Fraction of the window that remains after a reduction, in units of 1/[`BETA_SCALE`].
    beta: u64,
    fast_convergence: FastConvergence,
    /// Eighths of a window acknowledged per packet of the friendly window's growth; none without
    /// the friendly region.
    beta_scale: Option<u64>,
    curve: Curve,
    snd_cwnd_cnt: u64,
    /// Packets acknowledged per packet of growth.
    cnt: u64,
    /// W_max, zero before the first loss.
    last_max_cwnd: u64,
    /// Whether there was a loss since the start and the last timeout (`loss_cwnd`).
    lost: bool,
    last_cwnd: u64,
    last_time: u64,
    /// In jiffies; none between a cut and its first acknowledgment.
    epoch_start: Option<u64>,
    ack_cnt: u64,
    /// W_est: the friendly window.
    tcp_cwnd: u64,
    /// Smallest round-trip time in jiffies, zero before the first.
    delay_min: u64,
    ratio: AckRatio,
}

impl Linux26Cubic {
    /// Creates the controller with the parameters of the fluid model. `beta` is the fraction of the
    /// window that remains: one less the reduction of that model.
    pub(crate) fn new(law: &Cubic, beta: f64) -> Self {
        let beta = (beta * BETA_SCALE as f64).round() as u64;
        let friendly = law.friendly_region == FriendlyRegion::On;
        Self {
            beta,
            fast_convergence: law.fast_convergence,
            beta_scale: friendly.then(|| friendly_eighths(beta)),
            curve: Curve::new(law.scale),
            snd_cwnd_cnt: 0,
            cnt: 0,
            last_max_cwnd: 0,
            lost: false,
            last_cwnd: 0,
            last_time: 0,
            epoch_start: None,
            ack_cnt: 0,
            tcp_cwnd: 0,
            delay_min: 0,
            ratio: AckRatio::default(),
        }
    }

    /// `bictcp_reset`.
    fn forget(&mut self) {
        self.cnt = 0;
        self.last_max_cwnd = 0;
        self.lost = false;
        self.last_cwnd = 0;
        self.last_time = 0;
        self.epoch_start = None;
        self.ack_cnt = 0;
        self.tcp_cwnd = 0;
        self.delay_min = 0;
        self.ratio.reset();
    }

    /// `bictcp_update`, once for each acknowledgment.
    fn update(&mut self, cwnd: u64, now: u64) {
        self.ack_cnt += 1;
        if self.last_cwnd == cwnd && now - self.last_time <= HZ / 32 {
            return;
        }
        self.last_cwnd = cwnd;
        self.last_time = now;
        let epoch_start = if let Some(epoch_start) = self.epoch_start {
            epoch_start
        } else {
            self.epoch_start = Some(now);
            self.ack_cnt = 1;
            self.tcp_cwnd = cwnd;
            self.curve.begin(cwnd, self.last_max_cwnd);
            now
        };
        let ahead = clock(now - epoch_start + self.delay_min, HZ);
        let mut count = self.curve.count(cwnd, ahead);
        if self.delay_min > 0 && self.curve.is_past_origin(ahead) {
            count = count.max(cwnd * HZ / (10 * MAX_INCREMENT * self.delay_min));
        }
        if !self.lost {
            count = COUNT_BEFORE_LOSS;
        }
        count = count.min(self.friendly_count(cwnd));
        self.cnt = self.ratio.divide(count);
    }

    /// The largest number of packets per packet of growth that keeps up with the friendly window.
    fn friendly_count(&mut self, cwnd: u64) -> u64 {
        let Some(eighths) = self.beta_scale else {
            return LARGEST_COUNT;
        };
        let each = ((cwnd * eighths) >> 3).max(1);
        if self.ack_cnt > each {
            // As many as leave at least one and at most `each`.
            let more = (self.ack_cnt - 1) / each;
            self.ack_cnt -= more * each;
            self.tcp_cwnd += more;
        }
        let ahead = self.tcp_cwnd.saturating_sub(cwnd);
        cwnd.checked_div(ahead).unwrap_or(LARGEST_COUNT)
    }
}

impl WindowGrowth for Linux26Cubic {
    const NEEDS: Requirements = Requirements::ROUND_TRIPS;

    /// `bictcp_cong_avoid` after slow start.
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, _: &Path) {
        if ack.acked <= 0.0 {
            return;
        }
        window.cwnd = window.cwnd.floor();
        let cwnd = window.cwnd.min(LARGEST_WINDOW) as u64;
        self.update(cwnd, jiffies(ack.now));
        if self.snd_cwnd_cnt >= self.cnt {
            window.cwnd += 1.0;
            self.snd_cwnd_cnt = 0;
        } else {
            self.snd_cwnd_cnt += 1;
        }
    }

    /// `bictcp_recalc_ssthresh`, and `bictcp_reset` on a timeout.
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
        self.lost = true;
        self.snd_cwnd_cnt = 0;
        if event == CongestionEvent::Timeout {
            self.forget();
        }
        window.cut((cwnd * self.beta / BETA_SCALE) as f64, event);
    }

    /// `measure_delay`, where nothing was amiss before and the last epoch is a second old, and
    /// `bictcp_acked`.
    fn on_sample(&mut self, _: &mut Window, sample: &Sample, _: &Path) {
        if !self.ratio.on_sample(sample) {
            return;
        }
        let now = jiffies(sample.now);
        let recent = self.epoch_start.is_some_and(|start| now - start < HZ);
        if let Some(rtt) = sample.rtt.filter(|_| !recent) {
            let delay = now.saturating_sub(sent_at(sample.now, rtt)).max(1);
            if self.delay_min == 0 || delay < self.delay_min {
                self.delay_min = delay;
            }
        }
    }

    // No `min_cwnd`: the threshold.
    fn recovery_floor(&self, window: &Window) -> f64 {
        window.ssthresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::{sample, window};

    const PATH: Path = Path {
        smoothed_rtt: 0.05,
        min_rtt: 0.05,
        max_rtt: 0.05,
        flight: 0.0,
    };

    fn cubic() -> Linux26Cubic {
        Linux26Cubic::new(&Cubic::default(), 0.8)
    }

    /// Acknowledges `packets` packets singly, each `gap` milliseconds after the one before.
    fn acknowledge(
        cubic: &mut Linux26Cubic,
        at: &mut Window,
        now: &mut f64,
        packets: u64,
        gap: f64,
    ) {
        for _ in 0..packets {
            *now += gap;
            let time = Time::from_secs_f64(*now / 1e3);
            let ack = Ack {
                acked: 1.0,
                now: time,
            };
            cubic.on_ack(at, &ack, &PATH);
            let mut seen = sample(0.05);
            (seen.now, seen.acknowledged) = (time, cubic.ratio.acknowledged + 1);
            cubic.on_sample(at, &seen, &PATH);
        }
    }

    /// A round trip of 60.35 ms from 0.6 to 60.95 counts from 1 to 60: 59 jiffies. From 0.2 and
    /// 0.45 it counts from 0 to 60, and from 0.7 from 1 to 61.
    #[test]
    fn jiffies_of_packets_are_rounded_and_those_of_acknowledgments_rounded_down() {
        for (sent_ms, expected) in [(1000.2, 60), (1000.7, 60), (1000.6, 59), (1000.45, 60)] {
            let now = Time::from_secs_f64((sent_ms + 60.35) / 1e3);
            assert_eq!(jiffies(now) - sent_at(now, 0.06035), expected, "{sent_ms}");
        }
    }

    /// 50 x 16/31 acknowledgments, rounded down, and the one with which the window grows.
    #[test]
    fn before_a_loss_a_window_grows_by_a_packet_for_26_acknowledgments() {
        let (mut cubic, mut at, mut now) = (cubic(), window(500.0, 10.0), 0.0);
        acknowledge(&mut cubic, &mut at, &mut now, 260, 1.0);
        assert_eq!((at.cwnd, cubic.ratio.sixteenths), (510.0, 31));
    }

    /// The target of the cubic counts as if every other packet were acknowledged: the window is at
    /// it in half of the acknowledgments.
    #[test]
    fn the_ratio_of_acknowledgments_doubles_the_growth() {
        let (mut cubic, mut at, mut now) = (cubic(), window(200.0, 100.0), 0.0);
        acknowledge(&mut cubic, &mut at, &mut now, 100, 1.0);
        cubic.on_congestion_event(
            &mut at,
            CongestionEvent::Loss,
            Time::from_millis(100),
            &PATH,
        );
        assert_eq!(
            (at.cwnd, cubic.last_max_cwnd),
            ((203 * 819 / 1024) as f64, 203)
        );
        acknowledge(&mut cubic, &mut at, &mut now, 1, 1.0);
        // No round trip was measured in the first second.
        let target = cubic.curve.count(at.cwnd as u64, cubic.delay_min);
        assert_eq!(cubic.cnt, target * 16 / 31);
    }

    #[test]
    fn past_the_inflection_the_window_grows_by_16_packets_per_100_ms_at_most() {
        let (mut cubic, mut at) = (cubic(), window(1000.0, 100.0));
        cubic.lost = true;
        cubic.delay_min = 50;
        cubic.ratio.sixteenths = 16;
        // Twenty seconds past the origin the cubic is thousands of packets away.
        cubic.epoch_start = Some(0);
        cubic.curve.begin(1000, 0);
        let now = Time::from_secs(20);
        cubic.on_ack(&mut at, &Ack { acked: 1.0, now }, &PATH);
        assert_eq!(cubic.cnt, 1000 * 1000 / (160 * 50));
    }

    #[test]
    fn a_timeout_forgets_the_peak_and_the_round_trip() {
        let (mut cubic, mut at, mut now) = (cubic(), window(500.0, 10.0), 2000.0);
        acknowledge(&mut cubic, &mut at, &mut now, 100, 20.0);
        assert_eq!(cubic.delay_min, 50);
        cubic.on_congestion_event(&mut at, CongestionEvent::Timeout, Time::from_secs(5), &PATH);
        assert_eq!(
            (cubic.last_max_cwnd, cubic.delay_min, cubic.lost),
            (0, 0, false)
        );
        assert_eq!((at.cwnd, at.ssthresh), (1.0, (503 * 819 / 1024) as f64));
    }
}
