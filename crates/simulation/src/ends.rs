//! The two ends of a connection as modules below the hosts see them: sizes and headers of packets,
//! and the figures for the report. Engines implement [`Ends`].

use std::fmt::Debug;

use forebay_congestion::packet::Window;
use forebay_discipline::Label;
use forebay_scenario::{HeaderRecord, Segment};
use forebay_units::Time;

use crate::telemetry::HopTelemetry;

/// Both ends of one connection: a sender and its receiver.
pub trait Ends: Debug {
    /// Bytes of the data packet with these low bits of its number, `full` being those of a full
    /// one.
    fn size(&self, number: u32, full: u32) -> u32;

    /// Bytes of the acknowledgment with this number, `full` being what the flow says of them.
    fn acknowledgment_size(&self, _number: u32, full: u32) -> u32 {
        full
    }

    /// The label that a discipline reads from the data packet with these low bits of its number.
    /// `label` is that of its group.
    fn label(&self, number: u32, label: Label) -> Label;

    /// The identity of an acknowledgment with this number, or of a data packet.
    fn identify(&self, number: u32, direction: Direction) -> Identity;

    /// The header of a data packet that comes to the target link, or of an acknowledgment that
    /// crosses it. The recorder calls this once for each packet.
    fn header(&mut self, _number: u32, _direction: Direction) -> HeaderRecord {
        HeaderRecord::Plain
    }

    /// A link has lost the data packet, or the acknowledgment, with this number.
    fn lose(&mut self, _number: u32, _direction: Direction) {}

    /// A link states its load in the data packet with these low bits of its number.
    fn note_telemetry(&mut self, _number: u32, _hop: HopTelemetry) {}

    /// Has fetched what a delivery may need.
    fn prefetch(&self) {}

    /// Each data packet is to be seen by the network, and none dealt with in short.
    fn record_packets(&mut self) {}

    /// The headers of its packets are recorded from now on.
    fn record_headers(&mut self) {}

    /// From the receiver to the sender, where that is not within the delay to the receiver.
    fn delay_back(&self) -> Time;

    // --- Its current transfer ---

    /// Whether there is anything to send, or was.
    fn begun(&self) -> bool;

    /// Whether all of it has arrived.
    fn finished(&self) -> bool;

    /// Packets of it.
    fn transfer_packets(&self) -> u64;

    /// When its first congestion signal came, if any has.
    fn first_congestion_event(&self) -> Option<Time>;

    // --- What is reported ---

    /// The congestion window.
    fn window(&self) -> Window;

    /// The smoothed round-trip time in seconds.
    fn smoothed_rtt(&self) -> f64;

    /// Its counts since it exists.
    fn progress(&self) -> Progress;

    /// The payload in bytes of `delivered` (see [`Progress`]), where a full packet carries
    /// `payload` bytes.
    fn goodput_bytes(&self, delivered: u64, payload: u64) -> f64 {
        delivered as f64 * payload as f64
    }

    /// Whether its counts agree with each other.
    fn consistent(&self) -> bool {
        true
    }
}

/// Which way a packet of a connection goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To the receiver.
    Data,
    /// To the sender.
    Acknowledgment,
}

/// Which packet of its connection one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The packet's full number, or the next packet that an acknowledgment awaits.
    pub number: u64,
    /// The kind of the segment.
    pub segment: Segment,
}

/// The counts of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Data that has arrived in order: packets, or the unit that [`Ends::goodput_bytes`] converts
    /// to bytes.
    pub delivered: u64,
    /// Packets sent again.
    pub retransmissions: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
}
