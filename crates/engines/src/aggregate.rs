//! Aggregation of replications into one report: means with Student-t intervals, reduced in
//! replication order.

use std::collections::BTreeMap;

use forebay_scenario::{
    Completions, Estimate, FlowReport, GroupReport, Lateness, MeasuredDistribution, Metric, Report,
    Warning, WarningKind,
};

use crate::quantiles::two_sided_quantile;

/// Confidence of the intervals in reports.
pub const CONFIDENCE: f64 = 0.95;

/// Combines the replications of one scenario, in replication order.
///
/// Metrics become means with 95 % half widths (none from a single replication), as do those of
/// groups and other links. Quantiles over flows and transfers are averaged. Counts of completed
/// transfers, of packets and of events are summed. Histograms are added up. A metric that only some
/// replications could measure is left out with a warning. Each quantile of the machine's lateness
/// is the worst of them. Equal warnings are reported once. Traces are the first replication's.
///
/// Returns `None` without a report.
pub fn aggregate(mut replications: Vec<Report>) -> Option<Report> {
    if replications.len() <= 1 {
        return replications.pop();
    }
    Some(combine(replications, Averages::Plain))
}

/// Combines one replication of each stratum of a scenario's random states into one observation.
/// Means are weighted by the strata's probabilities (Cochran, Sampling techniques, 3rd edition,
/// 5.3), without half widths. Everything else is as in [`aggregate`].
///
/// Returns `None` without a report, or if there is not one positive weight for each report.
pub fn weighted(replications: Vec<Report>, weights: &[f64]) -> Option<Report> {
    let usable = weights
        .iter()
        .all(|weight| *weight > 0.0 && weight.is_finite());
    if replications.is_empty() || weights.len() != replications.len() || !usable {
        return None;
    }
    Some(combine(replications, Averages::Weighted(weights)))
}

/// The kind of average over replications.
#[derive(Clone, Copy)]
enum Averages<'a> {
    /// All count the same, and their scatter gives a half width.
    Plain,
    /// Each counts by its stratum's probability.
    Weighted(&'a [f64]),
}

impl Averages<'_> {
    /// Weight of the replication with this index.
    fn weight(self, at: usize) -> f64 {
        match self {
            Self::Plain => 1.0,
            Self::Weighted(weights) => weights[at],
        }
    }

    fn estimate(self, values: &[f64]) -> Estimate {
        match self {
            Self::Plain => estimate(values),
            Self::Weighted(_) => Estimate {
                mean: self.mean(values.iter().copied().enumerate()),
                half_width: None,
                confidence: CONFIDENCE,
            },
        }
    }

    /// Mean of the values of some replications, each with its index.
    fn mean(self, values: impl Iterator<Item = (usize, f64)>) -> f64 {
        let (mut sum, mut total) = (0.0, 0.0);
        for (at, value) in values {
            sum += self.weight(at) * value;
            total += self.weight(at);
        }
        sum / total
    }
}

/// Adds a warning to those of other replications. Counts of losses are those of all replications.
fn add_warning(warnings: &mut Vec<Warning>, warning: &Warning) {
    let kind = WarningKind::SimultaneousEvents;
    let mut others = warnings.iter_mut();
    if warning.kind == kind
        && let Some(other) = others.find(|other| other.kind == kind)
    {
        for (name, count) in &warning.values {
            *other.values.entry(name.clone()).or_default() += count;
        }
    } else if !warnings.contains(warning) {
        warnings.push(warning.clone());
    }
}

fn combine(mut replications: Vec<Report>, averages: Averages<'_>) -> Report {
    let mut combined = replications[0].clone();
    combined.traces = replications[0].traces.take();
    combined.replications = replications.iter().map(|report| report.replications).sum();
    let mut warnings = Vec::new();
    for warning in replications.iter().flat_map(|report| &report.warnings) {
        add_warning(&mut warnings, warning);
    }
    combined.metrics = means(
        &replications,
        "",
        averages,
        |report| Some(&report.metrics),
        &mut warnings,
    );
    for at in 0..combined.links.len() {
        let of = |report: &'_ Report| report.links.get(at).map(|link| link.metrics.clone());
        let scope = format!("{}.", combined.links[at].name);
        combined.links[at].metrics =
            owned_means(&replications, &scope, averages, of, &mut warnings);
    }
    for at in 0..combined.groups.len() {
        combined.groups[at] = combine_group(&replications, at, averages, &mut warnings);
    }
    combined.distributions = merged(replications.iter().map(|report| &report.distributions));
    let cost = &mut combined.cost;
    // The fluid engine may offer more packets than 64 bits can count, and then reports the largest
    // number.
    let packets = replications.iter().map(|report| report.cost.data_packets);
    cost.data_packets = packets.fold(0, u64::saturating_add);
    cost.events = replications.iter().map(|report| report.cost.events).sum();
    cost.cpu_s = replications.iter().map(|report| report.cost.cpu_s).sum();
    cost.wall_s = replications.iter().map(|report| report.cost.wall_s).sum();
    let peaks = replications.iter().map(|report| report.cost.peak_rss_bytes);
    cost.peak_rss_bytes = peaks.max().unwrap_or(0);
    let lateness = replications
        .iter()
        .filter_map(|report| report.cost.lateness);
    cost.lateness = lateness.reduce(Lateness::with);
    combined.warnings = warnings;
    combined
}

/// Mean and half width of independent observations.
fn estimate(values: &[f64]) -> Estimate {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    if values.len() < 2 {
        return Estimate {
            mean,
            half_width: None,
            confidence: CONFIDENCE,
        };
    }
    let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
    let quantile = two_sided_quantile(CONFIDENCE, values.len() as u64 - 1);
    let half_width = Some(quantile * (variance / n).sqrt());
    Estimate {
        mean,
        half_width,
        confidence: CONFIDENCE,
    }
}

type Metrics = BTreeMap<Metric, Estimate>;

fn means<'a>(
    replications: &'a [Report],
    scope: &str,
    averages: Averages<'_>,
    of: impl Fn(&'a Report) -> Option<&'a Metrics>,
    warnings: &mut Vec<Warning>,
) -> Metrics {
    let of = |report| of(report).cloned();
    owned_means(replications, scope, averages, of, warnings)
}

fn owned_means<'a>(
    replications: &'a [Report],
    scope: &str,
    averages: Averages<'_>,
    of: impl Fn(&'a Report) -> Option<Metrics>,
    warnings: &mut Vec<Warning>,
) -> Metrics {
    let mut values: BTreeMap<Metric, Vec<f64>> = BTreeMap::new();
    for metrics in replications.iter().filter_map(of) {
        for (metric, estimate) in metrics {
            values.entry(metric).or_default().push(estimate.mean);
        }
    }
    let mut combined = BTreeMap::new();
    for (metric, values) in values {
        if values.len() == replications.len() {
            combined.insert(metric, averages.estimate(&values));
        } else {
            let (name, measured, all) = (metric.name(), values.len(), replications.len());
            let text = format!(
                "{scope}{name} is omitted, because only {measured} of {all} replications measured it"
            );
            let warning = Warning::new(WarningKind::MetricLeftOut, text)
                .about(format!("{scope}{name}"))
                .with("measured", measured as f64)
                .with("replications", all as f64);
            warnings.push(warning);
        }
    }
    combined
}

fn combine_group(
    replications: &[Report],
    at: usize,
    averages: Averages<'_>,
    warnings: &mut Vec<Warning>,
) -> GroupReport {
    let parts: Vec<&GroupReport> = replications
        .iter()
        .filter_map(|report| report.groups.get(at))
        .collect();
    let mut combined = parts[0].clone();
    let scope = format!("{}.", combined.name);
    let of = |report: &Report| report.groups.get(at).map(|group| group.metrics.clone());
    combined.metrics = owned_means(replications, &scope, averages, of, warnings);
    let goodputs = parts
        .iter()
        .map(|group| &group.flow_goodput_bps)
        .enumerate();
    combined.flow_goodput_bps = mean_quantiles(averages, goodputs);
    let completions: Vec<(usize, &Completions)> = parts
        .iter()
        .enumerate()
        .filter_map(|(at, group)| Some((at, group.completions.as_ref()?)))
        .collect();
    combined.completions = (!completions.is_empty()).then(|| Completions {
        completed: completions.iter().map(|(_, part)| part.completed).sum(),
        completion_time_s: mean_quantiles(
            averages,
            completions
                .iter()
                .map(|(at, part)| (*at, &part.completion_time_s)),
        ),
    });
    combined.distributions = merged(parts.iter().map(|group| &group.distributions));
    combined.per_flow = mean_flows(&parts, averages);
    combined
}

/// The sums of all replications' histograms.
fn merged<'a>(
    parts: impl Iterator<Item = &'a BTreeMap<String, MeasuredDistribution>>,
) -> BTreeMap<String, MeasuredDistribution> {
    let mut sums: BTreeMap<String, MeasuredDistribution> = BTreeMap::new();
    for (name, distribution) in parts.flatten() {
        sums.entry(name.clone()).or_default().merge(distribution);
    }
    sums
}

/// The mean of each quantile over the replications that have it. Each part has the index of its
/// replication.
fn mean_quantiles<'a>(
    averages: Averages<'_>,
    parts: impl Iterator<Item = (usize, &'a BTreeMap<String, f64>)>,
) -> BTreeMap<String, f64> {
    let mut values: BTreeMap<String, Vec<(usize, f64)>> = BTreeMap::new();
    for (at, part) in parts {
        for (name, value) in part {
            values.entry(name.clone()).or_default().push((at, *value));
        }
    }
    values
        .into_iter()
        .map(|(name, values)| (name, averages.mean(values.into_iter())))
        .collect()
}

/// Means over the replications for each flow. Counts are rounded to the nearest whole number.
fn mean_flows(parts: &[&GroupReport], averages: Averages<'_>) -> Vec<FlowReport> {
    let flows = parts
        .iter()
        .map(|group| group.per_flow.len())
        .min()
        .unwrap_or(0);
    let mean = |flow: usize, of: &dyn Fn(&FlowReport) -> f64| {
        averages.mean(
            parts
                .iter()
                .map(|group| of(&group.per_flow[flow]))
                .enumerate(),
        )
    };
    (0..flows)
        .map(|flow| FlowReport {
            goodput_bps: mean(flow, &|x| x.goodput_bps),
            loss_rate: mean(flow, &|x| x.loss_rate),
            retransmissions: mean(flow, &|x| x.retransmissions as f64).round() as u64,
            timeouts: mean(flow, &|x| x.timeouts as f64).round() as u64,
            congestion_events: mean(flow, &|x| x.congestion_events as f64).round() as u64,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Constant, scenario};
    use forebay_scenario::{Bin, Engine as _, Seed};

    fn report(utilization: f64) -> Report {
        let seed = Seed {
            seed: 1,
            replication: 0,
        };
        Constant(utilization)
            .run(&scenario(), &seed.into())
            .unwrap()
    }

    #[test]
    fn means_and_half_widths_are_students() {
        let combined = aggregate([1.0, 2.0, 3.0, 4.0].map(report).into()).unwrap();
        let estimate = combined.metrics[&Metric::Utilization];
        assert_eq!(estimate.mean, 2.5);
        // The half width is t(0.975, 3) s / sqrt(4) with s^2 = 5/3.
        let expected = 3.182_446_305_284_263 * (5.0_f64 / 3.0 / 4.0).sqrt();
        assert!((estimate.half_width.unwrap() - expected).abs() < 1e-7);
        assert_eq!(combined.replications, 4);
        assert_eq!(combined.cost.data_packets, 40);
    }

    #[test]
    fn more_packets_than_there_are_numbers_for_stay_the_most() {
        let mut endless = report(0.5);
        endless.cost.data_packets = u64::MAX;
        let combined = aggregate(vec![endless, report(0.5)]).unwrap();
        assert_eq!(combined.cost.data_packets, u64::MAX);
    }

    #[test]
    fn the_worst_lateness_is_told_and_frozen_time_adds_up() {
        let late = |p50_s: f64, p999_s: f64, freezes: u64| {
            let mut report = report(0.5);
            report.cost.lateness = Some(Lateness {
                p50_s,
                p99_s: p50_s,
                p999_s,
                max_s: p999_s,
                frozen_s: 0.25,
                freezes,
            });
            report
        };
        let parts = vec![late(1.0, 8.0, 2), report(0.5), late(3.0, 4.0, 3)];
        let expected = Lateness {
            p50_s: 3.0,
            p99_s: 3.0,
            p999_s: 8.0,
            max_s: 8.0,
            frozen_s: 0.5,
            freezes: 5,
        };
        assert_eq!(aggregate(parts).unwrap().cost.lateness, Some(expected));
        let none = aggregate(vec![report(0.5), report(0.5)]).unwrap();
        assert_eq!(none.cost.lateness, None);
    }

    #[test]
    fn strata_count_by_their_probability_and_have_no_half_width() {
        let (scenario, options) = (scenario(), Seed::default().into());
        let run = |value: f64| Constant(value).run(&scenario, &options).unwrap();
        let found = weighted(vec![run(0.2), run(0.7)], &[0.9, 0.1]).unwrap();
        let utilization = found.metrics[&Metric::Utilization];
        assert!((utilization.mean - 0.25).abs() < 1e-15);
        assert_eq!(utilization.half_width, None);
        assert_eq!(found.replications, 2);
        let equal = weighted(vec![run(0.2), run(0.7)], &[0.5, 0.5]).unwrap();
        let plain = aggregate(vec![run(0.2), run(0.7)]).unwrap();
        assert!(
            (equal.metrics[&Metric::Utilization].mean - plain.metrics[&Metric::Utilization].mean)
                .abs()
                < 1e-15
        );
        for weights in [&[1.0][..], &[1.0, 0.0], &[1.0, f64::NAN]] {
            assert!(weighted(vec![run(0.2), run(0.7)], weights).is_none());
        }
    }

    #[test]
    fn one_replication_has_no_half_width() {
        let combined = aggregate(vec![report(0.5)]).unwrap();
        assert_eq!(combined.metrics[&Metric::Utilization].half_width, None);
        assert!(aggregate(Vec::new()).is_none());
    }

    #[test]
    fn a_metric_that_is_missing_once_is_left_out_with_a_warning() {
        let mut second = report(0.5);
        second.metrics.clear();
        let combined = aggregate(vec![report(0.5), second]).unwrap();
        assert!(combined.metrics.is_empty());
        let [warning] = &combined.warnings[..] else {
            panic!("{:?}", combined.warnings);
        };
        assert_eq!(
            warning.text,
            "utilization is omitted, because only 1 of 2 replications measured it"
        );
        assert_eq!(warning.kind, WarningKind::MetricLeftOut);
        assert_eq!(
            (warning.values["measured"], warning.values["replications"]),
            (1.0, 2.0)
        );
    }

    #[test]
    fn groups_are_combined_part_by_part() {
        let with_group = |goodput: f64, completed: u64| {
            let mut report = report(0.5);
            report.groups.push(GroupReport {
                name: "bulk".into(),
                flows: 1,
                metrics: BTreeMap::from([(Metric::Goodput, goodput.into())]),
                flow_goodput_bps: BTreeMap::from([("p50".into(), goodput)]),
                completions: Some(Completions {
                    completed,
                    completion_time_s: BTreeMap::from([("p50".into(), goodput)]),
                }),
                distributions: BTreeMap::from([(
                    "window_packets".into(),
                    MeasuredDistribution {
                        bins: vec![Bin {
                            low: goodput,
                            high: goodput + 1.0,
                            count: completed,
                        }],
                    },
                )]),
                per_flow: vec![FlowReport {
                    goodput_bps: goodput,
                    timeouts: 1,
                    ..Default::default()
                }],
            });
            report
        };
        let combined = aggregate(vec![with_group(2.0, 3), with_group(4.0, 5)]).unwrap();
        let group = &combined.groups[0];
        assert_eq!(group.metrics[&Metric::Goodput].mean, 3.0);
        assert_eq!(group.flow_goodput_bps["p50"], 3.0);
        assert_eq!(group.completions.as_ref().unwrap().completed, 8);
        let windows = &group.distributions["window_packets"];
        assert_eq!((windows.bins.len(), windows.count()), (2, 8));
        assert_eq!(group.per_flow[0].goodput_bps, 3.0);
        assert_eq!(group.per_flow[0].timeouts, 1);
    }
}
