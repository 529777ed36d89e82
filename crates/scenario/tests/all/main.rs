//! The contract: what a scenario's keys mean, what is refused, and what the manual says of both.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod classes;
mod every_key;
mod fabric;
mod goals_and_titles;
mod manual;
mod meanings;
mod memory_estimate;
mod names;
mod packets_in_flight;
mod presets;
mod scenario;
mod untrusted;
mod value_errors;
