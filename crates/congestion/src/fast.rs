//! FAST TCP (Wei, Jin, Low and Hegde 2006): moves the window towards the one that keeps alpha
//! packets in the queue.

use forebay_random::StreamKey;
use forebay_units::Time;
use forebay_units::parameter::{self, Parameter, ParameterKind, Parameters, Value};

use crate::classic::{Classic, WindowGrowth};
use crate::packet::{Ack, CongestionEvent, Path, Requirements, Round, Sample, Window};
use crate::registration::{Description, Registered};
use crate::slow_start::Standard;

/// FAST's growth.
#[derive(Clone, Debug)]
pub struct FastGrowth {
    alpha: f64,
    gamma: f64,
    round: Round,
    sum: f64,
    samples: u32,
}

impl WindowGrowth for FastGrowth {
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
        if let Some(rtt) = sample.rtt {
            self.sum += rtt;
            self.samples += 1;
        }
        if !self.round.begins(sample) || self.samples == 0 {
            return;
        }
        let rtt = self.sum / f64::from(self.samples);
        self.sum = 0.0;
        self.samples = 0;
        if !sample.calm() || !sample.limited {
            return;
        }
        let empty = window.cwnd * path.min_rtt / rtt;
        if window.cwnd < window.ssthresh {
            // Slow start ends half way to the equilibrium.
            if window.cwnd - empty <= 0.5 * self.alpha {
                return;
            }
        }
        let towards = (1.0 - self.gamma) * window.cwnd + self.gamma * (empty + self.alpha);
        window.cwnd = towards.min(2.0 * window.cwnd).max(Window::MIN_SSTHRESH);
        // Equation 6 has no threshold: a window that it lowers is not in slow start again.
        window.ssthresh = window.ssthresh.min(window.cwnd);
    }
}

/// FAST on packets.
pub(crate) type FastController = Classic<Standard, FastGrowth>;

impl Registered for FastController {
    const DESCRIPTION: Description = Description::classic(parameter::Description {
        name: "fast",
        aliases: &[],
        title: "FAST: the window at which alpha packets of the flow wait in the queue",
        formula: &[
            "once per round trip: W = min(2 W, (1 − γ) W + γ (W RTT_min/RTT + α))",
            "at rest α packets of the flow wait in the queue",
            "a loss: W = F/2, with F packets in flight",
        ],
        source: "Wei, Jin, Low and Hegde 2006, equation 6",
        checked: &[parameter::Evidence::Trace(
            "the iterates of equation 6 and the equilibrium alpha = rate x queueing delay",
        )],
        parameters: &[
            Parameter {
                name: "alpha",
                meaning: "Packets of the flow in the queue at equilibrium.",
                kind: ParameterKind::Number {
                    min: 1.0,
                    max: 1e6,
                    unit: "packets",
                },
                default: Value::Number(20.0),
            },
            Parameter {
                name: "gamma",
                meaning: "Weight of the new window in each update.",
                kind: ParameterKind::Number {
                    min: 0.01,
                    max: 1.0,
                    unit: "",
                },
                default: Value::Number(0.5),
            },
        ],
    });

    fn new(parameters: &Parameters, _: StreamKey) -> Self {
        let growth = FastGrowth {
            alpha: parameters.number("alpha"),
            gamma: parameters.number("gamma"),
            round: Round::default(),
            sum: 0.0,
            samples: 0,
        };
        Self::of(Standard, growth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::CongestionControl;
    use crate::packet::tests::{rounds, window};
    use crate::registration::tests::default_controller;

    #[test]
    fn the_window_tends_to_alpha_packets_in_the_queue() {
        let mut fast: FastController = default_controller();
        let mut window = window(300.0, 100.0);
        // A link of 1000 packets per second and 100 ms: the queue follows the window.
        for _ in 0..400 {
            let rtt = (window.cwnd / 1000.0).max(0.1);
            rounds(&mut fast, &mut window, 0.1, &[rtt]);
        }
        assert!((window.cwnd - 120.0).abs() < 0.5, "{}", window.cwnd);
    }

    /// The iterates of equation 6 by hand, with gamma = 1/2, alpha = 20 and a base round trip of
    /// 100 ms: on an empty link W + alpha/2 each round trip; on one of 1000 packets per second that
    /// the window fills, half of the way to 100 + alpha.
    #[test]
    fn the_iterates_are_those_of_equation_6() {
        let mut fast: FastController = default_controller();
        let mut window = window(50.0, 10.0);
        for expected in [
            60.0, 70.0, 80.0, 90.0, 100.0, 110.0, 115.0, 117.5, 118.75, 119.375,
        ] {
            let rtt = (window.cwnd / 1000.0).max(0.1);
            rounds(&mut fast, &mut window, 0.1, &[rtt]);
            assert!(
                (window.cwnd - expected).abs() < 1e-9,
                "{} {expected}",
                window.cwnd
            );
        }
        // From above it falls at the same pace, and never more than doubles.
        for (cwnd, rtt, expected) in [(300.0, 0.3, 210.0), (60.0, 0.12, 65.0), (5.0, 0.1, 10.0)] {
            window = Window {
                cwnd,
                ssthresh: 2.0,
            };
            rounds(&mut fast, &mut window, 0.1, &[rtt]);
            assert!(
                (window.cwnd - expected).abs() < 1e-9,
                "{} {expected}",
                window.cwnd
            );
        }
    }

    /// Equation 6 lowers a window also below the one at which slow start ended, and acknowledgments
    /// between two updates add nothing to it.
    #[test]
    fn the_window_falls_below_the_end_of_slow_start() {
        let mut fast: FastController = default_controller();
        let mut window = window(300.0, f64::INFINITY);
        // W / 2 + (W / 3 + 20) / 2, three times.
        for expected in [210.0, 150.0, 110.0] {
            rounds(&mut fast, &mut window, 0.1, &[0.3]);
            let ack = Ack {
                acked: 1.0,
                now: Time::from_secs(9),
            };
            fast.on_ack(&mut window, &ack, &Path::default());
            assert!((window.cwnd - expected).abs() < 1e-9, "{}", window.cwnd);
        }
    }

    /// At rest each flow's rate is alpha over the queueing delay (section II): alphas of 20 and 40
    /// share 1000 packets per second as 1 to 2, with 60 packets, 60 ms, in the queue.
    #[test]
    fn flows_share_in_proportion_to_their_alphas() {
        let mut flows = [20.0, 40.0].map(|alpha| {
            let mut fast: FastController = default_controller();
            fast.growth.alpha = alpha;
            (fast, window(90.0, 10.0))
        });
        for _ in 0..400 {
            let under_way: f64 = flows.iter().map(|(_, window)| window.cwnd).sum();
            let rtt = (under_way / 1000.0).max(0.1);
            for (fast, window) in &mut flows {
                rounds(fast, window, 0.1, &[rtt]);
            }
        }
        let [first, second] = flows.map(|(_, window)| window.cwnd);
        assert!((first - 1000.0 / 3.0 * 0.16).abs() < 1e-6, "{first}");
        assert!((second - 2000.0 / 3.0 * 0.16).abs() < 1e-6, "{second}");
    }
}
