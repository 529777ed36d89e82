//! Deficit round robin (Shreedhar and Varghese, "Efficient Fair Queuing using Deficit Round-Robin",
//! 1995). Flows take turns. In each turn a flow may send a further quantum of bytes. The unused
//! part is carried over to its next turn. Each flow has a queue.

use forebay_units::Bytes;
use forebay_units::parameter::{
    Description, Evidence, Parameter, ParameterKind, Parameters, Value,
};

use crate::flow_queues::{FlowQueues, Longest, QueueList};
use crate::packet::Packet;
use crate::port::{Backlog, Limit, Port, Setting};
use crate::queue_discipline::{QueueDiscipline, Storage};

/// The packet that a full buffer drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    /// The head of the queue with the most bytes (McKenney 1990; Suter et al. 1998).
    Longest,
    /// The arriving packet.
    Arrival,
}

/// The discipline `drr`.
#[derive(Clone, Debug)]
pub struct DeficitRoundRobin {
    limit: Limit,
    quantum: u64,
    victim: Victim,
    /// The queue of each flow, with the bytes that the flow may send.
    queues: FlowQueues<u64>,
    active: QueueList,
    /// Whether the flow at the list's head has received its quantum.
    served: bool,
    turn: u64,
}

impl QueueDiscipline for DeficitRoundRobin {
    const DESCRIPTION: Description = Description {
        name: "drr",
        aliases: &[],
        title: "Deficit round robin: fair queueing with one queue per flow",
        formula: &[
            "each turn a flow may send `quantum` bytes more; what a packet does not need is carried to the next turn",
        ],
        source: "Shreedhar and Varghese 1995; ns-2.35 drr.cc",
        checked: &[
            Evidence::Program("ns-2.35: DRR"),
            Evidence::Theory(
                "fair to within a quantum and two packets (Shreedhar and Varghese 1995)",
            ),
        ],
        parameters: &[
            Parameter {
                name: "drop",
                meaning: "Packet that is dropped at a full buffer: the head of the longest queue, or the arrival (tail).",
                kind: ParameterKind::Choice {
                    words: &["longest", "tail"],
                },
                default: Value::Word("longest"),
            },
            Parameter {
                name: "quantum",
                meaning: "Size that a flow may send per turn, at least 64 bytes. Automatic: one packet of the mean size.",
                kind: ParameterKind::Bytes,
                default: Value::Automatic,
            },
        ],
    };

    fn storage(_: &Parameters) -> Storage {
        FlowQueues::<u64>::STORAGE
    }

    fn new(parameters: &Parameters, setting: &Setting) -> Self {
        let quantum = match parameters.get("quantum") {
            Value::Bytes(bytes) => bytes,
            _ => Bytes::new(setting.packet.ceil() as u64),
        };
        let victim = match parameters.word("drop") {
            "tail" => Victim::Arrival,
            _ => Victim::Longest,
        };
        let longest = match victim {
            Victim::Longest => Longest::OnDemand,
            Victim::Arrival => Longest::Untracked,
        };
        Self {
            limit: setting.limit,
            quantum: quantum.get().max(64),
            victim,
            queues: FlowQueues::new(longest),
            active: QueueList::default(),
            served: false,
            turn: 0,
        }
    }

    #[expect(
        clippy::inline_always,
        reason = "a call would pass the packet in memory"
    )]
    #[inline(always)]
    fn enqueue(&mut self, packet: Packet, port: &mut Port) {
        let idle = port.idle_since.is_some();
        let total = self.queues.total();
        if self.victim == Victim::Arrival && !idle && !self.limit.fits(total, packet.size) {
            port.discard(packet);
            return;
        }
        let flow = packet.flow;
        self.queues.ensure(flow);
        if self.queues.backlog(flow).packets == 0 {
            self.activate(flow);
        }
        self.queues.push(flow, packet);
        if !idle && self.limit.exceeded(self.queues.total()) {
            self.drop_from_longest(port);
        }
    }

    #[expect(
        clippy::inline_always,
        reason = "a call would pass the packet in memory"
    )]
    #[inline(always)]
    fn dequeue(&mut self, _port: &mut Port) -> Option<Packet> {
        loop {
            let flow = self.active.first()?;
            let size = u64::from(self.queues.head(flow)?.size);
            let deficit = self.queues.state(flow);
            if !self.served {
                self.served = true;
                *deficit += self.quantum;
            }
            if *deficit >= size {
                *deficit -= size;
                let packet = self.queues.pop(flow);
                if self.queues.backlog(flow).packets == 0 {
                    self.deactivate(flow);
                }
                return packet;
            }
            self.served = false;
            self.queues.rotate(&mut self.active);
            self.take_turn(flow);
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.queues.total()
    }
}

impl DeficitRoundRobin {
    fn activate(&mut self, flow: u32) {
        *self.queues.state(flow) = 0;
        if self.active.first().is_none() {
            self.served = false;
        }
        self.queues.append(&mut self.active, flow);
        self.take_turn(flow);
    }

    /// Moves the flow behind all others. Among equally long queues the next to be served counts as
    /// the longest.
    #[inline]
    fn take_turn(&mut self, flow: u32) {
        self.turn += 1;
        self.queues.set_turn(flow, self.turn);
    }

    fn deactivate(&mut self, flow: u32) {
        if self.active.first() == Some(flow) {
            self.served = false;
        }
        self.queues.remove(&mut self.active, flow);
        *self.queues.state(flow) = 0;
    }

    fn drop_from_longest(&mut self, port: &mut Port) {
        while self.limit.exceeded(self.queues.total()) {
            let Some(flow) = self.queues.longest() else {
                return;
            };
            if let Some(packet) = self.queues.pop(flow) {
                port.discard(packet);
            }
            if self.queues.backlog(flow).packets == 0 {
                self.deactivate(flow);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::testing::packet;
    use crate::port::testing::{port, setting};
    use proptest::prelude::*;

    fn drr(limit: Limit, drop: &'static str) -> DeficitRoundRobin {
        let mut parameters = Parameters::defaults(DeficitRoundRobin::DESCRIPTION.parameters);
        parameters.set("drop", Value::Word(drop));
        DeficitRoundRobin::new(&parameters, &setting(limit))
    }

    #[test]
    fn flows_take_turns_packet_by_packet() {
        let (mut drr, mut port) = (drr(Limit::Packets(100), "longest"), port());
        for number in 0..4 {
            drr.enqueue(packet(0, number, 1000), &mut port);
        }
        for number in 0..2 {
            drr.enqueue(packet(1, number, 1000), &mut port);
        }
        let order: Vec<u32> = std::iter::from_fn(|| drr.dequeue(&mut port))
            .map(|p| p.flow)
            .collect();
        assert_eq!(order, [0, 1, 0, 1, 0, 0]);
    }

    #[test]
    fn the_head_of_the_longest_queue_in_bytes_is_dropped() {
        let (mut drr, mut port) = (drr(Limit::Bytes(5000), "longest"), port());
        drr.enqueue(packet(0, 0, 1500), &mut port);
        drr.enqueue(packet(0, 1, 1500), &mut port);
        for number in 0..4 {
            drr.enqueue(packet(1, number, 500), &mut port);
        }
        assert!(port.discards.is_empty());
        drr.enqueue(packet(2, 0, 100), &mut port);
        let dropped: Vec<(u32, u32)> = port.discards.iter().map(|p| (p.flow, p.number)).collect();
        assert_eq!(dropped, [(0, 0)]);
    }

    #[test]
    fn among_equals_the_next_to_be_served_is_dropped() {
        let (mut drr, mut port) = (drr(Limit::Packets(3), "longest"), port());
        for flow in [2, 0, 1] {
            drr.enqueue(packet(flow, 0, 1000), &mut port);
        }
        assert_eq!(drr.dequeue(&mut port).map(|p| p.flow), Some(2));
        drr.enqueue(packet(2, 1, 1000), &mut port);
        drr.enqueue(packet(3, 0, 1000), &mut port);
        assert_eq!(port.discards[0].flow, 0);
    }

    #[test]
    fn with_tail_drop_the_arrival_is_dropped() {
        let (mut drr, mut port) = (drr(Limit::Packets(2), "tail"), port());
        for flow in [0, 0, 1] {
            drr.enqueue(packet(flow, 0, 1000), &mut port);
        }
        assert_eq!(port.discards[0].flow, 1);
    }

    proptest! {
        /// Lemma 2 and Theorem 1 of the paper: two backlogged flows differ in service by less than
        /// a quantum and two largest packets.
        #[test]
        fn the_fairness_bound_holds(
            sizes in prop::collection::vec((40u32..1500, 40u32..1500, 40u32..1500), 200),
        ) {
            let (mut drr, mut port) = (drr(Limit::Packets(1000), "longest"), port());
            for (number, (a, b, c)) in sizes.iter().enumerate() {
                for (flow, size) in [a, b, c].into_iter().enumerate() {
                    drr.enqueue(packet(flow as u32, number as u32, *size), &mut port);
                }
            }
            let mut served = [0i64; 3];
            for _ in 0..300 {
                if let Some(packet) = drr.dequeue(&mut port) {
                    served[packet.flow as usize] += i64::from(packet.size);
                }
                let backlogged = (0..3).all(|flow| drr.queues.backlog(flow).packets > 0);
                if backlogged {
                    let (least, most) = (served.iter().min(), served.iter().max());
                    prop_assert!(most.unwrap() - least.unwrap() < 1000 + 2 * 1500);
                }
            }
        }
    }
}
