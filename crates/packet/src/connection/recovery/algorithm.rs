//! The interface of a loss-recovery algorithm.

use std::ops::Range;

use forebay_units::Time;

use crate::connection::ack::AckEvent;
use crate::connection::control_block::ControlBlock;
use crate::connection::sender::Transmission;

/// Duplicate acknowledgments, or arrivals beyond a hole, that mean a loss (RFC 5681 section 3.2).
pub(in crate::connection) const DUP_THRESHOLD: u64 = 3;

/// Packets that one acknowledgment counts for after a timeout, when it may cover many that had
/// arrived long before (RFC 3465 section 2.3: L = 1).
pub(in crate::connection) const AFTER_TIMEOUT: u64 = 1;

/// The state after a timeout that F-RTO found not to be spurious.
#[derive(Clone, Copy, Debug)]
pub(in crate::connection) struct Genuine {
    /// Whether the first packet missing has been sent again since.
    pub(in crate::connection) repeated: bool,
    /// Everything below was sent before the timeout.
    pub(in crate::connection) end: u64,
}

impl Genuine {
    /// The packets that are lost, where those below `rcv_nxt` have arrived.
    pub(super) fn missing(&self, rcv_nxt: u64) -> Range<u64> {
        rcv_nxt + u64::from(self.repeated)..self.end
    }
}

/// A way to find out what is lost and to choose what is sent. Each keeps only its own state; what
/// all share is in the [`ControlBlock`].
pub(in crate::connection) trait Algorithm {
    /// An acknowledgment reaches the sender.
    fn on_ack(&mut self, control: &mut ControlBlock, ack: &AckEvent);

    /// The retransmission timer has expired, and all packets in flight are lost.
    fn on_timeout(&mut self, control: &mut ControlBlock, now: Time);

    /// The retransmission timer has expired, and the first packet alone counts as lost: the timeout
    /// may prove spurious (RFC 5682).
    fn on_doubtful_timeout(&mut self, control: &mut ControlBlock, now: Time);

    /// It was not: everything that was sent before it is lost.
    fn on_genuine_timeout(&mut self, control: &mut ControlBlock, genuine: Genuine, now: Time);

    /// Sends the packet again that [`Self::on_doubtful_timeout`] made lost.
    fn repeat_first(&mut self, control: &mut ControlBlock, packet: u64) -> Transmission;

    /// The packet to send now, where the window or the recovery allows one.
    fn next_packet(&mut self, control: &mut ControlBlock, now: Time) -> Option<Transmission>;
}
