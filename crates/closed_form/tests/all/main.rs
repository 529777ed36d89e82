//! Tests of the published models: their invariants, their domains, their reasons, and the numbers
//! of an independent program.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod domains;
mod laws;
mod links;
mod reasons;
mod reference;
mod responses;
mod scenarios;
mod verdicts;
