//! Times between consecutive packets by packet size. Packets that leave a busy link back to back
//! show its rate.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use forebay_units::LogHistogram;

/// Number of packets that determine the frequent sizes.
const LEARNING: usize = 4096;
/// Number of frequent sizes.
const FREQUENT: usize = 8;
/// Number of size classes: the frequent sizes and the rest.
const CLASSES: usize = FREQUENT + 1;

/// Times between consecutive packets of one direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gaps {
    /// Times and sizes, until the frequent sizes are known.
    learning: Vec<(u64, u32)>,
    /// Frequent sizes, the most frequent first. Class 0 holds all other sizes.
    frequent: Option<Vec<u32>>,
    last: Option<(u64, usize)>,
    /// Histograms by class of the first packet and class of the second one.
    pairs: Vec<LogHistogram<8>>,
    /// Number of time stamps, and the number of multiples of each power of ten from 10 ns to 1 s.
    stamps: u64,
    multiples: [u64; POWERS],
}

/// Number of powers of ten that a clock's tick may be: 10 ns to 1 s.
const POWERS: usize = 9;
/// At most one time in `STRAY` may be no multiple of the tick. By chance, one in ten is a multiple
/// of the next power.
const STRAY: u64 = 4;

/// Times between packets of two sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Size of the first packet, in bytes of IP; 0 for all sizes that are not frequent.
    pub before: u32,
    /// Size of the second packet, in bytes of IP; 0 for all sizes that are not frequent.
    pub behind: u32,
    /// Times between them, in nanoseconds.
    pub times: LogHistogram<8>,
}

impl Gaps {
    pub(crate) fn add(&mut self, time: u64, bytes: u32) {
        self.stamps += 1;
        let mut rest = time;
        for multiples in &mut self.multiples {
            if !rest.is_multiple_of(10) {
                break;
            }
            rest /= 10;
            *multiples += 1;
        }
        if self.frequent.is_some() {
            return self.count(time, bytes);
        }
        self.learning.push((time, bytes));
        if self.learning.len() == LEARNING {
            self.decide();
        }
    }

    /// The tick of the clock in nanoseconds: the largest power of ten of which the times are
    /// multiples.
    pub(crate) fn tick(&self) -> u64 {
        let all = self.multiples.iter();
        let whole =
            all.take_while(|&&count| count > 0 && (self.stamps - count) * STRAY <= self.stamps);
        10u64.pow(whole.count() as u32)
    }

    /// The times between packets of each pair of sizes that occurred.
    pub(crate) fn finish(mut self) -> Vec<Gap> {
        if self.frequent.is_none() {
            self.decide();
        }
        let sizes: Vec<u32> = std::iter::once(0)
            .chain(self.frequent.unwrap_or_default())
            .collect();
        let pairs = self.pairs.into_iter().enumerate();
        pairs
            .filter(|(_, times)| !times.is_empty())
            .map(|(pair, times)| Gap {
                before: sizes[pair / CLASSES],
                behind: sizes[pair % CLASSES],
                times,
            })
            .collect()
    }

    fn decide(&mut self) {
        let mut counts = BTreeMap::<u32, usize>::new();
        for &(_, bytes) in &self.learning {
            *counts.entry(bytes).or_default() += 1;
        }
        let mut sizes: Vec<_> = counts.into_iter().collect();
        sizes.sort_by_key(|&(size, count)| (Reverse(count), Reverse(size)));
        sizes.truncate(FREQUENT);
        self.frequent = Some(sizes.into_iter().map(|(size, _)| size).collect());
        self.pairs = vec![LogHistogram::default(); CLASSES * CLASSES];
        for (time, bytes) in std::mem::take(&mut self.learning) {
            self.count(time, bytes);
        }
    }

    fn count(&mut self, time: u64, bytes: u32) {
        let frequent = self.frequent.as_deref().unwrap_or_default();
        let class = frequent
            .iter()
            .position(|&size| size == bytes)
            .map_or(0, |place| place + 1);
        if let Some((before, from)) = self.last.replace((time, class)) {
            self.pairs[from * CLASSES + class].add(time.saturating_sub(before));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn back_to_back_packets_tell_the_rate() {
        // At 1 Gb/s a packet of 1500 bytes takes 12 us, and one of 64 bytes takes 512 ns. A time
        // stamp marks the end of a packet.
        let (mut gaps, mut time) = (Gaps::default(), 0);
        for packet in 0..20_000 {
            let bytes = if packet % 3 == 0 { 64 } else { 1500 };
            time += u64::from(bytes) * 8;
            gaps.add(time, bytes);
        }
        let all = gaps.finish();
        assert_eq!(all.iter().map(|it| it.times.total()).sum::<u64>(), 19_999);
        for gap in all {
            assert!(gap.before > 0);
            let median = gap.times.quantile(0.5).unwrap();
            let exact = f64::from(gap.behind) * 8.0;
            assert!((median / exact - 1.0).abs() < 1.0 / 256.0, "{gap:?}");
        }
    }

    #[test]
    fn the_most_frequent_sizes_are_told_apart() {
        let mut gaps = Gaps::default();
        for packet in 0..6000u32 {
            let bytes = if packet % 3 == 0 { packet % 90 } else { 1500 };
            gaps.add(u64::from(packet), bytes);
        }
        let all = gaps.finish();
        let both = all.iter().find(|it| it.before == 1500 && it.behind == 1500);
        assert_eq!(both.map(|it| it.times.total()), Some(2000));
    }

    #[test]
    fn the_tick_of_a_clock_is_found_though_a_few_times_are_finer() {
        for tick in [1u64, 1_000, 10_000_000] {
            let mut gaps = Gaps::default();
            for packet in 0..1000u64 {
                let stray = u64::from(packet == 500);
                gaps.add(packet * packet * 7 % 100_003 * tick + stray, 1500);
            }
            assert_eq!(gaps.tick(), tick);
        }
        assert_eq!(Gaps::default().tick(), 1);
    }

    proptest! {
        #[test]
        fn every_gap_is_counted_once(sizes in prop::collection::vec(0u32..40, 0..6000)) {
            let mut gaps = Gaps::default();
            for (time, &bytes) in (0..).zip(&sizes) {
                gaps.add(time * 100, bytes);
            }
            let all = gaps.finish();
            prop_assert_eq!(all.iter().map(|it| it.times.total()).sum::<u64>(), sizes.len().saturating_sub(1) as u64);
            let mut frequent: Vec<_> = all.iter().map(|it| it.behind).filter(|&it| it > 0).collect();
            frequent.sort_unstable();
            frequent.dedup();
            prop_assert!(frequent.len() <= FREQUENT);
        }
    }
}
