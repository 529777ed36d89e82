//! How evenly a stream's packets come: paced ones at equal distances, others in trains.

use crate::histogram::LogHistogram;

/// Times between consecutive packets with payload.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pacing {
    mean: f64,
    /// Sum of the squares of deviations (Welford, Technometrics 4, 1962).
    squares: f64,
    gaps: LogHistogram<4>,
}

/// How evenly packets came.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evenness {
    /// How many times between packets there are.
    pub gaps: u64,
    /// Their mean, in nanoseconds.
    pub mean: f64,
    /// Their standard deviation over their mean.
    pub variation: f64,
    /// The smallest time between packets, in nanoseconds: one percent are smaller.
    pub smallest: f64,
    /// Share of times below one and a half of the smallest.
    pub close: f64,
    /// Mean number of packets in a train: packets that follow each other so closely.
    pub train: f64,
}

/// What follows closer than so many of the smallest gap belongs to a train.
const CLOSE: f64 = 1.5;
/// A smaller share of gaps than this is chance.
const SMALLEST: f64 = 0.01;

impl Pacing {
    pub(crate) fn add(&mut self, gap: u64) {
        self.gaps.add(gap);
        let gap = gap as f64;
        let deviation = gap - self.mean;
        self.mean += deviation / self.gaps.total() as f64;
        self.squares += deviation * (gap - self.mean);
    }

    /// None where there were no two packets.
    pub(crate) fn evenness(&self) -> Option<Evenness> {
        let gaps = self.gaps.total();
        let smallest = self.gaps.quantile(SMALLEST)?;
        let mut close = 0.0;
        for bin in self.gaps.bins() {
            let (least, width) = (bin.least as f64, (bin.most - bin.least + 1) as f64);
            let inside = ((smallest * CLOSE - least) / width).clamp(0.0, 1.0);
            close += inside * bin.count as f64;
        }
        let total = gaps as f64;
        Some(Evenness {
            gaps,
            mean: self.mean,
            variation: if self.mean > 0.0 {
                (self.squares.max(0.0) / total).sqrt() / self.mean
            } else {
                0.0
            },
            smallest,
            close: close / total,
            train: (total + 1.0) / (total - close + 1.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paced_packets_are_even_and_trains_are_counted() {
        assert_eq!(Pacing::default().evenness(), None);
        for train in [2, 5, 10] {
            let mut pacing = Pacing::default();
            for packet in 1..=10_000 {
                pacing.add(if packet % train == 0 {
                    1_000_000
                } else {
                    12_000
                });
            }
            let evenness = pacing.evenness().unwrap();
            assert!(
                (evenness.train / train as f64 - 1.0).abs() < 0.01,
                "{evenness:?}"
            );
            let share = 1.0 - 1.0 / train as f64;
            assert!((evenness.close - share).abs() < 0.01);
            let mean = share * 12_000.0 + (1.0 - share) * 1_000_000.0;
            assert!((evenness.mean / mean - 1.0).abs() < 1e-9);
            let deviation = 988_000.0 * (share * (1.0 - share)).sqrt();
            assert!((evenness.variation / (deviation / mean) - 1.0).abs() < 1e-9);
        }
        let mut pacing = Pacing::default();
        for packet in 0..1000 {
            pacing.add(100_000 + packet % 7);
        }
        let evenness = pacing.evenness().unwrap();
        assert!(
            evenness.variation < 1e-4 && evenness.close == 1.0,
            "{evenness:?}"
        );
    }
}
