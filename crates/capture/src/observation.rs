//! The result of a capture, which the observer returns. It contains no addresses.

use crate::bins::Amount;
use crate::clock::ClockSteps;
use crate::direction_inference::DirectionEvidence;
use crate::finished::Streams;
use crate::gaps::Gap;
use crate::load::Load;
use crate::queue::Crossed;

/// Result of a capture. Times are in nanoseconds of the capture's clock.
#[derive(Clone, Debug)]
pub struct Observation {
    /// Number of all packets.
    pub packets: u64,
    /// Times of the first and of the last packet.
    pub between: Option<(u64, u64)>,
    /// The interfaces in the order of their numbers.
    pub interfaces: Vec<ObservedInterface>,
    /// Queue between two interfaces, if the settings name them.
    pub queue: Option<Crossed>,
    /// Number of TCP connections and UDP flows.
    pub connections: u64,
    /// Maximum number of connections that were live at once.
    pub max_concurrent_flows: u64,
    /// Number of connections that ended because too many were live.
    pub evicted: u64,
    /// Packets of interfaces beyond the first sixteen, which are only counted.
    pub unobserved: Amount,
}

/// Result of an interface.
#[derive(Clone, Debug)]
pub struct ObservedInterface {
    /// Number of the interface, counted over all files.
    pub number: u16,
    /// Irregularities of its clock.
    pub clock: ClockSteps,
    /// Evidence by which the directions were distinguished.
    pub evidence: DirectionEvidence,
    /// Index of the direction that came in; `None` if the capture does not say so.
    pub inbound: Option<u8>,
    /// Direction with more bytes, then the other one.
    pub directions: [Direction; 2],
}

/// Result of one direction of an interface.
#[derive(Clone, Debug)]
pub struct Direction {
    /// Load of the direction.
    pub load: Load,
    /// Times between consecutive packets by their sizes.
    pub gaps: Vec<Gap>,
    /// Tick of the clock of the time stamps, in nanoseconds: a power of ten.
    pub tick: u64,
    /// Streams of the direction.
    pub streams: Streams,
    /// Packets without a connection: neither TCP nor UDP, fragments, and truncated headers.
    pub other: Amount,
}
