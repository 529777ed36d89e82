//! The cubic of a queue within one step: values, integrals, and the first crossing of a level. It
//! locates events.

/// The cubic q(theta) = start + theta (c1 + theta (c2 + theta c3)) for theta in [0, 1].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Dense {
    /// Value at theta = 0.
    pub(crate) start: f64,
    /// Coefficients of theta, theta^2, theta^3.
    pub(crate) slope: [f64; 3],
}

impl Dense {
    #[inline]
    pub(crate) fn at(&self, theta: f64) -> f64 {
        let [c1, c2, c3] = self.slope;
        self.start + theta * (c1 + theta * (c2 + theta * c3))
    }

    /// Integral from 0 to theta.
    #[inline]
    pub(crate) fn integral(&self, theta: f64) -> f64 {
        let [c1, c2, c3] = self.slope;
        theta * (self.start + theta * (c1 / 2.0 + theta * (c2 / 3.0 + theta * (c3 / 4.0))))
    }

    /// Derivative with respect to theta.
    #[inline]
    pub(crate) fn derivative(&self, theta: f64) -> f64 {
        let [c1, c2, c3] = self.slope;
        c1 + theta * (2.0 * c2 + theta * 3.0 * c3)
    }

    /// The points at which the derivative changes sign inside (0, 1), in order; 1 stands for none.
    pub(crate) fn turns(&self) -> [f64; 2] {
        let [c1, c2, c3] = self.slope;
        let (a, b, c) = (3.0 * c3, 2.0 * c2, c1);
        let discriminant = b * b - 4.0 * a * c;
        if discriminant <= 0.0 {
            return [1.0, 1.0];
        }
        // This is the stable form of the quadratic's roots.
        let q = -0.5 * (b + discriminant.sqrt().copysign(b));
        let inside = |x: f64| if x > 0.0 && x < 1.0 { x } else { 1.0 };
        let (x, y) = (inside(q / a), inside(c / q));
        if x <= y { [x, y] } else { [y, x] }
    }

    /// The first theta in (0, 1] at which the curve passes `level` upwards (`sense` 1) or downwards
    /// (`sense` -1). The curve must pass it by more than `slack` before it ends or turns back. A
    /// curve that starts at the level, or beyond it by rounding, must first leave it on the other
    /// side. Otherwise it must be beyond it at a turn or at the end.
    #[inline]
    pub(crate) fn crossing(&self, level: f64, sense: f64, slack: f64) -> Option<f64> {
        let beyond = |theta: f64| sense * (self.at(theta) - level);
        if self.is_monotone() {
            return (beyond(1.0) > slack).then(|| self.bracketed(level, (0.0, 1.0), sense));
        }
        if self.quietly_below(level, sense, slack) {
            return None;
        }
        self.first_of_turns(level, sense, slack)
    }

    /// The crossing of a curve that turns back.
    #[cold]
    fn first_of_turns(&self, level: f64, sense: f64, slack: f64) -> Option<f64> {
        let mut from = 0.0;
        let [first, second] = self.turns();
        for to in [first, second, 1.0] {
            if to <= from {
                continue;
            }
            let beyond = sense * (self.at(to) - level);
            // An end just beyond is a crossing if the curve was on the near side before.
            let returned = to == 1.0 && from > 0.0 && sense * (self.at(from) - level) < 0.0;
            if beyond > slack || (returned && beyond > 0.0) {
                return Some(self.bracketed(level, (from, to), sense));
            }
            from = to;
        }
        None
    }

    /// Whether the derivative keeps its sign on [0, 1], by its Bernstein coefficients.
    #[inline]
    pub(crate) fn is_monotone(&self) -> bool {
        let [c1, c2, c3] = self.slope;
        let coefficients = [c1, c1 + c2, c1 + 2.0 * c2 + 3.0 * c3];
        coefficients.iter().all(|&x| x >= 0.0) || coefficients.iter().all(|&x| x <= 0.0)
    }

    /// Whether a cheap bound shows that the curve cannot reach the level.
    #[inline]
    fn quietly_below(&self, level: f64, sense: f64, slack: f64) -> bool {
        let [c1, c2, c3] = self.slope;
        let bound = (sense * c1).max(0.0) + (sense * c2).max(0.0) + (sense * c3).max(0.0);
        sense * (self.start - level) + bound <= slack
    }

    /// The root on an interval in which the curve is monotone and ends beyond the level: Newton's
    /// method within a shrinking bracket.
    fn bracketed(&self, level: f64, (mut low, mut high): (f64, f64), sense: f64) -> f64 {
        let mut theta = 0.5 * (low + high);
        // Below the rounding of its evaluation the curve's value has no meaning.
        let [c1, c2, c3] = self.slope;
        let size = self.start.abs() + level.abs() + c1.abs() + c2.abs() + c3.abs();
        let rounding = f64::EPSILON * size;
        for _ in 0..100 {
            let value = sense * (self.at(theta) - level);
            if value.abs() <= rounding {
                break;
            }
            if value > 0.0 {
                high = theta;
            } else {
                low = theta;
            }
            let next = theta - value / (sense * self.derivative(theta));
            let next = if next > low && next < high {
                next
            } else {
                0.5 * (low + high)
            };
            let change = next - theta;
            theta = next;
            if change.abs() <= 1e-15 {
                break;
            }
        }
        theta
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_first_of_three_crossings_is_found() {
        // (x - 0.2)(x - 0.5)(x - 0.8) = x^3 - 1.5 x^2 + 0.66 x - 0.08
        let curve = Dense {
            start: -0.08,
            slope: [0.66, -1.5, 1.0],
        };
        assert!((curve.crossing(0.0, 1.0, 0.0).unwrap() - 0.2).abs() < 1e-12);
        assert!((curve.crossing(0.0, -1.0, 0.0).unwrap() - 0.5).abs() < 1e-12);
        assert_eq!(curve.crossing(1.0, 1.0, 0.0), None);
    }

    #[test]
    fn a_dip_between_two_steps_ends_is_seen() {
        // The curve 1 - 5 x + 5 x^2 dips to -0.25 and returns to 1.
        let curve = Dense {
            start: 1.0,
            slope: [-5.0, 5.0, 0.0],
        };
        let theta = curve.crossing(0.0, -1.0, 0.0).unwrap();
        assert!((theta - (5.0 - 5.0_f64.sqrt()) / 10.0).abs() < 1e-12);
    }

    #[test]
    fn leaving_a_level_is_no_crossing() {
        let curve = Dense {
            start: 0.0,
            slope: [-1e-14, 1.0, 0.0],
        };
        assert_eq!(curve.crossing(0.0, -1.0, 1e-9), None);
        let curve = Dense {
            start: 0.0,
            slope: [1.0, -2.0, 0.0],
        };
        let theta = curve.crossing(0.0, -1.0, 1e-9).unwrap();
        assert!((theta - 0.5).abs() < 1e-12);
    }

    #[test]
    fn a_dip_of_the_size_of_the_error_at_the_start_is_no_crossing() {
        let curve = Dense {
            start: 0.0,
            slope: [-0.55, 84.4, -28.3],
        };
        assert!(curve.crossing(0.0, -1.0, 1e-9).is_some());
        assert_eq!(curve.crossing(0.0, -1.0, 0.1), None);
        // The curve leaves the level and ends slightly beyond it.
        let curve = Dense {
            start: 0.0,
            slope: [1.0, -1.001, 0.0],
        };
        assert!((curve.crossing(0.0, -1.0, 0.1).unwrap() - 1.0 / 1.001).abs() < 1e-12);
    }

    #[test]
    fn integral_and_derivative_belong_to_the_curve() {
        let curve = Dense {
            start: 2.0,
            slope: [1.0, -3.0, 0.5],
        };
        let n = 100_000;
        let sum: f64 = (0..n)
            .map(|i| curve.at((f64::from(i) + 0.5) * 0.7 / f64::from(n)))
            .sum();
        assert!((sum * 0.7 / f64::from(n) - curve.integral(0.7)).abs() < 1e-9);
        let slope = (curve.at(0.3 + 1e-6) - curve.at(0.3 - 1e-6)) / 2e-6;
        assert!((slope - curve.derivative(0.3)).abs() < 1e-8);
    }

    fn any_curve() -> impl Strategy<Value = Dense> {
        (
            -1.0..1.0_f64,
            [-4.0..4.0_f64, -6.0..6.0, -4.0..4.0],
            0_u8..8,
        )
            .prop_map(|(start, mut slope, zeros)| {
                for (at, coefficient) in slope.iter_mut().enumerate() {
                    if zeros >> at & 1 == 1 {
                        *coefficient = 0.0;
                    }
                }
                Dense { start, slope }
            })
    }

    const GRID: u32 = 2000;

    fn grid() -> impl Iterator<Item = f64> {
        (0..=GRID).map(|k| f64::from(k) / f64::from(GRID))
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

        /// Comparison with a fine grid. Before a crossing no point lies beyond the level; at the
        /// crossing the curve is at the level and continues beyond it. Without a crossing no point
        /// lies beyond.
        #[test]
        fn the_first_crossing_is_where_a_grid_sees_it(
            curve in any_curve(), above in 1e-3..2.0_f64, up in any::<bool>(), slack in prop::sample::select(vec![0.0, 0.05]),
        ) {
            let sense = if up { 1.0 } else { -1.0 };
            let level = curve.start + sense * above;
            let beyond = |theta: f64| sense * (curve.at(theta) - level);
            let seen = grid().find(|theta| beyond(*theta) > slack);
            match curve.crossing(level, sense, slack) {
                None => prop_assert!(seen.is_none() || grid().all(|theta| beyond(theta) < slack + 1e-9), "{:?}", seen),
                Some(theta) => {
                    prop_assert!(theta > 0.0 && theta <= 1.0 && beyond(theta).abs() < 1e-9, "{theta}");
                    let before = grid().take_while(|x| *x < theta - 1e-6);
                    let highest = before.map(beyond).fold(f64::NEG_INFINITY, f64::max);
                    prop_assert!(highest <= slack + 1e-9, "{theta} {highest}");
                    prop_assert!(seen.is_none_or(|seen| seen >= theta - 1e-9), "{theta} {seen:?}");
                    // The curve is beyond the level, by more than the slack or up to the end.
                    prop_assert!(seen.is_some() || beyond(1.0) >= 0.0 || curve.turns().iter().any(|x| beyond(*x) > 0.0));
                    prop_assert!(sense * curve.derivative(theta) > -1e-6);
                }
            }
        }

        /// Between turns the derivative keeps its sign, and at each turn it is zero. A curve
        /// without turns is one interval.
        #[test]
        fn turns_are_where_the_derivative_changes_its_sign(curve in any_curve()) {
            let turns = curve.turns();
            prop_assert!(turns[0] <= turns[1] && turns[0] > 0.0 && turns[1] <= 1.0);
            let mut changes = 0;
            for turn in turns.into_iter().filter(|turn| *turn < 1.0) {
                prop_assert!(curve.derivative(turn).abs() < 1e-9 * (1.0 + curve.slope[0].abs()));
                changes += 1;
            }
            let mut signs: Vec<bool> = grid().map(|x| curve.derivative(x)).filter(|d| d.abs() > 1e-9).map(|d| d > 0.0).collect();
            signs.dedup();
            prop_assert!(signs.len() <= changes + 1, "{signs:?} {turns:?}");
            if curve.is_monotone() {
                prop_assert!(signs.len() <= 1);
            }
            // A curve that can reach a level is not reported to stay below it.
            for sense in [1.0, -1.0] {
                let most = grid().map(|x| sense * curve.at(x)).fold(f64::NEG_INFINITY, f64::max);
                for (level, slack) in [(most - 1e-3, 0.0), (most - 0.1, 0.05)] {
                    prop_assert!(!curve.quietly_below(sense * level, sense, slack), "{level} {slack}");
                }
                // A curve that cannot reach a level by the sum of its terms is reported to stay
                // below it.
                let far = sense * curve.start + curve.slope.iter().map(|c| c.abs()).sum::<f64>();
                prop_assert!(curve.quietly_below(sense * (far + 1e-6), sense, 0.0));
                prop_assert!(curve.quietly_below(sense * (far - 0.1), sense, 0.1 + 1e-6));
            }
        }

        #[test]
        fn coefficients_of_one_sign_are_monotone(c in [0.0..3.0_f64, 0.0..3.0, 0.0..3.0], start in -1.0..1.0_f64) {
            for sign in [1.0, -1.0] {
                let rising = Dense { start, slope: c.map(|c| sign * c) };
                prop_assert!(rising.is_monotone());
                let (level, end) = (f64::midpoint(start, rising.at(1.0)), rising.at(1.0));
                if (end - start).abs() > 1e-3 {
                    let theta = rising.crossing(level, sign, 0.0).unwrap();
                    prop_assert!((rising.at(theta) - level).abs() < 1e-9);
                    prop_assert_eq!(rising.crossing(level, -sign, 0.0), None);
                }
            }
        }
    }
}
