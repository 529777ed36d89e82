//! The regularity of a stream's packets: paced packets have equal distances, others come in trains.

use forebay_units::LogHistogram;

/// Times between consecutive packets with payload.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pacing {
    count: u64,
    mean: f64,
    /// Sum of squared deviations (Welford, Technometrics 4, 1962).
    squares: f64,
    gaps: LogHistogram<4>,
}

/// Regularity of the packets of a stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evenness {
    /// Number of times between packets.
    pub gaps: u64,
    /// Mean time between packets, in nanoseconds.
    pub mean: f64,
    /// Coefficient of variation: standard deviation divided by the mean.
    pub variation: f64,
    /// First percentile of the times between packets, in nanoseconds.
    pub smallest: f64,
    /// Share of times below 1.5 times `smallest`.
    pub close: f64,
    /// Mean number of packets in a train, whose gaps are below 1.5 times `smallest`.
    pub train: f64,
}

/// Largest gap within a train, as a multiple of the smallest gap.
const CLOSE: f64 = 1.5;
/// Quantile that counts as the smallest gap, because smaller ones are chance.
const SMALLEST: f64 = 0.01;

impl Pacing {
    pub(crate) fn add(&mut self, gap: u64) {
        self.gaps.add(gap);
        self.count += 1;
        let gap = gap as f64;
        let deviation = gap - self.mean;
        self.mean += deviation / self.count as f64;
        self.squares += deviation * (gap - self.mean);
    }

    /// The regularity; `None` if there were fewer than two packets.
    pub(crate) fn evenness(&self) -> Option<Evenness> {
        let smallest = self.gaps.quantile(SMALLEST)?;
        let mut close = 0.0;
        for bin in self.gaps.bins() {
            let (least, width) = (bin.least as f64, (bin.most - bin.least + 1) as f64);
            let inside = ((smallest * CLOSE - least) / width).clamp(0.0, 1.0);
            close += inside * bin.count as f64;
        }
        let total = self.count as f64;
        Some(Evenness {
            gaps: self.count,
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
