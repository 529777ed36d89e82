//! Reno in whole packets, as Linux counts them (net/ipv4/tcp_cong.c).

use forebay_units::Time;

use crate::classic::WindowGrowth;
use crate::packet::{Ack, CongestionEvent, Path, Window};
use crate::whole_packets::WholePackets;

/// Reno as Linux has it: half of an odd window is rounded down.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinuxReno {
    grown: WholePackets,
}

impl WindowGrowth for LinuxReno {
    /// `tcp_reno_cong_avoid`; no part of a packet is left of slow start either.
    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, _: &Path) {
        window.cwnd = window.cwnd.floor();
        if ack.acked > 0.0 {
            let each = window.cwnd.max(1.0) as u64;
            self.grown.grow(window, each, ack.acked as u64);
        }
    }

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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::window;

    #[test]
    fn a_window_and_half_of_it_are_whole() {
        let (mut reno, mut window) = (LinuxReno::default(), window(11.0, 5.0));
        let ack = Ack {
            acked: 1.0,
            now: Time::ZERO,
        };
        for acked in 1..=11 {
            assert_eq!(window.cwnd, 11.0, "{acked}");
            reno.on_ack(&mut window, &ack, &Path::default());
        }
        assert_eq!(window.cwnd, 12.0);
        window.cwnd = 11.0;
        // The reduction uses the window and not the packets in flight.
        let path = Path {
            flight: 8.0,
            ..Path::default()
        };
        reno.on_congestion_event(&mut window, CongestionEvent::Loss, Time::ZERO, &path);
        assert_eq!((window.cwnd, window.ssthresh), (5.0, 5.0));
    }
}
