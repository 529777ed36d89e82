//! The RED fixed point of Barman, Smaragdakis & Matta: a birth-death chain thinned by the drop
//! probability of the queue that an arrival finds.
//!
//! The chain is pi(n+1) = rho (1 - p(n)) pi(n). Two points are corrected. The probability p(n) is 1
//! from the upper threshold on and at n = K (erratum B14: a full buffer drops). The delay is that
//! of accepted packets (erratum B11).

use forebay_discipline::{AboveThreshold, DropCurve};

use crate::error::{FormulaError, check, non_negative, positive, probability};
use crate::models::barman_droptail::{FixedPoint, SharedLink, solve};
use crate::models::mm1k;
use crate::numeric::log_sum;

/// The mean queue that the round-trip times contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DelayView {
    /// The mean number that accepted packets find, sum n pi(n)(1-p(n))/(1-p_red). It gives their
    /// waiting time. Default.
    #[default]
    Accepted,
    /// The mean number sum n pi(n), as printed.
    Printed,
}

/// The stationary chain at one load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RedChain {
    /// The ln of the probability that an arriving packet is dropped.
    pub ln_loss: f64,
    /// Probability that the system is empty.
    pub empty: f64,
    /// Utilization U = 1 - pi(0) = rho (1 - p_red).
    pub utilization: f64,
    /// Mean number of packets in the system, sum n pi(n).
    pub mean_number: f64,
    /// Mean number of packets that an accepted packet finds, sum n pi(n)(1-p(n))/(1-p_red).
    pub mean_found: f64,
}

impl RedChain {
    /// Loss probability p_red = sum pi(n) p(n).
    pub fn loss(&self) -> f64 {
        libm::exp(self.ln_loss)
    }
}

/// Largest K whose chain is summed state by state.
const LARGEST: f64 = 1e8;

/// The chain at load `load` in a system of `system_capacity` packets (whole, 1..1e8).
pub fn chain(load: f64, system_capacity: f64, curve: &DropCurve) -> Result<RedChain, FormulaError> {
    positive("load", load)?;
    check_capacity(system_capacity)?;
    validate(curve)?;
    Ok(chain_at(libm::log(load), system_capacity, curve))
}

fn check_capacity(k: f64) -> Result<f64, FormulaError> {
    let whole = (1.0..=LARGEST).contains(&k) && k == k.floor();
    check(
        "system capacity K (packets)",
        k,
        "a whole number, 1 <= x <= 1e8",
        whole,
    )
}

/// Sums over the states m..=K relative to pi(m), where m is the last state without early drops.
struct Upper {
    weight: f64,
    dropped: f64,
    above: f64,
    above_dropped: f64,
    /// The ln of the factor by which the four sums are scaled down.
    ln_scale: f64,
}

impl Upper {
    fn scale(&mut self, current: &mut f64) {
        const FACTOR: f64 = 1e-200;
        for sum in [
            &mut self.weight,
            &mut self.dropped,
            &mut self.above,
            &mut self.above_dropped,
            current,
        ] {
            *sum *= FACTOR;
        }
        self.ln_scale -= libm::log(FACTOR);
    }
}

/// The chain at load e^`x`, for valid arguments.
fn chain_at(x: f64, k: f64, curve: &DropCurve) -> RedChain {
    let drop = |n: f64| {
        if n >= k {
            1.0
        } else {
            drop_probability(curve, n)
        }
    };
    let load = libm::exp(x);
    let first = curve.min.floor().min(k);
    let upper = sum_upper(load, (first, k), drop);
    // Below `first` the chain is geometric. It is an M/M/1/(first-1) queue with a closed form.
    let ln_upper = libm::log(upper.weight) + upper.ln_scale + first * x;
    let lower = first - 1.0;
    let ln_lower = if first > 0.0 {
        ln_geometric_sum(x, first)
    } else {
        f64::NEG_INFINITY
    };
    let ln_total = log_sum(ln_upper, ln_lower);
    let share_upper = libm::exp(ln_upper - ln_total);
    let share_lower = libm::exp(ln_lower - ln_total);
    let mean_upper = first + upper.above / upper.weight;
    let mean_lower = if first > 0.0 {
        mm1k::mean_number(x, lower)
    } else {
        0.0
    };
    let mean_number = share_upper * mean_upper + share_lower * mean_lower;

    let ln_loss = libm::log(upper.dropped / upper.weight) + ln_upper - ln_total;
    let dropped_mean = first * upper.dropped / upper.weight + upper.above_dropped / upper.weight;
    let empty = libm::exp(-ln_total);
    let loss = libm::exp(ln_loss);
    let utilization = if x < 0.0 {
        load * (1.0 - loss)
    } else {
        1.0 - empty
    };
    let accepted = utilization / load;
    let found = (mean_number - share_upper * dropped_mean) / accepted;
    RedChain {
        ln_loss,
        empty,
        utilization,
        mean_number,
        mean_found: if found.is_finite() {
            found.clamp(0.0, k)
        } else {
            first.min(k - 1.0)
        },
    }
}

/// Weights from state `first` to K, with pi(first) = 1. The sum stops when the rest is negligible.
fn sum_upper(load: f64, (first, k): (f64, f64), drop: impl Fn(f64) -> f64) -> Upper {
    let mut sums = Upper {
        weight: 0.0,
        dropped: 0.0,
        above: 0.0,
        above_dropped: 0.0,
        ln_scale: 0.0,
    };
    let mut weight = 1.0;
    let mut n = first;
    loop {
        let p = drop(n);
        sums.weight += weight;
        sums.dropped += weight * p;
        sums.above += weight * (n - first);
        sums.above_dropped += weight * p * (n - first);
        let ratio = load * (1.0 - p);
        weight *= ratio;
        n += 1.0;
        // p(n) never falls, so the remaining weights sum to less than a geometric series.
        let rest = weight * (n - first) / ((1.0 - ratio) * (1.0 - ratio));
        if weight == 0.0 || n > k || (ratio < 1.0 && rest < 1e-18 * sums.dropped) {
            return sums;
        }
        if sums.above > 1e250 {
            sums.scale(&mut weight);
        }
    }
}

/// The ln of 1 + rho + ... + rho^(count-1).
fn ln_geometric_sum(x: f64, count: f64) -> f64 {
    if x == 0.0 {
        return libm::log(count);
    }
    let size = x.abs();
    let normal = libm::log(libm::expm1(-count * size) / libm::expm1(-size));
    if x > 0.0 {
        normal + (count - 1.0) * x
    } else {
        normal
    }
}

impl SharedLink<'_> {
    /// Solves the RED fixed point; `system_capacity` must be whole.
    pub fn red(&self, curve: &DropCurve, view: DelayView) -> Result<FixedPoint, FormulaError> {
        self.validate()?;
        let k = check_capacity(self.system_capacity)?;
        validate(curve)?;
        let found = |chain: &RedChain| match view {
            DelayView::Accepted => chain.mean_found,
            DelayView::Printed => chain.mean_number,
        };
        let x = solve(|x| {
            let chain = chain_at(x, k, curve);
            self.ln_load(chain.ln_loss, found(&chain) / self.capacity_pps) - x
        })?;
        let chain = chain_at(x, k, curve);
        Ok(FixedPoint {
            offered_load: libm::exp(x),
            loss: chain.loss(),
            utilization: chain.utilization,
            mean_number: chain.mean_number,
            mean_waiting: (chain.mean_number - chain.utilization).max(0.0),
            mean_found: chain.mean_found,
            queue_delay_s: found(&chain) / self.capacity_pps,
        })
    }
}

/// Checks the thresholds (packets in the system) and the probability. The error names the one that
/// is out of range.
fn validate(curve: &DropCurve) -> Result<(), FormulaError> {
    non_negative("RED minimum threshold (packets)", curve.min)?;
    positive("RED maximum threshold (packets)", curve.max)?;
    check(
        "RED maximum threshold (packets)",
        curve.max,
        ">= the minimum",
        curve.max >= curve.min,
    )?;
    probability("RED maximum drop probability", curve.max_p)?;
    Ok(())
}

/// The drop probability p(n) below a full buffer, with the curve's thresholds in packets in the
/// system.
fn drop_probability(curve: &DropCurve, n: f64) -> f64 {
    if n < curve.min {
        return 0.0;
    }
    if n < curve.max {
        return curve.max_p * (n - curve.min) / (curve.max - curve.min);
    }
    match curve.beyond {
        AboveThreshold::Gentle if n < 2.0 * curve.max => {
            let over = n / curve.max - 1.0;
            curve.max_p + (1.0 - curve.max_p) * over
        }
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::barman_droptail::hstcp;
    use crate::models::cubic_response::CubicResponse;
    use crate::models::hstcp_throughput::{Form, HstcpThroughput};
    use crate::models::htcp_response::HtcpResponse;
    use crate::models::mathis::RenoResponse;
    use crate::models::scalable_response::ScalableResponse;
    use crate::response::Response;
    use crate::situation::RttClass;
    use proptest::prelude::*;

    fn curve(min: f64, max: f64, max_p: f64) -> DropCurve {
        DropCurve {
            min,
            max,
            max_p,
            beyond: AboveThreshold::Abrupt,
            range: None,
        }
    }

    fn by_summation(load: f64, k: usize, curve: &DropCurve) -> (f64, f64, f64, f64) {
        let p = |n: usize| {
            if n >= k {
                1.0
            } else {
                drop_probability(curve, n as f64)
            }
        };
        let mut weights = vec![1.0];
        for n in 0..k {
            weights.push(weights[n] * load * (1.0 - p(n)));
        }
        let sum: f64 = weights.iter().sum();
        let mean = |f: &dyn Fn(usize) -> f64| {
            weights
                .iter()
                .enumerate()
                .map(|(n, w)| w / sum * f(n))
                .sum::<f64>()
        };
        let loss = mean(&|n| p(n));
        let found = mean(&|n| n as f64 * (1.0 - p(n))) / (1.0 - loss);
        (loss, mean(&|n| n as f64), found, 1.0 - weights[0] / sum)
    }

    proptest! {
        #[test]
        fn equals_the_sum_over_states(load in 0.2_f64..2.5, k in 2_usize..150,
                                      low in 0.0_f64..0.9, span in 0.0_f64..1.0,
                                      top in 0.01_f64..1.0, gentle: bool) {
            let size = k as f64;
            let mut curve = curve(low * size, (low + span * (1.0 - low)).max(0.01) * size, top);
            if gentle { curve.beyond = AboveThreshold::Gentle; }
            let ours = chain(load, size, &curve).unwrap();
            let (loss, mean, found, busy) = by_summation(load, k, &curve);
            prop_assert!((ours.loss() / loss - 1.0).abs() < 1e-9, "{} {loss}", ours.loss());
            prop_assert!((ours.mean_number / mean - 1.0).abs() < 1e-9);
            prop_assert!((ours.mean_found - found).abs() < 1e-8 * (1.0 + found));
            prop_assert!((ours.utilization - busy).abs() < 1e-10);
            // This is the balance of flows.
            prop_assert!((ours.utilization - load * (1.0 - loss)).abs() < 1e-10);
        }

        #[test]
        fn without_early_drops_it_is_mm1k(ln_load in -3.0_f64..3.0, k in 1_u32..100_000) {
            let (load, k) = (libm::exp(ln_load), f64::from(k));
            let red = chain(load, k, &curve(k, k, 0.1)).unwrap();
            let queue = mm1k::Mm1k::new(load, k).unwrap();
            prop_assert!((red.ln_loss - queue.ln_loss()).abs() < 1e-9 * (1.0 + red.ln_loss.abs()));
            prop_assert!((red.mean_number / queue.mean_number() - 1.0).abs() < 1e-9);
            prop_assert!((red.mean_found - queue.mean_found_by_accepted()).abs()
                < 1e-6 * (1.0 + queue.mean_found_by_accepted()));
        }

        #[test]
        fn the_fixed_point_exists_for_every_response(
            ln_rate in 4.4_f64..18.8, ln_k in 0.0_f64..9.2, ln_flows in 0.0_f64..13.8,
            ln_rtt in -11.5_f64..0.0, low in 0.0_f64..1.0,
        ) {
            let group = [RttClass { rtt_s: libm::exp(ln_rtt), flows: libm::exp(ln_flows).round() }];
            let system_capacity = libm::exp(ln_k).round().max(1.0);
            let responses: [&dyn Response; 5] = [
                &RenoResponse::default(),
                &CubicResponse::default(),
                &HtcpResponse::default(),
                &ScalableResponse,
                &HstcpThroughput::default(),
            ];
            for response in responses {
                let capacity_pps = libm::exp(ln_rate);
                let link = SharedLink { capacity_pps, system_capacity, flows: &group, response, background_load: 0.0 };
                let curve = curve(low * system_capacity, system_capacity, 0.1);
                let red = link.red(&curve, DelayView::Accepted).unwrap();
                prop_assert!(red.utilization > 0.0 && red.utilization <= 1.0, "{response:?}");
                let balance = red.offered_load * (1.0 - red.loss);
                prop_assert!((balance - red.utilization).abs() <= 1e-6 * (1.0 + red.offered_load * 1e-9));
                // At equal load early drops never raise the carried load. The fixed point may do
                // so, because a shorter queue shortens the round trips.
                let full = mm1k::Mm1k::new(red.offered_load, system_capacity).unwrap();
                prop_assert!(red.utilization <= full.utilization() * (1.0 + 1e-9), "{response:?}");
            }
        }

        #[test]
        fn drops_rise_with_load(load in 0.1_f64..3.0, k in 2_u32..2000) {
            let k = f64::from(k);
            let curve = curve(0.4 * k, k, 0.1);
            let here = chain(load, k, &curve).unwrap().ln_loss;
            prop_assert!(chain(load * 1.01, k, &curve).unwrap().ln_loss > here);
        }
    }

    #[test]
    fn a_million_packets_and_a_million_flows() {
        for (capacity_pps, flows, rtt_s) in [
            (1.6e12 / 12000.0, 1e6, 1e-5),
            (83.3, 1.0, 1.0),
            (1.6e12 / 12000.0, 1.0, 1.0),
            (83.3, 1e6, 1e-5),
        ] {
            for k in [1.0, 2.0, 1e3, 1e6] {
                let group = [RttClass { rtt_s, flows }];
                let link = SharedLink {
                    capacity_pps,
                    system_capacity: k,
                    flows: &group,
                    response: &HstcpThroughput::default(),
                    background_load: 0.0,
                };
                let found = link
                    .red(&curve(0.4 * k, k, 0.1), DelayView::Accepted)
                    .unwrap();
                assert!(found.utilization > 0.0 && found.utilization <= 1.0);
                assert!(found.queue_delay_s.is_finite() && found.loss.is_finite());
            }
        }
    }

    #[test]
    fn a_ten_percent_buffer_of_the_papers_gigabit_setting() {
        let rtts: Vec<f64> = (0..10).map(|i| 0.1155 + 0.001 * f64::from(i)).collect();
        let flows = crate::models::barman_droptail::one_flow_each(&rtts);
        let link = SharedLink {
            capacity_pps: 125_000.0,
            system_capacity: 1250.0,
            flows: &flows,
            response: &hstcp(Form::Closed),
            background_load: 0.0,
        };
        let found = |view| link.red(&curve(500.0, 1250.0, 0.1), view).unwrap();
        assert!((found(DelayView::Accepted).utilization - 0.98810).abs() < 2e-5);
        let difference =
            found(DelayView::Accepted).utilization - found(DelayView::Printed).utilization;
        assert!(difference.abs() < 1e-6);
    }
}
