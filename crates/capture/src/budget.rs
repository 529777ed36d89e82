//! The memory that all streams share beyond the fixed part of each one.

/// Memory that streams share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// Bytes of windows, of live and of ended streams.
    pub(crate) windows: usize,
    pub(crate) windows_most: usize,
    /// Number of gaps and round trips that are tracked.
    pub(crate) followed: usize,
    pub(crate) followed_most: usize,
}

/// Maximum size of all windows, in bytes.
const WINDOWS: usize = 128 << 20;
/// Maximum number of tracked gaps and round trips, which take about 64 MiB.
const FOLLOWED: usize = 2 << 20;

impl Default for Budget {
    fn default() -> Self {
        Self {
            windows: 0,
            windows_most: WINDOWS,
            followed: 0,
            followed_most: FOLLOWED,
        }
    }
}

impl Budget {
    /// Whether there is memory for more windows.
    pub(crate) fn windows_left(&self) -> bool {
        self.windows < self.windows_most
    }

    /// Whether a stream may track many gaps and round trips.
    pub(crate) fn generous(&self) -> bool {
        self.followed < self.followed_most
    }

    /// Replaces the share of a stream: it tracked `before` entries and now tracks `now`.
    pub(crate) fn follow(&mut self, before: usize, now: usize) {
        self.followed = (self.followed + now).saturating_sub(before);
    }
}
