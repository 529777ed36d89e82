//! The square-root rule with a confidence: Wischik & McKeown (CCR 2005).

use crate::checks::{HUNDREDS, equal_round_trips, many_flows, reno, saturable};
use crate::error::FormulaError;
use crate::inputs::{BDP, BDP_PACKETS, BUF, FLOWCOUNT, FLOWS, N, PIPE};
use crate::model::{Example, Model, Packets, Sizing, symbol};
use crate::models::sqrt_n::{RENO_VARIATION, stanford};
use crate::numeric::two_sided_normal;
use crate::pieces::long_flows;
use crate::quantity::{Input, quantity};
use crate::reference::{Column, Reference, named};
use crate::situation::{Situation, Targets};

/// The model.
pub static MODEL: Model = Model {
    name: "wischik-mckeown",
    aliases: &["0.63-rule"],
    title: "The square-root rule with a confidence",
    summary: "0.63 CT/√N covers the swing of the summed windows 99.9 % of the time.",
    formula: "B = z · 0.19245 · CT/√N        (99.9 %: 0.6333 CT/√N)",
    symbols: &[
        BUF,
        PIPE,
        FLOWCOUNT,
        symbol("z", "two-sided normal quantile of the confidence", "1"),
    ],
    assumptions: &["hundreds of long Reno flows with independent windows"],
    source: "Wischik & McKeown, Part I: buffer sizes for core routers (CCR 2005); constant as quoted by Kumar et al.",
    errata: &[],
    variants: &[],
    quantities: &[quantity(
        "buffer",
        "packets",
        &[
            BDP,
            FLOWS,
            Input::new("confidence", "1", "probability covered", "0 to below 1").or(0.999),
        ],
        |a| wischik_mckeown(a[0], a[1], a[2]),
    )],
    example: Example {
        text: "Buffer for a BDP of 150 packets and 5 flows at 99.9 %",
        quantity: "buffer",
        arguments: &[("bdp", &[150.0]), ("flows", &[5.0])],
    },
    sizing: Some(Sizing {
        assumptions: |s| {
            vec![
                many_flows(s, HUNDREDS),
                reno(s),
                equal_round_trips(s),
                saturable(s),
            ]
        },
        predict: None,
        size: Some(size),
        note: "",
    }),
    references: REFERENCES,
};

/// The names in reference tables.
const REFERENCES: &[Reference] = &[named("wischik-mckeown", "buffer, 99.9 % two-sided", &[])
    .quantity(
        "buffer",
        &[
            BDP_PACKETS,
            N,
            Column::of(&["confidence"]).or_percent_or(0.999),
        ],
    )];

fn size(s: &Situation, t: &Targets) -> Packets {
    let confidence = t.utilization.filter(|goal| *goal < 1.0).unwrap_or(0.999);
    let bdp = s.residual_bdp()?;
    Ok(Some(wischik_mckeown(bdp, long_flows(s)?, confidence)?))
}

/// The buffer B = z kappa CT / sqrt(N) in packets, with the two-sided normal quantile z of
/// `confidence` and Reno's kappa.
pub fn wischik_mckeown(bdp: f64, flows: f64, confidence: f64) -> Result<f64, FormulaError> {
    Ok(two_sided_normal(confidence)? * RENO_VARIATION * stanford(bdp, flows)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_nines_are_the_published_constant() {
        assert!((wischik_mckeown(1.0, 1.0, 0.999).unwrap() - 0.6333).abs() < 5e-5);
    }
}
