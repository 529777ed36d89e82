//! H-TCP (Leith and Shorten 2004): the increase grows with the time since the last cut, the
//! cut adapts to the ratio of smallest to largest round-trip time. On packets it is the paper's or
//! Linux's.

mod growth;
mod law;
mod linux;

use forebay_random::StreamKey;
use forebay_units::parameter::{self, Parameter, ParameterKind, Parameters, Value};

pub use growth::HtcpGrowth;
pub use law::{Htcp, RateSwitch};
pub use linux::LinuxHtcp;

use crate::classic::Classic;
use crate::one_of::one_of;
use crate::registration::{Description, Registered};
use crate::slow_start::{Standard, UpToThreshold};

one_of! {
    /// H-TCP on packets: which one, the parameters say.
    pub enum HtcpController {
        /// The paper's.
        Published(Classic<Standard, HtcpGrowth>),
        /// Linux's.
        Linux(Box<Classic<UpToThreshold, LinuxHtcp>>),
    }
}

impl Registered for HtcpController {
    const DESCRIPTION: Description = Description::classic(parameter::Description {
        name: "htcp",
        aliases: &[],
        title: "H-TCP: the increase grows with the time since the last reduction, and the reduction adapts to the queue",
        formula: &[
            "growth: W += 2 (1 − β) f(t)/W per packet acknowledged, with t the seconds since the last cut",
            "f(t) = 1 up to 1 s, then 1 + 10 (t − 1) + ((t − 1)/2)²",
            "a loss: W = β F, with F packets in flight and β = RTT_min/RTT_max between 0.5 and 0.8",
            "with rate_switch β is 0.5 where the rate changed by more than 20 % between two cuts",
        ],
        source: "Leith and Shorten 2004; draft-leith-tcp-htcp-06",
        checked: &[
            parameter::Evidence::Program("ns-2.35: Linux 2.6's htcp"),
            parameter::Evidence::Trend("ns-3.48: TcpHtcp"),
        ],
        parameters: &[
            Parameter {
                name: "rate_switch",
                meaning: "Whether the reduction returns to one half if the rate changed by more than 20 % between reductions.",
                kind: ParameterKind::Switch,
                default: Value::Switch(true),
            },
            Parameter {
                name: "variant",
                meaning: "The paper, or tcp_htcp.c of Linux: whole packets, growth scaled by the round trip, two halvings where the measured rate changed (packet engine only). The preset `linux` sets `linux`.",
                kind: ParameterKind::Choice {
                    words: &["paper", "linux"],
                },
                default: Value::Word("paper"),
            },
        ],
    });

    fn new(parameters: &Parameters, _: StreamKey) -> Self {
        let law = Htcp::published(parameters);
        if parameters.word("variant") == "linux" {
            Self::Linux(Box::new(Classic::of(UpToThreshold, LinuxHtcp::new(&law))))
        } else {
            Self::Published(Classic::of(Standard, HtcpGrowth::new(&law)))
        }
    }
}
