//! The time series of a stream in windows of equal width. If there are too many, pairs are merged.

use crate::budget::Budget;

/// Initial width of a window in nanoseconds: 8 ms.
const WIDTH: u64 = 8_000_000;
/// Number of windows above which pairs are merged.
const MOST: u32 = 2048;

/// Measurements of a stream in a window of time. Times are in nanoseconds; unmeasured values are
/// `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Bytes of the stream's IP packets.
    pub bytes: u64,
    /// Number of packets.
    pub packets: u32,
    /// Smallest and largest number of bytes in flight.
    pub flight: Option<(u32, u32)>,
    /// Bytes of payload that had been seen before.
    pub repeated: u32,
    /// Bytes of payload that filled a gap.
    pub filled: u32,
    /// Packets with a mark (CE).
    pub marks: u32,
    /// Smallest and largest time from data to its acknowledgment.
    pub behind: Option<(u64, u64)>,
    /// Smallest time from an acknowledgment to the data that it released.
    pub before: Option<u64>,
    /// Smallest receive window, in bytes.
    pub receive_window: Option<u32>,
}

impl Window {
    pub(crate) fn see_flight(&mut self, flight: u64) {
        let flight = flight.min(u64::from(u32::MAX)) as u32;
        self.flight = spanned(self.flight, Some((flight, flight)));
    }

    pub(crate) fn see_behind(&mut self, time: u64) {
        self.behind = spanned(self.behind, Some((time, time)));
    }

    pub(crate) fn see_before(&mut self, time: u64) {
        self.before = least(self.before, Some(time));
    }

    pub(crate) fn see_receive_window(&mut self, bytes: u32) {
        self.receive_window = least(self.receive_window, Some(bytes));
    }

    fn merge(&mut self, later: &Self) {
        self.bytes += later.bytes;
        self.packets = self.packets.saturating_add(later.packets);
        self.flight = spanned(self.flight, later.flight);
        self.repeated = self.repeated.saturating_add(later.repeated);
        self.filled = self.filled.saturating_add(later.filled);
        self.marks = self.marks.saturating_add(later.marks);
        self.behind = spanned(self.behind, later.behind);
        self.before = least(self.before, later.before);
        self.receive_window = least(self.receive_window, later.receive_window);
    }
}

/// The union of two ranges, each of which may be missing.
fn spanned<T: Ord + Copy>(one: Option<(T, T)>, other: Option<(T, T)>) -> Option<(T, T)> {
    match (one, other) {
        (Some(one), Some(other)) => Some((one.0.min(other.0), one.1.max(other.1))),
        (one, other) => one.or(other),
    }
}

/// The smaller of two values, each of which may be missing.
fn least<T: Ord + Copy>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Windows of a stream. Windows without measurements are omitted.
#[derive(Clone, Debug)]
pub struct Series {
    origin: u64,
    width: u64,
    windows: Vec<(u32, Window)>,
}

impl Series {
    /// An empty series that begins at a time in nanoseconds.
    pub(crate) fn new(origin: u64) -> Self {
        Self {
            origin,
            width: WIDTH,
            windows: Vec::new(),
        }
    }

    /// The window of a time that is not before the last window.
    pub(crate) fn at(&mut self, time: u64, budget: &mut Budget) -> &mut Window {
        // The subtraction of one lets the widest window contain all times.
        let since = time.saturating_sub(self.origin).min(u64::MAX - 1);
        loop {
            // The last window is the usual case and needs no division.
            let inside = self.windows.last().is_some_and(|&(last, _)| {
                let start = u64::from(last) * self.width;
                since >= start && since - start < self.width
            });
            if inside {
                break;
            }
            let index = since / self.width;
            if index < u64::from(MOST) && (self.windows.is_empty() || budget.windows_left()) {
                budget.windows += size_of::<(u32, Window)>();
                self.windows.push((index as u32, Window::default()));
                break;
            }
            self.merge_pairs(budget);
        }
        let last = self.windows.len() - 1;
        &mut self.windows[last].1
    }

    /// Start of the first window, in nanoseconds.
    pub fn origin(&self) -> u64 {
        self.origin
    }

    /// Width of a window, in nanoseconds.
    pub fn width(&self) -> u64 {
        self.width
    }

    /// Number (counted from the origin) and content of each window with measurements.
    pub fn windows(&self) -> &[(u32, Window)] {
        &self.windows
    }

    /// Memory of the windows, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.windows.len() * size_of::<(u32, Window)>()
    }

    /// Removes all windows.
    pub(crate) fn clear(&mut self, budget: &mut Budget) {
        budget.windows = budget.windows.saturating_sub(self.memory());
        self.windows = Vec::new();
    }

    /// Releases reserved memory that is not used.
    pub(crate) fn shrink(&mut self) {
        self.windows.shrink_to_fit();
    }

    fn merge_pairs(&mut self, budget: &mut Budget) {
        let before = self.memory();
        let mut merged: Vec<(u32, Window)> = Vec::with_capacity(self.windows.len() / 2 + 1);
        for (index, window) in self.windows.drain(..) {
            match merged.last_mut() {
                Some((last, into)) if *last == index / 2 => into.merge(&window),
                _ => merged.push((index / 2, window)),
            }
        }
        self.windows = merged;
        self.width = self.width.saturating_mul(2);
        budget.windows = budget.windows.saturating_sub(before - self.memory());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn windows_add_up_however_they_were_merged(mut times in prop::collection::vec(any::<u64>(), 1..3000), shift in 0u32..40, memory in 0usize..40_000) {
            for time in &mut times {
                *time >>= shift;
            }
            times.sort_unstable();
            let mut budget = Budget { windows_most: memory, ..Budget::default() };
            let mut series = Series::new(times[0]);
            for &time in &times {
                let window = series.at(time, &mut budget);
                window.packets += 1;
                window.see_behind(time);
            }
            prop_assert_eq!(budget.windows, series.memory());
            prop_assert!(series.memory() <= memory + size_of::<(u32, Window)>());
            prop_assert!(series.windows().iter().all(|&(index, _)| index < MOST));
            for &(index, window) in series.windows() {
                let inside: Vec<_> = times.iter().filter(|&&it| (it - times[0]) / series.width() == u64::from(index)).collect();
                prop_assert_eq!(window.packets as usize, inside.len());
                prop_assert_eq!(window.behind, Some((*inside[0], **inside.last().unwrap())));
            }
        }
    }
}
