//! H-TCP (Leith and Shorten 2004): the increase grows with the time since the last cut, the
//! cut adapts to the ratio of smallest to largest round-trip time. On packets it is the paper's or
//! Linux's.

mod growth;
mod law;

use forebay_random::StreamKey;
use forebay_units::parameter::{self, Parameter, ParameterKind, Parameters, Value};

pub use growth::{HtcpGrowth, HtcpVariant, LinuxHtcp, Published};
pub use law::{Htcp, RateSwitch};

use crate::classic::Classic;
use crate::one_of::one_of;
use crate::registration::{Description, Registered};
use crate::slow_start::Standard;

one_of! {
    /// H-TCP on packets: which one, the parameters say.
    pub enum HtcpController {
        /// The paper's.
        Published(Classic<Standard, HtcpGrowth<Published>>),
        /// Linux's.
        Linux(Classic<Standard, HtcpGrowth<LinuxHtcp>>),
    }
}

impl Registered for HtcpController {
    const DESCRIPTION: Description = Description::classic(parameter::Description {
        name: "htcp",
        aliases: &[],
        title: "H-TCP: increase grows with the time since the last cut, cut adapts to the queue",
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
                meaning: "whether the cut returns to one half when the rate changed by more than 20 % between cuts",
                kind: ParameterKind::Switch,
                default: Value::Switch(true),
            },
            Parameter {
                name: "variant",
                meaning: "the paper's, or Linux's tcp_htcp.c: growth scaled by the round trip, two halvings where the rate changed (packet engine only)",
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
            Self::Linux(Classic::of(Standard, HtcpGrowth::new(&law)))
        } else {
            Self::Published(Classic::of(Standard, HtcpGrowth::new(&law)))
        }
    }
}

#[cfg(test)]
mod tests {
    use forebay_units::Time;

    use super::*;
    use crate::packet::tests::window;
    use crate::packet::{Ack, CongestionControl, Path, Signal};
    use crate::registration::tests::variant;

    /// The window that each of these rates leaves of 1000 packets, at cuts one after the other.
    fn kept(word: &'static str, rates: &[f64]) -> Vec<f64> {
        let mut controller: HtcpController = variant(word);
        let kept = rates.iter().map(|rate| {
            let path = Path {
                smoothed_rtt: 1000.0 / rate,
                min_rtt: 0.07,
                max_rtt: 0.1,
                flight: 1000.0,
            };
            let mut window = window(1000.0, 10.0);
            controller.on_congestion(&mut window, Signal::Loss, Time::ZERO, &path);
            (1e6 * window.cwnd).round() / 1e6
        });
        kept.collect()
    }

    #[test]
    fn linux_halves_twice_where_the_rate_changed() {
        let rates = [1e4, 1e4, 1e4, 1.3e4, 1.3e4, 1.3e4];
        let paper = [500.0, 700.0, 700.0, 500.0, 700.0, 700.0];
        assert_eq!(kept("paper", &rates), paper);
        let linux = [500.0, 500.0, 700.0, 500.0, 500.0, 700.0];
        assert_eq!(kept("linux", &rates), linux);
    }

    /// The packets that a window of 1000 gains in a round trip, 3 s after its first packet.
    fn gain_after_three_seconds(min_rtt: f64, word: &'static str) -> f64 {
        let mut controller: HtcpController = variant(word);
        let path = Path {
            smoothed_rtt: min_rtt,
            min_rtt,
            max_rtt: min_rtt,
            flight: 1000.0,
        };
        let mut window = window(1000.0, 10.0);
        let ack = |now, acked| Ack { acked, now };
        controller.on_ack(&mut window, &ack(Time::ZERO, 0.0), &path);
        controller.on_ack(&mut window, &ack(Time::from_secs(3), 1000.0), &path);
        window.cwnd - 1000.0
    }

    #[test]
    fn linux_divides_the_increase_by_the_inverse_round_trip_in_eighths() {
        // 1 + 10 x 2 + 2^2 / 4, and beta = 1/2.
        let alpha = 22.0;
        for rtt in [0.01, 0.12, 1.0] {
            assert_eq!(gain_after_three_seconds(rtt, "paper"), alpha);
        }
        // 0.8 s / 120 ms is 6 eighths, 0.8 s / 20 ms is 40.
        assert!((gain_after_three_seconds(0.12, "linux") - alpha * 8.0 / 6.0).abs() < 1e-9);
        assert!((gain_after_three_seconds(0.02, "linux") - alpha * 8.0 / 40.0).abs() < 1e-9);
        // Never less than half of it and ten times as much, and never less than one packet.
        assert!((gain_after_three_seconds(1.0, "linux") - 2.0 * alpha).abs() < 1e-9);
        assert!((gain_after_three_seconds(0.001, "linux") - 0.1 * alpha).abs() < 1e-9);
    }
}
