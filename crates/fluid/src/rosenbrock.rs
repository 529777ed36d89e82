//! Rodas4: the stiffly accurate Rosenbrock method of order 4(3) with six stages and dense output
//! of order 3 (Hairer and Wanner, Solving Ordinary Differential Equations II, section VI.4).
//!
//! The published coefficients belong to transformed stages; these are the same method in the
//! original stages k_m = h f(y + sum alpha_mj k_j) + h J sum gamma_mj k_j + h^2 gamma_m f_t, in
//! which the sums over a flow's stages collapse to a few scalars ([`crate::flows`]).

/// Stages.
pub(crate) const STAGES: usize = 6;
/// Diagonal of Gamma.
pub(crate) const GAMMA: f64 = 0.25;

/// alpha_mj, j < m.
pub(crate) const ALPHA: [[f64; STAGES]; STAGES] = [
    [0.0; STAGES],
    [0.386, 0.0, 0.0, 0.0, 0.0, 0.0],
    [0.1460747075254179, 0.0639252924745821, 0.0, 0.0, 0.0, 0.0],
    [
        -0.3308115036677301,
        0.7111510251682848,
        0.24966047849944542,
        0.0,
        0.0,
        0.0,
    ],
    [
        -4.552557186318031,
        1.7101813632413319,
        4.014347332103172,
        -0.17197150902647376,
        0.0,
        0.0,
    ],
    [
        2.4286337654669876,
        -0.38274873376478463,
        -1.8557203309295804,
        0.5598352992273763,
        0.25,
        0.0,
    ],
];

/// gamma_mj, j <= m.
pub(crate) const GAMMAS: [[f64; STAGES]; STAGES] = [
    [GAMMA, 0.0, 0.0, 0.0, 0.0, 0.0],
    [-0.3543, GAMMA, 0.0, 0.0, 0.0, 0.0],
    [
        -0.13360250526817555,
        -0.012897494731824468,
        GAMMA,
        0.0,
        0.0,
        0.0,
    ],
    [
        1.526849173006467,
        -0.5336562887504572,
        -1.27939288425601,
        GAMMA,
        0.0,
        0.0,
    ],
    [
        6.981190951785019,
        -2.0929300970061164,
        -5.870067663032753,
        0.73180680825385,
        GAMMA,
        0.0,
    ],
    [
        -2.0801894941809365,
        0.5957623556766833,
        1.701617798267262,
        -0.08851451983588043,
        -0.3786761399271284,
        GAMMA,
    ],
];

/// Abscissae, the row sums of alpha.
pub(crate) const NODES: [f64; STAGES] = [0.0, 0.386, 0.21, 0.63, 1.0, 1.0];

/// Row sums of gamma, the weights of the time derivative.
pub(crate) const GAMMA_SUMS: [f64; STAGES] = [0.25, -0.1043, 0.1035, -0.0362, 0.0, 0.0];

/// Weights of the result.
pub(crate) const WEIGHTS: [f64; STAGES] = [
    0.34844427128605154,
    0.2130136219118987,
    -0.15410253266231846,
    0.4713207793914958,
    -0.12867613992712837,
    0.25,
];

/// Weights of the difference to the embedded result of order 3: the last row of gamma.
pub(crate) const ERROR: [f64; STAGES] = GAMMAS[5];

/// Dense output: y(theta) = y + theta B k + theta (1 - theta) (DENSE2 k + theta DENSE3 k).
const DENSE2: [f64; STAGES] = [
    4.786970949445337,
    0.6966969867332767,
    -4.49196220541594,
    -1.247990161586589,
    0.2562844308239155,
    0.0,
];
const DENSE3: [f64; STAGES] = [
    -12.742021716038717,
    1.8944219846936763,
    11.130209592703055,
    1.3659874200712045,
    -1.648597281429218,
    0.0,
];

/// Weights of the dense output at the fraction `theta` of the step.
#[inline]
pub(crate) fn dense_weights(theta: f64) -> [f64; STAGES] {
    if theta == 1.0 {
        return WEIGHTS;
    }
    let (second, third) = (theta * (1.0 - theta), theta * theta * (1.0 - theta));
    std::array::from_fn(|m| theta * WEIGHTS[m] + second * DENSE2[m] + third * DENSE3[m])
}

/// Coefficients of theta, theta^2 and theta^3 in the dense output of a component with these
/// stages.
#[inline]
pub(crate) fn dense_polynomial(stages: &[f64; STAGES]) -> [f64; 3] {
    let (linear, d2, d3) = (
        dot(&WEIGHTS, stages),
        dot(&DENSE2, stages),
        dot(&DENSE3, stages),
    );
    [linear + d2, d3 - d2, -d3]
}

/// Inner product over the stages.
#[inline]
pub(crate) fn dot(a: &[f64; STAGES], b: &[f64; STAGES]) -> f64 {
    ((a[0] * b[0] + a[1] * b[1]) + (a[2] * b[2] + a[3] * b[3])) + (a[4] * b[4] + a[5] * b[5])
}

/// sum over m of weights_m gamma_mj: weights of the stages inside the Jacobian's terms.
#[inline]
pub(crate) fn jacobian_weights(weights: &[f64; STAGES]) -> [f64; STAGES] {
    std::array::from_fn(|j| (j..STAGES).map(|m| weights[m] * GAMMAS[m][j]).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beta(m: usize, j: usize) -> f64 {
        ALPHA[m][j] + GAMMAS[m][j]
    }

    #[test]
    fn the_order_conditions_hold() {
        // Hairer and Wanner II, section IV.7, table 7.1.
        let all = || 0..STAGES;
        let row = |m: usize| all().map(|j| beta(m, j)).sum::<f64>();
        let node = |m: usize| all().map(|j| ALPHA[m][j]).sum::<f64>();
        let sum = |f: &dyn Fn(usize) -> f64| all().map(|m| WEIGHTS[m] * f(m)).sum::<f64>();
        for m in all() {
            assert!((node(m) - NODES[m]).abs() < 1e-14);
            let gammas: f64 = GAMMAS[m].iter().sum();
            assert!((gammas - GAMMA_SUMS[m]).abs() < 1e-14);
        }
        let of = |f: &dyn Fn(usize) -> f64, m: usize| all().map(|j| beta(m, j) * f(j)).sum::<f64>();
        let conditions = [
            (sum(&|_| 1.0), 1.0),
            (sum(&row), 1.0 / 2.0),
            (sum(&|m| node(m) * node(m)), 1.0 / 3.0),
            (sum(&|m| of(&row, m)), 1.0 / 6.0),
            (sum(&|m| node(m) * node(m) * node(m)), 1.0 / 4.0),
            (
                sum(&|m| node(m) * all().map(|j| ALPHA[m][j] * row(j)).sum::<f64>()),
                1.0 / 8.0,
            ),
            (sum(&|m| of(&|j| node(j) * node(j), m)), 1.0 / 12.0),
            (sum(&|m| of(&|j| of(&row, j), m)), 1.0 / 24.0),
        ];
        for (i, (found, expected)) in conditions.iter().enumerate() {
            assert!(
                (found - expected).abs() < 1e-13,
                "condition {i}: {found} {expected}"
            );
        }
    }

    #[test]
    fn the_dense_output_has_order_three_and_meets_the_ends() {
        for theta in [0.0, 0.2, 0.5, 0.9, 1.0] {
            let b = dense_weights(theta);
            let row = |m: usize| (0..STAGES).map(|j| beta(m, j)).sum::<f64>();
            let conditions = [
                (b.iter().sum::<f64>(), theta),
                (
                    (0..STAGES).map(|m| b[m] * row(m)).sum(),
                    theta * theta / 2.0,
                ),
                (
                    (0..STAGES).map(|m| b[m] * NODES[m] * NODES[m]).sum(),
                    theta * theta * theta / 3.0,
                ),
            ];
            for (found, expected) in conditions {
                assert!(
                    (found - expected).abs() < 1e-13,
                    "{theta}: {found} {expected}"
                );
            }
            let stages = [1.0, -2.0, 0.5, 3.0, -1.0, 0.25];
            let [c1, c2, c3] = dense_polynomial(&stages);
            let polynomial = theta * (c1 + theta * (c2 + theta * c3));
            assert!((polynomial - dot(&b, &stages)).abs() < 1e-13);
        }
    }
}
