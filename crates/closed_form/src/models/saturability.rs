//! Whether persistent flows can fill a link at all (Dhamdhere, Jiang & Dovrolis).

use crate::error::{FormulaError, at_least_one, positive, representable};
use crate::inputs::{CAPACITY, RTTS};
use crate::model::{Example, Model, symbol};
use crate::quantity::{Input, quantity};

/// The model.
pub static MODEL: Model = Model {
    name: "saturability",
    aliases: &["saturable"],
    title: "Whether persistent flows can fill a link at all",
    summary: "Flows held down by their receive windows or access links cannot congest the link, and need no buffer for it.",
    formula: "Σ Wᵢ/(C Tᵢ) ≥ 1",
    symbols: &[
        symbol("Wᵢ", "largest window of flow i", "packets"),
        symbol("Tᵢ", "its round-trip propagation time", "s"),
        symbol("C", "capacity", "packets/s"),
    ],
    assumptions: &[
        "persistent flows",
        "no queueing delay while the link is not full",
    ],
    source: "Dhamdhere, Jiang & Dovrolis (INFOCOM 2005) and Dhamdhere & Dovrolis (2006), saturable links (recalled).",
    errata: &[],
    variants: &[],
    quantities: &[quantity(
        "ratio",
        "1",
        &[
            CAPACITY,
            Input::new(
                "largest_window",
                "packets",
                "largest window of a flow",
                "above 0",
            ),
            RTTS,
        ],
        |a| saturation_ratio(a[0], a[1], a.list),
    )],
    example: Example {
        text: "Share of 50 Mb/s (1500-byte packets) that 10 flows of 60 ms with 44-packet windows can fill",
        quantity: "ratio",
        arguments: &[
            ("capacity_pps", &[12_500.0 / 3.0]),
            ("largest_window", &[44.0]),
            (
                "rtts_s",
                &[0.06, 0.06, 0.06, 0.06, 0.06, 0.06, 0.06, 0.06, 0.06, 0.06],
            ),
        ],
    },
    sizing: None,
    references: &[],
};

/// The share of the capacity that the flows could fill with their largest windows and no queue, sum
/// W_i / (C T_i). The link is saturable if it is at least 1 (Dhamdhere, Jiang & Dovrolis).
pub fn saturation_ratio(
    capacity_pps: f64,
    window_packets: f64,
    rtts_s: &[f64],
) -> Result<f64, FormulaError> {
    positive("capacity (packets/s)", capacity_pps)?;
    positive("largest window (packets)", window_packets)?;
    at_least_one("number of flows", rtts_s.len() as f64)?;
    let mut sum = 0.0;
    for &rtt in rtts_s {
        sum += window_packets / (capacity_pps * positive("round-trip time (s)", rtt)?);
    }
    representable("saturation ratio", sum)
}
