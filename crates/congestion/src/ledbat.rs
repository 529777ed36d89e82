//! LEDBAT (RFC 6817): background transfers that hold the queueing delay at a target.
//!
//! The window follows the pseudo-code of section 2.4.2. A round-trip time takes the place of the
//! one-way delay. The initial window is the one of the stack and not `INIT_CWND`. There is no slow
//! start, neither at the start nor after a timeout, because the pseudo-code has none. A flow that
//! begins while others queue takes their queue for a part of the base delay (the latecomer's
//! advantage, section 4.4).

use forebay_random::StreamKey;
use forebay_units::Time;
use forebay_units::parameter::{self, Parameter, ParameterKind, Parameters, Value};

use crate::packet::{Ack, CongestionControl, CongestionEvent, Path, Requirements, Sample, Window};
use crate::queueing_delay::{BaseDelay, CurrentDelay, queueing_delay, target_seconds};
use crate::registration::{Description, Registered};

/// Packets by which the window may exceed the flight size (`ALLOWED_INCREASE`).
const ALLOWED_INCREASE: f64 = 1.0;

/// The smallest window, packets (`MIN_CWND`).
const MIN_CWND: f64 = 2.0;

/// LEDBAT on packets.
#[derive(Clone, Debug)]
pub struct LedbatController {
    /// Target of the queueing delay, seconds (`TARGET`).
    target: f64,
    /// Packets per round trip that an empty queue adds to the window (`GAIN`).
    gain: f64,
    current: CurrentDelay,
    base: BaseDelay,
}

impl LedbatController {
    /// Distance of the queueing delay from the target, relative to the target: 1 with an empty
    /// queue, 0 at the target, negative above it.
    fn off_target(&self) -> f64 {
        1.0 - queueing_delay(self.current.get(), self.base.get()) / self.target
    }
}

impl CongestionControl for LedbatController {
    fn requirements(&self) -> Requirements {
        Requirements::ROUND_TRIPS
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack, _: &Path) {
        let change = self.gain * self.off_target() * ack.acked / window.cwnd;
        window.cwnd = (window.cwnd + change).max(MIN_CWND);
        window.ssthresh = window.ssthresh.min(window.cwnd);
    }

    /// Half of the window, once per round trip. A timeout leaves one packet.
    fn on_congestion_event(
        &mut self,
        window: &mut Window,
        event: CongestionEvent,
        _: Time,
        _: &Path,
    ) {
        window.cut((0.5 * window.cwnd).max(MIN_CWND), event);
    }

    fn on_sample(&mut self, window: &mut Window, sample: &Sample, _: &Path) {
        if let Some(rtt) = sample.rtt {
            self.current.update(rtt);
            self.base.update(rtt, sample.now);
        }
        // A window that limits the sender is within the bound.
        if sample.calm() && !sample.limited {
            let allowed = sample.prior_in_flight + ALLOWED_INCREASE;
            window.cwnd = window.cwnd.min(allowed.max(MIN_CWND));
        }
    }
}

impl Registered for LedbatController {
    const DESCRIPTION: Description = Description::classic(parameter::Description {
        name: "ledbat",
        aliases: &[],
        title: "LEDBAT: background transfers that hold the queueing delay at a target",
        formula: &[
            "each packet acknowledged: W += gain × (1 − delay/target)/W, at least 2 packets",
            "delay: the smallest of the last 4 round-trip times − the smallest of the last 10 minutes",
            "a window that does not limit the sender: at most the packets in flight + 1",
            "a loss: W = W/2",
        ],
        source: "RFC 6817",
        checked: &[parameter::Evidence::Trace(
            "the pseudo-code of section 2.4.2, and the queue at the target",
        )],
        parameters: &[
            Parameter {
                name: "target",
                meaning: "Queueing delay at which the window rests (section 2.5).",
                kind: ParameterKind::Time,
                default: Value::Time(Time::from_millis(100)),
            },
            Parameter {
                name: "gain",
                meaning: "Growth of the window while the queue is empty.",
                kind: ParameterKind::Number {
                    min: 0.01,
                    max: 1.0,
                    unit: "packets per round trip",
                },
                default: Value::Number(1.0),
            },
        ],
    });

    fn new(parameters: &Parameters, _: StreamKey) -> Self {
        Self {
            target: target_seconds(parameters.time("target")),
            gain: parameters.number("gain"),
            current: CurrentDelay::default(),
            base: BaseDelay::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::LossState;
    use crate::packet::tests::{sample, window};
    use crate::registration::tests::default_controller;

    /// A controller whose base delay is 50 ms, after a long time of this queueing delay.
    fn with_delay(delay: f64) -> LedbatController {
        let mut ledbat: LedbatController = default_controller();
        ledbat.base.update(0.05, Time::from_secs(1));
        ledbat.current = CurrentDelay::steady(0.05 + delay);
        ledbat
    }

    fn acknowledge(ledbat: &mut LedbatController, window: &mut Window, acked: f64) {
        let now = Time::from_secs(1);
        ledbat.on_ack(window, &Ack { acked, now }, &Path::default());
    }

    /// Section 2.4.2 by hand with a target of 100 ms: W + gain (1 - delay / 100 ms) acked / W.
    /// Delays in ms.
    #[test]
    fn an_acknowledgment_changes_the_window_as_the_pseudo_code_does() {
        for (gain, cwnd, delay, acked, expected) in [
            (1.0, 20.0, 0.0, 1.0, 20.05),
            (1.0, 20.0, 0.0, 20.0, 21.0),
            (1.0, 20.0, 50.0, 20.0, 20.5),
            (1.0, 20.0, 100.0, 20.0, 20.0),
            (1.0, 20.0, 150.0, 20.0, 19.5),
            (1.0, 20.0, 400.0, 20.0, 17.0),
            (0.5, 20.0, 0.0, 20.0, 20.5),
            (0.5, 20.0, 300.0, 10.0, 19.5),
            (1.0, 2.1, 900.0, 1.0, 2.0),
            (1.0, 1.0, 0.0, 1.0, 2.0),
        ] {
            let mut ledbat = with_delay(delay * 1e-3);
            ledbat.gain = gain;
            let mut at = window(cwnd, f64::INFINITY);
            acknowledge(&mut ledbat, &mut at, acked);
            assert!(
                (at.cwnd - expected).abs() < 1e-9,
                "{cwnd} {delay}: {}",
                at.cwnd
            );
        }
    }

    #[test]
    fn the_window_grows_by_one_packet_per_round_trip_from_the_start() {
        let mut ledbat: LedbatController = default_controller();
        let mut at = window(10.0, f64::INFINITY);
        acknowledge(&mut ledbat, &mut at, 10.0);
        assert_eq!(at.cwnd, 11.0);
        assert_eq!(at.ssthresh, 11.0);
    }

    #[test]
    fn a_congestion_halves_the_window_down_to_two_packets() {
        for (cwnd, event, expected) in [
            (40.0, CongestionEvent::Loss, (20.0, 20.0)),
            (40.0, CongestionEvent::Mark, (20.0, 20.0)),
            (40.0, CongestionEvent::Timeout, (1.0, 20.0)),
            (3.0, CongestionEvent::Loss, (2.0, 2.0)),
        ] {
            let mut at = window(cwnd, f64::INFINITY);
            let path = Path::default();
            with_delay(0.0).on_congestion_event(&mut at, event, Time::ZERO, &path);
            assert_eq!((at.cwnd, at.ssthresh), expected, "{cwnd} {event:?}");
        }
    }

    #[test]
    fn a_window_that_does_not_limit_exceeds_the_flight_by_one_packet() {
        let after = |cwnd, in_flight, limited, state| {
            let mut seen = sample(0.05);
            seen.prior_in_flight = in_flight;
            seen.limited = limited;
            seen.state = state;
            let mut at = window(cwnd, 10.0);
            with_delay(0.0).on_sample(&mut at, &seen, &Path::default());
            at.cwnd
        };
        assert_eq!(after(40.0, 12.0, false, LossState::Open), 13.0);
        assert_eq!(after(40.0, 0.0, false, LossState::Open), 2.0);
        assert_eq!(after(5.0, 12.0, false, LossState::Open), 5.0);
        assert_eq!(after(40.0, 12.0, true, LossState::Open), 40.0);
        assert_eq!(after(40.0, 12.0, false, LossState::Recovery), 40.0);
    }

    #[test]
    fn samples_set_the_current_and_the_base_delay() {
        let mut ledbat: LedbatController = default_controller();
        let mut at = window(10.0, 10.0);
        for rtt in [0.05, 0.1, 0.1, 0.1] {
            ledbat.on_sample(&mut at, &sample(rtt), &Path::default());
            assert_eq!(ledbat.off_target(), 1.0);
        }
        ledbat.on_sample(&mut at, &sample(0.1), &Path::default());
        assert!((ledbat.off_target() - 0.5).abs() < 1e-12);
    }
}
