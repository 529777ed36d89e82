//! Equidistant samples of windows and queues, which the adaptive integrator takes between its
//! steps.

use crate::adaptive::step::Step;
use crate::flows::with_class;
use crate::links::Mode;
use crate::run::Run;

impl Step {
    /// Records the samples within the first `span` seconds of an accepted step.
    pub(crate) fn sample(&self, run: &mut Run<'_>, (step, span): (f64, f64)) {
        while run.samples.next <= run.now + span {
            let theta = ((run.samples.next - run.now) / step).max(0.0);
            let time = run.samples.next;
            for class in 0..run.flows.classes.len() {
                let combination = self.combination(class, step, theta);
                let (windows, slots) = (&mut run.samples.trace.windows, &run.flows.number.clone());
                with_class!(run.model, run.flows, class, part => {
                    part.dense_windows(&combination, time, |slot, w| {
                        windows[slots[slot] as usize].push(w);
                    });
                });
            }
            for l in 0..run.links.len() {
                let link = &run.links[l];
                let queue = if link.mode == Mode::Free {
                    link.dense.at(theta)
                } else {
                    link.queue
                };
                let rate = self.dense_arrivals(run, l, (step, theta));
                sample_link(run, l, (queue, rate));
            }
            run.samples.finish();
        }
    }
}

/// Records the samples within a pinned interval.
pub(crate) fn sample_pinned(run: &mut Run<'_>, span: f64) {
    while run.samples.next <= run.now + span {
        let ahead = (run.samples.next - run.now).max(0.0);
        for class in 0..run.flows.classes.len() {
            let at = (run.now, ahead, run.delay(class));
            let (windows, slots) = (&mut run.samples.trace.windows, &run.flows.number.clone());
            with_class!(run.model, run.flows, class, part => {
                part.pinned_windows(at, |slot, w| windows[slots[slot] as usize].push(w));
            });
        }
        for l in 0..run.links.len() {
            let rate = arrivals_ahead(run, l, ahead)[0];
            sample_link(run, l, (run.links[l].queue, rate));
        }
        run.samples.finish();
    }
}

/// Records the queue of a link and the share of its capacity that is in use.
fn sample_link(run: &mut Run<'_>, link: usize, (queue, rate): (f64, f64)) {
    let state = &run.links[link];
    let queue = queue.clamp(0.0, state.buffer);
    let used = state.used(queue, rate + state.background);
    run.samples.push_link(link, queue, used);
}

/// The rate of the flows at a link after `span` seconds at constant delays, in packets per second,
/// with three derivatives.
pub(crate) fn arrivals_ahead(run: &mut Run<'_>, link: usize, span: f64) -> [f64; 4] {
    let now = run.now;
    let mut sums = [0.0; 4];
    for class in 0..run.flows.classes.len() {
        if run.offers(class, link) {
            let delay = run.delay(class);
            let rates =
                with_class!(run.model, run.flows, class, part => part.rate_ahead(now, span, delay));
            let size = run.flows.classes[class].size;
            for (sum, rate) in sums.iter_mut().zip(rates) {
                *sum += size * rate;
            }
        }
    }
    sums
}
