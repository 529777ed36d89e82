//! The random streams of flows and transfers, one for each purpose. Traffic draws from them;
//! another group changes no draws of a group.

use forebay_random::{Purpose, Seed, Stream, StreamKey, key_of};
use forebay_scenario::FlowGroup;

/// Draws of one flow or transfer, from streams of its own.
#[derive(Clone, Copy, Debug)]
pub struct Sampling {
    pub(crate) seed: Seed,
    /// The group's [`key_of`]: adding a group leaves the others' draws alone.
    pub(crate) group_key: u64,
}

impl Sampling {
    pub(crate) fn new(seed: Seed, group: &FlowGroup) -> Self {
        let group_key = key_of(&group.name);
        Self { seed, group_key }
    }

    /// The stream for `purpose` of the flow with this number in its group.
    pub fn stream(&self, index: u64, purpose: Purpose) -> Stream {
        self.key(index, purpose).stream()
    }

    /// The same for who may not need it.
    pub fn key(&self, index: u64, purpose: Purpose) -> StreamKey {
        StreamKey::new(self.seed, self.group_key.wrapping_add(index), purpose)
    }

    /// The stream for one transfer of a user.
    pub fn transfer(&self, index: u64, transfer: u64, purpose: Purpose) -> Stream {
        self.transfer_key(index, transfer, purpose).stream()
    }

    /// The same for who may not need it.
    pub fn transfer_key(&self, index: u64, transfer: u64, purpose: Purpose) -> StreamKey {
        let flow = self
            .group_key
            .wrapping_add(index)
            .wrapping_add(transfer.wrapping_mul(1 << 40));
        StreamKey::new(self.seed, flow, purpose)
    }
}
