//! Delay gradients of CDG: how much the smallest and the largest round-trip time of a round grow,
//! and their sums over the last rounds. Times are whole microseconds, as in Linux.

use crate::packet::Sample;

/// A sum that falls by this number of microseconds shows that a backoff had an effect.
const EFFECT: i64 = -32;

/// Granularity of the sums if losses are tolerated, microseconds: less than half of it counts as
/// zero.
const COARSE: i64 = 64;

/// Acknowledgments of single packets that may be delayed, at most (`delack`).
const MOST_DELAYED: u32 = 5;

/// The smallest and the largest round-trip time of a round, microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Extremes {
    pub(super) min: i64,
    pub(super) max: i64,
}

/// Collects the round-trip times of a round (`tcp_cdg_acked`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RoundTrips {
    extremes: Option<Extremes>,
    /// Acknowledgments of a single packet that may have been delayed.
    delayed: u32,
    acknowledged: u64,
}

impl RoundTrips {
    /// Takes in an acknowledgment. One of a single packet after one of several was delayed: it
    /// counts for the minimum only.
    pub(super) fn update(&mut self, sample: &Sample) {
        let acked = sample.acknowledged.saturating_sub(self.acknowledged);
        self.acknowledged = sample.acknowledged;
        let Some(rtt) = sample.rtt.map(|rtt| (rtt * 1e6).round() as i64) else {
            return;
        };
        if rtt <= 0 {
            return;
        }
        // Where packets arrived out of order nothing is delayed.
        if sample.calm() && acked as f64 >= sample.arrived {
            if acked == 1 && self.delayed > 0 {
                self.delayed -= 1;
                if let Some(extremes) = &mut self.extremes {
                    extremes.min = extremes.min.min(rtt);
                }
                return;
            }
            if acked > 1 {
                self.delayed = (self.delayed + 1).min(MOST_DELAYED);
            }
        }
        let extremes = self.extremes.get_or_insert(Extremes { min: rtt, max: rtt });
        extremes.min = extremes.min.min(rtt);
        extremes.max = extremes.max.max(rtt);
    }

    /// The extremes of the round; none before the first round-trip time.
    pub(super) fn extremes(&self) -> Option<Extremes> {
        self.extremes
    }

    /// A round begins.
    pub(super) fn forget(&mut self) {
        self.extremes = None;
    }
}

/// State of the queue, as the gradients tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fullness {
    Unknown,
    NotFull,
    Full,
}

/// Sums of gradients at the end of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sums {
    /// The one by which the flow backs off, microseconds.
    pub(super) gradient: i64,
    /// Whether round-trip times have become clearly shorter.
    pub(super) fell: bool,
    /// State of the queue; none where the gradients leave it open.
    pub(super) queue: Option<Fullness>,
}

/// Gradients of the last rounds, and their sums (`tcp_cdg_grad`).
#[derive(Clone, Debug)]
pub(super) struct Gradient {
    gradients: Vec<Extremes>,
    tail: usize,
    sum: Extremes,
    filled: bool,
}

impl Gradient {
    /// Gradients of this number of rounds, at least one.
    pub(super) fn new(rounds: usize) -> Self {
        Self {
            gradients: vec![Extremes::default(); rounds.max(1)],
            tail: 0,
            sum: Extremes::default(),
            filled: false,
        }
    }

    pub(super) fn forget(&mut self) {
        *self = Self::new(self.gradients.len());
    }

    /// Takes in the round-trip times of a round and of the round before.
    pub(super) fn update(&mut self, seen: Extremes, before: Extremes) -> Sums {
        let newest = Extremes {
            min: seen.min - before.min,
            max: seen.max - before.max,
        };
        let oldest = std::mem::replace(&mut self.gradients[self.tail], newest);
        self.sum.min += newest.min - oldest.min;
        self.sum.max += newest.max - oldest.max;
        self.tail = (self.tail + 1) % self.gradients.len();
        let Extremes { min, max } = self.sum;
        let mut gradient = if min > 0 { min } else { max };
        self.filled |= self.tail == 0;
        if !self.filled {
            // The rounds to come are taken to be as those so far.
            gradient = gradient * self.gradients.len() as i64 / self.tail as i64;
        }
        Sums {
            gradient,
            fell: min <= EFFECT || max <= EFFECT,
            queue: fullness(coarse(min), coarse(max)),
        }
    }
}

/// The queue is full where the smallest round-trip time grows and the largest no longer does.
fn fullness(min: i64, max: i64) -> Option<Fullness> {
    if min > 0 && max <= 0 {
        Some(Fullness::Full)
    } else if min > 0 || max < 0 {
        Some(Fullness::NotFull)
    } else {
        None
    }
}

/// `DIV_ROUND_CLOSEST` by [`COARSE`].
fn coarse(microseconds: i64) -> i64 {
    let half = COARSE / 2 * microseconds.signum();
    (microseconds + half) / COARSE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::LossState;
    use crate::packet::tests::sample;

    fn of(min: i64, max: i64) -> Extremes {
        Extremes { min, max }
    }

    /// The sum over full windows is the round-trip time of now less that of `rounds` rounds ago.
    #[test]
    fn sums_telescope_over_the_window() {
        let mut gradient = Gradient::new(4);
        let rtts = [100, 110, 130, 160, 200, 190, 150, 180, 260];
        for (number, pair) in rtts.windows(2).enumerate() {
            let sums = gradient.update(of(pair[1], pair[1] + 7), of(pair[0], pair[0] + 7));
            if number >= 3 {
                assert_eq!(gradient.sum.min, pair[1] - rtts[number - 3]);
            } else {
                // Extrapolated: the mean growth of a round so far, four times.
                let grown = pair[1] - rtts[0];
                let rounds = number as i64 + 1;
                assert_eq!(sums.gradient, 4 * grown / rounds);
            }
        }
    }

    #[test]
    fn the_largest_round_trip_counts_where_the_smallest_does_not_grow() {
        for (min, max, expected) in [(50, 20, 50), (0, 20, 20), (-40, 20, 20), (-40, -50, -50)] {
            let mut gradient = Gradient::new(1);
            let sums = gradient.update(of(1000 + min, 2000 + max), of(1000, 2000));
            assert_eq!(sums.gradient, expected, "{min} {max}");
        }
    }

    #[test]
    fn a_fall_of_32_microseconds_is_an_effect() {
        for (min, max, expected) in [
            (-31, -31, false),
            (-32, 0, true),
            (90, -32, true),
            (90, 90, false),
        ] {
            let mut gradient = Gradient::new(8);
            let sums = gradient.update(of(1000 + min, 2000 + max), of(1000, 2000));
            assert_eq!(sums.fell, expected, "{min} {max}");
        }
    }

    /// Hayes and Armitage 2011, section 3.3, with the variations below 32 µs that Linux leaves out.
    #[test]
    fn a_queue_is_full_when_only_the_smallest_round_trip_grows() {
        for (min, max, expected) in [
            (400, 0, Some(Fullness::Full)),
            (400, -400, Some(Fullness::Full)),
            (400, 400, Some(Fullness::NotFull)),
            (0, -400, Some(Fullness::NotFull)),
            (400, 31, Some(Fullness::Full)),
            (32, 0, Some(Fullness::Full)),
            (31, -31, None),
            (0, 400, None),
        ] {
            let mut gradient = Gradient::new(1);
            let sums = gradient.update(of(1000 + min, 2000 + max), of(1000, 2000));
            assert_eq!(sums.queue, expected, "{min} {max}");
        }
    }

    /// A delayed acknowledgment can only lower the minimum.
    #[test]
    fn single_packets_after_pairs_count_for_the_minimum_only() {
        let mut round_trips = RoundTrips::default();
        let mut seen = sample(0.1);
        let mut take = |acked: u64, rtt: f64, state| {
            seen.acknowledged += acked;
            seen.arrived = acked as f64;
            seen.rtt = Some(rtt);
            seen.state = state;
            round_trips.update(&seen);
            round_trips.extremes().unwrap()
        };
        let open = LossState::Open;
        assert_eq!(take(1, 0.1, open), of(100_000, 100_000));
        assert_eq!(take(2, 0.11, open), of(100_000, 110_000));
        assert_eq!(take(1, 0.2, open), of(100_000, 110_000));
        // One pair allows one.
        assert_eq!(take(1, 0.12, open), of(100_000, 120_000));
        take(2, 0.12, open);
        assert_eq!(take(1, 0.09, open), of(90_000, 120_000));
        take(2, 0.12, open);
        assert_eq!(take(1, 0.2, LossState::Recovery), of(90_000, 200_000));
    }
}
