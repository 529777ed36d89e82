//! CUBIC (RFC 9438) as a WebAssembly module, with the results of forebay's
//! `{ kind = "cubic", variant = "rfc" }`.
//!
//! Build: rustc --edition 2024 --target wasm32-unknown-unknown -O --crate-type cdylib cubic.rs
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
    /// `on_congestion_event`: 2 for a timeout. `on_idle`: picoseconds.
    detail: u64,
    /// `on_idle`: NaN without a restart window.
    restart_window: f64,
    rest: [u64; 22],
}

static mut EXCHANGE: Exchange = unsafe { core::mem::zeroed() };

static DESCRIPTION: &core::ffi::CStr = c"{\"title\": \"A window that grows with the cube of the time since the last reduction\", \"state_bytes\": 80, \"parameters\": [{\"name\": \"scale\", \"default\": 0.4, \"least\": 0, \"most\": 1e6, \"meaning\": \"Constant C, in packets per second cubed\"}, {\"name\": \"beta\", \"default\": 0.7, \"least\": 0, \"most\": 1, \"meaning\": \"Part of the window that remains after a reduction\"}]}";

#[link(wasm_import_module = "forebay")]
unsafe extern "C" {
    safe fn cbrt(x: f64) -> f64;
}

/// The state of one connection.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Cubic {
    scale: f64,
    beta: f64,
    alpha: f64,
    w_max: f64,
    k: f64,
    w_est: f64,
    cwnd_prior: f64,
    /// Start of the epoch in picoseconds, if there is one.
    epoch_start: u64,
    has_epoch: u32,
    after_timeout: u32,
    unused: u64,
}

const _: () = assert!(size_of::<Cubic>() == 80);
const _: () = assert!(size_of::<Exchange>() == 256);

fn exchange() -> &'static mut Exchange {
    // One call runs at a time.
    unsafe { &mut *(&raw mut EXCHANGE) }
}

impl Cubic {
    /// The window of equation 1.
    fn w_cubic(&self, seconds: f64) -> f64 {
        let x = seconds - self.k;
        self.scale * x * x * x + self.w_max
    }

    /// Starts the clock of the cubic function (sections 4.2 and 4.8).
    fn begin_epoch(&mut self, x: &Exchange) {
        (self.has_epoch, self.epoch_start) = (1, x.now_ps);
        self.w_est = x.cwnd;
        if self.w_max <= x.cwnd || self.after_timeout != 0 {
            self.w_max = x.cwnd;
            self.k = 0.0;
        } else {
            self.k = cbrt((self.w_max - x.cwnd) / self.scale);
        }
        self.after_timeout = 0;
    }
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

/// Takes the parameters, which are at the start of the exchange in their order.
#[unsafe(no_mangle)]
extern "C" fn create(state: &mut Cubic) {
    let x = exchange();
    state.scale = x.cwnd;
    state.beta = x.ssthresh;
    state.alpha = 3.0 * (1.0 - state.beta) / (1.0 + state.beta);
    state.cwnd_prior = f64::INFINITY;
}

/// Grows the window (sections 4.2 to 4.4).
#[unsafe(no_mangle)]
extern "C" fn on_ack(state: &mut Cubic) {
    let x = exchange();
    let mut acked = x.amount;
    if x.cwnd < x.ssthresh {
        let grown = x.cwnd + acked;
        acked = if grown <= x.ssthresh { 0.0 } else { grown - x.ssthresh };
        x.cwnd = if grown <= x.ssthresh { grown } else { x.ssthresh };
    }
    if acked <= 0.0 {
        return;
    }
    if state.has_epoch == 0 {
        state.begin_epoch(x);
    }
    let elapsed = x.now_ps.saturating_sub(state.epoch_start) as f64 / 1e12;
    let per_packet = acked / x.cwnd;
    let is_below = state.w_est < state.cwnd_prior || state.alpha == 0.0;
    state.w_est += if is_below { state.alpha } else { 1.0 } * per_packet;
    if state.w_cubic(elapsed) < state.w_est && state.alpha > 0.0 {
        x.cwnd = f64::max(x.cwnd, state.w_est);
        return;
    }
    let target = state.w_cubic(elapsed + x.smoothed_rtt);
    let target = f64::min(f64::max(target, x.cwnd), 1.5 * x.cwnd);
    x.cwnd += (target - x.cwnd) * per_packet;
}

/// Reduces the window (sections 4.6 and 4.7).
#[unsafe(no_mangle)]
extern "C" fn on_congestion_event(state: &mut Cubic) {
    let x = exchange();
    let flight = x.amount;
    state.cwnd_prior = flight;
    state.w_max = if flight < state.w_max { 0.5 * flight * (1.0 + state.beta) } else { flight };
    state.has_epoch = 0;
    state.after_timeout = u32::from(x.detail as u32 == 2);
    x.ssthresh = f64::max(state.beta * flight, 2.0);
    x.cwnd = x.ssthresh;
}

/// The threshold, as in Linux, whose CUBIC has no `min_cwnd`.
#[unsafe(no_mangle)]
extern "C" fn recovery_floor(_state: &mut Cubic) -> f64 {
    exchange().ssthresh
}

/// Leaves idle time out of the clock (section 5.8).
#[unsafe(no_mangle)]
extern "C" fn on_idle(state: &mut Cubic) {
    let x = exchange();
    // A NaN is no restart window; `min` then keeps the other number.
    x.cwnd = f64::min(x.cwnd, x.restart_window);
    state.epoch_start = u64::min(state.epoch_start.saturating_add(x.detail), x.now_ps);
}

/// Restores the state before a spurious timeout (section 4.9.2).
#[unsafe(no_mangle)]
extern "C" fn on_undo(state: &mut Cubic, before: &Cubic) {
    *state = *before;
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    core::arch::wasm32::unreachable()
}
