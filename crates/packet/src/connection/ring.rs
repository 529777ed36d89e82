//! Values by packet number for a sliding span.

/// A value for each packet of a span.
#[derive(Clone, Debug, Default)]
pub(super) struct Ring<T> {
    /// A power of two of them, or none yet.
    slots: Vec<T>,
}

impl<T: Copy + Default> Ring<T> {
    /// Makes room for `packet` in a span that begins at `from`.
    pub(super) fn reserve(&mut self, from: u64, packet: u64) {
        let needed = (packet - from + 1) as usize;
        if needed <= self.slots.len() {
            return;
        }
        let mut slots = vec![T::default(); needed.next_power_of_two().max(16)];
        let new = slots.len() as u64 - 1;
        for kept in from..from + self.slots.len() as u64 {
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
        fn keeps_the_values_of_the_span(steps in prop::collection::vec((0u64..40, 0u64..60), 1..100)) {
            let (mut ring, mut from, mut next) = (Ring::default(), 1, 1);
            for (acknowledged, sent) in steps {
                from += acknowledged.min(next - from);
                for packet in next..next + sent {
                    ring.reserve(from, packet);
                    *ring.get_mut(packet) = packet;
                }
                next += sent;
                for packet in from..next {
                    prop_assert_eq!(*ring.get(packet), packet);
                }
            }
        }
    }
}
