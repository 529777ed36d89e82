//! Packets on their way through the links, whose events carry only a number each.

/// Bytes that the packets of one flow and direction may have together: more than any window holds, and what a
/// program that floods a way without a queue is stopped at.
pub(crate) const MOST_BYTES: usize = 64 << 20;

/// The bytes of packets by number; numbers are used again.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    packets: Vec<Option<Box<[u8]>>>,
    free: Vec<u32>,
    bytes: usize,
}

impl Slots {
    /// Keeps a packet: its number, if there is room for it.
    pub(crate) fn keep(&mut self, packet: &[u8]) -> Option<u32> {
        if self.bytes + packet.len() > MOST_BYTES {
            return None;
        }
        self.bytes += packet.len();
        Some(self.put(packet))
    }

    fn put(&mut self, packet: &[u8]) -> u32 {
        let packet = Some(Box::from(packet));
        if let Some(number) = self.free.pop() {
            self.packets[number as usize] = packet;
            return number;
        }
        self.packets.push(packet);
        (self.packets.len() - 1) as u32
    }

    /// The packet of this number, if it is still on its way.
    pub(crate) fn get(&self, number: u32) -> Option<&[u8]> {
        self.packets.get(number as usize)?.as_deref()
    }

    /// Takes it out: it has arrived, or was lost.
    pub(crate) fn take(&mut self, number: u32) -> Option<Box<[u8]>> {
        let packet = self.packets.get_mut(number as usize)?.take()?;
        self.bytes -= packet.len();
        self.free.push(number);
        Some(packet)
    }

    /// How many are on their way.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.packets.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// As a map whose keys are the smallest set that suffices.
        #[test]
        fn what_is_kept_comes_back_once(steps in prop::collection::vec((any::<bool>(), any::<u8>()), 1..300)) {
            let (mut slots, mut known) = (Slots::default(), BTreeMap::new());
            let mut most = 0;
            for (keep, byte) in steps {
                if keep {
                    let number = slots.keep(&[byte]).unwrap();
                    prop_assert_eq!(known.insert(number, byte), None);
                } else if let Some(number) = known.keys().nth(usize::from(byte) % known.len().max(1)).copied() {
                    let byte = known.remove(&number).unwrap();
                    prop_assert_eq!(slots.get(number), Some(&[byte][..]));
                    let taken = slots.take(number);
                    prop_assert_eq!(taken.as_deref(), Some(&[byte][..]));
                    prop_assert_eq!(slots.take(number), None);
                }
                most = most.max(known.len());
                prop_assert_eq!(slots.count(), known.len());
                prop_assert!(known.keys().all(|&number| (number as usize) < most));
            }
        }
    }

    #[test]
    fn no_more_is_kept_than_there_is_room_for() {
        let (mut slots, packet) = (Slots::default(), vec![7; 65_536]);
        let kept: Vec<u32> = std::iter::from_fn(|| slots.keep(&packet)).collect();
        assert_eq!(kept.len() * packet.len(), MOST_BYTES);
        assert_eq!(slots.keep(&[1]), None);
        slots.take(kept[3]).unwrap();
        assert_eq!(slots.keep(&packet), Some(kept[3]));
        assert_eq!(slots.keep(&[1]), None);
    }
}
