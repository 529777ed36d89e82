//! RED, random early detection (Floyd and Jacobson, "Random Early Detection Gateways for Congestion
//! Avoidance", 1993). It drops or marks at random as the average queue grows. Flows thus receive
//! signals before the buffer is full, and not all at once.
//!
//! The gentle variant (Floyd 2000) and Adaptive RED (Floyd, Gummadi and Shenker 2001) are included.
//! Adaptive RED moves the largest probability so that the average stays between the thresholds. The
//! papers leave choices open; they follow ns-2.35's `red.cc`.

use forebay_units::Time;
use forebay_units::parameter::{
    Description, Evidence, Parameter, ParameterKind, Parameters, Threshold, Value,
};

use crate::admission::{AdmissionControl, Arrival, Verdict};
use crate::packet::{Ecn, Packet};
use crate::port::{Limit, Port, Setting};

/// Numerator of the automatic smallest `max_p`; the denominator is the link's rate in bytes/s. The
/// quotient is one over the number of 1000-byte packets sent in 100 ms, whatever the packet size
/// (ns-2.35 red.cc: `initialize_params`).
const BOTTOM_BYTES_PER_SECOND: f64 = 1e4;

/// The probability beyond the upper threshold: it rises to one at twice the threshold (gentle), or
/// is one at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AboveThreshold {
    /// It rises further, to one at twice the threshold.
    Gentle,
    /// It is one.
    Abrupt,
}

/// The drop probability as a function of the average queue, in the unit of the queue's limit. It is
/// 0 up to `min`, then linear to `max_p` at `max`, then as `beyond` says (1993 paper section 4;
/// Floyd 2000).
///
/// ```
/// use forebay_discipline::{AboveThreshold, DropCurve};
///
/// let beyond = AboveThreshold::Gentle;
/// let curve = DropCurve { min: 20.0, max: 60.0, max_p: 0.1, beyond, range: None };
/// assert_eq!(curve.probability(40.0), 0.05);
/// assert_eq!(curve.probability(90.0), 0.55);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DropCurve {
    /// Average queue below which nothing is dropped.
    pub min: f64,
    /// Average queue at which the probability is `max_p`.
    pub max: f64,
    /// Largest probability below `max`; with `range` only the initial value.
    pub max_p: f64,
    /// The probability from `max` on.
    pub beyond: AboveThreshold,
    /// Smallest and largest `max_p` of Adaptive RED; `None` if `max_p` is fixed.
    pub range: Option<(f64, f64)>,
}

impl DropCurve {
    /// The curve of a RED queue with these parameters.
    pub fn new(parameters: &Parameters, setting: &Setting) -> Self {
        let level = |threshold| setting.level(threshold);
        Self::with_levels(parameters, setting.rate.as_bytes_per_second(), level)
    }

    /// The same for a queue in any unit. `level` converts a threshold to this unit; the link sends
    /// `bytes_per_second`.
    pub fn with_levels(
        parameters: &Parameters,
        bytes_per_second: f64,
        level: impl Fn(Threshold) -> f64,
    ) -> Self {
        let given = |name| match parameters.get(name) {
            Value::Threshold(threshold) => Some(level(threshold)),
            _ => None,
        };
        let min = given("min").unwrap_or_else(|| {
            let least = level(Threshold::Packets(5.0));
            let half_target = level(Threshold::Time(Time::from_micros(2500)));
            least.max(half_target)
        });
        let bottom = match parameters.get("bottom") {
            Value::Number(bottom) => bottom,
            _ => (BOTTOM_BYTES_PER_SECOND / bytes_per_second).min(0.01),
        };
        let range = (bottom, parameters.number("top"));
        Self {
            min,
            max: given("max").unwrap_or(3.0 * min).max(min),
            max_p: parameters.number("max_p"),
            beyond: if parameters.switch("gentle") {
                AboveThreshold::Gentle
            } else {
                AboveThreshold::Abrupt
            },
            range: parameters.switch("adaptive").then_some(range),
        }
    }

    /// The probability at an averaged queue of `average`.
    pub fn probability(&self, average: f64) -> f64 {
        let Self {
            min, max, max_p, ..
        } = *self;
        let p = if average < min {
            0.0
        } else if average < max {
            max_p * (average - min) / (max - min)
        } else {
            match self.beyond {
                AboveThreshold::Gentle if max > 0.0 => {
                    max_p + (1.0 - max_p) * ((average - max) / max)
                }
                _ => 1.0,
            }
        };
        p.min(1.0)
    }

    /// The averages between which Adaptive RED leaves `max_p` unchanged (2001 paper section 3).
    pub fn target(&self) -> (f64, f64) {
        let part = 0.4 * (self.max - self.min);
        (self.min + part, self.max - part)
    }
}

/// The spacing of drops over the arrivals (1993 paper section 8; ns-2's `wait_`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spacing {
    /// Uniform from 1/p to 2/p - 1 arrivals apart: two drops are never close together.
    Wait,
    /// Uniform from 1 to 1/p - 1 arrivals apart, as in the paper.
    Uniform,
}

/// State of Adaptive RED: the bounds of `max_p` and the time of its last change (2001 paper section
/// 3, with ns-2's bounds).
#[derive(Clone, Copy, Debug)]
struct Adaptation {
    bottom: f64,
    top: f64,
    last: Time,
}

impl Adaptation {
    const INTERVAL: Time = Time::from_millis(500);
    const INCREASE: f64 = 0.01;
    const DECREASE: f64 = 0.9;
}

/// The discipline `red`.
#[derive(Clone, Debug)]
pub struct Red {
    limit: Limit,
    /// The drop curve in the limit's unit; Adaptive RED moves its `max_p`.
    curve: DropCurve,
    weight: f64,
    spacing: Spacing,
    adaptation: Option<Adaptation>,
    packets_per_second: f64,
    packet: f64,
    average: f64,
    /// Arrivals since the last drop or mark; with a byte limit in units of the mean size.
    count: f64,
    /// Whether the average was at or above the lower threshold at the last arrival.
    above: bool,
}

impl AdmissionControl for Red {
    const DESCRIPTION: Description = Description {
        name: "red",
        aliases: &[],
        title: "Random early detection; gentle and Adaptive RED, with ECN",
        formula: &[
            "avg = (1 − w) avg + w q at each arrival, with q what waits and w the weight",
            "p = 0 below min; max_p (avg − min)/(max − min) up to max",
            "beyond max: p rises to 1 at 2 max (gentle), or is 1 at once",
            "an arrival is dropped or marked with p/(1 − n p), n being the arrivals since the last; with `wait`, p/(2 − n p) from n = 1/p on",
            "adaptive: every 0.5 s max_p += min(0.01, max_p/4) where avg is high, max_p × 0.9 where it is low",
        ],
        source: "Floyd and Jacobson 1993; Floyd, Gummadi and Shenker 2001; ns-2.35 red.cc",
        checked: &[
            Evidence::Program("ns-2.35: Adaptive RED"),
            Evidence::Trend("ns-3.48: RedQueueDisc"),
            Evidence::Theory("the spacing of drops under steady overload"),
        ],
        parameters: &[
            Parameter {
                name: "min",
                meaning: "Average queue from which packets are dropped. Automatic: half of what the link sends in 5 ms, at least 5 packets (2001 paper section 4).",
                kind: ParameterKind::Threshold,
                default: Value::Automatic,
            },
            Parameter {
                name: "max",
                meaning: "Average queue at which the drop probability is `max_p`, never below `min`. Automatic: three times `min`.",
                kind: ParameterKind::Threshold,
                default: Value::Automatic,
            },
            Parameter {
                name: "max_p",
                meaning: "Drop probability at `max`; with `adaptive`, its first value.",
                kind: ParameterKind::Number {
                    min: 0.0,
                    max: 1.0,
                    unit: "probability",
                },
                default: Value::Number(0.1),
            },
            Parameter {
                name: "weight",
                meaning: "Weight of each arrival in the average. Automatic: a time constant of ten round trips of 100 ms, or of three link delays if that is longer.",
                kind: ParameterKind::Number {
                    min: 1e-12,
                    max: 1.0,
                    unit: "",
                },
                default: Value::Automatic,
            },
            Parameter {
                name: "gentle",
                meaning: "Whether the probability rises to 1 between `max` and twice `max`, and not at once.",
                kind: ParameterKind::Switch,
                default: Value::Switch(true),
            },
            Parameter {
                name: "adaptive",
                meaning: "Whether `max_p` changes every 0.5 s, so that the average stays between 0.4 and 0.6 of the way from `min` to `max`.",
                kind: ParameterKind::Switch,
                default: Value::Switch(true),
            },
            Parameter {
                name: "bottom",
                meaning: "Smallest `max_p` with `adaptive`. Automatic: the lesser of 0.01 and one over the packets of 1000 bytes sent in 100 ms.",
                kind: ParameterKind::Number {
                    min: 0.0,
                    max: 1.0,
                    unit: "probability",
                },
                default: Value::Automatic,
            },
            Parameter {
                name: "top",
                meaning: "Largest `max_p` with `adaptive`.",
                kind: ParameterKind::Number {
                    min: 0.0,
                    max: 1.0,
                    unit: "probability",
                },
                default: Value::Number(0.5),
            },
            Parameter {
                name: "wait",
                meaning: "Whether at least 1/p arrivals lie between drops, and not one (the default of ns-2).",
                kind: ParameterKind::Switch,
                default: Value::Switch(true),
            },
        ],
    };

    fn new(parameters: &Parameters, setting: &Setting) -> Self {
        let packets_per_second = setting.packets_per_second();
        let curve = DropCurve::new(parameters, setting);
        let weight = if let Value::Number(weight) = parameters.get("weight") {
            weight
        } else {
            let rtt = 3.0 * (setting.delay.as_secs_f64() + 1.0 / packets_per_second);
            -libm::expm1(-1.0 / (10.0 * rtt.max(0.1) * packets_per_second))
        };
        let adaptation = curve.range.map(|(bottom, top)| Adaptation {
            bottom,
            top,
            last: Time::ZERO,
        });
        Self {
            limit: setting.limit,
            curve,
            weight,
            spacing: if parameters.switch("wait") {
                Spacing::Wait
            } else {
                Spacing::Uniform
            },
            adaptation,
            packets_per_second,
            packet: setting.packet,
            average: 0.0,
            count: 0.0,
            above: false,
        }
    }

    fn admit(&mut self, packet: &Packet, arrival: &Arrival, port: &mut Port) -> Verdict {
        self.observe(arrival, port.now);
        self.decide(packet, arrival, port)
    }
}

impl Red {
    /// Updates the average and Adaptive RED with the queue that an arrival finds.
    pub(crate) fn observe(&mut self, arrival: &Arrival, now: Time) {
        self.measure(arrival, now);
        self.adapt(now);
    }

    /// Whether the average is at the lower threshold or above.
    pub(crate) fn congested(&self) -> bool {
        self.average >= self.curve.min
    }

    /// Decides on an arrival after [`Self::observe`].
    pub(crate) fn decide(
        &mut self,
        packet: &Packet,
        arrival: &Arrival,
        port: &mut Port,
    ) -> Verdict {
        let size = match self.limit {
            Limit::Packets(_) => 1.0,
            Limit::Bytes(_) => f64::from(packet.size) / self.packet,
        };
        self.count += size;
        let verdict = self.early(size, packet, arrival, port);
        if arrival.full {
            self.count = 0.0;
            return Verdict::Drop;
        }
        verdict
    }

    /// Updates the average with the queue that this arrival finds. An idle link counts as the
    /// packets that it could have sent, each of which finds an empty queue (1993 paper section 4).
    fn measure(&mut self, arrival: &Arrival, now: Time) {
        if let Some(since) = arrival.empty_since {
            let idle = now.saturating_sub(since).as_secs_f64();
            let missed = (self.packets_per_second * idle).floor();
            if missed > 0.0 {
                self.average *= libm::pow(1.0 - self.weight, missed);
            }
        }
        let level = self.limit.level(arrival.backlog);
        self.average += self.weight * (level - self.average);
    }

    /// Additive increase, multiplicative decrease of the largest probability (2001 paper, fig. 3).
    fn adapt(&mut self, now: Time) {
        let Some(adaptation) = &mut self.adaptation else {
            return;
        };
        if now.saturating_sub(adaptation.last) <= Adaptation::INTERVAL {
            return;
        }
        let (low, high) = self.curve.target();
        let max_p = &mut self.curve.max_p;
        if self.average < low && *max_p > adaptation.bottom {
            *max_p *= Adaptation::DECREASE;
            adaptation.last = now;
        } else if self.average > high && *max_p < adaptation.top {
            *max_p += Adaptation::INCREASE.min(0.25 * *max_p);
            adaptation.last = now;
        }
    }

    /// The verdict without the limit.
    fn early(&mut self, size: f64, packet: &Packet, arrival: &Arrival, port: &mut Port) -> Verdict {
        if !self.congested() || arrival.backlog.packets <= 1 {
            self.above = false;
            return Verdict::Accept;
        }
        let base = self.curve.probability(self.average);
        if base >= 1.0 && self.average >= self.curve.max {
            self.count = 0.0;
            return Verdict::Drop;
        }
        if !self.above {
            self.above = true;
            self.count = size;
            return Verdict::Accept;
        }
        let mut spread = self.spread(base);
        if let Limit::Bytes(_) = self.limit {
            spread *= size;
        }
        if port.random.uniform() >= spread {
            return Verdict::Accept;
        }
        self.count = 0.0;
        if packet.ecn() == Ecn::NotCapable {
            Verdict::Drop
        } else {
            Verdict::Mark
        }
    }

    /// Spreads drops of mean probability `p` over the arrivals since the last one.
    fn spread(&self, p: f64) -> f64 {
        let x = self.count * p;
        match self.spacing {
            Spacing::Wait if x < 1.0 => 0.0,
            Spacing::Wait if x < 2.0 => p / (2.0 - x),
            Spacing::Uniform if x < 1.0 => p / (1.0 - x),
            _ => 1.0,
        }
    }
}

#[cfg(test)]
mod tests;
