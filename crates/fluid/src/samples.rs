//! Evenly spaced samples of a run by fixed steps.

use crate::flows::Flows;
use crate::links::Link;
use crate::model::FluidModel;
use crate::outcome::Trace;

/// Takes samples as time passes.
#[derive(Debug)]
pub(crate) struct Samples {
    pub(crate) trace: Trace,
    cadence: f64,
    next: f64,
}

/// The state at one step of `step` seconds in which `arrived` packets come to each link.
pub(crate) struct StepState<'a> {
    pub(crate) now: f64,
    pub(crate) step: f64,
    pub(crate) flows: &'a Flows,
    /// Windows by slot.
    pub(crate) windows: &'a [f64],
    pub(crate) links: &'a [Link],
    pub(crate) arrived: &'a [f64],
}

impl Samples {
    /// No samples yet; none ever where the model asks for none.
    pub(crate) fn new(model: &FluidModel) -> Self {
        Self {
            trace: Trace::for_model(model),
            cadence: model.trace.unwrap_or(f64::INFINITY),
            next: model.trace.map_or(f64::INFINITY, |_| 0.0),
        }
    }

    /// Records every sample that is due.
    pub(crate) fn take(&mut self, state: &StepState<'_>) {
        while self.next <= state.now {
            for (slot, &number) in state.flows.number.iter().enumerate() {
                self.trace.windows[number as usize].push(state.windows[slot]);
            }
            for (l, link) in state.links.iter().enumerate() {
                let rate = state.arrived[l] / state.step / link.capacity;
                let used = if link.queue > 0.0 { 1.0 } else { rate.min(1.0) };
                self.trace.queues[l].push(link.queue);
                self.trace.used[l].push(used);
            }
            self.trace.times.push(self.next);
            self.next = self.trace.times.len() as f64 * self.cadence;
        }
    }
}
