//! Stochastic fairness queueing (McKenney, "Stochastic Fairness Queueing", 1990). Flows are hashed
//! into queues that take turns. If all packets have one size, a turn is a packet. A full buffer
//! drops from the longest queue. The hash changes at intervals, so two flows do not share a queue
//! for ever.

use forebay_units::parameter::{Description, Parameter, ParameterKind, Parameters, Value};
use forebay_units::{Bytes, Time};

use crate::flow_queues::{FlowQueues, Longest, QueueList, hashed};
use crate::packet::Packet;
use crate::port::{Backlog, Limit, Port, Setting};
use crate::queue_discipline::{QueueDiscipline, Storage};

/// The end of the longest queue that loses a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Tail,
    Head,
}

/// The discipline `sfq`.
#[derive(Clone, Debug)]
pub struct StochasticFairnessQueueing {
    limit: Limit,
    quantum: i64,
    victim: Victim,
    perturb: Time,
    next_perturbation: Time,
    salt: u64,
    queues: FlowQueues,
    active: QueueList,
    /// Bytes that each queue may send.
    credits: Vec<i64>,
}

impl QueueDiscipline for StochasticFairnessQueueing {
    const DESCRIPTION: Description = Description {
        name: "sfq",
        aliases: &[],
        title: "Stochastic fairness queueing: hashed flows take turns",
        formula: &[
            "a flow waits in queue hash(flow) mod `flows`; queues take turns of `quantum` bytes",
            "a full buffer drops from the longest queue; the hash changes every `perturb`",
        ],
        source: "McKenney 1990; with quanta as in Linux's sch_sfq",
        checked: &[],
        parameters: &[
            Parameter {
                name: "flows",
                meaning: "Number of queues that flows are hashed into.",
                kind: ParameterKind::Number {
                    min: 1.0,
                    max: 1_048_576.0,
                    unit: "queues",
                },
                default: Value::Number(1024.0),
            },
            Parameter {
                name: "quantum",
                meaning: "Size that a queue may send per turn, at least 64 bytes. Automatic: one packet of the mean size.",
                kind: ParameterKind::Bytes,
                default: Value::Automatic,
            },
            Parameter {
                name: "perturb",
                meaning: "Time between changes of the hash; zero for never. Waiting packets stay in their queue.",
                kind: ParameterKind::Time,
                default: Value::Time(Time::ZERO),
            },
            Parameter {
                name: "drop",
                meaning: "Packet that is dropped at a full buffer: the tail of the longest queue (1990 paper), or its head.",
                kind: ParameterKind::Choice {
                    words: &["tail", "head"],
                },
                default: Value::Word("tail"),
            },
        ],
    };

    fn storage(parameters: &Parameters) -> Storage {
        let flows = parameters.number("flows") as usize;
        FlowQueues::<()>::STORAGE
            .with_flow(size_of::<i64>())
            .of_queues(flows)
    }

    fn new(parameters: &Parameters, setting: &Setting) -> Self {
        let flows = parameters.number("flows") as usize;
        let mut queues = FlowQueues::new(Longest::Tracked);
        queues.ensure(flows as u32 - 1);
        let quantum = match parameters.get("quantum") {
            Value::Bytes(bytes) => bytes,
            _ => Bytes::new(setting.packet.ceil() as u64),
        };
        let perturb = parameters.time("perturb");
        Self {
            limit: setting.limit,
            quantum: quantum.get().clamp(64, 1 << 40) as i64,
            victim: match parameters.word("drop") {
                "head" => Victim::Head,
                _ => Victim::Tail,
            },
            perturb,
            next_perturbation: if perturb == Time::ZERO {
                Time::MAX
            } else {
                perturb
            },
            salt: setting.salt,
            queues,
            active: QueueList::default(),
            credits: vec![0; flows],
        }
    }

    #[inline]
    fn enqueue(&mut self, packet: Packet, port: &mut Port) {
        if port.now >= self.next_perturbation {
            self.salt = port.random.bits();
            self.next_perturbation = port.now.saturating_add(self.perturb);
        }
        let queue = hashed(packet.flow, self.salt, self.credits.len());
        if self.queues.backlog(queue).packets == 0 {
            self.credits[queue as usize] = self.quantum;
            self.queues.append(&mut self.active, queue);
        }
        self.queues.push(queue, packet);
        if port.idle_since.is_none() {
            self.drop_from_longest(port);
        }
    }

    #[inline]
    fn dequeue(&mut self, _port: &mut Port) -> Option<Packet> {
        loop {
            let queue = self.active.first()?;
            let credits = &mut self.credits[queue as usize];
            if *credits <= 0 {
                *credits += self.quantum;
                self.queues.rotate(&mut self.active);
                continue;
            }
            let packet = self.queues.pop(queue)?;
            *credits -= i64::from(packet.size);
            self.leave_if_empty(queue);
            return Some(packet);
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.queues.total()
    }
}

impl StochasticFairnessQueueing {
    fn leave_if_empty(&mut self, queue: u32) {
        if self.queues.backlog(queue).packets == 0 {
            self.queues.remove(&mut self.active, queue);
        }
    }

    fn drop_from_longest(&mut self, port: &mut Port) {
        while self.limit.exceeded(self.queues.total()) {
            let Some(queue) = self.queues.longest() else {
                return;
            };
            let packet = match self.victim {
                Victim::Tail => self.queues.pop_last(queue),
                Victim::Head => self.queues.pop(queue),
            };
            if let Some(packet) = packet {
                port.discard(packet);
            }
            self.leave_if_empty(queue);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::testing::packet;
    use crate::port::testing::{port, setting};

    fn sfq(limit: u64, changes: &[(&str, Value)]) -> StochasticFairnessQueueing {
        let description = StochasticFairnessQueueing::DESCRIPTION;
        let mut parameters = Parameters::defaults(description.parameters);
        for (name, value) in changes {
            assert!(parameters.set(name, *value));
        }
        StochasticFairnessQueueing::new(&parameters, &setting(Limit::Packets(limit)))
    }

    #[test]
    fn queues_take_turns_and_the_longest_loses() {
        for (word, lost) in [("tail", 5), ("head", 0)] {
            let mut sfq = sfq(8, &[("drop", Value::Word(word))]);
            let mut port = port();
            let other = (1..100)
                .find(|&flow| hashed(flow, sfq.salt, 1024) != hashed(0, sfq.salt, 1024))
                .unwrap();
            for number in 0..6 {
                sfq.enqueue(packet(0, number, 1000), &mut port);
            }
            for number in 0..3 {
                sfq.enqueue(packet(other, number, 1000), &mut port);
            }
            assert_eq!(port.discards.len(), 1);
            assert_eq!((port.discards[0].flow, port.discards[0].number), (0, lost));
            let order: Vec<u32> = std::iter::from_fn(|| sfq.dequeue(&mut port))
                .map(|p| p.flow)
                .collect();
            assert_eq!(order, [0, other, 0, other, 0, other, 0, 0]);
        }
    }

    #[test]
    fn the_hash_changes_when_it_is_time() {
        let second = Value::Time(Time::from_secs(1));
        let mut sfq = sfq(1_000_000, &[("perturb", second)]);
        let mut port = port();
        let before = sfq.salt;
        sfq.enqueue(packet(0, 0, 1000), &mut port);
        assert_eq!(sfq.salt, before);
        port.now = Time::from_millis(1001);
        sfq.enqueue(packet(0, 0, 1000), &mut port);
        assert_ne!(sfq.salt, before);
        assert_eq!(sfq.next_perturbation, Time::from_millis(2001));
    }
}
