//! What keeps a stream from sending: a full receive window, or nothing to send.

/// Pauses that are told one by one.
const LONGEST: usize = 8;
/// Shorter ones are no pauses of an application (a minimum retransmission timeout of Linux).
const SHORTEST: u64 = 200_000_000;

/// A time in which nothing was in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pause {
    /// When it began, in nanoseconds.
    pub start: u64,
    /// How long it was, in nanoseconds.
    pub length: u64,
}

/// What a stream spent its time with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// From its first data on, in nanoseconds.
    pub watched: u64,
    /// With more than nine tenths of the receive window in flight, in nanoseconds.
    pub window_limited: u64,
    /// With nothing in flight for longer than an answer of the sender takes, in nanoseconds: behind a
    /// long way from it, as at the receiver, it is silence and not a sender with nothing to send.
    pub empty: u64,
    /// Pauses longer than 200 ms and two base round trips.
    pub pauses: u64,
}

/// Follows what is in flight.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch {
    since: Option<u64>,
    limited: bool,
    /// Since when nothing is in flight.
    empty: Option<u64>,
    spent: Spent,
    longest: Vec<Pause>,
}

/// What is known of a stream's least round trip as data of it leaves, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Trip {
    /// The whole of it.
    pub(crate) round: Option<u64>,
    /// From here to the sender and back.
    pub(crate) before: Option<u64>,
}

impl Watch {
    /// Whether data that leaves now ends a time in which nothing was in flight: for others no trip is asked for.
    pub(crate) fn is_paused(&self, time: u64, data_before: Option<u64>) -> bool {
        self.empty.is_some()
            || data_before.is_some_and(|start| time.saturating_sub(start) > SHORTEST)
    }

    /// Data leaves. Without acknowledgments nothing tells when the last one ended: a pause then
    /// begins with the data before it.
    pub(crate) fn send(&mut self, time: u64, data_before: Option<u64>, trip: Trip) {
        let least = SHORTEST.max(trip.round.unwrap_or(0).saturating_mul(2));
        self.go_on(time);
        if let Some(start) = self.empty.take() {
            self.see_empty(start, time, trip);
            self.pause(start, time, least);
        } else if let Some(start) = data_before
            && time.saturating_sub(start) > least
        {
            self.see_empty(start, time, trip);
            self.pause(start, time, least);
        }
    }

    /// So much is in flight now, and so much the receiver takes.
    pub(crate) fn see(&mut self, time: u64, flight: u64, window: Option<u32>) {
        self.go_on(time);
        self.limited = window.is_some_and(|window| flight * 10 > u64::from(window) * 9);
        if flight == 0 {
            self.empty.get_or_insert(time);
        } else if let Some(start) = self.empty.take() {
            self.see_empty(start, time, Trip::default());
        }
    }

    /// What it was all in all, and the longest pauses in their order.
    pub(crate) fn finish(mut self, trip: Trip) -> (Spent, Vec<Pause>) {
        if let Some((start, end)) = self.empty.zip(self.since) {
            self.see_empty(start, end, trip);
        }
        self.longest.sort_unstable_by_key(|it| it.start);
        (self.spent, self.longest)
    }

    fn go_on(&mut self, time: u64) {
        let passed = time.saturating_sub(self.since.unwrap_or(time));
        self.since = Some(time);
        self.spent.watched += passed;
        if self.empty.is_none() && self.limited {
            self.spent.window_limited += passed;
        }
    }

    fn see_empty(&mut self, start: u64, end: u64, trip: Trip) {
        let silent = end.saturating_sub(start);
        self.spent.empty += silent.saturating_sub(trip.before.unwrap_or(0));
    }

    fn pause(&mut self, start: u64, end: u64, least: u64) {
        let length = end.saturating_sub(start);
        if length <= least {
            return;
        }
        self.spent.pauses += 1;
        if self.longest.len() < LONGEST {
            self.longest.push(Pause { start, length });
        } else if let Some(shortest) = self.longest.iter_mut().min_by_key(|it| it.length)
            && shortest.length < length
        {
            *shortest = Pause { start, length };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: u64 = 1_000_000;

    fn round(round: Option<u64>) -> Trip {
        Trip {
            round,
            before: None,
        }
    }

    #[test]
    fn silence_that_the_way_to_the_sender_explains_is_not_the_senders() {
        let spent = |way: u64| {
            let mut watch = Watch::default();
            for turn in 0..=10 {
                let time = turn * 50 * MILLISECOND;
                let before = Some(way * MILLISECOND);
                watch.send(
                    time,
                    None,
                    Trip {
                        round: before,
                        before,
                    },
                );
                watch.see(time, 100, None);
                watch.see(time + 10 * MILLISECOND, 0, None);
            }
            // The last silence is as long as the others.
            watch.see(550 * MILLISECOND, 0, None);
            let before = Some(way * MILLISECOND);
            let (spent, pauses) = watch.finish(Trip {
                round: before,
                before,
            });
            assert_eq!(
                (spent.watched, spent.pauses, pauses.len()),
                (550 * MILLISECOND, 0, 0)
            );
            spent.empty
        };
        let of = |each: u64| 11 * each * MILLISECOND;
        assert_eq!(
            [0, 30, 40, 60].map(spent),
            [of(40), of(10), 0, 0],
            "silences of 40 ms"
        );
    }

    #[test]
    fn time_is_told_apart_by_what_is_in_flight() {
        let mut watch = Watch::default();
        watch.send(0, None, Trip::default());
        watch.see(0, 100, Some(100));
        watch.see(10 * MILLISECOND, 80, Some(100));
        watch.see(30 * MILLISECOND, 0, Some(100));
        watch.send(330 * MILLISECOND, Some(0), round(Some(20 * MILLISECOND)));
        watch.see(330 * MILLISECOND, 50, None);
        watch.see(340 * MILLISECOND, 50, None);
        let (spent, pauses) = watch.finish(Trip::default());
        let expected = Spent {
            watched: 340 * MILLISECOND,
            window_limited: 10 * MILLISECOND,
            empty: 300 * MILLISECOND,
            pauses: 1,
        };
        assert_eq!(spent, expected);
        let pause = Pause {
            start: 30 * MILLISECOND,
            length: 300 * MILLISECOND,
        };
        assert_eq!(pauses, [pause]);
    }

    #[test]
    fn a_long_round_trip_makes_a_pause_longer() {
        for (base, pauses) in [(None, 1), (Some(100), 1), (Some(200), 0)] {
            let mut watch = Watch::default();
            watch.send(0, None, Trip::default());
            let base = base.map(|it| it * MILLISECOND);
            watch.send(300 * MILLISECOND, Some(0), round(base));
            assert_eq!(watch.finish(Trip::default()).0.pauses, pauses, "{base:?}");
        }
    }

    #[test]
    fn the_longest_are_told() {
        let (mut watch, mut time) = (Watch::default(), 0);
        for pause in 1..=20 {
            watch.send(time, None, Trip::default());
            watch.see(time, 0, None);
            time += (200 + (pause * 7) % 20) * MILLISECOND;
        }
        watch.send(time, None, Trip::default());
        let (spent, pauses) = watch.finish(Trip::default());
        // One of the twenty is no longer than 200 ms.
        assert_eq!((spent.pauses, pauses.len()), (19, 8));
        assert!(pauses.iter().all(|it| it.length >= 212 * MILLISECOND));
        assert!(pauses.is_sorted_by_key(|it| it.start));
    }
}
