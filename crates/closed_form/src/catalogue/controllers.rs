//! Controllers: the window or rate they reach at a loss probability.

use forebay_congestion::hstcp::HstcpResponse;

use super::{
    Arguments, BUFFER, CAPACITY, Example, FLOWS, LOSS, Model, PER_ACK, Parameter, RTT, quantity,
    symbol, variant,
};
use crate::error::{ModelError, positive};
use crate::hstcp::{self, Form};
use crate::many_flows::{self, FullLink};
use crate::pftk::{Pftk, Saturation, Timeout};
use crate::response::{self, Cubic, Htcp, Response};

const CUT: Parameter = Parameter::new("cut", "1", "fraction of the window cut", "0 < x < 1");
const WINDOW: Parameter = Parameter::new("window", "packets", "congestion window", "above 0");

pub(super) static MODELS: [Model; 8] = [
    RENO,
    AIMD,
    CUBIC,
    HTCP,
    SCALABLE,
    HSTCP,
    PFTK,
    FULL_LINK_LOSS,
];

const W: super::Symbol = symbol("w", "mean window", "packets");
const P: super::Symbol = symbol("p", "probability that a packet is lost", "1");
const R: super::Symbol = symbol("R", "round-trip time", "s");
const PERIODIC: &str = "periodic losses, one every 1/p packets, and no timeouts";

const RENO: Model = Model {
    name: "mathis",
    aliases: &["reno", "dd-eq2", "inverse-sqrt-p"],
    title: "Rate of Reno at a loss probability",
    summary: "The window goes as the inverse square root of the loss probability.",
    formula: "w = √( 3/(2 d p) )        rate = w/R",
    symbols: &[
        W,
        P,
        R,
        symbol("d", "packets per ACK: 1, or 2 with delayed ACKs", "packets"),
    ],
    assumptions: &[PERIODIC, "p below 1-2 %"],
    source: "Mathis, Semke, Mahdavi & Ott (CCR 1997); eq. (2) of Dhamdhere & Dovrolis with d = 2.",
    errata: &[
        "The 0.87 of eq. (2) is √(3/4) = 0.8660 rounded: one ACK per two packets. With an ACK per packet the constant is 1.2247.",
    ],
    variants: &[variant(
        "printed",
        "0.87/(T √p) with the paper's rounded constant",
    )],
    quantities: &[
        quantity("window", "packets", &[LOSS, PER_ACK.or(1.0)], |a| {
            response::mathis(a[0], a[1])
        }),
        quantity("rate", "packets/s", &[LOSS, RTT, PER_ACK.or(1.0)], |a| {
            Ok(response::mathis(a[0], a[2])? / positive("round-trip time (s)", a[1])?)
        }),
        quantity("rate:printed", "packets/s", &[LOSS, RTT], |a| {
            many_flows::flow_rate(a[0], a[1])
        }),
    ],
    example: Example {
        text: "Mean window at 1 % loss without delayed ACKs",
        quantity: "window",
        arguments: &[("loss", &[0.01])],
    },
};

const AIMD: Model = Model {
    name: "aimd",
    aliases: &["additive-increase"],
    title: "Response function of additive increase, multiplicative decrease",
    summary: "The deterministic sawtooth that gains a packets per round trip and loses the fraction b at a cut.",
    formula: "w = √( a(2 − b)/(2 b p) )        κ = b/(√3 (2 − b))",
    symbols: &[
        W,
        P,
        symbol("a", "increase per round trip", "packets"),
        symbol("b", "fraction cut", "1"),
        symbol("κ", "standard deviation over mean of the window", "1"),
    ],
    assumptions: &[PERIODIC],
    source: "Derived here; AIMD(1, 1/2) is Reno.",
    errata: &[],
    variants: &[],
    quantities: &[
        quantity(
            "window",
            "packets",
            &[
                LOSS,
                Parameter::new("increase", "packets/RTT", "additive increase", "above 0").or(1.0),
                CUT.or(0.5),
            ],
            |a| {
                Response::Aimd {
                    increase: a[1],
                    cut: a[2],
                }
                .window(a[0], 1.0)
            },
        ),
        quantity("variation", "1", &[CUT.or(0.5)], |a| {
            response::sawtooth_variation(a[0])
        }),
    ],
    example: Example {
        text: "Mean window of AIMD(1, 0.3) at a loss of 1e-4",
        quantity: "window",
        arguments: &[("loss", &[1e-4]), ("cut", &[0.3])],
    },
};

const SCALING: Parameter =
    Parameter::new("scaling", "packets/s^3", "CUBIC's constant C", "above 0").or(0.4);
const CUBIC_AT: &[Parameter] = &[LOSS, RTT, SCALING, CUT.or(0.3)];

const CUBIC: Model = Model {
    name: "cubic-response",
    aliases: &["cubic-window"],
    title: "Response function of CUBIC",
    summary: "The window goes as (R/p)^(3/4); at short round-trip times the Reno-friendly window is larger and counts.",
    formula: "w = ( C(4 − b)/(4b) )^¼ (R/p)^¾,  at least √( a(2 − b)/(2bp) ) with a = 3b/(2 − b)\nW(t) = C(t − K)³ + W_max,  K = ∛(W_max b/C)        κ = b √(9/112)/(1 − b/4)",
    symbols: &[
        W,
        P,
        R,
        symbol("C", "scaling constant", "packets/s³"),
        symbol("b", "fraction cut: 0.3 (RFC 9438), 0.2 (2008)", "1"),
        symbol("K", "time from a cut to the plateau", "s"),
        symbol("κ", "standard deviation over mean of the window", "1"),
    ],
    assumptions: &[PERIODIC, "constant round-trip time"],
    source: "RFC 9438 sections 4.1-4.3 and 5.1 (average window, derived again here).",
    errata: &[
        "beta means the kept fraction in RFC 9438 and the cut in the paper of 2008; here `cut` is the fraction cut.",
    ],
    variants: &[variant(
        "epoch",
        "the cubic epoch alone, without the Reno-friendly floor",
    )],
    quantities: &[
        quantity("window", "packets", CUBIC_AT, |a| {
            Response::Cubic(Cubic {
                scaling: a[2],
                cut: a[3],
            })
            .window(a[0], a[1])
        }),
        quantity("window:epoch", "packets", CUBIC_AT, |a| {
            Cubic {
                scaling: a[2],
                cut: a[3],
            }
            .epoch_mean_window(a[0], a[1])
        }),
        quantity(
            "window_after_cut",
            "packets",
            &[
                Parameter::new("time_s", "s", "time since the cut", "0 and more"),
                Parameter::new("peak", "packets", "window before the cut", "above 0"),
                SCALING,
                CUT.or(0.3),
            ],
            |a| {
                Cubic {
                    scaling: a[2],
                    cut: a[3],
                }
                .window_after_cut(a[0], a[1])
            },
        ),
        quantity("variation", "1", &[CUT.or(0.3)], |a| {
            Cubic {
                cut: a[0],
                ..Cubic::default()
            }
            .variation()
        }),
    ],
    example: Example {
        text: "Mean window at a loss of 1e-6 and 100 ms",
        quantity: "window",
        arguments: &[("loss", &[1e-6]), ("rtt_s", &[0.1])],
    },
};

const HTCP: Model = Model {
    name: "htcp-response",
    aliases: &["h-tcp-response"],
    title: "Response function of H-TCP with a fixed back-off",
    summary: "Growth accelerates with the time since the last cut; epochs below a second are Reno.",
    formula: "w = R/(p T),  packets(T) = [βWT + 2(1 − β)G/R]/R = 1/p,  W = 2F/R\nF = T + 5d² + d³/12,  G = T²/2 + 5d³/3 + d⁴/48,  d = max(0, T − 1 s)\nf(s) = 1 up to 1 s, then 1 + 10(s−1) + ((s−1)/2)²",
    symbols: &[
        W,
        P,
        R,
        symbol("T", "time between cuts", "s"),
        symbol("β", "fraction kept", "1"),
        symbol(
            "f, F, G",
            "increase factor, its first and second integral",
            "1, s, s²",
        ),
    ],
    assumptions: &[
        PERIODIC,
        "a fixed back-off factor",
        "constant round-trip time",
    ],
    source: "Leith & Shorten, H-TCP; response derived here.",
    errata: &[],
    variants: &[],
    quantities: &[
        quantity("window", "packets", &[LOSS, RTT, super::KEPT], |a| {
            Response::Htcp(Htcp {
                kept: a[2],
                ..Htcp::default()
            })
            .window(a[0], a[1])
        }),
        quantity(
            "increase_factor",
            "packets/RTT",
            &[
                Parameter::new("time_s", "s", "time since the cut", "0 and more"),
                Parameter::new(
                    "quiet_s",
                    "s",
                    "time of Reno growth after a cut",
                    "0 and more",
                )
                .or(1.0),
            ],
            |a| {
                Htcp {
                    quiet_s: a[1],
                    ..Htcp::default()
                }
                .increase_factor(a[0])
            },
        ),
    ],
    example: Example {
        text: "Mean window at a loss of 1e-4 and 100 ms",
        quantity: "window",
        arguments: &[("loss", &[1e-4]), ("rtt_s", &[0.1])],
    },
};

const SCALABLE: Model = Model {
    name: "scalable-response",
    aliases: &["stcp-response"],
    title: "Response function of Scalable TCP",
    summary: "The window goes as 1/p: losses come at a fixed number of round trips.",
    formula: "w = 0.01/(p ln(8/7)) = 0.0749/p        peak 0.08/p",
    symbols: &[W, P],
    assumptions: &[PERIODIC],
    source: "Kelly, Scalable TCP (CCR 2003); mean derived here.",
    errata: &["The customary 0.08/p is the peak window, not the mean."],
    variants: &[variant("peak", "the window just before a cut")],
    quantities: &[
        quantity("window", "packets", &[LOSS], |a| {
            Response::Scalable.window(a[0], 1.0)
        }),
        quantity("window:peak", "packets", &[LOSS], |a| {
            response::scalable_peak(a[0])
        }),
    ],
    example: Example {
        text: "Mean window at a loss of 1e-4",
        quantity: "window",
        arguments: &[("loss", &[1e-4])],
    },
};

const LOW_LOSS: Parameter = Parameter::new(
    "low_loss", "1", "loss at the low window of 38: 1e-3 (RFC 3649), or 1.5/38^2 = 1.0388e-3, which makes w(p) continuous", "1e-7 < x < 1",
).or(1e-3);

fn hstcp(low_loss: f64) -> HstcpResponse {
    HstcpResponse {
        low_loss,
        ..HstcpResponse::default()
    }
}

fn at_window(a: &Arguments) -> Result<HstcpResponse, ModelError> {
    positive("window (packets)", a[0])?;
    let response = hstcp(a[1]);
    hstcp::validate(&response)?;
    Ok(response)
}

const AT_LOSS: &[Parameter] = &[LOSS, LOW_LOSS];
const AT_WINDOW: &[Parameter] = &[WINDOW, LOW_LOSS];

const HSTCP: Model = Model {
    name: "hstcp-throughput",
    aliases: &["hstcp-response", "rfc3649"],
    title: "HighSpeed TCP: its window laws and its throughput",
    summary: "The rate is w(p)/R: the paper's approximation is better than its closed form, which takes the mean window for the peak.",
    formula: "λ = w(p)/R,  w(p) = w_l (p/p_l)^(1/s),  s = ln(p_h/p_l)/ln(w_h/w_l)\nb(w) = ½ + (b_h − ½) ln(w/w_l)/ln(w_h/w_l)        a(w) = 2w² b(w) p(w)/(2 − b(w))\nclosed form: λ = (w_p/R)(1 + 1/s) [(1 − b_p)^(−s) − 1] / [(1 − b_p)^(−(1+s)) − 1]",
    symbols: &[
        symbol("λ", "rate", "packets/s"),
        P,
        R,
        symbol("w_l, w_h", "low and high window: 38, 83000", "packets"),
        symbol("p_l, p_h", "loss there: 1e-3, 1e-7", "1"),
        symbol("b_h", "fraction cut at w_h: 0.1", "1"),
        symbol(
            "a(w), b(w)",
            "increase per round trip, fraction cut",
            "packets, 1",
        ),
    ],
    assumptions: &[PERIODIC, "loss below p_l; Reno from there on"],
    source: "RFC 3649 section 5; Barman, Smaragdakis & Matta (2004), eq. (3) and the derivation before it.",
    errata: &[
        "y is printed log(w_h/w_l)/log(w_h/w_l); it is log(w/w_l)/log(w_h/w_l). \"dw/dy\" is dw/dt.",
        "Exponent of w(t): printed −(A+c)/(A+c), right −A/(A+c); the substitutions need the opposite sign, and 1/R is missing in the first integral.",
        "Last display: (1 − b_p)^(−1/(1+c/A)) must be (1 − b_p)^(−(1+c/A)). As printed the rate is 8 to 20 times too small.",
        "The closed form takes the response function's mean window for the peak: 0.73-0.95 of w(p)/R, where the exact sawtooth gives 1.015-1.045.",
        "The paper defines p_l = 1.5/w_l² and computes with 1e-3; then w(p) jumps from 38 to 38.73 at p_l.",
    ],
    variants: &[
        variant("closed", "the closed form with its exponent corrected"),
        variant("printed", "the closed form as printed"),
        variant(
            "peak",
            "the sawtooth that peaks at w(p), exact a(w) and b(w)",
        ),
        variant(
            "self-consistent",
            "the sawtooth that sends exactly 1/p packets between cuts",
        ),
    ],
    quantities: &[
        quantity("window", "packets", AT_LOSS, |a| {
            hstcp::mean_window(&hstcp(a[1]), Form::Approximate, a[0])
        }),
        quantity("window:closed", "packets", AT_LOSS, |a| {
            hstcp::mean_window(&hstcp(a[1]), Form::Closed, a[0])
        }),
        quantity("window:printed", "packets", AT_LOSS, |a| {
            hstcp::mean_window(&hstcp(a[1]), Form::ClosedPrinted, a[0])
        }),
        quantity("window:peak", "packets", AT_LOSS, |a| {
            hstcp::mean_window(&hstcp(a[1]), Form::PeakExact, a[0])
        }),
        quantity("window:self-consistent", "packets", AT_LOSS, |a| {
            hstcp::mean_window(&hstcp(a[1]), Form::SelfConsistent, a[0])
        }),
        quantity("increase", "packets/RTT", AT_WINDOW, |a| {
            Ok(at_window(a)?.increase(a[0]))
        }),
        quantity("decrease", "1", AT_WINDOW, |a| {
            Ok(hstcp::decrease(&at_window(a)?, a[0]))
        }),
        quantity("loss_at_window", "1", AT_WINDOW, |a| {
            Ok(at_window(a)?.loss_at(a[0]))
        }),
    ],
    example: Example {
        text: "Mean window at a loss of 1e-6",
        quantity: "window",
        arguments: &[("loss", &[1e-6])],
    },
};

fn path(a: &Arguments) -> Pftk {
    // 0 stands for no receive window.
    let largest_window = if a[4] == 0.0 { f64::INFINITY } else { a[4] };
    Pftk {
        rtt_s: a[1],
        timeout_s: a[2],
        packets_per_ack: a[3],
        largest_window,
    }
}

const PATH: &[Parameter] = &[
    LOSS,
    Parameter::new("rtt_s", "s", "round-trip time with queueing", "above 0"),
    Parameter::new("timeout_s", "s", "first retransmission timeout", "above 0"),
    PER_ACK.or(2.0),
    Parameter::new(
        "largest_window",
        "packets",
        "receive window; 0 for none",
        "0, or 1 and more",
    )
    .or(0.0),
];

fn saturation(a: &Arguments, timeout: Timeout) -> Result<f64, ModelError> {
    Saturation {
        flows: a[0],
        capacity_pps: a[1],
        propagation_s: a[2],
        buffer: a[3],
        timeout,
        packets_per_ack: a[5],
    }
    .loss()
}

const PFTK: Model = Model {
    name: "pftk",
    aliases: &["padhye", "reno-with-timeouts"],
    title: "Rate of Reno with timeouts",
    summary: "At losses of a few per cent timeouts dominate; the inverse square root overestimates the rate.",
    formula: "rate = [ (1−p)/p + W + Q/(1−p) ] / [ R(bW/2 + 1) + Q T₀ f(p)/(1−p) ]\nW = (2+b)/(3b) + √( 8(1−p)/(3bp) + ((2+b)/3b)² )\nQ = min(1, (1−(1−p)³)(1+(1−p)³(1−(1−p)^(W−3)))/(1−(1−p)^W) )\nf = 1 + p + 2p² + 4p³ + 8p⁴ + 16p⁵ + 32p⁶\nshort: 1/( R√(2bp/3) + T₀ min(1, 3√(3bp/8)) p(1 + 32p²) )",
    symbols: &[
        P,
        R,
        symbol("b", "packets per ACK", "packets"),
        symbol("T₀", "first retransmission timeout", "s"),
        symbol("W", "mean window at a loss", "packets"),
        symbol("Q", "probability that a loss ends in a timeout", "1"),
    ],
    assumptions: &[
        "losses within a round trip are correlated, independent between round trips",
        "Reno recovery",
    ],
    source: "Padhye, Firoiu, Towsley & Kurose (SIGCOMM 1998), full and approximate model (recalled; limits verified).",
    errata: &[],
    variants: &[
        variant("short", "the approximate formula"),
        variant(
            "seconds",
            "a timeout in seconds instead of round-trip times",
        ),
    ],
    quantities: &[
        quantity("rate", "packets/s", PATH, |a| path(a).sending_rate(a[0])),
        quantity("rate:short", "packets/s", PATH, |a| {
            path(a).short_sending_rate(a[0])
        }),
        quantity("throughput", "packets/s", PATH, |a| {
            path(a).throughput(a[0])
        }),
        quantity(
            "loss_of_full_link",
            "1",
            &[
                FLOWS,
                CAPACITY,
                RTT,
                BUFFER,
                Parameter::new(
                    "timeout_rtts",
                    "RTT",
                    "retransmission timeout in round-trip times",
                    "above 0",
                )
                .or(4.0),
                PER_ACK.or(2.0),
            ],
            |a| saturation(a, Timeout::RoundTrips(a[4])),
        ),
        quantity(
            "loss_of_full_link:seconds",
            "1",
            &[
                FLOWS,
                CAPACITY,
                RTT,
                BUFFER,
                Parameter::new("timeout_s", "s", "retransmission timeout", "above 0"),
                PER_ACK.or(2.0),
            ],
            |a| saturation(a, Timeout::Seconds(a[4])),
        ),
    ],
    example: Example {
        text: "Rate at 1 % loss, 100 ms, a timeout of 1 s and delayed ACKs",
        quantity: "rate",
        arguments: &[("loss", &[0.01]), ("rtt_s", &[0.1]), ("timeout_s", &[1.0])],
    },
};

fn full(a: &Arguments) -> Result<FullLink, ModelError> {
    FullLink::of_link(a[0], (a[1], a[2]), a[3])
}

const FULL_LINK: &[Parameter] = &[FLOWS, CAPACITY, RTT, BUFFER];

const FULL_LINK_LOSS: Model = Model {
    name: "full-link-loss",
    aliases: &["dhamdhere-dovrolis", "dd-eq3"],
    title: "Loss of a link that many long flows keep full",
    summary: "Loss grows with the square of the number of flows and falls with the square of pipe plus buffer.",
    formula: "√p = 2/( s + √(s² + 4) ),  s = (C T + B)/(0.87 N)        printed: p = (0.87 N)²/(C T + B)²",
    symbols: &[
        P,
        symbol("N", "long flows", "flows"),
        symbol("C", "capacity", "packets/s"),
        symbol("T", "round-trip propagation time", "s"),
        symbol("B", "buffer", "packets"),
    ],
    assumptions: &[
        "the flows fill the link",
        "windows above about four packets: no timeouts (use pftk below)",
    ],
    source: "Dhamdhere & Dovrolis, Open issues in router buffer sizing (CCR 2006), eq. (3).",
    errata: &[
        "Eq. (3) lets the sending rate equal C; only (1 − p) of it crosses the link, so √p solves u² + su − 1 = 0.",
        "At the paper's own point (N = 200, BDP 250) eq. (3) gives 42 % and 5.4 % where its simulations show 7-8 % and 2 %: windows of 1.3 and 3.8 packets are outside its range; PFTK gives 10.2 % and 3.0 %.",
    ],
    variants: &[variant(
        "printed",
        "eq. (3) as printed; exceeds 1 beyond its range",
    )],
    quantities: &[
        quantity("loss", "1", FULL_LINK, |a| Ok(full(a)?.loss())),
        quantity("loss:printed", "1", FULL_LINK, |a| {
            Ok(full(a)?.printed_loss())
        }),
        quantity("mean_window", "packets", FULL_LINK, |a| {
            Ok(full(a)?.mean_window())
        }),
        quantity(
            "buffer_for_loss",
            "packets",
            &[FLOWS, super::BDP, LOSS],
            |a| many_flows::buffer_for_loss(a[0], a[1], a[2]),
        ),
    ],
    example: Example {
        text: "Loss with 50 flows on 50 Mb/s (1500-byte packets), 60 ms, 100 packets of buffer",
        quantity: "loss",
        arguments: &[
            ("flows", &[50.0]),
            ("capacity_pps", &[12_500.0 / 3.0]),
            ("rtt_s", &[0.06]),
            ("buffer", &[100.0]),
        ],
    },
};
