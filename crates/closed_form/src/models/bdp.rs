//! The bandwidth-delay rule generalized to any cut (Villamizar & Song; Spang, Arslan & McKeown).

use forebay_scenario::Metric;

use crate::checks::{few_flows, has_long_flows, loss_based, saturable};
use crate::error::{FormulaError, non_negative, positive, probability, representable};
use crate::inputs::{B_OVER_BDP, BETA, BUF, BUFFER_BDP, DECREASE_FACTOR, PIPE, RTT, RTT_S};
use crate::model::{Example, Model, Numbers, Packets, Sizing};
use crate::pieces::{beta, on_whole_link};
use crate::quantity::{Input, quantity};
use crate::reference::{Column, Reference, named};
use crate::situation::{Situation, Targets};

/// The model.
pub static MODEL: Model = Model {
    name: "bdp",
    aliases: &["villamizar-song", "rule-of-thumb", "single-flow"],
    title: "The bandwidth-delay rule for any cut",
    summary: "One flow, or many that cut together, keep the link busy through a cut when the buffer holds BDP (1/β − 1): \
        one BDP for Reno, 0.43 for CUBIC, 0.14 for Scalable.",
    formula: "B = CT (1/β − 1)        worst utilization = min( β(1 + B/CT), 1 )",
    symbols: &[BUF, PIPE, BETA],
    assumptions: &[
        "one flow, or flows that all cut together",
        "recovery that spreads the window reduction over a round trip (older recovery that stops sending needs more)",
    ],
    source: "Villamizar & Song (CCR 1994) for β = 1/2; generalized here; utilization bound as in Spang, Arslan & McKeown (2021).",
    errata: &[
        "beta is the decrease factor (window after / before) in RFC 9438, H-TCP and Avrachenkov's paper, the cut fraction in CUBIC's paper of 2008 and HSTCP's b.",
    ],
    variants: &[],
    quantities: &[
        quantity(
            "buffer_bdp",
            "BDP",
            &[DECREASE_FACTOR.within("0 < x <= 1")],
            |a| full_buffer(a[0]),
        ),
        quantity(
            "worst_utilization",
            "1",
            &[DECREASE_FACTOR.within("0 < x <= 1"), BUFFER_BDP],
            |a| worst_utilization(a[0], a[1]),
        ),
        quantity(
            "bdp",
            "packets",
            &[
                Input::new("bits_per_s", "bit/s", "rate of the link", "above 0"),
                RTT,
                Input::new("packet_bytes", "bytes", "packet size", "above 0"),
            ],
            |a| bandwidth_delay_product(a[0], a[1], a[2]),
        ),
        quantity(
            "drain_time_s",
            "s",
            &[
                Input::new("packets", "packets", "queue", "0 and more"),
                Input::new("packet_bytes", "bytes", "packet size", "above 0"),
                Input::new("bits_per_s", "bit/s", "rate of the link", "above 0"),
            ],
            |a| drain_time(a[0], a[1], a[2]),
        ),
    ],
    example: Example {
        text: "Buffer over BDP for CUBIC (β = 0.7)",
        quantity: "buffer_bdp",
        arguments: &[("beta", &[0.7])],
    },
    sizing: Some(Sizing {
        assumptions: |s| vec![has_long_flows(s), loss_based(s), few_flows(s), saturable(s)],
        predict: Some(predict),
        size: Some(size),
        note: "it is the lowest utilization of a round trip if all flows reduce their windows together, which is a lower bound",
    }),
    references: REFERENCES,
};

/// The names in reference tables.
const REFERENCES: &[Reference] = &[
    named("bdp", "bandwidth-delay product", &[]).quantity(
        "bdp",
        &[
            Column::of(&["bits_per_s"]),
            RTT_S,
            Column::of(&["packet_bytes"]),
        ],
    ),
    named("drain", "time to empty buffer", &[]).quantity(
        "drain_time_s",
        &[
            Column::of(&["packets"]),
            Column::of(&["packet_bytes"]),
            Column::of(&["bits_per_s"]),
        ],
    ),
    named(
        "single-flow",
        "buffer for full utilization / BDP",
        &["buffer for full"],
    )
    .quantity("buffer_bdp", &[Column::of(&["beta"])]),
    named(
        "single-flow",
        "worst instantaneous utilisation",
        &["worst", "instantaneous"],
    )
    .quantity("worst_utilization", &[Column::of(&["beta"]), B_OVER_BDP]),
];

fn predict(s: &Situation) -> Numbers {
    let x = s.buffer / s.residual_bdp()?;
    let worst = worst_utilization(beta(s)?, x)?;
    Ok(vec![(Metric::Utilization, on_whole_link(s, worst))])
}

fn size(s: &Situation, _: &Targets) -> Packets {
    Ok(Some(s.residual_bdp()? * full_buffer(beta(s)?)?))
}

/// The bandwidth-delay product C T in packets: bit rate x round-trip time / packet size.
pub fn bandwidth_delay_product(
    bits_per_s: f64,
    rtt_s: f64,
    packet_bytes: f64,
) -> Result<f64, FormulaError> {
    positive("rate (bit/s)", bits_per_s)?;
    positive("round-trip time (s)", rtt_s)?;
    positive("packet (bytes)", packet_bytes)?;
    representable(
        "bandwidth-delay product (packets)",
        bits_per_s * rtt_s / (8.0 * packet_bytes),
    )
}

/// Time in seconds to send `packets` of `packet_bytes` at `bits_per_s`.
pub fn drain_time(packets: f64, packet_bytes: f64, bits_per_s: f64) -> Result<f64, FormulaError> {
    non_negative("packets", packets)?;
    positive("packet (bytes)", packet_bytes)?;
    positive("rate (bit/s)", bits_per_s)?;
    representable("drain time (s)", packets * packet_bytes * 8.0 / bits_per_s)
}

/// The buffer over the BDP, 1/beta - 1, that keeps the link busy through a decrease to the fraction
/// `beta`.
pub fn full_buffer(beta: f64) -> Result<f64, FormulaError> {
    probability("decrease factor beta", beta)?;
    representable("buffer over BDP", (1.0 - beta) / beta)
}

/// The worst utilization over one round trip, min(1, beta (1 + B/BDP)).
pub fn worst_utilization(beta: f64, buffer_over_bdp: f64) -> Result<f64, FormulaError> {
    probability("decrease factor beta", beta)?;
    non_negative("buffer over BDP", buffer_over_bdp)?;
    Ok((beta * (1.0 + buffer_over_bdp)).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn unit_checks_of_the_papers() {
        for (rate, rtt, bytes, packets) in [
            (1e9, 0.1, 1000.0, 12500.0),
            (1e9, 0.1245, 1000.0, 15562.5),
            (2.5e9, 0.02, 1000.0, 6250.0),
            (1e8, 0.006, 500.0, 150.0),
            (1e10, 0.17, 1500.0, 141_666.666_666_666_66),
        ] {
            let bdp = bandwidth_delay_product(rate, rtt, bytes).unwrap();
            assert!((bdp / packets - 1.0).abs() < 1e-14);
        }
    }
}
