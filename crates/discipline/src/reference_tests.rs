//! A second implementation of flow queueing, from the text of RFC 8290 on plain lists. Tests
//! compare departures and drops packet by packet with it.

use std::collections::{BTreeMap, VecDeque};

use forebay_units::parameter::{Description, Parameters, Value};
use forebay_units::{Bytes, Time};
use proptest::prelude::*;

use crate::flow_queues::hashed;
use crate::fq_codel::FqCoDel;
use crate::fq_pie::FqPie;
use crate::packet::Packet;
use crate::packet::testing::packet;
use crate::port::Limit;
use crate::port::testing::{port, setting};
use crate::queue_discipline::QueueDiscipline;

const QUANTUM: i64 = 1200;
const BATCH: usize = 5;
const QUEUES: u32 = 7;

/// The scheduler of sections 4.1 and 4.2, with two choices of Linux. A queue with no credits left
/// gets a quantum (in the RFC only below zero). An empty new queue becomes old only if there are
/// other old queues.
#[derive(Debug, Default)]
struct Naive {
    waiting: BTreeMap<u32, VecDeque<Packet>>,
    credits: BTreeMap<u32, i64>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
}

impl Naive {
    fn enqueue(&mut self, packet: Packet, salt: u64) {
        let queue = hashed(packet.flow, salt, QUEUES as usize);
        self.waiting.entry(queue).or_default().push_back(packet);
        if !self.new.contains(&queue) && !self.old.contains(&queue) {
            self.new.push_back(queue);
            self.credits.insert(queue, QUANTUM);
        }
    }

    fn dequeue(&mut self) -> Option<Packet> {
        loop {
            let fresh = !self.new.is_empty();
            let list = if fresh { &mut self.new } else { &mut self.old };
            let queue = *list.front()?;
            let credits = self.credits.get_mut(&queue).unwrap();
            if *credits <= 0 {
                *credits += QUANTUM;
                list.pop_front();
                self.old.push_back(queue);
                continue;
            }
            if let Some(packet) = self.waiting.get_mut(&queue).unwrap().pop_front() {
                *credits -= i64::from(packet.size);
                return Some(packet);
            }
            list.pop_front();
            if fresh && !self.old.is_empty() {
                self.old.push_back(queue);
            }
        }
    }

    fn packets(&self) -> usize {
        self.waiting.values().map(VecDeque::len).sum()
    }

    fn bytes(&self, queue: u32) -> u64 {
        let sizes = self
            .waiting
            .get(&queue)
            .into_iter()
            .flatten()
            .map(|packet| u64::from(packet.size));
        sizes.sum()
    }

    /// Section 4.1: drops packets from the head of the queue with the most bytes (one of them, if
    /// there are several). It drops half of its bytes, but at most a batch of packets.
    fn drop_from_longest(&mut self, queue: u32) -> Vec<Packet> {
        let longest = (0..QUEUES).map(|each| self.bytes(each)).max().unwrap();
        assert_eq!(self.bytes(queue), longest, "the longest queue loses");
        let (mut dropped, mut bytes) = (Vec::new(), 0);
        while 2 * bytes < longest / 2 * 2 && dropped.len() < BATCH {
            let packet = self.waiting.get_mut(&queue).unwrap().pop_front().unwrap();
            bytes += u64::from(packet.size);
            dropped.push(packet);
        }
        dropped
    }
}

/// Arrivals (flow, size in bytes) and departures (`None`).
fn steps() -> impl Strategy<Value = Vec<Option<(u32, u32)>>> {
    let arrival = (0u32..12, prop_oneof![Just(40u32), Just(576), 100u32..1500]);
    prop::collection::vec(prop::option::weighted(0.6, arrival), 1..400)
}

fn parameters(of: &Description, changes: &[(&'static str, Value)]) -> Parameters {
    let mut parameters = Parameters::defaults(of.parameters);
    let common = [
        ("quantum", Value::Bytes(Bytes::new(QUANTUM as u64))),
        ("flows", Value::Number(f64::from(QUEUES))),
        // No packet is dropped because of its sojourn time.
        ("target", Value::Time(Time::from_secs(1_000_000))),
    ];
    for (name, value) in common.iter().chain(changes) {
        assert!(parameters.set(name, *value), "{name}");
    }
    parameters
}

proptest! {
    #[test]
    fn fq_codel_sends_and_drops_what_rfc_8290_says(steps in steps(), limit in 1u64..40) {
        let batch = [("batch", Value::Number(BATCH as f64))];
        let setting = setting(Limit::Packets(limit));
        let mut queue = FqCoDel::new(&parameters(&FqCoDel::DESCRIPTION, &batch), &setting);
        let (mut naive, mut port) = (Naive::default(), port());
        for (number, step) in steps.into_iter().enumerate() {
            if let Some((flow, size)) = step {
                let packet = packet(flow, number as u32, size);
                queue.enqueue(packet, &mut port);
                naive.enqueue(packet, setting.salt);
                let mut lost: VecDeque<Packet> = port.discards.drain(..).collect();
                prop_assert_eq!(lost.is_empty(), naive.packets() <= limit as usize);
                while let Some(first) = lost.front() {
                    prop_assert!(naive.packets() > limit as usize);
                    let number = hashed(first.flow, setting.salt, QUEUES as usize);
                    for dropped in naive.drop_from_longest(number) {
                        prop_assert_eq!(Some(dropped), lost.pop_front());
                    }
                }
            } else {
                prop_assert_eq!(queue.dequeue(&mut port), naive.dequeue());
                prop_assert!(port.discards.is_empty());
            }
            prop_assert_eq!(queue.backlog().packets, naive.packets() as u64);
        }
    }

    #[test]
    fn fq_pie_takes_the_same_turns_and_drops_what_does_not_fit(steps in steps(), limit in 1u64..40) {
        let setting = setting(Limit::Packets(limit));
        let mut queue = FqPie::new(&parameters(&FqPie::DESCRIPTION, &[]), &setting);
        let (mut naive, mut port) = (Naive::default(), port());
        for (number, step) in steps.into_iter().enumerate() {
            if let Some((flow, size)) = step {
                let packet = packet(flow, number as u32, size);
                queue.enqueue(packet, &mut port);
                if naive.packets() < limit as usize {
                    naive.enqueue(packet, setting.salt);
                } else {
                    prop_assert_eq!(port.discards.pop(), Some(packet));
                }
                prop_assert!(port.discards.is_empty());
            } else {
                prop_assert_eq!(queue.dequeue(&mut port), naive.dequeue());
            }
            prop_assert_eq!(queue.backlog().packets, naive.packets() as u64);
        }
    }
}
