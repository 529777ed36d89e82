//! The published models of router buffer sizing, corrected: one file per family.
//!
//! Plain numbers in and out: windows, queues and buffers in packets, rates in packets/s, times in
//! seconds, probabilities and fractions dimensionless. The corrected formula is the default; where
//! the printed one differs it is a named variant. Inputs outside a model's range are a
//! [`ModelError`] that names the value found and what is allowed.

pub mod bbr;
pub mod bscl;
pub mod catalogue;
pub mod droptail_fixed_point;
mod engine;
mod error;
pub mod hstcp;
pub mod hybrid_fluid;
pub mod many_flows;
pub mod mm1k;
mod numeric;
pub mod one_flow;
pub mod oracle;
pub mod pftk;
pub mod processor_sharing;
pub mod red_fixed_point;
pub mod response;
mod rules;
mod situation;
pub mod small_buffers;
pub mod square_root;

pub use catalogue::{call, explain, models};
pub use engine::{ClosedFormEngine, Regime, default_model, regime, rule};
pub use error::ModelError;
pub use rules::rules;
