//! Random early detection (Floyd and Jacobson, "Random Early Detection Gateways for Congestion
//! Avoidance", 1993): drops or marks at random as the average queue grows, so that flows are told
//! of congestion before the buffer is full and not all at once. With the gentle variant (Floyd
//! 2000) and Adaptive RED (Floyd, Gummadi and Shenker 2001), which moves the largest probability so
//! that the average stays between the thresholds. Follows ns-2.35's `red.cc` where the papers
//! leave a choice.

use forebay_units::Time;
use forebay_units::parameter::{
    Description, Evidence, Parameter, ParameterKind, Parameters, Threshold, Value,
};

use crate::admission::{AdmissionControl, Arrival, Verdict};
use crate::packet::{Ecn, Packet};
use crate::port::{Limit, Port, Setting};

/// The automatic smallest `max_p` is this by the link's rate: one over the packets of 1000 bytes sent
/// in 100 ms, whatever the size of the packets (ns-2.35 red.cc: `initialize_params`).
const BOTTOM_BYTES_PER_SECOND: f64 = 1e4;

/// Beyond the upper threshold the probability rises to one at twice the threshold (gentle), or is
/// one at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// It rises on, to one at twice the threshold.
    Gentle,
    /// It is one.
    Abrupt,
}

/// The drop probability against the average queue, in the unit of the queue's limit: 0 up to `min`,
/// from there linear to `max_p` at `max`, then as `beyond` says (1993 paper section 4; Floyd 2000).
///
/// ```
/// use forebay_discipline::{Beyond, DropCurve};
///
/// let curve = DropCurve { min: 20.0, max: 60.0, max_p: 0.1, beyond: Beyond::Gentle, range: None };
/// assert_eq!(curve.probability(40.0), 0.05);
/// assert_eq!(curve.probability(90.0), 0.55);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DropCurve {
    /// Nothing is dropped below.
    pub min: f64,
    /// The probability is `max_p` here.
    pub max: f64,
    /// Largest probability below `max`; where `range` says so, at the start.
    pub max_p: f64,
    /// What happens from `max` on.
    pub beyond: Beyond,
    /// Smallest and largest `max_p` of Adaptive RED; none where it stays.
    pub range: Option<(f64, f64)>,
}

impl DropCurve {
    /// The curve of a RED queue with these parameters.
    pub fn new(parameters: &Parameters, setting: &Setting) -> Self {
        let level = |threshold| setting.level(threshold);
        Self::with_levels(parameters, setting.rate.as_bytes_per_second(), level)
    }

    /// The same for a queue counted in any unit: `level` gives a threshold in it, the link sends
    /// `bytes_per_second`.
    pub fn with_levels(
        parameters: &Parameters,
        bytes_per_second: f64,
        level: impl Fn(Threshold) -> f64,
    ) -> Self {
        let given = |name| match parameters.get(name) {
            Value::Threshold(threshold) => Some(level(threshold)),
            _ => None,
        };
        let min = given("min").unwrap_or_else(|| {
            let least = level(Threshold::Packets(5.0));
            let half_target = level(Threshold::Time(Time::from_micros(2500)));
            least.max(half_target)
        });
        let bottom = match parameters.get("bottom") {
            Value::Number(bottom) => bottom,
            _ => (BOTTOM_BYTES_PER_SECOND / bytes_per_second).min(0.01),
        };
        let range = (bottom, parameters.number("top"));
        Self {
            min,
            max: given("max").unwrap_or(3.0 * min).max(min),
            max_p: parameters.number("max_p"),
            beyond: if parameters.switch("gentle") {
                Beyond::Gentle
            } else {
                Beyond::Abrupt
            },
            range: parameters.switch("adaptive").then_some(range),
        }
    }

    /// The probability at an averaged queue of `average`.
    pub fn probability(&self, average: f64) -> f64 {
        let Self {
            min, max, max_p, ..
        } = *self;
        let p = if average < min {
            0.0
        } else if average < max {
            max_p * (average - min) / (max - min)
        } else {
            match self.beyond {
                Beyond::Gentle if max > 0.0 => max_p + (1.0 - max_p) * ((average - max) / max),
                _ => 1.0,
            }
        };
        p.min(1.0)
    }

    /// Between which averages Adaptive RED leaves `max_p` as it is (2001 paper section 3).
    pub fn target(&self) -> (f64, f64) {
        let part = 0.4 * (self.max - self.min);
        (self.min + part, self.max - part)
    }
}

/// How drops are spread over the arrivals (1993 paper section 8; ns-2's `wait_`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spacing {
    /// Uniform from 1/p to 2/p - 1 arrivals apart: never two soon after one another.
    Wait,
    /// Uniform from 1 to 1/p - 1 arrivals apart, as in the paper.
    Uniform,
}

/// What Adaptive RED moves and by how much (2001 paper section 3, with ns-2's bounds).
#[derive(Clone, Copy, Debug)]
struct Adaptation {
    bottom: f64,
    top: f64,
    last: Time,
}

impl Adaptation {
    const INTERVAL: Time = Time::from_millis(500);
    const INCREASE: f64 = 0.01;
    const DECREASE: f64 = 0.9;
}

/// RED.
#[derive(Clone, Debug)]
pub struct Red {
    limit: Limit,
    /// In the limit's unit; Adaptive RED moves its `max_p`.
    curve: DropCurve,
    weight: f64,
    spacing: Spacing,
    adaptation: Option<Adaptation>,
    packets_per_second: f64,
    packet: f64,
    average: f64,
    /// Arrivals (of the mean size, for a byte limit) since the last drop or mark.
    count: f64,
    /// Whether the average was at or above the lower threshold at the last arrival.
    above: bool,
}

impl AdmissionControl for Red {
    const DESCRIPTION: Description = Description {
        name: "red",
        aliases: &[],
        title: "Random early detection; gentle and Adaptive RED, with ECN",
        formula: &[
            "avg = (1 − w) avg + w q at each arrival, with q what waits and w the weight",
            "p = 0 below min; max_p (avg − min)/(max − min) up to max",
            "beyond max: p rises to 1 at 2 max (gentle), or is 1 at once",
            "an arrival is dropped or marked with p/(1 − n p), n being the arrivals since the last; with `wait`, p/(2 − n p) from n = 1/p on",
            "adaptive: every 0.5 s max_p += min(0.01, max_p/4) where avg is high, max_p × 0.9 where it is low",
        ],
        source: "Floyd and Jacobson 1993; Floyd, Gummadi and Shenker 2001; ns-2.35 red.cc",
        checked: &[
            Evidence::Program("ns-2.35: Adaptive RED"),
            Evidence::Trend("ns-3.48: RedQueueDisc"),
            Evidence::Theory("the spacing of drops under steady overload"),
        ],
        parameters: &[
            Parameter {
                name: "min",
                meaning: "average queue from which packets are dropped; automatic: half of what the link sends in 5 ms, at least 5 packets (2001 paper section 4)",
                kind: ParameterKind::Threshold,
                default: Value::Automatic,
            },
            Parameter {
                name: "max",
                meaning: "average queue at which the probability is max_p, never below min; automatic: 3 min",
                kind: ParameterKind::Threshold,
                default: Value::Automatic,
            },
            Parameter {
                name: "max_p",
                meaning: "drop probability at max; where adaptive, at the start",
                kind: ParameterKind::Number { min: 0.0, max: 1.0 },
                default: Value::Number(0.1),
            },
            Parameter {
                name: "weight",
                meaning: "weight of each arrival in the average; automatic: a time constant of ten round trips of 100 ms (or three link delays, if longer)",
                kind: ParameterKind::Number {
                    min: 1e-12,
                    max: 1.0,
                },
                default: Value::Automatic,
            },
            Parameter {
                name: "gentle",
                meaning: "beyond max the probability rises to 1 at 2 max, not at once",
                kind: ParameterKind::Switch,
                default: Value::Switch(true),
            },
            Parameter {
                name: "adaptive",
                meaning: "moves max_p every 0.5 s so that the average stays between 0.4 and 0.6 of the way from min to max",
                kind: ParameterKind::Switch,
                default: Value::Switch(true),
            },
            Parameter {
                name: "bottom",
                meaning: "smallest max_p where adaptive; automatic: 0.01 or one over the packets of 1000 bytes sent in 100 ms, the lesser",
                kind: ParameterKind::Number { min: 0.0, max: 1.0 },
                default: Value::Automatic,
            },
            Parameter {
                name: "top",
                meaning: "largest max_p where adaptive",
                kind: ParameterKind::Number { min: 0.0, max: 1.0 },
                default: Value::Number(0.5),
            },
            Parameter {
                name: "wait",
                meaning: "at least 1/p arrivals between drops, not one (ns-2's default)",
                kind: ParameterKind::Switch,
                default: Value::Switch(true),
            },
        ],
    };

    fn new(parameters: &Parameters, setting: &Setting) -> Self {
        let packets_per_second = setting.packets_per_second();
        let curve = DropCurve::new(parameters, setting);
        let weight = if let Value::Number(weight) = parameters.get("weight") {
            weight
        } else {
            let rtt = 3.0 * (setting.delay.as_secs_f64() + 1.0 / packets_per_second);
            -libm::expm1(-1.0 / (10.0 * rtt.max(0.1) * packets_per_second))
        };
        let adaptation = curve.range.map(|(bottom, top)| Adaptation {
            bottom,
            top,
            last: Time::ZERO,
        });
        Self {
            limit: setting.limit,
            curve,
            weight,
            spacing: if parameters.switch("wait") {
                Spacing::Wait
            } else {
                Spacing::Uniform
            },
            adaptation,
            packets_per_second,
            packet: setting.packet,
            average: 0.0,
            count: 0.0,
            above: false,
        }
    }

    fn admit(&mut self, packet: &Packet, arrival: &Arrival, port: &mut Port) -> Verdict {
        self.observe(arrival, port.now);
        self.decide(packet, arrival, port)
    }
}

impl Red {
    /// What an arrival finds, whatever becomes of it: the average and Adaptive RED take it in.
    pub(crate) fn observe(&mut self, arrival: &Arrival, now: Time) {
        self.measure(arrival, now);
        self.adapt(now);
    }

    /// Whether the average is at the lower threshold or above.
    pub(crate) fn congested(&self) -> bool {
        self.average >= self.curve.min
    }

    /// What becomes of an arrival that was observed.
    pub(crate) fn decide(
        &mut self,
        packet: &Packet,
        arrival: &Arrival,
        port: &mut Port,
    ) -> Verdict {
        let size = match self.limit {
            Limit::Packets(_) => 1.0,
            Limit::Bytes(_) => f64::from(packet.size) / self.packet,
        };
        self.count += size;
        let verdict = self.early(size, packet, arrival, port);
        if arrival.full {
            self.count = 0.0;
            return Verdict::Drop;
        }
        verdict
    }

    /// The average takes in the queue that this arrival finds. While the link was idle, as many
    /// packets as it could have sent would have found an empty queue (1993 paper section 4).
    fn measure(&mut self, arrival: &Arrival, now: Time) {
        if let Some(since) = arrival.empty_since {
            let idle = now.saturating_sub(since).as_secs_f64();
            let missed = (self.packets_per_second * idle).floor();
            if missed > 0.0 {
                self.average *= libm::pow(1.0 - self.weight, missed);
            }
        }
        let level = self.limit.level(arrival.backlog);
        self.average += self.weight * (level - self.average);
    }

    /// Additive increase, multiplicative decrease of the largest probability (2001 paper, fig. 3).
    fn adapt(&mut self, now: Time) {
        let Some(adaptation) = &mut self.adaptation else {
            return;
        };
        if now.saturating_sub(adaptation.last) <= Adaptation::INTERVAL {
            return;
        }
        let (low, high) = self.curve.target();
        let max_p = &mut self.curve.max_p;
        if self.average < low && *max_p > adaptation.bottom {
            *max_p *= Adaptation::DECREASE;
            adaptation.last = now;
        } else if self.average > high && *max_p < adaptation.top {
            *max_p += Adaptation::INCREASE.min(0.25 * *max_p);
            adaptation.last = now;
        }
    }

    /// The verdict without regard to the limit.
    fn early(&mut self, size: f64, packet: &Packet, arrival: &Arrival, port: &mut Port) -> Verdict {
        if !self.congested() || arrival.backlog.packets <= 1 {
            self.above = false;
            return Verdict::Accept;
        }
        let base = self.curve.probability(self.average);
        if base >= 1.0 && self.average >= self.curve.max {
            self.count = 0.0;
            return Verdict::Drop;
        }
        if !self.above {
            self.above = true;
            self.count = size;
            return Verdict::Accept;
        }
        let mut spread = self.spread(base);
        if let Limit::Bytes(_) = self.limit {
            spread *= size;
        }
        if port.random.uniform() >= spread {
            return Verdict::Accept;
        }
        self.count = 0.0;
        if packet.ecn() == Ecn::NotCapable {
            Verdict::Drop
        } else {
            Verdict::Mark
        }
    }

    /// Spreads drops of mean probability `p` over the arrivals since the last one.
    fn spread(&self, p: f64) -> f64 {
        let x = self.count * p;
        match self.spacing {
            Spacing::Wait if x < 1.0 => 0.0,
            Spacing::Wait if x < 2.0 => p / (2.0 - x),
            Spacing::Uniform if x < 1.0 => p / (1.0 - x),
            _ => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::testing::found;
    use crate::packet::testing::{packet, with_ecn};
    use crate::port::testing::{port, setting};
    use forebay_units::Bytes;

    fn red(changes: &[(&str, Value)]) -> Red {
        let mut parameters = Parameters::defaults(Red::DESCRIPTION.parameters);
        for (name, value) in changes {
            assert!(parameters.set(name, *value), "{name}");
        }
        Red::new(&parameters, &setting(Limit::Packets(100)))
    }

    fn fixed(changes: &[(&str, Value)]) -> Red {
        let mut all = vec![
            ("min", Value::Threshold(Threshold::Packets(20.0))),
            ("max", Value::Threshold(Threshold::Packets(60.0))),
            ("adaptive", Value::Switch(false)),
            ("weight", Value::Number(0.002)),
        ];
        all.extend_from_slice(changes);
        red(&all)
    }

    /// ns-2.35: 80000 bits by the link's, whatever the packets, and 0.01 at most.
    #[test]
    fn the_smallest_probability_is_one_over_what_a_link_sends_in_100_ms_in_packets_of_1000_bytes() {
        let parameters = Parameters::defaults(Red::DESCRIPTION.parameters);
        for (bits_per_second, bottom) in [(50e6, 0.0016), (1e9, 8e-5), (1e6, 0.01)] {
            let curve = DropCurve::with_levels(&parameters, bits_per_second / 8.0, |_| 10.0);
            assert_eq!(curve.range, Some((bottom, 0.5)));
        }
    }

    #[test]
    fn the_average_is_the_geometric_sum() {
        let (mut red, mut port) = (fixed(&[]), port());
        for _ in 0..1000 {
            red.admit(&packet(0, 0, 1000), &found(10), &mut port);
        }
        // 10 (1 - (1 - w)^n)
        let expected = 10.0 * (1.0 - libm::pow(0.998, 1000.0));
        assert!(
            (red.average / expected - 1.0).abs() < 1e-9,
            "{}",
            red.average
        );
    }

    #[test]
    fn an_idle_link_ages_the_average_by_the_packets_it_could_have_sent() {
        let (mut red, mut port) = (fixed(&[]), port());
        red.average = 50.0;
        port.now = Time::from_secs(1);
        let arrival = Arrival {
            idle_since: Some(Time::from_millis(500)),
            empty_since: Some(Time::from_millis(500)),
            ..found(0)
        };
        red.admit(&packet(0, 0, 1000), &arrival, &mut port);
        // 500 packets of a millisecond each, and this arrival.
        let expected = 50.0 * libm::pow(0.998, 501.0);
        assert!(
            (red.average / expected - 1.0).abs() < 1e-9,
            "{}",
            red.average
        );
    }

    /// 1993 paper, figure 2: an average of `min` itself is above it, and the first packet that finds it so is
    /// let in; the next one is not the first any more.
    #[test]
    fn the_packet_at_the_lower_threshold_begins_the_count() {
        for (first, second) in [(19, Verdict::Accept), (20, Verdict::Drop)] {
            let all_at_once = [
                ("weight", Value::Number(1.0)),
                ("max_p", Value::Number(1.0)),
            ];
            let (mut red, mut port) = (fixed(&all_at_once), port());
            let mut admit = |waiting| red.admit(&packet(0, 0, 1000), &found(waiting), &mut port);
            assert_eq!(admit(first), Verdict::Accept);
            assert_eq!(admit(59), second);
        }
    }

    #[test]
    fn the_gentle_curve_has_its_two_slopes() {
        let curve = fixed(&[]).curve;
        for (average, p) in [
            (19.9, 0.0),
            (20.0, 0.0),
            (40.0, 0.05),
            (60.0, 0.1),
            (90.0, 0.55),
            (120.0, 1.0),
            (500.0, 1.0),
        ] {
            assert!((curve.probability(average) - p).abs() < 1e-12, "{average}");
        }
        let abrupt = fixed(&[("gentle", Value::Switch(false))]).curve;
        assert_eq!(abrupt.probability(60.0), 1.0);
    }

    /// Gaps between drops at a constant average of 40, where p = 0.05.
    fn gaps(wait: bool) -> Vec<u32> {
        let mut red = fixed(&[
            ("wait", Value::Switch(wait)),
            ("weight", Value::Number(1e-12)),
        ]);
        red.average = 40.0;
        let mut port = port();
        let (mut gaps, mut gap) = (Vec::new(), 0);
        for _ in 0..400_000 {
            gap += 1;
            if red.admit(&packet(0, 0, 1000), &found(40), &mut port) == Verdict::Drop {
                gaps.push(std::mem::take(&mut gap));
            }
        }
        gaps
    }

    #[test]
    fn drops_are_spread_uniformly() {
        // 1 to 1/p - 1 arrivals apart, or 1/p to 2/p - 1 with `wait`; p = 0.05. The standard error
        // of the mean is 5.8 / sqrt(10^4).
        for (wait, least, most, mean) in [(false, 1, 19, 10.0), (true, 20, 39, 29.5)] {
            let gaps = gaps(wait);
            let gaps = &gaps[1..];
            let ours = gaps.iter().sum::<u32>() as f64 / gaps.len() as f64;
            assert!((ours - mean).abs() < 0.25, "{wait} {ours}");
            assert!(gaps.iter().all(|&g| g >= least && g <= most));
        }
    }

    #[test]
    fn capable_packets_are_marked_until_the_probability_is_one() {
        let mut red = fixed(&[("weight", Value::Number(1.0))]);
        let mut port = port();
        let capable = with_ecn(Ecn::Classic, 0);
        let verdicts: Vec<Verdict> = (0..1000)
            .map(|_| red.admit(&capable, &found(50), &mut port))
            .collect();
        assert!(verdicts.contains(&Verdict::Mark));
        assert!(!verdicts.contains(&Verdict::Drop));
        assert_eq!(red.admit(&capable, &found(130), &mut port), Verdict::Drop);
    }

    #[test]
    fn the_largest_probability_follows_the_average() {
        let changes = [
            ("adaptive", Value::Switch(true)),
            ("weight", Value::Number(1.0)),
        ];
        let mut red = fixed(&changes);
        let mut port = port();
        let mut run = |red: &mut Red, packets: u64, seconds: u64| {
            for _ in 0..seconds * 100 {
                port.now += Time::from_millis(10);
                red.admit(&packet(0, 0, 1000), &found(packets), &mut port);
            }
        };
        // Below 0.4 of the way: times 0.9 each 0.51 s (the first arrival after half a second).
        run(&mut red, 30, 10);
        assert!(
            (red.curve.max_p / (0.1 * libm::pow(0.9, 19.0)) - 1.0).abs() < 1e-9,
            "{}",
            red.curve.max_p
        );
        let low = red.curve.max_p;
        // In between: unchanged. Above: plus a quarter of itself, at most 0.01, up to the top.
        run(&mut red, 40, 10);
        assert_eq!(red.curve.max_p, low);
        run(&mut red, 50, 2);
        assert!(red.curve.max_p > low * 1.9 && red.curve.max_p < low + 0.04);
        run(&mut red, 50, 60);
        assert!((0.5..0.51).contains(&red.curve.max_p));
    }

    /// Adaptive RED 2001, section 3: the average is let be from 0.4 to 0.6 of the way from `min` (20) to
    /// `max` (60), which is 36 to 44.
    #[test]
    fn the_largest_probability_rests_in_the_middle_fifth() {
        let changes = [
            ("adaptive", Value::Switch(true)),
            ("weight", Value::Number(1.0)),
        ];
        for (level, moves) in [(35, -1.0), (36, 0.0), (44, 0.0), (45, 1.0)] {
            let (mut red, mut port) = (fixed(&changes), port());
            let before = red.curve.max_p;
            for _ in 0..100 {
                port.now += Time::from_millis(10);
                red.admit(&packet(0, 0, 1000), &found(level), &mut port);
            }
            let moved = red.curve.max_p - before;
            assert_eq!(
                if moved == 0.0 { 0.0 } else { moved.signum() },
                moves,
                "{level}"
            );
        }
    }

    #[test]
    fn automatic_parameters_are_those_of_the_paper() {
        let red = red(&[]);
        // 8 Mb/s and 1000 B: 5 ms are 5 packets, so the thresholds are 5 and 15.
        assert_eq!((red.curve.min, red.curve.max), (5.0, 15.0));
        assert!((red.weight - (1.0 - libm::exp(-1.0 / 1000.0))).abs() < 1e-12);
        let bottom = red.adaptation.map(|a| a.bottom);
        assert_eq!(bottom, Some(0.01));
    }

    #[test]
    fn a_byte_limit_counts_bytes() {
        let mut parameters = Parameters::defaults(Red::DESCRIPTION.parameters);
        parameters.set(
            "min",
            Value::Threshold(Threshold::Bytes(Bytes::new(20_000))),
        );
        parameters.set("max", Value::Threshold(Threshold::Packets(60.0)));
        let red = Red::new(&parameters, &setting(Limit::Bytes(100_000)));
        assert_eq!((red.curve.min, red.curve.max), (20_000.0, 60_000.0));
    }
}
