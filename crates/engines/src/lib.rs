//! What stands around the engines: their registry, replications and their aggregation, and the
//! batch runner over cores. The only place below Python that reads a clock or starts a thread.

mod admission;
mod aggregate;
mod batch;
mod live_memory;
mod meter;
mod pcapng;
mod registry;
mod student_t;
#[cfg(test)]
mod testing;
mod yardstick;

/// The unit tests' own.
#[cfg(test)]
#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

pub use aggregate::{CONFIDENCE, aggregate, weighted};
pub use batch::{BatchError, Job, Next, Outcome, replications, run_batch};
pub use live_memory::CountingAllocator;
pub use pcapng::{pcapng, write_pcapng};
pub use registry::{engine, engines, rules};
pub use student_t::two_sided_quantile;
pub use yardstick::yardstick;
