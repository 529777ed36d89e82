//! Random draws of flows and transfers.

use forebay_random::{Purpose, Seed, Stream};
use forebay_scenario::FlowGroup;

/// Draws of one flow or transfer, from streams of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draws {
    pub(crate) seed: Seed,
    /// Hash of the group's name: adding a group leaves the others' draws alone.
    pub(crate) group_key: u64,
}

impl Draws {
    pub(crate) fn new(seed: Seed, group: &FlowGroup) -> Self {
        // FNV-1a, 64 bits.
        let group_key = group
            .name
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
        Self { seed, group_key }
    }

    /// The stream for `purpose` of the flow with this number in its group.
    pub(crate) fn stream(&self, index: u64, purpose: Purpose) -> Stream {
        Stream::new(self.seed, self.group_key.wrapping_add(index), purpose)
    }

    /// The stream for one transfer of a user.
    pub(crate) fn transfer(&self, index: u64, transfer: u64, purpose: Purpose) -> Stream {
        let key = self
            .group_key
            .wrapping_add(index)
            .wrapping_add(transfer.wrapping_mul(1 << 40));
        Stream::new(self.seed, key, purpose)
    }
}
