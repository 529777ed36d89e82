//! Every published rule held against a scenario: which of its assumptions hold, the buffer it
//! asks for, what it predicts at the scenario's buffer.
//!
//! Rules speak packets of the scenario's mean size and waiting room; formulas whose K counts the
//! packet in transmission use K = B + 1.

use std::sync::LazyLock;

use forebay_discipline::Beyond;
use forebay_scenario::{
    BufferSize, Check, ClosedForm, Goal, Holds, Metric, ModelError as Refusal, Prediction, Scenario,
};

use crate::droptail_fixed_point::{FixedPoint, SharedLink};
use crate::error::{ModelError, open_unit, positive};
use crate::hybrid_fluid::HybridFluid;
use crate::many_flows::{self, FullLink};
use crate::mm1k::{self, Mm1k};
use crate::numeric;
use crate::red_fixed_point::{Above, DelayView, DropCurve};
use crate::response::Response;
use crate::situation::{Situation, Targets};
use crate::small_buffers::{self as small, Stability, TinyBuffer};
use crate::square_root::{self, WindowSum};
use crate::{bbr, bscl, one_flow};

type Numbers = Result<Vec<(Metric, f64)>, Refusal>;
type Packets = Result<Option<f64>, Refusal>;

/// One published rule.
pub(crate) struct Rule {
    name: &'static str,
    assumptions: fn(&Situation) -> Vec<Check>,
    predict: fn(&Situation) -> Numbers,
    size: fn(&Situation, &Targets) -> Packets,
    note: &'static str,
}

impl ClosedForm for Rule {
    fn name(&self) -> &'static str {
        self.name
    }

    fn assumptions(&self, scenario: &Scenario) -> Vec<Check> {
        let situation = Situation::new(scenario);
        let mut checks = (self.assumptions)(&situation);
        if situation.other_links > 0 {
            let why = format!("{} more links are on the paths", situation.other_links);
            checks.push(Check {
                assumption: "one bottleneck",
                holds: Holds::Unknown,
                why,
            });
        }
        checks
    }

    fn predict(&self, scenario: &Scenario) -> Result<Prediction, Refusal> {
        let mut prediction = Prediction::default();
        for (metric, value) in (self.predict)(&Situation::new(scenario))? {
            if !value.is_finite() {
                return Err(Refusal::NoSolution(format!("{} is {value}", metric.name())));
            }
            prediction.metrics.insert(metric, value);
        }
        if !self.note.is_empty() {
            prediction.notes.push(self.note.to_owned());
        }
        Ok(prediction)
    }

    fn size(&self, scenario: &Scenario, goals: &[Goal]) -> Result<Option<BufferSize>, Refusal> {
        let packets = (self.size)(&Situation::new(scenario), &Targets::new(goals))?;
        packets.map(whole_packets).transpose()
    }
}

/// A buffer of at least `packets`, whole.
fn whole_packets(packets: f64) -> Result<BufferSize, Refusal> {
    if !(0.0..=1e12).contains(&packets) {
        return Err(Refusal::OutOfRange {
            quantity: "buffer (packets)".into(),
            found: packets.to_string(),
            allowed: "0 to 1e12".into(),
        });
    }
    Ok(BufferSize::Packets((packets * (1.0 - 1e-12)).ceil() as u64))
}

impl From<ModelError> for Refusal {
    fn from(error: ModelError) -> Self {
        match error {
            ModelError::OutOfRange {
                quantity,
                found,
                allowed,
            } => Self::OutOfRange {
                quantity: quantity.into(),
                found: found.to_string(),
                allowed: allowed.into(),
            },
            other => Self::NoSolution(other.to_string()),
        }
    }
}

/// All rules, in the order in which they are listed.
pub(crate) static RULES: [Rule; 19] = [
    Rule {
        name: "bdp",
        assumptions: |s| vec![has_long_flows(s), loss_based(s), saturable(s)],
        predict: |s| {
            let x = s.buffer / s.residual_bdp()?;
            let worst = one_flow::worst_utilization(kept(s)?, x)?;
            Ok(vec![(Metric::Utilization, on_whole_link(s, worst))])
        },
        size: |s, _| Ok(Some(s.residual_bdp()? * one_flow::full_buffer(kept(s)?)?)),
        note: "worst utilisation over one round trip, all flows cutting together: a lower bound",
    },
    Rule {
        name: "one-flow",
        assumptions: |s| {
            vec![
                has_long_flows(s),
                loss_based(s),
                few_flows(s),
                smooth_background(s),
                saturable(s),
            ]
        },
        predict: one_flow_prediction,
        size: |s, t| {
            let share = residual_goal(s, t.utilization.unwrap_or(1.0))?;
            Ok(Some(
                s.residual_bdp()? * one_flow::buffer_for_utilization(kept(s)?, share)?,
            ))
        },
        note: "linear growth, all flows cutting together, on the capacity the background leaves",
    },
    Rule {
        name: "mm1k",
        assumptions: |s| vec![transparent(s), below_one(s), droptail(s)],
        predict: |s| {
            no_bottlenecked_flows(s)?;
            let queue = Mm1k::new(s.offered_load(), s.system_capacity())?;
            Ok(vec![
                (Metric::Utilization, queue.utilization()),
                (Metric::LossRate, queue.loss()),
                (Metric::QueueMean, queue.mean_waiting()),
                (
                    Metric::QueueDelayMean,
                    queue.mean_found_by_accepted() / s.capacity_pps,
                ),
            ])
        },
        size: |s, t| {
            let system = mm1k::capacity_for_loss(s.offered_load(), t.loss.unwrap_or(1e-3))?;
            Ok(Some((system - 1.0).max(0.0)))
        },
        note: "Poisson arrivals, exponential packet sizes: pessimistic for packets of one size",
    },
    Rule {
        name: "sqrt-n",
        assumptions: |s| {
            vec![
                many_flows(s, 100.0),
                loss_based(s),
                equal_round_trips(s),
                saturable(s),
            ]
        },
        predict: |s| {
            let bound = window_sum(s)?.utilization(s.buffer / s.residual_bdp()?)?;
            Ok(vec![(Metric::Utilization, on_whole_link(s, bound))])
        },
        size: |s, t| {
            let bdp = s.residual_bdp()?;
            Ok(Some(match t.utilization {
                Some(goal) if goal < 1.0 => {
                    bdp * window_sum(s)?.buffer_for_utilization(residual_goal(s, goal)?)?
                }
                _ => square_root::stanford(bdp, long_flows(s)?)?,
            }))
        },
        note: "a lower bound of the utilisation, for windows that move independently",
    },
    Rule {
        name: "wischik-mckeown",
        assumptions: |s| {
            vec![
                many_flows(s, 100.0),
                reno(s),
                equal_round_trips(s),
                saturable(s),
            ]
        },
        predict: |_| Err(sizes_only("wischik-mckeown")),
        size: |s, t| {
            let confidence = t.utilization.filter(|goal| *goal < 1.0).unwrap_or(0.999);
            let bdp = s.residual_bdp()?;
            Ok(Some(square_root::wischik_mckeown(
                bdp,
                long_flows(s)?,
                confidence,
            )?))
        },
        note: "",
    },
    Rule {
        name: "hybrid-fluid",
        assumptions: |s| {
            vec![
                has_long_flows(s),
                loss_based(s),
                frozen_round_trips(s),
                saturable(s),
            ]
        },
        predict: |s| {
            let fluid = hybrid_fluid(s)?;
            let utilization = fluid.mean_rate(s.buffer)? / fluid.capacity_pps;
            let queue = fluid.mean_queue(s.buffer)?;
            Ok(vec![
                (Metric::Utilization, on_whole_link(s, utilization)),
                (Metric::QueueMean, queue),
                (Metric::QueueDelayMean, queue / s.capacity_pps),
            ])
        },
        size: |s, t| {
            let fluid = hybrid_fluid(s)?;
            let share = residual_goal(s, t.utilization.unwrap_or(1.0))?;
            Ok(Some(
                fluid.smallest_queue(share * fluid.capacity_pps)?.buffer,
            ))
        },
        note: "round-trip times frozen at their propagation part; all flows cut together",
    },
    Rule {
        name: "barman-droptail",
        assumptions: |s| {
            vec![
                has_long_flows(s),
                loss_based(s),
                many_flows(s, 10.0),
                droptail(s),
                saturable(s),
            ]
        },
        predict: |s| fixed_point_numbers(s, Queue::DropTail),
        size: |s, t| fixed_point_size(s, t, Queue::DropTail),
        note: "smooth, unsynchronised arrivals: an optimistic bound for few large flows",
    },
    Rule {
        name: "barman-red",
        assumptions: |s| {
            vec![
                has_long_flows(s),
                loss_based(s),
                many_flows(s, 10.0),
                red(s),
                saturable(s),
            ]
        },
        predict: |s| fixed_point_numbers(s, Queue::Red),
        size: |s, t| fixed_point_size(s, t, Queue::Red),
        note: "drops by the instantaneous queue and the scenario's thresholds; Adaptive RED at the p_max that its target asks for",
    },
    Rule {
        name: "full-link-loss",
        assumptions: |s| {
            vec![
                has_long_flows(s),
                loss_based(s),
                saturable(s),
                windows_above_four(s),
            ]
        },
        predict: |s| Ok(vec![(Metric::LossRate, full_link_loss(s, s.buffer)?)]),
        size: |s, t| {
            let Some(goal) = t.loss else { return Ok(None) };
            buffer_where(s, |buffer| Ok(full_link_loss(s, buffer)? <= goal))
        },
        note: "no timeouts: too high where windows fall below about four packets",
    },
    Rule {
        name: "bscl",
        assumptions: |s| {
            vec![
                has_long_flows(s),
                reno(s),
                droptail(s),
                saturable(s),
                half_hit(s),
            ]
        },
        predict: |_| Err(sizes_only("bscl")),
        size: |s, t| {
            let rtt = positive("harmonic mean RTT (s)", s.rtt_s.unwrap_or(0.0))?;
            let capacity = s.capacity_pps * positive("capacity left (share)", s.residual())?;
            let link = bscl::Bscl::new(capacity, rtt, long_flows(s)?)?;
            let mut need =
                link.utilization_buffer(if s.long_flows() <= 1.5 { 1.0 } else { 0.5 })?;
            if let Some(loss) = t.loss {
                need = need.max(link.loss_buffer(loss, many_flows::DELAYED_ACK)?);
            }
            if let Some(cap) = t
                .delay_s
                .map(|delay| s.capacity_pps * delay)
                .filter(|cap| need > *cap)
            {
                return Err(Refusal::NoSolution(format!(
                    "utilisation and loss need {need:.0} packets, the delay allows {cap:.0}"
                )));
            }
            Ok(Some(need))
        },
        note: "",
    },
    Rule {
        name: "tiny-buffers",
        assumptions: |s| vec![paced_or_limited(s), below_one(s), known_window(s)],
        predict: |_| Err(sizes_only("tiny-buffers")),
        size: |s, t| {
            let load = if s.persistent > 0.0 {
                (s.background + s.saturation).min(1.0)
            } else {
                s.offered_load()
            };
            let largest_window = s.largest_window.unwrap_or(s.fair_window()?);
            let throughput_share = t.utilization.filter(|goal| *goal < 1.0).unwrap_or(0.9);
            Ok(Some(
                TinyBuffer {
                    largest_window,
                    load,
                    throughput_share,
                    denominator: 2.0,
                }
                .buffer()?,
            ))
        },
        note: "",
    },
    Rule {
        name: "small-buffers",
        assumptions: |s| vec![many_flows(s, 100.0), reno(s), saturable(s), stable(s)],
        predict: |s| {
            let at = stability(s)?;
            Ok(vec![
                (
                    Metric::Utilization,
                    on_whole_link(s, at.load() * (1.0 - at.loss())),
                ),
                (Metric::LossRate, at.loss()),
            ])
        },
        size: |s, _| {
            // The largest buffer that is still stable: larger ones make the flows swing together.
            let fair = s.residual_bdp()? / long_flows(s)?;
            let stable = |b: f64| {
                Stability::new(fair, b)
                    .and_then(|at| at.margin())
                    .is_ok_and(|m| m > 0.0)
            };
            if !stable(1.0) {
                return Err(Refusal::NoSolution(format!(
                    "windows of {fair:.1} packets swing with any buffer"
                )));
            }
            let margin = |ln_b: f64| {
                Stability::new(fair, libm::exp(ln_b))
                    .and_then(|at| at.margin())
                    .unwrap_or(f64::NAN)
            };
            let ln_b = numeric::root("buffer (packets)", (0.0, 60.0), margin)?;
            Ok(Some(libm::exp(ln_b).floor()))
        },
        note: "loss = load^buffer; its buffer is the largest that keeps the flows from swinging together",
    },
    Rule {
        name: "flow-proportional",
        assumptions: |s| vec![has_long_flows(s), loss_based(s), saturable(s)],
        predict: |s| {
            let storage = s.residual_bdp()? + s.buffer;
            Ok(vec![(
                Metric::LossRate,
                FullLink::new(long_flows(s)?, storage)?.loss(),
            )])
        },
        size: |s, _| Ok(Some(many_flows::flow_proportional(long_flows(s)?, 6.0)?)),
        note: "six packets per flow keep windows large enough for fast retransmit",
    },
    Rule {
        name: "gorinsky",
        assumptions: |s| {
            vec![Check {
                assumption: "few input links, whatever the flows",
                holds: Holds::Unknown,
                why: format!(
                    "the scenario does not say how many links feed this one; {} flows taken",
                    s.long_flows().max(1.0).round()
                ),
            }]
        },
        predict: |_| Err(sizes_only("gorinsky")),
        size: |s, _| Ok(Some(small::two_per_input(long_flows(s)?.ceil())?)),
        note: "",
    },
    Rule {
        name: "processor-sharing",
        assumptions: |s| vec![transfers(s), below_one(s)],
        predict: carried_load,
        size: |_, _| Ok(None),
        note: "transfers end sooner or later: the link carries what is offered",
    },
    Rule {
        name: "core-access",
        assumptions: |s| vec![rate_limited(s), below_one(s)],
        predict: carried_load,
        size: |s, t| {
            let limits = s.core_limits().ok_or_else(|| {
                Refusal::NotApplicable("not every flow has an access rate below the link's".into())
            })?;
            if limits > 0.1 {
                return Err(Refusal::NotApplicable(format!(
                    "the link, not the access, limits the flows {:.0} % of the time",
                    limits * 100.0
                )));
            }
            let system = mm1k::capacity_for_loss(s.offered_load(), t.loss.unwrap_or(1e-3))?;
            Ok(Some((system - 1.0).max(0.0)))
        },
        note: "flows limited by their access links: the link carries what is offered",
    },
    Rule {
        name: "bbr",
        assumptions: |s| vec![bbr_only(s), few_flows(s), saturable(s)],
        predict: |s| {
            let bdp = s.residual_bdp()?;
            if s.long_flows() > 1.5 {
                let standing = bbr::standing_queue(s.buffer, bdp)?;
                return Ok(vec![
                    (Metric::Utilization, 1.0),
                    (Metric::QueueMean, standing),
                    (Metric::QueueDelayMean, standing / s.capacity_pps),
                ]);
            }
            let mean = bbr::mean_utilization(s.buffer / bdp)?;
            Ok(vec![(Metric::Utilization, on_whole_link(s, mean))])
        },
        size: |s, _| Ok(Some(0.25 * s.residual_bdp()?)),
        note: "one flow cycles its pacing gain; several keep two bandwidth-delay products in flight",
    },
    Rule {
        name: "power-law",
        assumptions: |_| {
            vec![Check {
                assumption: "loss falls as a power of the buffer, B^-1/2",
                holds: Holds::Unknown,
                why: "the exponent is measured, not derived; 1/2 taken".into(),
            }]
        },
        predict: |_| Err(sizes_only("power-law")),
        size: |s, _| Ok(Some(s.residual_bdp()? * small::power_law_buffer(0.5)?)),
        note: "",
    },
    Rule {
        name: "overload",
        assumptions: |s| {
            let load = s.background + s.open_loop;
            vec![check(
                "offered load of 1 and more",
                load >= 1.0,
                format!("offered load {load:.3}"),
            )]
        },
        predict: |s| {
            let load = s.background + s.open_loop;
            if load < 1.0 {
                return Err(Refusal::NotApplicable(format!(
                    "the offered load is {load:.3}, below 1"
                )));
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
        },
        size: |_, _| Ok(None),
        note: "no buffer helps: what arrives above the capacity is lost, and the queue stays full",
    },
];

/// All rules, as a registry of models wants them.
pub fn rules() -> &'static [&'static dyn ClosedForm] {
    static ALL: LazyLock<Vec<&'static dyn ClosedForm>> =
        LazyLock::new(|| RULES.iter().map(|rule| rule as &dyn ClosedForm).collect());
    &ALL
}

// Predictions.

/// Utilisation by traffic that the link does not hold up for good: its offered load.
fn carried_load(s: &Situation) -> Numbers {
    no_bottlenecked_flows(s)?;
    let load = open_unit("offered load", s.offered_load())?;
    Ok(vec![(Metric::Utilization, load)])
}

fn no_bottlenecked_flows(s: &Situation) -> Result<(), Refusal> {
    if s.bottlenecked > 0.0 {
        let why = format!("{} persistent flows fill the link", s.bottlenecked);
        return Err(Refusal::NotApplicable(why));
    }
    Ok(())
}

fn one_flow_prediction(s: &Situation) -> Numbers {
    let (kept, bdp) = (kept(s)?, s.residual_bdp()?);
    let utilization = one_flow::mean_utilization(kept, s.buffer / bdp)?;
    let queue = one_flow::mean_queue(kept, s.buffer / bdp)? * bdp;
    Ok(vec![
        (Metric::Utilization, on_whole_link(s, utilization)),
        (Metric::QueueMean, queue),
        (Metric::QueueDelayMean, queue / s.capacity_pps),
    ])
}

/// The queue of a fixed point.
#[derive(Clone, Copy)]
enum Queue {
    DropTail,
    Red,
}

/// The fixed point with a buffer of `buffer` waiting packets.
fn fixed_point(s: &Situation, queue: Queue, buffer: f64) -> Result<FixedPoint, Refusal> {
    let link = shared(s, (buffer + 1.0).round())?;
    Ok(match queue {
        Queue::DropTail => link.droptail()?,
        Queue::Red => red_fixed_point(s, &link, buffer)?,
    })
}

fn fixed_point_numbers(s: &Situation, queue: Queue) -> Numbers {
    let found = fixed_point(s, queue, s.buffer)?;
    Ok(vec![
        (Metric::Utilization, found.utilization),
        (Metric::LossRate, found.loss),
        (Metric::QueueMean, found.mean_waiting),
        (Metric::QueueDelayMean, found.queue_delay_s),
    ])
}

/// The smallest buffer whose fixed point meets the goals.
fn fixed_point_size(s: &Situation, t: &Targets, queue: Queue) -> Packets {
    let goal = t.utilization.unwrap_or(0.99).min(0.9999);
    buffer_where(s, |buffer| {
        let found = fixed_point(s, queue, buffer)?;
        Ok(found.utilization >= goal && t.loss.is_none_or(|loss| found.loss <= loss))
    })
}

/// The loss at which the flows' response function fills what is left of the link when the buffer
/// is full: eq. (3) of Dhamdhere & Dovrolis for any controller.
fn full_link_loss(s: &Situation, buffer: f64) -> Result<f64, Refusal> {
    let link = shared(s, buffer.max(0.0) + 1.0)?;
    let delay = buffer / s.capacity_pps;
    let excess = |ln_p: f64| link.ln_load(ln_p, delay) + libm::log1p(-libm::exp(ln_p));
    let ln_p = numeric::root("loss probability", (-400.0, -1e-15), excess)?;
    Ok(libm::exp(ln_p))
}

/// The smallest whole buffer up to 1e7 packets that is good enough, for conditions that get easier
/// with the buffer; none where no such buffer is.
fn buffer_where(s: &Situation, good: impl Fn(f64) -> Result<bool, Refusal>) -> Packets {
    let mut high = 1.0_f64.max((s.bdp()? * 0.01).floor());
    while !good(high)? {
        high *= 2.0;
        if high > 1e7 {
            return Ok(None);
        }
    }
    let mut low = 0.0;
    if good(low)? {
        return Ok(Some(0.0));
    }
    while high - low > 1.0 {
        let middle = f64::midpoint(low, high).floor();
        if good(middle)? {
            high = middle;
        } else {
            low = middle;
        }
    }
    Ok(Some(high))
}

// Pieces of the formulas.

/// Utilisation of the whole link when the long flows use `share` of what is left to them.
fn on_whole_link(s: &Situation, share: f64) -> f64 {
    (1.0 - s.residual() + s.residual() * share).min(1.0)
}

/// Utilisation that the long flows must reach on what is left for the link to reach `goal`.
fn residual_goal(s: &Situation, goal: f64) -> Result<f64, ModelError> {
    let residual = positive("capacity left to the long flows (share)", s.residual())?;
    Ok(((goal - 1.0 + residual) / residual).clamp(1e-9, 1.0))
}

fn kept(s: &Situation) -> Result<f64, Refusal> {
    let controller = s.controller.ok_or_else(no_long_flows)?;
    let window = s.fair_window()?;
    let cannot = || Refusal::NotApplicable(format!("{} does not cut at a loss", controller.name));
    controller.kept(window).ok_or_else(cannot)
}

fn long_flows(s: &Situation) -> Result<f64, Refusal> {
    let n = s.long_flows();
    if n > 0.0 && n.is_finite() {
        Ok(n.max(1.0))
    } else {
        Err(no_long_flows())
    }
}

fn no_long_flows() -> Refusal {
    Refusal::NotApplicable("no long flows share the link".into())
}

fn sizes_only(name: &str) -> Refusal {
    Refusal::NotApplicable(format!(
        "{name} sizes a buffer and predicts nothing at another"
    ))
}

fn window_sum(s: &Situation) -> Result<WindowSum, Refusal> {
    let controller = s.controller.ok_or_else(no_long_flows)?;
    let variation = controller
        .variation(s.fair_window()?)?
        .ok_or_else(|| Refusal::NotApplicable(format!("{} has no sawtooth", controller.name)))?;
    Ok(WindowSum {
        flows: long_flows(s)?,
        variation,
        correlation: 0.0,
    })
}

/// The fluid of the long flows, all cutting together.
fn hybrid_fluid(s: &Situation) -> Result<HybridFluid, Refusal> {
    let growth: f64 = s.flows.iter().map(|g| g.flows / (g.rtt_s * g.rtt_s)).sum();
    let capacity = s.capacity_pps * positive("capacity left (share)", s.residual())?;
    if growth == 0.0 {
        return Err(no_long_flows());
    }
    let increase = match s.controller.and_then(|controller| controller.response) {
        Some(Response::Aimd { increase, .. }) => increase,
        Some(Response::Reno { packets_per_ack }) => 1.0 / packets_per_ack,
        _ => {
            return Err(Refusal::NotApplicable(
                "growth is not one packet per round trip".into(),
            ));
        }
    };
    Ok(HybridFluid::new(capacity, growth * increase, kept(s)?)?)
}

fn stability(s: &Situation) -> Result<Stability, Refusal> {
    let at = Stability::new(s.residual_bdp()? / long_flows(s)?, s.buffer.max(1.0))?;
    crate::error::probability("loss at the equilibrium", at.loss())?;
    Ok(at)
}

/// The persistent flows in one queue with the other traffic.
fn shared(s: &Situation, system_capacity: f64) -> Result<SharedLink<'_>, Refusal> {
    if s.flows.is_empty() {
        return Err(no_long_flows());
    }
    let controller = s.controller.ok_or_else(no_long_flows)?;
    let response = controller.response.ok_or_else(|| {
        Refusal::NotApplicable(format!("{} has no response function", controller.name))
    })?;
    positive("capacity left to the long flows (share)", s.residual())?;
    Ok(SharedLink {
        capacity_pps: s.capacity_pps,
        system_capacity,
        flows: &s.flows,
        response,
        background_load: 1.0 - s.residual(),
    })
}

/// The fixed point of the scenario's RED queue; without one, of the paper's: thresholds of 40 %
/// and 100 % of the system, p_max 0.1.
fn red_fixed_point(
    s: &Situation,
    link: &SharedLink<'_>,
    buffer: f64,
) -> Result<FixedPoint, Refusal> {
    let Some(queue) = &s.red else {
        let curve = DropCurve {
            min_threshold: 0.4 * link.system_capacity,
            max_threshold: link.system_capacity,
            max_probability: 0.1,
            above: Above::All,
        };
        return Ok(link.red(&curve, DelayView::Accepted)?);
    };
    let found = queue.curve(buffer);
    // The model counts the packet in transmission, the queue does not.
    let at = |max_probability: f64| {
        let curve = DropCurve {
            min_threshold: found.min + 1.0,
            max_threshold: (found.max + 1.0).max(f64::MIN_POSITIVE),
            max_probability,
            above: match found.beyond {
                Beyond::Gentle => Above::Gentle,
                Beyond::Abrupt => Above::All,
            },
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
    // The queue falls with the probability; at an end of the range Adaptive RED stays there.
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

// Assumptions.

fn check(assumption: &'static str, holds: bool, why: String) -> Check {
    Check {
        assumption,
        holds: if holds { Holds::Yes } else { Holds::No },
        why,
    }
}

fn has_long_flows(s: &Situation) -> Check {
    let mut parts = vec![format!("{} persistent flows", s.persistent)];
    if s.bottlenecked < s.persistent {
        let held = s.persistent - s.bottlenecked;
        parts.push(format!(
            "{held} of them held down by receive windows or access links"
        ));
    }
    if s.long_transfers > 0.0 {
        parts.push(format!(
            "about {:.1} long transfers at a time",
            s.long_transfers
        ));
    }
    check(
        "long flows that fill the link",
        s.long_flows() >= 0.5,
        parts.join(", "),
    )
}

fn few_flows(s: &Situation) -> Check {
    let n = s.long_flows();
    let why = if n <= 1.5 {
        "one long flow".to_owned()
    } else if n < 20.0 {
        format!("{n:.0} long flows may still cut together")
    } else {
        format!("{n:.0} long flows do not all cut together")
    };
    check("one long flow, or few that cut together", n < 20.0, why)
}

fn smooth_background(s: &Situation) -> Check {
    let load = s.background + s.open_loop + s.closed_loop;
    let why = if load < 0.05 {
        format!("other traffic takes {:.1} % of the link", load * 100.0)
    } else {
        format!(
            "other traffic takes {:.0} % of the link; its bursts cost losses that the formula ignores",
            load * 100.0
        )
    };
    check("other traffic without bursts", load < 0.05, why)
}

fn many_flows(s: &Situation, least: f64) -> Check {
    let n = s.long_flows();
    let why =
        format!("{n:.0} long flows; from about {least:.0} on their windows move independently");
    check("many unsynchronised long flows", n >= least, why)
}

fn loss_based(s: &Situation) -> Check {
    let Some(controller) = s.controller else {
        return check(
            "controllers that cut at a loss",
            false,
            "no responsive flows".into(),
        );
    };
    let why = if s.mixed {
        format!("several controllers; {} taken for all", controller.name)
    } else {
        format!("all flows use {}", controller.name)
    };
    let holds = match (controller.response.is_some(), s.mixed) {
        (false, _) => Holds::No,
        (true, true) => Holds::Unknown,
        (true, false) => Holds::Yes,
    };
    Check {
        assumption: "controllers that cut at a loss",
        holds,
        why,
    }
}

fn reno(s: &Situation) -> Check {
    let name = s.controller.map_or("none", |controller| controller.name);
    let holds = s.controller.is_some_and(|controller| controller.is_reno()) && !s.mixed;
    check("Reno windows", holds, format!("controller: {name}"))
}

fn bbr_only(s: &Situation) -> Check {
    let name = s.controller.map_or("none", |controller| controller.name);
    check(
        "BBR version 1",
        name == "bbr" && !s.mixed,
        format!("controller: {name}"),
    )
}

fn half_hit(s: &Situation) -> Check {
    let holds = if s.long_flows() <= 1.5 {
        Holds::Yes
    } else {
        Holds::Unknown
    };
    let why = if holds == Holds::Yes {
        "one flow takes every loss".to_owned()
    } else {
        "half of the flows taken; the scenario does not say".to_owned()
    };
    Check {
        assumption: "a known share of flows hit by a loss event",
        holds,
        why,
    }
}

fn droptail(s: &Situation) -> Check {
    check(
        "drop-tail queue",
        s.discipline == "droptail",
        format!("queue: {}", s.discipline),
    )
}

fn red(s: &Situation) -> Check {
    check(
        "RED queue",
        s.discipline == "red",
        format!("queue: {}", s.discipline),
    )
}

fn saturable(s: &Situation) -> Check {
    let room = s.residual();
    let limit = if s.persistent > 0.0 && s.long_transfers == 0.0 {
        s.saturation - s.held_down
    } else {
        f64::INFINITY
    };
    let why = if limit.is_finite() {
        format!("receive windows and access links allow {limit:.2} of the link; {room:.2} is left")
    } else {
        format!("no receive window or access link limits the flows; {room:.2} of the link is left")
    };
    check(
        "flows able to fill the link",
        limit >= room && room > 0.0,
        why,
    )
}

fn below_one(s: &Situation) -> Check {
    let load = s.offered_load();
    check(
        "offered load below 1",
        load < 1.0,
        format!("offered load {load:.3}"),
    )
}

fn transparent(s: &Situation) -> Check {
    let assumption = "no flow can fill the link by itself (transparent regime)";
    if s.bottlenecked > 0.0 {
        return check(
            assumption,
            false,
            format!("{} persistent flows fill the link", s.bottlenecked),
        );
    }
    if s.open_loop + s.closed_loop == 0.0 {
        let why = if s.persistent > 0.0 {
            format!(
                "windows and access links hold {} flows below their share",
                s.persistent
            )
        } else {
            "only unresponsive traffic".to_owned()
        };
        return check(assumption, true, why);
    }
    match s.core_limits() {
        Some(limits) => check(
            assumption,
            limits < 0.1,
            format!(
                "the link limits its flows {:.1} % of the time",
                limits * 100.0
            ),
        ),
        None => check(
            assumption,
            false,
            "no access link keeps the flows slow".into(),
        ),
    }
}

fn transfers(s: &Situation) -> Check {
    let load = s.open_loop + s.closed_loop;
    let why = format!(
        "{} persistent flows, transfers offer {load:.3} of the link",
        s.bottlenecked
    );
    check(
        "transfers that end, no persistent flows",
        load > 0.0 && s.bottlenecked == 0.0,
        why,
    )
}

fn rate_limited(s: &Situation) -> Check {
    let assumption = "flows limited by access links slower than the link";
    match (s.core_access, s.core_limits()) {
        (Some(ratio), Some(limits)) => check(
            assumption,
            limits < 0.1,
            format!(
                "link/access ratio {ratio:.1}: the link limits the flows {:.1} % of the time",
                limits * 100.0
            ),
        ),
        _ => check(
            assumption,
            false,
            "not every flow has an access rate".into(),
        ),
    }
}

fn paced_or_limited(s: &Situation) -> Check {
    let limited = s.core_access.is_some_and(|ratio| ratio >= 10.0);
    let why = match (s.paced, s.core_access) {
        (true, _) => "all flows are paced".to_owned(),
        (false, Some(ratio)) => format!("access links at 1/{ratio:.1} of the link's rate"),
        (false, None) => "flows send bursts at the speed of the link".to_owned(),
    };
    check("paced or access-limited sources", s.paced || limited, why)
}

fn known_window(s: &Situation) -> Check {
    let (holds, why) = match s.largest_window {
        Some(window) => (
            Holds::Yes,
            format!("receive windows of at most {window} packets"),
        ),
        None => (
            Holds::Unknown,
            "no receive window is given; the fair share is taken".to_owned(),
        ),
    };
    Check {
        assumption: "a known largest window",
        holds,
        why,
    }
}

fn equal_round_trips(s: &Situation) -> Check {
    let low = s
        .flows
        .iter()
        .map(|g| g.rtt_s)
        .fold(f64::INFINITY, f64::min);
    let high = s.flows.iter().map(|g| g.rtt_s).fold(0.0, f64::max);
    let assumption = "round-trip times that differ (no lock-step)";
    if s.flows.is_empty() {
        let why = "the scenario has no persistent flows".to_owned();
        return Check {
            assumption,
            holds: Holds::Unknown,
            why,
        };
    }
    let why = format!("round-trip times from {low:.4} to {high:.4} s");
    check(assumption, high > 1.05 * low, why)
}

fn frozen_round_trips(s: &Situation) -> Check {
    let assumption = "queueing delay far below the propagation time (frozen round-trip times)";
    let ratio = hybrid_fluid(s).and_then(|fluid| {
        let rtt = positive("harmonic mean RTT (s)", s.rtt_s.unwrap_or(0.0))?;
        Ok(fluid.frozen_rtt_ratio(rtt)?)
    });
    match ratio {
        Ok(ratio) => check(
            assumption,
            ratio < 0.2,
            format!("its optimal buffer is {ratio:.3} BDP"),
        ),
        Err(error) => check(assumption, false, error.to_string()),
    }
}

fn windows_above_four(s: &Situation) -> Check {
    let assumption = "windows above about four packets (fast retransmit, not timeouts)";
    match s.fair_window() {
        Ok(window) => check(
            assumption,
            window > 4.0,
            format!("fair share {window:.1} packets"),
        ),
        Err(error) => check(assumption, false, error.to_string()),
    }
}

fn stable(s: &Situation) -> Check {
    let assumption = "a stable equilibrium (flows that do not swing together)";
    match stability(s).and_then(|at| Ok((at.margin()?, at.window()))) {
        Ok((margin, window)) => check(
            assumption,
            margin > 0.0,
            format!(
                "window {window:.1} packets at a buffer of {:.0}: margin {margin:.2} rad",
                s.buffer
            ),
        ),
        Err(error) => check(assumption, false, error.to_string()),
    }
}
