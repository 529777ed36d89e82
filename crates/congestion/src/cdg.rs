//! CDG (Hayes and Armitage 2011) as in Linux 5.2 (net/ipv4/tcp_cdg.c): New Reno that also backs off
//! by chance when round-trip times grow. The functions named below are those of that file.
//!
//! A flow that backs off where a loss-based flow does not would starve. Two heuristics oppose this:
//! a shadow window lets a loss undo earlier backoffs, and after five backoffs that did not shorten
//! the round trips the flow ignores the delay until one does.
//!
//! These points differ from Linux: slow start is the standard one, without the Hybrid Slow Start of
//! the module. The window falls at once when the flow backs off, and not over the next round trip
//! by proportional rate reduction. Windows are not rounded down to whole packets.

mod gradient;

use forebay_random::{Stream, StreamKey};
use forebay_units::Time;
use forebay_units::parameter::{self, Parameter, ParameterKind, Parameters, Value};

use crate::packet::{
    Ack, CongestionControl, CongestionEvent, Idle, Path, Requirements, Sample, Window,
};
use crate::registration::{Description, Registered};

use gradient::{Extremes, Fullness, Gradient, RoundTrips};

/// The smallest window after a reduction, packets.
const MIN_WINDOW: f64 = 2.0;

/// The part of the window that a backoff leaves: 0.7071 in whole parts of 1024.
const BACKOFF_BETA: f64 = 724.0 / 1024.0;

/// The settings, named as the parameters of Linux's module.
#[derive(Clone, Copy, Debug)]
struct Settings {
    /// Part of the window that a backoff leaves.
    backoff_beta: f64,
    /// Backoff probability per microsecond of the sum of gradients, in millionths.
    backoff_factor: f64,
    /// Backoffs without effect after which the flow ignores delays; zero for no limit.
    use_ineff: f64,
    use_shadow: bool,
    use_tolerance: bool,
}

/// CDG on packets.
#[derive(Clone, Debug)]
pub struct CdgController {
    settings: Settings,
    /// Round-trip times of this round and of the one before.
    round_trips: RoundTrips,
    before: Option<Extremes>,
    gradient: Gradient,
    /// State of the queue by the gradients; unknown after each reduction.
    queue: Fullness,
    /// The packet whose acknowledgment does not yet end the round (`rtt_seq`).
    round_end: u64,
    /// A reduction by delay lasts until a packet above this one is acknowledged.
    backing_off: Option<u64>,
    /// Whether the window was reduced and the reduction is not over.
    reducing: bool,
    /// The window without backoffs by delay, packets (`shadow_wnd`).
    shadow: f64,
    /// Backoffs since one had an effect (`backoff_cnt`).
    backoffs: f64,
    random: Stream,
}

impl CdgController {
    /// `tcp_cdg_ssthresh` of a loss or a mark.
    fn reduced(&mut self, cwnd: f64) -> f64 {
        if self.queue == Fullness::NotFull && self.settings.use_tolerance {
            return cwnd;
        }
        self.shadow = (0.5 * self.shadow).min(cwnd);
        let shadow = if self.settings.use_shadow {
            self.shadow
        } else {
            0.0
        };
        shadow.max(0.5 * cwnd).max(MIN_WINDOW)
    }

    /// `tcp_cdg_backoff`: whether the flow backs off from this sum of gradients, microseconds.
    fn backs_off(&mut self, gradients: i64) -> bool {
        let exponent = gradients as f64 * self.settings.backoff_factor * 1e-6;
        if gradients <= 0 || self.random.uniform() <= libm::exp(-exponent) {
            return false;
        }
        let limit = self.settings.use_ineff;
        if limit > 0.0 {
            self.backoffs += 1.0;
        }
        limit <= 0.0 || self.backoffs <= limit
    }

    /// Ends a round: its round-trip times give the gradients and may cause a backoff.
    fn end_round(&mut self, window: &mut Window, seen: Extremes, next: u64) {
        let sum = self.before.map(|before| {
            let sums = self.gradient.update(seen, before);
            if sums.fell {
                self.backoffs = 0.0;
            }
            if let Some(queue) = sums.queue.filter(|_| self.settings.use_tolerance) {
                self.queue = queue;
            }
            sums.gradient
        });
        self.begin_round(Some(seen), next);
        if self.backs_off(sum.unwrap_or(0)) {
            self.shadow = self.shadow.max(window.cwnd);
            self.backing_off = Some(next);
            self.reducing = true;
            let left = self.settings.backoff_beta * window.cwnd;
            window.ssthresh = left.max(MIN_WINDOW);
            window.cwnd = window.ssthresh;
        }
    }

    fn begin_round(&mut self, before: Option<Extremes>, next: u64) {
        self.before = before;
        self.round_trips.forget();
        self.round_end = next;
    }

    /// `CA_EVENT_COMPLETE_CWR`: the gradients of a reduction do not count.
    fn complete_reduction(&mut self, next: u64) {
        self.reducing = false;
        self.backing_off = None;
        self.queue = Fullness::Unknown;
        let seen = self.round_trips.extremes();
        self.begin_round(seen, next);
    }
}

impl CongestionControl for CdgController {
    fn requirements(&self) -> Requirements {
        Requirements::ROUND_TRIPS
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack, _: &Path) {
        if self.shadow <= 0.0 {
            self.shadow = window.cwnd;
        }
        if self.backing_off.is_some() {
            return;
        }
        let before = window.cwnd;
        let rest = if window.cwnd < window.ssthresh {
            window.slow_start(ack.acked)
        } else {
            ack.acked
        };
        window.cwnd += rest / window.cwnd;
        self.shadow += window.cwnd - before;
    }

    /// A loss while the flow backs off reduces the window no further (`tcp_enter_recovery` in the
    /// state CWR).
    fn on_congestion_event(
        &mut self,
        window: &mut Window,
        event: CongestionEvent,
        _: Time,
        _: &Path,
    ) {
        if self.backing_off.is_some() && event != CongestionEvent::Timeout {
            return;
        }
        let left = self.reduced(window.cwnd);
        window.cut(left, event);
        self.reducing = event != CongestionEvent::Timeout;
        self.backing_off = None;
    }

    fn on_sample(&mut self, window: &mut Window, sample: &Sample, _: &Path) {
        self.round_trips.update(sample);
        if !sample.calm() {
            return;
        }
        let lasts = self
            .backing_off
            .is_some_and(|until| sample.acknowledged <= until);
        if lasts {
            return;
        }
        if self.reducing {
            self.complete_reduction(sample.next);
        }
        if let Some(seen) = self.round_trips.extremes()
            && sample.acknowledged > self.round_end
        {
            self.end_round(window, seen, sample.next);
        }
        if !sample.limited {
            self.shadow = self.shadow.min(window.cwnd);
        }
    }

    /// `CA_EVENT_CWND_RESTART`: gradients, backoffs and the shadow window restart with the window.
    fn on_idle(&mut self, window: &mut Window, idle: &Idle) {
        idle.restart(window);
        if idle.restart_window.is_some() {
            self.gradient.forget();
            self.round_trips = RoundTrips::default();
            self.complete_reduction(self.round_end);
            self.shadow = window.cwnd;
            self.backoffs = 0.0;
        }
    }
}

impl Registered for CdgController {
    const DESCRIPTION: Description = Description::classic(parameter::Description {
        name: "cdg",
        aliases: &[],
        title: "CDG: New Reno that also backs off at random when round-trip times grow",
        formula: &[
            "once per round trip: g = sum over `window` rounds of the growth of the smallest round-trip time; of the largest, if that sum is not positive",
            "g > 0: W = 0.7071 W with probability 1 − exp(−g backoff_factor/s): the scale 1 s/backoff_factor is 24 ms",
            "shadow: the window without these backoffs; a loss: shadow = min(shadow/2, W), W = max(W/2, shadow)",
            "after 5 backoffs that did not shorten the round trips: none until one does",
        ],
        source: "Hayes and Armitage 2011; Linux 5.2, net/ipv4/tcp_cdg.c",
        checked: &[parameter::Evidence::Trace(
            "the functions of tcp_cdg.c, number by number",
        )],
        parameters: &[
            Parameter {
                name: "window",
                meaning: "Number of round trips whose gradients are added.",
                kind: ParameterKind::Number {
                    min: 1.0,
                    max: 256.0,
                    unit: "rounds",
                },
                default: Value::Number(8.0),
            },
            Parameter {
                name: "backoff_beta",
                meaning: "Part of the window that remains after a backoff by delay.",
                kind: ParameterKind::Number {
                    min: 0.0,
                    max: 1.0,
                    unit: "fraction",
                },
                default: Value::Number(BACKOFF_BETA),
            },
            Parameter {
                name: "backoff_factor",
                meaning: "Scale of the backoff probability: 1000/(G × window), with G of the paper in milliseconds.",
                kind: ParameterKind::Number {
                    min: 0.0,
                    max: 100_000.0,
                    unit: "",
                },
                default: Value::Number(42.0),
            },
            Parameter {
                name: "use_ineff",
                meaning: "Number of backoffs without effect after which the flow ignores delays; 0 for no limit.",
                kind: ParameterKind::Number {
                    min: 0.0,
                    max: 65_535.0,
                    unit: "backoffs",
                },
                default: Value::Number(5.0),
            },
            Parameter {
                name: "use_shadow",
                meaning: "Whether a loss leaves the window unchanged if backoffs have halved it already.",
                kind: ParameterKind::Switch,
                default: Value::Switch(true),
            },
            Parameter {
                name: "use_tolerance",
                meaning: "Whether losses are ignored while the gradients show no full queue.",
                kind: ParameterKind::Switch,
                default: Value::Switch(false),
            },
        ],
    });

    fn new(parameters: &Parameters, random: StreamKey) -> Self {
        Self {
            settings: Settings {
                backoff_beta: parameters.number("backoff_beta"),
                backoff_factor: parameters.number("backoff_factor"),
                use_ineff: parameters.number("use_ineff"),
                use_shadow: parameters.switch("use_shadow"),
                use_tolerance: parameters.switch("use_tolerance"),
            },
            round_trips: RoundTrips::default(),
            before: None,
            gradient: Gradient::new(parameters.number("window") as usize),
            queue: Fullness::Unknown,
            round_end: 0,
            backing_off: None,
            reducing: false,
            shadow: 0.0,
            backoffs: 0.0,
            random: random.stream(),
        }
    }
}

#[cfg(test)]
mod lone_flow_tests;
#[cfg(test)]
mod tests;
