//! One run of packets through links, whoever sends them.
//!
//! The event loop in [`simulation`] pops the next event from the [`calendar`] and hands it to the
//! [`traffic`]: its users and sources say what is to be sent and when, its [`hosts`] hold both [`ends`] of each
//! connection. What these are an engine says: it implements [`Hosts`] and [`Ends`]. Their packets go
//! into the [`network`], where each is offered to one [`link`] after the other ([`fifo`] where nearly
//! all go, [`gated`] and [`queued`] where a discipline decides), and its departure is the next
//! event. The [`recorder`] notes what happens, and [`report`] is what a run leaves. Each file uses
//! only files below it.

mod access;
mod backlogged;
mod bursts;
mod calendar;
mod codepoint;
mod congestion_events;
mod delivery_lanes;
mod draws;
mod ends;
mod event;
mod falls;
mod fifo;
mod flow;
mod flushing;
mod gated;
mod group;
mod histogram;
mod hop;
mod host_timing;
mod hosts;
mod ids;
mod incast;
mod lanes;
mod link;
mod loss_phases;
mod media;
mod medium;
mod memory;
mod network;
mod on_periods;
mod onlooker;
mod opportune;
mod outlet;
mod policer;
mod prefetch;
mod queued;
mod random_states;
mod recorder;
mod refusal;
mod report;
mod sampler;
mod shaper;
mod simulation;
mod source;
mod statistics;
mod stepping;
mod timeline;
mod token_bucket;
mod traffic;
mod transfers;
mod transmitter;
mod turns;

pub use access::AccessLink;
pub use calendar::{Calendar, MAX_LANES};
pub use draws::Draws;
pub use ends::{Direction, Ends, Identity, Progress};
pub use event::{Event, Kind, KindNumber, Mark, Occasion};
pub use flow::{Alarm, Flow, Flows, InFlight, Transit, Unresponsive};
pub use group::Group;
pub use hop::{Departing, Hop};
pub use hosts::{Completed, Hosts, Opening, Place, Turn, WayBack};
pub use ids::{
    FlowId, FlowNumber, GroupId, HopNumber, LinkId, ResponsiveId, Route, UnresponsiveId,
};
pub use link::{Departures, Link, in_turn, is_counted, takes_turns};
pub use network::Network;
pub use onlooker::{Happening, Seen, Sighting};
pub use prefetch::prefetch;
pub use random_states::{RandomState, RandomStates, StateKind};
pub use recorder::{Recorder, Returned};
pub use refusal::{Refusal, unsupported};
pub use report::report;
pub use simulation::Simulation;
pub use statistics::{Account, LinkStatistics, Waits};
pub use timeline::Timeline;
pub use traffic::Traffic;
pub use transmitter::Usage;
