//! The place of an arriving packet in a memory that links share: `link::memory` finds it, and
//! lossless queues decide with it whether they pause the sender.

use crate::ids::LinkId;

/// The place that an arriving packet finds in a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Whether the packet may wait there.
    pub(crate) fits: bool,
    /// Shared bytes that no queue uses.
    pub(crate) free: u64,
    /// Bytes of the headroom that lossless queues do not use, if the memory has headroom.
    pub(crate) headroom: Option<u64>,
    /// The longest queue, whose last packet would make room.
    pub(crate) longest: Option<LinkId>,
}
