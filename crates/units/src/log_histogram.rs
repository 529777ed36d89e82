//! Histograms of integers with bin widths in proportion to the number (after Tene's HdrHistogram).
//! Captures, links, measurements and the kernel engine count in them.

/// A histogram with 2^`PRECISION` bins per octave. Each number below 2^`PRECISION` has its own bin.
/// Only bins between the smallest and the largest number take memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogHistogram<const PRECISION: u32> {
    /// Index of the bin of `counts[0]`.
    first: usize,
    counts: Vec<u64>,
    /// Smallest number; the largest of all where none was counted.
    smallest: u64,
    /// Largest number; zero where none was counted.
    largest: u64,
}

impl<const PRECISION: u32> Default for LogHistogram<PRECISION> {
    fn default() -> Self {
        Self {
            first: 0,
            counts: Vec::new(),
            smallest: u64::MAX,
            largest: 0,
        }
    }
}

/// A bin that is not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogBin {
    /// The smallest number in it.
    pub least: u64,
    /// The largest number in it.
    pub most: u64,
    /// Count of numbers in it.
    pub count: u64,
}

/// Number of bins that are added together, so that the existing bins are seldom moved.
const GROUP: usize = 16;

impl<const PRECISION: u32> LogHistogram<PRECISION> {
    /// Counts one number.
    #[inline]
    pub fn add(&mut self, number: u64) {
        let bin = Self::bin(number);
        self.smallest = self.smallest.min(number);
        self.largest = self.largest.max(number);
        match self.counts.get_mut(bin.wrapping_sub(self.first)) {
            Some(count) => *count += 1,
            None => *self.beyond(bin) += 1,
        }
    }

    /// Adds the counts of another histogram.
    pub fn merge(&mut self, other: &Self) {
        for (bin, &count) in (other.first..).zip(&other.counts) {
            if count > 0 {
                match self.counts.get_mut(bin.wrapping_sub(self.first)) {
                    Some(mine) => *mine += count,
                    None => *self.beyond(bin) += count,
                }
            }
        }
        self.smallest = self.smallest.min(other.smallest);
        self.largest = self.largest.max(other.largest);
    }

    /// Forgets all numbers.
    pub fn clear(&mut self) {
        self.counts.clear();
        self.smallest = u64::MAX;
        self.largest = 0;
    }

    /// Whether no number was counted.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// The count of all numbers.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The smallest number; the largest of all where none was counted.
    pub fn smallest(&self) -> u64 {
        self.smallest
    }

    /// The largest number; zero where none was counted.
    pub fn largest(&self) -> u64 {
        self.largest
    }

    /// The bins that are not empty, in order.
    pub fn bins(&self) -> impl Iterator<Item = LogBin> {
        let bins = (self.first..).zip(&self.counts);
        bins.filter(|&(_, &count)| count > 0)
            .map(|(bin, &count)| LogBin {
                least: Self::least(bin),
                most: Self::most(bin),
                count,
            })
    }

    /// The bin that holds the number of a rank, and the share of its numbers up to that rank;
    /// `None` beyond the last number.
    pub fn at_rank(&self, rank: f64) -> Option<(LogBin, f64)> {
        let mut below = 0.0;
        for bin in self.bins() {
            let count = bin.count as f64;
            if below + count >= rank {
                return Some((bin, (rank - below) / count));
            }
            below += count;
        }
        None
    }

    /// The quantile for a share of the numbers, interpolated within its bin and between the
    /// smallest and the largest number; `None` if there are no numbers.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let (bin, part) = self.at_rank(share.clamp(0.0, 1.0) * self.total() as f64)?;
        let number = bin.least as f64 + (bin.most - bin.least) as f64 * part;
        Some(number.clamp(self.smallest as f64, self.largest as f64))
    }

    #[inline]
    fn bin(number: u64) -> usize {
        let magnitude = (number | (1 << PRECISION)).ilog2() - PRECISION;
        ((magnitude as usize) << PRECISION) + (number >> magnitude) as usize
    }

    fn least(bin: usize) -> u64 {
        let magnitude = (bin >> PRECISION).saturating_sub(1);
        ((bin - (magnitude << PRECISION)) as u64) << magnitude
    }

    fn most(bin: usize) -> u64 {
        let magnitude = (bin >> PRECISION).saturating_sub(1);
        Self::least(bin) + ((1u64 << magnitude) - 1)
    }

    /// Adds a bin outside the existing range.
    #[cold]
    #[inline(never)]
    fn beyond(&mut self, bin: usize) -> &mut u64 {
        let group = bin - bin % GROUP;
        if self.counts.is_empty() {
            self.first = group;
        } else if group < self.first {
            let missing = self.first - group;
            self.counts.splice(0..0, std::iter::repeat_n(0, missing));
            self.first = group;
        }
        let needed = group + GROUP - self.first;
        if needed > self.counts.len() {
            self.counts.resize(needed, 0);
        }
        &mut self.counts[bin - self.first]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_number_is_counted_in_a_bin_that_holds_it(numbers in prop::collection::vec(any::<u64>(), 1..40), shift in 0u32..64) {
            let mut histogram = LogHistogram::<4>::default();
            for number in &numbers {
                histogram.add(number >> shift);
            }
            let bins: Vec<_> = histogram.bins().collect();
            for bin in &bins {
                let inside = numbers.iter().filter(|&&it| (bin.least..=bin.most).contains(&(it >> shift)));
                prop_assert_eq!(inside.count() as u64, bin.count);
                // A bin is at most a sixteenth of its least number wide, or holds a single number.
                prop_assert!((bin.most - bin.least) as u128 * 16 <= bin.least as u128);
            }
            prop_assert!(bins.windows(2).all(|pair| pair[0].most < pair[1].least));
            prop_assert_eq!(histogram.total(), numbers.len() as u64);
        }

        #[test]
        fn merged_is_as_if_counted_together(one in prop::collection::vec(any::<u64>(), 0..40), other in prop::collection::vec(any::<u32>(), 0..40)) {
            let (mut first, mut second, mut both) = (LogHistogram::<8>::default(), LogHistogram::<8>::default(), LogHistogram::<8>::default());
            for &number in &one {
                first.add(number);
                both.add(number);
            }
            for &number in &other {
                second.add(u64::from(number));
                both.add(u64::from(number));
            }
            first.merge(&second);
            prop_assert_eq!(first.bins().collect::<Vec<_>>(), both.bins().collect::<Vec<_>>());
            prop_assert_eq!(first.total(), (one.len() + other.len()) as u64);
        }

        #[test]
        fn quantiles_lie_between_the_smallest_and_the_largest_number(
            one in prop::collection::vec(any::<u64>(), 1..40), other in prop::collection::vec(any::<u64>(), 0..40),
            shift in 0u32..64, share in 0.0..=1.0,
        ) {
            let (mut histogram, mut more) = (LogHistogram::<4>::default(), LogHistogram::<4>::default());
            for number in &one {
                histogram.add(number >> shift);
            }
            for number in &other {
                more.add(number >> shift);
            }
            histogram.merge(&more);
            let all = || one.iter().chain(&other).map(|number| number >> shift);
            let extremes = all().min().unwrap() as f64..=all().max().unwrap() as f64;
            for share in [0.0, share, 1.0] {
                let quantile = histogram.quantile(share).unwrap();
                prop_assert!(extremes.contains(&quantile), "{share} {quantile}");
            }
        }
    }

    #[test]
    fn a_cleared_histogram_forgets_its_extremes() {
        let mut histogram = LogHistogram::<7>::default();
        histogram.add(1_000_003);
        histogram.clear();
        assert_eq!((histogram.total(), histogram.largest()), (0, 0));
        histogram.add(5);
        assert_eq!(histogram.quantile(1.0), Some(5.0));
    }

    #[test]
    fn the_largest_number_has_the_last_bin() {
        let mut histogram = LogHistogram::<6>::default();
        histogram.add(u64::MAX);
        assert_eq!(histogram.bins().map(|bin| bin.most).last(), Some(u64::MAX));
    }

    #[test]
    fn quantiles_are_those_of_what_was_counted() {
        let mut histogram = LogHistogram::<8>::default();
        assert_eq!(histogram.quantile(0.5), None);
        for number in 1..=100_000 {
            histogram.add(number);
        }
        for share in [0.05, 0.5, 0.95, 1.0] {
            let quantile = histogram.quantile(share).unwrap();
            let exact = share * 100_000.0;
            assert!(
                (quantile / exact - 1.0).abs() < 0.005,
                "{share}: {quantile}"
            );
        }
    }
}
