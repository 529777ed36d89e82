//! AIMD(a, b): additive increase, multiplicative decrease (Chiu and Jain 1989).

use forebay_random::StreamKey;
use forebay_units::Time;
use forebay_units::parameter::{self, Parameter, ParameterKind, Parameters, Value};

use crate::classic::{Classic, WindowGrowth};
use crate::law::{
    CUT_RANGE, CutConditions, Epoch, EulerStep, FluidFace, FluidWindow, GROWTH_RANGE, LawError,
};
use crate::packet::{Ack, CongestionEvent, Path, Window};
use crate::registration::{Description, Registered};
use crate::slow_start::Standard;

/// Parameters of AIMD.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aimd {
    /// Increase a, packets per round trip. Default 1 (RFC 5681).
    pub increase: f64,
    /// Cut fraction b of the window. Default 1/2 (RFC 5681).
    pub decrease: f64,
}

impl Default for Aimd {
    fn default() -> Self {
        Self {
            increase: 1.0,
            decrease: 0.5,
        }
    }
}

impl Aimd {
    /// Refuses parameters outside their ranges.
    pub fn check(&self) -> Result<(), LawError> {
        LawError::within("aimd", "increase", self.increase, GROWTH_RANGE)?;
        LawError::within("aimd", "decrease", self.decrease, CUT_RANGE)
    }
}

// --- Fluid face ---

/// W' = a / R; the position is the window.
impl FluidWindow for Aimd {
    fn start(&self, window: f64) -> Epoch {
        Epoch {
            position: window,
            ..Epoch::default()
        }
    }

    #[inline]
    fn window(&self, _: &Epoch, position: f64, _: f64) -> f64 {
        position
    }

    #[inline]
    fn window_slopes(&self, _: &Epoch, _: f64, _: f64) -> (f64, f64) {
        (1.0, 0.0)
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
    fn window_integral(&self, epoch: &Epoch, _: f64, span: f64, round_trip: f64) -> f64 {
        span * (epoch.position + 0.5 * self.increase * span / round_trip)
    }

    #[inline]
    fn derivatives(&self, _: &Epoch, position: f64, _: f64, inverse: f64) -> [f64; 4] {
        [position, self.increase * inverse, 0.0, 0.0]
    }

    fn cut(&self, epoch: &Epoch, window: f64, _: &CutConditions) -> Epoch {
        Epoch {
            position: (1.0 - self.decrease) * window,
            ..*epoch
        }
    }

    #[inline]
    fn euler_step(&self, _: &mut Epoch, window: f64, _: f64, step: EulerStep) -> f64 {
        window + self.increase * step.rounds
    }
}

impl FluidFace for Aimd {
    const NAME: &'static str = "aimd";

    fn of(parameters: &Parameters) -> Option<Self> {
        Some(Self {
            increase: parameters.number("increase"),
            decrease: parameters.number("decrease"),
        })
    }
}

// --- Packet face ---

impl WindowGrowth for Aimd {
    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, _: &Path) {
        window.cwnd += self.increase * ack.acked / window.cwnd;
    }

    fn on_congestion_event(
        &mut self,
        window: &mut Window,
        event: CongestionEvent,
        _: Time,
        path: &Path,
    ) {
        window.cut((1.0 - self.decrease) * path.flight, event);
    }
}

/// AIMD(a, b) on packets.
pub type AimdController = Classic<Standard, Aimd>;

impl Registered for AimdController {
    const DESCRIPTION: Description = Description::classic(parameter::Description {
        name: "aimd",
        aliases: &[],
        title: "Additive increase, multiplicative decrease with free constants",
        formula: &[
            "growth: W += increase/W per packet acknowledged, so `increase` packets per round trip",
            "a loss: W = (1 − decrease) F, with F packets in flight",
        ],
        source: "Chiu and Jain 1989; Yang and Lam 2000",
        checked: &[parameter::Evidence::Theory(
            "the square-root law and the closed form of one flow",
        )],
        parameters: &[
            Parameter {
                name: "increase",
                meaning: "Growth of the window.",
                kind: ParameterKind::Number {
                    min: 1e-3,
                    max: 1e6,
                    unit: "packets per round trip",
                },
                default: Value::Number(1.0),
            },
            Parameter {
                name: "decrease",
                meaning: "Part of the window that a reduction removes.",
                kind: ParameterKind::Number {
                    min: 0.01,
                    max: 0.99,
                    unit: "fraction",
                },
                default: Value::Number(0.5),
            },
        ],
    });

    fn new(parameters: &Parameters, _: StreamKey) -> Self {
        Self::of(Standard, Aimd::of(parameters).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::tests::assert_consistent;

    #[test]
    fn the_fluid_face_is_consistent() {
        let law = Aimd {
            increase: 0.7,
            decrease: 0.3,
        };
        assert_consistent(&law, law.start(250.0), 0.12);
    }

    #[test]
    fn a_cut_keeps_one_minus_b() {
        let at = CutConditions {
            clock: 3.0,
            rate: 1.0,
            propagation: 0.1,
            largest_round_trip: 0.2,
        };
        let epoch = Aimd::default().cut(&Aimd::default().start(10.0), 64.0, &at);
        assert_eq!(epoch.position, 32.0);
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        for decrease in [0.0, 1.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = Aimd {
                increase: 1.0,
                decrease,
            }
            .check()
            .unwrap_err();
            assert_eq!(error.parameter, "decrease");
        }
        assert!(
            Aimd {
                increase: 0.0,
                decrease: 0.5
            }
            .check()
            .is_err()
        );
        assert!(Aimd::default().check().is_ok());
    }
}
