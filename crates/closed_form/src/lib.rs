//! The published models of router buffer sizing, corrected: one file each in [`mod@models`].
//!
//! Functions take and return plain numbers. Windows, queues and buffers are in packets, rates in
//! packets/s, times in seconds. Probabilities and fractions have no unit. The corrected formula is
//! the default. If the printed one differs, it is a named variant. An input outside a model's range
//! gives a [`FormulaError`] with the value found and the allowed values.
//!
//! ```
//! // The buffer over the bandwidth-delay product that keeps one CUBIC flow busy through a cut.
//! let buffer = forebay_closed_form::models::bdp::full_buffer(0.7).unwrap();
//! assert!((buffer - 0.43).abs() < 0.002);
//! ```

mod checks;
mod engine;
mod error;
mod evaluation;
mod explanation;
mod inputs;
mod mix;
pub mod model;
pub mod models;
mod numeric;
mod pieces;
pub mod quantity;
mod reading;
pub mod reference;
pub mod response;
mod rules;
mod situation;
mod words;

pub use engine::{ClosedFormEngine, Regime, default_model, regime};
pub use error::FormulaError;
pub use evaluation::{REFERENCE_TOLERANCE, evaluate};
pub use explanation::{Explanation, call, explain};
pub use models::{model, models};
pub use rules::{rule, rules};
pub use situation::RttClass;
