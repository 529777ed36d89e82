//! A queue seen from both sides: how long each packet waited, what was inside when it came, which
//! ones never came out, which were marked, and whether their order was kept.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::bins::{Amount, Bins, Merge};
use crate::histogram::LogHistogram;
use crate::matching::{Entry, LONGEST, Matching, Seen, Settled};
use crate::packet::{Ecn, Packet};

/// Packets that wait at most: about 256 MiB.
const MOST: usize = 1 << 21;
/// Streams that ended before it was known what they lost.
const LATE: usize = 1 << 16;
/// Width of the windows to begin with (8 ms), and how many there are before pairs are merged.
const WINDOWS: (u64, usize) = (8_000_000, 1 << 17);
/// Width of the bins in which the smallest wait is told (1 s), and how many there are.
const OFFSETS: (u64, usize) = (1_000_000_000, 1 << 16);

/// A stream of the interface before the queue, as its connection's slot, number and half have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) slot: u32,
    pub(crate) number: u64,
    pub(crate) half: u8,
}

/// What is remembered of a packet that came to the queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    bytes: u32,
    side: u8,
    marked: bool,
    owner: Option<Owner>,
    /// What had left on this side when it came.
    left: Amount,
}

/// Packets dropped and marked of streams that had ended, by number of the connection and side.
pub(crate) type Late = HashMap<(u64, u8), (u64, u64), RandomState>;

/// What is to be told of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Dropped,
    Marked,
}

/// What came to a queue in a window of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waited {
    /// What arrived and came out.
    pub through: Amount,
    /// What arrived and never came out.
    pub dropped: Amount,
    /// Sum of the waits of what came out, in nanoseconds; negative where clocks differ.
    pub wait: i64,
    /// The least and most that one waited, in nanoseconds.
    pub waits: Option<(i64, i64)>,
    /// The most bytes that were inside when one arrived.
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

/// The smallest wait in a time, in nanoseconds; None where nothing came out.
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
    /// What came out.
    pub through: Amount,
    /// What never came out.
    pub dropped: Amount,
    /// What was inside when the capture ended, or may have been.
    pub unfinished: Amount,
    /// Packets that were marked inside.
    pub marked: u64,
    /// Packets that were seen behind before they were seen in front: the clocks differ, or this is not
    /// the way through the queue.
    pub negative: u64,
    /// Waits of what came out, in nanoseconds; negative ones as 0.
    pub waits: LogHistogram<6>,
    /// Bytes inside at each arrival that came out.
    pub backlog: LogHistogram<6>,
    /// Packets inside at each arrival that came out.
    pub backlog_packets: LogHistogram<6>,
    /// Bytes inside at each arrival that was dropped.
    pub backlog_at_drops: LogHistogram<6>,
    /// Packets inside at each arrival that was dropped.
    pub backlog_packets_at_drops: LogHistogram<6>,
    /// The most bytes inside once an arrival that came out was added, and packets then.
    pub largest_backlog: Amount,
    /// Packets that came out behind a later one of another stream.
    pub overtaken: u64,
    /// Packets that came out behind a later one of their own stream.
    pub overtaken_inside: u64,
    /// By time of arrival, in windows of 8 ms or a power of two of them.
    pub windows: Bins<Waited>,
    /// The smallest wait per second: the offset of two clocks, and its drift.
    pub offsets: Bins<Smallest>,
    /// What had entered and came out, and what has left.
    entered: Amount,
    left: Amount,
    /// The latest arrival of what has left.
    newest: Option<(u64, Option<Owner>)>,
    longest: i64,
}

/// A queue between two interfaces.
#[derive(Debug)]
pub(crate) struct Queue {
    matching: Matching<Arrival>,
    crossings: [Crossing; 2],
    late: Late,
    late_lost: u64,
    latest: u64,
}

/// A queue seen from both sides.
#[derive(Clone, Debug)]
pub struct Crossed {
    /// By direction of the interface before.
    pub directions: [Crossing; 2],
    /// Packets that were seen behind only.
    pub strangers: u64,
    /// Packets that were taken as dropped before ten seconds were over, for want of memory.
    pub hurried: u64,
    /// Drops and marks that are not told of a stream, for want of memory.
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

    /// What was inside when a packet came: what entered before it, less what had left.
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

/// One time less another one.
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

    /// A packet comes to the interface before. Where it was marked inside, its stream is told.
    pub(crate) fn enter(
        &mut self,
        time: u64,
        packet: &Packet,
        side: u8,
        owner: Option<Owner>,
        tell: &mut impl FnMut(Owner, Fate) -> bool,
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

    /// A packet comes to the interface after.
    pub(crate) fn leave(
        &mut self,
        time: u64,
        packet: &Packet,
        tell: &mut impl FnMut(Owner, Fate) -> bool,
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

    /// What it came to, with the drops and marks of streams that had ended by number and side.
    pub(crate) fn finish(mut self, tell: &mut impl FnMut(Owner, Fate) -> bool) -> (Crossed, Late) {
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

    fn settle(&mut self, tell: &mut impl FnMut(Owner, Fate) -> bool) {
        while let Some(settled) = self.matching.settle(self.latest) {
            match settled {
                Settled::Through(entry) => self.through(&entry, tell),
                Settled::Gone(entry) => self.gone(&entry, tell),
            }
        }
    }

    fn through(&mut self, entry: &Entry<Arrival>, tell: &mut impl FnMut(Owner, Fate) -> bool) {
        let Some(seen) = entry.seen else {
            return;
        };
        let crossing = &mut self.crossings[usize::from(entry.about.side)];
        crossing.count_through(entry, seen);
        if seen.marked && !entry.about.marked {
            crossing.marked += 1;
            self.tell(entry, Fate::Marked, tell);
        }
    }

    fn gone(&mut self, entry: &Entry<Arrival>, tell: &mut impl FnMut(Owner, Fate) -> bool) {
        self.crossings[usize::from(entry.about.side)].count_dropped(entry);
        self.tell(entry, Fate::Dropped, tell);
    }

    /// Tells the stream of a packet; where it has ended, remembers it.
    fn tell(
        &mut self,
        entry: &Entry<Arrival>,
        fate: Fate,
        tell: &mut impl FnMut(Owner, Fate) -> bool,
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
            Fate::Dropped => *dropped += 1,
            Fate::Marked => *marked += 1,
        }
    }
}

const _: () = assert!(LONGEST < i64::MAX as u64);
