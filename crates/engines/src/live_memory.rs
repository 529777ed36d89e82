//! The memory that each run holds while it runs. [`crate::run_batch`] compares it with the limit if
//! the program makes [`CountingAllocator`] its global allocator. In other programs the count is
//! zero.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering};

/// The system's allocator with a count of the bytes that each thread holds.
#[derive(Clone, Copy, Debug, Default)]
pub struct CountingAllocator;

/// The largest number of simultaneous runs whose memory is counted. Further runs are not counted.
const PLACES: usize = 1024;

/// The largest difference between a thread's count and the published one, in bytes.
const GRAIN: isize = 1 << 20;

/// Marks the absence of a place: nothing is published.
const NOWHERE: usize = usize::MAX;

static TAKEN: [AtomicBool; PLACES] = [const { AtomicBool::new(false) }; PLACES];
static PUBLISHED: [AtomicIsize; PLACES] = [const { AtomicIsize::new(0) }; PLACES];

thread_local! {
    /// Bytes that the thread allocated minus those that it freed, since its run began.
    static HELD: Cell<isize> = const { Cell::new(0) };
    /// The value of `HELD` that was published last.
    static TOLD: Cell<isize> = const { Cell::new(0) };
    /// The place of the thread's run.
    static PLACE: Cell<usize> = const { Cell::new(NOWHERE) };
}

/// The count of one run, from its creation to its end, in the thread that runs it.
#[derive(Debug)]
pub(crate) struct LiveMemory {
    place: usize,
}

impl LiveMemory {
    /// Reserves a place for the count of a run.
    pub(crate) fn new() -> Self {
        let free = |taken: &AtomicBool| !taken.swap(true, Ordering::Relaxed);
        let place = TAKEN.iter().position(free).unwrap_or(NOWHERE);
        if let Some(published) = PUBLISHED.get(place) {
            published.store(0, Ordering::Relaxed);
        }
        Self { place }
    }

    /// Runs `task` and counts the bytes that this thread holds until it ends.
    pub(crate) fn count<T>(&self, task: impl FnOnce() -> T) -> T {
        let before = (HELD.replace(0), TOLD.replace(0), PLACE.replace(self.place));
        let answer = task();
        HELD.set(before.0 + HELD.get());
        TOLD.set(before.1);
        PLACE.set(before.2);
        answer
    }

    /// Bytes that the run holds, with an error of at most a mebibyte.
    pub(crate) fn bytes(&self) -> u64 {
        let published = PUBLISHED.get(self.place);
        let bytes = published.map_or(0, |bytes| bytes.load(Ordering::Relaxed));
        u64::try_from(bytes).unwrap_or(0)
    }
}

impl Drop for LiveMemory {
    fn drop(&mut self) {
        if let Some(taken) = TAKEN.get(self.place) {
            taken.store(false, Ordering::Relaxed);
        }
    }
}

#[inline]
fn count(bytes: isize) {
    let held = HELD.get() + bytes;
    HELD.set(held);
    if (held - TOLD.get()).abs() >= GRAIN {
        publish(held);
    }
}

#[cold]
fn publish(held: isize) {
    TOLD.set(held);
    if let Some(published) = PUBLISHED.get(PLACE.get()) {
        published.store(held, Ordering::Relaxed);
    }
}

#[expect(unsafe_code, reason = "the trait of allocators is unsafe")]
// SAFETY: each call is the system allocator's; counting allocates nothing.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as isize - layout.size() as isize);
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_counts_what_it_holds_and_not_what_it_freed() {
        let memory = LiveMemory::new();
        let kept = memory.count(|| {
            drop(vec![1_u8; 50 << 20]);
            let kept = vec![1_u8; 20 << 20];
            assert!((19 << 20..22 << 20).contains(&memory.bytes()), "{memory:?}");
            kept
        });
        drop(kept);
        let other = LiveMemory::new();
        assert_ne!(other.place, memory.place);
        assert_eq!(other.bytes(), 0);
    }

    #[test]
    fn a_place_is_given_back() {
        for _ in 0..3 * PLACES {
            assert_ne!(LiveMemory::new().place, NOWHERE);
        }
    }
}
