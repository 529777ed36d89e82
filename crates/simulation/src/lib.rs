//! One run of packets through links, for any engine that sends packets. An engine supplies the two
//! ends of its connections ([`Hosts`], [`Ends`]); everything between them is here.
//!
//! 1. `simulation` is the event loop. It pops the next event from the `calendar`, and it ends
//!    the warm-up and the run.
//! 2. `traffic` starts users, arrivals and transfers. `traffic::hosts` is the interface to the
//!    ends of an engine.
//! 3. A packet leaves its host through an `access` link and is offered to the `network`.
//! 4. A `link` takes it, lets it wait or drops it: `link::fifo` with drop-tail,
//!    `link::admission_link` with a discipline that decides at arrival, `link::queued` with one
//!    that holds its packets. `link::scheduler` sends at certain instants only.
//! 5. `departure` counts a packet after a queue and sends it on, to the next `hop` or to its
//!    host.
//! 6. `measure::recorder` counts, and [`report`] makes the report of the run.
//!
//! `random_states` gives the random states of a scenario without a simulation, from the same
//! streams. Each file uses only files below it.

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
mod measured;
mod memory_place;
mod network;
mod pause;
mod pause_frame;
mod prefetch;
mod random_states;
mod refusal;
mod report;
mod route_table;
mod sampling;
mod simulation;
mod telemetry;
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
pub use measure::columns::{Count, Counts, Level, Levels, Scale};
pub use measure::probe::{PacketEvent, PacketEventKind, Seen};
pub use measure::queue_chart::{MOST_SIGNALS, QueueChart, Signals};
pub use measure::recorder::{Recorder, Returned};
pub use measure::sampler::WINDOW_UNIT;
pub use network::{Network, PauseState};
pub use pause::{may_be_paused, mixed_classes, takes_part};
pub use prefetch::prefetch;
pub use random_states::{RandomState, RandomStates, StateKind};
pub use refusal::{Refusal, unsupported};
pub use report::report;
pub use sampling::Sampling;
pub use simulation::{Observer, Simulation};
pub use telemetry::{HopTelemetry, states_load};
pub use timeline::Timeline;
pub use traffic::Traffic;
pub use traffic::group::Group;
pub use traffic::hosts::{Completed, FlowPosition, Hosts, ReversePath, TransferStart, Turn};
