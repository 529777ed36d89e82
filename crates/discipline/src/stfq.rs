//! Start-time fair queueing (Goyal, Vin and Cheng 1997). A packet's start tag is the later of the
//! virtual time and its flow's last finish tag. Packets leave in the order of their start tags. The
//! virtual time is the start tag of the packet in transmission. Each flow has a queue.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use forebay_units::parameter::{
    Description, Evidence, Parameter, ParameterKind, Parameters, Value,
};

use crate::flow_queues::{FlowQueues, Longest};
use crate::packet::Packet;
use crate::port::{Backlog, Limit, Port, Setting};
use crate::queue_discipline::{QueueDiscipline, Storage};

/// The packet that a full buffer drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    /// The head of the queue with the most bytes.
    Longest,
    /// The arriving packet.
    Arrival,
}

/// Number of void entries that are always tolerated.
const MOST_VOIDS: usize = 16;

#[derive(Clone, Copy, Debug, Default)]
struct FlowTags {
    /// Finish tag of the last packet sent, in bytes.
    finish: u64,
    /// Number of its entry in the heap. Entries with another number are void.
    entry: u64,
}

/// The discipline `stfq`.
#[derive(Clone, Debug)]
pub struct StartTimeFairQueueing {
    limit: Limit,
    victim: Victim,
    queues: FlowQueues,
    flows: Vec<FlowTags>,
    /// Start tag of each backlogged flow's head, entry number and flow. Earlier entries come first.
    tags: BinaryHeap<Reverse<(u64, u64, u32)>>,
    entries: u64,
    /// Number of void entries in the heap.
    voids: usize,
    virtual_time: u64,
    /// Largest finish tag so far: the virtual time when the queue is empty.
    last_finish: u64,
}

impl QueueDiscipline for StartTimeFairQueueing {
    const DESCRIPTION: Description = Description {
        name: "stfq",
        aliases: &[],
        title: "Start-time fair queueing: packets leave in the order of their start tags",
        formula: &[
            "start tag S = max(v, F of the flow); finish tag F = S + size",
            "the packet with the smallest S goes next; v is the S of the packet in transmission",
        ],
        source: "Goyal, Vin and Cheng 1997, section 2",
        checked: &[Evidence::Theory(
            "fair to within two packets (Goyal, Vin and Cheng 1997)",
        )],
        parameters: &[Parameter {
            name: "drop",
            meaning: "Packet that is dropped at a full buffer: the head of the longest queue, or the arrival (tail).",
            kind: ParameterKind::Choice {
                words: &["longest", "tail"],
            },
            default: Value::Word("longest"),
        }],
    };

    fn storage(_: &Parameters) -> Storage {
        let tag = size_of::<Reverse<(u64, u64, u32)>>();
        let storage = FlowQueues::<()>::STORAGE.with_flow(size_of::<FlowTags>());
        Storage {
            packet: storage.packet + tag,
            ..storage
        }
    }

    fn new(parameters: &Parameters, setting: &Setting) -> Self {
        let (victim, longest) = match parameters.word("drop") {
            "tail" => (Victim::Arrival, Longest::Untracked),
            _ => (Victim::Longest, Longest::Tracked),
        };
        Self {
            limit: setting.limit,
            victim,
            queues: FlowQueues::new(longest),
            flows: Vec::new(),
            tags: BinaryHeap::new(),
            entries: 0,
            voids: 0,
            virtual_time: 0,
            last_finish: 0,
        }
    }

    fn enqueue(&mut self, packet: Packet, port: &mut Port) {
        let idle = port.idle_since.is_some();
        let full = !idle && !self.limit.fits(self.queues.total(), packet.size);
        if full && self.victim == Victim::Arrival {
            port.discard(packet);
            return;
        }
        let flow = packet.flow;
        self.queues.ensure(flow);
        if flow as usize >= self.flows.len() {
            self.flows.resize(flow as usize + 1, FlowTags::default());
        }
        if self.queues.backlog(flow).packets == 0 {
            self.tag(flow);
        }
        self.queues.push(flow, packet);
        while !idle && self.limit.exceeded(self.queues.total()) {
            let Some(longest) = self.queues.longest() else {
                return;
            };
            if let Some(packet) = self.queues.pop(longest) {
                port.discard(packet);
            }
            if self.queues.backlog(longest).packets == 0 {
                self.void(longest);
            }
        }
    }

    fn dequeue(&mut self, _port: &mut Port) -> Option<Packet> {
        while let Some(Reverse((start, entry, flow))) = self.tags.pop() {
            if self.flows[flow as usize].entry != entry {
                self.voids -= 1;
                continue;
            }
            let packet = self.queues.pop(flow)?;
            self.virtual_time = start;
            let finish = start.saturating_add(u64::from(packet.size));
            self.flows[flow as usize].finish = finish;
            self.last_finish = self.last_finish.max(finish);
            if self.queues.backlog(flow).packets > 0 {
                self.tag(flow);
            } else {
                self.flows[flow as usize].entry = 0;
            }
            return Some(packet);
        }
        self.virtual_time = self.last_finish;
        None
    }

    fn backlog(&self) -> Backlog {
        self.queues.total()
    }
}

impl StartTimeFairQueueing {
    /// Tags the packet at the head of a flow's queue. The tag does not depend on the packet's size,
    /// so the next packet inherits it after a drop at the head.
    fn tag(&mut self, flow: u32) {
        self.entries += 1;
        let tags = &mut self.flows[flow as usize];
        tags.entry = self.entries;
        let start = tags.finish.max(self.virtual_time);
        self.tags.push(Reverse((start, self.entries, flow)));
    }

    /// Voids the tag of a flow whose queue was dropped. If most tags are void they are removed.
    /// Otherwise a burst without room would leave one for each of its packets.
    fn void(&mut self, flow: u32) {
        self.flows[flow as usize].entry = 0;
        self.voids += 1;
        if self.voids > MOST_VOIDS && 2 * self.voids > self.tags.len() {
            let flows = &self.flows;
            let valid = |&Reverse((_, entry, flow)): &_| flows[flow as usize].entry == entry;
            self.tags.retain(valid);
            self.voids = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::testing::packet;
    use crate::port::testing::{port, setting};
    use proptest::prelude::*;

    fn stfq(limit: Limit) -> StartTimeFairQueueing {
        let description = StartTimeFairQueueing::DESCRIPTION;
        let parameters = Parameters::defaults(description.parameters);
        StartTimeFairQueueing::new(&parameters, &setting(limit))
    }

    #[test]
    fn an_idle_flow_gains_no_credit() {
        let (mut stfq, mut port) = (stfq(Limit::Packets(100)), port());
        for number in 0..20 {
            stfq.enqueue(packet(0, number, 1000), &mut port);
        }
        for _ in 0..10 {
            assert_eq!(stfq.dequeue(&mut port).map(|p| p.flow), Some(0));
        }
        for number in 0..10 {
            stfq.enqueue(packet(1, number, 1000), &mut port);
        }
        let order: Vec<u32> = (0..6)
            .filter_map(|_| stfq.dequeue(&mut port))
            .map(|p| p.flow)
            .collect();
        // Flow 1 starts at the virtual time, that of the packet sent last. The flows then take
        // turns.
        assert_eq!(order, [1, 0, 1, 0, 1, 0]);
    }

    /// Bursts that find no room leave no tags, whatever waits.
    #[test]
    fn no_more_tags_are_kept_than_flows_wait() {
        let (mut stfq, mut port) = (stfq(Limit::Packets(3)), port());
        port.idle_since = None;
        for number in 0..10_000 {
            stfq.enqueue(packet(number % 7, number, 1000), &mut port);
            assert!(
                stfq.tags.len() <= 2 * (3 + MOST_VOIDS),
                "{}",
                stfq.tags.len()
            );
            let valid = stfq
                .tags
                .iter()
                .filter(|tag| stfq.flows[tag.0.2 as usize].entry == tag.0.1);
            assert_eq!(valid.count(), stfq.tags.len() - stfq.voids);
        }
        let left = std::iter::from_fn(|| stfq.dequeue(&mut port)).count();
        assert_eq!((left, stfq.tags.len(), stfq.voids), (3, 0, 0));
    }

    #[test]
    fn small_packets_go_in_proportion() {
        let (mut stfq, mut port) = (stfq(Limit::Packets(1000)), port());
        for number in 0..100 {
            stfq.enqueue(packet(0, number, 1500), &mut port);
            stfq.enqueue(packet(1, number, 500), &mut port);
        }
        let first: Vec<u32> = (0..12)
            .filter_map(|_| stfq.dequeue(&mut port))
            .map(|p| p.flow)
            .collect();
        assert_eq!(first.iter().filter(|&&flow| flow == 1).count(), 9);
    }

    #[test]
    fn the_head_of_the_longest_queue_is_dropped() {
        let (mut stfq, mut port) = (stfq(Limit::Packets(3)), port());
        stfq.enqueue(packet(1, 0, 1000), &mut port);
        for number in 0..3 {
            stfq.enqueue(packet(0, number, 1000), &mut port);
        }
        assert_eq!((port.discards[0].flow, port.discards[0].number), (0, 0));
    }

    proptest! {
        /// Theorem 1 of the paper: two backlogged flows differ in service by at most the sum of
        /// their largest packets.
        #[test]
        fn the_fairness_bound_holds(
            sizes in prop::collection::vec((40u32..1500, 40u32..1500), 100),
        ) {
            let (mut stfq, mut port) = (stfq(Limit::Packets(1000)), port());
            for (number, (a, b)) in sizes.iter().enumerate() {
                stfq.enqueue(packet(0, number as u32, *a), &mut port);
                stfq.enqueue(packet(1, number as u32, *b), &mut port);
            }
            let most = |flow: usize| sizes.iter().map(|s| [s.0, s.1][flow]).max().unwrap();
            let bound = u64::from(most(0)) + u64::from(most(1));
            let mut served = [0u64; 2];
            while (0..2).all(|flow| stfq.queues.backlog(flow).packets > 0) {
                let packet = stfq.dequeue(&mut port).unwrap();
                served[packet.flow as usize] += u64::from(packet.size);
                prop_assert!(served[0].abs_diff(served[1]) <= bound);
            }
        }
    }
}
