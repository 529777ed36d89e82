//! NewReno (RFC 5681, RFC 6582): AIMD(1/d, 1/2), d the packets acknowledged by one ACK.

mod linux;

use forebay_random::StreamKey;
use forebay_units::Time;
use forebay_units::parameter::{self, Parameter, ParameterKind, Parameters, Value};

pub use linux::LinuxReno;

use crate::aimd::Aimd;
use crate::classic::{Classic, WindowGrowth};
use crate::law::{CutConditions, Epoch, EulerStep, FluidFace, FluidWindow, LawError};
use crate::one_of::one_of;
use crate::packet::{Ack, CongestionEvent, Path, Window};
use crate::registration::{Description, Registered};
use crate::slow_start::{HystartPlusPlus, Standard};

/// Parameters of NewReno's congestion avoidance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewReno {
    /// Packets per ACK: 1 without delayed ACKs, 2 with them and without byte counting (RFC 3465).
    /// Default 1.
    pub packets_per_ack: f64,
}

impl Default for NewReno {
    fn default() -> Self {
        Self {
            packets_per_ack: 1.0,
        }
    }
}

impl NewReno {
    /// Refuses parameters outside their ranges.
    pub fn check(&self) -> Result<(), LawError> {
        let range = (1.0, 1000.0, "1 to 1000");
        LawError::within("newreno", "packets_per_ack", self.packets_per_ack, range)
    }

    #[inline]
    fn aimd(self) -> Aimd {
        Aimd {
            increase: 1.0 / self.packets_per_ack,
            decrease: 0.5,
        }
    }
}

// --- Fluid face ---

/// W' = 1 / (d R); the position is the window.
impl FluidWindow for NewReno {
    fn start(&self, window: f64) -> Epoch {
        self.aimd().start(window)
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
        self.aimd().increase
    }

    #[inline]
    fn growth_slope(&self, _: &Epoch, _: f64) -> f64 {
        0.0
    }

    #[inline]
    fn growth_integral(&self, epoch: &Epoch, from: f64, span: f64) -> f64 {
        self.aimd().growth_integral(epoch, from, span)
    }

    #[inline]
    fn window_integral(&self, epoch: &Epoch, clock: f64, span: f64, round_trip: f64) -> f64 {
        self.aimd().window_integral(epoch, clock, span, round_trip)
    }

    #[inline]
    fn derivatives(&self, epoch: &Epoch, position: f64, clock: f64, inverse: f64) -> [f64; 4] {
        self.aimd().derivatives(epoch, position, clock, inverse)
    }

    fn cut(&self, epoch: &Epoch, window: f64, at: &CutConditions) -> Epoch {
        self.aimd().cut(epoch, window, at)
    }

    #[inline]
    fn euler_step(&self, epoch: &mut Epoch, window: f64, clock: f64, step: EulerStep) -> f64 {
        self.aimd().euler_step(epoch, window, clock, step)
    }
}

impl FluidFace for NewReno {
    const NAME: &'static str = "newreno";

    fn of(_: &Parameters) -> Option<Self> {
        Some(Self::default())
    }
}

// --- Packet face ---

/// Reno's growth: one packet per window acknowledged, and half of the window at a congestion (RFC
/// 5681 equations 3 and 4, with the remainder carried).
#[derive(Clone, Copy, Debug, Default)]
pub struct RenoGrowth;

impl WindowGrowth for RenoGrowth {
    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, _: &Path) {
        window.cwnd += ack.acked / window.cwnd;
    }

    fn on_congestion_event(
        &mut self,
        window: &mut Window,
        event: CongestionEvent,
        _: Time,
        path: &Path,
    ) {
        window.cut(0.5 * path.flight, event);
    }
}

one_of! {
    /// Reno on packets: which one, the parameters say.
    pub enum NewRenoController {
        /// RFC 5681.
        Rfc(Classic<Standard, RenoGrowth>),
        /// Linux.
        Linux(Classic<Standard, LinuxReno>),
        /// RFC 5681 with HyStart++.
        RfcHystart(Classic<HystartPlusPlus, RenoGrowth>),
        /// Linux with HyStart++.
        LinuxHystart(Classic<HystartPlusPlus, LinuxReno>),
    }
}

impl Registered for NewRenoController {
    const DESCRIPTION: Description = Description::classic(parameter::Description {
        name: "newreno",
        aliases: &["reno"],
        title: "New Reno: one packet more per round trip, half of the window at a loss",
        formula: &[
            "slow start: W grows by 1 packet per packet acknowledged, until W = ssthresh",
            "growth: W += 1/W per packet acknowledged, so 1 packet per round trip",
            "a loss: W = ssthresh = F/2, with F packets in flight",
        ],
        source: "RFC 5681, RFC 6582",
        checked: &[
            parameter::Evidence::Program("ns-2.35: 1 to 200 flows, without SACK and with it"),
            parameter::Evidence::Program("Linux 6.18: reno"),
            parameter::Evidence::Program("Linux 5.5 over a switch port: reno"),
            parameter::Evidence::Trend("ns-3.48: TcpNewReno, TcpLinuxReno"),
            parameter::Evidence::Theory("the sawtooth and the square-root law of one flow"),
        ],
        parameters: &[
            Parameter {
                name: "hystart",
                meaning: "Whether slow start ends when the round-trip time grows (HyStart++, RFC 9406).",
                kind: ParameterKind::Switch,
                default: Value::Switch(false),
            },
            Parameter {
                name: "variant",
                meaning: "RFC 5681 with the remainder carried, or whole packets as Linux counts them. The preset `linux` sets `linux`.",
                kind: ParameterKind::Choice {
                    words: &["rfc", "linux"],
                },
                default: Value::Word("rfc"),
            },
        ],
    });

    fn new(parameters: &Parameters, _: StreamKey) -> Self {
        let linux = parameters.word("variant") == "linux";
        match (linux, parameters.switch("hystart")) {
            (false, false) => Self::Rfc(Classic::default()),
            (false, true) => Self::RfcHystart(Classic::default()),
            (true, false) => Self::Linux(Classic::default()),
            (true, true) => Self::LinuxHystart(Classic::default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::tests::assert_consistent;

    #[test]
    fn delayed_acks_halve_the_growth() {
        let law = NewReno {
            packets_per_ack: 2.0,
        };
        assert_consistent(&law, law.start(90.0), 0.08);
        assert_eq!(law.growth_per_round(&law.start(90.0), 1.0), 0.5);
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        assert!(
            NewReno {
                packets_per_ack: 0.0
            }
            .check()
            .is_err()
        );
        assert!(
            NewReno {
                packets_per_ack: f64::NAN
            }
            .check()
            .is_err()
        );
        assert!(NewReno::default().check().is_ok());
    }
}
