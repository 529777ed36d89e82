//! Vegas as in Linux 5.2 (net/ipv4/tcp_vegas.c): slow start doubles in every round trip, a round
//! goes by its smallest round-trip time, and the window falls to what that allows when slow start
//! ends.
//!
//! The smallest round-trip time is of a packet that left with the window of a round trip before. So
//! the window overshoots while it doubles, and the queue that remains goes away by one packet per
//! round trip. The acknowledgment that ends slow start has added its packets before.

use forebay_units::Time;

use super::Thresholds;
use crate::classic::WindowGrowth;
use crate::packet::{Ack, CongestionEvent, Idle, Path, Requirements, Sample, Window};
use crate::whole_packets::WholePackets;

/// Samples of a round up to which it grows as Reno does: they may be of delayed acknowledgments.
pub(super) const TOO_FEW: u32 = 2;

/// Linux's growth and cut.
#[derive(Clone, Copy, Debug)]
pub struct LinuxVegas {
    thresholds: Thresholds,
    /// Smallest round-trip time since the connection began or was idle, seconds (`baseRTT`).
    base_rtt: f64,
    /// Smallest round-trip time of this round, seconds (`minRTT`).
    round_rtt: f64,
    /// Round-trip times measured in this round (`cntRTT`).
    samples: u32,
    /// The packet whose acknowledgment ends the round (`beg_snd_nxt`).
    last: u64,
    /// Whether no loss is under repair (`doing_vegas_now`).
    open: bool,
    grown: WholePackets,
}

impl LinuxVegas {
    /// The growth with these thresholds.
    pub fn new(thresholds: Thresholds) -> Self {
        Self {
            thresholds,
            base_rtt: f64::INFINITY,
            round_rtt: f64::INFINITY,
            samples: 0,
            last: 0,
            open: true,
            grown: WholePackets::default(),
        }
    }

    /// A round begins that ends with the acknowledgment of this packet.
    fn begin(&mut self, last: u64) {
        self.last = last;
        self.round_rtt = f64::INFINITY;
        self.samples = 0;
    }

    /// `tcp_vegas_cong_avoid` at the end of a round with enough samples.
    fn judge(&self, window: &mut Window) {
        let whole = window.cwnd.floor();
        let queued = (whole * (self.round_rtt - self.base_rtt) / self.base_rtt).floor();
        let slow_start = whole < window.ssthresh;
        window.cwnd = if slow_start && queued > self.thresholds.gamma {
            let target = (whole * self.base_rtt / self.round_rtt).floor();
            let cwnd = whole.min(target + 1.0);
            window.ssthresh = window.ssthresh.min(cwnd);
            cwnd
        } else if slow_start {
            whole
        } else if queued > self.thresholds.beta {
            window.ssthresh = window.ssthresh.min(whole - 1.0);
            whole - 1.0
        } else if queued < self.thresholds.alpha {
            whole + 1.0
        } else {
            whole
        };
        window.cwnd = window.cwnd.max(2.0);
        // `tcp_current_ssthresh`.
        let most = (0.5 * window.cwnd).floor() + (0.25 * window.cwnd).floor();
        window.ssthresh = window.ssthresh.max(most);
    }
}

impl WindowGrowth for LinuxVegas {
    const NEEDS: Requirements = Requirements::ROUND_TRIPS;

    /// The window moves once per round trip.
    fn on_ack(&mut self, _: &mut Window, _: &Ack, _: &Path) {}

    /// `tcp_reno_ssthresh`.
    fn on_congestion_event(
        &mut self,
        window: &mut Window,
        event: CongestionEvent,
        _: Time,
        _: &Path,
    ) {
        window.cut((0.5 * window.cwnd).floor(), event);
    }

    fn on_sample(&mut self, window: &mut Window, sample: &Sample, _: &Path) {
        if let Some(rtt) = sample.rtt {
            self.base_rtt = self.base_rtt.min(rtt);
            self.round_rtt = self.round_rtt.min(rtt);
            self.samples += 1;
        }
        let reopens = !self.open;
        self.open = sample.calm();
        if reopens {
            // `vegas_enable`: what was seen during a repair is stale.
            self.begin(sample.next);
        }
        if !self.open || sample.acknowledged <= self.last {
            return;
        }
        if self.samples > TOO_FEW {
            self.judge(window);
        } else if window.cwnd >= window.ssthresh && sample.limited {
            // `tcp_reno_cong_avoid`, of this acknowledgment alone.
            let each = window.cwnd.max(1.0) as u64;
            self.grown.grow(window, each, sample.arrived as u64);
        }
        self.begin(sample.next);
    }

    /// `tcp_vegas_cwnd_event`: the propagation time may be another one after a pause.
    fn on_idle(&mut self, _: &Idle) {
        self.base_rtt = f64::INFINITY;
        self.round_rtt = f64::INFINITY;
        self.samples = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::window;

    fn judged(cwnd: f64, ssthresh: f64, rtt: f64) -> Window {
        let mut vegas = LinuxVegas::new(Thresholds::default());
        (vegas.base_rtt, vegas.round_rtt) = (0.1, rtt);
        let mut at = window(cwnd, ssthresh);
        vegas.judge(&mut at);
        at
    }

    /// The queue is counted in whole packets by the propagation time: 50 (rtt/100 ms - 1).
    #[test]
    fn the_window_stays_between_two_and_four_whole_packets() {
        for (rtt, expected) in [
            (0.100, 51.0),
            (0.1039, 51.0),
            (0.1041, 50.0),
            (0.1099, 50.0),
            (0.1101, 49.0),
        ] {
            assert_eq!(judged(50.0, 40.0, rtt).cwnd, expected, "{rtt}");
        }
    }

    /// 40 packets at a round trip of 110 ms: 4 in the queue. The path holds 36 of them.
    #[test]
    fn slow_start_ends_with_what_the_path_holds_and_one() {
        let at = judged(40.0, f64::INFINITY, 0.11);
        assert_eq!((at.cwnd, at.ssthresh), (37.0, 37.0));
        // One whole packet in the queue does not end it.
        let at = judged(40.0, f64::INFINITY, 0.1049);
        assert_eq!((at.cwnd, at.ssthresh), (40.0, f64::INFINITY));
    }

    #[test]
    fn the_threshold_is_three_quarters_of_the_window_at_least() {
        assert_eq!(judged(50.0, 2.0, 0.106).ssthresh, 37.0);
    }
}
