//! What all streams together may keep beyond what each one needs.

/// Memory that streams share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// Bytes of windows, of streams that live and of those that ended.
    pub(crate) windows: usize,
    pub(crate) windows_most: usize,
    /// How many gaps and round trips are followed.
    pub(crate) followed: usize,
    pub(crate) followed_most: usize,
}

/// Windows take at most so many bytes.
const WINDOWS: usize = 128 << 20;
/// As many gaps and round trips are followed as take about 64 MiB.
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

    /// Whether a stream may follow many gaps and round trips.
    pub(crate) fn generous(&self) -> bool {
        self.followed < self.followed_most
    }

    /// A stream that followed so many follows so many now.
    pub(crate) fn follow(&mut self, before: usize, now: usize) {
        self.followed = (self.followed + now).saturating_sub(before);
    }
}
