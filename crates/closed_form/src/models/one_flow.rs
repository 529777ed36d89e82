//! One bottlenecked flow: mean utilization of an AIMD sawtooth (Auge & Roberts, section 1.3).

use forebay_scenario::{Check, Metric};

use crate::checks::{checked, few_flows, has_long_flows, loss_based, saturable};
use crate::error::{FormulaError, non_negative, open_unit, probability, representable};
use crate::inputs::{B_OVER_BDP, BETA, BUFFER_BDP, DECREASE_FACTOR};
use crate::model::{Example, Model, Numbers, Packets, Sizing, symbol};
use crate::models::bdp::full_buffer;
use crate::pieces::{beta, on_whole_link, residual_goal};
use crate::quantity::{Input, quantity};
use crate::reference::{Column, Reference, named};
use crate::situation::{Situation, Targets};
use crate::words::percent;

/// The model.
pub static MODEL: Model = Model {
    name: "one-flow",
    aliases: &["auge-roberts", "sawtooth"],
    title: "Mean utilization of one sawtooth",
    summary: "Even without a buffer one AIMD flow uses (1 + β)/2 of the link: 75 % for Reno; apply it to what the background leaves.",
    formula: "U = [ (1 − w₀²)/2 + x + x²/2 ] / [ (1 − w₀) + x + x²/2 ],  w₀ = β(1 + x) < 1,  x = B/CT;   else U = 1",
    symbols: &[
        symbol("U", "mean utilization", "1"),
        symbol("x", "buffer over BDP", "1"),
        BETA,
        symbol("w₀", "window after a cut over BDP", "1"),
    ],
    assumptions: &[
        "one flow, or flows that cut together",
        "BDP of many packets (error +0.006 at 100 packets)",
        "linear growth",
        "no feedback delay",
    ],
    source: "After Auge & Roberts, one bottlenecked flow; derived here in closed form.",
    errata: &[],
    variants: &[],
    quantities: &[
        quantity("utilization", "1", &[DECREASE_FACTOR, BUFFER_BDP], |a| {
            mean_utilization(a[0], a[1])
        }),
        quantity(
            "mean_queue_bdp",
            "BDP",
            &[DECREASE_FACTOR, BUFFER_BDP],
            |a| mean_queue(a[0], a[1]),
        ),
        quantity(
            "buffer_bdp",
            "BDP",
            &[
                DECREASE_FACTOR,
                Input::new("utilization", "1", "least mean utilization", "0 < x <= 1"),
            ],
            |a| buffer_for_utilization(a[0], a[1]),
        ),
    ],
    example: Example {
        text: "Utilization of one Reno flow with 20 packets of buffer and a BDP of 625",
        quantity: "utilization",
        arguments: &[("beta", &[0.5]), ("buffer_bdp", &[0.032])],
    },
    sizing: Some(Sizing {
        assumptions: |s| {
            vec![
                has_long_flows(s),
                loss_based(s),
                few_flows(s),
                smooth_background(s),
                saturable(s),
            ]
        },
        predict: Some(predict),
        size: Some(size),
        note: "the formula has linear growth and simultaneous decreases, on the capacity that other traffic leaves",
    }),
    references: REFERENCES,
};

/// The names in reference tables.
const REFERENCES: &[Reference] = &[
    named("single-flow", "mean queue", &["queue"])
        .quantity("mean_queue_bdp", &[Column::of(&["beta"]), B_OVER_BDP]),
    named(
        "single-flow",
        "mean utilization (AIMD sawtooth)",
        &["utili"],
    )
    .quantity("utilization", &[Column::of(&["beta"]), B_OVER_BDP]),
];

fn predict(s: &Situation) -> Numbers {
    let (beta, bdp) = (beta(s)?, s.residual_bdp()?);
    let utilization = mean_utilization(beta, s.buffer / bdp)?;
    let queue = mean_queue(beta, s.buffer / bdp)? * bdp;
    Ok(vec![
        (Metric::Utilization, on_whole_link(s, utilization)),
        (Metric::QueueMean, queue),
        (Metric::QueueDelayMean, queue / s.capacity_pps),
    ])
}

fn size(s: &Situation, t: &Targets) -> Packets {
    let share = residual_goal(s, t.utilization.unwrap_or(1.0))?;
    Ok(Some(
        s.residual_bdp()? * buffer_for_utilization(beta(s)?, share)?,
    ))
}

fn smooth_background(s: &Situation) -> Check {
    let load = s.background + s.open_loop + s.closed_loop;
    let taken = format!("other traffic takes {} of the link", percent(load));
    let why = if load < 0.05 {
        taken
    } else {
        format!("{taken}, and the formula ignores the losses that its bursts cause")
    };
    checked("other traffic without bursts", load < 0.05, why)
}

/// Mean utilization of one sawtooth, U = [(1-w0^2)/2 + x + x^2/2] / [(1-w0) + x + x^2/2]. Here w0 =
/// beta (1+x) and x = B/BDP; it is 1 from w0 = 1 on. It needs a BDP of many packets (error +0.0063
/// at 100 packets, x = 0.3).
pub fn mean_utilization(beta: f64, buffer_over_bdp: f64) -> Result<f64, FormulaError> {
    open_unit("decrease factor beta", beta)?;
    non_negative("buffer over BDP", buffer_over_bdp)?;
    let (x, start) = (buffer_over_bdp, beta * (1.0 + buffer_over_bdp));
    if start >= 1.0 {
        return Ok(1.0);
    }
    let queueing = x + 0.5 * x * x;
    Ok((0.5 * (1.0 - start * start) + queueing) / ((1.0 - start) + queueing))
}

/// Time-average queue over BDP of the same sawtooth.
///
/// The window rises by a fixed step per round trip. A round trip lasts 1 + q, in units of the
/// propagation time. The time average of q = w - 1 therefore weights each window by w.
pub fn mean_queue(beta: f64, buffer_over_bdp: f64) -> Result<f64, FormulaError> {
    open_unit("decrease factor beta", beta)?;
    non_negative("buffer over BDP", buffer_over_bdp)?;
    let (x, start) = (buffer_over_bdp, beta * (1.0 + buffer_over_bdp));
    // The integrals of q(1+q) and of (1+q) over the queue q.
    let moment = |q: f64| q * q * (0.5 + q / 3.0);
    let length = |q: f64| q + 0.5 * q * q;
    let low = (start - 1.0).max(0.0);
    let idle = (1.0 - start).max(0.0);
    let duration = idle + length(x) - length(low);
    if duration <= 0.0 {
        return Ok(0.0);
    }
    representable("mean queue over BDP", (moment(x) - moment(low)) / duration)
}

/// Smallest B/BDP with a mean utilization of at least `utilization`; 0 if no buffer is needed.
pub fn buffer_for_utilization(beta: f64, utilization: f64) -> Result<f64, FormulaError> {
    open_unit("decrease factor beta", beta)?;
    probability("utilization", utilization)?;
    if utilization <= 0.5 * (1.0 + beta) {
        return Ok(0.0);
    }
    let full = full_buffer(beta)?;
    if utilization >= 1.0 {
        return Ok(full);
    }
    crate::numeric::root("buffer over BDP", (0.0, full), |x| {
        mean_utilization(beta, x).map_or(f64::NAN, |u| u - utilization)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::bdp::worst_utilization;
    use proptest::prelude::*;

    #[test]
    fn twenty_packets_give_around_eighty_percent() {
        assert!((mean_utilization(0.5, 20.0 / 625.0).unwrap() - 0.773).abs() < 1e-3);
        assert!((mean_utilization(0.5, 20.0 / 312.5).unwrap() - 0.795).abs() < 1e-3);
    }

    proptest! {
        #[test]
        fn utilization_rises_in_both(x in 0.0_f64..3.0, beta in 0.05_f64..0.94) {
            let u = mean_utilization(beta, x).unwrap();
            prop_assert!(mean_utilization(beta, x + 0.01).unwrap() >= u);
            prop_assert!(mean_utilization(beta + 0.01, x).unwrap() >= u);
            prop_assert!(worst_utilization(beta, x).unwrap() <= u + 1e-15);
        }

        #[test]
        fn ends_are_exact(beta in 0.01_f64..0.99) {
            prop_assert!((mean_utilization(beta, 0.0).unwrap() - 0.5 * (1.0 + beta)).abs() < 1e-14);
            let full = full_buffer(beta).unwrap();
            prop_assert_eq!(mean_utilization(beta, full * (1.0 + 1e-12)).unwrap(), 1.0);
            prop_assert!(mean_utilization(beta, full * 0.999).unwrap() < 1.0);
        }

        #[test]
        fn both_means_by_quadrature(x in 0.0_f64..3.0, beta in 0.05_f64..0.95) {
            let start = beta * (1.0 + x);
            let n = 40_000;
            let (mut time, mut sent, mut queue) = (0.0, 0.0, 0.0);
            for i in 0..n {
                let w = start + (1.0 + x - start) * (f64::from(i) + 0.5) / f64::from(n);
                let q = (w - 1.0_f64).max(0.0);
                time += 1.0 + q;
                sent += w.min(1.0) * (1.0 + q);
                queue += q * (1.0 + q);
            }
            prop_assert!((mean_utilization(beta, x).unwrap() - sent / time).abs() < 1e-6);
            prop_assert!((mean_queue(beta, x).unwrap() - queue / time).abs() < 1e-6);
        }

        #[test]
        fn the_buffer_for_a_utilization_gives_it(beta in 0.05_f64..0.95, share in 0.01_f64..0.99) {
            let goal = 0.5 * (1.0 + beta) + share * 0.5 * (1.0 - beta);
            let x = buffer_for_utilization(beta, goal).unwrap();
            prop_assert!((mean_utilization(beta, x).unwrap() - goal).abs() < 1e-12);
        }
    }

    /// No buffer is needed for a utilization that is reached without one. The smallest buffer
    /// reaches the requested utilization.
    #[test]
    fn the_smallest_buffer_for_a_utilization_gives_it() {
        for beta in [0.1, 0.5, 0.7, 0.95] {
            let without = mean_utilization(beta, 0.0).unwrap();
            for share in [0.01, 0.3, 0.5, 0.7, 0.9, 0.99, 1.0] {
                let asked = without * share;
                assert_eq!(
                    buffer_for_utilization(beta, asked).unwrap(),
                    0.0,
                    "{beta} {asked}"
                );
                let asked = without + (1.0 - without) * share;
                let buffer = buffer_for_utilization(beta, asked).unwrap();
                let found = mean_utilization(beta, buffer).unwrap();
                assert!(
                    buffer > 0.0 && (found - asked).abs() < 1e-9,
                    "{beta} {asked} {found}"
                );
            }
        }
    }
}
