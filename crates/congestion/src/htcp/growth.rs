//! H-TCP's growth and cut on packets (Leith and Shorten 2004; draft-leith-tcp-htcp-06), whose names
//! the fields have.

use std::fmt::Debug;

use forebay_units::Time;

use super::law::{Htcp, RateSwitch};
use crate::classic::WindowGrowth;
use crate::packet::{Ack, Path, Signal, Window};

/// In what H-TCPs differ.
pub trait HtcpVariant: Clone + Debug {
    /// alpha as a share of the published one makes it.
    fn alpha(&self, published: f64, path: &Path) -> f64;

    /// Whether a cut halves the window; `switched` where the rate has changed since the last cut.
    fn halves(&mut self, switched: bool) -> bool;
}

/// The paper's.
#[derive(Clone, Copy, Debug, Default)]
pub struct Published;

impl HtcpVariant for Published {
    #[inline]
    fn alpha(&self, published: f64, _: &Path) -> f64 {
        published
    }

    fn halves(&mut self, switched: bool) -> bool {
        switched
    }
}

/// tcp_htcp.c: the increase is scaled by the round trip (`use_rtt_scaling`), and after a cut to one
/// half for a changed rate the next cut halves, too (`modeswitch`).
#[derive(Clone, Copy, Debug, Default)]
pub struct LinuxHtcp {
    /// Whether the cut before found the rate unchanged.
    modeswitch: bool,
}

/// The share of 100 ms that a round trip takes, by which Linux divides the increase: its inverse in
/// whole eighths, between 1/2 and 10 (tcp_htcp.c, `htcp_alpha_update`).
fn share_of_reference(min_rtt: f64) -> f64 {
    (0.8 / min_rtt).floor().clamp(4.0, 80.0) / 8.0
}

impl HtcpVariant for LinuxHtcp {
    #[inline]
    fn alpha(&self, published: f64, path: &Path) -> f64 {
        if path.min_rtt > 0.0 {
            (published / share_of_reference(path.min_rtt)).max(1.0)
        } else {
            published
        }
    }

    fn halves(&mut self, switched: bool) -> bool {
        let steady = std::mem::replace(&mut self.modeswitch, !switched);
        switched || !steady
    }
}

/// H-TCP of this variant.
#[derive(Clone, Debug)]
pub struct HtcpGrowth<V> {
    rate_switch: RateSwitch,
    variant: V,
    /// Kept fraction of the window at the last cut.
    beta: f64,
    /// When that was, or the first packet was acknowledged.
    last_cong: Option<Time>,
    /// The rate at the last cut, packets per second.
    last_rate: f64,
}

impl<V: HtcpVariant + Default> HtcpGrowth<V> {
    /// With the law's rate switch.
    pub(crate) fn new(law: &Htcp) -> Self {
        Self {
            rate_switch: law.rate_switch,
            variant: V::default(),
            beta: 0.5,
            last_cong: None,
            last_rate: 0.0,
        }
    }
}

impl<V: HtcpVariant> HtcpGrowth<V> {
    /// Packets added per round trip, `elapsed` seconds after the last cut.
    #[inline]
    fn increase(&self, elapsed: f64, path: &Path) -> f64 {
        let d = elapsed - 1.0;
        let alpha = if d <= 0.0 {
            1.0
        } else {
            1.0 + 10.0 * d + 0.25 * d * d
        };
        2.0 * (1.0 - self.beta) * self.variant.alpha(alpha, path)
    }
}

impl<V: HtcpVariant> WindowGrowth for HtcpGrowth<V> {
    /// The clock starts with the first packet of slow start.
    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, path: &Path) {
        let since = *self.last_cong.get_or_insert(ack.now);
        let elapsed = ack.now.saturating_sub(since).as_secs_f64();
        window.cwnd += self.increase(elapsed, path) * ack.acked / window.cwnd;
    }

    fn on_congestion(&mut self, window: &mut Window, signal: Signal, now: Time, path: &Path) {
        let rate = path.flight / path.smoothed_rtt.max(1e-9);
        let switched = self.rate_switch == RateSwitch::On
            && (self.last_rate <= 0.0 || (rate - self.last_rate).abs() > 0.2 * self.last_rate);
        self.beta = if self.variant.halves(switched) || path.max_rtt <= 0.0 {
            0.5
        } else {
            (path.min_rtt / path.max_rtt).clamp(0.5, 0.8)
        };
        self.last_rate = rate;
        self.last_cong = Some(now);
        window.cut(self.beta * path.flight, signal);
    }

    // Linux's tcp_htcp has no `min_cwnd`: the threshold.
    fn recovery_floor(&self, window: &Window) -> f64 {
        window.ssthresh
    }

    // Linux: htcp_cwnd_undo.
    fn on_undo(&mut self, before: &Self) {
        self.clone_from(before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_the_reference_is_bounded() {
        assert_eq!(share_of_reference(1e-9), 10.0);
        assert_eq!(share_of_reference(f64::INFINITY), 0.5);
    }
}
