//! The wheel: events in buckets of time, each sorted when its turn comes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use forebay_units::Time;

use crate::calendar::event::{Event, NEVER};
use crate::prefetch::prefetch;

/// Events in one chunk.
const CHUNK: usize = 15;

/// A part of a bucket: four cache lines.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Chunk {
    events: [Event; CHUNK],
    /// The next one of the same bucket, or of the free ones; all but the first of a bucket are
    /// full.
    next: u32,
}

/// No chunk.
const NONE: u32 = u32::MAX >> 4;

/// Events of one span of time, in no order: its first chunk (28 bits), and how many events that
/// holds (4 bits).
#[derive(Clone, Copy, Debug)]
struct Bucket(u32);

impl Bucket {
    /// No chunk, but a full one: the next event asks for a new one.
    const EMPTY: Self = Self(NONE << 4 | CHUNK as u32);

    #[inline]
    fn chunk(self) -> u32 {
        self.0 >> 4
    }

    #[inline]
    fn filled(self) -> usize {
        (self.0 & 15) as usize
    }
}

/// A wheel of time buckets (Brown's calendar queue, 1988, with a fixed width): each bucket is
/// unsorted until its turn comes. Events beyond one turn wait in a heap.
#[derive(Debug)]
pub(super) struct Wheel {
    /// log2 of a bucket's width in ticks.
    shift: u32,
    /// A power of two of them.
    buckets: Vec<Bucket>,
    pool: Vec<Chunk>,
    /// First chunk that is free again.
    free: u32,
    /// Number of the current bucket. The first one is number 1: before the wheel turns, what begins
    /// at time zero is not sorted in one by one, of which a million would take minutes.
    turn: u64,
    /// Events of the current bucket and before, in falling order.
    current: Vec<Event>,
    /// Events of the bucket after it, in no order.
    upcoming: Vec<Event>,
    /// Events in buckets, `current`, `upcoming` and `overflow`.
    pub(super) count: usize,
    /// Events beyond the last bucket.
    overflow: BinaryHeap<Reverse<Event>>,
    /// End of the run: events after it need no bucket.
    end: Time,
}

impl Wheel {
    /// Deliveries per bucket, about: enough to fetch what they need at once, few enough to sort.
    const SHARE: u64 = 32;

    pub(super) fn new(grain: Time, end: Time) -> Self {
        let width = grain.saturating_mul(Self::SHARE);
        Self {
            shift: width.as_picos().max(1).ilog2(),
            buckets: vec![Bucket::EMPTY; 1 << 10],
            pool: Vec::new(),
            free: NONE,
            turn: 0,
            current: Vec::new(),
            upcoming: Vec::new(),
            count: 0,
            overflow: BinaryHeap::new(),
            end,
        }
    }

    #[inline]
    fn bucket_of(&self, time: Time) -> u64 {
        (time.as_picos() >> self.shift) + 1
    }

    #[inline]
    pub(super) fn push(&mut self, event: Event) {
        self.count += 1;
        let bucket = self.bucket_of(event.time);
        if bucket <= self.turn {
            let at = self.current.partition_point(|other| *other > event);
            self.current.insert(at, event);
        } else if bucket == self.turn + 1 {
            self.upcoming.push(event);
        } else if bucket - self.turn < self.buckets.len() as u64 {
            self.file(bucket, event);
        } else {
            self.beyond(event);
        }
    }

    #[inline]
    fn file(&mut self, bucket: u64, event: Event) {
        let slot = self.slot(bucket);
        let mut bucket = self.buckets[slot];
        if bucket.filled() == CHUNK {
            bucket = Bucket(self.new_chunk(bucket.chunk()) << 4);
        }
        self.pool[bucket.chunk() as usize].events[bucket.filled()] = event;
        self.buckets[slot] = Bucket(bucket.0 + 1);
    }

    /// A chunk in front of `next`.
    #[inline]
    fn new_chunk(&mut self, next: u32) -> u32 {
        let at = self.free;
        if at == NONE {
            let events = [NEVER; CHUNK];
            self.pool.push(Chunk { events, next });
            return (self.pool.len() - 1) as u32;
        }
        let chunk = &mut self.pool[at as usize];
        self.free = chunk.next;
        chunk.next = next;
        at
    }

    /// An event beyond the last bucket: more buckets where the wheel is still small, else the heap.
    #[cold]
    fn beyond(&mut self, event: Event) {
        const MAX_BUCKETS: usize = 1 << 22;
        let ahead = self.bucket_of(event.time) - self.turn;
        if event.time <= self.end && ahead < MAX_BUCKETS as u64 {
            self.widen((ahead as usize + 1).next_power_of_two() * 2);
            let bucket = self.bucket_of(event.time);
            self.file(bucket, event);
        } else {
            self.overflow.push(Reverse(event));
        }
    }

    fn widen(&mut self, buckets: usize) {
        let old = std::mem::replace(&mut self.buckets, vec![Bucket::EMPTY; buckets]);
        for bucket in old {
            let mut events = Vec::new();
            self.empty(bucket, &mut events);
            for event in events {
                self.file(self.bucket_of(event.time), event);
            }
        }
    }

    /// Takes all events out of a bucket and frees its chunks.
    #[inline]
    fn empty(&mut self, bucket: Bucket, into: &mut Vec<Event>) {
        let (mut chunk, mut filled) = (bucket.chunk(), bucket.filled());
        while chunk != NONE {
            let here = &mut self.pool[chunk as usize];
            into.extend_from_slice(&here.events[..filled]);
            filled = CHUNK;
            let next = std::mem::replace(&mut here.next, self.free);
            self.free = chunk;
            chunk = next;
        }
    }

    /// The first event of the current bucket; without one, the instant at which the next bucket
    /// begins; [`NEVER`] where there is nothing at all.
    pub(super) fn bound(&self) -> Event {
        if let Some(event) = self.current.last() {
            return *event;
        }
        if self.count == self.overflow.len() {
            let first = self.overflow.peek();
            return first.map_or(NEVER, |Reverse(event)| *event);
        }
        Event::first_of(Time::from_picos(self.turn << self.shift))
    }

    /// Removes the first event where it comes before `limit`. The wheel turns no further than
    /// that: what is still to be pushed before the first event keeps its place in a bucket.
    pub(super) fn pop_before(&mut self, limit: Event) -> Option<Event> {
        while self.current.is_empty() && self.bound() < limit {
            self.skip();
            self.turn_once(|_| {});
        }
        let event = self.current.pop_if(|event| *event < limit)?;
        self.count -= 1;
        Some(event)
    }

    /// The first event, or one that is not before `limit`. Where the wheel turns, `ahead` is shown
    /// what is next.
    #[inline]
    pub(super) fn first_before(&mut self, limit: Event, ahead: impl FnMut(&[Event])) -> Event {
        if let Some(event) = self.current.last() {
            return *event;
        }
        self.turn_wheel(limit, ahead)
    }

    /// Moves to the next bucket that has an event, but not beyond `limit`.
    fn turn_wheel(&mut self, limit: Event, mut ahead: impl FnMut(&[Event])) -> Event {
        loop {
            let bound = self.bound();
            if !self.current.is_empty() || bound >= limit {
                return bound;
            }
            self.skip();
            self.turn_once(&mut ahead);
        }
    }

    /// Leaves out the buckets before the first event where all of them are empty.
    #[inline]
    fn skip(&mut self) {
        if self.count == self.overflow.len()
            && let Some(Reverse(event)) = self.overflow.peek()
        {
            self.turn = self.turn.max(self.bucket_of(event.time) - 2);
        }
    }

    /// Moves to the next bucket if the current one is empty. It takes out the bucket after that one
    /// and shows it already now, so that its memory arrives while the current bucket is worked on.
    #[inline]
    fn turn_once(&mut self, mut ahead: impl FnMut(&[Event])) {
        self.turn += 1;
        std::mem::swap(&mut self.current, &mut self.upcoming);
        if self.current.len() > 1 {
            self.current.sort_unstable_by(|a, b| b.cmp(a));
        }
        let next = self.turn + 1;
        let mut upcoming = std::mem::take(&mut self.upcoming);
        while let Some(Reverse(event)) = self.overflow.peek() {
            if self.bucket_of(event.time) > next {
                break;
            }
            upcoming.push(*event);
            self.overflow.pop();
        }
        let slot = self.slot(next);
        let bucket = std::mem::replace(&mut self.buckets[slot], Bucket::EMPTY);
        self.empty(bucket, &mut upcoming);
        ahead(&upcoming);
        self.upcoming = upcoming;
        let later = self.buckets[self.slot(next + 1)].chunk();
        if let Some(chunk) = self.pool.get(later as usize) {
            prefetch(&chunk.events[0]);
            prefetch(&chunk.events[4]);
            prefetch(&chunk.events[8]);
            prefetch(&chunk.events[12]);
        }
    }

    #[inline]
    fn slot(&self, bucket: u64) -> usize {
        (bucket & (self.buckets.len() as u64 - 1)) as usize
    }

    #[inline]
    pub(super) fn advance(&mut self) {
        self.current.pop();
        self.count -= 1;
    }
}
