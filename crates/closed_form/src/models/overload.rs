//! Unresponsive traffic above the rate of the link: M/M/1/K at loads above one.

use forebay_scenario::{Metric, ModelError};

use crate::checks::checked;
use crate::inputs::{LOAD, SYSTEM};
use crate::model::{Example, Model, Numbers, Sizing, symbol};
use crate::models::mm1k::Mm1k;
use crate::quantity::quantity;
use crate::situation::Situation;
use crate::words::percent;

/// The model.
pub static MODEL: Model = Model {
    name: "overload",
    aliases: &[],
    title: "Unresponsive traffic above the link's rate",
    summary: "No buffer helps: what arrives above the capacity is lost and the queue stays full.",
    formula: "p → 1 − 1/ρ        mean queue → K − 1/(ρ − 1)        (ρ > 1, large K)",
    symbols: &[
        symbol("ρ", "offered load of traffic that does not yield", "1"),
        symbol("K", "packets in the system at most", "packets"),
    ],
    assumptions: &["offered load of 1 and more, from traffic that does not react to loss"],
    source: "Auge & Roberts, overload regime; M/M/1/K at loads above 1.",
    errata: &[],
    variants: &[],
    quantities: &[
        quantity("loss", "1", &[LOAD, SYSTEM], |a| {
            Ok(Mm1k::new(a[0], a[1])?.loss())
        }),
        quantity("utilization", "1", &[LOAD, SYSTEM], |a| {
            Ok(Mm1k::new(a[0], a[1])?.utilization())
        }),
        quantity("mean_number", "packets", &[LOAD, SYSTEM], |a| {
            Ok(Mm1k::new(a[0], a[1])?.mean_number())
        }),
    ],
    example: Example {
        text: "Loss at load 1.2 in a system of 100 packets",
        quantity: "loss",
        arguments: &[("load", &[1.2]), ("system_capacity", &[100.0])],
    },
    sizing: Some(Sizing {
        assumptions: |s| {
            let load = s.background + s.open_loop;
            vec![checked(
                "offered load of 1 and more",
                load >= 1.0,
                load_of(load),
            )]
        },
        predict: Some(predict),
        size: None,
        note: "no buffer helps: the load above the capacity is lost, and the queue is always full",
    }),
    references: &[],
};

/// The load of unresponsive traffic, in words.
fn load_of(load: f64) -> String {
    let said = format!("unresponsive traffic has a load of {}", percent(load));
    if load >= 1.0 {
        return said;
    }
    format!("{said}, and the rule is about 100 % or more")
}

fn predict(s: &Situation) -> Numbers {
    let load = s.background + s.open_loop;
    if load < 1.0 {
        return Err(ModelError::NotApplicable(load_of(load)));
    }
    let queue = Mm1k::new(load, s.system_capacity())?;
    Ok(vec![
        (Metric::Utilization, queue.utilization()),
        (Metric::LossRate, queue.loss()),
        (Metric::QueueMean, queue.mean_waiting()),
        (
            Metric::QueueDelayMean,
            queue.mean_found_by_accepted() / s.capacity_pps,
        ),
    ])
}
