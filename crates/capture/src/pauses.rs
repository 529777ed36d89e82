//! Limits of a stream other than the congestion window: a full receive window, or no data to send.
//! The measurements of a `ConnectionDirection` use it.

/// Maximum number of pauses that are listed.
const LONGEST: usize = 8;
/// Shortest pause of an application, in nanoseconds: the minimum retransmission timeout of Linux.
const SHORTEST: u64 = 200_000_000;

/// A time without data in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pause {
    /// Start of the pause, in nanoseconds.
    pub start: u64,
    /// Length of the pause, in nanoseconds.
    pub length: u64,
}

/// Times that a stream spent in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Time since the first data, in nanoseconds.
    pub watched: u64,
    /// Time with more than nine tenths of the receive window in flight, in nanoseconds.
    pub window_limited: u64,
    /// Time without data in flight, in nanoseconds. The time from the capture point to the sender
    /// and back is subtracted, because the sender cannot answer sooner. The subtraction matters if
    /// the capture point is near the receiver.
    pub empty: u64,
    /// Number of pauses longer than 200 ms and longer than two base round trips.
    pub pauses: u64,
}

/// Measures these times from the data in flight.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch {
    since: Option<u64>,
    limited: bool,
    /// Start of the current time without data in flight.
    empty: Option<u64>,
    spent: Spent,
    longest: Vec<Pause>,
}

/// The smallest round trip of a stream when its data leaves, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Trip {
    /// The whole round trip.
    pub(crate) round: Option<u64>,
    /// The round trip from the capture point to the sender.
    pub(crate) before: Option<u64>,
}

impl Watch {
    /// Whether data that leaves now may end a pause. Only then `send` needs the round trip.
    pub(crate) fn is_paused(&self, time: u64, data_before: Option<u64>) -> bool {
        self.empty.is_some()
            || data_before.is_some_and(|start| time.saturating_sub(start) > SHORTEST)
    }

    /// Processes a packet with data. Without acknowledgments the end of the data before is unknown,
    /// so a pause begins with that data.
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

    /// Processes the bytes in flight and the receive window, both in bytes.
    pub(crate) fn see(&mut self, time: u64, flight: u64, window: Option<u32>) {
        self.go_on(time);
        self.limited = window.is_some_and(|window| flight * 10 > u64::from(window) * 9);
        if flight == 0 {
            self.empty.get_or_insert(time);
        } else if let Some(start) = self.empty.take() {
            self.see_empty(start, time, Trip::default());
        }
    }

    /// The times of all states, and the longest pauses in order of time.
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
        // One of the twenty pauses is not longer than 200 ms.
        assert_eq!((spent.pauses, pauses.len()), (19, 8));
        assert!(pauses.iter().all(|it| it.length >= 212 * MILLISECOND));
        assert!(pauses.is_sorted_by_key(|it| it.start));
    }
}
