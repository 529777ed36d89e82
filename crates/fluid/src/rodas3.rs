//! Rodas3: the stiffly accurate Rosenbrock method of order 3(2) with four stages. Source: Sandu,
//! Verwer, Blom, Spee, Carmichael and Potra 1997, "Benchmarking stiff ODE solvers for atmospheric
//! chemistry problems II". The dense output of order 2 is our own.
//!
//! Only tests use it, to show that methods are exchangeable data.

use crate::rosenbrock::{Rosenbrock, STAGES};

pub(crate) static RODAS3: Rosenbrock = Rosenbrock {
    name: "Rodas3",
    order: 3,
    dense_order: 2,
    stages: 4,
    alpha: [
        [0.0; STAGES],
        [0.0; STAGES],
        [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.75, -0.25, 0.5, 0.0, 0.0, 0.0],
        [0.0; STAGES],
        [0.0; STAGES],
    ],
    gamma: 0.5,
    gammas: [
        [0.5, 0.0, 0.0, 0.0, 0.0, 0.0],
        [1.0, 0.5, 0.0, 0.0, 0.0, 0.0],
        [-0.25, -0.25, 0.5, 0.0, 0.0, 0.0],
        [1.0 / 12.0, 1.0 / 12.0, -2.0 / 3.0, 0.5, 0.0, 0.0],
        [0.0; STAGES],
        [0.0; STAGES],
    ],
    nodes: [0.0, 0.0, 1.0, 1.0, 0.0, 0.0],
    gamma_sums: [0.5, 1.5, 0.0, 0.0, 0.0, 0.0],
    weights: [5.0 / 6.0, -1.0 / 6.0, -1.0 / 6.0, 0.5, 0.0, 0.0],
    error: [1.0 / 12.0, 1.0 / 12.0, -2.0 / 3.0, 0.5, 0.0, 0.0],
    dense: [[1.0, 0.0, -1.0, 0.0, 0.0, 0.0], [0.0; STAGES]],
};
