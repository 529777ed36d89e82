//! Numbers of flows, links, hops, lanes and groups: types of their own, so that none is taken for
//! another, and the one place that knows how they are spelled in events and packets.

/// A type for the number of one of many, counted from zero.
macro_rules! number {
    ($(#[$what:meta])* $name:ident) => {
        $(#[$what])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl $name {
            /// The number of the item at `index`.
            #[inline]
            pub const fn new(index: usize) -> Self {
                Self(index as u32)
            }

            /// The index of the item.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

number! {
    /// A responsive flow: one with a sender that answers to congestion.
    ResponsiveId
}
number! {
    /// A flow without congestion control, or the acknowledgments of one that has it.
    UnresponsiveId
}
number! {
    /// A group of flows, in the order of the scenario.
    GroupId
}
number! {
    /// A link, in the order of the scenario.
    LinkId
}
number! {
    /// A lane of the calendar: what goes into it comes out in the same order.
    LaneId
}
number! {
    /// A generator of arrivals: a source of unresponsive packets, or the transfers of an open loop.
    SourceId
}
/// The hops of a path among the hops of all paths: the index of the first one. Packets that are
/// sprayed have several paths of four hops, one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Route(u32);

/// The position of a packet on its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HopNumber(u8);

impl HopNumber {
    /// The first hop of every path.
    pub const FIRST: Self = Self(0);

    /// This hop of a path, counted from zero.
    #[inline]
    pub const fn new(index: usize) -> Self {
        Self(index as u8)
    }

    /// The position on the path.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl Route {
    /// Bits of an index. The bits above are zero, or for sprayed packets one and the number of
    /// paths less one.
    const INDEX_BITS: u32 = 24;

    /// The most hops of all paths together, if there are sprayed packets.
    pub(crate) const MOST_HOPS: usize = 1 << Self::INDEX_BITS;

    /// Hops of a path of sprayed packets.
    const SPRAYED_HOPS: usize = 4;

    /// The path whose first hop has this index.
    #[inline]
    pub const fn new(index: usize) -> Self {
        Self(index as u32)
    }

    /// This many paths of four hops, of which the first one begins at this index. There are at most
    /// 128 of them.
    pub(crate) const fn sprayed(index: usize, paths: usize) -> Self {
        Self(1 << 31 | (paths as u32 - 1) << Self::INDEX_BITS | index as u32)
    }

    /// The index of hop number `hop` of packet `number` among the hops of all paths.
    #[inline]
    pub const fn hop(self, hop: HopNumber, number: u32) -> usize {
        if self.0 >> 31 == 0 {
            self.0 as usize + hop.index()
        } else {
            self.sprayed_hop(hop, number)
        }
    }

    /// The same of sprayed packets. The number of a packet chooses its path, so that it needs no
    /// place in the packet. Each flow has an order of its own.
    const fn sprayed_hop(self, hop: HopNumber, number: u32) -> usize {
        let paths = (self.0 << 1 >> (Self::INDEX_BITS + 1)) + 1;
        let first = self.0 & ((1 << Self::INDEX_BITS) - 1);
        // The finalizer of MurmurHash3 (Appleby 2011) mixes the bits.
        let mut mixed = number ^ first.wrapping_mul(0x9e37_79b9);
        mixed = (mixed ^ mixed >> 16).wrapping_mul(0x85eb_ca6b);
        mixed = (mixed ^ mixed >> 13).wrapping_mul(0xc2b2_ae35);
        mixed ^= mixed >> 16;
        let path = (mixed as u64 * paths as u64) >> 32;
        first as usize + path as usize * Self::SPRAYED_HOPS + hop.index()
    }
}

/// Any flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowId {
    /// See [`ResponsiveId`].
    Responsive(ResponsiveId),
    /// See [`UnresponsiveId`].
    Unresponsive(UnresponsiveId),
}

/// A flow as an event stores it, in 24 bits. Responsive flows count up from zero and unresponsive
/// ones down from the largest number, so that either kind may grow, and responsive flows come first
/// among simultaneous events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowNumber(u32);

impl FlowNumber {
    /// The largest one.
    const LAST: u32 = 0x00ff_ffff;

    /// The number in an event that concerns no flow.
    pub const NONE: Self = Self(0);

    /// The number that these 24 bits stand for.
    #[inline]
    pub const fn of_bits(bits: u32) -> Self {
        Self(bits & Self::LAST)
    }

    /// Its 24 bits.
    #[inline]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Whether this many flows of both kinds have different numbers.
    pub const fn suffice_for(responsive: usize, unresponsive: usize) -> bool {
        responsive + unresponsive <= Self::LAST as usize
    }

    /// The responsive flow of an event that concerns only those.
    #[inline]
    pub const fn responsive(self) -> ResponsiveId {
        ResponsiveId(self.0)
    }

    /// The unresponsive flow of an event that concerns only those.
    #[inline]
    pub const fn unresponsive(self) -> UnresponsiveId {
        UnresponsiveId(Self::LAST - self.0)
    }

    /// The flow, if there are `responsive` responsive ones.
    #[inline]
    pub const fn flow(self, responsive: usize) -> FlowId {
        if (self.0 as usize) < responsive {
            FlowId::Responsive(self.responsive())
        } else {
            FlowId::Unresponsive(self.unresponsive())
        }
    }
}

impl ResponsiveId {
    /// Its number among all flows.
    #[inline]
    pub const fn number(self) -> FlowNumber {
        FlowNumber(self.0)
    }
}

impl FlowId {
    /// Its number among all flows.
    #[inline]
    pub const fn number(self) -> FlowNumber {
        match self {
            Self::Responsive(flow) => flow.number(),
            Self::Unresponsive(flow) => FlowNumber(FlowNumber::LAST - flow.0),
        }
    }

    /// The flow's number at a queue discipline: dense from zero whatever flows join later.
    #[inline]
    pub const fn key(self) -> u32 {
        match self {
            Self::Responsive(flow) => flow.0 << 1,
            Self::Unresponsive(flow) => flow.0 << 1 | 1,
        }
    }

    /// The flow that a queue discipline knows by this number.
    #[inline]
    pub const fn of_key(key: u32) -> Self {
        if key & 1 == 0 {
            Self::Responsive(ResponsiveId(key >> 1))
        } else {
            Self::Unresponsive(UnresponsiveId(key >> 1))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sprayed_packets_take_each_path_equally_often_and_others_one_path() {
        let paths = 8;
        let route = Route::sprayed(1000, paths);
        let mut counts = vec![0.0; paths];
        for number in 0..80_000 {
            let first = route.hop(HopNumber::FIRST, number);
            assert_eq!(route.hop(HopNumber::new(3), number), first + 3);
            assert_eq!((first - 1000) % 4, 0);
            counts[(first - 1000) / 4] += 1.0;
        }
        let chi: f64 = counts
            .iter()
            .map(|count| (count - 1e4) * (count - 1e4) / 1e4)
            .sum();
        // 7 degrees of freedom: 24.3 is exceeded once in a thousand times.
        assert!(chi < 24.3, "{chi}: {counts:?}");
        assert_eq!(Route::sprayed(5, 128).hop(HopNumber::FIRST, 7) % 4, 1);
        assert_eq!(Route::new(9).hop(HopNumber::new(2), 5), 11);
    }

    #[test]
    fn a_flow_comes_back_from_its_number_and_its_key() {
        let responsive = 70_001;
        for index in [0, 1, 70_000] {
            let flows = [
                FlowId::Responsive(ResponsiveId::new(index)),
                FlowId::Unresponsive(UnresponsiveId::new(index)),
            ];
            for flow in flows {
                assert_eq!(flow.number().flow(responsive), flow);
                assert_eq!(FlowId::of_key(flow.key()), flow);
            }
            assert_ne!(flows[0].key(), flows[1].key());
            assert!(flows[0].number().bits() < flows[1].number().bits());
        }
    }

    #[test]
    fn the_numbers_of_both_kinds_do_not_meet_as_long_as_they_suffice() {
        let most = FlowNumber::LAST as usize;
        for (responsive, unresponsive) in [(most, 0), (most - 5, 5), (1, most - 1)] {
            assert!(FlowNumber::suffice_for(responsive, unresponsive));
            assert!(!FlowNumber::suffice_for(responsive, unresponsive + 1));
            let last = FlowId::Unresponsive(UnresponsiveId::new(unresponsive.saturating_sub(1)));
            if unresponsive > 0 {
                assert_eq!(last.number().flow(responsive), last);
            }
        }
    }
}
