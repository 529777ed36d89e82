//! Equidistant samples of a run. Integrators record them into the trace of the outcome.

use crate::model::FluidModel;
use crate::outcome::Trace;

/// Samples so far, and the time of the next one.
#[derive(Debug)]
pub(crate) struct Samples {
    pub(crate) trace: Trace,
    /// Time of the next sample, in seconds.
    pub(crate) next: f64,
    cadence: f64,
}

impl Samples {
    /// An empty list of samples. If the model requests no trace, no sample is ever due.
    pub(crate) fn new(model: &FluidModel) -> Self {
        Self {
            trace: Trace::for_model(model),
            cadence: model.trace.unwrap_or(f64::INFINITY),
            next: model.trace.map_or(f64::INFINITY, |_| 0.0),
        }
    }

    /// Records the queue of a link and the share of its capacity in use.
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
