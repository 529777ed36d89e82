//! What a finished run leaves: metrics of links, groups and flows.

use std::collections::BTreeMap;

use forebay_scenario::{
    Completions, Cost, Distribution, Estimate, FlowReport, GroupReport, LinkReport,
    MAX_LISTED_FLOWS, Metric, Report, Scenario, Seed, Warning, WarningKind, listed_quantiles,
    sorted_quantile,
};
use forebay_units::Time;

use crate::flow::{Counts, Flow};
use crate::link::Link;
use crate::sampler::WINDOW_UNIT;
use crate::simulation::{Group, Simulation};
use crate::transfers::SLOWDOWN_UNIT;

/// The report of a finished run.
pub(crate) fn report(scenario: &Scenario, seed: Seed, mut simulation: Simulation<'_>) -> Report {
    let mut report = Report::new("packet", scenario, seed.seed);
    let seconds = scenario.run().measure.as_secs_f64();
    let end = simulation.end();
    let target = &simulation.links[scenario.target_index()];
    report.metrics = link_metrics(target, end, seconds);
    report.distributions = link_distributions(target);
    report.cost = Cost {
        data_packets: target.statistics().arrivals_before + target.statistics().arrivals,
        events: simulation.events,
        ..Cost::default()
    };
    let listed = simulation.flows.len() <= MAX_LISTED_FLOWS;
    let mut persistent = Vec::new();
    let mut goodput = None;
    for (number, group) in simulation.groups.iter().enumerate() {
        let figures = GroupFigures::of(group, number, &simulation, seconds);
        if group.spec.responsive() {
            *goodput.get_or_insert(0.0) += figures.goodput;
        }
        if group.spec.persistent() {
            persistent.extend_from_slice(&figures.goodputs);
        }
        report.groups.push(figures.report(group, seconds, listed));
    }
    if let Some(goodput) = goodput {
        report.metrics.insert(Metric::Goodput, goodput.into());
    }
    persistent_metrics(&mut report, &simulation, &persistent);
    sampled_metrics(&mut report, &simulation, seconds);
    for (at, link) in simulation.links.iter().enumerate() {
        if at != scenario.target_index() {
            let metrics = link_metrics(link, end, seconds);
            report.links.push(LinkReport {
                name: scenario.links()[at].name.clone(),
                metrics,
            });
        }
    }
    report.warnings = warnings(scenario, &simulation);
    report.traces = simulation.traces.take();
    report
}

/// Metrics that concern the persistent flows: fairness, and how many lose together.
fn persistent_metrics(report: &mut Report, simulation: &Simulation<'_>, goodputs: &[f64]) {
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
    let events = simulation.congestion.number - simulation.events_before;
    let mut put = |metric, value: f64| report.metrics.insert(metric, value.into());
    put(Metric::CongestionEvents, events as f64);
    if events > 0 {
        let each = |count: u64| count as f64 / events as f64;
        put(
            Metric::Synchronization,
            each(simulation.congestion.hits) / n,
        );
        put(Metric::LossesPerEvent, each(simulation.congestion.losses));
        let hits = simulation.congestion.hit_counts().distribution(1.0);
        report.distributions.insert("flows_hit".into(), hits);
    }
}

/// What is known from samples, or summed over the lives of flows.
fn sampled_metrics(report: &mut Report, simulation: &Simulation<'_>, seconds: f64) {
    let mut put = |metric, value: f64| report.metrics.insert(metric, value.into());
    if let Some(time) = simulation.sampler.autocorrelation_time() {
        put(Metric::QueueAutocorrelation, time);
    }
    if simulation
        .groups
        .iter()
        .any(|group| group.spec.responsive())
    {
        let groups = simulation.groups.iter();
        let long: f64 = groups.map(|group| group.shapes.long_flows(seconds)).sum();
        put(Metric::LongFlows, long);
    }
    let waiting = simulation.sampler.waiting.distribution(1.0);
    report.distributions.insert("queue_packets".into(), waiting);
}

/// Histograms of a link.
fn link_distributions(link: &Link) -> BTreeMap<String, Distribution> {
    let statistics = link.statistics();
    let bursts = statistics.bursts.finished();
    [
        ("queue_delay_s", statistics.waits.distribution(1e-12)),
        ("loss_burst_packets", bursts.lengths().distribution(1.0)),
    ]
    .map(|(name, distribution)| (name.to_owned(), distribution))
    .into()
}

fn link_metrics(link: &Link, end: Time, seconds: f64) -> BTreeMap<Metric, Estimate> {
    let statistics = link.statistics();
    let busy = (link.busy(end) - statistics.busy_before).as_secs_f64();
    let occupancy = link.occupancy(end) as f64 * 1e-12;
    let mut metrics = BTreeMap::new();
    let mut put = |metric, value: f64| metrics.insert(metric, Estimate::from(value));
    put(Metric::Utilization, busy / seconds);
    put(Metric::QueueMean, occupancy / seconds);
    if statistics.arrivals > 0 {
        let arrivals = statistics.arrivals as f64;
        put(Metric::LossRate, statistics.drops as f64 / arrivals);
        put(Metric::MarkRate, statistics.marks as f64 / arrivals);
        if let Some((mean, longest)) = statistics.bursts.finished().mean_and_longest() {
            put(Metric::LossBurstMean, mean);
            put(Metric::LossBurstMax, longest as f64);
        }
        let waited = statistics.waits.count();
        if waited > 0 {
            put(
                Metric::QueueDelayMean,
                statistics.wait_sum as f64 * 1e-12 / waited as f64,
            );
            for (metric, share) in Metric::QUEUE_DELAY_QUANTILES {
                put(metric, statistics.waits.quantile(share));
            }
            put(Metric::QueueDelayMax, statistics.longest_wait.as_secs_f64());
        }
    }
    metrics
}

/// Figures of one group before they become a report.
struct GroupFigures {
    total: Counts,
    goodput: f64,
    goodputs: Vec<f64>,
    flows: Vec<FlowReport>,
}

impl GroupFigures {
    fn of(group: &Group<'_>, number: usize, simulation: &Simulation<'_>, seconds: f64) -> Self {
        let mut figures = Self {
            total: Counts::default(),
            goodput: 0.0,
            goodputs: Vec::new(),
            flows: Vec::new(),
        };
        let header = group.spec.header().get();
        let mut flows: Vec<&Flow> = simulation
            .flows
            .iter()
            .filter(|flow| flow.group as usize == number)
            .collect();
        // As in the scenario: they stand in the order of events of one instant.
        flows.sort_by_key(|flow| flow.index);
        for flow in flows {
            let counts = flow.counts().since(flow.before);
            let payload = u64::from(flow.wire) - header;
            figures.add(
                counts,
                counts.delivered as f64 * payload as f64 * 8.0 / seconds,
            );
        }
        for flow in simulation
            .unresponsive
            .iter()
            .filter(|flow| flow.group as usize == number && flow.acks.is_none())
        {
            let bytes = flow.bytes_delivered - flow.bytes_before;
            figures.add(flow.counts.since(flow.before), bytes as f64 * 8.0 / seconds);
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
        let mut metrics = BTreeMap::new();
        let mut put = |metric, value: f64| metrics.insert(metric, Estimate::from(value));
        put(Metric::Goodput, self.goodput);
        if self.total.arrived > 0 {
            put(
                Metric::LossRate,
                ratio(self.total.dropped, self.total.arrived),
            );
        }
        if spec.responsive() {
            put(Metric::Retransmissions, self.total.retransmissions as f64);
            put(Metric::Timeouts, self.total.timeouts as f64);
            put(Metric::LongFlows, group.shapes.long_flows(seconds));
        }
        let mut distributions = BTreeMap::new();
        let windows = group.windows.distribution(WINDOW_UNIT);
        if windows.count() > 0 {
            put(Metric::WindowMean, group.windows.mean() * WINDOW_UNIT);
            distributions.insert("window_packets".to_owned(), windows);
        }
        let mut goodput_quantiles = BTreeMap::new();
        let mut completions = None;
        if spec.persistent() {
            let mut sorted = self.goodputs.clone();
            sorted.sort_by(f64::total_cmp);
            goodput_quantiles = listed_quantiles(|q| sorted_quantile(&sorted, q));
        } else if spec.responsive() {
            if let Some(rounds) = group.rounds.as_ref().filter(|r| r.times.count() > 0) {
                put(Metric::RequestTimeP50, rounds.times.quantile(0.5));
                put(Metric::RequestTimeP95, rounds.times.quantile(0.95));
                put(Metric::RequestTimeP99, rounds.times.quantile(0.99));
                let times = rounds.times.distribution(1e-12);
                distributions.insert("request_time_s".to_owned(), times);
            }
            let times = &group.completion_times;
            if group.completed > 0 {
                // Goodputs are kept in the histogram as whole bits per second.
                goodput_quantiles =
                    listed_quantiles(|q| group.transfer_goodputs.quantile(q) * 1e12);
                put(Metric::CompletionTimeP50, times.quantile(0.5));
                put(Metric::CompletionTimeP95, times.quantile(0.95));
                put(Metric::CompletionTimeP99, times.quantile(0.99));
                let shapes = &group.shapes;
                put(Metric::SlowdownMean, shapes.mean_slowdown());
                for (metric, q) in [
                    (Metric::SlowdownP50, 0.5),
                    (Metric::SlowdownP95, 0.95),
                    (Metric::SlowdownP99, 0.99),
                ] {
                    put(
                        metric,
                        shapes.slowdowns.quantile_of_values(q) * SLOWDOWN_UNIT,
                    );
                }
                put(
                    Metric::ShortTransfers,
                    ratio(shapes.short, shapes.short + shapes.long),
                );
                let slowdowns = shapes.slowdowns.distribution(SLOWDOWN_UNIT);
                distributions.insert("slowdown".to_owned(), slowdowns);
                distributions.insert("completion_time_s".to_owned(), times.distribution(1e-12));
            }
            let quantiles = if group.completed == 0 {
                BTreeMap::new()
            } else {
                [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)]
                    .map(|(name, q)| (name.to_owned(), times.quantile(q)))
                    .into()
            };
            completions = Some(Completions {
                completed: group.completed,
                completion_time_s: quantiles,
            });
        }
        if let (Some(p10), Some(p50)) = (goodput_quantiles.get("p10"), goodput_quantiles.get("p50"))
        {
            put(Metric::FlowGoodputP10, *p10);
            put(Metric::FlowGoodputP50, *p50);
        }
        GroupReport {
            name: spec.name.clone(),
            flows: spec.count,
            metrics,
            flow_goodput_bps: goodput_quantiles,
            completions,
            distributions,
            per_flow: if listed { self.flows } else { Vec::new() },
        }
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

fn warnings(scenario: &Scenario, simulation: &Simulation<'_>) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let drops = simulation.links[scenario.target_index()].statistics().drops;
    if (1..30).contains(&drops) {
        let text = format!("the loss rate rests on {drops} drops: measure for longer");
        warnings.push(Warning::new(WarningKind::FewDrops, text).with("drops", drops as f64));
    }
    let events = simulation.congestion.number - simulation.events_before;
    if scenario.persistent_flows() > 0 && events < 5 {
        let text = format!(
            "{events} congestion events in the measured time: the means may depend on its length"
        );
        let warning = Warning::new(WarningKind::FewCongestionEvents, text);
        warnings.push(warning.with("events", events as f64));
    }
    let idle = simulation
        .flows
        .iter()
        .filter(|flow| !started(flow))
        .count();
    if idle > 0 {
        let text = format!("{idle} flows have not started by the end");
        warnings.push(Warning::new(WarningKind::NotStarted, text).with("flows", idle as f64));
    }
    let bounded = |group: &&Group<'_>| group.rounds.as_ref().is_some_and(|r| r.lower_bound);
    for group in simulation.groups.iter().filter(bounded) {
        let name = &group.spec.name;
        let text = format!(
            "no request of `{name}` was answered in full in the measured time: its time is at least as long as reported"
        );
        warnings.push(Warning::new(WarningKind::LowerBound, text).about(name));
    }
    warnings
}

fn started(flow: &Flow) -> bool {
    flow.since > Time::ZERO || flow.arrived > 0 || flow.lost_elsewhere > 0
}
