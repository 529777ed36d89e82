//! The two ends of an emulated path and their addresses. Namespaces and hosts use them.

use std::fmt;
use std::net::Ipv4Addr;

/// Addresses of a side in a block of 256, without the first and the last one.
const IN_BLOCK: u16 = 254;
/// Number of blocks of each side in 198.18.0.0/15.
const BLOCKS: u16 = 256;

/// One end of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// Side of the senders: 198.18.0.1.
    Near,
    /// Side of the receivers: 198.18.1.1.
    Far,
}

impl Side {
    /// Both sides, near first.
    pub const BOTH: [Self; 2] = [Self::Near, Self::Far];

    /// Range of the addresses of both sides, reserved for benchmarks of network devices (RFC 2544,
    /// appendix C.2.2).
    pub const RANGE: (Ipv4Addr, u8) = (Ipv4Addr::new(198, 18, 0, 0), 15);

    /// Maximum number of addresses of a side.
    pub const ADDRESSES: u16 = IN_BLOCK * BLOCKS;

    /// The other side.
    pub fn other(self) -> Self {
        match self {
            Self::Near => Self::Far,
            Self::Far => Self::Near,
        }
    }

    /// The `index`-th address of the side, from 0; `None` from [`Side::ADDRESSES`] on. Near
    /// addresses have an even third byte and far ones an odd one. 198.18.0.x and 198.18.1.x come
    /// first, then 198.18.2.x and 198.18.3.x.
    pub fn address(self, index: u16) -> Option<Ipv4Addr> {
        (index < Self::ADDRESSES).then(|| {
            let host = self.block(index / IN_BLOCK).to_bits() + 1 + u32::from(index % IN_BLOCK);
            Ipv4Addr::from_bits(host)
        })
    }

    /// The /24 blocks of the side's first `addresses` addresses.
    #[cfg(target_os = "linux")]
    pub(crate) fn blocks(self, addresses: u16) -> impl Iterator<Item = Ipv4Addr> {
        (0..addresses.div_ceil(IN_BLOCK)).map(move |block| self.block(block))
    }

    fn block(self, number: u16) -> Ipv4Addr {
        let odd = u32::from(self == Self::Far);
        Ipv4Addr::from_bits(Self::RANGE.0.to_bits() + ((2 * u32::from(number) + odd) << 8))
    }
}

impl fmt::Display for Side {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Near => "near",
            Self::Far => "far",
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn addresses_are_distinct_and_within_the_range_and_a_block_of_their_side() {
        let mut seen = HashSet::new();
        for side in Side::BOTH {
            #[cfg(target_os = "linux")]
            let blocks: Vec<_> = side.blocks(Side::ADDRESSES).collect();
            for index in 0..Side::ADDRESSES {
                let address = side.address(index).expect("an address");
                assert!(seen.insert(address), "{address} twice");
                let range = Side::RANGE.0.to_bits() >> (32 - Side::RANGE.1);
                assert_eq!(address.to_bits() >> (32 - Side::RANGE.1), range);
                assert!(!matches!(address.octets()[3], 0 | 255), "{address}");
                #[cfg(target_os = "linux")]
                assert_eq!(
                    blocks[usize::from(index / IN_BLOCK)].octets()[..3],
                    address.octets()[..3]
                );
            }
            assert_eq!(side.address(Side::ADDRESSES), None);
        }
        assert_eq!(Side::Near.address(0), Some(Ipv4Addr::new(198, 18, 0, 1)));
        assert_eq!(Side::Far.address(0), Some(Ipv4Addr::new(198, 18, 1, 1)));
        assert_eq!(Side::Near.address(254), Some(Ipv4Addr::new(198, 18, 2, 1)));
    }
}
