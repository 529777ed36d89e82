//! Student's t distribution and the beta distribution: intervals of means over few replications,
//! and of shares of replications.
//!
//! Source: Abramowitz and Stegun 26.7.1 (Student's distribution as an incomplete beta function) and
//! 26.5.8 (its continued fraction, evaluated by Lentz's method). The pinned `libm` computes it, so
//! intervals are the same bytes on every machine.

/// The bound that |T| stays below with probability `confidence`, if T has `degrees` degrees of
/// freedom. It is the factor of a two-sided interval. It is infinite without a degree of freedom. A
/// `confidence` outside of (0, 1) is clamped into it.
pub fn two_sided_quantile(confidence: f64, degrees: u64) -> f64 {
    if degrees == 0 {
        return f64::INFINITY;
    }
    let confidence = confidence.clamp(f64::EPSILON, 1.0 - f64::EPSILON);
    let outside = 1.0 - confidence;
    let mut high = 1.0;
    while two_sided_tail(high, degrees) > outside {
        high *= 2.0;
    }
    bisect(0.0, high, |t| two_sided_tail(t, degrees) <= outside)
}

/// The x that a beta variable with shapes `a` and `b` stays below with a probability in (0, 1).
pub fn beta_quantile(probability: f64, a: f64, b: f64) -> f64 {
    bisect(0.0, 1.0, |x| beta_distribution(x, a, b) >= probability)
}

/// P(|T| > t) = I_x(nu / 2, 1 / 2) with x = nu / (nu + t^2).
fn two_sided_tail(t: f64, degrees: u64) -> f64 {
    let nu = degrees as f64;
    beta_distribution(nu / (nu + t * t), 0.5 * nu, 0.5)
}

/// The smallest value for which a monotone condition holds, to the last bit. It holds at `high`.
fn bisect(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    // A bracket of two doubles has no middle. Ends that are far below 1 need more halvings than 64.
    for _ in 0..1100 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if holds(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

/// The distribution function of the beta distribution with shapes `a` and `b`: the regularized
/// incomplete beta function I_x(a, b).
pub fn beta_distribution(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let log_front = libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b)
        + a * libm::log(x)
        + b * libm::log1p(-x);
    let front = libm::exp(log_front);
    // The fraction converges fast below the mean of the beta distribution.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * continued_fraction(x, a, b) / a
    } else {
        1.0 - front * continued_fraction(1.0 - x, b, a) / b
    }
}

/// The continued fraction of A&S 26.5.8 by Lentz's method.
fn continued_fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for step in 1..=10_000 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / away(1.0 + even * d);
        c = away(1.0 + even / c);
        fraction *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / away(1.0 + odd * d);
        c = away(1.0 + odd / c);
        fraction *= d * c;
        if (d * c - 1.0).abs() < 1e-16 {
            break;
        }
    }
    fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_match_printed_tables() {
        // The values are from A&S table 26.10 and its limit, the normal distribution.
        for (confidence, degrees, expected) in [
            (0.95, 1, 12.706_204_736_174_7),
            (0.95, 2, 4.302_652_729_749_464),
            (0.95, 3, 3.182_446_305_284_263),
            (0.95, 9, 2.262_157_162_740_992),
            (0.95, 30, 2.042_272_456_301_238),
            (0.99, 5, 4.032_142_983_557_536),
            (0.9, 120, 1.657_650_899_394_632),
            (0.95, 100_000_000, 1.959_963_984_540_054),
        ] {
            let found = two_sided_quantile(confidence, degrees);
            assert!(
                (found / expected - 1.0).abs() < 1e-7,
                "{confidence} {degrees}: {found}"
            );
        }
    }

    #[test]
    fn one_degree_is_the_cauchy_distribution() {
        // P(|T| <= t) = 2 atan(t) / pi, so three quarters lie below tan(3 pi / 8).
        let expected = libm::tan(3.0 * std::f64::consts::PI / 8.0);
        assert!((two_sided_quantile(0.75, 1) / expected - 1.0).abs() < 1e-12);
    }

    #[test]
    fn two_degrees_have_a_closed_form() {
        // P(|T| <= t) = t / sqrt(2 + t^2).
        for confidence in [0.1, 0.5, 0.9, 0.95, 0.999] {
            let outside: f64 = 1.0 - confidence * confidence;
            let expected = confidence * (2.0 / outside).sqrt();
            let found = two_sided_quantile(confidence, 2);
            assert!(
                (found / expected - 1.0).abs() < 1e-11,
                "{confidence}: {found} {expected}"
            );
        }
    }

    #[test]
    fn binomial_tails_are_beta_distributions() {
        // P(X >= k) = I_p(k, n - k + 1), and the sum over all outcomes is exact for n = 6, p = 1/4.
        for k in 1..=6_u32 {
            let outcomes = (k..=6).map(|x| {
                let choose = [1.0, 6.0, 15.0, 20.0, 15.0, 6.0, 1.0][x as usize];
                choose * f64::from(3_u32.pow(6 - x)) / f64::from(4_u32.pow(6))
            });
            let expected: f64 = outcomes.sum();
            let found = beta_distribution(0.25, f64::from(k), f64::from(7 - k));
            assert!(
                (found / expected - 1.0).abs() < 1e-13,
                "{k}: {found} {expected}"
            );
        }
    }

    #[test]
    fn beta_quantiles_invert_the_distribution() {
        // With one shape of 1 the distribution is a power: I_x(a, 1) = x^a.
        for (probability, a) in [(0.05, 1.0), (0.05, 20.0), (0.95, 3.0), (1e-9, 2.0)] {
            let expected = libm::pow(probability, 1.0 / a);
            assert!((beta_quantile(probability, a, 1.0) / expected - 1.0).abs() < 1e-12);
            let other = 1.0 - beta_quantile(1.0 - probability, 1.0, a);
            assert!((other / expected - 1.0).abs() < 1e-7, "{probability} {a}");
        }
        for (a, b) in [(0.5, 7.0), (3.0, 3.0), (190.0, 11.0)] {
            let found = beta_distribution(beta_quantile(0.3, a, b), a, b);
            assert!((found - 0.3).abs() < 1e-12, "{a} {b}: {found}");
        }
    }

    #[test]
    fn no_input_panics_and_no_degree_gives_no_interval() {
        assert_eq!(two_sided_quantile(0.95, 0), f64::INFINITY);
        for confidence in [-1.0, 0.0, 1.0, 2.0, f64::INFINITY] {
            for degrees in [1, 7, u64::MAX] {
                assert!(two_sided_quantile(confidence, degrees).is_finite());
            }
        }
    }
}
