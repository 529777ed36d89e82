//! What is measured at a link and how: counts, waiting times and congestion events. Nothing here
//! grows with the length of a run.

use forebay_units::Time;

/// A histogram of times with a relative resolution of 1/128 (after Tene's HdrHistogram).
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    counts: Vec<u64>,
}

/// log2 of the buckets per power of two.
const PRECISION: u32 = 7;

impl Histogram {
    pub(crate) fn new() -> Self {
        let buckets = ((64 - PRECISION + 1) as usize) << PRECISION;
        Self {
            counts: vec![0; buckets],
        }
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
        self.counts[Self::bucket(value.as_picos())] += 1;
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.counts.fill(0);
    }

    /// How many values it holds.
    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The value in seconds below which the fraction `q` of the values lie, linear within a
    /// bucket; zero where there are none.
    pub(crate) fn quantile(&self, q: f64) -> f64 {
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
                return (low + width * ((rank - below) / count as f64)) * 1e-12;
            }
            below += count as f64;
        }
        0.0
    }
}

/// What happened at a link since the warm-up.
#[derive(Clone, Debug)]
pub(crate) struct LinkStatistics {
    pub(crate) arrivals: u64,
    /// Arrivals before the warm-up's end.
    pub(crate) arrivals_before: u64,
    pub(crate) drops: u64,
    pub(crate) marks: u64,
    /// Waits of accepted packets.
    pub(crate) waits: Histogram,
    /// Sum of the waits in ticks; with the edges below, the time integral of the packets waiting.
    pub(crate) wait_sum: u128,
    pub(crate) longest_wait: Time,
    /// Wait still ahead, at the warm-up's end, of the packets that were waiting then.
    pub(crate) wait_before: u128,
    /// Time spent transmitting before the warm-up's end.
    pub(crate) busy_before: Time,
    /// The warm-up's end; the waits are those of packets that arrived since.
    pub(crate) since: Time,
}

impl LinkStatistics {
    pub(crate) fn new() -> Self {
        Self {
            arrivals: 0,
            arrivals_before: 0,
            drops: 0,
            marks: 0,
            waits: Histogram::new(),
            wait_sum: 0,
            longest_wait: Time::ZERO,
            wait_before: 0,
            busy_before: Time::ZERO,
            since: Time::ZERO,
        }
    }

    #[inline]
    pub(crate) fn accepted(&mut self, wait: Time) {
        self.waits.add(wait);
        self.wait_sum += u128::from(wait.as_picos());
        self.longest_wait = self.longest_wait.max(wait);
    }

    /// The warm-up ends: counting starts anew.
    pub(crate) fn restart(&mut self, now: Time, busy: Time) {
        self.arrivals_before += std::mem::take(&mut self.arrivals);
        self.drops = 0;
        self.marks = 0;
        self.waits.clear();
        self.wait_sum = 0;
        self.longest_wait = Time::ZERO;
        self.wait_before = 0;
        self.busy_before = busy;
        self.since = now;
    }
}

/// Groups losses of persistent flows into congestion events: losses less than one harmonic-mean
/// round trip apart belong together.
#[derive(Clone, Debug)]
pub(crate) struct CongestionEvents {
    apart: Time,
    last: Option<Time>,
    /// Number of the current event; flows remember the last one that hit them.
    pub(crate) number: u64,
    pub(crate) hits: u64,
}

impl CongestionEvents {
    pub(crate) fn new(apart: Time) -> Self {
        Self {
            apart,
            last: None,
            number: 0,
            hits: 0,
        }
    }

    /// A loss of the flow whose last event is `seen`.
    pub(crate) fn loss(&mut self, now: Time, seen: &mut u64) {
        if self
            .last
            .is_none_or(|last| now.saturating_sub(last) >= self.apart)
        {
            self.number += 1;
        }
        self.last = Some(now);
        if *seen != self.number {
            *seen = self.number;
            self.hits += 1;
        }
    }

    /// The warm-up ends: events are counted from here, an event under way not at all.
    pub(crate) fn restart(&mut self) -> u64 {
        self.hits = 0;
        self.last = None;
        self.number
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
            prop_assert!(bucket < Histogram::new().counts.len());
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
    fn losses_close_together_are_one_event() {
        let mut events = CongestionEvents::new(Time::from_millis(100));
        let (mut a, mut b) = (0, 0);
        events.loss(Time::from_millis(0), &mut a);
        events.loss(Time::from_millis(50), &mut a);
        events.loss(Time::from_millis(120), &mut b);
        assert_eq!((events.number, events.hits), (1, 2));
        events.loss(Time::from_millis(300), &mut b);
        assert_eq!((events.number, events.hits), (2, 3));
    }
}
