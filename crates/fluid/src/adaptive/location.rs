//! Location of the first event in an accepted step, by its dense output.

use crate::adaptive::step::{Method, Step};
use crate::dense::Dense;
use crate::links::Mode;
use crate::run::Run;

/// Event that ends an interval before its limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Ending {
    None,
    /// The queue of a link empties.
    Empties(usize),
    /// The queue of a link fills.
    Fills(usize),
    /// The arrivals at an empty link rise above its capacity, or those at a full link fall below
    /// it.
    Leaves(usize),
    /// RED at a link expects its first drop.
    Drops(usize),
}

impl Step {
    /// The first event inside the accepted step, as a fraction of it.
    pub(crate) fn first_ending(&mut self, run: &mut Run<'_>, step: f64) -> (f64, Ending) {
        let (mut theta, mut ending) = (1.0, Ending::None);
        for a in 0..self.solver.free.len() {
            let l = self.solver.free[a];
            let link = &mut run.links[l];
            if self.method == Method::Rosenbrock {
                link.dense = Dense {
                    start: link.queue,
                    slope: self.table.dense_polynomial(&link.stages),
                };
            }
            // Most steps move from one interior point to another without a turn.
            let end = link.dense.at(1.0);
            if end >= 0.0 && end <= link.buffer && link.dense.is_monotone() {
                continue;
            }
            // A queue that starts at a limit leaves it. Within the tolerated error its dense output
            // may first cross the limit.
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
        if self.solver.free.len() < run.links.len() {
            (theta, ending) = self.first_departure(run, step, (theta, ending));
        }
        for l in 0..run.links.len() {
            if let Some(first) = self.follow_red(run, l, (step, theta)) {
                theta *= first;
                ending = Ending::Drops(l);
            }
        }
        if let Ending::Drops(_) = ending {
            (0..run.links.len()).for_each(|l| _ = self.follow_red(run, l, (step, theta)));
        }
        (theta, ending)
    }

    /// Finds the time at which a pinned link leaves its limit while another queue moves.
    fn first_departure(
        &self,
        run: &mut Run<'_>,
        step: f64,
        mut best: (f64, Ending),
    ) -> (f64, Ending) {
        for l in 0..run.links.len() {
            let sense = match run.links[l].mode {
                Mode::Free => continue,
                Mode::Empty => 1.0,
                Mode::Full => -1.0,
            };
            let room = run.links[l].capacity - run.links[l].background;
            if sense * (self.dense_arrivals(run, l, (step, best.0)) - room) <= 0.0 {
                continue;
            }
            let (mut low, mut high) = (0.0, best.0);
            for _ in 0..50 {
                let middle = 0.5 * (low + high);
                if sense * (self.dense_arrivals(run, l, (step, middle)) - room) > 0.0 {
                    high = middle;
                } else {
                    low = middle;
                }
            }
            best = (high, Ending::Leaves(l));
        }
        best
    }

    /// Follows RED at a link through the first `theta` of the accepted step. Returns the fraction
    /// with the first expected drop.
    fn follow_red(&self, run: &mut Run<'_>, link: usize, (step, theta): (f64, f64)) -> Option<f64> {
        run.links[link].red.as_ref()?;
        let (mut from, mut to) = (0.0, 0.0);
        if run.links[link].mode != Mode::Free {
            from = self.dense_arrivals(run, link, (step, 0.0));
            to = self.dense_arrivals(run, link, (step, theta));
        }
        let state = &run.links[link];
        let red = state.red.as_ref()?;
        let stretch = if state.mode == Mode::Free {
            // A free queue changes at the rate of arrivals less the capacity.
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
        let state = &mut run.links[link];
        let first = stretch.first.filter(|_| state.may_open_event());
        state.hold_red(stretch);
        first
    }
}
