//! Values by packet number for a sliding span. Records of packets in flight are stored in it.

/// A ring is far too large where its span could grow by more than this factor, unless it is small.
const SLACK: usize = 4;
const SMALL: usize = 64;

/// A value for each packet of a span.
#[derive(Clone, Debug, Default)]
pub(super) struct Ring<T> {
    /// A power of two of them, or none yet.
    slots: Vec<T>,
}

impl<T: Copy + Default> Ring<T> {
    /// Makes room for `packet` in a span that begins at `from`. If `packet` is the `last` of the
    /// span and the ring has become far too large, most of its memory is given back. The rings of
    /// many flows together are then no larger than the packets in flight of all flows need.
    #[inline]
    pub(super) fn reserve(&mut self, from: u64, packet: u64, last: bool) {
        let (needed, slots) = ((packet - from + 1) as usize, self.slots.len());
        if needed > slots || (last && needed * SLACK < slots && slots > SMALL) {
            self.renew(from, needed);
        }
    }

    #[cold]
    fn renew(&mut self, from: u64, needed: usize) {
        let mut slots = vec![T::default(); needed.next_power_of_two().max(16)];
        let new = slots.len() as u64 - 1;
        for kept in from..from + self.slots.len().min(slots.len()) as u64 {
            slots[(kept & new) as usize] = *self.get(kept);
        }
        self.slots = slots;
    }

    /// The value of a packet of the span.
    #[inline]
    pub(super) fn get(&self, packet: u64) -> &T {
        &self.slots[packet as usize & (self.slots.len() - 1)]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, packet: u64) -> &mut T {
        let mask = self.slots.len() - 1;
        &mut self.slots[packet as usize & mask]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever the span slides to, each of its packets keeps its value.
        #[test]
        fn keeps_the_values_of_the_span(steps in prop::collection::vec((0u64..400, 0u64..400), 1..100)) {
            let (mut ring, mut from, mut next) = (Ring::default(), 1, 1);
            for (acknowledged, sent) in steps {
                from += acknowledged.min(next - from);
                for packet in next..next + sent {
                    ring.reserve(from, packet, true);
                    *ring.get_mut(packet) = packet;
                    let (span, slots) = ((packet - from + 1) as usize, ring.slots.len());
                    prop_assert!(slots <= SMALL.max(SLACK * span), "{slots} {span}");
                }
                next += sent;
                // One that is sent again makes the span no shorter.
                if from < next {
                    ring.reserve(from, from, false);
                }
                for packet in from..next {
                    prop_assert_eq!(*ring.get(packet), packet);
                }
            }
        }
    }
}
