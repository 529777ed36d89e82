//! Events at an instant: mode changes of queues, the opening of congestion events, and cuts. The
//! adaptive integrator applies them between steps.

use crate::exposure::RESTART_WINDOW;
use crate::flows::with_class;
use crate::links::Mode;
use crate::run::{Cut, Run};
use crate::schedule::Cause;
use crate::synchronization::Candidate;

/// Sets the mode of every queue after a jump. A clipped queue opens a congestion event.
pub(crate) fn place_links(run: &mut Run<'_>) {
    for l in 0..run.links.len() {
        let link = &mut run.links[l];
        if link.queue > 0.0 && link.queue < link.buffer {
            link.mode = Mode::Free;
            continue;
        }
        let arrivals = run.arrivals(l);
        run.links[l].place(arrivals);
        if run.links[l].mode == Mode::Full {
            open_event(run, l);
        }
    }
}

/// Frees a pinned queue. An empty queue without a buffer is clipped at once.
pub(crate) fn leave_limit(run: &mut Run<'_>, link: usize) {
    let state = &mut run.links[link];
    let clipped = state.mode == Mode::Empty && state.buffer <= 0.0;
    state.mode = if clipped { Mode::Full } else { Mode::Free };
    if clipped {
        open_event(run, link);
    }
}

/// Opens a congestion event at a link, unless one is open.
pub(crate) fn open_event(run: &mut Run<'_>, link: usize) {
    if run.links[link].may_open_event() {
        gather_candidates(run, link);
        run.open_event(link, run.now);
    }
}

/// Lists the flows of a link with their rates and round-trip times.
fn gather_candidates(run: &mut Run<'_>, link: usize) {
    run.candidates.clear();
    for class in 0..run.flows.classes.len() {
        if !run.path(class).contains(&link) {
            continue;
        }
        let (delay, wait) = (run.delay(class), run.wait(class, run.now));
        let (candidates, now) = (&mut run.candidates, run.now);
        with_class!(run.model, run.flows, class, part => {
            part.pinned_windows((now, 0.0, delay), |slot, window| {
                candidates.push(Candidate::new(0, slot as u32, window, 0.0));
            });
        });
        let range = run.flows.classes[class].range.clone();
        let first = candidates.len() - range.len();
        for (candidate, slot) in candidates[first..].iter_mut().zip(range) {
            candidate.flow = run.flows.number[slot];
            candidate.round_trip = run.flows.propagation[slot] + wait;
            candidate.rate /= run.flows.propagation[slot] + delay;
        }
    }
    run.exclude_in_rto();
}

/// Cuts the flow in a slot, or restarts it after a timeout.
pub(crate) fn cut(run: &mut Run<'_>, Cut { slot, cause }: Cut) {
    let class = run.flows.class_of[slot] as usize;
    let (now, delay) = (run.now, run.wait(class, run.now));
    if cause == Cause::Timeout {
        run.end_rto(slot);
        let begin = (delay, RESTART_WINDOW);
        with_class!(run.model, run.flows, class, part => part.begin(slot, now, begin));
        return;
    }
    let path = (delay, run.capacity(class));
    let window = with_class!(run.model, run.flows, class, part => part.cut(slot, now, path));
    run.answer(slot, window, delay);
}
