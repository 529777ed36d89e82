//! The cubic of tcp_cubic.c, the same in all versions of Linux, in whole packets and 2^-10 s; the
//! fields have the kernel's names. The cube root is exact where the kernel's is off by 0.2 %.

/// `BICTCP_HZ`: times are in 2^-10 s.
const CLOCK_BITS: u32 = 10;

/// `BICTCP_BETA_SCALE`.
pub(super) const BETA_SCALE: u64 = 1024;

/// A cubic in the time since an epoch began.
#[derive(Clone, Copy, Debug)]
pub(super) struct Curve {
    /// C times 1024: ten times the kernel's `bic_scale`.
    scale: u64,
    /// The window around which the cubic lies.
    origin_point: u64,
    /// K in 2^-10 s.
    k: u64,
}

impl Curve {
    /// With C in packets per second^3; `bic_scale` is a tenth of its 1024ths and whole: 41 for 0.4.
    pub(super) fn new(c: f64) -> Self {
        Self {
            scale: ((c * 102.4).round() as u64).max(1) * 10,
            origin_point: 0,
            k: 0,
        }
    }

    /// An epoch begins at this window, after one that ended at `last_max_cwnd`.
    pub(super) fn begin(&mut self, cwnd: u64, last_max_cwnd: u64) {
        if last_max_cwnd <= cwnd {
            self.k = 0;
            self.origin_point = cwnd;
        } else {
            let cubed = (1_u64 << (10 + 3 * CLOCK_BITS)) / self.scale;
            self.k = libm::cbrt(cubed as f64 * (last_max_cwnd - cwnd) as f64) as u64;
            self.origin_point = last_max_cwnd;
        }
    }

    /// Packets acknowledged per packet of growth to be, from this window, at this [`clock`] since
    /// the epoch began.
    pub(super) fn count(&self, cwnd: u64, time: u64) -> u64 {
        let offset = u128::from(time.abs_diff(self.k));
        let cube = u128::from(self.scale) * offset * offset * offset;
        let delta = (cube >> (10 + 3 * CLOCK_BITS)).min(u128::from(u64::MAX >> 1)) as u64;
        let target = if self.is_past_origin(time) {
            self.origin_point.saturating_add(delta)
        } else {
            self.origin_point.saturating_sub(delta)
        };
        if target > cwnd {
            cwnd / (target - cwnd)
        } else {
            100 * cwnd
        }
    }

    /// Whether the cubic is past its inflection then.
    pub(super) fn is_past_origin(&self, time: u64) -> bool {
        time >= self.k
    }
}

/// Converts ticks of a kernel with `hz` ticks per second to units of 2^-10 s.
pub(super) fn clock(ticks: u64, hz: u64) -> u64 {
    (ticks << CLOCK_BITS) / hz
}

/// Eighths of a window that must be acknowledged per packet of the friendly window's growth. `beta`
/// is the fraction of the window that remains, in units of 1/[`BETA_SCALE`] (`beta_scale`).
pub(super) fn friendly_eighths(beta: u64) -> u64 {
    (8 * (BETA_SCALE + beta) / 3 / (BETA_SCALE - beta).max(1)).max(1)
}
