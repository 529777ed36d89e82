//! The timers of a sender: a small table of due times. The sender has it, and the connection
//! handles a timer that expires.

use forebay_units::Time;

/// The kind of a sender's timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timer {
    /// RFC 6298. It is never stopped: where nothing is outstanding it says when it was set last.
    Retransmission,
    /// A packet may be lost rather than overtaken (RFC 8985 section 6.2).
    Reordering,
    /// A tail loss probe (RFC 8985 section 7.2).
    Probe,
}

/// When something is due, or never: half the size of an `Option<Time>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Deadline(Time);

impl Deadline {
    const NEVER: Self = Self(Time::MAX);
}

/// The timers of one sender.
#[derive(Clone, Debug)]
pub(super) struct Timers([Deadline; 3]);

impl Timers {
    /// No timer but the retransmission timer, which was set at the beginning of time.
    pub(super) fn new() -> Self {
        let mut timers = Self([Deadline::NEVER; 3]);
        timers.set(Timer::Retransmission, Time::ZERO);
        timers
    }

    #[inline]
    pub(super) fn set(&mut self, timer: Timer, due: Time) {
        self.0[timer as usize] = Deadline(due);
    }

    pub(super) fn stop(&mut self, timer: Timer) {
        self.0[timer as usize] = Deadline::NEVER;
    }

    /// When the retransmission timer expires, as it was set last.
    #[inline]
    pub(super) fn retransmission(&self) -> Time {
        self.0[Timer::Retransmission as usize].0
    }

    /// Whether a timer has expired by now.
    pub(super) fn expired(&self, timer: Timer, now: Time) -> bool {
        self.0[timer as usize].0 <= now
    }

    /// When the first of them expires.
    pub(super) fn next(&self) -> Time {
        let [retransmission, reordering, probe] = self.0;
        retransmission.min(reordering).min(probe).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Timer; 3] = [Timer::Retransmission, Timer::Reordering, Timer::Probe];

    #[test]
    fn the_first_timer_that_runs_is_next_whichever_it_is() {
        for first in ALL {
            let mut timers = Timers::new();
            for timer in ALL {
                timers.set(timer, Time::from_secs(2));
            }
            timers.set(first, Time::from_secs(1));
            assert_eq!(timers.next(), Time::from_secs(1));
            let expired = ALL.map(|timer| timers.expired(timer, Time::from_millis(1500)));
            assert_eq!(expired, ALL.map(|timer| timer == first));
            timers.stop(first);
            assert!(!timers.expired(first, Time::from_secs(1 << 20)));
            assert_eq!(timers.next(), Time::from_secs(2));
        }
    }

    #[test]
    fn only_the_retransmission_timer_runs_at_first() {
        let timers = Timers::new();
        assert_eq!(timers.retransmission(), Time::ZERO);
        let late = Time::from_secs(1 << 20);
        let expired = ALL.map(|timer| timers.expired(timer, late));
        assert_eq!(expired, [true, false, false]);
    }
}
