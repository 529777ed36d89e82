//! The random states of flow groups: what each replication, each flow and each source draws. The
//! values come from the streams that the simulation draws from, in the same order.

use forebay_random::{Purpose, Seed, Stream};
use forebay_scenario::{Distribution, FlowCount, FlowGroup, Quantity, RunPlan, Scenario, Workload};
use forebay_units::{Bytes, Time};

use super::activity;
use super::state::{
    Found, MOST_EVENTS, MOST_FLOWS, MOST_PERIODS, Rarer, StateKind, Window, is_constant, of_any,
    rarest, rarest_of, seconds,
};
use crate::sampling::Sampling;
use crate::traffic::on_periods::OnPeriods;

/// The most flows of which the draws of single flows matter.
const FEW_FLOWS: u64 = 8;

/// The random states of one group.
pub(crate) fn of_group<'a>(scenario: &'a Scenario, number: usize) -> Vec<Found<'a>> {
    let group = Group {
        spec: &scenario.flows()[number],
        number: number as u64,
        run: scenario.run(),
        scenario,
    };
    let mut all: Vec<Found<'a>> = group.count().into_iter().collect();
    all.extend(group.common_rtt());
    all.extend(group.draws());
    all.extend(group.workload());
    all.extend(group.missed());
    all
}

/// A group of the scenario and its number.
#[derive(Clone, Copy)]
struct Group<'a> {
    spec: &'a FlowGroup,
    number: u64,
    run: RunPlan,
    scenario: &'a Scenario,
}

impl<'a> Group<'a> {
    fn key(&self, rest: &str) -> String {
        format!("flows.{}.{rest}", self.spec.name)
    }

    fn phrase(&self, subject: &str) -> String {
        format!("{subject} of group `{}`", self.spec.name)
    }

    // --- Draws per replication ---

    fn count(&self) -> Option<Found<'a>> {
        let share = match &self.spec.count_law {
            FlowCount::Fixed(_) => return None,
            // More flows hardly vary.
            FlowCount::Poisson(mean) if *mean > MOST_EVENTS => return None,
            FlowCount::Poisson(_) => None,
            FlowCount::Uniform(low, high) => Some(1.0 / (high - low + 1) as f64),
            FlowCount::Choice(counts) => Some(rarest_of(counts)),
        };
        if share == Some(1.0) {
            return None;
        }
        let key = match self.spec.workload {
            Workload::ClosedLoop { .. } => "workload.closed_loop.users",
            Workload::Incast { .. } => "workload.incast.servers",
            _ => "count",
        };
        let phrase = self.phrase("The number of flows");
        let found = Found::new(StateKind::Count, self.key(key), phrase).with_share(share);
        let Self { spec, number, .. } = *self;
        Some(found.sampled(move |seed| spec.drawn_count(number, seed) as f64))
    }

    fn common_rtt(&self) -> Option<Found<'a>> {
        let Self { spec, number, .. } = *self;
        if !spec.common_rtt || is_constant(&spec.rtt) {
            return None;
        }
        let phrase = self.phrase("The common round-trip time");
        let found = Found::new(StateKind::CommonRtt, self.key("rtt.common"), phrase);
        let found = found.with_share(rarest(&spec.rtt));
        let rtt = move |seed| spec.drawn_rtt(number, seed).unwrap_or_default();
        Some(found.sampled(move |seed| rtt(seed).as_secs_f64()))
    }

    // --- Draws per flow ---

    fn draws(&self) -> Vec<Found<'a>> {
        let spec = self.spec;
        let mut all = Vec::new();
        let redrawn = matches!(
            spec.workload,
            Workload::ClosedLoop { .. } | Workload::OpenLoop { .. }
        );
        // Round-trip times of closed and open loops belong to transfers, packet sizes of sources to
        // packets.
        if spec.responsive() && !spec.common_rtt && !redrawn {
            all.extend(self.draw("rtt", &spec.rtt, Purpose::RoundTrip));
        }
        if !spec.under_way && !matches!(spec.workload, Workload::OpenLoop { .. }) {
            all.extend(self.draw("start", &spec.start, Purpose::Start));
        }
        if let Workload::Finite { size } = &spec.workload {
            all.extend(self.draw("workload.finite.size", size, Purpose::Size));
        }
        if spec.responsive() && !matches!(spec.workload, Workload::OpenLoop { .. }) {
            all.extend(self.draw("packet", &spec.packet, Purpose::Packet));
        }
        all
    }

    /// The mean over the flows of what each draws once, if there are few flows and the distribution
    /// has rare values.
    fn draw<T: Quantity>(
        &self,
        key: &str,
        distribution: &'a Distribution<T>,
        purpose: Purpose,
    ) -> Option<Found<'a>> {
        let share = rarest(distribution)?;
        if self.spec.count > FEW_FLOWS || is_constant(distribution) {
            return None;
        }
        let subject = match purpose {
            Purpose::RoundTrip => "The random round-trip time",
            Purpose::Start => "The random start",
            Purpose::Size => "The random size",
            _ => "The random packet size",
        };
        let found = Found::new(StateKind::Draw, self.key(key), self.phrase(subject));
        let found = found.with_share(Some(of_any(self.spec.count, share)));
        let group = *self;
        Some(found.sampled(move |seed| {
            let (count, draws) = group.flows(seed);
            let draw = |index| distribution.draw(index, count, &mut draws.stream(index, purpose));
            (0..count).map(|index| draw(index).to_real()).sum::<f64>() / count as f64
        }))
    }

    /// The number of flows in a replication, and their random numbers.
    fn flows(&self, seed: Seed) -> (u64, Sampling) {
        activity::flows(self.spec, self.number, seed)
    }

    // --- Processes ---

    fn workload(&self) -> Option<Found<'a>> {
        match &self.spec.workload {
            Workload::OnOff { on, off, .. } => self.on_off(on, off),
            Workload::Periodic { every, size } => self.periodic(every, size),
            Workload::OpenLoop { interarrival, size } => self.open_loop(interarrival, size),
            Workload::ClosedLoop { think, size, .. } => {
                let phrase = self.phrase("A transfer");
                let names = (self.key("workload.closed_loop"), phrase);
                let transfer = self.least_time(size);
                let rarer = Rarer::of_flows(self.spec.count, transfer, think.mean());
                self.slow(StateKind::ClosedLoop, names, rarer).or_else(|| {
                    let cycle = think.mean() + transfer;
                    self.rare_value(StateKind::ClosedLoop, ("size", size), cycle)
                })
            }
            Workload::Incast {
                pause, size, delay, ..
            } => {
                let names = (self.key("workload.incast"), self.phrase("A round"));
                let duration = self.least_time(size) * self.spec.count as f64;
                let rarer = Rarer::of_flows(1, duration, pause.mean());
                self.slow(StateKind::Incast, names, rarer).or_else(|| {
                    let cycle = pause.mean() + delay.mean() + duration;
                    self.rare_value(StateKind::Incast, ("size", size), cycle)
                        .or_else(|| self.rare_value(StateKind::Incast, ("delay", delay), cycle))
                })
            }
            _ => None,
        }
    }

    /// The rarest value of a distribution that each flow draws from once in every `cycle_s` seconds
    /// at most, if a run measures less than the mean time between two such values.
    fn rare_value<T: Quantity>(
        &self,
        kind: StateKind,
        (key, distribution): (&str, &Distribution<T>),
        cycle_s: f64,
    ) -> Option<Found<'a>> {
        let share = rarest(distribution)?;
        let workload = kind.word();
        let key = self.key(&format!("workload.{workload}.{key}"));
        let rarer = Rarer::of_flows(self.spec.count, cycle_s * share, cycle_s / share);
        let found = Found::of_process(kind, (key, self.phrase("A rare transfer")), &rarer);
        let found = found.with_share(Some(share));
        (rarer.cycle_s > self.run.measure.as_secs_f64()).then_some(found)
    }

    /// A process that depends on the packets, if a run measures less than a cycle on average.
    fn slow(&self, kind: StateKind, names: (String, String), rarer: Rarer) -> Option<Found<'a>> {
        let found = || Found::of_process(kind, names, &rarer);
        (rarer.cycle_s > self.run.measure.as_secs_f64()).then(found)
    }

    /// Whether so long a cycle, in seconds, comes so rarely in a run that it is a state of the run.
    fn is_rare(&self, cycle_s: f64) -> bool {
        self.run.end().as_secs_f64() / cycle_s <= MOST_EVENTS
    }

    /// Whether the flows start at times that are known.
    fn starts_are_known(&self) -> bool {
        let stated = matches!(
            self.spec.start,
            Distribution::Value(_) | Distribution::List(_) | Distribution::Linspace(..)
        );
        stated && !self.spec.under_way
    }

    fn on_off(&self, on: &'a Distribution<Time>, off: &'a Distribution<Time>) -> Option<Found<'a>> {
        let (on_s, off_s) = (on.mean(), off.mean());
        if on_s <= 0.0 || off_s <= 0.0 {
            return None;
        }
        let (subject, duration) = if on_s <= off_s {
            ("A burst", on_s)
        } else {
            ("A pause", off_s)
        };
        let rarer = Rarer::of_flows(self.spec.count, duration, on_s + off_s);
        let names = (self.key("workload.on_off"), self.phrase(subject));
        if self.starts_are_known() && is_constant(on) && is_constant(off) {
            return self.slow(StateKind::Schedule, names, rarer);
        }
        if !self.is_rare(rarer.cycle_s) {
            return None;
        }
        let found = Found::of_process(StateKind::OnOff, names, &rarer);
        if self.spec.count > MOST_FLOWS {
            return Some(found);
        }
        let periods = OnPeriods {
            on: on.clone(),
            off: off.clone(),
        };
        let (group, window) = (*self, rarer.window(&self.run));
        Some(found.sampled(move |seed| {
            let (count, draws) = group.flows(seed);
            let on_time = |index| group.on_time((index, count), &draws, (&periods, window));
            (0..count).map(on_time).sum()
        }))
    }

    /// Seconds of on time of flow `index` of `count` in the window.
    fn on_time(
        &self,
        flow: (u64, u64),
        draws: &Sampling,
        (periods, window): (&OnPeriods, Window),
    ) -> f64 {
        let all = activity::on_periods(self.spec, flow, draws, (periods, window.to));
        all.map(|period| window.overlap(period.begin, period.end).as_secs_f64())
            .fold(0.0, |total, each| total + each)
    }

    /// Transfers that come so rarely that a run measures less than a cycle of each flow.
    fn periodic(
        &self,
        every: &'a Distribution<Time>,
        size: &'a Distribution<Bytes>,
    ) -> Option<Found<'a>> {
        let rarer = Rarer::of_flows(self.spec.count, self.least_time(size), every.mean());
        if every.mean() <= self.run.measure.as_secs_f64() || !self.is_rare(rarer.cycle_s) {
            return None;
        }
        let names = (self.key("workload.periodic"), self.phrase("A transfer"));
        if self.starts_are_known() && is_constant(every) {
            return Some(Found::of_process(StateKind::Schedule, names, &rarer));
        }
        let found = Found::of_process(StateKind::Periodic, names, &rarer);
        if self.spec.count > MOST_FLOWS {
            return Some(found);
        }
        let (group, window) = (*self, rarer.window(&self.run));
        Some(found.sampled(move |seed| {
            let (count, draws) = group.flows(seed);
            let due = |index| group.due((index, count), &draws, (every, window));
            (0..count).map(due).sum()
        }))
    }

    /// The transfers of flow `index` of `count` that are due to begin in the window: no earlier
    /// transfer of the flow lasts longer than its period.
    fn due(
        &self,
        (index, count): (u64, u64),
        draws: &Sampling,
        (every, window): (&Distribution<Time>, Window),
    ) -> f64 {
        let (start, stop) = activity::life(self.spec, (index, count), draws);
        let mut at = if self.spec.under_way {
            let mut phase = draws.stream(index, Purpose::Phase);
            every.under_way(0, 1, &mut phase).left
        } else {
            start
        };
        let mut due = 0.0;
        for transfer in 1..=MOST_PERIODS as u64 {
            if at >= window.to.min(stop) {
                break;
            }
            due += f64::from(u8::from(window.contains(at)));
            let mut stream = draws.transfer(index, transfer, Purpose::Think);
            at = at.saturating_add(every.draw(0, 1, &mut stream));
        }
        due
    }

    fn open_loop(
        &self,
        interarrival: &'a Distribution<Time>,
        size: &'a Distribution<Bytes>,
    ) -> Option<Found<'a>> {
        let rarer = Rarer::of_flows(1, self.least_time(size), interarrival.mean());
        let names = (self.key("workload.open_loop"), self.phrase("A transfer"));
        if is_constant(interarrival) && is_constant(size) && self.starts_are_known() {
            return self.slow(StateKind::Schedule, names, rarer);
        }
        if !self.is_rare(rarer.cycle_s) {
            return None;
        }
        let (group, window) = (*self, rarer.window(&self.run));
        let found = Found::of_process(StateKind::OpenLoop, names, &rarer);
        Some(found.sampled(move |seed| {
            let draws = Sampling::new(seed, group.spec);
            let mut gaps = draws.stream(0, Purpose::Interarrival);
            let (mut at, _) = activity::life(group.spec, (0, 1), &draws);
            let mut bytes = 0.0;
            for transfer in 0..MOST_PERIODS as u64 {
                let gap = interarrival.draw(0, 1, &mut gaps);
                at = at.saturating_add(gap.max(Time::from_picos(1)));
                if at >= window.to {
                    break;
                }
                if window.contains(at) {
                    let mut stream: Stream = draws.transfer(0, transfer, Purpose::Size);
                    bytes += size.draw(0, 1, &mut stream).get() as f64;
                }
            }
            bytes
        }))
    }

    /// Seconds that a transfer takes at least on average: at the highest rate of the slowest link
    /// of the path.
    fn least_time(&self, size: &Distribution<Bytes>) -> f64 {
        let links = self.spec.path.iter().map(|&at| &self.scenario.links()[at]);
        let rates = links.map(|link| link.highest_rate().as_bytes_per_second());
        let rate = rates.reduce(f64::min).unwrap_or(f64::INFINITY);
        size.mean() / rate
    }

    // --- Schedules ---

    /// A start or a stop that the run does not reach.
    fn missed(&self) -> Vec<Found<'a>> {
        let (spec, end) = (self.spec, self.run.end());
        let start = Some(&spec.start).filter(|_| !spec.under_way);
        let start = start.and_then(latest).filter(|at| *at >= end);
        let stop = spec.stop.as_ref().and_then(latest).filter(|at| *at > end);
        let named = [("start", "The start", start), ("stop", "The stop", stop)];
        let found = |(key, subject, at): (&str, &str, Option<Time>)| {
            let at = at?;
            let phrase = format!("{} at {}", self.phrase(subject), seconds(at.as_secs_f64()));
            Some(Found::scheduled(self.key(key), phrase, at))
        };
        named.into_iter().filter_map(found).collect()
    }
}

/// The last of the times that a distribution states, or the earliest of those that it draws.
fn latest(distribution: &Distribution<Time>) -> Option<Time> {
    match distribution {
        Distribution::Value(at) => Some(*at),
        Distribution::List(times) => times.iter().max().copied(),
        Distribution::Linspace(first, last) => Some(*first.max(last)),
        distribution => Some(Time::from_secs_f64(distribution.infimum())),
    }
}
