//! A sliding bitmap over packet numbers: which packets above the cumulative acknowledgment have
//! arrived. Memory is one bit per packet of the span in use.

/// Bits for packet numbers in a sliding span.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bitmap {
    /// A ring of words, a power of two of them (or none yet).
    words: Vec<u64>,
    /// Every bit from here on is clear; beyond the span in use the ring repeats itself.
    end: u64,
}

impl Bitmap {
    /// Makes room for packet numbers in `from..=to`, and retains the bits of `from..`.
    fn reserve(&mut self, from: u64, to: u64) {
        let needed = ((to / 64) - (from / 64) + 2) as usize;
        if needed <= self.words.len() {
            return;
        }
        let mut words = vec![0; needed.next_power_of_two().max(4)];
        if !self.words.is_empty() {
            let (old, new) = (self.words.len() as u64 - 1, words.len() as u64 - 1);
            for word in (from / 64)..(from / 64 + self.words.len() as u64) {
                words[(word & new) as usize] = self.words[(word & old) as usize];
            }
        }
        self.words = words;
    }

    /// Sets the bit of `packet` in a span that begins at `from`; says whether it was clear.
    pub(crate) fn set(&mut self, packet: u64, from: u64) -> bool {
        self.reserve(from, packet);
        self.end = self.end.max(packet + 1);
        let slot = (packet / 64) as usize & (self.words.len() - 1);
        let word = &mut self.words[slot];
        let bit = 1 << (packet % 64);
        let clear = *word & bit == 0;
        *word |= bit;
        clear
    }

    /// Whether the bit of `packet` is set, for a packet of the span or beyond it.
    pub(crate) fn get(&self, packet: u64) -> bool {
        packet < self.end
            && self.words[(packet / 64) as usize & (self.words.len() - 1)] >> (packet % 64) & 1 == 1
    }

    /// Clears the run of set bits from `packet` on and returns the first packet without one.
    pub(crate) fn take_run(&mut self, mut packet: u64) -> u64 {
        if self.words.is_empty() {
            return packet;
        }
        let mask = self.words.len() - 1;
        loop {
            let word = &mut self.words[(packet / 64) as usize & mask];
            let shifted = *word >> (packet % 64);
            let run = u64::from((!shifted).trailing_zeros()).min(64 - packet % 64);
            if run == 0 {
                return packet;
            }
            let bits = if run == 64 {
                u64::MAX
            } else {
                ((1 << run) - 1) << (packet % 64)
            };
            *word &= !bits;
            packet += run;
            if !packet.is_multiple_of(64) {
                return packet;
            }
        }
    }

    /// The first packet of `from..to` whose bit is clear.
    pub(crate) fn next_clear(&self, from: u64, to: u64) -> Option<u64> {
        if from >= self.end {
            return (from < to).then_some(from);
        }
        let mask = self.words.len() - 1;
        let mut packet = from;
        while packet < to.min(self.end) {
            let clear = !self.words[(packet / 64) as usize & mask] >> (packet % 64);
            if clear != 0 {
                let found = packet + u64::from(clear.trailing_zeros());
                return (found < to).then_some(found);
            }
            packet = (packet / 64 + 1) * 64;
        }
        let beyond = from.max(self.end);
        (beyond < to).then_some(beyond)
    }

    /// Number of packets of `from..to` whose bit is clear.
    pub(crate) fn count_clear(&self, from: u64, to: u64) -> u64 {
        if from >= to {
            return 0;
        }
        let length = to - from;
        if length == 1 {
            return u64::from(!self.get(from));
        }
        let to = to.min(self.end);
        if from >= to {
            return length;
        }
        let mask = self.words.len() - 1;
        let mut set = 0;
        let (first, last) = (from / 64, (to - 1) / 64);
        for word in first..=last {
            let mut bits = self.words[word as usize & mask];
            if word == first {
                bits &= u64::MAX << (from % 64);
            }
            if word == last {
                bits &= u64::MAX >> (63 - (to - 1) % 64);
            }
            set += u64::from(bits.count_ones());
        }
        length - set
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// The bitmap agrees with a set of numbers, whatever slides through it.
        #[test]
        fn agrees_with_a_set(
            start in prop::sample::select(vec![0u64, 63, 64, 1000, (1 << 32) - 70]),
            offsets in prop::collection::vec(1u64..500, 1..200),
        ) {
            let (mut bitmap, mut set, mut from) = (Bitmap::default(), BTreeSet::new(), start);
            for (step, offset) in offsets.into_iter().enumerate() {
                let packet = from + offset;
                prop_assert_eq!(bitmap.set(packet, from), set.insert(packet));
                prop_assert!(bitmap.get(packet));
                let to = from + 6000;
                for to in [packet + 1, to] {
                    let clear: Vec<u64> = (from..to).filter(|p| !set.contains(p)).collect();
                    prop_assert_eq!(bitmap.next_clear(from, to), clear.first().copied());
                    prop_assert_eq!(bitmap.count_clear(from, to), clear.len() as u64);
                    prop_assert_eq!(bitmap.get(to - 1), set.contains(&(to - 1)));
                }
                if step % 3 == 0 {
                    // The cumulative acknowledgment moves over the first hole.
                    let mut next = from + 1;
                    while set.remove(&next) {
                        next += 1;
                    }
                    prop_assert_eq!(bitmap.take_run(from + 1), next);
                    from = next;
                }
            }
        }
    }
}
