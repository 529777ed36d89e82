//! The bytes in flight when a sender sends, from any place of the path. Each packet echoes the
//! timestamp of the last acknowledgment that its sender had received (RFC 7323 section 4).
//! `WindowRounds` uses it.

use std::collections::VecDeque;

use crate::sequence::unwrapped;

/// Maximum number of stored timestamps with and without spare memory.
const MOST: usize = 1024;
const FEW: usize = 8;
/// Largest valid distance of an echo from the latest timestamp.
const FARTHEST: u64 = 1 << 30;

/// The highest acknowledgment number of each timestamp of the other end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flight {
    /// Timestamp and number, both extended to 64 bits and rising.
    acknowledged: VecDeque<(u64, u64)>,
}

impl Flight {
    /// Processes an acknowledgment with this timestamp. `number` is the highest acknowledged
    /// number.
    pub(crate) fn acknowledge(&mut self, timestamp: u32, number: u64, generous: bool) {
        let Some((latest, known)) = self.acknowledged.back_mut() else {
            let first = (1 << 32) + u64::from(timestamp);
            self.acknowledged.push_back((first, number));
            return;
        };
        let timestamp = unwrapped(*latest, timestamp);
        if timestamp.abs_diff(*latest) > FARTHEST {
            self.acknowledged.clear();
        } else if timestamp == *latest {
            *known = (*known).max(number);
        } else if timestamp > *latest {
            if self.acknowledged.len() >= if generous { MOST } else { FEW } {
                self.acknowledged.pop_front();
            }
            self.acknowledged.push_back((timestamp, number));
        }
    }

    /// Bytes before `end` that were not acknowledged to the sender of this echo; `None` if no
    /// acknowledgment with it was seen.
    pub(crate) fn of(&mut self, echo: u32, end: u64) -> Option<u64> {
        let (latest, _) = *self.acknowledged.back()?;
        let echo = unwrapped(latest, echo);
        while self
            .acknowledged
            .front()
            .is_some_and(|&(timestamp, _)| timestamp < echo)
        {
            self.acknowledged.pop_front();
        }
        let &(timestamp, number) = self.acknowledged.front()?;
        (timestamp == echo).then(|| end.saturating_sub(number))
    }

    pub(crate) fn len(&self) -> usize {
        self.acknowledged.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// A sender with a fixed window, whose ACKs pass here at one time and reach it later.
        #[test]
        fn a_window_is_seen_whatever_lies_between(start in any::<u32>(), window in 1u64..500, later in 1usize..40, tick in 1u64..4) {
            let mut flight = Flight::default();
            let stamp = |ack: u64| start.wrapping_add((ack / tick) as u32);
            for ack in 0..2000u64 {
                flight.acknowledge(stamp(ack), ack, true);
                let Some(arrived) = ack.checked_sub(later as u64) else { continue };
                let seen = flight.of(stamp(arrived), arrived + window);
                let least = window.saturating_sub(tick - 1);
                prop_assert!(seen.is_some_and(|seen| (least..=window).contains(&seen)), "{seen:?}");
            }
            prop_assert!(flight.len() as u64 <= later as u64 / tick + 2);
        }

        #[test]
        fn memory_is_bounded_and_nothing_panics(steps in prop::collection::vec((any::<u32>(), any::<u64>(), any::<bool>(), any::<bool>()), 0..200)) {
            let mut flight = Flight::default();
            for (timestamp, number, data, generous) in steps {
                if data {
                    flight.of(timestamp, number);
                } else {
                    flight.acknowledge(timestamp, number, generous);
                }
                prop_assert!(flight.len() <= MOST);
            }
        }
    }

    #[test]
    fn an_echo_of_what_was_not_seen_says_nothing() {
        let mut flight = Flight::default();
        assert_eq!(flight.of(7, 100), None);
        flight.acknowledge(7, 40, true);
        assert_eq!(flight.of(6, 100), None);
        assert_eq!(flight.of(7, 100), Some(60));
        flight.acknowledge(9, 50, true);
        assert_eq!(flight.of(8, 100), None);
        assert_eq!(flight.of(9, 100), Some(50));
        // A number that was passed is removed.
        assert_eq!(flight.of(7, 100), None);
    }
}
