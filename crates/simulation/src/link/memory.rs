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

use forebay_discipline::{Backlog, Limit, Packet, Shared};
use forebay_scenario::{BufferLimit, MemoryThreshold, Scenario};

use crate::ids::LinkId;
use crate::link::Link;
use crate::link::fifo::limit_of;

/// A memory and the links whose packets wait in it.
#[derive(Clone, Debug)]
struct Memory {
    limit: Limit,
    /// The size without the guarantees, in the limit's unit.
    shared: u64,
    threshold: MemoryThreshold,
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
    /// Its present content.
    held: u64,
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
                    reserved: match link.memory_reserved {
                        Some(BufferLimit::Packets(count)) => count,
                        Some(BufferLimit::Bytes(bytes)) => bytes.get(),
                        None => 0,
                    },
                    held: 0,
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
                shared: size - reserved,
                threshold: memory.threshold,
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

    /// Whether an arriving packet finds memory at link `at`, or needs none; tells the link what
    /// waits in all of its memory.
    #[cold]
    pub(crate) fn has_room(&mut self, packet: &Packet, at: LinkId, links: &mut [Link]) -> bool {
        let Some(number) = self.of_links[at.index()] else {
            return true;
        };
        let memory = &mut self.memories[number];
        let mut shared = Shared {
            limit: memory.limit,
            used: Backlog::default(),
        };
        for queue in &mut memory.queues {
            let waiting = links[queue.link.index()].what_waits(packet.arrival);
            shared.used.packets += waiting.packets;
            shared.used.bytes += waiting.bytes;
            queue.held = memory.limit.count(waiting);
        }
        let link = &mut links[at.index()];
        link.share(shared);
        let has_room = memory.admits(packet.size, at);
        link.sends_at_once(packet) || has_room
    }
}

impl Memory {
    /// Whether a packet of this size may wait in the queue of link `at`.
    fn admits(&mut self, size: u32, at: LinkId) -> bool {
        let mut arriving = Backlog::default();
        arriving.add(size);
        let size = self.limit.count(arriving);
        let used: u64 = self.queues.iter().map(SharingQueue::beyond).sum();
        let free = self.shared.saturating_sub(used) as f64;
        let congested = match self.threshold {
            MemoryThreshold::Dynamic => 1,
            MemoryThreshold::Abm => self.congested(free),
        };
        let Some(queue) = self.queues.iter().find(|queue| queue.link == at) else {
            return true;
        };
        if queue.held + size <= queue.reserved {
            return true;
        }
        let more = queue.held + size - queue.reserved.max(queue.held);
        let threshold = queue.alpha.map(|alpha| alpha * free / congested as f64);
        let is_above = threshold.is_some_and(|threshold| queue.beyond() as f64 >= threshold);
        used + more <= self.shared && !is_above
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
