//! Traits of engines and models, and their reports and warnings.

pub(crate) mod cached_report;
pub(crate) mod engine;
pub(crate) mod footprint;
pub(crate) mod quantile;
pub(crate) mod report;
pub(crate) mod warning;
