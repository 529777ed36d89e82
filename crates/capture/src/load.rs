//! The load of an interface in one direction: its packets by time, size, protocol and ECN
//! codepoint.

use crate::bins::{Amount, Bins};
use crate::packet::{Ecn, Packet};

/// Initial width of the bins: 1 ms, in nanoseconds.
const WIDTH: u64 = 1_000_000;
/// Number of bins above which pairs are merged.
const MOST_BINS: usize = 1 << 20;
/// Largest size that is counted exactly, in bytes. Larger packets count with this size.
const MOST_SIZE: u32 = 65_535;
/// Largest IP packet that is not counted as oversized, in bytes. A larger one does not fit into a
/// standard Ethernet frame: it is a jumbo frame, or segmentation offload acts at the capture point.
const ORDINARY: u32 = 1514;

/// The load of an interface in one direction.
#[derive(Clone, Debug)]
pub struct Load {
    /// All packets, in bytes of IP.
    pub total: Amount,
    /// Bytes of all frames on the wire, as the capture states them.
    pub frame_bytes: u64,
    /// Times of the first and of the last packet, in nanoseconds.
    pub between: Option<(u64, u64)>,
    /// Packets and bytes in bins of 1 ms times a power of two.
    pub bins: Bins<Amount>,
    /// Number of packets by size in bytes of IP, up to 65535.
    pub sizes: Vec<u64>,
    /// Packets and bytes by protocol number (IANA).
    pub protocols: Vec<Amount>,
    /// Packets and bytes by codepoint: not ECN-capable, ECT(0), ECT(1), CE.
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

    /// Counts a packet at a time in nanoseconds.
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

/// The index of a codepoint in [`Load::codepoints`].
fn codepoint(ecn: Ecn) -> usize {
    match ecn {
        Ecn::NotCapable => 0,
        Ecn::Capable0 => 1,
        Ecn::Capable1 => 2,
        Ecn::Marked => 3,
    }
}
