//! Flow-level processor sharing: the number of flows in progress on a fairly shared link. After
//! Auge & Roberts: Poisson flow arrivals, insensitive to the size distribution.

use forebay_scenario::Check;

use crate::checks::{below_one, checked, many_sources};
use crate::error::{FormulaError, check, non_negative, positive, representable, stable_load};
use crate::inputs::{CAPACITY, RHO, STABLE_LOAD};
use crate::model::{Example, Model, Sizing, symbol};
use crate::numeric;
use crate::pieces::{carried_load, filled};
use crate::quantity::{Input, quantity};
use crate::reference::{Column, Reference, named};
use crate::situation::Situation;
use crate::words::percent;

/// The model.
pub static MODEL: Model = Model {
    name: "processor-sharing",
    aliases: &["ps", "elastic"],
    title: "How many flows share a link (elastic regime)",
    summary: "Flows that arrive at random and share fairly number ρ/(1 − ρ) on average, whatever their sizes.",
    formula: "P(N > n) = ρⁿ⁺¹        E[N] = ρ/(1 − ρ)        flow throughput = C (1 − ρ)\nwith background:  ρ = ρₑ/(1 − ρ_b)",
    symbols: &[
        symbol("N", "flows in progress", "flows"),
        symbol("ρ", "offered load", "1"),
        symbol(
            "ρₑ, ρ_b",
            "load of the elastic flows and of the background",
            "1",
        ),
        symbol("C", "capacity", "packets/s"),
    ],
    assumptions: &["Poisson flow arrivals", "fair sharing", "load below 1"],
    source: "Auge & Roberts, statistical bandwidth sharing; insensitive to the size distribution.",
    errata: &[],
    variants: &[],
    quantities: &[
        quantity("probability_more_than", "1", &[STABLE_LOAD, FLOWS_N], |a| {
            probability_more_than(a[0], a[1])
        }),
        quantity("probability", "1", &[STABLE_LOAD, FLOWS_N], |a| {
            probability_exactly(a[0], a[1])
        }),
        quantity("mean_flows", "flows", &[STABLE_LOAD], |a| mean_flows(a[0])),
        quantity("flow_throughput", "1", &[STABLE_LOAD], |a| {
            flow_throughput(a[0])
        }),
        quantity(
            "residual_load",
            "1",
            &[
                Input::new(
                    "elastic_load",
                    "1",
                    "load of the elastic flows",
                    "0 and more, with the background below 1",
                ),
                Input::new(
                    "background_load",
                    "1",
                    "load of the background",
                    "0 and more, with the elastic load below 1",
                ),
            ],
            |a| residual_load(a[0], a[1]),
        ),
        quantity(
            "open_loop_load",
            "1",
            &[
                Input::new(
                    "arrivals_per_s",
                    "1/s",
                    "transfers that arrive",
                    "0 and more",
                ),
                Input::new("size", "packets", "mean size of a transfer", "0 and more"),
                CAPACITY,
            ],
            |a| open_loop_load(a[0], a[1], a[2]),
        ),
        quantity(
            "flows_at_quantile",
            "flows",
            &[
                STABLE_LOAD,
                Input::new(
                    "coverage",
                    "1",
                    "probability that no more are in progress",
                    "0 to below 1",
                ),
            ],
            |a| flows_at_quantile(a[0], a[1]),
        ),
    ],
    example: Example {
        text: "Probability of more than 4 flows at load 0.5",
        quantity: "probability_more_than",
        arguments: &[("load", &[0.5]), ("n", &[4.0])],
    },
    sizing: Some(Sizing {
        assumptions: |s| vec![transfers(s), many_sources(s), below_one(s)],
        predict: Some(carried_load),
        size: None,
        note: "all transfers end, so the utilization is the offered load",
    }),
    references: REFERENCES,
};

/// The names in reference tables.
const REFERENCES: &[Reference] = &[
    named(
        "ps",
        "effective load on residual capacity",
        &["effective", "residual"],
    )
    .quantity(
        "residual_load",
        &[
            Column::of(&["rho_bottlenecked", "rho_elastic", "rho_e"]),
            Column::of(&["rho_background", "rho_b"]),
        ],
    ),
    named("ps", "flow throughput over C", &["throughput"]).quantity("flow_throughput", &[RHO]),
    named("ps", "mean number of flows", &["mean"]).quantity("mean_flows", &[RHO]),
    named("ps", "P(more than n flows)", &["more than", "p(n>"]).quantity(
        "probability_more_than",
        &[RHO, Column::of(&["n"]).or_after("more than")],
    ),
    named("ps", "P(n flows)", &["p("])
        .quantity("probability", &[RHO, Column::of(&["n"]).or_after("p(")]),
];

const FLOWS_N: Input = Input::new("n", "flows", "number of flows in progress", "0 and more");

/// Checks that the traffic is transfers that end, and no other traffic reacts to congestion.
pub(crate) fn transfers(s: &Situation) -> Check {
    let load = s.open_loop + s.closed_loop;
    let why = if s.bottlenecked > 0.0 {
        format!("{}, and the rule is about finite transfers", filled(s))
    } else if load > 0.0 {
        format!("finite transfers have a load of {}", percent(load))
    } else {
        "the scenario has no repeated finite transfers".to_owned()
    };
    checked(
        "transfers that end, no persistent flows",
        load > 0.0 && s.bottlenecked == 0.0,
        why,
    )
}

/// Probability P(N > n) = rho^(n+1) that more than `n` flows are in progress.
pub fn probability_more_than(load: f64, n: f64) -> Result<f64, FormulaError> {
    stable_load("load", load)?;
    non_negative("number of flows n", n)?;
    Ok(libm::pow(load, n + 1.0))
}

/// Probability P(N = n) = (1 - rho) rho^n of `n` flows in progress.
pub fn probability_exactly(load: f64, n: f64) -> Result<f64, FormulaError> {
    stable_load("load", load)?;
    non_negative("number of flows n", n)?;
    Ok((1.0 - load) * libm::pow(load, n))
}

/// Mean number of flows, rho / (1 - rho).
pub fn mean_flows(load: f64) -> Result<f64, FormulaError> {
    stable_load("load", load)?;
    Ok(load / (1.0 - load))
}

/// Flow throughput over the capacity, 1 - rho.
pub fn flow_throughput(load: f64) -> Result<f64, FormulaError> {
    stable_load("load", load)?;
    Ok(1.0 - load)
}

/// Load of the elastic flows on the capacity that the background leaves: rho_e / (1 - rho_b). It
/// must stay below 1.
pub fn residual_load(elastic: f64, background: f64) -> Result<f64, FormulaError> {
    stable_load("background load", background)?;
    non_negative("elastic load", elastic)?;
    let load = elastic / (1.0 - background);
    check(
        "elastic load over residual capacity",
        load,
        "0 <= x < 1",
        load < 1.0,
    )
}

/// Offered load of open-loop transfers: arrivals per second x mean size / capacity.
pub fn open_loop_load(arrivals_per_s: f64, size: f64, capacity: f64) -> Result<f64, FormulaError> {
    non_negative("arrivals (1/s)", arrivals_per_s)?;
    non_negative("mean size", size)?;
    positive("capacity (size units/s)", capacity)?;
    representable("load", arrivals_per_s * size / capacity)
}

/// Largest n such that at most n flows are in progress with probability `coverage`.
pub fn flows_at_quantile(load: f64, coverage: f64) -> Result<f64, FormulaError> {
    stable_load("load", load)?;
    check(
        "coverage",
        coverage,
        "0 <= x < 1",
        (0.0..1.0).contains(&coverage),
    )?;
    if load == 0.0 || coverage == 0.0 {
        return Ok(0.0);
    }
    let real = numeric::root("flows", (-1.0, 1e18), |n| {
        (n + 1.0) * libm::log(load) - libm::log1p(-coverage)
    })
    .unwrap_or(0.0);
    Ok((real - 1e-12).ceil().max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The quantile covers the requested probability, and one flow less does not: P(N > n) =
    /// load^(n + 1).
    #[test]
    fn the_quantile_of_the_flows_is_the_least_that_covers() {
        for load in [0.01, 0.3, 0.5, 0.9, 0.999] {
            for coverage in [0.001, 0.5, 0.875, 0.99, 1.0 - 1e-9] {
                let n = flows_at_quantile(load, coverage).unwrap();
                let covered = |n: f64| -libm::expm1((n + 1.0) * libm::log(load));
                assert!(n >= 0.0 && n.fract() == 0.0, "{load} {coverage} {n}");
                assert!(
                    covered(n) >= coverage * (1.0 - 1e-12),
                    "{load} {coverage} {n}"
                );
                assert!(
                    n == 0.0 || covered(n - 1.0) < coverage,
                    "{load} {coverage} {n}"
                );
            }
        }
        assert_eq!(flows_at_quantile(0.5, 0.875).unwrap(), 2.0);
        assert_eq!(flows_at_quantile(0.0, 0.9).unwrap(), 0.0);
        assert_eq!(flows_at_quantile(0.9, 0.0).unwrap(), 0.0);
        assert!(flows_at_quantile(0.9, 1.0).is_err() && flows_at_quantile(1.0, 0.5).is_err());
    }

    #[test]
    fn printed_numbers() {
        assert_eq!(probability_more_than(0.5, 4.0).unwrap(), 0.03125);
        // The cases are 60 x 1 Mb/s over 100 Mb/s, and 100 x 32 KiB per 100 ms.
        assert!((open_loop_load(60.0, 1e6, 1e8).unwrap() - 0.6).abs() < 1e-15);
        assert!((open_loop_load(1000.0, 32.0 * 1024.0 * 8.0, 1e6).unwrap() - 262.144).abs() < 1e-9);
    }

    #[test]
    fn overload_is_refused() {
        assert!(mean_flows(1.0).is_err());
        assert!(flow_throughput(1.2).is_err());
        assert!(residual_load(0.6, 0.5).is_err());
    }

    proptest! {
        #[test]
        fn probabilities_sum_to_one(load in 0.01_f64..0.95) {
            let sum: f64 = (0..2000).map(|n| probability_exactly(load, f64::from(n)).unwrap()).sum();
            prop_assert!((sum - 1.0).abs() < 1e-12);
        }

        #[test]
        fn tail_falls_in_n_and_rises_in_load(load in 0.01_f64..0.9, n in 0_u32..50) {
            let n = f64::from(n);
            let here = probability_more_than(load, n).unwrap();
            prop_assert!(probability_more_than(load, n + 1.0).unwrap() < here);
            prop_assert!(probability_more_than(load + 0.05, n).unwrap() > here);
        }

        #[test]
        fn mean_diverges_towards_full_load(gap in 1e-12_f64..1e-3) {
            prop_assert!(mean_flows(1.0 - gap).unwrap() > 0.9 / gap);
        }
    }
}
