//! The frame around the engines: their registry, the replications and their aggregation, and the
//! batch runner over cores. The Python crate calls it. Its batches read the clock and start
//! threads; of the engines only the kernel engine does so.

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

/// The allocator of the unit tests.
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
