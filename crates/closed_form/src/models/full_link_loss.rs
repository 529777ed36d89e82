//! Loss of a link that many long Reno flows keep full: Dhamdhere & Dovrolis eq. (3).

use forebay_scenario::{Check, Metric, ModelError};

use crate::checks::{MANY, checked, loss_based, many_flows, saturable, unless_refused};
use crate::error::{FormulaError, non_negative, positive, probability, representable};
use crate::inputs::{
    B, BDP, BUFFER, CAPACITY, CAPACITY_PPS, FLOWS, LOSS_PROBABILITY, LOSS_UP_TO_ONE, N,
    PROPAGATION_S, RTT,
};
use crate::model::{Example, Model, Numbers, Packets, Sizing, symbol, variant};
use crate::models::barman_droptail::shared;
use crate::models::mathis::DELAYED_ACK;
use crate::numeric;
use crate::pieces::buffer_where;
use crate::quantity::{Arguments, Input, quantity};
use crate::reference::{Column, Reference, named};
use crate::situation::{Situation, Targets};
use crate::words::figure;

/// The model.
pub static MODEL: Model = Model {
    name: "full-link-loss",
    aliases: &["dhamdhere-dovrolis", "dd-eq3"],
    title: "Loss of a link that many long flows keep full",
    summary: "Loss grows with the square of the number of flows and falls with the square of pipe plus buffer.",
    formula: "√p = 2/( s + √(s² + 4) ),  s = (C T + B)/(0.87 N)        printed: p = (0.87 N)²/(C T + B)²",
    symbols: &[
        LOSS_PROBABILITY,
        symbol("N", "long flows", "flows"),
        symbol("C", "capacity", "packets/s"),
        symbol("T", "round-trip propagation time", "s"),
        symbol("B", "buffer", "packets"),
    ],
    assumptions: &[
        "many flows that keep the link full",
        "windows above about four packets: no timeouts (use pftk below)",
    ],
    source: "Dhamdhere & Dovrolis, Open issues in router buffer sizing (CCR 2006), eq. (3).",
    errata: &[
        "Eq. (3) lets the sending rate equal C; only (1 − p) of it crosses the link, so √p solves u² + su − 1 = 0.",
        "At the paper's own point (N = 200, BDP 250) eq. (3) gives 42 % and 5.4 % where its simulations show 7-8 % and 2 %: windows of 1.3 and 3.8 packets are outside its range; PFTK gives 10.2 % and 3.0 %.",
    ],
    variants: &[variant(
        "printed",
        "eq. (3) as printed; exceeds 1 beyond its range",
    )],
    quantities: &[
        quantity("loss", "1", FULL_LINK, |a| Ok(full(a)?.loss())),
        quantity("loss:printed", "1", FULL_LINK, |a| {
            Ok(full(a)?.printed_loss())
        }),
        quantity("mean_window", "packets", FULL_LINK, |a| {
            Ok(full(a)?.mean_window())
        }),
        quantity(
            "buffer_for_loss",
            "packets",
            &[FLOWS, BDP.within("0 and more"), LOSS_UP_TO_ONE],
            |a| buffer_for_loss(a[0], a[1], a[2]),
        ),
    ],
    example: Example {
        text: "Loss with 50 flows on 50 Mb/s (1500-byte packets), 60 ms, 100 packets of buffer",
        quantity: "loss",
        arguments: &[
            ("flows", &[50.0]),
            ("capacity_pps", &[12_500.0 / 3.0]),
            ("rtt_s", &[0.06]),
            ("buffer", &[100.0]),
        ],
    },
    sizing: Some(Sizing {
        assumptions: |s| {
            vec![
                many_flows(s, MANY),
                loss_based(s),
                saturable(s),
                windows_above_four(s),
            ]
        },
        predict: Some(predict),
        size: Some(size),
        note: "the formula has no timeouts, so it is too high for windows below about four packets",
    }),
    references: REFERENCES,
};

/// The names in reference tables.
const REFERENCES: &[Reference] = &[
    named("dd-eq3", "mean window", &["window"]).quantity("mean_window", FULL_LINK_COLUMNS),
    named(
        "dd-eq3",
        "loss probability, goodput-corrected",
        &["correct"],
    )
    .quantity("loss", FULL_LINK_COLUMNS),
    named("dd-eq3", "loss probability", &[]).quantity("loss:printed", FULL_LINK_COLUMNS),
];

const FULL_LINK_COLUMNS: &[Column] = &[N, CAPACITY_PPS, PROPAGATION_S, B];

fn full(a: &Arguments) -> Result<FullLink, FormulaError> {
    FullLink::of_link(a[0], (a[1], a[2]), a[3])
}

const FULL_LINK: &[Input] = &[FLOWS, CAPACITY, RTT, BUFFER];

fn predict(s: &Situation) -> Numbers {
    Ok(vec![(Metric::LossRate, full_link_loss(s, s.buffer)?)])
}

fn size(s: &Situation, t: &Targets) -> Packets {
    let Some(goal) = t.loss else { return Ok(None) };
    buffer_where(s, |buffer| Ok(full_link_loss(s, buffer)? <= goal))
}

/// The loss at which the flows' response function fills the rest of the link with a full buffer. It
/// is eq. (3) of Dhamdhere & Dovrolis for any controller.
fn full_link_loss(s: &Situation, buffer: f64) -> Result<f64, ModelError> {
    let link = shared(s, buffer.max(0.0) + 1.0)?;
    let delay = buffer / s.capacity_pps;
    let excess = |ln_p: f64| link.ln_load(ln_p, delay) + libm::log1p(-libm::exp(ln_p));
    let ln_p = numeric::root("loss probability", (-400.0, -1e-15), excess)?;
    Ok(libm::exp(ln_p))
}

fn windows_above_four(s: &Situation) -> Check {
    let assumption = "windows above about four packets (fast retransmit, not timeouts)";
    let check = s.fair_window().map(|window| {
        let share = figure(window);
        let why = if window > 4.0 {
            format!("a flow's share of the bandwidth-delay product and the buffer is {share} packets")
        } else {
            format!(
                "a flow's share of the pipe and the buffer is {share} packets, and below about four a \
                loss costs a timeout, which the formula leaves out"
            )
        };
        checked(assumption, window > 4.0, why)
    });
    unless_refused(assumption, check)
}

/// N long flows through one link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FullLink {
    /// Number N of flows.
    pub flows: f64,
    /// Storage C T_p + B of the path and its buffer, in packets.
    pub storage: f64,
    /// Constant k of the rate formula k/(T sqrt p).
    pub constant: f64,
}

impl FullLink {
    /// Creates the link with k = 0.87. The error names the input that is out of range.
    pub fn new(flows: f64, storage: f64) -> Result<Self, FormulaError> {
        Self {
            flows,
            storage,
            constant: DELAYED_ACK,
        }
        .validate()
    }

    /// Creates the link from its rate in packets/s, its propagation time in seconds and its buffer
    /// in packets.
    pub fn of_link(
        flows: f64,
        (capacity_pps, rtt_s): (f64, f64),
        buffer: f64,
    ) -> Result<Self, FormulaError> {
        positive("capacity (packets/s)", capacity_pps)?;
        positive("round-trip propagation time (s)", rtt_s)?;
        non_negative("buffer (packets)", buffer)?;
        Self::new(flows, capacity_pps * rtt_s + buffer)
    }

    /// Checks the link. The error names the field that is out of range.
    pub fn validate(self) -> Result<Self, FormulaError> {
        positive("number of flows", self.flows)?;
        positive("storage C T + B (packets)", self.storage)?;
        positive("rate constant k", self.constant)?;
        Ok(self)
    }

    /// The loss of eq. (3) as printed, p = (kN)^2/(C T_p + B)^2. It exceeds 1 beyond its validity
    /// (erratum D2).
    pub fn printed_loss(&self) -> f64 {
        let root = self.constant * self.flows / self.storage;
        root * root
    }

    /// The corrected loss, always below 1. Only (1 - p) of the sending rate crosses the link.
    /// Therefore sqrt(p) solves u^2 + s u - 1 = 0 with s = (C T_p + B)/(kN).
    pub fn loss(&self) -> f64 {
        let s = self.storage / (self.constant * self.flows);
        let root = 2.0 / (s + libm::sqrt(s * s + 4.0));
        root * root
    }

    /// Mean window per flow in packets, storage / flows.
    pub fn mean_window(&self) -> f64 {
        self.storage / self.flows
    }
}

/// The buffer in packets with which `flows` flows lose at most `loss`: k N (1-p)/sqrt(p) - C T_p.
/// It is 0 if the path alone holds enough.
pub fn buffer_for_loss(flows: f64, bdp: f64, loss: f64) -> Result<f64, FormulaError> {
    positive("number of flows", flows)?;
    non_negative("bandwidth-delay product (packets)", bdp)?;
    probability("loss probability", loss)?;
    let storage = DELAYED_ACK * flows * (1.0 - loss) / loss.sqrt();
    representable("buffer (packets)", (storage - bdp).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn printed_loss_scales_with_the_squares(n in 1.0_f64..1e4, s in 1.0_f64..1e7, k in 0.1_f64..9.0) {
            let at = |n, s| FullLink::new(n, s).unwrap().printed_loss();
            prop_assert!((at(k * n, s) / at(n, s) / (k * k) - 1.0).abs() < 1e-12);
            prop_assert!((at(n, k * s) / at(n, s) * (k * k) - 1.0).abs() < 1e-12);
        }

        #[test]
        fn corrected_is_below_printed_and_a_probability(n in 1e-3_f64..1e6, s in 1e-2_f64..1e9) {
            let link = FullLink::new(n, s).unwrap();
            // At small losses they differ by less than a rounding error.
            prop_assert!(link.loss() <= link.printed_loss() * (1.0 + 4.0 * f64::EPSILON) && link.loss() < 1.0);
            // The path and its buffer hold N windows of k / sqrt p, of which the share 1 - p
            // passes.
            let window = link.constant / link.loss().sqrt() * (1.0 - link.loss());
            prop_assert!((link.mean_window() / window - 1.0).abs() < 1e-6 || link.loss() > 1.0 - 1e-6);
            if link.printed_loss() < 1e-8 {
                prop_assert!((link.loss() / link.printed_loss() - 1.0).abs() < 1e-7);
            }
        }

        #[test]
        fn the_buffer_for_a_loss_gives_that_loss(n in 1.0_f64..1e4, p in 1e-6_f64..0.3) {
            let buffer = buffer_for_loss(n, 0.0, p).unwrap();
            prop_assert!((FullLink::new(n, buffer).unwrap().loss() / p - 1.0).abs() < 1e-9);
        }
    }
}
