//! BBR version 1: the utilization of one flow, and the standing queue of many.

use forebay_scenario::{Check, Metric};

use crate::checks::{few_flows, saturable};
use crate::error::{FormulaError, non_negative, positive, representable, unit};
use crate::inputs::{B, B_OVER_BDP, BDP, BDP_PACKETS, BUF, BUFFER, BUFFER_BDP, FLOWS, PIPE};
use crate::mix::{FlowRequirement, MAJORITY, Mix, Part};
use crate::model::{Example, Model, Numbers, Packets, Sizing, symbol};
use crate::pieces::on_whole_link;
use crate::quantity::quantity;
use crate::reference::{Reference, named};
use crate::situation::{Situation, Targets};

/// The model.
pub static MODEL: Model = Model {
    name: "bbr",
    aliases: &["bbrv1", "bbr-bounds"],
    title: "What BBR version 1 needs",
    summary: "One flow is never idle from a quarter BDP on; several keep two BDP in flight and fill any buffer up to one BDP.",
    formula: "one flow: worst utilization min(¾ + x, 1), mean 1 − max(0, ¼ − x)/8,  x = B/CT\nseveral:  standing queue min(B, CT)",
    symbols: &[BUF, PIPE, symbol("x", "buffer over BDP", "1")],
    assumptions: &["pacing gains 1.25, 0.75 and six times 1", "BBR flows only"],
    source: "Spang, Arslan & McKeown (2021) for the quarter BDP; mean derived here; standing queue recalled; the share against \
        loss-based flows is recalled from Ware et al. (IMC 2019) and unverified.",
    errata: &[],
    variants: &[],
    quantities: &[
        quantity("worst_utilization", "1", &[BUFFER_BDP], |a| {
            worst_utilization(a[0])
        }),
        quantity("utilization", "1", &[BUFFER_BDP], |a| {
            mean_utilization(a[0])
        }),
        quantity("standing_queue", "packets", &[BUFFER, BDP], |a| {
            standing_queue(a[0], a[1])
        }),
        quantity(
            "share_against_loss_based",
            "1",
            &[FLOWS, BUFFER_BDP.within("above 0"), BDP],
            |a| share_against_loss_based(a[0], a[1], a[2]),
        ),
    ],
    example: Example {
        text: "Mean utilization of one flow with a tenth of a BDP",
        quantity: "utilization",
        arguments: &[("buffer_bdp", &[0.1])],
    },
    sizing: Some(Sizing {
        assumptions: |s| vec![bbr_only(s), few_flows(s), saturable(s)],
        predict: Some(predict),
        size: Some(size),
        note: "one flow cycles its pacing gain; several flows have two bandwidth-delay products in flight",
    }),
    references: REFERENCES,
};

/// The names in reference tables.
const REFERENCES: &[Reference] = &[
    named("bbr", "standing queue", &["standing"]).quantity("standing_queue", &[B, BDP_PACKETS]),
    named("bbr", "worst per-RTT utilisation", &["worst"])
        .quantity("worst_utilization", &[B_OVER_BDP]),
    named("bbr", "mean utilisation", &["mean"]).quantity("utilization", &[B_OVER_BDP]),
];

fn predict(s: &Situation) -> Numbers {
    let bdp = s.residual_bdp()?;
    if s.long_flows() > 1.5 {
        let standing = standing_queue(s.buffer, bdp)?;
        return Ok(vec![
            (Metric::Utilization, 1.0),
            (Metric::QueueMean, standing),
            (Metric::QueueDelayMean, standing / s.capacity_pps),
        ]);
    }
    let mean = mean_utilization(s.buffer / bdp)?;
    Ok(vec![(Metric::Utilization, on_whole_link(s, mean))])
}

fn size(s: &Situation, _: &Targets) -> Packets {
    Ok(Some(0.25 * s.residual_bdp()?))
}

fn is_bbr(part: &Part) -> bool {
    part.controller() == "bbr"
}

fn bbr_only(s: &Situation) -> Check {
    s.mix.check(&FlowRequirement {
        assumption: "BBR version 1",
        about: "BBR version 1",
        fits: &is_bbr,
    })
}

/// Whether most flows use BBR.
pub(crate) fn decides(mix: &Mix) -> bool {
    mix.share(is_bbr) > MAJORITY
}

/// The worst utilization of one flow over one round trip, min(1, 3/4 + B/BDP). A quarter of the BDP
/// suffices (Spang, Arslan & McKeown).
pub fn worst_utilization(buffer_over_bdp: f64) -> Result<f64, FormulaError> {
    non_negative("buffer over BDP", buffer_over_bdp)?;
    Ok((0.75 + buffer_over_bdp).min(1.0))
}

/// The mean utilization 1 - max(0, 1/4 - B/BDP)/8 over the cycle of gains: 1.25, 0.75, then six
/// times 1.
pub fn mean_utilization(buffer_over_bdp: f64) -> Result<f64, FormulaError> {
    non_negative("buffer over BDP", buffer_over_bdp)?;
    Ok(1.0 - (0.25 - buffer_over_bdp).max(0.0) / 8.0)
}

/// The standing queue min(B, BDP) in packets. Many flows overestimate their share and keep two BDP
/// in flight.
pub fn standing_queue(buffer: f64, bdp: f64) -> Result<f64, FormulaError> {
    non_negative("buffer (packets)", buffer)?;
    positive("bandwidth-delay product (packets)", bdp)?;
    Ok(buffer.min(bdp))
}

/// Share of the link that BBR flows take from loss-based ones, with a buffer of `buffer_over_bdp`.
/// It is 1/2 + 1/(2X) + 4N/q, clipped to 0..1 (Ware et al., IMC 2019; recalled, unverified).
pub fn share_against_loss_based(
    flows: f64,
    buffer_over_bdp: f64,
    bdp: f64,
) -> Result<f64, FormulaError> {
    positive("number of BBR flows", flows)?;
    positive("buffer over BDP", buffer_over_bdp)?;
    positive("bandwidth-delay product (packets)", bdp)?;
    let loss_based = 0.5 - 0.5 / buffer_over_bdp - 4.0 * flows / (buffer_over_bdp * bdp);
    representable("share", 1.0 - loss_based).and_then(|share| unit("share", share.clamp(0.0, 1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_quarter_of_the_bdp_suffices() {
        assert_eq!(worst_utilization(0.25).unwrap(), 1.0);
        assert_eq!(mean_utilization(0.25).unwrap(), 1.0);
        assert_eq!(mean_utilization(0.0).unwrap(), 0.96875);
        assert_eq!(standing_queue(500.0, 100.0).unwrap(), 100.0);
    }

    proptest! {
        #[test]
        fn rises_with_the_buffer(x in 0.0_f64..2.0) {
            prop_assert!(mean_utilization(x + 0.01).unwrap() >= mean_utilization(x).unwrap());
            prop_assert!(worst_utilization(x).unwrap() <= mean_utilization(x).unwrap());
            let share = share_against_loss_based(1.0, x + 0.1, 200.0).unwrap();
            prop_assert!((0.5..=1.0).contains(&share));
        }
    }
}
