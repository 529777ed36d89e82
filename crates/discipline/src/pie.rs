//! PIE, the proportional integral controller enhanced (Pan et al., RFC 8033). Arrivals are dropped
//! with a probability that a controller updates every 15 ms. The update depends on the distance of
//! the queueing delay from its target and on the change of the delay.
//!
//! The controller's timer is evaluated at arrivals. Between them the queue drains at the link's
//! rate, so its length at each missed tick is known.

use std::sync::Arc;

use forebay_units::parameter::{
    Description, Evidence, Parameter, ParameterKind, Parameters, Value,
};
use forebay_units::{RateSteps, Time};

use crate::admission::{AdmissionControl, Arrival, Verdict};
use crate::packet::{Ecn, Packet};
use crate::port::{Port, Setting};

/// Parameter values of PIE.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tuning {
    /// QDELAY_REF, in seconds.
    target: f64,
    /// T_UPDATE: the time between two updates.
    update: Time,
    /// Weight of the delay's distance from the target, per second.
    alpha: f64,
    /// Weight of the change of the delay, per second.
    beta: f64,
    /// MAX_BURST: the time for which bursts are let through.
    burst: Time,
    /// Probability up to which ECN-capable packets are marked; above it they are dropped too.
    mark_below: f64,
}

/// Descriptions of the parameters of PIE.
pub(crate) const PARAMETERS: [Parameter; 6] = [
    Parameter {
        name: "target",
        meaning: "QDELAY_REF: target delay (RFC 8033 section 5.1).",
        kind: ParameterKind::Time,
        default: Value::Time(Time::from_millis(15)),
    },
    Parameter {
        name: "update",
        meaning: "T_UPDATE: time between updates of the probability, at least 1 us.",
        kind: ParameterKind::Time,
        default: Value::Time(Time::from_millis(15)),
    },
    Parameter {
        name: "alpha",
        meaning: "Weight of the difference between the delay and the target (RFC 8033 section 5.1).",
        kind: ParameterKind::Number {
            min: 0.0,
            max: 1e6,
            unit: "1/s",
        },
        default: Value::Number(0.125),
    },
    Parameter {
        name: "beta",
        meaning: "Weight of the change of the delay.",
        kind: ParameterKind::Number {
            min: 0.0,
            max: 1e6,
            unit: "1/s",
        },
        default: Value::Number(1.25),
    },
    Parameter {
        name: "burst",
        meaning: "MAX_BURST: time after a quiet period in which nothing is dropped (RFC 8033 section 4.4).",
        kind: ParameterKind::Time,
        default: Value::Time(Time::from_millis(150)),
    },
    Parameter {
        name: "mark_below",
        meaning: "Drop probability up to which ECN-capable packets are marked; beyond it they are dropped (RFC 8033 section 5.1).",
        kind: ParameterKind::Number {
            min: 0.0,
            max: 1.0,
            unit: "probability",
        },
        default: Value::Number(0.1),
    },
];

/// The controller's state of one queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Control {
    probability: f64,
    /// Delay at the last update, in seconds.
    delay_before: f64,
    burst_allowance: Time,
    accumulated: f64,
    next_update: Time,
}

/// The discipline `pie`.
#[derive(Clone, Debug)]
pub struct Pie {
    tuning: Tuning,
    bytes_per_second: f64,
    /// The steps of the rate, if it changes.
    steps: Option<Arc<RateSteps>>,
    packet: f64,
    control: Control,
    /// Bytes that wait after the last arrival, and the time of that arrival.
    waiting: f64,
    waiting_since: Time,
}

impl AdmissionControl for Pie {
    const DESCRIPTION: Description = Description {
        name: "pie",
        aliases: &[],
        title: "Proportional integral controller enhanced: random drops that hold the delay at a target",
        formula: &[
            "every `update`: p += alpha (delay − target) + beta (delay − delay before), scaled down where p is small",
            "an arrival is dropped, or marked where p ≤ mark_below, with probability p",
            "no drops for `burst` after a calm time",
        ],
        source: "RFC 8033",
        checked: &[
            Evidence::Trend("ns-3.48: PieQueueDisc"),
            Evidence::Theory("rest at the target under steady overload"),
        ],
        parameters: &PARAMETERS,
    };

    fn new(parameters: &Parameters, setting: &Setting) -> Self {
        let tuning = Tuning::new(parameters);
        Self {
            tuning,
            bytes_per_second: setting.rate.as_bytes_per_second(),
            steps: setting.steps.clone(),
            packet: setting.packet,
            control: Control::new(&tuning),
            waiting: 0.0,
            waiting_since: Time::ZERO,
        }
    }

    #[inline]
    fn admit(&mut self, packet: &Packet, arrival: &Arrival, port: &mut Port) -> Verdict {
        while let Some(tick) = self.control.due(port.now) {
            let delay = self.delay(tick);
            self.control.update(&self.tuning, delay, port.now);
        }
        let small = arrival.backlog.bytes as f64 <= 2.0 * self.packet;
        let verdict = self.control.decide(&self.tuning, packet, small, port);
        let taken = if arrival.full || verdict == Verdict::Drop {
            0.0
        } else {
            f64::from(packet.size)
        };
        // A packet that goes into transmission at once does not wait.
        let behind = if arrival.idle_since.is_some() {
            0.0
        } else {
            taken
        };
        self.waiting = arrival.backlog.bytes as f64 + behind;
        self.waiting_since = port.now;
        verdict
    }
}

impl Pie {
    /// Delay that a packet arriving at `at` would have, in seconds.
    fn delay(&self, at: Time) -> f64 {
        let (bytes_per_second, since) = if let Some(steps) = &self.steps {
            measured(steps, self.waiting_since, at)
        } else {
            let since = at.saturating_sub(self.waiting_since).as_secs_f64();
            (self.bytes_per_second, since)
        };
        (self.waiting / bytes_per_second - since).max(0.0)
    }
}

/// The drain rate measured by `at` in bytes/s on a link with a changing rate. The second value is
/// the time in seconds that the work since `since` takes at that rate. RFC 8033 section 4.3
/// measures the rate at departures. In an outage there are none, and the estimate stays.
fn measured(steps: &RateSteps, since: Time, at: Time) -> (f64, f64) {
    let phase = steps.sending(at);
    let bytes_per_second = phase.rate.as_bytes_per_second();
    if phase.begin <= since && at < phase.end {
        return (bytes_per_second, at.saturating_sub(since).as_secs_f64());
    }
    let left = steps.work(at).saturating_sub(steps.work(since)).bits() / 8.0;
    (bytes_per_second, left / bytes_per_second)
}

impl Tuning {
    /// Reads the values of [`PARAMETERS`].
    pub(crate) fn new(parameters: &Parameters) -> Self {
        Self {
            target: parameters.time("target").as_secs_f64(),
            update: parameters.time("update").max(Time::from_micros(1)),
            alpha: parameters.number("alpha"),
            beta: parameters.number("beta"),
            burst: parameters.time("burst"),
            mark_below: parameters.number("mark_below"),
        }
    }
}

impl Control {
    pub(crate) fn new(tuning: &Tuning) -> Self {
        Self {
            probability: 0.0,
            delay_before: 0.0,
            burst_allowance: tuning.burst,
            accumulated: 0.0,
            next_update: tuning.update,
        }
    }

    /// Sets a state in which every packet that may be dropped is dropped.
    #[cfg(test)]
    pub(crate) fn drop_all(&mut self) {
        self.probability = 1.0;
        self.delay_before = 1.0;
        self.burst_allowance = Time::ZERO;
    }

    /// The next tick, if it is due.
    #[inline]
    pub(crate) fn due(&self, now: Time) -> Option<Time> {
        (self.next_update <= now).then_some(self.next_update)
    }

    /// Performs one tick of the controller (RFC 8033 section 4.2), with a queueing delay of `delay`
    /// seconds.
    pub(crate) fn update(&mut self, tuning: &Tuning, delay: f64, now: Time) {
        let mut step =
            tuning.alpha * (delay - tuning.target) + tuning.beta * (delay - self.delay_before);
        step *= scale(self.probability);
        if self.probability >= 0.1 {
            step = step.min(0.02);
        }
        self.probability += step;
        if delay == 0.0 && self.delay_before == 0.0 {
            self.probability *= 0.98;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.burst_allowance = self.burst_allowance.saturating_sub(tuning.update);
        let quiet = delay < tuning.target / 2.0 && self.delay_before < tuning.target / 2.0;
        if self.probability == 0.0 && quiet {
            self.burst_allowance = tuning.burst;
        }
        let settled = self.probability == 0.0 && delay == 0.0 && self.delay_before == 0.0;
        self.delay_before = delay;
        self.next_update = next_tick(self.next_update, tuning.update, now, settled);
    }

    /// Decides on an arrival (RFC 8033 sections 4.1 and 5.3 to 5.6). `small` says that the queue is
    /// nearly empty.
    pub(crate) fn decide(
        &mut self,
        tuning: &Tuning,
        packet: &Packet,
        small: bool,
        port: &mut Port,
    ) -> Verdict {
        if self.probability == 0.0 {
            self.accumulated = 0.0;
        }
        let mild = self.delay_before < tuning.target / 2.0 && self.probability < 0.2;
        if self.burst_allowance > Time::ZERO || mild || small {
            return Verdict::Accept;
        }
        // Drops are neither too close together nor too far apart (section 5.4).
        self.accumulated += self.probability;
        let drop = if self.accumulated < 0.85 {
            false
        } else {
            self.accumulated >= 8.5 || port.random.uniform() < self.probability
        };
        if !drop {
            return Verdict::Accept;
        }
        self.accumulated = 0.0;
        if packet.ecn() != Ecn::NotCapable && self.probability <= tuning.mark_below {
            Verdict::Mark
        } else {
            Verdict::Drop
        }
    }
}

/// The tick after `tick`. It skips up to `now` the ticks that would change nothing, and otherwise
/// all but the last million of a pause.
pub(crate) fn next_tick(tick: Time, every: Time, now: Time, settled: bool) -> Time {
    const MOST: u64 = 1_000_000;
    let next = tick.saturating_add(every);
    let missed = now.saturating_sub(next).as_picos() / every.as_picos().max(1);
    let passed = if settled {
        missed
    } else {
        missed.saturating_sub(MOST)
    };
    next.saturating_add(every.saturating_mul(passed))
}

/// The factor of a step, smaller at smaller probabilities (RFC 8033 section 4.2).
fn scale(probability: f64) -> f64 {
    match probability {
        p if p < 1e-6 => 1.0 / 2048.0,
        p if p < 1e-5 => 1.0 / 512.0,
        p if p < 1e-4 => 1.0 / 128.0,
        p if p < 1e-3 => 1.0 / 32.0,
        p if p < 1e-2 => 1.0 / 8.0,
        p if p < 1e-1 => 1.0 / 2.0,
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::testing::found;
    use crate::packet::testing::{packet, with_ecn};
    use crate::port::Limit;
    use crate::port::testing::{port, setting};
    use forebay_units::Rate;

    fn pie() -> Pie {
        let parameters = Parameters::defaults(Pie::DESCRIPTION.parameters);
        Pie::new(&parameters, &setting(Limit::Packets(1000)))
    }

    /// Offers one packet per millisecond that finds `packets` waiting. Returns the numbers of drops
    /// and marks.
    fn constant(pie: &mut Pie, port: &mut Port, packets: u64, ms: u64, ecn: Ecn) -> (u64, u64) {
        let (mut drops, mut marks) = (0, 0);
        for _ in 0..ms {
            port.now += Time::from_millis(1);
            match pie.admit(&with_ecn(ecn, 0), &found(packets), port) {
                Verdict::Drop => drops += 1,
                Verdict::Mark => marks += 1,
                Verdict::Accept => {}
            }
        }
        (drops, marks)
    }

    #[test]
    fn the_probability_takes_the_steps_of_the_rfc() {
        let (mut pie, mut port) = (pie(), port());
        pie.control.probability = 0.05;
        pie.control.delay_before = 0.029;
        pie.waiting = 30_000.0;
        pie.waiting_since = Time::from_millis(15);
        port.now = Time::from_millis(15);
        pie.admit(&packet(0, 0, 1000), &found(30), &mut port);
        // The step is (0.125 (30 ms - 15 ms) + 1.25 (30 ms - 29 ms)) / 2.
        let step = 0.5 * (0.125 * 0.015 + 1.25 * 0.001);
        assert!((pie.control.probability - 0.05 - step).abs() < 1e-12);
        assert!((pie.control.delay_before - 0.030).abs() < 1e-12);
    }

    #[test]
    fn at_the_target_the_probability_rests_and_drops_come_at_its_rate() {
        let (mut pie, mut port) = (pie(), port());
        pie.control.burst_allowance = Time::ZERO;
        pie.control.probability = 0.05;
        pie.control.delay_before = 0.015;
        pie.waiting = 15_000.0;
        // Each tick sees the 16 packets after an arrival minus the work since: 15 ms.
        let (drops, _) = constant(&mut pie, &mut port, 15, 100_000, Ecn::NotCapable);
        // Derandomization: a drop is possible once 0.85 has accumulated, then each arrival drops
        // with p. The mean gap is ceil(0.85/p) - 1 + 1/p = 36 arrivals.
        let expected = 100_000.0 / 36.0;
        assert!((drops as f64 / expected - 1.0).abs() < 0.15, "{drops}");
        assert!(
            (pie.control.probability - 0.05).abs() < 0.02,
            "{}",
            pie.control.probability
        );
    }

    /// RFC 8033 section 5.4: at a probability p, two drops are at least 0.85/p arrivals apart.
    #[test]
    fn drops_are_no_closer_than_the_derandomization_lets_them() {
        let (mut pie, mut port) = (pie(), port());
        pie.control.burst_allowance = Time::ZERO;
        pie.control.probability = 0.05;
        pie.control.delay_before = 0.015;
        pie.control.next_update = Time::MAX;
        let (mut gap, mut shortest) = (0, u32::MAX);
        for _ in 0..200_000 {
            gap += 1;
            if pie.admit(&packet(0, 0, 1000), &found(15), &mut port) == Verdict::Drop {
                shortest = shortest.min(std::mem::take(&mut gap));
            }
        }
        assert_eq!(shortest, 17, "0.85/0.05");
    }

    /// RFC 8033 sections 4.2 and 5.5: from 10 % on a tick adds at most 2 %. Two ticks without a
    /// queue reduce the probability by 2 % of itself.
    #[test]
    fn a_tick_adds_two_points_at_most_and_silence_takes_a_fiftieth() {
        let mut pie = pie();
        let tuning = pie.tuning;
        for (before, after) in [(0.1, 0.12), (0.5, 0.52), (0.99, 1.0)] {
            pie.control.probability = before;
            pie.control.delay_before = 0.0;
            pie.control.update(&tuning, 10.0, Time::ZERO);
            assert!((pie.control.probability - after).abs() < 1e-12, "{before}");
        }
        // The term alpha (0 - target) is subtracted, too.
        pie.control.probability = 0.5;
        pie.control.delay_before = 0.0;
        pie.control.update(&tuning, 0.0, Time::ZERO);
        let expected = 0.98 * (0.5 - 0.125 * 0.015);
        assert!((pie.control.probability - expected).abs() < 1e-12);
    }

    /// RFC 8033 section 5.1: two waiting packets cause no drop, whatever the probability.
    #[test]
    fn a_queue_of_two_packets_loses_nothing() {
        for (waiting, lossless) in [(2, true), (3, false)] {
            let (mut pie, mut port) = (pie(), port());
            pie.control.burst_allowance = Time::ZERO;
            pie.control.probability = 0.9;
            pie.control.delay_before = 0.1;
            pie.control.next_update = Time::MAX;
            let (drops, _) = constant(&mut pie, &mut port, waiting, 100, Ecn::NotCapable);
            assert_eq!(drops == 0, lossless, "{waiting}");
        }
    }

    /// The table of RFC 8033 section 4.2 and its purpose. A step is scaled by 1/2048 to 1, by
    /// powers of four below a probability of a hundredth.
    #[test]
    fn steps_are_smaller_at_smaller_probabilities() {
        let table = [
            (1e-6, 2048.0),
            (1e-5, 512.0),
            (1e-4, 128.0),
            (1e-3, 32.0),
            (1e-2, 8.0),
            (1e-1, 2.0),
        ];
        let mut at_and_above = 2048.0;
        for (bound, part) in table {
            assert_eq!(1.0 / scale(bound * 0.999), part);
            assert_eq!(part, at_and_above);
            at_and_above = 1.0 / scale(bound);
        }
        assert_eq!(scale(0.1), 1.0);
        assert_eq!(scale(1.0), 1.0);
    }

    #[test]
    fn nothing_is_dropped_in_the_burst_allowance() {
        let (mut pie, mut port) = (pie(), port());
        let (drops, _) = constant(&mut pie, &mut port, 500, 149, Ecn::NotCapable);
        assert_eq!(drops, 0);
        let (drops, _) = constant(&mut pie, &mut port, 500, 2000, Ecn::NotCapable);
        assert!(drops > 100, "{drops}");
    }

    #[test]
    fn capable_packets_are_marked_at_small_probabilities_only() {
        let (mut pie, mut port) = (pie(), port());
        pie.control.burst_allowance = Time::ZERO;
        pie.control.probability = 0.05;
        pie.control.delay_before = 0.016;
        let (drops, marks) = constant(&mut pie, &mut port, 15, 1000, Ecn::Classic);
        assert!(drops == 0 && marks > 10, "{drops} {marks}");
        pie.control.probability = 0.5;
        let (drops, _) = constant(&mut pie, &mut port, 15, 1000, Ecn::Classic);
        assert!(drops > 100);
    }

    #[test]
    fn a_long_pause_is_caught_up_with_at_once() {
        let (mut pie, mut port) = (pie(), port());
        constant(&mut pie, &mut port, 500, 1000, Ecn::NotCapable);
        assert!(pie.control.probability > 0.0);
        port.now = Time::from_secs(10_000_000);
        pie.admit(&packet(0, 0, 1000), &found(0), &mut port);
        assert_eq!(pie.control.probability, 0.0);
        assert!(pie.control.next_update > port.now);
        assert_eq!(pie.control.burst_allowance, Time::from_millis(150));
    }

    /// If the rate changes, the delay is the backlog divided by the measured rate. The values are
    /// worked by hand for 1000 bytes in a millisecond, a tenth of that, and an outage.
    #[test]
    fn the_delay_is_of_the_rate_that_is_seen() {
        let rate = Rate::from_bits_per_second;
        let list = [(0, 8_000_000), (5, 800_000), (20, 0)];
        let list = list.map(|(begin, bits)| (Time::from_millis(begin), rate(bits)));
        let steps = RateSteps::new(&list, Some(Time::from_millis(30))).unwrap();
        let setting = Setting {
            steps: Some(Arc::new(steps)),
            ..setting(Limit::Packets(100))
        };
        let mut pie = Pie::new(&Parameters::defaults(&PARAMETERS), &setting);
        pie.waiting = 10_000.0;
        for (millis, left_millis) in [
            (0, 10.0),
            (4, 6.0),
            (5, 50.0),
            (7, 48.0),
            (20, 35.0),
            (29, 35.0),
            (30, 3.5),
            (34, 0.0),
        ] {
            let delay = pie.delay(Time::from_millis(millis));
            assert!(
                (delay - left_millis * 1e-3).abs() < 1e-12,
                "{millis} ms: {delay}"
            );
        }
    }
}
