//! RED's averaged queue during a run, and its expected drops. Links use it to open congestion
//! events.

use crate::model::Red;

/// RED's average and its expected drops.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RedState {
    red: Red,
    /// Averaged queue, packets.
    pub(crate) average: f64,
    /// Expected early drops since the last event.
    expected: f64,
    /// Effect of an interval whose end is not known yet.
    pub(crate) pending: Option<RedStretch>,
}

/// RED's expected drops in a step.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EarlyDrops {
    /// Expected drops, in packets.
    pub(crate) drops: f64,
    /// Fraction of the step at which the first drop since the last event is expected.
    pub(crate) first: Option<f64>,
}

/// Effect of RED over an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RedStretch {
    /// State at the end of the interval.
    average: f64,
    expected: f64,
    /// Expected drops in the interval.
    drops: f64,
    /// Fraction of the interval at which the first drop since the last event is expected.
    pub(crate) first: Option<f64>,
}

impl RedState {
    pub(crate) fn new(red: Red) -> Self {
        Self {
            red,
            average: 0.0,
            expected: 0.0,
            pending: None,
        }
    }

    /// Follows the queue through an interval. `queue` and `arrivals` (packets per second) are
    /// functions of the fraction of the interval. The average is exact for a queue that is linear
    /// in each substep. Expected drops are summed by the trapezium rule.
    pub(crate) fn follow(
        &self,
        span: f64,
        queue: impl Fn(f64) -> f64,
        arrivals: impl Fn(f64) -> f64,
    ) -> RedStretch {
        let idle = self.red.curve.probability(self.average) == 0.0 && queue(1.0) <= 0.0;
        let pieces = if idle {
            1
        } else {
            ((16.0 * self.red.follow * span) as usize).clamp(64, 256)
        };
        let length = 1.0 / pieces as f64;
        let step = span * length;
        let decay = libm::exp(-self.red.follow * step);
        let mut end = RedStretch {
            average: self.average,
            expected: self.expected,
            drops: 0.0,
            first: None,
        };
        let mut from = queue(0.0);
        let mut hazard = self.red.curve.probability(end.average) * arrivals(0.0);
        for piece in 1..=pieces {
            let at = piece as f64 * length;
            let to = queue(at);
            let lag = (to - from) / (step * self.red.follow);
            end.average = to - lag + (end.average - from + lag) * decay;
            let next = self.red.curve.probability(end.average) * arrivals(at);
            let drops = 0.5 * (hazard + next) * step;
            if end.first.is_none() && end.expected + drops >= 1.0 {
                let part = ((1.0 - end.expected) / drops).clamp(0.0, 1.0);
                end.first = Some(at - length * (1.0 - part));
            }
            end.drops += drops;
            end.expected += drops;
            (from, hazard) = (to, next);
        }
        end
    }

    /// Applies the end of an interval. Returns its early drops.
    pub(crate) fn settle(&mut self, end: &RedStretch) -> f64 {
        self.average = end.average;
        self.expected = end.expected;
        end.drops
    }

    /// Restarts the count of expected drops.
    pub(crate) fn restart(&mut self) {
        self.expected = 0.0;
    }
}
