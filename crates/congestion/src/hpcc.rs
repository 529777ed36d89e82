//! HPCC (Li et al., SIGCOMM 2019): the window follows the load that the links of the path state in
//! packets.
//!
//! The rules are those of algorithm 1 of the paper, which draft-miao-tsv-hpcc repeats. They are
//! compared with alibaba-edu/High-Precision-Congestion-Control (`rdma-hw.cc`, one rate for all
//! hops). These points deviate:
//!
//! - The stack's initial window counts until the first acknowledgment. Then the window is `W_init`.
//!   The paper begins with `W_init`.
//! - Without `base_rtt`, T is the shortest round trip that the flow measured. The paper sets it.
//! - Without `line_rate`, the rate of the network card is that of the first link of the path.
//! - The first acknowledgment changes no window, because rates need two statements of a link. So do
//!   the public simulators. If the number of links changes, the flow starts with two statements
//!   again.
//! - The load is one before the first measurement, as in the public simulator. The paper states no
//!   value.
//! - The window is at most `W_init`, as in the public simulator.
//! - A loss changes no window: links state the congestion. After a timeout the window is one packet
//!   until the next acknowledgment (RFC 5681 section 3.1). The paper treats no losses.
//! - Windows count the payload of packets without headers. Telemetry takes no bytes of a packet.

use forebay_random::StreamKey;
use forebay_units::parameter::{self, Parameter, ParameterKind, Parameters, Value};
use forebay_units::{Bytes, Time};

use crate::own_window::OwnWindow;
use crate::packet::{
    Ack, CongestionControl, CongestionEvent, Idle, Pace, Path, Requirements, Sample, Window,
};
use crate::registration::{Description, Registered};
use crate::telemetry::LinkTelemetry;

/// The shortest base round trip, seconds.
const SHORTEST_RTT: f64 = 1e-9;

/// The parameters; times in seconds, rates in bits per second, windows in bytes.
#[derive(Clone, Copy, Debug)]
struct Settings {
    eta: f64,
    max_stage: f64,
    /// Additive increment; without one it follows from `flows`.
    w_ai: Option<f64>,
    flows: f64,
    base_rtt: Option<f64>,
    line_rate: Option<f64>,
}

/// HPCC on packets.
#[derive(Clone, Debug)]
pub struct HpccController {
    settings: Settings,
    /// Bytes in a full packet.
    payload: f64,
    window: OwnWindow,
    /// Reference window in bytes (`W_c`); none before the first statements.
    reference: Option<f64>,
    /// Additive increases in a row (`incStage`).
    stage: f64,
    /// Normalized bytes in flight of the most loaded link, averaged (`U`).
    load: f64,
    /// The packet after whose acknowledgment the reference window may change (`lastUpdateSeq`).
    last_update: u64,
    /// Statements of the last acknowledgment (`L`).
    links: Vec<LinkTelemetry>,
    /// Statements that no sample has used.
    fresh: Vec<LinkTelemetry>,
    /// Shortest round trip, seconds; infinite before the first.
    min_rtt: f64,
}

impl HpccController {
    /// The base round trip (`T`), seconds; none before it is known.
    fn base_rtt(&self) -> Option<f64> {
        let base = self.settings.base_rtt.unwrap_or(self.min_rtt);
        base.is_finite().then(|| base.max(SHORTEST_RTT))
    }

    /// The initial and largest window in bytes: what the network card sends in a base round trip
    /// (`W_init`).
    fn initial(&self, base_rtt: f64) -> f64 {
        let first = self.fresh.first().or(self.links.first());
        let first = first.map_or(0.0, |link| link.rate.as_bits_per_second() as f64);
        let rate = self.settings.line_rate.unwrap_or(first);
        (rate * base_rtt / 8.0).max(1.0)
    }

    /// Function `MeasureInflight`: the load with the fresh statements. False where they allow no
    /// measurement.
    fn measure(&mut self, base_rtt: f64) -> bool {
        let (mut load, mut interval) = (0.0, 0.0);
        if self.fresh.len() == self.links.len() {
            for (new, old) in self.fresh.iter().zip(&self.links) {
                let elapsed = new.time.saturating_sub(old.time).as_secs_f64();
                if elapsed == 0.0 {
                    continue;
                }
                let rate = new.rate.as_bits_per_second().max(1) as f64;
                let sent = 8.0 * new.sent.saturating_sub(old.sent) as f64 / elapsed;
                let waiting = 8.0 * new.queue.min(old.queue) as f64;
                let of_link = waiting / (rate * base_rtt) + sent / rate;
                if of_link > load {
                    (load, interval) = (of_link, elapsed);
                }
            }
        }
        std::mem::swap(&mut self.links, &mut self.fresh);
        self.fresh.clear();
        let weight = interval.min(base_rtt) / base_rtt;
        self.load += weight * (load - self.load);
        weight > 0.0
    }

    /// Function `ComputeWind`: the window in bytes, from the reference window.
    fn compute(&mut self, (reference, most): (f64, f64), updates: bool) -> f64 {
        let Settings {
            eta,
            max_stage,
            w_ai,
            flows,
            ..
        } = self.settings;
        let increment = w_ai.unwrap_or(most * (1.0 - eta) / flows);
        let excess = self.load / eta;
        let decreases = excess >= 1.0 || self.stage >= max_stage;
        let window = if decreases {
            reference / excess + increment
        } else {
            reference + increment
        };
        let window = window.min(most);
        if updates {
            self.stage = if decreases { 0.0 } else { self.stage + 1.0 };
            self.reference = Some(window);
        }
        window
    }
}

impl CongestionControl for HpccController {
    fn requirements(&self) -> Requirements {
        Requirements {
            own_recovery: true,
            telemetry: true,
            ..Requirements::ROUND_TRIPS
        }
    }

    fn on_open(&mut self, payload: Bytes) {
        self.payload = payload.get().max(1) as f64;
    }

    fn on_telemetry(&mut self, links: &[LinkTelemetry]) {
        self.fresh.clear();
        self.fresh.extend_from_slice(links);
    }

    /// R = W/T (procedure `NewAck`).
    fn pacing(&self, _: &Window, _: &Path) -> Option<Pace> {
        self.reference?;
        self.base_rtt().map(|base_rtt| Pace {
            rate: self.window.packets / base_rtt,
            quantum: 1.0,
        })
    }

    fn on_ack(&mut self, _: &mut Window, _: &Ack, _: &Path) {}

    /// The window does not depend on pauses of the application.
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
        self.window.apply(window);
    }

    /// Procedure `NewAck`.
    fn on_sample(&mut self, window: &mut Window, sample: &Sample, _: &Path) {
        self.window.adopt(window);
        if let Some(rtt) = sample.rtt {
            self.min_rtt = self.min_rtt.min(rtt);
        }
        if let Some(base_rtt) = self.base_rtt()
            && !self.fresh.is_empty()
        {
            let most = self.initial(base_rtt);
            let measured = self.measure(base_rtt);
            let bytes = match self.reference {
                Some(reference) if measured => {
                    let updates = sample.acknowledged > self.last_update;
                    if updates {
                        self.last_update = sample.next;
                    }
                    self.compute((reference, most), updates)
                }
                Some(reference) => reference.min(most),
                None => {
                    self.last_update = sample.next;
                    self.reference = Some(most);
                    most
                }
            };
            self.window.packets = bytes / self.payload;
        }
        self.window.apply(window);
    }

    fn on_undo(&mut self, before: &Self) {
        self.window.undo(&before.window);
    }
}

impl Registered for HpccController {
    const DESCRIPTION: Description = Description::classic(parameter::Description {
        name: "hpcc",
        aliases: &[],
        title: "HPCC: the window that fills a share of the links, whose load packets carry",
        formula: &[
            "each link states queue, bytes sent, time and rate B in each packet",
            "u = the largest of min(queue now, queue before)/(B T) + rate sent/B; U = (1 − τ/T) U + τ/T u",
            "U ≥ eta or max_stage increases in a row: W = W_c/(U/eta) + w_ai; otherwise W = W_c + w_ai",
            "W_c = W once per round trip; rate W/T; W_init = line_rate T; automatic w_ai = W_init (1 − eta)/flows",
        ],
        source: "Li et al., SIGCOMM 2019, algorithm 1",
        checked: &[
            parameter::Evidence::Theory(
                "eta of the rate with nearly no queue; max-min shares over two links",
            ),
            parameter::Evidence::Trace("algorithm 1, line by line"),
        ],
        parameters: &[
            Parameter {
                name: "eta",
                meaning: "Target η of the load of a link (section 3.2); the paper's value.",
                kind: ParameterKind::Number {
                    min: 0.01,
                    max: 1.0,
                    unit: "fraction",
                },
                default: Value::Number(0.95),
            },
            Parameter {
                name: "max_stage",
                meaning: "Additive increases in a row before a multiplicative one (`maxStage`, section 3.2); the paper's value.",
                kind: ParameterKind::Number {
                    min: 0.0,
                    max: 1000.0,
                    unit: "round trips",
                },
                default: Value::Number(5.0),
            },
            Parameter {
                name: "w_ai",
                meaning: "Additive increment W_AI of the window. Automatic: W_init (1 − eta)/flows (section 3.3).",
                kind: ParameterKind::Bytes,
                default: Value::Automatic,
            },
            Parameter {
                name: "flows",
                meaning: "Flows that share a link at most (N in section 3.3), for the automatic `w_ai`. With 100 it is about 80 bytes at 100 Gb/s and 13 us.",
                kind: ParameterKind::Number {
                    min: 1.0,
                    max: 1e6,
                    unit: "flows",
                },
                default: Value::Number(100.0),
            },
            Parameter {
                name: "base_rtt",
                meaning: "Base round trip T: the longest of the network without queues. Automatic: the shortest round trip that the flow measured.",
                kind: ParameterKind::Time,
                default: Value::Automatic,
            },
            Parameter {
                name: "line_rate",
                meaning: "Rate of the network card (B_NIC). Automatic: the rate of the first link of the path.",
                kind: ParameterKind::Rate,
                default: Value::Automatic,
            },
        ],
    });

    fn new(parameters: &Parameters, _: StreamKey) -> Self {
        let w_ai = match parameters.get("w_ai") {
            Value::Bytes(increment) => Some(increment.get() as f64),
            _ => None,
        };
        let base_rtt = match parameters.get("base_rtt") {
            Value::Time(time) => Some(time.as_secs_f64()),
            _ => None,
        };
        let line_rate = match parameters.get("line_rate") {
            Value::Rate(rate) => Some(rate.as_bits_per_second() as f64),
            _ => None,
        };
        Self {
            settings: Settings {
                eta: parameters.number("eta"),
                max_stage: parameters.number("max_stage"),
                w_ai,
                flows: parameters.number("flows"),
                base_rtt,
                line_rate,
            },
            payload: 1.0,
            window: OwnWindow::default(),
            reference: None,
            stage: 0.0,
            load: 1.0,
            last_update: 0,
            links: Vec::new(),
            fresh: Vec::new(),
            min_rtt: f64::INFINITY,
        }
    }
}

#[cfg(test)]
mod tests;
