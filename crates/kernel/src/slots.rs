//! Storage of packets in flight through the links, because events carry only packet numbers.

/// Maximum bytes in flight of one flow and direction. It exceeds any window, and stops programs
/// that flood a path without a queue.
pub(crate) const MOST_BYTES: usize = 64 << 20;

/// Packets by number. Numbers are reused.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    packets: Vec<Option<Box<[u8]>>>,
    free: Vec<u32>,
    bytes: usize,
}

impl Slots {
    /// Stores a packet. Returns its number, or `None` if there is no room.
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

    /// The packet of this number, if it is still in flight.
    pub(crate) fn get(&self, number: u32) -> Option<&[u8]> {
        self.packets.get(number as usize)?.as_deref()
    }

    /// Removes a packet that has arrived or was lost.
    pub(crate) fn take(&mut self, number: u32) -> Option<Box<[u8]>> {
        let packet = self.packets.get_mut(number as usize)?.take()?;
        self.bytes -= packet.len();
        self.free.push(number);
        Some(packet)
    }

    /// Number of packets in flight.
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
        /// Comparison with a map whose keys are the smallest sufficient set.
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
