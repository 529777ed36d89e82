//! The functions that a page's worker calls, over linear memory. They use the C calling convention,
//! with numbers as arguments and results.
//!
//! 1. `forebay_reserve(length)` returns the address for the next request, or 0 if the request is
//!    too long.
//! 2. `forebay_ask()` performs it and returns 0, or 2 if it is refused ([`State`]).
//!    `forebay_answer()` is the address and `forebay_answer_length()` the length of the answer in
//!    UTF-8.
//! 3. `forebay_advance(until, events)` continues a run, `until` in picoseconds since its beginning.
//!    It returns 0, 1 at the end of the run, or 2 if it is refused.
//! 4. `forebay_now()` is the time of the run. `forebay_watch(most)`, `forebay_follow(group, flow)`
//!    and `forebay_look(flows)` are as in [`Laboratory`].
//! 5. `forebay_figures()` is the address of the picture, `forebay_figures_length()` its number of
//!    64-bit floats.
//! 6. A module of a user that imports a function calls `forebay_import(number, x, y)` through the
//!    page, in the middle of one of the calls above.
//!
//! An address is valid until the next call, because the memory may grow. If a call traps, the
//! instance must be discarded. `forebay_defect()` and `forebay_defect_length()` then still give the
//! panic message, or with `forebay_defect_is_of_code()` the error of a user's code.

#![expect(
    unsafe_code,
    reason = "a name that a page can call is an unsafe attribute; nothing here reads through an address"
)]

use std::cell::{Cell, RefCell};

use forebay_units::Time;
use forebay_units::custom::CodeError;

use crate::laboratory::{Laboratory, MOST_REQUEST, State};

/// The state of an instance.
#[derive(Default)]
struct Instance {
    laboratory: Laboratory,
    request: Vec<u8>,
}

thread_local! {
    static INSTANCE: RefCell<Instance> = RefCell::default();
    static DEFECT: RefCell<String> = RefCell::default();
    static IS_OF_CODE: Cell<bool> = const { Cell::new(false) };
}

fn with<T>(ask: impl FnOnce(&mut Instance) -> T) -> T {
    INSTANCE.with_borrow_mut(ask)
}

fn advised(call: impl FnOnce(&mut Laboratory) -> State) -> u32 {
    with(|instance| call(&mut instance.laboratory) as u32)
}

/// Stores panic messages and errors of users' code, which a page can read after the trap that
/// follows.
fn keep_defects() {
    std::panic::set_hook(Box::new(|panic| {
        tell(&panic.to_string(), false);
    }));
    CodeError::tell_first(|error| tell(&error.0, true));
}

fn tell(text: &str, is_of_code: bool) {
    DEFECT.with_borrow_mut(|defect| text.clone_into(defect));
    IS_OF_CODE.set(is_of_code);
}

/// Returns the address for a request of `length` bytes; null if it is too long.
#[unsafe(no_mangle)]
pub extern "C" fn forebay_reserve(length: u32) -> *const u8 {
    if length as usize > MOST_REQUEST {
        return std::ptr::null();
    }
    if cfg!(target_family = "wasm") {
        keep_defects();
    }
    with(|instance| {
        instance.request = vec![0; length as usize];
        instance.request.as_ptr()
    })
}

/// Performs the request.
#[unsafe(no_mangle)]
pub extern "C" fn forebay_ask() -> u32 {
    with(|instance| {
        let request = std::mem::take(&mut instance.request);
        instance.laboratory.ask(&request) as u32
    })
}

/// Address of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn forebay_answer() -> *const u8 {
    with(|instance| instance.laboratory.answer().as_ptr())
}

/// Length of the answer in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn forebay_answer_length() -> usize {
    with(|instance| instance.laboratory.answer().len())
}

/// Continues the run until `until` picoseconds after its beginning, or for about `events` events.
#[unsafe(no_mangle)]
pub extern "C" fn forebay_advance(until: u64, events: u64) -> u32 {
    advised(|laboratory| laboratory.advance(Time::from_picos(until), events))
}

/// The time of the run, in picoseconds since its beginning; 0 if there is no run.
#[unsafe(no_mangle)]
pub extern "C" fn forebay_now() -> u64 {
    with(|instance| instance.laboratory.now().as_picos())
}

/// Records at most `most` packet events at the target link between two pictures.
#[unsafe(no_mangle)]
pub extern "C" fn forebay_watch(most: u32) -> u32 {
    advised(|laboratory| laboratory.watch(most as usize))
}

/// Records in pictures the state of a flow of a group at each change.
#[unsafe(no_mangle)]
pub extern "C" fn forebay_follow(group: u32, flow: u32) -> u32 {
    advised(|laboratory| laboratory.follow(u64::from(group), u64::from(flow)))
}

/// Takes a picture with at most `flows` flows.
#[unsafe(no_mangle)]
pub extern "C" fn forebay_look(flows: u32) -> u32 {
    advised(|laboratory| laboratory.look(flows as usize))
}

/// Address of the picture.
#[unsafe(no_mangle)]
pub extern "C" fn forebay_figures() -> *const f64 {
    with(|instance| instance.laboratory.figures().as_ptr())
}

/// Number of 64-bit floats in the picture.
#[unsafe(no_mangle)]
pub extern "C" fn forebay_figures_length() -> usize {
    with(|instance| instance.laboratory.figures().len())
}

/// Address of the panic message after a call trapped.
#[unsafe(no_mangle)]
pub extern "C" fn forebay_defect() -> *const u8 {
    DEFECT.with_borrow(|defect| defect.as_ptr())
}

/// Length of the panic message in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn forebay_defect_length() -> usize {
    DEFECT.with_borrow(String::len)
}

/// Whether the code of a user caused the trap.
#[unsafe(no_mangle)]
pub extern "C" fn forebay_defect_is_of_code() -> bool {
    IS_OF_CODE.get()
}

/// The result of a function that a module of a user imports, by its number.
#[cfg(target_family = "wasm")]
#[unsafe(no_mangle)]
pub extern "C" fn forebay_import(number: u32, x: f64, y: f64) -> f64 {
    forebay_webassembly::imported(number as usize, x, y)
}
