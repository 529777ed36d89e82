//! Slow start, the first part of a classic controller: how the window grows below the threshold,
//! and what ends that before a loss does. One file per algorithm.

mod every_other_round;
mod hystart;
mod hystart_ms;
mod hystart_plus_plus;
mod limited;
mod standard;
mod up_to_threshold;

pub use every_other_round::{AlternateRounds, EveryOtherRound};
pub use hystart::Hystart;
pub use hystart_ms::MillisecondHystart;
pub use hystart_plus_plus::HystartPlusPlus;
pub use limited::Limited;
pub use standard::Standard;
pub use up_to_threshold::UpToThreshold;
