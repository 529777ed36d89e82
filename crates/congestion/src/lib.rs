//! Congestion controllers: one file each.
//!
//! 1. [`descriptions`] lists the controllers, with their parameters and sources.
//! 2. [`controller`] makes one by its name. It implements [`packet::CongestionControl`]: the packet
//!    engine hands it acknowledgments and congestion events, and it changes a [`packet::Window`].
//! 3. [`fluid_law`] gives the fluid model of a name: a differential equation with multiplicative
//!    cuts. Some controllers have none.
//! 4. [`custom`] registers controllers of a user under further names.
//!
//! Windows are in packets. A controller draws its random numbers from one stream, so that equal
//! inputs give equal windows. Modules that are public beside these have laws and response functions
//! that other engines and tests use. All other modules are private: their controllers have names.
//!
//! ```
//! use forebay_congestion::packet::{Ack, CongestionControl, Path, Window};
//! use forebay_congestion::{controller, descriptions, fluid_law};
//! use forebay_random::{Purpose, Seed, StreamKey};
//! use forebay_units::Time;
//! use forebay_units::parameter::Parameters;
//!
//! let random = StreamKey::new(Seed::default(), 0, Purpose::Controller);
//! for description in descriptions() {
//!     let parameters = Parameters::defaults(description.parameters);
//!     let mut control = controller(description.name, &parameters, random).expect("registered");
//!     let mut window = Window { cwnd: 10.0, ssthresh: f64::INFINITY };
//!     let ack = Ack { acked: 1.0, now: Time::from_millis(50) };
//!     control.on_ack(&mut window, &ack, &Path::default());
//!     assert!(window.cwnd >= 1.0, "{}", description.name);
//! }
//! assert!(controller("no such controller", &Parameters::defaults(&[]), random).is_none());
//! assert!(fluid_law("newreno", &Parameters::defaults(&[])).is_some());
//! ```

mod ack_ratio;
pub mod aimd;
mod bbr;
mod bbr3;
mod bic;
mod bottleneck;
mod cdg;
mod classic;
#[cfg(test)]
mod composition_tests;
mod copa;
pub mod cubic;
pub mod custom;
mod dcqcn;
mod dctcp;
mod fast;
mod filter;
pub mod fluid;
mod hpcc;
pub mod hstcp;
pub mod htcp;
mod illinois;
mod law;
mod ledbat;
mod ledbatpp;
pub mod newreno;
mod one_of;
mod own_window;
pub mod packet;
mod policer;
mod prague;
mod queueing_delay;
mod registration;
mod registry;
pub mod scalable;
pub mod segmentation;
mod slow_start;
mod swift;
pub mod telemetry;
mod timely;
mod vegas;
mod westwood;
mod whole_packets;

pub use fluid::fluid_law;
pub use registration::{Description, EcnSemantics, LossDetection};
pub use registry::{
    Controller, controller, default_description, description, descriptions, requirements,
};
