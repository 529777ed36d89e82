//! Scalable TCP as in Linux (net/ipv4/tcp_scalable.c): whole packets, no Reno below some window but
//! a growth that is bounded by Reno's, and the constants of the time.
//!
//! Up to Linux 5.6 the window grows by a packet for every 50 *acknowledgments*, however many
//! packets each acknowledges. This is meant for receivers that delay acknowledgments: with one for
//! two packets the growth is a hundredth per packet. It is a fiftieth if each packet is
//! acknowledged, and less if offload or aggregation gathers more. Since 5.7 it counts packets, 100
//! of them. The reduction is an eighth in both, rounded down. ns-2's senders have the first
//! variant, of Linux 2.6.

use forebay_units::Time;

use crate::classic::WindowGrowth;
use crate::packet::{Ack, CongestionEvent, Path, Window};
use crate::whole_packets::WholePackets;

/// The count for an increase by a packet (`TCP_SCALABLE_AI_CNT`), unless the window is smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Acknowledgments per packet of growth (up to Linux 5.6).
    Acknowledgments(u64),
    /// Acknowledged packets per packet of growth (since Linux 5.7).
    Packets(u64),
}

impl Count {
    /// Linux up to 5.6.
    pub const LINUX_5_6: Self = Self::Acknowledgments(50);
    /// Linux since 5.7.
    pub const LINUX_5_7: Self = Self::Packets(100);
}

/// An eighth of the window is cut (`TCP_SCALABLE_MD_SCALE`, 3).
const CUT: f64 = 0.125;

/// Growth and cut of Linux's Scalable TCP.
#[derive(Clone, Copy, Debug)]
pub struct LinuxScalable {
    count: Count,
    grown: WholePackets,
}

impl LinuxScalable {
    /// One that counts so.
    pub fn new(count: Count) -> Self {
        Self {
            count,
            grown: WholePackets::default(),
        }
    }
}

impl WindowGrowth for LinuxScalable {
    /// `tcp_scalable_cong_avoid`.
    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, _: &Path) {
        // No part of a packet is left of slow start.
        window.cwnd = window.cwnd.floor();
        if ack.acked <= 0.0 {
            return;
        }
        let reno = window.cwnd.max(1.0) as u64;
        let (each, acked) = match self.count {
            Count::Acknowledgments(each) => (each, 1),
            Count::Packets(each) => (each, ack.acked as u64),
        };
        self.grown.grow(window, each.min(reno), acked);
    }

    /// `tcp_scalable_ssthresh`, computed from the window and not from the packets in flight.
    fn on_congestion_event(
        &mut self,
        window: &mut Window,
        event: CongestionEvent,
        _: Time,
        _: &Path,
    ) {
        let whole = window.cwnd.floor();
        window.cut(whole - (CUT * whole).floor(), event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::window;

    /// The window after `acknowledgments` acknowledgments of `packets` packets each.
    fn grown(count: Count, from: f64, acknowledgments: u64, packets: f64) -> f64 {
        let (mut scalable, mut window) = (LinuxScalable::new(count), window(from, 5.0));
        let ack = Ack {
            acked: packets,
            now: Time::ZERO,
        };
        for _ in 0..acknowledgments {
            scalable.on_ack(&mut window, &ack, &Path::default());
        }
        window.cwnd
    }

    #[test]
    fn delayed_acknowledgments_hide_what_the_kernels_count() {
        let counts = [Count::LINUX_5_6, Count::LINUX_5_7];
        // 1000 packets, acknowledged one by one, in pairs, and by bursts of ten.
        let packets = |each: u64| counts.map(|c| grown(c, 400.0, 1000 / each, each as f64));
        assert_eq!(packets(1), [420.0, 410.0]);
        assert_eq!(packets(2), [410.0, 410.0]);
        assert_eq!(packets(10), [402.0, 410.0]);
    }

    #[test]
    fn small_windows_grow_as_reno_s_and_never_faster() {
        for count in [Count::LINUX_5_6, Count::LINUX_5_7] {
            assert_eq!(grown(count, 20.0, 19, 1.0), 20.0);
            assert_eq!(grown(count, 20.0, 20, 1.0), 21.0);
            assert_eq!(grown(count, 20.5, 0, 1.0), 20.5);
            assert_eq!(grown(count, 20.5, 1, 1.0), 20.0);
        }
    }

    #[test]
    fn a_cut_takes_an_eighth_in_whole_packets_of_any_window() {
        let kept = |from| {
            let mut window = window(from, 10.0);
            let mut scalable = LinuxScalable::new(Count::LINUX_5_6);
            let path = Path {
                flight: 1.0,
                ..Path::default()
            };
            scalable.on_congestion_event(&mut window, CongestionEvent::Loss, Time::ZERO, &path);
            (window.cwnd, window.ssthresh)
        };
        // Below eight packets nothing is cut, and below two nothing is left of a window.
        let windows = [400.0, 415.9, 15.0, 8.0, 7.0, 1.0];
        assert_eq!(
            windows.map(|w| kept(w).0),
            [350.0, 364.0, 14.0, 7.0, 7.0, 2.0]
        );
        assert!(windows.into_iter().all(|w| kept(w).0 == kept(w).1));
    }
}
