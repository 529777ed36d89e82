//! Memory of a thread: an allocator that counts, for the test or the fuzzer that installs it.
//! Counts do not depend on the machine, whereas resident pages do.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Tolerance of memory estimates in bytes: histograms, samples and empty places of the calendar.
pub const BESIDE: f64 = 3e6;

/// The system's allocator with a count per thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counted;

thread_local! {
    /// Bytes that the thread holds now, minus those at the start of the count.
    static HELD: Cell<isize> = const { Cell::new(0) };
    /// The largest value of `HELD` so far.
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// Runs `task` and returns its result with the peak of its memory, in bytes above the start. The
/// peak is zero if [`Counted`] is not the allocator of the program.
pub fn peak_of<T>(task: impl FnOnce() -> T) -> (T, usize) {
    let (held, peak) = (HELD.get(), PEAK.get());
    HELD.set(0);
    PEAK.set(0);
    let answer = task();
    let taken = PEAK.get();
    PEAK.set(peak.max(held + taken));
    HELD.set(held + HELD.get());
    (answer, taken.unsigned_abs())
}

fn took(bytes: usize) {
    HELD.set(HELD.get() + bytes as isize);
    PEAK.set(PEAK.get().max(HELD.get()));
}

fn gave_back(bytes: usize) {
    HELD.set(HELD.get() - bytes as isize);
}

#[expect(unsafe_code, reason = "every allocator is")]
// SAFETY: every call goes to the system's allocator; counting allocates nothing.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        gave_back(layout.size());
        unsafe { System.dealloc(pointer, layout) }
    }

    /// Both blocks exist while one is copied into the other, unless the system can avoid it.
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        took(size);
        let moved = unsafe { System.realloc(pointer, layout, size) };
        gave_back(layout.size());
        moved
    }
}
