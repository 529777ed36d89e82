//! What a thread takes of memory: an allocator that counts, for the test or the fuzzer that makes it
//! its own. Counts do not depend on the machine, as resident pages do.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, counting by threads.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counted;

thread_local! {
    /// Bytes that the thread holds now, beyond what it held when counting began.
    static HELD: Cell<isize> = const { Cell::new(0) };
    /// The most of them so far.
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// What `task` gives, and the most bytes that it held at once beyond what was there before; none where
/// [`Counted`] is not the allocator of the program.
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
// SAFETY: all of it is the system's allocator; counting allocates nothing.
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

    /// Both blocks are there while one is copied into the other, as is so unless the system can do
    /// without.
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        took(size);
        let moved = unsafe { System.realloc(pointer, layout, size) };
        gave_back(layout.size());
        moved
    }
}
