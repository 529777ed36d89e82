//! M/M/1/K: loss, queue and load of a finite buffer with smooth traffic (Auge & Roberts, the
//! transparent regime).
//!
//! K counts every packet in the system, including the one in transmission: a buffer of B waiting
//! packets is K = B + 1. Every function takes ln(rho) through `log1p`-style differences. For K up
//! to 1e6 it neither underflows nor cancels.

use forebay_scenario::{Check, Holds, Metric, ModelError};

use crate::checks::{below_one, checked, droptail, many_sources};
use crate::error::{FormulaError, non_negative, open_unit, positive, stable_load};
use crate::inputs::{K, LOAD, LOAD_WITHIN_ONE, LOSS, LOSS_GOAL, RHO, STABLE_LOAD, SYSTEM};
use crate::mix::shared;
use crate::model::{Example, Model, Numbers, Packets, Sizing, symbol, variant};
use crate::models::processor_sharing as sharing;
use crate::numeric;
use crate::pieces::{filled, no_bottlenecked_flows, some};
use crate::quantity::{Arguments, Input, quantity};
use crate::reference::{Column, Reference, named};
use crate::situation::{Situation, Targets};
use crate::words::percent;

/// The model.
pub static MODEL: Model = Model {
    name: "mm1k",
    aliases: &["transparent", "m-m-1-k"],
    title: "Loss of smooth traffic in a finite buffer (transparent regime)",
    summary: "Traffic whose flows are all far slower than the link loses what an M/M/1/K queue loses: \
        a few tens of packets suffice up to loads of about 0.8.",
    formula: "p = ρᴷ (1 − ρ) / (1 − ρᴷ⁺¹)        tail bound: P(N ≥ n) = ρⁿ",
    symbols: &[
        symbol("p", "probability that an arriving packet is lost", "1"),
        symbol("ρ", "offered load: arrival rate / capacity", "1"),
        symbol(
            "K",
            "packets in the system at most, the one in transmission included: buffer + 1",
            "packets",
        ),
    ],
    assumptions: &[
        "Poisson arrivals: many flows, each far slower than the link",
        "exponential packet sizes (packets of one size lose less)",
        "drop-tail queue",
    ],
    source: "Auge & Roberts, Buffer sizing for elastic traffic (NGI 2006), transparent regime; \
        the finite queue is the standard M/M/1/K result. Checked against the sum over all states.",
    errata: &[
        "Printed: Pr[loss | n] ~ ρⁿ. That is P(N >= n) of the infinite queue; the loss of a finite buffer is smaller by (1 − ρ)/(1 − ρᴷ⁺¹).",
        "Printed: 20 packets keep loss below 0.01 for loads below 71 %. 0.71²⁰ = 0.001: either the loss is 0.001 or the load 79 %.",
    ],
    variants: &[variant("tail-bound", "ρⁿ as printed, an upper bound")],
    quantities: &[
        quantity("loss", "1", &[LOAD, SYSTEM], |a| Ok(finite(a)?.loss())),
        quantity("utilization", "1", &[LOAD, SYSTEM], |a| {
            Ok(finite(a)?.utilization())
        }),
        quantity("mean_number", "packets", &[LOAD, SYSTEM], |a| {
            Ok(finite(a)?.mean_number())
        }),
        quantity("mean_waiting", "packets", &[LOAD, SYSTEM], |a| {
            Ok(finite(a)?.mean_waiting())
        }),
        quantity("mean_found_by_accepted", "packets", &[LOAD, SYSTEM], |a| {
            Ok(finite(a)?.mean_found_by_accepted())
        }),
        quantity(
            "load_for_loss",
            "1",
            &[LOSS, SYSTEM.within("above 0")],
            |a| load_for_loss(a[0], a[1]),
        ),
        quantity("system_for_loss", "packets", &[LOAD, LOSS], |a| {
            capacity_for_loss(a[0], a[1])
        }),
        quantity("loss:tail-bound", "1", &[STABLE_LOAD, QUEUE_LENGTH], |a| {
            tail_bound(a[0], a[1])
        }),
        quantity(
            "load_for_loss:tail-bound",
            "1",
            &[LOSS, QUEUE_LENGTH.within("above 0")],
            |a| load_for_tail(a[0], a[1]),
        ),
        quantity(
            "length_for_loss:tail-bound",
            "packets",
            &[LOAD_WITHIN_ONE, LOSS],
            |a| length_for_tail(a[0], a[1]),
        ),
    ],
    example: Example {
        text: "Loss at load 0.9 in a system of 100 packets (the tail bound is 2.66e-5)",
        quantity: "loss",
        arguments: &[("load", &[0.9]), ("system_capacity", &[100.0])],
    },
    sizing: Some(Sizing {
        assumptions: |s| vec![transparent(s), many_sources(s), below_one(s), droptail(s)],
        predict: Some(predict),
        size: Some(size),
        note: "the formula has Poisson arrivals and exponential packet sizes, so it is pessimistic for packets of equal size",
    }),
    references: REFERENCES,
};

/// The names in reference tables.
const REFERENCES: &[Reference] = &[
    named("mm1k", "load with M/M/1/K blocking = loss", &["load with"])
        .quantity("load_for_loss", &[LOSS_GOAL, K]),
    named(
        "mm1k",
        "buffer K with M/M/1/K blocking = loss",
        &[
            "buffer with",
            "capacity with",
            "buffer k with",
            "buffer for",
        ],
    )
    .quantity("system_for_loss", &[RHO, LOSS_GOAL]),
    named(
        "mm1k",
        "mean number seen by accepted packets",
        &["accepted", "found", "seen", "bracket"],
    )
    .quantity("mean_found_by_accepted", &[RHO, K]),
    named(
        "mm1k",
        "utilisation",
        &["utili", "carried", "throughput", "busy"],
    )
    .quantity("utilization", &[RHO, K]),
    named("mm1k", "P(0)", &["p(0)", "empty", "idle"])
        .formula(|a| Ok(1.0 - finite(a)?.utilization()), &[RHO, K]),
    named(
        "mm1k",
        "mean queue",
        &["waiting", "mean queue", "queue length"],
    )
    .quantity("mean_waiting", &[RHO, K]),
    named("mm1k", "ln of the blocking probability", &["ln ", "log"])
        .formula(|a| Ok(finite(a)?.ln_loss()), &[RHO, K]),
    named(
        "mm1k",
        "blocking probability",
        &["block", "loss", "p(full)"],
    )
    .quantity("loss", &[RHO, K]),
    named("mm1k", "mean number in system", &["mean", "number"]).quantity("mean_number", &[RHO, K]),
    named("mm1", "load with rho^n = loss", &["load with"])
        .quantity("load_for_loss:tail-bound", &[LOSS_GOAL, LENGTH]),
    named("mm1", "buffer n with rho^n = loss", &["buffer"])
        .quantity("length_for_loss:tail-bound", &[RHO, LOSS_GOAL]),
    named("mm1", "mean number", &["mean"]).formula(|a| sharing::mean_flows(a[0]), &[RHO]),
    named("mm1", "P(N=n)", &["p(n=n)", "p(n)"])
        .formula(|a| sharing::probability_exactly(a[0], a[1]), &[RHO, LENGTH]),
    named("mm1", "P(N>n)", &["p(n>n)"]).formula(
        |a| sharing::probability_more_than(a[0], a[1]),
        &[RHO, LENGTH],
    ),
    named("mm1", "P(N>=n)", &["p(n>=n)", "tail", "rho^n"])
        .quantity("loss:tail-bound", &[RHO, LENGTH]),
];

/// A length of the queue, in packets.
const LENGTH: Column = Column::of(&["n", "K"]);

const QUEUE_LENGTH: Input = Input::new("n", "packets", "length of the queue", "0 and more");

fn finite(a: &Arguments) -> Result<Mm1k, FormulaError> {
    Mm1k::new(a[0], a[1])
}

fn predict(s: &Situation) -> Numbers {
    no_bottlenecked_flows(s)?;
    let queue = Mm1k::new(some(s.offered_load())?, s.system_capacity())?;
    Ok(vec![
        (Metric::Utilization, queue.utilization()),
        (Metric::LossRate, queue.loss()),
        (Metric::QueueMean, queue.mean_waiting()),
        (
            Metric::QueueDelayMean,
            queue.mean_found_by_accepted() / s.capacity_pps,
        ),
    ])
}

pub(crate) fn size(s: &Situation, t: &Targets) -> Packets {
    let load = some(s.offered_load())?;
    let loss = t.loss.unwrap_or(1e-3);
    let least = (1.0 - 1.0 / load).max(0.0);
    if loss <= least * (1.0 + 1e-12) {
        let load = percent(load);
        return Err(ModelError::NoSolution(format!(
            "at an offered load of {load} of the link every buffer loses more than {}",
            percent(least)
        )));
    }
    if loss >= 1.0 {
        return Ok(Some(0.0));
    }
    Ok(Some((capacity_for_loss(load, loss)? - 1.0).max(0.0)))
}

fn transparent(s: &Situation) -> Check {
    let assumption = "no flow can fill the link by itself (transparent regime)";
    if s.bottlenecked > 0.0 {
        return checked(assumption, false, filled(s));
    }
    let slow = slow_flows(s, assumption);
    if slow.holds != Holds::Yes {
        return slow;
    }
    if s.open_loop + s.closed_loop == 0.0 {
        let why = if s.persistent > 0.0 {
            "receive windows or access links limit each flow to a small part of the link"
        } else {
            "no flow can fill the link by itself"
        };
        return Check {
            why: why.into(),
            ..slow
        };
    }
    match s.core_limits {
        Some(limits) if limits < 0.1 => {
            let why = format!(
                "access links limit the transfers except for {} of the time",
                percent(limits)
            );
            checked(assumption, true, why)
        }
        Some(limits) => {
            let why = format!(
                "the link itself limits its transfers {} of the time, and the rule needs less than 10 %",
                percent(limits)
            );
            checked(assumption, false, why)
        }
        None => {
            let why = "no access link limits a transfer to less than the link's rate";
            checked(assumption, false, why.into())
        }
    }
}

/// Checks the share of the load from flows that send at most at a tenth of the link's rate.
/// Transfers pass this check.
fn slow_flows(s: &Situation, assumption: &'static str) -> Check {
    if s.open_loop + s.closed_loop > 0.0 || s.sources == 0.0 {
        return checked(
            assumption,
            true,
            "no flow can fill the link by itself".into(),
        );
    }
    let share = s.slow_share;
    let why = if share <= 0.0 {
        "each flow sends at more than a tenth of the link's rate, and the rule is about slower flows"
            .into()
    } else {
        format!(
            "it fits {} of the load, which is from flows of at most a tenth of the link's rate; the others send faster",
            percent(share)
        )
    };
    shared(assumption, share, why)
}

/// Load and size of an M/M/1/K queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mm1k {
    /// Offered load rho = arrival rate / capacity; above 0, also 1 and more.
    pub load: f64,
    /// Largest number of packets in the system K, including the one in transmission.
    pub system_capacity: f64,
}

impl Mm1k {
    /// Creates the queue. The error names the input that is out of range.
    pub fn new(load: f64, system_capacity: f64) -> Result<Self, FormulaError> {
        positive("load", load)?;
        non_negative("system capacity K (packets)", system_capacity)?;
        Ok(Self {
            load,
            system_capacity,
        })
    }

    /// Probability p = rho^K (1 - rho) / (1 - rho^(K+1)) that an arriving packet is lost.
    pub fn loss(&self) -> f64 {
        libm::exp(self.ln_loss())
    }

    /// The ln of p, which stays finite if p underflows.
    pub fn ln_loss(&self) -> f64 {
        ln_loss(libm::log(self.load), self.system_capacity)
    }

    /// Utilization U = rho (1 - p) = 1 - P(system empty).
    pub fn utilization(&self) -> f64 {
        utilization(libm::log(self.load), self.system_capacity)
    }

    /// Time-average number of packets in the system.
    pub fn mean_number(&self) -> f64 {
        mean_number(libm::log(self.load), self.system_capacity)
    }

    /// Mean number of packets that an accepted packet finds: the mean number of M/M/1/(K-1).
    ///
    /// Divided by the capacity it is the waiting time without the packet's own transmission. It is
    /// zero for K <= 1.
    pub fn mean_found_by_accepted(&self) -> f64 {
        mean_number(libm::log(self.load), (self.system_capacity - 1.0).max(0.0))
    }

    /// Mean number of packets that wait, without the one in transmission.
    pub fn mean_waiting(&self) -> f64 {
        (self.mean_number() - self.utilization()).max(0.0)
    }
}

/// The ln of the blocking probability at load e^`x`.
pub(crate) fn ln_loss(x: f64, k: f64) -> f64 {
    if x == 0.0 {
        return -libm::log1p(k);
    }
    let size = x.abs();
    let full = libm::log(-libm::expm1(-size) / -libm::expm1(-(k + 1.0) * size));
    if x < 0.0 { full - k * size } else { full }
}

/// Utilization rho (1 - p) at load e^`x`.
pub(crate) fn utilization(x: f64, k: f64) -> f64 {
    if x == 0.0 {
        return k / (k + 1.0);
    }
    let ratio = libm::expm1(-k * x.abs()) / libm::expm1(-(k + 1.0) * x.abs());
    if x < 0.0 { libm::exp(x) * ratio } else { ratio }
}

/// Mean number in the system at load e^`x`.
///
/// With m = K + 1 and y = -x it is h(y) - m h(m y), h(y) = 1/(e^y - 1). Loads above one follow from
/// the symmetry L(1/rho) = K - L(rho).
pub(crate) fn mean_number(x: f64, k: f64) -> f64 {
    if x > 0.0 {
        return k - mean_number(-x, k);
    }
    let (y, m) = (-x, k + 1.0);
    if m * y < 1.0 {
        return 0.5 * k + odd_part(y) - m * odd_part(m * y);
    }
    1.0 / libm::expm1(y) - m / libm::expm1(m * y)
}

/// The function 1/(e^y - 1) - 1/y + 1/2 for |y| <= 1, by its series in Bernoulli numbers.
fn odd_part(y: f64) -> f64 {
    const TERMS: [f64; 10] = [
        1.0 / 12.0,
        -1.0 / 720.0,
        1.0 / 30_240.0,
        -1.0 / 1_209_600.0,
        1.0 / 47_900_160.0,
        -691.0 / 1_307_674_368_000.0,
        1.0 / 74_724_249_600.0,
        -3617.0 / 10_670_622_842_880_000.0,
        43_867.0 / 5_109_094_217_170_944_000.0,
        -174_611.0 / 802_857_662_698_291_200_000.0,
    ];
    let square = y * y;
    y * TERMS
        .iter()
        .rev()
        .fold(0.0, |sum, term| sum * square + term)
}

/// The load at which M/M/1/K loses the share `loss` of the packets, 0 < loss < 1.
pub fn load_for_loss(loss: f64, system_capacity: f64) -> Result<f64, FormulaError> {
    open_unit("loss probability", loss)?;
    positive("system capacity K (packets)", system_capacity)?;
    let goal = libm::log(loss);
    let excess = |x: f64| goal - ln_loss(x, system_capacity);
    let interval = numeric::bracket_decreasing("load", (0.0, 1e300), excess)?;
    Ok(libm::exp(numeric::root("load", interval, excess)?))
}

/// The K (a real number of packets) at which M/M/1/K loses the share `loss` at load `load`.
///
/// K = -ln(1 + (1 - rho)(1 - p)/p) / ln rho. Above load 1 no buffer reduces the loss below 1 -
/// 1/rho.
pub fn capacity_for_loss(load: f64, loss: f64) -> Result<f64, FormulaError> {
    positive("load", load)?;
    open_unit("loss probability", loss)?;
    if load == 1.0 {
        return Ok(1.0 / loss - 1.0);
    }
    let inside = (1.0 - load) * (1.0 - loss) / loss;
    if inside <= -1.0 {
        return Err(FormulaError::Unreachable {
            quantity: "loss probability",
            found: loss,
            bound: format!(
                "at load {load} every buffer loses more than {}",
                1.0 - 1.0 / load
            ),
        });
    }
    Ok(-libm::log1p(inside) / libm::log(load))
}

/// The tail rho^n = P(N >= n) of the infinite M/M/1 queue. It is the printed "loss", an upper bound
/// of the loss of a buffer of n.
pub fn tail_bound(load: f64, n: f64) -> Result<f64, FormulaError> {
    stable_load("load", load)?;
    non_negative("queue length n (packets)", n)?;
    Ok(libm::pow(load, n))
}

/// The load at which rho^n equals `loss`.
pub fn load_for_tail(loss: f64, n: f64) -> Result<f64, FormulaError> {
    open_unit("loss probability", loss)?;
    positive("queue length n (packets)", n)?;
    Ok(libm::exp(libm::log(loss) / n))
}

/// The n (a real number of packets) at which rho^n equals `loss`.
pub fn length_for_tail(load: f64, loss: f64) -> Result<f64, FormulaError> {
    open_unit("load", load)?;
    open_unit("loss probability", loss)?;
    Ok(libm::log(loss) / libm::log(load))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn by_summation(load: f64, k: usize) -> (f64, f64) {
        let weights: Vec<f64> = (0..=k).map(|n| libm::pow(load, n as f64)).collect();
        let sum: f64 = weights.iter().sum();
        let mean: f64 = weights.iter().enumerate().map(|(n, w)| n as f64 * w).sum();
        (weights[k] / sum, mean / sum)
    }

    #[test]
    fn printed_numbers_of_the_first_paper() {
        // The tail 0.9^100 is "better than 1 in 30000". The finite queue loses ten times less.
        assert!((1.0 / tail_bound(0.9, 100.0).unwrap() - 37649.0).abs() < 1.0);
        assert!((1.0 / Mm1k::new(0.9, 100.0).unwrap().loss() - 376_477.0).abs() < 1.0);
        // Erratum R1: 0.71^20 is 0.001, and the load for 0.01 is 79 %.
        assert!((load_for_tail(0.01, 20.0).unwrap() - 0.7943).abs() < 1e-4);
        assert!((load_for_loss(0.01, 20.0).unwrap() - 0.8801).abs() < 1e-4);
    }

    proptest! {
        #[test]
        fn equals_the_sum_over_states(load in 0.05_f64..4.0, k in 1_usize..60) {
            let queue = Mm1k::new(load, k as f64).unwrap();
            let (loss, mean) = by_summation(load, k);
            prop_assert!((queue.loss() / loss - 1.0).abs() < 1e-11);
            prop_assert!((queue.mean_number() / mean - 1.0).abs() < 1e-11);
            prop_assert!((queue.utilization() - load * (1.0 - loss)).abs() < 1e-11);
        }

        #[test]
        fn finite_loss_is_below_the_tail(load in 0.01_f64..0.999, k in 0.0_f64..1e6) {
            let queue = Mm1k::new(load, k).unwrap();
            prop_assert!(queue.ln_loss() <= k * libm::log(load) + 1e-9);
        }

        #[test]
        fn load_one_is_the_limit(k in 0.0_f64..1e6) {
            let at = Mm1k::new(1.0, k).unwrap();
            prop_assert!((at.loss() * (k + 1.0) - 1.0).abs() < 1e-12);
            prop_assert!((at.mean_number() - k / 2.0).abs() < 1e-9 * (1.0 + k));
            let beside = Mm1k::new(1.0 + 1e-13, k).unwrap();
            prop_assert!((beside.loss() / at.loss() - 1.0).abs() < 1e-6);
            prop_assert!((beside.mean_number() - at.mean_number()).abs() <= 1e-6 * (1.0 + k));
        }

        #[test]
        fn large_buffers_lose_nothing_or_the_excess(load in 0.1_f64..5.0) {
            let loss = Mm1k::new(load, 1e6).unwrap().loss();
            let limit = if load < 1.0 { 0.0 } else { 1.0 - 1.0 / load };
            prop_assert!((loss - limit).abs() < 2e-6);
        }

        #[test]
        fn inverses_invert(load in 0.05_f64..3.0, k in 1.0_f64..500.0) {
            let queue = Mm1k::new(load, k).unwrap();
            let loss = queue.loss();
            prop_assume!(loss > 1e-300);
            prop_assert!((load_for_loss(loss, k).unwrap() / load - 1.0).abs() < 1e-9);
            // Above load 1 the loss saturates and no longer depends on K.
            if load < 1.0 {
                prop_assert!((capacity_for_loss(load, loss).unwrap() / k - 1.0).abs() < 1e-8);
            }
        }

        #[test]
        fn never_nan(exponent in -300.0_f64..300.0, k in 0.0_f64..1e6) {
            let queue = Mm1k::new(libm::exp(exponent), k).unwrap();
            for value in [queue.loss(), queue.utilization(), queue.mean_number(),
                          queue.mean_found_by_accepted(), queue.mean_waiting()] {
                prop_assert!(value.is_finite() && value >= 0.0);
            }
        }
    }

    #[test]
    fn the_system_for_a_loss_at_load_one_is_the_limit() {
        for loss in [0.5, 0.01, 1e-4] {
            let [below, at, above] =
                [1.0 - 1e-9, 1.0, 1.0 + 1e-9].map(|load| capacity_for_loss(load, loss).unwrap());
            assert!(
                below < at && at < above && above - below < 1e-3 * at,
                "{below} {at} {above}"
            );
            assert!((Mm1k::new(1.0, at).unwrap().loss() / loss - 1.0).abs() < 1e-12);
        }
    }
}
