//! Buffers of tens of packets for paced or access-limited sources, after Enachescu, Ganjali, Goel,
//! McKeown & Roughgarden.

use forebay_scenario::Check;

use crate::checks::{MANY, checked, load_below_one, many_flows, paced_or_limited, unknown};
use crate::error::{FormulaError, check, open_unit, positive, representable};
use crate::inputs::{BUF, LOAD_WITHIN_ONE};
use crate::model::{Example, Model, Packets, Sizing, symbol};
use crate::pieces::stable;
use crate::quantity::{Input, quantity};
use crate::reference::{Column, Reference, named};
use crate::situation::{Situation, Targets};
use crate::words::figure;

/// The model.
pub static MODEL: Model = Model {
    name: "tiny-buffers",
    aliases: &["enachescu", "tiny-buffer"],
    title: "Tens of packets for paced traffic",
    summary: "Paced or access-limited flows at a load below 1 need a buffer that grows only with the logarithm of the window.",
    formula: "B = log_{1/ρ}( W²_max / (d (1 − θ)) )",
    symbols: &[
        BUF,
        symbol("ρ", "load", "1"),
        symbol("W_max", "largest window", "packets"),
        symbol("θ", "share of the largest throughput wanted", "1"),
        symbol("d", "2 as published, 8 by the direct area argument", "1"),
    ],
    assumptions: &[
        "many paced sources, or access links far slower than the link",
        "load below 1",
    ],
    source: "Enachescu, Ganjali, Goel, McKeown & Roughgarden (CCR 2005, INFOCOM 2006); constant recalled.",
    errata: &[
        "d = 2 is the published constant to the best of recollection; the direct argument (each loss costs at most W²_max/8 packets) gives 8.",
    ],
    variants: &[],
    quantities: &[quantity(
        "buffer",
        "packets",
        &[
            Input::new("largest_window", "packets", "largest window", "above 0"),
            LOAD_WITHIN_ONE,
            Input::new(
                "throughput_share",
                "1",
                "share of the largest throughput wanted",
                "0 to below 1",
            )
            .or(0.9),
            Input::new(
                "denominator",
                "1",
                "2 as published, 8 by the direct argument",
                "above 0",
            )
            .or(2.0),
        ],
        |a| {
            TinyBuffer {
                largest_window: a[0],
                load: a[1],
                throughput_share: a[2],
                denominator: a[3],
            }
            .buffer()
        },
    )],
    example: Example {
        text: "Buffer for windows of 64 packets at load 0.8 and 90 % of the throughput",
        quantity: "buffer",
        arguments: &[("largest_window", &[64.0]), ("load", &[0.8])],
    },
    sizing: Some(Sizing {
        assumptions: |s| {
            vec![
                many_flows(s, MANY),
                paced_or_limited(s),
                load_below_one(load(s)),
                known_window(s),
            ]
        },
        predict: None,
        size: Some(size),
        note: "",
    }),
    references: REFERENCES,
};

/// The names in reference tables.
const REFERENCES: &[Reference] = &[named("tiny-buffer", "buffer", &[]).quantity(
    "buffer",
    &[
        Column::of(&["Wmax"]),
        Column::of(&["rho"]),
        Column::of(&["theta"]),
        Column::of(&["denominator"]).or_after_or("denominator", 2.0),
    ],
)];

/// The load without losses. Long flows offer what their windows and access links allow.
fn load(s: &Situation) -> f64 {
    if s.persistent > 0.0 {
        (s.background + s.saturation).min(1.0)
    } else {
        s.offered_load()
    }
}

fn size(s: &Situation, t: &Targets) -> Packets {
    let load = stable(load(s))?;
    let largest_window = s.largest_window.unwrap_or(s.fair_window()?);
    let throughput_share = t.utilization.filter(|goal| *goal < 1.0).unwrap_or(0.9);
    Ok(Some(
        TinyBuffer {
            largest_window,
            load,
            throughput_share,
            denominator: 2.0,
        }
        .buffer()?,
    ))
}

fn known_window(s: &Situation) -> Check {
    let assumption = "a known largest window";
    match s.largest_window {
        Some(window) => {
            let why = format!("receive windows are {} packets at most", figure(window));
            checked(assumption, true, why)
        }
        None => unknown(
            assumption,
            "no receive window is given; a flow's fair share is taken for the largest".into(),
        ),
    }
}

/// The tiny buffer B = log_{1/rho}(W_max^2 / (d (1 - theta))) for paced or access-limited sources.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TinyBuffer {
    /// Largest window W_max, in packets.
    pub largest_window: f64,
    /// Load rho, 0 < rho < 1.
    pub load: f64,
    /// Required share theta of the largest possible throughput, 0 <= theta < 1.
    pub throughput_share: f64,
    /// Denominator d: 2 as published (to the best of recollection), 8 from the direct area
    /// argument.
    pub denominator: f64,
}

impl TinyBuffer {
    /// The buffer B in packets; 0 if the formula gives less.
    pub fn buffer(&self) -> Result<f64, FormulaError> {
        positive("largest window (packets)", self.largest_window)?;
        open_unit("load", self.load)?;
        let theta = self.throughput_share;
        check(
            "throughput share theta",
            theta,
            "0 <= x < 1",
            (0.0..1.0).contains(&theta),
        )?;
        positive("denominator d", self.denominator)?;
        let odds = self.largest_window * self.largest_window / (self.denominator * (1.0 - theta));
        representable(
            "buffer (packets)",
            (libm::log(odds) / -libm::log(self.load)).max(0.0),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn logarithmic_in_the_window_and_diverging(w in 2.0_f64..1e6, load in 0.1_f64..0.95) {
            let tiny = TinyBuffer { largest_window: w, load, throughput_share: 0.9, denominator: 2.0 };
            let b = tiny.buffer().unwrap();
            let squared = TinyBuffer { largest_window: w * w, ..tiny }.buffer().unwrap();
            let step = 2.0 * libm::log(w) / -libm::log(load);
            prop_assert!((squared - b - step).abs() < 1e-6 * step);
            let near = TinyBuffer { load: 1.0 - 1e-9, ..tiny }.buffer().unwrap();
            prop_assert!(near > 1e8);
        }
    }
}
