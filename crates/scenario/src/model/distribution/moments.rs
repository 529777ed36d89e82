//! The properties of a law that need no draws: its quantiles, its means and its ends.

use crate::model::distribution::{Distribution, Quantity};

impl<T: Quantity> Distribution<T> {
    /// Inverse of the distribution function, for Pareto and empirical laws, in base units.
    pub(super) fn quantile(&self, u: f64) -> f64 {
        match self {
            Self::Pareto {
                shape,
                minimum,
                maximum,
            } => {
                let below = maximum.map_or(0.0, |max| {
                    libm::pow(minimum.to_real() / max.to_real(), *shape)
                });
                let tail = 1.0 - u * (1.0 - below);
                minimum.to_real() * libm::pow(tail, -1.0 / shape)
            }
            Self::Cdf(points) => {
                let at = points
                    .partition_point(|(_, p)| *p < u)
                    .clamp(1, points.len() - 1);
                let ((x0, p0), (x1, p1)) = (points[at - 1], points[at]);
                let (x0, x1) = (x0.to_real(), x1.to_real());
                if p1 > p0 {
                    x0 + (x1 - x0) * ((u - p0) / (p1 - p0)).clamp(0.0, 1.0)
                } else {
                    x1
                }
            }
            _ => 0.0,
        }
    }

    /// Equally likely values that stand for the law, in base units: exact for values, lists,
    /// linspace (over `count` flows) and choices; quantile midpoints of the others.
    pub fn representatives(&self, count: u64) -> Vec<f64> {
        const POINTS: usize = 1024;
        let grid = || (0..POINTS).map(|k| (k as f64 + 0.5) / POINTS as f64);
        match self {
            Self::Value(x) => vec![x.to_real()],
            Self::List(list) | Self::Choice(list) => list.iter().map(|x| x.to_real()).collect(),
            Self::Linspace(a, b) => {
                let (a, b, n) = (a.to_real(), b.to_real(), count.clamp(1, 1 << 20));
                let step = if n > 1 { (b - a) / (n - 1) as f64 } else { 0.0 };
                (0..n).map(|k| a + step * k as f64).collect()
            }
            Self::Uniform(a, b) => {
                let (a, b) = (a.to_real(), b.to_real());
                grid().map(|u| a + (b - a) * u).collect()
            }
            Self::Exponential(mean) => grid().map(|u| -mean.to_real() * libm::log1p(-u)).collect(),
            Self::Pareto { .. } | Self::Cdf(_) => grid().map(|u| self.quantile(u)).collect(),
            Self::Lognormal { median, sigma } => grid()
                .map(|u| median.to_real() * libm::exp(sigma * normal_quantile(u)))
                .collect(),
            Self::Weibull { shape, scale } => grid()
                .map(|u| scale.to_real() * libm::pow(-libm::log1p(-u), 1.0 / shape))
                .collect(),
            Self::Mixture(parts) => {
                let mut all = Vec::new();
                for (weight, distribution) in parts {
                    let points = distribution.representatives(count);
                    let copies = (weight * POINTS as f64).round() as usize;
                    all.extend((0..copies).map(|k| points[k * points.len() / copies.max(1)]));
                }
                if all.is_empty() {
                    parts[0].1.representatives(count)
                } else {
                    all
                }
            }
            Self::Jitter { base, jitter } => {
                let added = jitter.representatives(count);
                let base = base.representatives(count);
                let step = added.len().div_ceil(64);
                base.iter()
                    .flat_map(|x| added.iter().step_by(step).map(move |y| x + y))
                    .collect()
            }
        }
    }

    /// Mean in base units; infinite for a Pareto law of shape 1 or less without a maximum.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Value(x) | Self::Exponential(x) => x.to_real(),
            Self::List(list) | Self::Choice(list) => {
                list.iter().map(|x| x.to_real()).sum::<f64>() / list.len() as f64
            }
            Self::Uniform(a, b) | Self::Linspace(a, b) => f64::midpoint(a.to_real(), b.to_real()),
            Self::Pareto {
                shape,
                minimum,
                maximum,
            } => pareto_mean(*shape, minimum.to_real(), maximum.map(Quantity::to_real)),
            Self::Lognormal { median, sigma } => median.to_real() * libm::exp(sigma * sigma / 2.0),
            Self::Weibull { shape, scale } => scale.to_real() * libm::tgamma(1.0 + 1.0 / shape),
            Self::Mixture(parts) => parts
                .iter()
                .map(|(weight, distribution)| weight * distribution.mean())
                .sum(),
            Self::Cdf(points) => {
                points
                    .windows(2)
                    .map(|w| f64::midpoint(w[0].0.to_real(), w[1].0.to_real()) * (w[1].1 - w[0].1))
                    .sum::<f64>()
                    + points[0].0.to_real() * points[0].1
            }
            Self::Jitter { base, jitter } => base.mean() + jitter.mean(),
        }
    }

    /// Mean of 1/x in 1/base units over `count` flows: what a harmonic mean needs. Infinite where
    /// the law reaches down to zero (exponential, Weibull of shape 1 or less).
    pub fn mean_inverse(&self, count: u64) -> f64 {
        match self {
            Self::Uniform(a, b) if a.to_real() > 0.0 && b > a => {
                let (a, b) = (a.to_real(), b.to_real());
                libm::log(b / a) / (b - a)
            }
            Self::Lognormal { median, sigma } => libm::exp(sigma * sigma / 2.0) / median.to_real(),
            Self::Pareto {
                shape,
                minimum,
                maximum: None,
            } => shape / ((shape + 1.0) * minimum.to_real()),
            Self::Exponential(_) => f64::INFINITY,
            Self::Weibull { shape, .. } if *shape <= 1.0 => f64::INFINITY,
            Self::Weibull { shape, scale } => libm::tgamma(1.0 - 1.0 / shape) / scale.to_real(),
            Self::Mixture(parts) => parts
                .iter()
                .map(|(weight, distribution)| weight * distribution.mean_inverse(count))
                .sum(),
            _ => {
                let points = self.representatives(count);
                points.iter().map(|x| 1.0 / x).sum::<f64>() / points.len() as f64
            }
        }
    }

    /// Mean of ceil(x / unit), at least 1: the packets of a transfer whose payload follows the law.
    pub fn mean_units(&self, unit: f64) -> f64 {
        match self {
            Self::Exponential(mean) => 1.0 / -libm::expm1(-unit / mean.to_real()),
            Self::Mixture(parts) => parts
                .iter()
                .map(|(weight, distribution)| weight * distribution.mean_units(unit))
                .sum(),
            Self::Pareto { .. } | Self::Lognormal { .. } => {
                // Euler-Maclaurin: sum of P(X > k unit) over k >= 0 is the mean plus one half.
                self.mean() / unit + 0.5
            }
            Self::Weibull { .. } => {
                // A few points are not enough for the mean of a heavy tail, but for what rounding
                // adds.
                let points = self.representatives(1);
                let rounding = points.iter().map(|x| (x / unit).ceil() - x / unit);
                self.mean() / unit + rounding.sum::<f64>() / points.len() as f64
            }
            _ => {
                let points = self.representatives(1);
                points
                    .iter()
                    .map(|x| (x / unit).ceil().max(1.0))
                    .sum::<f64>()
                    / points.len() as f64
            }
        }
    }

    /// Smallest value the law can give, in base units.
    pub fn infimum(&self) -> f64 {
        match self {
            Self::Value(x) => x.to_real(),
            Self::List(list) | Self::Choice(list) => list
                .iter()
                .map(|x| x.to_real())
                .fold(f64::INFINITY, f64::min),
            Self::Uniform(a, b) | Self::Linspace(a, b) => a.to_real().min(b.to_real()),
            Self::Exponential(_) | Self::Lognormal { .. } | Self::Weibull { .. } => 0.0,
            Self::Pareto { minimum, .. } => minimum.to_real(),
            Self::Mixture(parts) => parts
                .iter()
                .map(|(_, distribution)| distribution.infimum())
                .fold(f64::INFINITY, f64::min),
            Self::Cdf(points) => points[0].0.to_real(),
            Self::Jitter { base, jitter } => base.infimum() + jitter.infimum(),
        }
    }

    /// Largest value the law can give, in base units; infinite for unbounded laws.
    pub fn supremum(&self) -> f64 {
        match self {
            Self::Value(x) => x.to_real(),
            Self::List(list) | Self::Choice(list) => {
                list.iter().map(|x| x.to_real()).fold(0.0, f64::max)
            }
            Self::Uniform(a, b) | Self::Linspace(a, b) => a.to_real().max(b.to_real()),
            Self::Exponential(_) | Self::Lognormal { .. } | Self::Weibull { .. } => f64::INFINITY,
            Self::Pareto { maximum, .. } => maximum.map_or(f64::INFINITY, Quantity::to_real),
            Self::Mixture(parts) => parts
                .iter()
                .map(|(_, distribution)| distribution.supremum())
                .fold(0.0, f64::max),
            Self::Cdf(points) => points[points.len() - 1].0.to_real(),
            Self::Jitter { base, jitter } => base.supremum() + jitter.supremum(),
        }
    }
}

/// Standard normal quantile by bisection on erfc; only used where speed does not matter.
fn normal_quantile(u: f64) -> f64 {
    let (mut low, mut high) = (-10.0, 10.0);
    for _ in 0..60 {
        let x = f64::midpoint(low, high);
        if 0.5 * libm::erfc(-x / std::f64::consts::SQRT_2) < u {
            low = x;
        } else {
            high = x;
        }
    }
    f64::midpoint(low, high)
}

fn pareto_mean(shape: f64, minimum: f64, maximum: Option<f64>) -> f64 {
    match maximum {
        None if shape <= 1.0 => f64::INFINITY,
        None => minimum * shape / (shape - 1.0),
        Some(maximum) => {
            let ratio = minimum / maximum;
            if (shape - 1.0).abs() < 1e-9 {
                return minimum * libm::log(1.0 / ratio) / (1.0 - ratio);
            }
            minimum * shape / (shape - 1.0) * (1.0 - libm::pow(ratio, shape - 1.0))
                / (1.0 - libm::pow(ratio, shape))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_random::{Purpose, Seed, Stream};
    use forebay_units::{Bytes, Time};

    fn weibull(shape: f64, seconds: f64) -> Distribution<Time> {
        let scale = Time::from_secs_f64(seconds);
        Distribution::Weibull { shape, scale }
    }

    fn close(ours: f64, theirs: f64, tolerance: f64) {
        assert!((ours / theirs - 1.0).abs() < tolerance, "{ours} {theirs}");
    }

    /// Gamma(1 + 1/k) for k = 1 (exponential), 2 (Rayleigh) and 1/2: 1, sqrt(pi)/2 and 2.
    #[test]
    fn a_weibull_law_has_its_mean_and_its_harmonic_mean() {
        let root = std::f64::consts::PI.sqrt();
        close(weibull(1.0, 3.0).mean(), 3.0, 1e-12);
        close(weibull(2.0, 3.0).mean(), 1.5 * root, 1e-12);
        close(weibull(0.5, 3.0).mean(), 6.0, 1e-12);
        // E[1/X] = Gamma(1 - 1/k) / scale; Gamma(1/2) = sqrt(pi).
        close(weibull(2.0, 4.0).mean_inverse(1), root / 4.0, 1e-12);
        assert_eq!(weibull(1.0, 4.0).mean_inverse(1), f64::INFINITY);
    }

    /// 40,000 draws: each quartile is exceeded by its share of them, within four standard errors,
    /// and so is the mean.
    #[test]
    fn draws_of_a_weibull_law_follow_it() {
        const DRAWS: u64 = 40_000;
        for shape in [0.5, 1.0, 2.0] {
            let distribution = weibull(shape, 1.0);
            let mut stream = Stream::new(Seed::default(), 0, Purpose::FlowCount);
            let draws: Vec<f64> = (0..DRAWS)
                .map(|_| distribution.draw(0, 1, &mut stream).to_real())
                .collect();
            for share in [0.25, 0.5, 0.75] {
                let quantile = libm::pow(-libm::log(share), 1.0 / shape);
                let above = draws.iter().filter(|x| **x > quantile).count() as f64;
                let error = (share * (1.0 - share) / DRAWS as f64).sqrt();
                assert!(
                    (above / DRAWS as f64 - share).abs() < 4.0 * error,
                    "{shape} {share}"
                );
            }
            let mean = draws.iter().sum::<f64>() / DRAWS as f64;
            // Variance: Gamma(1 + 2/k) - Gamma(1 + 1/k)^2.
            let variance =
                libm::tgamma(1.0 + 2.0 / shape) - distribution.mean() * distribution.mean();
            let error = (variance / DRAWS as f64).sqrt();
            assert!(
                (mean - distribution.mean()).abs() < 4.0 * error,
                "{shape} {mean}"
            );
        }
    }

    /// A Weibull law of shape 1 is the exponential law, whose packets are known exactly.
    #[test]
    fn packets_of_a_weibull_law_of_shape_one_are_those_of_the_exponential() {
        for kilobytes in [1, 10, 300] {
            let scale = Bytes::new(1000 * kilobytes);
            let ours = Distribution::Weibull { shape: 1.0, scale }.mean_units(1460.0);
            close(
                ours,
                Distribution::Exponential(scale).mean_units(1460.0),
                1e-3,
            );
        }
    }

    fn millis(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    /// A law of every kind, and of each of its forms; tails short enough for a thousand points to
    /// stand for them.
    fn all() -> Vec<Distribution<Time>> {
        let (ten, forty) = (millis(10), millis(40));
        let parts = vec![
            (0.25, Distribution::Value(forty)),
            (0.75, Distribution::Uniform(ten, forty)),
        ];
        let jitter = |base| Distribution::Jitter {
            base: Box::new(base),
            jitter: Box::new(Distribution::Uniform(millis(2), millis(12))),
        };
        let pareto = |shape, maximum| Distribution::Pareto {
            shape,
            minimum: ten,
            maximum,
        };
        vec![
            Distribution::Value(ten),
            Distribution::List(vec![ten, forty, millis(15)]),
            Distribution::Uniform(ten, forty),
            Distribution::Linspace(ten, forty),
            Distribution::Linspace(forty, ten),
            Distribution::Exponential(ten),
            pareto(4.0, None),
            pareto(1.5, Some(millis(80))),
            pareto(1.0, Some(millis(80))),
            pareto(0.5, Some(millis(80))),
            Distribution::Lognormal {
                median: ten,
                sigma: 0.4,
            },
            Distribution::Weibull {
                shape: 2.5,
                scale: ten,
            },
            Distribution::Choice(vec![ten, forty, millis(20)]),
            Distribution::Mixture(parts),
            Distribution::Cdf(vec![
                (ten, 0.25),
                (millis(20), 0.5),
                (millis(20), 0.625),
                (millis(80), 1.0),
            ]),
            jitter(Distribution::Value(ten)),
            jitter(Distribution::List(vec![ten, forty])),
        ]
    }

    fn average(points: &[f64]) -> f64 {
        points.iter().sum::<f64>() / points.len() as f64
    }

    /// Whether the mean of one over a draw is infinite, as where draws come near zero.
    fn reaches_zero(distribution: &Distribution<Time>) -> bool {
        matches!(distribution, Distribution::Exponential(_))
    }

    /// The properties computed without draws agree with those of equally likely values that
    /// represent the law.
    #[test]
    fn values_that_stand_for_a_law_have_its_means_and_ends() {
        for distribution in all() {
            let points = distribution.representatives(3);
            // For the addition of a jitter there are 64 points, the first at its beginning.
            close(average(&points), distribution.mean(), 6e-3);
            let inverse: Vec<f64> = points.iter().map(|x| 1.0 / x).collect();
            if reaches_zero(&distribution) {
                assert_eq!(distribution.mean_inverse(3), f64::INFINITY);
            } else {
                close(average(&inverse), distribution.mean_inverse(3), 6e-3);
            }
            let (low, high) = (distribution.infimum(), distribution.supremum());
            for x in &points {
                assert!(
                    (low - 1e-12..=high + 1e-12).contains(x),
                    "{distribution:?} {low} {x} {high}"
                );
            }
            // The ends are reached, or nearly.
            let least = points.iter().copied().fold(f64::INFINITY, f64::min);
            let most = points.iter().copied().fold(0.0, f64::max);
            let unbounded = matches!(
                distribution,
                Distribution::Lognormal { .. }
                    | Distribution::Weibull { .. }
                    | Distribution::Exponential(_)
            );
            assert!(
                least < 1.02 * low || (unbounded && low == 0.0),
                "{distribution:?} {least}"
            );
            assert!(
                most > 0.95 * high || high == f64::INFINITY,
                "{distribution:?} {most}"
            );
            assert_eq!(
                high == f64::INFINITY,
                unbounded || matches!(distribution, Distribution::Pareto { maximum: None, .. })
            );
        }
    }

    /// The same holds for sizes: packets of a transfer, rounded up, are at least one.
    #[test]
    fn packets_of_a_transfer_are_rounded_up() {
        let kb = |n: u64| Bytes::new(1000 * n);
        let pareto = |shape, maximum| Distribution::Pareto {
            shape,
            minimum: kb(40),
            maximum,
        };
        let part = |weight, distribution| (weight, distribution);
        for (distribution, tolerance) in [
            (Distribution::Value(kb(10)), 1e-12),
            (Distribution::List(vec![kb(1), kb(10), kb(33)]), 1e-12),
            (Distribution::Uniform(kb(1), kb(10)), 1e-2),
            (Distribution::Exponential(kb(1)), 1e-2),
            (Distribution::Exponential(kb(100)), 1e-2),
            (pareto(3.0, None), 1e-2),
            (pareto(1.2, Some(kb(400))), 1e-2),
            (
                Distribution::Lognormal {
                    median: kb(50),
                    sigma: 0.5,
                },
                1e-2,
            ),
            (
                Distribution::Weibull {
                    shape: 1.5,
                    scale: kb(5),
                },
                1e-2,
            ),
            (Distribution::Choice(vec![kb(1), kb(3)]), 1e-12),
            (
                Distribution::Mixture(vec![
                    part(0.25, Distribution::Value(kb(9))),
                    part(0.75, Distribution::Exponential(kb(2))),
                ]),
                1e-2,
            ),
            (
                Distribution::Cdf(vec![(kb(1), 0.0), (kb(20), 0.5), (kb(50), 1.0)]),
                1e-2,
            ),
        ] {
            let points = distribution.representatives(1);
            for unit in [700.0, 1460.0, 9000.0] {
                let packets: Vec<f64> = points.iter().map(|x| (x / unit).ceil().max(1.0)).collect();
                let found = distribution.mean_units(unit);
                // The half packet of Euler and Maclaurin wants sizes of several packets.
                if matches!(
                    distribution,
                    Distribution::Lognormal { .. } | Distribution::Pareto { .. }
                ) && unit > 5000.0
                {
                    continue;
                }
                close(found, average(&packets), tolerance);
            }
        }
    }

    /// Draws have the mean of the law, within four standard errors, lie between its ends, and are
    /// on either side of its median equally often.
    #[test]
    fn draws_follow_their_law() {
        const DRAWS: u64 = 24_000;
        for distribution in all() {
            let mut stream = Stream::new(Seed::default(), 1, Purpose::FlowCount);
            let draws: Vec<f64> = (0..DRAWS)
                .map(|n| distribution.draw(n % 6, 6, &mut stream).to_real())
                .collect();
            let mean = average(&draws);
            let variance = average(
                &draws
                    .iter()
                    .map(|x| (x - mean) * (x - mean))
                    .collect::<Vec<_>>(),
            );
            let error = 4.0 * (variance / DRAWS as f64).sqrt();
            assert!(
                (mean - distribution.mean()).abs() <= error.max(2e-3 * mean),
                "{distribution:?} {mean} {}",
                distribution.mean()
            );
            let (low, high) = (distribution.infimum(), distribution.supremum());
            assert!(
                draws
                    .iter()
                    .all(|x| (low - 1e-12..=high + 1e-12).contains(x)),
                "{distribution:?}"
            );
            let mut points = distribution.representatives(6);
            points.sort_by(f64::total_cmp);
            for share in [0.25, 0.5, 0.75] {
                let at = points[(share * points.len() as f64) as usize];
                let of = |values: &[f64], margin: f64| {
                    values.iter().filter(|x| **x < at * margin).count() as f64 / values.len() as f64
                };
                // A value that is drawn again and again may lie on either side.
                let (least, most) = (of(&points, 1.0 - 1e-3), of(&points, 1.0 + 1e-3));
                let (found_least, found_most) = (of(&draws, 1.0 - 1e-3), of(&draws, 1.0 + 1e-3));
                assert!(
                    (found_least - least).abs() < 0.025,
                    "{distribution:?} {share} {found_least} {least}"
                );
                assert!(
                    (found_most - most).abs() < 0.025,
                    "{distribution:?} {share} {found_most} {most}"
                );
            }
        }
    }
}
