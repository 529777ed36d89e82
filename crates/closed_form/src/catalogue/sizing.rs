//! Rules that size a buffer.

use super::{
    Arguments, BDP, BUFFER, BUFFER_BDP, CAPACITY, Example, FLOWS, KEPT, LOSS, Model, Parameter,
    RTT, RTTS, quantity, symbol, variant,
};
use crate::error::ModelError;
use crate::hybrid_fluid::{Connections, HybridFluid};
use crate::small_buffers::{self as small, Stability, TinyBuffer};
use crate::square_root::{self, WindowSum};
use crate::{bbr, bscl, many_flows, one_flow};

pub(super) static MODELS: [Model; 12] = [
    BDP_RULE,
    ONE_FLOW,
    SQRT_N,
    WISCHIK_MCKEOWN,
    HYBRID_FLUID,
    BSCL,
    TINY,
    SMALL,
    FLOW_PROPORTIONAL,
    GORINSKY,
    POWER_LAW,
    BBR,
];

const BETA: super::Symbol = symbol("β", "fraction of the window kept at a cut", "1");
const BUF: super::Symbol = symbol("B", "buffer", "packets");
const PIPE: super::Symbol = symbol("CT", "bandwidth-delay product", "packets");
const FLOWCOUNT: super::Symbol = symbol("N", "long flows", "flows");

const BDP_RULE: Model = Model {
    name: "bdp",
    aliases: &["villamizar-song", "rule-of-thumb", "single-flow"],
    title: "The bandwidth-delay rule for any cut",
    summary: "One flow, or many that cut together, keep the link busy through a cut when the buffer holds BDP (1/β − 1): \
        one BDP for Reno, 0.43 for CUBIC, 0.14 for Scalable.",
    formula: "B = CT (1/β − 1)        worst utilisation = min( β(1 + B/CT), 1 )",
    symbols: &[BUF, PIPE, BETA],
    assumptions: &[
        "one flow, or flows that all cut together",
        "recovery that spreads the window reduction over a round trip (older recovery that stops sending needs more)",
    ],
    source: "Villamizar & Song (CCR 1994) for β = 1/2; generalised here; utilisation bound as in Spang, Arslan & McKeown (2021).",
    errata: &[
        "beta is the kept fraction in RFC 9438, H-TCP and Avrachenkov's paper, the cut fraction in CUBIC's paper of 2008 and HSTCP's b.",
    ],
    variants: &[],
    quantities: &[
        quantity("buffer_bdp", "BDP", &[KEPT], |a| {
            one_flow::full_buffer(a[0])
        }),
        quantity("worst_utilization", "1", &[KEPT, BUFFER_BDP], |a| {
            one_flow::worst_utilization(a[0], a[1])
        }),
        quantity(
            "bdp",
            "packets",
            &[
                Parameter::new("bits_per_s", "bit/s", "rate of the link", "above 0"),
                RTT,
                Parameter::new("packet_bytes", "bytes", "packet size", "above 0"),
            ],
            |a| one_flow::bandwidth_delay_product(a[0], a[1], a[2]),
        ),
        quantity(
            "drain_time_s",
            "s",
            &[
                Parameter::new("packets", "packets", "queue", "0 and more"),
                Parameter::new("packet_bytes", "bytes", "packet size", "above 0"),
                Parameter::new("bits_per_s", "bit/s", "rate of the link", "above 0"),
            ],
            |a| one_flow::drain_time(a[0], a[1], a[2]),
        ),
    ],
    example: Example {
        text: "Buffer over BDP for CUBIC (β = 0.7)",
        quantity: "buffer_bdp",
        arguments: &[("kept", &[0.7])],
    },
};

const ONE_FLOW: Model = Model {
    name: "one-flow",
    aliases: &["auge-roberts", "sawtooth"],
    title: "Mean utilisation of one sawtooth",
    summary: "Even without a buffer one AIMD flow uses (1 + β)/2 of the link: 75 % for Reno; apply it to what the background leaves.",
    formula: "U = [ (1 − w₀²)/2 + x + x²/2 ] / [ (1 − w₀) + x + x²/2 ],  w₀ = β(1 + x) < 1,  x = B/CT;   else U = 1",
    symbols: &[
        symbol("U", "mean utilisation", "1"),
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
        quantity("utilization", "1", &[KEPT, BUFFER_BDP], |a| {
            one_flow::mean_utilization(a[0], a[1])
        }),
        quantity("mean_queue_bdp", "BDP", &[KEPT, BUFFER_BDP], |a| {
            one_flow::mean_queue(a[0], a[1])
        }),
        quantity(
            "buffer_bdp",
            "BDP",
            &[
                KEPT,
                Parameter::new("utilization", "1", "least mean utilisation", "0 < x <= 1"),
            ],
            |a| one_flow::buffer_for_utilization(a[0], a[1]),
        ),
    ],
    example: Example {
        text: "Utilisation of one Reno flow with 20 packets of buffer and a BDP of 625",
        quantity: "utilization",
        arguments: &[("kept", &[0.5]), ("buffer_bdp", &[0.032])],
    },
};

const VARIATION: Parameter = Parameter::new(
    "variation",
    "1",
    "coefficient of variation of a window: 0.19245 Reno, 0.0919 CUBIC",
    "above 0",
)
.or(0.192_450_089_729_875_25);
const CORRELATION: Parameter =
    Parameter::new("correlation", "1", "correlation of two windows", "0 to 1").or(0.0);

const SQRT_N: Model = Model {
    name: "sqrt-n",
    aliases: &["stanford", "appenzeller", "spang-arslan-mckeown"],
    title: "The square-root rule",
    summary: "Windows that move independently average out: N long flows need 1/√N of the bandwidth-delay product.",
    formula: "B = CT/√N        U ≥ erf( B√N / (2√2 κ (CT + B)) )\ngeneral: B = CT k/(1 − k),  k = 2zκ √((1 + (N−1)r)/N)",
    symbols: &[
        BUF,
        PIPE,
        FLOWCOUNT,
        symbol(
            "κ",
            "standard deviation over mean of one window: 1/(3√3) for Reno",
            "1",
        ),
        symbol("z", "standard deviations covered", "1"),
        symbol("r", "correlation between two windows", "1"),
    ],
    assumptions: &[
        "hundreds of long flows",
        "windows that move independently (r near 0): no synchronising marks, bounded unfairness",
    ],
    source: "Appenzeller, Keslassy & McKeown (SIGCOMM 2004), re-derived; κ and r after Spang, Arslan & McKeown (2021), \
        whose theorem constants were not available.",
    errata: &[
        "For N = 20 and a BDP of 150 the rule gives 33.5 packets, not 21 as quoted by Avrachenkov et al.",
    ],
    variants: &[],
    quantities: &[
        quantity("buffer", "packets", &[BDP, FLOWS], |a| {
            square_root::stanford(a[0], a[1])
        }),
        quantity(
            "utilization",
            "1",
            &[FLOWS, BUFFER_BDP, VARIATION, CORRELATION],
            |a| {
                WindowSum {
                    flows: a[0],
                    variation: a[2],
                    correlation: a[3],
                }
                .utilization(a[1])
            },
        ),
        quantity(
            "buffer_bdp_for_quantile",
            "BDP",
            &[
                FLOWS,
                Parameter::new("z", "1", "standard deviations covered", "0 and more"),
                VARIATION,
                CORRELATION,
            ],
            |a| {
                WindowSum {
                    flows: a[0],
                    variation: a[2],
                    correlation: a[3],
                }
                .buffer_for_quantile(a[1])
            },
        ),
        quantity(
            "buffer_bdp_for_utilization",
            "BDP",
            &[
                FLOWS,
                Parameter::new("utilization", "1", "least utilisation", "0 to below 1"),
                VARIATION,
                CORRELATION,
            ],
            |a| {
                WindowSum {
                    flows: a[0],
                    variation: a[2],
                    correlation: a[3],
                }
                .buffer_for_utilization(a[1])
            },
        ),
    ],
    example: Example {
        text: "Utilisation bound of 10000 flows with BDP/√N = 1 % of a BDP",
        quantity: "utilization",
        arguments: &[("flows", &[1e4]), ("buffer_bdp", &[0.01])],
    },
};

const WISCHIK_MCKEOWN: Model = Model {
    name: "wischik-mckeown",
    aliases: &["0.63-rule"],
    title: "The square-root rule with a confidence",
    summary: "0.63 CT/√N covers the swing of the summed windows 99.9 % of the time.",
    formula: "B = z · 0.19245 · CT/√N        (99.9 %: 0.6333 CT/√N)",
    symbols: &[
        BUF,
        PIPE,
        FLOWCOUNT,
        symbol("z", "two-sided normal quantile of the confidence", "1"),
    ],
    assumptions: &["hundreds of long Reno flows whose windows move independently"],
    source: "Wischik & McKeown, Part I: buffer sizes for core routers (CCR 2005); constant as quoted by Kumar et al.",
    errata: &[],
    variants: &[],
    quantities: &[quantity(
        "buffer",
        "packets",
        &[
            BDP,
            FLOWS,
            Parameter::new("confidence", "1", "probability covered", "0 to below 1").or(0.999),
        ],
        |a| square_root::wischik_mckeown(a[0], a[1], a[2]),
    )],
    example: Example {
        text: "Buffer for a BDP of 150 packets and 5 flows at 99.9 %",
        quantity: "buffer",
        arguments: &[("bdp", &[150.0]), ("flows", &[5.0])],
    },
};

const CUT_FLOWS: Parameter = Parameter::new(
    "flows_cut",
    "flows",
    "flows that cut at a time: all when synchronised, 1 when not",
    "0 < x <= flows",
);
const FLUID: &[Parameter] = &[CAPACITY, RTT, FLOWS, CUT_FLOWS, KEPT];
const FLUID_B: &[Parameter] = &[CAPACITY, RTT, FLOWS, CUT_FLOWS, KEPT, BUFFER];

/// For pictures: the trajectory against the phase of the cycle.
const PHASE: &[Parameter] = &[
    CAPACITY,
    RTT,
    FLOWS,
    CUT_FLOWS,
    KEPT,
    BUFFER,
    Parameter::new(
        "phase",
        "1",
        "0 just after a cut, 1 just before the next",
        "0 to 1",
    ),
];

fn fluid(a: &Arguments) -> Result<HybridFluid, ModelError> {
    HybridFluid::of_connections(
        a[0],
        &Connections {
            rtt_s: a[1],
            flows: a[2],
            flows_cut: a[3],
            kept: a[4],
        },
    )
}

const HYBRID_FLUID: Model = Model {
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
        "\"Equation (12) gives 250 (N = 5) and 62 (N = 20)\": those are the synchronised BDP²/(18 n); eq. (12) gives 6.2 and 0.09 packets.",
        "The Stanford rule for N = 20 is 33.5 packets, not 21.",
        "The published delays give an RTT of 4 ms and a BDP of 100; the stated 150 needs 6 ms.",
        "B₀ grows as BDP² and exceeds the BDP once BDP > 18 n: the frozen RTT then fails. That synchronised requirements fall as 1/n is a property of the frozen RTT.",
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
                KEPT,
                Parameter::new("mean_queue", "packets", "largest mean queue", "0 and more"),
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
                KEPT,
                Parameter::new(
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
                KEPT,
                Parameter::new("rate_weight", "s", "weight of the mean rate", "0 and more"),
                Parameter::new("queue_weight", "1", "weight of the mean queue", "above 0").or(1.0),
            ],
            |a| Ok(fluid(a)?.best_tradeoff(a[5], a[6])?.buffer),
        ),
    ],
    example: Example {
        text: "B₀ of 5 synchronised Reno flows on 25000 packets/s with 6 ms",
        quantity: "full_buffer",
        arguments: &[
            ("capacity_pps", &[25_000.0]),
            ("rtt_s", &[0.006]),
            ("flows", &[5.0]),
            ("flows_cut", &[5.0]),
        ],
    },
};

fn bscl_link(a: &Arguments) -> Result<bscl::Bscl, ModelError> {
    bscl::Bscl::new(a[0], a[1], a[2])
}

const EFFECTIVE_RTT: Parameter =
    Parameter::new("rtt_s", "s", "harmonic mean round-trip time", "above 0");
const SHARE_HIT: Parameter = Parameter::new(
    "share_hit",
    "1",
    "share of the flows hit by a loss event",
    "0 to 1",
);
const RATE_CONSTANT: Parameter = Parameter::new(
    "constant",
    "1",
    "k of the rate k/(T √p): 0.87 with delayed ACKs",
    "above 0",
)
.or(0.87);

const BSCL: Model = Model {
    name: "bscl",
    aliases: &["dhamdhere-jiang-dovrolis", "congested-links"],
    title: "Buffer sizing for congested links",
    summary: "Two lower bounds, for utilisation and for loss, and an upper one for delay; they may contradict each other.",
    formula: "utilisation: B ≥ [ q C Tₑ − 2N(1 − q) ]/(2 − q)\nloss:        B ≥ kN/√p − C Tₑ\ndelay:       B ≤ C d",
    symbols: &[
        BUF,
        symbol("C", "capacity", "packets/s"),
        symbol("Tₑ", "harmonic mean round-trip time", "s"),
        FLOWCOUNT,
        symbol("q", "share of the flows hit by a loss event", "1"),
        symbol("p", "largest loss probability", "1"),
        symbol("k", "constant of the rate k/(T √p): 0.87", "1"),
        symbol("d", "largest queueing delay", "s"),
    ],
    assumptions: &["locally bottlenecked long Reno flows", "drop-tail"],
    source: "Dhamdhere, Jiang & Dovrolis, Buffer sizing for congested Internet links (INFOCOM 2005) (recalled; each part re-derived).",
    errata: &[],
    variants: &[],
    quantities: &[
        quantity(
            "utilization_buffer",
            "packets",
            &[CAPACITY, EFFECTIVE_RTT, FLOWS, SHARE_HIT],
            |a| bscl_link(a)?.utilization_buffer(a[3]),
        ),
        quantity(
            "loss_buffer",
            "packets",
            &[CAPACITY, EFFECTIVE_RTT, FLOWS, LOSS, RATE_CONSTANT],
            |a| bscl_link(a)?.loss_buffer(a[3], a[4]),
        ),
        quantity(
            "delay_cap",
            "packets",
            &[
                CAPACITY,
                EFFECTIVE_RTT,
                FLOWS,
                Parameter::new("delay_s", "s", "largest queueing delay", "0 and more"),
            ],
            |a| bscl_link(a)?.delay_cap(a[3]),
        ),
        quantity(
            "buffer",
            "packets",
            &[
                CAPACITY,
                EFFECTIVE_RTT,
                FLOWS,
                SHARE_HIT,
                LOSS,
                RATE_CONSTANT,
                Parameter::new("delay_s", "s", "largest queueing delay", "0 and more"),
            ],
            |a| {
                bscl_link(a)?.buffer(&bscl::Goals {
                    share_hit: a[3],
                    loss: a[4],
                    constant: a[5],
                    delay_s: a[6],
                })
            },
        ),
        quantity("effective_rtt_s", "s", &[RTTS], |a| {
            bscl::effective_rtt(a.list)
        }),
        quantity(
            "share_hit",
            "1",
            &[
                FLOWS,
                Parameter::new(
                    "losses",
                    "packets",
                    "losses per event, thrown at random",
                    "0 and more",
                ),
            ],
            |a| bscl::share_hit(a[0], a[1]),
        ),
    ],
    example: Example {
        text: "Utilisation's bound on 10000 packets/s, 100 ms, 20 flows of which 30 % are hit",
        quantity: "utilization_buffer",
        arguments: &[
            ("capacity_pps", &[1e4]),
            ("rtt_s", &[0.1]),
            ("flows", &[20.0]),
            ("share_hit", &[0.3]),
        ],
    },
};

const TINY: Model = Model {
    name: "tiny-buffers",
    aliases: &["enachescu", "tiny-buffer"],
    title: "Tens of packets for paced traffic",
    summary: "Paced or access-limited flows at a load below 1 need a buffer that grows only with the logarithm of the window.",
    formula: "B = log_{1/ρ}( W²_max / (d (1 − θ)) )",
    symbols: &[
        BUF,
        symbol("ρ", "load", "1"),
        symbol("W_max", "largest window", "packets"),
        symbol("θ", "share of the largest throughput wanted", "1"),
        symbol("d", "2 as published, 8 by the direct area argument", "1"),
    ],
    assumptions: &[
        "paced sources, or access links far slower than the link",
        "load below 1",
    ],
    source: "Enachescu, Ganjali, Goel, McKeown & Roughgarden (CCR 2005, INFOCOM 2006); constant recalled.",
    errata: &[
        "d = 2 is the published constant to the best of recollection; the direct argument (each loss costs at most W²_max/8 packets) gives 8.",
    ],
    variants: &[],
    quantities: &[quantity(
        "buffer",
        "packets",
        &[
            Parameter::new("largest_window", "packets", "largest window", "above 0"),
            super::STABLE_LOAD,
            Parameter::new(
                "throughput_share",
                "1",
                "share of the largest throughput wanted",
                "0 to below 1",
            )
            .or(0.9),
            Parameter::new(
                "denominator",
                "1",
                "2 as published, 8 by the direct argument",
                "above 0",
            )
            .or(2.0),
        ],
        |a| {
            TinyBuffer {
                largest_window: a[0],
                load: a[1],
                throughput_share: a[2],
                denominator: a[3],
            }
            .buffer()
        },
    )],
    example: Example {
        text: "Buffer for windows of 64 packets at load 0.8 and 90 % of the throughput",
        quantity: "buffer",
        arguments: &[("largest_window", &[64.0]), ("load", &[0.8])],
    },
};

const AT: &[Parameter] = &[
    Parameter::new(
        "fair_window",
        "packets",
        "C T / N, the window at full load",
        "above 0",
    ),
    BUFFER,
];

const SMALL: Model = Model {
    name: "small-buffers",
    aliases: &["raina-wischik", "small-buffer"],
    title: "Whether many Reno flows swing together",
    summary: "With many flows a buffer above a bound set by the window makes the flows oscillate together; about 20 packets is the authors' compromise.",
    formula: "w = (2 w̄ᴮ)^(1/(B+2)),  ρ = w/w̄,  p = ρᴮ        stable iff √(g² − 1)/w < arccos(−1/g),  g = 1 + B",
    symbols: &[
        symbol("w", "window at the equilibrium", "packets"),
        symbol("w̄", "C T / N, the window at full load", "packets"),
        BUF,
        symbol("ρ", "load", "1"),
        symbol("p", "loss", "1"),
    ],
    assumptions: &[
        "many Reno flows of equal round-trip time",
        "loss = load^buffer: packets arrive smoothly on the scale of the buffer",
    ],
    source: "Raina & Wischik, Buffer sizes for large multiplexers (NGI 2005); derived here, checked by integrating the delay equation.",
    errata: &[],
    variants: &[],
    quantities: &[
        quantity("window", "packets", AT, |a| {
            Ok(Stability::new(a[0], a[1])?.window())
        }),
        quantity("load", "1", AT, |a| Ok(Stability::new(a[0], a[1])?.load())),
        quantity("loss", "1", AT, |a| Ok(Stability::new(a[0], a[1])?.loss())),
        quantity("margin", "rad", AT, |a| {
            Stability::new(a[0], a[1])?.margin()
        }),
        quantity(
            "critical_window",
            "packets",
            &[Parameter::new(
                "elasticity",
                "1",
                "d ln p/d ln load: the buffer in packets",
                "0 and more",
            )],
            |a| small::critical_window(a[0]),
        ),
    ],
    example: Example {
        text: "Smallest stable window with 20 packets of buffer",
        quantity: "critical_window",
        arguments: &[("elasticity", &[20.0])],
    },
};

const FLOW_PROPORTIONAL: Model = Model {
    name: "flow-proportional",
    aliases: &["morris"],
    title: "A few packets per flow",
    summary: "Loss depends on storage per flow: six to ten packets each keep windows large enough for fast retransmit.",
    formula: "B = m N        p = k² (N/S)²,  S = CT + B,  k² = 3/4",
    symbols: &[
        BUF,
        FLOWCOUNT,
        symbol("m", "packets per flow, 6 to 10", "packets"),
        symbol("S", "storage: pipe and buffer", "packets"),
        symbol("p", "loss", "1"),
    ],
    assumptions: &["long Reno flows that fill the link"],
    source: "Morris, TCP behavior with many flows (ICNP 1997) and Scalable TCP congestion control (INFOCOM 2000) (recalled); same as eq. (3) of Dhamdhere & Dovrolis.",
    errata: &[],
    variants: &[],
    quantities: &[
        quantity(
            "buffer",
            "packets",
            &[
                FLOWS,
                Parameter::new("per_flow", "packets", "packets per flow", "above 0").or(6.0),
            ],
            |a| many_flows::flow_proportional(a[0], a[1]),
        ),
        quantity(
            "loss",
            "1",
            &[
                FLOWS,
                Parameter::new(
                    "storage",
                    "packets",
                    "bandwidth-delay product and buffer",
                    "above 0",
                ),
                Parameter::new("constant_squared", "1", "k^2", "above 0").or(0.75),
            ],
            |a| many_flows::morris_loss(a[0], a[1], a[2]),
        ),
    ],
    example: Example {
        text: "Loss of 100 flows with a storage of 750 packets",
        quantity: "loss",
        arguments: &[("flows", &[100.0]), ("storage", &[750.0])],
    },
};

const GORINSKY: Model = Model {
    name: "gorinsky",
    aliases: &["two-per-input", "2l"],
    title: "Two datagrams per input link",
    summary: "A buffer that depends on the number of input links only; senders must adapt to it.",
    formula: "B = 2L",
    symbols: &[BUF, symbol("L", "input links", "links")],
    assumptions: &["smooth senders", "independent of rates and flows"],
    source: "Gorinsky, Kantawala & Turner, Link buffer sizing: a new look at the old problem (ISCC 2005).",
    errata: &[],
    variants: &[],
    quantities: &[quantity(
        "buffer",
        "packets",
        &[Parameter::new(
            "input_links",
            "links",
            "input links",
            "above 0",
        )],
        |a| small::two_per_input(a[0]),
    )],
    example: Example {
        text: "Buffer of a router with 4 input links",
        quantity: "buffer",
        arguments: &[("input_links", &[4.0])],
    },
};

const POWER_LAW: Model = Model {
    name: "power-law",
    aliases: &["prasad-dovrolis-thottan", "output-input-ratio"],
    title: "Best buffer for a flow whose loss falls as a power of the buffer",
    summary: "Where the output is slower than the input, loss falls slowly with the buffer and a flow's rate has an optimum; where it is faster, near-zero buffers suffice.",
    formula: "p = a B^(−e),  rate = 1/((T + B/C)√p)   ⇒   B = CT · e/(2 − e)",
    symbols: &[BUF, PIPE, symbol("e", "exponent of the loss", "1")],
    assumptions: &[
        "output/input capacity ratio below 1",
        "a measured exponent, 0 < e < 2",
    ],
    source: "After Prasad, Dovrolis & Thottan, Router buffer sizing revisited: the role of the output/input capacity ratio (CoNEXT 2007); optimum derived here.",
    errata: &[],
    variants: &[],
    quantities: &[quantity(
        "buffer_bdp",
        "BDP",
        &[Parameter::new("exponent", "1", "exponent e of the loss", "0 < x < 2").or(0.5)],
        |a| small::power_law_buffer(a[0]),
    )],
    example: Example {
        text: "Best buffer over BDP for an exponent of 0.5",
        quantity: "buffer_bdp",
        arguments: &[("exponent", &[0.5])],
    },
};

const BBR: Model = Model {
    name: "bbr",
    aliases: &["bbrv1", "bbr-bounds"],
    title: "What BBR version 1 needs",
    summary: "One flow is never idle from a quarter BDP on; several keep two BDP in flight and fill any buffer up to one BDP.",
    formula: "one flow: worst utilisation min(¾ + x, 1), mean 1 − max(0, ¼ − x)/8,  x = B/CT\nseveral:  standing queue min(B, CT)",
    symbols: &[BUF, PIPE, symbol("x", "buffer over BDP", "1")],
    assumptions: &["pacing gains 1.25, 0.75 and six times 1", "BBR flows only"],
    source: "Spang, Arslan & McKeown (2021) for the quarter BDP; mean derived here; standing queue recalled; the share against \
        loss-based flows is recalled from Ware et al. (IMC 2019) and unverified.",
    errata: &[],
    variants: &[],
    quantities: &[
        quantity("worst_utilization", "1", &[BUFFER_BDP], |a| {
            bbr::worst_utilization(a[0])
        }),
        quantity("utilization", "1", &[BUFFER_BDP], |a| {
            bbr::mean_utilization(a[0])
        }),
        quantity("standing_queue", "packets", &[BUFFER, BDP], |a| {
            bbr::standing_queue(a[0], a[1])
        }),
        quantity(
            "share_against_loss_based",
            "1",
            &[FLOWS, BUFFER_BDP, BDP],
            |a| bbr::share_against_loss_based(a[0], a[1], a[2]),
        ),
    ],
    example: Example {
        text: "Mean utilisation of one flow with a tenth of a BDP",
        quantity: "utilization",
        arguments: &[("buffer_bdp", &[0.1])],
    },
};
