//! The clock of an interface as analysis needs it: it never goes back, and a stray time stamp does not
//! take it along. What was done to it is counted.

/// Disorder up to so many nanoseconds is that of queues of one network card; more is a clock that was set.
const STEP: u64 = 1_000_000_000;
/// Nobody is silent for so long inside of a capture; a packet that says so must be confirmed by the next.
const LEAP: u64 = 3_600_000_000_000;

/// The clock of an interface.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clock {
    started: bool,
    latest: u64,
    /// What is added to times since the clock was set back.
    offset: u64,
    /// A time that the next packet has to confirm.
    suspect: Option<u64>,
    steps: ClockSteps,
}

/// What a clock did that clocks should not do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockSteps {
    /// Packets earlier than the one before.
    pub backward: u64,
    /// The most by which one was earlier, in nanoseconds.
    pub largest_backward: u64,
    /// How often the clock was set back for good, by more than a second.
    pub set_back: u64,
    /// How often it went on by more than an hour for good.
    pub leaps: u64,
    /// Packets whose time nothing confirmed: they were taken as of the time of the one before.
    pub stray: u64,
}

impl Clock {
    /// The time to take for the next packet, in nanoseconds, by the time that the capture has.
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

    /// What it did.
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
