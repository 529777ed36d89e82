//! Queue disciplines: one file each.

mod registry;

pub use registry::descriptions;
