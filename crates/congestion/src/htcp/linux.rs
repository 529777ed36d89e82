//! H-TCP's growth and cut on packets as Linux computes them (net/ipv4/tcp_htcp.c, the same in
//! 2.6.22, which ns-2.35 runs, as in 6.x), in whole packets and milliseconds; the fields have the
//! kernel's names.
//!
//! It differs from the paper in these points:
//!
//! - The increase is scaled by the round trip (`use_rtt_scaling`), and rounded down to a whole
//!   number before it is scaled.
//! - The increase is renewed whenever the window has grown by a packet.
//! - The clock runs from the end of a recovery.
//! - The rate is the packets acknowledged over a window or more, averaged. Its largest value since
//!   the last reduction counts (`use_bandwidth_switch`).
//! - After a reduction to one half for a changed rate, the next reduction halves the window, too
//!   (`modeswitch`).
//! - The largest round trip survives reductions, and fades.

use forebay_units::Time;

use super::law::{Htcp, RateSwitch};
use crate::classic::WindowGrowth;
use crate::packet::{Ack, CongestionEvent, LossState, Path, Requirements, Sample, Window};

/// Jiffies per second.
const HZ: u64 = 1000;

/// `ALPHA_BASE`: one in the fixed point of alpha and beta.
const ONE: u64 = 1 << 7;

/// `BETA_MIN` and `BETA_MAX`: 0.5 and 0.8.
const BETA: (u64, u64) = (1 << 6, 102);

/// The most by which one measurement raises the largest round trip.
const LARGEST_STEP: u64 = 20;

/// Below this smallest round trip cuts halve.
const SHORT: u64 = 10;

/// Round trips after a cut until the path is measured again.
const SETTLING: u64 = 3;

/// Thresholds from here on are not the outcome of a loss.
const NO_THRESHOLD: f64 = 65535.0;

/// The clock's millisecond.
fn jiffies(time: Time) -> u64 {
    time.as_picos() / 1_000_000_000
}

/// The measured rate, in packets per second.
#[derive(Clone, Copy, Debug, Default)]
struct Throughput {
    packetcount: u64,
    lasttime: u64,
    /// Smoothed.
    b: u64,
    max: u64,
    /// The largest before the last cut.
    old_max: u64,
}

/// H-TCP as in Linux; windows are whole numbers of packets.
#[derive(Clone, Debug)]
pub struct LinuxHtcp {
    rate_switch: RateSwitch,
    /// Packets added per round trip, in 128ths.
    alpha: u64,
    /// Fraction of the window that remains after a reduction, in 128ths.
    beta: u64,
    /// Whether the cut before found the rate unchanged.
    modeswitch: bool,
    snd_cwnd_cnt: u64,
    /// Smallest and largest smoothed round trip in jiffies, zero before they are measured.
    min_rtt: u64,
    max_rtt: u64,
    /// When the last congestion ended, or the first packet was acknowledged.
    last_cong: Option<u64>,
    throughput: Throughput,
    /// State of loss recovery before this acknowledgment, and the packets that were acknowledged
    /// until then.
    state: LossState,
    acknowledged: u64,
}

impl LinuxHtcp {
    /// With the law's rate switch.
    pub(crate) fn new(law: &Htcp) -> Self {
        Self {
            rate_switch: law.rate_switch,
            alpha: ONE,
            beta: BETA.0,
            modeswitch: false,
            snd_cwnd_cnt: 0,
            min_rtt: 0,
            max_rtt: 0,
            last_cong: None,
            throughput: Throughput::default(),
            state: LossState::Open,
            acknowledged: 0,
        }
    }

    /// `htcp_cong_time`.
    fn since_congestion(&self, now: u64) -> u64 {
        now - self.last_cong.unwrap_or(now)
    }

    /// `htcp_ccount`: the same in smallest round trips.
    fn rounds_since_congestion(&self, now: u64) -> u64 {
        self.since_congestion(now) / self.min_rtt.max(1)
    }

    /// `measure_rtt`, with the smoothed round trip in seconds.
    fn measure_rtt(&mut self, smoothed_rtt: f64, ssthresh: f64, now: u64) {
        let rtt = (smoothed_rtt * HZ as f64).round() as u64;
        if rtt > 0 && (self.min_rtt == 0 || rtt < self.min_rtt) {
            self.min_rtt = rtt;
        }
        let calm = self.state == LossState::Open && ssthresh < NO_THRESHOLD;
        if calm && self.rounds_since_congestion(now) > SETTLING {
            self.max_rtt = self.max_rtt.max(self.min_rtt);
            if self.max_rtt < rtt && rtt <= self.max_rtt + LARGEST_STEP {
                self.max_rtt = rtt;
            }
        }
    }

    /// `measure_achieved_throughput` with `acked` packets acknowledged.
    fn measure_throughput(&mut self, acked: u64, cwnd: f64, now: u64) {
        let settled = self.rounds_since_congestion(now) > SETTLING;
        let rate = &mut self.throughput;
        rate.packetcount += acked;
        let whole = (cwnd as u64).saturating_sub((self.alpha >> 7).max(1));
        let elapsed = now - rate.lasttime;
        if rate.packetcount < whole || elapsed < self.min_rtt || self.min_rtt == 0 {
            return;
        }
        let current = rate.packetcount * HZ / elapsed;
        if settled {
            rate.b = (3 * rate.b + current) / 4;
            rate.max = rate.max.max(rate.b);
        } else {
            rate.b = current;
            rate.max = current;
        }
        rate.packetcount = 0;
        rate.lasttime = now;
    }

    /// Whether the rate has changed by more than a fifth between two cuts; the next one will be
    /// compared with this.
    fn rate_changed(&mut self) -> bool {
        let Throughput { max, old_max, .. } = self.throughput;
        self.throughput.old_max = max;
        !(4 * old_max..=6 * old_max).contains(&(5 * max))
    }

    /// `htcp_beta_update`.
    fn update_beta(&mut self) {
        if self.rate_switch == RateSwitch::On && self.rate_changed() {
            self.beta = BETA.0;
            self.modeswitch = false;
        } else if self.modeswitch && self.min_rtt > SHORT && self.max_rtt > 0 {
            self.beta = ((self.min_rtt << 7) / self.max_rtt).clamp(BETA.0, BETA.1);
        } else {
            self.beta = BETA.0;
            self.modeswitch = true;
        }
    }

    /// `htcp_alpha_update`.
    fn update_alpha(&mut self, now: u64) {
        let mut factor = 1;
        let elapsed = self.since_congestion(now);
        if elapsed > HZ {
            let beyond = elapsed - HZ;
            factor = 1 + (10 * beyond + (beyond / 2) * (beyond / 2) / HZ) / HZ;
        }
        if self.min_rtt > 0 {
            // The inverse share of 100 ms in whole eighths, between 1/2 and 10.
            let scale = ((HZ << 3) / (10 * self.min_rtt)).clamp(4, 80);
            factor = ((factor << 3) / scale).max(1);
        }
        self.alpha = (2 * factor * (ONE - self.beta)).max(1);
    }
}

impl WindowGrowth for LinuxHtcp {
    const NEEDS: Requirements = Requirements::ROUND_TRIPS;

    /// `htcp_cong_avoid` after slow start. The acknowledgment with which the window grows is not
    /// counted.
    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, path: &Path) {
        let now = jiffies(ack.now);
        self.last_cong.get_or_insert(now);
        if ack.acked <= 0.0 {
            return;
        }
        window.cwnd = window.cwnd.floor();
        self.measure_rtt(path.smoothed_rtt, window.ssthresh, now);
        if (self.snd_cwnd_cnt * self.alpha) >> 7 >= window.cwnd as u64 {
            window.cwnd += 1.0;
            self.snd_cwnd_cnt = 0;
            self.update_alpha(now);
        } else {
            self.snd_cwnd_cnt += ack.acked as u64;
        }
    }

    /// `htcp_recalc_ssthresh`, `htcp_param_update` and `htcp_reset`.
    fn on_congestion_event(
        &mut self,
        window: &mut Window,
        event: CongestionEvent,
        now: Time,
        _: &Path,
    ) {
        let now = jiffies(now);
        self.update_beta();
        self.update_alpha(now);
        if self.min_rtt > 0 && self.max_rtt > self.min_rtt {
            self.max_rtt = self.min_rtt + (self.max_rtt - self.min_rtt) * 95 / 100;
        }
        self.last_cong = Some(now);
        self.snd_cwnd_cnt = 0;
        let reduced = (window.cwnd as u64 * self.beta) >> 7;
        window.cut(reduced as f64, event);
    }

    /// `htcp_state`: the end of a recovery restarts the clock.
    fn on_sample(&mut self, window: &mut Window, sample: &Sample, _: &Path) {
        let now = jiffies(sample.now);
        let acked = sample.acknowledged.saturating_sub(self.acknowledged);
        self.acknowledged = sample.acknowledged;
        let before = std::mem::replace(&mut self.state, sample.state);
        if sample.state != LossState::Open || before != LossState::Open {
            if before != LossState::Open && sample.state == LossState::Open {
                self.last_cong = Some(now);
            }
            self.throughput.packetcount = 0;
            self.throughput.lasttime = now;
        } else if acked > 0 {
            self.measure_throughput(acked, window.cwnd, now);
        }
    }

    // No `min_cwnd`: the threshold.
    fn recovery_floor(&self, window: &Window) -> f64 {
        window.ssthresh
    }

    /// `htcp_cwnd_undo`.
    fn on_undo(&mut self, before: &Self) {
        self.last_cong = before.last_cong;
        self.max_rtt = before.max_rtt;
        self.throughput.old_max = before.throughput.old_max;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::{sample, window};

    const ROUND: u64 = 70;

    /// Acknowledges packets evenly, `rate` per second, from `from` to `to` milliseconds, at this
    /// smoothed round trip.
    fn acknowledge(
        htcp: &mut LinuxHtcp,
        window: &mut Window,
        (from, to): (u64, u64),
        rate: u64,
        rtt: u64,
    ) {
        let path = Path {
            smoothed_rtt: rtt as f64 / 1e3,
            ..Path::default()
        };
        let each = 1_000_000 / rate;
        for number in 1..=(to - from) * rate / 1000 {
            let now = Time::from_micros(1000 * from + each * number);
            htcp.on_ack(window, &Ack { acked: 1.0, now }, &path);
            let mut seen = sample(path.smoothed_rtt);
            seen.now = now;
            seen.acknowledged = htcp.acknowledged + 1;
            htcp.on_sample(window, &seen, &path);
        }
    }

    /// A loss and the recovery after it, `millis` long.
    fn cut(htcp: &mut LinuxHtcp, window: &mut Window, (from, millis): (u64, u64)) -> f64 {
        let before = window.cwnd;
        let path = Path::default();
        htcp.on_congestion_event(
            window,
            CongestionEvent::Loss,
            Time::from_millis(from),
            &path,
        );
        let factor = window.cwnd / before;
        let mut seen = sample(0.07);
        seen.state = LossState::Recovery;
        for (state, at) in [
            (LossState::Recovery, from),
            (LossState::Open, from + millis),
        ] {
            (seen.state, seen.now) = (state, Time::from_millis(at));
            htcp.on_sample(window, &seen, &path);
        }
        factor
    }

    /// Three seconds after each cut of a window of 700 at these rates: what the cut keeps.
    fn decrease_factors(rates: &[u64]) -> Vec<f64> {
        let mut htcp = LinuxHtcp::new(&Htcp::default());
        let mut start = 0;
        let cuts = rates.iter().map(|&rate| {
            let mut window = window(700.0, 10.0);
            acknowledge(&mut htcp, &mut window, (start, start + 3000), rate, ROUND);
            // The queue grows to 100 ms at the end.
            acknowledge(
                &mut htcp,
                &mut window,
                (start + 3000, start + 3100),
                rate,
                85,
            );
            acknowledge(
                &mut htcp,
                &mut window,
                (start + 3100, start + 3200),
                rate,
                100,
            );
            window.cwnd = 700.0;
            start += 3300;
            cut(&mut htcp, &mut window, (start - 100, 100))
        });
        cuts.collect()
    }

    #[test]
    fn a_changed_rate_halves_twice_and_a_steady_one_keeps_what_the_queue_leaves() {
        let factors = decrease_factors(&[10_000, 10_000, 10_000, 13_000, 13_000, 13_000]);
        // 70/100 in 128ths, rounded down, of a window rounded down; the largest round trip is
        // remembered over the cuts.
        let steady = (700 * 89 / 128) as f64 / 700.0;
        assert_eq!(factors, [0.5, 0.5, steady, 0.5, 0.5, steady]);
    }

    #[test]
    fn the_largest_round_trip_grows_by_twenty_milliseconds_at_a_time_and_fades() {
        let mut htcp = LinuxHtcp::new(&Htcp::default());
        let mut window = window(700.0, 10.0);
        acknowledge(&mut htcp, &mut window, (0, 1000), 10_000, ROUND);
        assert_eq!((htcp.min_rtt, htcp.max_rtt), (70, 70));
        acknowledge(&mut htcp, &mut window, (1000, 1100), 10_000, 95);
        assert_eq!(htcp.max_rtt, 70);
        acknowledge(&mut htcp, &mut window, (1100, 1200), 10_000, 90);
        assert_eq!(htcp.max_rtt, 90);
        cut(&mut htcp, &mut window, (1200, 100));
        assert_eq!(htcp.max_rtt, 89);
        // Nothing is measured in the three round trips after a cut.
        acknowledge(&mut htcp, &mut window, (1300, 1500), 10_000, 100);
        assert_eq!(htcp.max_rtt, 89);
    }

    /// The increase three seconds after a cut: 1 + 10 x 2 + 2^2 / 4 = 22 whole packets, times
    /// eighths over 0.8 s / RTT in whole eighths, rounded down.
    #[test]
    fn the_increase_is_scaled_by_the_round_trip_in_whole_packets() {
        for (rtt, alpha) in [
            (120, 22 * 8 / 6),
            (60, 22 * 8 / 13),
            (20, 22 * 8 / 40),
            (1000, 44),
            (1, 2),
        ] {
            let mut htcp = LinuxHtcp::new(&Htcp::default());
            htcp.min_rtt = rtt;
            htcp.last_cong = Some(0);
            htcp.update_alpha(3000);
            assert_eq!(htcp.alpha, alpha << 7, "{rtt}");
        }
    }

    #[test]
    fn the_clock_runs_from_the_end_of_a_recovery() {
        let mut htcp = LinuxHtcp::new(&Htcp::default());
        let mut window = window(700.0, 10.0);
        cut(&mut htcp, &mut window, (1000, 250));
        assert_eq!(htcp.since_congestion(1300), 50);
        assert_eq!(htcp.throughput.lasttime, 1250);
    }

    /// A window at 100 with alpha = 1: the acknowledgment with which it grows is not counted.
    #[test]
    fn a_window_grows_by_a_packet_for_a_window_and_one() {
        let mut htcp = LinuxHtcp::new(&Htcp::default());
        let mut window = window(100.0, 10.0);
        acknowledge(&mut htcp, &mut window, (0, 100), 1000, 100);
        assert_eq!(window.cwnd, 100.0);
        acknowledge(&mut htcp, &mut window, (100, 101), 1000, 100);
        assert_eq!(window.cwnd, 101.0);
    }
}
