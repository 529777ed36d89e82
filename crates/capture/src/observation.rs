//! What a capture comes to, once it is over. Addresses are not in it.

use crate::bins::Amount;
use crate::clock::ClockSteps;
use crate::gaps::Gap;
use crate::kept::Streams;
use crate::load::Load;
use crate::queue::Crossed;
use crate::sides::Told;

/// What a capture comes to. Times are in nanoseconds of the capture's clock.
#[derive(Clone, Debug)]
pub struct Observation {
    /// All packets.
    pub packets: u64,
    /// Times of the first and of the last packet.
    pub between: Option<(u64, u64)>,
    /// The interfaces in the order of their numbers.
    pub interfaces: Vec<ObservedInterface>,
    /// The queue between two interfaces, where they were named.
    pub queue: Option<Crossed>,
    /// How many connections there were, and flows of UDP.
    pub connections: u64,
    /// The most of them that were alive at once.
    pub most_alive: u64,
    /// How many were given up because too many were alive.
    pub evicted: u64,
    /// Packets of interfaces beyond the first sixteen: they are counted and not looked at.
    pub unobserved: Amount,
}

/// An interface.
#[derive(Clone, Debug)]
pub struct ObservedInterface {
    /// Its number, counted over all files.
    pub number: u16,
    /// What its clock did.
    pub clock: ClockSteps,
    /// By what directions were told apart.
    pub told: Told,
    /// Which of the directions came in; None where the capture does not say.
    pub inbound: Option<u8>,
    /// The direction with more bytes, and the other one.
    pub directions: [Direction; 2],
}

/// One direction past an interface.
#[derive(Clone, Debug)]
pub struct Direction {
    /// What it carried.
    pub load: Load,
    /// Times between consecutive packets by their sizes.
    pub gaps: Vec<Gap>,
    /// The tick of the clock by which packets were stamped: a power of ten, in nanoseconds.
    pub tick: u64,
    /// Its streams.
    pub streams: Streams,
    /// Packets that belong to no connection: neither TCP nor UDP, fragments, headers that were cut off.
    pub other: Amount,
}
