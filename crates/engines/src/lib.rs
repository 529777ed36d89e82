//! The frame around the engines: their registry, the replications and their aggregation, and the
//! batch runner over cores. The Python crate calls it. Its batches read the clock and start
//! threads; of the engines only the kernel engine does so.
//!
//! The life of a job:
//!
//! 1. A [`Job`] is a scenario, an engine and its options: the seed with the replication, the
//!    traces, the model, the cancellation.
//! 2. [`run_batch`] runs jobs on threads. A job in real time runs alone. The calling thread
//!    observes outcomes and may stop the batch, which cancels the jobs in progress.
//! 3. Each engine runs one replication and knows of no others.
//! 4. [`aggregate()`] reduces replications to means and half widths, in replication order. Its
//!    quantiles come from the pinned `libm`, so reports are equal bytes on every machine.

mod admission;
mod aggregate;
mod batch;
mod live_memory;
mod meter;
mod pcapng;
mod quantiles;
mod registry;
#[cfg(test)]
mod testing;
mod yardstick;

/// The allocator of the unit tests.
#[cfg(test)]
#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

pub use aggregate::{CONFIDENCE, aggregate, weighted};
pub use batch::{BatchError, Job, Next, Outcome, replications, run_batch, run_here};
pub use live_memory::CountingAllocator;
pub use pcapng::{pcapng, write_pcapng};
pub use quantiles::{beta_distribution, beta_quantile, two_sided_quantile};
pub use registry::{engine, engines, rules};
pub use yardstick::yardstick;
