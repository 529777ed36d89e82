//! HighSpeed TCP (RFC 3649): larger increases and smaller cuts at large windows, by a response
//! function; on request with limited slow start (RFC 3742).

mod growth;
mod linux;
mod response;
mod trajectory;

use forebay_random::StreamKey;
use forebay_units::parameter::{self, Parameter, ParameterKind, Parameters, Value};

pub use growth::HstcpGrowth;
pub use linux::LinuxHstcp;
pub use response::HstcpResponse;
pub use trajectory::HstcpTrajectory;

use crate::classic::Classic;
use crate::one_of::one_of;
use crate::registration::{Description, Registered};
use crate::slow_start::{Limited, Standard, UpToThreshold};

one_of! {
    /// HighSpeed TCP on packets: which one, the parameters say.
    pub enum HstcpController {
        /// By RFC 3649's functions.
        Rfc(Classic<Standard, HstcpGrowth>),
        /// The same with limited slow start.
        RfcLimited(Classic<Limited, HstcpGrowth>),
        /// By its table, as Linux.
        Linux(Classic<UpToThreshold, LinuxHstcp>),
        /// The same with limited slow start.
        LinuxLimited(Classic<Limited, LinuxHstcp>),
    }
}

impl Registered for HstcpController {
    const DESCRIPTION: Description = Description::classic(parameter::Description {
        name: "hstcp",
        aliases: &["highspeed"],
        title: "HighSpeed TCP: larger increases and smaller reductions at large windows",
        formula: &[
            "growth: W += a(W)/W per packet acknowledged; a loss: W = (1 − b(F)) F, with F packets in flight",
            "up to low_window it is Reno: a = 1 and b = 1/2",
            "beyond: b falls on log W from 1/2 to high_decrease at high_window",
            "a(W) = W² p(W) 2 b(W)/(2 − b(W)), with p(W) a line in log W and log p from low_loss to high_loss",
        ],
        source: "RFC 3649; limited slow start RFC 3742",
        checked: &[
            parameter::Evidence::Program(
                "ns-2.35: its own HighSpeed TCP and Linux 2.6's highspeed",
            ),
            parameter::Evidence::Trend("ns-3.48: TcpHighSpeed"),
        ],
        parameters: &[
            Parameter {
                name: "low_window",
                meaning: "Low_Window: window up to which it is Reno.",
                kind: ParameterKind::Number {
                    min: 2.0,
                    max: 1e6,
                    unit: "packets",
                },
                default: Value::Number(38.0),
            },
            Parameter {
                name: "high_window",
                meaning: "High_Window: window at the loss probability `high_loss`.",
                kind: ParameterKind::Number {
                    min: 10.0,
                    max: 1e9,
                    unit: "packets",
                },
                default: Value::Number(83000.0),
            },
            Parameter {
                name: "low_loss",
                meaning: "Low_P: loss probability at `low_window`.",
                kind: ParameterKind::Number {
                    min: 1e-6,
                    max: 0.1,
                    unit: "probability",
                },
                default: Value::Number(1e-3),
            },
            Parameter {
                name: "high_loss",
                meaning: "High_P: loss probability at `high_window`.",
                kind: ParameterKind::Number {
                    min: 1e-12,
                    max: 0.01,
                    unit: "probability",
                },
                default: Value::Number(1e-7),
            },
            Parameter {
                name: "high_decrease",
                meaning: "High_Decrease: part of the window that a reduction removes at `high_window`.",
                kind: ParameterKind::Number {
                    min: 0.01,
                    max: 0.5,
                    unit: "fraction",
                },
                default: Value::Number(0.1),
            },
            Parameter {
                name: "limited_slow_start",
                meaning: "max_ssthresh of RFC 3742: slow start adds at most half of it per round trip. Automatic: slow start has no such limit.",
                kind: ParameterKind::Number {
                    min: 2.0,
                    max: 1e9,
                    unit: "packets",
                },
                default: Value::Automatic,
            },
            Parameter {
                name: "variant",
                meaning: "Increase and reduction by the functions of RFC 3649, or by its table in whole packets as in Linux (packet engine only). The preset `linux` sets `linux`.",
                kind: ParameterKind::Choice {
                    words: &["rfc", "linux"],
                },
                default: Value::Word("rfc"),
            },
        ],
    });

    fn new(parameters: &Parameters, _: StreamKey) -> Self {
        let functions = || HstcpGrowth::by(HstcpResponse::of(parameters));
        let limited = match parameters.get("limited_slow_start") {
            Value::Number(max_ssthresh) => Some(Limited::above(max_ssthresh)),
            _ => None,
        };
        let linux = parameters.word("variant") == "linux";
        match (linux, limited) {
            (false, None) => Self::Rfc(Classic::of(Standard, functions())),
            (false, Some(limited)) => Self::RfcLimited(Classic::of(limited, functions())),
            (true, None) => Self::Linux(Classic::of(UpToThreshold, LinuxHstcp::default())),
            (true, Some(limited)) => {
                Self::LinuxLimited(Classic::of(limited, LinuxHstcp::default()))
            }
        }
    }
}
