//! What becomes of captured packets: files, headers, streams and queues.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;
mod connections;
mod damaged;
mod files;
mod frames;
mod merging;
mod queue;
mod signals;
mod streams;
mod transports;
mod whole;
