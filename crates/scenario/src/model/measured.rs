//! Sizes of transfers as they were measured in data centers, by name: `{ measured = "web_search"
//! }`. Distributions read them.

use forebay_units::Bytes;

/// A measured distribution: points (bytes, share of the transfers that are at most so long), linear
/// in between.
pub(crate) struct Measured {
    /// Name in scenario files.
    pub(crate) name: &'static str,
    /// Where it was measured and who published it.
    pub(crate) source: &'static str,
    points: &'static [(u64, f64)],
}

impl Measured {
    /// The points as sizes.
    pub(crate) fn points(&self) -> Vec<(Bytes, f64)> {
        let points = self.points.iter();
        points.map(|&(size, p)| (Bytes::new(size), p)).collect()
    }
}

/// All of them.
pub(crate) const MEASURED: &[Measured] = &[
    Measured {
        name: "web_search",
        source: "a web search cluster: Alizadeh et al., Data Center TCP, SIGCOMM 2010, figure 4, as \
            given with pFabric, SIGCOMM 2013; mean 1.7 MB",
        points: &[
            (1, 0.0),
            (10_000, 0.15),
            (20_000, 0.2),
            (30_000, 0.3),
            (50_000, 0.4),
            (80_000, 0.53),
            (200_000, 0.6),
            (1_000_000, 0.7),
            (2_000_000, 0.8),
            (5_000_000, 0.9),
            (10_000_000, 0.97),
            (30_000_000, 1.0),
        ],
    },
    Measured {
        name: "data_mining",
        source: "a data-mining cluster: Greenberg et al., VL2, SIGCOMM 2009, figure 2, as given with \
            pFabric, SIGCOMM 2013; mean 12.8 MB, of which nearly all in a fiftieth of the transfers",
        points: &[
            (1, 0.0),
            (180, 0.1),
            (216, 0.2),
            (560, 0.3),
            (900, 0.4),
            (1_100, 0.5),
            (1_870, 0.6),
            (3_160, 0.7),
            (10_000, 0.8),
            (400_000, 0.9),
            (3_160_000, 0.95),
            (100_000_000, 0.98),
            (1_000_000_000, 1.0),
        ],
    },
    Measured {
        name: "hadoop",
        source: "a Hadoop cluster: Roy et al., Inside the Social Network's (Datacenter) Network, \
            SIGCOMM 2015, figure 6, as given with HPCC, SIGCOMM 2019; mean 0.12 MB",
        points: &[
            (1, 0.0),
            (100, 0.01),
            (200, 0.02),
            (300, 0.05),
            (350, 0.15),
            (400, 0.2),
            (500, 0.3),
            (600, 0.4),
            (700, 0.5),
            (1_000, 0.6),
            (2_000, 0.67),
            (7_000, 0.7),
            (30_000, 0.72),
            (50_000, 0.82),
            (80_000, 0.87),
            (120_000, 0.9),
            (300_000, 0.95),
            (1_000_000, 0.975),
            (2_000_000, 0.99),
            (10_000_000, 1.0),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Trapezoids under the inverse of the distribution: the means that go round with these data.
    #[test]
    fn the_means_are_those_that_are_known() {
        for (name, low, high) in [
            ("web_search", 1.6e6, 1.8e6),
            ("data_mining", 12.0e6, 13.5e6),
            ("hadoop", 0.11e6, 0.13e6),
        ] {
            let distribution = MEASURED
                .iter()
                .find(|distribution| distribution.name == name);
            let points = distribution.map(Measured::points).unwrap_or_default();
            let area = |pair: &[(Bytes, f64)]| {
                let (a, b) = (pair[0], pair[1]);
                (b.1 - a.1) * (a.0.get() + b.0.get()) as f64 / 2.0
            };
            let mean: f64 = points.windows(2).map(area).sum();
            assert!((low..high).contains(&mean), "{name} {mean}");
        }
    }

    #[test]
    fn values_and_probabilities_rise_to_one() {
        for distribution in MEASURED {
            let points = distribution.points();
            assert!(points.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1));
            assert_eq!(points.last().map(|point| point.1), Some(1.0));
        }
    }
}
