//! Delays that are a known function of time, constant between steps. Scenarios use them for links
//! whose delay changes.

use crate::Time;
use crate::steps::{StepsError, check};

/// A delay in steps from time zero on. The last step lasts for ever, or all steps repeat.
///
/// ```
/// use forebay_units::{DelaySteps, Time};
///
/// let [near, far] = [20, 50].map(Time::from_millis);
/// let steps = [(Time::ZERO, near), (Time::from_secs(10), far)];
/// let steps = DelaySteps::new(&steps, Some(Time::from_secs(15))).unwrap();
/// assert_eq!(steps.at(Time::from_secs(29)), far);
/// assert_eq!(steps.least(), near);
/// assert!((steps.mean(Time::ZERO, Time::from_secs(15)) - 0.03).abs() < 1e-12);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelaySteps {
    /// Beginning and delay of each step: never empty, the first at time zero.
    steps: Vec<(Time, Time)>,
    repeat: Option<Time>,
}

impl DelaySteps {
    /// A delay with these steps (beginning, delay), repeated with the period `repeat` if it is
    /// given.
    ///
    /// # Errors
    /// Steps that are not a function of time: see [`StepsError`].
    pub fn new(list: &[(Time, Time)], repeat: Option<Time>) -> Result<Self, StepsError> {
        check(list, repeat)?;
        let mut steps = list.to_vec();
        steps.dedup_by_key(|(_, delay)| *delay);
        Ok(Self { steps, repeat })
    }

    /// The delay, if it is always the same.
    pub fn constant(&self) -> Option<Time> {
        match self.steps[..] {
            [(_, delay)] => Some(delay),
            _ => None,
        }
    }

    /// The beginning and the delay of each step.
    pub fn steps(&self) -> impl Iterator<Item = (Time, Time)> {
        self.steps.iter().copied()
    }

    /// The period of the steps, if they repeat.
    pub fn repeat(&self) -> Option<Time> {
        self.repeat
    }

    /// The delay of a packet that departs at `time`.
    pub fn at(&self, time: Time) -> Time {
        let within = match self.repeat {
            Some(period) => Time::from_picos(time.as_picos() % period.as_picos()),
            None => time,
        };
        let number = self.steps.partition_point(|(begin, _)| *begin <= within);
        self.steps[number - 1].1
    }

    /// The shortest delay.
    pub fn least(&self) -> Time {
        self.steps()
            .map(|(_, delay)| delay)
            .min()
            .unwrap_or_default()
    }

    /// The longest delay.
    pub fn most(&self) -> Time {
        self.steps()
            .map(|(_, delay)| delay)
            .max()
            .unwrap_or_default()
    }

    /// Mean delay between two times, in seconds; zero if they are equal.
    pub fn mean(&self, from: Time, to: Time) -> f64 {
        let seconds = to.saturating_sub(from).as_secs_f64();
        if seconds > 0.0 {
            (self.until(to) - self.until(from)) / seconds
        } else {
            0.0
        }
    }

    /// Integral of the delay from zero until `time`, in seconds squared.
    fn until(&self, time: Time) -> f64 {
        let (periods, within) = match self.repeat {
            Some(period) => {
                let (time, period) = (time.as_picos(), period.as_picos());
                (time / period, Time::from_picos(time % period))
            }
            None => (0, time),
        };
        let part = |end: Time| -> f64 {
            let ends = self.steps.iter().skip(1).map(|(begin, _)| *begin);
            let ends = ends.chain([Time::MAX]);
            let each = self.steps.iter().zip(ends).map(|(&(begin, delay), over)| {
                over.min(end).saturating_sub(begin).as_secs_f64() * delay.as_secs_f64()
            });
            each.sum()
        };
        let whole = self.repeat.map_or(0.0, part);
        periods as f64 * whole + part(within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The mean is the mean of many samples. Each sample is between the shortest and the
        /// longest.
        #[test]
        fn means_are_those_of_many_looks(
            list in prop::collection::vec((1u64..100, 0u64..50), 1..6),
            repeats in any::<bool>(),
            from in 0u64..300,
            long in 1u64..300,
        ) {
            let (mut end, mut steps) = (Time::ZERO, Vec::new());
            for (lasts, delay) in list {
                steps.push((end, Time::from_millis(delay)));
                end += Time::from_millis(lasts);
            }
            let steps = DelaySteps::new(&steps, repeats.then_some(end)).unwrap();
            let looks = (from..from + long).map(|millis| steps.at(Time::from_millis(millis)));
            let sum: f64 = looks.clone().map(Time::as_secs_f64).sum();
            let (from, to) = (Time::from_millis(from), Time::from_millis(from + long));
            prop_assert!((steps.mean(from, to) - sum / long as f64).abs() < 1e-12);
            prop_assert!(looks.clone().all(|it| steps.least() <= it && it <= steps.most()));
        }
    }
}
