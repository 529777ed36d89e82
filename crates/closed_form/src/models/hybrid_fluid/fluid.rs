//! The hybrid fluid of AIMD connections and a finite buffer (Avrachenkov, Ayesta & Piunovskiy),
//! with the optimal buffer and its Pareto set.
//!
//! The input rate grows by alpha packets/s^2 (with constant round-trip times). It is multiplied by
//! beta when the buffer is full. Theorem 1 and its corollaries are right as printed.

use crate::error::{FormulaError, check, non_negative, open_unit, positive, representable, unit};
use crate::numeric;

/// The fluid: its capacity, growth and decrease.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HybridFluid {
    /// Capacity mu, in packets/s.
    pub capacity_pps: f64,
    /// Growth alpha = sum 1/RTT_i^2, in packets/s^2.
    pub growth: f64,
    /// Decrease factor beta of the total rate, 0 < beta < 1.
    pub beta: f64,
}

/// Equal connections, some of which decrease at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Connections {
    /// Round-trip time, in seconds.
    pub rtt_s: f64,
    /// Number n of connections.
    pub flows: f64,
    /// Number n_cut of connections that decrease at a time: n if synchronized, 1 if desynchronized.
    pub flows_cut: f64,
    /// Fraction beta0 of its window that one connection keeps.
    pub beta: f64,
}

/// One instant of a trajectory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Time, in seconds.
    pub time_s: f64,
    /// Queue x, in packets.
    pub queue: f64,
    /// Rate lambda, in packets/s.
    pub rate: f64,
}

/// A buffer and its results.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tradeoff {
    /// Buffer B, in packets.
    pub buffer: f64,
    /// Mean rate through the link, in packets/s.
    pub mean_rate: f64,
    /// Time-average queue, in packets.
    pub mean_queue: f64,
}

impl HybridFluid {
    /// Creates the fluid. The error names the input that is out of range.
    pub fn new(capacity_pps: f64, growth: f64, beta: f64) -> Result<Self, FormulaError> {
        positive("capacity mu (packets/s)", capacity_pps)?;
        positive("growth alpha (packets/s^2)", growth)?;
        open_unit("decrease factor beta", beta)?;
        let fluid = Self {
            capacity_pps,
            growth,
            beta,
        };
        representable("optimal buffer B0 (packets)", fluid.full_buffer())?;
        Ok(fluid)
    }

    /// Creates the fluid of equal connections on a link: alpha = n/RTT^2, beta = 1 - (1 - beta0)
    /// n_cut/n.
    pub fn of_connections(capacity_pps: f64, c: &Connections) -> Result<Self, FormulaError> {
        positive("round-trip time (s)", c.rtt_s)?;
        positive("number of flows", c.flows)?;
        let cut = c.flows_cut > 0.0 && c.flows_cut <= c.flows;
        check(
            "flows cut at a time",
            c.flows_cut,
            "0 < x <= number of flows",
            cut,
        )?;
        open_unit("decrease factor beta0", c.beta)?;
        let beta = 1.0 - (1.0 - c.beta) * c.flows_cut / c.flows;
        Self::new(capacity_pps, c.flows / (c.rtt_s * c.rtt_s), beta)
    }

    /// The buffer B0 = mu^2/(2 alpha) ((1-beta)/(1+beta))^2 in packets, from which the queue never
    /// empties.
    pub fn full_buffer(&self) -> f64 {
        let theta = self.full_fill_s();
        0.5 * self.growth * theta * theta
    }

    /// The fill time at B0, theta0 = (1-beta) mu/(alpha (1+beta)), in seconds.
    fn full_fill_s(&self) -> f64 {
        (1.0 - self.beta) * self.capacity_pps / (self.growth * (1.0 + self.beta))
    }

    /// The fill time theta = sqrt(2B/alpha) of a buffer that empties, in seconds.
    fn fill_s(&self, buffer: f64) -> f64 {
        (2.0 * buffer / self.growth).sqrt()
    }

    /// The times (tau, s) of theorem 1 at fill time theta <= theta0, in seconds.
    fn phases(&self, theta: f64) -> (f64, f64) {
        let tau = self.capacity_pps * (1.0 - self.beta) / self.growth - self.beta * theta;
        (tau, ((tau - theta) * (tau + theta)).max(0.0).sqrt())
    }

    /// Mean rate through the link, in packets/s.
    pub fn mean_rate(&self, buffer: f64) -> Result<f64, FormulaError> {
        non_negative("buffer (packets)", buffer)?;
        if buffer >= self.full_buffer() {
            return Ok(self.capacity_pps);
        }
        Ok(self.mean_rate_at(self.fill_s(buffer)))
    }

    fn mean_rate_at(&self, theta: f64) -> f64 {
        let rate = 0.5 * (1.0 + self.beta) * (self.growth * theta + self.capacity_pps);
        rate.min(self.capacity_pps)
    }

    /// Time-average queue, in packets.
    pub fn mean_queue(&self, buffer: f64) -> Result<f64, FormulaError> {
        non_negative("buffer (packets)", buffer)?;
        let full = self.full_buffer();
        if buffer >= full {
            return Ok(buffer - 2.0 * full / 3.0);
        }
        Ok(self.mean_queue_at(self.fill_s(buffer)))
    }

    /// Theorem 1's mean queue at fill time theta, in packets. The substitution (tau - s) =
    /// theta^2/(tau + s) avoids cancellation for small buffers.
    fn mean_queue_at(&self, theta: f64) -> f64 {
        if theta == 0.0 {
            return 0.0;
        }
        let (tau, s) = self.phases(theta);
        let cubes =
            theta * theta * theta * (1.0 + theta * (tau + 2.0 * s) / ((tau + s) * (tau + s)));
        self.growth / (6.0 * (tau + theta)) * cubes
    }

    /// The derivative d(mean queue)/d(theta), in packets/s. At theta0 it is alpha theta0
    /// (2+beta)/3.
    fn mean_queue_slope(&self, theta: f64) -> f64 {
        if theta == 0.0 {
            return 0.0;
        }
        let full = self.full_fill_s();
        if theta >= full {
            return self.growth * full * (2.0 + self.beta) / 3.0;
        }
        let (tau, s) = self.phases(theta);
        let sum = tau + s;
        let g = (tau + 2.0 * s) / (sum * sum);
        let g_slope =
            (self.beta * (tau + 3.0 * s) + 2.0 * (self.beta * tau + theta)) / (sum * sum * sum);
        let square = theta * theta;
        let cubes = square * theta * (1.0 + theta * g);
        let cubes_slope = square * (3.0 + 4.0 * theta * g + square * g_slope);
        let length = tau + theta;
        self.growth / 6.0 * (cubes_slope / length - cubes * (1.0 - self.beta) / (length * length))
    }

    /// The cubic law of small buffers: mean queue -> alpha^2 theta^3/(6 (1-beta) mu), in packets.
    pub fn mean_queue_leading(&self, buffer: f64) -> Result<f64, FormulaError> {
        non_negative("buffer (packets)", buffer)?;
        let theta = self.fill_s(buffer);
        let growth = self.growth * theta;
        Ok(growth * growth * theta / (6.0 * (1.0 - self.beta) * self.capacity_pps))
    }

    /// Length of a cycle, in seconds.
    pub fn period(&self, buffer: f64) -> Result<f64, FormulaError> {
        non_negative("buffer (packets)", buffer)?;
        let theta = self.fill_s(buffer.min(self.full_buffer()));
        Ok((1.0 - self.beta) * (theta + self.capacity_pps / self.growth))
    }

    /// Smallest queue of a cycle, max(0, B - B0), in packets.
    pub fn least_queue(&self, buffer: f64) -> Result<f64, FormulaError> {
        non_negative("buffer (packets)", buffer)?;
        Ok((buffer - self.full_buffer()).max(0.0))
    }

    fn outcome(&self, buffer: f64) -> Result<Tradeoff, FormulaError> {
        Ok(Tradeoff {
            buffer,
            mean_rate: self.mean_rate(buffer)?,
            mean_queue: self.mean_queue(buffer)?,
        })
    }

    fn outcome_at(&self, theta: f64) -> Tradeoff {
        Tradeoff {
            buffer: 0.5 * self.growth * theta * theta,
            mean_rate: self.mean_rate_at(theta),
            mean_queue: self.mean_queue_at(theta),
        }
    }

    /// The Pareto set: `count` buffers from 0 to B0. No buffer beats any of them in both rate and
    /// queue.
    pub fn pareto(&self, count: usize) -> Vec<Tradeoff> {
        let last = count.clamp(2, 1_000_000) - 1;
        (0..=last)
            .map(|i| self.outcome_at(self.full_fill_s() * i as f64 / last as f64))
            .collect()
    }

    /// Problem (3): the largest mean rate with a mean queue of at most `most` packets.
    ///
    /// From B0/3 on the result is B0, the smallest of the buffers that give mu.
    pub fn largest_rate(&self, most: f64) -> Result<Tradeoff, FormulaError> {
        non_negative("largest mean queue (packets)", most)?;
        if most >= self.full_buffer() / 3.0 {
            return self.outcome(self.full_buffer());
        }
        if most == 0.0 {
            return self.outcome(0.0);
        }
        let full = self.full_fill_s();
        let ln_theta = numeric::root(
            "fill time",
            (libm::log(full) - 300.0, libm::log(full)),
            |t| self.mean_queue_at(libm::exp(t)) / most - 1.0,
        )?;
        Ok(self.outcome_at(libm::exp(ln_theta).min(full)))
    }

    /// Problem (4): the smallest mean queue with a mean rate of at least `least` packets/s.
    pub fn smallest_queue(&self, least: f64) -> Result<Tradeoff, FormulaError> {
        non_negative("least mean rate (packets/s)", least)?;
        if least > self.capacity_pps {
            return Err(FormulaError::Unreachable {
                quantity: "mean rate (packets/s)",
                found: least,
                bound: format!("the link carries at most {}", self.capacity_pps),
            });
        }
        let theta = (2.0 * least / (1.0 + self.beta) - self.capacity_pps) / self.growth;
        Ok(self.outcome_at(theta.clamp(0.0, self.full_fill_s())))
    }

    /// Problem (5): the buffer that maximizes `rate_weight` x mean rate - `queue_weight` x mean
    /// queue. It is B0 if c1/c2 >= 2 theta0 (2+beta)/(3(1+beta)), and 0 only for c1 = 0.
    pub fn best_tradeoff(
        &self,
        rate_weight: f64,
        queue_weight: f64,
    ) -> Result<Tradeoff, FormulaError> {
        non_negative("weight of the rate c1", rate_weight)?;
        positive("weight of the queue c2", queue_weight)?;
        let marginal = rate_weight / queue_weight * 0.5 * (1.0 + self.beta) * self.growth;
        let full = self.full_fill_s();
        if marginal == 0.0 {
            return self.outcome(0.0);
        }
        if marginal >= self.mean_queue_slope(full) {
            return self.outcome(self.full_buffer());
        }
        let ln_theta = numeric::root(
            "fill time",
            (libm::log(full) - 300.0, libm::log(full)),
            |t| self.mean_queue_slope(libm::exp(t)) / marginal - 1.0,
        )?;
        Ok(self.outcome_at(libm::exp(ln_theta)))
    }

    /// One cycle from just after a decrease to just before the next, at `count` instants.
    pub fn cycle(&self, buffer: f64, count: usize) -> Result<Vec<Point>, FormulaError> {
        let last = count.clamp(2, 1_000_000) - 1;
        (0..=last)
            .map(|i| self.at_phase(buffer, i as f64 / last as f64))
            .collect()
    }

    /// The point of the cycle at `phase`: 0 just after a decrease, 1 just before the next.
    pub fn at_phase(&self, buffer: f64, phase: f64) -> Result<Point, FormulaError> {
        unit("phase of the cycle", phase)?;
        let time_s = phase * self.period(buffer)?;
        let theta = self.fill_s(buffer.min(self.full_buffer()));
        let start = self.beta * (self.capacity_pps + self.growth * theta);
        let least = self.least_queue(buffer)?;
        let before = (self.capacity_pps - start) / self.growth - time_s;
        Ok(Point {
            time_s,
            queue: least + self.queue_around((start, theta), before, buffer - least),
            rate: start + self.growth * time_s,
        })
    }

    /// Queue above its smallest value, `before` seconds before the rate reaches the capacity.
    fn queue_around(&self, (start, theta): (f64, f64), before: f64, buffer: f64) -> f64 {
        if before <= 0.0 {
            return (0.5 * self.growth * before * before).min(buffer);
        }
        let tau = (self.capacity_pps - start) / self.growth;
        let s_square = (tau - theta) * (tau + theta);
        // The parabola through B at the decrease with slope -(mu - lambda); zero once the queue is
        // empty.
        if s_square > 0.0 && before <= s_square.sqrt() {
            return 0.0;
        }
        (0.5 * self.growth * (before * before - s_square)).clamp(0.0, buffer)
    }

    /// B0 over the bandwidth-delay product of `rtt_s`. The assumption of constant round-trip times
    /// needs a ratio << 1 (erratum A3). Above 1 the model is out of its range.
    pub fn frozen_rtt_ratio(&self, rtt_s: f64) -> Result<f64, FormulaError> {
        positive("round-trip time (s)", rtt_s)?;
        representable(
            "B0 over BDP",
            self.full_buffer() / (self.capacity_pps * rtt_s),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn paper(flows: f64, flows_cut: f64) -> HybridFluid {
        let c = Connections {
            rtt_s: 0.006,
            flows,
            flows_cut,
            beta: 0.5,
        };
        HybridFluid::of_connections(25000.0, &c).unwrap()
    }

    #[test]
    fn the_papers_settings_and_erratum_a1() {
        assert!((paper(5.0, 5.0).full_buffer() - 250.0).abs() < 1e-9);
        assert!((paper(20.0, 20.0).full_buffer() - 62.5).abs() < 1e-9);
        assert!((paper(5.0, 1.0).full_buffer() - 6.233).abs() < 1e-3);
        assert!((paper(20.0, 1.0).full_buffer() - 0.0901).abs() < 1e-4);
        assert!((paper(5.0, 5.0).frozen_rtt_ratio(0.006).unwrap() - 1.67).abs() < 0.01);
    }

    #[test]
    fn infeasible_rates_are_refused() {
        assert!(paper(5.0, 5.0).smallest_queue(25001.0).is_err());
    }

    proptest! {
        #[test]
        fn means_are_those_of_the_trajectory(mu in 1.0_f64..1e6, alpha in 1e-2_f64..1e6,
                                            beta in 0.1_f64..0.95, share in 0.01_f64..3.0) {
            let fluid = HybridFluid::new(mu, alpha, beta).unwrap();
            let buffer = share * fluid.full_buffer();
            let points = fluid.cycle(buffer, 20_001).unwrap();
            let mean = |f: &dyn Fn(&Point) -> f64| {
                let inner: f64 = points[1..20_000].iter().map(f).sum();
                (inner + 0.5 * (f(&points[0]) + f(&points[20_000]))) / 20_000.0
            };
            let queue = mean(&|p| p.queue);
            prop_assert!((queue / fluid.mean_queue(buffer).unwrap() - 1.0).abs() < 1e-3);
            let through = mean(&|p| if p.queue > 0.0 { mu } else { p.rate.min(mu) });
            prop_assert!((through / fluid.mean_rate(buffer).unwrap() - 1.0).abs() < 1e-3);
            prop_assert!((points[0].queue - buffer).abs() < 1e-6 * buffer);
            prop_assert!((points[20_000].queue - buffer).abs() < 1e-6 * buffer);
        }

        #[test]
        fn continuous_at_full_buffer(mu in 1.0_f64..1e6, alpha in 1e-2_f64..1e6, beta in 0.01_f64..0.99) {
            let fluid = HybridFluid::new(mu, alpha, beta).unwrap();
            let full = fluid.full_buffer();
            let just = full * (1.0 - 1e-12);
            prop_assert!((fluid.mean_queue(just).unwrap() / (full / 3.0) - 1.0).abs() < 1e-5);
            prop_assert!((fluid.mean_rate(just).unwrap() / mu - 1.0).abs() < 1e-9);
        }

        #[test]
        fn rises_with_the_buffer_and_depends_on_its_ratio_only(
            mu in 1.0_f64..1e6, alpha in 1e-2_f64..1e6, beta in 0.01_f64..0.99, share in 0.0_f64..2.0,
        ) {
            let fluid = HybridFluid::new(mu, alpha, beta).unwrap();
            let other = HybridFluid::new(1.0, 1.0, beta).unwrap();
            let (b, c) = (share * fluid.full_buffer(), share * other.full_buffer());
            let close = |x: f64, y: f64| (x - y).abs() <= 1e-9 * (x.abs() + y.abs()) + 1e-12;
            prop_assert!(close(fluid.mean_rate(b).unwrap() / mu, other.mean_rate(c).unwrap()));
            prop_assert!(close(fluid.mean_queue(b).unwrap() / fluid.full_buffer(),
                               other.mean_queue(c).unwrap() / other.full_buffer()));
            prop_assert!(fluid.mean_rate(b * 1.1).unwrap() >= fluid.mean_rate(b).unwrap());
            prop_assert!(fluid.mean_queue(b * 1.1).unwrap() >= fluid.mean_queue(b).unwrap());
        }

        #[test]
        fn scaling_leaves_the_full_buffer(mu in 1.0_f64..1e6, alpha in 1e-2_f64..1e6, k in 0.1_f64..10.0) {
            let a = HybridFluid::new(mu, alpha, 0.6).unwrap().full_buffer();
            let b = HybridFluid::new(k * mu, k * k * alpha, 0.6).unwrap().full_buffer();
            prop_assert!((a / b - 1.0).abs() < 1e-12);
        }

        #[test]
        fn corollary_one(mu in 1.0_f64..1e6, beta in 0.01_f64..0.999_999) {
            let fluid = HybridFluid::new(mu, 1.0, beta).unwrap();
            prop_assert!((fluid.mean_rate(0.0).unwrap() / mu - 0.5 * (1.0 + beta)).abs() < 1e-12);
            prop_assert_eq!(fluid.mean_queue(0.0).unwrap(), 0.0);
            let gap = 1.0 - beta;
            prop_assert!(fluid.full_buffer() <= 0.5 * mu * mu * gap * gap);
        }

        #[test]
        fn slope_is_the_derivative(beta in 0.05_f64..0.98, share in 0.01_f64..0.99) {
            let fluid = HybridFluid::new(1.0, 1.0, beta).unwrap();
            let full = fluid.full_fill_s();
            let theta = share * full;
            let h = 1e-5 * full;
            let difference = (fluid.mean_queue_at(theta + h) - fluid.mean_queue_at(theta - h)) / (2.0 * h);
            prop_assert!((fluid.mean_queue_slope(theta) / difference - 1.0).abs() < 1e-5);
            // Just below theta0 the square root in s keeps only half the digits.
            let below = fluid.mean_queue_slope(full * (1.0 - 1e-12));
            prop_assert!((fluid.mean_queue_slope(full) / below - 1.0).abs() < 1e-4);
        }

        #[test]
        fn solvers_agree(beta in 0.05_f64..0.98, share in 0.001_f64..0.999) {
            let fluid = HybridFluid::new(1000.0, 7.0, beta).unwrap();
            let goal = fluid.outcome(share * fluid.full_buffer()).unwrap();
            let by_queue = fluid.largest_rate(goal.mean_queue).unwrap();
            let by_rate = fluid.smallest_queue(goal.mean_rate).unwrap();
            prop_assert!((by_queue.buffer / goal.buffer - 1.0).abs() < 1e-9);
            prop_assert!((by_rate.buffer / goal.buffer - 1.0).abs() < 1e-6);
            let theta = fluid.fill_s(goal.buffer);
            let c1 = 2.0 * fluid.mean_queue_slope(theta) / ((1.0 + beta) * fluid.growth);
            let best = fluid.best_tradeoff(c1, 1.0).unwrap();
            let value = |o: &Tradeoff| c1 * o.mean_rate - o.mean_queue;
            let set = fluid.pareto(101);
            prop_assert_eq!(set.len(), 101);
            prop_assert!(set[0].buffer == 0.0 && (set[100].buffer / fluid.full_buffer() - 1.0).abs() < 1e-12);
            for other in set {
                prop_assert!(value(&other) <= value(&best) + 1e-9 * value(&best).abs());
            }
        }
    }
}
