//! The best buffer if loss falls as a power of the buffer, after Prasad, Dovrolis & Thottan.

use forebay_scenario::Check;

use crate::checks::{MANY, many_flows, unknown};
use crate::error::{FormulaError, check, representable};
use crate::inputs::{BUF, PIPE};
use crate::model::{Example, Model, Packets, Sizing, symbol};
use crate::quantity::{Input, quantity};
use crate::reference::{Column, Reference, named};
use crate::situation::{Situation, Targets};

/// The model.
pub static MODEL: Model = Model {
    name: "power-law",
    aliases: &["prasad-dovrolis-thottan", "output-input-ratio"],
    title: "Best buffer for a flow whose loss falls as a power of the buffer",
    summary: "Where the output is slower than the input, loss falls slowly with the buffer and a flow's rate has an optimum; where it is faster, near-zero buffers suffice.",
    formula: "p = a B^(−e),  rate = 1/((T + B/C)√p)   ⇒   B = CT · e/(2 − e)",
    symbols: &[BUF, PIPE, symbol("e", "exponent of the loss", "1")],
    assumptions: &[
        "one flow among many, whose losses it does not cause",
        "output/input capacity ratio below 1",
        "a measured exponent, 0 < e < 2",
    ],
    source: "After Prasad, Dovrolis & Thottan, Router buffer sizing revisited: the role of the output/input capacity ratio (CoNEXT 2007); optimum derived here.",
    errata: &[],
    variants: &[],
    quantities: &[quantity(
        "buffer_bdp",
        "BDP",
        &[Input::new("exponent", "1", "exponent e of the loss", "0 < x < 2").or(0.5)],
        |a| power_law_buffer(a[0]),
    )],
    example: Example {
        text: "Best buffer over BDP for an exponent of 0.5",
        quantity: "buffer_bdp",
        arguments: &[("exponent", &[0.5])],
    },
    sizing: Some(Sizing {
        assumptions: |s| vec![many_flows(s, MANY), measured_exponent()],
        predict: None,
        size: Some(size),
        note: "",
    }),
    references: REFERENCES,
};

/// The names in reference tables.
const REFERENCES: &[Reference] = &[named("power-law", "optimal buffer / BDP", &[])
    .quantity("buffer_bdp", &[Column::of(&["exponent"])])];

fn measured_exponent() -> Check {
    unknown(
        "loss falls as a power of the buffer, B^-1/2",
        "the exponent of the loss is not measured; the formula uses 1/2".into(),
    )
}

fn size(s: &Situation, _: &Targets) -> Packets {
    Ok(Some(s.residual_bdp()? * power_law_buffer(0.5)?))
}

/// The best buffer over the BDP, e/(2-e), with p = a B^-e and rate 1/((T + B/C) sqrt p), 0 < e < 2
/// (Prasad, Dovrolis & Thottan).
pub fn power_law_buffer(exponent: f64) -> Result<f64, FormulaError> {
    check(
        "exponent e of the loss law",
        exponent,
        "0 < x < 2",
        exponent > 0.0 && exponent < 2.0,
    )?;
    representable("buffer over BDP", exponent / (2.0 - exponent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_power_law_optimum_is_one(e in 0.05_f64..1.9, x in 0.001_f64..50.0) {
            // The rate over its scale is B^(e/2)/(1 + B), in units of the BDP.
            let rate = |b: f64| 0.5 * e * libm::log(b) - libm::log1p(b);
            prop_assert!(rate(x) <= rate(power_law_buffer(e).unwrap()) + 1e-12);
        }
    }
}
