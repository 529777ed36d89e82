//! Memories that links share, as the ports of a switch do. A packet that would wait is dropped if
//! no memory is left, or if its link's queue is above its threshold, whatever the discipline. The
//! discipline can therefore mark packets. The discipline `dynamic_threshold` reads the free memory
//! and has a threshold of its own.
//!
//! A link may have a guarantee: a part of the memory that no other link uses. The rest is shared.
//! The rest of a queue beyond its guarantee is taken from the shared part. Its threshold is a
//! multiple of what is free there (Choudhury and Hahne, Dynamic queue length thresholds for
//! shared-memory packet switches, 1998). ABM divides it by the number of congested queues (Addanki
//! et al., ABM: Active Buffer Management in Datacenters, SIGCOMM 2022). A queue counts as congested
//! here if it holds nine tenths of its threshold. ABM also multiplies by the share of its port at
//! which a queue drains; the queue of a link drains at the whole rate.
//!
//! With FAB a packet of a short flow has a higher alpha; see `link::flow_ages`.
//!
//! With longest queue drop no queue has a threshold. If a packet finds a full memory, the longest
//! queue loses its last packet; if that is the queue of the arriving packet, it loses this packet,
//! or one of its longest class (Wei, Coyle and Hsiao, An optimal buffer management policy for
//! high-performance packet switching, GLOBECOM 1991).
//!
//! A part of the memory may be headroom: it holds the bytes of lossless queues above their `xoff`,
//! and no others. A memory may consist of cells, of which each packet occupies whole ones.

use forebay_discipline::{Backlog, Limit, Packet, Shared};
use forebay_scenario::{BufferLimit, MemoryThreshold, Scenario};
use forebay_units::Bytes;

use crate::flow::Transfer;
use crate::ids::LinkId;
use crate::link::Link;
use crate::link::fifo::limit_of;
use crate::link::flow_ages::FlowAges;
use crate::memory_place::Place;

/// A memory and the links whose packets wait in it.
#[derive(Clone, Debug)]
struct Memory {
    limit: Limit,
    /// The size without the guarantees and the headroom, in the limit's unit.
    shared: u64,
    /// Bytes of the part that is headroom, if one is.
    headroom: Option<u64>,
    threshold: MemoryThreshold,
    /// The ages of flows, if the threshold is FAB's.
    ages: Option<Box<FlowAges>>,
    /// Bytes of a cell, if packets occupy whole cells.
    cell: Option<u64>,
    queues: Vec<SharingQueue>,
    /// Room for what [`Memory::congested`] sorts.
    levels: Vec<f64>,
}

/// The queue of a link in a memory. Sizes are in the unit of the memory's limit.
#[derive(Clone, Debug)]
struct SharingQueue {
    link: LinkId,
    alpha: Option<f64>,
    reserved: u64,
    /// Its present content, without what is in the headroom.
    held: u64,
    /// Its part of the headroom.
    in_headroom: u64,
    /// Its whole cells in bytes, if packets occupy cells.
    cells: u64,
}

/// The part of its threshold that a congested queue holds at least.
const CONGESTED: f64 = 0.9;

/// The memories of a scenario.
#[derive(Clone, Debug)]
pub(crate) struct Memories {
    memories: Vec<Memory>,
    /// The memory of each link, where it has one.
    of_links: Vec<Option<usize>>,
}

impl Memories {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let of_links: Vec<_> = scenario.links().iter().map(|link| link.memory).collect();
        let queues_of = |number: usize| -> Vec<SharingQueue> {
            let links = scenario.links().iter().enumerate();
            let links = links.filter(|(_, link)| link.memory == Some(number));
            links
                .map(|(at, link)| SharingQueue {
                    link: LinkId::new(at),
                    alpha: link.memory_alpha,
                    reserved: amount(link.memory_reserved),
                    held: 0,
                    in_headroom: 0,
                    cells: 0,
                })
                .collect()
        };
        let shared = scenario.memories().iter().enumerate();
        let memories = shared.map(|(number, memory)| {
            let queues = queues_of(number);
            let limit = limit_of(memory.size);
            let (Limit::Packets(size) | Limit::Bytes(size)) = limit;
            let reserved: u64 = queues.iter().map(|queue| queue.reserved).sum();
            Memory {
                limit,
                shared: size - reserved - amount(memory.headroom),
                headroom: memory.headroom.map(|part| amount(Some(part))),
                threshold: memory.threshold,
                ages: (memory.threshold == MemoryThreshold::Fab)
                    .then(|| Box::new(FlowAges::new(memory))),
                cell: memory.cell.map(Bytes::get),
                queues,
                levels: Vec::new(),
            }
        });
        Self {
            memories: memories.collect(),
            of_links: of_links.clone(),
        }
    }

    /// Whether no link shares any.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.memories.is_empty()
    }

    /// The memory of link `at`, where it has one.
    fn of(&self, at: LinkId) -> Option<&Memory> {
        self.of_links[at.index()].map(|number| &self.memories[number])
    }

    /// Whether packets at link `at` occupy cells.
    pub(crate) fn has_cells(&self, at: LinkId) -> bool {
        self.of(at).is_some_and(|memory| memory.cell.is_some())
    }

    /// The bytes that a packet of this size occupies at link `at`.
    pub(crate) fn occupied(&self, at: LinkId, size: u32) -> u32 {
        self.of(at).map_or(size, |memory| memory.occupied(size))
    }

    /// A packet is at link `at` from now on, or is not any more. Only memories of cells count it.
    pub(crate) fn count(&mut self, at: LinkId, size: u32, arrives: bool) {
        let Some(number) = self.of_links[at.index()] else {
            return;
        };
        let memory = &mut self.memories[number];
        if memory.cell.is_none() {
            return;
        }
        let bytes = u64::from(memory.occupied(size));
        if let Some(queue) = memory.queues.iter_mut().find(|queue| queue.link == at) {
            queue.cells = if arrives {
                queue.cells + bytes
            } else {
                queue.cells - bytes
            };
        }
    }

    /// Whether link `at` asks for the ages of flows.
    pub(crate) fn has_ages(&self, at: LinkId) -> bool {
        self.of(at).is_some_and(|memory| memory.ages.is_some())
    }

    /// Alpha of an arriving packet of a transfer at link `at` instead of that of the link, if its
    /// flow is short.
    pub(crate) fn short_alpha(
        &mut self,
        (packet, at): (&Packet, LinkId),
        transfer: Option<&Transfer>,
    ) -> Option<f64> {
        let number = self.of_links[at.index()]?;
        let ages = self.memories[number].ages.as_mut()?;
        ages.count((packet, at), transfer)
            .then_some(ages.short_alpha)
    }

    /// The place of an arriving packet at link `at`; none if the link has no such memory. Tells the
    /// link what waits in all of its memory. `headroom` has the bytes of a link in the headroom.
    #[cold]
    pub(crate) fn place(
        &mut self,
        (packet, at, short_alpha): (&Packet, LinkId, Option<f64>),
        links: &mut [Link],
        headroom: impl Fn(LinkId) -> u64,
    ) -> Option<Place> {
        let memory = &mut self.memories[self.of_links[at.index()]?];
        let mut shared = Shared {
            limit: memory.limit,
            used: Backlog::default(),
        };
        for queue in &mut memory.queues {
            let mut waiting = links[queue.link.index()].what_waits(packet.arrival);
            if memory.cell.is_some() {
                waiting.bytes = queue.cells;
            }
            shared.used.packets += waiting.packets;
            shared.used.bytes += waiting.bytes;
            queue.in_headroom = memory.headroom.map_or(0, |_| headroom(queue.link));
            queue.held = memory.limit.count(waiting);
        }
        let in_headroom: u64 = memory.queues.iter().map(|queue| queue.in_headroom).sum();
        memory.exclude_headroom();
        let link = &mut links[at.index()];
        link.share(shared);
        let has_room = memory.admits(packet.size, at, short_alpha);
        let fits = link.sends_at_once(packet) || has_room;
        Some(Place {
            fits,
            free: memory.free(),
            headroom: memory.headroom.map(|part| part.saturating_sub(in_headroom)),
            longest: match memory.threshold {
                MemoryThreshold::Lqd if !fits => {
                    let is_own = matches!(link, Link::Queued(it) if it.has_longer_class(packet));
                    let longest = memory.longest(packet.size, at);
                    longest.or(is_own.then_some(at))
                }
                _ => None,
            },
        })
    }
}

/// A size in its own unit.
fn amount(part: Option<BufferLimit>) -> u64 {
    match part {
        Some(BufferLimit::Packets(count)) => count,
        Some(BufferLimit::Bytes(bytes)) => bytes.get(),
        None => 0,
    }
}

impl Memory {
    /// The bytes that a packet occupies.
    fn occupied(&self, size: u32) -> u32 {
        let cell = self.cell.map(|cell| cell as u32);
        cell.map_or(size, |cell| size.div_ceil(cell) * cell)
    }

    /// The same in the unit of the limit.
    fn counted(&self, size: u32) -> u64 {
        let mut arriving = Backlog::default();
        arriving.add(self.occupied(size));
        self.limit.count(arriving)
    }

    /// Takes the headroom from what the queues hold. With the counters of ingress ports, a queue
    /// may have begun a pause for which other queues hold the bytes.
    fn exclude_headroom(&mut self) {
        let mut of_others = 0;
        for queue in &mut self.queues {
            let own = queue.in_headroom.min(queue.held);
            queue.held -= own;
            of_others += queue.in_headroom - own;
        }
        for queue in &mut self.queues {
            let part = of_others.min(queue.held);
            queue.held -= part;
            of_others -= part;
        }
    }

    /// The rest of the shared part that no queue uses.
    fn free(&self) -> u64 {
        let used: u64 = self.queues.iter().map(SharingQueue::beyond).sum();
        self.shared.saturating_sub(used)
    }

    /// Whether a packet of this size may wait in the queue of link `at`. If it belongs to a short
    /// flow, it has an alpha of its own.
    fn admits(&mut self, size: u32, at: LinkId, short_alpha: Option<f64>) -> bool {
        let size = self.counted(size);
        let used: u64 = self.queues.iter().map(SharingQueue::beyond).sum();
        let free = self.shared.saturating_sub(used) as f64;
        let congested = match self.threshold {
            MemoryThreshold::Dynamic | MemoryThreshold::Fab | MemoryThreshold::Lqd => 1,
            MemoryThreshold::Abm => self.congested(free),
        };
        let Some(queue) = self.queues.iter().find(|queue| queue.link == at) else {
            return true;
        };
        if queue.held + size <= queue.reserved {
            return true;
        }
        let more = queue.held + size - queue.reserved.max(queue.held);
        let alpha = queue.alpha.map(|alpha| short_alpha.unwrap_or(alpha));
        let threshold = alpha.map(|alpha| alpha * free / congested as f64);
        let is_above = threshold.is_some_and(|threshold| queue.beyond() as f64 >= threshold);
        used + more <= self.shared && !is_above
    }

    /// The queue with the most packets beyond its guarantee, if a packet of this size joined that
    /// of link `at`; none if that one would be the longest.
    fn longest(&self, size: u32, at: LinkId) -> Option<LinkId> {
        let size = self.counted(size);
        let own = self.queues.iter().find(|queue| queue.link == at)?;
        let own = (own.held + size).saturating_sub(own.reserved);
        // Of equal queues the first one.
        let others = self.queues.iter().rev().filter(|queue| queue.link != at);
        let longest = others.max_by_key(|queue| queue.beyond())?;
        (longest.beyond() > own).then_some(longest.link)
    }

    /// The number of congested queues if `free` is free: the largest number of queues that are all
    /// congested if this many are; at least 1.
    fn congested(&mut self, free: f64) -> usize {
        let levels = &mut self.levels;
        levels.clear();
        // What each holds, in parts of the threshold that it has alone.
        levels.extend(self.queues.iter().filter_map(|queue| {
            let threshold = queue.alpha? * free;
            (queue.beyond() > 0).then(|| queue.beyond() as f64 / threshold.max(f64::MIN_POSITIVE))
        }));
        levels.sort_unstable_by(|a, b| b.total_cmp(a));
        let counted = levels.iter().zip(1_u32..);
        let congested = counted.filter(|(level, count)| **level >= CONGESTED / f64::from(*count));
        congested.last().map_or(1, |(_, count)| count as usize)
    }
}

impl SharingQueue {
    /// Its part of the shared memory.
    fn beyond(&self) -> u64 {
        self.held.saturating_sub(self.reserved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A waiting byte is in the headroom or in the shared part, whichever queue began the pause.
    #[test]
    fn the_shared_part_holds_what_is_not_in_the_headroom() {
        for (held, in_headroom) in [
            ([110, 0], [60, 0]),
            ([10, 100], [60, 0]),
            ([100, 10], [0, 60]),
        ] {
            let queue = |number: usize| SharingQueue {
                link: LinkId::new(number),
                alpha: None,
                reserved: 0,
                held: held[number],
                in_headroom: in_headroom[number],
                cells: 0,
            };
            let mut memory = Memory {
                limit: Limit::Bytes(1000),
                shared: 900,
                headroom: Some(100),
                threshold: MemoryThreshold::Dynamic,
                ages: None,
                cell: None,
                queues: vec![queue(0), queue(1)],
                levels: Vec::new(),
            };
            memory.exclude_headroom();
            assert_eq!(memory.free(), 900 - (110 - 60), "{held:?}");
        }
    }
}
