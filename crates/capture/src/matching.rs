//! The same packet at two places: what was seen at the first one waits, in order, until it is seen at
//! the second one.

use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use crate::packet::{Packet, Transport};

/// How long a packet may take from one place to the other, in nanoseconds.
pub(crate) const LONGEST: u64 = 10_000_000_000;

/// Flows are told apart by so many values of a hash where packets have all else in common.
const FLOWS: usize = 1 << 16;

/// Packets by what stays the same between two places: flow, identification, numbers, length and
/// timestamp. Those that have all in common (a segment and its repetition) keep their order, and what a
/// later packet has passed is not waited for where one like it came behind: a later one of its flow, or
/// any as long as the order of all was kept.
#[derive(Debug)]
pub(crate) struct Matching<T> {
    prints: RandomState,
    entries: VecDeque<Entry<T>>,
    /// The ordinal of the first entry.
    first: u64,
    /// The first and last ordinal of each print that waits.
    waiting: HashMap<u64, (u64, u64), RandomState>,
    /// Seen at the second place and not yet at the first one: when clocks differ.
    early: HashMap<u64, VecDeque<(u64, Seen)>, RandomState>,
    /// Serial number, time and print of what was early, some of which is not any more.
    early_order: VecDeque<(u64, u64, u64)>,
    serial: u64,
    early_left: u64,
    strangers: u64,
    /// Behind the ordinal of the latest packet that left, by a hash of the flow.
    newest: Vec<u64>,
    /// The same of all flows, and whether their order has been kept so far.
    latest: u64,
    orderly: bool,
    hurried: u64,
    most: usize,
}

/// A packet at the second place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) time: u64,
    pub(crate) marked: bool,
}

/// A packet at the first place.
#[derive(Debug)]
pub(crate) struct Entry<T> {
    pub(crate) ordinal: u64,
    pub(crate) time: u64,
    print: u64,
    /// The next one with the same print.
    next: Option<u64>,
    pub(crate) seen: Option<Seen>,
    pub(crate) about: T,
}

/// What becomes of the first packet that waits.
#[derive(Debug)]
pub(crate) enum Settled<T> {
    /// It was seen at the second place.
    Through(Entry<T>),
    /// It was not, for too long.
    Gone(Entry<T>),
}

impl<T> Matching<T> {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            prints: RandomState::default(),
            entries: VecDeque::new(),
            first: 0,
            waiting: HashMap::default(),
            early: HashMap::default(),
            early_order: VecDeque::new(),
            serial: 0,
            early_left: 0,
            strangers: 0,
            newest: vec![0; FLOWS],
            latest: 0,
            orderly: true,
            hurried: 0,
            most,
        }
    }

    /// A packet at the first place; where it was seen at the second one already, it is given back.
    pub(crate) fn enter(&mut self, time: u64, packet: &Packet, about: T) -> Option<&Entry<T>> {
        let print = self.print(packet);
        let ordinal = self.first + self.entries.len() as u64;
        let seen = self.take_early(print);
        self.entries.push_back(Entry {
            ordinal,
            time,
            print,
            next: None,
            seen,
            about,
        });
        if seen.is_some() {
            return self.entries.back();
        }
        let (_, last) = self.waiting.entry(print).or_insert((ordinal, ordinal));
        let before = std::mem::replace(last, ordinal);
        if before != ordinal
            && let Some(entry) = self.entry(before)
        {
            entry.next = Some(ordinal);
        }
        None
    }

    /// A packet at the second place: what it was at the first one.
    pub(crate) fn leave(&mut self, packet: &Packet, seen: Seen) -> Option<&Entry<T>> {
        let print = self.print(packet);
        let Some(&(first, _)) = self.waiting.get(&print) else {
            self.serial += 1;
            self.early_left += 1;
            let early = self.early.entry(print).or_default();
            early.push_back((self.serial, seen));
            self.early_order.push_back((self.serial, seen.time, print));
            if self.early_order.len() > self.most {
                self.forget_early();
            }
            return None;
        };
        let flow = self.prints.hash_one(packet.flow) as usize % FLOWS;
        let alone = self.entry(first).is_some_and(|entry| entry.next.is_none());
        self.orderly &= !alone || first >= self.latest;
        let passed = if self.orderly {
            self.latest
        } else {
            self.newest[flow]
        };
        let mut ordinal = first;
        while ordinal < passed
            && let Some(next) = self.entry(ordinal).and_then(|entry| entry.next)
        {
            self.advance(print, ordinal);
            ordinal = next;
        }
        self.advance(print, ordinal);
        self.newest[flow] = self.newest[flow].max(ordinal + 1);
        self.latest = self.latest.max(ordinal + 1);
        let entry = self.entry(ordinal)?;
        entry.seen = Some(seen);
        Some(entry)
    }

    /// The first packet of which it is known what became of it.
    pub(crate) fn settle(&mut self, now: u64) -> Option<Settled<T>> {
        while let Some(&(_, time, _)) = self.early_order.front()
            && now.saturating_sub(time) > LONGEST
        {
            self.forget_early();
        }
        let front = self.entries.front()?;
        if front.seen.is_some() {
            return self.pop().map(Settled::Through);
        }
        let over = now.saturating_sub(front.time) > LONGEST;
        if !over && self.entries.len() <= self.most {
            return None;
        }
        self.hurried += u64::from(!over);
        let (print, ordinal) = (front.print, front.ordinal);
        self.advance(print, ordinal);
        self.pop().map(Settled::Gone)
    }

    /// The first packet that is left, whatever became of it.
    pub(crate) fn pop(&mut self) -> Option<Entry<T>> {
        let entry = self.entries.pop_front()?;
        self.first += 1;
        Some(entry)
    }

    /// Packets that were seen at the second place only, so far; all that still wait are.
    pub(crate) fn strangers(&self) -> u64 {
        self.strangers + self.early_left
    }

    /// Packets that were given up before their time, for want of memory.
    pub(crate) fn hurried(&self) -> u64 {
        self.hurried
    }

    fn entry(&mut self, ordinal: u64) -> Option<&mut Entry<T>> {
        let index = ordinal.checked_sub(self.first)?;
        self.entries.get_mut(index as usize)
    }

    /// The first one that waits with a print waits no longer.
    fn advance(&mut self, print: u64, first: u64) {
        let next = self.entry(first).and_then(|entry| entry.next);
        match (next, self.waiting.get_mut(&print)) {
            (Some(next), Some((first, _))) => *first = next,
            _ => drop(self.waiting.remove(&print)),
        }
    }

    fn take_early(&mut self, print: u64) -> Option<Seen> {
        if self.early.is_empty() {
            return None;
        }
        let waiting = self.early.get_mut(&print)?;
        let seen = waiting.pop_front();
        if waiting.is_empty() {
            self.early.remove(&print);
        }
        self.early_left -= u64::from(seen.is_some());
        seen.map(|(_, seen)| seen)
    }

    fn forget_early(&mut self) {
        let Some((serial, _, print)) = self.early_order.pop_front() else {
            return;
        };
        let first = self.early.get(&print).and_then(VecDeque::front);
        if first.is_some_and(|&(first, _)| first == serial) {
            self.take_early(print);
            self.strangers += 1;
        }
    }

    fn print(&self, packet: &Packet) -> u64 {
        let numbers = match packet.transport {
            Transport::Tcp(tcp) => {
                let stamp = tcp.timestamps.map(|it| it.value);
                (tcp.sequence, tcp.acknowledgment, tcp.payload, stamp)
            }
            Transport::Udp(udp) => (0, 0, udp.payload, None),
            Transport::Other | Transport::Fragment => (0, 0, packet.bytes, None),
        };
        self.prints
            .hash_one((packet.flow, packet.identification, numbers))
    }
}
