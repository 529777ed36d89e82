//! The interface of forebay, version 1: the exchange, the imports, and the exports that every
//! module has. The manual describes it under "Your own algorithms", section "WebAssembly".
#![allow(dead_code)]

/// The values that forebay writes before each call.
#[repr(C, align(8))]
pub struct Exchange {
    /// Congestion window in packets. forebay takes it after the call.
    pub cwnd: f64,
    /// Slow-start threshold in packets. forebay takes it after the call.
    pub ssthresh: f64,
    /// Time in picoseconds.
    pub now_ps: u64,
    /// Time in seconds.
    pub now: f64,
    /// Smoothed, smallest and largest round-trip time in seconds.
    pub smoothed_rtt: f64,
    pub min_rtt: f64,
    pub max_rtt: f64,
    call: Call,
}

/// The values of one kind of call.
#[repr(C)]
union Call {
    ack: Ack,
    event: Event,
    idle: Idle,
    open: Open,
    sample: Sample,
    bytes: [u64; 25],
}

/// `on_ack`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Ack {
    /// Packets acknowledged for the first time.
    pub acked: f64,
}

/// `on_congestion_event` and `on_timeout`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Event {
    /// Packets in flight.
    pub flight: f64,
    /// `LOSS`, `MARK` or `TIMEOUT`.
    pub kind: u32,
}

pub const LOSS: u32 = 0;
pub const MARK: u32 = 1;
pub const TIMEOUT: u32 = 2;

/// `on_idle`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Idle {
    /// Idle time in seconds.
    pub idle: f64,
    /// Idle time in picoseconds.
    pub idle_ps: u64,
    /// Restart window in packets, or NaN.
    pub restart_window: f64,
}

/// `on_open`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Open {
    /// Bytes of data in a full packet.
    pub payload: u64,
}

/// `on_sample`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Sample {
    /// Round-trip time in seconds, or NaN.
    pub rtt: f64,
    /// Packets that arrived, that were lost, and that arrived with a mark.
    pub arrived: f64,
    pub lost: f64,
    pub marked: f64,
    /// Lowest packet that is not acknowledged, and next packet to send.
    pub acknowledged: u64,
    pub next: u64,
    /// Packets in flight before and after the acknowledgment.
    pub prior_in_flight: f64,
    pub in_flight: f64,
    /// Packets that arrived and that were lost since the start.
    pub delivered: u64,
    pub losses: u64,
    /// Delivery rate in packets per second, or NaN.
    pub delivery_rate: f64,
    /// `OPEN`, `RECOVERY` or `IN_TIMEOUT`.
    pub state: u32,
    /// 1 if the window limited the sender.
    pub limited: u32,
    /// 1 if the application limited the delivery rate.
    pub app_limited: u32,
}

pub const OPEN: u32 = 0;
pub const RECOVERY: u32 = 1;
pub const IN_TIMEOUT: u32 = 2;

const _: () = assert!(size_of::<Exchange>() == 256);

// Functions with equal results on every machine, and the random stream of the connection.
#[link(wasm_import_module = "forebay")]
unsafe extern "C" {
    pub safe fn cbrt(x: f64) -> f64;
    pub safe fn cos(x: f64) -> f64;
    pub safe fn exp(x: f64) -> f64;
    pub safe fn exp2(x: f64) -> f64;
    pub safe fn log(x: f64) -> f64;
    pub safe fn log2(x: f64) -> f64;
    pub safe fn pow(x: f64, y: f64) -> f64;
    pub safe fn sin(x: f64) -> f64;
    pub safe fn tanh(x: f64) -> f64;
    pub safe fn random_uniform() -> f64;
    pub safe fn random_exponential() -> f64;
    pub safe fn random_normal() -> f64;
}

// Each variant of the union is plain numbers, so reading any of them is safe.
impl Exchange {
    /// The values of `on_ack`.
    pub fn ack(&self) -> &Ack {
        unsafe { &self.call.ack }
    }

    /// The values of `on_congestion_event` and `on_timeout`.
    pub fn event(&self) -> &Event {
        unsafe { &self.call.event }
    }

    /// The values of `on_idle`.
    pub fn idle(&self) -> &Idle {
        unsafe { &self.call.idle }
    }

    /// The values of `on_open`.
    pub fn open(&self) -> &Open {
        unsafe { &self.call.open }
    }

    /// The values of `on_sample`.
    pub fn sample(&self) -> &Sample {
        unsafe { &self.call.sample }
    }

    /// Grows the window in slow start (RFC 5681, section 3.1). Returns the packets beyond the
    /// threshold. At or above the threshold, the window stays as it is.
    pub fn slow_start(&mut self, acked: f64) -> f64 {
        if self.cwnd >= self.ssthresh {
            return acked;
        }
        let grown = self.cwnd + acked;
        if grown <= self.ssthresh {
            self.cwnd = grown;
            return 0.0;
        }
        self.cwnd = self.ssthresh;
        grown - self.ssthresh
    }

    /// Reduces window and threshold to this number of packets, at least two (RFC 5681, equation 4).
    pub fn reduce(&mut self, ssthresh: f64) {
        self.ssthresh = if ssthresh > 2.0 { ssthresh } else { 2.0 };
        self.cwnd = self.ssthresh;
    }
}

static mut EXCHANGE: Exchange = unsafe { core::mem::zeroed() };

/// The exchange. Take it once in each function: one call runs at a time.
pub fn exchange() -> &'static mut Exchange {
    unsafe { &mut *(&raw mut EXCHANGE) }
}

/// The parameters in `create`, in the order of the description. Times are in seconds, rates in bits
/// per second; a switch is 0 or 1, and a missing value NaN.
pub fn parameters() -> [f64; 32] {
    unsafe { *(&raw const EXCHANGE).cast() }
}

#[unsafe(no_mangle)]
extern "C" fn forebay_abi() -> i32 {
    1
}

#[unsafe(no_mangle)]
extern "C" fn forebay_exchange() -> *const Exchange {
    &raw const EXCHANGE
}

#[cfg(target_family = "wasm")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    core::arch::wasm32::unreachable()
}
