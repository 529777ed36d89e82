//! The inputs and outputs of a connection.

use forebay_congestion::Controller;
use forebay_scenario::Stack;
use forebay_units::{Bytes, Time};

use super::nic_coalescing::HostDelay;
use super::sender::Transmission;

/// The data with which a sender starts a transfer.
#[derive(Clone, Debug)]
pub(crate) struct TransferSetup {
    pub(crate) stack: Stack,
    pub(crate) controller: Controller,
    /// Bytes in a full packet besides its headers.
    pub(crate) payload: Bytes,
    /// Data packets to send; none for a flow without end.
    pub(crate) packets: Option<u64>,
    /// How late its hosts are, where they are.
    pub(crate) host_delay: Option<HostDelay>,
}

/// The result of a packet's arrival at the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reception {
    /// An acknowledgment reached the sender: it may send.
    Acknowledged,
    /// The receiver waits before it acknowledges.
    Delayed,
    /// The packet belongs to an earlier transfer.
    Stale,
}

/// The next action of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Send this packet.
    Send(Transmission),
    /// Wait until then: the packet is paced.
    Pause(Time),
    /// Wait for an acknowledgment or a timer.
    Nothing,
}
