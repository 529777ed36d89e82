//! Evenly spaced samples of windows and queues, taken between the steps.

use super::Run;
use crate::flows::with_class;
use crate::links::Mode;

impl Run<'_> {
    /// Records the samples that fall into a pinned stretch.
    pub(super) fn sample_pinned(&mut self, span: f64) {
        while self.next_sample <= self.now + span {
            let ahead = (self.next_sample - self.now).max(0.0);
            for class in 0..self.flows.classes.len() {
                let at = (self.now, ahead, self.delay(class));
                let (windows, slots) = (&mut self.trace.windows, &self.flows.number.clone());
                with_class!(self.model, self.flows, class, part => {
                    part.pinned_windows(at, |slot, w| windows[slots[slot] as usize].push(w));
                });
            }
            for l in 0..self.links.len() {
                let rate = self.arrivals_ahead(l, ahead)[0];
                self.sample_link(l, self.links[l].queue, rate);
            }
            self.finish_sample();
        }
    }

    /// Records the samples that fall into the first `span` seconds of an accepted step.
    pub(super) fn sample_free(&mut self, step: f64, span: f64) {
        while self.next_sample <= self.now + span {
            let theta = ((self.next_sample - self.now) / step).max(0.0);
            let time = self.next_sample;
            for class in 0..self.flows.classes.len() {
                let combination = self.combination(class, step, theta);
                let (windows, slots) = (&mut self.trace.windows, &self.flows.number.clone());
                with_class!(self.model, self.flows, class, part => {
                    part.dense_windows(&combination, time, |slot, w| {
                        windows[slots[slot] as usize].push(w);
                    });
                });
            }
            for l in 0..self.links.len() {
                let link = &self.links[l];
                let queue = if link.mode == Mode::Free {
                    link.dense.at(theta)
                } else {
                    link.queue
                };
                let rate = self.dense_arrivals(l, step, theta);
                self.sample_link(l, queue, rate);
            }
            self.finish_sample();
        }
    }

    /// Records a link's queue and the share of its capacity that the flows' `rate` leaves in use.
    fn sample_link(&mut self, link: usize, queue: f64, rate: f64) {
        let state = &self.links[link];
        let queue = queue.clamp(0.0, state.buffer);
        let used = if queue > 0.0 {
            1.0
        } else {
            (rate + state.background) / state.capacity
        };
        self.trace.queues[link].push(queue);
        self.trace.used[link].push(used.min(1.0));
    }

    fn finish_sample(&mut self) {
        self.trace.times.push(self.next_sample);
        let cadence = self.model.trace.unwrap_or(f64::INFINITY);
        self.next_sample = self.trace.times.len() as f64 * cadence;
    }
}
