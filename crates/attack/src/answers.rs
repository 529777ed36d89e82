//! Invariants of every report, whichever engine made it. [`crate::Runner`] checks them after each
//! run.

use std::collections::BTreeMap;

use forebay_scenario::{
    BufferLimit, EngineError, Estimate, FlowGroup, GroupReport, MeasuredDistribution, Metric,
    Report, Scenario, Workload,
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

/// Checks all invariants of a report on a scenario.
///
/// # Panics
/// If an invariant is broken.
pub fn check(scenario: &Scenario, report: &Report) {
    check_numbers(report);
    check_order(report);
    check_goodput(scenario, report);
    check_waiting(scenario, report);
    check_drains(scenario, report);
    for warning in &report.warnings {
        check_sentence(&warning.to_string());
    }
    let to_cached = report.to_cached().expect("a report is JSON");
    assert_eq!(
        Report::from_cached(&to_cached).as_ref(),
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

/// Checks that a refusal is a sentence and that no run was interrupted.
///
/// # Panics
/// If it is not so.
pub fn check_refusal(error: &EngineError) {
    check_sentence(&error.to_string());
    assert!(!matches!(error, EngineError::Interrupted), "out of time");
}

/// Checks that means over replications lie between the smallest and the largest of them.
///
/// # Panics
/// If one does not.
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

/// The name and the metrics of every part of a report.
fn parts(report: &Report) -> impl Iterator<Item = (&str, &Metrics)> {
    let links = report.links.iter();
    let links = links.map(|link| (link.name.as_str(), &link.metrics));
    let groups = report.groups.iter();
    let groups = groups.map(|group| (group.name.as_str(), &group.metrics));
    links.chain(groups).chain([("target", &report.metrics)])
}

/// Checks that every number is finite and not negative, and that every share lies between 0 and 1.
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
    // A NaN or an infinity elsewhere in the report becomes a null.
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

/// Checks the order of the figures of one quantity: quantiles rise, and neither they nor the mean
/// exceed the maximum. The bound on the maximum allows for the resolution of histograms. No
/// transfer is faster than possible.
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

/// The name parts before and after `_p50` of metrics that are quantiles of one quantity.
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

/// Checks that the goodputs of single flows add up to the group's, unless flows arrive and leave.
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

/// Checks that bins rise, do not overlap and are not empty.
fn check_bins(distribution: &MeasuredDistribution) {
    for bin in &distribution.bins {
        assert!(bin.low < bin.high && bin.count > 0, "{bin:?}");
    }
    let neighbors = distribution.bins.windows(2);
    for pair in neighbors {
        assert!(pair[0].high <= pair[1].low * (1.0 + 1e-12), "{pair:?}");
    }
}

/// Checks goodput without a warm-up. The payload delivered in order is at most the work of the
/// target link, if every responsive group crosses it. A responsive group gets at most the rate of
/// each link of its path.
fn check_goodput(scenario: &Scenario, report: &Report) {
    let run = scenario.run();
    if run.warmup.as_picos() > 0 {
        // A retransmission may complete data that were carried before.
        return;
    }
    let rate = link_rate(scenario, scenario.target_index());
    // Engines count time in picoseconds, so each packet's transmission may lose one.
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

/// The largest mean rate of a link in the measured time, in bit/s. It includes the tokens that a
/// shaper had saved, and a packet that a shaper owes at the end.
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

/// The largest rate of a group on its path, in bit/s.
fn most_bits(scenario: &Scenario, group: &FlowGroup) -> f64 {
    let rates = group.path.iter().map(|&at| link_rate(scenario, at));
    let slowest = rates.fold(f64::INFINITY, f64::min);
    match group.unresponsive_rate() {
        // On and off periods and chance: the mean does not give a largest offered rate.
        Some(_) => f64::INFINITY,
        None => slowest,
    }
}

/// Checks that the mean queue is at most the buffer.
fn check_waiting(scenario: &Scenario, report: &Report) {
    let target = scenario.target();
    if !target.classes.is_empty() {
        return; // they have buffers of their own
    }
    if let (Some(mean), BufferLimit::Packets(most)) =
        (report.metrics.get(&Metric::QueueMean), target.buffer)
    {
        // A packet with no other in front may wait for tokens, for an opportunity, or for the end
        // of a pause.
        let waits = target.shaper.is_some()
            || target.medium.is_some()
            || target.opportunities().is_some()
            || scenario
                .links()
                .iter()
                .any(forebay_scenario::Link::is_lossless);
        let held = f64::from(u8::from(waits));
        let most = most as f64 + held;
        assert!(
            mean.mean <= most * (1.0 + 1e-9) + 1e-9,
            "{} of {most}",
            mean.mean
        );
    }
}

/// Checks drain times after a fall of the rate: at most that of a full buffer and the packet in
/// transmission at the lowest rate. Only a link whose rate changes has such times.
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
            // A control packet of a flow may count as one packet of the buffer and has fewer bytes.
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
