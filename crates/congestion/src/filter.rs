//! The windowed maximum and minimum (Nichols's filter, as in draft-ietf-ccwg-bbr section 4.5.1):
//! the best value, and the best since, and the best since that.

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Stamped {
    at: u64,
    value: f64,
}

/// The maximum of a value over a sliding window, in constant space.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WindowedMaximum {
    best: [Stamped; 3],
}

impl WindowedMaximum {
    /// The maximum; zero before the first value.
    #[inline]
    pub(crate) fn get(&self) -> f64 {
        self.best[0].value
    }

    /// Takes in `value` at `at` for a window of the given length.
    pub(crate) fn update(&mut self, at: u64, value: f64, window: u64) {
        let new = Stamped { at, value };
        if value >= self.best[0].value || at - self.best[2].at > window {
            self.best = [new; 3];
            return;
        }
        if value >= self.best[1].value {
            self.best[1] = new;
            self.best[2] = new;
        } else if value >= self.best[2].value {
            self.best[2] = new;
        }
        let age = at - self.best[0].at;
        if age > window {
            // The best one has expired: the next ones move up, the new one is the last.
            self.best = [self.best[1], self.best[2], new];
            if at - self.best[0].at > window {
                self.best = [self.best[1], self.best[2], new];
            }
        } else if self.best[1].at == self.best[0].at && age > window / 4 {
            // A quarter of the window without a second best: this is it.
            self.best[1] = new;
            self.best[2] = new;
        } else if self.best[2].at == self.best[1].at && age > window / 2 {
            self.best[2] = new;
        }
    }
}

/// The minimum of a value over a sliding window, in constant space.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowedMinimum {
    /// The maximum of the negative values.
    negative: WindowedMaximum,
}

impl Default for WindowedMinimum {
    fn default() -> Self {
        let none = Stamped {
            at: 0,
            value: f64::NEG_INFINITY,
        };
        Self {
            negative: WindowedMaximum { best: [none; 3] },
        }
    }
}

impl WindowedMinimum {
    /// The minimum; infinite before the first value.
    #[inline]
    pub(crate) fn get(&self) -> f64 {
        -self.negative.get()
    }

    /// Takes in `value` at `at` for a window of the given length.
    pub(crate) fn update(&mut self, at: u64, value: f64, window: u64) {
        self.negative.update(at, -value, window);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_maximum_lives_for_one_window() {
        let mut maximum = WindowedMaximum::default();
        maximum.update(0, 5.0, 10);
        for at in 1..=10 {
            maximum.update(at, 3.0, 10);
            assert_eq!(maximum.get(), 5.0);
        }
        maximum.update(11, 3.0, 10);
        assert_eq!(maximum.get(), 3.0);
        maximum.update(12, 7.0, 10);
        assert_eq!(maximum.get(), 7.0);
    }

    #[test]
    fn it_never_passes_the_true_maximum_nor_falls_below_the_newest() {
        let mut maximum = WindowedMaximum::default();
        let mut values = Vec::new();
        for at in 0..500_u64 {
            let value = ((at * 7919) % 101) as f64;
            values.push(value);
            maximum.update(at, value, 20);
            let true_maximum = values.iter().rev().take(21).copied().fold(0.0, f64::max);
            assert!(maximum.get() <= true_maximum && maximum.get() >= value);
        }
    }

    #[test]
    fn a_minimum_lives_for_one_window() {
        let mut minimum = WindowedMinimum::default();
        assert_eq!(minimum.get(), f64::INFINITY);
        minimum.update(0, 3.0, 10);
        for at in 1..=10 {
            minimum.update(at, 5.0, 10);
            assert_eq!(minimum.get(), 3.0);
        }
        minimum.update(11, 5.0, 10);
        assert_eq!(minimum.get(), 5.0);
        minimum.update(12, 1.0, 10);
        assert_eq!(minimum.get(), 1.0);
    }
}
