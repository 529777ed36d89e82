//! The numerical methods the models share: bracketed roots, quadrature, the normal law.

use crate::error::{FormulaError, check};

/// Root of `function` between `low` and `high`, where its signs must differ; to the last bits.
///
/// Chandrupatla's method (Advances in Engineering Software 28, 1997): inverse quadratic steps,
/// bisection whenever those would not be safe or a value is infinite.
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

/// Chandrupatla's choice: inverse quadratic interpolation where it is safe, else the middle.
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
/// Doubles its width from 1 up to `reach` on either side.
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

/// Integral of a smooth `function` from `low` to `high`: 8-point Gauss-Legendre on panels of at
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

/// z with P(|Z| <= z) = `confidence` for a standard normal Z; 0 <= confidence < 1.
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
    // The complement keeps its digits where the confidence is close to one.
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

/// ln(e^a + e^b) without overflow.
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

    #[test]
    fn integrates_polynomials_exactly() {
        assert!((integral((0.0, 2.0), 0.5, |x| x * x * x) - 4.0).abs() < 1e-14);
        assert_eq!(integral((2.0, 1.0), 0.5, |x| x), 0.0);
    }

    #[test]
    fn normal_quantiles_are_those_of_the_tables() {
        assert!((two_sided_normal(0.999).unwrap() - 3.290_526_731_491_894).abs() < 1e-12);
        assert!((two_sided_normal(0.95).unwrap() - 1.959_963_984_540_054).abs() < 1e-12);
        assert!(two_sided_normal(1.0).is_err());
    }
}
