//! A queue that was captured on both sides: waiting times, backlog, drops, marks and reordering.
//! The observer passes packets of two interfaces to it.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::bins::{Amount, Bins, Merge};
use crate::matching::{Entry, LONGEST, Matching, Seen, Settled};
use crate::packet::{Ecn, Packet};
use forebay_units::LogHistogram;

/// Maximum number of waiting packets, which take about 256 MiB.
const MOST: usize = 1 << 21;
/// Maximum number of streams that ended before their losses were known.
const LATE: usize = 1 << 16;
/// Initial width of the windows in nanoseconds (8 ms), and the number of windows above which pairs
/// are merged.
const WINDOWS: (u64, usize) = (8_000_000, 1 << 17);
/// Width of the bins of the smallest waiting time in nanoseconds (1 s), and their maximum number.
const OFFSETS: (u64, usize) = (1_000_000_000, 1 << 16);

/// A stream at the interface before the queue: slot, number and half of its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) slot: u32,
    pub(crate) number: u64,
    pub(crate) direction: u8,
}

/// Facts about a packet that arrived at the queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    bytes: u32,
    side: u8,
    marked: bool,
    owner: Option<Owner>,
    /// Packets and bytes that had left on this side when the packet arrived.
    left: Amount,
}

/// Drops and marks of ended streams, by number of the connection and side.
pub(crate) type Late = HashMap<(u64, u8), (u64, u64), RandomState>;

/// Event of a packet that its stream counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueueEvent {
    Dropped,
    Marked,
}

/// Packets that arrived at a queue within a window of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waited {
    /// Packets that passed the queue.
    pub through: Amount,
    /// Packets that were dropped.
    pub dropped: Amount,
    /// Sum of the waiting times of passed packets, in nanoseconds; negative if clocks differ.
    pub wait: i64,
    /// Smallest and largest waiting time, in nanoseconds.
    pub waits: Option<(i64, i64)>,
    /// Largest backlog at an arrival, in bytes.
    pub backlog: u64,
}

impl Merge for Waited {
    fn merge(&mut self, later: &Self) {
        self.through.merge(&later.through);
        self.dropped.merge(&later.dropped);
        self.wait = self.wait.saturating_add(later.wait);
        self.waits = match (self.waits, later.waits) {
            (Some(one), Some(other)) => Some((one.0.min(other.0), one.1.max(other.1))),
            (one, other) => one.or(other),
        };
        self.backlog = self.backlog.max(later.backlog);
    }
}

/// Smallest waiting time in a bin, in nanoseconds; `None` if no packet passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Smallest(pub Option<i64>);

impl Merge for Smallest {
    fn merge(&mut self, later: &Self) {
        self.0 = match (self.0, later.0) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }
}

/// One direction through a queue, by the sides of the interface before it.
#[derive(Clone, Debug)]
pub struct Crossing {
    /// Packets that passed the queue.
    pub through: Amount,
    /// Packets that were dropped.
    pub dropped: Amount,
    /// Packets that were, or may have been, in the queue when the capture ended.
    pub unfinished: Amount,
    /// Packets that were marked in the queue.
    pub marked: u64,
    /// Packets that were seen after the queue earlier than before it: the clocks differ, or the
    /// path does not pass the queue.
    pub negative: u64,
    /// Waiting times of passed packets, in nanoseconds; negative ones count as 0.
    pub waits: LogHistogram<6>,
    /// Backlog at each arrival that passed, in bytes.
    pub backlog: LogHistogram<6>,
    /// Backlog at each arrival that passed, in packets.
    pub backlog_packets: LogHistogram<6>,
    /// Backlog at each arrival that was dropped, in bytes.
    pub backlog_at_drops: LogHistogram<6>,
    /// Backlog at each arrival that was dropped, in packets.
    pub backlog_packets_at_drops: LogHistogram<6>,
    /// Largest backlog in bytes including an arrival that passed, and the packets at that time.
    pub largest_backlog: Amount,
    /// Packets that left after a later packet of another stream.
    pub overtaken: u64,
    /// Packets that left after a later packet of their own stream.
    pub overtaken_inside: u64,
    /// Results by time of arrival, in windows of 8 ms times a power of two.
    pub windows: Bins<Waited>,
    /// Smallest waiting time per bin of at least 1 s, which shows the offset of two clocks and its
    /// drift.
    pub offsets: Bins<Smallest>,
    /// Arrivals that passed the queue, and departures.
    entered: Amount,
    left: Amount,
    /// Latest arrival among the departures.
    newest: Option<(u64, Option<Owner>)>,
    longest: i64,
}

/// The measurement of a queue between two interfaces.
#[derive(Debug)]
pub(crate) struct Queue {
    matching: Matching<Arrival>,
    crossings: [Crossing; 2],
    late: Late,
    late_lost: u64,
    latest: u64,
}

/// Result of a queue that was captured on both sides.
#[derive(Clone, Debug)]
pub struct Crossed {
    /// Results by direction of the interface before the queue.
    pub directions: [Crossing; 2],
    /// Packets that were seen only after the queue.
    pub strangers: u64,
    /// Packets that counted as dropped before ten seconds had passed, because memory was short.
    pub hurried: u64,
    /// Drops and marks that are missing in their streams, because memory was short.
    pub unattributed: u64,
}

impl Crossing {
    fn new(origin: u64) -> Self {
        Self {
            through: Amount::default(),
            dropped: Amount::default(),
            unfinished: Amount::default(),
            marked: 0,
            negative: 0,
            waits: LogHistogram::default(),
            backlog: LogHistogram::default(),
            backlog_packets: LogHistogram::default(),
            backlog_at_drops: LogHistogram::default(),
            backlog_packets_at_drops: LogHistogram::default(),
            largest_backlog: Amount::default(),
            overtaken: 0,
            overtaken_inside: 0,
            windows: Bins::new(origin, WINDOWS.0, WINDOWS.1),
            offsets: Bins::new(origin, OFFSETS.0, OFFSETS.1),
            entered: Amount::default(),
            left: Amount::default(),
            newest: None,
            longest: 0,
        }
    }

    /// The backlog when a packet arrived: the arrivals before it less the departures.
    fn inside(&self, arrival: &Arrival) -> Amount {
        Amount {
            packets: self.entered.packets.saturating_sub(arrival.left.packets),
            bytes: self.entered.bytes.saturating_sub(arrival.left.bytes),
        }
    }

    fn leave(&mut self, entry: &Entry<Arrival>) {
        self.left.add(entry.about.bytes);
        match self.newest {
            Some((newest, owner)) if newest > entry.ordinal => {
                if owner == entry.about.owner {
                    self.overtaken_inside += 1;
                } else {
                    self.overtaken += 1;
                }
            }
            _ => self.newest = Some((entry.ordinal, entry.about.owner)),
        }
    }

    fn count_through(&mut self, entry: &Entry<Arrival>, seen: Seen) {
        let inside = self.inside(&entry.about);
        let bytes = entry.about.bytes;
        self.entered.add(bytes);
        self.through.add(bytes);
        self.backlog.add(inside.bytes);
        self.backlog_packets.add(inside.packets);
        let after = Amount {
            packets: inside.packets + 1,
            bytes: inside.bytes + u64::from(bytes),
        };
        if after.bytes > self.largest_backlog.bytes {
            self.largest_backlog = after;
        }
        let wait = difference(seen.time, entry.time);
        self.negative += u64::from(wait < 0);
        self.longest = self.longest.max(wait);
        self.waits.add(wait.max(0) as u64);
        let window = self.windows.at(entry.time);
        window.merge(&Waited {
            wait,
            waits: Some((wait, wait)),
            backlog: inside.bytes,
            ..Waited::default()
        });
        window.through.add(bytes);
        let smallest = self.offsets.at(entry.time);
        smallest.merge(&Smallest(Some(wait)));
    }

    fn count_dropped(&mut self, entry: &Entry<Arrival>) {
        let inside = self.inside(&entry.about);
        self.dropped.add(entry.about.bytes);
        self.backlog_at_drops.add(inside.bytes);
        self.backlog_packets_at_drops.add(inside.packets);
        self.windows.at(entry.time).dropped.add(entry.about.bytes);
    }
}

/// The signed difference of two times, in nanoseconds.
fn difference(time: u64, before: u64) -> i64 {
    if time >= before {
        i64::try_from(time - before).unwrap_or(i64::MAX)
    } else {
        i64::try_from(before - time).map_or(i64::MIN, |it| -it)
    }
}

impl Queue {
    pub(crate) fn new(origin: u64) -> Self {
        Self {
            matching: Matching::new(MOST),
            crossings: [Crossing::new(origin), Crossing::new(origin)],
            late: HashMap::default(),
            late_lost: 0,
            latest: 0,
        }
    }

    /// Processes a packet at the interface before the queue. Its stream learns of a mark in the
    /// queue.
    pub(crate) fn enter(
        &mut self,
        time: u64,
        packet: &Packet,
        side: u8,
        owner: Option<Owner>,
        tell: &mut impl FnMut(Owner, QueueEvent) -> bool,
    ) {
        self.latest = self.latest.max(time);
        let arrival = Arrival {
            bytes: packet.bytes,
            side,
            marked: packet.ecn == Ecn::Marked,
            owner,
            left: self.crossings[usize::from(side)].left,
        };
        if let Some(entry) = self.matching.enter(time, packet, arrival) {
            self.crossings[usize::from(side)].leave(entry);
        }
        self.settle(tell);
    }

    /// Processes a packet at the interface after the queue.
    pub(crate) fn leave(
        &mut self,
        time: u64,
        packet: &Packet,
        tell: &mut impl FnMut(Owner, QueueEvent) -> bool,
    ) {
        self.latest = self.latest.max(time);
        let seen = Seen {
            time,
            marked: packet.ecn == Ecn::Marked,
        };
        if let Some(entry) = self.matching.leave(packet, seen) {
            self.crossings[usize::from(entry.about.side)].leave(entry);
        }
        self.settle(tell);
    }

    /// The result, and the drops and marks of ended streams by number and side.
    pub(crate) fn finish(
        mut self,
        tell: &mut impl FnMut(Owner, QueueEvent) -> bool,
    ) -> (Crossed, Late) {
        self.settle(tell);
        let orderly = self.crossings.each_ref().map(|it| it.overtaken == 0);
        while let Some(entry) = self.matching.pop() {
            let side = usize::from(entry.about.side);
            let crossing = &self.crossings[side];
            let passed = crossing
                .newest
                .is_some_and(|(newest, _)| newest > entry.ordinal);
            let overdue = difference(self.latest, entry.time) > crossing.longest;
            if entry.seen.is_some() {
                self.through(&entry, tell);
            } else if passed && (orderly[side] || overdue) {
                self.gone(&entry, tell);
            } else {
                self.crossings[side].unfinished.add(entry.about.bytes);
            }
        }
        let crossed = Crossed {
            strangers: self.matching.strangers(),
            hurried: self.matching.hurried(),
            unattributed: self.late_lost,
            directions: self.crossings,
        };
        (crossed, self.late)
    }

    fn settle(&mut self, tell: &mut impl FnMut(Owner, QueueEvent) -> bool) {
        while let Some(settled) = self.matching.settle(self.latest) {
            match settled {
                Settled::Through(entry) => self.through(&entry, tell),
                Settled::Gone(entry) => self.gone(&entry, tell),
            }
        }
    }

    fn through(
        &mut self,
        entry: &Entry<Arrival>,
        tell: &mut impl FnMut(Owner, QueueEvent) -> bool,
    ) {
        let Some(seen) = entry.seen else {
            return;
        };
        let crossing = &mut self.crossings[usize::from(entry.about.side)];
        crossing.count_through(entry, seen);
        if seen.marked && !entry.about.marked {
            crossing.marked += 1;
            self.tell(entry, QueueEvent::Marked, tell);
        }
    }

    fn gone(&mut self, entry: &Entry<Arrival>, tell: &mut impl FnMut(Owner, QueueEvent) -> bool) {
        self.crossings[usize::from(entry.about.side)].count_dropped(entry);
        self.tell(entry, QueueEvent::Dropped, tell);
    }

    /// Reports an event to the stream of a packet. If the stream has ended, the event is stored.
    fn tell(
        &mut self,
        entry: &Entry<Arrival>,
        fate: QueueEvent,
        tell: &mut impl FnMut(Owner, QueueEvent) -> bool,
    ) {
        let Some(owner) = entry.about.owner else {
            return;
        };
        if tell(owner, fate) {
            return;
        }
        let key = (owner.number, entry.about.side);
        if self.late.len() >= LATE && !self.late.contains_key(&key) {
            self.late_lost += 1;
            return;
        }
        let (dropped, marked) = self.late.entry(key).or_default();
        match fate {
            QueueEvent::Dropped => *dropped += 1,
            QueueEvent::Marked => *marked += 1,
        }
    }
}

const _: () = assert!(LONGEST < i64::MAX as u64);
