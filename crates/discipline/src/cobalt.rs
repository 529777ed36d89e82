//! COBALT (CoDel and BLUE Alternate; Palmei et al., Design and evaluation of COBALT queue
//! discipline, 2019). It combines CoDel's control law with BLUE's probability (Feng et al. 2002).
//! CoDel's count falls as gradually as it rose and is not forgotten. BLUE acts against senders that
//! do not respond. The code follows Linux (net/sched/sch_cake.c) and ns-3 (CobaltQueueDisc).

use std::collections::VecDeque;

use forebay_units::Time;
use forebay_units::parameter::{
    Description, Evidence, Parameter, ParameterKind, Parameters, Value,
};

use crate::codel::{INTERVAL, TARGET};
use crate::packet::Packet;
use crate::port::{Backlog, Limit, Port, Setting};
use crate::queue_discipline::{QueueDiscipline, Storage};

/// Parameter values of COBALT.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tuning {
    target: Time,
    interval: Time,
    increment: f64,
    decrement: f64,
    /// Sojourn time above which the probability rises as at a full buffer.
    blue_threshold: Time,
}

impl Tuning {
    /// Reads the values of [`PARAMETERS`].
    pub(crate) fn new(parameters: &Parameters) -> Self {
        Self {
            target: parameters.time("target"),
            interval: parameters.time("interval"),
            increment: parameters.number("increment"),
            decrement: parameters.number("decrement"),
            blue_threshold: parameters.time("blue_threshold"),
        }
    }

    /// The time t + interval / sqrt(count), as in CoDel.
    fn next(&self, from: Time, count: u32) -> Time {
        let gap = self.interval.as_picos() as f64 / f64::from(count.max(1)).sqrt();
        from.saturating_add(Time::from_picos(gap as u64))
    }
}

/// Descriptions of the parameters of COBALT.
pub(crate) const PARAMETERS: [Parameter; 5] = [
    TARGET,
    INTERVAL,
    Parameter {
        name: "increment",
        meaning: "BLUE: increase of the drop probability at a full buffer, at most once per target time.",
        kind: ParameterKind::Number {
            min: 0.0,
            max: 1.0,
            unit: "probability",
        },
        default: Value::Number(1.0 / 256.0),
    },
    Parameter {
        name: "decrement",
        meaning: "BLUE: decrease of the drop probability at an empty buffer, at most once per target time.",
        kind: ParameterKind::Number {
            min: 0.0,
            max: 1.0,
            unit: "probability",
        },
        default: Value::Number(1.0 / 4096.0),
    },
    Parameter {
        name: "blue_threshold",
        meaning: "Queueing delay beyond which the probability of BLUE rises as at a full buffer (CobaltQueueDisc of ns-3).",
        kind: ParameterKind::Time,
        default: Value::Time(Time::from_millis(400)),
    },
];

/// The discipline `cobalt`.
#[derive(Clone, Debug)]
pub struct Cobalt {
    limit: Limit,
    tuning: Tuning,
    packets: VecDeque<Packet>,
    backlog: Backlog,
    state: CobaltState,
}

/// The state of one COBALT queue.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CobaltState {
    count: u32,
    dropping: bool,
    /// The time of the next signal. With a count of zero, the time after which a packet above the
    /// target arms the signal at once.
    drop_next: Time,
    /// BLUE's probability and the time of its last change.
    probability: f64,
    changed: Time,
}

impl QueueDiscipline for Cobalt {
    const DESCRIPTION: Description = Description {
        name: "cobalt",
        aliases: &[],
        title: "CoDel with a count that falls gradually, and BLUE against unresponsive senders",
        formula: &[
            "CoDel: the next drop after interval/√count; once the delay is below target, count falls step by step as it rose",
            "BLUE: p += increment where the buffer is full or the delay above blue_threshold, p −= decrement where the queue is empty",
            "a packet is dropped by either",
        ],
        source: "Palmei et al. 2019; Linux net/sched/sch_cake.c",
        checked: &[
            Evidence::Trend("ns-3.48: CobaltQueueDisc"),
            Evidence::Trace("the control law and BLUE as Linux's sch_cake.c computes them"),
        ],
        parameters: &PARAMETERS,
    };

    fn storage(_: &Parameters) -> Storage {
        Storage::DISCARDING
    }

    fn new(parameters: &Parameters, setting: &Setting) -> Self {
        Self {
            limit: setting.limit,
            tuning: Tuning::new(parameters),
            packets: VecDeque::new(),
            backlog: Backlog::default(),
            state: CobaltState::default(),
        }
    }

    #[inline]
    fn enqueue(&mut self, packet: Packet, port: &mut Port) {
        if port.idle_since.is_none() && !self.limit.fits(self.backlog, packet.size) {
            self.state.full(&self.tuning, port.now);
            port.discard(packet);
            return;
        }
        self.backlog.add(packet.size);
        self.packets.push_back(packet);
    }

    fn dequeue(&mut self, port: &mut Port) -> Option<Packet> {
        loop {
            let Some(mut packet) = self.packets.pop_front() else {
                self.state.empty(&self.tuning, port.now);
                return None;
            };
            self.backlog.remove(packet.size);
            let drop = self.state.should_drop(&self.tuning, &mut packet, port);
            // The last packet is always sent, as in Linux.
            if !drop || self.packets.is_empty() {
                return Some(packet);
            }
            port.discard(packet);
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.backlog
    }
}

impl CobaltState {
    fn raise(&mut self, tuning: &Tuning, now: Time) {
        if now.saturating_sub(self.changed) > tuning.target {
            self.probability = (self.probability + tuning.increment).min(1.0);
            self.changed = now;
        }
    }

    /// BLUE's probability.
    #[cfg(test)]
    pub(crate) fn probability(&self) -> f64 {
        self.probability
    }

    /// Reacts to a full buffer: CoDel signals at once, and BLUE's probability rises.
    pub(crate) fn full(&mut self, tuning: &Tuning, now: Time) {
        self.raise(tuning, now);
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// Reacts to an empty queue: the probability and the count fall.
    pub(crate) fn empty(&mut self, tuning: &Tuning, now: Time) {
        if self.probability > 0.0 && now.saturating_sub(self.changed) > tuning.target {
            self.probability = (self.probability - tuning.decrement).max(0.0);
            self.changed = now;
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.count -= 1;
            self.drop_next = tuning.next(self.drop_next, self.count);
        }
    }

    /// Whether the packet at the head is to be dropped. A packet that can be marked is marked
    /// instead, except by BLUE.
    pub(crate) fn should_drop(
        &mut self,
        tuning: &Tuning,
        packet: &mut Packet,
        port: &mut Port,
    ) -> bool {
        let now = port.now;
        let sojourn = now.saturating_sub(packet.arrival);
        let over = sojourn > tuning.target;
        // These values precede the update of the schedule. After an interval without packets, a
        // late first packet only makes the next packet signal (`schedule` of cobalt_should_drop).
        let mut late = now > self.drop_next;
        let mut due = self.count > 0 && now >= self.drop_next;
        if over && !self.dropping {
            self.dropping = true;
            self.drop_next = tuning.next(now, self.count);
            self.count = self.count.max(1);
        }
        self.dropping &= over;
        let mut drop = false;
        if due && self.dropping {
            drop = !port.mark(packet);
            self.count = self.count.saturating_add(1);
            self.drop_next = tuning.next(self.drop_next, self.count);
            late = now > self.drop_next;
        } else {
            while due {
                self.count -= 1;
                self.drop_next = tuning.next(self.drop_next, self.count);
                late = now > self.drop_next;
                due = self.count > 0 && now >= self.drop_next;
            }
        }
        if sojourn > tuning.blue_threshold {
            self.raise(tuning, now);
        }
        // BLUE deliberately drops and never marks.
        if self.probability > 0.0 && port.random.uniform() < self.probability {
            drop = true;
        }
        if self.count == 0 {
            self.drop_next = now.saturating_add(tuning.interval);
        } else if late && !drop {
            self.drop_next = now;
        }
        drop
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Ecn;
    use crate::packet::testing::{packet, with_ecn};
    use crate::port::testing::{port, setting};

    fn cobalt(limit: u64) -> Cobalt {
        let parameters = Parameters::defaults(Cobalt::DESCRIPTION.parameters);
        Cobalt::new(&parameters, &setting(Limit::Packets(limit)))
    }

    fn take(cobalt: &mut Cobalt, port: &mut Port, ms: u64) -> (usize, Option<Packet>) {
        port.now = Time::from_millis(ms);
        let sent = cobalt.dequeue(port);
        (port.discards.drain(..).count(), sent)
    }

    /// Every packet waits too long from 10 ms on. The first signal comes an interval later, the
    /// others at gaps that shrink with the square root.
    #[test]
    fn signals_follow_the_control_law() {
        for ecn in [Ecn::NotCapable, Ecn::Classic] {
            let (mut cobalt, mut port) = (cobalt(1_000_000), port());
            for number in 0..3000 {
                cobalt.enqueue(with_ecn(ecn, number), &mut port);
            }
            // A packet in time precedes them.
            assert!(take(&mut cobalt, &mut port, 1).1.is_some());
            let mut times = Vec::new();
            // Before 400 ms no packet has waited long enough for BLUE.
            for ms in 10..400 {
                let (dropped, sent) = take(&mut cobalt, &mut port, ms);
                let marked = sent.is_some_and(|packet| packet.marked());
                assert!(ecn == Ecn::Classic || !marked);
                if dropped > 0 || marked {
                    times.push(ms as f64);
                }
            }
            let mut expected = 110.0;
            for (k, time) in times.iter().enumerate() {
                assert!((time - expected).abs() <= 1.0, "{times:?}");
                expected += 100.0 / ((k + 2) as f64).sqrt();
            }
            assert!(times.len() >= 4);
        }
    }

    /// CoDel forgets its count after a while. Here the count falls at the pace at which it rose.
    #[test]
    fn the_count_falls_gradually() {
        let (mut cobalt, mut port) = (cobalt(1_000_000), port());
        for number in 0..500 {
            cobalt.enqueue(packet(0, number, 1000), &mut port);
        }
        for ms in 10..390 {
            take(&mut cobalt, &mut port, ms);
        }
        let high = cobalt.state.count;
        assert!(high >= 4, "{high}");
        // From now on no packet waits.
        let mut counts = Vec::new();
        for ms in 390..2000 {
            let mut packet = packet(0, 0, 1000);
            packet.arrival = Time::from_millis(ms);
            cobalt.packets.clear();
            cobalt.backlog = Backlog::default();
            cobalt.enqueue(packet, &mut port);
            take(&mut cobalt, &mut port, ms);
            counts.push(cobalt.state.count);
        }
        assert!(
            counts
                .windows(2)
                .all(|pair| pair[1] == pair[0] || pair[1] + 1 == pair[0])
        );
        assert_eq!(counts[counts.len() - 1], 0);
        let halfway = counts.iter().position(|count| *count == high / 2).unwrap();
        assert!(halfway > 50, "{halfway}");
    }

    /// `cobalt_should_drop`: for BLUE a wait above the threshold counts as a full buffer. A wait
    /// equal to the threshold does not. It counts at most once per target time.
    #[test]
    fn a_wait_beyond_the_threshold_raises_the_probability() {
        let (mut cobalt, mut port) = (cobalt(1000), port());
        let step = cobalt.tuning.increment;
        port.now = Time::from_secs(100);
        let threshold = cobalt.tuning.blue_threshold;
        let part = Time::from_micros(1);
        for (wait, expected) in [
            (threshold, 0.0),
            (threshold.saturating_sub(part), 0.0),
            (threshold.saturating_add(part), step),
            (threshold.saturating_mul(3), step),
        ] {
            let mut packet = packet(0, 0, 1000);
            packet.arrival = port.now.saturating_sub(wait);
            cobalt
                .state
                .should_drop(&cobalt.tuning, &mut packet, &mut port);
            assert_eq!(cobalt.state.probability(), expected, "{wait}");
        }
        port.now = port
            .now
            .saturating_add(cobalt.tuning.target)
            .saturating_add(part);
        let mut packet = packet(0, 0, 1000);
        packet.arrival = Time::ZERO;
        cobalt
            .state
            .should_drop(&cobalt.tuning, &mut packet, &mut port);
        assert_eq!(cobalt.state.probability(), 2.0 * step);
    }

    /// The count of the state, and the time of its next signal in ms.
    fn state(cobalt: &Cobalt) -> (u32, f64) {
        (
            cobalt.state.count,
            cobalt.state.drop_next.as_secs_f64() * 1e3,
        )
    }

    /// cobalt_should_drop of Linux 6.18, traced by hand with interval 100 ms and target 5 ms. Each
    /// row is a packet at the head: (time in ms, wait in ms, dropped, count, next signal in ms).
    #[test]
    fn the_state_goes_the_way_of_the_kernel() {
        let root = |count: f64| 100.0 / f64::sqrt(count);
        let second = 160.0 + root(2.0);
        let third = second + root(3.0);
        let fourth = third + root(4.0);
        let trace = [
            // No signal: with a count of zero the next signal is an interval away.
            (50.0, 1.0, false, 0, 150.0),
            // Above the target: the count becomes one, and the signal is an interval away.
            (60.0, 6.0, false, 1, 160.0),
            (159.9, 6.0, false, 1, 160.0),
            (160.0, 6.0, true, 2, second),
            (232.0, 7.0, true, 3, third),
            (232.1, 7.0, false, 3, third),
            // Late by more than the next gap: a signal, and the next one counts from the time at
            // which this one was due.
            (400.0, 9.0, true, 4, fourth),
            // The next signal is due as well, so the following packet is dropped, too.
            (400.0, 9.0, true, 5, fourth + root(5.0)),
        ];
        let run = |trace: &[(f64, f64, bool, u32, f64)]| {
            let (mut cobalt, mut port) = (cobalt(1000), port());
            for &(now, wait, dropped, count, next) in trace {
                port.now = Time::from_secs_f64(now * 1e-3);
                let mut head = packet(0, 0, 1000);
                head.arrival = Time::from_secs_f64((now - wait) * 1e-3);
                let tuning = cobalt.tuning;
                let drop = cobalt.state.should_drop(&tuning, &mut head, &mut port);
                assert_eq!((drop, state(&cobalt).0), (dropped, count), "{now}");
                let found = state(&cobalt).1;
                assert!((found - next).abs() < 1e-6, "{now}: {found} {next}");
            }
        };
        run(&trace);
        // Below the target the count falls when signals would have been due, one by one or at once.
        run(&[
            &trace[..6],
            &[
                (third - 0.1, 1.0, false, 3, third),
                (third, 1.0, false, 2, third + root(2.0)),
                (third + 1.0, 1.0, false, 2, third + root(2.0)),
                (500.0, 1.0, false, 0, 600.0),
            ],
        ]
        .concat());
        // After an interval without packets the first late packet only arms the signal, and the
        // next is dropped.
        run(&[
            (50.0, 1.0, false, 0, 150.0),
            (151.0, 6.0, false, 1, 151.0),
            (152.0, 6.0, true, 2, 151.0 + root(2.0)),
        ]);
    }

    #[test]
    fn blue_answers_a_full_buffer_and_forgets_slowly() {
        let (mut cobalt, mut port) = (cobalt(10), port());
        for number in 0..2000u32 {
            port.now = Time::from_millis(u64::from(number));
            let mut packet = packet(0, number, 1000);
            packet.arrival = port.now;
            cobalt.enqueue(packet, &mut port);
        }
        // The buffer is full from the eleventh packet on: one step every 6 ms.
        let expected = (1989.0_f64 / 6.0).floor() / 256.0;
        assert!((cobalt.state.probability - expected.min(1.0)).abs() <= 1.0 / 256.0);
        port.discards.clear();
        let before = cobalt.state.probability;
        cobalt.packets.clear();
        cobalt.backlog = Backlog::default();
        for ms in 2000..3000 {
            take(&mut cobalt, &mut port, ms);
        }
        let fallen = (before - cobalt.state.probability) * 4096.0;
        assert!((fallen - 1000.0 / 6.0).abs() <= 2.0, "{fallen}");
    }
}
