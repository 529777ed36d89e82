//! Slow start as in RFC 5681 section 3.1: a packet more for each one acknowledged, up to the
//! threshold.

use crate::classic::SlowStart;
use crate::packet::Window;

/// Nothing but the threshold ends it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Standard;

impl SlowStart for Standard {
    #[inline]
    fn on_ack(&mut self, window: &mut Window, acked: f64) -> f64 {
        window.slow_start(acked)
    }
}
