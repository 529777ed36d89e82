//! The published models: their laws, their domains, their reasons, and an independent program's numbers.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod domains;
mod laws;
mod links;
mod reasons;
mod reference;
mod responses;
mod scenarios;
mod verdicts;
