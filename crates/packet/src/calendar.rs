//! The calendar: what happens next.
//!
//! Deliveries whose delay is one constant per lane arrive in the order they are pushed, so a lane
//! is a ring and only its head competes. Many lanes would make the merge the cost: then deliveries
//! go into a wheel of time buckets. Timers and other rare events sit in a heap. The order is that of (time, tag)
//! whatever the structure: it never depends on the order of insertion.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use forebay_units::Time;

/// What an event is; the order of the variants is the order of simultaneous events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Kind {
    /// The warm-up ends, or a trace sample is due (the number says which).
    Control = 0,
    /// A link has finished sending a packet (the flow is the link).
    Departure = 1,
    /// A packet reaches a link; the kinds up to 17 are its hop number on its path.
    Arrival = 2,
    /// A packet reaches its receiver and the answer its sender.
    Delivery = 18,
    /// The same for a packet that was ECN-marked.
    MarkedDelivery = 19,
    /// A delayed acknowledgement is due.
    DelayedAck = 20,
    /// A retransmission timer may have expired.
    Timer = 21,
    /// An unresponsive source or an arrival process has its next arrival.
    Source = 22,
    /// A flow starts, or a closed-loop user ends its thinking.
    Start = 23,
    /// A flow stops.
    Stop = 24,
    /// A paced packet may leave.
    Pacing = 25,
    /// A packet that was ECN-marked reaches a link; the kinds up to 41 are its hop number.
    MarkedArrival = 26,
}

/// The most hops on a path.
pub(crate) const MAX_HOPS: usize = 16;

/// An event in 16 bytes: when, and what, of which flow, with which packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) time: Time,
    /// Kind (8 bits), flow (24 bits), low bits of the packet number (32 bits).
    tag: u64,
}

impl Event {
    /// Time and tag as one number: one comparison without a branch.
    #[inline]
    fn key(&self) -> u128 {
        u128::from(self.time.as_picos()) << 64 | u128::from(self.tag)
    }
}

impl Ord for Event {
    #[inline]
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Event {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }

    #[inline]
    fn lt(&self, other: &Self) -> bool {
        self.key() < other.key()
    }
}

impl Event {
    #[inline]
    pub(crate) fn new(time: Time, kind: Kind, flow: u32, packet: u32) -> Self {
        Self {
            time,
            tag: (kind as u64) << 56 | u64::from(flow) << 32 | u64::from(packet),
        }
    }

    /// The arrival of a packet at hop number `hop` of its path.
    #[inline]
    pub(crate) fn arrival(time: Time, hop: usize, flow: u32, packet: u32) -> Self {
        let kind = Kind::Arrival as u64 + hop as u64;
        Self {
            time,
            tag: kind << 56 | u64::from(flow) << 32 | u64::from(packet),
        }
    }

    /// The same for a packet that was marked.
    pub(crate) fn marked_arrival(time: Time, hop: usize, flow: u32, packet: u32) -> Self {
        let kind = Kind::MarkedArrival as u64 + hop as u64;
        Self {
            time,
            tag: kind << 56 | u64::from(flow) << 32 | u64::from(packet),
        }
    }

    /// The kind as a number; arrivals at hop h are [`Kind::Arrival`] + h.
    #[inline]
    pub(crate) fn kind(self) -> u8 {
        (self.tag >> 56) as u8
    }

    #[inline]
    pub(crate) fn flow(self) -> u32 {
        (self.tag >> 32) as u32 & 0x00ff_ffff
    }

    #[inline]
    pub(crate) fn packet(self) -> u32 {
        self.tag as u32
    }
}

/// An event later than all others.
const NEVER: Event = Event {
    time: Time::MAX,
    tag: u64::MAX,
};

/// A ring of events in rising order, its capacity a power of two.
#[derive(Debug)]
struct Lane {
    events: Box<[Event]>,
    head: usize,
    tail: usize,
}

impl Lane {
    fn new() -> Self {
        Self {
            events: vec![NEVER; 16].into_boxed_slice(),
            head: 0,
            tail: 0,
        }
    }

    #[inline]
    fn push(&mut self, event: Event) {
        if self.tail - self.head == self.events.len() {
            self.grow();
        }
        let mask = self.events.len() - 1;
        self.events[self.tail & mask] = event;
        self.tail += 1;
    }

    #[cold]
    fn grow(&mut self) {
        let (old, count) = (self.events.len(), self.tail - self.head);
        let mut events = vec![NEVER; old * 2].into_boxed_slice();
        for (k, slot) in events.iter_mut().take(count).enumerate() {
            *slot = self.events[(self.head + k) & (old - 1)];
        }
        self.events = events;
        self.head = 0;
        self.tail = count;
    }

    #[inline]
    fn head(&self) -> Event {
        if self.head == self.tail {
            return NEVER;
        }
        self.events[self.head & (self.events.len() - 1)]
    }

    #[inline]
    fn len(&self) -> usize {
        self.tail - self.head
    }

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The event pushed last.
    fn last(&self) -> Event {
        self.events[(self.tail - 1) & (self.events.len() - 1)]
    }
}

/// More lanes than this go into the wheel.
pub(crate) const MAX_LANES: usize = 64;

/// Lanes merged by a tournament: each inner node of a binary tree knows the lane below it whose
/// head comes first, so that a new head meets one rival per level (Knuth, The Art of Computer
/// Programming, volume 3, section 5.4.1).
#[derive(Debug)]
struct Lanes {
    lanes: Vec<Lane>,
    /// The event at the head of each lane, [`NEVER`] for an empty one; a power of two of them.
    heads: Vec<Event>,
    /// The lane that wins at each node: the root is node 1, the children of k are 2k and 2k + 1,
    /// and lane l is the leaf `heads.len()` + l.
    winners: Vec<u32>,
    /// The lane that comes first, and its head.
    first: usize,
    next: Event,
}

impl Lanes {
    fn new(count: usize) -> Self {
        let leaves = count.next_power_of_two();
        let mut winners = vec![0; 2 * leaves];
        for (lane, winner) in winners[leaves..].iter_mut().enumerate() {
            *winner = lane as u32;
        }
        for node in (1..leaves).rev() {
            winners[node] = winners[2 * node];
        }
        Self {
            lanes: (0..count).map(|_| Lane::new()).collect(),
            heads: vec![NEVER; leaves],
            winners,
            first: 0,
            next: NEVER,
        }
    }

    #[inline]
    fn push(&mut self, at: usize, event: Event) {
        let lane = &mut self.lanes[at];
        debug_assert!(lane.is_empty() || lane.last() < event, "{event:?}");
        lane.push(event);
        if lane.len() == 1 {
            self.replay(at, event);
        }
    }

    /// Removes the head of the first lane.
    #[inline]
    fn advance(&mut self) {
        let at = self.first;
        let lane = &mut self.lanes[at];
        lane.head += 1;
        let head = lane.head();
        self.replay(at, head);
    }

    /// Lane `at` has a new head: the matches on its way to the root are played again.
    #[inline]
    fn replay(&mut self, at: usize, head: Event) {
        let leaves = self.heads.len();
        self.heads[at] = head;
        let (mut best, mut key) = (at, head);
        let mut node = leaves + at;
        while node > 1 {
            let rival = self.winners[node ^ 1] as usize;
            let other = self.heads[rival & (leaves - 1)];
            if other < key {
                best = rival;
                key = other;
            }
            node >>= 1;
            self.winners[node] = best as u32;
        }
        self.first = best;
        self.next = key;
    }
}

/// Where deliveries wait.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "there is one of them, and it must not be behind a pointer"
)]
enum Deliveries {
    /// One ring per constant delay.
    Lanes(Lanes),
    Wheel(Wheel),
}

/// All future events.
#[derive(Debug)]
pub(crate) struct Calendar {
    deliveries: Deliveries,
    rare: BinaryHeap<Reverse<Event>>,
    /// The first rare event, kept beside the heap so that the common comparison is one load.
    next_rare: Event,
}

impl Calendar {
    /// A calendar for `lanes` constant delays (`None`: the delays are not constant per lane).
    /// `grain` is about the time between two deliveries.
    pub(crate) fn new(lanes: Option<usize>, grain: Time) -> Self {
        let deliveries = match lanes {
            Some(count) if count <= MAX_LANES => Deliveries::Lanes(Lanes::new(count.max(1))),
            _ => Deliveries::Wheel(Wheel::new(grain)),
        };
        Self {
            deliveries,
            rare: BinaryHeap::new(),
            next_rare: NEVER,
        }
    }

    /// Adds an event to a lane; within one lane the times never fall.
    #[inline]
    pub(crate) fn push_delivery(&mut self, lane: u32, event: Event) {
        match &mut self.deliveries {
            Deliveries::Lanes(lanes) => lanes.push(lane as usize, event),
            Deliveries::Wheel(wheel) => wheel.push(event),
        }
    }

    /// Adds any other event.
    pub(crate) fn push(&mut self, event: Event) {
        if event < self.next_rare {
            self.next_rare = event;
        }
        self.rare.push(Reverse(event));
    }

    /// Adds an event that occurs about once per packet but in no lane's order.
    #[inline]
    pub(crate) fn push_frequent(&mut self, event: Event) {
        match &mut self.deliveries {
            Deliveries::Wheel(wheel) => wheel.push(event),
            Deliveries::Lanes(_) => self.push(event),
        }
    }

    /// Removes the next event. From time to time `ahead` is shown the events that come next, in no
    /// order, so that what they need can be fetched at once.
    #[inline]
    pub(crate) fn pop_with(&mut self, ahead: impl FnMut(&[Event])) -> Option<Event> {
        let delivery = match &mut self.deliveries {
            Deliveries::Lanes(lanes) => lanes.next,
            Deliveries::Wheel(wheel) => wheel.first(ahead),
        };
        if self.next_rare < delivery {
            return self.pop_rare();
        }
        if delivery == NEVER {
            return None;
        }
        match &mut self.deliveries {
            Deliveries::Lanes(lanes) => lanes.advance(),
            Deliveries::Wheel(wheel) => wheel.advance(),
        }
        Some(delivery)
    }

    /// Removes the next event.
    #[cfg(test)]
    pub(crate) fn pop(&mut self) -> Option<Event> {
        self.pop_with(|_| {})
    }

    #[inline(never)]
    fn pop_rare(&mut self) -> Option<Event> {
        let event = self.rare.pop().map(|Reverse(event)| event);
        self.next_rare = self.rare.peek().map_or(NEVER, |Reverse(event)| *event);
        event
    }

    /// Deliveries under way.
    pub(crate) fn deliveries(&self) -> usize {
        match &self.deliveries {
            Deliveries::Lanes(lanes) => lanes.lanes.iter().map(Lane::len).sum(),
            Deliveries::Wheel(wheel) => wheel.count,
        }
    }
}

/// No chunk.
const NONE: u32 = u32::MAX;

/// Events in one chunk.
const CHUNK: usize = 7;

/// A part of a bucket: two cache lines.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(128))]
struct Chunk {
    events: [Event; CHUNK],
    /// The next one of the same bucket, or of the free ones; all but the first of a bucket are full.
    next: u32,
}

/// Events of one span of time, in no order.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// Its first chunk, and how many events that holds.
    chunk: u32,
    filled: u32,
}

impl Bucket {
    /// A full chunk that is none: the next event asks for a new one.
    const EMPTY: Self = Self {
        chunk: NONE,
        filled: CHUNK as u32,
    };
}

/// A wheel of time buckets (Brown's calendar queue, 1988, with a fixed width): each bucket is
/// unsorted until its turn comes. Events beyond one turn wait in a heap.
#[derive(Debug)]
struct Wheel {
    /// log2 of a bucket's width in ticks.
    shift: u32,
    /// A power of two of them.
    buckets: Vec<Bucket>,
    pool: Vec<Chunk>,
    /// First chunk that is free again.
    free: u32,
    /// Number of the current bucket, counted from time zero.
    turn: u64,
    /// Events of the current bucket and before, in falling order.
    current: Vec<Event>,
    /// Events in buckets, `current` and `overflow`.
    count: usize,
    /// Events beyond the last bucket.
    overflow: BinaryHeap<Reverse<Event>>,
}

impl Wheel {
    /// Deliveries per bucket, about: enough to fetch what they need at once, few enough to sort.
    const SHARE: u64 = 16;

    fn new(grain: Time) -> Self {
        let width = grain.saturating_mul(Self::SHARE);
        Self {
            shift: width.as_picos().max(1).ilog2(),
            buckets: vec![Bucket::EMPTY; 1 << 10],
            pool: Vec::new(),
            free: NONE,
            turn: 0,
            current: Vec::new(),
            count: 0,
            overflow: BinaryHeap::new(),
        }
    }

    #[inline]
    fn bucket_of(&self, time: Time) -> u64 {
        time.as_picos() >> self.shift
    }

    #[inline]
    fn push(&mut self, event: Event) {
        self.count += 1;
        let bucket = self.bucket_of(event.time);
        if bucket <= self.turn {
            let at = self.current.partition_point(|other| *other > event);
            self.current.insert(at, event);
        } else if bucket - self.turn < self.buckets.len() as u64 {
            self.file(bucket, event);
        } else {
            self.beyond(event);
        }
    }

    #[inline]
    fn file(&mut self, bucket: u64, event: Event) {
        let slot = (bucket & (self.buckets.len() as u64 - 1)) as usize;
        let mut bucket = self.buckets[slot];
        if bucket.filled as usize >= CHUNK {
            bucket.chunk = self.new_chunk(bucket.chunk);
            bucket.filled = 0;
        }
        self.pool[bucket.chunk as usize].events[bucket.filled as usize % CHUNK] = event;
        bucket.filled += 1;
        self.buckets[slot] = bucket;
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
        if ahead < MAX_BUCKETS as u64 {
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
        let Bucket { mut chunk, filled } = bucket;
        let mut filled = filled as usize;
        while chunk != NONE {
            let here = &mut self.pool[chunk as usize];
            into.extend_from_slice(&here.events[..filled.min(CHUNK)]);
            filled = CHUNK;
            let next = std::mem::replace(&mut here.next, self.free);
            self.free = chunk;
            chunk = next;
        }
    }

    /// The first event, or [`NEVER`]. Where the wheel turns, `ahead` is shown what is next.
    #[inline]
    fn first(&mut self, ahead: impl FnMut(&[Event])) -> Event {
        if let Some(event) = self.current.last() {
            return *event;
        }
        self.turn_wheel(ahead)
    }

    /// Moves to the next bucket that holds an event.
    fn turn_wheel(&mut self, mut ahead: impl FnMut(&[Event])) -> Event {
        if self.count == 0 {
            return NEVER;
        }
        if self.count == self.overflow.len()
            && let Some(Reverse(event)) = self.overflow.peek()
        {
            self.turn = self.bucket_of(event.time) - 1;
        }
        let mut current = std::mem::take(&mut self.current);
        while current.is_empty() {
            self.turn += 1;
            while let Some(Reverse(event)) = self.overflow.peek() {
                if self.bucket_of(event.time) > self.turn {
                    break;
                }
                current.push(*event);
                self.overflow.pop();
            }
            let slot = (self.turn & (self.buckets.len() as u64 - 1)) as usize;
            let bucket = std::mem::replace(&mut self.buckets[slot], Bucket::EMPTY);
            self.empty(bucket, &mut current);
        }
        ahead(&current);
        current.sort_unstable_by(|a, b| b.cmp(a));
        self.current = current;
        self.current.last().copied().unwrap_or(NEVER)
    }

    #[inline]
    fn advance(&mut self) {
        self.current.pop();
        self.count -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn event(time: u64, flow: u32) -> Event {
        Event::new(Time::from_picos(time), Kind::Delivery, flow, 7)
    }

    #[test]
    fn an_event_keeps_its_parts() {
        let event = Event::new(Time::from_picos(5), Kind::Timer, 0x00ab_cdef, 0xffff_fffe);
        assert_eq!(event.kind(), Kind::Timer as u8);
        assert_eq!((event.flow(), event.packet()), (0x00ab_cdef, 0xffff_fffe));
        assert_eq!(
            Event::arrival(Time::ZERO, 3, 1, 2).kind(),
            Kind::Arrival as u8 + 3
        );
        assert!((Kind::Arrival as usize) + MAX_HOPS <= Kind::Delivery as usize);
    }

    proptest! {
        /// Lanes, wheel and heap give the same order as sorting, however pushes and pops mix.
        #[test]
        fn every_structure_pops_in_order(
            steps in prop::collection::vec((0u64..5_000_000, 0u32..40, prop::bool::ANY), 1..400),
            lanes in prop::sample::select(vec![Some(1usize), Some(5), Some(24), Some(40), None]),
            grain in 1u64..100_000,
        ) {
            let mut calendar = Calendar::new(lanes, Time::from_picos(grain));
            let mut expected = BinaryHeap::new();
            let mut last = vec![0u64; 40];
            let mut now = 0;
            for (delay, flow, pop) in steps {
                let lane = lanes.map_or(0, |count| flow % count as u32);
                let mut time = now + delay;
                if lanes.is_some() {
                    // A lane's events rise strictly, as those behind one link do.
                    time = time.max(last[lane as usize] + 1);
                    last[lane as usize] = time;
                }
                let event = event(time, flow);
                if flow == 39 { calendar.push(event) } else { calendar.push_delivery(lane, event) }
                expected.push(Reverse(event));
                if pop {
                    let event = calendar.pop();
                    prop_assert_eq!(event, expected.pop().map(|Reverse(event)| event));
                    now = event.map_or(now, |event| event.time.as_picos());
                }
            }
            while let Some(Reverse(event)) = expected.pop() {
                prop_assert_eq!(calendar.pop(), Some(event));
            }
            prop_assert_eq!(calendar.pop(), None);
        }
    }
}
