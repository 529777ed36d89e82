//! Captures of packets, as tcpdump and mirror ports of routers write them.
//!
//! 1. [`Reader`] reads a file: `file` returns frames and `frame` makes packets of them. [`Merged`]
//!    reads several files in order of time. Both return each [`Packet`].
//!
//! 2. [`Observer`] passes each packet to `load`, to `gaps` and to the `table` of connections. A
//!    `connection` has a `direction` for each direction, which measures it. `queue` matches the
//!    packets of both sides of a queue.
//!
//! 3. [`Observation`] is the result, with the ended streams of `finished`. The Python crate makes
//!    columns of it.
//!
//! The crate does not depend on scenarios or engines. It does not panic on any input. Its memory
//! grows with the number of live connections, not with the size of a file.

mod bins;
mod budget;
mod clock;
mod connection;
mod detail;
mod direction;
mod direction_inference;
mod error;
mod file;
mod finished;
mod flight;
mod frame;
mod gaps;
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
mod sequence;
mod series;
mod stream;
mod table;
mod window_rounds;

pub use bins::{Amount, Bins, Merge};
pub use clock::ClockSteps;
pub use direction_inference::DirectionEvidence;
pub use error::CaptureError;
pub use file::{Interface, Progress, Reader};
pub use finished::{StreamLimits, Streams};
pub use gaps::Gap;
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
pub use series::{Series, Window};
pub use stream::{Ending, Loss, Stream};
pub use window_rounds::{Reduction, Visit, Windows};
