//! What must hold of every run.

use forebay_scenario::{
    Cancel, Engine, EngineError, Estimate, Format, Metric, Report, Scenario, Seed, Workload,
};

use crate::PacketEngine;
use crate::report::report;
use crate::simulation::Simulation;
use crate::statistics::Account;

fn finite(name: &str, estimate: &Estimate) {
    assert!(
        estimate.mean.is_finite() && estimate.mean >= 0.0,
        "{name}: {estimate:?}"
    );
}

/// Every number of a report is a finite one, and every share lies between 0 and 1.
fn check_numbers(report: &Report) {
    let links = report.links.iter().map(|link| &link.metrics);
    let groups = report.groups.iter().map(|group| &group.metrics);
    for (metric, estimate) in links.chain(groups).chain([&report.metrics]).flatten() {
        finite(metric.name(), estimate);
        let share = match metric {
            Metric::Utilization | Metric::LossRate | Metric::MarkRate => true,
            _ => matches!(metric, Metric::JainIndex | Metric::Synchronization),
        };
        assert!(
            !share || estimate.mean <= 1.0 + 1e-9,
            "{}: {estimate:?}",
            metric.name()
        );
    }
    for group in &report.groups {
        let completions = group.completions.iter();
        let times = completions.flat_map(|part| part.completion_time_s.values());
        for number in times.chain(group.flow_goodput_bps.values()) {
            assert!(number.is_finite() && *number >= 0.0, "{group:?}");
        }
        for flow in &group.per_flow {
            assert!(flow.goodput_bps.is_finite() && flow.loss_rate.is_finite());
        }
    }
    // A NaN or an infinity anywhere else in the report becomes a null.
    let json = serde_json::to_value(report).unwrap();
    assert_no_null(&json, "");
}

fn assert_no_null(json: &serde_json::Value, key: &str) {
    match json {
        serde_json::Value::Null => {
            assert!(["half_width", "bdp"].contains(&key), "{key} is no number");
        }
        serde_json::Value::Object(map) => map
            .iter()
            .for_each(|(key, value)| assert_no_null(value, key)),
        serde_json::Value::Array(items) => items.iter().for_each(|item| assert_no_null(item, key)),
        _ => {}
    }
}

/// Each packet is counted once, at every link and for every flow.
fn check_conservation(simulation: &Simulation<'_>) {
    for link in &simulation.network.links {
        let counted = link.statistics();
        let accepted = counted.arrivals - counted.drops.min(counted.arrivals);
        assert!(counted.drops <= counted.arrivals);
        // Those of the queue that a discipline would discard after the run's end are not served.
        if counted.since == forebay_units::Time::ZERO {
            assert!(counted.waits().histogram.count() <= accepted);
        }
    }
    let target = simulation.network.target().statistics();
    check_waits(simulation);
    let flows = &simulation.traffic.hosts.flows;
    let sources = flows.unresponsive.iter();
    let sources = sources.map(|flow| flow.counts().since(flow.before.0));
    let flows = flows.responsive.iter();
    let flows = flows.map(|flow| flow.counts().since(flow.before));
    let (mut arrived, mut dropped) = (0, 0);
    for counts in flows.chain(sources) {
        arrived += counts.arrived;
        dropped += counts.dropped;
        assert!(counts.dropped <= counts.arrived, "{counts:?}");
    }
    assert_eq!((arrived, dropped), (target.arrivals, target.drops));
}

/// Of each group as many packets have waited at the target as were taken in; of what its discipline
/// would discard only after the run's end, fewer.
fn check_waits(simulation: &Simulation<'_>) {
    let target = simulation.network.target();
    if target.statistics().since > forebay_units::Time::ZERO {
        return;
    }
    let flows = &simulation.traffic.hosts.flows;
    let groups = simulation.traffic.groups.len();
    let mut taken = vec![0; groups + 1];
    for flow in &flows.responsive {
        taken[flow.transit.group.index()] += flow.transit.arrived - flow.transit.dropped;
    }
    for flow in &flows.unresponsive {
        let group = flow.transit.group.index();
        let group = if flow.acks_of.is_some() {
            groups
        } else {
            group
        };
        taken[group] += flow.transit.arrived - flow.transit.dropped;
    }
    let alone = groups == 1 && flows.unresponsive.iter().all(|flow| flow.acks_of.is_none());
    for (group, taken) in taken
        .iter()
        .enumerate()
        .take(if alone { 1 } else { groups + 1 })
    {
        let waits = target.statistics().waits_of(Account::new(group));
        let waited = waits.histogram.count();
        assert!(waited <= *taken, "{group}: {waited} {taken}");
        assert!(
            waited == *taken || target.has_departures(),
            "{group}: {waited} {taken}"
        );
        assert!(waits.sum <= u128::from(waits.longest.as_picos()) * u128::from(waited));
    }
}

/// Payload delivered in order is at most what the links carried, where all is measured. Of
/// unresponsive packets those count that the last link took in.
fn check_goodput(scenario: &Scenario, report: &Report) {
    let run = scenario.run();
    if run.warmup.as_picos() > 0 {
        return;
    }
    let rates = scenario.links().iter().map(|link| link.rate);
    let carried: f64 = rates.map(|rate| rate.as_bits_per_second() as f64).sum();
    if let Some(delivered) = report.value(Metric::Goodput) {
        let bits = (carried - delivered) * run.measure.as_secs_f64();
        assert!(bits > -1e-6, "{delivered} {carried}");
    }
}

/// By their names, figures of one quantity stand in order: quantiles rise, and neither they nor the
/// mean pass the maximum; quantiles are known to one part in 128. No transfer is faster than it can be.
fn check_order(report: &Report) {
    let links = report.links.iter().map(|link| &link.metrics);
    let groups = report.groups.iter().map(|group| &group.metrics);
    for metrics in links.chain(groups).chain([&report.metrics]) {
        let of = |name: &str| {
            let mut found = metrics.iter().filter(|(metric, _)| metric.name() == name);
            found.next().map(|(_, estimate)| estimate.mean)
        };
        for (stem, end) in [
            ("queue_delay", "_s"),
            ("slowdown", ""),
            ("completion_time", "_s"),
        ] {
            let at = |part: &str| of(&format!("{stem}_{part}{end}"));
            let quantiles: Vec<f64> = ["p05", "p50", "p95", "p99"]
                .into_iter()
                .filter_map(at)
                .collect();
            assert!(quantiles.is_sorted(), "{stem}: {quantiles:?}");
            if let Some(most) = at("max") {
                let bound = most * (1.0 + 1.0 / 64.0) + 1e-12;
                let figures = quantiles.into_iter().chain(at("mean"));
                figures.for_each(|figure| assert!(figure <= bound, "{stem}: {figure} of {most}"));
            }
        }
        for name in [
            "slowdown_mean",
            "slowdown_p50",
            "slowdown_p95",
            "slowdown_p99",
        ] {
            assert!(
                of(name).is_none_or(|slowdown| slowdown >= 1.0),
                "{name}: {:?}",
                of(name)
            );
        }
    }
    for group in &report.groups {
        let times = group.completions.iter().map(|part| &part.completion_time_s);
        for quantiles in times.chain([&group.flow_goodput_bps]) {
            let figures: Vec<f64> = quantiles.values().copied().collect();
            assert!(figures.is_sorted(), "{quantiles:?}");
        }
    }
}

/// A run takes no more events than its scenario says before it begins: a few for each packet that the
/// links can carry, that sources send and that flows begin with.
fn check_budget(scenario: &Scenario, events: u64) {
    let run = scenario.run();
    let seconds = (run.warmup + run.measure).as_secs_f64();
    let smallest = scenario.flows().iter().map(|group| group.packet.infimum());
    let smallest = smallest.fold(f64::INFINITY, f64::min);
    let links = scenario.links().iter();
    let carried: f64 = links.map(|link| link.rate.as_bytes_per_second()).sum();
    let offered = scenario.flows().iter().map(|group| {
        let sent = group.unresponsive_rate().or(group.open_loop_rate());
        sent.filter(|rate| rate.is_finite()).unwrap_or(0.0) / 8.0
    });
    let first: f64 = scenario
        .flows()
        .iter()
        .map(|group| group.count as f64 * (group.stack.initial_window.min(1e4) + 100.0))
        .sum();
    let packets = (carried + offered.sum::<f64>()) * seconds / smallest + first;
    let budget = 40.0 * packets + 1e4;
    assert!((events as f64) < budget, "{events} of {budget}");
}

/// Runs a scenario and checks all that must hold.
pub(super) fn check(text: &str) {
    let scenario = match Scenario::parse(text, Format::Toml, "random", &[]) {
        Ok(scenario) => scenario,
        // What is wrong is said by name; the generator hardly makes such scenarios.
        Err(error) => return assert!(!error.mistake.allowed().is_empty()),
    };
    let seed = Seed {
        seed: scenario.run().seed,
        replication: 0,
    };
    let outcome = PacketEngine.run(&scenario, &seed.into());
    let mut simulation = match Simulation::new(&scenario, seed) {
        Ok(simulation) => simulation,
        Err(error) => return check_refusal(&error, &outcome),
    };
    if let Err(error) = simulation.run(&Cancel::default()) {
        return check_refusal(&error, &outcome);
    }
    check_conservation(&simulation);
    check_memory(&scenario, &simulation);
    check_budget(&scenario, simulation.events);
    let report = report(&scenario, seed, simulation);
    check_numbers(&report);
    check_order(&report);
    check_goodput(&scenario, &report);
    assert_eq!(Ok(report), outcome, "the same again");
}

fn check_refusal(error: &EngineError, outcome: &Result<Report, EngineError>) {
    assert_eq!(outcome.as_ref(), Err(error));
    match error {
        EngineError::Unsupported { feature, .. } => assert!(!feature.is_empty()),
        EngineError::TooLarge { why, .. } => assert!(!why.is_empty()),
        _ => panic!("{error}"),
    }
}

/// Flows are kept as long as they live: no more of them than the groups have, or than open-loop
/// transfers were ever alive at once.
fn check_memory(scenario: &Scenario, simulation: &Simulation<'_>) {
    let open = |workload: &Workload| matches!(workload, Workload::OpenLoop { .. });
    let fixed: u64 = scenario
        .flows()
        .iter()
        .filter(|group| group.responsive() && !open(&group.workload))
        .map(|group| group.count)
        .sum();
    if scenario.flows().iter().all(|group| !open(&group.workload)) {
        assert_eq!(
            simulation.traffic.hosts.flows.responsive.len() as u64,
            fixed
        );
    }
}
