//! A link whose queue is emptied when an outage begins: one packet after the other, and a turn of
//! its own for each outage that finds packets waiting.

use std::collections::VecDeque;

use forebay_units::Time;

use crate::link::transmitter::Transmitter;

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct FlushOnOutage {
    transmitter: Transmitter,
    /// When outages begin that are still to come.
    outages: VecDeque<Time>,
    /// The packet of this turn.
    loaded: u32,
}

impl FlushOnOutage {
    pub(crate) fn new(transmitter: Transmitter, outages: impl Iterator<Item = Time>) -> Self {
        Self {
            transmitter,
            outages: outages.collect(),
            loaded: 0,
        }
    }

    /// See [`crate::link::scheduler::Scheduler::next`]: the time at which the packet before has
    /// left, or at which an earlier outage begins. An outage that finds an empty queue flushes
    /// nothing.
    pub(crate) fn next(&mut self, now: Time) -> Time {
        let free = self.transmitter.busy_until.max(now);
        while self.outages.front().is_some_and(|begin| *begin < now) {
            self.outages.pop_front();
        }
        self.outages.front().map_or(free, |begin| free.min(*begin))
    }

    /// Whether what waits is dropped now, instead of a packet's being sent.
    pub(crate) fn empties(&mut self, now: Time) -> bool {
        let empties = self.transmitter.busy_until > now && self.outages.front() == Some(&now);
        if empties {
            self.outages.pop_front();
        }
        empties
    }

    /// The transmitter of the packets.
    pub(crate) fn transmitter(&self) -> &Transmitter {
        &self.transmitter
    }

    /// See [`crate::link::scheduler::Scheduler::load`].
    pub(crate) fn load(&mut self, size: u32) -> bool {
        self.loaded = size;
        false
    }

    /// See [`crate::link::scheduler::Scheduler::serve`].
    pub(crate) fn serve(&mut self, now: Time, departures: &mut Vec<Time>) -> Time {
        let idle = !self.transmitter.occupied(now);
        departures.push(self.transmitter.take(now, self.loaded, idle));
        now
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::scheduler::Scheduler;
    use crate::link::scheduler::testing::{Left, play};
    use forebay_discipline::Limit;
    use forebay_units::{Rate, RateSteps};
    use std::sync::Arc;

    const MILLI: u64 = 1_000_000_000;

    fn at(millis: f64) -> Time {
        Time::from_picos((millis * MILLI as f64) as u64)
    }

    /// 12 Mb/s: 1,500 bytes take a millisecond. Out from 3.5 to 6 ms, and from 8 to 9 ms.
    fn flushing() -> Scheduler {
        let rate = Rate::from_bits_per_second(12_000_000);
        let steps = RateSteps::new(&[(Time::ZERO, rate)], None).unwrap();
        let outages = [(at(3.5), at(6.0)), (at(8.0), at(9.0))];
        let steps = steps.interrupted(&outages, at(100.0));
        let transmitter = Transmitter::in_steps(rate, 0, Arc::new(steps));
        let begins = outages.into_iter().map(|(begin, _)| begin);
        Scheduler::FlushOnOutage(FlushOnOutage::new(transmitter, begins))
    }

    /// The packet in transmission goes on after the outage, packets that wait as it begins are
    /// dropped, and packets that arrive in it wait.
    #[test]
    fn what_waits_as_an_outage_begins_is_dropped() {
        let arrivals = [0.0, 0.1, 0.2, 0.3, 0.4, 3.4, 4.0, 5.0].map(|millis| (at(millis), 1500));
        let found = play(flushing(), Limit::Packets(100), &arrivals);
        let left = [1.0, 2.0, 3.0, 6.5].map(|millis| Left::At(at(millis)));
        assert_eq!(found[..4], left);
        assert_eq!(found[4..6], [Left::Dropped; 2]);
        // The second outage begins when the first of these is through and the other goes.
        assert_eq!(found[6..], [7.5, 9.5].map(|millis| Left::At(at(millis))));
    }

    /// A packet that arrives as an outage begins counts as waiting if another packet is in
    /// transmission.
    #[test]
    fn what_comes_as_an_outage_begins_is_dropped() {
        let arrivals = [3.0, 3.5, 3.6].map(|millis| (at(millis), 1500));
        let found = play(flushing(), Limit::Packets(100), &arrivals);
        let left = [6.5, 7.5].map(|millis| Left::At(at(millis)));
        assert_eq!(found, [left[0], Left::Dropped, left[1]]);
    }

    /// An outage that finds a link idle empties nothing.
    #[test]
    fn nobody_waits_at_an_idle_link() {
        let arrivals = [3.5, 3.6, 8.0, 8.1].map(|millis| (at(millis), 1500));
        let found = play(flushing(), Limit::Packets(100), &arrivals);
        let left = [7.0, 9.0, 10.0, 11.0].map(|millis| Left::At(at(millis)));
        // The second leaves as the next outage begins.
        assert_eq!(found[0], left[0]);
        assert_eq!(found[1], Left::At(at(8.0)));
        assert_eq!(found[2..], left[2..]);
    }
}
