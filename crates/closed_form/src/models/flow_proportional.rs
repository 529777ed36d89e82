//! A few packets per flow, after Morris.

use forebay_scenario::Metric;

use crate::checks::{MANY, many_flows, reno, saturable};
use crate::error::{FormulaError, positive, representable};
use crate::inputs::{BUF, FLOWCOUNT, FLOWS, N};
use crate::model::{Example, Model, Numbers, Packets, Sizing, symbol};
use crate::models::full_link_loss::FullLink;
use crate::pieces::long_flows;
use crate::quantity::{Input, quantity};
use crate::reference::{Column, Reference, named};
use crate::situation::{Situation, Targets};

/// The model.
pub static MODEL: Model = Model {
    name: "flow-proportional",
    aliases: &["morris"],
    title: "A few packets per flow",
    summary: "Loss depends on storage per flow: six to ten packets each keep windows large enough for fast retransmit.",
    formula: "B = m N        p = k² (N/S)²,  S = CT + B,  k² = 3/4",
    symbols: &[
        BUF,
        FLOWCOUNT,
        symbol("m", "packets per flow, 6 to 10", "packets"),
        symbol("S", "storage: pipe and buffer", "packets"),
        symbol("p", "loss", "1"),
    ],
    assumptions: &["many long Reno flows that fill the link"],
    source: "Morris, TCP behavior with many flows (ICNP 1997) and Scalable TCP congestion control (INFOCOM 2000) (recalled); same as eq. (3) of Dhamdhere & Dovrolis.",
    errata: &[],
    variants: &[],
    quantities: &[
        quantity(
            "buffer",
            "packets",
            &[
                FLOWS,
                Input::new("per_flow", "packets", "packets per flow", "above 0").or(6.0),
            ],
            |a| flow_proportional(a[0], a[1]),
        ),
        quantity(
            "loss",
            "1",
            &[
                FLOWS,
                Input::new(
                    "storage",
                    "packets",
                    "bandwidth-delay product and buffer",
                    "above 0",
                ),
                Input::new("constant_squared", "1", "k^2", "above 0").or(0.75),
            ],
            |a| morris_loss(a[0], a[1], a[2]),
        ),
    ],
    example: Example {
        text: "Loss of 100 flows with a storage of 750 packets",
        quantity: "loss",
        arguments: &[("flows", &[100.0]), ("storage", &[750.0])],
    },
    sizing: Some(Sizing {
        assumptions: |s| vec![many_flows(s, MANY), reno(s), saturable(s)],
        predict: Some(predict),
        size: Some(size),
        note: "with six packets per flow, windows are large enough for fast retransmit",
    }),
    references: REFERENCES,
};

/// The names in reference tables.
const REFERENCES: &[Reference] = &[
    named("morris", "loss probability", &[]).quantity(
        "loss",
        &[N, Column::of(&["storage"]), Column::of(&["k2"]).or(0.75)],
    ),
    named("flow-proportional", "buffer", &[]).quantity("buffer", &[N, Column::of(&["per_flow"])]),
];

fn predict(s: &Situation) -> Numbers {
    let storage = s.residual_bdp()? + s.buffer;
    Ok(vec![(
        Metric::LossRate,
        FullLink::new(long_flows(s)?, storage)?.loss(),
    )])
}

fn size(s: &Situation, _: &Targets) -> Packets {
    Ok(Some(flow_proportional(long_flows(s)?, 6.0)?))
}

/// The loss of Morris, p = k^2 (N/S)^2 with storage S = BDP + B; k^2 = 3/4.
pub fn morris_loss(flows: f64, storage: f64, constant_squared: f64) -> Result<f64, FormulaError> {
    positive("number of flows", flows)?;
    positive("storage S (packets)", storage)?;
    positive("constant k^2", constant_squared)?;
    representable(
        "loss probability",
        constant_squared * (flows / storage) * (flows / storage),
    )
}

/// The flow-proportional buffer B = m N, in packets. With m of 6-10 packets windows stay large
/// enough for fast retransmit.
pub fn flow_proportional(flows: f64, per_flow: f64) -> Result<f64, FormulaError> {
    positive("number of flows", flows)?;
    positive("packets per flow", per_flow)?;
    representable("buffer (packets)", flows * per_flow)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn morris_is_eq_3(n in 1.0_f64..1e4, s in 1.0_f64..1e7) {
            let k = 0.75_f64.sqrt();
            let eq3 = FullLink { flows: n, storage: s, constant: k }.printed_loss();
            prop_assert!((morris_loss(n, s, 0.75).unwrap() / eq3 - 1.0).abs() < 1e-12);
        }
    }
}
