//! What is measured at a link: counts and waiting times. Nothing here grows with the length of a
//! run.

use forebay_units::Time;

use crate::bursts::Bursts;
use crate::histogram::Histogram;

/// What happened at a link since the warm-up.
#[derive(Clone, Debug)]
pub(crate) struct LinkStatistics {
    pub(crate) arrivals: u64,
    /// Arrivals before the warm-up's end.
    pub(crate) arrivals_before: u64,
    pub(crate) drops: u64,
    pub(crate) marks: u64,
    /// How drops follow one another.
    pub(crate) bursts: Bursts,
    /// Waits of accepted packets.
    pub(crate) waits: Histogram,
    /// Sum of the waits in ticks; with the edges below, the time integral of the packets waiting.
    pub(crate) wait_sum: u128,
    pub(crate) longest_wait: Time,
    /// Wait still ahead, at the warm-up's end, of the packets that were waiting then.
    pub(crate) wait_before: u128,
    /// Time spent transmitting before the warm-up's end.
    pub(crate) busy_before: Time,
    /// The warm-up's end; the waits are those of packets that arrived since.
    pub(crate) since: Time,
}

impl LinkStatistics {
    pub(crate) fn new() -> Self {
        Self {
            arrivals: 0,
            arrivals_before: 0,
            drops: 0,
            marks: 0,
            bursts: Bursts::new(),
            waits: Histogram::new(),
            wait_sum: 0,
            longest_wait: Time::ZERO,
            wait_before: 0,
            busy_before: Time::ZERO,
            since: Time::ZERO,
        }
    }

    #[inline]
    pub(crate) fn accepted(&mut self, wait: Time) {
        self.waits.add(wait);
        self.wait_sum += u128::from(wait.as_picos());
        self.longest_wait = self.longest_wait.max(wait);
    }

    /// The packet that has just arrived is dropped.
    #[inline]
    pub(crate) fn dropped(&mut self) {
        self.drops += 1;
        self.bursts.at_arrival(self.arrivals, 1);
    }

    /// A packet is dropped that the queue has not seen.
    pub(crate) fn refused(&mut self) {
        self.arrivals += 1;
        self.dropped();
    }

    /// The warm-up ends: counting starts anew.
    pub(crate) fn restart(&mut self, now: Time, busy: Time) {
        self.bursts.restart();
        self.arrivals_before += std::mem::take(&mut self.arrivals);
        self.drops = 0;
        self.marks = 0;
        self.waits.clear();
        self.wait_sum = 0;
        self.longest_wait = Time::ZERO;
        self.wait_before = 0;
        self.busy_before = busy;
        self.since = now;
    }
}
