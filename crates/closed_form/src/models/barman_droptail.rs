//! The drop-tail fixed point of Barman, Smaragdakis & Matta: flows of any response function through
//! an M/M/1/K queue.
//!
//! The equation is rho = (1/mu) sum lambda_i(p(rho), R_i(rho)). Loss and waiting time rise with
//! rho, and every rate falls in both. The root is therefore unique for every K (erratum B12). The
//! slope of the map there is about -0.87 (K - L). A bracketing method on ln(rho) solves it, because
//! an iteration would diverge.

use forebay_congestion::hstcp::HstcpResponse;
use forebay_scenario::{Metric, ModelError};

use crate::checks::{MANY, droptail, has_long_flows, loss_based, many_flows, saturable};
use crate::error::{FormulaError, at_least_one, positive};
use crate::inputs::{CAPACITY, CAPACITY_PPS, RTTS, SYSTEM};
use crate::model::{Example, Model, Numbers, Packets, Sizing, symbol, variant};
use crate::models::cubic_response::CubicResponse;
use crate::models::hstcp_throughput::{
    self, B_HIGH, Form, HstcpThroughput, P_HIGH, P_LOW, W_HIGH, W_LOW,
};
use crate::models::htcp_response::HtcpResponse;
use crate::models::mathis::RenoResponse;
use crate::models::mm1k;
use crate::models::scalable_response::ScalableResponse;
use crate::numeric;
use crate::pieces::{buffer_where, no_long_flows, response};
use crate::quantity::{Arguments, Input, quantity};
use crate::reference::{Column, Reference, named};
use crate::response::Response;
use crate::situation::{RttClass, Situation, Targets};

/// The model.
pub static MODEL: Model = Model {
    name: "barman-droptail",
    aliases: &["barman", "droptail-fixed-point"],
    title: "Drop-tail fixed point of long flows through M/M/1/K",
    summary: "Loss, delay and utilization at which flows of any response function just fill a drop-tail queue.",
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
        symbol("U", "utilization", "1"),
    ],
    assumptions: &[
        "smooth, unsynchronized arrivals: M/M/1/K has no memory of the windows, so this is an optimistic bound for few large flows",
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
            Ok(solved(a, &hstcp(Form::Approximate))?.utilization)
        }),
        quantity("loss", "1", LINK, |a| {
            Ok(solved(a, &hstcp(Form::Approximate))?.loss)
        }),
        quantity("offered_load", "1", LINK, |a| {
            Ok(solved(a, &hstcp(Form::Approximate))?.offered_load)
        }),
        quantity("mean_number", "packets", LINK, |a| {
            Ok(solved(a, &hstcp(Form::Approximate))?.mean_number)
        }),
        quantity("queue_delay_s", "s", LINK, |a| {
            Ok(solved(a, &hstcp(Form::Approximate))?.queue_delay_s)
        }),
        quantity("utilization:closed", "1", LINK, |a| {
            Ok(solved(a, &hstcp(Form::Closed))?.utilization)
        }),
        quantity("loss:closed", "1", LINK, |a| {
            Ok(solved(a, &hstcp(Form::Closed))?.loss)
        }),
        quantity("utilization:printed", "1", LINK, |a| {
            Ok(solved(a, &hstcp(Form::ClosedPrinted))?.utilization)
        }),
        quantity("utilization:self-consistent", "1", LINK, |a| {
            Ok(solved(a, &hstcp(Form::SelfConsistent))?.utilization)
        }),
        quantity("utilization:reno", "1", LINK, |a| {
            Ok(solved(a, &RenoResponse::default())?.utilization)
        }),
        quantity("loss:reno", "1", LINK, |a| {
            Ok(solved(a, &RenoResponse::default())?.loss)
        }),
        quantity("utilization:cubic", "1", LINK, |a| {
            Ok(solved(a, &CubicResponse::default())?.utilization)
        }),
        quantity("loss:cubic", "1", LINK, |a| {
            Ok(solved(a, &CubicResponse::default())?.loss)
        }),
        quantity("utilization:htcp", "1", LINK, |a| {
            Ok(solved(a, &HtcpResponse::default())?.utilization)
        }),
        quantity("loss:htcp", "1", LINK, |a| {
            Ok(solved(a, &HtcpResponse::default())?.loss)
        }),
        quantity("utilization:scalable", "1", LINK, |a| {
            Ok(solved(a, &ScalableResponse)?.utilization)
        }),
        quantity("loss:scalable", "1", LINK, |a| {
            Ok(solved(a, &ScalableResponse)?.loss)
        }),
    ],
    example: Example {
        text: "Utilization of 1 Gb/s (1000-byte packets) by 10 HSTCP flows of about 120 ms with K = 1250",
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
    sizing: Some(Sizing {
        assumptions: |s| {
            vec![
                has_long_flows(s),
                loss_based(s),
                many_flows(s, MANY),
                droptail(s),
                saturable(s),
            ]
        },
        predict: Some(predict),
        size: Some(size),
        note: "arrivals are smooth and unsynchronized, so it is an optimistic bound for a few large flows",
    }),
    references: REFERENCES,
};

/// The names of a fixed point's quantities in reference tables, for the model `$model` whose rows
/// `$row` solves, and `$more` references.
macro_rules! fixed_point_references {
    ($model:literal, $row:ident, $columns:ident $(, $more:expr)* $(,)?) => {
        &[
            named($model, "offered load rho", &["load", "rho"])
                .formula(|a| Ok($row(a)?.offered_load), $columns),
            named($model, "loss probability", &["loss", "drop", "p_red", "blocking"])
                .formula(|a| Ok($row(a)?.loss), $columns),
            named($model, "utilisation", &["utili"])
                .formula(|a| Ok($row(a)?.utilization), $columns),
            named($model, "queueing delay", &["delay", "wait"])
                .formula(|a| Ok($row(a)?.queue_delay_s), $columns),
            named($model, "seen by accepted", &["accepted", "seen", "found"])
                .formula(|a| Ok($row(a)?.mean_found), $columns),
            named($model, "mean number in system", &["mean", "number", "queue"])
                .formula(|a| Ok($row(a)?.mean_number), $columns),
            $($more,)*
        ]
    };
}
pub(crate) use fixed_point_references;

const REFERENCES: &[Reference] = fixed_point_references!("barman-droptail", row, ROW);

/// The response function that a row names.
pub(crate) const RESPONSE: Column =
    Column::of(&["throughput_form", "response"]).word(RESPONSE_WORDS);

const RESPONSE_WORDS: &[(&str, f64)] = &[
    ("approx", 0.0),
    ("approximate", 0.0),
    ("eq3", 0.0),
    ("eq. (3)", 0.0),
    ("hstcp", 0.0),
    ("closed", 1.0),
    ("printed", 2.0),
    ("peak", 3.0),
    ("self-consistent", 4.0),
    ("deterministic", 4.0),
    ("exact", 4.0),
    ("aimd", 5.0),
    ("reno", 5.0),
    ("newreno", 5.0),
    ("mathis", 5.0),
    ("cubic", 6.0),
    ("htcp", 7.0),
    ("h-tcp", 7.0),
    ("scalable", 8.0),
];

/// The number in `RESPONSE_WORDS` of eq. (3), and of the closed form.
const APPROXIMATE: f64 = 0.0;
/// See [`APPROXIMATE`].
pub(crate) const CLOSED: f64 = 1.0;

/// The response function of a row, from its number in `RESPONSE_WORDS` and HSTCP's parameters.
pub(crate) fn row_response(number: f64, response: HstcpResponse) -> Box<dyn Response> {
    let index = number as usize;
    if let Some(&form) = Form::ALL.get(index) {
        return Box::new(HstcpThroughput { response, form });
    }
    match index {
        5 => Box::new(RenoResponse::default()),
        6 => Box::new(CubicResponse::default()),
        7 => Box::new(HtcpResponse::default()),
        _ => Box::new(ScalableResponse),
    }
}

/// Round-trip times in seconds, one per flow.
pub(crate) const ROUND_TRIPS: Column = Column::of(&["rtts_s", "rtt_s"]).list();

const ROW: &[Column] = &[
    CAPACITY_PPS,
    Column::of(&["K"]),
    ROUND_TRIPS,
    RESPONSE.or(APPROXIMATE),
    W_LOW,
    W_HIGH,
    P_LOW,
    P_HIGH,
    B_HIGH,
];

fn row(a: &Arguments) -> Result<FixedPoint, FormulaError> {
    let response = row_response(a[3], hstcp_throughput::from_row(a, 4)?);
    solved(a, response.as_ref())
}

/// Solves the drop-tail fixed point for the arguments (capacity, K) and the list of round-trip
/// times.
fn solved(a: &Arguments, response: &dyn Response) -> Result<FixedPoint, FormulaError> {
    paper_link(a, &one_flow_each(a.list), response).droptail()
}

/// The link of the paper for the arguments (capacity, K).
pub(crate) fn paper_link<'a>(
    a: &Arguments,
    flows: &'a [RttClass],
    response: &'a dyn Response,
) -> SharedLink<'a> {
    SharedLink {
        capacity_pps: a[0],
        system_capacity: a[1],
        flows,
        response,
        background_load: 0.0,
    }
}

/// HSTCP with the parameters of RFC 3649.
pub(crate) fn hstcp(form: Form) -> HstcpThroughput {
    HstcpThroughput {
        form,
        ..HstcpThroughput::default()
    }
}

const LINK: &[Input] = &[CAPACITY, SYSTEM.within("1 and more"), RTTS];

/// The persistent flows in one queue with the other traffic.
pub(crate) fn shared(s: &Situation, system_capacity: f64) -> Result<SharedLink<'_>, ModelError> {
    if s.flows.is_empty() {
        return Err(no_long_flows());
    }
    let response = response(s)?;
    s.left()?;
    Ok(SharedLink {
        capacity_pps: s.capacity_pps,
        system_capacity,
        flows: &s.flows,
        response,
        background_load: 1.0 - s.residual(),
    })
}

fn predict(s: &Situation) -> Numbers {
    Ok(numbers(&shared(s, (s.buffer + 1.0).round())?.droptail()?))
}

fn size(s: &Situation, t: &Targets) -> Packets {
    smallest_buffer(s, t, |buffer| {
        Ok(shared(s, (buffer + 1.0).round())?.droptail()?)
    })
}

/// The metrics of a fixed point.
pub(crate) fn numbers(found: &FixedPoint) -> Vec<(Metric, f64)> {
    vec![
        (Metric::Utilization, found.utilization),
        (Metric::LossRate, found.loss),
        (Metric::QueueMean, found.mean_waiting),
        (Metric::QueueDelayMean, found.queue_delay_s),
    ]
}

/// The smallest buffer whose fixed point meets the goals.
pub(crate) fn smallest_buffer(
    s: &Situation,
    t: &Targets,
    fixed_point: impl Fn(f64) -> Result<FixedPoint, ModelError>,
) -> Packets {
    let goal = t.utilization.unwrap_or(0.99).min(0.9999);
    buffer_where(s, |buffer| {
        let found = fixed_point(buffer)?;
        Ok(found.utilization >= goal && t.loss.is_none_or(|loss| found.loss <= loss))
    })
}

/// A link and the persistent flows that share it.
#[derive(Clone, Copy, Debug)]
pub struct SharedLink<'a> {
    /// Capacity mu, in packets/s.
    pub capacity_pps: f64,
    /// Largest number of packets in the system K, including the one in transmission.
    pub system_capacity: f64,
    /// The flows.
    pub flows: &'a [RttClass],
    /// Their response function.
    pub response: &'a dyn Response,
    /// Load rho of unresponsive traffic in the same queue; 0 in the paper.
    pub background_load: f64,
}

/// The point at which offered load, loss and delay agree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FixedPoint {
    /// Offered load rho; above 1 if even a loss near 1 leaves the flows too fast.
    pub offered_load: f64,
    /// Probability p that a packet is lost; 0 if it underflows.
    pub loss: f64,
    /// Utilization U = rho (1 - p).
    pub utilization: f64,
    /// Mean number of packets in the system, including the one in transmission.
    pub mean_number: f64,
    /// Mean number of packets waiting.
    pub mean_waiting: f64,
    /// Mean number of packets that an accepted packet finds.
    pub mean_found: f64,
    /// Waiting time of accepted packets in seconds, without their own transmission.
    pub queue_delay_s: f64,
}

/// One flow of each round-trip time of `rtts_s`.
pub fn one_flow_each(rtts_s: &[f64]) -> Vec<RttClass> {
    rtts_s
        .iter()
        .map(|&rtt_s| RttClass { rtt_s, flows: 1.0 })
        .collect()
}

impl SharedLink<'_> {
    /// Checks the link. The error names the input that is out of range.
    pub(crate) fn validate(&self) -> Result<(), FormulaError> {
        positive("capacity (packets/s)", self.capacity_pps)?;
        at_least_one("system capacity K (packets)", self.system_capacity)?;
        at_least_one("number of flow groups", self.flows.len() as f64)?;
        for group in self.flows {
            positive("round-trip time (s)", group.rtt_s)?;
            positive("number of flows", group.flows)?;
        }
        crate::error::non_negative("background load", self.background_load)?;
        self.response.validate()
    }

    /// The ln of the offered load of flows and background, at ln(loss) and a common queueing delay
    /// in seconds.
    pub(crate) fn ln_load(&self, ln_loss: f64, delay_s: f64) -> f64 {
        let rtt = |group: &RttClass| group.rtt_s + delay_s;
        let ln_rate = if self.response.depends_on_rtt() {
            self.flows.iter().fold(f64::NEG_INFINITY, |sum, group| {
                let window = self.response.ln_window(ln_loss, rtt(group));
                numeric::log_sum(sum, window + libm::log(group.flows / rtt(group)))
            })
        } else {
            let inverse: f64 = self
                .flows
                .iter()
                .map(|group| group.flows / rtt(group))
                .sum();
            self.response.ln_window(ln_loss, 1.0) + libm::log(inverse)
        };
        let ln_flows = ln_rate - libm::log(self.capacity_pps);
        if self.background_load == 0.0 {
            return ln_flows;
        }
        numeric::log_sum(ln_flows, libm::log(self.background_load))
    }

    /// Solves the drop-tail fixed point.
    pub fn droptail(&self) -> Result<FixedPoint, FormulaError> {
        self.validate()?;
        let k = self.system_capacity;
        let delay = |x: f64| mm1k::mean_number(x, k - 1.0) / self.capacity_pps;
        let x = solve(|x| self.ln_load(mm1k::ln_loss(x, k), delay(x)) - x)?;
        let utilization = mm1k::utilization(x, k);
        let mean_number = mm1k::mean_number(x, k);
        Ok(FixedPoint {
            offered_load: libm::exp(x),
            loss: libm::exp(mm1k::ln_loss(x, k)),
            utilization,
            mean_number,
            mean_waiting: (mean_number - utilization).max(0.0),
            mean_found: mm1k::mean_number(x, k - 1.0),
            queue_delay_s: delay(x),
        })
    }
}

/// The ln(rho) at which the decreasing function `excess` is zero.
pub(crate) fn solve(excess: impl Fn(f64) -> f64) -> Result<f64, FormulaError> {
    let interval = numeric::bracket_decreasing("ln of the offered load", (0.0, 512.0), &excess)?;
    numeric::root("ln of the offered load", interval, &excess)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn settings() -> [(f64, f64, Vec<f64>); 2] {
        let spaced = |low: f64, high: f64| {
            (0..10)
                .map(|i| low + (high - low) * f64::from(i) / 9.0)
                .collect::<Vec<_>>()
        };
        [
            (125_000.0, 12500.0, spaced(0.1155, 0.1245)),
            (312_500.0, 6250.0, spaced(0.038, 0.142)),
        ]
    }

    #[test]
    fn the_papers_settings() {
        // Each row has the fraction of the full buffer, and the utilization in both settings:
        // closed form and eq. (3).
        let table = [
            (0.01, [0.93246, 0.93418], [0.85165, 0.85451]),
            (0.1, [0.99503, 0.99522], [0.98786, 0.98820]),
            (1.0, [0.99970, 0.99972], [0.99920, 0.99923]),
        ];
        for (fraction, slow, fast) in table {
            for ((capacity_pps, full, rtts), expected) in settings().into_iter().zip([slow, fast]) {
                let flows = one_flow_each(&rtts);
                for (form, goal) in [Form::Closed, Form::Approximate].into_iter().zip(expected) {
                    let response = hstcp(form);
                    let system_capacity = (fraction * full + 1e-9).floor();
                    let link = SharedLink {
                        capacity_pps,
                        system_capacity,
                        flows: &flows,
                        response: &response,
                        background_load: 0.0,
                    };
                    let found = link.droptail().unwrap();
                    assert!(
                        (found.utilization - goal).abs() < 2e-5,
                        "{fraction} {form:?}"
                    );
                }
            }
        }
    }

    fn responses() -> Vec<Box<dyn Response>> {
        let mut all: Vec<Box<dyn Response>> = vec![
            Box::new(RenoResponse::default()),
            Box::new(CubicResponse::default()),
            Box::new(HtcpResponse::default()),
            Box::new(ScalableResponse),
        ];
        all.extend(Form::ALL.map(|form| Box::new(hstcp(form)) as Box<dyn Response>));
        all
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn always_a_fixed_point_never_nan(
            ln_rate in 4.4_f64..18.8,       // 1 Mb/s .. 1.6 Tb/s of 1500-byte packets
            ln_k in 0.0_f64..13.8,          // 1 .. 1e6 packets
            ln_flows in 0.0_f64..13.8,      // 1 .. 1e6 flows
            ln_rtt in -11.5_f64..0.0,       // 10 us .. 1 s
        ) {
            let rtt_s = libm::exp(ln_rtt);
            let flows = libm::exp(ln_flows).round();
            let group = [RttClass { rtt_s, flows }];
            for response in responses() {
                let link = SharedLink {
                    capacity_pps: libm::exp(ln_rate),
                    system_capacity: libm::exp(ln_k).round().max(1.0),
                    flows: &group,
                    response: response.as_ref(), background_load: 0.0 };
                let found = link.droptail().unwrap();
                prop_assert!(found.utilization > 0.0 && found.utilization <= 1.0);
                prop_assert!(found.mean_number >= 0.0 && found.mean_number <= link.system_capacity);
                prop_assert!(found.queue_delay_s >= 0.0);
                // The solution satisfies the equation, except at the form's jump at `low_loss`.
                let x = libm::log(found.offered_load);
                let residual = |shift: f64| {
                    let y = x + shift;
                    let delay = mm1k::mean_number(y, link.system_capacity - 1.0) / link.capacity_pps;
                    link.ln_load(mm1k::ln_loss(y, link.system_capacity), delay) - y
                };
                prop_assert!(residual(-1e-9) >= -1e-3 && residual(1e-9) <= 1e-3, "{response:?}");
            }
        }

        #[test]
        fn beside_slow_flows_the_background_alone_is_mm1k(load in 0.6_f64..1.5, k in 1.0_f64..50.0) {
            // The flow has a round trip of 1e12 s, so the queue is the background's.
            let group = [RttClass { rtt_s: 1e12, flows: 1.0 }];
            let link = SharedLink {
                capacity_pps: 1e5,
                system_capacity: k,
                flows: &group,
                response: &RenoResponse::default(),
                background_load: load,
            };
            let queue = mm1k::Mm1k::new(load, k).unwrap();
            let found = link.droptail().unwrap();
            prop_assert!((found.loss / queue.loss() - 1.0).abs() < 1e-5);
            prop_assert!((found.utilization / queue.utilization() - 1.0).abs() < 1e-6);
        }

        #[test]
        fn more_flows_lose_more(flows in 1.0_f64..1e4, k in 10.0_f64..1e4) {
            let at = |flows: f64| {
                let group = [RttClass { rtt_s: 0.1, flows }];
                SharedLink {
                    capacity_pps: 12500.0,
                    system_capacity: k,
                    flows: &group,
                    response: &RenoResponse::default(), background_load: 0.0 }
                .droptail()
                .unwrap()
            };
            prop_assert!(at(flows * 1.5).loss >= at(flows).loss);
            prop_assert!(at(flows * 1.5).utilization >= at(flows).utilization);
        }
    }
}
