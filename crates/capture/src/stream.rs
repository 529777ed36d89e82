//! A stream: one direction of a connection with payload, as it is told when it has ended.

use crate::pacing::Evenness;
use crate::pauses::{Pause, Spent};
use crate::round_trip::Least;
use crate::rounds::Windows;
use crate::series::Series;

/// How a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Its sender said so (FIN).
    Fin,
    /// One end broke the connection off (RST).
    Reset,
    /// Nothing came for a long time.
    Idle,
    /// Too many connections were alive at once, and this one was silent for longest.
    Evicted,
    /// A new connection took its addresses and ports.
    Reused,
    /// The capture ended.
    Capture,
}

impl Ending {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fin => "fin",
            Self::Reset => "rst",
            Self::Idle => "idle",
            Self::Evicted => "evicted",
            Self::Reused => "reused",
            Self::Capture => "capture",
        }
    }
}

/// Losses within a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// When the first repair was seen, in nanoseconds.
    pub time: u64,
    /// Whether it was lost before the capture point: a gap was filled. Else payload was seen again.
    pub before: bool,
}

/// One direction of a connection with payload. Times and durations are in nanoseconds.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Number of its connection, in the order in which they began; both directions share it.
    pub connection: u64,
    /// The same for this direction of these addresses and ports at every interface, and for few others: a
    /// hash whose seed is drawn anew by each process.
    pub path: u64,
    /// Number of the protocol (IANA): 6 is TCP, 17 is UDP.
    pub protocol: u8,
    /// Between 0 and 1: how much its packets look like QUIC (RFC 9000).
    pub quic: f64,
    /// Whether its SYN was seen.
    pub begun: bool,
    /// How it ended.
    pub ending: Ending,
    /// Time of its first packet.
    pub first: u64,
    /// Time of its last packet.
    pub last: u64,
    /// Time of its first packet with payload.
    pub first_data: u64,
    /// Time of its last packet with payload.
    pub last_data: u64,
    /// All its packets.
    pub packets: u64,
    /// Bytes of all its IP packets.
    pub bytes: u64,
    /// Packets with payload.
    pub data_packets: u64,
    /// Bytes of payload.
    pub payload: u64,
    /// Bytes of payload, each place of the sequence counted once.
    pub distinct: u64,
    /// Bytes that were acknowledged and never seen here: the capture lost them, or they took another way.
    pub unseen: u64,
    /// The largest payload of a packet, in bytes.
    pub largest_payload: u32,
    /// The largest segment that the receiver takes, by its SYN.
    pub announced_segment: Option<u16>,
    /// Packets that are ECN-capable.
    pub capable: u64,
    /// Packets that are marked (CE).
    pub marks: u64,
    /// Packets of the other end that echo a mark (ECE, RFC 3168).
    pub echoes: u64,
    /// Packets that say that the window was reduced (CWR, RFC 3168).
    pub reduced: u64,
    /// Packets with payload that had been seen before: lost behind this place, or repeated for nothing.
    pub repeated_packets: u64,
    /// Bytes of such payload.
    pub repeated: u64,
    /// Packets that filled a gap late: lost before this place.
    pub filled_packets: u64,
    /// Bytes of such payload.
    pub filled: u64,
    /// Packets that filled a gap at once: overtaken.
    pub reordered_packets: u64,
    /// Events of loss: losses within a round trip are one.
    pub losses: u64,
    /// The first ones.
    pub loss_times: Vec<Loss>,
    /// Acknowledgments with selective blocks.
    pub selective_acks: u64,
    /// Acknowledgments that tell of payload that came twice (RFC 2883).
    pub duplicate_selective_acks: u64,
    /// Acknowledgments that repeat the number before, without payload, while data is outstanding.
    pub duplicate_acks: u64,
    /// Acknowledgments that say that nothing more is taken.
    pub zero_windows: u64,
    /// From data to the acknowledgment that covers it.
    pub behind: Least,
    /// From data to the first echo of its timestamp.
    pub behind_timestamps: Least,
    /// From an acknowledgment to the first data that echoes its timestamp.
    pub before: Least,
    /// From here to the receiver and back, by the handshake.
    pub handshake_behind: Option<u64>,
    /// From here to the sender and back, by the handshake.
    pub handshake_before: Option<u64>,
    /// The whole round trip by QUIC's spin bit (RFC 9000 section 17.4).
    pub spin: Least,
    /// From data to the acknowledgment: 5th, 50th and 95th percentile.
    pub behind_quantiles: [Option<f64>; 3],
    /// From an acknowledgment to data: 5th, 50th and 95th percentile.
    pub before_quantiles: [Option<f64>; 3],
    /// A tick of the sender's timestamps.
    pub tick: Option<f64>,
    /// The most bytes between the highest that was seen and the highest that was acknowledged.
    pub largest_flight: Option<u64>,
    /// The smallest and the largest receive window, in bytes; not told where its scale was not seen.
    pub receive_window: Option<(u32, u32)>,
    /// Whether the scale of the receive window is known (both SYNs were seen).
    pub scale_known: bool,
    /// What it spent its time with.
    pub spent: Spent,
    /// Its longest pauses.
    pub pauses: Vec<Pause>,
    /// How evenly its packets came.
    pub evenness: Option<Evenness>,
    /// What its sender made of its window; empty without TCP timestamps in both directions.
    pub windows: Windows,
    /// What it did over time, where it has more than 64 packets with payload and there was memory.
    pub series: Option<Series>,
    /// Packets that came to the queue and did not come out; where both sides were seen.
    pub dropped: u64,
    /// Packets that were marked in the queue; where both sides were seen.
    pub marked_inside: u64,
}

impl Stream {
    /// The least round trip from here to the receiver, by whatever tells it.
    pub fn least_behind(&self) -> Option<u64> {
        let measured = [self.behind.least(), self.behind_timestamps.least()];
        measured
            .into_iter()
            .chain([self.handshake_behind])
            .flatten()
            .min()
    }

    /// The least round trip from here to the sender, by whatever tells it.
    pub fn least_before(&self) -> Option<u64> {
        let measured = [self.before.least(), self.handshake_before];
        measured.into_iter().flatten().min()
    }

    /// The base round trip: the least to the receiver and to the sender together; by the spin bit where
    /// nothing else tells it.
    pub fn base_round_trip(&self) -> Option<u64> {
        let sum = self.least_behind().zip(self.least_before());
        sum.map(|(behind, before)| behind.saturating_add(before))
            .or(self.spin.least())
    }

    /// How long it took from its first packet to its last one.
    pub fn duration(&self) -> u64 {
        self.last.saturating_sub(self.first)
    }
}
