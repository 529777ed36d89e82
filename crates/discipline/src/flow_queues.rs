//! First-in-first-out queues over one pool of packets, with lists of active queues and the longest
//! queue. All fair queueing disciplines are built on it.

use forebay_random::{GOLDEN_GAMMA, mix};

use crate::packet::Packet;
use crate::port::Backlog;
use crate::queue_discipline::Storage;

/// Marks the absence of a packet, queue or place.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Node {
    packet: Packet,
    /// The preceding packet in its queue; arbitrary for the first one.
    before: u32,
    after: u32,
}

/// A queue and the state that its discipline stores with it.
#[derive(Clone, Copy, Debug)]
struct FlowQueue<S> {
    first: u32,
    last: u32,
    backlog: Backlog,
    /// Neighbors in the list that contains it.
    before: u32,
    after: u32,
    /// Index in the heap of lengths.
    place: u32,
    /// Among queues of equal length the one with the lowest turn counts as the longest.
    turn: u64,
    state: S,
}

impl<S: Default> Default for FlowQueue<S> {
    fn default() -> Self {
        Self {
            first: NONE,
            last: NONE,
            backlog: Backlog::default(),
            before: NONE,
            after: NONE,
            place: NONE,
            turn: 0,
            state: S::default(),
        }
    }
}

/// A list of queues. A queue is in at most one list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueList {
    first: u32,
    last: u32,
}

impl Default for QueueList {
    fn default() -> Self {
        Self {
            first: NONE,
            last: NONE,
        }
    }
}

impl QueueList {
    /// The queue at its head.
    #[inline]
    pub(crate) fn first(self) -> Option<u32> {
        (self.first != NONE).then_some(self.first)
    }
}

/// The queue out of `count` that a flow is hashed into (Lemire's reduction of the mixed bits of
/// SplitMix64).
#[inline]
pub(crate) fn hashed(flow: u32, salt: u64, count: usize) -> u32 {
    let x = mix((u64::from(flow) ^ salt).wrapping_add(GOLDEN_GAMMA));
    ((u128::from(x) * count as u128) >> 64) as u32
}

/// Whether the longest queue is tracked, which has a cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Longest {
    /// A binary heap of the queues by length in bytes. Among equals without turns its history
    /// decides.
    Tracked,
    /// The same heap, built when the longest queue is requested and discarded after a while without
    /// requests. Each queue needs a distinct turn.
    OnDemand,
    /// The longest queue is never requested.
    Untracked,
}

/// Queues numbered from zero, created when first used, each with a state of its discipline.
#[derive(Clone, Debug)]
pub(crate) struct FlowQueues<S = ()> {
    nodes: Vec<Node>,
    free: u32,
    queues: Vec<FlowQueue<S>>,
    total: Backlog,
    longest: Longest,
    /// Whether the heap exists now.
    tracked: bool,
    /// Number of packets that have arrived since the last request for the longest queue.
    unasked: usize,
    /// Non-empty queues as a binary heap, the longest first.
    heap: Vec<u32>,
}

impl<S: Clone + Default> FlowQueues<S> {
    /// Memory per packet, and per queue with its place in the heap.
    pub(crate) const STORAGE: Storage = Storage {
        packet: size_of::<Node>(),
        flow: size_of::<FlowQueue<S>>() + size_of::<u32>(),
        empty: 0,
    };

    pub(crate) fn new(longest: Longest) -> Self {
        Self {
            nodes: Vec::new(),
            free: NONE,
            queues: Vec::new(),
            total: Backlog::default(),
            longest,
            tracked: longest == Longest::Tracked,
            unasked: 0,
            heap: Vec::new(),
        }
    }

    /// The packets that wait in all queues.
    #[inline]
    pub(crate) fn total(&self) -> Backlog {
        self.total
    }

    /// The packets that wait in one queue.
    #[inline]
    pub(crate) fn backlog(&self, queue: u32) -> Backlog {
        self.queues[queue as usize].backlog
    }

    /// The state that the discipline stores with a queue.
    #[inline]
    pub(crate) fn state(&mut self, queue: u32) -> &mut S {
        &mut self.queues[queue as usize].state
    }

    /// The number of queues.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.queues.len()
    }

    /// The packet at the head of a queue.
    #[inline]
    pub(crate) fn head(&self, queue: u32) -> Option<&Packet> {
        let first = self.queues[queue as usize].first;
        self.nodes.get(first as usize).map(|node| &node.packet)
    }

    /// Makes sure that queue number `queue` exists.
    #[inline]
    pub(crate) fn ensure(&mut self, queue: u32) {
        if queue as usize >= self.queues.len() {
            self.queues.resize(queue as usize + 1, FlowQueue::default());
        }
    }

    /// Adds a packet at a queue's tail.
    #[expect(
        clippy::inline_always,
        reason = "a call would pass the packet in memory"
    )]
    #[inline(always)]
    pub(crate) fn push(&mut self, queue: u32, packet: Packet) {
        let flow = &mut self.queues[queue as usize];
        let node = Node {
            packet,
            before: flow.last,
            after: NONE,
        };
        // No packet has the number `NONE`.
        let at = if let Some(place) = self.nodes.get_mut(self.free as usize) {
            let at = std::mem::replace(&mut self.free, place.after);
            *place = node;
            at
        } else {
            self.nodes.push(node);
            (self.nodes.len() - 1) as u32
        };
        match self.nodes.get_mut(flow.last as usize) {
            Some(last) => last.after = at,
            None => flow.first = at,
        }
        flow.last = at;
        flow.backlog.add(packet.size);
        self.total.add(packet.size);
        if self.tracked {
            if flow.place == NONE {
                flow.place = self.heap.len() as u32;
                self.heap.push(queue);
            }
            self.rise(queue);
            if self.longest == Longest::OnDemand {
                self.forget_unasked();
            }
        }
    }

    /// Removes the packet at a queue's head.
    #[expect(
        clippy::inline_always,
        reason = "a call would pass the packet in memory"
    )]
    #[inline(always)]
    pub(crate) fn pop(&mut self, queue: u32) -> Option<Packet> {
        let flow = &mut self.queues[queue as usize];
        let at = flow.first;
        let node = self.nodes.get_mut(at as usize)?;
        let packet = node.packet;
        flow.first = std::mem::replace(&mut node.after, self.free);
        self.free = at;
        if flow.first == NONE {
            flow.last = NONE;
        }
        flow.backlog.remove(packet.size);
        self.total.remove(packet.size);
        if self.tracked {
            self.shortened(queue);
        }
        Some(packet)
    }

    /// Removes the packet at a queue's tail.
    pub(crate) fn pop_last(&mut self, queue: u32) -> Option<Packet> {
        let flow = &mut self.queues[queue as usize];
        let at = flow.last;
        let node = self.nodes.get_mut(at as usize)?;
        let Node { packet, before, .. } = *node;
        node.after = self.free;
        self.free = at;
        if flow.first == at {
            flow.first = NONE;
            flow.last = NONE;
        } else {
            flow.last = before;
            self.nodes[before as usize].after = NONE;
        }
        flow.backlog.remove(packet.size);
        self.total.remove(packet.size);
        if self.tracked {
            self.shortened(queue);
        }
        Some(packet)
    }

    /// Restores the heap after a queue in it has become shorter or empty.
    #[inline]
    fn shortened(&mut self, queue: u32) {
        let empty = self.queues[queue as usize].first == NONE;
        self.fall(queue);
        if empty {
            self.leave_heap(queue);
        }
    }

    // --- The longest queue ---

    /// The queue with the most bytes; among equals the one with the lowest turn.
    #[inline]
    pub(crate) fn longest(&mut self) -> Option<u32> {
        if !self.tracked {
            self.track();
        }
        self.unasked = 0;
        self.heap.first().copied()
    }

    /// Builds the heap.
    #[cold]
    #[inline(never)]
    fn track(&mut self) {
        self.tracked = true;
        for queue in 0..self.queues.len() {
            if self.queues[queue].first != NONE {
                let place = self.heap.len();
                self.heap.push(queue as u32);
                self.rise_from(place, queue as u32);
            }
        }
    }

    /// Discards the heap if more packets than there are queues have arrived since the last request.
    #[inline(never)]
    fn forget_unasked(&mut self) {
        self.unasked += 1;
        if self.unasked > self.queues.len() {
            self.tracked = false;
            for queue in self.heap.drain(..) {
                self.queues[queue as usize].place = NONE;
            }
        }
    }

    /// Sets the turn of a queue.
    #[inline]
    pub(crate) fn set_turn(&mut self, queue: u32, turn: u64) {
        self.queues[queue as usize].turn = turn;
        if self.queues[queue as usize].place != NONE {
            self.fall(queue);
            self.rise(queue);
        }
    }

    /// Whether `a` counts as longer than `b`.
    #[inline]
    fn longer(&self, a: u32, b: u32) -> bool {
        let (a, b) = (&self.queues[a as usize], &self.queues[b as usize]);
        (a.backlog.bytes, b.turn) > (b.backlog.bytes, a.turn)
    }

    /// Restores the heap after a queue in it has become longer.
    #[inline]
    fn rise(&mut self, queue: u32) {
        let at = self.queues[queue as usize].place as usize;
        if at > 0 && self.longer(queue, self.heap[(at - 1) / 2]) {
            self.rise_from(at, queue);
        }
    }

    #[inline(never)]
    fn rise_from(&mut self, mut at: usize, queue: u32) {
        while at > 0 {
            let parent = (at - 1) / 2;
            let other = self.heap[parent];
            if !self.longer(queue, other) {
                break;
            }
            self.put(other, at);
            at = parent;
        }
        self.put(queue, at);
    }

    /// Restores the heap after a queue in it has become shorter.
    #[inline]
    fn fall(&mut self, queue: u32) {
        let at = self.queues[queue as usize].place as usize;
        if 2 * at + 1 < self.heap.len() {
            self.fall_from(at, queue);
        }
    }

    #[inline(never)]
    fn fall_from(&mut self, mut at: usize, queue: u32) {
        loop {
            let mut child = 2 * at + 1;
            if child >= self.heap.len() {
                break;
            }
            if child + 1 < self.heap.len() && self.longer(self.heap[child + 1], self.heap[child]) {
                child += 1;
            }
            let other = self.heap[child];
            if !self.longer(other, queue) {
                break;
            }
            self.put(other, at);
            at = child;
        }
        self.put(queue, at);
    }

    /// Puts a queue at a place of the heap.
    #[inline]
    fn put(&mut self, queue: u32, at: usize) {
        self.heap[at] = queue;
        self.queues[queue as usize].place = at as u32;
    }

    /// Removes an empty queue from the heap.
    fn leave_heap(&mut self, queue: u32) {
        let at = self.queues[queue as usize].place as usize;
        self.queues[queue as usize].place = NONE;
        let Some(last) = self.heap.pop() else { return };
        if at < self.heap.len() {
            self.put(last, at);
            self.fall(last);
            self.rise(last);
        }
    }

    // --- Lists of queues ---

    /// Appends a queue that is in no list to a list.
    #[inline]
    pub(crate) fn append(&mut self, list: &mut QueueList, queue: u32) {
        let flow = &mut self.queues[queue as usize];
        flow.before = list.last;
        flow.after = NONE;
        match self.queues.get_mut(list.last as usize) {
            Some(last) => last.after = queue,
            None => list.first = queue,
        }
        list.last = queue;
    }

    /// Removes a queue from the list that contains it.
    #[inline]
    pub(crate) fn remove(&mut self, list: &mut QueueList, queue: u32) {
        let &FlowQueue { before, after, .. } = &self.queues[queue as usize];
        match self.queues.get_mut(before as usize) {
            Some(neighbor) => neighbor.after = after,
            None => list.first = after,
        }
        match self.queues.get_mut(after as usize) {
            Some(neighbor) => neighbor.before = before,
            None => list.last = before,
        }
    }

    /// Moves the head of a list to its tail.
    #[inline]
    pub(crate) fn rotate(&mut self, list: &mut QueueList) {
        if list.first != list.last {
            let queue = list.first;
            self.remove(list, queue);
            self.append(list, queue);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::testing::packet;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// The results agree with plain queues and a search through all of them.
        #[test]
        fn queues_and_the_longest_are_those_of_a_plain_model(
            // Few sizes occur, so that turns often decide.
            steps in prop::collection::vec((0u32..7, prop_oneof![Just(100u32), Just(200), 1u32..1600], 0u8..5), 1..400),
            longest in prop::sample::select(vec![Longest::Tracked, Longest::OnDemand]),
            asked in prop::sample::select(vec![1, 2, 10, 40]),
        ) {
            let mut queues = FlowQueues::<()>::new(longest);
            queues.ensure(6);
            let mut turns = [0, 5, 3, 1, 6, 4, 2];
            for queue in 0..7 {
                queues.set_turn(queue, turns[queue as usize]);
            }
            let mut model: Vec<VecDeque<Packet>> = vec![VecDeque::new(); 7];
            for (number, (queue, size, step)) in steps.into_iter().enumerate() {
                match step {
                    0 => prop_assert_eq!(queues.pop(queue), model[queue as usize].pop_front()),
                    1 => prop_assert_eq!(queues.pop_last(queue), model[queue as usize].pop_back()),
                    2 => {
                        // Each turn belongs to one queue.
                        turns[queue as usize] = 7 * number as u64 + 7 + u64::from(queue);
                        queues.set_turn(queue, turns[queue as usize]);
                    }
                    _ => {
                        let packet = packet(queue, number as u32, size);
                        queues.push(queue, packet);
                        model[queue as usize].push_back(packet);
                    }
                }
                prop_assert_eq!(queues.head(queue), model[queue as usize].front());
                let bytes = |q: u32| model[q as usize].iter().map(|p| u64::from(p.size)).sum::<u64>();
                let longest = (0..7)
                    .filter(|&q| !model[q as usize].is_empty())
                    .max_by_key(|&q| (bytes(q), std::cmp::Reverse(turns[q as usize])));
                if number % asked == 0 {
                    prop_assert_eq!(queues.longest(), longest);
                }
                prop_assert_eq!(queues.total().bytes, (0..7).map(bytes).sum::<u64>());
                prop_assert_eq!(queues.backlog(queue).bytes, bytes(queue));
            }
            // Freed places are reused.
            prop_assert!(queues.nodes.len() <= 400);
        }

        /// Lists keep the order in which queues were appended.
        #[test]
        fn lists_are_those_of_a_plain_model(steps in prop::collection::vec((0u32..6, 0u8..3), 1..200)) {
            let mut queues = FlowQueues::<()>::new(Longest::Untracked);
            queues.ensure(5);
            let mut list = QueueList::default();
            let mut model: VecDeque<u32> = VecDeque::new();
            for (queue, step) in steps {
                match step {
                    0 if !model.contains(&queue) => {
                        queues.append(&mut list, queue);
                        model.push_back(queue);
                    }
                    1 if model.contains(&queue) => {
                        queues.remove(&mut list, queue);
                        model.retain(|&other| other != queue);
                    }
                    _ => {
                        queues.rotate(&mut list);
                        model.rotate_left(model.len().min(1));
                    }
                }
                prop_assert_eq!(list.first(), model.front().copied());
            }
            let mut order = Vec::new();
            while let Some(queue) = list.first() {
                order.push(queue);
                queues.remove(&mut list, queue);
            }
            prop_assert_eq!(order, Vec::from(model));
        }
    }
}
