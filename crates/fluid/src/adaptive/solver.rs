//! The small dense system over the free links.

/// The free links and their small dense system.
#[derive(Clone, Debug, Default)]
pub(crate) struct Solver {
    pub(crate) free: Vec<usize>,
    pub(crate) matrix: Vec<f64>,
    pub(crate) right: Vec<f64>,
}

impl Solver {
    /// LU factors of the matrix in place, inverses on the diagonal, without pivoting: it is 1 plus a matrix that the
    /// stabilizing Jacobian makes diagonally dominant.
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
