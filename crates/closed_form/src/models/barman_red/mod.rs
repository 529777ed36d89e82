//! The model entry and the rule of the RED fixed point of Barman, Smaragdakis & Matta. The rule
//! reads the scenario's own thresholds.

mod chain;

use forebay_scenario::{Check, ModelError};

use crate::checks::{MANY, has_long_flows, loss_based, many_flows, queue, saturable};
use crate::error::FormulaError;
use crate::inputs::{CAPACITY, CAPACITY_PPS, LOAD, RHO, RTTS, SYSTEM};
use crate::model::{Example, Model, Numbers, Packets, Sizing, symbol, variant};
use crate::quantity::{Arguments, Input, quantity};
use crate::reference::{Column, Reference, named};
use crate::situation::{Situation, Targets};
use forebay_discipline::{AboveThreshold, DropCurve};

pub use chain::{DelayView, RedChain, chain};

use crate::models::barman_droptail::{
    CLOSED, FixedPoint, RESPONSE, ROUND_TRIPS, fixed_point_references, hstcp, numbers,
    one_flow_each, paper_link, row_response, shared, smallest_buffer,
};
use crate::models::hstcp_throughput::{self, B_HIGH, Form, P_HIGH, P_LOW, W_HIGH, W_LOW};

/// The model.
pub static MODEL: Model = Model {
    name: "barman-red",
    aliases: &["red-fixed-point", "red-chain"],
    title: "RED fixed point of long flows through a thinned birth-death chain",
    summary: "The drop-tail fixed point with RED's early drops on the instantaneous queue.",
    formula: "π(n+1) = ρ (1 − p(n)) π(n)        p_red = Σ π(n) p(n)        U = 1 − π(0) = ρ(1 − p_red)\np(n) = 0 below min, linear to p_max at max, 1 from max on and at n = K",
    symbols: &[
        symbol("π(n)", "probability of n packets in the system", "1"),
        symbol("p(n)", "drop probability that an arrival finds", "1"),
        symbol("ρ", "offered load", "1"),
        symbol("K", "packets in the system at most: buffer + 1", "packets"),
    ],
    assumptions: &[
        "RED sees the instantaneous queue, not its average",
        "smooth, unsynchronized arrivals",
    ],
    source: "Barman, Smaragdakis & Matta (2004), RED section.",
    errata: &[
        "The printed p(n) has no forced drop at a full buffer, and p_max is not given (0.1 taken; 0.01-0.5 moves the utilization by 0.004 at K = 1250).",
        "The printed delay Σ n π(n) counts the packet in service and rejected arrivals; default here: what accepted packets find.",
    ],
    variants: &[variant(
        "gentle",
        "from p_max to 1 between max and twice max",
    )],
    quantities: &[
        quantity("utilization", "1", RED_LINK, |a| {
            Ok(fixed_point(a, AboveThreshold::Abrupt)?.utilization)
        }),
        quantity("loss", "1", RED_LINK, |a| {
            Ok(fixed_point(a, AboveThreshold::Abrupt)?.loss)
        }),
        quantity("queue_delay_s", "s", RED_LINK, |a| {
            Ok(fixed_point(a, AboveThreshold::Abrupt)?.queue_delay_s)
        }),
        quantity("utilization:gentle", "1", RED_LINK, |a| {
            Ok(fixed_point(a, AboveThreshold::Gentle)?.utilization)
        }),
        quantity("chain_loss", "1", CHAIN, |a| {
            Ok(chain(a[0], a[1], &curve(a, 2, AboveThreshold::Abrupt))?.loss())
        }),
        quantity("chain_utilization", "1", CHAIN, |a| {
            Ok(chain(a[0], a[1], &curve(a, 2, AboveThreshold::Abrupt))?.utilization)
        }),
        quantity("chain_mean_number", "packets", CHAIN, |a| {
            Ok(chain(a[0], a[1], &curve(a, 2, AboveThreshold::Abrupt))?.mean_number)
        }),
        quantity("chain_mean_found", "packets", CHAIN, |a| {
            Ok(chain(a[0], a[1], &curve(a, 2, AboveThreshold::Abrupt))?.mean_found)
        }),
    ],
    example: Example {
        text: "Early-drop probability at load 0.9, K = 50, thresholds 20 and 50, p_max 0.1",
        quantity: "chain_loss",
        arguments: &[
            ("load", &[0.9]),
            ("system_capacity", &[50.0]),
            ("min_threshold", &[20.0]),
            ("max_threshold", &[50.0]),
            ("max_probability", &[0.1]),
        ],
    },
    sizing: Some(Sizing {
        assumptions: |s| {
            vec![
                has_long_flows(s),
                loss_based(s),
                many_flows(s, MANY),
                red(s),
                saturable(s),
            ]
        },
        predict: Some(predict),
        size: Some(size),
        note: "drops follow the instantaneous queue and the thresholds of the scenario; Adaptive RED uses the p_max for its target",
    }),
    references: REFERENCES,
};

const REFERENCES: &[Reference] = fixed_point_references!(
    "barman-red",
    row,
    ROW,
    named(
        "red-chain",
        "seen_by_accepted",
        &["accepted", "seen", "found"],
    )
    .formula(|a| Ok(chain_row(a)?.mean_found), CHAIN_ROW),
    named("red-chain", "mean_number", &["mean"])
        .formula(|a| Ok(chain_row(a)?.mean_number), CHAIN_ROW),
    named("red-chain", "utilisation", &["utili"])
        .formula(|a| Ok(chain_row(a)?.utilization), CHAIN_ROW),
    named("red-chain", "empty", &["empty", "p(0)", "pi(0)"])
        .formula(|a| Ok(chain_row(a)?.empty), CHAIN_ROW),
    named("red-chain", "p_red", &["p_red", "drop", "loss"])
        .formula(|a| Ok(chain_row(a)?.loss()), CHAIN_ROW),
);

const ROW: &[Column] = &[
    CAPACITY_PPS,
    Column::of(&["K"]),
    ROUND_TRIPS,
    // The rows of the RED fixed point name no form, so the paper's closed form is used.
    RESPONSE.or(CLOSED),
    W_LOW,
    W_HIGH,
    P_LOW,
    P_HIGH,
    B_HIGH,
    MIN_TH_COLUMN,
    MAX_TH_COLUMN,
    P_MAX_COLUMN,
    GENTLE_COLUMN,
    // The rows' round-trip times contain the printed mean queue by default.
    Column::of(&["delay"]).flag("accepted"),
];
const CHAIN_ROW: &[Column] = &[
    RHO,
    Column::of(&["K"]),
    MIN_TH_COLUMN,
    MAX_TH_COLUMN,
    P_MAX_COLUMN,
    GENTLE_COLUMN,
];
const MIN_TH_COLUMN: Column = Column::of(&["min_th"]).multiple_of("K");
const MAX_TH_COLUMN: Column = Column::of(&["max_th"]).multiple_of("K");
const P_MAX_COLUMN: Column = Column::of(&["p_max"]).or(0.1);
const GENTLE_COLUMN: Column = Column::of(&["gentle"]).flag("gentle").or_named("gentle");

fn row(a: &Arguments) -> Result<FixedPoint, FormulaError> {
    let response = row_response(a[3], hstcp_throughput::from_row(a, 4)?);
    let view = if a[13] > 0.0 {
        DelayView::Accepted
    } else {
        DelayView::Printed
    };
    paper_link(a, &one_flow_each(a.list), response.as_ref()).red(&curve(a, 9, beyond(a[12])), view)
}

fn chain_row(a: &Arguments) -> Result<RedChain, FormulaError> {
    chain(a[0], a[1], &curve(a, 2, beyond(a[5])))
}

/// The drop curve beyond the upper threshold, from a flag.
fn beyond(gentle: f64) -> AboveThreshold {
    if gentle > 0.0 {
        AboveThreshold::Gentle
    } else {
        AboveThreshold::Abrupt
    }
}

const MIN_TH: Input = Input::new(
    "min_threshold",
    "packets",
    "below it RED drops nothing",
    "0 and more",
);
const MAX_TH: Input = Input::new(
    "max_threshold",
    "packets",
    "from it on RED drops everything",
    ">= the minimum",
);
const P_MAX: Input = Input::new(
    "max_probability",
    "1",
    "drop probability at the upper threshold",
    "0 < x <= 1",
)
.or(0.1);
const RED_LINK: &[Input] = &[
    CAPACITY,
    SYSTEM.within("whole, 1 to 1e8"),
    MIN_TH,
    MAX_TH,
    P_MAX,
    RTTS,
];
const CHAIN: &[Input] = &[
    LOAD,
    SYSTEM.within("whole, 1 to 1e8"),
    MIN_TH,
    MAX_TH,
    P_MAX,
];

/// The drop curve: thresholds from argument `first` on, then the largest probability.
fn curve(a: &Arguments, first: usize, beyond: AboveThreshold) -> DropCurve {
    DropCurve {
        min: a[first],
        max: a[first + 1],
        max_p: a[first + 2],
        beyond,
        range: None,
    }
}

/// The fixed point for the arguments (capacity, K, thresholds, largest probability) and the list of
/// round-trip times.
fn fixed_point(a: &Arguments, beyond: AboveThreshold) -> Result<FixedPoint, FormulaError> {
    paper_link(a, &one_flow_each(a.list), &hstcp(Form::Approximate))
        .red(&curve(a, 2, beyond), DelayView::Accepted)
}

fn red(s: &Situation) -> Check {
    queue(s, "RED queue", ("red", "RED"))
}

fn predict(s: &Situation) -> Numbers {
    Ok(numbers(&at_buffer(s, s.buffer)?))
}

fn size(s: &Situation, t: &Targets) -> Packets {
    smallest_buffer(s, t, |buffer| at_buffer(s, buffer))
}

/// The fixed point of the scenario's RED queue. Without one it is the paper's queue: thresholds of
/// 40 % and 100 % of the system, p_max 0.1.
fn at_buffer(s: &Situation, buffer: f64) -> Result<FixedPoint, ModelError> {
    let link = shared(s, (buffer + 1.0).round())?;
    let Some(queue) = &s.red else {
        let paper = DropCurve {
            min: 0.4 * link.system_capacity,
            max: link.system_capacity,
            max_p: 0.1,
            beyond: AboveThreshold::Abrupt,
            range: None,
        };
        return Ok(link.red(&paper, DelayView::Accepted)?);
    };
    let found = queue.curve(buffer);
    // The model counts the packet in transmission, the queue does not.
    let at = |max_p: f64| {
        let curve = DropCurve {
            min: found.min + 1.0,
            max: (found.max + 1.0).max(f64::MIN_POSITIVE),
            max_p,
            ..found
        };
        link.red(&curve, DelayView::Accepted)
    };
    let point = at(found.max_p)?;
    let (Some((bottom, top)), (low, high)) = (found.range, found.target()) else {
        return Ok(point);
    };
    let (mut less, mut more, goal) = if point.mean_waiting < low {
        (bottom, found.max_p, low)
    } else if point.mean_waiting > high {
        (found.max_p, top, high)
    } else {
        return Ok(point);
    };
    // The queue falls with the probability. At an end of its range Adaptive RED stays there.
    for _ in 0..40 {
        let middle = f64::midpoint(less, more);
        if at(middle)?.mean_waiting > goal {
            less = middle;
        } else {
            more = middle;
        }
    }
    Ok(at(f64::midpoint(less, more))?)
}
