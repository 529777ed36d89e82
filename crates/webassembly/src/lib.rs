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
//! # Invariants
//! - A module imports only functions of `forebay`: functions of `libm`, and random numbers of the
//!   connection.
//! - A call has a limit of instructions, a run has one, and memory and tables have limits.
//! - Equal calls have equal results on every machine: NaNs are canonical, and there are no threads.

#[cfg(feature = "runtime")]
mod canonical;
#[cfg(feature = "runtime")]
mod control;
pub mod exchange;
mod facts;
#[cfg(feature = "runtime")]
mod limits;
#[cfg(feature = "runtime")]
mod module;
#[cfg(feature = "runtime")]
mod running;

#[cfg(feature = "runtime")]
pub use control::{begin_run, register};
pub use facts::{Declared, Facts};
#[cfg(feature = "runtime")]
pub use limits::Limits;
#[cfg(feature = "runtime")]
pub use module::Module;

/// The version of the interface.
pub const ABI: i32 = 1;
/// Largest size of a module, in bytes.
pub const MOST_BYTES: usize = 1 << 20;
