//! Histograms of fixed size, so that the counts of a run do not grow with its length. Links and
//! measurements count in them.

use forebay_scenario::{Bin, Distribution};
use forebay_units::Time;

/// A histogram of times or other whole numbers with a relative resolution of 1/128 (after Tene's HdrHistogram).
#[derive(Clone, Debug)]
pub struct Histogram {
    /// Counts of the buckets up to the highest that was needed.
    counts: Vec<u64>,
    /// Smallest value; the largest of all numbers without values.
    smallest: u64,
    /// Largest value; zero without values.
    largest: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            counts: Vec::new(),
            smallest: u64::MAX,
            largest: 0,
        }
    }
}

/// log2 of the buckets per power of two.
const PRECISION: u32 = 7;

impl Histogram {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Values below 2^7 ticks have a bucket each; above, each power of two has 2^7 buckets.
    #[inline]
    fn bucket(value: u64) -> usize {
        let magnitude = (value | (1 << PRECISION)).ilog2() - PRECISION;
        ((magnitude as usize) << PRECISION) + (value >> magnitude) as usize
    }

    /// Lowest value of a bucket.
    fn lowest(bucket: usize) -> u64 {
        let magnitude = (bucket >> PRECISION).saturating_sub(1);
        ((bucket - (magnitude << PRECISION)) as u64) << magnitude
    }

    #[inline]
    pub(crate) fn add(&mut self, value: Time) {
        self.add_value(value.as_picos());
    }

    /// A value in a unit that the caller knows.
    #[inline]
    pub(crate) fn add_value(&mut self, value: u64) {
        self.smallest = self.smallest.min(value);
        self.largest = self.largest.max(value);
        let bucket = Self::bucket(value);
        match self.counts.get_mut(bucket) {
            Some(count) => *count += 1,
            None => self.add_beyond(bucket),
        }
    }

    /// The first value in a bucket beyond: makes room to the end of its power of two.
    #[cold]
    #[inline(never)]
    fn add_beyond(&mut self, bucket: usize) {
        self.counts.resize((bucket | ((1 << PRECISION) - 1)) + 1, 0);
        self.counts[bucket] += 1;
    }

    /// Takes over what another one holds.
    pub(crate) fn add_all(&mut self, other: &Self) {
        if other.counts.len() > self.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.smallest = self.smallest.min(other.smallest);
        self.largest = self.largest.max(other.largest);
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.counts.clear();
        self.smallest = u64::MAX;
        self.largest = 0;
    }

    /// How many values it holds.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The largest value; zero where there are none.
    pub(crate) fn largest(&self) -> u64 {
        self.largest
    }

    /// Mean of the values, each taken at the middle of its bucket; zero where there are none.
    pub(crate) fn mean(&self) -> f64 {
        let held = self
            .counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0);
        let (mut sum, mut total) = (0.0, 0.0);
        for (bucket, &count) in held {
            let (low, next) = (Self::lowest(bucket), Self::lowest(bucket + 1));
            sum += (low as f64 + (next - low - 1) as f64 / 2.0) * count as f64;
            total += count as f64;
        }
        if total > 0.0 { sum / total } else { 0.0 }
    }

    /// The histogram for a report, of values in `unit`: a bin for each below 16, and from there on
    /// four to each power of two.
    pub(crate) fn distribution(&self, unit: f64) -> Distribution {
        let mut bins: Vec<Bin> = Vec::new();
        let held = self
            .counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0);
        for (bucket, &count) in held {
            let value = Self::lowest(bucket);
            let shift = value
                .checked_ilog2()
                .filter(|log| *log >= 4)
                .map_or(0, |log| log - 2);
            let low = (value >> shift) << shift;
            let (low, high) = (
                low as f64 * unit,
                (low as f64 + (1u64 << shift) as f64) * unit,
            );
            match bins.last_mut().filter(|bin| bin.low == low) {
                Some(bin) => bin.count += count,
                None => bins.push(Bin { low, high, count }),
            }
        }
        Distribution { bins }
    }

    /// The value in seconds below which the fraction `q` of the values lie, linear within a
    /// bucket and between the smallest and the largest value; zero where there are none.
    pub(crate) fn quantile(&self, q: f64) -> f64 {
        if self.count() == 0 {
            return 0.0;
        }
        // A product rounds otherwise than the quotients that state the extremes.
        let [smallest, largest] =
            [self.smallest, self.largest].map(|value| Time::from_picos(value).as_secs_f64());
        (self.quantile_of_values(q) * 1e-12).clamp(smallest, largest)
    }

    /// The same in the values' own unit.
    pub(crate) fn quantile_of_values(&self, q: f64) -> f64 {
        let total = self.count();
        if total == 0 {
            return 0.0;
        }
        let rank = q * total as f64;
        let mut below = 0.0;
        for (bucket, &count) in self.counts.iter().enumerate() {
            if count == 0 {
                continue;
            }
            if below + count as f64 >= rank {
                let (low, high) = (Self::lowest(bucket) as f64, Self::lowest(bucket + 1) as f64);
                // Whole ticks have a bucket each: nothing lies in between.
                let width = if high - low <= 1.0 { 0.0 } else { high - low };
                let value = low + width * ((rank - below) / count as f64);
                return value.clamp(self.smallest as f64, self.largest as f64);
            }
            below += count as f64;
        }
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_bucket_holds_its_value_to_one_part_in_128(value in any::<u64>(), shift in 0u32..64) {
            let value = value >> shift;
            let bucket = Histogram::bucket(value);
            let low = Histogram::lowest(bucket);
            prop_assert!(low <= value);
            prop_assert!(value - low <= value / 128);
            prop_assert!(bucket < ((64 - PRECISION + 1) as usize) << PRECISION);
        }

        /// A quantile lies between the extremes, which are exact, also after a merge.
        #[test]
        fn quantiles_lie_between_the_smallest_and_the_largest_value(
            values in prop::collection::vec(any::<u64>(), 1..30),
            others in prop::collection::vec(any::<u64>(), 0..30),
            shift in 0u32..64,
            q in 0.0..=1.0,
        ) {
            let shifted = |values: &[u64]| values.iter().map(|value| value >> shift).collect::<Vec<_>>();
            let (values, others) = (shifted(&values), shifted(&others));
            let histogram_of = |values: &[u64]| {
                let mut histogram = Histogram::new();
                for &value in values {
                    histogram.add_value(value);
                }
                histogram
            };
            let mut histogram = histogram_of(&values);
            histogram.add_all(&histogram_of(&others));
            let all = || values.iter().chain(&others).copied();
            let (smallest, largest) = (all().min().unwrap(), all().max().unwrap());
            prop_assert_eq!(histogram.largest(), largest);
            for q in [0.0, q, 1.0] {
                let quantile = histogram.quantile_of_values(q);
                prop_assert!((smallest as f64..=largest as f64).contains(&quantile), "{q} {quantile}");
                let seconds = [smallest, largest].map(|value| Time::from_picos(value).as_secs_f64());
                let quantile = histogram.quantile(q);
                prop_assert!((seconds[0]..=seconds[1]).contains(&quantile), "{q} {quantile}");
            }
        }
    }

    #[test]
    fn a_cleared_histogram_forgets_its_extremes() {
        let mut histogram = Histogram::new();
        histogram.add_value(1_000_003);
        histogram.clear();
        assert_eq!(histogram.largest(), 0);
        histogram.add_value(5);
        assert_eq!(histogram.quantile_of_values(1.0), 5.0);
    }

    #[test]
    fn quantiles_interpolate() {
        let mut histogram = Histogram::new();
        assert_eq!(histogram.quantile(0.5), 0.0);
        for ms in 1..=1000 {
            histogram.add(Time::from_millis(ms));
        }
        for q in [0.1, 0.5, 0.99] {
            assert!((histogram.quantile(q) / q - 1.0).abs() < 0.01, "{q}");
        }
        let mut zeros = Histogram::new();
        zeros.add(Time::ZERO);
        assert_eq!(zeros.quantile(0.99), 0.0);
    }

    #[test]
    fn a_distribution_counts_small_numbers_one_by_one() {
        let mut histogram = Histogram::new();
        for value in [0, 1, 1, 15, 16, 19, 20, 1000] {
            histogram.add_value(value);
        }
        let bins = histogram.distribution(1.0).bins;
        let rows: Vec<(f64, f64, u64)> = bins.iter().map(|b| (b.low, b.high, b.count)).collect();
        let expected = [
            (0.0, 1.0, 1),
            (1.0, 2.0, 2),
            (15.0, 16.0, 1),
            (16.0, 20.0, 2),
            (20.0, 24.0, 1),
            (896.0, 1024.0, 1),
        ];
        assert_eq!(rows, expected);
    }
}
