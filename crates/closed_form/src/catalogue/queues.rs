//! Queues and flow-level models: what a buffer or a link does to given traffic.

use super::{
    CAPACITY, Example, LOAD, LOSS, Model, Parameter, RTTS, STABLE_LOAD, SYSTEM, quantity, symbol,
    variant,
};
use crate::droptail_fixed_point::{FixedPoint, SharedLink, one_flow_each};
use crate::error::ModelError;
use crate::hstcp::Form;
use crate::mm1k::{self, Mm1k};
use crate::processor_sharing::{self as sharing, BurstQueue, ClosedLoop, RateLimited};
use crate::red_fixed_point::{self as red, Above, DelayView, DropCurve};
use crate::response::{Cubic, Htcp, Response};
use forebay_congestion::hstcp::HstcpResponse;

use super::Arguments;

const N: Parameter = Parameter::new("n", "packets", "length of the queue", "0 and more");
const FLOWS_N: Parameter =
    Parameter::new("n", "flows", "number of flows in progress", "0 and more");
const USERS: Parameter = Parameter::new("users", "users", "number of users", "whole, 1 to 1e7");
const RATIO: Parameter = Parameter::new(
    "size_over_capacity_think",
    "1",
    "mean transfer size / (capacity x mean think time)",
    "above 0",
);
const CORE: Parameter = Parameter::new(
    "core_access_ratio",
    "1",
    "core over access capacity",
    "1 to 1e12",
);
const BURSTS: Parameter = Parameter::new(
    "bursts",
    "packets",
    "sizes of the bursts a flow sends",
    "above 0",
)
.list();
const MIN_TH: Parameter = Parameter::new(
    "min_threshold",
    "packets",
    "below it RED drops nothing",
    "0 and more",
);
const MAX_TH: Parameter = Parameter::new(
    "max_threshold",
    "packets",
    "from it on RED drops everything",
    ">= the minimum",
);
const P_MAX: Parameter = Parameter::new(
    "max_probability",
    "1",
    "drop probability at the upper threshold",
    "0 < x <= 1",
)
.or(0.1);

pub(super) static MODELS: [Model; 9] = [
    MM1K,
    OVERLOAD,
    PROCESSOR_SHARING,
    CLOSED_LOOP,
    CORE_ACCESS,
    BURST_QUEUE,
    BARMAN_DROPTAIL,
    BARMAN_RED,
    SATURABILITY,
];

fn finite(a: &Arguments) -> Result<Mm1k, ModelError> {
    Mm1k::new(a[0], a[1])
}

const MM1K: Model = Model {
    name: "mm1k",
    aliases: &["transparent", "m-m-1-k"],
    title: "Loss of smooth traffic in a finite buffer (transparent regime)",
    summary: "Traffic whose flows are all far slower than the link loses what an M/M/1/K queue loses: \
        a few tens of packets suffice up to loads of about 0.8.",
    formula: "p = ρᴷ (1 − ρ) / (1 − ρᴷ⁺¹)        tail bound: P(N ≥ n) = ρⁿ",
    symbols: &[
        symbol("p", "probability that an arriving packet is lost", "1"),
        symbol("ρ", "offered load: arrival rate / capacity", "1"),
        symbol(
            "K",
            "packets in the system at most, the one in transmission included: buffer + 1",
            "packets",
        ),
    ],
    assumptions: &[
        "Poisson arrivals: many flows, each far slower than the link",
        "exponential packet sizes (packets of one size lose less)",
        "drop-tail queue",
    ],
    source: "Auge & Roberts, Buffer sizing for elastic traffic (NGI 2006), transparent regime; \
        the finite queue is the standard M/M/1/K result. Checked against the sum over all states.",
    errata: &[
        "Printed: Pr[loss | n] ~ ρⁿ. That is P(N >= n) of the infinite queue; the loss of a finite buffer is smaller by (1 − ρ)/(1 − ρᴷ⁺¹).",
        "Printed: 20 packets keep loss below 0.01 for loads below 71 %. 0.71²⁰ = 0.001: either the loss is 0.001 or the load 79 %.",
    ],
    variants: &[variant("tail-bound", "ρⁿ as printed, an upper bound")],
    quantities: &[
        quantity("loss", "1", &[LOAD, SYSTEM], |a| Ok(finite(a)?.loss())),
        quantity("utilization", "1", &[LOAD, SYSTEM], |a| {
            Ok(finite(a)?.utilization())
        }),
        quantity("mean_number", "packets", &[LOAD, SYSTEM], |a| {
            Ok(finite(a)?.mean_number())
        }),
        quantity("mean_waiting", "packets", &[LOAD, SYSTEM], |a| {
            Ok(finite(a)?.mean_waiting())
        }),
        quantity("mean_found_by_accepted", "packets", &[LOAD, SYSTEM], |a| {
            Ok(finite(a)?.mean_found_by_accepted())
        }),
        quantity("load_for_loss", "1", &[LOSS, SYSTEM], |a| {
            mm1k::load_for_loss(a[0], a[1])
        }),
        quantity("system_for_loss", "packets", &[LOAD, LOSS], |a| {
            mm1k::capacity_for_loss(a[0], a[1])
        }),
        quantity("loss:tail-bound", "1", &[STABLE_LOAD, N], |a| {
            mm1k::tail_bound(a[0], a[1])
        }),
        quantity("load_for_loss:tail-bound", "1", &[LOSS, N], |a| {
            mm1k::load_for_tail(a[0], a[1])
        }),
        quantity(
            "length_for_loss:tail-bound",
            "packets",
            &[STABLE_LOAD, LOSS],
            |a| mm1k::length_for_tail(a[0], a[1]),
        ),
    ],
    example: Example {
        text: "Loss at load 0.9 in a system of 100 packets (the tail bound is 2.66e-5)",
        quantity: "loss",
        arguments: &[("load", &[0.9]), ("system_capacity", &[100.0])],
    },
};

const OVERLOAD: Model = Model {
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
        quantity("loss", "1", &[LOAD, SYSTEM], |a| Ok(finite(a)?.loss())),
        quantity("utilization", "1", &[LOAD, SYSTEM], |a| {
            Ok(finite(a)?.utilization())
        }),
        quantity("mean_number", "packets", &[LOAD, SYSTEM], |a| {
            Ok(finite(a)?.mean_number())
        }),
    ],
    example: Example {
        text: "Loss at load 1.2 in a system of 100 packets",
        quantity: "loss",
        arguments: &[("load", &[1.2]), ("system_capacity", &[100.0])],
    },
};

const PROCESSOR_SHARING: Model = Model {
    name: "processor-sharing",
    aliases: &["ps", "elastic"],
    title: "How many flows share a link (elastic regime)",
    summary: "Flows that arrive at random and share fairly number ρ/(1 − ρ) on average, whatever their sizes.",
    formula: "P(N > n) = ρⁿ⁺¹        E[N] = ρ/(1 − ρ)        flow throughput = C (1 − ρ)\nwith background:  ρ = ρₑ/(1 − ρ_b)",
    symbols: &[
        symbol("N", "flows in progress", "flows"),
        symbol("ρ", "offered load", "1"),
        symbol(
            "ρₑ, ρ_b",
            "load of the elastic flows and of the background",
            "1",
        ),
        symbol("C", "capacity", "packets/s"),
    ],
    assumptions: &["Poisson flow arrivals", "fair sharing", "load below 1"],
    source: "Auge & Roberts, statistical bandwidth sharing; insensitive to the size distribution.",
    errata: &[],
    variants: &[],
    quantities: &[
        quantity("probability_more_than", "1", &[STABLE_LOAD, FLOWS_N], |a| {
            sharing::probability_more_than(a[0], a[1])
        }),
        quantity("probability", "1", &[STABLE_LOAD, FLOWS_N], |a| {
            sharing::probability_exactly(a[0], a[1])
        }),
        quantity("mean_flows", "flows", &[STABLE_LOAD], |a| {
            sharing::mean_flows(a[0])
        }),
        quantity("flow_throughput", "1", &[STABLE_LOAD], |a| {
            sharing::flow_throughput(a[0])
        }),
        quantity(
            "residual_load",
            "1",
            &[
                Parameter::new(
                    "elastic_load",
                    "1",
                    "load of the elastic flows",
                    "0 and more",
                ),
                Parameter::new(
                    "background_load",
                    "1",
                    "load of the background",
                    "0 to below 1",
                ),
            ],
            |a| sharing::residual_load(a[0], a[1]),
        ),
        quantity(
            "open_loop_load",
            "1",
            &[
                Parameter::new(
                    "arrivals_per_s",
                    "1/s",
                    "transfers that arrive",
                    "0 and more",
                ),
                Parameter::new("size", "packets", "mean size of a transfer", "0 and more"),
                CAPACITY,
            ],
            |a| sharing::open_loop_load(a[0], a[1], a[2]),
        ),
        quantity(
            "flows_at_quantile",
            "flows",
            &[
                STABLE_LOAD,
                Parameter::new(
                    "coverage",
                    "1",
                    "probability that no more are in progress",
                    "0 to below 1",
                ),
            ],
            |a| sharing::flows_at_quantile(a[0], a[1]),
        ),
    ],
    example: Example {
        text: "Probability of more than 4 flows at load 0.5",
        quantity: "probability_more_than",
        arguments: &[("load", &[0.5]), ("n", &[4.0])],
    },
};

fn closed(a: &Arguments) -> Result<ClosedLoop, ModelError> {
    ClosedLoop::new(a[0], a[1])
}

const CLOSED_LOOP: Model = Model {
    name: "closed-loop",
    aliases: &["finite-source", "closed-ps"],
    title: "A finite number of users that think and transfer in turn",
    summary: "Closed-loop load yields to congestion: the number of users bounds the number of flows.",
    formula: "P(n) = U!/(U−n)! (S/CZ)ⁿ / norm        utilisation = 1 − P(0)",
    symbols: &[
        symbol("U", "users", "users"),
        symbol("S", "mean size of a transfer", "packets"),
        symbol("C", "capacity", "packets/s"),
        symbol("Z", "mean think time", "s"),
    ],
    assumptions: &[
        "fair sharing of the link among active users",
        "independent think times",
    ],
    source: "Dhamdhere & Dovrolis, Open issues in router buffer sizing, closed-loop traffic; the \
        standard finite-source processor-sharing law. Checked against its sum and flow balance.",
    errata: &["\"The sum of three exponential distributions\" must be a mixture."],
    variants: &[],
    quantities: &[
        quantity("probability", "1", &[USERS, RATIO, FLOWS_N], |a| {
            closed(a)?.probability(a[2])
        }),
        quantity("mean_active", "users", &[USERS, RATIO], |a| {
            Ok(closed(a)?.mean_active())
        }),
        quantity("utilization", "1", &[USERS, RATIO], |a| {
            Ok(closed(a)?.utilization())
        }),
    ],
    example: Example {
        text: "Utilisation with 20 users and S/(CZ) = 0.04",
        quantity: "utilization",
        arguments: &[("users", &[20.0]), ("size_over_capacity_think", &[0.04])],
    },
};

const CORE_ACCESS: Model = Model {
    name: "core-access",
    aliases: &["rate-limited", "lakshmikantha", "erlang-c"],
    title: "Flows limited by their access links",
    summary: "When access links are much slower than the core, the core rarely limits anyone and a \
        small constant buffer suffices; at similar speeds count flows by processor sharing.",
    formula: "P(core limits) = C(m, ρm)        E[N] = ρm + C(m, ρm) ρ/(1 − ρ)        m = C/c_access",
    symbols: &[
        symbol("m", "core over access capacity", "1"),
        symbol("ρ", "offered load of the core", "1"),
        symbol(
            "C(m, a)",
            "Erlang's waiting probability with m servers and a Erlangs",
            "1",
        ),
    ],
    assumptions: &[
        "Poisson flow arrivals",
        "equal access rates",
        "load below 1",
    ],
    source: "After Lakshmikantha, Beck & Srikant, Impact of file arrivals and departures on buffer \
        sizing in core routers (2008/2011); formula derived here (Erlang C), extended to non-integer m.",
    errata: &[],
    variants: &[],
    quantities: &[
        quantity("core_limits", "1", &[CORE, STABLE_LOAD], |a| {
            Ok(RateLimited::new(a[0], a[1])?.core_limits())
        }),
        quantity("mean_flows", "flows", &[CORE, STABLE_LOAD], |a| {
            Ok(RateLimited::new(a[0], a[1])?.mean_flows())
        }),
    ],
    example: Example {
        text: "Probability that the core limits flows at core/access ratio 10 and load 0.8",
        quantity: "core_limits",
        arguments: &[("core_access_ratio", &[10.0]), ("load", &[0.8])],
    },
};

const BURST_QUEUE: Model = Model {
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
        quantity("tail", "1", &[STABLE_LOAD, N, BURSTS], |a| {
            BurstQueue::new(a[0], a.list)?.tail(a[1])
        }),
        quantity(
            "buffer",
            "packets",
            &[
                STABLE_LOAD,
                Parameter::new("tail", "1", "probability of a longer queue", "0 < x <= 1"),
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
};

const fn hstcp_default() -> HstcpResponse {
    HstcpResponse {
        low_window: 38.0,
        high_window: 83000.0,
        low_loss: 1e-3,
        high_loss: 1e-7,
        high_decrease: 0.1,
    }
}

/// The fixed point of (capacity, K) and the list of round-trip times.
fn solved(
    a: &Arguments,
    response: Response,
    curve: Option<&DropCurve>,
) -> Result<FixedPoint, ModelError> {
    let flows = one_flow_each(a.list);
    let link = SharedLink {
        capacity_pps: a[0],
        system_capacity: a[1],
        flows: &flows,
        response,
        background_load: 0.0,
    };
    match curve {
        Some(curve) => link.red(curve, DelayView::Accepted),
        None => link.droptail(),
    }
}

fn hstcp(form: Form) -> Response {
    Response::Hstcp {
        response: hstcp_default(),
        form,
    }
}

const LINK: &[Parameter] = &[CAPACITY, SYSTEM, RTTS];

const BARMAN_DROPTAIL: Model = Model {
    name: "barman-droptail",
    aliases: &["barman", "droptail-fixed-point"],
    title: "Drop-tail fixed point of long flows through M/M/1/K",
    summary: "Loss, delay and utilisation at which flows of any response function just fill a drop-tail queue.",
    formula: "ρ = (1/μ) Σᵢ λᵢ(p, Rᵢ)        p = ρᴷ(1 − ρ)/(1 − ρᴷ⁺¹)\nRᵢ = rttᵢ + (1/μ)[ ρ/(1 − ρ) − K ρᴷ/(1 − ρᴷ) ]        U = ρ(1 − p)",
    symbols: &[
        symbol("ρ", "offered load", "1"),
        symbol("μ", "capacity", "packets/s"),
        symbol(
            "λᵢ",
            "rate of flow i at loss p and round-trip time Rᵢ: its response function over Rᵢ",
            "packets/s",
        ),
        symbol("K", "packets in the system at most: buffer + 1", "packets"),
        symbol("U", "utilisation", "1"),
    ],
    assumptions: &[
        "smooth, unsynchronised arrivals: M/M/1/K has no memory of the windows, so this is an optimistic bound for few large flows",
        "persistent flows of one response function",
    ],
    source: "Barman, Smaragdakis & Matta, The effect of router buffer size on HighSpeed TCP performance (Globecom 2004), eqs. (4)-(6).",
    errata: &[
        "The bracket is the mean number an accepted packet finds (M/M/1/(K−1)), so it is right as printed and excludes its own transmission.",
        "The paper's C is packets/s in eq. (4) and bit/s in MSS/C; dᵢ is one-way.",
        "The right side diverges at 0, and the root is unique for every K. Its slope there is about −0.87 (K − L): plain iteration diverges; solved here by bracketing on ln ρ.",
        "6250 packets are 14.1 % of the largest-RTT BDP (44375), not 35 %.",
        "\"Over 90 % at a 10 % buffer\" is the paper's packet simulation; this model gives more than 98.8 %.",
    ],
    variants: &[
        variant(
            "closed",
            "HSTCP's closed-form throughput instead of eq. (3)",
        ),
        variant("printed", "that closed form with its misprinted exponent"),
        variant("self-consistent", "HSTCP's exact deterministic sawtooth"),
        variant("reno", "Reno flows"),
        variant("cubic", "CUBIC flows (RFC 9438)"),
        variant("htcp", "H-TCP flows"),
        variant("scalable", "Scalable TCP flows"),
    ],
    quantities: &[
        quantity("utilization", "1", LINK, |a| {
            Ok(solved(a, hstcp(Form::Approximate), None)?.utilization)
        }),
        quantity("loss", "1", LINK, |a| {
            Ok(solved(a, hstcp(Form::Approximate), None)?.loss)
        }),
        quantity("offered_load", "1", LINK, |a| {
            Ok(solved(a, hstcp(Form::Approximate), None)?.offered_load)
        }),
        quantity("mean_number", "packets", LINK, |a| {
            Ok(solved(a, hstcp(Form::Approximate), None)?.mean_number)
        }),
        quantity("queue_delay_s", "s", LINK, |a| {
            Ok(solved(a, hstcp(Form::Approximate), None)?.queue_delay_s)
        }),
        quantity("utilization:closed", "1", LINK, |a| {
            Ok(solved(a, hstcp(Form::Closed), None)?.utilization)
        }),
        quantity("loss:closed", "1", LINK, |a| {
            Ok(solved(a, hstcp(Form::Closed), None)?.loss)
        }),
        quantity("utilization:printed", "1", LINK, |a| {
            Ok(solved(a, hstcp(Form::ClosedPrinted), None)?.utilization)
        }),
        quantity("utilization:self-consistent", "1", LINK, |a| {
            Ok(solved(a, hstcp(Form::SelfConsistent), None)?.utilization)
        }),
        quantity("utilization:reno", "1", LINK, |a| {
            Ok(solved(a, Response::default(), None)?.utilization)
        }),
        quantity("loss:reno", "1", LINK, |a| {
            Ok(solved(a, Response::default(), None)?.loss)
        }),
        quantity("utilization:cubic", "1", LINK, |a| {
            Ok(solved(a, Response::Cubic(Cubic::default()), None)?.utilization)
        }),
        quantity("loss:cubic", "1", LINK, |a| {
            Ok(solved(a, Response::Cubic(Cubic::default()), None)?.loss)
        }),
        quantity("utilization:htcp", "1", LINK, |a| {
            Ok(solved(a, Response::Htcp(Htcp::default()), None)?.utilization)
        }),
        quantity("loss:htcp", "1", LINK, |a| {
            Ok(solved(a, Response::Htcp(Htcp::default()), None)?.loss)
        }),
        quantity("utilization:scalable", "1", LINK, |a| {
            Ok(solved(a, Response::Scalable, None)?.utilization)
        }),
        quantity("loss:scalable", "1", LINK, |a| {
            Ok(solved(a, Response::Scalable, None)?.loss)
        }),
    ],
    example: Example {
        text: "Utilisation of 1 Gb/s (1000-byte packets) by 10 HSTCP flows of about 120 ms with K = 1250",
        quantity: "utilization",
        arguments: &[
            ("capacity_pps", &[125_000.0]),
            ("system_capacity", &[1250.0]),
            (
                "rtts_s",
                &[
                    0.1155, 0.1165, 0.1175, 0.1185, 0.1195, 0.1205, 0.1215, 0.1225, 0.1235, 0.1245,
                ],
            ),
        ],
    },
};

/// The curve of thresholds in parameters 2 and 3 and p_max in 4.
fn curve(a: &Arguments, first: usize, above: Above) -> DropCurve {
    DropCurve {
        min_threshold: a[first],
        max_threshold: a[first + 1],
        max_probability: a[first + 2],
        above,
    }
}

const RED_LINK: &[Parameter] = &[CAPACITY, SYSTEM, MIN_TH, MAX_TH, P_MAX, RTTS];
const CHAIN: &[Parameter] = &[LOAD, SYSTEM, MIN_TH, MAX_TH, P_MAX];

const BARMAN_RED: Model = Model {
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
        "smooth, unsynchronised arrivals",
    ],
    source: "Barman, Smaragdakis & Matta (2004), RED section.",
    errata: &[
        "The printed p(n) has no forced drop at a full buffer, and p_max is not given (0.1 taken; 0.01-0.5 moves the utilisation by 0.004 at K = 1250).",
        "The printed delay Σ n π(n) counts the packet in service and rejected arrivals; default here: what accepted packets find.",
    ],
    variants: &[variant(
        "gentle",
        "from p_max to 1 between max and twice max",
    )],
    quantities: &[
        quantity("utilization", "1", RED_LINK, |a| {
            Ok(solved(a, hstcp(Form::Approximate), Some(&curve(a, 2, Above::All)))?.utilization)
        }),
        quantity("loss", "1", RED_LINK, |a| {
            Ok(solved(a, hstcp(Form::Approximate), Some(&curve(a, 2, Above::All)))?.loss)
        }),
        quantity("queue_delay_s", "s", RED_LINK, |a| {
            Ok(solved(a, hstcp(Form::Approximate), Some(&curve(a, 2, Above::All)))?.queue_delay_s)
        }),
        quantity("utilization:gentle", "1", RED_LINK, |a| {
            Ok(solved(
                a,
                hstcp(Form::Approximate),
                Some(&curve(a, 2, Above::Gentle)),
            )?
            .utilization)
        }),
        quantity("chain_loss", "1", CHAIN, |a| {
            Ok(red::chain(a[0], a[1], &curve(a, 2, Above::All))?.loss())
        }),
        quantity("chain_utilization", "1", CHAIN, |a| {
            Ok(red::chain(a[0], a[1], &curve(a, 2, Above::All))?.utilization)
        }),
        quantity("chain_mean_number", "packets", CHAIN, |a| {
            Ok(red::chain(a[0], a[1], &curve(a, 2, Above::All))?.mean_number)
        }),
        quantity("chain_mean_found", "packets", CHAIN, |a| {
            Ok(red::chain(a[0], a[1], &curve(a, 2, Above::All))?.mean_found)
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
};

const SATURABILITY: Model = Model {
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
            Parameter::new(
                "largest_window",
                "packets",
                "largest window of a flow",
                "above 0",
            ),
            RTTS,
        ],
        |a| sharing::saturation_ratio(a[0], a[1], a.list),
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
};
