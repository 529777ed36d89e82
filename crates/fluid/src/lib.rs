//! The fluid engine: windows and queues as differential equations, with loss synchronization. It is
//! registered in `crates/engines` beside the packet engine and shares only the contract with it.
//!
//! 1. `translation` converts a scenario to a [`FluidModel`].
//! 2. `run` has the common part of all integrators: events, cuts, measurement, outcome. An
//!    integrator advances windows and queues, and a step ends where a capacity changes.
//! 3. `answer` converts the outcome to a report, with the warnings of `domain`.
//!
//! Windows W_i grow by their law ([`forebay_congestion::fluid`]). A queue integrates the arrivals
//! above the link's capacity. A full queue opens a *congestion event*: m of the N flows are cut
//! once, one round trip later. The definition is in [`synchronization`] (Kumar, Azad and Park).
//! Three integrators share one model and one outcome:
//!
//! * [`integrate`] is the integrator of the engine. It uses closed forms while every queue is empty
//!   or full. Otherwise it uses a Rosenbrock method of order 4 with dense output and exact event
//!   location.
//! * [`integrate_euler`] is forward Euler with a fixed step. It is the reference, and integrates
//!   flows that access links or receive windows limit.
//! * [`integrate_coupled`] is the classical model without congestion events, in which a continuous
//!   loss rate cuts every window steadily. It shows the effect of the events.
//!
//! Windows and buffers are in packets, times in seconds, rates in packets per second.

mod adaptive;
mod answer;
mod capacity;
mod changing;
#[cfg(test)]
mod convergence_tests;
mod coupled;
mod dense;
mod domain;
mod engine;
mod error;
mod euler;
mod exposure;

mod counters;
mod fixed;
mod flows;
mod links;
mod measurement;
mod methods;
mod model;
mod outcome;
mod red;
#[cfg(test)]
mod rodas3;
mod rodas4;
mod rosenbrock;
mod run;
mod samples;
mod schedule;
pub mod synchronization;
mod translation;

pub use adaptive::{integrate, integrate_with};
pub use capacity::CapacitySteps;
pub use coupled::integrate_coupled;
pub use engine::FluidEngine;
pub use error::FluidError;
pub use euler::{integrate_euler, integrate_euler_with};
pub use model::{
    Background, FluidFlow, FluidLink, FluidModel, Limits, Measure, QueueDistribution, Red,
};
pub use outcome::{Drains, FluidOutcome, LinkOutcome, MeasuredBy, Trace};
pub use synchronization::{CutCountDistribution, Synchronization, Victims};
