//! The response function of H-TCP (Leith & Shorten) with a fixed back-off.

use crate::error::{FormulaError, non_negative, open_unit, representable};
use crate::inputs::{
    DECREASE_FACTOR, LOSS_PROBABILITY, LOSS_UP_TO_ONE, MEAN_WINDOW, P, PERIODIC, ROUND_TRIP, RTT,
    RTT_S,
};
use crate::model::{Example, Model, symbol};
use crate::numeric;
use crate::quantity::{Input, quantity};
use crate::reference::{Column, Reference, named};
use crate::response::Response;

/// The model.
pub static MODEL: Model = Model {
    name: "htcp-response",
    aliases: &["h-tcp-response"],
    title: "Response function of H-TCP with a fixed back-off",
    summary: "Growth accelerates with the time since the last cut; epochs below a second are Reno.",
    formula: "w = R/(p T),  packets(T) = [βWT + 2(1 − β)G/R]/R = 1/p,  W = 2F/R\nF = T + 5d² + d³/12,  G = T²/2 + 5d³/3 + d⁴/48,  d = max(0, T − 1 s)\nf(s) = 1 up to 1 s, then 1 + 10(s−1) + ((s−1)/2)²",
    symbols: &[
        MEAN_WINDOW,
        LOSS_PROBABILITY,
        ROUND_TRIP,
        symbol("T", "time between cuts", "s"),
        symbol("β", "decrease factor", "1"),
        symbol(
            "f, F, G",
            "increase factor, its first and second integral",
            "1, s, s²",
        ),
    ],
    assumptions: &[
        PERIODIC,
        "a fixed back-off factor",
        "constant round-trip time",
    ],
    source: "Leith & Shorten, H-TCP; response derived here.",
    errata: &[],
    variants: &[],
    quantities: &[
        quantity(
            "window",
            "packets",
            &[LOSS_UP_TO_ONE, RTT, DECREASE_FACTOR],
            |a| {
                HtcpResponse {
                    beta: a[2],
                    ..HtcpResponse::default()
                }
                .window(a[0], a[1])
            },
        ),
        quantity(
            "increase_factor",
            "packets/RTT",
            &[
                Input::new("time_s", "s", "time since the cut", "0 and more"),
                Input::new(
                    "quiet_s",
                    "s",
                    "time of Reno growth after a cut",
                    "0 and more",
                )
                .or(1.0),
            ],
            |a| {
                HtcpResponse {
                    quiet_s: a[1],
                    ..HtcpResponse::default()
                }
                .increase_factor(a[0])
            },
        ),
    ],
    example: Example {
        text: "Mean window at a loss of 1e-4 and 100 ms",
        quantity: "window",
        arguments: &[("loss", &[1e-4]), ("rtt_s", &[0.1])],
    },
    sizing: None,
    references: REFERENCES,
};

/// The names in reference tables.
const REFERENCES: &[Reference] = &[
    named("htcp", "increase factor f", &["factor"]).quantity(
        "increase_factor",
        &[Column::of(&["delta_s"]), Column::of(&["delta_L_s"]).or(1.0)],
    ),
    named("htcp", "mean window", &[]).formula(
        |a| {
            HtcpResponse {
                beta: a[2],
                quiet_s: a[3],
            }
            .window(a[0], a[1])
        },
        &[
            P,
            RTT_S,
            Column::of(&["beta"]).or_after_or("beta", 0.5),
            Column::of(&["delta_L_s"]).or(1.0),
        ],
    ),
];

/// The response function of H-TCP with a fixed back-off. The increase is 2(1-beta) f(s) packets per
/// round trip, s seconds after a decrease.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HtcpResponse {
    /// Decrease factor beta, 0.5 to 0.8 in the protocol. Default 0.5.
    pub beta: f64,
    /// Time in seconds after a decrease during which it grows as Reno. Default 1.
    pub quiet_s: f64,
}

impl Default for HtcpResponse {
    fn default() -> Self {
        Self {
            beta: 0.5,
            quiet_s: 1.0,
        }
    }
}

impl HtcpResponse {
    /// The increase factor f(s): 1 up to the quiet period, then 1 + 10 d + (d/2)^2 with d the
    /// seconds beyond it.
    pub fn increase_factor(&self, since_cut_s: f64) -> Result<f64, FormulaError> {
        self.validate()?;
        non_negative("time since the cut (s)", since_cut_s)?;
        let d = (since_cut_s - self.quiet_s).max(0.0);
        representable("increase factor", 1.0 + 10.0 * d + 0.25 * d * d)
    }

    /// The ln of the packets sent in a cycle of `t` seconds: [beta W T + 2(1-beta) G/R]/R, W =
    /// 2F/R.
    fn ln_packets(self, t: f64, rtt_s: f64) -> f64 {
        let d = (t - self.quiet_s).max(0.0);
        // F and G are the first and second integrals of f.
        let first = t + d * d * (5.0 + d / 12.0);
        let second = t * t / 2.0 + d * d * d * (5.0 / 3.0 + d / 48.0);
        let inside = 2.0 * self.beta * first * t + 2.0 * (1.0 - self.beta) * second;
        libm::log(inside) - 2.0 * libm::log(rtt_s)
    }
}

impl Response for HtcpResponse {
    fn validate(&self) -> Result<(), FormulaError> {
        open_unit("decrease factor beta", self.beta)?;
        non_negative("quiet period (s)", self.quiet_s)?;
        Ok(())
    }

    /// The ln of R/(p T), where T is the cycle length with packets(T) = 1/p.
    fn ln_window(&self, ln_loss: f64, rtt_s: f64) -> f64 {
        // Beyond e^-600 a cycle is a pure quartic: packets ~ T^4, so the window goes as p^(-3/4).
        const FAR: f64 = -600.0;
        if ln_loss < FAR {
            return self.ln_window(FAR, rtt_s) - 0.75 * (ln_loss - FAR);
        }
        let excess = |ln_t: f64| -ln_loss - self.ln_packets(libm::exp(ln_t), rtt_s);
        let Ok(interval) = numeric::bracket_decreasing("H-TCP cycle", (0.0, 1024.0), excess) else {
            return f64::NAN;
        };
        match numeric::root("H-TCP cycle", interval, excess) {
            Ok(ln_t) => libm::log(rtt_s) - ln_loss - ln_t,
            Err(_) => f64::NAN,
        }
    }

    fn beta(&self, _: f64) -> f64 {
        self.beta
    }

    fn depends_on_rtt(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::mathis::RenoResponse;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn htcp_with_short_epochs_is_reno(loss in 1e-3_f64..0.5, rtt in 1e-4_f64..5e-3) {
            // A Reno cycle lasts W/2 round trips.
            let reno = RenoResponse::default().window(loss, rtt).unwrap();
            prop_assume!(reno * rtt < 1.0);
            let htcp = HtcpResponse::default().window(loss, rtt).unwrap();
            prop_assert!((htcp / reno - 1.0).abs() < 1e-10);
        }
    }
}
