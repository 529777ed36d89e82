//! The clock of an interface for the analysis: it never goes back, and one wrong time stamp does
//! not move it. Every correction is counted.

/// Largest disorder that the queues of one network card cause, in nanoseconds. A larger step back
/// means that the clock was set.
const STEP: u64 = 1_000_000_000;
/// Longest silence within a capture, in nanoseconds. The next packet must confirm a longer one.
const LEAP: u64 = 3_600_000_000_000;

/// The clock of an interface.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clock {
    started: bool,
    latest: u64,
    /// Nanoseconds that are added to each time stamp since the clock was set back.
    offset: u64,
    /// A time stamp that the next packet has to confirm.
    suspect: Option<u64>,
    steps: ClockSteps,
}

/// Irregularities of a clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockSteps {
    /// Packets earlier than the latest time before them.
    pub backward: u64,
    /// Largest step back, in nanoseconds.
    pub largest_backward: u64,
    /// Number of times that the clock was set back for good, by more than a second.
    pub set_back: u64,
    /// Number of times that the clock went forward for good, by more than an hour.
    pub leaps: u64,
    /// Packets whose time was not confirmed when they came. They take the latest time before them.
    pub stray: u64,
}

impl Clock {
    /// The time of the next packet in nanoseconds, from the time stamp of the capture.
    #[inline]
    pub(crate) fn read(&mut self, stamp: u64) -> u64 {
        let time = stamp.saturating_add(self.offset);
        if self.started && (time < self.latest || time - self.latest > LEAP) {
            return self.doubt(stamp, time);
        }
        self.started = true;
        self.suspect = None;
        self.latest = time;
        time
    }

    #[cold]
    fn doubt(&mut self, stamp: u64, time: u64) -> u64 {
        let back = self.latest.saturating_sub(time);
        if back > 0 {
            self.steps.backward += 1;
            self.steps.largest_backward = self.steps.largest_backward.max(back);
            if back <= STEP {
                return self.latest;
            }
        }
        let confirmed = self
            .suspect
            .is_some_and(|suspect| suspect.abs_diff(stamp) <= LEAP);
        if !confirmed {
            self.suspect = Some(stamp);
            self.steps.stray += 1;
            return self.latest;
        }
        self.suspect = None;
        if back > 0 {
            self.steps.set_back += 1;
            self.offset = self.offset.saturating_add(back);
        } else {
            self.steps.leaps += 1;
            self.latest = time;
        }
        self.latest
    }

    /// The irregularities so far.
    pub(crate) fn steps(&self) -> ClockSteps {
        self.steps
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    proptest! {
        #[test]
        fn it_never_goes_back(stamps in prop::collection::vec(any::<u64>(), 0..60), shift in 0u32..64) {
            let mut clock = Clock::default();
            let times: Vec<_> = stamps.iter().map(|it| clock.read(it >> shift)).collect();
            prop_assert!(times.is_sorted());
        }

        #[test]
        fn order_is_left_alone(mut stamps in prop::collection::vec(0u64..3_600 * SECOND, 0..60)) {
            stamps.sort_unstable();
            let mut clock = Clock::default();
            let times: Vec<_> = stamps.iter().map(|&it| clock.read(it)).collect();
            prop_assert_eq!(times, stamps);
            prop_assert_eq!(clock.steps(), ClockSteps::default());
        }
    }

    #[test]
    fn a_clock_that_is_set_back_goes_on_where_it_stood() {
        let mut clock = Clock::default();
        clock.read(100 * SECOND);
        clock.read(90 * SECOND);
        clock.read(90 * SECOND + 5);
        assert_eq!(clock.read(91 * SECOND + 5), 101 * SECOND);
        let steps = clock.steps();
        assert_eq!((steps.set_back, steps.stray), (1, 1));
        assert_eq!(steps.largest_backward, 10 * SECOND);
    }

    #[test]
    fn the_end_of_time_is_not_before_its_beginning() {
        let mut clock = Clock::default();
        assert_eq!(clock.read(u64::MAX), u64::MAX);
        assert_eq!(clock.read(0), u64::MAX);
    }

    #[test]
    fn one_stray_stamp_changes_nothing() {
        for stray in [0, u64::MAX, 5_000 * SECOND] {
            let mut clock = Clock::default();
            clock.read(100 * SECOND);
            assert_eq!(clock.read(stray), 100 * SECOND);
            assert_eq!(clock.read(101 * SECOND), 101 * SECOND);
            assert_eq!(clock.steps().stray, 1);
        }
    }

    #[test]
    fn a_pause_of_days_is_believed_when_confirmed() {
        let mut clock = Clock::default();
        clock.read(SECOND);
        assert_eq!(clock.read(200_000 * SECOND), SECOND);
        assert_eq!(clock.read(200_001 * SECOND), 200_001 * SECOND);
        assert_eq!(clock.steps().leaps, 1);
    }
}
