//! Captures of packets, as tcpdump and routers' mirror ports write them: files are read as packets
//! ([`Reader`], [`Merged`], [`packet`]), and packets are told together as streams, loads and queues
//! ([`Observer`], [`Observation`]).
//!
//! Nothing here knows a scenario or an engine, nothing panics on any input, and memory grows with the
//! connections that live at once, never with a file.

mod bins;
mod budget;
mod clock;
mod connection;
mod detail;
mod error;
mod file;
mod frame;
mod gaps;
mod half;
mod histogram;
mod kept;
mod load;
mod matching;
mod merged;
mod notes;
mod observation;
mod observer;
mod pacing;
pub mod packet;
mod pauses;
mod queue;
mod round_trip;
mod rounds;
mod sequence;
mod series;
mod sides;
mod stream;
mod table;
mod unacknowledged;

pub use bins::{Amount, Bins, Merge};
pub use clock::ClockSteps;
pub use error::CaptureError;
pub use file::{Interface, Progress, Reader};
pub use gaps::Gap;
pub use histogram::{LogBin, LogHistogram};
pub use kept::{Keeping, Streams};
pub use load::Load;
pub use merged::{Merged, merged, merged_level};
pub use notes::Notes;
pub use observation::{Direction, Observation, ObservedInterface};
pub use observer::{Observer, Settings};
pub use pacing::Evenness;
pub use packet::{Ecn, Flags, FlowKey, Packet, Tcp, Timestamps, Transport, Udp};
pub use pauses::{Pause, Spent};
pub use queue::{Crossed, Crossing, Smallest, Waited};
pub use round_trip::Least;
pub use rounds::{Reduction, Visit, Windows};
pub use series::{Series, Window};
pub use sides::Told;
pub use stream::{Ending, Loss, Stream};
