//! Packets that a link has lost in an interval, in proportion to the packets of each flow.

use super::Run;
use crate::error::FluidError;
use crate::exposure::Losses;
use crate::links::Interval;

impl Run<'_> {
    /// Counts an interval at a link and distributes its losses.
    pub(crate) fn account(&mut self, link: usize, stretch: Interval) -> Result<(), FluidError> {
        let lost = self.links[link].account(&stretch);
        if !(stretch.arrived.is_finite() && self.links[link].queue.is_finite()) {
            return Err(FluidError::NotFinite { time: self.now });
        }
        if lost > 0.0 {
            self.share_losses(link, lost / stretch.arrived, stretch.span);
        }
        Ok(())
    }

    /// Distributes a link's losses in an interval of `span` seconds in proportion to the sent
    /// packets.
    pub(crate) fn share_losses(&mut self, link: usize, fraction: f64, span: f64) {
        let goes_on = self.links[link].overflow_goes_on(self.now);
        for class in 0..self.flows.classes.len() {
            if self.path(class).contains(&link) {
                if goes_on {
                    self.expose(link, class, Losses { fraction, span });
                }
                let range = self.flows.classes[class].range.clone();
                let survivors = &mut self.flows.stretch[range.clone()];
                for (total, packets) in self.flows.lost[range].iter_mut().zip(survivors) {
                    // Packets that are lost here cannot be lost again at a later link.
                    *total += fraction * *packets;
                    *packets -= fraction * *packets;
                }
            }
        }
    }
}
