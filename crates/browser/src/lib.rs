//! The engines in a web page: a laboratory takes requests in JSON and returns the state of a run as
//! numbers. This crate converts and calls. It contains no science and reads no clock. It calls its
//! page only to run modules of users.
//!
//! 1. A page's worker writes a `request` into linear memory, calls [`exports`] and reads the
//!    answer from there.
//! 2. `laboratory` checks the scenario, with the same errors at the same lines as everywhere.
//! 3. Closed forms and the fluid engine answer at once.
//! 4. A packet-level run continues with each call (`running`), with a `picture` in between. The
//!    chart of a run and its lists of `signals` depend on the scenario, on the seed and on the
//!    time alone, whatever the calls.
//!
//! # Limits
//! A request is at most [`MOST_REQUEST`] bytes. A run that may need more than [`MOST_MEMORY`] is
//! refused. A call of [`forebay_packet::Stepwise::advance`] exceeds its number of events by
//! some thousands. A single slice, or a run of the fluid engine, cannot be interrupted; it ends
//! when its worker is terminated.

mod answer;
mod controls;
pub mod exports;
mod laboratory;
mod modules;
mod picture;
mod playable;
mod request;
mod running;
mod signals;

pub use laboratory::{Laboratory, MOST_MEMORY, MOST_REQUEST, State};
pub use picture::{
    BAND, COLUMN, FLOW, HEADER, LATEST_SIGNALS, LINK, MOST_COLUMNS, MOST_FLOWS, MOST_SIGHTINGS,
    MOST_STANDINGS, SIGHTING, STANDING,
};
