//! Memories that links share, as the ports of a switch do. A packet that would wait where no
//! memory is left is dropped, whatever its link's discipline; the discipline
//! `dynamic_threshold` looks at what is left and keeps some for other ports.

use forebay_discipline::{Limit, Packet, Shared};
use forebay_scenario::Scenario;

use crate::link::limit_of;
use crate::simulation::Simulation;

/// A memory and the links whose packets wait in it.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    limit: Limit,
    links: Vec<usize>,
}

/// The memories of a scenario.
pub(crate) fn memories(scenario: &Scenario) -> Vec<Memory> {
    let shared = scenario.memories().iter().enumerate();
    shared
        .map(|(number, memory)| {
            let links = scenario.links().iter().enumerate();
            let links = links.filter(|(_, link)| link.memory == Some(number));
            Memory {
                limit: limit_of(memory.size),
                links: links.map(|(at, _)| at).collect(),
            }
        })
        .collect()
}

impl Simulation<'_> {
    /// Whether an arriving packet finds memory at link `at`, or needs none; tells the link what
    /// waits in all of its memory.
    #[cold]
    pub(crate) fn finds_memory(&mut self, packet: &Packet, at: usize) -> bool {
        let Some(number) = self.scenario.links()[at].memory else {
            return true;
        };
        let memory = &self.memories[number];
        let mut shared = Shared {
            limit: memory.limit,
            used: forebay_discipline::Backlog::default(),
        };
        for &link in &memory.links {
            let waiting = self.links[link].what_waits(packet.arrival);
            shared.used.packets += waiting.packets;
            shared.used.bytes += waiting.bytes;
        }
        let link = &mut self.links[at];
        link.share(shared);
        link.is_idle(packet.arrival) || shared.limit.fits(shared.used, packet.size)
    }
}
