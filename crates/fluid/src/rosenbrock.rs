//! The form of a Rosenbrock method: a table of coefficients, and the sums that a step needs.
//!
//! Most published coefficients belong to transformed stages. These tables use the original stages
//! k_m = h f(y + sum alpha_mj k_j) + h J sum gamma_mj k_j + h^2 gamma_m f_t. In this form the sums
//! over a flow's stages reduce to a few scalars ([`crate::flows`]). A new method is a file with its
//! table and a line in [`crate::methods`], whose tests check its order.

/// Maximum number of stages; a table with fewer ends in zeros.
pub(crate) const STAGES: usize = 6;

/// A linearly implicit method of Rosenbrock's kind, stiffly accurate, with an embedded method of
/// one order less and dense output. Source: Hairer and Wanner, Solving Ordinary Differential
/// Equations II, section IV.7.
#[derive(Debug)]
pub(crate) struct Rosenbrock {
    #[cfg_attr(not(test), expect(dead_code, reason = "what the tests call it"))]
    pub(crate) name: &'static str,
    /// Order of the result.
    pub(crate) order: u32,
    /// Order of the dense output.
    #[cfg_attr(not(test), expect(dead_code, reason = "what the tests hold it to"))]
    pub(crate) dense_order: u32,
    pub(crate) stages: usize,
    /// alpha_mj, j < m.
    pub(crate) alpha: [[f64; STAGES]; STAGES],
    /// Diagonal of gamma.
    pub(crate) gamma: f64,
    /// gamma_mj, j <= m.
    pub(crate) gammas: [[f64; STAGES]; STAGES],
    /// Abscissae, the row sums of alpha.
    pub(crate) nodes: [f64; STAGES],
    /// Row sums of gamma, the weights of the time derivative.
    pub(crate) gamma_sums: [f64; STAGES],
    /// Weights of the result.
    pub(crate) weights: [f64; STAGES],
    /// Weights of the difference to the embedded result.
    pub(crate) error: [f64; STAGES],
    /// Dense output: y(theta) = y + theta B k + theta (1 - theta) (D_0 k + theta D_1 k).
    pub(crate) dense: [[f64; STAGES]; 2],
}

impl Rosenbrock {
    /// Weights of the dense output at the fraction `theta` of the step.
    #[inline]
    pub(crate) fn dense_weights(&self, theta: f64) -> [f64; STAGES] {
        if theta == 1.0 {
            return self.weights;
        }
        let (second, third) = (theta * (1.0 - theta), theta * theta * (1.0 - theta));
        let [d2, d3] = &self.dense;
        std::array::from_fn(|m| theta * self.weights[m] + second * d2[m] + third * d3[m])
    }

    /// The coefficients of theta, theta^2 and theta^3 in the dense output of a component with these
    /// stages.
    #[inline]
    pub(crate) fn dense_polynomial(&self, stages: &[f64; STAGES]) -> [f64; 3] {
        let linear = dot(&self.weights, stages);
        let [d2, d3] = [dot(&self.dense[0], stages), dot(&self.dense[1], stages)];
        [linear + d2, d3 - d2, -d3]
    }

    /// The sums over m of weights_m gamma_mj: weights of the stages in the terms of the Jacobian.
    #[inline]
    pub(crate) fn jacobian_weights(&self, weights: &[f64; STAGES]) -> [f64; STAGES] {
        std::array::from_fn(|j| (j..STAGES).map(|m| weights[m] * self.gammas[m][j]).sum())
    }

    /// The factor for the next step size after a step with this `error`, relative to the tolerated
    /// one. The error is proportional to the step size to the power of the order.
    pub(crate) fn step_factor(&self, error: f64) -> f64 {
        if !error.is_finite() {
            return 0.1;
        }
        let error = error.max(1e-8);
        let root = match self.order {
            4 => error.sqrt().sqrt(),
            order => libm::pow(error, 1.0 / f64::from(order)),
        };
        (0.9 / root).clamp(0.2, 6.0)
    }
}

/// Inner product over the stages.
#[inline]
pub(crate) fn dot(a: &[f64; STAGES], b: &[f64; STAGES]) -> f64 {
    ((a[0] * b[0] + a[1] * b[1]) + (a[2] * b[2] + a[3] * b[3])) + (a[4] * b[4] + a[5] * b[5])
}
