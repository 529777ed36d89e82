//! TIMELY (Mittal et al., SIGCOMM 2015): the rate follows the gradient of the round-trip time.
//!
//! The rules are those of algorithm 1 of the paper. `variant = "patched"` has the correction of
//! Zhu et al. (CoNEXT 2016, section 4.3). Flows then have one fixed point and share evenly. These
//! points deviate:
//!
//! - Packets leave one by one at the rate. TIMELY sends bursts of a segment at the line rate, and
//!   subtracts the time that a burst takes from its round trip.
//! - The completion of a segment is the acknowledgment of as many bytes. Its round-trip time is
//!   that of the newest packet.
//! - If `min_rtt` is not set, the gradient is relative to the shortest round trip that the flow
//!   measured. The paper sets it.
//! - A window opens by each packet that arrives, from the stack's initial window on. TIMELY has
//!   none.
//! - A loss halves the rate, once per recovery, and a timeout also leaves a window of one packet
//!   (RFC 5681 section 3.1). The paper treats no losses, because its network pauses.
//! - Rates count the payload of packets without headers.

use forebay_random::StreamKey;
use forebay_units::parameter::{self, Parameter, ParameterKind, Parameters, Value};
use forebay_units::{Bytes, Rate, Time};

use crate::own_window::OwnWindow;
use crate::packet::{
    Ack, CongestionControl, CongestionEvent, Idle, Pace, Path, Requirements, Sample, Window,
};
use crate::registration::{Description, Registered};

/// Completions in a row without a rise of the round-trip time from which the increment is
/// hyperactive, and its factor (hyperactive increase, HAI).
const HAI_COMPLETIONS: u32 = 5;
const HAI_FACTOR: f64 = 5.0;

/// The constant of the decrease (`beta`) of the paper, and of the patched variant.
const BETA: f64 = 0.8;
const PATCHED_BETA: f64 = 0.008;

/// Slope and middle of the patched variant's weight (Zhu et al. 2016, section 4.3).
const WEIGHT_SLOPE: f64 = 2.0;
const WEIGHT_AT_REST: f64 = 0.5;

/// Part of the rate that remains after a loss (RFC 5681 section 3.1).
const LOSS_FACTOR: f64 = 0.5;

/// The smallest rate, bits per second, and the shortest reference of a delay, seconds.
const SMALLEST_RATE: f64 = 1e3;
const SHORTEST_TIME: f64 = 1e-9;

/// The parameters; times in seconds, rates in bits per second.
#[derive(Clone, Copy, Debug)]
struct Settings {
    patched: bool,
    alpha: f64,
    beta: f64,
    low: f64,
    high: f64,
    /// Reference of the patched variant.
    reference: f64,
    /// Shortest round trip; without one it is measured.
    min_rtt: Option<f64>,
    delta: f64,
    /// Bytes.
    segment: f64,
    min_rate: f64,
    line_rate: f64,
}

/// TIMELY on packets.
#[derive(Clone, Debug)]
pub struct TimelyController {
    settings: Settings,
    /// Bytes in a full packet.
    payload: f64,
    window: OwnWindow,
    /// Bits per second.
    rate: f64,
    /// Shortest round trip that was measured, seconds; infinite before the first.
    min_rtt: f64,
    /// Round-trip time of the last completion, seconds; none before the first.
    previous: Option<f64>,
    /// Moving average of the differences of successive round-trip times, seconds.
    difference: f64,
    /// Completions in a row without a rise.
    falling: u32,
    /// Bytes acknowledged since the last completion.
    bytes: f64,
}

impl TimelyController {
    /// A segment is complete after this round-trip time (algorithm 1).
    fn complete(&mut self, rtt: f64) {
        let Settings {
            alpha,
            beta,
            low,
            high,
            delta,
            ..
        } = self.settings;
        let newest = rtt - self.previous.replace(rtt).unwrap_or(rtt);
        self.difference += alpha * (newest - self.difference);
        let shortest = self.settings.min_rtt.unwrap_or(self.min_rtt);
        let gradient = self.difference / shortest.max(SHORTEST_TIME);
        let falling = std::mem::take(&mut self.falling);
        self.rate = if rtt < low {
            self.rate + delta
        } else if rtt > high {
            self.rate * (1.0 - beta * (1.0 - high / rtt))
        } else if self.settings.patched {
            self.patched(rtt, gradient)
        } else if gradient <= 0.0 {
            self.falling = falling.saturating_add(1);
            let hyper = self.falling >= HAI_COMPLETIONS;
            self.rate + if hyper { HAI_FACTOR * delta } else { delta }
        } else {
            self.rate * (1.0 - beta * gradient)
        };
        self.bound();
    }

    /// The rate between both thresholds (Zhu et al. 2016, section 4.3).
    fn patched(&self, rtt: f64, gradient: f64) -> f64 {
        let Settings {
            beta,
            delta,
            reference,
            ..
        } = self.settings;
        let weight = (WEIGHT_SLOPE * gradient + WEIGHT_AT_REST).clamp(0.0, 1.0);
        let error = (rtt - reference) / reference;
        delta * (1.0 - weight) + self.rate * (1.0 - beta * weight * error)
    }

    fn bound(&mut self) {
        let Settings {
            min_rate,
            line_rate,
            ..
        } = self.settings;
        self.rate = self.rate.clamp(min_rate, line_rate);
    }
}

impl CongestionControl for TimelyController {
    fn requirements(&self) -> Requirements {
        Requirements {
            own_recovery: true,
            line_rate: Some(Rate::from_bits_per_second(self.settings.line_rate as u64)),
            ..Requirements::ROUND_TRIPS
        }
    }

    fn on_open(&mut self, payload: Bytes) {
        self.payload = payload.get().max(1) as f64;
    }

    fn pacing(&self, _: &Window, _: &Path) -> Option<Pace> {
        Some(Pace {
            rate: self.rate / (8.0 * self.payload),
            quantum: 1.0,
        })
    }

    fn on_ack(&mut self, _: &mut Window, _: &Ack, _: &Path) {}

    /// The rate does not depend on pauses of the application.
    fn on_idle(&mut self, _: &mut Window, _: &Idle) {}

    fn on_congestion_event(
        &mut self,
        window: &mut Window,
        event: CongestionEvent,
        _: Time,
        _: &Path,
    ) {
        self.window.adopt(window);
        if event == CongestionEvent::Timeout {
            self.window.close();
        }
        self.rate *= LOSS_FACTOR;
        self.bound();
        self.window.apply(window);
    }

    fn on_sample(&mut self, window: &mut Window, sample: &Sample, _: &Path) {
        self.window.adopt(window);
        self.window.open(sample);
        self.window.apply(window);
        self.bytes += sample.arrived * self.payload;
        let Some(rtt) = sample.rtt else {
            return;
        };
        self.min_rtt = self.min_rtt.min(rtt);
        if self.bytes >= self.settings.segment {
            // Segments that complete together are one event.
            self.bytes %= self.settings.segment;
            self.complete(rtt);
        }
    }

    fn on_undo(&mut self, before: &Self) {
        self.window.undo(&before.window);
        self.rate = before.rate;
    }
}

impl Registered for TimelyController {
    const DESCRIPTION: Description = Description::classic(parameter::Description {
        name: "timely",
        aliases: &[],
        title: "TIMELY: a rate that follows the gradient of the round-trip time, for data centers",
        formula: &[
            "per segment acknowledged: D = (1 − alpha) D + alpha (RTT − the last RTT), gradient = D/min_rtt",
            "RTT < t_low: R += delta; RTT > t_high: R = R (1 − beta (1 − t_high/RTT))",
            "else gradient ≤ 0: R += delta, 5 delta from the fifth in a row; gradient > 0: R = R (1 − beta gradient)",
            "patched: instead R = delta (1 − w) + R (1 − beta w (RTT − rtt_ref)/rtt_ref), with w = 2 gradient + 1/2 within 0 and 1",
            "a loss: R = R/2",
        ],
        source: "Mittal et al., SIGCOMM 2015, algorithm 1; Zhu et al., CoNEXT 2016, section 4.3",
        checked: &[
            parameter::Evidence::Theory(
                "the fixed point of the patched variant (Zhu et al., CoNEXT 2016), and that the original has none",
            ),
            parameter::Evidence::Trace("algorithm 1, and the correction of Zhu et al. 2016"),
        ],
        parameters: &[
            Parameter {
                name: "variant",
                meaning: "Algorithm of the paper, or with the correction of Zhu et al. (CoNEXT 2016, section 4.3).",
                kind: ParameterKind::Choice {
                    words: &["original", "patched"],
                },
                default: Value::Word("original"),
            },
            Parameter {
                name: "alpha",
                meaning: "Weight of the newest difference of round-trip times (algorithm 1; value of Zhu et al. 2016).",
                kind: ParameterKind::Number {
                    min: 1e-3,
                    max: 1.0,
                    unit: "",
                },
                default: Value::Number(0.875),
            },
            Parameter {
                name: "beta",
                meaning: "Constant of the multiplicative decrease (algorithm 1). Automatic: 0.8, or 0.008 with `variant = \"patched\"`.",
                kind: ParameterKind::Number {
                    min: 1e-4,
                    max: 1.0,
                    unit: "",
                },
                default: Value::Automatic,
            },
            Parameter {
                name: "t_low",
                meaning: "Round-trip time below which the rate grows whatever the gradient (algorithm 1; value of Zhu et al. 2016).",
                kind: ParameterKind::Time,
                default: Value::Time(Time::from_micros(50)),
            },
            Parameter {
                name: "t_high",
                meaning: "Round-trip time above which the rate falls whatever the gradient (algorithm 1; value of Zhu et al. 2016).",
                kind: ParameterKind::Time,
                default: Value::Time(Time::from_micros(500)),
            },
            Parameter {
                name: "rtt_ref",
                meaning: "Reference of the patched variant. Automatic: `t_low` (Zhu et al. 2016).",
                kind: ParameterKind::Time,
                default: Value::Automatic,
            },
            Parameter {
                name: "min_rtt",
                meaning: "Round-trip time to which the gradient is relative (algorithm 1). Automatic: the shortest that the flow measured.",
                kind: ParameterKind::Time,
                default: Value::Automatic,
            },
            Parameter {
                name: "delta",
                meaning: "Additive increment (algorithm 1; value of the authors' code for 10 Gb/s).",
                kind: ParameterKind::Rate,
                default: Value::Rate(Rate::from_bits_per_second(10_000_000)),
            },
            Parameter {
                name: "segment",
                meaning: "Bytes whose acknowledgment is a completion: 16 to 64 kB in the paper.",
                kind: ParameterKind::Bytes,
                default: Value::Bytes(Bytes::new(16_000)),
            },
            Parameter {
                name: "min_rate",
                meaning: "Smallest rate; the paper has none.",
                kind: ParameterKind::Rate,
                default: Value::Rate(Rate::from_bits_per_second(10_000_000)),
            },
            Parameter {
                name: "line_rate",
                meaning: "Largest rate: that of the network card.",
                kind: ParameterKind::Rate,
                default: Value::Rate(Rate::from_bits_per_second(10_000_000_000)),
            },
            Parameter {
                name: "initial_rate",
                meaning: "Rate at which a flow starts: the line rate over one more than the active flows of its host. Automatic: `line_rate`.",
                kind: ParameterKind::Rate,
                default: Value::Automatic,
            },
        ],
    });

    fn new(parameters: &Parameters, _: StreamKey) -> Self {
        let bits = |rate: Rate| rate.as_bits_per_second() as f64;
        let seconds = |time: Time| time.as_secs_f64().max(SHORTEST_TIME);
        let patched = parameters.word("variant") == "patched";
        let min_rate = bits(parameters.rate("min_rate")).max(SMALLEST_RATE);
        let line_rate = bits(parameters.rate("line_rate")).max(min_rate);
        let low = seconds(parameters.time("t_low"));
        let settings = Settings {
            patched,
            alpha: parameters.number("alpha"),
            beta: match parameters.get("beta") {
                Value::Number(beta) => beta,
                _ if patched => PATCHED_BETA,
                _ => BETA,
            },
            low,
            high: seconds(parameters.time("t_high")),
            reference: match parameters.get("rtt_ref") {
                Value::Time(reference) => seconds(reference),
                _ => low,
            },
            min_rtt: match parameters.get("min_rtt") {
                Value::Time(shortest) => Some(seconds(shortest)),
                _ => None,
            },
            delta: bits(parameters.rate("delta")),
            segment: parameters.bytes("segment").get().max(1) as f64,
            min_rate,
            line_rate,
        };
        let mut timely = Self {
            settings,
            payload: 1.0,
            window: OwnWindow::default(),
            rate: match parameters.get("initial_rate") {
                Value::Rate(rate) => bits(rate),
                _ => line_rate,
            },
            min_rtt: f64::INFINITY,
            previous: None,
            difference: 0.0,
            falling: 0,
            bytes: 0.0,
        };
        timely.bound();
        timely
    }
}

#[cfg(test)]
mod tests;
