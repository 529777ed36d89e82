//! Westwood+ as in Linux (net/ipv4/tcp_westwood.c of 2.6.22 and later): Reno's growth and half of
//! the window while a loss is repaired; when the repair is complete, window and threshold are what
//! the bandwidth and the smallest round-trip time hold.
//!
//! The bandwidth goes through two low-pass filters, which begin at the first sample. Times are
//! exact here, in the kernel whole ticks. After a timeout the threshold is that product, too, and
//! the smallest round-trip time is measured again. Linux 3.10 and later do so (`CA_EVENT_LOSS`).
//! Older versions did if F-RTO examined the timeout.

use forebay_units::Time;

use super::SHORTEST_ROUND;
use crate::classic::WindowGrowth;
use crate::newreno::LinuxReno;
use crate::packet::{Ack, CongestionEvent, LossState, Path, Requirements, Sample, Window};

/// The least that the estimate allows, packets (`tcp_westwood_bw_rttmin`).
const SMALLEST: f64 = 2.0;

/// Linux's Westwood+.
#[derive(Clone, Copy, Debug)]
pub struct LinuxWestwood {
    reno: LinuxReno,
    /// When the bandwidth sample began (`rtt_win_sx`).
    since: Option<Time>,
    /// Packets that arrived since (`bk`).
    arrived: f64,
    /// Bandwidth after the first filter, packets per second (`bw_ns_est`).
    once_filtered: f64,
    /// Bandwidth after both, packets per second (`bw_est`).
    bandwidth: f64,
    /// Last round-trip time in seconds; infinite before the first.
    rtt: f64,
    /// Smallest round-trip time in seconds; infinite before the first.
    rtt_min: f64,
    /// State of loss recovery before this acknowledgment.
    state: LossState,
    /// Whether marks or a loss reduced the window for this recovery.
    reduced: bool,
}

impl Default for LinuxWestwood {
    fn default() -> Self {
        Self {
            reno: LinuxReno::default(),
            since: None,
            arrived: 0.0,
            once_filtered: 0.0,
            bandwidth: 0.0,
            rtt: f64::INFINITY,
            rtt_min: f64::INFINITY,
            state: LossState::Open,
            reduced: false,
        }
    }
}

/// `westwood_do_filter`.
fn filtered(old: f64, new: f64) -> f64 {
    0.125 * (7.0 * old + new)
}

impl LinuxWestwood {
    /// Bandwidth times the smallest round-trip time in whole packets (`tcp_westwood_bw_rttmin`).
    fn product(&self) -> f64 {
        if self.rtt_min.is_finite() {
            (self.bandwidth * self.rtt_min).floor().max(SMALLEST)
        } else {
            SMALLEST
        }
    }

    /// `westwood_filter`.
    fn filter(&mut self, rate: f64) {
        if self.once_filtered == 0.0 && self.bandwidth == 0.0 {
            self.once_filtered = rate;
            self.bandwidth = rate;
        } else {
            self.once_filtered = filtered(self.once_filtered, rate);
            self.bandwidth = filtered(self.bandwidth, self.once_filtered);
        }
    }

    /// `westwood_update_window`: a sample takes a round trip, and 50 ms at least.
    fn update_window(&mut self, now: Time) {
        let since = *self.since.get_or_insert(now);
        let elapsed = now.saturating_sub(since).as_secs_f64();
        if self.rtt.is_finite() && elapsed > self.rtt.max(SHORTEST_ROUND) {
            self.filter(self.arrived / elapsed);
            self.arrived = 0.0;
            self.since = Some(now);
        }
    }
}

impl WindowGrowth for LinuxWestwood {
    const NEEDS: Requirements = Requirements::ROUND_TRIPS;

    /// `tcp_reno_cong_avoid`.
    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, path: &Path) {
        self.reno.on_ack(window, ack, path);
    }

    /// `tcp_reno_ssthresh` where a repair begins; the product for marks, whose reduction completes
    /// at once here, and for timeouts.
    fn on_congestion_event(
        &mut self,
        window: &mut Window,
        event: CongestionEvent,
        now: Time,
        path: &Path,
    ) {
        match event {
            CongestionEvent::Loss => {
                self.reno.on_congestion_event(window, event, now, path);
                self.reduced = true;
            }
            CongestionEvent::Mark => window.cut(self.product(), event),
            CongestionEvent::Timeout => {
                window.cut(self.product(), event);
                self.rtt_min = f64::INFINITY;
                self.reduced = false;
            }
        }
    }

    fn on_sample(&mut self, window: &mut Window, sample: &Sample, _: &Path) {
        if let Some(rtt) = sample.rtt {
            self.rtt = rtt;
        }
        self.update_window(sample.now);
        self.arrived += sample.arrived;
        self.rtt_min = self.rtt_min.min(self.rtt);
        let before = std::mem::replace(&mut self.state, sample.state);
        let complete = before == LossState::Recovery && sample.state == LossState::Open;
        if complete && std::mem::take(&mut self.reduced) {
            // `CA_EVENT_COMPLETE_CWR`.
            window.cwnd = self.product();
            window.ssthresh = window.cwnd;
        }
    }

    /// `tcp_westwood_cwnd_min` of Linux 2.6.
    fn recovery_floor(&self, _: &Window) -> f64 {
        self.product()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::{sample, window};

    /// `count` packets arrive, one every `gap` milliseconds, with the round-trip time `rtt` in
    /// seconds.
    fn arrive(westwood: &mut LinuxWestwood, at: &mut Window, count: u64, gap: f64, rtt: f64) {
        let mut seen = sample(rtt);
        seen.now = westwood.since.unwrap_or(Time::from_secs(1));
        for _ in 0..count {
            seen.now = seen.now.saturating_add(Time::from_secs_f64(gap / 1e3));
            westwood.on_sample(at, &seen, &Path::default());
        }
    }

    #[test]
    fn a_complete_repair_leaves_the_product_of_bandwidth_and_smallest_round_trip() {
        let (mut westwood, mut at) = (LinuxWestwood::default(), window(180.0, 50.0));
        arrive(&mut westwood, &mut at, 1, 1.0, 0.1);
        // 1000 packets per second for 20 round trips of 150 ms, 100 ms of which are propagation.
        arrive(&mut westwood, &mut at, 3000, 1.0, 0.15);
        assert!(
            (westwood.bandwidth / 1000.0 - 1.0).abs() < 0.01,
            "{}",
            westwood.bandwidth
        );
        westwood.on_congestion_event(
            &mut at,
            CongestionEvent::Loss,
            Time::from_secs(9),
            &Path::default(),
        );
        assert_eq!((at.cwnd, at.ssthresh), (90.0, 90.0));
        assert!((westwood.recovery_floor(&at) - 99.0).abs() <= 1.0);
        let mut seen = sample(0.15);
        seen.now = westwood.since.unwrap();
        for (state, expected) in [(LossState::Recovery, 90.0), (LossState::Open, 99.0)] {
            seen.state = state;
            westwood.on_sample(&mut at, &seen, &Path::default());
            assert!((at.cwnd - expected).abs() <= 1.0, "{state:?} {}", at.cwnd);
        }
        assert_eq!(at.cwnd, at.ssthresh);
    }

    /// 7/8 and 1/8 in each filter: of a step, 1/64 after one sample and 1/64 x (1 + 2 x 7/8) after
    /// two.
    #[test]
    fn two_filters_follow_a_step() {
        let mut westwood = LinuxWestwood::default();
        westwood.filter(800.0);
        assert_eq!(westwood.bandwidth, 800.0);
        westwood.filter(1440.0);
        assert!((westwood.bandwidth - 810.0).abs() < 1e-9);
        westwood.filter(1440.0);
        assert!((westwood.bandwidth - 827.5).abs() < 1e-9);
    }

    #[test]
    fn a_timeout_leaves_the_product_as_threshold_and_two_packets_at_least() {
        let (mut westwood, mut at) = (LinuxWestwood::default(), window(40.0, 50.0));
        westwood.on_congestion_event(
            &mut at,
            CongestionEvent::Timeout,
            Time::ZERO,
            &Path::default(),
        );
        assert_eq!((at.cwnd, at.ssthresh), (1.0, 2.0));
    }
}
