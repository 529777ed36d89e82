//! The dense linear system over the free links, which the implicit stages solve.

/// Free links and their dense linear system.
#[derive(Clone, Debug, Default)]
pub(crate) struct Solver {
    pub(crate) free: Vec<usize>,
    pub(crate) matrix: Vec<f64>,
    pub(crate) right: Vec<f64>,
}

impl Solver {
    /// Computes the LU factors in place without pivoting, with inverses on the diagonal. The matrix
    /// is 1 plus a matrix that the stabilizing Jacobian makes diagonally dominant.
    pub(crate) fn factor(&mut self) {
        let n = self.free.len();
        let a = &mut self.matrix;
        for k in 0..n {
            a[k * n + k] = 1.0 / a[k * n + k];
            for i in k + 1..n {
                a[i * n + k] *= a[k * n + k];
                for j in k + 1..n {
                    a[i * n + j] -= a[i * n + k] * a[k * n + j];
                }
            }
        }
    }

    /// Solves for the right-hand side in place.
    pub(crate) fn solve(&mut self) {
        let n = self.free.len();
        let (a, x) = (&self.matrix, &mut self.right);
        for i in 0..n {
            for j in 0..i {
                x[i] -= a[i * n + j] * x[j];
            }
        }
        for i in (0..n).rev() {
            for j in i + 1..n {
                x[i] -= a[i * n + j] * x[j];
            }
            x[i] *= a[i * n + i];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// For any number of links, the solution reproduces the right-hand side.
        #[test]
        fn what_is_solved_for_gives_the_right_hand_side(
            n in 1usize..7,
            entries in prop::collection::vec(-1.0..1.0_f64, 49),
            right in prop::collection::vec(-10.0..10.0_f64, 7),
        ) {
            let matrix: Vec<f64> = (0..n * n)
                .map(|at| entries[at] + if at % (n + 1) == 0 { 8.0 } else { 0.0 })
                .collect();
            let mut solver = Solver {
                free: (0..n).collect(),
                matrix: matrix.clone(),
                right: right[..n].to_vec(),
            };
            solver.factor();
            solver.solve();
            for (row, expected) in matrix.chunks(n).zip(&right) {
                let found: f64 = row.iter().zip(&solver.right).map(|(a, x)| a * x).sum();
                prop_assert!((found - expected).abs() < 1e-9, "{} {}", found, expected);
            }
        }
    }
}
