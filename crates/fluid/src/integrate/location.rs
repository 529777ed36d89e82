//! Where in an accepted step the first event lies, by its dense output.

use super::Run;
use crate::dense::Dense;
use crate::flows::{Method, with_class};
use crate::links::Mode;
use crate::rosenbrock::dense_polynomial;

/// What ends a stretch before its limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Ending {
    None,
    /// The queue of a link empties.
    Empties(usize),
    /// The queue of a link fills.
    Fills(usize),
    /// Arrivals at a pinned link pass its capacity.
    Leaves(usize),
    /// RED at a link expects its first drop.
    Drops(usize),
}

impl Run<'_> {
    /// The first event inside the accepted step, as a fraction of it.
    pub(super) fn first_ending(&mut self, step: f64) -> (f64, Ending) {
        let (mut theta, mut ending) = (1.0, Ending::None);
        for a in 0..self.solver.free.len() {
            let l = self.solver.free[a];
            let link = &mut self.links[l];
            if self.method == Method::Rosenbrock {
                link.dense = Dense {
                    start: link.queue,
                    slope: dense_polynomial(&link.stages),
                };
            }
            // Most steps run from one inner point to another without turning.
            let end = link.dense.at(1.0);
            if end >= 0.0 && end <= link.buffer && link.dense.is_monotone() {
                continue;
            }
            // A queue that starts at a limit leaves it; within the tolerated error its dense output
            // may cross it first.
            let slack = link.tolerated;
            let at_top = if link.queue >= link.buffer {
                slack
            } else {
                0.0
            };
            let at_bottom = if link.queue <= 0.0 { slack } else { 0.0 };
            if let Some(x) = link.dense.crossing(link.buffer, 1.0, at_top)
                && x < theta
            {
                (theta, ending) = (x, Ending::Fills(l));
            }
            if let Some(x) = link.dense.crossing(0.0, -1.0, at_bottom)
                && x < theta
            {
                (theta, ending) = (x, Ending::Empties(l));
            }
        }
        if self.solver.free.len() < self.links.len() {
            (theta, ending) = self.first_departure(step, (theta, ending));
        }
        for l in 0..self.links.len() {
            if let Some(first) = self.follow_red_free(l, step, theta) {
                theta *= first;
                ending = Ending::Drops(l);
            }
        }
        if let Ending::Drops(_) = ending {
            (0..self.links.len()).for_each(|l| _ = self.follow_red_free(l, step, theta));
        }
        (theta, ending)
    }

    /// Where a pinned link's arrivals pass its capacity while another link's queue moves.
    fn first_departure(&mut self, step: f64, mut best: (f64, Ending)) -> (f64, Ending) {
        for l in 0..self.links.len() {
            let sense = match self.links[l].mode {
                Mode::Free => continue,
                Mode::Empty => 1.0,
                Mode::Full => -1.0,
            };
            let room = self.links[l].capacity - self.links[l].background;
            if sense * (self.dense_arrivals(l, step, best.0) - room) <= 0.0 {
                continue;
            }
            let (mut low, mut high) = (0.0, best.0);
            for _ in 0..50 {
                let middle = 0.5 * (low + high);
                if sense * (self.dense_arrivals(l, step, middle) - room) > 0.0 {
                    high = middle;
                } else {
                    low = middle;
                }
            }
            best = (high, Ending::Leaves(l));
        }
        best
    }

    /// Queueing delay of a class inside the accepted step.
    pub(super) fn dense_delay(&self, class: usize, theta: f64) -> f64 {
        let at = |l: usize| {
            let link = &self.links[l];
            let queue = if link.mode == Mode::Free {
                link.dense.at(theta)
            } else {
                link.queue
            };
            queue.clamp(0.0, link.buffer) * link.per_packet
        };
        self.path(class).iter().map(|&l| at(l)).sum()
    }

    /// What the flows offer a link inside the accepted step.
    pub(super) fn dense_arrivals(&mut self, link: usize, step: f64, theta: f64) -> f64 {
        let mut sum = 0.0;
        for class in 0..self.classes.len() {
            if self.path(class).contains(&link) {
                let combination = self.combination(class, step, theta);
                let delay = self.dense_delay(class, theta);
                let time = self.now + theta * step;
                let rate = with_class!(self.model, self.flows, class, part => part.dense_rate(&combination, time, delay));
                sum += self.flows.classes[class].size * rate;
            }
        }
        sum
    }

    /// Follows RED at a link through the first `theta` of the accepted step.
    fn follow_red_free(&mut self, link: usize, step: f64, theta: f64) -> Option<f64> {
        self.links[link].red?;
        let (mut from, mut to) = (0.0, 0.0);
        if self.links[link].mode != Mode::Free {
            from = self.dense_arrivals(link, step, 0.0);
            to = self.dense_arrivals(link, step, theta);
        }
        let state = &self.links[link];
        let red = state.red.as_ref()?;
        let stretch = if state.mode == Mode::Free {
            // A free queue changes by what arrives less what is served.
            let arrivals = |x: f64| state.capacity + state.dense.derivative(theta * x) / step;
            red.follow(
                theta * step,
                |x| state.dense.at(theta * x).max(0.0),
                |x| arrivals(x).max(0.0),
            )
        } else {
            let arrivals = |x: f64| state.background + from + (to - from) * x;
            red.follow(theta * step, |_| state.queue, arrivals)
        };
        let blind = state.event_open || state.crowd == 0;
        self.red_stretches[link] = Some(stretch);
        if blind { None } else { stretch.first }
    }
}
