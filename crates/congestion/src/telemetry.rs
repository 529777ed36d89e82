//! In-band telemetry (INT): the load of the links of a path, which each link states in a packet
//! when the packet leaves its queue. The acknowledgment carries the statements to the sender.

use forebay_units::{Rate, Time};

/// The statement of one link (Li et al., SIGCOMM 2019, section 4.1). Bytes include the framing of
/// the link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkTelemetry {
    /// Bytes that wait when the packet's transmission begins, without the packet (`qlen`).
    pub queue: u64,
    /// Bytes that the link has sent before the packet (`txBytes`).
    pub sent: u64,
    /// When the packet's transmission begins (`ts`).
    pub time: Time,
    /// Rate of the link at that time (`B`).
    pub rate: Rate,
}
