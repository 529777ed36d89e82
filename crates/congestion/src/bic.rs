//! BIC-TCP (Xu, Harfoush and Rhee, "Binary Increase Congestion Control (BIC) for Fast Long-Distance
//! Networks", INFOCOM 2004): a binary search for the window between the last cut and the last loss,
//! and the mirror image of it beyond. Linux had it before CUBIC (2.6.8 to 2.6.18).
//!
//! Parameters and cases are those of Linux's net/ipv4/tcp_bic.c, with windows as reals: its
//! division of whole numbers grows a little faster (16 packets per round trip are 16.7 at a window
//! of 100). A timeout forgets the last maximum (`bictcp_reset`), also where it was spurious.

mod linux_2_6;

use forebay_random::StreamKey;
use forebay_units::Time;
use forebay_units::parameter::{self, Parameter, ParameterKind, Parameters, Value};

pub(crate) use linux_2_6::Linux26Bic;

use crate::classic::{Classic, WindowGrowth};
use crate::one_of::one_of;
use crate::packet::{Ack, CongestionEvent, Path, Window};
use crate::registration::{Description, Registered};
use crate::slow_start::{Standard, UpToThreshold};

/// Least growth per round trip before the first loss, as a share of the window.
const BEFORE_LOSS: f64 = 0.05;

/// Step of the binary search, in packets, below which growth is slow (the kernel's "at most 1",
/// rounded down).
const SMALL_STEP: f64 = 2.0;

/// Parameters of BIC.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bic {
    /// Fraction of the window that remains after a reduction.
    pub beta: f64,
    /// Most packets added per round trip (S_max).
    pub max_increment: f64,
    /// Largest window, in packets, at which growth and reduction are those of Reno.
    pub low_window: f64,
    /// Divisor of the binary search: a round trip adds 1/`divisor` of the distance to the last
    /// maximum.
    pub divisor: f64,
    /// Round trips that the last `divisor` packets take.
    pub smooth_part: f64,
    /// Whether a flow that loses below its last maximum aims lower.
    pub fast_convergence: bool,
}

impl Default for Bic {
    /// The parameters of Linux.
    fn default() -> Self {
        Self::of(&Parameters::defaults(
            BicController::DESCRIPTION.parameters(),
        ))
    }
}

impl Bic {
    fn of(parameters: &Parameters) -> Self {
        Self {
            beta: parameters.number("beta"),
            max_increment: parameters.number("max_increment"),
            low_window: parameters.number("low_window"),
            divisor: parameters.number("divisor"),
            smooth_part: parameters.number("smooth_part"),
            fast_convergence: parameters.switch("fast_convergence"),
        }
    }
}

/// BIC's growth and cut.
#[derive(Clone, Debug)]
pub struct BicGrowth {
    law: Bic,
    /// The window of the last loss, or what fast convergence made of it, packets; none before the
    /// first and after a timeout.
    last_max: Option<f64>,
}

impl BicGrowth {
    /// The growth with these parameters.
    pub fn new(law: Bic) -> Self {
        Self {
            law,
            last_max: None,
        }
    }

    /// Packets added per round trip at this window (`bictcp_update`).
    fn increment(&self, cwnd: f64) -> f64 {
        if cwnd <= self.law.low_window {
            return 1.0;
        }
        let Some(last_max) = self.last_max else {
            return self.beyond(cwnd).max(BEFORE_LOSS * cwnd).min(cwnd);
        };
        let increment = if cwnd < last_max {
            self.search(last_max - cwnd)
        } else {
            self.beyond(cwnd - last_max)
        };
        increment.min(cwnd)
    }

    /// Below the last maximum: towards it, by a part of the distance.
    fn search(&self, distance: f64) -> f64 {
        let step = distance / self.law.divisor;
        if step < SMALL_STEP {
            self.smallest_increment()
        } else {
            step.min(self.law.max_increment)
        }
    }

    /// Above it: away from it, ever faster.
    fn beyond(&self, distance: f64) -> f64 {
        if distance < self.law.divisor {
            self.smallest_increment()
        } else {
            (distance / (self.law.divisor - 1.0)).min(self.law.max_increment)
        }
    }

    fn smallest_increment(&self) -> f64 {
        (self.law.divisor / self.law.smooth_part).min(self.law.max_increment)
    }
}

impl WindowGrowth for BicGrowth {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, _: &Path) {
        window.cwnd += self.increment(window.cwnd) * ack.acked / window.cwnd;
    }

    /// `bictcp_recalc_ssthresh`, computed from the packets in flight.
    fn on_congestion_event(
        &mut self,
        window: &mut Window,
        event: CongestionEvent,
        _: Time,
        path: &Path,
    ) {
        let flight = path.flight;
        let released = self.law.fast_convergence && self.last_max.is_some_and(|last| flight < last);
        self.last_max = match event {
            CongestionEvent::Timeout => None,
            _ if released => Some(0.5 * (1.0 + self.law.beta) * flight),
            _ => Some(flight),
        };
        let kept = if flight <= self.law.low_window {
            0.5
        } else {
            self.law.beta
        };
        window.cut(kept * flight, event);
    }

    // As Linux's tcp_bic, which has no `min_cwnd`: the threshold.
    fn recovery_floor(&self, window: &Window) -> f64 {
        window.ssthresh
    }
}

one_of! {
    /// BIC on packets: which one, the parameters say.
    pub enum BicController {
        /// Windows as reals, packets counted.
        Published(Classic<Standard, BicGrowth>),
        /// Linux up to 5.6.
        Linux26(Box<Classic<UpToThreshold, Linux26Bic>>),
    }
}

const fn number(min: f64, max: f64, unit: &'static str) -> ParameterKind {
    ParameterKind::Number { min, max, unit }
}

impl Registered for BicController {
    const DESCRIPTION: Description = Description::classic(parameter::Description {
        name: "bic",
        aliases: &[],
        title: "BIC-TCP: a binary search for the window of the last loss",
        formula: &[
            "below W_max: W += (W_max − W)/divisor per round trip, max_increment at most",
            "beyond W_max: the same steps in reverse order",
            "a loss: W = β F, with F packets in flight; W_max = F, or (1 + β)/2 of it with fast convergence where it fell",
            "up to low_window it is Reno",
        ],
        source: "Xu, Harfoush and Rhee 2004; Linux net/ipv4/tcp_bic.c",
        checked: &[parameter::Evidence::Trace(
            "packets acknowledged per packet of growth as Linux's tcp_bic.c computes them",
        )],
        parameters: &[
            Parameter {
                name: "beta",
                meaning: "Part of the window that remains after a reduction.",
                kind: number(0.01, 0.99, "fraction"),
                default: Value::Number(819.0 / 1024.0),
            },
            Parameter {
                name: "max_increment",
                meaning: "Largest growth once a loss has shown a maximum (S_max; 32 in the paper).",
                kind: number(0.01, 1e6, "packets per round trip"),
                default: Value::Number(16.0),
            },
            Parameter {
                name: "low_window",
                meaning: "Window up to which it is Reno.",
                kind: number(0.0, 1e6, "packets"),
                default: Value::Number(14.0),
            },
            Parameter {
                name: "divisor",
                meaning: "Divisor of the distance to the last maximum: a round trip adds one such part. The value 2 is the middle, as in the paper (BICTCP_B).",
                kind: number(2.0, 64.0, ""),
                default: Value::Number(4.0),
            },
            Parameter {
                name: "smooth_part",
                meaning: "Time for the last `divisor` packets up to the last maximum, and for the first ones beyond it.",
                kind: number(1.0, 1000.0, "round trips"),
                default: Value::Number(20.0),
            },
            Parameter {
                name: "fast_convergence",
                meaning: "Whether a flow that loses below its last maximum aims lower, so that other flows can grow.",
                kind: ParameterKind::Switch,
                default: Value::Switch(true),
            },
            Parameter {
                name: "variant",
                meaning: "Windows as real numbers and packets counted, or tcp_bic.c of Linux 2.6: whole packets, and acknowledgments counted and divided by their ratio to packets.",
                kind: ParameterKind::Choice {
                    words: &["paper", "linux_2_6"],
                },
                default: Value::Word("paper"),
            },
        ],
    });

    fn new(parameters: &Parameters, _: StreamKey) -> Self {
        let law = Bic::of(parameters);
        if parameters.word("variant") == "linux_2_6" {
            let linux = Linux26Bic::new(&law);
            return Self::Linux26(Box::new(Classic::of(UpToThreshold, linux)));
        }
        Self::Published(Classic::of(Standard, BicGrowth::new(law)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::CongestionControl;
    use crate::packet::tests::window;
    use crate::registration::tests::stream;

    fn bic(changes: &[(&str, Value)]) -> Classic<Standard, BicGrowth> {
        let mut parameters = Parameters::defaults(BicController::DESCRIPTION.parameters());
        for (name, value) in changes {
            assert!(parameters.set(name, *value), "{name}");
        }
        match BicController::new(&parameters, stream(0)) {
            BicController::Published(published) => published,
            BicController::Linux26(_) => panic!("the default"),
        }
    }

    fn lose(bic: &mut Classic<Standard, BicGrowth>, window: &mut Window, event: CongestionEvent) {
        let path = Path {
            flight: window.cwnd,
            ..Path::default()
        };
        bic.on_congestion_event(window, event, Time::ZERO, &path);
    }

    /// A window's worth of packets acknowledged at once, and by how much it grew.
    fn round_trip(bic: &mut Classic<Standard, BicGrowth>, window: &mut Window) -> f64 {
        let before = window.cwnd;
        let ack = Ack {
            acked: before,
            now: Time::ZERO,
        };
        bic.on_ack(window, &ack, &Path::default());
        window.cwnd - before
    }

    fn close(ours: f64, expected: f64) {
        assert!((ours - expected).abs() < 1e-9, "{ours} {expected}");
    }

    #[test]
    fn each_round_trip_halves_the_distance_to_the_last_maximum() {
        for (divisor, left) in [(2.0, 0.5), (4.0, 0.75)] {
            let mut bic = bic(&[
                ("divisor", Value::Number(divisor)),
                ("max_increment", Value::Number(1e6)),
            ]);
            let mut window = window(1000.0, 100.0);
            lose(&mut bic, &mut window, CongestionEvent::Loss);
            let mut distance = 1000.0 - window.cwnd;
            while distance >= SMALL_STEP * divisor {
                round_trip(&mut bic, &mut window);
                close(1000.0 - window.cwnd, left * distance);
                distance = 1000.0 - window.cwnd;
            }
            // The last packets go slowly.
            close(round_trip(&mut bic, &mut window), divisor / 20.0);
        }
    }

    #[test]
    fn a_round_trip_adds_the_largest_increment_at_most() {
        let mut bic = bic(&[]);
        let mut window = window(1000.0, 100.0);
        lose(&mut bic, &mut window, CongestionEvent::Loss);
        let increments: Vec<f64> = (0..200)
            .map(|_| round_trip(&mut bic, &mut window))
            .collect();
        // 200 packets below: 136 by the most, then a quarter of 64, and so on.
        assert!(
            increments[..9]
                .iter()
                .all(|grown| (grown - 16.0).abs() < 1e-9)
        );
        assert!(increments[9] < 16.0 && window.cwnd > 1100.0);
        assert!(increments.iter().all(|&grown| grown < 16.0 + 1e-9));
        // Up to the maximum ever slower, beyond it ever faster.
        let slowest = increments.iter().position(|&grown| grown < 0.2 + 1e-9);
        let (search, beyond) = increments.split_at(slowest.unwrap());
        assert!(search.is_sorted_by(|a, b| b - a < 1e-9));
        assert!(beyond.is_sorted_by(|a, b| a - b < 1e-9));
        close(beyond[beyond.len() - 1], 16.0);
    }

    #[test]
    fn beyond_the_maximum_the_growth_is_that_of_the_kernel() {
        let mut bic = bic(&[]);
        bic.growth.last_max = Some(100.0);
        for (cwnd, increment) in [
            (100.0, 0.2),
            (103.9, 0.2),
            (104.0, 4.0 / 3.0),
            (130.0, 10.0),
            (147.9, 47.9 / 3.0),
            (148.1, 16.0),
            (900.0, 16.0),
        ] {
            close(bic.growth.increment(cwnd), increment);
        }
    }

    #[test]
    fn small_windows_are_renos() {
        let mut bic = bic(&[]);
        bic.growth.last_max = Some(500.0);
        let mut at = window(14.0, 7.0);
        close(round_trip(&mut bic, &mut at), 1.0);
        assert!(round_trip(&mut bic, &mut at) > 1.0);
        let mut at = window(14.0, 7.0);
        lose(&mut bic, &mut at, CongestionEvent::Loss);
        assert_eq!(at.cwnd, 7.0);
        let mut at = window(15.0, 7.0);
        lose(&mut bic, &mut at, CongestionEvent::Loss);
        assert_eq!(at.cwnd, 15.0 * 819.0 / 1024.0);
    }

    #[test]
    fn a_loss_below_the_last_maximum_lowers_the_aim() {
        for (switch, aim) in [(true, 0.5 * (1.0 + 819.0 / 1024.0) * 900.0), (false, 900.0)] {
            let mut bic = bic(&[("fast_convergence", Value::Switch(switch))]);
            lose(&mut bic, &mut window(1000.0, 100.0), CongestionEvent::Loss);
            assert_eq!(bic.growth.last_max, Some(1000.0));
            lose(&mut bic, &mut window(900.0, 100.0), CongestionEvent::Mark);
            assert_eq!(bic.growth.last_max, Some(aim));
            lose(&mut bic, &mut window(950.0, 100.0), CongestionEvent::Loss);
            assert_eq!(bic.growth.last_max, Some(950.0));
        }
    }

    #[test]
    fn without_a_maximum_it_grows_by_a_twentieth() {
        let mut bic = bic(&[]);
        let mut at = window(1000.0, 100.0);
        close(round_trip(&mut bic, &mut at), 50.0);
        let mut at = window(100.0, 50.0);
        close(round_trip(&mut bic, &mut at), 16.0);
        // A timeout forgets it.
        lose(&mut bic, &mut at, CongestionEvent::Loss);
        lose(&mut bic, &mut at, CongestionEvent::Timeout);
        assert_eq!((bic.growth.last_max, at.cwnd), (None, 1.0));
    }
}
