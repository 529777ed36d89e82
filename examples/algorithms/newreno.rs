//! New Reno (RFC 5681, RFC 6582) as a WebAssembly module, with the results of forebay's `newreno`.
//!
//! Build: rustc --edition 2024 --target wasm32-unknown-unknown -O --crate-type cdylib newreno.rs
#![no_std]

/// The values that forebay and the module exchange (docs/reference/own-algorithms.md).
#[repr(C, align(8))]
struct Exchange {
    cwnd: f64,
    ssthresh: f64,
    now_ps: u64,
    now: f64,
    smoothed_rtt: f64,
    min_rtt: f64,
    max_rtt: f64,
    /// `on_ack`: packets acknowledged. `on_congestion_event`: packets in flight.
    amount: f64,
    rest: [u64; 24],
}

static mut EXCHANGE: Exchange = unsafe { core::mem::zeroed() };

static DESCRIPTION: &core::ffi::CStr =
    c"{\"title\": \"One packet more per round trip, half of the window after a loss\", \"state_bytes\": 0}";

fn exchange() -> &'static mut Exchange {
    // One call runs at a time.
    unsafe { &mut *(&raw mut EXCHANGE) }
}

#[unsafe(no_mangle)]
extern "C" fn forebay_abi() -> i32 {
    1
}

#[unsafe(no_mangle)]
extern "C" fn forebay_describe() -> *const core::ffi::c_char {
    DESCRIPTION.as_ptr()
}

#[unsafe(no_mangle)]
extern "C" fn forebay_exchange() -> *const Exchange {
    exchange()
}

#[unsafe(no_mangle)]
extern "C" fn create(_state: *mut u8) {}

/// Grows the window (RFC 5681, section 3.1).
#[unsafe(no_mangle)]
extern "C" fn on_ack(_state: *mut u8) {
    let x = exchange();
    let mut acked = x.amount;
    if x.cwnd < x.ssthresh {
        let grown = x.cwnd + acked;
        acked = if grown <= x.ssthresh { 0.0 } else { grown - x.ssthresh };
        x.cwnd = if grown <= x.ssthresh { grown } else { x.ssthresh };
    }
    x.cwnd += acked / x.cwnd;
}

/// Halves the window (RFC 5681, equation 4).
#[unsafe(no_mangle)]
extern "C" fn on_congestion_event(_state: *mut u8) {
    let x = exchange();
    x.ssthresh = f64::max(0.5 * x.amount, 2.0);
    x.cwnd = x.ssthresh;
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    core::arch::wasm32::unreachable()
}
