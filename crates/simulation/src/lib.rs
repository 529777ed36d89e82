//! One run of packets through links, whoever sends them.
//!
//! The event loop in [`simulation`] pops the next event from the [`calendar`] and hands it to the
//! [`traffic`]: its users and sources say what is to be sent and when, its [`traffic::hosts`] hold both [`ends`] of each
//! connection. What these are an engine says: it implements [`Hosts`] and [`Ends`]. Their packets go
//! into the [`network`], where each is offered to one [`link`] after the other ([`link::fifo`] where nearly
//! all go, [`link::admission_link`] and [`link::queued`] where a discipline decides), and its departure is the next
//! event. The [`measure::recorder`] notes what happens, and [`report`] is what a run leaves. Each file uses
//! only files below it.

mod access;
mod calendar;
mod codepoint;
mod departure;
mod ends;
mod flow;
mod histogram;
mod hop;
mod ids;
mod lane_assignment;
mod link;
mod measure;
mod network;
mod prefetch;
mod random_states;
mod refusal;
mod report;
mod sampling;
mod simulation;
mod timeline;
mod traffic;

pub use access::AccessLink;
pub use calendar::event::{Event, Kind, KindNumber, Mark, Occasion};
pub use calendar::{Calendar, MAX_LANES};
pub use ends::{Direction, Ends, Identity, Progress};
pub use flow::{Alarm, Flow, Flows, InFlight, Transit, Unresponsive};
pub use hop::{Departing, Hop};
pub use ids::{
    FlowId, FlowNumber, GroupId, HopNumber, LinkId, ResponsiveId, Route, UnresponsiveId,
};
pub use link::statistics::{Account, LinkStatistics, Waits};
pub use link::transmitter::Usage;
pub use link::{Departures, Link, in_turn, is_counted, takes_turns};
pub use measure::probe::{Happening, Seen, Sighting};
pub use measure::recorder::{Recorder, Returned};
pub use network::Network;
pub use prefetch::prefetch;
pub use random_states::{RandomState, RandomStates, StateKind};
pub use refusal::{Refusal, unsupported};
pub use report::report;
pub use sampling::Draws;
pub use simulation::Simulation;
pub use timeline::Timeline;
pub use traffic::Traffic;
pub use traffic::group::Group;
pub use traffic::hosts::{Completed, Hosts, Opening, Place, Turn, WayBack};
