//! Emulated time: the machine's monotonic clock since a start, less the frozen time. A late loop
//! freezes the clock for the stall, so that pending events keep their spacing.

use std::time::{Duration, Instant};

use forebay_units::Time;

/// A source of time.
pub trait Source {
    /// Time since a fixed instant of the source. It never decreases.
    fn elapsed(&self) -> Duration;
}

/// The machine's monotonic clock: on Linux `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug)]
pub struct Monotonic(Instant);

impl Monotonic {
    /// The clock, counted from now.
    pub fn start() -> Self {
        Self(Instant::now())
    }
}

impl Source for Monotonic {
    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

impl<F: Fn() -> Duration> Source for F {
    fn elapsed(&self) -> Duration {
        self()
    }
}

/// The emulated clock. It never runs backward except by [`Clock::freeze`].
#[derive(Clone, Debug)]
pub struct Clock<S = Monotonic> {
    source: S,
    start: Duration,
    frozen: Time,
    freezes: u64,
}

impl Clock {
    /// A clock that shows zero now.
    pub fn start() -> Self {
        Self::over(Monotonic::start())
    }
}

impl<S: Source> Clock<S> {
    /// A clock over `source` that shows zero now.
    pub fn over(source: S) -> Self {
        let start = source.elapsed();
        Self {
            source,
            start,
            frozen: Time::ZERO,
            freezes: 0,
        }
    }

    /// The emulated time since the start.
    pub fn now(&self) -> Time {
        self.elapsed().saturating_sub(self.frozen)
    }

    /// Moves the clock back by `stall`, but not to before its start.
    pub fn freeze(&mut self, stall: Time) {
        let all = self.frozen.saturating_add(stall);
        self.frozen = all.min(self.elapsed());
        self.freezes += 1;
    }

    /// The total frozen time.
    pub fn frozen(&self) -> Time {
        self.frozen
    }

    /// The number of freezes.
    pub fn freezes(&self) -> u64 {
        self.freezes
    }

    /// Real time since the start, frozen time included.
    pub fn elapsed(&self) -> Time {
        time(self.source.elapsed().saturating_sub(self.start))
    }
}

/// A duration as a [`Time`]; [`Time::MAX`] if it is too long.
fn time(duration: Duration) -> Time {
    let picos = duration.as_nanos().saturating_mul(1_000);
    Time::from_picos(u64::try_from(picos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Emulated time is real time since the start less the frozen time, at every reading.
        #[test]
        fn emulated_time_is_real_time_less_what_was_frozen(
            boot in 0..u64::MAX / 4,
            steps in prop::collection::vec((0..5_000_000_000_u64, prop::option::of(0..2_000_000_u64)), 1..50),
        ) {
            let reading = Cell::new(Duration::from_nanos(boot));
            let mut clock = Clock::over(|| reading.get());
            prop_assert_eq!(clock.now(), Time::ZERO);
            let (mut real, mut frozen, mut count) = (0, 0, 0);
            for (step, freeze) in steps {
                reading.set(reading.get() + Duration::from_nanos(step));
                real += step * 1_000;
                if let Some(nanos) = freeze {
                    clock.freeze(Time::from_picos(nanos * 1_000));
                    frozen = (frozen + nanos * 1_000).min(real);
                    count += 1;
                }
                prop_assert_eq!(clock.now(), Time::from_picos(real - frozen));
                prop_assert_eq!(clock.elapsed(), Time::from_picos(real));
            }
            prop_assert_eq!(clock.frozen(), Time::from_picos(frozen));
            prop_assert_eq!(clock.freezes(), count);
        }
    }

    #[test]
    fn a_clock_is_not_frozen_to_before_its_start() {
        let reading = Cell::new(Duration::ZERO);
        let mut clock = Clock::over(|| reading.get());
        reading.set(Duration::from_millis(2));
        clock.freeze(Time::from_secs(1));
        assert_eq!(clock.now(), Time::ZERO);
        reading.set(Duration::from_millis(5));
        assert_eq!(clock.now(), Time::from_millis(3));
    }

    #[test]
    fn the_machine_s_clock_runs() {
        let clock = Clock::start();
        let before = clock.now();
        std::thread::sleep(Duration::from_millis(3));
        let passed = clock.now() - before;
        assert!(passed >= Time::from_millis(3) && passed < Time::from_secs(60));
    }
}
