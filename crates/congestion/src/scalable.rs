//! Scalable TCP (Kelly 2003): W grows by a fixed fraction per round trip and falls by another.

mod linux;

use forebay_random::StreamKey;
use forebay_units::Time;
use forebay_units::parameter::{self, Parameter, ParameterKind, Parameters, Value};

pub use linux::{Count, LinuxScalable};

use crate::classic::{Classic, WindowGrowth};
use crate::law::{CUT_RANGE, CutConditions, Epoch, EulerStep, FluidFace, FluidWindow, LawError};
use crate::one_of::one_of;
use crate::packet::{Ack, CongestionEvent, Path, Window};
use crate::registration::{Description, Registered};
use crate::slow_start::Standard;

/// Parameters of Scalable TCP.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scalable {
    /// Increase in packets per acknowledged packet. Default 0.01 (Kelly 2003).
    pub increase: f64,
    /// Cut fraction of the window. Default 1/8 (Kelly 2003).
    pub decrease: f64,
}

impl Default for Scalable {
    fn default() -> Self {
        Self {
            increase: 0.01,
            decrease: 0.125,
        }
    }
}

impl Scalable {
    /// Refuses parameters outside their ranges.
    pub fn check(&self) -> Result<(), LawError> {
        LawError::within(
            "scalable",
            "increase",
            self.increase,
            (1e-9, 1.0, "1e-9 to 1"),
        )?;
        LawError::within("scalable", "decrease", self.decrease, CUT_RANGE)
    }
}

// --- Fluid face ---

/// Position at which windows stop growing, ln(1e15): keeps every window finite.
const LARGEST_POSITION: f64 = 34.538776394910684;

/// W' = a W / R; the position is ln W.
impl FluidWindow for Scalable {
    fn start(&self, window: f64) -> Epoch {
        Epoch {
            position: libm::log(window),
            ..Epoch::default()
        }
    }

    #[inline]
    fn window(&self, _: &Epoch, position: f64, _: f64) -> f64 {
        libm::exp(position.min(LARGEST_POSITION))
    }

    #[inline]
    fn window_slopes(&self, epoch: &Epoch, position: f64, clock: f64) -> (f64, f64) {
        (self.window(epoch, position, clock), 0.0)
    }

    #[inline]
    fn growth_per_round(&self, _: &Epoch, _: f64) -> f64 {
        self.increase
    }

    #[inline]
    fn growth_slope(&self, _: &Epoch, _: f64) -> f64 {
        0.0
    }

    #[inline]
    fn growth_integral(&self, _: &Epoch, _: f64, span: f64) -> f64 {
        self.increase * span
    }

    #[inline]
    fn window_integral(&self, epoch: &Epoch, clock: f64, span: f64, round_trip: f64) -> f64 {
        let exponent = self.increase * span / round_trip;
        let start = self.window(epoch, epoch.position, clock);
        if exponent < 1e-9 {
            return start * span * (1.0 + 0.5 * exponent);
        }
        start * libm::expm1(exponent) * round_trip / self.increase
    }

    #[inline]
    fn derivatives(&self, epoch: &Epoch, position: f64, clock: f64, inverse: f64) -> [f64; 4] {
        let window = self.window(epoch, position, clock);
        let rate = self.increase * inverse;
        [
            window,
            rate * window,
            rate * rate * window,
            rate * rate * rate * window,
        ]
    }

    fn cut(&self, epoch: &Epoch, window: f64, _: &CutConditions) -> Epoch {
        Epoch {
            position: libm::log((1.0 - self.decrease) * window),
            ..*epoch
        }
    }

    #[inline]
    fn euler_step(&self, _: &mut Epoch, window: f64, _: f64, step: EulerStep) -> f64 {
        window * (1.0 + self.increase * step.rounds)
    }
}

impl FluidFace for Scalable {
    const NAME: &'static str = "scalable";

    fn of(parameters: &Parameters) -> Option<Self> {
        Some(Self {
            increase: parameters.number("increase"),
            decrease: parameters.number("decrease"),
        })
    }
}

// --- Packet face ---

/// Scalable TCP's growth; windows below `low_window` are Reno's (Kelly 2003 section 2).
#[derive(Clone, Debug)]
pub struct ScalableGrowth {
    law: Scalable,
    low_window: f64,
}

/// The window below which the published one is Reno's (Kelly 2003 section 2).
const LOW_WINDOW: f64 = 16.0;

impl Default for ScalableGrowth {
    fn default() -> Self {
        Self {
            law: Scalable::default(),
            low_window: LOW_WINDOW,
        }
    }
}

impl WindowGrowth for ScalableGrowth {
    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, _: &Path) {
        let reno = 1.0 / window.cwnd;
        let step = if window.cwnd < self.low_window {
            reno
        } else {
            self.law.increase
        };
        window.cwnd += step * ack.acked;
    }

    fn on_congestion_event(
        &mut self,
        window: &mut Window,
        event: CongestionEvent,
        _: Time,
        path: &Path,
    ) {
        let cut = if path.flight < self.low_window {
            0.5
        } else {
            self.law.decrease
        };
        window.cut((1.0 - cut) * path.flight, event);
    }
}

one_of! {
    /// Scalable TCP on packets: which one, the parameters say.
    pub enum ScalableController {
        /// Kelly 2003.
        Published(Classic<Standard, ScalableGrowth>),
        /// Linux.
        Linux(Classic<Standard, LinuxScalable>),
    }
}

impl Registered for ScalableController {
    const DESCRIPTION: Description = Description::classic(parameter::Description {
        name: "scalable",
        aliases: &[],
        title: "Scalable TCP: multiplicative increase and decrease",
        formula: &[
            "growth: W += increase per packet acknowledged, so W grows by the same share each round trip",
            "a loss: W = (1 − decrease) F, with F packets in flight",
            "below low_window it is Reno",
            "Linux: one packet for every 50 acknowledgments (since 5.7 100 packets acknowledged), never faster than Reno; W − ⌊W/8⌋",
        ],
        source: "Kelly 2003; Linux net/ipv4/tcp_scalable.c",
        checked: &[parameter::Evidence::Program(
            "Linux 5.5 over a switch port: scalable",
        )],
        parameters: &[
            Parameter {
                name: "increase",
                meaning: "Growth of the window.",
                kind: ParameterKind::Number {
                    min: 1e-6,
                    max: 1.0,
                    unit: "packets per packet acknowledged",
                },
                default: Value::Number(0.01),
            },
            Parameter {
                name: "decrease",
                meaning: "Part of the window that a reduction removes.",
                kind: ParameterKind::Number {
                    min: 0.01,
                    max: 0.99,
                    unit: "fraction",
                },
                default: Value::Number(0.125),
            },
            Parameter {
                name: "low_window",
                meaning: "Window below which it behaves as Reno.",
                kind: ParameterKind::Number {
                    min: 0.0,
                    max: 1e9,
                    unit: "packets",
                },
                default: Value::Number(LOW_WINDOW),
            },
            Parameter {
                name: "variant",
                meaning: "Increase and reduction as published, or those of Linux in whole packets with its own constants: up to 5.6, or since 5.7 (packet engine only). The preset `linux` sets `linux`.",
                kind: ParameterKind::Choice {
                    words: &["paper", "linux", "linux_5.7"],
                },
                default: Value::Word("paper"),
            },
        ],
    });

    fn new(parameters: &Parameters, _: StreamKey) -> Self {
        let linux = |count| Self::Linux(Classic::of(Standard, LinuxScalable::new(count)));
        match parameters.word("variant") {
            "linux" => linux(Count::LINUX_5_6),
            "linux_5.7" => linux(Count::LINUX_5_7),
            _ => {
                let growth = ScalableGrowth {
                    law: Scalable::of(parameters).unwrap_or_default(),
                    low_window: parameters.number("low_window"),
                };
                Self::Published(Classic::of(Standard, growth))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::tests::assert_consistent;

    #[test]
    fn the_fluid_face_is_consistent() {
        let law = Scalable::default();
        assert_consistent(&law, law.start(400.0), 0.1);
    }

    #[test]
    fn recovery_time_does_not_depend_on_the_window() {
        // Kelly 2003: ln(1/(1 - b)) / a = 13.4 round trips back to the peak.
        let law = Scalable::default();
        let rounds = -libm::log(1.0 - law.decrease) / law.increase;
        assert!((rounds - 13.35).abs() < 0.01);
        for w in [10.0, 1e5] {
            let epoch = law.start(w * (1.0 - law.decrease));
            let back = law.window(&epoch, epoch.position + law.increase * rounds, 0.0);
            assert!((back / w - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        assert!(
            Scalable {
                increase: f64::NAN,
                decrease: 0.1
            }
            .check()
            .is_err()
        );
        assert!(
            Scalable {
                increase: 0.01,
                decrease: 1.0
            }
            .check()
            .is_err()
        );
        assert!(Scalable::default().check().is_ok());
    }
}
