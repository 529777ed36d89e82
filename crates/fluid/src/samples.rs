//! Evenly spaced samples of a run.

use crate::model::FluidModel;
use crate::outcome::Trace;

/// The samples taken so far, and when the next one is due.
#[derive(Debug)]
pub(crate) struct Samples {
    pub(crate) trace: Trace,
    /// Seconds.
    pub(crate) next: f64,
    cadence: f64,
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

    /// Records a link's queue and the share of its capacity in use.
    pub(crate) fn push_link(&mut self, link: usize, queue: f64, used: f64) {
        self.trace.queues[link].push(queue);
        self.trace.used[link].push(used);
    }

    /// Ends a sample whose windows and links are all recorded.
    pub(crate) fn finish(&mut self) {
        self.trace.times.push(self.next);
        self.next = self.trace.times.len() as f64 * self.cadence;
    }
}
