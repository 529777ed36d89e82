//! BIC's growth and cut on packets as Linux 2.6 computes them (net/ipv4/tcp_bic.c until 5.6), which
//! ns-2.35's Linux agents run; the fields have the kernel's names.
//!
//! Windows and counts are whole numbers. The count of acknowledgments per packet of growth is
//! divided by the ratio of packets to acknowledgments, which begins at two and, in whole
//! sixteenths, never falls below 31/16 where each packet is acknowledged. Linux 5.7 counts packets
//! instead.

use forebay_units::Time;

use super::Bic;
use crate::ack_ratio::AckRatio;
use crate::classic::WindowGrowth;
use crate::packet::{Ack, CongestionEvent, Path, Requirements, Sample, Window};

/// `BICTCP_BETA_SCALE`.
const BETA_SCALE: u64 = 1024;

/// Growth before any loss: a packet for each 20 acknowledged, 5 % per round trip.
const COUNT_BEFORE_LOSS: u64 = 20;

/// The window is not recomputed more often than 32 times a second while it stays (`HZ / 32`).
const RECOMPUTED: Time = Time::from_micros(31_250);

/// Windows up to here are counted exactly.
const LARGEST_WINDOW: f64 = 1e9;

/// Parameters and state; windows are whole numbers of packets.
#[derive(Clone, Debug)]
pub struct Linux26Bic {
    /// Fraction of the window that remains after a reduction, in units of 1/[`BETA_SCALE`].
    beta: u64,
    max_increment: u64,
    low_window: u64,
    /// `BICTCP_B`.
    divisor: u64,
    smooth_part: u64,
    fast_convergence: bool,
    snd_cwnd_cnt: u64,
    /// Acknowledgments per packet of growth.
    cnt: u64,
    /// W_max, zero before the first loss.
    last_max_cwnd: u64,
    /// Whether there was a loss since the start and the last timeout (`loss_cwnd`).
    lost: bool,
    last_cwnd: u64,
    last_time: Time,
    ratio: AckRatio,
}

impl Linux26Bic {
    /// With these parameters, in whole packets.
    pub(crate) fn new(parameters: &Bic) -> Self {
        let whole = |value: f64| (value.round() as u64).max(1);
        Self {
            beta: (parameters.beta * BETA_SCALE as f64).round() as u64,
            max_increment: whole(parameters.max_increment),
            low_window: parameters.low_window as u64,
            divisor: whole(parameters.divisor).max(2),
            smooth_part: whole(parameters.smooth_part),
            fast_convergence: parameters.fast_convergence,
            snd_cwnd_cnt: 0,
            cnt: 0,
            last_max_cwnd: 0,
            lost: false,
            last_cwnd: 0,
            last_time: Time::ZERO,
            ratio: AckRatio::default(),
        }
    }

    /// `bictcp_reset`.
    fn forget(&mut self) {
        self.cnt = 0;
        self.last_max_cwnd = 0;
        self.lost = false;
        self.last_cwnd = 0;
        self.last_time = Time::ZERO;
        self.ratio.reset();
    }

    /// `bictcp_update`, once for each acknowledgment.
    fn update(&mut self, cwnd: u64, now: Time) {
        if self.last_cwnd == cwnd && now.saturating_sub(self.last_time) <= RECOMPUTED {
            return;
        }
        self.last_cwnd = cwnd;
        self.last_time = now;
        if cwnd <= self.low_window {
            // The kernel returns before it takes the ratio into account.
            self.cnt = cwnd.max(1);
            return;
        }
        let mut cnt = if cwnd < self.last_max_cwnd {
            self.search(cwnd)
        } else {
            self.beyond(cwnd)
        };
        if !self.lost {
            cnt = cnt.min(COUNT_BEFORE_LOSS);
        }
        self.cnt = self.ratio.divide(cnt);
    }

    /// Below the last maximum: towards it, by a part of the distance.
    fn search(&self, cwnd: u64) -> u64 {
        let step = (self.last_max_cwnd - cwnd) / self.divisor;
        if step > self.max_increment {
            cwnd / self.max_increment
        } else if step <= 1 {
            cwnd * self.smooth_part / self.divisor
        } else {
            cwnd / step
        }
    }

    /// Above it: away from it, ever faster.
    fn beyond(&self, cwnd: u64) -> u64 {
        let distance = cwnd - self.last_max_cwnd;
        if distance < self.divisor {
            cwnd * self.smooth_part / self.divisor
        } else if distance < self.max_increment * (self.divisor - 1) {
            cwnd * (self.divisor - 1) / distance
        } else {
            cwnd / self.max_increment
        }
    }
}

impl WindowGrowth for Linux26Bic {
    const NEEDS: Requirements = Requirements::ROUND_TRIPS;

    /// `bictcp_cong_avoid` after slow start.
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, _: &Path) {
        if ack.acked <= 0.0 {
            return;
        }
        window.cwnd = window.cwnd.floor();
        self.update(window.cwnd.min(LARGEST_WINDOW) as u64, ack.now);
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
        let released = self.fast_convergence && cwnd < self.last_max_cwnd;
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
        let kept = if cwnd <= self.low_window {
            cwnd / 2
        } else {
            cwnd * self.beta / BETA_SCALE
        };
        window.cut(kept as f64, event);
    }

    /// `bictcp_acked`.
    fn on_sample(&mut self, _: &mut Window, sample: &Sample, _: &Path) {
        self.ratio.on_sample(sample);
    }

    // As Linux's tcp_bic, which has the threshold as its `min_cwnd`.
    fn recovery_floor(&self, window: &Window) -> f64 {
        window.ssthresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::{sample, window};

    /// Sends acknowledgments for `each` packets apiece, 100 ms apart.
    fn acknowledge(bic: &mut Linux26Bic, at: &mut Window, acknowledgments: u64, each: u64) {
        for _ in 0..acknowledgments {
            let mut seen = sample(0.05);
            seen.now = bic.last_time.saturating_add(Time::from_millis(100));
            seen.acknowledged = bic.ratio.acknowledged + each;
            let ack = Ack {
                acked: each as f64,
                now: seen.now,
            };
            bic.on_ack(at, &ack, &Path::default());
            bic.on_sample(at, &seen, &Path::default());
        }
    }

    /// 20 x 16/31 acknowledgments, rounded down, and the one with which the window grows.
    #[test]
    fn before_a_loss_a_window_grows_by_a_packet_for_eleven_acknowledgments() {
        let (mut bic, mut at) = (Linux26Bic::new(&Bic::default()), window(500.0, 10.0));
        acknowledge(&mut bic, &mut at, 110, 1);
        assert_eq!((at.cwnd, bic.ratio.sixteenths), (510.0, 31));
    }

    /// After the ratio has settled, a window of 200 packets far from its last maximum grows by 16
    /// packets for 200 acknowledgments in theory: by one for 200/16 x 16/31 = 6 and one, or for
    /// 200/16 x 16/79 = 2 and one.
    #[test]
    fn the_ratio_of_packets_to_acknowledgments_divides_the_count() {
        for (each, ratio, count) in [(1, 31, 6), (5, 80, 2)] {
            let (mut bic, mut at) = (Linux26Bic::new(&Bic::default()), window(200.0, 10.0));
            (bic.last_max_cwnd, bic.lost) = (10_000, true);
            acknowledge(&mut bic, &mut at, 400, each);
            at.cwnd = 200.0;
            acknowledge(&mut bic, &mut at, 1, each);
            assert_eq!((bic.ratio.sixteenths, bic.cnt), (ratio, count), "{each}");
        }
    }

    #[test]
    fn counts_are_the_kernel_s() {
        let mut bic = Linux26Bic::new(&Bic::default());
        (bic.lost, bic.ratio.sixteenths) = (true, 16);
        for (cwnd, last_max, expected) in [
            // Linear increase, binary search, and the last packets.
            (1000, 2000, 1000 / 16),
            (1000, 1040, 1000 / 10),
            (1000, 1007, 1000 * 20 / 4),
            // Beyond the maximum: slow, ever faster, linear.
            (1000, 997, 1000 * 20 / 4),
            (1000, 990, 1000 * 3 / 10),
            (1000, 900, 1000 / 16),
            // Reno.
            (14, 500, 14),
        ] {
            (bic.last_max_cwnd, bic.last_cwnd) = (last_max, 0);
            bic.update(cwnd, Time::from_secs(1));
            assert_eq!(bic.cnt, expected, "{cwnd} {last_max}");
        }
    }

    #[test]
    fn a_cut_keeps_819_of_1024_in_whole_packets() {
        let mut bic = Linux26Bic::new(&Bic::default());
        for (cwnd, kept) in [(1000.0, 799.0), (501.9, 400.0), (14.0, 7.0), (3.0, 2.0)] {
            let mut at = window(cwnd, 5.0);
            bic.on_congestion_event(&mut at, CongestionEvent::Loss, Time::ZERO, &Path::default());
            assert_eq!((at.cwnd, at.ssthresh), (kept, kept), "{cwnd}");
        }
        bic.on_congestion_event(
            &mut window(900.0, 5.0),
            CongestionEvent::Timeout,
            Time::ZERO,
            &Path::default(),
        );
        assert_eq!((bic.last_max_cwnd, bic.lost), (0, false));
    }
}
