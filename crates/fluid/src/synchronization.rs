//! Loss synchronization (Kumar, Azad and Park): the number and choice of the flows that a
//! congestion event cuts.
//!
//! If a queue is clipped and no event is open, event k opens. It draws m_k from {ceil(X N), .., N}
//! by a [`CutCountDistribution`] and chooses m_k of the N flows by a [`Victims`] policy. Each of
//! them is cut exactly once, one round trip R_i(t_k) later. The event closes after the largest of
//! those round trips; a queue still clipped then opens event k + 1. X = 1 is full synchronization.

use forebay_random::Stream;

use crate::error::{FluidError, range};

/// Choice of the flows that a congestion event cuts.
#[derive(Clone, Debug, PartialEq)]
pub struct Synchronization {
    /// X: the smallest fraction of the flows that an event cuts, from 0 to 1.
    pub minimum: f64,
    /// Distribution of m_k.
    pub count: CutCountDistribution,
    /// Choice of the m_k flows.
    pub victims: Victims,
}

impl Default for Synchronization {
    fn default() -> Self {
        Self {
            minimum: 0.6,
            count: CutCountDistribution::TruncatedNormal,
            victims: Victims::HighestRate,
        }
    }
}

/// Distribution of the number of flows that are cut, with lo = max(1, ceil(X N)).
#[derive(Clone, Debug, PartialEq)]
pub enum CutCountDistribution {
    /// Always lo.
    Fixed,
    /// Uniform on {lo, .., N}.
    Uniform,
    /// Normal with mean (lo + N)/2 and standard deviation (N - lo)/4, rounded, and redrawn until it
    /// is in {lo, .., N}.
    TruncatedNormal,
    /// Drawn from a list of observed fractions of the flows, each rounded to {lo, .., N} flows.
    Empirical(Vec<f64>),
}

/// Choice of the flows that an event cuts.
#[derive(Clone, Debug, PartialEq)]
pub enum Victims {
    /// The largest rates W/R at the event, with ties at random.
    HighestRate,
    /// All subsets with equal probability.
    Random,
    /// One after the other with probability proportional to the rate, without replacement.
    RateProportional,
    /// The largest entries of a row, with ties at random. Event k uses row k modulo the number of
    /// rows. A row has one entry per flow.
    Priority(Vec<Vec<f64>>),
}

impl Synchronization {
    pub(crate) fn check(&self, flows: usize) -> Result<(), FluidError> {
        range(
            "minimum synchronization",
            self.minimum,
            (0.0, 1.0),
            "0 to 1",
        )?;
        let at_least_one = (1.0, f64::MAX);
        if let CutCountDistribution::Empirical(fractions) = &self.count {
            range(
                "empirical fractions",
                fractions.len() as f64,
                at_least_one,
                "at least 1",
            )?;
            for (i, &x) in fractions.iter().enumerate() {
                range(&format!("empirical fraction {i}"), x, (0.0, 1.0), "0 to 1")?;
            }
        }
        if let Victims::Priority(rows) = &self.victims {
            range(
                "priority rows",
                rows.len() as f64,
                at_least_one,
                "at least 1",
            )?;
            for (i, row) in rows.iter().enumerate() {
                let length = (flows as f64, flows as f64);
                let name = format!("entries of priority row {i}");
                range(&name, row.len() as f64, length, "one for each flow")?;
                for &x in row {
                    range(&name, x, (-1e300, 1e300), "finite numbers")?;
                }
            }
        }
        Ok(())
    }

    /// Draws m_k for a link crossed by `flows` flows.
    pub(crate) fn draw_count(&self, flows: usize, stream: &mut Stream) -> usize {
        let n = flows as f64;
        // The product is rounded down to the nearest integer within rounding error: 0.3 x 10 = 3.
        let product = self.minimum * n;
        let low = ((product - 1e-9 * n).ceil().max(1.0) as usize).min(flows);
        if low == flows {
            return flows;
        }
        match &self.count {
            CutCountDistribution::Fixed => low,
            CutCountDistribution::Uniform => low + stream.below((flows - low + 1) as u64) as usize,
            CutCountDistribution::TruncatedNormal => {
                let mean = 0.5 * (low as f64 + n);
                let deviation = 0.25 * (n - low as f64);
                loop {
                    let m = (mean + deviation * stream.normal()).round();
                    if m >= low as f64 && m <= n {
                        return m as usize;
                    }
                }
            }
            CutCountDistribution::Empirical(fractions) => {
                let fraction = fractions[stream.below(fractions.len() as u64) as usize];
                ((fraction * n).round() as usize).clamp(low, flows)
            }
        }
    }

    /// Moves the `count` chosen flows to the front of `candidates`. `event` counts the events of
    /// the link from 0.
    pub(crate) fn choose(
        &self,
        candidates: &mut [Candidate],
        count: usize,
        event: u64,
        stream: &mut Stream,
    ) {
        if count == 0 || count >= candidates.len() {
            return;
        }
        for candidate in candidates.iter_mut() {
            candidate.lot = stream.bits();
            candidate.key = match &self.victims {
                Victims::HighestRate => candidate.rate,
                Victims::Random => 0.0,
                // Efraimidis and Spirakis (2006): the largest u^(1/rate) are such a sample.
                Victims::RateProportional => {
                    let uniform = (candidate.lot >> 11) as f64 + 0.5;
                    libm::log(uniform / (1_u64 << 53) as f64) / candidate.rate
                }
                Victims::Priority(rows) => {
                    rows[(event % rows.len() as u64) as usize][candidate.flow as usize]
                }
            };
        }
        let order = |a: &Candidate, b: &Candidate| {
            b.key
                .total_cmp(&a.key)
                .then(a.lot.cmp(&b.lot))
                .then(a.flow.cmp(&b.flow))
        };
        candidates.select_nth_unstable_by(count - 1, order);
    }
}

/// A flow that an event may cut.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Candidate {
    /// Number of the flow in the model.
    pub(crate) flow: u32,
    /// Number of the flow in the engine's own order.
    pub(crate) slot: u32,
    /// W/R at the event, packets per second.
    pub(crate) rate: f64,
    /// R at the event, seconds.
    pub(crate) round_trip: f64,
    key: f64,
    lot: u64,
}

impl Candidate {
    pub(crate) fn new(flow: u32, slot: u32, rate: f64, round_trip: f64) -> Self {
        Self {
            flow,
            slot,
            rate,
            round_trip,
            key: 0.0,
            lot: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_random::{Purpose, Seed};

    fn law(minimum: f64, count: CutCountDistribution, victims: Victims) -> Synchronization {
        Synchronization {
            minimum,
            count,
            victims,
        }
    }

    fn stream() -> Stream {
        Stream::new(
            Seed {
                seed: 7,
                replication: 0,
            },
            0,
            Purpose::Victims,
        )
    }

    fn candidates(rates: &[f64]) -> Vec<Candidate> {
        (0..)
            .zip(rates)
            .map(|(i, &rate)| Candidate::new(i, i, rate, 0.1))
            .collect()
    }

    #[test]
    fn counts_stay_in_their_range_and_reach_its_ends() {
        for count in [
            CutCountDistribution::Uniform,
            CutCountDistribution::TruncatedNormal,
        ] {
            let law = law(0.3, count, Victims::Random);
            let mut stream = stream();
            let draws: Vec<usize> = (0..20_000)
                .map(|_| law.draw_count(10, &mut stream))
                .collect();
            assert_eq!(draws.iter().min(), Some(&3));
            assert_eq!(draws.iter().max(), Some(&10));
            let mean = draws.iter().sum::<usize>() as f64 / 20_000.0;
            assert!((mean - 6.5).abs() < 0.06, "{mean}");
        }
        let empirical = law(
            0.0,
            CutCountDistribution::Empirical(vec![0.1, 0.9]),
            Victims::Random,
        );
        let mut stream = stream();
        for _ in 0..100 {
            assert!([1, 9].contains(&empirical.draw_count(10, &mut stream)));
        }
        assert_eq!(
            law(0.3, CutCountDistribution::Fixed, Victims::Random).draw_count(10, &mut stream),
            3
        );
        assert_eq!(
            law(0.6, CutCountDistribution::Fixed, Victims::Random).draw_count(10, &mut stream),
            6
        );
        assert_eq!(
            law(0.0, CutCountDistribution::Fixed, Victims::Random).draw_count(10, &mut stream),
            1
        );
        assert_eq!(
            law(1.0, CutCountDistribution::Uniform, Victims::Random).draw_count(10, &mut stream),
            10
        );
    }

    #[test]
    fn the_highest_rates_are_chosen() {
        let law = law(0.3, CutCountDistribution::Fixed, Victims::HighestRate);
        let mut flows = candidates(&[3.0, 9.0, 1.0, 7.0, 8.0]);
        law.choose(&mut flows, 3, 0, &mut stream());
        let mut chosen: Vec<u32> = flows[..3].iter().map(|c| c.flow).collect();
        chosen.sort_unstable();
        assert_eq!(chosen, [1, 3, 4]);
    }

    #[test]
    fn ties_and_random_victims_are_uniform() {
        for victims in [
            Victims::Random,
            Victims::HighestRate,
            Victims::RateProportional,
        ] {
            let law = law(0.3, CutCountDistribution::Fixed, victims);
            let mut stream = stream();
            let mut hits = [0_u32; 5];
            for _ in 0..50_000 {
                let mut flows = candidates(&[2.0; 5]);
                law.choose(&mut flows, 2, 0, &mut stream);
                flows[..2].iter().for_each(|c| hits[c.flow as usize] += 1);
            }
            for hit in hits {
                assert!((f64::from(hit) - 20_000.0).abs() < 600.0, "{hits:?}");
            }
        }
    }

    #[test]
    fn rate_proportional_follows_the_rates() {
        let law = law(0.0, CutCountDistribution::Fixed, Victims::RateProportional);
        let mut stream = stream();
        let mut hits = [0_u32; 3];
        for _ in 0..60_000 {
            let mut flows = candidates(&[1.0, 2.0, 3.0]);
            law.choose(&mut flows, 1, 0, &mut stream);
            hits[flows[0].flow as usize] += 1;
        }
        for (hit, expected) in hits.iter().zip([10_000.0, 20_000.0, 30_000.0]) {
            assert!((f64::from(*hit) - expected).abs() < 600.0, "{hits:?}");
        }
    }

    #[test]
    fn priority_rows_take_turns() {
        let rows = vec![vec![1.0, 2.0, 3.0], vec![3.0, 2.0, 1.0]];
        let law = law(0.0, CutCountDistribution::Fixed, Victims::Priority(rows));
        for (event, expected) in [(0, 2), (1, 0), (2, 2)] {
            let mut flows = candidates(&[5.0; 3]);
            law.choose(&mut flows, 1, event, &mut stream());
            assert_eq!(flows[0].flow, expected);
        }
    }
}
