//! Memories that links share, as the ports of a switch do. A packet that would wait is dropped if
//! no memory is left, whatever its link's discipline. The discipline `dynamic_threshold` reads the
//! free memory and leaves some to other ports.

use forebay_discipline::{Backlog, Limit, Packet, Shared};
use forebay_scenario::Scenario;

use crate::ids::LinkId;
use crate::link::Link;
use crate::link::fifo::limit_of;

/// A memory and the links whose packets wait in it.
#[derive(Clone, Debug)]
struct Memory {
    limit: Limit,
    links: Vec<LinkId>,
}

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
        let links_of = |number: usize| {
            let links = of_links.iter().enumerate();
            let links = links.filter(move |(_, memory)| **memory == Some(number));
            links.map(|(at, _)| LinkId::new(at)).collect()
        };
        let shared = scenario.memories().iter().enumerate();
        let memories = shared.map(|(number, memory)| Memory {
            limit: limit_of(memory.size),
            links: links_of(number),
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
    pub(crate) fn has_room(&self, packet: &Packet, at: LinkId, links: &mut [Link]) -> bool {
        let Some(number) = self.of_links[at.index()] else {
            return true;
        };
        let memory = &self.memories[number];
        let mut shared = Shared {
            limit: memory.limit,
            used: Backlog::default(),
        };
        for &link in &memory.links {
            let waiting = links[link.index()].what_waits(packet.arrival);
            shared.used.packets += waiting.packets;
            shared.used.bytes += waiting.bytes;
        }
        let link = &mut links[at.index()];
        link.share(shared);
        link.is_idle(packet.arrival) || shared.limit.fits(shared.used, packet.size)
    }
}
