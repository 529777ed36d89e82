//! The stages of a Rosenbrock method, for the steps of free intervals.
//!
//! The Jacobian is an arrow matrix whose flow block vanishes ([`crate::flows`]). Therefore the
//! flows are eliminated class by class, and a step costs O(flows).

use crate::adaptive::step::{Method, Step};
use crate::flows::{StagePoint, with_class};
use crate::links::Link;
use crate::rosenbrock::{STAGES, dot};
use crate::run::Run;

/// Ratio of the tolerated error within a step to that at its end, because errors within a step do
/// not accumulate.
const WAY: f64 = 10.0;

impl Step {
    /// Tries a step of `h` seconds. Returns its error relative to the tolerated one.
    pub(crate) fn try_rosenbrock(&mut self, run: &mut Run<'_>, h: f64) -> f64 {
        self.method = Method::Rosenbrock;
        self.assemble(run, h);
        for link in &mut run.links {
            link.stages = [0.0; STAGES];
        }
        for m in 0..self.table.stages {
            self.solver.right.clear();
            for &l in &self.solver.free {
                let link = &run.links[l];
                self.solver
                    .right
                    .push(h * (link.background - link.capacity));
            }
            for class in 0..self.classes.len() {
                self.class_stage(run, class, (m, h));
            }
            self.solver.solve();
            for (a, &l) in self.solver.free.iter().enumerate() {
                run.links[l].stages[m] = self.solver.right[a];
            }
            for class in 0..self.classes.len() {
                self.close_stage(run, class, (m, h));
            }
        }
        self.solver
            .free
            .iter()
            .map(|&l| self.error(&run.links[l], h))
            .fold(
                0.0,
                |worst, error| if error <= worst { worst } else { error },
            )
    }

    /// Error of a queue in the tried step, relative to the tolerated one: at the end of the step
    /// and within it.
    ///
    /// The embedded method alone is not reliable. If a step spans many relaxation times after a
    /// jump, its stages lie far outside the possible queues. As the step shrinks, their difference
    /// changes its sign, so it can nearly vanish at an end that is wrong by the whole buffer. Then
    /// the cubic starts with a slope that differs from the known slope of the queue. A slope error
    /// D moves a cubic with a correct end by theta (1 - theta)^2 D, at most 4 D / 27.
    fn error(&self, link: &Link, h: f64) -> f64 {
        let end = dot(&self.table.error, &link.stages).abs();
        let [slope, ..] = self.table.dense_polynomial(&link.stages);
        let way = 4.0 / 27.0 * (slope - h * link.rate).abs();
        let error = if way <= WAY * end { end } else { way / WAY };
        error / link.tolerated
    }

    /// Assembles the matrix 1 - h gamma J over the free links, with the flows eliminated.
    fn assemble(&mut self, run: &Run<'_>, h: f64) {
        let gamma = self.table.gamma;
        let n = self.solver.free.len();
        let mut matrix = std::mem::take(&mut self.solver.matrix);
        matrix.clear();
        matrix.resize(n * n, 0.0);
        for a in 0..n {
            matrix[a * n + a] = 1.0;
        }
        for (class, step) in self.classes.iter().enumerate() {
            let size = run.flows.classes[class].size;
            let path = &run.model.paths[run.flows.classes[class].path];
            let base = &step.base;
            let weight = size * h * gamma * (h * gamma * base.coupled_by_delay + base.by_delay);
            for (a, row) in self.solver.free.iter().enumerate() {
                if !path.contains(row) {
                    continue;
                }
                for (b, column) in self.solver.free.iter().enumerate() {
                    if path.contains(column) {
                        matrix[a * n + b] -= weight * run.links[*column].per_packet;
                    }
                }
            }
        }
        self.solver.matrix = matrix;
        self.solver.factor();
    }

    /// Adds the known part of stage `m` of a class to the right-hand sides of its links.
    fn class_stage(&mut self, run: &mut Run<'_>, class: usize, (m, h): (usize, f64)) {
        let table = self.table;
        let step = &self.classes[class];
        let base = step.base;
        let (mut delay, mut known) = (step.delay, 0.0);
        let path = &run.model.paths[run.flows.classes[class].path];
        for &l in path {
            let link = &run.links[l];
            delay += dot(&table.alpha[m], &link.stages) * link.per_packet;
            // The stages from m on are still zero.
            known += dot(&table.gammas[m], &link.stages) * link.per_packet;
        }
        let point = StagePoint {
            time: run.now + table.nodes[m] * h,
            delay,
            step: h,
            alpha: &table.alpha[m],
            by_delay: h * dot(&table.alpha[m], &step.delay_sums),
            by_time: h * h * dot(&table.alpha[m], &table.gamma_sums),
        };
        let (rate, coupled) = if m == 0 {
            (base.rate, base.coupled)
        } else {
            with_class!(run.model, run.flows, class, part => match m {
                1 => part.stage::<1>(&point),
                2 => part.stage::<2>(&point),
                3 => part.stage::<3>(&point),
                4 => part.stage::<4>(&point),
                _ => part.stage::<5>(&point),
            })
        };
        let step = &mut self.classes[class];
        // This part of the stage does not depend on the stage of the queue.
        step.coupled[m] = h
            * (coupled
                + base.coupled_by_delay * known
                + h * table.gamma_sums[m] * base.coupled_by_time);
        step.delay_sums[m] = known;
        let part = h
            * (rate
                + dot(&table.gammas[m], &step.coupled)
                + base.by_delay * known
                + h * table.gamma_sums[m] * base.by_time);
        let size = run.flows.classes[class].size;
        for (a, l) in self.solver.free.iter().enumerate() {
            if path.contains(l) {
                self.solver.right[a] += size * part;
            }
        }
    }

    /// Completes the sums of stage `m` of a class with the stages of the queues.
    fn close_stage(&mut self, run: &Run<'_>, class: usize, (m, h): (usize, f64)) {
        let path = &run.model.paths[run.flows.classes[class].path];
        let own: f64 = path
            .iter()
            .map(|&l| run.links[l].stages[m] * run.links[l].per_packet)
            .sum();
        let step = &mut self.classes[class];
        let gamma = self.table.gamma;
        step.delay_sums[m] += gamma * own;
        step.coupled[m] += h * step.base.coupled_by_delay * gamma * own;
    }
}
