//! The response function of Scalable TCP (Kelly).

use crate::error::{FormulaError, probability, representable};
use crate::inputs::{LOSS_PROBABILITY, LOSS_UP_TO_ONE, MEAN_WINDOW, P, PERIODIC};
use crate::model::{Example, Model, variant};
use crate::quantity::quantity;
use crate::reference::{Reference, named};
use crate::response::Response;

/// The model.
pub static MODEL: Model = Model {
    name: "scalable-response",
    aliases: &["stcp-response"],
    title: "Response function of Scalable TCP",
    summary: "The window goes as 1/p: losses come at a fixed number of round trips.",
    formula: "w = 0.01/(p ln(8/7)) = 0.0749/p        peak 0.08/p",
    symbols: &[MEAN_WINDOW, LOSS_PROBABILITY],
    assumptions: &[PERIODIC],
    source: "Kelly, Scalable TCP (CCR 2003); mean derived here.",
    errata: &["The customary 0.08/p is the peak window, not the mean."],
    variants: &[variant("peak", "the window just before a cut")],
    quantities: &[
        quantity("window", "packets", &[LOSS_UP_TO_ONE], |a| {
            ScalableResponse.window(a[0], 1.0)
        }),
        quantity("window:peak", "packets", &[LOSS_UP_TO_ONE], |a| {
            scalable_peak(a[0])
        }),
    ],
    example: Example {
        text: "Mean window at a loss of 1e-4",
        quantity: "window",
        arguments: &[("loss", &[1e-4])],
    },
    sizing: None,
    references: REFERENCES,
};

/// The names in reference tables.
const REFERENCES: &[Reference] = &[
    named("scalable", "peak window", &["peak"]).quantity("window:peak", &[P]),
    named(
        "scalable",
        "window coefficient of variation",
        &["variation"],
    )
    .formula(|_| Ok(epoch_variation()), &[]),
    named("scalable", "mean window", &[]).quantity("window", &[P]),
];

/// The response function w = 0.01/(p ln(8/7)): growth by a hundredth per ACK, a decrease by an
/// eighth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScalableResponse;

impl Response for ScalableResponse {
    fn validate(&self) -> Result<(), FormulaError> {
        Ok(())
    }

    fn ln_window(&self, ln_loss: f64, _: f64) -> f64 {
        libm::log(MEAN) - ln_loss
    }

    fn beta(&self, _: f64) -> f64 {
        0.875
    }
}

/// The mean window times the loss probability, 0.01 / ln(8/7).
const MEAN: f64 = 0.01 / 0.133_531_392_624_522_63;

/// Scalable's window just before a decrease, 0.08/p, the customary "response function".
pub fn scalable_peak(loss: f64) -> Result<f64, FormulaError> {
    probability("loss probability", loss)?;
    representable("peak window (packets)", 0.08 / loss)
}

/// Coefficient of variation of an exponential epoch from 7/8 of the peak to the peak. The sizing
/// rules use a linear sawtooth instead, which differs by a thousandth.
fn epoch_variation() -> f64 {
    let length = libm::log(8.0 / 7.0);
    let mean = 0.125 / length;
    let square = (1.0 - 0.765_625) / (2.0 * length);
    (square / (mean * mean) - 1.0).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_of_the_literature() {
        assert!((ScalableResponse.window(1.0, 1.0).unwrap() - 0.0749).abs() < 5e-5);
        let linear = ScalableResponse.variation(100.0).unwrap();
        assert!((epoch_variation() / linear - 1.0).abs() < 2e-3);
    }
}
