//! Additive increase, multiplicative decrease: the deterministic sawtooth.

use crate::error::{FormulaError, open_unit, positive};
use crate::inputs::{CUT, LOSS_PROBABILITY, LOSS_UP_TO_ONE, MEAN_WINDOW, P, PERIODIC};
use crate::model::{Example, Model, symbol};
use crate::quantity::{Input, quantity};
use crate::reference::{Column, Reference, named};
use crate::response;
use crate::response::Response;

/// The model.
pub static MODEL: Model = Model {
    name: "aimd",
    aliases: &["additive-increase"],
    title: "Response function of additive increase, multiplicative decrease",
    summary: "The deterministic sawtooth that gains a packets per round trip and loses the fraction b at a cut.",
    formula: "w = √( a(2 − b)/(2 b p) )        κ = b/(√3 (2 − b))",
    symbols: &[
        MEAN_WINDOW,
        LOSS_PROBABILITY,
        symbol("a", "increase per round trip", "packets"),
        symbol("b", "fraction cut", "1"),
        symbol("κ", "standard deviation over mean of the window", "1"),
    ],
    assumptions: &[PERIODIC],
    source: "Derived here; AIMD(1, 1/2) is Reno.",
    errata: &[],
    variants: &[],
    quantities: &[
        quantity(
            "window",
            "packets",
            &[
                LOSS_UP_TO_ONE,
                Input::new("increase", "packets/RTT", "additive increase", "above 0").or(1.0),
                CUT.or(0.5),
            ],
            |a| {
                AimdResponse {
                    increase: a[1],
                    cut: a[2],
                }
                .window(a[0], 1.0)
            },
        ),
        quantity("variation", "1", &[CUT.or(0.5)], |a| {
            response::sawtooth_variation(a[0])
        }),
    ],
    example: Example {
        text: "Mean window of AIMD(1, 0.3) at a loss of 1e-4",
        quantity: "window",
        arguments: &[("loss", &[1e-4]), ("cut", &[0.3])],
    },
    sizing: None,
    references: REFERENCES,
};

/// The names in reference tables.
const REFERENCES: &[Reference] = &[
    named("aimd", "window coefficient of variation", &["variation"])
        .quantity("variation", &[Column::of(&["cut", "b"])]),
    named("aimd", "mean window", &[]).quantity(
        "window",
        &[P, Column::of(&["a"]).or(1.0), Column::of(&["cut", "b"])],
    ),
];

/// The response function w = sqrt(a(2-b)/(2bp)).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AimdResponse {
    /// Additive increase a, in packets per round trip; above 0.
    pub increase: f64,
    /// Fraction b that a multiplicative decrease removes, 0 < b < 1.
    pub cut: f64,
}

impl Response for AimdResponse {
    fn validate(&self) -> Result<(), FormulaError> {
        positive("additive increase (packets/RTT)", self.increase)?;
        open_unit("cut fraction", self.cut)?;
        Ok(())
    }

    fn ln_window(&self, ln_loss: f64, _: f64) -> f64 {
        let &Self { increase, cut } = self;
        0.5 * (libm::log(increase * (2.0 - cut) / (2.0 * cut)) - ln_loss)
    }

    fn beta(&self, _: f64) -> f64 {
        1.0 - self.cut
    }

    fn additive_increase(&self) -> Option<f64> {
        Some(self.increase)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::mathis::RenoResponse;
    use proptest::prelude::*;

    #[test]
    fn reno_spreads_by_a_fifth() {
        assert!((response::sawtooth_variation(0.5).unwrap() - 0.19245).abs() < 5e-6);
    }

    proptest! {
        #[test]
        fn reno_is_the_aimd_of_its_own_increase(ln_loss in -40.0_f64..0.0, packets_per_ack in 1.0_f64..4.0) {
            let reno = RenoResponse { packets_per_ack };
            let increase = reno.additive_increase().unwrap();
            let aimd = AimdResponse { increase, cut: 1.0 - reno.beta(1.0) };
            prop_assert!((aimd.ln_window(ln_loss, 0.1) - reno.ln_window(ln_loss, 0.1)).abs() < 1e-12);
        }

        #[test]
        fn aimd_one_half_is_reno(ln_loss in -40.0_f64..0.0) {
            let aimd = AimdResponse { increase: 1.0, cut: 0.5 }.ln_window(ln_loss, 0.1);
            prop_assert!((aimd - RenoResponse::default().ln_window(ln_loss, 0.1)).abs() < 1e-12);
        }
    }
}
