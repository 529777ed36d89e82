//! The registry of Rosenbrock methods for free steps, with the tests of their tables.

use crate::rodas4::RODAS4;
use crate::rosenbrock::Rosenbrock;

/// Every Rosenbrock method.
#[cfg(test)]
pub(crate) static METHODS: &[&Rosenbrock] = &[&RODAS4, &crate::rodas3::RODAS3];

/// Method of [`crate::integrate`].
pub(crate) static STANDARD: &Rosenbrock = &RODAS4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rosenbrock::{STAGES, dot};

    impl Rosenbrock {
        fn beta(&self, m: usize, j: usize) -> f64 {
            self.alpha[m][j] + self.gammas[m][j]
        }

        /// Row sum of beta.
        fn row(&self, m: usize) -> f64 {
            (0..STAGES).map(|j| self.beta(m, j)).sum()
        }

        fn node(&self, m: usize) -> f64 {
            self.alpha[m].iter().sum()
        }

        /// The elementary weights of all trees up to an order, with their required values after a
        /// step of length `theta`. Source: Hairer and Wanner II, section IV.7, table 7.1.
        fn conditions(&self, weights: &[f64; STAGES], theta: f64) -> Vec<(u32, f64, f64)> {
            let sum =
                |f: &dyn Fn(usize) -> f64| (0..STAGES).map(|m| weights[m] * f(m)).sum::<f64>();
            let of = |f: &dyn Fn(usize) -> f64, m: usize| {
                (0..STAGES).map(|j| self.beta(m, j) * f(j)).sum::<f64>()
            };
            let inner = |m: usize| {
                let products = (0..STAGES).map(|j| self.alpha[m][j] * self.row(j));
                self.node(m) * products.sum::<f64>()
            };
            let row = |m: usize| self.row(m);
            let power = |m: usize, k: i32| (0..k).map(|_| self.node(m)).product::<f64>();
            [
                (1, sum(&|_| 1.0), 1.0),
                (2, sum(&row), 2.0),
                (3, sum(&|m| power(m, 2)), 3.0),
                (3, sum(&|m| of(&row, m)), 6.0),
                (4, sum(&|m| power(m, 3)), 4.0),
                (4, sum(&inner), 8.0),
                (4, sum(&|m| of(&|j| power(j, 2), m)), 12.0),
                (4, sum(&|m| of(&|j| of(&row, j), m)), 24.0),
            ]
            .into_iter()
            .map(|(order, found, density)| {
                let power = (0..order).map(|_| theta).product::<f64>();
                (order, found, power / density)
            })
            .collect()
        }

        fn assert_order(&self, weights: &[f64; STAGES], (order, theta): (u32, f64)) {
            for (i, (of, found, expected)) in
                self.conditions(weights, theta).into_iter().enumerate()
            {
                assert!(
                    of > order || (found - expected).abs() < 1e-13,
                    "{} condition {i} at {theta}: {found} {expected}",
                    self.name
                );
            }
        }
    }

    #[test]
    fn every_table_states_its_sums() {
        for method in METHODS {
            for m in 0..STAGES {
                assert!((method.node(m) - method.nodes[m]).abs() < 1e-14);
                let gammas: f64 = method.gammas[m].iter().sum();
                assert!((gammas - method.gamma_sums[m]).abs() < 1e-14);
                let stage = m < method.stages;
                assert_eq!(
                    method.gammas[m][m],
                    if stage { method.gamma } else { 0.0 },
                    "{}",
                    method.name
                );
                for j in m..STAGES {
                    assert_eq!(method.alpha[m][j], 0.0);
                    assert!(j == m || method.gammas[m][j] == 0.0);
                }
                let none = [method.weights[m], method.error[m], method.alpha[m][0]];
                assert!(stage || none == [0.0; 3]);
            }
        }
    }

    #[test]
    fn the_order_conditions_hold() {
        for method in METHODS {
            method.assert_order(&method.weights, (method.order, 1.0));
            let embedded = std::array::from_fn(|m| method.weights[m] - method.error[m]);
            method.assert_order(&embedded, (method.order - 1, 1.0));
        }
    }

    #[test]
    fn every_method_is_stiffly_accurate() {
        for method in METHODS {
            let last = method.stages - 1;
            for j in 0..STAGES {
                assert!((method.beta(last, j) - method.weights[j]).abs() < 1e-14);
            }
        }
    }

    #[test]
    fn the_dense_output_has_its_order_and_meets_the_ends() {
        for method in METHODS {
            for theta in [0.0, 0.2, 0.5, 0.9, 1.0] {
                let b = method.dense_weights(theta);
                method.assert_order(&b, (method.dense_order.min(3), theta));
                let stages = [1.0, -2.0, 0.5, 3.0, -1.0, 0.25];
                let [c1, c2, c3] = method.dense_polynomial(&stages);
                let polynomial = theta * (c1 + theta * (c2 + theta * c3));
                assert!((polynomial - dot(&b, &stages)).abs() < 1e-13);
            }
        }
    }

    #[test]
    fn a_step_follows_the_root_of_its_error() {
        for method in METHODS {
            let step = method.step_factor(1.0) / method.step_factor(0.1);
            let expected = libm::pow(0.1, 1.0 / f64::from(method.order));
            assert!((step / expected - 1.0).abs() < 1e-12, "{}", method.name);
            assert_eq!(method.step_factor(f64::NAN), 0.1);
            assert_eq!(method.step_factor(1e9), 0.2);
        }
    }
}
