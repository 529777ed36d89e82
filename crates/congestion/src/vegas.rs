//! TCP Vegas (Brakmo, O'Malley and Peterson 1994): keeps between alpha and beta packets of its
//! own in the queue, which it computes from the round-trip times of each round.

use forebay_random::StreamKey;
use forebay_units::Time;
use forebay_units::parameter::{self, Parameter, ParameterKind, Parameters, Value};

use crate::classic::{Classic, WindowGrowth};
use crate::packet::{Ack, Needs, Path, Round, Sample, Signal, Window};
use crate::registration::{Description, Registered};
use crate::slow_start::Standard;

/// Rounds with fewer samples grow as Reno does (delayed acknowledgments might mislead).
const SAMPLES: u32 = 3;

/// Vegas's growth.
#[derive(Clone, Debug)]
pub struct VegasGrowth {
    alpha: f64,
    beta: f64,
    gamma: f64,
    round: Round,
    /// Smallest round-trip time of this round, seconds.
    round_rtt: f64,
    samples: u32,
}

impl VegasGrowth {
    /// One round is over: `queued` packets of the flow wait in the network.
    fn judge(&self, window: &mut Window, queued: f64) {
        if window.cwnd < window.ssthresh {
            if queued > self.gamma {
                window.cwnd = (window.cwnd - queued + 1.0).clamp(Window::MIN_SSTHRESH, window.cwnd);
                window.ssthresh = window
                    .ssthresh
                    .min(window.cwnd - 1.0)
                    .max(Window::MIN_SSTHRESH);
            }
        } else if queued > self.beta {
            window.cwnd = (window.cwnd - 1.0).max(Window::MIN_SSTHRESH);
            window.ssthresh = window
                .ssthresh
                .min(window.cwnd - 1.0)
                .max(Window::MIN_SSTHRESH);
        } else if queued < self.alpha {
            window.cwnd += 1.0;
        }
    }
}

impl WindowGrowth for VegasGrowth {
    const NEEDS: Needs = Needs::ROUND_TRIPS;

    /// The window moves once per round trip.
    fn on_ack(&mut self, _: &mut Window, _: &Ack, _: &Path) {}

    fn on_congestion(&mut self, window: &mut Window, signal: Signal, _: Time, path: &Path) {
        window.cut(0.5 * path.flight, signal);
    }

    fn on_sample(&mut self, window: &mut Window, sample: &Sample, path: &Path) {
        if let Some(rtt) = sample.rtt {
            self.round_rtt = self.round_rtt.min(rtt);
            self.samples += 1;
        }
        if !self.round.begins(sample) {
            return;
        }
        let (rtt, samples) = (self.round_rtt, self.samples);
        self.round_rtt = f64::INFINITY;
        self.samples = 0;
        if !sample.calm() {
            return;
        }
        if samples >= SAMPLES {
            // Expected less actual rate, times the propagation time.
            self.judge(window, window.cwnd * (1.0 - path.min_rtt / rtt));
        } else if window.cwnd >= window.ssthresh && sample.limited {
            window.cwnd += 1.0;
        }
    }
}

/// Vegas on packets.
pub type VegasController = Classic<Standard, VegasGrowth>;

impl Registered for VegasController {
    const DESCRIPTION: Description = Description::classic(parameter::Description {
        name: "vegas",
        aliases: &[],
        title: "Vegas: keeps a few packets of its own in the queue, by the round-trip time",
        formula: &[
            "queued = W (1 − RTT_min/RTT): packets of the flow that wait in the network",
            "once per round trip: W += 1 where queued < alpha, W −= 1 where queued > beta, else W stays",
            "slow start ends where queued > gamma; a loss: W = F/2, with F packets in flight",
        ],
        source: "Brakmo, O'Malley and Peterson 1994; Brakmo and Peterson 1995",
        checked: &[],
        parameters: &[
            Parameter {
                name: "alpha",
                meaning: "packets in the queue below which the window grows",
                kind: ParameterKind::Number { min: 0.5, max: 1e4 },
                default: Value::Number(2.0),
            },
            Parameter {
                name: "beta",
                meaning: "packets in the queue above which the window shrinks",
                kind: ParameterKind::Number { min: 0.5, max: 1e4 },
                default: Value::Number(4.0),
            },
            Parameter {
                name: "gamma",
                meaning: "packets in the queue that end slow start",
                kind: ParameterKind::Number { min: 0.1, max: 1e4 },
                default: Value::Number(1.0),
            },
        ],
    });

    fn new(parameters: &Parameters, _: StreamKey) -> Self {
        let alpha = parameters.number("alpha");
        let growth = VegasGrowth {
            alpha,
            beta: parameters.number("beta").max(alpha),
            gamma: parameters.number("gamma"),
            round: Round::default(),
            round_rtt: f64::INFINITY,
            samples: 0,
        };
        Self::of(Standard, growth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::CongestionControl;
    use crate::packet::tests::{rounds, sample, window};
    use crate::registration::tests::default_controller;

    fn vegas() -> VegasController {
        default_controller()
    }

    #[test]
    fn the_window_grows_by_one_each_round_below_alpha_and_shrinks_above_beta() {
        let mut at = window(50.0, 20.0);
        rounds(&mut vegas(), &mut at, 0.1, &[0.1; 10]);
        assert_eq!(at.cwnd, 60.0);
        let mut at = window(50.0, 20.0);
        // 50 (1 - 100/120) = 8.3 packets in the queue.
        rounds(&mut vegas(), &mut at, 0.1, &[0.12; 10]);
        assert_eq!(at.cwnd, 40.0);
        let mut at = window(50.0, 20.0);
        // 50 (1 - 100/106.4) = 3.0 packets: stay.
        rounds(&mut vegas(), &mut at, 0.1, &[0.1064; 10]);
        assert_eq!(at.cwnd, 50.0);
    }

    #[test]
    fn slow_start_ends_when_packets_queue() {
        let mut at = window(40.0, f64::INFINITY);
        rounds(&mut vegas(), &mut at, 0.1, &[0.1; 3]);
        assert_eq!(at.ssthresh, f64::INFINITY);
        rounds(&mut vegas(), &mut at, 0.1, &[0.11; 3]);
        assert!(at.ssthresh < 40.0 && at.cwnd <= 40.0);
        // 40 (1 - 100/110) = 3.64 packets wait: the window is what the path holds, and one, and the
        // threshold the packet below it. From there on it is held by alpha and beta.
        let mut at = window(40.0, f64::INFINITY);
        rounds(&mut vegas(), &mut at, 0.1, &[0.11]);
        let held = 40.0 / 1.1;
        assert!((at.cwnd - held - 1.0).abs() < 1e-9, "{}", at.cwnd);
        assert!((at.ssthresh - held).abs() < 1e-9, "{}", at.ssthresh);
    }

    #[test]
    fn nothing_changes_within_a_round() {
        let (mut vegas, mut at) = (vegas(), window(50.0, 20.0));
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
