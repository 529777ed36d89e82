//! What an interface carried one way: when, in which sizes, of which protocols and codepoints.

use crate::bins::{Amount, Bins};
use crate::packet::{Ecn, Packet};

/// Width of the bins to begin with: a millisecond.
const WIDTH: u64 = 1_000_000;
/// How many bins there are before pairs are merged.
const MOST_BINS: usize = 1 << 20;
/// Sizes up to this one are counted exactly; larger ones as if they were so large.
const MOST_SIZE: u32 = 65_535;
/// IP packets above this size do not fit into an Ethernet frame: without jumbo frames they were seen
/// before the card split them or after it joined them.
const ORDINARY: u32 = 1514;

/// What an interface carried one way.
#[derive(Clone, Debug)]
pub struct Load {
    /// All packets, in bytes of IP.
    pub total: Amount,
    /// Bytes of all frames on the wire, as the capture states them.
    pub frame_bytes: u64,
    /// Times of the first and of the last packet, in nanoseconds.
    pub between: Option<(u64, u64)>,
    /// Packets and bytes in bins of a millisecond or a power of two of them.
    pub bins: Bins<Amount>,
    /// Packets by size in bytes of IP, up to 65535.
    pub sizes: Vec<u64>,
    /// Packets and bytes by number of the protocol (IANA).
    pub protocols: Vec<Amount>,
    /// Packets and bytes by codepoint: not capable, ECT(0), ECT(1), CE.
    pub codepoints: [Amount; 4],
    /// Packets larger than 1514 bytes: segmentation offload at the capture point, or jumbo frames.
    pub oversized: Amount,
    /// The largest packet, in bytes of IP.
    pub largest: u32,
}

impl Load {
    pub(crate) fn new(origin: u64) -> Self {
        Self {
            total: Amount::default(),
            frame_bytes: 0,
            between: None,
            bins: Bins::new(origin, WIDTH, MOST_BINS),
            sizes: Vec::new(),
            protocols: vec![Amount::default(); 256],
            codepoints: [Amount::default(); 4],
            oversized: Amount::default(),
            largest: 0,
        }
    }

    /// Counts a packet that was seen at this time.
    pub(crate) fn add(&mut self, time: u64, packet: &Packet) {
        let bytes = packet.bytes;
        self.total.add(bytes);
        self.frame_bytes += u64::from(packet.frame_bytes);
        let first = self.between.map_or(time, |(first, _)| first);
        self.between = Some((first, time));
        self.bins.at(time).add(bytes);
        let size = bytes.min(MOST_SIZE) as usize;
        if self.sizes.len() <= size {
            self.sizes.resize(size + 1, 0);
        }
        self.sizes[size] += 1;
        self.protocols[usize::from(packet.flow.protocol)].add(bytes);
        self.codepoints[codepoint(packet.ecn)].add(bytes);
        if bytes > ORDINARY {
            self.oversized.add(bytes);
        }
        self.largest = self.largest.max(bytes);
    }
}

/// The place of a codepoint in [`Load::codepoints`].
fn codepoint(ecn: Ecn) -> usize {
    match ecn {
        Ecn::NotCapable => 0,
        Ecn::Capable0 => 1,
        Ecn::Capable1 => 2,
        Ecn::Marked => 3,
    }
}
