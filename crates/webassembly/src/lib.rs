//! Congestion control of users as WebAssembly modules, ABI version 1: the same methods as in
//! Python, over structures in the module's memory.
//!
//! 1. [`Module::compile`] checks size, imports and exports of a file, and asks the module for its
//!    [`Facts`].
//! 2. [`register`] makes it a controller of `forebay-congestion`.
//! 3. [`begin_run`] forgets the instance of the last run. The first connection makes a new one.
//! 4. Each connection has a state in the module's memory. [`exchange`] writes what a call needs,
//!    and reads the window that it leaves.
//!
//! The feature `runtime` brings Wasmtime. Without it, the page around the engines runs the modules:
//! `page/` has its side of the compiled code and of the instances.
//!
//! # Invariants
//! - A module imports only functions of `forebay`: functions of `libm`, and random numbers of the
//!   connection.
//! - A call has a limit of instructions, a run has one, and memory and tables have limits.
//!   In a page, the browser limits the time of a call instead.
//! - Equal calls have equal results on every machine: NaNs are canonical, and there are no threads.

#[cfg(any(not(feature = "runtime"), test))]
#[path = "page/binary.rs"]
mod binary;
#[cfg(feature = "runtime")]
mod canonical;
#[cfg(feature = "runtime")]
mod code;
#[cfg(not(feature = "runtime"))]
#[path = "page/code.rs"]
mod code;
mod control;
pub mod exchange;
mod facts;
#[cfg(not(feature = "runtime"))]
#[path = "page/host.rs"]
mod host;
mod interface;
mod limits;
mod module;
#[cfg(feature = "runtime")]
mod running;
#[cfg(not(feature = "runtime"))]
#[path = "page/running.rs"]
mod running;
mod states;

pub use control::{begin_run, register};
pub use facts::{Declared, Facts};
#[cfg(not(feature = "runtime"))]
pub use host::imported;
pub use interface::exact;
pub use limits::Limits;
pub use module::Module;

/// The version of the interface.
pub const ABI: i32 = 1;
/// Largest size of a module, in bytes.
pub const MOST_BYTES: usize = 1 << 20;
