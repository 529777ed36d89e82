//! Congestion controllers: one file each.
//!
//! A controller may have two faces: the packet face, driven by acknowledgements
//! and loss signals of the packet engine, and the fluid face, a differential
//! equation with multiplicative cuts for the fluid engine.

pub mod aimd;
pub mod bbr;
pub mod bbr3;
mod bottleneck;
pub mod cubic;
mod cubic_linux;
pub mod dctcp;
pub mod fast;
mod filter;
pub mod fluid;
pub mod hstcp;
pub mod htcp;
mod hystart;
pub mod illinois;
pub mod ledbatpp;
pub mod newreno;
pub mod packet;
mod policer;
pub mod prague;
mod registry;
pub mod scalable;
pub mod vegas;
pub mod westwood;
mod whole_packets;

pub use registry::{Controller, controller, default_description, descriptions, fluid_law};
