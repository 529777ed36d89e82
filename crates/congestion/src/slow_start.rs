//! Slow start, the first part of a classic controller: how the window grows below the threshold,
//! and what ends that before a loss does. One file per algorithm.

mod every_other_round;
mod hystart;
mod hystart_ms;
mod hystart_plus_plus;
mod limited;
mod standard;
mod up_to_threshold;

pub(crate) use every_other_round::{AlternateRounds, EveryOtherRound};
pub(crate) use hystart::Hystart;
pub(crate) use hystart_ms::MillisecondHystart;
pub(crate) use hystart_plus_plus::HystartPlusPlus;
pub(crate) use limited::Limited;
pub(crate) use standard::Standard;
pub(crate) use up_to_threshold::UpToThreshold;
