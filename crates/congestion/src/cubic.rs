//! CUBIC (Ha, Rhee and Xu 2008; RFC 9438): the window is a cubic function of the time since the
//! last cut, centered on the window at which the loss happened. On packets it is RFC 9438's or
//! Linux's.

mod curve;
mod law;
mod linux;
mod linux_2_6;
mod rfc9438;

use forebay_random::StreamKey;
use forebay_units::parameter::{self, Parameter, ParameterKind, Parameters, Value};

pub use law::{Cubic, FastConvergence, FriendlyRegion};
pub use linux::LinuxCubic;
pub use linux_2_6::Linux26Cubic;
pub use rfc9438::CubicGrowth;

use crate::classic::Classic;
use crate::law::FluidFace;
use crate::one_of::one_of;
use crate::registration::{Description, Registered};
use crate::slow_start::{Hystart, HystartPlusPlus, MillisecondHystart, Standard, UpToThreshold};

one_of! {
    /// CUBIC on packets: which one, the parameters say.
    pub enum CubicController {
        /// RFC 9438.
        Rfc(Classic<Standard, CubicGrowth>),
        /// The same with HyStart++.
        RfcHystart(Box<Classic<HystartPlusPlus, CubicGrowth>>),
        /// Linux, which has its own HyStart.
        Linux(Box<Classic<Hystart, LinuxCubic>>),
        /// Linux up to 5.5, whose HyStart counts milliseconds.
        Linux5(Box<Classic<MillisecondHystart, LinuxCubic>>),
        /// Linux 2.6.22, which has none.
        Linux26(Box<Classic<UpToThreshold, Linux26Cubic>>),
    }
}

impl Registered for CubicController {
    const DESCRIPTION: Description = Description::classic(parameter::Description {
        name: "cubic",
        aliases: &[],
        title: "CUBIC: window as a cubic function of the time since the last reduction",
        formula: &[
            "growth: W(t) = C (t − K)³ + W_max, with t the seconds since the last cut",
            "K = ((W_max − β W_max)/C)^(1/3): the time until W is W_max again",
            "a loss: W = β F, with F packets in flight; W_max = F, or (1 + β)/2 of it with fast convergence where it fell",
            "never below Reno at the same loss rate, whose growth is 3 (1 − β)/(1 + β) packets per round trip",
            "C: `scale`, β: `beta`",
        ],
        source: "RFC 9438; Ha, Rhee and Xu 2008 with beta = 0.8",
        checked: &[
            parameter::Evidence::Program("ns-2.35: Linux 2.6's cubic"),
            parameter::Evidence::Program("Linux 6.18: cubic"),
            parameter::Evidence::Program("Linux 5.5 over a switch port: cubic"),
            parameter::Evidence::Trend("ns-3.48: TcpCubic"),
        ],
        parameters: &[
            Parameter {
                name: "beta",
                meaning: "Part of the window that remains after a reduction (RFC 9438 section 4.6; 0.8 in the 2008 paper).",
                kind: ParameterKind::Number {
                    min: 0.1,
                    max: 0.99,
                    unit: "fraction",
                },
                default: Value::Number(0.7),
            },
            Parameter {
                name: "scale",
                meaning: "Constant C (RFC 9438 section 5).",
                kind: ParameterKind::Number {
                    min: 1e-6,
                    max: 1e6,
                    unit: "packets per s³",
                },
                default: Value::Number(0.4),
            },
            Parameter {
                name: "fast_convergence",
                meaning: "Whether the flow releases bandwidth when the peak falls (RFC 9438 section 4.7).",
                kind: ParameterKind::Switch,
                default: Value::Switch(true),
            },
            Parameter {
                name: "friendly_region",
                meaning: "Whether the window never grows more slowly than that of Reno (RFC 9438 section 4.3).",
                kind: ParameterKind::Switch,
                default: Value::Switch(true),
            },
            Parameter {
                name: "hystart",
                meaning: "Whether slow start ends when the round-trip time grows (HyStart++, RFC 9406).",
                kind: ParameterKind::Switch,
                default: Value::Switch(false),
            },
            Parameter {
                name: "variant",
                meaning: "RFC 9438; tcp_cubic.c of Linux since 5.6 (whole packets, its own HyStart) or up to 5.5 (a HyStart that counts milliseconds); or Linux 2.6.22, for use with beta = 0.8. The preset `linux` sets `linux`.",
                kind: ParameterKind::Choice {
                    words: &["rfc", "linux", "linux_5_5", "linux_2_6"],
                },
                default: Value::Word("rfc"),
            },
        ],
    });

    fn new(parameters: &Parameters, _: StreamKey) -> Self {
        let beta = parameters.number("beta");
        let law = Cubic::of(parameters).unwrap_or_default();
        match parameters.word("variant") {
            "linux" => {
                let linux = LinuxCubic::new(&law, beta);
                return Self::Linux(Box::new(Classic::of(Hystart::default(), linux)));
            }
            "linux_5_5" => {
                let linux = LinuxCubic::new(&law, beta);
                let hystart = MillisecondHystart::default();
                return Self::Linux5(Box::new(Classic::of(hystart, linux)));
            }
            "linux_2_6" => {
                let linux = Linux26Cubic::new(&law, beta);
                return Self::Linux26(Box::new(Classic::of(UpToThreshold, linux)));
            }
            _ => {}
        }
        let growth = CubicGrowth::new(&law, beta);
        if parameters.switch("hystart") {
            let hystart = HystartPlusPlus::default();
            Self::RfcHystart(Box::new(Classic::of(hystart, growth)))
        } else {
            Self::Rfc(Classic::of(Standard, growth))
        }
    }
}

#[cfg(test)]
mod tests {
    use forebay_units::Time;

    use super::*;
    use crate::packet::tests::window;
    use crate::packet::{Ack, CongestionControl, CongestionEvent, Idle, Path};
    use crate::registration::tests::{default_controller, variant};

    /// The window after 40 round trips of 100 ms since a loss at 1000 packets. In the middle the
    /// controller learns of an idle time of `pause`, while the clock advances by `passed`.
    fn grown(mut cubic: CubicController, pause: Time, passed: Time) -> f64 {
        let path = Path {
            smoothed_rtt: 0.1,
            min_rtt: 0.1,
            max_rtt: 0.1,
            flight: 1000.0,
        };
        let mut window = window(1000.0, 10.0);
        cubic.on_congestion_event(&mut window, CongestionEvent::Loss, Time::ZERO, &path);
        let mut now = Time::ZERO;
        for round in 0..40 {
            if round == 20 {
                now = now.saturating_add(passed);
                let idle = Idle {
                    time: pause,
                    now,
                    restart_window: None,
                };
                cubic.on_idle(&mut window, &idle);
            }
            now = now.saturating_add(Time::from_millis(100));
            let acked = window.cwnd;
            cubic.on_ack(&mut window, &Ack { acked, now }, &path);
        }
        window.cwnd
    }

    /// RFC 9438 section 5.8: an hour of silence in the middle of an epoch changes nothing.
    #[test]
    fn the_epoch_stands_still_while_nothing_is_under_way() {
        let [steady, paused] = [Time::ZERO, Time::from_secs(3600)]
            .map(|pause| grown(default_controller(), pause, pause));
        assert!(steady > 710.0);
        assert!((paused / steady - 1.0).abs() < 1e-9, "{paused} {steady}");
    }

    /// `cubictcp_cwnd_event` of Linux 6.8: what is taken for silence may begin before the epoch
    /// does.
    #[test]
    fn no_epoch_begins_later_than_now() {
        for word in ["rfc", "linux"] {
            let [none, short, long] =
                [0, 60, 3600].map(|pause| grown(variant(word), Time::from_secs(pause), Time::ZERO));
            assert_eq!(short, long, "{word}");
            assert_ne!(none, short, "{word}");
        }
    }

    #[test]
    fn an_undone_timeout_leaves_the_cubic_where_it_was_and_linux_forgets_it() {
        let grown = |word: &'static str, spurious: bool| {
            let mut cubic: CubicController = variant(word);
            let mut window = window(100.0, 50.0);
            let path = Path {
                flight: 100.0,
                ..Path::default()
            };
            cubic.on_congestion_event(
                &mut window,
                CongestionEvent::Loss,
                Time::from_secs(1),
                &path,
            );
            let ack = |millis| Ack {
                acked: 1.0,
                now: Time::from_millis(millis),
            };
            for millis in 1100..1500 {
                cubic.on_ack(&mut window, &ack(millis), &path);
            }
            if spurious {
                let (before, kept) = (cubic.clone(), window);
                cubic.on_congestion_event(
                    &mut window,
                    CongestionEvent::Timeout,
                    Time::from_secs(2),
                    &path,
                );
                for millis in 2100..2110 {
                    cubic.on_ack(&mut window, &ack(millis), &path);
                }
                window = kept;
                cubic.on_undo(&before);
            }
            for millis in 3000..3400 {
                cubic.on_ack(&mut window, &ack(millis), &path);
            }
            window.cwnd
        };
        assert_eq!(grown("rfc", true), grown("rfc", false));
        // Linux does not know the peak any more, and grows by 5 % per round trip without one.
        assert!(grown("linux", true) > grown("linux", false));
    }
}
