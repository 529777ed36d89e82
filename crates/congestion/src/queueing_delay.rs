//! Queueing delay as LEDBAT measures it (RFC 6817 section 2.4.2): the current delay less
//! the base delay. Both controllers of the family take their delays from here.
//!
//! RFC 6817 measures the one-way delay of the forward path. Senders of this crate see round-trip
//! times only, so that a queue on the reverse path counts, too.

use forebay_units::Time;

/// Delays of which the smallest counts (`CURRENT_FILTER`).
const CURRENT_FILTER: usize = 4;

/// Intervals of which the base delay is the smallest delay (`BASE_HISTORY`), and their length in
/// seconds.
const BASE_HISTORY: usize = 10;
const INTERVAL: u64 = 60;

/// The shortest target delay, seconds: the reaction is relative to the target.
const MIN_TARGET: f64 = 1e-6;

/// A target delay in seconds by which a delay can be divided.
pub(crate) fn target_seconds(target: Time) -> f64 {
    target.as_secs_f64().max(MIN_TARGET)
}

/// Seconds by which `current` exceeds `base`; zero before both are known.
pub(crate) fn queueing_delay(current: f64, base: f64) -> f64 {
    let delay = current - base;
    if delay.is_finite() {
        delay.max(0.0)
    } else {
        0.0
    }
}

/// The filter of the current delay: the smallest of the newest delays.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CurrentDelay {
    delays: [f64; CURRENT_FILTER],
    newest: usize,
}

impl Default for CurrentDelay {
    fn default() -> Self {
        Self {
            delays: [f64::INFINITY; CURRENT_FILTER],
            newest: 0,
        }
    }
}

impl CurrentDelay {
    /// The filter after a long time of this delay, seconds.
    #[cfg(test)]
    pub(crate) fn steady(delay: f64) -> Self {
        Self {
            delays: [delay; CURRENT_FILTER],
            newest: 0,
        }
    }

    /// Takes in a delay, seconds.
    pub(crate) fn update(&mut self, delay: f64) {
        self.delays[self.newest] = delay;
        self.newest = (self.newest + 1) % CURRENT_FILTER;
    }

    /// The current delay in seconds; infinite before the first.
    pub(crate) fn get(&self) -> f64 {
        smallest(&self.delays)
    }
}

/// The history of the base delay: the smallest delay of each of the last minutes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BaseDelay {
    minima: [f64; BASE_HISTORY],
    newest: usize,
    /// The minute of the newest minimum.
    minute: u64,
}

impl Default for BaseDelay {
    fn default() -> Self {
        Self {
            minima: [f64::INFINITY; BASE_HISTORY],
            newest: 0,
            minute: 0,
        }
    }
}

impl BaseDelay {
    /// Takes in a delay in seconds, measured at `now`.
    pub(crate) fn update(&mut self, delay: f64, now: Time) {
        let minute = now.as_secs_f64() as u64 / INTERVAL;
        if minute != self.minute {
            self.minute = minute;
            self.newest = (self.newest + 1) % BASE_HISTORY;
            self.minima[self.newest] = f64::INFINITY;
        }
        let minimum = &mut self.minima[self.newest];
        *minimum = minimum.min(delay);
    }

    /// The base delay in seconds; infinite before the first delay.
    pub(crate) fn get(&self) -> f64 {
        smallest(&self.minima)
    }
}

fn smallest(delays: &[f64]) -> f64 {
    delays.iter().copied().fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_current_delay_is_the_smallest_of_the_last_four() {
        let mut current = CurrentDelay::default();
        assert_eq!(current.get(), f64::INFINITY);
        let delays = [0.5, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9];
        let expected = [0.5, 0.3, 0.3, 0.3, 0.3, 0.4, 0.6];
        for (delay, expected) in delays.into_iter().zip(expected) {
            current.update(delay);
            assert_eq!(current.get(), expected);
        }
    }

    #[test]
    fn the_base_delay_forgets_a_minute_after_ten() {
        let mut base = BaseDelay::default();
        assert_eq!(base.get(), f64::INFINITY);
        base.update(0.1, Time::from_secs(70));
        base.update(0.2, Time::from_secs(119));
        for minute in 2..11 {
            base.update(0.3, Time::from_secs(60 * minute));
            assert_eq!(base.get(), 0.1, "{minute}");
        }
        base.update(0.3, Time::from_secs(660));
        assert_eq!(base.get(), 0.3);
    }

    #[test]
    fn a_delay_below_the_base_or_unknown_is_no_queue() {
        assert_eq!(queueing_delay(0.25, 0.125), 0.125);
        assert_eq!(queueing_delay(0.1, 0.2), 0.0);
        assert_eq!(queueing_delay(f64::INFINITY, f64::INFINITY), 0.0);
        assert_eq!(queueing_delay(f64::INFINITY, 0.1), 0.0);
    }

    #[test]
    fn a_target_of_zero_is_a_microsecond() {
        assert_eq!(target_seconds(Time::ZERO), 1e-6);
        assert_eq!(target_seconds(Time::from_millis(250)), 0.25);
    }
}
