//! The response function of CUBIC (RFC 9438 sections 4.1-4.3 and 5.1).

use crate::error::{FormulaError, non_negative, open_unit, positive, probability, representable};
use crate::inputs::{
    CUT, LOSS_PROBABILITY, LOSS_UP_TO_ONE, MEAN_WINDOW, P, PERIODIC, ROUND_TRIP, RTT, RTT_S,
};
use crate::model::{Example, Model, symbol, variant};
use crate::models::aimd::AimdResponse;
use crate::quantity::{Input, quantity};
use crate::reference::{Column, Reference, named};
use crate::response::Response;

/// The model.
pub static MODEL: Model = Model {
    name: "cubic-response",
    aliases: &["cubic-window"],
    title: "Response function of CUBIC",
    summary: "The window goes as (R/p)^(3/4); at short round-trip times the Reno-friendly window is larger and counts.",
    formula: "w = ( C(4 − b)/(4b) )^¼ (R/p)^¾,  at least √( a(2 − b)/(2bp) ) with a = 3b/(2 − b)\nW(t) = C(t − K)³ + W_max,  K = ∛(W_max b/C)        κ = b √(9/112)/(1 − b/4)",
    symbols: &[
        MEAN_WINDOW,
        LOSS_PROBABILITY,
        ROUND_TRIP,
        symbol("C", "scaling constant", "packets/s³"),
        symbol("b", "fraction cut: 0.3 (RFC 9438), 0.2 (2008)", "1"),
        symbol("K", "time from a cut to the plateau", "s"),
        symbol("κ", "standard deviation over mean of the window", "1"),
    ],
    assumptions: &[PERIODIC, "constant round-trip time"],
    source: "RFC 9438 sections 4.1-4.3 and 5.1 (average window, derived again here).",
    errata: &[
        "beta means the decrease factor in RFC 9438 and the cut in the paper of 2008; here `cut` is the fraction cut.",
    ],
    variants: &[variant(
        "epoch",
        "the cubic epoch alone, without the Reno-friendly floor",
    )],
    quantities: &[
        quantity("window", "packets", CUBIC_AT, |a| {
            CubicResponse {
                scaling: a[2],
                cut: a[3],
            }
            .window(a[0], a[1])
        }),
        quantity("window:epoch", "packets", CUBIC_AT, |a| {
            CubicResponse {
                scaling: a[2],
                cut: a[3],
            }
            .epoch_mean_window(a[0], a[1])
        }),
        quantity(
            "window_after_cut",
            "packets",
            &[
                Input::new("time_s", "s", "time since the cut", "0 and more"),
                Input::new("peak", "packets", "window before the cut", "above 0"),
                SCALING,
                CUT.or(0.3),
            ],
            |a| {
                CubicResponse {
                    scaling: a[2],
                    cut: a[3],
                }
                .window_after_cut(a[0], a[1])
            },
        ),
        quantity("variation", "1", &[CUT.or(0.3)], |a| {
            CubicResponse {
                cut: a[0],
                ..CubicResponse::default()
            }
            .epoch_variation()
        }),
    ],
    example: Example {
        text: "Mean window at a loss of 1e-6 and 100 ms",
        quantity: "window",
        arguments: &[("loss", &[1e-6]), ("rtt_s", &[0.1])],
    },
    sizing: None,
    references: REFERENCES,
};

/// The names in reference tables.
const REFERENCES: &[Reference] = &[
    named("cubic", "window coefficient of variation", &["variation"])
        .quantity("variation", &[CUT_FRACTION]),
    named("cubic", "window at time t after cut", &["time t"])
        .quantity("window_after_cut", AFTER_CUT),
    named("cubic", "window at time t after cut", &[])
        .given("t_s")
        .quantity("window_after_cut", AFTER_CUT),
    named("cubic", "mean window, Reno-friendly", &["friendly", "max"]).quantity("window", MEAN),
    named("cubic", "mean window", &[]).quantity("window:epoch", MEAN),
];

const CUT_FRACTION: Column = Column::of(&["cut"]).or_after_or("cut", 0.3);
const MEAN: &[Column] = &[P, RTT_S, Column::of(&["C"]).or(0.4), CUT_FRACTION];
const AFTER_CUT: &[Column] = &[
    Column::of(&["t_s"]),
    Column::of(&["Wmax"]),
    Column::of(&["C"]).or(0.4),
    CUT_FRACTION,
];

const SCALING: Input =
    Input::new("scaling", "packets/s^3", "CUBIC's constant C", "above 0").or(0.4);
const CUBIC_AT: &[Input] = &[LOSS_UP_TO_ONE, RTT, SCALING, CUT.or(0.3)];

/// The response function of CUBIC (RFC 9438): w = (C(4-b)/(4b))^(1/4) (R/p)^(3/4) of its epoch, but
/// at least that of AIMD(3b/(2-b), b).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CubicResponse {
    /// Scaling C, in packets/s^3. Default 0.4.
    pub scaling: f64,
    /// Fraction b that a multiplicative decrease removes. It is 0.3 in RFC 9438 (the default) and
    /// was 0.2 in the version of 2008.
    pub cut: f64,
}

impl Default for CubicResponse {
    fn default() -> Self {
        Self {
            scaling: 0.4,
            cut: 0.3,
        }
    }
}

impl CubicResponse {
    /// Mean window of the cubic epoch in packets, without the Reno-friendly floor.
    pub fn epoch_mean_window(&self, loss: f64, rtt_s: f64) -> Result<f64, FormulaError> {
        self.validate()?;
        probability("loss probability", loss)?;
        positive("round-trip time (s)", rtt_s)?;
        representable(
            "mean window (packets)",
            libm::exp(self.ln_epoch_window(libm::log(loss), rtt_s)),
        )
    }

    /// The ln of the mean window of the cubic epoch.
    fn ln_epoch_window(self, ln_loss: f64, rtt_s: f64) -> f64 {
        let shape = self.scaling * (4.0 - self.cut) / (4.0 * self.cut);
        0.25 * libm::log(shape) + 0.75 * (libm::log(rtt_s) - ln_loss)
    }

    /// The window C (t - K)^3 + Wmax in packets, `t_s` seconds after a decrease from `peak`
    /// packets; K = (Wmax b / C)^(1/3).
    pub fn window_after_cut(&self, t_s: f64, peak: f64) -> Result<f64, FormulaError> {
        self.validate()?;
        non_negative("time since the cut (s)", t_s)?;
        positive("window before the cut (packets)", peak)?;
        let offset = t_s - self.plateau_s(peak);
        representable(
            "window (packets)",
            self.scaling * offset * offset * offset + peak,
        )
    }

    /// Coefficient of variation of the window over an epoch, b sqrt(9/112)/(1 - b/4).
    pub fn epoch_variation(&self) -> Result<f64, FormulaError> {
        self.validate()?;
        Ok(self.cut * (9.0_f64 / 112.0).sqrt() / (1.0 - self.cut / 4.0))
    }

    /// Time K in seconds from a decrease until the window is back at `peak` packets.
    fn plateau_s(self, peak: f64) -> f64 {
        libm::cbrt(peak * self.cut / self.scaling)
    }
}

impl Response for CubicResponse {
    fn validate(&self) -> Result<(), FormulaError> {
        positive("CUBIC scaling constant C (packets/s^3)", self.scaling)?;
        open_unit("cut fraction", self.cut)?;
        Ok(())
    }

    fn ln_window(&self, ln_loss: f64, rtt_s: f64) -> f64 {
        let friendly = AimdResponse {
            increase: 3.0 * self.cut / (2.0 - self.cut),
            cut: self.cut,
        };
        self.ln_epoch_window(ln_loss, rtt_s)
            .max(friendly.ln_window(ln_loss, rtt_s))
    }

    fn beta(&self, _: f64) -> f64 {
        1.0 - self.cut
    }

    fn variation(&self, _: f64) -> Result<f64, FormulaError> {
        self.epoch_variation()
    }

    fn depends_on_rtt(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric;

    #[test]
    fn constants_of_the_literature() {
        let cubic = |cut| CubicResponse {
            cut,
            ..CubicResponse::default()
        };
        assert!((cubic(0.3).epoch_mean_window(1.0, 1.0).unwrap() - 1.0538).abs() < 5e-5);
        assert!((cubic(0.2).epoch_mean_window(1.0, 1.0).unwrap() - 1.17405).abs() < 5e-5);
        assert!((cubic(0.3).epoch_variation().unwrap() - 0.0919).abs() < 5e-5);
    }

    #[test]
    fn cubic_window_returns_to_the_peak_after_the_plateau_time() {
        let cubic = CubicResponse::default();
        assert!((cubic.window_after_cut(0.0, 1000.0).unwrap() - 700.0).abs() < 1e-9);
        let k = cubic.plateau_s(1000.0);
        assert!((cubic.window_after_cut(k, 1000.0).unwrap() - 1000.0).abs() < 1e-9);
    }

    #[test]
    fn cubic_epoch_mean_by_quadrature() {
        // An epoch of K seconds from (1-b) Wmax to Wmax sends 1/p packets.
        let (cubic, rtt, loss) = (CubicResponse::default(), 0.08, 3e-5);
        let mean = cubic.epoch_mean_window(loss, rtt).unwrap();
        let peak = mean / (1.0 - cubic.cut / 4.0);
        let k = cubic.plateau_s(peak);
        let sent = numeric::integral((0.0, k), k / 8.0, |t| {
            cubic.window_after_cut(t, peak).unwrap() / rtt
        });
        assert!((sent * loss - 1.0).abs() < 1e-10);
    }
}
