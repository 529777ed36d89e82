//! A link whose capacity changes: when, what senders know of it, and how long packets wait.
//!
//! The round trip of a fluid model, T + q / C (Misra, Gong and Towsley 2000, equation 1), supposes that C is a
//! constant. It has three parts to play, which come apart where C changes:
//!
//! * What is *sent* is W / (T + q / C') with the capacity C'(t) = C(t - T) of a propagation round trip ago. A
//!   window is clocked by its acknowledgments: until those of the new rate come back the old rate goes on
//!   (Jacobsson, Andrew, Tang, Johansson, Hjalmarsson and Low 2008, "ACK-clocking dynamics"). So a step
//!   moves a queue from W - C1 T to W - C2 T in T seconds, as the windows say it must, and an outage fills it
//!   with all of W, after which nothing is sent. With T of the link's flows, their harmonic mean.
//! * What arrives *waits* until the integral of C has served what is before it, whatever C is by then. Delays are
//!   those.
//! * A *loss* is known when what was behind it has waited so and has come back.

use std::sync::Arc;

use crate::capacity::{CapacitySteps, Departures, Place};
use crate::exposure::SILENT;
use crate::tally::Tally;

/// A link's changes during a run.
#[derive(Clone, Debug)]
pub(crate) struct Changing {
    steps: Arc<CapacitySteps>,
    /// Mean capacity, in whose packets waits are counted.
    mean: f64,
    /// Seconds after which senders know of a change.
    lag: f64,
    /// The next steps to be served by, and to be known of.
    served: Option<Place>,
    known: Option<Place>,
}

/// What senders take a packet in the queue to delay them by, and what they wait for besides, seconds.
pub(crate) type Known = (f64, f64);

impl Changing {
    /// Changes of a link whose senders know of them `lag` seconds later.
    pub(crate) fn new(steps: Arc<CapacitySteps>, mean: f64, lag: f64) -> Self {
        let first = steps.place(0.0);
        Self {
            served: steps.next(first),
            known: steps.next(first),
            steps,
            mean,
            lag,
        }
    }

    /// The capacity at the beginning, and what senders know then.
    pub(crate) fn first(&self) -> (f64, Known) {
        let capacity = self.steps.capacity(self.steps.place(0.0));
        (capacity, known(capacity))
    }

    /// The highest capacity.
    pub(crate) fn highest(&self) -> f64 {
        self.steps.highest()
    }

    /// When the next change takes place or is known.
    pub(crate) fn next(&self) -> f64 {
        let begin = |place: Option<Place>, lag: f64| {
            place.map_or(f64::INFINITY, |place| self.steps.begin(place) + lag)
        };
        begin(self.served, 0.0).min(begin(self.known, self.lag))
    }

    /// The capacity that has come by `now`, and what senders have learned by then, where there is any.
    pub(crate) fn take(&mut self, now: f64) -> (Option<f64>, Option<Known>) {
        let (mut capacity, mut told) = (None, None);
        while let Some(place) = self.served.filter(|place| self.steps.begin(*place) <= now) {
            capacity = Some(self.steps.capacity(place));
            self.served = self.steps.next(place);
        }
        let lag = self.lag;
        while let Some(place) = self.known.filter(|at| self.steps.begin(*at) + lag <= now) {
            told = Some(known(self.steps.capacity(place)));
            self.known = self.steps.next(place);
        }
        (capacity, told)
    }

    /// Packets that can be served between two times.
    pub(crate) fn possible(&self, from: f64, to: f64) -> f64 {
        self.steps.served(from, to)
    }

    /// Seconds that what arrives at `at` behind a queue waits.
    pub(crate) fn wait(&self, at: f64, queue: f64) -> f64 {
        self.steps.wait(at, queue)
    }

    /// The sum of what those in a queue at `at` still wait, packets x seconds.
    pub(crate) fn still_to_wait(&self, at: f64, queue: f64) -> f64 {
        let mut sum = 0.0;
        if queue > 0.0 {
            self.steps.departures(at, (0.0, queue), |leaving| {
                let ((from, to), (first, last)) = (leaving.packets, leaving.after);
                sum += (to - from) * 0.5 * (first + last);
            });
        }
        sum
    }

    /// Counts how long the packets wait that come from `begin` on, for `span` seconds of one capacity in
    /// which `served` packets can be served and the queue goes straight from one length to another.
    pub(crate) fn count_waits(
        &self,
        (begin, span): (f64, f64),
        (before, after): (f64, f64),
        served: f64,
        tally: &mut Tally,
    ) {
        let coming = served + after - before;
        if coming <= 0.0 {
            return;
        }
        let range = (before, served + after);
        self.steps.departures(begin, range, |leaving: Departures| {
            let wait = |packets: f64, after: f64| {
                let came = (packets - before) / coming * span;
                (after - came).max(0.0) * self.mean
            };
            let ((from, to), (first, last)) = (leaving.packets, leaving.after);
            let (one, other) = (wait(from, first), wait(to, last));
            tally.found.add_between(one, other, to - from);
            tally.largest = tally.largest.max(one).max(other);
        });
    }
}

/// What senders know of a capacity: the delay of a packet, or that nothing is acknowledged.
fn known(capacity: f64) -> Known {
    if capacity > 0.0 {
        (1.0 / capacity, 0.0)
    } else {
        (0.0, SILENT)
    }
}
