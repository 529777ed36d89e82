//! FQ-PIE. Flows are hashed into queues. Deficit round robin serves the queues, new queues first.
//! Each queue has a PIE controller that drops its arrivals.
//!
//! The code follows Linux (net/sched/sch_fq_pie.c, Ramakrishnan et al. 2019). A queue's delay is
//! the sojourn time of the last packet that left it, or zero if that packet left it empty. A full
//! buffer drops the arrival.

use forebay_units::parameter::{Description, Evidence, Parameters};

use crate::admission::Verdict;
use crate::flow_queues::{Longest, hashed};
use crate::flow_scheduler::{FLOWS, FlowScheduler, QUANTUM, quantum};
use crate::packet::Packet;
use crate::pie::{Control, PARAMETERS, Tuning};
use crate::port::{Backlog, Limit, Port, Setting};
use crate::queue_discipline::{QueueDiscipline, Storage};

#[derive(Clone, Copy, Debug)]
struct SubQueue {
    control: Control,
    /// Sojourn time of the last packet that left, in seconds.
    delay: f64,
}

/// The discipline `fq_pie`.
#[derive(Clone, Debug)]
pub struct FqPie {
    limit: Limit,
    tuning: Tuning,
    packet: f64,
    quantum: f64,
    salt: u64,
    scheduler: FlowScheduler<SubQueue>,
}

impl QueueDiscipline for FqPie {
    const DESCRIPTION: Description = Description {
        name: "fq_pie",
        aliases: &[],
        title: "Flow queueing with PIE: fair queueing of hashed flows, PIE in each queue",
        formula: &[
            "a flow waits in queue hash(flow) mod `flows`; queues take turns of `quantum` bytes, new ones first",
            "in each queue PIE: p += alpha (delay − target) + beta (delay − delay before) every `update`",
            "a full buffer drops the arrival",
        ],
        source: "Linux net/sched/sch_fq_pie.c; RFC 8033, RFC 8290",
        checked: &[Evidence::Trend("ns-3.48: FqPieQueueDisc")],
        parameters: &[
            PARAMETERS[0],
            PARAMETERS[1],
            PARAMETERS[2],
            PARAMETERS[3],
            PARAMETERS[4],
            PARAMETERS[5],
            FLOWS,
            QUANTUM,
        ],
    };

    fn storage(parameters: &Parameters) -> Storage {
        let flows = parameters.number("flows") as usize;
        FlowScheduler::<SubQueue>::STORAGE.of_queues(flows)
    }

    fn new(parameters: &Parameters, setting: &Setting) -> Self {
        let flows = parameters.number("flows") as u32;
        Self::of_queues(flows, quantum(parameters), (parameters, setting))
    }

    #[inline]
    fn enqueue(&mut self, mut packet: Packet, port: &mut Port) {
        let number = hashed(packet.flow, self.salt, self.scheduler.len());
        self.tick(number, port);
        let full = port.idle_since.is_none() && !self.limit.fits(self.backlog(), packet.size);
        let (flow, queues) = self.scheduler.state_and_queues(number);
        let small = queues.backlog(number).bytes as f64 <= 2.0 * self.packet;
        match flow.control.decide(&self.tuning, &packet, small, port) {
            _ if full => return port.discard(packet),
            Verdict::Drop => return port.discard(packet),
            Verdict::Mark => _ = port.mark(&mut packet),
            Verdict::Accept => {}
        }
        self.scheduler.push(number, packet, |_| self.quantum);
    }

    #[inline]
    fn dequeue(&mut self, port: &mut Port) -> Option<Packet> {
        loop {
            let number = self.scheduler.next(|_, _| self.quantum)?;
            if self.scheduler.queues.backlog(number).packets > 0 {
                self.tick(number, port);
            }
            let (flow, queues) = self.scheduler.state_and_queues(number);
            let Some(packet) = queues.pop(number) else {
                self.scheduler.retire(number);
                continue;
            };
            let left = queues.backlog(number).packets;
            let sojourn = port.now.saturating_sub(packet.arrival);
            flow.delay = if left == 0 {
                0.0
            } else {
                sojourn.as_secs_f64()
            };
            self.scheduler.charge(number, packet.size);
            return Some(packet);
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.scheduler.queues.total()
    }
}

impl FqPie {
    /// PIE by sojourn times on one queue of all traffic, with the parameters of PIE.
    pub(crate) fn of_one_queue(parameters: &Parameters, setting: &Setting) -> Self {
        Self::of_queues(1, setting.packet, (parameters, setting))
    }

    /// Memory of [`Self::of_one_queue`].
    pub(crate) fn storage_of_one_queue() -> Storage {
        FlowScheduler::<SubQueue>::STORAGE.of_queues(1)
    }

    fn of_queues(flows: u32, quantum: f64, (parameters, setting): (&Parameters, &Setting)) -> Self {
        let tuning = Tuning::new(parameters);
        let mut scheduler = FlowScheduler::new(Longest::Untracked);
        let empty = SubQueue {
            control: Control::new(&tuning),
            delay: 0.0,
        };
        scheduler.ensure(flows - 1, empty);
        Self {
            limit: setting.limit,
            tuning,
            packet: setting.packet,
            quantum,
            salt: setting.salt,
            scheduler,
        }
    }

    /// Performs the controller updates that are due in a queue. Its delay has not changed since its
    /// last departure.
    #[inline]
    fn tick(&mut self, number: u32, port: &Port) {
        let (flow, _) = self.scheduler.state_and_queues(number);
        while flow.control.due(port.now).is_some() {
            flow.control.update(&self.tuning, flow.delay, port.now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::testing::packet;
    use crate::port::testing::{port, setting};
    use forebay_units::Time;

    fn fq_pie(limit: u64) -> FqPie {
        let parameters = Parameters::defaults(FqPie::DESCRIPTION.parameters);
        FqPie::new(&parameters, &setting(Limit::Packets(limit)))
    }

    /// A link of 1000 packets a second carries one flow at twice that rate and one at a tenth of
    /// it. Only the first has drops. Its queue ends near the target of 15 ms, which is 13.5 packets
    /// at its 900 packets a second.
    #[test]
    fn each_queue_has_its_own_probability() {
        let (mut queue, mut port) = (fq_pie(10_000), port());
        let (mut dropped, mut late, mut waiting) = ([0u32; 2], Time::ZERO, 0.0);
        for half_ms in 0..200_000u64 {
            port.now = Time::from_micros(500 * half_ms);
            let mut arrivals = vec![0];
            if half_ms % 20 == 0 {
                arrivals.push(1);
            }
            for flow in arrivals {
                let mut packet = packet(flow, half_ms as u32, 1000);
                packet.arrival = port.now;
                queue.enqueue(packet, &mut port);
            }
            for packet in port.discards.drain(..) {
                dropped[packet.flow as usize] += 1;
            }
            if half_ms % 2 == 0
                && let Some(sent) = queue.dequeue(&mut port)
                && sent.flow == 1
            {
                late = late.max(port.now - sent.arrival);
            }
            if half_ms >= 100_000 {
                waiting += queue.backlog().packets as f64 / 100_000.0;
            }
        }
        assert_eq!(dropped[1], 0);
        // The first flow sends 2000 packets a second, of which 900 pass.
        let expected = 100.0 * 1100.0;
        assert!(
            (f64::from(dropped[0]) / expected - 1.0).abs() < 0.02,
            "{dropped:?}"
        );
        assert!(late <= Time::from_millis(3), "{late}");
        assert!((9.0..20.0).contains(&waiting), "{waiting}");
    }

    /// RFC 8033 section 5.3 for each queue: if at most two packets' bytes wait, nothing is dropped.
    #[test]
    fn a_queue_of_two_packets_loses_nothing() {
        let (mut queue, mut port) = (fq_pie(1000), port());
        let number = hashed(0, queue.salt, queue.scheduler.len());
        let (flow, _) = queue.scheduler.state_and_queues(number);
        flow.control.drop_all();
        for number in 0..20 {
            queue.enqueue(packet(0, number, 1000), &mut port);
        }
        // With a probability of one every arrival that finds more than 2000 bytes is lost.
        assert_eq!(queue.backlog().packets, 3);
    }

    #[test]
    fn a_full_buffer_drops_the_arrival() {
        let (mut queue, mut port) = (fq_pie(3), port());
        for number in 0..5 {
            queue.enqueue(packet(number, number, 1000), &mut port);
        }
        let dropped: Vec<u32> = port.discards.iter().map(|p| p.number).collect();
        assert_eq!(dropped, [3, 4]);
    }

    #[test]
    fn flows_take_turns_by_bytes() {
        let (mut queue, mut port) = (fq_pie(1000), port());
        for number in 0..300 {
            queue.enqueue(packet(0, number, 1500), &mut port);
            queue.enqueue(packet(1, number, 500), &mut port);
        }
        let mut bytes = [0u32; 2];
        for _ in 0..200 {
            let sent = queue.dequeue(&mut port).unwrap();
            bytes[sent.flow as usize] += sent.size;
        }
        // The difference is at most a quantum and a packet.
        assert!(bytes[0].abs_diff(bytes[1]) <= 1514 + 1500, "{bytes:?}");
    }
}
