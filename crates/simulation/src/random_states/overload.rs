//! The overload of the target link: sources that are harmless one by one and overload the link if
//! they send at the same time. Its value is that of a fluid without a buffer.

use forebay_random::Seed;
use forebay_scenario::{Distribution, FlowCount, FlowGroup, Link, Scenario, Varying, Workload};
use forebay_units::{Rate, Time};

use super::activity;
use super::state::{Found, MOST_EVENTS, MOST_FLOWS, StateKind, Window, is_constant};
use crate::traffic::on_periods::OnPeriods;

/// The overload of the target link, if its rate is constant, if at least two sources change with
/// time, at least one of them at random, and if all sources together can exceed the rate.
pub(crate) fn of_target(scenario: &Scenario) -> Option<Found<'_>> {
    let target = scenario.target_index();
    let link = &scenario.links()[target];
    let rate = constant_rate(link).filter(|rate| *rate > 0)?;
    let groups = scenario.flows().iter().zip(0..);
    let groups = groups.filter(|(spec, _)| spec.routing.is_none() && spec.path.contains(&target));
    let sources: Vec<Sources<'_>> = groups
        .filter_map(|(spec, number)| Sources::of(spec, number, link))
        .collect();
    let constant: u64 = sources.iter().map(Sources::constant).sum();
    let changing: Vec<Sources<'_>> = sources
        .into_iter()
        .filter(|group| group.changes != Changes::Never)
        .collect();
    let run = scenario.run();
    let flows: u64 = changing.iter().map(|group| group.most).sum();
    let peak: f64 = changing.iter().map(Sources::peak).sum();
    let periods_per_second: f64 = changing.iter().map(Sources::periods_per_second).sum();
    let at_random = changing
        .iter()
        .any(|group| group.changes == Changes::AtRandom);
    let few = flows <= MOST_FLOWS && run.end().as_secs_f64() * periods_per_second <= MOST_EVENTS;
    // A link that is always overloaded carries the sum of the on times, whether they overlap or
    // not.
    let can_exceed = constant < rate && constant as f64 + peak > rate as f64;
    if flows < 2 || !at_random || !few || !can_exceed {
        return None;
    }
    let phrase = format!("The overload of link `{}`", link.name);
    let mut found = Found::new(StateKind::Overload, "link.rate".to_owned(), phrase);
    found.state.cycle_s = (periods_per_second > 0.0).then(|| 1.0 / periods_per_second);
    let window = Window {
        from: run.warmup,
        to: run.end(),
    };
    Some(found.sampled(move |seed| {
        let mut edges = Vec::new();
        for group in &changing {
            group.edges(seed, window, &mut edges);
        }
        let excess = excess_bits(&mut edges, (constant, rate));
        excess / rate as f64
    }))
}

/// The rate in bits per second, unless it changes in other ways than by outages.
fn constant_rate(link: &Link) -> Option<u64> {
    let rate = match &link.varying {
        _ if link.medium.is_some() => None,
        None => Some(link.rate),
        Some(Varying::Steps(steps)) => steps.constant(),
        Some(_) => None,
    };
    rate.map(Rate::as_bits_per_second)
}

/// An instant, in bits per second the change of the offered rate.
type Edge = (Time, i128);

/// Bits that are offered above the rate, from edges within the window and a load that is always
/// there.
fn excess_bits(edges: &mut [Edge], (constant, rate): (u64, u64)) -> f64 {
    edges.sort_unstable_by_key(|(at, _)| *at);
    // Whole numbers, so that nothing remains where the offered rate is that of the link.
    let mut above = i128::from(constant) - i128::from(rate);
    let (mut excess, mut since) = (0_u128, Time::ZERO);
    for &mut (at, change) in edges {
        let lasting = at.saturating_sub(since).as_picos();
        excess += above.max(0).unsigned_abs() * u128::from(lasting);
        (above, since) = (above + change, at);
    }
    excess as f64 * 1e-12
}

/// How the load of a group changes with time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Changes {
    /// The mean load counts.
    Never,
    /// At times that are known.
    AsScheduled,
    AtRandom,
}

/// The sources of a group that crosses the link.
struct Sources<'a> {
    spec: &'a FlowGroup,
    number: u64,
    changes: Changes,
    /// Bits per second of one source that is on, as the link counts them.
    rate: u64,
    /// On and off periods; without them a source sends from its start to its stop.
    periods: Option<OnPeriods>,
    /// The most sources of a replication.
    most: u64,
}

impl<'a> Sources<'a> {
    /// The sources of a group, if its load is known without simulating packets.
    fn of(spec: &'a FlowGroup, number: u64, link: &Link) -> Option<Self> {
        let (rate, periods, most) = match &spec.workload {
            Workload::Poisson { rate } | Workload::Cbr { rate } => (bits(*rate), None, 1),
            Workload::OnOff { peak, on, off } => {
                let (on, off) = (on.clone(), off.clone());
                let periods = OnPeriods { on, off };
                (bits(*peak), Some(periods), most_flows(&spec.count_law))
            }
            Workload::OpenLoop { interarrival, size } => {
                let headers = spec.packet.mean() / spec.payload().get().max(1) as f64;
                let load = size.mean() * 8.0 * headers / interarrival.mean();
                (load, None, 1)
            }
            _ => return None,
        };
        let packet = spec.packet.mean();
        let framing = link.rate_layer.framing().get() as f64;
        let rate = rate * (packet + framing) / packet;
        if !rate.is_finite() || periods.as_ref().is_some_and(|each| each.on.mean() <= 0.0) {
            return None;
        }
        Some(Self {
            spec,
            number,
            changes: changes(spec),
            rate: rate.round() as u64,
            periods,
            most,
        })
    }

    /// The load in bits per second, if it never changes.
    fn constant(&self) -> u64 {
        if self.changes == Changes::Never {
            self.rate
        } else {
            0
        }
    }

    fn peak(&self) -> f64 {
        self.rate as f64 * self.most as f64
    }

    /// On periods of all sources per second, on average.
    fn periods_per_second(&self) -> f64 {
        let each = |periods: &OnPeriods| 1.0 / (periods.on.mean() + periods.off.mean());
        self.spec.count as f64 * self.periods.as_ref().map_or(0.0, each)
    }

    /// Adds the changes of the group's load within the window.
    fn edges(&self, seed: Seed, window: Window, edges: &mut Vec<Edge>) {
        let spec = self.spec;
        let (count, draws) = activity::flows(spec, self.number, seed);
        let mut add = |begin: Time, end: Time| {
            let (begin, end) = (begin.max(window.from), end.min(window.to));
            if begin < end {
                let change = i128::from(self.rate);
                edges.extend([(begin, change), (end, -change)]);
            }
        };
        let Some(periods) = &self.periods else {
            let (start, stop) = activity::life(spec, (0, count), &draws);
            return add(start, stop);
        };
        for index in 0..count {
            for period in activity::on_periods(spec, (index, count), &draws, (periods, window.to)) {
                add(period.begin, period.end);
            }
        }
    }
}

fn bits(rate: Rate) -> f64 {
    rate.as_bits_per_second() as f64
}

fn changes(spec: &FlowGroup) -> Changes {
    let lasts = matches!(spec.start, Distribution::Value(Time::ZERO)) && spec.stop.is_none();
    let drawn = !is_known(&spec.start) || spec.stop.as_ref().is_some_and(|stop| !is_known(stop));
    match &spec.workload {
        Workload::OpenLoop { .. } => Changes::Never,
        Workload::OnOff { on, off, .. }
            if drawn || spec.under_way || !is_constant(on) || !is_constant(off) =>
        {
            Changes::AtRandom
        }
        Workload::OnOff { .. } => Changes::AsScheduled,
        _ if drawn => Changes::AtRandom,
        _ if lasts => Changes::Never,
        _ => Changes::AsScheduled,
    }
}

/// Whether all times of a distribution are known without a draw.
fn is_known(distribution: &Distribution<Time>) -> bool {
    matches!(
        distribution,
        Distribution::List(_) | Distribution::Linspace(..)
    ) || is_constant(distribution)
}

/// The most flows that a replication draws, or four standard deviations above the mean.
fn most_flows(distribution: &FlowCount) -> u64 {
    match distribution {
        FlowCount::Fixed(count) => *count,
        FlowCount::Poisson(mean) => (mean + 4.0 * mean.sqrt()).ceil() as u64,
        FlowCount::Uniform(_, high) => *high,
        FlowCount::Choice(counts) => counts.iter().max().copied().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests;
