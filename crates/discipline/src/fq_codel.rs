//! FQ-CoDel (Hoeiland-Joergensen et al., RFC 8290). Flows are hashed into queues. Deficit round
//! robin serves the queues, new queues first. CoDel controls each queue.

use forebay_units::parameter::{
    Description, Evidence, Parameter, ParameterKind, Parameters, Value,
};

use crate::codel::{CoDelState, ControlLaw, INTERVAL, Source, TARGET};
use crate::flow_queues::{FlowQueues, Longest, hashed};
use crate::flow_scheduler::{FLOWS, FlowScheduler, Member, QUANTUM, quantum};
use crate::packet::Packet;
use crate::port::{Backlog, Limit, Port, Setting};
use crate::queue_discipline::{QueueDiscipline, Storage};

/// The discipline `fq_codel`.
#[derive(Clone, Debug)]
pub struct FqCoDel {
    limit: Limit,
    law: ControlLaw,
    quantum: f64,
    salt: u64,
    batch: u64,
    scheduler: FlowScheduler<CoDelState>,
}

impl QueueDiscipline for FqCoDel {
    const DESCRIPTION: Description = Description {
        name: "fq_codel",
        aliases: &[],
        title: "Flow queueing with controlled delay: fair queueing of hashed flows, CoDel in each queue",
        formula: &[
            "a flow waits in queue hash(flow) mod `flows`; queues take turns of `quantum` bytes, new ones first",
            "in each queue CoDel: the next drop after interval/√count once above target for an interval",
            "a full buffer drops up to `batch` packets from the head of the longest queue",
        ],
        source: "RFC 8290",
        checked: &[
            Evidence::Trend("ns-3.48: FqCoDelQueueDisc"),
            Evidence::Theory("fair to within a quantum"),
        ],
        parameters: &[
            TARGET,
            INTERVAL,
            FLOWS,
            QUANTUM,
            Parameter {
                name: "batch",
                meaning: "Largest number of packets dropped at once from the longest queue of a full buffer (RFC 8290 section 4.1).",
                kind: ParameterKind::Number {
                    min: 1.0,
                    max: 1e6,
                    unit: "packets",
                },
                default: Value::Number(64.0),
            },
        ],
    };

    fn storage(parameters: &Parameters) -> Storage {
        let flows = parameters.number("flows") as usize;
        FlowScheduler::<CoDelState>::STORAGE.of_queues(flows)
    }

    fn new(parameters: &Parameters, setting: &Setting) -> Self {
        let flows = parameters.number("flows");
        let mut scheduler = FlowScheduler::new(Longest::Tracked);
        scheduler.ensure(flows as u32 - 1, CoDelState::default());
        Self {
            limit: setting.limit,
            law: ControlLaw::new(parameters, setting),
            quantum: quantum(parameters),
            salt: setting.salt,
            batch: parameters.number("batch") as u64,
            scheduler,
        }
    }

    #[expect(
        clippy::inline_always,
        reason = "a call would pass the packet in memory"
    )]
    #[inline(always)]
    fn enqueue(&mut self, packet: Packet, port: &mut Port) {
        let number = hashed(packet.flow, self.salt, self.scheduler.len());
        self.scheduler.push(number, packet, |_| self.quantum);
        if port.idle_since.is_none() && self.limit.exceeded(self.backlog()) {
            self.drop_from_longest(port);
        }
    }

    #[expect(
        clippy::inline_always,
        reason = "a call would pass the packet in memory"
    )]
    #[inline(always)]
    fn dequeue(&mut self, port: &mut Port) -> Option<Packet> {
        loop {
            let number = self.scheduler.next(|_, _| self.quantum)?;
            let (codel, queues) = self.scheduler.state_and_queues(number);
            let mut source = OneOf { queues, number };
            if let Some(packet) = codel.dequeue(&self.law, &mut source, port) {
                self.scheduler.charge(number, packet.size);
                return Some(packet);
            }
            self.scheduler.retire(number);
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.scheduler.queues.total()
    }
}

impl FqCoDel {
    /// Drops half of the bytes of the longest queue, from its head, but at most a batch of packets.
    fn drop_from_longest(&mut self, port: &mut Port) {
        let queues = &mut self.scheduler.queues;
        while self.limit.exceeded(queues.total()) {
            let Some(number) = queues.longest() else {
                return;
            };
            let half = queues.backlog(number).bytes / 2;
            let (mut dropped, mut count) = (0, 0);
            while let Some(packet) = queues.pop(number) {
                dropped += u64::from(packet.size);
                count += 1;
                port.discard(packet);
                if dropped >= half || count >= self.batch {
                    break;
                }
            }
        }
    }
}

/// One queue as CoDel sees it. As in Linux, the bytes left are those of all queues together.
/// Otherwise a hundred flows with one packet each could wait without limit.
struct OneOf<'a> {
    queues: &'a mut FlowQueues<Member>,
    number: u32,
}

impl Source for OneOf<'_> {
    #[inline]
    fn pop(&mut self) -> Option<Packet> {
        self.queues.pop(self.number)
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.queues.total().bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::testing::packet;
    use crate::port::testing::{port, setting};
    use forebay_units::Time;

    fn fq_codel(limit: u64) -> FqCoDel {
        let parameters = Parameters::defaults(FqCoDel::DESCRIPTION.parameters);
        FqCoDel::new(&parameters, &setting(Limit::Packets(limit)))
    }

    /// Flows that are hashed into different queues.
    fn apart(discipline: &FqCoDel, count: usize) -> Vec<u32> {
        let mut taken = Vec::new();
        let mut flows = Vec::new();
        for flow in 0.. {
            let queue = hashed(flow, discipline.salt, discipline.scheduler.len());
            if !taken.contains(&queue) {
                taken.push(queue);
                flows.push(flow);
            }
            if flows.len() == count {
                break;
            }
        }
        flows
    }

    #[test]
    fn a_new_flow_goes_first_and_then_takes_turns() {
        let (mut fq, mut port) = (fq_codel(1000), port());
        let flows = apart(&fq, 2);
        for number in 0..10 {
            fq.enqueue(packet(flows[0], number, 300), &mut port);
        }
        // The bulk flow uses up its quantum and becomes old.
        for _ in 0..7 {
            assert_eq!(fq.dequeue(&mut port).map(|p| p.flow), Some(flows[0]));
        }
        fq.enqueue(packet(flows[1], 0, 100), &mut port);
        assert_eq!(fq.dequeue(&mut port).map(|p| p.flow), Some(flows[1]));
        assert_eq!(fq.dequeue(&mut port).map(|p| p.flow), Some(flows[0]));
        // The queue is empty now and waits for its turn among the old queues: it is not new a
        // second time.
        fq.enqueue(packet(flows[1], 1, 100), &mut port);
        assert_eq!(fq.dequeue(&mut port).map(|p| p.flow), Some(flows[0]));
    }

    #[test]
    fn flows_share_by_bytes() {
        let (mut fq, mut port) = (fq_codel(100_000), port());
        let flows = apart(&fq, 2);
        for number in 0..3000 {
            fq.enqueue(packet(flows[0], number, 1500), &mut port);
            fq.enqueue(packet(flows[1], number, 300), &mut port);
            fq.enqueue(packet(flows[1], number, 300), &mut port);
        }
        let mut bytes = [0u64; 2];
        for _ in 0..3000 {
            let packet = fq.dequeue(&mut port).unwrap();
            bytes[usize::from(packet.flow == flows[1])] += u64::from(packet.size);
        }
        let difference = bytes[0].abs_diff(bytes[1]);
        assert!(difference <= 1514 + 1500, "{bytes:?}");
    }

    #[test]
    fn a_full_buffer_drops_half_of_the_longest_queue_from_its_head() {
        let (mut fq, mut port) = (fq_codel(20), port());
        let flows = apart(&fq, 2);
        for number in 0..10 {
            fq.enqueue(packet(flows[1], number, 1000), &mut port);
        }
        for number in 0..11 {
            fq.enqueue(packet(flows[0], number, 1000), &mut port);
        }
        let dropped: Vec<(u32, u32)> = port.discards.iter().map(|p| (p.flow, p.number)).collect();
        let expected: Vec<(u32, u32)> = (0..6).map(|number| (flows[0], number)).collect();
        assert_eq!(dropped, expected);
    }

    #[test]
    fn each_queue_has_its_own_delay_control() {
        let (mut fq, mut port) = (fq_codel(100_000), port());
        let flows = apart(&fq, 2);
        for number in 0..5000 {
            fq.enqueue(packet(flows[0], number, 1000), &mut port);
        }
        for ms in 0..1000u64 {
            port.now = Time::from_millis(ms);
            let mut sparse = packet(flows[1], ms as u32, 100);
            sparse.arrival = port.now;
            fq.enqueue(sparse, &mut port);
            fq.dequeue(&mut port);
            fq.dequeue(&mut port);
        }
        assert!(port.discards.len() > 10);
        assert!(port.discards.iter().all(|p| p.flow == flows[0]));
    }
}
