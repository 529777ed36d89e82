//! Congestion controllers: one file each.
//!
//! A controller may have two faces: the packet face, driven by acknowledgments
//! and loss signals of the packet engine, and the fluid face, a differential
//! equation with multiplicative cuts for the fluid engine.
//!
//! A new slow start or window growth is one file, and the controller that is made of it.

//!
//! Files from below: [`packet`] and [`law`] say what the faces are, [`classic`] what a controller
//! of two parts is, [`slow_start`] has the first parts; then a file per controller, in which the
//! second part and the description are; [`fluid`] and the registry list them.

mod ack_ratio;
pub mod aimd;
pub mod bbr;
pub mod bbr3;
pub mod bic;
mod bottleneck;
pub mod cdg;
pub mod classic;
#[cfg(test)]
mod composition_tests;
pub mod copa;
pub mod cubic;
pub mod custom;
pub mod dcqcn;
pub mod dctcp;
pub mod fast;
mod filter;
pub mod fluid;
pub mod hpcc;
pub mod hstcp;
pub mod htcp;
pub mod illinois;
pub mod law;
pub mod ledbat;
pub mod ledbatpp;
pub mod newreno;
mod one_of;
mod own_window;
pub mod packet;
mod policer;
pub mod prague;
mod queueing_delay;
pub mod registration;
mod registry;
pub mod scalable;
pub mod segmentation;
pub mod slow_start;
pub mod swift;
pub mod telemetry;
pub mod timely;
pub mod vegas;
pub mod westwood;
mod whole_packets;

pub use fluid::fluid_law;
pub use registration::{Description, EcnSemantics, LossDetection};
pub use registry::{
    Controller, controller, default_description, description, descriptions, requirements,
};
