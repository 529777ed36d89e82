//! The queue of short flows in slow start (Appenzeller, Keslassy & McKeown).

use crate::error::{FormulaError, at_least_one, check, non_negative, positive, representable};
use crate::inputs::{LOAD_WITHIN_ONE, RHO};
use crate::model::{Example, Model, symbol};
use crate::quantity::{Input, quantity};
use crate::reference::{Column, Reference, named};

/// The model.
pub static MODEL: Model = Model {
    name: "burst-queue",
    aliases: &["short-flows"],
    title: "Queue of short flows in slow start",
    summary: "Short flows need a buffer set by their load and burst sizes, not by the link's rate, delay or number of flows.",
    formula: "P(Q ≥ q) = exp( −q · 2(1 − ρ)/ρ · E[X]/E[X²] )",
    symbols: &[
        symbol("Q", "queue", "packets"),
        symbol("X", "burst: 2, 4, 8, ... packets in slow start", "packets"),
        symbol("ρ", "load of the short flows", "1"),
    ],
    assumptions: &[
        "bursts arrive as a Poisson process",
        "access links as fast as the bottleneck",
        "no losses",
    ],
    source: "Appenzeller, Keslassy & McKeown, Sizing router buffers (SIGCOMM 2004), section on short flows (recalled).",
    errata: &[],
    variants: &[],
    quantities: &[
        quantity("tail", "1", &[LOAD_WITHIN_ONE, QUEUE, BURSTS], |a| {
            BurstQueue::new(a[0], a.list)?.tail(a[1])
        }),
        quantity(
            "buffer",
            "packets",
            &[
                LOAD_WITHIN_ONE,
                Input::new("tail", "1", "probability of a longer queue", "0 < x <= 1"),
                BURSTS,
            ],
            |a| BurstQueue::new(a[0], a.list)?.buffer_for_tail(a[1]),
        ),
    ],
    example: Example {
        text: "Buffer that 14-packet flows (bursts 2, 4, 8) exceed with probability 0.01 at load 0.8",
        quantity: "buffer",
        arguments: &[
            ("load", &[0.8]),
            ("tail", &[0.01]),
            ("bursts", &[2.0, 4.0, 8.0]),
        ],
    },
    sizing: None,
    references: REFERENCES,
};

/// The names in reference tables.
const REFERENCES: &[Reference] = &[
    named("burst-queue", "buffer for tail", &["buffer"])
        .given("bursts")
        .quantity("buffer", &[RHO, TAIL, Column::of(&["bursts"]).list()]),
    named("burst-queue", "buffer for tail", &["buffer"]).formula(
        |a| BurstQueue::new(a[0], &slow_start_bursts(a[2])?)?.buffer_for_tail(a[1]),
        &[RHO, TAIL, Column::of(&["flow_packets"])],
    ),
    named("burst-queue", "P(Q>=q)", &[])
        .given("bursts")
        .quantity("tail", &[RHO, LENGTH, Column::of(&["bursts"]).list()]),
    named("burst-queue", "P(Q>=q)", &[]).formula(
        |a| BurstQueue::new(a[0], &slow_start_bursts(a[2])?)?.tail(a[1]),
        &[RHO, LENGTH, Column::of(&["flow_packets"])],
    ),
];

/// The probability that the queue is longer.
const TAIL: Column = Column::of(&["tail"]).or_after("tail");
/// A length of the queue, in packets.
const LENGTH: Column = Column::of(&["q"]).or_after("p(q");

const QUEUE: Input = Input::new("n", "packets", "length of the queue", "0 and more");

const BURSTS: Input = Input::new(
    "bursts",
    "packets",
    "sizes of the bursts a flow sends",
    "above 0",
)
.list();

/// The queue of short flows in slow start, which send bursts (Appenzeller, Keslassy, McKeown).
///
/// Its tail is P(Q >= q) = exp(-q 2 (1-rho)/rho m1/m2), with the first and second moments m1, m2 of
/// the burst sizes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BurstQueue {
    /// Decay of ln P(Q >= q) per packet.
    pub decay: f64,
}

impl BurstQueue {
    /// Creates the queue from the load, 0 < rho < 1, and the burst sizes of a flow in packets.
    pub fn new(load: f64, bursts: &[f64]) -> Result<Self, FormulaError> {
        crate::error::open_unit("load", load)?;
        at_least_one("number of bursts", bursts.len() as f64)?;
        let (mut sum, mut squares) = (0.0, 0.0);
        for &burst in bursts {
            positive("burst (packets)", burst)?;
            sum += burst;
            squares += burst * burst;
        }
        let decay = 2.0 * (1.0 - load) / load * sum / squares;
        positive("decay of the queue's tail", decay)?;
        Ok(Self { decay })
    }

    /// The probability P(Q >= q), q in packets.
    pub fn tail(&self, queue: f64) -> Result<f64, FormulaError> {
        non_negative("queue (packets)", queue)?;
        Ok(libm::exp(-self.decay * queue))
    }

    /// The queue in packets that is exceeded with probability `tail`.
    pub fn buffer_for_tail(&self, tail: f64) -> Result<f64, FormulaError> {
        crate::error::probability("tail probability", tail)?;
        representable("buffer (packets)", -libm::log(tail) / self.decay)
    }
}

/// The bursts of a flow of `packets` in slow start from a window of two: 2, 4, 8, ... and the rest.
pub fn slow_start_bursts(packets: f64) -> Result<Vec<f64>, FormulaError> {
    let whole = (1.0..=1e15).contains(&packets);
    check("flow (packets)", packets, "1 <= x <= 1e15", whole)?;
    let (mut left, mut burst, mut bursts) = (packets, 2.0_f64, Vec::new());
    while left > 0.0 {
        bursts.push(burst.min(left));
        left -= burst;
        burst *= 2.0;
    }
    Ok(bursts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_of_slow_start() {
        assert_eq!(slow_start_bursts(3.0).unwrap(), [2.0, 1.0]);
        assert_eq!(
            slow_start_bursts(62.0).unwrap(),
            [2.0, 4.0, 8.0, 16.0, 32.0]
        );
    }
}
