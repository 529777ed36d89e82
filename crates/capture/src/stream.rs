//! A stream: one direction of a connection with payload, with all measurements. It is complete when
//! the connection has ended.

use crate::pacing::Evenness;
use crate::pauses::{Pause, Spent};
use crate::round_trip::Least;
use crate::series::Series;
use crate::window_rounds::Windows;

/// Reason why a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The sender closed it (FIN).
    Fin,
    /// One end reset the connection (RST).
    Reset,
    /// No packet came for a long time.
    Idle,
    /// Too many connections were live, and this one had been silent for the longest time.
    Evicted,
    /// A new connection used its addresses and ports.
    Reused,
    /// The capture ended.
    Capture,
}

impl Ending {
    /// The name of the reason in reports.
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

/// A loss event: all losses within a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Time of the first retransmission, in nanoseconds.
    pub time: u64,
    /// Whether the loss is upstream of the capture point, because a gap was filled. Else payload
    /// was seen twice.
    pub before: bool,
}

/// One direction of a connection with payload. Times and durations are in nanoseconds. `behind` is
/// the path between the capture point and the receiver, `before` that between the sender and the
/// capture point.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Number of the connection, in the order in which connections began; the same for both
    /// directions.
    pub connection: u64,
    /// Hash of the addresses, ports and direction, which is equal at every interface. Different
    /// flows rarely share it. Each observer draws a new seed.
    pub path: u64,
    /// Protocol number (IANA): 6 is TCP, 17 is UDP.
    pub protocol: u8,
    /// Similarity of the packets to QUIC (RFC 9000), from 0 to 1.
    pub quic: f64,
    /// Whether the SYN was seen.
    pub begun: bool,
    /// Reason why the stream ended.
    pub ending: Ending,
    /// Time of the first packet.
    pub first: u64,
    /// Time of the last packet.
    pub last: u64,
    /// Time of the first packet with payload.
    pub first_data: u64,
    /// Time of the last packet with payload.
    pub last_data: u64,
    /// Number of all packets.
    pub packets: u64,
    /// Bytes of all IP packets.
    pub bytes: u64,
    /// Number of packets with payload.
    pub data_packets: u64,
    /// Bytes of payload.
    pub payload: u64,
    /// Bytes of payload; each byte of the sequence counts once.
    pub distinct: u64,
    /// Bytes that were acknowledged and never seen: the capture lost them, or they took another
    /// path.
    pub unseen: u64,
    /// Largest payload of a packet, in bytes.
    pub largest_payload: u32,
    /// Maximum segment size in the receiver's SYN, in bytes.
    pub announced_segment: Option<u16>,
    /// Packets that are ECN-capable.
    pub capable: u64,
    /// Packets that are marked (CE).
    pub marks: u64,
    /// Packets of the other end that echo a mark (ECE, RFC 3168).
    pub echoes: u64,
    /// Packets that report a reduced window (CWR, RFC 3168).
    pub reduced: u64,
    /// Packets with payload that had been seen before: lost downstream, or retransmitted
    /// spuriously.
    pub repeated_packets: u64,
    /// Bytes of payload that had been seen before.
    pub repeated: u64,
    /// Packets that filled a gap late: they were lost upstream.
    pub filled_packets: u64,
    /// Bytes that filled a gap late.
    pub filled: u64,
    /// Packets that filled a gap in time: they were overtaken.
    pub reordered_packets: u64,
    /// Number of loss events; losses within a round trip are one event.
    pub losses: u64,
    /// First loss events.
    pub loss_times: Vec<Loss>,
    /// Acknowledgments with selective blocks.
    pub selective_acks: u64,
    /// Acknowledgments that report payload received twice (RFC 2883).
    pub duplicate_selective_acks: u64,
    /// Acknowledgments that repeat the number before, without payload, while data is outstanding.
    pub duplicate_acks: u64,
    /// Acknowledgments with a receive window of zero.
    pub zero_windows: u64,
    /// Times from data to the acknowledgment that covers it.
    pub behind: Least,
    /// Times from data to the first echo of its timestamp.
    pub behind_timestamps: Least,
    /// Times from an acknowledgment to the first data that echoes its timestamp.
    pub before: Least,
    /// Round trip from the capture point to the receiver, from the handshake.
    pub handshake_behind: Option<u64>,
    /// Round trip from the capture point to the sender, from the handshake.
    pub handshake_before: Option<u64>,
    /// Whole round trips, from QUIC's spin bit (RFC 9000 section 17.4).
    pub spin: Least,
    /// 5th, 50th and 95th percentile of the times from data to its acknowledgment.
    pub behind_quantiles: [Option<f64>; 3],
    /// 5th, 50th and 95th percentile of the times from an acknowledgment to data.
    pub before_quantiles: [Option<f64>; 3],
    /// Length of a tick of the sender's timestamps.
    pub tick: Option<f64>,
    /// Largest number of bytes between the highest seen and the highest acknowledged byte.
    pub largest_flight: Option<u64>,
    /// Smallest and largest receive window, in bytes; `None` if its scale was not seen.
    pub receive_window: Option<(u32, u32)>,
    /// Whether the scale of the receive window is known (both SYNs were seen).
    pub scale_known: bool,
    /// Times that the stream spent in each state.
    pub spent: Spent,
    /// Longest pauses, in order of time.
    pub pauses: Vec<Pause>,
    /// Regularity of the packets.
    pub evenness: Option<Evenness>,
    /// Congestion window of the sender over time. Empty if TCP timestamps are missing in a
    /// direction.
    pub windows: Windows,
    /// Time series; `None` up to 64 packets with payload, or if memory was short.
    pub series: Option<Series>,
    /// Packets that the queue dropped, if both sides were captured.
    pub dropped: u64,
    /// Packets that the queue marked, if both sides were captured.
    pub marked_inside: u64,
}

impl Stream {
    /// The smallest round trip from the capture point to the receiver, from any measurement.
    pub fn least_behind(&self) -> Option<u64> {
        let measured = [self.behind.least(), self.behind_timestamps.least()];
        measured
            .into_iter()
            .chain([self.handshake_behind])
            .flatten()
            .min()
    }

    /// The smallest round trip from the capture point to the sender, from any measurement.
    pub fn least_before(&self) -> Option<u64> {
        let measured = [self.before.least(), self.handshake_before];
        measured.into_iter().flatten().min()
    }

    /// The base round trip: the sum of the smallest round trips to the receiver and to the sender.
    /// If one is missing, the spin bit is used.
    pub fn base_round_trip(&self) -> Option<u64> {
        let sum = self.least_behind().zip(self.least_before());
        sum.map(|(behind, before)| behind.saturating_add(before))
            .or(self.spin.least())
    }

    /// The time from the first packet to the last one.
    pub fn duration(&self) -> u64 {
        self.last.saturating_sub(self.first)
    }
}
