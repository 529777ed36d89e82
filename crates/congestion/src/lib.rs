//! Congestion controllers: one file each.
//!
//! A controller may have two faces: the packet face, driven by acknowledgements
//! and loss signals of the packet engine, and the fluid face, a differential
//! equation with multiplicative cuts for the fluid engine.

pub mod hstcp;
mod registry;

pub use registry::{default_description, descriptions};
