//! Round trips between a packet and its answer, in bounded memory. If too many packets wait, every
//! second one is dropped, repeatedly. Each direction of a connection uses this.

use std::collections::VecDeque;

use crate::sequence::unwrapped;
use forebay_units::LogHistogram;

/// Maximum number of waiting packets with and without spare memory.
const MOST: usize = 256;
const FEW: usize = 8;

/// Packets that wait for an answer, by an increasing number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outstanding {
    waiting: VecDeque<Waiting>,
    /// Binary logarithm of the ratio of all packets to stored ones.
    thinned: u32,
    passed: u64,
}

/// A packet that waits for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) number: u64,
    pub(crate) time: u64,
    /// Whether the packet carried payload.
    pub(crate) payload: bool,
}

impl Outstanding {
    /// Adds a packet that will be answered.
    pub(crate) fn push(&mut self, waiting: Waiting, generous: bool) {
        self.passed = self.passed.wrapping_add(1);
        if self.passed & ((1 << self.thinned) - 1) != 0 {
            return;
        }
        let most = if generous { MOST } else { FEW };
        if self.waiting.len() >= most {
            let mut odd = false;
            self.waiting.retain(|_| {
                odd = !odd;
                odd
            });
            self.thinned = (self.thinned + 1).min(32);
        }
        self.waiting.push_back(waiting);
    }

    /// Takes the answer to all packets up to a number. Returns the last of them, which waited
    /// least, or `None` if that one may have been dropped.
    pub(crate) fn answer(&mut self, number: u64) -> Option<Waiting> {
        let complete = self.thinned == 0;
        let last = self.take_up_to(number);
        last.filter(|it| complete || it.number == number)
    }

    /// Takes the answer to exactly this 32-bit number: the first one counts.
    pub(crate) fn echo(&mut self, number: u32) -> Option<Waiting> {
        let newest = self.waiting.back()?.number;
        let number = unwrapped(newest, number);
        if number > newest {
            return None;
        }
        let last = self.take_up_to(number);
        last.filter(|it| it.number == number)
    }

    /// Removes all packets up to a number. Returns the last of them.
    fn take_up_to(&mut self, number: u64) -> Option<Waiting> {
        let mut last = None;
        while let Some(&first) = self.waiting.front()
            && first.number <= number
        {
            last = self.waiting.pop_front();
        }
        if last.is_some() && self.waiting.is_empty() {
            self.thinned = self.thinned.saturating_sub(1);
        }
        last
    }

    /// Removes all waiting packets, because their answers are ambiguous.
    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }
}

/// The clock in the timestamps of one end of a connection (RFC 7323 section 3).
#[derive(Clone, Debug, Default)]
pub(crate) struct Ticks {
    outstanding: Outstanding,
    first: Option<(u64, u64)>,
    latest: Option<(u64, u64)>,
}

/// Smallest time in nanoseconds and number of ticks from which the tick is computed.
const SEEN: (u64, u64) = (100_000_000, 10);
/// Largest valid distance between two timestamps, in ticks.
const FARTHEST: u64 = 1 << 30;

impl Ticks {
    /// Processes a packet with a timestamp. Only the first packet with it waits for the echo.
    pub(crate) fn see(&mut self, time: u64, value: u32, payload: bool, generous: bool) {
        let Some((_, latest)) = self.latest else {
            let number = (1 << 32) + u64::from(value);
            self.first = Some((time, number));
            // Packets with this value may have passed before the capture began, and its echo
            // answers the first of them.
            self.latest = self.first;
            return;
        };
        let number = unwrapped(latest, value);
        if number.abs_diff(latest) > FARTHEST {
            *self = Self::default();
            return self.see(time, value, payload, generous);
        }
        if number > latest {
            self.note(time, number, payload, generous);
        }
    }

    fn note(&mut self, time: u64, number: u64, payload: bool, generous: bool) {
        self.latest = Some((time, number));
        let waiting = Waiting {
            number,
            time,
            payload,
        };
        self.outstanding.push(waiting, generous);
    }

    /// Takes the first echo of this timestamp. Returns the packet that waited.
    pub(crate) fn echo(&mut self, value: u32) -> Option<Waiting> {
        self.outstanding.echo(value)
    }

    /// Length of a tick in nanoseconds; `None` if too little was seen.
    pub(crate) fn tick(&self) -> Option<f64> {
        let ((begin, first), (end, last)) = self.first.zip(self.latest)?;
        let (time, ticks) = (end.saturating_sub(begin), last.saturating_sub(first));
        (time >= SEEN.0 && ticks >= SEEN.1).then(|| time as f64 / ticks as f64)
    }

    pub(crate) fn len(&self) -> usize {
        self.outstanding.len()
    }
}

/// The smallest of some times, and their number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Least {
    count: u32,
    least: u64,
}

impl Least {
    /// Adds a time in nanoseconds.
    pub(crate) fn add(&mut self, time: u64) {
        self.least = if self.count == 0 {
            time
        } else {
            self.least.min(time)
        };
        self.count = self.count.saturating_add(1);
    }

    /// The number of times.
    pub fn count(self) -> u32 {
        self.count
    }

    /// The smallest time in nanoseconds; `None` if there is none.
    pub fn least(self) -> Option<u64> {
        (self.count > 0).then_some(self.least)
    }
}

/// Times of one kind with their smoothed value and their distribution.
#[derive(Clone, Debug, Default)]
pub(crate) struct Times {
    smoothed: f64,
    histogram: LogHistogram<4>,
}

impl Times {
    pub(crate) fn add(&mut self, time: u64) {
        // RFC 6298 section 2.
        let gain = if self.histogram.is_empty() {
            1.0
        } else {
            0.125
        };
        self.smoothed += gain * (time as f64 - self.smoothed);
        self.histogram.add(time);
    }

    /// Smoothed time as in RFC 6298, in nanoseconds; 0 if there is none.
    pub(crate) fn smoothed(&self) -> f64 {
        self.smoothed
    }

    /// The 5th, 50th and 95th percentile in nanoseconds.
    pub(crate) fn quantiles(&self) -> [Option<f64>; 3] {
        [0.05, 0.5, 0.95].map(|share| self.histogram.quantile(share))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn waiting(number: u64) -> Waiting {
        Waiting {
            number,
            time: number * 10,
            payload: true,
        }
    }

    proptest! {
        #[test]
        fn an_answer_is_to_what_was_sent_last(sent in 1u64..2000, answered in 0u64..2000, generous in any::<bool>()) {
            let mut outstanding = Outstanding::default();
            let most = if generous { MOST } else { FEW };
            for number in 1..=sent {
                outstanding.push(waiting(number), generous);
                prop_assert!(outstanding.len() <= most);
            }
            let answered = answered.min(sent);
            if let Some(found) = outstanding.answer(answered) {
                prop_assert_eq!(found, waiting(answered));
            } else {
                prop_assert!(answered == 0 || sent > FEW as u64);
            }
        }

        #[test]
        fn ticks_never_panic_and_stay_few(values in prop::collection::vec((any::<u32>(), any::<u32>()), 0..600), shift in 0u32..32) {
            let mut ticks = Ticks::default();
            for (time, (value, echo)) in (0..).zip(values) {
                ticks.see(time, value >> shift, false, true);
                if let Some(found) = ticks.echo(echo >> shift) {
                    prop_assert_eq!(found.number as u32, echo >> shift);
                }
                prop_assert!(ticks.len() <= MOST);
            }
        }
    }

    #[test]
    fn a_wrapped_timestamp_is_echoed_and_its_clock_is_told() {
        let mut ticks = Ticks::default();
        let start = u32::MAX - 500;
        for tick in 0..1000u32 {
            let time = u64::from(tick) * 4_000_000;
            ticks.see(time, start.wrapping_add(tick), false, true);
            ticks.see(time + 9, start.wrapping_add(tick), false, true);
            let found = ticks.echo(start.wrapping_add(tick));
            assert_eq!(found.map(|it| it.time), (tick > 0).then_some(time));
            assert_eq!(ticks.echo(start.wrapping_add(tick)), None);
        }
        assert_eq!(ticks.tick(), Some(4_000_000.0));
    }

    #[test]
    fn smoothed_begins_with_the_first_and_follows() {
        let mut times = Times::default();
        times.add(80);
        assert_eq!(times.smoothed(), 80.0);
        times.add(160);
        assert_eq!(times.smoothed(), 90.0);
    }
}
