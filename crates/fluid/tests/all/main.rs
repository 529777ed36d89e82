//! The fluid engine against physics, published tables and its own ledgers.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod changing;
mod engine;
mod ledgers;
mod overflow;
mod physics;
mod published_tables;
mod settings;
mod silence;
