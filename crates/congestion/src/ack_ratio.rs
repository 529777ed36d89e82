//! Packets per acknowledgment as BIC and CUBIC of Linux 2.6 estimate them (`bictcp_acked` of
//! net/ipv4/tcp_bic.c and tcp_cubic.c). Both divide the count of acknowledgments per packet of
//! growth by the ratio.

use crate::packet::{LossState, Sample};

/// `ACK_RATIO_SHIFT`: the ratio is in sixteenths.
const SCALE: u64 = 16;

/// The largest count that can be divided.
pub(crate) const LARGEST_COUNT: u64 = u64::MAX / SCALE;

/// The ratio, and the state of the sender at the last acknowledgment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckRatio {
    /// Packets per acknowledgment, in sixteenths (`delayed_ack`).
    pub(crate) sixteenths: u64,
    /// State of loss recovery before this acknowledgment.
    state: LossState,
    /// Packets that were acknowledged until then.
    pub(crate) acknowledged: u64,
}

impl Default for AckRatio {
    fn default() -> Self {
        Self {
            sixteenths: 2 * SCALE,
            state: LossState::Open,
            acknowledged: 0,
        }
    }
}

impl AckRatio {
    /// Begins again at two packets per acknowledgment (`bictcp_reset`).
    pub(crate) fn reset(&mut self) {
        self.sixteenths = 2 * SCALE;
    }

    /// Takes an acknowledgment into account. Returns whether it was for new packets and no loss is
    /// being repaired, which it takes to count.
    pub(crate) fn on_sample(&mut self, sample: &Sample) -> bool {
        let acked = sample.acknowledged.saturating_sub(self.acknowledged);
        self.acknowledged = sample.acknowledged;
        let before = std::mem::replace(&mut self.state, sample.state);
        let counts = acked > 0 && before == LossState::Open && sample.state == LossState::Open;
        if counts {
            self.sixteenths = self.sixteenths + acked - self.sixteenths / SCALE;
        }
        counts
    }

    /// Acknowledgments for a count of packets, one at least.
    pub(crate) fn divide(&self, packets: u64) -> u64 {
        (packets * SCALE / self.sixteenths.max(1)).max(1)
    }
}
