//! Histograms of times and other whole numbers, so that the counts of a run do not grow with its
//! length. Links and measurements count in them, and reports read them.

use forebay_scenario::{Bin, MeasuredDistribution};
use forebay_units::{LogHistogram, Time};

/// A histogram of times or other whole numbers with a relative resolution of 1/128.
#[derive(Clone, Debug, Default)]
pub struct Histogram(LogHistogram<7>);

impl Histogram {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    #[inline]
    pub(crate) fn add(&mut self, value: Time) {
        self.0.add(value.as_picos());
    }

    /// A value in a unit that the caller knows.
    #[inline]
    pub(crate) fn add_value(&mut self, value: u64) {
        self.0.add(value);
    }

    /// Takes over what another one holds.
    pub(crate) fn add_all(&mut self, other: &Self) {
        self.0.merge(&other.0);
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// How many values it holds.
    pub fn count(&self) -> u64 {
        self.0.total()
    }

    /// The largest value; zero where there are none.
    pub(crate) fn largest(&self) -> u64 {
        self.0.largest()
    }

    /// Mean of the values, each taken at the middle of its bin; zero where there are none.
    pub(crate) fn mean(&self) -> f64 {
        let (mut sum, mut total) = (0.0, 0.0);
        for bin in self.0.bins() {
            let middle = bin.least as f64 + (bin.most - bin.least) as f64 / 2.0;
            sum += middle * bin.count as f64;
            total += bin.count as f64;
        }
        if total > 0.0 { sum / total } else { 0.0 }
    }

    /// The histogram for a report, of values in `unit`: a bin for each below 16, and from there on
    /// four to each power of two.
    pub(crate) fn distribution(&self, unit: f64) -> MeasuredDistribution {
        let mut bins: Vec<Bin> = Vec::new();
        for bin in self.0.bins() {
            let (value, count) = (bin.least, bin.count);
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
        MeasuredDistribution { bins }
    }

    /// The value in seconds below which the fraction `q` of the values lie, linear within a
    /// bin and between the smallest and the largest value; zero where there are none.
    pub(crate) fn quantile(&self, q: f64) -> f64 {
        if self.count() == 0 {
            return 0.0;
        }
        // A product rounds otherwise than the quotients that state the extremes.
        let [smallest, largest] = [self.0.smallest(), self.0.largest()]
            .map(|value| Time::from_picos(value).as_secs_f64());
        (self.quantile_of_values(q) * 1e-12).clamp(smallest, largest)
    }

    /// The same in the values' own unit.
    pub(crate) fn quantile_of_values(&self, q: f64) -> f64 {
        let Some((bin, share)) = self.0.at_rank(q * self.count() as f64) else {
            return 0.0;
        };
        // Whole ticks have a bin each: nothing lies in between.
        let width = match bin.most - bin.least {
            0 => 0.0,
            most => most as f64 + 1.0,
        };
        let value = bin.least as f64 + width * share;
        value.clamp(self.0.smallest() as f64, self.0.largest() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
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
