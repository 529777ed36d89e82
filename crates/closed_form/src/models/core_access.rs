//! Flows limited by their access links (Lakshmikantha, Beck & Srikant): Erlang C, extended to a
//! number of servers that need not be whole.

use forebay_scenario::{Check, Holds, ModelError};

use crate::checks::{below_one, checked, many_sources, too_much};
use crate::error::{FormulaError, check, stable_load};
use crate::inputs::STABLE_LOAD;
use crate::model::{Example, Model, Packets, Sizing, symbol};
use crate::models::mm1k;
use crate::models::processor_sharing::transfers;
use crate::pieces::carried_load;
use crate::quantity::{Input, quantity};
use crate::reference::{Column, Reference, named};
use crate::situation::{Situation, Targets};
use crate::words::percent;

/// The model.
pub static MODEL: Model = Model {
    name: "core-access",
    aliases: &["rate-limited", "lakshmikantha", "erlang-c"],
    title: "Flows limited by their access links",
    summary: "When access links are much slower than the core, the core rarely limits anyone and a \
        small constant buffer suffices; at similar speeds count flows by processor sharing.",
    formula: "P(core limits) = C(m, ρm)        E[N] = ρm + C(m, ρm) ρ/(1 − ρ)        m = C/c_access",
    symbols: &[
        symbol("m", "core over access capacity", "1"),
        symbol("ρ", "offered load of the core", "1"),
        symbol(
            "C(m, a)",
            "Erlang's waiting probability with m servers and a Erlangs",
            "1",
        ),
    ],
    assumptions: &[
        "Poisson flow arrivals",
        "equal access rates",
        "load below 1",
    ],
    source: "After Lakshmikantha, Beck & Srikant, Impact of file arrivals and departures on buffer \
        sizing in core routers (2008/2011); formula derived here (Erlang C), extended to non-integer m.",
    errata: &[],
    variants: &[],
    quantities: &[
        quantity("core_limits", "1", &[CORE, STABLE_LOAD], |a| {
            Ok(RateLimited::new(a[0], a[1])?.core_limits())
        }),
        quantity("mean_flows", "flows", &[CORE, STABLE_LOAD], |a| {
            Ok(RateLimited::new(a[0], a[1])?.mean_flows())
        }),
    ],
    example: Example {
        text: "Probability that the core limits flows at core/access ratio 10 and load 0.8",
        quantity: "core_limits",
        arguments: &[("core_access_ratio", &[10.0]), ("load", &[0.8])],
    },
    sizing: Some(Sizing {
        assumptions: |s| vec![transfers(s), many_sources(s), rate_limited(s), below_one(s)],
        predict: Some(carried_load),
        size: Some(size),
        note: "access links limit the flows, so the utilization is the offered load",
    }),
    references: REFERENCES,
};

/// The names in reference tables.
const REFERENCES: &[Reference] = &[
    named("rate-limited-ps", "mean number of flows", &["mean"]).quantity(
        "mean_flows",
        &[Column::of(&["core_access_ratio"]), Column::of(&["load"])],
    ),
    named(
        "rate-limited-ps",
        "probability the core limits flows (Erlang C)",
        &[],
    )
    .quantity(
        "core_limits",
        &[Column::of(&["core_access_ratio"]), Column::of(&["load"])],
    ),
];

const CORE: Input = Input::new(
    "core_access_ratio",
    "1",
    "core over access capacity",
    "1 to 1e12",
);

fn size(s: &Situation, t: &Targets) -> Packets {
    let check = rate_limited(s);
    if check.holds != Holds::Yes {
        return Err(ModelError::NotApplicable(check.why));
    }
    mm1k::size(s, t)
}

fn rate_limited(s: &Situation) -> Check {
    let assumption = "flows limited by access links slower than the link";
    match (s.core_access, s.core_limits) {
        (Some(_), Some(limits)) => {
            let why = format!(
                "the link, not the access links, limits the flows {} of the time",
                percent(limits)
            );
            if limits < 0.1 {
                checked(assumption, true, why)
            } else {
                let why = format!("{why}, and the rule needs less than 10 %");
                checked(assumption, false, why)
            }
        }
        (Some(_), None) => checked(assumption, false, too_much(s.offered_load())),
        (None, _) => {
            let why = "not every flow has an access link of its own".into();
            checked(assumption, false, why)
        }
    }
}

/// Flows behind access links of capacity C/m that share a core link of capacity C at load rho.
///
/// The core limits them with the Erlang C probability of m servers and rho m Erlangs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateLimited {
    /// Ratio m = C / c_access of core to access capacity, from 1 to 1e12; need not be whole.
    pub core_access_ratio: f64,
    /// Offered load rho of the core, 0 < rho < 1.
    pub load: f64,
}

impl RateLimited {
    /// Creates the system. The error names the input that is out of range.
    pub fn new(core_access_ratio: f64, load: f64) -> Result<Self, FormulaError> {
        let inside = (1.0..=1e12).contains(&core_access_ratio);
        check(
            "core/access capacity ratio",
            core_access_ratio,
            "1 <= x <= 1e12",
            inside,
        )?;
        stable_load("load", load)?;
        Ok(Self {
            core_access_ratio,
            load,
        })
    }

    /// The probability C(m, rho m) that the core, not the access link, limits the flows.
    pub fn core_limits(&self) -> f64 {
        if self.load == 0.0 {
            return 0.0;
        }
        // C = 1 / (1 + (1 - rho)(1/B - 1)), where B is the Erlang loss probability.
        let inverse_loss = self.inverse_erlang_b();
        1.0 / (1.0 + (1.0 - self.load) * (inverse_loss - 1.0))
    }

    /// Mean number of flows, rho m + C(m, rho m) rho/(1 - rho).
    pub fn mean_flows(&self) -> f64 {
        self.load * self.core_access_ratio + self.core_limits() * self.load / (1.0 - self.load)
    }

    /// The inverse 1/B(m, a) by I(x) = 1 + (x/a) I(x-1). The recursion starts where its start value
    /// no longer matters.
    ///
    /// Below a the recursion contracts: from a - 12 sqrt(a) an error shrinks by e^-72.
    fn inverse_erlang_b(&self) -> f64 {
        let (m, a) = (self.core_access_ratio, self.load * self.core_access_ratio);
        let fraction = m - m.floor();
        let far = (a - 12.0 * a.sqrt() - 40.0).floor();
        let (mut x, mut inverse) = if far > 1.0 {
            let start = far + fraction;
            (start, 1.0 / (1.0 - start / a).max(1e-3))
        } else {
            (fraction, inverse_erlang_b_below_one(fraction, a))
        };
        while x + 0.5 < m && inverse < 1e300 {
            x += 1.0;
            inverse = 1.0 + x / a * inverse;
        }
        inverse
    }
}

/// The inverse 1/B(x, a) for 0 <= x < 1 servers, by the double-exponential rule. It is the integral
/// of e^-u (1 + u/a)^x over u >= 0 (the continuous extension of Erlang's formula).
fn inverse_erlang_b_below_one(x: f64, a: f64) -> f64 {
    if x == 0.0 {
        return 1.0;
    }
    let mut sum = 0.0;
    let step = 1.0 / 32.0;
    for index in -192_i32..=192 {
        let v = f64::from(index) * step;
        let u = libm::exp(v - libm::exp(-v));
        let slope = u * (1.0 + libm::exp(-v));
        if u > 0.0 && u < 700.0 {
            sum += slope * libm::exp(x * libm::log1p(u / a) - u);
        }
    }
    sum * step
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::processor_sharing::mean_flows;
    use proptest::prelude::*;

    fn erlang_c_by_sum(servers: u32, load: f64) -> f64 {
        let a = load * f64::from(servers);
        let (mut term, mut sum) = (1.0, 0.0);
        for n in 0..servers {
            sum += term;
            term *= a / f64::from(n + 1);
        }
        let waiting = term / (1.0 - load);
        waiting / (sum + waiting)
    }

    #[test]
    fn printed_numbers() {
        assert!((RateLimited::new(10.0, 0.8).unwrap().core_limits() - 0.409).abs() < 5e-4);
        assert!((RateLimited::new(100.0, 0.8).unwrap().core_limits() - 0.0196).abs() < 5e-5);
        assert!(RateLimited::new(4.0, 1.0).is_err());
    }

    #[test]
    fn one_server_is_limited_with_probability_rho() {
        for load in [0.1, 0.5, 0.99] {
            let single = RateLimited::new(1.0, load).unwrap();
            assert!((single.core_limits() - load).abs() < 1e-14);
            assert!(
                (single.mean_flows() - mean_flows(load).unwrap()).abs()
                    < 1e-10 + load * 1e9 * f64::EPSILON
            );
        }
    }

    #[test]
    fn a_million_access_links_end_quickly() {
        let system = RateLimited::new(1e10, 0.99999).unwrap();
        assert!((0.0..=1.0).contains(&system.core_limits()));
    }

    proptest! {
        #[test]
        fn erlang_c_equals_its_sum(servers in 1_u32..120, load in 0.05_f64..0.99) {
            let ours = RateLimited::new(f64::from(servers), load).unwrap().core_limits();
            let sum = erlang_c_by_sum(servers, load);
            prop_assert!((ours / sum - 1.0).abs() < 1e-10, "{ours} {sum}");
        }

        #[test]
        fn fractional_ratio_lies_between_whole_ones(m in 1_u32..100, part in 0.01_f64..0.99,
                                                    load in 0.1_f64..0.98) {
            let at = |ratio: f64| RateLimited::new(ratio, load).unwrap().core_limits();
            let between = at(f64::from(m) + part);
            prop_assert!(between < at(f64::from(m)) && between > at(f64::from(m) + 1.0));
        }
    }
}
