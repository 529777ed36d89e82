//! TCP-Illinois (Liu, Basar and Srikant 2008): losses say when to cut, the queueing delay says how
//! far to grow and to cut.
//!
//! Linux (net/ipv4/tcp_illinois.c) counts rounds of low delay whether or not they follow each
//! other; here they do, as the paper has it.

use forebay_random::StreamKey;
use forebay_units::Time;
use forebay_units::parameter::{self, Parameter, ParameterKind, Parameters, Value};

use crate::classic::{Classic, WindowGrowth};
use crate::packet::{Ack, CongestionEvent, Path, Requirements, Round, Sample, Window};
use crate::registration::{Description, Registered};
use crate::slow_start::Standard;

/// Window, in packets, below which it is Reno (section 4: W_thresh).
const SMALL_WINDOW: f64 = 15.0;

/// Shares of the largest queueing delay below which growth is greatest (d_1), and between which
/// the cut rises from its least to its greatest (d_2, d_3).
const QUIET: f64 = 0.01;
const FIRST_CUT: f64 = 0.1;
const LAST_CUT: f64 = 0.8;

/// Rounds of low delay before the growth returns to its greatest (theta).
const THETA: u32 = 5;

/// TCP-Illinois's growth and cut.
#[derive(Clone, Debug)]
pub struct IllinoisGrowth {
    alpha_min: f64,
    alpha_max: f64,
    beta_min: f64,
    beta_max: f64,
    /// Packets added per round trip.
    alpha: f64,
    /// Fraction cut.
    beta: f64,
    round: Round,
    sum: f64,
    samples: u32,
    largest_rtt: f64,
    /// Whether the delay was above d_1 since the last congestion, and rounds below it since.
    above: bool,
    quiet_rounds: u32,
}

impl IllinoisGrowth {
    fn update_alpha(&mut self, delay: f64, largest: f64) {
        let quiet = QUIET * largest;
        if delay <= quiet {
            self.quiet_rounds += 1;
            if !self.above || self.quiet_rounds >= THETA {
                self.alpha = self.alpha_max;
                self.above = false;
                self.quiet_rounds = 0;
            }
            return;
        }
        self.above = true;
        self.quiet_rounds = 0;
        // kappa_1 / (kappa_2 + d), through (d_1, alpha_max) and (d_m, alpha_min).
        let span = largest - quiet;
        let ratio = (self.alpha_max - self.alpha_min) / self.alpha_min;
        self.alpha = span * self.alpha_max / (span + (delay - quiet) * ratio);
    }

    fn update_beta(&mut self, delay: f64, largest: f64) {
        let (low, high) = (FIRST_CUT * largest, LAST_CUT * largest);
        let share = ((delay - low) / (high - low)).clamp(0.0, 1.0);
        self.beta = self.beta_min + (self.beta_max - self.beta_min) * share;
    }
}

const fn number(min: f64, max: f64, unit: &'static str) -> ParameterKind {
    ParameterKind::Number { min, max, unit }
}

impl WindowGrowth for IllinoisGrowth {
    const NEEDS: Requirements = Requirements::ROUND_TRIPS;

    fn on_ack(&mut self, window: &mut Window, ack: &Ack, _: &Path) {
        let alpha = if window.cwnd < SMALL_WINDOW {
            1.0
        } else {
            self.alpha
        };
        window.cwnd += alpha * ack.acked / window.cwnd;
    }

    fn on_congestion_event(
        &mut self,
        window: &mut Window,
        event: CongestionEvent,
        _: Time,
        path: &Path,
    ) {
        let beta = if path.flight < SMALL_WINDOW {
            0.5
        } else {
            self.beta
        };
        if event == CongestionEvent::Timeout {
            // Nothing is left of what the delay said (Linux: tcp_illinois_state).
            (self.alpha, self.beta) = (1.0, 0.5);
            (self.above, self.quiet_rounds) = (false, 0);
            (self.sum, self.samples) = (0.0, 0);
        }
        window.cut((1.0 - beta) * path.flight, event);
    }

    fn on_sample(&mut self, _: &mut Window, sample: &Sample, path: &Path) {
        if let Some(rtt) = sample.rtt {
            self.sum += rtt;
            self.samples += 1;
            self.largest_rtt = self.largest_rtt.max(rtt);
        }
        if !self.round.begins(sample) || self.samples == 0 {
            return;
        }
        let mean = self.sum / f64::from(self.samples);
        self.sum = 0.0;
        self.samples = 0;
        let largest = self.largest_rtt - path.min_rtt;
        if largest > 0.0 {
            self.update_alpha(mean - path.min_rtt, largest);
            self.update_beta(mean - path.min_rtt, largest);
        }
    }
}

/// TCP-Illinois on packets.
pub(crate) type IllinoisController = Classic<Standard, IllinoisGrowth>;

impl Registered for IllinoisController {
    const DESCRIPTION: Description = Description::classic(parameter::Description {
        name: "illinois",
        aliases: &[],
        title: "TCP-Illinois: with the queueing delay the growth falls and the reduction rises",
        formula: &[
            "growth: W += α/W per packet acknowledged; a loss: W = (1 − β) F, with F packets in flight",
            "α = κ1/(κ2 + d): alpha_max where the queueing delay d is below 1 % of the largest, alpha_min at the largest",
            "β = beta_min below 10 % of the largest delay, beta_max above 80 %, linear between",
            "below 15 packets it is Reno",
        ],
        source: "Liu, Basar and Srikant 2008",
        checked: &[parameter::Evidence::Trace(
            "increase and cut over the delay as Linux's tcp_illinois.c computes them",
        )],
        parameters: &[
            Parameter {
                name: "alpha_min",
                meaning: "Growth of the window at the largest delay.",
                kind: number(0.01, 10.0, "packets per round trip"),
                default: Value::Number(0.3),
            },
            Parameter {
                name: "alpha_max",
                meaning: "Growth of the window without delay.",
                kind: number(0.1, 1000.0, "packets per round trip"),
                default: Value::Number(10.0),
            },
            Parameter {
                name: "beta_min",
                meaning: "Part of the window that a reduction removes without delay.",
                kind: number(0.01, 0.5, "fraction"),
                default: Value::Number(0.125),
            },
            Parameter {
                name: "beta_max",
                meaning: "Part of the window that a reduction removes at the largest delay.",
                kind: number(0.01, 0.9, "fraction"),
                default: Value::Number(0.5),
            },
        ],
    });

    fn new(parameters: &Parameters, _: StreamKey) -> Self {
        let (alpha_min, beta_min) = (
            parameters.number("alpha_min"),
            parameters.number("beta_min"),
        );
        let growth = IllinoisGrowth {
            alpha_min,
            alpha_max: parameters.number("alpha_max").max(alpha_min),
            beta_min,
            beta_max: parameters.number("beta_max").max(beta_min),
            alpha: 1.0,
            beta: 0.5,
            round: Round::default(),
            sum: 0.0,
            samples: 0,
            largest_rtt: 0.0,
            above: false,
            quiet_rounds: 0,
        };
        Self::of(Standard, growth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::CongestionControl;
    use crate::packet::tests::rounds;
    use crate::registration::tests::default_controller;

    fn illinois() -> IllinoisController {
        default_controller()
    }

    fn window() -> Window {
        Window {
            cwnd: 100.0,
            ssthresh: 50.0,
        }
    }

    #[test]
    fn at_the_largest_delay_it_grows_least_and_cuts_most() {
        let mut illinois = illinois();
        rounds(&mut illinois, &mut window(), 0.1, &[0.2; 5]);
        assert!((illinois.growth.alpha - 0.3).abs() < 1e-12);
        assert_eq!(illinois.growth.beta, 0.5);
    }

    #[test]
    fn without_delay_it_returns_to_the_greatest_growth_after_five_rounds() {
        let mut illinois = illinois();
        rounds(&mut illinois, &mut window(), 0.1, &[0.2; 5]);
        rounds(&mut illinois, &mut window(), 0.1, &[0.1; 4]);
        assert!(illinois.growth.alpha < 1.0);
        rounds(&mut illinois, &mut window(), 0.1, &[0.1; 3]);
        assert_eq!((illinois.growth.alpha, illinois.growth.beta), (10.0, 0.125));
    }

    /// The integers of alpha and beta of Linux's tcp_illinois.c by hand, with base 100 ms and a
    /// largest delay of 100 ms: (delay in ms, 128 alpha, 64 beta). Linux's alpha_min is 38/128, not
    /// 0.3, and quotients are rounded down.
    #[test]
    fn increase_and_cut_over_the_delay_are_linuxs() {
        for (delay, alpha, beta) in [
            (2.0, 962.0, 8.0),
            (5.0, 551.0, 8.0),
            (10.0, 322.0, 8.0),
            (20.0, 176.0, 11.0),
            (30.0, 121.0, 14.0),
            (45.0, 82.0, 20.0),
            (60.0, 62.0, 25.0),
            (80.0, 47.0, 32.0),
            (90.0, 42.0, 32.0),
            (100.0, 38.0, 32.0),
        ] {
            let mut growth = illinois().growth;
            growth.update_alpha(delay, 100.0);
            growth.update_beta(delay, 100.0);
            let (ours, cut) = (128.0 * growth.alpha, 64.0 * growth.beta);
            assert!(
                (ours - alpha).abs() < 0.012 * alpha + 1.0,
                "{delay}: {ours}"
            );
            assert!((0.0..1.0).contains(&(cut - beta)), "{delay}: {cut}");
        }
        let mut growth = illinois().growth;
        growth.update_alpha(1.0, 100.0);
        assert_eq!(growth.alpha, 10.0);
    }

    /// A packet more per round trip and W (1 - beta) at a loss, in whole round trips.
    #[test]
    fn windows_follow_increase_and_cut() {
        let (mut illinois, mut at) = (illinois(), window());
        rounds(&mut illinois, &mut at, 0.1, &[0.2; 5]);
        // tcp_illinois_cong_avoid: alpha packets for a window of acknowledgments.
        let ack = Ack {
            acked: at.cwnd,
            now: Time::ZERO,
        };
        illinois.on_ack(&mut at, &ack, &Path::default());
        assert!((at.cwnd - 100.3).abs() < 1e-9);
        let path = Path {
            flight: 100.0,
            ..Path::default()
        };
        illinois.on_congestion_event(&mut at, CongestionEvent::Loss, Time::ZERO, &path);
        assert_eq!(at.cwnd, 50.0);
        rounds(&mut illinois, &mut at, 0.1, &[0.1; 6]);
        illinois.on_congestion_event(&mut at, CongestionEvent::Loss, Time::ZERO, &path);
        assert_eq!(at.cwnd, 87.5);
    }

    /// tcp_illinois_state: a timeout forgets that the delay was high, so that the first round of
    /// low delay is enough.
    #[test]
    fn a_timeout_forgets_the_delay() {
        let (mut illinois, mut at) = (illinois(), window());
        rounds(&mut illinois, &mut at, 0.1, &[0.2; 5]);
        let path = Path {
            flight: 100.0,
            ..Path::default()
        };
        illinois.on_congestion_event(&mut at, CongestionEvent::Timeout, Time::ZERO, &path);
        assert_eq!((illinois.growth.alpha, illinois.growth.beta), (1.0, 0.5));
        rounds(&mut illinois, &mut at, 0.1, &[0.1]);
        assert_eq!((illinois.growth.alpha, illinois.growth.beta), (10.0, 0.125));
    }

    #[test]
    fn small_windows_are_renos() {
        let (mut illinois, mut at) = (illinois(), window());
        rounds(
            &mut illinois,
            &mut at,
            0.1,
            &[0.2, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1],
        );
        let path = Path {
            flight: 10.0,
            ..Path::default()
        };
        illinois.on_congestion_event(&mut at, CongestionEvent::Loss, Time::ZERO, &path);
        assert_eq!(at.cwnd, 5.0);
    }
}
