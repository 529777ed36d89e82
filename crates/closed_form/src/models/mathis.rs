//! Reno at a loss probability: the inverse square root of Mathis, Semke, Mahdavi & Ott, and eq. (2)
//! of Dhamdhere & Dovrolis.

use crate::error::{FormulaError, positive, probability, representable};
use crate::inputs::{
    LOSS_PROBABILITY, LOSS_UP_TO_ONE, MEAN_WINDOW, P, PACKETS_PER_ACK, PER_ACK, PERIODIC,
    ROUND_TRIP, RTT, RTT_S,
};
use crate::model::{Example, Model, symbol, variant};
use crate::quantity::quantity;
use crate::reference::{Reference, named};
use crate::response::Response;

/// The model.
pub static MODEL: Model = Model {
    name: "mathis",
    aliases: &["reno", "dd-eq2", "inverse-sqrt-p"],
    title: "Rate of Reno at a loss probability",
    summary: "The window goes as the inverse square root of the loss probability.",
    formula: "w = √( 3/(2 d p) )        rate = w/R",
    symbols: &[
        MEAN_WINDOW,
        LOSS_PROBABILITY,
        ROUND_TRIP,
        symbol("d", "packets per ACK: 1, or 2 with delayed ACKs", "packets"),
    ],
    assumptions: &[PERIODIC, "p below 1-2 %"],
    source: "Mathis, Semke, Mahdavi & Ott (CCR 1997); eq. (2) of Dhamdhere & Dovrolis with d = 2.",
    errata: &[
        "The 0.87 of eq. (2) is √(3/4) = 0.8660 rounded: one ACK per two packets. With an ACK per packet the constant is 1.2247.",
    ],
    variants: &[variant(
        "printed",
        "0.87/(T √p) with the paper's rounded constant",
    )],
    quantities: &[
        quantity(
            "window",
            "packets",
            &[LOSS_UP_TO_ONE, PER_ACK.or(1.0)],
            |a| mathis(a[0], a[1]),
        ),
        quantity(
            "rate",
            "packets/s",
            &[LOSS_UP_TO_ONE, RTT, PER_ACK.or(1.0)],
            |a| Ok(mathis(a[0], a[2])? / positive("round-trip time (s)", a[1])?),
        ),
        quantity("rate:printed", "packets/s", &[LOSS_UP_TO_ONE, RTT], |a| {
            flow_rate(a[0], a[1])
        }),
    ],
    example: Example {
        text: "Mean window at 1 % loss without delayed ACKs",
        quantity: "window",
        arguments: &[("loss", &[0.01])],
    },
    sizing: None,
    references: REFERENCES,
};

/// The names in reference tables.
const REFERENCES: &[Reference] = &[
    named("mathis", "rate x rtt, no delayed ACK", &["no delayed"])
        .quantity("window", &[P, PACKETS_PER_ACK.or(1.0)]),
    named("mathis", "rate x rtt, delayed ACK", &["delayed"])
        .quantity("window", &[P, PACKETS_PER_ACK.or(2.0)]),
    named("mathis", "rate x rtt", &[]).quantity("window", &[P, PACKETS_PER_ACK.or(1.0)]),
    named("dd-eq2", "rate", &[]).quantity("rate:printed", &[P, RTT_S]),
];

/// The response function of Reno, w = sqrt(3/(2dp)).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RenoResponse {
    /// Packets d acknowledged by one ACK: 1 without delayed ACKs, 2 with them. Default 1.
    pub packets_per_ack: f64,
}

impl Default for RenoResponse {
    fn default() -> Self {
        Self {
            packets_per_ack: 1.0,
        }
    }
}

impl Response for RenoResponse {
    fn validate(&self) -> Result<(), FormulaError> {
        positive("packets per ACK", self.packets_per_ack)?;
        Ok(())
    }

    fn ln_window(&self, ln_loss: f64, _: f64) -> f64 {
        0.5 * (libm::log(1.5 / self.packets_per_ack) - ln_loss)
    }

    fn beta(&self, _: f64) -> f64 {
        0.5
    }

    fn additive_increase(&self) -> Option<f64> {
        Some(1.0 / self.packets_per_ack)
    }

    fn is_reno(&self) -> bool {
        true
    }
}

/// Reno's packets per round-trip time, sqrt(3/(2d)) / sqrt(p), with d packets per ACK (Mathis et
/// al.).
pub fn mathis(loss: f64, packets_per_ack: f64) -> Result<f64, FormulaError> {
    RenoResponse { packets_per_ack }.window(loss, 1.0)
}

/// The constant of eq. (2): sqrt(3/4) rounded as the paper prints it (one ACK per two packets).
pub const DELAYED_ACK: f64 = 0.87;

/// The rate of eq. (2), R = 0.87/(T sqrt p), in packets/s. It has no timeouts and is valid below a
/// loss of 1-2 %.
pub fn flow_rate(loss: f64, rtt_s: f64) -> Result<f64, FormulaError> {
    probability("loss probability", loss)?;
    positive("round-trip time (s)", rtt_s)?;
    representable("rate (packets/s)", DELAYED_ACK / (rtt_s * loss.sqrt()))
}
