//! The delay of a link over time. Engines ask a link for it.

use forebay_units::Time;

use crate::model::delay::Delays;
use crate::model::link::Link;

impl Link {
    /// The longest delay.
    pub fn longest_delay(&self) -> Time {
        self.delays
            .as_ref()
            .map_or(self.delay, |delays| delays.steps.most())
    }

    /// The difference between its longest delay and the shortest.
    pub fn most_extra_delay(&self) -> Time {
        self.longest_delay() - self.delay
    }

    /// By how much its delay exceeds the shortest on average over a period, or over a run that
    /// lasts until `end` where it does not repeat; in seconds.
    pub fn mean_extra_delay(&self, end: Time) -> f64 {
        self.delays.as_ref().map_or(0.0, |Delays { steps, .. }| {
            let mean = steps.mean(Time::ZERO, steps.repeat().unwrap_or(end));
            mean - steps.least().as_secs_f64()
        })
    }
}
