//! Swift (Kumar et al., SIGCOMM 2020): the window that holds the round-trip time at a target, which
//! grows with the hops of the path and shrinks with the window.
//!
//! The rules are those of algorithm 1 and section 3.5 of the paper. These points deviate:
//!
//! - The paper has a second window for the delay inside of the hosts (section 3.3). Acknowledgments
//!   here carry no such delay, so the fabric's window is the only one.
//! - The sender reads the hops from the TTL in the paper. Here a parameter states them.
//! - Without `base_target` the target follows the shortest round-trip time that the flow measured.
//!   The paper sets it, because a data center knows its distances.
//! - Line 27 of algorithm 1 restarts the time since the last decrease while the window stays. The
//!   time here begins with a smaller window, as in csg-htsim (swift.cpp, `applySwiftLimits`).
//! - A window that does not limit the sender does not grow. The paper does not treat this case.
//! - A mark of congestion counts as a loss (RFC 3168 section 5). The paper does not use ECN.
//! - After a repeated timeout of one packet the window is one packet (RFC 5681 section 3.1).

use forebay_random::StreamKey;
use forebay_units::Time;
use forebay_units::parameter::{self, Parameter, ParameterKind, Parameters, Value};

use crate::own_window::OwnWindow;
use crate::packet::{
    Ack, CongestionControl, CongestionEvent, Pace, Path, Requirements, Sample, Window,
};
use crate::registration::{Description, Registered};

/// Target without `base_target`, in shortest round-trip times. Section 5.2 has a target of 25 us
/// where 50 us are at most three round trips without load.
const AUTOMATIC_TARGET: f64 = 1.5;

/// The shortest target, seconds: decreases are relative to delays.
const SHORTEST_TARGET: f64 = 1e-9;

/// Flow-based scaling (section 3.5): the part of the target that shrinks with the window.
#[derive(Clone, Copy, Debug)]
struct FlowScaling {
    /// Largest part, seconds (`fs_range`).
    range: f64,
    /// The constants alpha and beta of the formula, seconds.
    slope: f64,
    offset: f64,
}

impl FlowScaling {
    fn new(parameters: &Parameters) -> Self {
        let range = parameters.time("fs_range").as_secs_f64();
        let inverse_root = |name| 1.0 / parameters.number(name).sqrt();
        let (low, high) = (inverse_root("fs_min_cwnd"), inverse_root("fs_max_cwnd"));
        let slope = range / (low - high);
        Self {
            range,
            slope,
            offset: -slope * high,
        }
    }

    /// Seconds that a flow with this window adds to its target.
    fn delay(&self, cwnd: f64) -> f64 {
        (self.slope / cwnd.sqrt() + self.offset).clamp(0.0, self.range)
    }
}

/// Swift on packets.
#[derive(Clone, Debug)]
pub struct SwiftController {
    /// Base target in seconds; without one it follows the shortest round-trip time.
    base_target: Option<f64>,
    /// Topology-based scaling, seconds: the hops times the time per hop.
    hops: f64,
    flows: FlowScaling,
    /// Additive increment, packets per round trip (`ai`).
    increment: f64,
    beta: f64,
    max_mdf: f64,
    min_cwnd: f64,
    max_cwnd: f64,
    /// Timeouts in a row that leave the smallest window (`RETX_RESET_THRESHOLD`).
    reset_threshold: f64,
    window: OwnWindow,
    /// Shortest round-trip time, seconds; infinite before the first.
    min_rtt: f64,
    /// When the window was last decreased; none for never.
    decreased: Option<Time>,
    /// Timeouts since the last acknowledgment (`retransmit_cnt`).
    timeouts: f64,
}

impl SwiftController {
    /// The target of the round-trip time at the present window, seconds (section 3.5).
    fn target(&self) -> f64 {
        let automatic = AUTOMATIC_TARGET * self.min_rtt;
        let base = self.base_target.unwrap_or(automatic);
        (base + self.hops + self.flows.delay(self.window.packets)).max(SHORTEST_TARGET)
    }

    /// Whether the last decrease is at least a round trip ago (line 3).
    fn can_decrease(&self, now: Time, path: &Path) -> bool {
        let elapsed = |at| now.saturating_sub(at).as_secs_f64();
        self.decreased
            .is_none_or(|at| elapsed(at) >= path.smoothed_rtt)
    }

    /// Multiplies the window, once per round trip (lines 13, 21 and 24).
    fn decrease(&mut self, factor: f64, now: Time, path: &Path) {
        if factor < 1.0 && self.can_decrease(now, path) {
            self.window.packets *= factor;
            self.decreased = Some(now);
        }
    }

    /// Enforces the bounds (line 26).
    fn apply(&mut self, window: &mut Window) {
        self.window.packets = self.window.packets.clamp(self.min_cwnd, self.max_cwnd);
        self.window.apply(window);
    }
}

impl CongestionControl for SwiftController {
    fn requirements(&self) -> Requirements {
        Requirements {
            own_recovery: true,
            ..Requirements::ROUND_TRIPS
        }
    }

    /// Below one packet the window is a time between packets (section 3.4).
    fn pacing(&self, _: &Window, path: &Path) -> Option<Pace> {
        (self.window.packets < 1.0).then(|| Pace {
            rate: self.window.packets / path.smoothed_rtt,
            quantum: 1.0,
        })
    }

    fn on_ack(&mut self, _: &mut Window, _: &Ack, _: &Path) {}

    /// Lines 15 to 24.
    fn on_congestion_event(
        &mut self,
        window: &mut Window,
        event: CongestionEvent,
        now: Time,
        path: &Path,
    ) {
        self.window.adopt(window);
        if event == CongestionEvent::Timeout {
            self.timeouts += 1.0;
        } else {
            self.timeouts = 0.0;
        }
        if self.timeouts >= self.reset_threshold {
            self.window.packets = self.min_cwnd;
            self.decreased = Some(now);
        } else {
            self.decrease(1.0 - self.max_mdf, now, path);
        }
        self.apply(window);
    }

    /// Lines 4 to 14.
    fn on_sample(&mut self, window: &mut Window, sample: &Sample, path: &Path) {
        self.window.adopt(window);
        if sample.arrived > 0.0 {
            self.timeouts = 0.0;
        }
        if let Some(delay) = sample.rtt {
            self.min_rtt = self.min_rtt.min(delay);
            let target = self.target();
            if delay >= target {
                let excess = (delay - target) / delay;
                let factor = (1.0 - self.beta * excess).max(1.0 - self.max_mdf);
                self.decrease(factor, sample.now, path);
            } else if sample.limited {
                let cwnd = self.window.packets;
                self.window.packets += self.increment * sample.arrived / cwnd.max(1.0);
            }
        }
        self.apply(window);
    }

    fn on_undo(&mut self, before: &Self) {
        self.window.undo(&before.window);
        self.decreased = before.decreased;
        self.timeouts = before.timeouts;
    }
}

impl Registered for SwiftController {
    const DESCRIPTION: Description = Description::classic(parameter::Description {
        name: "swift",
        aliases: &[],
        title: "Swift: the window at which the round-trip time is a target, for data centers",
        formula: &[
            "target = base_target + hops × hop_scale + the smaller of fs_range and a/√W + b, if that is positive",
            "a = fs_range / (1/√fs_min_cwnd − 1/√fs_max_cwnd), b = −a/√fs_max_cwnd",
            "RTT below the target: W += ai/W per packet acknowledged, ai per packet if W is below 1",
            "otherwise: W = W × max(1 − beta (RTT − target)/RTT, 1 − max_mdf), at most once per round trip",
            "a loss or a timeout: W = W (1 − max_mdf); W below 1: a packet per RTT/W",
        ],
        source: "Kumar et al., SIGCOMM 2020, algorithm 1 and section 3.5",
        checked: &[
            parameter::Evidence::Theory(
                "the round-trip time at the target of section 3.5, with and without flow scaling",
            ),
            parameter::Evidence::Trace("algorithm 1, line by line"),
        ],
        parameters: &[
            Parameter {
                name: "base_target",
                meaning: "Base of the target: round-trip time of a path of one hop with few flows (section 3.5). Automatic: 1.5 times the shortest round-trip time that the flow measured. Set it in fabrics: a flow that begins at a full queue measures the queue, too.",
                kind: ParameterKind::Time,
                default: Value::Automatic,
            },
            Parameter {
                name: "hops",
                meaning: "Hops of the path, which the paper reads from the TTL (section 3.5).",
                kind: ParameterKind::Number {
                    min: 0.0,
                    max: 64.0,
                    unit: "hops",
                },
                default: Value::Number(0.0),
            },
            Parameter {
                name: "hop_scale",
                meaning: "Time that each hop adds to the target, ħ in table 2; 20 us / 6.55 in csg-htsim.",
                kind: ParameterKind::Time,
                default: Value::Time(Time::from_micros(3)),
            },
            Parameter {
                name: "fs_range",
                meaning: "Largest time that flow scaling adds to the target (table 2); value of csg-htsim.",
                kind: ParameterKind::Time,
                default: Value::Time(Time::from_micros(100)),
            },
            Parameter {
                name: "fs_min_cwnd",
                meaning: "Window at and below which flow scaling adds `fs_range` (table 2); value of csg-htsim.",
                kind: ParameterKind::Number {
                    min: 0.001,
                    max: 1.0,
                    unit: "packets",
                },
                default: Value::Number(0.1),
            },
            Parameter {
                name: "fs_max_cwnd",
                meaning: "Window from which flow scaling adds nothing (table 2); value of csg-htsim.",
                kind: ParameterKind::Number {
                    min: 2.0,
                    max: 1e6,
                    unit: "packets",
                },
                default: Value::Number(100.0),
            },
            Parameter {
                name: "ai",
                meaning: "Additive increment (algorithm 1); value of csg-htsim.",
                kind: ParameterKind::Number {
                    min: 0.001,
                    max: 100.0,
                    unit: "packets per round trip",
                },
                default: Value::Number(1.0),
            },
            Parameter {
                name: "beta",
                meaning: "Constant of the multiplicative decrease (algorithm 1); value of csg-htsim.",
                kind: ParameterKind::Number {
                    min: 0.001,
                    max: 1.0,
                    unit: "",
                },
                default: Value::Number(0.8),
            },
            Parameter {
                name: "max_mdf",
                meaning: "Largest part of the window that one decrease takes away (algorithm 1); value of csg-htsim.",
                kind: ParameterKind::Number {
                    min: 0.001,
                    max: 0.99,
                    unit: "fraction",
                },
                default: Value::Number(0.5),
            },
            Parameter {
                name: "min_cwnd",
                meaning: "Smallest window (section 3.4).",
                kind: ParameterKind::Number {
                    min: 1e-6,
                    max: 1.0,
                    unit: "packets",
                },
                default: Value::Number(0.001),
            },
            Parameter {
                name: "max_cwnd",
                meaning: "Largest window (algorithm 1); the paper states no value.",
                kind: ParameterKind::Number {
                    min: 1.0,
                    max: 1e9,
                    unit: "packets",
                },
                default: Value::Number(1e6),
            },
            Parameter {
                name: "retx_reset_threshold",
                meaning: "Timeouts in a row that leave the smallest window (algorithm 1); value of csg-htsim.",
                kind: ParameterKind::Number {
                    min: 1.0,
                    max: 1000.0,
                    unit: "timeouts",
                },
                default: Value::Number(5.0),
            },
        ],
    });

    fn new(parameters: &Parameters, _: StreamKey) -> Self {
        let base_target = match parameters.get("base_target") {
            Value::Time(target) => Some(target.as_secs_f64()),
            _ => None,
        };
        Self {
            base_target,
            hops: parameters.number("hops") * parameters.time("hop_scale").as_secs_f64(),
            flows: FlowScaling::new(parameters),
            increment: parameters.number("ai"),
            beta: parameters.number("beta"),
            max_mdf: parameters.number("max_mdf"),
            min_cwnd: parameters.number("min_cwnd"),
            max_cwnd: parameters.number("max_cwnd"),
            reset_threshold: parameters.number("retx_reset_threshold"),
            window: OwnWindow::default(),
            min_rtt: f64::INFINITY,
            decreased: None,
            timeouts: 0.0,
        }
    }
}

#[cfg(test)]
mod tests;
