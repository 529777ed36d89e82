//! Phases of losses: the part of a transmission at which a packet arrived that a full queue
//! dropped.
//!
//! Flows of exact hosts keep their phases for ever, and the phases decide which flow loses (Floyd
//! and Jacobson 1992). In a network phases vary, and two losses of a flow have the same phase by
//! chance only.

use crate::ids::ResponsiveId;

/// Losses of flows that are compared with the loss before them.
#[derive(Clone, Debug, Default)]
pub(crate) struct LossPhases {
    /// Phase of each flow's last compared loss.
    last: Vec<Option<u16>>,
    /// Losses that have a loss of the same flow before them.
    pub(crate) compared: u64,
    /// Compared losses whose phase is that of the loss before.
    pub(crate) same: u64,
}

impl LossPhases {
    /// Phases no farther apart are the same: a 64th of a transmission.
    const NEAR: u16 = 1 << 10;

    /// The first loss of a flow in a congestion event, at this `phase` in parts of 65,536 of a
    /// transmission.
    pub(crate) fn add(&mut self, flow: ResponsiveId, phase: u16) {
        let at = flow.index();
        if self.last.len() <= at {
            self.last.resize(at + 1, None);
        }
        if let Some(last) = self.last[at].replace(phase) {
            let apart = phase.wrapping_sub(last).min(last.wrapping_sub(phase));
            self.compared += 1;
            self.same += u64::from(apart < Self::NEAR);
        }
    }

    /// Sets the counts to zero at the end of the warm-up.
    pub(crate) fn restart(&mut self) {
        self.compared = 0;
        self.same = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Equal phases are the same also across the end of a transmission; those of other flows do not
    /// matter.
    #[test]
    fn losses_are_compared_with_the_last_one_of_their_flow() {
        let mut phases = LossPhases::default();
        let flow = ResponsiveId::new;
        for (number, phase) in [(0, 10), (3, 30_000), (0, 65_500), (3, 20_000), (0, 0)] {
            phases.add(flow(number), phase);
        }
        assert_eq!((phases.compared, phases.same), (3, 2));
        phases.restart();
        phases.add(flow(3), 20_000 + LossPhases::NEAR);
        phases.add(flow(3), 20_000);
        phases.add(flow(3), 20_001);
        assert_eq!((phases.compared, phases.same), (3, 1));
    }
}
