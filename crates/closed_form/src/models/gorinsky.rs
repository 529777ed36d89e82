//! Two datagrams per input link: Gorinsky, Kantawala & Turner.

use forebay_scenario::Check;

use crate::checks::{MANY, many_flows, paced_or_limited, unknown};
use crate::error::{FormulaError, positive, representable};
use crate::inputs::BUF;
use crate::model::{Example, Model, Packets, Sizing, symbol};
use crate::pieces::long_flows;
use crate::quantity::{Input, quantity};
use crate::reference::{Column, Reference, named};
use crate::situation::{Situation, Targets};

/// The model.
pub static MODEL: Model = Model {
    name: "gorinsky",
    aliases: &["two-per-input", "2l"],
    title: "Two datagrams per input link",
    summary: "A buffer that depends on the number of input links only; senders must adapt to it.",
    formula: "B = 2L",
    symbols: &[BUF, symbol("L", "input links", "links")],
    assumptions: &["many smooth senders", "independent of rates and flows"],
    source: "Gorinsky, Kantawala & Turner, Link buffer sizing: a new look at the old problem (ISCC 2005).",
    errata: &[],
    variants: &[],
    quantities: &[quantity(
        "buffer",
        "packets",
        &[Input::new("input_links", "links", "input links", "above 0")],
        |a| two_per_input(a[0]),
    )],
    example: Example {
        text: "Buffer of a router with 4 input links",
        quantity: "buffer",
        arguments: &[("input_links", &[4.0])],
    },
    sizing: Some(Sizing {
        assumptions: |s| vec![many_flows(s, MANY), paced_or_limited(s), input_links()],
        predict: None,
        size: Some(size),
        note: "",
    }),
    references: REFERENCES,
};

/// The names in reference tables.
const REFERENCES: &[Reference] =
    &[named("gorinsky", "buffer", &[]).quantity("buffer", &[Column::of(&["input_links"])])];

fn input_links() -> Check {
    unknown(
        "few input links, whatever the flows",
        "the scenario has no number of input links, so the formula uses one for each long flow"
            .into(),
    )
}

fn size(s: &Situation, _: &Targets) -> Packets {
    Ok(Some(two_per_input(long_flows(s)?.ceil())?))
}

/// The buffer B = 2L in datagrams for L input links (Gorinsky, Kantawala & Turner).
pub fn two_per_input(input_links: f64) -> Result<f64, FormulaError> {
    positive("input links", input_links)?;
    representable("buffer (datagrams)", 2.0 * input_links)
}
