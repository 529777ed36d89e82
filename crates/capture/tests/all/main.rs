//! Tests of all stages of captured packets: files, headers, streams and queues.

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
