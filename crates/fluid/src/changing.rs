//! A link whose capacity changes: the times of the changes, the senders' knowledge of them, and the
//! waiting times.
//!
//! The round trip of a fluid model, R = T + q / C (Misra, Gong and Towsley 2000, equation 1),
//! assumes a constant C. It has three roles, which differ if C changes:
//!
//! * The flows *send* W / R. Windows are clocked by acknowledgments. These return at time t at the
//!   rate C(t - T), with any later C (Jacobsson et al. 2008, "ACK-clocking dynamics"). By Little's
//!   law R is the flight divided by that rate, (q + P) / C(t - T). P are the packets that the link
//!   has sent in the last T, whose acknowledgments have not returned. For a constant C this is T +
//!   q / C; after a change it keeps the old C until T later. So a step moves a queue from W - C1 T
//!   to W - C2 T in T seconds, as the windows require. An outage fills the queue with all of W, and
//!   then nothing is sent. If more than one change lies in the last T, acknowledgments are assumed
//!   to return evenly, at P / T. T is the harmonic mean over the link's flows.
//! * An arriving packet *waits* until the integral of C has served all packets before it, with any
//!   later changes of C. Reported delays are these waiting times.
//! * A *loss* is detected when the packets after it have waited like this and their acknowledgments
//!   have returned.

use std::sync::Arc;

use crate::capacity::{CapacitySteps, Departures, NO_ARRIVALS, Place};
use crate::counters::{LinkCounters, QueueHistogram};

/// The changes of a link during a run.
#[derive(Clone, Debug)]
pub(crate) struct Changing {
    steps: Arc<CapacitySteps>,
    /// Mean capacity in packets per second. Waiting times are counted in packets at this capacity.
    mean: f64,
    /// Seconds after which senders know of a change.
    lag: f64,
    /// Capacity at which acknowledgments return, in packets per second.
    clock: f64,
    /// Next step of the capacity, and next step that senders will know of.
    served: Option<Place>,
    known: Option<Place>,
}

/// Delay of the senders per packet in the queue, and delay that does not depend on the queue, both
/// in seconds.
pub(crate) type Known = (f64, f64);

impl Changing {
    /// The changes of a link, which its senders know `lag` seconds later.
    pub(crate) fn new(steps: Arc<CapacitySteps>, mean: f64, lag: f64) -> Self {
        let first = steps.place(0.0);
        Self {
            served: steps.next(first),
            known: steps.next(first),
            clock: steps.capacity(first),
            steps,
            mean,
            lag,
        }
    }

    /// The initial capacity in packets per second, and the initial delay of the senders.
    pub(crate) fn first(&self) -> (f64, Known) {
        (self.clock, self.delay(0.0, 0.0))
    }

    /// The delay of the senders with a queue at `now`.
    fn delay(&self, now: f64, queue: f64) -> Known {
        if self.served == self.known && self.clock > 0.0 {
            return (1.0 / self.clock, 0.0);
        }
        // Before time 0 the capacity was the same.
        let begin = (now - self.lag).max(0.0);
        let sent = self.steps.served(begin, now) + self.clock * (self.lag - (now - begin));
        let next = self.known.and_then(|known| self.steps.next(known));
        let several = self.served != self.known && self.served != next;
        if several && sent > 0.0 {
            return (self.lag / sent, 0.0);
        }
        // Nothing has been sent, or the known capacity is 0: no acknowledgment returns.
        if several || self.clock <= 0.0 {
            return (0.0, NO_ARRIVALS);
        }
        // Packets that have queued because of the change that senders do not know yet.
        let hidden = self.clock * self.lag - sent;
        // An idle link does not delay any sender, even if it could send more by now.
        let queued = if queue > 0.0 { queue - hidden } else { 0.0 };
        (0.0, queued.max(0.0) / self.clock)
    }

    /// The highest capacity.
    pub(crate) fn highest(&self) -> f64 {
        self.steps.highest()
    }

    /// Time of the next change of the capacity or of the senders' knowledge, in seconds.
    pub(crate) fn next(&self) -> f64 {
        let begin = |place: Option<Place>, lag: f64| {
            place.map_or(f64::INFINITY, |place| self.steps.begin(place) + lag)
        };
        begin(self.served, 0.0).min(begin(self.known, self.lag))
    }

    /// Applies the changes that are due at `now`. Returns the new capacity, if it has changed, and
    /// the delay of the senders with this queue.
    pub(crate) fn take(&mut self, now: f64, queue: f64) -> (Option<f64>, Known) {
        let mut capacity = None;
        while let Some(place) = self.served.filter(|place| self.steps.begin(*place) <= now) {
            capacity = Some(self.steps.capacity(place));
            self.served = self.steps.next(place);
        }
        let lag = self.lag;
        while let Some(place) = self.known.filter(|at| self.steps.begin(*at) + lag <= now) {
            self.clock = self.steps.capacity(place);
            self.known = self.steps.next(place);
        }
        (capacity, self.delay(now, queue))
    }

    /// Packets that can be served between two times in seconds.
    pub(crate) fn possible(&self, from: f64, to: f64) -> f64 {
        self.steps.served(from, to)
    }

    /// Waiting time of an arrival at `at` after a queue, in seconds.
    pub(crate) fn wait(&self, at: f64, queue: f64) -> f64 {
        self.steps.wait(at, queue)
    }

    /// The sum of the remaining waiting times of a queue at `at`, in packets x seconds.
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

    /// The distribution of the drain time for the phase of a capacity: below the mean or not.
    fn phase<'t>(&self, capacity: f64, counters: &'t mut LinkCounters) -> &'t mut QueueHistogram {
        if capacity < self.mean {
            &mut counters.slow
        } else {
            &mut counters.fast
        }
    }

    /// Counts an interval with an empty queue.
    pub(crate) fn count_idle(&self, span: f64, capacity: f64, counters: &mut LinkCounters) {
        self.phase(capacity, counters).add_empty(span);
    }

    /// Counts the waiting times of arrivals from `begin` on, for `span` seconds at one capacity
    /// with a linear queue. It also counts the drain time of the queue. This time equals the
    /// waiting time of an arrival, and falls steadily if no packet arrives.
    pub(crate) fn count_waits(
        &self,
        (begin, span): (f64, f64),
        (before, after): (f64, f64),
        capacity: f64,
        counters: &mut LinkCounters,
    ) {
        let coming = capacity * span + after - before;
        if coming <= 0.0 {
            let first = self.wait(begin, before);
            let ends = [first, (first - span).max(0.0)].map(|wait| wait * self.mean);
            self.phase(capacity, counters)
                .add_between(ends[0], ends[1], span);
            return;
        }
        let range = (before, before + coming);
        self.steps.departures(begin, range, |leaving: Departures| {
            let wait = |packets: f64, after: f64| {
                let came = (packets - before) / coming * span;
                (after - came).max(0.0) * self.mean
            };
            let ((from, to), (first, last)) = (leaving.packets, leaving.after);
            let (one, other) = (wait(from, first), wait(to, last));
            counters.found.add_between(one, other, to - from);
            counters.largest = counters.largest.max(one).max(other);
            let time = span * ((to - from) / coming);
            self.phase(capacity, counters).add_between(one, other, time);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_units::{Rate, RateSteps, Time};

    /// The capacity is 1000 packets a second, 500 from 1 s on and 2000 from 1.06 s on, known 0.1 s
    /// later.
    fn changing() -> Changing {
        let step = |millis: u64, packets: u64| {
            let begin = Time::from_picos(millis * 1_000_000_000);
            (begin, Rate::from_bits_per_second(8 * packets))
        };
        let list = [step(0, 1000), step(1000, 500), step(1060, 2000)];
        let steps = RateSteps::new(&list, None).unwrap();
        let steps = CapacitySteps::new(&steps, Rate::as_bytes_per_second);
        Changing::new(Arc::new(steps), 1500.0, 0.1)
    }

    #[test]
    fn senders_learn_of_a_change_a_round_trip_later() {
        let mut link = changing();
        assert_eq!(link.first(), (1000.0, (0.001, 0.0)));
        let mut at = |expected: f64, queue: f64| {
            let now = link.next();
            assert!((now - expected).abs() < 1e-12, "{now}");
            link.take(now, queue)
        };
        let near = |(a, b): Known, (c, d): Known| (a - c).abs() < 1e-12 && (b - d).abs() < 1e-12;
        // The queue has 50 packets at the rate of the acknowledgments.
        let (capacity, known) = at(1.0, 50.0);
        assert!(capacity == Some(500.0) && near(known, (0.0, 0.05)));
        // 40 and 30 packets were sent in the last round trip: two changes count with their mean.
        let (capacity, known) = at(1.06, 80.0);
        assert!(capacity == Some(2000.0) && near(known, (0.1 / 70.0, 0.0)));
        // 30 and 80 packets are in flight, 60 more than 500 a second send: they would also wait.
        let (capacity, known) = at(1.1, 90.0);
        assert!(capacity.is_none() && near(known, (0.0, 150.0 / 500.0)));
        let (capacity, known) = at(1.16, 90.0);
        assert!(capacity.is_none() && near(known, (1.0 / 2000.0, 0.0)));
        assert_eq!(link.next(), f64::INFINITY);
    }

    /// As in the packet-level model, a rate equal to the average is not below it.
    #[test]
    fn the_average_itself_is_fast() {
        let mut counters = LinkCounters::default();
        for (capacity, slow) in [(1499.0, true), (1500.0, false), (1501.0, false)] {
            let found: *const _ = changing().phase(capacity, &mut counters);
            assert_eq!(std::ptr::eq(found, &raw const counters.slow), slow);
        }
    }

    /// With any knowledge of the senders, 60 packets at 1 s take 0.06 s at 500 a second for the
    /// first half.
    #[test]
    fn what_waits_is_served_by_what_comes() {
        let link = changing();
        assert!((link.wait(1.0, 30.0) - 0.06).abs() < 1e-12);
        assert!((link.wait(1.0, 60.0) - 0.075).abs() < 1e-12);
        // 30 packets wait 0 to 60 ms, and 30 packets wait 60 to 75 ms.
        assert!((link.still_to_wait(1.0, 60.0) - (30.0 * 0.03 + 30.0 * 0.0675)).abs() < 1e-9);
    }
}
