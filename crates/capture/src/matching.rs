//! Matches the same packet at two places. A packet of the first place waits, in order, until it is
//! seen at the second place; the queue analysis uses the result.

use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use crate::packet::{Packet, Transport};

/// Longest time that a packet may take from one place to the other, in nanoseconds.
pub(crate) const LONGEST: u64 = 10_000_000_000;

/// Number of hash values that distinguish flows of packets that are otherwise equal.
const FLOWS: usize = 1 << 16;

/// Packets by the fields that are equal at both places: flow, identification, numbers, length and
/// timestamp. Equal packets (a segment and its retransmission) keep their order. A packet is not
/// waited for if a later packet has passed it and an equal one came after it. The later packet is
/// one of its flow, or any packet while the order of all is kept.
#[derive(Debug)]
pub(crate) struct Matching<T> {
    prints: RandomState,
    entries: VecDeque<Entry<T>>,
    /// Ordinal of the first entry.
    first: u64,
    /// First and last waiting ordinal of each fingerprint.
    waiting: HashMap<u64, (u64, u64), RandomState>,
    /// Packets seen at the second place and not yet at the first one, because clocks differ.
    early: HashMap<u64, VecDeque<(u64, Seen)>, RandomState>,
    /// Serial number, time and fingerprint of early packets. Some of them have been matched since.
    early_order: VecDeque<(u64, u64, u64)>,
    serial: u64,
    early_left: u64,
    strangers: u64,
    /// One more than the ordinal of the latest packet that left, by a hash of the flow.
    newest: Vec<u64>,
    /// The same for all flows, and whether the order of all has been kept so far.
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
    /// Ordinal of the next entry with the same fingerprint.
    next: Option<u64>,
    pub(crate) seen: Option<Seen>,
    pub(crate) about: T,
}

/// Outcome of the first waiting packet.
#[derive(Debug)]
pub(crate) enum Settled<T> {
    /// The packet was seen at the second place.
    Through(Entry<T>),
    /// The packet was not seen within the time limit.
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

    /// Adds a packet at the first place. Returns its entry if it was already seen at the second
    /// place.
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

    /// Adds a packet at the second place. Returns its entry at the first place.
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

    /// Removes the first packet if its outcome is known.
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

    /// Removes the first remaining packet with any outcome.
    pub(crate) fn pop(&mut self) -> Option<Entry<T>> {
        let entry = self.entries.pop_front()?;
        self.first += 1;
        Some(entry)
    }

    /// Number of packets that were seen only at the second place, so far. Packets that still wait
    /// count.
    pub(crate) fn strangers(&self) -> u64 {
        self.strangers + self.early_left
    }

    /// Number of packets that were given up before the time limit, because memory was short.
    pub(crate) fn hurried(&self) -> u64 {
        self.hurried
    }

    fn entry(&mut self, ordinal: u64) -> Option<&mut Entry<T>> {
        let index = ordinal.checked_sub(self.first)?;
        self.entries.get_mut(index as usize)
    }

    /// Removes the first waiting entry of a fingerprint from the waiting ones.
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
