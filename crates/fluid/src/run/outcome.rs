//! The outcome of a run: shares, rates and losses over the measured part.

use super::Run;
use crate::counters::LinkCounters;
use crate::links::Link;
use crate::outcome::{FluidOutcome, jain, link_outcome};

/// Packets that a silent flow may seem to send by the rounding of its integrals. Its loss fraction
/// is then meaningless.
const NOTHING: f64 = 1e-6;

impl Run<'_> {
    /// The outcome of the run.
    pub(crate) fn outcome(mut self) -> FluidOutcome {
        let conservation = self.links.iter().map(Link::defect).fold(0.0, f64::max);
        let counts = self.measurement.counts(self.now, &self.flows, &self.links);
        let time = counts.at - self.measurement.from;
        let mut goodput = vec![0.0; counts.sent.len()];
        let mut loss = vec![0.0; counts.sent.len()];
        let mut sized = Vec::with_capacity(counts.sent.len());
        // Accepted packets that are still in a link have not arrived. Each of several links sees
        // all sent packets, so the link that has held back most determines the arrivals.
        let delivered: Vec<f64> = counts.tallies.iter().map(LinkCounters::delivered).collect();
        for (slot, &number) in self.flows.number.iter().enumerate() {
            let (sent, lost) = (counts.sent[slot], counts.lost[slot]);
            let path = self.path(self.flows.class_of[slot] as usize);
            let arrives = path.iter().map(|&link| delivered[link]);
            let arrives = arrives.fold(f64::INFINITY, f64::min);
            // The packets of a flow that hardly sends may be below 0 by an error of its integral.
            let rate = ((sent - lost) / time * arrives).max(0.0);
            goodput[number as usize] = rate;
            loss[number as usize] = if sent > NOTHING { lost / sent } else { 0.0 };
            sized.push(rate * self.flows.classes[self.flows.class_of[slot] as usize].size);
        }
        FluidOutcome {
            from: self.measurement.from,
            to: counts.at,
            measured_by: self.measurement.by,
            links: counts
                .tallies
                .iter()
                .zip(&self.links)
                .zip(&self.model.links)
                .map(|((counters, link), spec)| {
                    let possible = link.possible(self.measurement.from, counts.at);
                    link_outcome(counters, (spec.capacity, possible), time)
                })
                .collect(),
            goodput,
            loss,
            sent: self.flows.by_number(&counts.sent),
            peak_window: self.flows.by_number(&self.flows.peak_window),
            jain: jain(&sized),
            trace: self.samples.trace,
            conservation,
            steps: self.steps,
            refused: self.refused,
        }
    }
}
