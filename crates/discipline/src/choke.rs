//! CHOKe (Pan, Prabhakar and Psounis, "CHOKe, A Stateless Active Queue Management Scheme for
//! Approximating Fair Bandwidth Allocation", INFOCOM 2000). If RED's average is at or above its
//! lower threshold, each arrival is compared with a random packet of the queue. If both belong to
//! one flow, both are dropped. A flow is thus penalized for its share of the queue, without any
//! state per flow. RED decides on all other arrivals.
//!
//! The paper leaves choices open; they follow Linux's net/sched/sch_choke.c. One packet is drawn,
//! also above the upper threshold and at a full buffer. Such drops do not count as drops of RED.

use std::collections::VecDeque;

use forebay_units::parameter::{Description, Evidence, Parameters};

use crate::admission::{AdmissionControl, Arrival, Verdict};
use crate::packet::Packet;
use crate::port::{Backlog, Limit, Port, Setting};
use crate::queue_discipline::QueueDiscipline;
use crate::red::Red;

/// The discipline `choke`.
#[derive(Clone, Debug)]
pub struct Choke {
    red: Red,
    limit: Limit,
    packets: VecDeque<Packet>,
    backlog: Backlog,
}

impl QueueDiscipline for Choke {
    const DESCRIPTION: Description = Description {
        name: "choke",
        aliases: &[],
        title: "CHOKe: RED that drops an arrival and a random packet of the queue if both are of one flow",
        formula: &[
            "where RED's average is at min or above: an arrival is compared with a packet drawn from the queue; of one flow, both are dropped",
            "other arrivals: RED, p = max_p (avg − min)/(max − min)",
        ],
        source: "Pan, Prabhakar and Psounis 2000; Linux net/sched/sch_choke.c; RED's parameters and sources",
        checked: &[Evidence::Theory(
            "the share of a flood (Pan, Prabhakar and Psounis 2000, section 3.1)",
        )],
        parameters: Red::DESCRIPTION.parameters,
    };

    fn new(parameters: &Parameters, setting: &Setting) -> Self {
        Self {
            red: Red::new(parameters, setting),
            limit: setting.limit,
            packets: VecDeque::new(),
            backlog: Backlog::default(),
        }
    }

    fn enqueue(&mut self, mut packet: Packet, port: &mut Port) {
        let idle_since = port.idle_since;
        let arrival = Arrival {
            backlog: self.backlog,
            idle_since,
            empty_since: port.empty_since(),
            full: idle_since.is_none() && !self.limit.fits(self.backlog, packet.size),
        };
        self.red.observe(&arrival, port.now);
        if self.red.congested()
            && let Some(twin) = self.draw_of(packet.flow, port)
        {
            port.discard(twin);
            port.discard(packet);
            return;
        }
        match self.red.decide(&packet, &arrival, port) {
            Verdict::Drop => return port.discard(packet),
            Verdict::Mark => {
                port.mark(&mut packet);
            }
            Verdict::Accept => {}
        }
        self.backlog.add(packet.size);
        self.packets.push_back(packet);
    }

    #[inline]
    fn dequeue(&mut self, _port: &mut Port) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.backlog.remove(packet.size);
        Some(packet)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.backlog
    }
}

impl Choke {
    /// Draws a random packet of the queue and removes it if it belongs to this flow.
    fn draw_of(&mut self, flow: u32, port: &mut Port) -> Option<Packet> {
        if self.packets.is_empty() {
            return None;
        }
        let drawn = (port.random.uniform() * self.packets.len() as f64) as usize;
        if self.packets.get(drawn)?.flow != flow {
            return None;
        }
        let twin = self.packets.remove(drawn)?;
        self.backlog.remove(twin.size);
        Some(twin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::Fifo;
    use crate::packet::testing::packet;
    use crate::port::testing::{port, setting};
    use crate::registry::{Admission, Queue};
    use forebay_units::Time;
    use forebay_units::parameter::{Threshold, Value};

    const LIMIT: Limit = Limit::Packets(1000);

    /// Fixed thresholds of 20 and 60 packets.
    fn parameters(weight: f64) -> Parameters {
        let mut parameters = Parameters::defaults(Choke::DESCRIPTION.parameters);
        for (name, value) in [
            ("min", Value::Threshold(Threshold::Packets(20.0))),
            ("max", Value::Threshold(Threshold::Packets(60.0))),
            ("adaptive", Value::Switch(false)),
            ("weight", Value::Number(weight)),
        ] {
            assert!(parameters.set(name, value), "{name}");
        }
        parameters
    }

    fn choke(weight: f64) -> Queue {
        Queue::Choke(Choke::new(&parameters(weight), &setting(LIMIT)))
    }

    fn red(weight: f64) -> Queue {
        let red = Red::new(&parameters(weight), &setting(LIMIT));
        Queue::Fifo(Fifo::new(Admission::Red(red), LIMIT))
    }

    /// The result of an overload: the flows of the packets sent, and the numbers of packets dropped
    /// and left.
    struct Outcome {
        sent: Vec<u32>,
        dropped: u64,
        left: u64,
    }

    fn overload(queue: &mut Queue, per_slot: u32, flow: impl Fn(u32) -> u32) -> Outcome {
        let (mut port, mut sent, mut dropped) = (port(), Vec::new(), 0);
        for number in 0..400_000 {
            if number % per_slot == 0 {
                port.now += Time::from_millis(1);
                sent.extend(queue.dequeue(&mut port).map(|packet| packet.flow));
            }
            queue.enqueue(packet(flow(number), number, 1000), &mut port);
            dropped += port.discards.drain(..).count() as u64;
        }
        let left = queue.backlog().packets;
        assert_eq!(sent.len() as u64 + dropped + left, 400_000);
        Outcome {
            sent,
            dropped,
            left,
        }
    }

    /// The share of the link that flow 0 gets. In random order, `times` arrivals of flow 0 come for
    /// each arrival of twenty other flows. The twenty others together would just fill the link.
    fn share_of_flood(queue: &mut Queue, times: u32) -> f64 {
        let flow = |number: u32| {
            let mixed =
                (number.wrapping_mul(0x9e37_79b1) ^ 0x85eb_ca6b).wrapping_mul(0xc2b2_ae35) >> 8;
            if mixed.is_multiple_of(times + 1) {
                1 + (mixed / (times + 1)) % 20
            } else {
                0
            }
        };
        let outcome = overload(queue, times + 1, flow);
        // The link is busy, except while RED's average has not yet fallen after the first burst.
        let slots = 400_000.0 / f64::from(times + 1);
        let busy = outcome.sent.len() as f64 / slots;
        assert!(busy > 0.98, "{times} {busy}");
        let floods = outcome.sent.iter().filter(|&&flow| flow == 0).count();
        floods as f64 / outcome.sent.len() as f64
    }

    /// RED and drop-tail give a flood its share of the arrivals. CHOKe gives it at most 1 / (1 + e)
    /// of the link, and less as it sends more. Source: Tang, Wang and Low, "Understanding CHOKe",
    /// INFOCOM 2003.
    #[test]
    fn a_flood_gets_less_the_more_it_sends() {
        let mut last = 1.0 / (1.0 + libm::exp(1.0));
        for times in [2, 4, 8] {
            let offered = f64::from(times) / f64::from(times + 1);
            let theirs = share_of_flood(&mut red(0.002), times);
            assert!((theirs - offered).abs() < 0.02, "{times} {theirs}");
            let ours = share_of_flood(&mut choke(0.002), times);
            assert!(ours < last, "{times} {ours}");
            last = ours;
        }
    }

    /// If no two packets belong to one flow, no comparison matches. Drops and queue are then those
    /// of RED.
    #[test]
    fn among_strangers_it_is_red() {
        let ours = overload(&mut choke(0.002), 2, |number| number);
        let theirs = overload(&mut red(0.002), 2, |number| number);
        let (a, b) = (ours.dropped as f64, theirs.dropped as f64);
        assert!((a / b - 1.0).abs() < 1e-3, "{a} {b}");
        assert!(ours.left.abs_diff(theirs.left) < 20);
    }

    /// Below the lower threshold no packet is compared. From the threshold on, each arrival of a
    /// single flow is dropped together with a packet of the queue.
    #[test]
    fn a_lone_flow_loses_two_at_a_time_from_the_lower_threshold_on() {
        let (mut queue, mut port) = (choke(1.0), port());
        for number in 0..20 {
            queue.enqueue(packet(7, number, 1000), &mut port);
        }
        assert!(port.discards.is_empty());
        queue.enqueue(packet(7, 20, 1000), &mut port);
        let dropped: Vec<u32> = port.discards.iter().map(|packet| packet.number).collect();
        assert_eq!((dropped.len(), dropped[1]), (2, 20));
        assert!(dropped[0] < 20);
        assert_eq!(queue.backlog().packets, 19);
        // The other packets leave in their order.
        let sent: Vec<u32> = std::iter::from_fn(|| queue.dequeue(&mut port))
            .map(|packet| packet.number)
            .collect();
        assert!(sent.is_sorted() && sent.len() == 19);
    }

    /// Each waiting packet is drawn equally often.
    #[test]
    fn the_victim_is_drawn_uniformly() {
        let mut port = port();
        let mut drawn = [0_u32; 40];
        let mut queue = Choke::new(&parameters(1.0), &setting(LIMIT));
        for number in 0..40 {
            queue.backlog.add(1000);
            queue.packets.push_back(packet(0, number, 1000));
        }
        for _ in 0..40_000 {
            let twin = queue.clone().draw_of(0, &mut port);
            drawn[twin.map_or(0, |packet| packet.number as usize)] += 1;
        }
        // The count is binomial with mean 1000 and standard deviation 31.
        assert!(drawn.iter().all(|&count| count.abs_diff(1000) < 160));
    }
}
