//! The window of a controller that sets it in loss recovery, too
//! ([`Requirements::own_recovery`](crate::packet::Requirements::own_recovery)). It may be smaller
//! than a packet; the engine's window is then one packet, and pacing does the rest.

use crate::packet::{LossState, Sample, Window};

/// The smallest window of the engine, packets.
const SMALLEST: f64 = 1.0;

/// The largest window of a controller that sets a rate, packets: half of InfiniBand's packet
/// sequence numbers, which have 24 bits.
const LARGEST: f64 = 8_388_608.0;

/// A window in packets, and whether the engine may have lowered its own since.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnWindow {
    /// Packets; infinite before the first acknowledgment, when the stack's initial window counts.
    pub(crate) packets: f64,
    /// Whether the last timeout was spurious, so that the engine's window is too small.
    undone: bool,
}

impl Default for OwnWindow {
    fn default() -> Self {
        Self {
            packets: f64::INFINITY,
            undone: false,
        }
    }
}

impl OwnWindow {
    /// Takes over what the engine has lowered: the initial window, and the one packet after a
    /// repeated timeout (RFC 5681 section 3.1).
    pub(crate) fn adopt(&mut self, window: &Window) {
        if !std::mem::take(&mut self.undone) {
            self.packets = self.packets.min(window.cwnd);
        }
    }

    /// Opens the window for the packets that arrived, as slow start without a threshold does (RFC
    /// 5681 section 3.1), unless losses are under repair. A controller that sets a rate has no
    /// window of its own. This one prevents that a sender sends without acknowledgments.
    pub(crate) fn open(&mut self, sample: &Sample) {
        if sample.state != LossState::Recovery {
            self.packets = (self.packets + sample.arrived).min(LARGEST);
        }
    }

    /// One packet, after a timeout (RFC 5681 section 3.1).
    pub(crate) fn close(&mut self) {
        self.packets = SMALLEST;
    }

    /// Sets the engine's window. The threshold follows it: there is no slow start.
    pub(crate) fn apply(&self, window: &mut Window) {
        window.cwnd = self.packets.max(SMALLEST);
        window.ssthresh = window.cwnd.max(Window::MIN_SSTHRESH);
    }

    /// The last timeout was spurious; `before` is the window before it.
    pub(crate) fn undo(&mut self, before: &Self) {
        self.packets = self.packets.max(before.packets);
        self.undone = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::{sample, window};

    #[test]
    fn a_window_below_a_packet_is_a_packet_to_the_engine() {
        let mut own = OwnWindow::default();
        let mut at = window(10.0, f64::INFINITY);
        own.adopt(&at);
        assert_eq!(own.packets, 10.0);
        own.packets = 0.25;
        own.apply(&mut at);
        assert_eq!((at.cwnd, at.ssthresh), (1.0, 2.0));
        own.adopt(&at);
        assert_eq!(own.packets, 0.25);
    }

    #[test]
    fn a_window_that_the_engine_lowers_stays_low_unless_the_timeout_was_spurious() {
        let mut own = OwnWindow {
            packets: 40.0,
            ..OwnWindow::default()
        };
        let before = own;
        let after_timeout = window(1.0, 20.0);
        own.adopt(&after_timeout);
        assert_eq!(own.packets, 1.0);
        own.undo(&before);
        own.adopt(&after_timeout);
        assert_eq!(own.packets, 40.0);
        own.adopt(&after_timeout);
        assert_eq!(own.packets, 1.0);
    }

    #[test]
    fn a_window_beside_a_rate_opens_with_arrivals_and_closes_after_a_timeout() {
        let mut own = OwnWindow {
            packets: 10.0,
            ..OwnWindow::default()
        };
        let mut seen = sample(1e-3);
        seen.arrived = 4.0;
        own.open(&seen);
        assert_eq!(own.packets, 14.0);
        seen.state = LossState::Recovery;
        own.open(&seen);
        assert_eq!(own.packets, 14.0);
        seen.state = LossState::Timeout;
        seen.arrived = 1e9;
        own.open(&seen);
        assert_eq!(own.packets, 8_388_608.0);
        own.close();
        assert_eq!(own.packets, 1.0);
    }
}
