//! Periods in progress: the state in which an independent instant finds a sequence of independent
//! periods of one law, as in the steady state.
//!
//! An instant falls into a long period more often than into a short one, in proportion to its
//! length, and anywhere within it alike (Cox, Renewal Theory, 1962, section 5.4). The remainder of
//! the period then has the mean E[X^2] / (2 E[X]).

use forebay_random::Stream;
use forebay_units::Time;

use crate::model::distribution::{Distribution, Quantity};

/// A period in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnderWay {
    /// How long it has lasted.
    pub elapsed: Time,
    /// How long it still lasts.
    pub left: Time,
}

impl Distribution<Time> {
    /// The period of flow `index` of `count` that an instant falls into. The law has a finite mean.
    ///
    /// ```
    /// use forebay_random::{Purpose, Seed, Stream};
    /// use forebay_scenario::Distribution;
    /// use forebay_units::Time;
    ///
    /// let mut stream = Stream::new(Seed::default(), 0, Purpose::Phase);
    /// let always = Distribution::Value(Time::from_millis(20)).under_way(0, 1, &mut stream);
    /// assert_eq!(always.elapsed + always.left, Time::from_millis(20));
    /// ```
    pub fn under_way(&self, index: u64, count: u64, stream: &mut Stream) -> UnderWay {
        let length = self.found(index, count, stream);
        let elapsed = length * stream.uniform();
        UnderWay {
            elapsed: Time::from_real(elapsed),
            left: Time::from_real(length - elapsed),
        }
    }
}

impl<T: Quantity> Distribution<T> {
    /// A draw in which each value counts in proportion to its size, in base units.
    fn found(&self, index: u64, count: u64, stream: &mut Stream) -> f64 {
        match self {
            // For one flow these are a value.
            Self::Value(_) | Self::List(_) | Self::Linspace(..) => {
                self.draw(index, count, stream).to_real()
            }
            Self::Uniform(a, b) => found_between(a.to_real(), b.to_real(), stream),
            // Its density times x is that of a sum of two.
            Self::Exponential(mean) => {
                mean.to_real() * (stream.exponential() + stream.exponential())
            }
            Self::Pareto {
                shape,
                minimum,
                maximum,
            } => {
                let ends = (minimum.to_real(), maximum.map(Quantity::to_real));
                found_of_pareto(*shape, ends, stream.uniform())
            }
            // x exp(-(ln x - m)^2 / 2s^2) is the density around m + s^2.
            Self::Lognormal { median, sigma } => {
                median.to_real() * libm::exp(sigma * (sigma + stream.normal()))
            }
            // With y = (x / scale)^k the density times x becomes y^(1/k) exp(-y).
            Self::Weibull { shape, scale } => {
                let power = gamma(1.0 + 1.0 / shape, stream);
                scale.to_real() * libm::pow(power, 1.0 / shape)
            }
            Self::Choice(list) => {
                let sizes: Vec<f64> = list.iter().map(|x| x.to_real()).collect();
                sizes[one_of(&sizes, stream)]
            }
            Self::Mixture(parts) => {
                let sizes: Vec<f64> = parts
                    .iter()
                    .map(|(w, distribution)| w * distribution.mean())
                    .collect();
                let (_, distribution) = &parts[one_of(&sizes, stream)];
                distribution.found(index, count, stream)
            }
            Self::Cdf(points) => {
                let mut sizes = vec![points[0].0.to_real() * points[0].1];
                sizes.extend(points.windows(2).map(|ends| {
                    let middle = f64::midpoint(ends[0].0.to_real(), ends[1].0.to_real());
                    middle * (ends[1].1 - ends[0].1)
                }));
                match one_of(&sizes, stream) {
                    0 => points[0].0.to_real(),
                    n => found_between(points[n - 1].0.to_real(), points[n].0.to_real(), stream),
                }
            }
            // A sum counts by its one part or by its other.
            Self::Jitter { base, jitter } => match one_of(&[base.mean(), jitter.mean()], stream) {
                0 => base.found(index, count, stream) + jitter.draw(0, 1, stream).to_real(),
                _ => base.draw(index, count, stream).to_real() + jitter.found(0, 1, stream),
            },
        }
    }
}

/// One of the numbers, in proportion to them; the first where all are zero.
fn one_of(sizes: &[f64], stream: &mut Stream) -> usize {
    let mut left = stream.uniform() * sizes.iter().sum::<f64>();
    for (at, size) in sizes.iter().enumerate() {
        if left < *size {
            return at;
        }
        left -= size;
    }
    // The remainder of rounding belongs to the last item that counts.
    sizes.iter().rposition(|size| *size > 0.0).unwrap_or(0)
}

/// With a density of x between `a` and `b`.
fn found_between(a: f64, b: f64, stream: &mut Stream) -> f64 {
    (a * a + (b * b - a * a) * stream.uniform()).sqrt()
}

/// With a density of x^-shape from the minimum on: where there is no maximum, the shape is above 1.
fn found_of_pareto(shape: f64, (minimum, maximum): (f64, Option<f64>), u: f64) -> f64 {
    let tail = shape - 1.0;
    let Some(maximum) = maximum else {
        return minimum * libm::pow(1.0 - u, -1.0 / tail);
    };
    let span = libm::log(maximum / minimum);
    // The power at the minimum is 1; at a shape of 1 the law is uniform in the logarithm.
    let far = libm::expm1(-tail * span);
    if far.abs() < 1e-9 {
        return minimum * libm::exp(u * span);
    }
    minimum * libm::exp(-libm::log1p(u * far) / tail)
}

/// Gamma with this shape, 1 or more, and scale 1 (Marsaglia and Tsang, A simple method for
/// generating gamma variables, 2000).
fn gamma(shape: f64, stream: &mut Stream) -> f64 {
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = stream.normal();
        let v = libm::pow(1.0 + c * x, 3.0);
        if 1.0 + c * x > 0.0
            && libm::log(stream.uniform_positive()) < 0.5 * x * x + d * (1.0 - v + libm::log(v))
        {
            return d * v;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_random::{Purpose, Seed};

    const DRAWS: u64 = 60_000;

    fn millis(ms: f64) -> Time {
        Time::from_secs_f64(ms * 1e-3)
    }

    /// A law with its first two moments and the probability of 30 ms at least, each from its own
    /// formula or an integral of the density, in units of 10 ms.
    fn distributions() -> Vec<(Distribution<Time>, f64, f64)> {
        let ten = millis(10.0);
        let pareto = |shape, maximum| Distribution::Pareto {
            shape,
            minimum: ten,
            maximum,
        };
        // For shape a up to m: E[X^k] = a (1 - m^(k-a)) / ((a - k) (1 - m^-a)).
        let cut = |a: f64, k: f64, m: f64| {
            a * (1.0 - libm::pow(m, k - a)) / ((a - k) * (1.0 - libm::pow(m, -a)))
        };
        let parts = vec![
            (0.25, Distribution::Exponential(millis(40.0))),
            (0.75, Distribution::Value(ten)),
        ];
        let points = vec![(ten, 0.2), (millis(20.0), 0.6), (millis(80.0), 1.0)];
        let jitter = Distribution::Jitter {
            base: Box::new(Distribution::Value(ten)),
            jitter: Box::new(Distribution::Uniform(Time::ZERO, millis(30.0))),
        };
        vec![
            (Distribution::Value(ten), 1.0, 1.0),
            (
                Distribution::Uniform(ten, millis(50.0)),
                3.0,
                (125.0 - 1.0) / 12.0,
            ),
            (Distribution::Exponential(ten), 1.0, 2.0),
            (pareto(3.5, None), 3.5 / 2.5, 3.5 / 1.5),
            (
                pareto(1.5, Some(millis(1000.0))),
                cut(1.5, 1.0, 100.0),
                cut(1.5, 2.0, 100.0),
            ),
            (
                pareto(0.5, Some(millis(90.0))),
                cut(0.5, 1.0, 9.0),
                cut(0.5, 2.0, 9.0),
            ),
            (
                pareto(1.0, Some(millis(90.0))),
                libm::log(9.0) / (1.0 - 1.0 / 9.0),
                8.0 / (1.0 - 1.0 / 9.0),
            ),
            (
                Distribution::Lognormal {
                    median: ten,
                    sigma: 0.5,
                },
                libm::exp(0.125),
                libm::exp(0.5),
            ),
            (
                Distribution::Weibull {
                    shape: 0.8,
                    scale: ten,
                },
                libm::tgamma(2.25),
                libm::tgamma(3.5),
            ),
            (
                Distribution::Weibull {
                    shape: 3.0,
                    scale: ten,
                },
                libm::tgamma(4.0 / 3.0),
                libm::tgamma(5.0 / 3.0),
            ),
            (
                Distribution::Choice(vec![ten, millis(20.0), millis(60.0)]),
                3.0,
                41.0 / 3.0,
            ),
            (
                Distribution::Mixture(parts),
                0.25 * 4.0 + 0.75,
                0.25 * 32.0 + 0.75,
            ),
            (
                Distribution::Cdf(points),
                0.2 + 0.4 * 1.5 + 0.4 * 5.0,
                0.2 + 0.4 * 7.0 / 3.0 + 0.4 * 28.0,
            ),
            (jitter, 2.5, 1.0 + 3.0 + 3.0),
        ]
    }

    /// Mean and its standard error over many draws, in units of 10 ms.
    fn mean(draw: impl FnMut(u64) -> f64) -> (f64, f64) {
        let values: Vec<f64> = (0..DRAWS).map(draw).map(|x| x * 100.0).collect();
        let n = DRAWS as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
        (mean, (variance / n).sqrt())
    }

    #[test]
    fn what_is_left_of_a_period_has_the_mean_of_renewal_theory() {
        for (distribution, first, second) in distributions() {
            let draw = |n| {
                distribution.under_way(0, 1, &mut Stream::new(Seed::default(), n, Purpose::Phase))
            };
            let (left, error) = mean(|n| draw(n).left.as_secs_f64());
            let (elapsed, _) = mean(|n| draw(n).elapsed.as_secs_f64());
            let wanted = second / (2.0 * first);
            assert!(
                (distribution.mean() * 100.0 / first - 1.0).abs() < 1e-9,
                "{distribution:?}"
            );
            assert!(
                (left - wanted).abs() < 4.0 * error,
                "{distribution:?}: {left} {wanted} {error}"
            );
            assert!(
                (elapsed - wanted).abs() < 4.0 * error,
                "{distribution:?}: {elapsed} {wanted}"
            );
        }
    }

    /// Whatever the law, one over the length found has the mean one over the mean length.
    #[test]
    fn lengths_count_in_proportion_to_themselves() {
        for (distribution, first, _) in distributions() {
            let (inverse, error) = mean(|n| {
                let mut stream = Stream::new(Seed::default(), n, Purpose::Phase);
                1e-4 / distribution.found(0, 1, &mut stream)
            });
            assert!(
                (inverse - 1.0 / first).abs() < 4.0 * error + 1e-9,
                "{distribution:?}: {inverse} {first}"
            );
        }
    }

    #[test]
    fn what_never_happens_is_not_found() {
        let mut stream = Stream::new(Seed::default(), 0, Purpose::Phase);
        let distribution = Distribution::Choice(vec![Time::ZERO, millis(10.0), Time::ZERO]);
        for _ in 0..1000 {
            let period = distribution.under_way(0, 1, &mut stream);
            assert_eq!(period.elapsed + period.left, millis(10.0));
        }
        let never = Distribution::Value(Time::ZERO).under_way(0, 1, &mut stream);
        assert_eq!((never.elapsed, never.left), (Time::ZERO, Time::ZERO));
    }
}
