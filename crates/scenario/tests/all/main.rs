//! The contract: what a scenario's keys mean, what is refused, and what the manual says of both.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod classes;
mod demand;
mod every_key;
mod goals_and_titles;
mod manual;
mod meanings;
mod mistakes;
mod names;
mod packets_in_flight;
mod presets;
mod scenario;
mod untrusted;
