//! Loss bursts: how many packets are dropped one directly after the other.

use crate::histogram::Histogram;

/// Lengths of the runs of drops at a link. A run is broken by an arrival that is accepted; drops at
/// the head of a queue belong together where no packet is sent between them.
#[derive(Clone, Debug)]
pub struct Bursts {
    lengths: Histogram,
    runs: u64,
    packets: u64,
    longest: u64,
    /// Number of the last arrival that was dropped, and the run up to it.
    last: u64,
    run: u64,
}

impl Bursts {
    pub(crate) fn new() -> Self {
        Self {
            lengths: Histogram::new(),
            runs: 0,
            packets: 0,
            longest: 0,
            last: 0,
            run: 0,
        }
    }

    /// Arrival number `arrival` (from 1) led to `drops`.
    pub(crate) fn at_arrival(&mut self, arrival: u64, drops: u64) {
        if arrival > self.last + 1 {
            self.close();
        }
        self.last = arrival;
        self.run += drops;
    }

    /// A packet was looked for and `drops` were dropped before one was found.
    pub(crate) fn at_departure(&mut self, drops: u64) {
        self.close();
        self.run = drops;
        self.close();
    }

    fn close(&mut self) {
        if self.run > 0 {
            self.lengths.add_value(self.run);
            self.runs += 1;
            self.packets += self.run;
            self.longest = self.longest.max(self.run);
            self.run = 0;
        }
    }

    /// The warm-up ends: counting restarts.
    pub(crate) fn restart(&mut self) {
        *self = Self::new();
    }

    /// The counts, with the run in progress included.
    pub(crate) fn finished(&self) -> Self {
        let mut finished = self.clone();
        finished.close();
        finished
    }

    pub(crate) fn lengths(&self) -> &Histogram {
        &self.lengths
    }

    /// Mean and largest length; none without drops.
    pub(crate) fn mean_and_longest(&self) -> Option<(f64, u64)> {
        (self.runs > 0).then(|| (self.packets as f64 / self.runs as f64, self.longest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_end_at_an_accepted_arrival() {
        let mut bursts = Bursts::new();
        for arrival in [3, 4, 5, 8, 10, 11] {
            bursts.at_arrival(arrival, 1);
        }
        let finished = bursts.finished();
        assert_eq!(finished.mean_and_longest(), Some((2.0, 3)));
        assert_eq!(finished.lengths().count(), 3);
        bursts.restart();
        assert_eq!(bursts.finished().mean_and_longest(), None);
    }

    #[test]
    fn drops_between_two_departures_are_a_run() {
        let mut bursts = Bursts::new();
        bursts.at_departure(2);
        bursts.at_departure(4);
        // One arrival may push out many.
        bursts.at_arrival(7, 64);
        assert_eq!(bursts.finished().mean_and_longest(), Some((70.0 / 3.0, 64)));
    }
}
