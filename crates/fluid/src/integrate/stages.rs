//! The Rosenbrock stages and their small dense system over the free links.
//!
//! The Jacobian is an arrow whose flow block vanishes ([`crate::flows`]), so the flows are eliminated
//! class by class and a step costs O(flows).

use super::Run;
use crate::flows::{StagePoint, with_class};
use crate::rosenbrock::{ALPHA, ERROR, GAMMA, GAMMA_SUMS, GAMMAS, NODES, STAGES, dot};

/// The free links and their small dense system.
#[derive(Clone, Debug, Default)]
pub(super) struct Solver {
    pub(super) free: Vec<usize>,
    pub(super) matrix: Vec<f64>,
    pub(super) right: Vec<f64>,
}

impl Run<'_> {
    /// Tries a step of `h` seconds; returns its error in units of the tolerated one.
    pub(super) fn try_step(&mut self, h: f64) -> f64 {
        self.assemble(h);
        for link in &mut self.links {
            link.stages = [0.0; STAGES];
        }
        for m in 0..STAGES {
            self.solver.right.clear();
            for &l in &self.solver.free {
                let link = &self.links[l];
                self.solver
                    .right
                    .push(h * (link.background - link.capacity));
            }
            for class in 0..self.classes.len() {
                self.class_stage(class, m, h);
            }
            self.solver.solve();
            for (a, &l) in self.solver.free.iter().enumerate() {
                self.links[l].stages[m] = self.solver.right[a];
            }
            for class in 0..self.classes.len() {
                self.close_stage(class, m, h);
            }
        }
        self.solver
            .free
            .iter()
            .map(|&l| {
                let link = &self.links[l];
                dot(&ERROR, &link.stages).abs() / link.tolerated
            })
            .fold(
                0.0,
                |worst, error| if error <= worst { worst } else { error },
            )
    }

    /// The matrix 1 - h gamma J over the free links, the flows' part eliminated.
    fn assemble(&mut self, h: f64) {
        let n = self.solver.free.len();
        let mut matrix = std::mem::take(&mut self.solver.matrix);
        matrix.clear();
        matrix.resize(n * n, 0.0);
        for a in 0..n {
            matrix[a * n + a] = 1.0;
        }
        for (class, step) in self.classes.iter().enumerate() {
            let size = self.flows.classes[class].size;
            let path = &self.model.paths[self.flows.classes[class].path];
            let base = &step.base;
            let weight = size * h * GAMMA * (h * GAMMA * base.coupled_by_delay + base.by_delay);
            for (a, row) in self.solver.free.iter().enumerate() {
                if !path.contains(row) {
                    continue;
                }
                for (b, column) in self.solver.free.iter().enumerate() {
                    if path.contains(column) {
                        matrix[a * n + b] -= weight * self.links[*column].per_packet;
                    }
                }
            }
        }
        self.solver.matrix = matrix;
        self.solver.factor();
    }

    /// Adds a class's known part of stage `m` to the right-hand sides of its links.
    fn class_stage(&mut self, class: usize, m: usize, h: f64) {
        let step = &self.classes[class];
        let base = step.base;
        let (mut delay, mut known) = (step.delay, 0.0);
        let path = &self.model.paths[self.flows.classes[class].path];
        for &l in path {
            let link = &self.links[l];
            delay += dot(&ALPHA[m], &link.stages) * link.per_packet;
            // The stages from m on are still zero.
            known += dot(&GAMMAS[m], &link.stages) * link.per_packet;
        }
        let point = StagePoint {
            time: self.now + NODES[m] * h,
            delay,
            step: h,
            by_delay: h * dot(&ALPHA[m], &step.delay_sums),
            by_time: h * h * dot(&ALPHA[m], &GAMMA_SUMS),
        };
        let (rate, coupled) = if m == 0 {
            (base.rate, base.coupled)
        } else {
            with_class!(self.model, self.flows, class, part => match m {
                1 => part.stage::<1>(&point),
                2 => part.stage::<2>(&point),
                3 => part.stage::<3>(&point),
                4 => part.stage::<4>(&point),
                _ => part.stage::<5>(&point),
            })
        };
        let step = &mut self.classes[class];
        // This stage's part that does not wait for the queue's stage.
        step.coupled[m] = h
            * (coupled + base.coupled_by_delay * known + h * GAMMA_SUMS[m] * base.coupled_by_time);
        step.delay_sums[m] = known;
        let part = h
            * (rate
                + dot(&GAMMAS[m], &step.coupled)
                + base.by_delay * known
                + h * GAMMA_SUMS[m] * base.by_time);
        let size = self.flows.classes[class].size;
        for (a, l) in self.solver.free.iter().enumerate() {
            if path.contains(l) {
                self.solver.right[a] += size * part;
            }
        }
    }

    /// Completes a class's sums of stage `m` with the queues' stages.
    fn close_stage(&mut self, class: usize, m: usize, h: f64) {
        let path = &self.model.paths[self.flows.classes[class].path];
        let own: f64 = path
            .iter()
            .map(|&l| self.links[l].stages[m] * self.links[l].per_packet)
            .sum();
        let step = &mut self.classes[class];
        step.delay_sums[m] += GAMMA * own;
        step.coupled[m] += h * step.base.coupled_by_delay * GAMMA * own;
    }
}

impl Solver {
    /// LU factors of the matrix in place, inverses on the diagonal, without pivoting: it is 1 plus a matrix that the
    /// stabilising Jacobian makes diagonally dominant.
    fn factor(&mut self) {
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
    fn solve(&mut self) {
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
