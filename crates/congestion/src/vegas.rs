//! TCP Vegas (Brakmo, O'Malley and Peterson 1994; Brakmo and Peterson 1995): keeps between alpha
//! and beta packets of its own in the queue, which it computes from the round-trip times.
//!
//! The paper leaves slow start when gamma packets queue. How far the window then falls is in the
//! authors' code only: an eighth, as in ns-2's port of it (tcp/tcp-vegas.cc). Losses are found and
//! answered here as by other controllers, and not by the paper's fine-grained timer, after which
//! its authors cut a quarter.

mod linux;
mod linux_2_6;

use forebay_random::StreamKey;
use forebay_units::Time;
use forebay_units::parameter::{self, Parameter, ParameterKind, Parameters, Value};

pub(crate) use linux::LinuxVegas;
pub(crate) use linux_2_6::Linux26Vegas;

use crate::classic::{Classic, WindowGrowth};
use crate::one_of::one_of;
use crate::packet::{Ack, CongestionEvent, Path, Requirements, Sample, Window};
use crate::registration::{Description, Registered};
use crate::slow_start::{AlternateRounds, EveryOtherRound, Standard};

/// Packets of the flow in the queue between which the window stays, and those that end slow start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// Packets in the queue below which the window grows.
    pub alpha: f64,
    /// Packets in the queue above which the window shrinks.
    pub beta: f64,
    /// Packets in the queue above which slow start ends.
    pub gamma: f64,
}

impl Default for Thresholds {
    /// The thresholds of Brakmo and Peterson 1995, and of Linux.
    fn default() -> Self {
        Self {
            alpha: 2.0,
            beta: 4.0,
            gamma: 1.0,
        }
    }
}

impl Thresholds {
    fn of(parameters: &Parameters) -> Self {
        let alpha = parameters.number("alpha");
        Self {
            alpha,
            beta: parameters.number("beta").max(alpha),
            gamma: parameters.number("gamma"),
        }
    }
}

/// The share of the window that remains after slow start (ns-2's tcp/tcp-vegas.cc: `cwnd_ -=
/// cwnd_/8`).
const SLOW_START_EXIT_SHARE: f64 = 7.0 / 8.0;

/// Vegas's growth as published.
#[derive(Clone, Copy, Debug, Default)]
pub struct VegasGrowth {
    thresholds: Thresholds,
    rounds: AlternateRounds,
}

impl VegasGrowth {
    /// The growth with these thresholds.
    pub fn new(thresholds: Thresholds) -> Self {
        Self {
            thresholds,
            rounds: AlternateRounds::default(),
        }
    }

    /// A round without losses is over, at whose end `queued` packets of the flow wait in the
    /// network.
    fn judge(&self, window: &mut Window, queued: f64, limited: bool) {
        if queued > self.thresholds.beta {
            window.cwnd = (window.cwnd - 1.0).max(Window::MIN_SSTHRESH);
            window.ssthresh = window.ssthresh.min(window.cwnd);
        } else if queued < self.thresholds.alpha && limited {
            window.cwnd += 1.0;
        }
    }
}

impl WindowGrowth for VegasGrowth {
    const NEEDS: Requirements = Requirements::ROUND_TRIPS;

    /// The window moves once per round trip.
    fn on_ack(&mut self, _: &mut Window, _: &Ack, _: &Path) {}

    fn on_congestion_event(
        &mut self,
        window: &mut Window,
        event: CongestionEvent,
        _: Time,
        path: &Path,
    ) {
        window.cut(0.5 * path.flight, event);
    }

    fn on_sample(&mut self, window: &mut Window, sample: &Sample, path: &Path) {
        let held = self.rounds.holds();
        if !self.rounds.begins(sample) || !sample.calm() {
            return;
        }
        // The round-trip time of the distinguished segment, whose acknowledgment this is.
        let Some(rtt) = sample.rtt else {
            return;
        };
        // Expected less actual rate, times the propagation time.
        let queued = window.cwnd * (1.0 - path.min_rtt / rtt);
        if window.cwnd >= window.ssthresh {
            self.judge(window, queued, sample.limited);
        } else if held && queued > self.thresholds.gamma {
            window.cwnd = (SLOW_START_EXIT_SHARE * window.cwnd).max(Window::MIN_SSTHRESH);
            window.ssthresh = Window::MIN_SSTHRESH;
        }
    }
}

one_of! {
    /// Vegas on packets: which one, the parameters say.
    pub enum VegasController {
        /// Brakmo and Peterson 1995.
        Published(Classic<EveryOtherRound, VegasGrowth>),
        /// Linux.
        Linux(Classic<Standard, LinuxVegas>),
        /// Linux 2.6.
        Linux26(Classic<Standard, Linux26Vegas>),
    }
}

impl Registered for VegasController {
    const DESCRIPTION: Description = Description::classic(parameter::Description {
        name: "vegas",
        aliases: &[],
        title: "Vegas: holds a few packets of each flow in the queue, measured by the round-trip time",
        formula: &[
            "queued = W (1 − RTT_min/RTT): packets of the flow that wait in the network",
            "once per round trip: W += 1 where queued < alpha, W −= 1 where queued > beta, else W stays",
            "slow start doubles W in every other round trip and ends where queued > gamma, with 7/8 of W",
            "a loss: W = F/2, with F packets in flight",
            "Linux: slow start doubles in each round trip and ends with W RTT_min/RTT + 1; RTT is the smallest of the round; queued = W (RTT/RTT_min − 1) in whole packets; W/2 after a loss",
        ],
        source: "Brakmo, O'Malley and Peterson 1994; Brakmo and Peterson 1995; Linux 5.2 net/ipv4/tcp_vegas.c",
        checked: &[parameter::Evidence::Trace(
            "the equilibrium of 2 to 4 packets in the queue, and that of latecomers after Low, Peterson and Wang 2002",
        )],
        parameters: &[
            Parameter {
                name: "alpha",
                meaning: "Packets of the flow in the queue below which the window grows.",
                kind: ParameterKind::Number {
                    min: 0.5,
                    max: 1e4,
                    unit: "packets",
                },
                default: Value::Number(2.0),
            },
            Parameter {
                name: "beta",
                meaning: "Packets of the flow in the queue above which the window shrinks.",
                kind: ParameterKind::Number {
                    min: 0.5,
                    max: 1e4,
                    unit: "packets",
                },
                default: Value::Number(4.0),
            },
            Parameter {
                name: "gamma",
                meaning: "Packets of the flow in the queue that end slow start.",
                kind: ParameterKind::Number {
                    min: 0.1,
                    max: 1e4,
                    unit: "packets",
                },
                default: Value::Number(1.0),
            },
            Parameter {
                name: "variant",
                meaning: "Slow start and measurement as published, those of Linux, or those of Linux 2.6.22 (ns-2). The preset `linux` sets `linux`.",
                kind: ParameterKind::Choice {
                    words: &["paper", "linux", "linux_2_6"],
                },
                default: Value::Word("paper"),
            },
        ],
    });

    fn new(parameters: &Parameters, _: StreamKey) -> Self {
        let thresholds = Thresholds::of(parameters);
        match parameters.word("variant") {
            "linux" => Self::Linux(Classic::of(Standard, LinuxVegas::new(thresholds))),
            "linux_2_6" => Self::Linux26(Classic::of(Standard, Linux26Vegas::new(thresholds))),
            _ => {
                let growth = VegasGrowth::new(thresholds);
                Self::Published(Classic::of(EveryOtherRound::default(), growth))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::CongestionControl;
    use crate::packet::tests::{rounds, sample, window};
    use crate::registration::tests::{default_controller, variant};

    fn both() -> [VegasController; 2] {
        [default_controller(), variant("linux")]
    }

    #[test]
    fn the_window_grows_by_one_each_round_below_alpha_and_shrinks_above_beta() {
        for vegas in both() {
            let after = |rtt| {
                let mut at = window(50.0, 20.0);
                rounds(
                    &mut vegas.clone(),
                    &mut at,
                    0.1,
                    &[0.1, rtt, rtt, rtt, rtt, rtt],
                );
                at.cwnd
            };
            // Five rounds of 20 acknowledgments, or four if the last one's end is not seen.
            assert!((54.0..=56.0).contains(&after(0.1)), "{}", after(0.1));
            // 50 (1 - 100/120) = 8.3 packets in the queue.
            assert!((45.0..=47.0).contains(&after(0.12)), "{}", after(0.12));
            // 3 packets: stay, after at most one round of growth.
            assert!((50.0..=51.0).contains(&after(0.1064)), "{}", after(0.1064));
        }
    }

    /// 40 packets on a path for 36: packets of a held round show what queues, those before do not
    /// count.
    #[test]
    fn slow_start_ends_after_a_held_round_that_queues() {
        let mut vegas: VegasController = default_controller();
        let mut at = window(40.0, f64::INFINITY);
        rounds(&mut vegas, &mut at, 0.1, &[0.1; 3]);
        assert_eq!((at.cwnd, at.ssthresh), (40.0, f64::INFINITY));
        rounds(&mut vegas, &mut at, 0.1, &[0.11; 3]);
        assert!(at.ssthresh <= 2.0);
        assert!((34.0..=36.0).contains(&at.cwnd), "{}", at.cwnd);
    }

    #[test]
    fn nothing_changes_within_a_round() {
        for mut vegas in both() {
            let mut at = window(50.0, 20.0);
            let mut seen = sample(0.1);
            seen.next = 1000;
            vegas.on_sample(&mut at, &seen, &Path::default());
            let before = at.cwnd;
            for _ in 0..100 {
                seen.acknowledged += 1;
                vegas.on_sample(&mut at, &seen, &Path::default());
            }
            assert_eq!(at.cwnd, before);
        }
    }
}
