//! The model entry and the rule of the hybrid fluid of Avrachenkov, Ayesta & Piunovskiy.

mod fluid;

use forebay_scenario::{Check, Metric, ModelError};

use crate::checks::{checked, has_long_flows, saturable, unless_refused};
use crate::error::FormulaError;
use crate::inputs::{
    B, BETA, BUF, BUFFER, CAPACITY, CAPACITY_PPS, DECREASE_FACTOR, FLOWS, N, RTT, RTT_S,
};
use crate::mix::{FlowRequirement, Part};
use crate::model::{Example, Model, Numbers, Packets, Sizing, symbol, variant};
use crate::pieces::{no_long_flows, on_whole_link, residual_goal};
use crate::quantity::{Arguments, Input, quantity};
use crate::reference::{Column, Reference, named};
use crate::situation::{Situation, Targets};
use crate::words::percent;

pub use fluid::{Connections, HybridFluid, Point, Tradeoff};

/// The model.
pub static MODEL: Model = Model {
    name: "hybrid-fluid",
    aliases: &["avrachenkov"],
    title: "Hybrid fluid of AIMD connections and its optimal buffer",
    summary: "A fluid that grows linearly and is cut when the buffer overflows; beyond B₀ more buffer only adds delay.",
    formula: "B₀ = μ²/(2α) ((1 − β)/(1 + β))²,  α = Σ 1/RTTᵢ²,  β = 1 − (1 − β₀) n_cut/n\nB ≥ B₀: mean rate μ, mean queue B − 2B₀/3\nB < B₀: θ = √(2B/α), τ = (μ(1−β) − αβθ)/α, s = √(τ² − θ²)\n        mean rate (1+β)(αθ + μ)/2, mean queue α/(6(τ+θ)) [θ³ + τθ² − 2(τ − s)s²]",
    symbols: &[
        symbol("μ", "capacity", "packets/s"),
        symbol("α", "growth of the total rate", "packets/s²"),
        BETA,
        BUF,
        symbol("B₀", "smallest buffer that never empties", "packets"),
        symbol("n_cut", "connections cut at a time", "flows"),
    ],
    assumptions: &[
        "round-trip times frozen at their propagation part: B₀ far below the BDP",
        "linear growth of the rate",
        "losses at once felt",
    ],
    source: "Avrachenkov, Ayesta & Piunovskiy, Optimal choice of the buffer size in the Internet routers (CDC 2005), theorem 1, \
        eqs. (9)-(12), problems (3)-(5); all right, checked against event-driven integration.",
    errata: &[
        "\"Equation (12) gives 250 (N = 5) and 62 (N = 20)\": those are the synchronized BDP²/(18 n); eq. (12) gives 6.2 and 0.09 packets.",
        "The Stanford rule for N = 20 is 33.5 packets, not 21.",
        "The published delays give an RTT of 4 ms and a BDP of 100; the stated 150 needs 6 ms.",
        "B₀ grows as BDP² and exceeds the BDP once BDP > 18 n: the frozen RTT then fails. That synchronized requirements fall as 1/n is a property of the frozen RTT.",
    ],
    variants: &[variant(
        "leading",
        "the law of small buffers, α²θ³/(6(1−β)μ)",
    )],
    quantities: &[
        quantity("full_buffer", "packets", FLUID, |a| {
            Ok(fluid(a)?.full_buffer())
        }),
        quantity("mean_rate", "packets/s", FLUID_B, |a| {
            fluid(a)?.mean_rate(a[5])
        }),
        quantity("mean_queue", "packets", FLUID_B, |a| {
            fluid(a)?.mean_queue(a[5])
        }),
        quantity("mean_queue:leading", "packets", FLUID_B, |a| {
            fluid(a)?.mean_queue_leading(a[5])
        }),
        quantity("period_s", "s", FLUID_B, |a| fluid(a)?.period(a[5])),
        quantity("least_queue", "packets", FLUID_B, |a| {
            fluid(a)?.least_queue(a[5])
        }),
        quantity("cycle_queue", "packets", PHASE, |a| {
            Ok(fluid(a)?.at_phase(a[5], a[6])?.queue)
        }),
        quantity("cycle_rate", "packets/s", PHASE, |a| {
            Ok(fluid(a)?.at_phase(a[5], a[6])?.rate)
        }),
        quantity("frozen_rtt_ratio", "1", FLUID, |a| {
            fluid(a)?.frozen_rtt_ratio(a[1])
        }),
        quantity(
            "buffer_for_largest_rate",
            "packets",
            &[
                CAPACITY,
                RTT,
                FLOWS,
                CUT_FLOWS,
                DECREASE_FACTOR,
                Input::new("mean_queue", "packets", "largest mean queue", "0 and more"),
            ],
            |a| Ok(fluid(a)?.largest_rate(a[5])?.buffer),
        ),
        quantity(
            "buffer_for_smallest_queue",
            "packets",
            &[
                CAPACITY,
                RTT,
                FLOWS,
                CUT_FLOWS,
                DECREASE_FACTOR,
                Input::new(
                    "mean_rate",
                    "packets/s",
                    "least mean rate",
                    "0 to the capacity",
                ),
            ],
            |a| Ok(fluid(a)?.smallest_queue(a[5])?.buffer),
        ),
        quantity(
            "buffer_for_best_tradeoff",
            "packets",
            &[
                CAPACITY,
                RTT,
                FLOWS,
                CUT_FLOWS,
                DECREASE_FACTOR,
                Input::new("rate_weight", "s", "weight of the mean rate", "0 and more"),
                Input::new("queue_weight", "1", "weight of the mean queue", "above 0").or(1.0),
            ],
            |a| Ok(fluid(a)?.best_tradeoff(a[5], a[6])?.buffer),
        ),
    ],
    example: Example {
        text: "B₀ of 5 synchronized Reno flows on 25000 packets/s with 6 ms",
        quantity: "full_buffer",
        arguments: &[
            ("capacity_pps", &[25_000.0]),
            ("rtt_s", &[0.006]),
            ("flows", &[5.0]),
            ("flows_cut", &[5.0]),
        ],
    },
    sizing: Some(Sizing {
        assumptions: |s| {
            vec![
                has_long_flows(s),
                linear_growth(s),
                frozen_round_trips(s),
                saturable(s),
            ]
        },
        predict: Some(predict),
        size: Some(size),
        note: "round-trip times are constant, without queueing, and all flows reduce their windows together",
    }),
    references: REFERENCES,
};

/// The names in reference tables.
const REFERENCES: &[Reference] = &[
    named("hybrid-fluid", "B0", &["^b0$"]).formula(|a| Ok(row(a)?.full_buffer()), LINK_ROW),
    named("hybrid-fluid", "beta", &["^beta$"]).formula(|a| Ok(row(a)?.beta), LINK_ROW),
    named("hybrid-fluid", "alpha", &["^alpha$", "^growth$"])
        .formula(|a| Ok(row(a)?.growth), LINK_ROW),
    named(
        "hybrid-fluid",
        "B0 / BDP",
        &["b0 / bdp", "b0/bdp", "validity"],
    )
    .formula(|a| row(a)?.frozen_rtt_ratio(a[7]), RATIO_ROW),
    named("hybrid-fluid", "period", &["period", "cycle"]).formula(
        |a| {
            let (fluid, buffer) = row_at_buffer(a)?;
            fluid.period(buffer)
        },
        BUFFER_ROW,
    ),
    named(
        "hybrid-fluid",
        "mean queue leading term B->0",
        &["leading", "b->0"],
    )
    .formula(
        |a| {
            let (fluid, buffer) = row_at_buffer(a)?;
            fluid.mean_queue_leading(buffer)
        },
        BUFFER_ROW,
    ),
    named(
        "hybrid-fluid",
        "minimum queue",
        &["minimum", "min queue", "least", "smallest"],
    )
    .formula(
        |a| {
            let (fluid, buffer) = row_at_buffer(a)?;
            fluid.least_queue(buffer)
        },
        BUFFER_ROW,
    ),
    named(
        "hybrid-fluid",
        "mean queue / B0",
        &["mean queue*/ b0", "mean queue*over b0"],
    )
    .formula(
        |a| {
            let (fluid, buffer) = row_at_buffer(a)?;
            Ok(fluid.mean_queue(buffer)? / fluid.full_buffer())
        },
        BUFFER_ROW,
    ),
    named("hybrid-fluid", "mean queue", &["mean queue"]).formula(
        |a| {
            let (fluid, buffer) = row_at_buffer(a)?;
            fluid.mean_queue(buffer)
        },
        BUFFER_ROW,
    ),
    named(
        "hybrid-fluid",
        "mean rate / mu",
        &["rate*/ mu", "rate*/mu", "rate*over mu", "utili"],
    )
    .formula(
        |a| {
            let (fluid, buffer) = row_at_buffer(a)?;
            Ok(fluid.mean_rate(buffer)? / fluid.capacity_pps)
        },
        BUFFER_ROW,
    ),
    named("hybrid-fluid", "mean rate", &["rate"]).formula(
        |a| {
            let (fluid, buffer) = row_at_buffer(a)?;
            fluid.mean_rate(buffer)
        },
        BUFFER_ROW,
    ),
    named("hybrid-fluid-opt3", "optimal buffer", &["buffer"])
        .formula(|a| Ok(row(a)?.largest_rate(a[7])?.buffer), MOST_ROW),
    named("hybrid-fluid-opt3", "optimal mean rate", &["rate"])
        .formula(|a| Ok(row(a)?.largest_rate(a[7])?.mean_rate), MOST_ROW),
    named("hybrid-fluid-opt3", "optimal mean queue", &["queue"])
        .formula(|a| Ok(row(a)?.largest_rate(a[7])?.mean_queue), MOST_ROW),
    named("hybrid-fluid-opt4", "optimal buffer", &["buffer"])
        .formula(|a| Ok(row(a)?.smallest_queue(a[7])?.buffer), LEAST_ROW),
    named("hybrid-fluid-opt4", "optimal mean rate", &["rate"])
        .formula(|a| Ok(row(a)?.smallest_queue(a[7])?.mean_rate), LEAST_ROW),
    named("hybrid-fluid-opt4", "optimal mean queue", &["queue"])
        .formula(|a| Ok(row(a)?.smallest_queue(a[7])?.mean_queue), LEAST_ROW),
    named("hybrid-fluid-opt5", "optimal buffer", &["buffer"]).formula(
        |a| Ok(row(a)?.best_tradeoff(a[7], a[8])?.buffer),
        WEIGHTS_ROW,
    ),
    named("hybrid-fluid-opt5", "optimal mean rate", &["rate"]).formula(
        |a| Ok(row(a)?.best_tradeoff(a[7], a[8])?.mean_rate),
        WEIGHTS_ROW,
    ),
    named("hybrid-fluid-opt5", "optimal mean queue", &["queue"]).formula(
        |a| Ok(row(a)?.best_tradeoff(a[7], a[8])?.mean_queue),
        WEIGHTS_ROW,
    ),
];

const ROW: [Column; 7] = [
    CAPACITY_PPS,
    Column::of(&["alpha"]).without("rtt_s"),
    Column::of(&["beta"]).with("alpha"),
    RTT_S.without("alpha"),
    N.without("alpha"),
    Column::of(&["flows_cut", "n_cut"]).without("alpha"),
    Column::of(&["beta0"]).or(0.5),
];
const LINK_ROW: &[Column] = &ROW;
const BUFFER_ROW: &[Column] = &with_two([
    B.without("B_over_B0"),
    Column::of(&["B_over_B0"]).without("B"),
]);
const RATIO_ROW: &[Column] = &with_one(RTT_S);
const MOST_ROW: &[Column] = &with_one(Column::of(&["max_mean_queue"]));
const LEAST_ROW: &[Column] = &with_one(Column::of(&["min_mean_rate"]));
const WEIGHTS_ROW: &[Column] = &with_two([Column::of(&["c1"]), Column::of(&["c2"])]);

/// The columns of the fluid and one further column.
const fn with_one(more: Column) -> [Column; 8] {
    let [a, b, c, d, e, f, g] = ROW;
    [a, b, c, d, e, f, g, more]
}

/// The columns of the fluid and two further columns.
const fn with_two([more, last]: [Column; 2]) -> [Column; 9] {
    let [a, b, c, d, e, f, g] = ROW;
    [a, b, c, d, e, f, g, more, last]
}

/// The fluid of a row, from mu, alpha and beta, or from equal connections.
fn row(a: &Arguments) -> Result<HybridFluid, FormulaError> {
    if !a[1].is_nan() {
        return HybridFluid::new(a[0], a[1], a[2]);
    }
    let connections = Connections {
        rtt_s: a[3],
        flows: a[4],
        flows_cut: a[5],
        beta: a[6],
    };
    HybridFluid::of_connections(a[0], &connections)
}

/// The fluid of a row and its buffer, given in packets or in units of B0.
fn row_at_buffer(a: &Arguments) -> Result<(HybridFluid, f64), FormulaError> {
    let fluid = row(a)?;
    let buffer = if a[7].is_nan() {
        a[8] * fluid.full_buffer()
    } else {
        a[7]
    };
    Ok((fluid, buffer))
}

const CUT_FLOWS: Input = Input::new(
    "flows_cut",
    "flows",
    "flows that cut at a time: all when synchronized, 1 when not",
    "0 < x <= flows",
);
const FLUID: &[Input] = &[CAPACITY, RTT, FLOWS, CUT_FLOWS, DECREASE_FACTOR];
const FLUID_B: &[Input] = &[CAPACITY, RTT, FLOWS, CUT_FLOWS, DECREASE_FACTOR, BUFFER];

/// Inputs for plots of the trajectory against the phase of the cycle.
const PHASE: &[Input] = &[
    CAPACITY,
    RTT,
    FLOWS,
    CUT_FLOWS,
    DECREASE_FACTOR,
    BUFFER,
    Input::new(
        "phase",
        "1",
        "0 just after a cut, 1 just before the next",
        "0 to 1",
    ),
];

fn fluid(a: &Arguments) -> Result<HybridFluid, FormulaError> {
    HybridFluid::of_connections(
        a[0],
        &Connections {
            rtt_s: a[1],
            flows: a[2],
            flows_cut: a[3],
            beta: a[4],
        },
    )
}

fn predict(s: &Situation) -> Numbers {
    let fluid = hybrid_fluid(s)?;
    let utilization = fluid.mean_rate(s.buffer)? / fluid.capacity_pps;
    let queue = fluid.mean_queue(s.buffer)?;
    Ok(vec![
        (Metric::Utilization, on_whole_link(s, utilization)),
        (Metric::QueueMean, queue),
        (Metric::QueueDelayMean, queue / s.capacity_pps),
    ])
}

fn size(s: &Situation, t: &Targets) -> Packets {
    let fluid = hybrid_fluid(s)?;
    let share = residual_goal(s, t.utilization.unwrap_or(1.0))?;
    Ok(Some(
        fluid.smallest_queue(share * fluid.capacity_pps)?.buffer,
    ))
}
/// The fluid of the long flows, all with simultaneous decreases.
fn hybrid_fluid(s: &Situation) -> Result<HybridFluid, ModelError> {
    let growth: f64 = s.flows.iter().map(|g| g.flows / (g.rtt_s * g.rtt_s)).sum();
    let capacity = s.capacity_pps * s.left()?;
    if growth == 0.0 {
        return Err(no_long_flows());
    }
    let window = s.fair_window()?;
    let linear = s.mix.commonest(|part| increase(part).is_some());
    let law = linear.and_then(|part| Some((increase(part)?, part.beta(window)?)));
    let (increase, beta) = law.ok_or_else(|| ModelError::NotApplicable(linear_growth(s).why))?;
    Ok(HybridFluid::new(capacity, growth * increase, beta)?)
}

/// Packets per round trip by which a flow's window grows, if that is a constant.
fn increase(part: &Part) -> Option<f64> {
    part.response.as_deref()?.additive_increase()
}

fn linear_growth(s: &Situation) -> Check {
    s.mix.check(&FlowRequirement {
        assumption: "windows that grow by a constant in each round trip",
        about: "windows that grow by a constant in each round trip",
        fits: &|part| increase(part).is_some(),
    })
}

fn frozen_round_trips(s: &Situation) -> Check {
    let assumption = "queueing delay far below the propagation time (frozen round-trip times)";
    let ratio = hybrid_fluid(s).and_then(|fluid| Ok(fluid.frozen_rtt_ratio(s.round_trip()?)?));
    let check = ratio.map(|ratio| {
        let buffer = format!(
            "its buffer would be {} of the bandwidth-delay product",
            percent(ratio)
        );
        let why = if ratio < 0.2 {
            format!("{buffer}, too little to lengthen the round trips")
        } else {
            format!(
                "{buffer}, and queueing there changes the round trips, which the rule has as constant"
            )
        };
        checked(assumption, ratio < 0.2, why)
    });
    unless_refused(assumption, check)
}
