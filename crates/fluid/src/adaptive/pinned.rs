//! Pinned intervals: every queue is empty or full, so its delay is constant. Every window is an
//! explicit function of time, and the next event is a root of the summed rates.

use crate::adaptive::location::Ending;
use crate::adaptive::sampling::{arrivals_ahead, sample_pinned};
use crate::dense::Dense;
use crate::error::FluidError;
use crate::flows::with_class;
use crate::links::{Interval, Mode};
use crate::run::Run;

/// Advances in closed form to `limit`, to the time when arrivals exceed the capacity of an empty
/// link, or to RED's first drop.
pub(crate) fn pinned_stretch(
    run: &mut Run<'_>,
    limit: f64,
    restart: f64,
) -> Result<Ending, FluidError> {
    let mut span = limit - run.now;
    let mut ending = Ending::None;
    for l in 0..run.links.len() {
        if run.links[l].mode == Mode::Empty
            && let Some(exit) = overflow(run, l, (span, restart))
        {
            span = exit;
            ending = Ending::Leaves(l);
        }
    }
    for l in 0..run.links.len() {
        if let Some(first) = follow_red(run, l, span) {
            span *= first;
            ending = Ending::Drops(l);
        }
    }
    if let Ending::Drops(_) = ending {
        (0..run.links.len()).for_each(|l| _ = follow_red(run, l, span));
    }
    sample_pinned(run, span);
    advance(run, span)?;
    run.now = if ending == Ending::None {
        limit
    } else {
        run.now + span
    };
    Ok(ending)
}

/// The time after which arrivals exceed the capacity of an empty link, within `span` seconds.
///
/// Each iteration takes the root of the cubic through the value and three derivatives. This root is
/// exact if all flows of AIMD, CUBIC or H-TCP stay on one branch of their law.
fn overflow(run: &mut Run<'_>, link: usize, (span, restart): (f64, f64)) -> Option<f64> {
    let room = run.links[link].capacity - run.links[link].background;
    let mut at = if span < restart { span } else { 0.0 };
    let (mut low, mut high) = (0.0, f64::INFINITY);
    for _ in 0..200 {
        let mut local = arrivals_ahead(run, link, at);
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
        if high - low <= 1e-14 * (run.now + span) {
            break;
        }
        let top = high.min(span);
        let next = at + cubic_root(&local);
        // A root slightly above the true one ends the search at the next evaluation.
        let next = next + 1e-15 * run.now.max(next) + 0.5e-12 * room / local[1].max(1e-300);
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

/// Follows RED at a link while no queue moves. Returns the fraction of `span` at which it expects
/// its first drop.
fn follow_red(run: &mut Run<'_>, link: usize, span: f64) -> Option<f64> {
    run.links[link].red.as_ref()?;
    let from = arrivals_ahead(run, link, 0.0)[0];
    let to = arrivals_ahead(run, link, span)[0];
    let state = &run.links[link];
    let (queue, background) = (state.queue, state.background);
    let red = state.red.as_ref()?;
    let stretch = red.follow(span, |_| queue, |x| background + from + (to - from) * x);
    let state = &mut run.links[link];
    let first = stretch.first.filter(|_| state.may_open_event());
    state.hold_red(stretch);
    first
}

fn advance(run: &mut Run<'_>, span: f64) -> Result<(), FluidError> {
    let now = run.now;
    for link in &mut run.links {
        link.dense = Dense {
            start: link.background * span,
            slope: [0.0; 3],
        };
    }
    for class in 0..run.flows.classes.len() {
        let delay = run.delay(class);
        let sent =
            with_class!(run.model, run.flows, class, part => part.advance_pinned(now, span, delay));
        let arrived = run.flows.classes[class].size * sent;
        for &l in run.path(class) {
            // Between free intervals the field `dense.start` holds the sum of arrivals.
            run.links[l].dense.start += arrived;
        }
    }
    for l in 0..run.links.len() {
        let arrived = run.links[l].dense.start;
        run.account(
            l,
            Interval {
                begin: now,
                span,
                arrived,
                theta: 1.0,
            },
        )?;
    }
    Ok(())
}

/// The root nearest to 0, by Newton's method, of the cubic with these derivatives at 0. If the
/// method does not converge, the result is NaN or inexact.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A window grows like that of CUBIC: the missing rate and the derivatives give the time of
        /// the crossing.
        #[test]
        fn the_root_of_a_cubic_is_found(at in 0.01..2.0_f64, a in 1.0..5.0_f64, b in 0.0..1.0_f64, c in 0.0..1.0_f64) {
            // The cubic is a (x - at) + b (x^2 - at^2) + c (x^3 - at^3), rising from 0 on.
            let below = -(a * at + b * at * at + c * at * at * at);
            let found = cubic_root(&[below, a, 2.0 * b, 6.0 * c]);
            let value = below + found * (a + found * (b + found * c));
            prop_assert!(value.abs() < 1e-5 * below.abs(), "{} {}", found, at);
        }
    }
}
