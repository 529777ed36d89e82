//! Congestion events: losses that belong together, and how many flows each of them hits.

use forebay_units::Time;

use crate::histogram::Histogram;

/// Groups losses of persistent flows into congestion events: losses less than one harmonic-mean
/// round trip apart belong together.
#[derive(Clone, Debug)]
pub(crate) struct CongestionEvents {
    apart: Time,
    last: Option<Time>,
    /// Number of the current event; flows remember the last one that hit them.
    number: u64,
    /// The same at the end of the warm-up.
    before: u64,
    pub(crate) hits: u64,
    /// Losses in all events.
    pub(crate) losses: u64,
    /// Flows that the current event has hit.
    hits_now: u64,
    /// Flows hit, by event.
    hit_counts: Histogram,
}

impl CongestionEvents {
    pub(crate) fn new(apart: Time) -> Self {
        Self {
            apart,
            last: None,
            number: 0,
            before: 0,
            hits: 0,
            losses: 0,
            hits_now: 0,
            hit_counts: Histogram::new(),
        }
    }

    /// A loss of the flow whose last event is `seen`; returns whether the event is new for the
    /// flow.
    pub(crate) fn loss(&mut self, now: Time, seen: &mut u64) -> bool {
        if self
            .last
            .is_none_or(|last| now.saturating_sub(last) >= self.apart)
        {
            self.number += 1;
            self.close();
        }
        self.last = Some(now);
        self.losses += 1;
        let anew = *seen != self.number;
        if anew {
            *seen = self.number;
            self.hits += 1;
            self.hits_now += 1;
        }
        anew
    }

    fn close(&mut self) {
        if self.hits_now > 0 {
            self.hit_counts.add_value(self.hits_now);
            self.hits_now = 0;
        }
    }

    /// How many flows each event hit, the last one included.
    pub(crate) fn hit_counts(&self) -> Histogram {
        let mut finished = self.clone();
        finished.close();
        finished.hit_counts
    }

    /// The warm-up ends: events are counted from here on, without an event in progress.
    pub(crate) fn restart(&mut self) {
        self.before = self.number;
        self.hits = 0;
        self.losses = 0;
        self.hits_now = 0;
        self.hit_counts.clear();
        self.last = None;
    }

    /// How many there were.
    pub(crate) fn count(&self) -> u64 {
        self.number - self.before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_close_together_are_one_event() {
        let mut events = CongestionEvents::new(Time::from_millis(100));
        let (mut a, mut b) = (0, 0);
        events.loss(Time::from_millis(0), &mut a);
        events.loss(Time::from_millis(50), &mut a);
        events.loss(Time::from_millis(120), &mut b);
        assert_eq!((events.count(), events.hits), (1, 2));
        events.loss(Time::from_millis(300), &mut b);
        assert_eq!((events.count(), events.hits, events.losses), (2, 3, 4));
        let bins = events.hit_counts().distribution(1.0).bins;
        assert_eq!(
            bins.iter()
                .map(|b| (b.low as u64, b.count))
                .collect::<Vec<_>>(),
            [(1, 1), (2, 1)]
        );
    }
}
