//! LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus): background transfers that keep the queue at a
//! target and leave the link to others.
//!
//! The base delay is the smallest round-trip time of the connection, for no path here changes its
//! propagation time. The initial window is the stack's and not the two packets of section 4.1.

use forebay_random::StreamKey;
use forebay_units::Time;
use forebay_units::parameter::{self, Parameter, ParameterKind, Parameters, Value};

use crate::packet::{Ack, CongestionControl, CongestionEvent, Path, Requirements, Sample, Window};
use crate::queueing_delay::{CurrentDelay, queueing_delay, target_seconds};
use crate::registration::{Description, Registered};

/// The gain is one over this at least (section 4.2).
const MOST_DIVISOR: f64 = 16.0;

/// Share of the target that ends the initial slow start (section 4.1).
const EXIT_SHARE: f64 = 0.75;

/// Window of a slowdown, packets; how many round trips it lasts, as many as pass between the
/// initial slow start and the first one (section 4.4).
const SLOW_WINDOW: f64 = 2.0;
const SLOW_ROUNDS: f64 = 2.0;

/// The time between two slowdowns, as a multiple of the slowdown's length (section 4.4).
const SLOWDOWN_INTERVAL: f64 = 9.0;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// The initial slow start.
    Start,
    Avoidance,
    /// Two packets until the queue has drained; then the window returns to `resume`.
    Slowdown {
        since: Time,
        until: Time,
        resume: f64,
    },
    /// The slow start after it.
    Return {
        since: Time,
    },
}

/// LEDBAT++ on packets.
#[derive(Clone, Debug)]
pub struct LedbatppController {
    target: f64,
    phase: Phase,
    /// When the next slowdown begins; [`Time::MAX`] for not yet known.
    next: Time,
    current: CurrentDelay,
}

impl LedbatppController {
    /// The queueing delay in the round trip, in seconds (section 4.5).
    fn delay(&self, path: &Path) -> f64 {
        queueing_delay(self.current.get(), path.min_rtt)
    }

    /// Growth relative to Reno's (section 4.2): less where others' round trips are as short.
    fn gain(&self, path: &Path) -> f64 {
        let divisor = (2.0 * self.target / path.min_rtt).ceil();
        1.0 / divisor.clamp(1.0, MOST_DIVISOR)
    }

    /// The change of the window in one round trip, in packets (section 4.3).
    fn step(&self, cwnd: f64, path: &Path) -> f64 {
        let excess = self.delay(path) / self.target - 1.0;
        let gain = self.gain(path);
        if excess <= 0.0 {
            return gain;
        }
        (gain - cwnd * excess).max(-0.5 * cwnd)
    }

    fn leave_start(&mut self, now: Time, path: &Path) {
        self.phase = Phase::Avoidance;
        self.next = now.saturating_add(Time::from_secs_f64(SLOW_ROUNDS * path.smoothed_rtt));
    }

    fn slow_down(&mut self, window: &mut Window, now: Time, path: &Path) {
        self.phase = Phase::Slowdown {
            since: now,
            until: now.saturating_add(Time::from_secs_f64(SLOW_ROUNDS * path.smoothed_rtt)),
            resume: window.cwnd.max(SLOW_WINDOW),
        };
        window.cut(SLOW_WINDOW, CongestionEvent::Mark);
    }
}

impl CongestionControl for LedbatppController {
    fn requirements(&self) -> Requirements {
        Requirements::ROUND_TRIPS
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack, path: &Path) {
        if matches!(self.phase, Phase::Slowdown { .. }) {
            return;
        }
        if window.cwnd < window.ssthresh {
            // Section 4.1.
            window.slow_start(self.gain(path) * ack.acked);
            return;
        }
        let share = (ack.acked / window.cwnd).min(1.0);
        let grown = window.cwnd + share * self.step(window.cwnd, path);
        // After a timeout a single packet may be allowed.
        window.cwnd = grown.max(SLOW_WINDOW.min(window.cwnd));
        // A window that the delay cut is no slow start.
        window.ssthresh = window.ssthresh.min(window.cwnd);
    }

    /// A loss halves (section 4.3); during a slowdown, the window to which it returns.
    fn on_congestion_event(
        &mut self,
        window: &mut Window,
        event: CongestionEvent,
        _: Time,
        path: &Path,
    ) {
        if let Phase::Slowdown { resume, .. } = &mut self.phase {
            *resume = (0.5 * *resume).max(SLOW_WINDOW);
            window.cut(SLOW_WINDOW, event);
            return;
        }
        window.cut(0.5 * path.flight, event);
    }

    fn on_sample(&mut self, window: &mut Window, sample: &Sample, path: &Path) {
        if let Some(rtt) = sample.rtt {
            self.current.update(rtt);
        }
        let now = sample.now;
        match self.phase {
            Phase::Start => {
                if self.delay(path) > EXIT_SHARE * self.target {
                    window.ssthresh = window.cwnd;
                }
                if window.cwnd >= window.ssthresh {
                    self.leave_start(now, path);
                }
            }
            Phase::Avoidance if now >= self.next && sample.calm() => {
                self.slow_down(window, now, path);
            }
            Phase::Slowdown {
                since,
                until,
                resume,
            } if now >= until && sample.calm() => {
                window.ssthresh = resume;
                self.phase = Phase::Return { since };
            }
            Phase::Return { since } if window.cwnd >= window.ssthresh => {
                let length = now.saturating_sub(since).as_secs_f64();
                let pause = Time::from_secs_f64(SLOWDOWN_INTERVAL * length);
                self.next = now.saturating_add(pause);
                self.phase = Phase::Avoidance;
            }
            _ => {}
        }
    }
}

impl Registered for LedbatppController {
    const DESCRIPTION: Description = Description::classic(parameter::Description {
        name: "ledbatpp",
        aliases: &["ledbat++"],
        title: "LEDBAT++: background transfers that hold the queue at a target and yield to others",
        formula: &[
            "delay below the target: W += G/W per packet acknowledged, with G = 1/min(16, ⌈2 target/RTT_min⌉)",
            "above it: W += G − W (delay/target − 1) per round trip, and never less than −W/2",
            "a loss: W = W/2",
            "every tenth of the time: 2 packets for two round trips, so that the queue empties and RTT_min is seen",
        ],
        source: "draft-irtf-iccrg-ledbat-plus-plus; RFC 6817",
        checked: &[parameter::Evidence::Trace(
            "the draft's equations, round trip by round trip",
        )],
        parameters: &[Parameter {
            name: "target",
            meaning: "Queueing delay above which the window shrinks (section 4.5).",
            kind: ParameterKind::Time,
            default: Value::Time(Time::from_millis(60)),
        }],
    });

    fn new(parameters: &Parameters, _: StreamKey) -> Self {
        Self {
            target: target_seconds(parameters.time("target")),
            phase: Phase::Start,
            next: Time::MAX,
            current: CurrentDelay::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::{sample, window};
    use crate::registration::tests::default_controller;

    /// A flow on a path of 60 ms.
    struct Driven {
        ledbat: LedbatppController,
        window: Window,
        now: Time,
    }

    const PATH: Path = Path {
        smoothed_rtt: 0.06,
        min_rtt: 0.06,
        max_rtt: 0.0,
        flight: 40.0,
    };

    impl Driven {
        fn new(cwnd: f64) -> Self {
            Self {
                ledbat: default_controller(),
                window: window(cwnd, f64::INFINITY),
                now: Time::from_secs(1),
            }
        }

        /// A round trip in which a window is acknowledged with this queueing delay.
        fn round(&mut self, delay: f64) {
            let packets = self.window.cwnd.floor();
            for _ in 0..packets as u64 {
                self.now += Time::from_secs_f64(0.06 / packets);
                let (acked, now) = (1.0, self.now);
                let ack = Ack { acked, now };
                self.ledbat.on_ack(&mut self.window, &ack, &PATH);
                let mut seen = sample(0.06 + delay);
                seen.now = now;
                self.ledbat.on_sample(&mut self.window, &seen, &PATH);
            }
        }

        /// The same in congestion avoidance far from a slowdown.
        fn steady(cwnd: f64) -> Self {
            let mut driven = Self::new(cwnd);
            driven.window.ssthresh = cwnd;
            driven.ledbat.phase = Phase::Avoidance;
            driven
        }
    }

    #[test]
    fn the_gain_falls_with_the_round_trip() {
        let ledbat = Driven::new(10.0).ledbat;
        for (rtt, divisor) in [
            (0.2, 1.0),
            (0.12, 1.0),
            (0.06, 2.0),
            (0.02, 6.0),
            (1e-3, 16.0),
        ] {
            let path = Path {
                min_rtt: rtt,
                ..PATH
            };
            assert_eq!(ledbat.gain(&path), 1.0 / divisor, "{rtt}");
        }
    }

    #[test]
    fn slow_start_grows_by_the_gain_and_ends_at_three_quarters_of_the_target() {
        let mut driven = Driven::new(10.0);
        driven.round(0.0);
        assert_eq!(driven.window.cwnd, 15.0);
        driven.round(0.044);
        assert_eq!(driven.ledbat.phase, Phase::Start);
        driven.round(0.046);
        assert_eq!(driven.ledbat.phase, Phase::Avoidance);
    }

    #[test]
    fn below_the_target_the_window_grows_by_the_gain_and_above_it_shrinks_in_proportion() {
        let mut driven = Driven::steady(50.0);
        driven.round(0.03);
        assert!((driven.window.cwnd - 50.5).abs() < 0.02);
        for (delay, expected) in [(0.066, 45.7), (0.3, 25.0)] {
            let mut driven = Driven::steady(50.0);
            // The filter forgets shorter delays.
            driven.ledbat.current = CurrentDelay::steady(0.06 + delay);
            driven.round(delay);
            let cwnd = driven.window.cwnd;
            assert!((cwnd - expected).abs() < 1.0, "{delay} {cwnd}");
        }
    }

    /// Sections 4.2 and 4.3 by hand, a window acknowledged at once: W + G up to the target of 60
    /// ms, beyond it W + max(G - W (delay/target - 1), -W/2), with G = 1/min(16, ceil(120 ms /
    /// base)). Times in ms.
    #[test]
    fn a_round_trip_does_what_the_draft_says() {
        for (base, cwnd, delay, expected) in [
            (60.0, 50.0, 0.0, 50.5),
            (60.0, 50.0, 60.0, 50.5),
            (60.0, 50.0, 66.0, 45.5),
            (60.0, 50.0, 90.0, 25.5),
            (60.0, 50.0, 91.0, 25.0),
            (60.0, 50.0, 180.0, 25.0),
            (200.0, 40.0, 30.0, 41.0),
            (120.0, 40.0, 63.0, 39.0),
            (50.0, 30.0, 20.0, 30.0 + 1.0 / 3.0),
            (10.0, 24.0, 65.0, 24.0 + 1.0 / 12.0 - 2.0),
            (7.5, 32.0, 10.0, 32.0625),
            (1.0, 32.0, 10.0, 32.0625),
            // Two packets stay (section 4.4's window of a slowdown).
            (60.0, 3.0, 180.0, 2.0),
        ] {
            let mut driven = Driven::steady(cwnd);
            driven.ledbat.current = CurrentDelay::steady((base + delay) * 1e-3);
            let path = Path {
                min_rtt: base * 1e-3,
                ..PATH
            };
            let (acked, now) = (cwnd, driven.now);
            let ack = Ack { acked, now };
            driven.ledbat.on_ack(&mut driven.window, &ack, &path);
            let found = driven.window.cwnd;
            assert!(
                (found - expected).abs() < 1e-9,
                "{base} {cwnd} {delay}: {found}"
            );
        }
    }

    /// Section 4.4 by hand, round trips of 60 ms: the first slowdown two of them behind the end of
    /// slow start, two packets for two round trips, then slow start at gain 1/2: 2, 3, 4.5, 6.75,
    /// 10.125.
    #[test]
    fn a_slowdown_takes_the_steps_of_the_draft() {
        let mut driven = Driven::new(10.0);
        driven.ledbat.phase = Phase::Start;
        driven.window.ssthresh = 10.0;
        let mut seen = sample(0.06);
        let mut at = |driven: &mut Driven, ms: u64| {
            seen.now = Time::from_millis(1000 + ms);
            driven.ledbat.on_sample(&mut driven.window, &seen, &PATH);
            driven.window.cwnd
        };
        assert_eq!(at(&mut driven, 0), 10.0);
        assert_eq!(at(&mut driven, 119), 10.0);
        assert_eq!(at(&mut driven, 120), 2.0);
        assert_eq!(at(&mut driven, 239), 2.0);
        assert_eq!(at(&mut driven, 240), 2.0);
        for expected in [3.0, 4.5, 6.75, 10.0] {
            let (acked, now) = (driven.window.cwnd, driven.now);
            let ack = Ack { acked, now };
            driven.ledbat.on_ack(&mut driven.window, &ack, &PATH);
            assert_eq!(driven.window.cwnd, expected);
        }
        // From its start to its end it took 360 ms: the next one begins nine times as long after
        // it.
        assert_eq!(at(&mut driven, 480), 10.0);
        assert_eq!(driven.ledbat.next, Time::from_millis(1480 + 9 * 360));
        assert_eq!(at(&mut driven, 480 + 9 * 360 - 1), 10.0);
        assert_eq!(at(&mut driven, 480 + 9 * 360), 2.0);
    }

    #[test]
    fn slowdowns_last_a_tenth_of_the_time() {
        let mut driven = Driven::new(40.0);
        driven.round(0.05);
        driven.round(0.05);
        driven.round(0.05);
        assert!(matches!(driven.ledbat.phase, Phase::Slowdown { .. }));
        assert_eq!(driven.window.cwnd, SLOW_WINDOW);
        let began = driven.now;
        while driven.ledbat.phase != Phase::Avoidance {
            driven.round(0.0);
        }
        let length = (driven.now - began).as_secs_f64();
        assert!(driven.window.cwnd >= 40.0, "{}", driven.window.cwnd);
        let pause = (driven.ledbat.next - driven.now).as_secs_f64();
        assert!((pause / length - 9.0).abs() < 1.0, "{pause} {length}");
    }

    #[test]
    fn a_loss_halves_the_window_or_that_to_which_it_returns() {
        let mut driven = Driven::steady(40.0);
        let now = driven.now;
        driven
            .ledbat
            .on_congestion_event(&mut driven.window, CongestionEvent::Loss, now, &PATH);
        assert_eq!(driven.window.cwnd, 20.0);
        driven.ledbat.slow_down(&mut driven.window, now, &PATH);
        driven
            .ledbat
            .on_congestion_event(&mut driven.window, CongestionEvent::Loss, now, &PATH);
        assert_eq!(driven.window.cwnd, SLOW_WINDOW);
        let Phase::Slowdown { resume, .. } = driven.ledbat.phase else {
            panic!("{:?}", driven.ledbat.phase);
        };
        assert_eq!(resume, 10.0);
    }
}
