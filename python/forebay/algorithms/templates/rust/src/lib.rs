//! A congestion control for forebay: one packet more per round trip, a part of the window after a
//! loss (RFC 5681).
#![no_std]

mod forebay;

use core::ffi::{CStr, c_char};

use forebay::exchange;

/// The facts about this module in JSON: `state_bytes` is the size of `State`.
static DESCRIPTION: &CStr = cr#"{
    "title": "One packet more per round trip, a part of the window after a loss",
    "state_bytes": 8,
    "parameters": [{
        "name": "beta", "default": 0.5, "least": 0, "most": 1,
        "meaning": "Part of the window that remains after a loss"
    }]
}"#;

/// The state of one connection. forebay fills it with zeros and copies it, so it holds no address.
#[repr(C)]
struct State {
    beta: f64,
}

const _: () = assert!(size_of::<State>() == 8);

#[unsafe(no_mangle)]
extern "C" fn forebay_describe() -> *const c_char {
    DESCRIPTION.as_ptr()
}

/// Takes the parameters, in the order of the description.
#[unsafe(no_mangle)]
extern "C" fn create(state: &mut State) {
    state.beta = forebay::parameters()[0];
}

/// Grows the window (RFC 5681, section 3.1).
#[unsafe(no_mangle)]
extern "C" fn on_ack(_state: &mut State) {
    let x = exchange();
    let acked = x.slow_start(x.ack().acked);
    x.cwnd += acked / x.cwnd;
}

/// Reduces the window to a part of the packets in flight (RFC 5681, equation 4).
#[unsafe(no_mangle)]
extern "C" fn on_congestion_event(state: &mut State) {
    let x = exchange();
    x.reduce(state.beta * x.event().flight);
}
