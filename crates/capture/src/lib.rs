//! Captures of packets, as tcpdump and routers' mirror ports write them: files are read as packets
//! ([`packet`]), and packets are told together as connections, loads and queues.
//!
//! Nothing here knows a scenario or an engine, nothing panics on any input, and memory grows with the
//! connections that live at once, never with a file.

pub mod packet;

pub use packet::{Ecn, Flags, FlowKey, Packet, Tcp, Timestamps, Transport, Udp};
