//! The calendar: what happens next.
//!
//! Deliveries whose delay is one constant per lane arrive in the order they are pushed, so a lane
//! is a ring and only its head competes. Many lanes would make the merge the cost: then deliveries
//! go into a wheel of time buckets. Timers and other rare events sit in a heap. The order is that of (time, tag)
//! whatever the structure: it never depends on the order of insertion.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use forebay_units::Time;

use crate::prefetch::prefetch;

/// What an event is; the order of the variants is the order of simultaneous events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Kind {
    /// The warm-up ends, or a trace sample is due (the number says which).
    Control = 0,
    /// A packet that its access link sent without a wait reaches its first link, before those of
    /// the same instant that had to wait for packets of their own flow: they are the younger cause.
    PromptArrival = 1,
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
    /// A link has finished sending a packet (the flow is the link). An arrival at that very instant
    /// comes first, and finds the packet still in transmission: the place in the buffer that the
    /// next packet leaves is not free yet.
    Departure = 42,
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
    /// An event whose kind is given as a number; arrivals at hop h are [`Kind::Arrival`] + h.
    #[inline]
    pub(crate) fn of(time: Time, kind: u64, flow: u32, packet: u32) -> Self {
        Self {
            time,
            tag: kind << 56 | u64::from(flow) << 32 | u64::from(packet),
        }
    }

    #[inline]
    pub(crate) fn new(time: Time, kind: Kind, flow: u32, packet: u32) -> Self {
        Self::of(time, kind as u64, flow, packet)
    }

    /// The arrival of a packet at hop number `hop` of its path.
    #[inline]
    pub(crate) fn arrival(time: Time, hop: usize, flow: u32, packet: u32) -> Self {
        Self::of(time, Kind::Arrival as u64 + hop as u64, flow, packet)
    }

    /// The arrival at the first hop of a packet that left its access link without a wait.
    pub(crate) fn prompt_arrival(time: Time, flow: u32, packet: u32) -> Self {
        Self::of(time, Kind::PromptArrival as u64, flow, packet)
    }

    /// The same for a packet that was marked.
    pub(crate) fn marked_arrival(time: Time, hop: usize, flow: u32, packet: u32) -> Self {
        Self::of(time, Kind::MarkedArrival as u64 + hop as u64, flow, packet)
    }

    /// The end of a transmission on link number `link`; those of one instant go in the order of the
    /// links, which is how most paths run.
    #[inline]
    pub(crate) fn departure(time: Time, link: usize) -> Self {
        Self {
            time,
            tag: (Kind::Departure as u64) << 56 | link as u64,
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

    /// The link of a [`Kind::Departure`].
    #[inline]
    pub(crate) fn link(self) -> usize {
        self.tag as u32 as usize
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

/// Nodes of the tournament's tree.
const NODES: usize = 2 * MAX_LANES;

/// Lanes merged by a tournament: each inner node of a binary tree knows the lane below it whose
/// head comes first, so that a new head meets one rival per level (Knuth, The Art of Computer
/// Programming, volume 3, section 5.4.1).
#[derive(Debug)]
struct Lanes {
    rings: Vec<Lane>,
    /// A power of two, at least one per lane.
    leaves: usize,
    /// The event at the head of each lane, [`NEVER`] for an empty one.
    heads: [Event; MAX_LANES],
    /// The lane that wins at each node: the root is node 1, the children of k are 2k and 2k + 1,
    /// and lane l is the leaf `leaves` + l.
    winners: [u8; NODES],
    /// The lane that comes first, and its head.
    first: usize,
    next: Event,
}

impl Lanes {
    fn new(count: usize) -> Self {
        let leaves = count.next_power_of_two();
        let mut winners = [0; NODES];
        for lane in 0..leaves {
            winners[leaves + lane] = lane as u8;
        }
        for node in (1..leaves).rev() {
            winners[node] = winners[2 * node];
        }
        Self {
            rings: (0..count).map(|_| Lane::new()).collect(),
            leaves,
            heads: [NEVER; MAX_LANES],
            winners,
            first: 0,
            next: NEVER,
        }
    }

    #[allow(
        clippy::inline_always,
        reason = "a call costs each packet 20 of 340 instructions"
    )]
    #[inline(always)]
    fn push(&mut self, at: usize, event: Event) {
        let lane = &mut self.rings[at];
        debug_assert!(lane.is_empty() || lane.last() < event, "{event:?}");
        lane.push(event);
        if lane.len() == 1 {
            self.enter(at, event);
        }
    }

    /// Removes the head of the first lane: the matches on its way to the root are played again.
    #[inline]
    fn advance(&mut self) {
        let at = self.first;
        let lane = &mut self.rings[at];
        lane.head += 1;
        let head = lane.head();
        self.heads[at % MAX_LANES] = head;
        let (mut best, mut key) = (at, head);
        let mut node = self.leaves + at;
        while node > 1 {
            let rival = usize::from(self.winners[(node ^ 1) % NODES]);
            let other = self.heads[rival % MAX_LANES];
            if other < key {
                best = rival;
                key = other;
            }
            node >>= 1;
            self.winners[node % NODES] = best as u8;
        }
        self.first = best;
        self.next = key;
    }

    /// A lane that was empty has a head: it wins up to its first lost match.
    #[inline]
    fn enter(&mut self, at: usize, head: Event) {
        self.heads[at % MAX_LANES] = head;
        let mut node = self.leaves + at;
        while node > 1 {
            let rival = usize::from(self.winners[(node ^ 1) % NODES]);
            if self.heads[rival % MAX_LANES] < head {
                return;
            }
            node >>= 1;
            self.winners[node % NODES] = at as u8;
        }
        self.first = at;
        self.next = head;
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

/// Where timers and other rare events wait.
#[derive(Debug)]
enum Rare {
    Heap(BinaryHeap<Reverse<Event>>),
    /// With many flows a heap no longer fits into the caches.
    Wheel(Wheel),
}

impl Rare {
    /// More flows than this have their timers in a wheel.
    const MAX_HEAP: usize = 256;

    /// About one timer per flow and second.
    fn new(flows: usize) -> Self {
        if flows > Self::MAX_HEAP {
            let grain = Time::from_picos(Time::from_secs(1).as_picos() / flows as u64);
            Self::Wheel(Wheel::new(grain))
        } else {
            Self::Heap(BinaryHeap::new())
        }
    }

    /// The first event, or an instant before which there is none.
    fn next(&self) -> Event {
        match self {
            Self::Heap(heap) => heap.peek().map_or(NEVER, |Reverse(event)| *event),
            Self::Wheel(wheel) => wheel.bound(),
        }
    }
}

/// All future events.
#[derive(Debug)]
pub(crate) struct Calendar {
    deliveries: Deliveries,
    rare: Rare,
    /// What [`Rare::next`] says, kept here so that the common comparison is one load.
    next_rare: Event,
}

impl Calendar {
    /// A calendar for `lanes` constant delays (`None`: the delays are not constant per lane).
    /// `grain` is about the time between two deliveries.
    pub(crate) fn new(lanes: Option<usize>, grain: Time, flows: usize) -> Self {
        let deliveries = match lanes {
            Some(count) if count <= MAX_LANES => Deliveries::Lanes(Lanes::new(count.max(1))),
            _ => Deliveries::Wheel(Wheel::new(grain)),
        };
        Self {
            deliveries,
            rare: Rare::new(flows),
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
        match &mut self.rare {
            Rare::Heap(heap) => heap.push(Reverse(event)),
            Rare::Wheel(wheel) => wheel.push(event),
        }
        self.next_rare = self.rare.next();
    }

    /// Adds an event that occurs about once per packet but in no lane's order.
    #[inline]
    pub(crate) fn push_frequent(&mut self, event: Event) {
        match &mut self.deliveries {
            Deliveries::Wheel(wheel) => wheel.push(event),
            Deliveries::Lanes(_) => self.push(event),
        }
    }

    /// Removes the next event where it comes before `end`; otherwise the event is later. From time
    /// to time `ahead` is shown the events that come next, in no order, so that what they need can
    /// be fetched at once.
    #[inline]
    pub(crate) fn pop_before(&mut self, end: Time, ahead: impl FnMut(&[Event])) -> Event {
        let delivery = match &mut self.deliveries {
            Deliveries::Lanes(lanes) => lanes.next,
            Deliveries::Wheel(wheel) => wheel.first(ahead),
        };
        if self.next_rare < delivery
            && let Some(event) = self.pop_rare(delivery)
        {
            return event;
        }
        if delivery.time < end {
            match &mut self.deliveries {
                Deliveries::Lanes(lanes) => lanes.advance(),
                Deliveries::Wheel(wheel) => wheel.advance(),
            }
        }
        delivery
    }

    /// Removes the next event.
    #[cfg(test)]
    pub(crate) fn pop(&mut self) -> Option<Event> {
        Some(self.pop_before(Time::MAX, |_| {})).filter(|event| event.time < Time::MAX)
    }

    /// Removes the first rare event where it comes before `limit`.
    #[inline(never)]
    fn pop_rare(&mut self, limit: Event) -> Option<Event> {
        let event = match &mut self.rare {
            Rare::Heap(heap) => heap.pop().map(|Reverse(event)| event),
            Rare::Wheel(wheel) => wheel.pop_before(limit),
        };
        self.next_rare = self.rare.next();
        event
    }

    /// Deliveries under way.
    pub(crate) fn deliveries(&self) -> usize {
        match &self.deliveries {
            Deliveries::Lanes(lanes) => lanes.rings.iter().map(Lane::len).sum(),
            Deliveries::Wheel(wheel) => wheel.count,
        }
    }
}

/// Events in one chunk.
const CHUNK: usize = 15;

/// A part of a bucket: four cache lines.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Chunk {
    events: [Event; CHUNK],
    /// The next one of the same bucket, or of the free ones; all but the first of a bucket are full.
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
    /// Events of the bucket after it, in no order.
    upcoming: Vec<Event>,
    /// Events in buckets, `current`, `upcoming` and `overflow`.
    count: usize,
    /// Events beyond the last bucket.
    overflow: BinaryHeap<Reverse<Event>>,
}

impl Wheel {
    /// Deliveries per bucket, about: enough to fetch what they need at once, few enough to sort.
    const SHARE: u64 = 32;

    fn new(grain: Time) -> Self {
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
    fn bound(&self) -> Event {
        if let Some(event) = self.current.last() {
            return *event;
        }
        if self.count == self.overflow.len() {
            let first = self.overflow.peek();
            return first.map_or(NEVER, |Reverse(event)| *event);
        }
        Event {
            time: Time::from_picos((self.turn + 1) << self.shift),
            tag: 0,
        }
    }

    /// Removes the first event where it comes before `limit`. The wheel turns no further than
    /// that: what is still to be pushed before the first event keeps its place in a bucket.
    fn pop_before(&mut self, limit: Event) -> Option<Event> {
        while self.current.is_empty() && self.bound() < limit {
            self.skip();
            self.turn_once(|_| {});
        }
        let event = self.current.pop_if(|event| *event < limit)?;
        self.count -= 1;
        Some(event)
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
        self.skip();
        while self.current.is_empty() {
            self.turn_once(&mut ahead);
        }
        self.current.last().copied().unwrap_or(NEVER)
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

    /// Moves to the next bucket, where the current one is empty. What comes after it is taken out
    /// and shown already now: its memory arrives while the current bucket is worked on.
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
            lanes in prop::sample::select(vec![Some(1usize), Some(5), Some(24), Some(40), None, None]),
            grain in 1u64..100_000,
            flows in prop::sample::select(vec![1usize, 1000, 1_000_000_000]),
        ) {
            let mut calendar = Calendar::new(lanes, Time::from_picos(grain), flows);
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
