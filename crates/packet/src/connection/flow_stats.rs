//! The reported values of a connection, and its invariants.

use forebay_congestion::packet::{LossState, Window};
use forebay_units::Time;

use super::Connection;

impl Connection {
    /// Congestion window and slow-start threshold.
    pub(crate) fn window(&self) -> Window {
        self.control.sender.window
    }

    /// Smoothed round-trip time in seconds; zero before the first measurement.
    pub(crate) fn smoothed_rtt(&self) -> f64 {
        self.control.sender.round_trip.path.smoothed_rtt
    }

    /// The sender's state of loss recovery.
    pub(crate) fn state(&self) -> LossState {
        self.control.sender.state
    }

    /// The lowest packet that its sender has no acknowledgment of.
    pub(crate) fn unacknowledged(&self) -> u64 {
        self.control.sender.unacknowledged
    }

    /// Whether everything was delivered and acknowledged.
    pub(crate) fn finished(&self) -> bool {
        let sender = &self.control.sender;
        sender.unacknowledged >= sender.end && !sender.connecting()
    }

    /// Whether a first transfer has begun.
    pub(crate) fn begun(&self) -> bool {
        self.transfer_packets() > 0
    }

    /// Data packets of the current transfer; none where the first has not begun.
    pub(crate) fn transfer_packets(&self) -> u64 {
        self.control.sender.end.saturating_sub(self.transfer)
    }

    /// Packets of the transfer that have not been sent.
    pub(crate) fn backlog(&self) -> u64 {
        let sender = &self.control.sender;
        sender.end.saturating_sub(sender.next)
    }

    /// The first packet since the connection was opened.
    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    /// The next packet in order at its receiver.
    pub(crate) fn rcv_nxt(&self) -> u64 {
        self.control.receiver.rcv_nxt()
    }

    /// Whether that acknowledges selectively.
    pub(crate) fn selects(&self) -> bool {
        self.recovery.is_selective()
    }

    /// Whether packets wait at its network card; a SYN does not.
    pub(crate) fn gathers(&self) -> bool {
        self.control.receiver.gathers() && !self.control.sender.connecting()
    }

    /// When a delayed acknowledgment is due, where one is.
    pub(crate) fn acknowledgment_due(&self) -> Option<Time> {
        self.control.receiver.acknowledgment_due()
    }

    /// Data packets delivered in order, over all transfers.
    pub(crate) fn delivered(&self) -> u64 {
        self.control.receiver.rcv_nxt() - self.control.sender.totals.handshakes
    }

    /// Packets sent again, over all transfers.
    pub(crate) fn retransmissions(&self) -> u64 {
        self.control.sender.totals.retransmissions
    }

    /// Retransmission timeouts, over all transfers.
    pub(crate) fn timeouts(&self) -> u64 {
        self.control.sender.totals.timeouts
    }

    /// The first congestion signal of the transfer, where there was one.
    pub(crate) fn first_cut(&self) -> Option<Time> {
        self.control.sender.first_cut
    }

    /// Whether the invariants hold; checked at the end of every run.
    pub(crate) fn consistent(&self) -> bool {
        self.control.consistent()
    }
}
