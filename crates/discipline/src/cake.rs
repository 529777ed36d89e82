//! Host isolation as in CAKE (Hoeiland-Joergensen, Taht and Morton, Piece of CAKE, 2018). Hosts
//! share the link fairly, then the flows of each host share the host's part. Each queue has COBALT.
//! A host is a flow group here.
//!
//! As in Linux (net/sched/sch_cake.c), a flow's quantum is divided by the number of backlogged
//! flows of its host. New flows go first. A full buffer drops the head of the longest queue.
//!
//! BLUE reacts to full buffers only, unless `blue_threshold` is given, which Linux does not have.
//!
//! The shaper, the priority tins and acknowledgment filtering are left out. Each flow has a queue
//! of its own, whereas CAKE hashes into 1024 queues with eight ways.

use forebay_units::Time;
use forebay_units::parameter::{Description, Evidence, Parameter, Parameters, Value};

use crate::cobalt::{CobaltState, PARAMETERS, Tuning};
use crate::flow_queues::Longest;
use crate::flow_scheduler::{FlowScheduler, Place, QUANTUM, quantum};
use crate::packet::Packet;
use crate::port::{Backlog, Limit, Port, Setting};
use crate::queue_discipline::{QueueDiscipline, Storage};

/// A sojourn time that no packet reaches.
const NEVER: Time = Time::from_secs(3600);

#[derive(Clone, Copy, Debug, Default)]
struct SubQueue {
    cobalt: CobaltState,
    host: u8,
}

/// The discipline `cake`: host isolation with COBALT.
#[derive(Clone, Debug)]
pub struct Cake {
    limit: Limit,
    tuning: Tuning,
    quantum: f64,
    scheduler: FlowScheduler<SubQueue>,
    /// Number of flows of each host in the list of old ones.
    backlogged: Vec<u32>,
}

impl QueueDiscipline for Cake {
    const DESCRIPTION: Description = Description {
        name: "cake",
        aliases: &[],
        title: "Host isolation as in CAKE: fair among groups, then among the flows of each, COBALT in each queue",
        formula: &[
            "flow groups are hosts; a turn of a flow is `quantum`/(backlogged flows of its host) bytes, new flows first",
            "in each queue COBALT",
            "a full buffer drops from the head of the longest queue",
        ],
        source: "Hoeiland-Joergensen, Taht and Morton 2018; Linux net/sched/sch_cake.c",
        checked: &[Evidence::Trace(
            "the turns of flows and hosts as Linux's sch_cake.c computes them",
        )],
        parameters: &[
            PARAMETERS[0],
            PARAMETERS[1],
            PARAMETERS[2],
            PARAMETERS[3],
            Parameter {
                meaning: "Queueing delay beyond which the probability of BLUE rises as at a full buffer. Linux has no such rule; the default of an hour disables it.",
                default: Value::Time(NEVER),
                ..PARAMETERS[4]
            },
            QUANTUM,
        ],
    };

    fn storage(_: &Parameters) -> Storage {
        FlowScheduler::<SubQueue>::STORAGE
    }

    fn new(parameters: &Parameters, setting: &Setting) -> Self {
        Self {
            limit: setting.limit,
            tuning: Tuning::new(parameters),
            quantum: quantum(parameters),
            scheduler: FlowScheduler::new(Longest::Tracked),
            backlogged: vec![0; 256],
        }
    }

    #[inline]
    fn enqueue(&mut self, packet: Packet, port: &mut Port) {
        let number = packet.flow;
        self.scheduler.ensure(number, SubQueue::default());
        self.scheduler.push(number, packet, |flow| {
            flow.host = packet.group().min(255) as u8;
            self.quantum / f64::from(self.backlogged[usize::from(flow.host)].max(1))
        });
        if port.idle_since.is_none() && self.limit.exceeded(self.backlog()) {
            self.drop_from_longest(port);
        }
    }

    #[inline]
    fn dequeue(&mut self, port: &mut Port) -> Option<Packet> {
        loop {
            let number = self.scheduler.next(|flow, from| {
                let load = &mut self.backlogged[usize::from(flow.host)];
                *load += u32::from(from == Place::New);
                // At least one byte per turn, so that more flows than bytes still make progress.
                (self.quantum / f64::from(*load)).max(1.0)
            })?;
            if let Some(packet) = self.next(number, port) {
                self.scheduler.charge(number, packet.size);
                return Some(packet);
            }
            self.retire(number);
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.scheduler.queues.total()
    }
}

impl Cake {
    /// The next packet of a queue that COBALT does not drop.
    fn next(&mut self, number: u32, port: &mut Port) -> Option<Packet> {
        let (flow, queues) = self.scheduler.state_and_queues(number);
        loop {
            let Some(mut packet) = queues.pop(number) else {
                flow.cobalt.empty(&self.tuning, port.now);
                return None;
            };
            let drop = flow.cobalt.should_drop(&self.tuning, &mut packet, port);
            if !drop || queues.backlog(number).packets == 0 {
                return Some(packet);
            }
            port.discard(packet);
        }
    }

    fn retire(&mut self, number: u32) {
        let (from, to) = self.scheduler.retire(number);
        let (flow, _) = self.scheduler.state_and_queues(number);
        let load = &mut self.backlogged[usize::from(flow.host)];
        *load = *load + u32::from(to == Place::Old) - u32::from(from == Place::Old);
    }

    fn drop_from_longest(&mut self, port: &mut Port) {
        while self.limit.exceeded(self.backlog()) {
            let Some(number) = self.scheduler.queues.longest() else {
                return;
            };
            let (flow, queues) = self.scheduler.state_and_queues(number);
            if let Some(packet) = queues.pop(number) {
                port.discard(packet);
            }
            flow.cobalt.full(&self.tuning, port.now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::testing::packet;
    use crate::packet::{Ecn, Label};
    use crate::port::testing::{port, setting};

    fn cake(limit: u64) -> Cake {
        let parameters = Parameters::defaults(Cake::DESCRIPTION.parameters);
        Cake::new(&parameters, &setting(Limit::Packets(limit)))
    }

    fn of_host(host: u8, flow: u32, size: u32) -> Packet {
        let mut packet = packet(flow, 0, size);
        packet.label = Label::new(0, host.into(), Ecn::NotCapable);
        packet
    }

    /// Three hosts have one, nine and ninety flows. Each host gets a third of the link. The flows
    /// of a host get equal shares, whatever their packets' sizes.
    #[test]
    fn hosts_share_evenly_and_so_do_their_flows() {
        let (mut cake, mut port) = (cake(1_000_000), port());
        let mut bytes = [0u64; 100];
        let host = |flow: u32| u8::from(flow > 0) + u8::from(flow > 9);
        for flow in 0..100 {
            for _ in 0..400 * if flow == 0 { 20 } else { 1 } {
                cake.enqueue(of_host(host(flow), flow, 300 + 12 * flow), &mut port);
            }
        }
        // Each new flow first has a turn as a new flow.
        for _ in 0..1000 {
            cake.dequeue(&mut port).unwrap();
        }
        // The clock does not move, so nothing is dropped.
        for _ in 0..9000 {
            let packet = cake.dequeue(&mut port).unwrap();
            bytes[packet.flow as usize] += u64::from(packet.size);
        }
        assert!(port.discards.is_empty());
        let sum = |flows: std::ops::Range<usize>| bytes[flows].iter().sum::<u64>() as f64;
        let (one, nine, ninety) = (sum(0..1), sum(1..10), sum(10..100));
        let all = one + nine + ninety;
        for host in [one, nine, ninety] {
            assert!(
                (host / all - 1.0 / 3.0).abs() < 0.02,
                "{one} {nine} {ninety}"
            );
        }
        for bytes in &bytes[10..] {
            // The tolerance is one packet of about nine.
            let share = *bytes as f64 / (ninety / 90.0);
            assert!((share - 1.0).abs() < 0.15, "{share}");
        }
    }

    #[test]
    fn the_head_of_the_longest_queue_is_dropped() {
        let (mut cake, mut port) = (cake(3), port());
        for (number, flow) in [0, 0, 1, 0, 2].into_iter().enumerate() {
            let mut packet = of_host(flow as u8, flow, 1000);
            packet.number = number as u32;
            cake.enqueue(packet, &mut port);
        }
        let dropped: Vec<u32> = port.discards.iter().map(|p| p.number).collect();
        assert_eq!(dropped, [0, 1]);
    }

    /// cake_enqueue and cake_dequeue of Linux 6.18, traced by hand. Flows 1 and 2 belong to one
    /// host, flow 3 to another. Packets and quantum are 1500 bytes. Each flow has its first turn as
    /// a new flow. A later turn of flow 3 is worth one packet, a turn of the others half a packet.
    /// The others therefore send in every other turn.
    #[test]
    fn turns_are_those_of_the_kernel() {
        let (mut cake, mut port) = (cake(1000), port());
        cake.quantum = 1500.0;
        for _ in 0..20 {
            for (host, flow) in [(0, 1), (0, 2), (1, 3)] {
                cake.enqueue(of_host(host, flow, 1500), &mut port);
            }
        }
        let served: Vec<u32> = (0..18)
            .map(|_| cake.dequeue(&mut port).unwrap().flow)
            .collect();
        assert_eq!(
            served,
            [1, 2, 3, 1, 2, 3, 1, 3, 2, 3, 1, 3, 2, 3, 1, 3, 2, 3]
        );
    }

    /// Linux raises BLUE's probability at full buffers only.
    #[test]
    fn a_long_wait_alone_does_not_raise_the_probability() {
        let (mut cake, mut port) = (cake(1000), port());
        for _ in 0..3 {
            cake.enqueue(of_host(0, 1, 1500), &mut port);
        }
        port.now = Time::from_secs(2);
        assert!(cake.dequeue(&mut port).is_some());
        let (flow, _) = cake.scheduler.state_and_queues(1);
        assert_eq!(flow.cobalt.probability(), 0.0);
    }

    #[test]
    fn a_new_flow_goes_first() {
        let (mut cake, mut port) = (cake(1000), port());
        for _ in 0..100 {
            cake.enqueue(of_host(0, 0, 1500), &mut port);
        }
        for _ in 0..10 {
            cake.dequeue(&mut port).unwrap();
        }
        cake.enqueue(of_host(1, 1, 100), &mut port);
        assert_eq!(cake.dequeue(&mut port).unwrap().flow, 1);
    }
}
