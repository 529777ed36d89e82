//! The cost of a run: processor time of the calling thread, elapsed time and memory.

use std::time::Instant;

use forebay_scenario::Cost;
use nix::sys::resource::{UsageWho, getrusage};
use nix::time::{ClockId, clock_gettime};

/// A measurement from its creation on.
pub(crate) struct Meter {
    wall: Instant,
    cpu_s: f64,
}

impl Meter {
    pub(crate) fn start() -> Self {
        Self {
            wall: Instant::now(),
            cpu_s: thread_cpu_s(),
        }
    }

    /// Adds the costs that only the caller of an engine can measure. `cost` already contains the
    /// processor time of the engine's own threads.
    pub(crate) fn stop(&self, cost: &mut Cost) {
        cost.cpu_s += thread_cpu_s() - self.cpu_s;
        cost.wall_s = self.wall.elapsed().as_secs_f64();
        cost.peak_rss_bytes = peak_rss_bytes();
    }
}

/// Processor time of the calling thread, in seconds; zero if the platform does not report it.
fn thread_cpu_s() -> f64 {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(0.0, |time| {
        time.tv_sec() as f64 + time.tv_nsec() as f64 * 1e-9
    })
}

/// Largest resident memory of the process so far, in bytes; zero if the platform does not report
/// it.
fn peak_rss_bytes() -> u64 {
    // The unit of `ru_maxrss` is the kibibyte on Linux and the BSDs, the byte on macOS.
    let unit = if cfg!(target_vendor = "apple") {
        1
    } else {
        1024
    };
    getrusage(UsageWho::RUSAGE_SELF)
        .ok()
        .and_then(|usage| u64::try_from(usage.max_rss()).ok())
        .map_or(0, |size| size * unit)
}
