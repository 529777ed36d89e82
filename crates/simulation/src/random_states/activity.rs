//! The times at which the flows of a group start, stop and are on, from the streams that the
//! simulation draws from. `groups` adds up on times, and `overload` adds up the rates of sources
//! that are on together.

use forebay_random::{Purpose, Seed};
use forebay_scenario::{Distribution, FlowGroup};
use forebay_units::Time;

use super::state::MOST_PERIODS;
use crate::sampling::Sampling;
use crate::traffic::on_periods::{OnPeriod, OnPeriods};

/// The number of flows of a group in a replication, and their random numbers.
pub(crate) fn flows(spec: &FlowGroup, number: u64, seed: Seed) -> (u64, Sampling) {
    let count = spec.drawn_count(number, seed);
    (count, Sampling::new(seed, spec))
}

/// The instants at which flow `index` of `count` starts and stops.
pub(crate) fn life(spec: &FlowGroup, (index, count): (u64, u64), draws: &Sampling) -> (Time, Time) {
    // Most groups state both.
    if let (Distribution::Value(start), None) = (&spec.start, &spec.stop) {
        return (*start, Time::MAX);
    }
    let mut stream = draws.stream(index, Purpose::Start);
    let mut draw = |distribution: &Distribution<Time>| distribution.draw(index, count, &mut stream);
    // The start of flows that are active when the run begins is zero, and nothing is drawn.
    let start = draw(&spec.start);
    (start, spec.stop.as_ref().map_or(Time::MAX, draw))
}

/// The on periods before `to` of flow `index` of `count`, the last one cut off at `to` or at the
/// flow's stop.
pub(crate) fn on_periods<'a>(
    spec: &FlowGroup,
    (index, count): (u64, u64),
    draws: &Sampling,
    (periods, to): (&'a OnPeriods, Time),
) -> impl Iterator<Item = OnPeriod> + use<'a> {
    let (start, stop) = life(spec, (index, count), draws);
    let to = to.min(stop);
    let mut gaps = draws.stream(index, Purpose::Interarrival);
    let mut next = if spec.under_way {
        let mut phase = draws.stream(index, Purpose::Phase);
        periods.under_way(&mut gaps, &mut phase).period
    } else {
        periods.first(start, &mut gaps)
    };
    let period = move || {
        let period = next;
        if period.begin >= to {
            return None;
        }
        next = periods.after(period.end, &mut gaps);
        let end = period.end.min(to);
        Some(OnPeriod { end, ..period })
    };
    std::iter::from_fn(period).take(MOST_PERIODS)
}
