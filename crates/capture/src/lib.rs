//! Captures of packets, as tcpdump and routers' mirror ports write them: files are read as packets
//! ([`Reader`], [`Merged`], [`packet`]), and packets are told together as connections, loads and queues.
//!
//! Nothing here knows a scenario or an engine, nothing panics on any input, and memory grows with the
//! connections that live at once, never with a file.

mod error;
mod file;
mod frame;
mod merged;
mod notes;
pub mod packet;

pub use error::CaptureError;
pub use file::{Interface, Progress, Reader};
pub use merged::{Merged, merged};
pub use notes::Notes;
pub use packet::{Ecn, Flags, FlowKey, Packet, Tcp, Timestamps, Transport, Udp};
