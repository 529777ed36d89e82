//! The opening of a congestion event: the count law chooses the flows that lose, and each is cut a
//! round trip later.

use super::Run;
use crate::schedule::{Cause, Occurrence};

impl Run<'_> {
    /// Opens a congestion event at a link at the time `at`. The candidates are the flows of the
    /// link.
    pub(crate) fn open_event(&mut self, link: usize, at: f64) {
        if self.candidates.is_empty() {
            // Every flow waits for its timer, so RED drops only background packets, and its next
            // drop comes later.
            if let Some(red) = &mut self.links[link].red {
                red.restart();
            }
            return;
        }
        let law = &self.model.synchronization;
        let count = self.links[link].choose_victims(law, &mut self.candidates);
        let fraction = count as f64 / self.links[link].events.flow_count as f64;
        let (mut first, mut last) = (f64::INFINITY, at);
        let follows = self.links[link].event_follows();
        for (place, flow) in self.candidates.iter().enumerate() {
            let time = at + flow.round_trip;
            let exposure = &mut self.flows.exposure[flow.slot as usize];
            if place >= count {
                if !follows {
                    exposure.shelter(at, time);
                }
                continue;
            }
            (first, last) = (first.min(time), last.max(time));
            self.links[link].events.lose(flow.slot as usize);
            if exposure.shelter(at, time) {
                let (cause, slot) = (Cause::Event, flow.slot);
                self.schedule.enter(time, Occurrence::Cut { cause, slot });
            }
        }
        self.links[link].expect_answer(if follows { at } else { first });
        let number = link as u32;
        self.schedule
            .enter(last, Occurrence::Close { link: number });
        if link == self.model.target {
            self.measurement
                .delimit(at, &mut self.flows, &mut self.links);
        }
        let counters = &mut self.links[link].counters;
        counters.events += 1;
        counters.fractions += fraction;
    }
}
