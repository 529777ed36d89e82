//! What a page's worker calls, over linear memory. Each function is of C's kind: numbers in, a number out.
//!
//! 1. `forebay_reserve(length)` gives the address where the next request is to be written, 0 where it is too long.
//! 2. `forebay_ask()` does it: 0, or 2 where it is refused ([`State`]). `forebay_answer()` is the address and
//!    `forebay_answer_length()` the length of the answer in UTF-8.
//! 3. `forebay_advance(until, events)` lets a run go on, `until` in picoseconds since its beginning: 0, 1 at its
//!    end, 2 where it is refused; `forebay_now()` is where it stands, `forebay_watch(most)`, `forebay_follow(group, flow)`
//!    and `forebay_look(flows)` are as in [`Laboratory`].
//!    `forebay_figures()` is the address of the picture, `forebay_figures_length()` how many 64-bit numbers it has.
//!
//! An address holds until the next call, and memory may have grown by then. Where a call traps the instance is to be
//! thrown away; `forebay_defect()` and `forebay_defect_length()` still say of it what was wrong.

#![expect(
    unsafe_code,
    reason = "a name that a page can call is an unsafe attribute; nothing here reads through an address"
)]

use std::cell::RefCell;

use forebay_units::Time;

use crate::laboratory::{Laboratory, MOST_REQUEST, State};

/// All that an instance holds.
#[derive(Default)]
struct Instance {
    laboratory: Laboratory,
    request: Vec<u8>,
}

thread_local! {
    static INSTANCE: RefCell<Instance> = RefCell::default();
    static DEFECT: RefCell<String> = RefCell::default();
}

fn with<T>(ask: impl FnOnce(&mut Instance) -> T) -> T {
    INSTANCE.with_borrow_mut(ask)
}

fn advised(call: impl FnOnce(&mut Laboratory) -> State) -> u32 {
    with(|instance| call(&mut instance.laboratory) as u32)
}

/// Keeps what a panic says, which a page can read behind the trap that follows.
fn keep_defects() {
    std::panic::set_hook(Box::new(|panic| {
        DEFECT.with_borrow_mut(|defect| *defect = panic.to_string());
    }));
}

/// Where to write a request of so many bytes.
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

/// Does what the request asks.
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

/// Its bytes.
#[unsafe(no_mangle)]
pub extern "C" fn forebay_answer_length() -> usize {
    with(|instance| instance.laboratory.answer().len())
}

/// Lets the run go on until so many picoseconds after its beginning, or about so many events more.
#[unsafe(no_mangle)]
pub extern "C" fn forebay_advance(until: u64, events: u64) -> u32 {
    advised(|laboratory| laboratory.advance(Time::from_picos(until), events))
}

/// Where the run stands, in picoseconds since its beginning; 0 where there is none.
#[unsafe(no_mangle)]
pub extern "C" fn forebay_now() -> u64 {
    with(|instance| instance.laboratory.now().as_picos())
}

/// Has up to so many sightings kept between two pictures.
#[unsafe(no_mangle)]
pub extern "C" fn forebay_watch(most: u32) -> u32 {
    advised(|laboratory| laboratory.watch(most as usize))
}

/// Has pictures tell how a flow of a group stood at each change.
#[unsafe(no_mangle)]
pub extern "C" fn forebay_follow(group: u32, flow: u32) -> u32 {
    advised(|laboratory| laboratory.follow(u64::from(group), u64::from(flow)))
}

/// Takes a picture with up to so many flows.
#[unsafe(no_mangle)]
pub extern "C" fn forebay_look(flows: u32) -> u32 {
    advised(|laboratory| laboratory.look(flows as usize))
}

/// Address of the picture.
#[unsafe(no_mangle)]
pub extern "C" fn forebay_figures() -> *const f64 {
    with(|instance| instance.laboratory.figures().as_ptr())
}

/// How many numbers it has.
#[unsafe(no_mangle)]
pub extern "C" fn forebay_figures_length() -> usize {
    with(|instance| instance.laboratory.figures().len())
}

/// Address of what was wrong where a call trapped.
#[unsafe(no_mangle)]
pub extern "C" fn forebay_defect() -> *const u8 {
    DEFECT.with_borrow(|defect| defect.as_ptr())
}

/// Its bytes.
#[unsafe(no_mangle)]
pub extern "C" fn forebay_defect_length() -> usize {
    DEFECT.with_borrow(String::len)
}
