//! The measurements at a link: counts and waiting times. Nothing here grows with the length of a
//! run.

use forebay_units::Time;

use crate::histogram::Histogram;
use crate::link::bursts::Bursts;
use crate::link::transmitter::Usage;

/// A set of packets whose waits at a link are counted together: at the target the packets of a flow
/// group, elsewhere all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account(u16);

impl Account {
    /// The only one at links that keep no more.
    pub const ALL: Self = Self(0);

    /// The one with this number.
    pub fn new(number: usize) -> Self {
        Self(number as u16)
    }

    #[inline]
    fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// How long packets have waited.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    /// Each wait in ticks.
    pub histogram: Histogram,
    /// Sum in ticks.
    pub sum: u128,
}

impl Waits {
    /// The longest.
    pub fn longest(&self) -> Time {
        Time::from_picos(self.histogram.largest())
    }

    #[inline]
    fn add(&mut self, wait: Time) {
        self.histogram.add(wait);
        self.sum += u128::from(wait.as_picos());
    }

    fn add_all(&mut self, other: &Self) {
        self.histogram.add_all(&other.histogram);
        self.sum += other.sum;
    }

    fn clear(&mut self) {
        self.histogram.clear();
        self.sum = 0;
    }
}

/// The counts at a link since the warm-up.
#[derive(Clone, Debug)]
pub struct LinkStatistics {
    /// Packets that have arrived.
    pub arrivals: u64,
    /// Arrivals before the warm-up's end.
    pub arrivals_before: u64,
    /// Packets among them that were dropped.
    pub drops: u64,
    /// Packets among them that were marked.
    pub marks: u64,
    /// How drops follow one another.
    pub bursts: Bursts,
    /// Waits of accepted packets, unless they are counted for each account.
    waits: Waits,
    /// The same by account, where they are.
    apart: Vec<Waits>,
    /// Wait still ahead, at the warm-up's end, of the packets that were waiting then.
    pub wait_before: u128,
    /// Usage before the warm-up's end.
    pub used_before: Usage,
    /// The warm-up's end; the waits are those of packets that arrived since.
    pub since: Time,
}

impl LinkStatistics {
    pub(crate) fn new() -> Self {
        Self {
            arrivals: 0,
            arrivals_before: 0,
            drops: 0,
            marks: 0,
            bursts: Bursts::new(),
            waits: Waits::default(),
            apart: Vec::new(),
            wait_before: 0,
            used_before: Usage::default(),
            since: Time::ZERO,
        }
    }

    /// Counts the waits of `accounts` accounts separately. Without this call there is only one.
    pub fn keep_apart(&mut self, accounts: usize) {
        self.apart.resize(accounts, Waits::default());
    }

    /// A packet is taken in that waits so long.
    #[expect(
        clippy::inline_always,
        reason = "a call costs each packet 15 of 320 instructions"
    )]
    #[inline(always)]
    pub fn accepted(&mut self, account: Account, wait: Time) {
        let waits = if self.apart.is_empty() {
            &mut self.waits
        } else {
            &mut self.apart[account.index()]
        };
        waits.add(wait);
    }

    /// The waits of one account.
    pub fn waits_of(&self, account: Account) -> &Waits {
        self.apart.get(account.index()).unwrap_or(&self.waits)
    }

    /// The waits of all packets.
    pub fn waits(&self) -> Waits {
        let mut all = self.waits.clone();
        for waits in &self.apart {
            all.add_all(waits);
        }
        all
    }

    /// Sum of the waits in ticks; with the edges below, the time integral of the packets waiting.
    pub fn wait_sum(&self) -> u128 {
        let apart = self.apart.iter();
        self.waits.sum + apart.map(|waits| waits.sum).sum::<u128>()
    }

    /// The packet that has just arrived is dropped.
    #[inline]
    pub fn dropped(&mut self) {
        self.drops += 1;
        self.bursts.at_arrival(self.arrivals, 1);
    }

    /// A packet is dropped that the queue has not seen.
    pub fn refused(&mut self) {
        self.arrivals += 1;
        self.dropped();
    }

    /// The warm-up ends: counting restarts.
    pub fn restart(&mut self, now: Time, used: Usage) {
        self.bursts.restart();
        self.arrivals_before += std::mem::take(&mut self.arrivals);
        self.drops = 0;
        self.marks = 0;
        self.waits.clear();
        self.apart.iter_mut().for_each(Waits::clear);
        self.wait_before = 0;
        self.used_before = used;
        self.since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::transmitter::Transmitter;
    use forebay_units::Rate;

    /// Events before the warm-up's end do not affect the measurements after it.
    #[test]
    fn a_restart_leaves_nothing_but_the_counts_before() {
        let waits = [5, 1, 3].map(Time::from_millis);
        for accounts in [0, 2] {
            let (mut old, mut new) = (LinkStatistics::new(), LinkStatistics::new());
            old.keep_apart(accounts);
            new.keep_apart(accounts);
            for _ in 0..7 {
                old.arrivals += 1;
                old.accepted(Account::new(1), Time::from_secs(9));
                old.refused();
                old.marks += 1;
                old.wait_before += 3;
            }
            let used = Transmitter::new(Rate::default(), 0).usage(Time::from_secs(1));
            old.restart(Time::from_secs(1), used);
            assert_eq!((old.arrivals_before, old.used_before), (14, used));
            assert_eq!((old.since, old.wait_before), (Time::from_secs(1), 0));
            for statistics in [&mut old, &mut new] {
                for (account, wait) in waits.into_iter().enumerate() {
                    statistics.arrivals += 1;
                    statistics.accepted(Account::new(account % 2), wait);
                }
                statistics.refused();
            }
            let read = |statistics: &LinkStatistics| {
                let all = statistics.waits();
                let one = statistics.waits_of(Account::new(1));
                (
                    (statistics.arrivals, statistics.drops, statistics.marks),
                    (all.longest(), all.sum, statistics.wait_sum()),
                    (one.longest(), one.sum),
                )
            };
            assert_eq!(read(&old), read(&new));
            let sum = u128::from(Time::from_millis(9).as_picos());
            assert_eq!(read(&new).1, (Time::from_millis(5), sum, sum));
            let (longest, sum) = if accounts == 0 { (5, 9) } else { (1, 1) };
            let apart = (
                Time::from_millis(longest),
                u128::from(Time::from_millis(sum).as_picos()),
            );
            assert_eq!(read(&new).2, apart);
        }
    }
}
