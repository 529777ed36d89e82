//! DualPI2 (De Schepper, Briscoe and White, RFC 9332). Scalable traffic (ECT(1)) has a queue that
//! marks hold at a millisecond. Classic traffic has a queue that a PI controller holds at a target.
//! The controller's probability p' is squared for classic traffic and doubled for scalable traffic.
//! Flows of both kinds then get about the same rate.
//!
//! The RFC leaves two choices open; both follow Linux (net/sched/sch_dualpi2.c). The scalable
//! queue's own control is a step instead of the ramp of appendix A.1. The classic queue is
//! guaranteed a tenth of the link.

use std::collections::VecDeque;

use forebay_units::Time;
use forebay_units::parameter::{
    Description, Evidence, Parameter, ParameterKind, Parameters, Value,
};

use crate::packet::{Ecn, Packet};
use crate::pie::next_tick;
use crate::port::{Backlog, Limit, Port, Setting};
use crate::queue_discipline::{QueueDiscipline, Storage};

/// DualPI2 (RFC 9332 appendix A).
#[derive(Clone, Debug)]
pub struct DualPi2 {
    limit: Limit,
    /// Target delay of the classic queue, in seconds.
    target: f64,
    update: Time,
    /// Gains in 1/s, per update: of the distance from the target, and of the change of the delay.
    alpha: f64,
    beta: f64,
    coupling: f64,
    /// Sojourn time from which scalable packets are marked.
    step: Time,
    /// Guaranteed share of the classic queue at the link.
    classic_share: f64,
    packet: u64,
    scalable: VecDeque<Packet>,
    classic: VecDeque<Packet>,
    scalable_bytes: u64,
    classic_bytes: u64,
    /// The controller's probability p'.
    base: f64,
    delay_before: f64,
    next_update: Time,
    /// Remainder of the even spacing of scalable packets' marks (appendix A.1, `recur`).
    scalable_remainder: f64,
    /// Service of the classic queue beyond its share, in bytes (deficit round robin).
    credit: f64,
}

impl QueueDiscipline for DualPi2 {
    const DESCRIPTION: Description = Description {
        name: "dualpi2",
        aliases: &[],
        title: "Dual-queue coupled AQM: low latency for scalable (L4S) traffic beside classic traffic",
        formula: &[
            "every `update`: p' += alpha (delay − target) + beta (delay − delay before)",
            "classic packets are dropped or marked with p'², scalable ones marked with k p' or once they waited for `step`",
            "scalable packets go first; classic ones are sure of classic_share of the link",
        ],
        source: "RFC 9332, appendix A",
        checked: &[Evidence::Trace(
            "the pseudo-code of RFC 9332 appendix A: probability by updates, marks and drops that follow",
        )],
        parameters: &[
            Parameter {
                name: "target",
                meaning: "Target delay of the classic queue (RFC 9332 appendix A.1).",
                kind: ParameterKind::Time,
                default: Value::Time(Time::from_millis(15)),
            },
            Parameter {
                name: "update",
                meaning: "Time between updates of the probability, at least 1 us.",
                kind: ParameterKind::Time,
                default: Value::Time(Time::from_millis(16)),
            },
            Parameter {
                name: "alpha",
                meaning: "Integral gain.",
                kind: ParameterKind::Number {
                    min: 0.0,
                    max: 1e6,
                    unit: "1/s",
                },
                default: Value::Number(0.16),
            },
            Parameter {
                name: "beta",
                meaning: "Proportional gain.",
                kind: ParameterKind::Number {
                    min: 0.0,
                    max: 1e6,
                    unit: "1/s",
                },
                default: Value::Number(3.2),
            },
            Parameter {
                name: "coupling",
                meaning: "Coupling factor k: marks of scalable traffic per unit of p'.",
                kind: ParameterKind::Number {
                    min: 0.0,
                    max: 1e3,
                    unit: "",
                },
                default: Value::Number(2.0),
            },
            Parameter {
                name: "step",
                meaning: "Sojourn time from which every scalable packet is marked.",
                kind: ParameterKind::Time,
                default: Value::Time(Time::from_millis(1)),
            },
            Parameter {
                name: "classic_share",
                meaning: "Share of the link that classic traffic is sure of.",
                kind: ParameterKind::Number {
                    min: 0.0,
                    max: 1.0,
                    unit: "fraction",
                },
                default: Value::Number(0.1),
            },
        ],
    };

    fn storage(_: &Parameters) -> Storage {
        Storage::DISCARDING
    }

    fn new(parameters: &Parameters, setting: &Setting) -> Self {
        let update = parameters.time("update").max(Time::from_micros(1));
        Self {
            limit: setting.limit,
            target: parameters.time("target").as_secs_f64(),
            update,
            alpha: parameters.number("alpha"),
            beta: parameters.number("beta"),
            coupling: parameters.number("coupling"),
            step: parameters.time("step"),
            classic_share: parameters.number("classic_share"),
            packet: setting.packet.ceil() as u64,
            scalable: VecDeque::new(),
            classic: VecDeque::new(),
            scalable_bytes: 0,
            classic_bytes: 0,
            base: 0.0,
            delay_before: 0.0,
            next_update: update,
            scalable_remainder: 0.0,
            credit: 0.0,
        }
    }

    fn enqueue(&mut self, packet: Packet, port: &mut Port) {
        self.catch_up(port.now);
        if port.idle_since.is_none() && !self.limit.fits(self.backlog(), packet.size) {
            port.discard(packet);
            return;
        }
        if packet.ecn() == Ecn::Scalable {
            self.scalable_bytes += u64::from(packet.size);
            self.scalable.push_back(packet);
        } else {
            self.classic_bytes += u64::from(packet.size);
            self.classic.push_back(packet);
        }
    }

    fn dequeue(&mut self, port: &mut Port) -> Option<Packet> {
        self.catch_up(port.now);
        while !self.scalable.is_empty() || !self.classic.is_empty() {
            let packet = if self.classic_turn() {
                self.dequeue_classic(port)
            } else {
                self.dequeue_scalable(port)
            };
            if packet.is_some() {
                return packet;
            }
        }
        self.credit = 0.0;
        None
    }

    fn backlog(&self) -> Backlog {
        Backlog {
            packets: (self.scalable.len() + self.classic.len()) as u64,
            bytes: self.scalable_bytes + self.classic_bytes,
        }
    }
}

impl DualPi2 {
    /// Largest drop probability of classic packets. Above it, scalable packets are dropped too (RFC
    /// 9332 appendix A.2, overload).
    const MOST_CLASSIC: f64 = 0.25;

    /// Whether the classic queue is served next. Scalable packets go first, but the classic queue
    /// has its share: weighted round robin by bytes (RFC 9332 section 4.2.2).
    fn classic_turn(&self) -> bool {
        if self.classic.is_empty() {
            return false;
        }
        self.scalable.is_empty() || self.credit >= self.packet as f64
    }

    fn dequeue_scalable(&mut self, port: &mut Port) -> Option<Packet> {
        let mut packet = self.scalable.pop_front()?;
        let size = f64::from(packet.size);
        self.scalable_bytes -= u64::from(packet.size);
        if !self.classic.is_empty() {
            self.credit += size * self.classic_share;
        }
        let coupled = self.coupling * self.base;
        if self.base * self.base > Self::MOST_CLASSIC && self.classic_drop(port) {
            port.discard(packet);
            return None;
        }
        let native = self.laqm(&packet, port.now);
        self.scalable_remainder += native.max(coupled).min(1.0);
        if self.scalable_remainder > 1.0 {
            self.scalable_remainder -= 1.0;
            port.mark(&mut packet);
        }
        Some(packet)
    }

    fn dequeue_classic(&mut self, port: &mut Port) -> Option<Packet> {
        let mut packet = self.classic.pop_front()?;
        self.classic_bytes -= u64::from(packet.size);
        let overloaded = self.base * self.base > Self::MOST_CLASSIC;
        if self.classic_drop(port) && (overloaded || !port.mark(&mut packet)) {
            port.discard(packet);
            return None;
        }
        if !self.scalable.is_empty() {
            self.credit -= f64::from(packet.size) * (1.0 - self.classic_share);
        }
        Some(packet)
    }

    /// Draws a classic drop with probability p'^2: p' exceeds the larger of two random numbers (De
    /// Schepper et al. 2016, "PI2"). The RFC's example code spaces the drops evenly.
    fn classic_drop(&self, port: &mut Port) -> bool {
        let (a, b) = (port.random.uniform(), port.random.uniform());
        a.max(b) < self.base
    }

    /// The mark probability of the scalable queue's own control: a step in the sojourn time. It is
    /// zero for a packet that leaves the queue empty.
    fn laqm(&self, packet: &Packet, now: Time) -> f64 {
        let sojourn = now.saturating_sub(packet.arrival);
        f64::from(sojourn >= self.step && sojourn > Time::ZERO && self.scalable_bytes > 0)
    }

    /// Performs the updates of the probability that were due by `now`.
    fn catch_up(&mut self, now: Time) {
        while self.next_update <= now {
            let delay = self.delay(self.next_update);
            let step = self.alpha * (delay - self.target) + self.beta * (delay - self.delay_before);
            let base = (self.base + step).clamp(0.0, 1.0);
            let settled = base == self.base && delay == 0.0 && self.delay_before == 0.0;
            self.base = base;
            self.delay_before = delay;
            self.next_update = next_tick(self.next_update, self.update, now, settled);
        }
    }

    /// Sojourn time so far of the oldest packet in either queue, in seconds (RFC 9332 appendix
    /// A.1).
    fn delay(&self, at: Time) -> f64 {
        let oldest = |queue: &VecDeque<Packet>| {
            let arrival = queue.front().map(|packet| packet.arrival);
            arrival.map_or(0.0, |arrival| at.saturating_sub(arrival).as_secs_f64())
        };
        oldest(&self.classic).max(oldest(&self.scalable))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::testing::with_ecn;
    use crate::port::testing::{port, setting};

    fn dualpi2() -> DualPi2 {
        let parameters = Parameters::defaults(DualPi2::DESCRIPTION.parameters);
        DualPi2::new(&parameters, &setting(Limit::Packets(100_000)))
    }

    fn of(ecn: Ecn, number: u32, arrival: Time) -> Packet {
        Packet {
            arrival,
            ..with_ecn(ecn, number)
        }
    }

    /// Keeps both queues backlogged with new packets for `ms` milliseconds at one packet per
    /// millisecond. Returns the packets sent.
    fn both(dual: &mut DualPi2, port: &mut Port, ms: u64) -> Vec<Packet> {
        let mut sent = Vec::new();
        for _ in 0..ms {
            port.now += Time::from_millis(1);
            while dual.classic.len() < 10 {
                dual.enqueue(of(Ecn::NotCapable, 0, port.now), port);
            }
            while dual.scalable.len() < 2 {
                dual.enqueue(of(Ecn::Scalable, 0, port.now), port);
            }
            sent.extend(dual.dequeue(port));
        }
        sent
    }

    #[test]
    fn the_classic_queue_has_its_share_and_no_more() {
        let (mut dual, mut port) = (dualpi2(), port());
        (dual.alpha, dual.beta) = (0.0, 0.0);
        let sent = both(&mut dual, &mut port, 5000);
        let classic = sent.iter().filter(|p| p.ecn() == Ecn::NotCapable).count();
        assert!((480..=520).contains(&classic), "{classic}");
    }

    #[test]
    fn drops_are_the_square_and_marks_twice_the_base() {
        let (mut dual, mut port) = (dualpi2(), port());
        (dual.alpha, dual.beta, dual.base) = (0.0, 0.0, 0.2);
        dual.step = Time::MAX;
        dual.classic_share = 0.5;
        let sent = both(&mut dual, &mut port, 40_000);
        let scalable = sent.iter().filter(|p| p.ecn() == Ecn::Scalable);
        let (mut marked, mut count) = (0.0, 0.0);
        for packet in scalable {
            count += 1.0;
            marked += f64::from(packet.marked());
        }
        // The mark share is k p' = 0.4, evenly spaced. The drop share is p'^2 = 0.04 of 20,000 at
        // random (standard error 0.0014).
        assert!((marked / count - 0.4_f64).abs() < 1e-3);
        let dropped = port.discards.len() as f64;
        let classic = sent.len() as f64 - count + dropped;
        assert!(
            (dropped / classic - 0.04).abs() < 0.007,
            "{}",
            dropped / classic
        );
    }

    #[test]
    fn scalable_packets_are_marked_from_the_step_on() {
        let (mut dual, mut port) = (dualpi2(), port());
        for number in 0..3 {
            dual.enqueue(of(Ecn::Scalable, number, Time::ZERO), &mut port);
        }
        port.now = Time::from_micros(999);
        assert_eq!(dual.dequeue(&mut port).map(|p| p.marked()), Some(false));
        port.now = Time::from_millis(1);
        // The first packet beyond the step only raises the remainder to one.
        dual.scalable_remainder = 0.5;
        assert_eq!(dual.dequeue(&mut port).map(|p| p.marked()), Some(true));
        // The last packet leaves the queue empty.
        assert_eq!(dual.dequeue(&mut port).map(|p| p.marked()), Some(false));
    }

    #[test]
    fn the_controller_takes_the_steps_of_the_rfc() {
        let (mut dual, mut port) = (dualpi2(), port());
        dual.enqueue(of(Ecn::NotCapable, 0, Time::ZERO), &mut port);
        dual.base = 0.1;
        dual.delay_before = 0.01;
        dual.catch_up(Time::from_millis(16));
        let expected = 0.1 + 0.16 * (0.016 - 0.015) + 3.2 * (0.016 - 0.01);
        assert!((dual.base - expected).abs() < 1e-12);
    }

    /// dualpi2_update of RFC 9332 appendix A.1, traced by hand. The target is 15 ms, updates come
    /// every 16 ms, alpha is 0.16 Hz, beta 3.2 Hz, p' between 0 and 1. A classic packet arrives at
    /// 24 ms and stays until 160 ms. The delay is 0 at the first update, then 8, 24, 40, ... 136
    /// ms, and 0 after that. Each step is 0.16 (delay - 0.015) + 3.2 (delay - previous delay).
    #[test]
    fn the_probability_is_that_of_the_rfcs_pseudo_code() {
        let expected = [
            0.0, 0.024_48, 0.077_12, 0.132_32, 0.190_08, 0.250_4, 0.313_28, 0.378_72, 0.446_72,
            0.517_28, 0.079_68, 0.077_28, 0.074_88,
        ];
        let (mut dual, mut port) = (dualpi2(), port());
        for (number, expected) in expected.into_iter().enumerate() {
            let tick = 16 * (number as u64 + 1);
            if number == 1 {
                dual.enqueue(of(Ecn::NotCapable, 0, Time::from_millis(24)), &mut port);
            }
            dual.catch_up(Time::from_millis(tick));
            assert!((dual.base - expected).abs() < 1e-12, "{tick} {}", dual.base);
            if number == 9 {
                dual.classic.clear();
                dual.classic_bytes = 0;
            }
        }
    }

    /// The overload variant of appendix A.2 and Linux's calculate_probability use the longer delay
    /// of both queues.
    #[test]
    fn the_longer_of_both_queues_counts() {
        let (mut dual, mut port) = (dualpi2(), port());
        dual.enqueue(of(Ecn::NotCapable, 0, Time::from_millis(10)), &mut port);
        dual.enqueue(of(Ecn::Scalable, 1, Time::from_millis(4)), &mut port);
        assert_eq!(dual.delay(Time::from_millis(16)), 0.012);
    }

    /// recur of appendix A.1, traced by hand: a packet is marked if the count exceeds 1, not if it
    /// equals 1. With p' = 3/16 and k = 2 the count is 3/8, 6/8, 9/8 (marked, 1/8 left), 4/8, 7/8,
    /// 10/8 (marked). It continues with 5/8, 8/8, 11/8 (marked), and so on.
    #[test]
    fn marks_of_scalable_packets_are_spaced_as_in_the_rfc() {
        let (mut dual, mut port) = (dualpi2(), port());
        (dual.alpha, dual.beta, dual.base, dual.step) = (0.0, 0.0, 0.1875, Time::MAX);
        let marked = (1..=17).filter(|&number| {
            dual.enqueue(of(Ecn::Scalable, number, Time::ZERO), &mut port);
            dual.dequeue(&mut port)
                .is_some_and(|packet| packet.marked())
        });
        assert_eq!(marked.collect::<Vec<_>>(), [3, 6, 9, 11, 14, 17]);
    }

    #[test]
    fn in_overload_scalable_packets_are_dropped_too() {
        let (mut dual, mut port) = (dualpi2(), port());
        (dual.alpha, dual.beta, dual.base) = (0.0, 0.0, 0.9);
        both(&mut dual, &mut port, 1000);
        let dropped = port.discards.iter().filter(|p| p.ecn() == Ecn::Scalable);
        assert!(dropped.count() > 100);
    }

    #[test]
    fn a_pause_without_end_is_caught_up_with() {
        let (mut dual, mut port) = (dualpi2(), port());
        (dual.alpha, dual.beta, dual.base) = (1e-30, 0.0, 0.5);
        port.now = Time::from_secs(10_000_000);
        assert!(dual.dequeue(&mut port).is_none());
        assert!(dual.next_update > port.now);
    }
}
