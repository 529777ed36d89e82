//! Numerical methods that the models share: bracketed roots, quadrature, the normal distribution.

use crate::error::{FormulaError, check};

/// Root of `function` between `low` and `high`, to the last bits. The signs at the two ends must
/// differ.
///
/// The method is Chandrupatla's (Advances in Engineering Software 28, 1997). It takes inverse
/// quadratic steps. It bisects if these would not be safe or a value is infinite.
pub(crate) fn root(
    quantity: &'static str,
    (low, high): (f64, f64),
    mut function: impl FnMut(f64) -> f64,
) -> Result<f64, FormulaError> {
    let (mut b, mut a) = (low, high);
    let (mut fb, mut fa) = (function(b), function(a));
    if fb == 0.0 {
        return Ok(b);
    }
    if fa == 0.0 {
        return Ok(a);
    }
    if fa.is_nan() || fb.is_nan() || (fa > 0.0) == (fb > 0.0) {
        return Err(FormulaError::Unreachable {
            quantity,
            found: f64::NAN,
            bound: format!("the equation has no root between {low} and {high}"),
        });
    }
    let mut step = 0.5;
    for _ in 0..400 {
        let x = a + step * (b - a);
        let fx = function(x);
        if fx.is_nan() {
            return Err(FormulaError::NotRepresentable {
                quantity,
                found: fx,
            });
        }
        let (c, fc) = if (fx > 0.0) == (fa > 0.0) {
            (a, fa)
        } else {
            let old = (b, fb);
            (b, fb) = (a, fa);
            old
        };
        (a, fa) = (x, fx);
        let (best, value) = if fa.abs() < fb.abs() {
            (a, fa)
        } else {
            (b, fb)
        };
        let limit = (2.0 * f64::EPSILON * best.abs() + f64::MIN_POSITIVE) / (b - a).abs();
        if value == 0.0 || limit > 0.5 {
            return Ok(best);
        }
        step = next_step((a, fa), (b, fb), (c, fc)).clamp(limit, 1.0 - limit);
    }
    Ok(0.5 * (a + b))
}

/// Chandrupatla's choice: inverse quadratic interpolation if it is safe, otherwise the middle.
fn next_step((a, fa): (f64, f64), (b, fb): (f64, f64), (c, fc): (f64, f64)) -> f64 {
    let xi = (a - b) / (c - b);
    let phi = (fa - fb) / (fc - fb);
    if !(phi * phi < xi && (1.0 - phi) * (1.0 - phi) < 1.0 - xi) {
        return 0.5;
    }
    let step =
        fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb);
    if step.is_finite() { step } else { 0.5 }
}

/// An interval around `start` over which the decreasing `function` changes sign.
///
/// The search doubles its width from 1 up to `reach` on either side.
pub(crate) fn bracket_decreasing(
    quantity: &'static str,
    (start, reach): (f64, f64),
    mut function: impl FnMut(f64) -> f64,
) -> Result<(f64, f64), FormulaError> {
    let above = function(start) > 0.0;
    let (mut near, mut width) = (start, 1.0);
    while width <= reach {
        let far = if above { start + width } else { start - width };
        let value = function(far);
        if value.is_nan() {
            return Err(FormulaError::NotRepresentable {
                quantity,
                found: value,
            });
        }
        if (value > 0.0) != above {
            return Ok(if above { (near, far) } else { (far, near) });
        }
        near = far;
        width *= 2.0;
    }
    Err(FormulaError::Unreachable {
        quantity,
        found: near,
        bound: format!("no sign change within {reach} of {start}"),
    })
}

/// Integral of a smooth `function` from `low` to `high`, by 8-point Gauss-Legendre on panels of at
/// most `panel`.
pub(crate) fn integral((low, high): (f64, f64), panel: f64, function: impl Fn(f64) -> f64) -> f64 {
    const NODES: [(f64, f64); 4] = [
        (0.183_434_642_495_649_8, 0.362_683_783_378_362),
        (0.525_532_409_916_329, 0.313_706_645_877_887_3),
        (0.796_666_477_413_626_7, 0.222_381_034_453_374_5),
        (0.960_289_856_497_536_3, 0.101_228_536_290_376_3),
    ];
    if high <= low {
        return 0.0;
    }
    let panels = ((high - low) / panel).ceil().clamp(1.0, 1e6);
    let half = 0.5 * (high - low) / panels;
    let mut sum = 0.0;
    for index in 0..panels as usize {
        let middle = low + half * (2.0 * index as f64 + 1.0);
        for (node, weight) in NODES {
            sum += weight * (function(middle - half * node) + function(middle + half * node));
        }
    }
    sum * half
}

/// The quantile z with P(|Z| <= z) = `confidence` for a standard normal Z; 0 <= confidence < 1.
pub(crate) fn two_sided_normal(confidence: f64) -> Result<f64, FormulaError> {
    check(
        "confidence",
        confidence,
        "0 <= x < 1",
        (0.0..1.0).contains(&confidence),
    )?;
    if confidence == 0.0 {
        return Ok(0.0);
    }
    // The complement keeps its digits if the confidence is close to one.
    let scaled = if confidence < 0.5 {
        root("normal quantile", (0.0, 1.0), |x| confidence - libm::erf(x))?
    } else {
        let rest = 1.0 - confidence;
        root("normal quantile", (0.0, 30.0), |x| {
            libm::erfc(x) / rest - 1.0
        })?
    };
    Ok(scaled * core::f64::consts::SQRT_2)
}

/// Rounds a sum to nine decimals, so that its order of summation does not decide a comparison.
pub(crate) fn settled(sum: f64) -> f64 {
    // The added zero removes the sign of an empty sum.
    (sum * 1e9).round() / 1e9 + 0.0
}

/// The value ln(e^a + e^b), without overflow.
pub(crate) fn log_sum(a: f64, b: f64) -> f64 {
    let (large, small) = if a > b { (a, b) } else { (b, a) };
    if large == f64::NEG_INFINITY {
        return large;
    }
    large + libm::log1p(libm::exp(small - large))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_to_the_last_bits() {
        let found = root("x", (0.0, 3.0), |x| x * x - 2.0).unwrap();
        assert!((found - 2.0_f64.sqrt()).abs() < 1e-15);
        let step = root("x", (-700.0, 700.0), |x| {
            if x < 0.1 { f64::INFINITY } else { -1.0 }
        });
        assert!((step.unwrap() - 0.1).abs() < 1e-12);
        assert!(root("x", (0.0, 1.0), |x| x + 1.0).is_err());
    }

    /// A function, its root and the interval of the search.
    type Smooth<'a> = (&'a dyn Fn(f64) -> f64, f64, (f64, f64));

    /// For a smooth function the method takes a quarter of the evaluations of bisection (55 to the
    /// last bits), at any scale. It ends within two units of the last place.
    #[test]
    fn roots_are_found_in_a_quarter_of_the_steps_of_bisection() {
        for scale in [1e-9, 1.0, 1e12] {
            let smooth: [Smooth<'_>; 5] = [
                (
                    &|x| x * x * x - 2.0 * x - 5.0,
                    2.094_551_481_542_326_5,
                    (2.0, 3.0),
                ),
                (&|x| 1.0 - 1.0 / (x * x), 1.0, (0.5, 1.51)),
                (
                    &|x| libm::exp(x) - 2.0,
                    core::f64::consts::LN_2,
                    (-4.0, 3.0),
                ),
                (
                    &|x| 2.0 - libm::exp(x),
                    core::f64::consts::LN_2,
                    (3.0, -4.0),
                ),
                (&|x| x - libm::cos(x), 0.739_085_133_215_160_6, (0.0, 1.0)),
            ];
            for (number, (function, exact, (low, high))) in smooth.into_iter().enumerate() {
                let mut evaluations = 0;
                let found = root("x", (low * scale, high * scale), |x| {
                    evaluations += 1;
                    function(x / scale)
                });
                let error = (found.unwrap() / (exact * scale) - 1.0).abs();
                assert!(error <= 4.0 * f64::EPSILON, "{number} {scale} {error}");
                assert!(evaluations <= 14, "{number} {scale} {evaluations}");
            }
        }
        // If interpolation fails, the middle is taken: the cost is never much more than that of
        // bisection.
        let mut evaluations = 0;
        let flat = root("x", (-1.0, 4.0), |x| {
            evaluations += 1;
            x * x * x * x * x * x * x * x * x
        });
        assert!(
            flat.unwrap().abs() < 1e-30 && evaluations < 400,
            "{evaluations}"
        );
    }

    #[test]
    fn a_root_at_an_end_is_one_and_what_is_no_number_is_refused() {
        assert_eq!(root("x", (2.0, 3.0), |x| x - 2.0).unwrap(), 2.0);
        assert_eq!(root("x", (2.0, 3.0), |x| x - 3.0).unwrap(), 3.0);
        for (low, high) in [(-1.0, 1.0), (1.0, -1.0)] {
            assert!(root("x", (low, high), |x| if x == low { f64::NAN } else { x }).is_err());
            let inside = root(
                "x",
                (low, high),
                |x| if x.abs() < 1.0 { f64::NAN } else { x },
            );
            assert!(matches!(inside, Err(FormulaError::NotRepresentable { .. })));
        }
    }

    #[test]
    fn a_sign_change_is_enclosed_on_either_side() {
        for change in [-100.5, -2.25, -0.5, 0.0, 0.25, 3.0, 1000.0] {
            let found = bracket_decreasing("x", (0.0, 2048.0), |x| change - x);
            let (low, high) = found.unwrap();
            assert!(
                low <= change && change <= high && low < high,
                "{change} {low} {high}"
            );
            // The interval is at most as wide as its distance.
            assert!(high - low <= change.abs().max(1.0), "{change} {low} {high}");
        }
        assert!(bracket_decreasing("x", (0.0, 16.0), |x| 16.5 - x).is_err());
        assert!(bracket_decreasing("x", (0.0, 16.0), |x| 15.5 - x).is_ok());
        assert!(bracket_decreasing("x", (0.0, 16.0), |x| -15.5 - x).is_ok());
        let nothing =
            bracket_decreasing("x", (0.0, 16.0), |x| if x > 2.0 { f64::NAN } else { 1.0 });
        assert!(matches!(
            nothing,
            Err(FormulaError::NotRepresentable { .. })
        ));
    }

    /// Eight points are exact up to the fifteenth power in one panel. Smaller panels keep that and
    /// make other functions accurate, too.
    #[test]
    fn integrates_polynomials_exactly() {
        for panel in [10.0, 0.5, 0.3] {
            let found = integral((1.0, 3.0), panel, |x| libm::pow(x, 15.0));
            let exact = (libm::pow(3.0, 16.0) - 1.0) / 16.0;
            assert!((found / exact - 1.0).abs() < 1e-13, "{panel} {found}");
            assert!((integral((0.0, 2.0), panel, |x| x * x * x) - 4.0).abs() < 1e-14);
        }
        // In one panel e^-20x is 1e-3 off. In panels of a tenth it is right.
        let exact = (1.0 - libm::exp(-40.0)) / 20.0;
        let decay =
            |panel| (integral((0.0, 2.0), panel, |x| libm::exp(-20.0 * x)) / exact - 1.0).abs();
        assert!(
            decay(0.1) < 1e-13 && decay(2.0) > 1e-5,
            "{} {}",
            decay(0.1),
            decay(2.0)
        );
        assert_eq!(integral((2.0, 1.0), 0.5, |x| x), 0.0);
        assert_eq!(integral((2.0, 2.0), 0.5, |x| x), 0.0);
    }

    #[test]
    fn logarithms_are_summed_without_overflow() {
        for (a, b) in [(1.0, 2.0), (2.0, 1.0), (-3.0, -3.0), (0.0, -50.0)] {
            let plain = libm::log(libm::exp(a) + libm::exp(b));
            assert!((log_sum(a, b) - plain).abs() < 1e-14, "{a} {b}");
            assert!((log_sum(a + 5000.0, b + 5000.0) - plain - 5000.0).abs() < 1e-11);
        }
        assert_eq!(log_sum(f64::NEG_INFINITY, 3.0), 3.0);
        assert_eq!(
            log_sum(f64::NEG_INFINITY, f64::NEG_INFINITY),
            f64::NEG_INFINITY
        );
    }

    /// P(|Z| <= z) of the quantile equals the confidence, from zero to fifteen nines.
    #[test]
    fn the_quantile_inverts_the_distribution() {
        assert_eq!(two_sided_normal(0.0).unwrap(), 0.0);
        for k in 1..1000 {
            let confidence = f64::from(k) / 1000.0;
            let z = two_sided_normal(confidence).unwrap();
            let back = libm::erf(z / core::f64::consts::SQRT_2);
            assert!((back / confidence - 1.0).abs() < 1e-14, "{confidence} {z}");
        }
        for rest in [1e-4, 1e-8, 1e-12] {
            let z = two_sided_normal(1.0 - rest).unwrap();
            let back = libm::erfc(z / core::f64::consts::SQRT_2);
            assert!(
                (back / (1.0 - (1.0 - rest)) - 1.0).abs() < 1e-12,
                "{rest} {z}"
            );
        }
        for wrong in [-0.1, 1.0, 1.5, f64::NAN] {
            assert!(two_sided_normal(wrong).is_err());
        }
    }

    #[test]
    fn normal_quantiles_are_those_of_the_tables() {
        assert!((two_sided_normal(0.999).unwrap() - 3.290_526_731_491_894).abs() < 1e-12);
        assert!((two_sided_normal(0.95).unwrap() - 1.959_963_984_540_054).abs() < 1e-12);
        assert!(two_sided_normal(1.0).is_err());
    }

    /// A root that is hit exactly is returned at once, anywhere in the interval.
    #[test]
    fn an_exact_hit_ends_the_search() {
        for (low, high, most) in [
            (0.0, 1.0, 3),
            (1.0, 0.0, 3),
            (-3.0, 4.0, 3),
            (0.5 - 1e-3, 7.0, 9),
        ] {
            let mut evaluations = 0;
            let found = root("x", (low, high), |x| {
                evaluations += 1;
                x - 0.5
            });
            assert_eq!(found.unwrap(), 0.5, "{low} {high}");
            assert!(evaluations <= most, "{low} {high} {evaluations}");
        }
    }
}
