//! The metrics of links, groups and flows of a finished run. An engine calls [`report`] at the end
//! and returns the result.

mod pauses;

use std::collections::BTreeMap;

use forebay_scenario::{
    Completions, Cost, Estimate, FlowGroup, FlowReport, GroupReport, LinkReport, MAX_LISTED_FLOWS,
    MeasuredDistribution, Metric, Report, Scenario, Seed, Warning, WarningKind, counted,
    listed_quantiles, sorted_quantile,
};
use forebay_units::Time;

use crate::ends::Ends;
use crate::flow::{Counts, Flow, Unresponsive};
use crate::histogram::Histogram;
use crate::ids::GroupId;
use crate::link::Link;
use crate::link::statistics::{Account, Waits};
use crate::measure::sampler::WINDOW_UNIT;
use crate::measure::transfers::{SLOWDOWN_UNIT, Transfers};
use crate::pause::LinkQueue;
use crate::simulation::Simulation;
use crate::traffic::group::Group;
use crate::traffic::hosts::Hosts;

/// The report of a finished run.
pub fn report<'a, H: Hosts<'a>>(
    engine: &'static str,
    (scenario, seed): (&Scenario, Seed),
    simulation: Simulation<'a, H>,
) -> Report {
    let mut report = Report::new(engine, scenario, seed.seed);
    let seconds = simulation.measured();
    let target = simulation.network.target();
    report.metrics = link_metrics(&simulation, scenario.target_index(), seconds);
    report.distributions = link_distributions(target);
    report.cost = Cost {
        data_packets: target.statistics().arrivals_before + target.statistics().arrivals,
        events: simulation.events(),
        ..Cost::default()
    };
    let listed = simulation.traffic.hosts.flows().responsive.len() <= MAX_LISTED_FLOWS;
    let mut persistent = Vec::new();
    let (mut goodput, mut goodputs) = (None, Vec::new());
    for (number, group) in simulation.traffic.groups.iter().enumerate() {
        let figures = GroupFigures::of(group, GroupId::new(number), &simulation, seconds);
        let waits = target.statistics().waits_of(Account::new(number));
        if group.spec.responsive() {
            *goodput.get_or_insert(0.0) += figures.goodput;
        }
        if group.spec.persistent() {
            persistent.extend_from_slice(&figures.goodputs);
        }
        goodputs.push(figures.goodput);
        let mut group = figures.report(group, seconds, listed);
        put_waits(&mut group.metrics, waits);
        report.groups.push(group);
    }
    put_victims(&mut report, simulation.network.victims());
    if let Some(goodput) = goodput {
        report.metrics.insert(Metric::Goodput, goodput.into());
    }
    persistent_metrics(&mut report, &simulation, &persistent);
    sampled_metrics(&mut report, &simulation, seconds);
    for (at, link) in scenario.links().iter().enumerate() {
        if at != scenario.target_index() {
            report.links.push(LinkReport {
                name: link.name.clone(),
                metrics: link_metrics(&simulation, at, seconds),
            });
        }
    }
    report.warnings = scenario.averages();
    report.warnings.extend(warnings(scenario, &simulation));
    report
        .warnings
        .extend(goodputs_above_rate(scenario, &goodputs));
    let pauses = pauses::records(scenario, &simulation);
    report.traces = simulation.timeline.recorder.into_traces();
    if let Some(traces) = &mut report.traces {
        traces.pauses = pauses;
    }
    report
}

/// Adds the flows of each group that pauses held without need, if there are lossless queues.
fn put_victims(report: &mut Report, victims: Option<&[u64]>) {
    let Some(victims) = victims else {
        return;
    };
    let all: u64 = victims.iter().sum();
    report.metrics.insert(Metric::Victims, (all as f64).into());
    for (group, count) in report.groups.iter_mut().zip(victims) {
        group
            .metrics
            .insert(Metric::Victims, (*count as f64).into());
    }
}

/// Metrics that concern the persistent flows: fairness, and how many lose together.
fn persistent_metrics<'a, H: Hosts<'a>>(
    report: &mut Report,
    simulation: &Simulation<'a, H>,
    goodputs: &[f64],
) {
    if goodputs.is_empty() {
        return;
    }
    let n = goodputs.len() as f64;
    let sum: f64 = goodputs.iter().sum();
    let squares: f64 = goodputs.iter().map(|x| x * x).sum();
    if squares > 0.0 {
        report
            .metrics
            .insert(Metric::JainIndex, (sum * sum / (n * squares)).into());
    }
    let events = simulation.timeline.recorder.congestion.count();
    let mut put = |metric, value: f64| report.metrics.insert(metric, value.into());
    put(Metric::CongestionEvents, events as f64);
    if events > 0 {
        let each = |count: u64| count as f64 / events as f64;
        put(
            Metric::Synchronization,
            each(simulation.timeline.recorder.congestion.hits) / n,
        );
        put(
            Metric::LossesPerEvent,
            each(simulation.timeline.recorder.congestion.losses),
        );
        let hits = simulation
            .timeline
            .recorder
            .congestion
            .hit_counts()
            .distribution(1.0);
        report.distributions.insert("flows_hit".into(), hits);
    }
}

/// Adds the metrics from samples, and those summed over the lives of flows.
fn sampled_metrics<'a, H: Hosts<'a>>(
    report: &mut Report,
    simulation: &Simulation<'a, H>,
    seconds: f64,
) {
    let mut put = |metric, value: f64| report.metrics.insert(metric, value.into());
    if let Some(time) = simulation.timeline.recorder.sampler.autocorrelation_time() {
        put(Metric::QueueAutocorrelation, time);
    }
    let found = simulation.timeline.recorder.sampler.phases();
    for (metrics, drains) in Metric::DRAINS_BY_PHASE.into_iter().zip(found) {
        for (metric, drain) in metrics.into_iter().zip(drains.into_iter().flatten()) {
            put(metric, drain);
        }
    }
    let groups = &simulation.traffic.groups;
    if groups.iter().any(|group| group.spec.responsive()) {
        let long = groups
            .iter()
            .map(|group| group.transfers.long_flows(seconds));
        let long: f64 = long.sum();
        put(Metric::LongFlows, long);
    }
    let waiting = simulation
        .timeline
        .recorder
        .sampler
        .waiting
        .distribution(1.0);
    report.distributions.insert("queue_packets".into(), waiting);
}

/// Histograms of a link.
fn link_distributions(link: &Link) -> BTreeMap<String, MeasuredDistribution> {
    let statistics = link.statistics();
    let bursts = statistics.bursts.finished();
    [
        (
            "queue_delay_s",
            statistics.waits().histogram.distribution(1e-12),
        ),
        ("loss_burst_packets", bursts.lengths().distribution(1.0)),
    ]
    .map(|(name, distribution)| (name.to_owned(), distribution))
    .into()
}

fn link_metrics<'a, H: Hosts<'a>>(
    simulation: &Simulation<'a, H>,
    at: usize,
    seconds: f64,
) -> BTreeMap<Metric, Estimate> {
    let (link, end) = (&simulation.network.links[at], simulation.end());
    let statistics = link.statistics();
    let occupancy = link.occupancy(end) as f64 * 1e-12;
    let mut metrics = BTreeMap::new();
    let mut put = |metric, value: f64| metrics.insert(metric, Estimate::from(value));
    put(
        Metric::Utilization,
        link.usage(end).since(&statistics.used_before),
    );
    put(Metric::QueueMean, occupancy / seconds);
    if let Some(lost) = simulation.network.medium_loss_rate(at) {
        put(Metric::MediumLossRate, lost);
    }
    if let Some(dropped) = simulation.network.policer_loss_rate(at) {
        put(Metric::PolicerLossRate, dropped);
    }
    if let Some(counts) = simulation.network.pause_counts(at, end) {
        put(Metric::PauseTime, counts.time.as_secs_f64());
        put(Metric::PauseFrames, counts.frames as f64);
        put(Metric::HeadroomMax, counts.most_headroom as f64);
        put(Metric::Spread, counts.spread as f64);
    }
    if let Some(paused) = simulation.network.paused_time(at, end) {
        put(Metric::PausedTime, paused.as_secs_f64());
    }
    if let Some(longest) = simulation.drain_time_max(at) {
        put(Metric::DrainTimeMax, longest);
    }
    if statistics.arrivals > 0 {
        let arrivals = statistics.arrivals as f64;
        put(Metric::LossRate, statistics.drops as f64 / arrivals);
        put(Metric::MarkRate, statistics.marks as f64 / arrivals);
        if let Some((mean, longest)) = statistics.bursts.finished().mean_and_longest() {
            put(Metric::LossBurstMean, mean);
            put(Metric::LossBurstMax, longest as f64);
        }
        put_waits(&mut metrics, &statistics.waits());
    }
    metrics
}

/// How long packets waited, where there were any.
fn put_waits(metrics: &mut BTreeMap<Metric, Estimate>, waits: &Waits) {
    let waited = waits.histogram.count();
    if waited == 0 {
        return;
    }
    let mut put = |metric, value: f64| metrics.insert(metric, Estimate::from(value));
    let mean = waits.sum as f64 * 1e-12 / waited as f64;
    put(Metric::QueueDelayMean, mean);
    for (metric, share) in Metric::QUEUE_DELAY_QUANTILES {
        put(metric, waits.histogram.quantile(share));
    }
    put(Metric::QueueDelayMax, waits.longest().as_secs_f64());
}

/// Figures of one group before they become a report.
struct GroupFigures {
    total: Counts,
    goodput: f64,
    goodputs: Vec<f64>,
    flows: Vec<FlowReport>,
    windows: Histogram,
}

impl GroupFigures {
    fn of<'a, H: Hosts<'a>>(
        group: &Group<'_>,
        number: GroupId,
        simulation: &Simulation<'a, H>,
        seconds: f64,
    ) -> Self {
        let windows = simulation.timeline.recorder.sampler.windows(number);
        let mut figures = Self {
            total: Counts::default(),
            goodput: 0.0,
            goodputs: Vec::new(),
            flows: Vec::new(),
            windows: windows.clone(),
        };
        let all = simulation.traffic.hosts.flows();
        let header = group.spec.header().get();
        let flows = all.responsive.iter();
        let mut flows: Vec<&Flow<H::Ends>> =
            flows.filter(|flow| flow.transit.group == number).collect();
        // As in the scenario: they stand in the order of events of one instant.
        flows.sort_by_key(|flow| flow.index);
        for flow in flows {
            let counts = flow.counts().since(flow.before);
            let payload = u64::from(flow.transit.packet_bytes) - header;
            let bytes = flow.ends.goodput_bytes(counts.delivered, payload);
            figures.add(counts, bytes * 8.0 / seconds);
        }
        let here = |flow: &&Unresponsive| flow.transit.group == number && flow.acks_of.is_none();
        for flow in all.unresponsive.iter().filter(here) {
            let (counts, bytes) = flow.before;
            let bytes = flow.bytes_delivered() - bytes;
            figures.add(flow.counts().since(counts), bytes as f64 * 8.0 / seconds);
        }
        figures
    }

    fn add(&mut self, counts: Counts, goodput: f64) {
        self.total.add(counts);
        self.goodput += goodput;
        self.goodputs.push(goodput);
        self.flows.push(FlowReport {
            goodput_bps: goodput,
            loss_rate: ratio(counts.dropped, counts.arrived),
            retransmissions: counts.retransmissions,
            timeouts: counts.timeouts,
            congestion_events: counts.events,
        });
    }

    fn report(self, group: &Group<'_>, seconds: f64, listed: bool) -> GroupReport {
        let spec = group.spec;
        let mut report = GroupReport {
            name: spec.name.clone(),
            flows: spec.count,
            metrics: BTreeMap::new(),
            flow_goodput_bps: BTreeMap::new(),
            completions: None,
            distributions: BTreeMap::new(),
            per_flow: Vec::new(),
        };
        self.put_totals(&mut report);
        if spec.responsive() {
            let total = &self.total;
            let retransmissions = total.retransmissions as f64;
            put(&mut report, Metric::Retransmissions, retransmissions);
            put(&mut report, Metric::Timeouts, total.timeouts as f64);
            let long = group.transfers.long_flows(seconds);
            put(&mut report, Metric::LongFlows, long);
        }
        if spec.persistent() {
            self.put_goodputs(&mut report);
        } else if spec.responsive() {
            if let Some(rounds) = group.rounds.as_ref().filter(|r| r.times.count() > 0) {
                put_rounds(&mut report, &rounds.times);
            }
            put_transfers(&mut report, &group.transfers);
        }
        let quantile = |name: &str| report.flow_goodput_bps.get(name).copied();
        if let (Some(p10), Some(p50)) = (quantile("p10"), quantile("p50")) {
            put(&mut report, Metric::FlowGoodputP10, p10);
            put(&mut report, Metric::FlowGoodputP50, p50);
        }
        if listed {
            report.per_flow = self.flows;
        }
        report
    }

    /// Adds the totals of all flows, and their windows.
    fn put_totals(&self, report: &mut GroupReport) {
        let total = &self.total;
        put(report, Metric::Goodput, self.goodput);
        if total.arrived > 0 {
            let loss = ratio(total.dropped, total.arrived);
            put(report, Metric::LossRate, loss);
        }
        let windows = self.windows.distribution(WINDOW_UNIT);
        if windows.count() > 0 {
            put(
                report,
                Metric::WindowMean,
                self.windows.mean() * WINDOW_UNIT,
            );
            put_distribution(report, "window_packets", windows);
        }
    }

    /// Quantiles over the flows of a persistent group.
    fn put_goodputs(&self, report: &mut GroupReport) {
        let mut sorted = self.goodputs.clone();
        sorted.sort_by(f64::total_cmp);
        report.flow_goodput_bps = listed_quantiles(|q| sorted_quantile(&sorted, q));
    }
}

/// The percentiles of the completion times in a report.
const TIME_PERCENTS: [u32; 3] = [50, 95, 99];

fn put(report: &mut GroupReport, metric: Metric, value: f64) {
    report.metrics.insert(metric, Estimate::from(value));
}

fn put_distribution(report: &mut GroupReport, name: &str, distribution: MeasuredDistribution) {
    report.distributions.insert(name.to_owned(), distribution);
}

/// Values at these percentages by their names.
fn quantiles(percents: &[u32], at: impl Fn(f64) -> f64) -> BTreeMap<String, f64> {
    let named = percents.iter().map(|percent| {
        let q = f64::from(*percent) / 100.0;
        (format!("p{percent}"), at(q))
    });
    named.collect()
}

/// Times of an incast's rounds.
fn put_rounds(report: &mut GroupReport, times: &Histogram) {
    for (metric, q) in [
        (Metric::RequestTimeP50, 0.5),
        (Metric::RequestTimeP95, 0.95),
        (Metric::RequestTimeP99, 0.99),
    ] {
        put(report, metric, times.quantile(q));
    }
    put_distribution(report, "request_time_s", times.distribution(1e-12));
}

/// Adds the measurements of a group's transfers, if it has any.
fn put_transfers(report: &mut GroupReport, transfers: &Transfers) {
    let times = &transfers.completion_times;
    let mut completions = Completions {
        completed: transfers.completed,
        completion_time_s: BTreeMap::new(),
    };
    if transfers.completed > 0 {
        completions.completion_time_s = quantiles(&TIME_PERCENTS, |q| times.quantile(q));
        // The histogram stores goodputs as whole bits per second.
        let goodput = |q| transfers.goodputs.quantile(q) * 1e12;
        report.flow_goodput_bps = listed_quantiles(goodput);
        put_times(report, transfers);
        let short = ratio(transfers.short, transfers.short + transfers.long);
        put(report, Metric::ShortTransfers, short);
        let slowdowns = transfers.slowdowns.distribution(SLOWDOWN_UNIT);
        put_distribution(report, "slowdown", slowdowns);
        put_distribution(report, "completion_time_s", times.distribution(1e-12));
    }
    report.completions = Some(completions);
}

/// How long a group's transfers took, and how much longer than on an empty path.
fn put_times(report: &mut GroupReport, transfers: &Transfers) {
    put(report, Metric::SlowdownMean, transfers.mean_slowdown());
    for (time, slowdown, q) in [
        (Metric::CompletionTimeP50, Metric::SlowdownP50, 0.5),
        (Metric::CompletionTimeP95, Metric::SlowdownP95, 0.95),
        (Metric::CompletionTimeP99, Metric::SlowdownP99, 0.99),
    ] {
        put(report, time, transfers.completion_times.quantile(q));
        let times = transfers.slowdowns.quantile_of_values(q);
        put(report, slowdown, times * SLOWDOWN_UNIT);
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

/// The fewest losses at the same phase that a report mentions, and their least share: by chance it
/// is a 32nd.
const FEWEST_IN_PHASE: u64 = 10;
const LEAST_IN_PHASE: f64 = 0.25;

/// A clause for a small number of things: `there were only 3 drops`.
fn few(number: u64, thing: &str) -> String {
    if number == 0 {
        return format!("there was no {thing}");
    }
    let verb = if number == 1 { "was" } else { "were" };
    format!("there {verb} only {}", counted(number, thing))
}

fn warnings<'a, H: Hosts<'a>>(scenario: &Scenario, simulation: &Simulation<'a, H>) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let drops = simulation.network.target().statistics().drops;
    if (1..30).contains(&drops) {
        let text = format!(
            "the loss rate is inexact, because {}. Measure longer",
            few(drops, "drop")
        );
        warnings.push(Warning::new(WarningKind::FewDrops, text).with("drops", drops as f64));
    }
    let events = simulation.timeline.recorder.congestion.count();
    // A lossless queue has no congestion events.
    if scenario.persistent_flows() > 0 && events < 5 && !scenario.target().is_lossless() {
        let text = format!(
            "{} in the measured time, so the means may depend on its length",
            few(events, "congestion event")
        );
        let warning = Warning::new(WarningKind::FewCongestionEvents, text);
        warnings.push(warning.with("events", events as f64));
    }
    let phases = &simulation.timeline.recorder.loss_phases;
    let in_phase = ratio(phases.same, phases.compared);
    if phases.same >= FEWEST_IN_PHASE && in_phase >= LEAST_IN_PHASE {
        let text = "more than a quarter of the losses occur at the same phase as the previous loss of the flow, so \
                    simultaneous events decide which flow loses. Set `processing = \"packet\"`, so that the \
                    hosts' processing time varies";
        let warning = Warning::new(WarningKind::SimultaneousEvents, text);
        let counted = warning.with("same_phase", phases.same as f64);
        warnings.push(counted.with("compared", phases.compared as f64));
    }
    for (at, spec) in scenario.links().iter().enumerate() {
        let counts = simulation.network.pause_counts(at, simulation.end());
        let drops = counts.map_or(0, |counts| counts.lost);
        if drops > 0 {
            let text = format!(
                "the lossless {} of `{}` lost {}: its headroom or its `buffer` is too small",
                if spec.classes.is_empty() {
                    "queue"
                } else {
                    "class"
                },
                spec.name,
                counted(drops, "packet")
            );
            let warning = Warning::new(WarningKind::LosslessDrops, text).about(&spec.name);
            warnings.push(warning.with("drops", drops as f64));
        }
    }
    if let Some(circle) = &simulation.network.deadlock {
        let names: Vec<_> = circle
            .iter()
            .map(|place| pauses::queue_name(scenario, *place))
            .collect();
        let names = names.join(", ");
        let has_classes =
            |(link, _): &LinkQueue| !scenario.links()[link.index()].classes.is_empty();
        let kind = if circle.iter().any(has_classes) {
            "queues"
        } else {
            "links"
        };
        let text = format!(
            "deadlock: the {kind} {names} pause each other, so that none of them sends any more"
        );
        warnings.push(Warning::new(WarningKind::Deadlock, text).about(names));
    }
    let flows = simulation.traffic.hosts.flows().responsive.iter();
    let idle = flows.filter(|flow| !started(flow)).count();
    if idle > 0 {
        let have = if idle == 1 { "has" } else { "have" };
        let text = format!(
            "{} {have} not started before the end of the run",
            counted(idle as u64, "flow")
        );
        warnings.push(Warning::new(WarningKind::NotStarted, text).with("flows", idle as f64));
    }
    let bounded = |group: &&Group<'_>| group.rounds.as_ref().is_some_and(|r| r.lower_bound);
    for group in simulation.traffic.groups.iter().filter(bounded) {
        let name = &group.spec.name;
        let text = format!(
            "no request of `{name}` was answered completely in the measured time, so the true time is at least the reported one"
        );
        warnings.push(Warning::new(WarningKind::LowerBound, text).about(name));
    }
    warnings
}

/// Goodputs that the target link cannot carry: each is right as what was delivered in the measured
/// time, but no steady state has it. There is one for each group.
fn goodputs_above_rate(scenario: &Scenario, goodputs: &[f64]) -> Vec<Warning> {
    let run = scenario.run();
    let rate = scenario.target().most_carried(run.warmup, run.end());
    // A full link ends one packet more or less in the measured time, and spends what its shaper had
    // saved.
    let beyond = scenario.packet_bytes() + scenario.target().saved().get() as f64;
    let packet = beyond * 8.0 / scenario.run().measure.as_secs_f64();
    let mut warnings = Vec::new();
    let mut check = |goodput: f64, subject: String, why: &str| {
        if goodput > rate + packet {
            let text = format!("the {subject} is above the rate of the link, because {why}");
            let warning = Warning::new(WarningKind::GoodputAboveRate, text).about(subject);
            warnings.push(warning.with("link_bps", rate));
        }
    };
    let groups = || scenario.flows().iter().zip(goodputs);
    // In a fabric the goodput is that of all its receivers.
    let here = |group: &FlowGroup| {
        group.routing.is_none() && group.path.contains(&scenario.target_index())
    };
    let responsive = groups().filter(|(group, _)| group.responsive() && here(group));
    check(
        responsive.map(|(_, goodput)| goodput).sum(),
        "goodput".to_owned(),
        "receivers delivered data of the warm-up after they had repaired a loss. Measure longer",
    );
    for (group, goodput) in groups().filter(|(group, _)| !group.responsive() && here(group)) {
        check(
            *goodput,
            format!("goodput of `{}`", group.name),
            "packets that wait at the end of the measured time count as delivered. Measure longer",
        );
    }
    warnings
}

fn started<E: Ends>(flow: &Flow<E>) -> bool {
    let since = flow.transfer.since;
    since.is_none_or(|since| since > Time::ZERO)
        || flow.transit.arrived > 0
        || flow.drops_off_target > 0
        // Packets count from 1. They may never cross the target link.
        || flow.counts().delivered > 1
}
