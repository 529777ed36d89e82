//! Prague (draft-briscoe-iccrg-prague-congestion-control): DCTCP's proportional cuts for the
//! Internet, with an increase that does not favor short round trips.
//!
//! Left out are the optional parts: the detection of queues that mark as RFC 3168 has it, and the
//! fallback for peers without accurate ECN, which every receiver here has. Linux lets a flow grow
//! old before its increase is reduced; here it is from the start.

use forebay_random::StreamKey;
use forebay_units::Time;
use forebay_units::parameter::{self, Parameter, ParameterKind, Parameters, Value};

use crate::packet::{
    Ack, CongestionControl, CongestionEvent, LossState, Pace, Path, Requirements, Sample, Window,
};
use crate::registration::{Description, Registered};

/// Bursts last this long at most: 2^-12 s, a quarter of a millisecond (Linux: prague_burst_shift).
const BURST_TIME: f64 = 1.0 / 4096.0;

/// Weight of a new round-trip time in the smoothed one (RFC 6298 section 2.3).
const RTT_WEIGHT: f64 = 0.125;

/// Prague on packets.
#[derive(Clone, Debug)]
pub struct PragueController {
    gain: f64,
    /// Round trips are never reckoned as shorter, seconds.
    least_rtt: f64,
    /// Smoothed round-trip time of all acknowledgments, seconds: the pace must follow a queue that
    /// drains; zero before the first measurement.
    rtt: f64,
    /// Packets in flight.
    in_flight: f64,
    /// Estimated share of marked packets.
    alpha: f64,
    /// Whether a mark was ever seen: until then the estimate is not renewed.
    saw_mark: bool,
    /// When the estimate was last renewed; none for never.
    renewed: Option<Time>,
    /// Packet number whose acknowledgment ends that round trip.
    renew_after: u64,
    arrived: f64,
    marked: f64,
    /// When the window was last cut for a mark; none for never.
    cut_at: Option<Time>,
    /// Packet number whose acknowledgment ends that round trip.
    cut_until: u64,
    /// Packets by which the reduction lowered the window. A loss within the round trip counts them
    /// as its own.
    cut: f64,
}

impl PragueController {
    /// The increase per round trip, in packets: the rate grows as that of a flow with a virtual
    /// round trip (section 2.4).
    fn increase(&self) -> f64 {
        if self.rtt <= 0.0 || self.rtt >= self.least_rtt {
            return 1.0;
        }
        let share = self.rtt / self.least_rtt;
        share * share
    }

    /// Packets without mark let the window grow, also in a round trip with a cut (section 2.4).
    fn grow(&self, window: &mut Window, sample: &Sample) {
        let most = match sample.state {
            LossState::Open => f64::INFINITY,
            // An arriving packet may have been sent long before.
            LossState::Timeout => 1.0,
            LossState::Recovery => return,
        };
        let mut unmarked = (sample.arrived - sample.marked).min(most);
        if !sample.limited || unmarked <= 0.0 {
            return;
        }
        if window.cwnd < window.ssthresh {
            unmarked = window.slow_start(unmarked);
        }
        window.cwnd += unmarked * self.increase() / window.cwnd;
    }

    /// Cuts once per virtual round trip (section 2.4.2).
    fn heed(&mut self, window: &mut Window, sample: &Sample) {
        let over = sample.acknowledged >= self.cut_until;
        if over {
            self.cut = 0.0;
        }
        let elapsed = |at| sample.now.saturating_sub(at).as_secs_f64();
        let waited = self.cut_at.is_none_or(|at| elapsed(at) >= self.least_rtt);
        if sample.marked <= 0.0 || !sample.calm() || !over || !waited {
            return;
        }
        let before = window.cwnd;
        window.cut(before * (1.0 - 0.5 * self.alpha), CongestionEvent::Mark);
        self.cut = (before - window.cwnd).max(0.0);
        self.cut_at = Some(sample.now);
        self.cut_until = sample.next;
    }

    /// Renews the estimate once per virtual round trip (section 2.4.1), from the round on in which
    /// the first mark came (Linux: `prague_update_alpha`).
    fn renew(&mut self, sample: &Sample) {
        let elapsed = |at| sample.now.saturating_sub(at).as_secs_f64();
        let waited = self.renewed.is_none_or(|at| elapsed(at) >= self.least_rtt);
        if sample.acknowledged < self.renew_after || !waited || self.arrived <= 0.0 {
            return;
        }
        if self.saw_mark {
            let share = (self.marked / self.arrived).min(1.0);
            self.alpha += self.gain * (share - self.alpha);
            self.renewed = Some(sample.now);
        }
        self.arrived = 0.0;
        self.marked = 0.0;
        self.renew_after = sample.next;
    }
}

impl CongestionControl for PragueController {
    fn requirements(&self) -> Requirements {
        Requirements {
            accurate_ecn: true,
            ..Requirements::ROUND_TRIPS
        }
    }

    fn on_ack(&mut self, _: &mut Window, _: &Ack, _: &Path) {}

    /// A loss halves as Reno's; what a mark took off in the same round trip is part of the half
    /// (section 2.4).
    fn on_congestion_event(
        &mut self,
        window: &mut Window,
        event: CongestionEvent,
        _: Time,
        path: &Path,
    ) {
        let cut = std::mem::take(&mut self.cut);
        let whole = path.flight + cut;
        window.cut((0.5 * whole).min(path.flight), event);
    }

    fn on_sample(&mut self, window: &mut Window, sample: &Sample, _: &Path) {
        if let Some(rtt) = sample.rtt {
            let weight = if self.rtt > 0.0 { RTT_WEIGHT } else { 1.0 };
            self.rtt += weight * (rtt - self.rtt);
        }
        self.in_flight = sample.in_flight;
        self.arrived += sample.arrived;
        self.marked += sample.marked;
        self.saw_mark |= sample.marked > 0.0;
        // A cut goes by what was known before (Linux: `prague_enter_cwr` precedes
        // `prague_cong_control`).
        self.heed(window, sample);
        self.grow(window, sample);
        self.renew(sample);
    }

    /// One window per round trip, twice as much in slow start (section 2.4).
    fn pacing(&self, window: &Window, path: &Path) -> Option<Pace> {
        let rtt = if self.rtt > 0.0 {
            self.rtt
        } else {
            path.smoothed_rtt
        };
        if rtt <= 0.0 {
            return None;
        }
        let slow_start = window.cwnd < 0.5 * window.ssthresh;
        let gain = if slow_start { 2.0 } else { 1.0 };
        let rate = gain * window.cwnd.max(self.in_flight) / rtt;
        Some(Pace {
            rate,
            quantum: (rate * BURST_TIME).floor().max(1.0),
        })
    }
}

impl Registered for PragueController {
    const DESCRIPTION: Description = Description::scalable(parameter::Description {
        name: "prague",
        aliases: &[],
        title: "Prague: reduces the window in proportion to the share of marked packets, fair over round trips below 25 ms",
        formula: &[
            "growth: W += a/W per unmarked packet, with a = min(1, RTT/least_rtt)²",
            "marks: W = W (1 − α/2), at most once per virtual round trip, which is least_rtt at least",
            "α = (1 − g) α + g M per virtual round trip, with M the share of marked packets and g the gain",
            "a loss: W = F/2, with F packets in flight; pace: one window per round trip",
        ],
        source: "draft-briscoe-iccrg-prague-congestion-control",
        checked: &[
            parameter::Evidence::Theory("the window under random marks"),
            parameter::Evidence::Trace(
                "estimate, cuts and increase by round trips as the tcp_prague.c of L4STeam computes them",
            ),
        ],
        parameters: &[
            Parameter {
                name: "gain",
                meaning: "Weight g of a new round in the estimate of the marked share (section 2.4.1).",
                kind: ParameterKind::Number {
                    min: 1e-4,
                    max: 1.0,
                    unit: "",
                },
                default: Value::Number(1.0 / 16.0),
            },
            Parameter {
                name: "least_rtt",
                meaning: "Flows of shorter round trips behave as if their round trip were this long.",
                kind: ParameterKind::Time,
                default: Value::Time(Time::from_millis(25)),
            },
        ],
    });

    fn new(parameters: &Parameters, _: StreamKey) -> Self {
        Self {
            gain: parameters.number("gain"),
            least_rtt: parameters.time("least_rtt").as_secs_f64(),
            rtt: 0.0,
            in_flight: 0.0,
            // Cautious at first: the first marks halve.
            alpha: 1.0,
            saw_mark: false,
            renewed: None,
            renew_after: 0,
            arrived: 0.0,
            marked: 0.0,
            cut_at: None,
            cut_until: 0,
            cut: 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::{marks_per_window, mean_window_with_marks, sample, window};
    use crate::registration::tests::default_controller;

    /// A flow of round trips of 50 packets each.
    struct Driven {
        prague: PragueController,
        window: Window,
        rtt: f64,
        now: Time,
        packet: u64,
    }

    impl Driven {
        fn new(rtt: f64, cwnd: f64) -> Self {
            Self {
                prague: default_controller(),
                window: window(cwnd, 10.0),
                rtt,
                now: Time::from_secs(1),
                packet: 0,
            }
        }

        /// Packets of which every so-and-so-many-th is marked; 0 for none.
        fn run(&mut self, packets: u64, every: u64) {
            for _ in 0..packets {
                self.packet += 1;
                self.now += Time::from_secs_f64(self.rtt / 50.0);
                let mut seen = sample(self.rtt);
                seen.now = self.now;
                seen.acknowledged = self.packet;
                seen.next = self.packet + 50;
                let marked = every > 0 && self.packet.is_multiple_of(every);
                seen.marked = f64::from(u8::from(marked));
                self.prague
                    .on_sample(&mut self.window, &seen, &Path::default());
            }
        }
    }

    #[test]
    fn the_estimate_waits_for_the_first_mark_and_tends_to_the_share() {
        let mut driven = Driven::new(0.03, 1e6);
        driven.run(5000, 0);
        assert_eq!(driven.prague.alpha, 1.0);
        driven.run(20_000, 5);
        let alpha = driven.prague.alpha;
        assert!((alpha - 0.2).abs() < 0.02, "{alpha}");
    }

    /// Round trips of 50 packets, by hand after prague_update_alpha, prague_enter_cwr and
    /// prague_rate_scaled_ai_ack_increase of L4STeam's tcp_prague.c: (round trip in ms, packets
    /// between two marks, estimate after each round).
    #[test]
    fn the_estimate_goes_by_rounds_as_in_linux() {
        for (rtt, every, expected) in [
            // F = 1/5: alpha falls by a sixteenth of its distance, 0.2 + 0.8 (15/16)^n.
            (0.05, 5, &[0.95, 0.903_125, 0.859_179_687_5][..]),
            // F = 1: it stays.
            (0.05, 1, &[1.0, 1.0]),
            // F = 1/50, the mark being the last of each round.
            (0.025, 50, &[0.938_75, 0.881_328_125]),
            // Rounds of 10 ms: the first one with a mark counts at its end, and then 25 ms at a
            // time.
            (
                0.01,
                5,
                &[0.95, 0.95, 0.95, 0.903_125, 0.903_125, 0.859_179_687_5],
            ),
        ] {
            let mut driven = Driven::new(rtt, 1e6);
            // The first round ends with its first packet.
            driven.run(1, 0);
            for (round, expected) in expected.iter().enumerate() {
                driven.run(50, every);
                let alpha = driven.prague.alpha;
                assert!(
                    (alpha - expected).abs() < 1e-12,
                    "{rtt} {every} {round} {alpha}"
                );
            }
        }
    }

    /// A mark on the packet that ends a round cuts by the estimate of before: 100 (1 - 0.4 / 2),
    /// not by 0.4 + (1/50 - 0.4)/16 = 0.376.
    #[test]
    fn a_cut_goes_by_the_estimate_of_before() {
        let mut driven = Driven::new(0.05, 100.0);
        driven.run(1, 0);
        driven.prague.alpha = 0.4;
        driven.run(49, 0);
        let before = driven.window.cwnd;
        driven.run(1, 1);
        assert!((driven.window.cwnd - 0.8 * before).abs() < 1e-9);
        assert!((driven.prague.alpha - 0.376_25).abs() < 1e-12);
    }

    #[test]
    fn short_round_trips_renew_the_estimate_and_cut_every_25_ms() {
        let mut driven = Driven::new(0.005, 1000.0);
        // 500 packets are ten round trips, which are two virtual ones.
        driven.run(1, 1);
        let after_one = driven.window.cwnd;
        assert!((after_one - 500.0).abs() < 1.0, "{after_one}");
        driven.run(248, 1);
        assert_eq!(driven.window.cwnd, after_one);
        driven.run(3, 1);
        assert!(driven.window.cwnd < 0.6 * after_one);
    }

    #[test]
    fn the_increase_is_one_packet_per_round_trip_and_less_below_25_ms() {
        for (rtt, expected) in [(0.1, 1.0), (0.025, 1.0), (0.01, 0.16), (0.005, 0.04)] {
            let mut driven = Driven::new(rtt, 50.0);
            driven.run(50, 0);
            let grown = driven.window.cwnd - 50.0;
            assert!((grown - expected).abs() < 0.02 * expected, "{rtt} {grown}");
        }
    }

    #[test]
    fn marked_packets_let_nothing_grow_but_the_others_do_after_a_cut() {
        let mut driven = Driven::new(0.1, 100.0);
        driven.run(1, 1);
        let cut = driven.window.cwnd;
        assert_eq!(cut, 50.0);
        driven.run(10, 1);
        assert_eq!(driven.window.cwnd, cut);
        driven.run(10, 0);
        assert!(driven.window.cwnd > cut);
    }

    #[test]
    fn a_loss_after_a_mark_halves_once_in_all() {
        let mut driven = Driven::new(0.1, 100.0);
        driven.prague.alpha = 0.4;
        driven.run(1, 1);
        assert_eq!(driven.window.cwnd, 80.0);
        let path = Path {
            flight: 80.0,
            ..Path::default()
        };
        let now = driven.now;
        driven
            .prague
            .on_congestion_event(&mut driven.window, CongestionEvent::Loss, now, &path);
        assert_eq!(driven.window.cwnd, 50.0);
        driven
            .prague
            .on_congestion_event(&mut driven.window, CongestionEvent::Loss, now, &path);
        assert_eq!(driven.window.cwnd, 40.0);
    }

    #[test]
    fn a_window_leaves_per_round_trip_in_short_bursts() {
        let driven = Driven::new(0.01, 100.0);
        let path = Path {
            smoothed_rtt: 0.01,
            ..Path::default()
        };
        let pace = driven.prague.pacing(&driven.window, &path).unwrap();
        assert_eq!((pace.rate, pace.quantum), (10_000.0, 2.0));
        let slow_start = window(10.0, f64::INFINITY);
        let pace = driven.prague.pacing(&slow_start, &path).unwrap();
        assert_eq!((pace.rate, pace.quantum), (2000.0, 1.0));
    }

    #[test]
    fn random_marks_hold_the_window_that_theory_says() {
        for probability in [0.01, 0.05] {
            let mut controller: PragueController = default_controller();
            let marks = probability * mean_window_with_marks(&mut controller, probability);
            // Packets with a mark let nothing grow.
            let error = marks / marks_per_window(1.0 - probability) - 1.0;
            assert!(error.abs() < 0.05, "{probability} {marks}");
        }
    }
}
