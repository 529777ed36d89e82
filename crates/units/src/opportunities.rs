//! Delivery opportunities as Mahimahi plays them: instants at which a link may send one packet of
//! [`Opportunities::BYTES`]. Links with a delivery trace use them.

use std::fmt;
use std::str::FromStr;

use crate::{Bytes, Rate, RateSteps, Time};

/// The largest number of opportunities in a period.
const MOST: usize = 4_000_000;

/// The error in a list of opportunities. Opportunities are counted from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpportunitiesError {
    /// The list is empty.
    Empty,
    /// This one is not a whole number of milliseconds.
    NoTime(usize),
    /// This one is earlier than its predecessor.
    Unsorted(usize),
    /// All are at time zero, so they would repeat without end.
    AllAtZero,
    /// The list is longer than allowed.
    TooMany,
}

/// The instants, in whole milliseconds, at which a link may send. They repeat: a period ends with
/// the last of them (Winstein, Sivaraman, Balakrishnan, NSDI 2013; Netravali et al., USENIX ATC
/// 2015).
///
/// ```
/// use forebay_units::{Opportunities, Time};
///
/// let opportunities: Opportunities = "1 1 4".parse().unwrap();
/// assert_eq!(opportunities.period(), Time::from_millis(4));
/// assert_eq!(opportunities.until(Time::from_millis(8)), 6);
/// assert_eq!(opportunities.time(3), Time::from_millis(5));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Opportunities {
    /// The instants of a period in milliseconds: never empty, sorted, the last one above zero.
    millis: Vec<u32>,
    /// The largest number of opportunities at one instant.
    at_once: usize,
}

impl Opportunities {
    /// Bytes of an opportunity: an Ethernet payload and the four bytes that precede each packet of
    /// a tunnel. Mahimahi counts these, too (`PACKET_SIZE` in its `link_queue.cc`).
    pub const BYTES: u32 = 1504;
    /// The four bytes that precede each packet of a tunnel.
    pub const HEADER: u32 = 4;
    /// Window over which opportunities are averaged to a rate. A radio link has some opportunities
    /// within such a time.
    pub const WINDOW: Time = Time::from_millis(100);

    /// Opportunities at these milliseconds.
    ///
    /// # Errors
    /// A list that cannot be played: see [`OpportunitiesError`].
    pub fn new(millis: Vec<u32>) -> Result<Self, OpportunitiesError> {
        if millis.len() > MOST {
            return Err(OpportunitiesError::TooMany);
        }
        if let Some(at) = millis.windows(2).position(|pair| pair[0] > pair[1]) {
            return Err(OpportunitiesError::Unsorted(at + 1));
        }
        match millis.last() {
            None => Err(OpportunitiesError::Empty),
            Some(0) => Err(OpportunitiesError::AllAtZero),
            Some(_) => Ok(Self {
                at_once: most_at_once(&millis),
                millis,
            }),
        }
    }

    /// The number of opportunities in a period.
    pub fn count(&self) -> usize {
        self.millis.len()
    }

    /// The time after which the opportunities repeat.
    pub fn period(&self) -> Time {
        Time::from_millis(u64::from(self.millis[self.millis.len() - 1]))
    }

    /// The number of opportunities up to and including `at`.
    pub fn until(&self, at: Time) -> u64 {
        let (at, period) = (at.as_picos(), self.period().as_picos());
        let within = at % period;
        let first = self
            .millis
            .partition_point(|&millis| Time::from_millis(u64::from(millis)).as_picos() <= within);
        (at / period) * self.count() as u64 + first as u64
    }

    /// The time of opportunity `number`, counted from zero.
    pub fn time(&self, number: u64) -> Time {
        let count = self.count() as u64;
        let within = self.millis[(number % count) as usize];
        let begun = self.period().saturating_mul(number / count);
        begun.saturating_add(Time::from_millis(u64::from(within)))
    }

    /// Mean rate of a period, in bits per second.
    pub fn mean(&self) -> f64 {
        let bits = f64::from(Self::BYTES) * 8.0 * self.count() as f64;
        bits / self.period().as_secs_f64()
    }

    /// A rate that is never exceeded over a millisecond or longer: that of the largest number of
    /// opportunities at one instant.
    pub fn highest(&self) -> Rate {
        Rate::from_bits_per_second(self.at_once().get() * 8 * 1000)
    }

    /// The most bytes that may leave at an instant.
    pub fn at_once(&self) -> Bytes {
        Bytes::new(self.at_once as u64 * u64::from(Self::BYTES))
    }

    /// Mean rate between two times, in bits per second; zero if they are equal.
    pub fn between(&self, from: Time, to: Time) -> f64 {
        let count = self.until(to).saturating_sub(self.until(from)) as f64;
        let seconds = to.saturating_sub(from).as_secs_f64();
        let bits = count * f64::from(Self::BYTES) * 8.0;
        if seconds > 0.0 { bits / seconds } else { 0.0 }
    }

    /// The same mean rate in steps of `window`; the last step of a period may be shorter. `None` if
    /// every step is less than half a bit per second.
    pub fn smoothed(&self, window: Time) -> Option<RateSteps> {
        let (period, window) = (self.period(), window.max(Time::from_millis(1)));
        let mut steps = Vec::new();
        let (mut begin, mut before) = (Time::ZERO, 0);
        while begin < period {
            let end = (begin + window).min(period);
            // An opportunity at the end of a step belongs to that step. Opportunities at zero
            // belong to the first step.
            let until = if end == period {
                self.count()
            } else {
                self.until(end) as usize
            };
            let bits = (until - before) as f64 * f64::from(Self::BYTES) * 8.0;
            let rate = bits / (end - begin).as_secs_f64();
            steps.push((begin, Rate::from_bits_per_second(rate.round() as u64)));
            (begin, before) = (end, until);
        }
        RateSteps::new(&steps, Some(period)).ok()
    }
}

/// The largest number of equal instants in a sorted list.
fn most_at_once(millis: &[u32]) -> usize {
    let groups = || millis.chunk_by(|one, other| one == other).map(<[u32]>::len);
    // The last ones of a period coincide with those of the next period that are at zero.
    let first = millis.partition_point(|&millis| millis == 0);
    let ends = groups().next_back().unwrap_or_default() + first;
    groups().max().unwrap_or_default().max(ends)
}

impl FromStr for Opportunities {
    type Err = OpportunitiesError;

    /// Parses milliseconds that are separated by white space.
    fn from_str(text: &str) -> Result<Self, OpportunitiesError> {
        let mut millis = Vec::new();
        for (number, word) in text.split_ascii_whitespace().enumerate() {
            if number >= MOST {
                return Err(OpportunitiesError::TooMany);
            }
            let digits = word.bytes().all(|byte| byte.is_ascii_digit());
            let value = word.parse().ok().filter(|_| digits);
            millis.push(value.ok_or(OpportunitiesError::NoTime(number))?);
        }
        Self::new(millis)
    }
}

impl fmt::Display for Opportunities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, millis) in self.millis.iter().enumerate() {
            let gap = if number == 0 { "" } else { " " };
            write!(f, "{gap}{millis}")?;
        }
        Ok(())
    }
}

/// Prints the count and the period, because the list may be long.
impl fmt::Debug for Opportunities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, period) = (self.count(), self.period());
        write!(f, "Opportunities({count} in {period})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The shortest time before an instant: one tick.
    const BEFORE: Time = Time::from_picos(1);

    fn at(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    #[test]
    fn a_list_repeats_from_its_last_one_on() {
        let list: Opportunities = "0 1\n1 5".parse().unwrap();
        assert_eq!(list.to_string(), "0 1 1 5");
        let found: Vec<_> = (0..9).map(|number| list.time(number)).collect();
        let millis = [0, 1, 1, 5, 5, 6, 6, 10, 10];
        assert_eq!(found, millis.map(at));
        assert_eq!(list.mean(), 4.0 * 1504.0 * 8.0 / 0.005);
    }

    #[test]
    fn what_cannot_be_played_is_refused() {
        use OpportunitiesError::{AllAtZero, Empty, NoTime, Unsorted};
        for (text, error) in [
            ("", Empty),
            (" \n ", Empty),
            ("0 0 0", AllAtZero),
            ("1 2 -3", NoTime(2)),
            ("1.5", NoTime(0)),
            ("+1", NoTime(0)),
            ("1 99999999999", NoTime(1)),
            ("1 3 2", Unsorted(2)),
        ] {
            assert_eq!(text.parse::<Opportunities>(), Err(error), "{text:?}");
        }
    }

    proptest! {
        /// The counts agree with an enumeration of a few periods.
        #[test]
        fn counts_are_those_of_the_instants(
            mut millis in prop::collection::vec(0u32..40, 1..30),
            probe in 0u64..200_000,
        ) {
            millis.push(40);
            millis.sort_unstable();
            let list = Opportunities::new(millis.clone()).unwrap();
            let probe = Time::from_micros(probe);
            let all = (0..8u64).flat_map(|period| {
                millis.iter().map(move |&each| at(40 * period + u64::from(each)))
            });
            let by_hand = all.filter(|&time| time <= probe).count() as u64;
            prop_assert_eq!(list.until(probe), by_hand);
            prop_assert!(list.time(list.until(probe)) > probe);
            let bits = list.between(probe, probe + at(1)) * 0.001;
            let carried = (list.until(probe + at(1)) - by_hand) as f64 * 1504.0 * 8.0;
            prop_assert!((bits - carried).abs() < 1e-6, "{bits} {carried}");
            prop_assert!(bits <= list.highest().as_bits_per_second() as f64 * 0.001 + 1e-6);
            let first = millis.partition_point(|&millis| millis == 0);
            let at_once = |instant: u64| list.until(at(instant)) - list.until(at(instant) - BEFORE);
            let most = (1..=80).map(at_once).max().unwrap().max(first as u64);
            prop_assert_eq!(list.at_once(), Bytes::new(1504 * most));
            let smooth = list.smoothed(at(7)).unwrap();
            let sent = smooth.work(at(80)).bits();
            let carried = 2.0 * list.count() as f64 * 1504.0 * 8.0;
            prop_assert!((sent - carried).abs() < 1.0, "{sent} {carried}");
        }
    }
}
