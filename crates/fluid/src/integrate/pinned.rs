//! Pinned stretches: every queue is empty or full, its delay constant, every window an explicit function
//! of time, and the next event a root of the summed rates.

use super::Run;
use super::location::Ending;
use crate::dense::Dense;
use crate::flows::with_class;
use crate::links::{Mode, Stretch};
use crate::model::FluidError;

impl Run<'_> {
    /// Moves on in closed form to `limit`, or to where arrivals pass the capacity of an empty
    /// link, or to RED's first drop.
    pub(super) fn pinned_stretch(&mut self, limit: f64) -> Result<(), FluidError> {
        let mut span = limit - self.now;
        let mut ending = Ending::None;
        for l in 0..self.links.len() {
            if self.links[l].mode == Mode::Empty
                && let Some(exit) = self.overflow(l, span)
            {
                span = exit;
                ending = Ending::Leaves(l);
            }
        }
        for l in 0..self.links.len() {
            if let Some(first) = self.follow_red_pinned(l, span) {
                span *= first;
                ending = Ending::Drops(l);
            }
        }
        if let Ending::Drops(_) = ending {
            (0..self.links.len()).for_each(|l| _ = self.follow_red_pinned(l, span));
        }
        self.sample_pinned(span);
        self.advance_pinned(span)?;
        self.now = if ending == Ending::None {
            limit
        } else {
            self.now + span
        };
        self.settle_red();
        self.end_stretch(ending);
        Ok(())
    }

    /// When arrivals first exceed the capacity of an empty link within `span` seconds.
    ///
    /// Each iteration takes the root of the cubic through value and three derivatives, which is
    /// exact for all flows of AIMD, CUBIC or H-TCP that stay on one branch of their law.
    fn overflow(&mut self, link: usize, span: f64) -> Option<f64> {
        let room = self.links[link].capacity - self.links[link].background;
        let mut at = if span < self.restart { span } else { 0.0 };
        let (mut low, mut high) = (0.0, f64::INFINITY);
        for _ in 0..200 {
            let mut local = self.arrivals_ahead(link, at);
            local[0] -= room;
            if local[0] > 0.0 {
                high = at;
                if local[0] <= 1e-12 * room {
                    break;
                }
            } else if at >= span {
                return None;
            } else {
                low = at;
            }
            if high - low <= 1e-14 * (self.now + span) {
                break;
            }
            let top = high.min(span);
            let next = at + cubic_root(&local);
            // A root a hair above the true one ends the search at the next evaluation.
            let next = next + 1e-15 * self.now.max(next) + 0.5e-12 * room / local[1].max(1e-300);
            at = if next > low && next < top {
                next
            } else if high.is_finite() {
                0.5 * (low + high)
            } else {
                span
            };
        }
        Some(high.min(span))
    }

    /// Follows RED at a link while no queue moves; returns where it expects its first drop.
    fn follow_red_pinned(&mut self, link: usize, span: f64) -> Option<f64> {
        self.links[link].red?;
        let from = self.arrivals_ahead(link, 0.0)[0];
        let to = self.arrivals_ahead(link, span)[0];
        let state = &self.links[link];
        let (queue, background) = (state.queue, state.background);
        let red = state.red.as_ref()?;
        let stretch = red.follow(span, |_| queue, |x| background + from + (to - from) * x);
        self.red_stretches[link] = Some(stretch);
        if state.event_open || state.crowd == 0 {
            None
        } else {
            stretch.first
        }
    }

    fn advance_pinned(&mut self, span: f64) -> Result<(), FluidError> {
        let now = self.now;
        for link in &mut self.links {
            link.dense = Dense {
                start: link.background * span,
                slope: [0.0; 3],
            };
        }
        for class in 0..self.flows.classes.len() {
            let delay = self.delay(class);
            let sent = with_class!(self.model, self.flows, class, part => part.advance_pinned(now, span, delay));
            let arrived = self.flows.classes[class].size * sent;
            for &l in self.path(class) {
                // Between free stretches the cubic's start serves as the sum of arrivals.
                self.links[l].dense.start += arrived;
            }
        }
        for l in 0..self.links.len() {
            let arrived = self.links[l].dense.start;
            self.account(
                l,
                Stretch {
                    span,
                    arrived,
                    theta: 1.0,
                },
            )?;
        }
        Ok(())
    }
}

/// Root nearest to 0, by Newton's method, of the cubic with these derivatives at 0; NaN or
/// something off the mark where it does not converge.
fn cubic_root(d: &[f64; 4]) -> f64 {
    let mut x = 0.0;
    for _ in 0..12 {
        let value = d[0] + x * (d[1] + x * (0.5 * d[2] + x * d[3] / 6.0));
        let change = value / (d[1] + x * (d[2] + 0.5 * x * d[3]));
        x -= change;
        if change.abs() <= 1e-9 * x.abs() {
            break;
        }
    }
    x
}
