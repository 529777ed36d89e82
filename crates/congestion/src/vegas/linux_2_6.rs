//! Vegas as in Linux 2.6.22 (net/ipv4/tcp_vegas.c), which ns-2.35's Linux agents run; the fields
//! have the kernel's names.
//!
//! It differs from the kernel's since 2.6.25 in this: the queue is counted by the packets that were
//! sent in the round before and in halves of a packet, slow start ends with a threshold of two
//! packets, and the window moves by a packet from what it was a round before.

use forebay_units::Time;

use super::Thresholds;
use super::linux::TOO_FEW;
use crate::classic::WindowGrowth;
use crate::packet::{Ack, CongestionEvent, Idle, Path, Requirements, Sample, Window};

/// No round-trip time was measured, in microseconds (`0x7fffffff`).
const UNKNOWN: u64 = 0x7fff_ffff;

/// Linux 2.6's growth and cut; windows are whole numbers of packets.
#[derive(Clone, Copy, Debug)]
pub struct Linux26Vegas {
    /// Halves of a packet in the queue.
    alpha: u64,
    beta: u64,
    gamma: u64,
    /// Smallest round-trip time of the connection and of this round, in microseconds.
    base_rtt: u64,
    min_rtt: u64,
    /// Round-trip times measured in this round.
    cnt_rtt: u32,
    /// First packet of the round before, and of this one.
    beg_snd_una: u64,
    beg_snd_nxt: u64,
    /// Window at the beginning of this round.
    beg_snd_cwnd: u64,
    doing_vegas_now: bool,
    /// Packets acknowledged since Reno or a congestion used them (`bytes_acked`), and below which
    /// all are.
    acked: u64,
    snd_una: u64,
}

impl Linux26Vegas {
    /// The growth with these thresholds.
    pub fn new(thresholds: Thresholds) -> Self {
        let halves = |packets: f64| (2.0 * packets).floor() as u64;
        Self {
            alpha: halves(thresholds.alpha),
            beta: halves(thresholds.beta),
            gamma: halves(thresholds.gamma),
            base_rtt: UNKNOWN,
            min_rtt: UNKNOWN,
            cnt_rtt: 0,
            beg_snd_una: 0,
            beg_snd_nxt: 0,
            beg_snd_cwnd: 0,
            doing_vegas_now: false,
            acked: 0,
            snd_una: 0,
        }
    }

    /// `tcp_vegas_cong_avoid` at the end of a round with enough samples, in which `old_wnd` packets
    /// were sent and whose window had been `old_cwnd`.
    fn judge(&self, window: &mut Window, old_wnd: u64, old_cwnd: u64) {
        let target = (2 * old_wnd * self.base_rtt) / self.min_rtt;
        let diff = 2 * old_wnd - target.min(2 * old_wnd);
        let cwnd = window.cwnd.floor();
        window.cwnd = if cwnd < window.ssthresh {
            if diff > self.gamma {
                window.ssthresh = Window::MIN_SSTHRESH;
                // Slow start, which the acknowledgment itself has, adds one.
                cwnd.min((target / 2 + 1) as f64) + 1.0
            } else {
                cwnd
            }
        } else {
            let next = if diff > self.beta {
                old_cwnd as f64 - 1.0
            } else if diff < self.alpha {
                old_cwnd as f64 + 1.0
            } else {
                old_cwnd as f64
            };
            cwnd + (next - cwnd).clamp(-1.0, 1.0)
        };
        window.cwnd = window.cwnd.max(2.0);
    }

    /// `tcp_reno_cong_avoid` with byte counting (`sysctl_tcp_abc`).
    fn grow_as_reno(&mut self, window: &mut Window) {
        let cwnd = window.cwnd as u64;
        if window.cwnd >= window.ssthresh && self.acked >= cwnd {
            self.acked -= cwnd;
            window.cwnd += 1.0;
        }
    }
}

impl WindowGrowth for Linux26Vegas {
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
        self.acked = 0;
        window.cut((0.5 * window.cwnd).floor(), event);
    }

    fn on_sample(&mut self, window: &mut Window, sample: &Sample, _: &Path) {
        if let Some(rtt) = sample.rtt {
            let micros = (rtt * 1e6) as u64 + 1;
            self.base_rtt = self.base_rtt.min(micros);
            self.min_rtt = self.min_rtt.min(micros);
            self.cnt_rtt += 1;
        }
        let acked = sample.acknowledged.saturating_sub(self.snd_una);
        self.snd_una = sample.acknowledged;
        self.acked += acked;
        let opens = !self.doing_vegas_now;
        self.doing_vegas_now = sample.calm();
        if opens {
            // `vegas_enable`, which leaves the round before as it was.
            self.beg_snd_nxt = sample.next;
            (self.min_rtt, self.cnt_rtt) = (UNKNOWN, 0);
        }
        if !self.doing_vegas_now || acked == 0 {
            return;
        }
        // A window at its threshold is still in slow start.
        if window.cwnd == window.ssthresh {
            window.cwnd += 1.0;
            self.acked = 0;
        }
        if sample.acknowledged <= self.beg_snd_nxt {
            return;
        }
        let (old_wnd, old_cwnd) = (self.beg_snd_nxt - self.beg_snd_una, self.beg_snd_cwnd);
        self.beg_snd_una = self.beg_snd_nxt;
        self.beg_snd_nxt = sample.next;
        self.beg_snd_cwnd = window.cwnd as u64;
        if self.cnt_rtt > TOO_FEW {
            self.judge(window, old_wnd, old_cwnd);
        } else if sample.limited {
            self.grow_as_reno(window);
        }
        (self.min_rtt, self.cnt_rtt) = (UNKNOWN, 0);
    }

    /// `tcp_vegas_cwnd_event`: the propagation time may be another one after a pause.
    fn on_idle(&mut self, _: &Idle) {
        self.base_rtt = UNKNOWN;
        self.doing_vegas_now = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::{sample, window};

    fn judged(cwnd: f64, ssthresh: f64, rtt: u64, old_cwnd: u64) -> Window {
        let mut vegas = Linux26Vegas::new(Thresholds::default());
        (vegas.base_rtt, vegas.min_rtt) = (100_000, rtt);
        let mut at = window(cwnd, ssthresh);
        vegas.judge(&mut at, 50, old_cwnd);
        at
    }

    /// The queue is counted in halves of a packet, rounded up, by the measured round trip: 50 (1 -
    /// 100 ms/rtt).
    #[test]
    fn the_window_stays_between_one_and_a_half_and_four_packets() {
        for (rtt, expected) in [
            (100_000, 51.0),
            (103_000, 51.0),
            (103_200, 50.0),
            (108_600, 50.0),
            (108_800, 49.0),
        ] {
            assert_eq!(judged(50.0, 40.0, rtt, 50).cwnd, expected, "{rtt}");
        }
    }

    #[test]
    fn the_window_moves_by_one_towards_a_packet_from_what_it_was() {
        for (old, expected) in [(60, 51.0), (51, 50.0), (40, 49.0)] {
            assert_eq!(judged(50.0, 40.0, 120_000, old).cwnd, expected, "{old}");
        }
    }

    /// 50 packets at 110 ms: 45 are the path's, and slow start has added one.
    #[test]
    fn slow_start_ends_with_what_the_path_holds_and_two_packets_of_threshold() {
        let at = judged(60.0, f64::INFINITY, 110_000, 30);
        assert_eq!((at.cwnd, at.ssthresh), (47.0, 2.0));
        // Half a packet or one do not end it.
        let at = judged(60.0, f64::INFINITY, 102_000, 30);
        assert_eq!((at.cwnd, at.ssthresh), (60.0, f64::INFINITY));
    }

    /// The packets of the round before and the window at its beginning count; after a recovery the
    /// round before began when it did, and a window at its threshold grows by one.
    #[test]
    fn rounds_go_by_what_was_sent_in_the_one_before() {
        let mut vegas = Linux26Vegas::new(Thresholds::default());
        let mut at = window(50.0, 20.0);
        let mut seen = sample(0.1);
        let mut acknowledge = |vegas: &mut Linux26Vegas, at: &mut Window, to: u64, next: u64| {
            for packet in seen.acknowledged + 1..=to {
                (seen.acknowledged, seen.next) = (packet, next);
                vegas.on_sample(at, &seen, &Path::default());
            }
        };
        acknowledge(&mut vegas, &mut at, 1, 51);
        acknowledge(&mut vegas, &mut at, 52, 101);
        assert_eq!(
            (vegas.beg_snd_una, vegas.beg_snd_nxt, vegas.beg_snd_cwnd),
            (51, 101, 50)
        );
        // The round before had no window at its beginning, so that this one fell; now it goes by
        // 50.
        assert_eq!(at.cwnd, 49.0);
        acknowledge(&mut vegas, &mut at, 102, 151);
        assert_eq!(at.cwnd, 50.0);
        at.ssthresh = at.cwnd;
        acknowledge(&mut vegas, &mut at, 103, 152);
        assert_eq!(at.cwnd, 51.0);
    }

    /// Two samples in a round: a window of packets acknowledged since the last use of them gives
    /// one more.
    #[test]
    fn rounds_with_two_samples_grow_as_reno_by_bytes() {
        let mut vegas = Linux26Vegas::new(Thresholds::default());
        let mut at = window(2.0, 2.0);
        vegas.acked = 5;
        vegas.grow_as_reno(&mut at);
        assert_eq!((at.cwnd, vegas.acked), (3.0, 3));
        vegas.grow_as_reno(&mut at);
        vegas.grow_as_reno(&mut at);
        assert_eq!((at.cwnd, vegas.acked), (4.0, 0));
    }
}
