//! The lateness of deliveries, as a histogram for runs of any length. The verdict of a run uses it.

use forebay_units::{LogHistogram, Time};

/// A histogram of times. Its quantiles are within one percent, and its maximum is exact. The middle
/// of a bin is within 1/128 of each time in it.
#[derive(Clone, Debug, Default)]
pub struct Lateness(LogHistogram<6>);

impl Lateness {
    /// Counts a delivery with this lateness.
    pub fn add(&mut self, late: Time) {
        self.0.add(late.as_picos());
    }

    /// Adds the counts of another histogram.
    pub fn merge(&mut self, other: &Self) {
        self.0.merge(&other.0);
    }

    /// Number of counted deliveries.
    pub fn count(&self) -> u64 {
        self.0.total()
    }

    /// The largest lateness; zero if there is none.
    pub fn max(&self) -> Time {
        Time::from_picos(self.0.largest())
    }

    /// The median lateness.
    pub fn p50(&self) -> Time {
        self.at_least(500)
    }

    /// The lateness that 99 % of the deliveries do not exceed.
    pub fn p99(&self) -> Time {
        self.at_least(990)
    }

    /// The lateness that 99.9 % of the deliveries do not exceed.
    pub fn p99_9(&self) -> Time {
        self.at_least(999)
    }

    /// The lateness that `thousandths` of the deliveries do not exceed (the nearest-rank quantile).
    fn at_least(&self, thousandths: u64) -> Time {
        let rank = (u128::from(self.count()) * u128::from(thousandths)).div_ceil(1_000);
        let Some((bin, _)) = self.0.at_rank(rank as f64) else {
            return self.max();
        };
        let middle = bin.least + (bin.most - bin.least).div_ceil(2);
        Time::from_picos(middle.clamp(self.0.smallest(), self.0.largest()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Times of all magnitudes.
    fn time() -> impl Strategy<Value = Time> {
        (0..64_u32, any::<u64>()).prop_map(|(bits, ticks)| Time::from_picos(ticks >> bits))
    }

    proptest! {
        #[test]
        fn quantiles_are_within_one_percent_of_the_sorted_list(
            mut times in prop::collection::vec(time(), 1..400)
        ) {
            let mut lateness = Lateness::default();
            let (mut halves, mut other) = (Lateness::default(), Lateness::default());
            for (index, time) in times.iter().enumerate() {
                lateness.add(*time);
                if index % 2 == 0 { halves.add(*time) } else { other.add(*time) }
            }
            halves.merge(&other);
            times.sort_unstable();
            let exact = |thousandths: usize| times[(times.len() * thousandths).div_ceil(1_000) - 1];
            for all in [&lateness, &halves] {
                prop_assert_eq!(all.count(), times.len() as u64);
                prop_assert_eq!(Some(&all.max()), times.last());
                for (thousandths, found) in [(500, all.p50()), (990, all.p99()), (999, all.p99_9())] {
                    let exact = exact(thousandths).as_secs_f64();
                    let off = (found.as_secs_f64() - exact).abs();
                    prop_assert!(off <= 0.01 * exact, "{thousandths}: {found:?} for {exact}");
                    prop_assert!((times[0]..=all.max()).contains(&found), "{thousandths}: {found:?}");
                }
            }
        }
    }

    #[test]
    fn no_delivery_is_not_late() {
        assert_eq!(Lateness::default().p99(), Time::ZERO);
    }
}
