//! On and off periods of bursty sources, as the random streams of a flow draw them. The sources
//! send packets in them, and the predicted random states of a replication add up their lengths.

use forebay_random::Stream;
use forebay_scenario::Distribution;
use forebay_units::Time;

/// The distributions of the on and off periods of one group.
#[derive(Clone, Debug)]
pub(crate) struct OnPeriods {
    pub(crate) on: Distribution<Time>,
    pub(crate) off: Distribution<Time>,
}

/// One on period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OnPeriod {
    pub(crate) begin: Time,
    pub(crate) end: Time,
}

/// The state of a source that is active when the run begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InitialState {
    /// The current on period, from zero on, or the next one.
    pub(crate) period: OnPeriod,
    /// The time since the last on period, if the source is off.
    pub(crate) silence: Option<Time>,
    /// The elapsed share of a gap between two packets.
    pub(crate) gap_share: f64,
}

impl OnPeriods {
    /// The first on period of a source that starts at `start`.
    pub(crate) fn first(&self, start: Time, draws: &mut Stream) -> OnPeriod {
        OnPeriod {
            begin: start,
            end: start.saturating_add(self.on.draw(0, 1, draws)),
        }
    }

    /// The on period after the one that ended at `end`.
    #[inline]
    pub(crate) fn after(&self, end: Time, draws: &mut Stream) -> OnPeriod {
        let begin = end.saturating_add(self.off.draw(0, 1, draws));
        self.first(begin, draws)
    }

    /// The state at time zero of a source whose periods have followed each other for ever: it is on
    /// with the probability E\[on\] / (E\[on\] + E\[off\]). The stream `phase` decides the state,
    /// the stream `draws` the length of an on period that follows.
    pub(crate) fn under_way(&self, draws: &mut Stream, phase: &mut Stream) -> InitialState {
        let (on, off) = (self.on.mean(), self.off.mean());
        let is_on = phase.uniform() * (on + off) < on;
        let gap_share = phase.uniform();
        let distribution = if is_on { &self.on } else { &self.off };
        let found = distribution.under_way(0, 1, phase);
        let period = if is_on {
            OnPeriod {
                begin: Time::ZERO,
                end: found.left,
            }
        } else {
            self.first(found.left, draws)
        };
        InitialState {
            period,
            silence: (!is_on).then_some(found.elapsed),
            gap_share,
        }
    }
}
