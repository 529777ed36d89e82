//! DCQCN (Zhu et al., SIGCOMM 2015): the rate control of RoCEv2, which reacts to marks of
//! congestion.
//!
//! The rules are those of section 3 of the paper: the sender is the reaction point (RP), the
//! receiver the notification point (NP), and a queue that marks the congestion point (CP). These
//! points deviate:
//!
//! - The sender does the work of the NP: it takes the marks from its acknowledgments and ignores
//!   those that come less than `cnp_interval` after the last notification.
//! - Timers expire when the next acknowledgment arrives. This matters only if acknowledgments are
//!   further apart than the timers.
//! - A window opens by each packet that arrives, from the stack's initial window on. RoCE has no
//!   window. It delays the start at the line rate by a few round trips.
//! - A packet found lost counts as a marked one, and after a timeout the window is one packet. The
//!   paper treats no losses, because its network pauses. Loss recovery is the one of the stack.
//! - Rates count the payload of packets without headers.
//! - The smallest rate is the one of public simulators. The paper has none.
//! - The state stays after the rate has reached the line rate. Network cards may release it.

use forebay_random::StreamKey;
use forebay_units::parameter::{self, Parameter, ParameterKind, Parameters, Value};
use forebay_units::{Bytes, Rate, Time};

use crate::own_window::OwnWindow;
use crate::packet::{
    Ack, CongestionControl, CongestionEvent, Pace, Path, Requirements, Sample, Window,
};
use crate::registration::{Description, Registered};

/// The shortest timer, and the smallest rate in bits per second.
const SHORTEST_TIMER: Time = Time::from_micros(1);
const SMALLEST_RATE: f64 = 1e3;

/// Expiries of the timer, and of the byte counter, that one acknowledgment makes up for at most:
/// half a second of the default timer. The rest is forgotten.
const MOST_EXPIRIES: u32 = 10_000;

/// Distance from the line rate, relative to it, from which the rate is the line rate.
const AT_LINE_RATE: f64 = 1e-9;

/// The parameters; rates in bits per second.
#[derive(Clone, Copy, Debug)]
struct Settings {
    g: f64,
    /// Iterations of fast recovery (F).
    fast: f64,
    /// Increments of the target rate (R_AI, R_HAI).
    additive: f64,
    hyper: f64,
    min_rate: f64,
    line_rate: f64,
    timer: Time,
    /// Bytes (B).
    byte_counter: f64,
    alpha_timer: Time,
    cnp_interval: Time,
}

/// The reaction point of a flow that was notified.
#[derive(Clone, Copy, Debug)]
struct ReactionPoint {
    /// Current and target rate (R_C, R_T), bits per second.
    current: f64,
    target: f64,
    alpha: f64,
    /// Expiries of the timer and of the byte counter since the last notification (T, BC).
    timer_count: f64,
    byte_count: f64,
    timer_due: Time,
    alpha_due: Time,
    /// Bytes sent since the byte counter last expired.
    bytes: f64,
}

impl ReactionPoint {
    /// A flow that sends at the line rate. Its first notification is to come.
    fn new(settings: &Settings) -> Self {
        Self {
            current: settings.line_rate,
            target: settings.line_rate,
            alpha: 1.0,
            timer_count: 0.0,
            byte_count: 0.0,
            timer_due: Time::ZERO,
            alpha_due: Time::ZERO,
            bytes: 0.0,
        }
    }

    /// A notification cuts the rate (equation 1) and starts the counters and timers again (figure
    /// 7).
    fn notify(&mut self, settings: &Settings, now: Time) {
        self.target = self.current;
        let cut = self.current * (1.0 - 0.5 * self.alpha);
        self.current = cut.max(settings.min_rate);
        self.alpha += settings.g * (1.0 - self.alpha);
        self.timer_count = 0.0;
        self.byte_count = 0.0;
        self.bytes = 0.0;
        self.timer_due = now.saturating_add(settings.timer);
        self.alpha_due = now.saturating_add(settings.alpha_timer);
    }

    /// Alpha falls for each time K without a notification (equation 2).
    fn decay(&mut self, settings: &Settings, now: Time) {
        if now < self.alpha_due {
            return;
        }
        let period = settings.alpha_timer.as_picos();
        let expiries = (now - self.alpha_due).as_picos() / period + 1;
        self.alpha *= libm::pow(1.0 - settings.g, expiries as f64);
        let whole = Time::from_picos(expiries.saturating_mul(period));
        self.alpha_due = self.alpha_due.saturating_add(whole);
    }

    /// The timer and the byte counter raise the rate, after `sent` more bytes.
    fn advance(&mut self, settings: &Settings, sent: f64, now: Time) {
        self.decay(settings, now);
        let mut left = MOST_EXPIRIES;
        while now >= self.timer_due && left > 0 && !self.is_at_line_rate(settings) {
            self.increase(settings);
            self.timer_count += 1.0;
            self.timer_due = self.timer_due.saturating_add(settings.timer);
            left -= 1;
        }
        if now >= self.timer_due {
            self.timer_due = now.saturating_add(settings.timer);
        }
        self.bytes += sent;
        let mut left = MOST_EXPIRIES;
        while self.bytes >= settings.byte_counter && left > 0 && !self.is_at_line_rate(settings) {
            self.bytes -= settings.byte_counter;
            self.increase(settings);
            self.byte_count += 1.0;
            left -= 1;
        }
        if self.bytes >= settings.byte_counter {
            self.bytes = 0.0;
        }
    }

    fn is_at_line_rate(&self, settings: &Settings) -> bool {
        self.current >= settings.line_rate * (1.0 - AT_LINE_RATE)
    }

    /// Fast recovery, additive increase or hyper increase, by the iterations that are over
    /// (equations 3 and 4; hyper increase as in IEEE 802.1Qau, which the paper refers to).
    fn increase(&mut self, settings: &Settings) {
        let most = self.timer_count.max(self.byte_count);
        let least = self.timer_count.min(self.byte_count);
        if least > settings.fast {
            self.target += (least - settings.fast) * settings.hyper;
        } else if most >= settings.fast {
            self.target += settings.additive;
        }
        self.target = self.target.min(settings.line_rate);
        self.current = 0.5 * (self.current + self.target);
    }
}

/// DCQCN on packets.
#[derive(Clone, Debug)]
pub struct DcqcnController {
    settings: Settings,
    /// Bytes in a full packet.
    payload: f64,
    window: OwnWindow,
    /// The state after the first notification; none before, when the flow sends at the line rate.
    limiter: Option<ReactionPoint>,
    /// When the last notification came; none for never.
    notified: Option<Time>,
    /// The next packet to send in order, at the last acknowledgment.
    next: u64,
}

impl DcqcnController {
    /// The rate of the flow, bits per second.
    fn rate(&self) -> f64 {
        self.limiter
            .map_or(self.settings.line_rate, |limiter| limiter.current)
    }

    /// The NP sends a notification, unless it has sent one within the interval (section 3.1).
    fn notify(&mut self, now: Time) {
        let elapsed = |at| now.saturating_sub(at);
        if self
            .notified
            .is_some_and(|at| elapsed(at) < self.settings.cnp_interval)
        {
            return;
        }
        self.notified = Some(now);
        self.limiter
            .get_or_insert_with(|| ReactionPoint::new(&self.settings))
            .notify(&self.settings, now);
    }
}

impl CongestionControl for DcqcnController {
    fn requirements(&self) -> Requirements {
        Requirements {
            accurate_ecn: true,
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
            rate: self.rate() / (8.0 * self.payload),
            quantum: 1.0,
        })
    }

    fn on_ack(&mut self, _: &mut Window, _: &Ack, _: &Path) {}

    /// The rate does not depend on pauses of the application.
    fn on_idle(&mut self, _: &mut Window, _: &crate::packet::Idle) {}

    /// A timeout. The samples tell of other losses, those within a recovery among them.
    fn on_congestion_event(
        &mut self,
        window: &mut Window,
        event: CongestionEvent,
        now: Time,
        _: &Path,
    ) {
        self.window.adopt(window);
        if event == CongestionEvent::Timeout {
            self.window.close();
            self.notify(now);
        }
        self.window.apply(window);
    }

    fn on_sample(&mut self, window: &mut Window, sample: &Sample, _: &Path) {
        self.window.adopt(window);
        self.window.open(sample);
        self.window.apply(window);
        let sent = sample.next.saturating_sub(self.next);
        self.next = self.next.max(sample.next);
        if let Some(limiter) = &mut self.limiter {
            limiter.advance(&self.settings, sent as f64 * self.payload, sample.now);
        }
        if sample.marked > 0.0 || sample.lost > 0.0 {
            self.notify(sample.now);
        }
    }

    fn on_undo(&mut self, before: &Self) {
        let mut window = self.window;
        window.undo(&before.window);
        *self = Self {
            window,
            ..before.clone()
        };
    }
}

impl Registered for DcqcnController {
    const DESCRIPTION: Description = Description::scalable(parameter::Description {
        name: "dcqcn",
        aliases: &[],
        title: "DCQCN: the rate control of RoCEv2, which reacts to marks of congestion",
        formula: &[
            "a mark, at most one per cnp_interval: R_T = R_C, R_C = R_C (1 − α/2), α = (1 − g) α + g",
            "each alpha_timer without one: α = (1 − g) α",
            "each timer or byte_counter: R_C = (R_C + R_T)/2, after f of them R_T += r_ai before",
            "after f of both: R_T += i r_hai before, with i the smaller number of them − f",
            "a flow starts at line_rate with α = 1; a loss is a mark",
        ],
        source: "Zhu et al., SIGCOMM 2015, section 3",
        checked: &[
            parameter::Evidence::Theory(
                "the fixed point of Zhu et al., CoNEXT 2016, section 3: marks, alpha and queue",
            ),
            parameter::Evidence::Trace("the rules of the cut, the recovery and the increase"),
        ],
        parameters: &[
            Parameter {
                name: "g",
                meaning: "Weight of a notification in α (equation 1); the value of the paper's deployment.",
                kind: ParameterKind::Number {
                    min: 1e-6,
                    max: 1.0,
                    unit: "",
                },
                default: Value::Number(1.0 / 256.0),
            },
            Parameter {
                name: "timer",
                meaning: "Time T between increases of the rate; the value of the paper's deployment.",
                kind: ParameterKind::Time,
                default: Value::Time(Time::from_micros(55)),
            },
            Parameter {
                name: "byte_counter",
                meaning: "Bytes B sent between increases of the rate; the value of the paper's deployment.",
                kind: ParameterKind::Bytes,
                default: Value::Bytes(Bytes::new(10_000_000)),
            },
            Parameter {
                name: "f",
                meaning: "Iterations F of fast recovery (section 3.1).",
                kind: ParameterKind::Number {
                    min: 0.0,
                    max: 1000.0,
                    unit: "iterations",
                },
                default: Value::Number(5.0),
            },
            Parameter {
                name: "r_ai",
                meaning: "Additive increase R_AI of the target rate (section 3.1).",
                kind: ParameterKind::Rate,
                default: Value::Rate(Rate::from_bits_per_second(40_000_000)),
            },
            Parameter {
                name: "r_hai",
                meaning: "Hyper increase R_HAI of the target rate; ten times `r_ai`, as in public simulators.",
                kind: ParameterKind::Rate,
                default: Value::Rate(Rate::from_bits_per_second(400_000_000)),
            },
            Parameter {
                name: "alpha_timer",
                meaning: "Time K without a notification after which α falls (equation 2), longer than `cnp_interval`.",
                kind: ParameterKind::Time,
                default: Value::Time(Time::from_micros(55)),
            },
            Parameter {
                name: "cnp_interval",
                meaning: "Time N that at least lies between notifications of a flow (section 3.1).",
                kind: ParameterKind::Time,
                default: Value::Time(Time::from_micros(50)),
            },
            Parameter {
                name: "min_rate",
                meaning: "Smallest rate; value of alibaba-edu/High-Precision-Congestion-Control.",
                kind: ParameterKind::Rate,
                default: Value::Rate(Rate::from_bits_per_second(100_000_000)),
            },
            Parameter {
                name: "line_rate",
                meaning: "Rate at which a flow starts, and the largest one: that of the network card (section 3.1).",
                kind: ParameterKind::Rate,
                default: Value::Rate(Rate::from_bits_per_second(40_000_000_000)),
            },
        ],
    });

    fn new(parameters: &Parameters, _: StreamKey) -> Self {
        let rate = |name| parameters.rate(name).as_bits_per_second() as f64;
        let timer = |name| parameters.time(name).max(SHORTEST_TIMER);
        let min_rate = rate("min_rate").max(SMALLEST_RATE);
        Self {
            settings: Settings {
                g: parameters.number("g"),
                fast: parameters.number("f"),
                additive: rate("r_ai"),
                hyper: rate("r_hai"),
                min_rate,
                line_rate: rate("line_rate").max(min_rate),
                timer: timer("timer"),
                byte_counter: parameters.bytes("byte_counter").get().max(1) as f64,
                alpha_timer: timer("alpha_timer"),
                cnp_interval: parameters.time("cnp_interval"),
            },
            payload: 1.0,
            window: OwnWindow::default(),
            limiter: None,
            notified: None,
            next: 0,
        }
    }
}

#[cfg(test)]
mod tests;
