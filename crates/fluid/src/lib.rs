//! The fluid engine: windows and queues as differential equations, with loss synchronization.
//!
//! Windows W_i grow by their law ([`forebay_congestion::fluid`]), a queue integrates what
//! arrives above the link's capacity, and a full queue opens a *congestion event*: m of the N
//! flows are cut once, one round trip later (Kumar, Azad and Park; definition in
//! [`synchronization`]). Three integrators share one model and one outcome:
//!
//! * [`integrate`], the product: closed forms while every queue is empty or full, a Rosenbrock
//!   method of order 4 with dense output and exact event location otherwise;
//! * [`integrate_euler`], forward Euler with a fixed step: the reference to compare with, and the
//!   integrator where access links or receive windows hold flows back;
//! * [`integrate_coupled`], the classical model without congestion events, in which a continuous
//!   loss rate cuts every window a little all the time: what the first two add becomes visible.
//!
//! Windows and buffers are in packets, times in seconds, rates in packets per second.

mod adaptive;
mod answer;
mod capacity;
mod changing;
#[cfg(test)]
mod convergence;
mod coupled;
mod dense;
mod domain;
mod engine;
mod error;
mod euler;
mod exposure;

mod fixed;
mod flows;
mod links;
mod measurement;
mod methods;
mod model;
mod outcome;
mod overflow;
mod red;
#[cfg(test)]
mod rodas3;
mod rodas4;
mod rosenbrock;
mod run;
mod samples;
mod schedule;
pub mod synchronization;
mod tally;
mod translation;

pub use adaptive::{integrate, integrate_with};
pub use capacity::CapacitySteps;
pub use coupled::integrate_coupled;
pub use engine::FluidEngine;
pub use error::FluidError;
pub use euler::{integrate_euler, integrate_euler_with};
pub use model::{Background, FluidFlow, FluidLink, FluidModel, Limits, Measure, QueueLaw, Red};
pub use outcome::{Drains, FluidOutcome, LinkOutcome, MeasuredBy, Trace};
pub use synchronization::{CutCountLaw, Synchronization, Victims};
