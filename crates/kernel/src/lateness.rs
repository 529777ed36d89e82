//! The lateness of deliveries, as a histogram of constant memory for runs of any length. The
//! verdict of a run uses it.
//!
//! Buckets are log-linear, as in HdrHistogram (Tene 2012): every power of two has 64 equal parts.
//! The middle of a bucket is within 1/128 of each value in it.

use forebay_units::Time;

/// Binary logarithm of the number of parts per power of two.
const PRECISION: u32 = 6;
const PARTS: u64 = 1 << PRECISION;
/// Number of buckets. Times below `2 * PARTS` ticks have one bucket each, and each further bit has
/// `PARTS` buckets.
const BUCKETS: usize = ((64 - PRECISION as usize) + 1) << PRECISION;

/// A histogram of times. Its quantiles are within one percent, and its maximum is exact.
#[derive(Clone, Debug)]
pub struct Lateness {
    buckets: Box<[u64]>,
    count: u64,
    min: Time,
    max: Time,
}

impl Default for Lateness {
    fn default() -> Self {
        Self {
            buckets: vec![0; BUCKETS].into_boxed_slice(),
            count: 0,
            min: Time::MAX,
            max: Time::ZERO,
        }
    }
}

impl Lateness {
    /// Counts a delivery with this lateness.
    pub fn add(&mut self, late: Time) {
        self.buckets[bucket(late)] += 1;
        self.count += 1;
        self.min = self.min.min(late);
        self.max = self.max.max(late);
    }

    /// Adds the counts of another histogram.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine += theirs;
        }
        self.count += other.count;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Number of counted deliveries.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The largest lateness; zero if there is none.
    pub fn max(&self) -> Time {
        self.max
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
        let rank = (u128::from(self.count) * u128::from(thousandths)).div_ceil(1_000);
        let mut seen = 0;
        for (index, count) in self.buckets.iter().enumerate() {
            seen += u128::from(*count);
            if seen >= rank && *count > 0 {
                return middle(index).clamp(self.min, self.max);
            }
        }
        self.max
    }
}

/// The bucket of a time.
fn bucket(late: Time) -> usize {
    let ticks = late.as_picos();
    let shift = (ticks | PARTS).ilog2() - PRECISION;
    ((u64::from(shift) << PRECISION) + (ticks >> shift)) as usize
}

/// The middle of a bucket.
fn middle(index: usize) -> Time {
    let index = index as u64;
    let shift = (index >> PRECISION).saturating_sub(1);
    let lowest = (index - (shift << PRECISION)) << shift;
    Time::from_picos(lowest + ((1 << shift) >> 1))
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
    fn the_ends_have_buckets_of_their_own() {
        assert_eq!(bucket(Time::ZERO), 0);
        assert_eq!(bucket(Time::MAX), BUCKETS - 1);
        assert_eq!(Lateness::default().p99(), Time::ZERO);
    }
}
