//! Copa (Arun and Balakrishnan, NSDI 2018): moves the window towards the rate 1/(delta dq), dq the
//! queueing delay, and takes part in queues that flows which go by losses keep full.
//!
//! A flow keeps about 1/delta packets in the queue, which empties once in five round trips. A loss
//! changes nothing but delta in competitive mode, because the paper states no other reaction.
//!
//! The default is `mode = "default"`, because facebook/mvfst (Copa.cpp) has no competitive mode.
//! `mode = "switching"` is the rule of section 2.2 of the paper. In every run that we tried, two or
//! more flows that switch took each other for flows that fill the queue: the rule wants a nearly
//! empty queue within five round trips, as long as the queue takes to go up and down.

use forebay_random::StreamKey;
use forebay_units::Time;
use forebay_units::parameter::{self, Parameter, ParameterKind, Parameters, Value};

use crate::filter::{WindowedMaximum, WindowedMinimum};
use crate::packet::{
    Ack, CongestionControl, CongestionEvent, Pace, Path, Requirements, Round, Sample, Window,
};
use crate::registration::{Description, Registered};

/// Window of the minimum round-trip time, seconds (section 2).
const MIN_RTT_WINDOW: f64 = 10.0;

/// Smoothed round-trip times over which the standing round-trip time is the minimum (section 2).
const STANDING_WINDOW: f64 = 0.5;

/// Smoothed round-trip times over which the largest one is taken, and the share of the oscillation
/// below which a queue is nearly empty (section 2.2).
const MAX_RTT_WINDOW: f64 = 4.0;
const NEARLY_EMPTY: f64 = 0.1;

/// Smoothed round-trip times without a nearly empty queue after which the mode is competitive
/// (section 2.2).
const EMPTY_WITHIN: f64 = 5.0;

/// Rounds of one direction after which the velocity doubles (section 2.1).
const STEADY_ROUNDS: u32 = 3;

/// Window per standing round-trip time at which packets leave (section 2.1).
const PACING_GAIN: f64 = 2.0;

/// The smallest window, packets (the least of genericCC's markoviancc.cc).
const MIN_WINDOW: f64 = 2.0;

/// Round-trip times over their windows, seconds.
#[derive(Clone, Copy, Debug, Default)]
struct RoundTrips {
    minimum: WindowedMinimum,
    standing: WindowedMinimum,
    maximum: WindowedMaximum,
}

impl RoundTrips {
    fn update(&mut self, rtt: f64, now: Time, smoothed_rtt: f64) {
        let at = now.as_picos();
        let window = |seconds: f64| Time::from_secs_f64(seconds).as_picos();
        self.minimum.update(at, rtt, window(MIN_RTT_WINDOW));
        let standing = STANDING_WINDOW * smoothed_rtt;
        self.standing.update(at, rtt, window(standing));
        let maximum = MAX_RTT_WINDOW * smoothed_rtt;
        self.maximum.update(at, rtt, window(maximum));
    }

    /// Queueing delay in seconds: the standing round-trip time less the minimum; zero before both.
    fn queueing_delay(&self) -> f64 {
        (self.standing.get() - self.minimum.get()).max(0.0)
    }

    fn nearly_empty(&self) -> bool {
        let oscillation = self.maximum.get() - self.minimum.get();
        self.queueing_delay() <= NEARLY_EMPTY * oscillation
    }
}

/// Packets per packet acknowledged and 1/(delta W): doubles once the window has moved in one
/// direction for three rounds.
#[derive(Clone, Copy, Debug)]
struct Velocity {
    value: f64,
    upwards: bool,
    /// Rounds since the direction changed.
    rounds: u32,
    /// Window at the begin of the round, packets.
    start: f64,
}

impl Velocity {
    fn new(upwards: bool, cwnd: f64) -> Self {
        Self {
            value: 1.0,
            upwards,
            rounds: 0,
            start: cwnd,
        }
    }

    /// A round ends with this window.
    fn end_round(&mut self, cwnd: f64) {
        let upwards = cwnd > self.start;
        if upwards != self.upwards {
            *self = Self::new(upwards, cwnd);
            return;
        }
        self.start = cwnd;
        self.rounds += 1;
        if self.rounds >= STEADY_ROUNDS {
            self.value *= 2.0;
        }
    }

    /// The velocity of a step in this direction: a velocity of the other direction ends at once
    /// (facebook/mvfst, `changeDirection`), and the window at most doubles in a round.
    fn of_step(&mut self, upwards: bool, inverse_delta: f64, cwnd: f64) -> f64 {
        if self.value > 1.0 && upwards != self.upwards {
            *self = Self::new(upwards, cwnd);
        }
        self.value = self.value.min((cwnd / inverse_delta).max(1.0));
        self.value
    }
}

/// Copa on packets.
#[derive(Clone, Debug)]
pub struct CopaController {
    /// 1/delta in default mode.
    default_inverse: f64,
    /// Whether it detects flows that react to losses, and switches its mode.
    switches: bool,
    /// 1/delta: packets of the flow in the queue.
    inverse_delta: f64,
    competitive: bool,
    slow_start: bool,
    velocity: Velocity,
    round_trips: RoundTrips,
    /// When the queue was nearly empty last.
    last_empty: Time,
    round: Round,
}

impl CopaController {
    /// Whether the rate is at most the target rate.
    fn below_target(&self, window: &Window) -> bool {
        let target = self.inverse_delta * self.round_trips.standing.get();
        window.cwnd * self.round_trips.queueing_delay() <= target
    }

    /// Section 2.2, once per round: the mode, and 1/delta by additive increase.
    fn update_mode(&mut self, now: Time, path: &Path) {
        let since = now.saturating_sub(self.last_empty).as_secs_f64();
        self.competitive = self.switches && since > EMPTY_WITHIN * path.smoothed_rtt;
        if self.competitive {
            self.inverse_delta += 1.0;
        } else {
            self.inverse_delta = self.default_inverse;
        }
    }
}

impl CongestionControl for CopaController {
    fn requirements(&self) -> Requirements {
        Requirements::ROUND_TRIPS
    }

    fn pacing(&self, window: &Window, _: &Path) -> Option<Pace> {
        let standing = self.round_trips.standing.get();
        standing.is_finite().then(|| Pace {
            rate: PACING_GAIN * window.cwnd / standing,
            quantum: 1.0,
        })
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack, _: &Path) {
        let upwards = self.below_target(window);
        if self.slow_start && upwards {
            window.cwnd += ack.acked;
            return;
        }
        if self.slow_start {
            self.slow_start = false;
            self.velocity = Velocity::new(false, window.cwnd);
        }
        let velocity = self
            .velocity
            .of_step(upwards, self.inverse_delta, window.cwnd);
        let step = velocity * self.inverse_delta * ack.acked / window.cwnd;
        window.cwnd += if upwards { step } else { -step };
        window.cwnd = window.cwnd.max(MIN_WINDOW);
        window.ssthresh = window.ssthresh.min(window.cwnd);
    }

    /// The window stays, except after a timeout. In competitive mode 1/delta is halved.
    fn on_congestion_event(
        &mut self,
        window: &mut Window,
        event: CongestionEvent,
        _: Time,
        _: &Path,
    ) {
        self.inverse_delta = (0.5 * self.inverse_delta).max(self.default_inverse);
        if event == CongestionEvent::Timeout {
            self.velocity = Velocity::new(true, MIN_WINDOW);
        }
        window.cut(window.cwnd, event);
    }

    fn on_sample(&mut self, window: &mut Window, sample: &Sample, path: &Path) {
        if let Some(rtt) = sample.rtt {
            let now = sample.now;
            self.round_trips.update(rtt, now, path.smoothed_rtt);
            if self.round_trips.nearly_empty() {
                self.last_empty = now;
            }
        }
        if self.round.begins(sample) && sample.calm() && !self.slow_start {
            self.velocity.end_round(window.cwnd);
            self.update_mode(sample.now, path);
        }
    }

    fn on_undo(&mut self, before: &Self) {
        self.inverse_delta = before.inverse_delta;
        self.velocity = before.velocity;
    }
}

impl Registered for CopaController {
    const DESCRIPTION: Description = Description::classic(parameter::Description {
        name: "copa",
        aliases: &[],
        title: "Copa: the window at which 1/delta packets of the flow wait in the queue",
        formula: &[
            "dq = RTT_standing − RTT_min: the smallest of the last half round trip − that of the last 10 s",
            "each packet acknowledged: W += v/(δ W) while W/RTT_standing is at most 1/(δ dq), else W −= v/(δ W)",
            "v: 1, doubled each round trip after three of one direction; pace = 2 W/RTT_standing",
            "competitive mode (mode = \"switching\"), without a nearly empty queue for 5 round trips: 1/δ += 1 per round trip, halved by a loss",
        ],
        source: "Arun and Balakrishnan 2018, section 2; facebook/mvfst Copa.cpp",
        checked: &[parameter::Evidence::Trace(
            "the steps of section 2, and the oscillation of the queue of section 3",
        )],
        parameters: &[
            Parameter {
                name: "delta",
                meaning: "Inverse of the number of packets of the flow in the queue, in default mode.",
                kind: ParameterKind::Number {
                    min: 0.001,
                    max: 10.0, unit: "1/packets" },
                default: Value::Number(0.5),
            },
            Parameter {
                name: "mode",
                meaning: "Default mode, as in facebook/mvfst, or the switching of the paper to a competitive mode beside flows that fill the queue. Flows of Copa mistake each other for such flows.",
                kind: ParameterKind::Choice {
                    words: &["default", "switching"],
                },
                default: Value::Word("default"),
            },
        ],
    })
    .with_time_based_loss_detection();

    fn new(parameters: &Parameters, _: StreamKey) -> Self {
        let default_inverse = 1.0 / parameters.number("delta");
        Self {
            default_inverse,
            switches: parameters.word("mode") == "switching",
            inverse_delta: default_inverse,
            competitive: false,
            slow_start: true,
            velocity: Velocity::new(true, 0.0),
            round_trips: RoundTrips::default(),
            last_empty: Time::ZERO,
            round: Round::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::{sample, window};
    use crate::registration::tests::{default_controller, stream};

    const PATH: Path = Path {
        smoothed_rtt: 0.1,
        min_rtt: 0.1,
        max_rtt: 0.1,
        flight: 20.0,
    };

    /// A flow out of slow start with a minimum of 100 ms and this standing queueing delay.
    fn with_delay(delay: f64) -> CopaController {
        let mut copa: CopaController = default_controller();
        copa.slow_start = false;
        copa.round_trips.update(0.1, Time::from_secs(1), 0.1);
        copa.round_trips
            .update(0.1 + delay, Time::from_millis(1100), 0.1);
        copa
    }

    /// A flow with four packets in flight, and its newest acknowledgment.
    struct Driven {
        copa: CopaController,
        seen: Sample,
    }

    impl Driven {
        /// A flow out of slow start after two round trips of 100 ms.
        fn new(copa: CopaController) -> Self {
            let seen = sample(0.1);
            let mut driven = Self { copa, seen };
            driven.copa.slow_start = false;
            driven.rounds(0.1, 2);
            driven
        }

        /// Takes in samples of `count` round trips, 100 ms apart, with round-trip time `rtt`.
        fn rounds(&mut self, rtt: f64, count: u64) {
            for _ in 0..4 * count {
                self.seen.rtt = Some(rtt);
                self.seen.now += Time::from_millis(25);
                self.seen.acknowledged += 1;
                self.seen.next = self.seen.acknowledged + 4;
                let mut at = window(4.0, 4.0);
                self.copa.on_sample(&mut at, &self.seen, &PATH);
            }
        }
    }

    fn acknowledge(copa: &mut CopaController, window: &mut Window, acked: f64) {
        let now = Time::from_secs(1);
        copa.on_ack(window, &Ack { acked, now }, &PATH);
    }

    /// Section 2.1 by hand: a delay of 25 ms and delta 1/2 have a target rate of 80 packets per
    /// second, 10 packets per standing round-trip time of 125 ms.
    #[test]
    fn the_window_moves_towards_the_target_rate() {
        for (cwnd, velocity, acked, expected) in [
            (8.0, 1.0, 1.0, 8.25),
            (8.0, 1.0, 2.0, 8.5),
            (10.0, 1.0, 1.0, 10.2),
            (10.5, 1.0, 1.0, 10.5 - 2.0 / 10.5),
            (8.0, 4.0, 1.0, 9.0),
            // At most doubled per round trip.
            (8.0, 64.0, 1.0, 9.0),
            (2.0, 1.0, 1.0, 3.0),
        ] {
            let mut copa = with_delay(0.025);
            copa.velocity.value = velocity;
            let mut at = window(cwnd, f64::INFINITY);
            acknowledge(&mut copa, &mut at, acked);
            assert!((at.cwnd - expected).abs() < 1e-9, "{cwnd}: {}", at.cwnd);
            assert_eq!(at.ssthresh, at.cwnd);
        }
        let mut at = window(2.5, 2.5);
        acknowledge(&mut with_delay(10.0), &mut at, 1.0);
        assert_eq!(at.cwnd, 2.0);
    }

    #[test]
    fn the_velocity_doubles_after_three_rounds_of_one_direction() {
        let mut velocity = Velocity::new(true, 10.0);
        let values = [11.0, 12.0, 13.0, 14.0, 13.0, 12.0, 11.0, 10.0, 10.5].map(|cwnd| {
            velocity.end_round(cwnd);
            velocity.value
        });
        assert_eq!(values, [1.0, 1.0, 2.0, 4.0, 1.0, 1.0, 1.0, 2.0, 1.0]);
    }

    #[test]
    fn a_velocity_of_the_other_direction_ends_at_once() {
        let mut velocity = Velocity::new(true, 10.0);
        velocity.value = 4.0;
        assert_eq!(velocity.of_step(true, 2.0, 100.0), 4.0);
        assert_eq!(velocity.of_step(false, 2.0, 100.0), 1.0);
        assert!(!velocity.upwards);
        assert_eq!(velocity.start, 100.0);
    }

    #[test]
    fn slow_start_doubles_until_the_rate_exceeds_the_target() {
        let mut copa: CopaController = default_controller();
        let mut at = window(10.0, f64::INFINITY);
        acknowledge(&mut copa, &mut at, 10.0);
        assert_eq!(at.cwnd, 20.0);
        copa.round_trips = with_delay(0.0).round_trips;
        acknowledge(&mut copa, &mut at, 20.0);
        assert_eq!(at.cwnd, 40.0);
        copa.round_trips = with_delay(0.025).round_trips;
        acknowledge(&mut copa, &mut at, 1.0);
        assert!(!copa.slow_start);
        assert_eq!(at.cwnd, 40.0 - 2.0 / 40.0);
    }

    #[test]
    fn packets_leave_at_twice_the_window_per_standing_round_trip_time() {
        let copa: CopaController = default_controller();
        assert_eq!(copa.pacing(&window(20.0, 1.0), &PATH), None);
        let pace = with_delay(0.025).pacing(&window(20.0, 1.0), &PATH);
        let pace = pace.expect("a round-trip time is known");
        assert!((pace.rate - 320.0).abs() < 1e-9, "{}", pace.rate);
        assert_eq!(pace.quantum, 1.0);
    }

    /// Section 2: RTT_min over 10 s, RTT_standing over half a smoothed round-trip time, the maximum
    /// over four.
    #[test]
    fn round_trip_times_count_for_their_windows() {
        let mut seen = RoundTrips::default();
        let at = |seen: &mut RoundTrips, ms: u64, rtt: f64| {
            seen.update(rtt, Time::from_millis(ms), 0.1);
            (seen.minimum.get(), seen.standing.get(), seen.maximum.get())
        };
        assert_eq!(at(&mut seen, 1000, 0.1), (0.1, 0.1, 0.1));
        assert_eq!(at(&mut seen, 1050, 0.3), (0.1, 0.1, 0.3));
        assert_eq!(at(&mut seen, 1051, 0.2), (0.1, 0.2, 0.3));
        assert_eq!(at(&mut seen, 1450, 0.2), (0.1, 0.2, 0.3));
        assert_eq!(at(&mut seen, 1451, 0.2), (0.1, 0.2, 0.2));
        assert_eq!(at(&mut seen, 11_000, 0.2).0, 0.1);
        assert_eq!(at(&mut seen, 11_001, 0.2).0, 0.2);
    }

    /// Section 2.2: without a nearly empty queue for five round trips 1/delta grows by a packet
    /// each, a loss halves it, and an empty queue ends the mode.
    #[test]
    fn a_queue_that_never_empties_makes_the_flow_competitive() {
        let mut parameters = Parameters::defaults(CopaController::DESCRIPTION.parameters());
        assert!(parameters.set("mode", Value::Word("switching")));
        let mut flow = Driven::new(CopaController::new(&parameters, stream(0)));
        // The larger round-trip times count after half of one.
        let mut begun = 0;
        while !flow.copa.competitive {
            assert_eq!(flow.copa.inverse_delta, 2.0);
            flow.rounds(0.2, 1);
            begun += 1;
        }
        assert_eq!(begun, 7);
        assert_eq!(flow.copa.inverse_delta, 3.0);
        flow.rounds(0.2, 7);
        assert_eq!(flow.copa.inverse_delta, 10.0);
        let mut at = window(40.0, 40.0);
        for expected in [5.0, 2.5, 2.0] {
            flow.copa
                .on_congestion_event(&mut at, CongestionEvent::Loss, Time::ZERO, &PATH);
            assert_eq!((at.cwnd, flow.copa.inverse_delta), (40.0, expected));
        }
        flow.rounds(0.2, 1);
        assert_eq!(flow.copa.inverse_delta, 3.0);
        // A tenth of the oscillation of 100 ms is no queue, more is one.
        flow.rounds(0.111, 3);
        assert!(flow.copa.competitive);
        flow.rounds(0.109, 2);
        assert!(!flow.copa.competitive);
        assert_eq!(flow.copa.inverse_delta, 2.0);
    }

    #[test]
    fn the_mode_default_never_competes() {
        let mut flow = Driven::new(default_controller());
        flow.rounds(0.2, 20);
        assert_eq!(flow.copa.inverse_delta, 2.0);
    }

    #[test]
    fn a_loss_leaves_the_window_and_a_timeout_one_packet() {
        let mut copa = with_delay(0.025);
        copa.velocity.value = 8.0;
        let before = copa.clone();
        let mut at = window(40.0, f64::INFINITY);
        copa.on_congestion_event(&mut at, CongestionEvent::Loss, Time::ZERO, &PATH);
        assert_eq!((at.cwnd, at.ssthresh), (40.0, 40.0));
        assert_eq!((copa.inverse_delta, copa.velocity.value), (2.0, 8.0));
        copa.on_congestion_event(&mut at, CongestionEvent::Timeout, Time::ZERO, &PATH);
        assert_eq!((at.cwnd, copa.velocity.value), (1.0, 1.0));
        copa.on_undo(&before);
        assert_eq!(copa.velocity.value, 8.0);
    }

    #[test]
    fn a_velocity_ends_its_round_when_its_packets_are_acknowledged() {
        let mut copa = with_delay(0.0);
        copa.velocity = Velocity::new(true, 1.0);
        let mut at = window(10.0, 10.0);
        let mut seen = sample(0.1);
        for (acknowledged, next, expected) in [(1, 11, 1), (10, 20, 1), (11, 21, 2), (20, 30, 2)] {
            (seen.acknowledged, seen.next) = (acknowledged, next);
            at.cwnd += 1.0;
            copa.on_sample(&mut at, &seen, &PATH);
            assert_eq!(copa.velocity.rounds, expected, "{acknowledged}");
        }
    }
}
