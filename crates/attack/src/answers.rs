//! What must hold of every report, whichever engine gave it.

use std::collections::BTreeMap;

use forebay_scenario::{
    BufferLimit, Distribution, EngineError, Estimate, FlowGroup, GroupReport, Metric, Report,
    Scenario, Workload,
};

use crate::check_sentence;

/// Metrics of a link or of a group.
type Metrics = BTreeMap<Metric, Estimate>;

/// Shares and indices, which lie between 0 and 1.
const SHARES: [Metric; 6] = [
    Metric::Utilization,
    Metric::LossRate,
    Metric::MarkRate,
    Metric::JainIndex,
    Metric::Synchronization,
    Metric::ShortTransfers,
];

/// All that must hold of a report on a scenario.
///
/// # Panics
/// Where a law is broken.
pub fn check(scenario: &Scenario, report: &Report) {
    check_numbers(report);
    check_order(report);
    check_goodput(scenario, report);
    check_waiting(scenario, report);
    check_drains(scenario, report);
    for warning in &report.warnings {
        check_sentence(&warning.to_string());
    }
    let kept = report.kept().expect("a report is JSON");
    assert_eq!(
        Report::restored(&kept).as_ref(),
        Some(report),
        "as it is kept"
    );
    if report.engine == "packet" {
        let (events, most) = (report.cost.events as f64, scenario.most_events());
        let of = report.replications as f64;
        assert!(
            events <= most * of,
            "{events} events of {most} said beforehand"
        );
    }
}

/// A refusal is a sentence; nothing interrupts a test.
///
/// # Panics
/// Where that is not so.
pub fn check_refusal(error: &EngineError) {
    check_sentence(&error.to_string());
    assert!(!matches!(error, EngineError::Interrupted), "out of time");
}

/// Means over replications lie between the smallest and the largest of them.
///
/// # Panics
/// Where one does not.
pub fn check_means(single: &[Report], together: &Report) {
    let of = |report: &Report| -> Vec<Metrics> {
        let links = report.links.iter().map(|link| link.metrics.clone());
        let groups = report.groups.iter().map(|group| group.metrics.clone());
        links
            .chain(groups)
            .chain([report.metrics.clone()])
            .collect()
    };
    let parts: Vec<_> = single.iter().map(of).collect();
    for (at, metrics) in of(together).iter().enumerate() {
        for (metric, estimate) in metrics {
            let values = parts.iter().map(|part| part[at][metric].mean);
            let (least, most) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| {
                (a.min(x), b.max(x))
            });
            let slack = 1e-12 * most.abs();
            let mean = estimate.mean;
            assert!(
                mean >= least - slack && mean <= most + slack,
                "{}: {mean} of {least} to {most}",
                metric.name()
            );
            assert!(estimate.half_width.is_none_or(|width| width >= 0.0));
        }
    }
}

/// The metrics of every part of a report, with its name.
fn parts(report: &Report) -> impl Iterator<Item = (&str, &Metrics)> {
    let links = report.links.iter();
    let links = links.map(|link| (link.name.as_str(), &link.metrics));
    let groups = report.groups.iter();
    let groups = groups.map(|group| (group.name.as_str(), &group.metrics));
    links.chain(groups).chain([("target", &report.metrics)])
}

/// Every number is a finite one and not negative, and every share lies between 0 and 1.
fn check_numbers(report: &Report) {
    let engine = report.engine.as_str();
    for (part, metrics) in parts(report) {
        for (metric, estimate) in metrics {
            let (name, mean) = (metric.name(), estimate.mean);
            assert!(
                mean.is_finite() && mean >= 0.0,
                "{engine}: {part}.{name}: {mean}"
            );
            let share = SHARES.contains(metric);
            assert!(
                !share || mean <= 1.0 + 1e-9,
                "{engine}: {part}.{name}: {mean}"
            );
        }
    }
    for group in &report.groups {
        let completions = group.completions.iter();
        let times = completions.flat_map(|part| part.completion_time_s.values());
        for number in times.chain(group.flow_goodput_bps.values()) {
            assert!(number.is_finite() && *number >= 0.0, "{group:?}");
        }
        for flow in &group.per_flow {
            assert!(flow.goodput_bps.is_finite() && flow.goodput_bps >= 0.0);
            assert!((0.0..=1.0 + 1e-9).contains(&flow.loss_rate), "{flow:?}");
        }
    }
    // A NaN or an infinity anywhere else in the report becomes a null.
    let json = serde_json::to_value(report).expect("a report is JSON");
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

/// By their names, figures of one quantity stand in order: quantiles rise, and neither they nor the
/// mean pass the maximum; quantiles are known to one part in 128. No transfer is faster than it can be.
fn check_order(report: &Report) {
    for (part, metrics) in parts(report) {
        for stem in stems() {
            check_quantiles(part, metrics, stem);
        }
        let slowdowns = metrics
            .iter()
            .filter(|(metric, _)| metric.name().starts_with("slowdown"));
        for (metric, estimate) in slowdowns {
            let name = metric.name();
            assert!(estimate.mean >= 1.0, "{part}.{name}: {}", estimate.mean);
        }
    }
    for group in &report.groups {
        let times = group.completions.iter().map(|part| &part.completion_time_s);
        for quantiles in times.chain([&group.flow_goodput_bps]) {
            let figures: Vec<f64> = quantiles.values().copied().collect();
            assert!(figures.is_sorted(), "{quantiles:?}");
        }
    }
    let of_groups = report.groups.iter().map(|group| &group.distributions);
    for distributions in of_groups.chain([&report.distributions]) {
        distributions.values().for_each(check_bins);
    }
}

/// The beginnings of the names of metrics that are quantiles of one quantity, with their units' ends.
fn stems() -> Vec<(&'static str, &'static str)> {
    let mut found: Vec<_> = Metric::ALL
        .into_iter()
        .filter_map(|metric| {
            let name = metric.name();
            let at = name.find("_p50")?;
            Some((&name[..at], &name[at + 4..]))
        })
        .collect();
    found.dedup();
    assert!(found.len() > 3, "{found:?}");
    found
}

fn check_quantiles(part: &str, metrics: &Metrics, (stem, end): (&str, &str)) {
    let at = |word: &str| {
        let name = format!("{stem}_{word}{end}");
        let mut found = metrics.iter().filter(|(metric, _)| metric.name() == name);
        found.next().map(|(_, estimate)| estimate.mean)
    };
    let quantiles: Vec<f64> = ["p05", "p10", "p50", "p95", "p99"]
        .into_iter()
        .filter_map(at)
        .collect();
    assert!(quantiles.is_sorted(), "{part}.{stem}: {quantiles:?}");
    if let Some(most) = at("max") {
        let bound = most * (1.0 + 1.0 / 64.0) + 1e-12;
        for figure in quantiles.into_iter().chain(at("mean")) {
            assert!(figure <= bound, "{part}.{stem}: {figure} of {most}");
        }
    }
}

/// The goodputs of single flows have the group's as their sum, where flows do not come and go.
fn check_group(spec: &FlowGroup, group: &GroupReport) {
    if matches!(spec.workload, Workload::OpenLoop { .. }) {
        return;
    }
    let Some(goodput) = group.metrics.get(&Metric::Goodput) else {
        return;
    };
    if group.per_flow.len() as u64 != group.flows || group.per_flow.is_empty() {
        return;
    }
    let sum: f64 = group.per_flow.iter().map(|flow| flow.goodput_bps).sum();
    let slack = 1e-9 * goodput.mean + 1e-6;
    assert!(
        (sum - goodput.mean).abs() <= slack,
        "{}: {sum} of {}",
        group.name,
        goodput.mean
    );
}

/// Bins rise, do not overlap and hold something.
fn check_bins(distribution: &Distribution) {
    for bin in &distribution.bins {
        assert!(bin.low < bin.high && bin.count > 0, "{bin:?}");
    }
    let neighbors = distribution.bins.windows(2);
    for pair in neighbors {
        assert!(pair[0].high <= pair[1].low * (1.0 + 1e-12), "{pair:?}");
    }
}

/// Payload delivered in order is at most what the target link has carried, and no group's is more than
/// any link of its way can carry, where all is measured. Of unresponsive packets those count that the
/// last link took in, so of them only the first holds with what still waits there.
fn check_goodput(scenario: &Scenario, report: &Report) {
    let run = scenario.run();
    if run.warmup.as_picos() > 0 {
        // What a repair completes may have been carried before.
        return;
    }
    let rate = link_rate(scenario, scenario.target_index());
    // Engines count time in picoseconds, of which each packet's transmission may lose one.
    let lengths = scenario.flows().iter().map(|group| group.packet.infimum());
    let smallest = 8.0 * lengths.fold(f64::INFINITY, f64::min).max(1.0);
    let slack = |bits: f64| bits * (1e-9 + 1e-12 * rate / smallest) + 1e-6;
    let metrics = &report.metrics;
    let all_cross = scenario
        .flows()
        .iter()
        .all(|group| !group.responsive() || group.path.contains(&scenario.target_index()));
    if let (Some(goodput), Some(used)) = (
        metrics.get(&Metric::Goodput),
        metrics.get(&Metric::Utilization),
    ) {
        let carried = used.mean * rate;
        assert!(
            !all_cross || goodput.mean <= carried + slack(carried),
            "{} of {carried}",
            goodput.mean
        );
    }
    for (group, told) in scenario.flows().iter().zip(&report.groups) {
        check_group(group, told);
        let Some(goodput) = told.metrics.get(&Metric::Goodput) else {
            continue;
        };
        let most = most_bits(scenario, group);
        assert!(
            goodput.mean <= most + slack(most),
            "{}: {} of {most}",
            group.name,
            goodput.mean
        );
    }
}

/// Bits per second that a link carries at most in the measured time, with the tokens that its shaper had
/// saved before and a packet's that another one owes afterwards.
fn link_rate(scenario: &Scenario, at: usize) -> f64 {
    let (link, run) = (&scenario.links()[at], scenario.run());
    let rate = link.most_carried(run.warmup, run.end());
    let owed = link
        .shaper
        .map_or(0, |_| scenario.largest_packet(at).get() + 38);
    let saved = 8.0 * (link.saved().get() + owed) as f64;
    (rate + saved / run.measure.as_secs_f64())
        .min(rate.max(link.highest_rate().as_bits_per_second() as f64))
}

/// Bits per second that a group can get over its way.
fn most_bits(scenario: &Scenario, group: &FlowGroup) -> f64 {
    let rates = group.path.iter().map(|&at| link_rate(scenario, at));
    let slowest = rates.fold(f64::INFINITY, f64::min);
    match group.unresponsive_rate() {
        // On and off periods, and chance: what is offered at most is not known from the mean.
        Some(_) => f64::INFINITY,
        None => slowest,
    }
}

/// No more waits on average than the buffer holds.
fn check_waiting(scenario: &Scenario, report: &Report) {
    let target = scenario.target();
    if !target.classes.is_empty() {
        return; // they have buffers of their own
    }
    if let (Some(mean), BufferLimit::Packets(most)) =
        (report.metrics.get(&Metric::QueueMean), target.buffer)
    {
        // One that finds nobody in front of it waits for tokens or for an opportunity.
        let waits =
            target.shaper.is_some() || target.medium.is_some() || target.opportunities().is_some();
        let held = f64::from(u8::from(waits));
        let most = most as f64 + held;
        assert!(
            mean.mean <= most * (1.0 + 1e-9) + 1e-9,
            "{} of {most}",
            mean.mean
        );
    }
}

/// What stands in a queue as the rate falls is sent no later than a full buffer, with the packet in
/// transmission, would be at the lowest rate; only a rate that changes can fall.
fn check_drains(scenario: &Scenario, report: &Report) {
    let drains = |metrics: &Metrics| metrics.get(&Metric::DrainTimeMax).map(|drain| drain.mean);
    let mut others = report.links.iter().map(|link| &link.metrics);
    for (at, link) in scenario.links().iter().enumerate() {
        let metrics = if at == scenario.target_index() {
            Some(&report.metrics)
        } else {
            others.next()
        };
        let Some(longest) = metrics.and_then(drains) else {
            continue;
        };
        assert!(link.has_phases(), "{} never changes", link.name);
        let lowest = link.lowest_rate().as_bits_per_second() as f64;
        let known = link.classes.is_empty() && link.memory.is_none();
        if known && lowest > 0.0 {
            let largest = scenario.largest_packet(at).get() as f64;
            // A control packet of flows may count as one of the buffer and weighs less.
            let (packets, bytes) = match link.buffer {
                BufferLimit::Packets(most) => (most as f64, most as f64 * largest),
                BufferLimit::Bytes(most) => (most.get() as f64, most.get() as f64),
            };
            let framing = f64::from(link.overhead()) * (packets + 1.0);
            let bound = 8.0 * (bytes + largest + framing) / lowest;
            assert!(longest <= bound * (1.0 + 1e-6), "{longest} of {bound}");
        }
    }
}
