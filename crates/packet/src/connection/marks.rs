//! Marks of congestion, as a sender without accurate ECN takes them: one reaction per round trip
//! (RFC 3168 section 6.1.2).

use forebay_congestion::packet::{CongestionEvent, LossState};
use forebay_units::Time;

use super::control_block::ControlBlock;

/// The marks that reach one sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    /// Packets that arrived with a mark since the last acknowledgment.
    unanswered: u32,
    /// No reaction until everything below is acknowledged.
    heeded_until: u64,
}

impl Marks {
    /// The marks of packets from `first` on.
    pub(super) fn new(first: u64) -> Self {
        Self {
            unanswered: 0,
            heeded_until: first,
        }
    }

    /// A packet with a mark arrives.
    pub(super) fn on_arrival(&mut self) {
        self.unanswered += 1;
    }

    /// Whether the next acknowledgment tells of any.
    #[inline]
    pub(super) fn are_due(&self) -> bool {
        self.unanswered > 0
    }

    /// An acknowledgment reports the marks to the sender; returns their number.
    #[inline]
    pub(super) fn acknowledge(&mut self) -> u32 {
        std::mem::take(&mut self.unanswered)
    }

    /// The sender reacts to marks, where its controller does not count them itself.
    #[inline(never)]
    pub(super) fn reduce_window(&mut self, control: &mut ControlBlock, now: Time) {
        let sent_packets = control.sent_packets.as_ref();
        if sent_packets.is_some_and(|sent_packets| sent_packets.needs.accurate_ecn) {
            return;
        }
        let sender = &mut control.sender;
        let due = sender.unacknowledged >= self.heeded_until;
        if due && sender.state == LossState::Open {
            sender.congestion(CongestionEvent::Mark, now);
            self.heeded_until = sender.next;
        }
    }
}
