//! The engines in a page: a laboratory that is asked in JSON and shows a run in numbers.
//!
//! [`exports`] is all that a page's worker sees: it writes a [`request`] into linear memory, calls, and reads the
//! answer from there. [`laboratory`] does what is asked: a scenario is checked with the same errors at the same
//! line as everywhere, closed forms and the fluid answer at once, and a run of packets goes on for as long as it is
//! told ([`running`]), with a [`picture`] in between. This crate converts and calls; it holds no science, imports
//! nothing from its page, and reads no clock.
//!
//! # Limits
//! A request is at most [`MOST_REQUEST`] bytes, a run is refused that may need more than [`MOST_MEMORY`], and a
//! call ends: [`forebay_packet::Stepwise::advance`] after some thousands of events more than it was allowed. What
//! cannot be interrupted (one slice, or a run of the fluid) ends when its worker is terminated.

mod answer;
pub mod exports;
mod laboratory;
mod picture;
mod request;
mod running;

pub use laboratory::{Laboratory, MOST_MEMORY, MOST_REQUEST, State};
pub use picture::{
    FLOW, HEADER, LINK, MOST_FLOWS, MOST_SIGHTINGS, MOST_STANDINGS, SIGHTING, STANDING,
};
