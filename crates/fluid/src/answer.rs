//! Converts a fluid outcome to the report and the traces.

use std::collections::BTreeMap;

use forebay_scenario::{
    Cost, Estimate, FlowGroup, FlowReport, FlowSample, GroupReport, LinkReport, MAX_LISTED_FLOWS,
    Metric, QueueSample, Recorded, Report, Scenario, Traces, Warning, WarningKind,
    listed_quantiles, sorted_quantile,
};
use forebay_units::Time;

use crate::outcome::{FluidOutcome, LinkOutcome, MeasuredBy};
use crate::translation::{NAME, Translation, overhead_bytes};

impl Translation {
    /// The outcome as a report.
    pub(crate) fn report(&self, scenario: &Scenario, outcome: &FluidOutcome) -> Report {
        let mut report = Report::new(NAME, scenario, self.seed.seed);
        let target = &outcome.links[self.model.target];
        report.metrics = link_metrics(target);
        report.warnings.clone_from(&self.warnings);
        if outcome.measured_by == MeasuredBy::TooFewEvents {
            let text = "there were fewer than two congestion events after the warm-up, so the means are not over whole cycles";
            let warning = Warning::new(WarningKind::FewCongestionEvents, text);
            report.warnings.push(warning);
        }
        if !outcome.goodput.is_empty() {
            report
                .metrics
                .insert(Metric::JainIndex, outcome.jain.into());
            let all: f64 = self.goodputs(scenario, outcome).iter().sum();
            report.metrics.insert(Metric::Goodput, all.into());
        }
        let goodputs = self.goodputs(scenario, outcome);
        for (number, group) in scenario.flows().iter().enumerate() {
            report
                .groups
                .push(self.group_report((number, group), &goodputs, outcome));
        }
        if scenario.target_flows().count() == 1 && target.arrived > 0.0 {
            // All waiting packets belong to one group.
            let at = scenario.target_index();
            let groups = scenario.flows().iter().zip(&mut report.groups);
            for (_, group) in groups.filter(|(spec, _)| spec.path.contains(&at)) {
                put_delays(&mut group.metrics, target);
            }
        }
        for (number, link) in scenario.links().iter().enumerate() {
            if number != self.model.target {
                let metrics = link_metrics(&outcome.links[number]);
                report.links.push(LinkReport {
                    name: link.name.clone(),
                    metrics,
                });
            }
        }
        report.cost = Cost {
            data_packets: target.arrived.round() as u64,
            events: outcome.steps,
            ..Cost::default()
        };
        report
    }

    /// Goodput of each flow, in bits of payload per second.
    fn goodputs(&self, scenario: &Scenario, outcome: &FluidOutcome) -> Vec<f64> {
        let payload = |flow: usize| {
            let group = &scenario.flows()[self.group_of[flow]];
            let overhead = overhead_bytes(scenario.target());
            let reference = scenario.packet_bytes() + overhead;
            let bytes = self.model.flows[flow].size * reference - overhead;
            (bytes - group.header().get() as f64).max(0.0) * 8.0
        };
        outcome
            .goodput
            .iter()
            .enumerate()
            .map(|(flow, rate)| rate * payload(flow))
            .collect()
    }

    fn group_report(
        &self,
        (number, group): (usize, &FlowGroup),
        goodputs: &[f64],
        outcome: &FluidOutcome,
    ) -> GroupReport {
        let mut report = GroupReport {
            name: group.name.clone(),
            flows: group.count,
            ..GroupReport::default()
        };
        let mut put = |metric, value: f64| {
            report.metrics.insert(metric, Estimate::from(value));
        };
        if let Some(bits) = group.unresponsive_rate() {
            let links = || group.path.iter().map(|&l| &outcome.links[l]);
            let kept: f64 = links()
                .map(|link| 1.0 - link.background_loss_rate)
                .product();
            let delivered = links().map(|link| link.delivered);
            let delivered = delivered.fold(f64::INFINITY, f64::min);
            put(Metric::Goodput, bits * kept * delivered);
            put(Metric::LossRate, 1.0 - kept);
            return report;
        }
        let members: Vec<usize> = (0..goodputs.len())
            .filter(|&flow| self.group_of[flow] == number)
            .collect();
        let sum = |values: &[f64]| members.iter().map(|&flow| values[flow]).sum::<f64>();
        put(Metric::Goodput, sum(goodputs));
        let sent = sum(&outcome.sent);
        if sent > 0.0 {
            let lost: f64 = members
                .iter()
                .map(|&i| outcome.loss[i] * outcome.sent[i])
                .sum();
            put(Metric::LossRate, lost / sent);
        }
        let mut sorted: Vec<f64> = members.iter().map(|&flow| goodputs[flow]).collect();
        sorted.sort_by(f64::total_cmp);
        put(Metric::FlowGoodputP10, sorted_quantile(&sorted, 0.1));
        put(Metric::FlowGoodputP50, sorted_quantile(&sorted, 0.5));
        report.flow_goodput_bps = listed_quantiles(|q| sorted_quantile(&sorted, q));
        if goodputs.len() <= MAX_LISTED_FLOWS {
            report.per_flow = members
                .iter()
                .map(|&flow| FlowReport {
                    goodput_bps: goodputs[flow],
                    loss_rate: outcome.loss[flow],
                    ..FlowReport::default()
                })
                .collect();
        }
        report
    }

    /// The samples of the outcome that the scenario's `[trace]` selects.
    pub(crate) fn traces(&self, scenario: &Scenario, outcome: &FluidOutcome) -> Traces {
        let options = scenario.trace();
        let (from, until) = (
            options.from.as_secs_f64(),
            options.until.map(Time::as_secs_f64),
        );
        let wanted = |time: f64| time >= from && until.is_none_or(|until| time <= until);
        let records = |what| options.record.contains(&what);
        let trace = &outcome.trace;
        let mut traces = Traces::default();
        for (k, &time_s) in trace
            .times
            .iter()
            .enumerate()
            .filter(|(_, time)| wanted(**time))
        {
            let delay = |l: usize| self.model.links[l].wait(time_s, trace.queues[l][k]);
            if records(Recorded::Cwnd) {
                for (number, flow) in self.model.flows.iter().enumerate() {
                    let queueing: f64 = self.model.paths[flow.path].iter().map(|&l| delay(l)).sum();
                    traces.flows.push(FlowSample {
                        time_s,
                        flow: number as u32,
                        group: self.group_of[number] as u32,
                        transfer: 0,
                        cwnd_packets: trace.windows[number][k],
                        ssthresh_packets: f64::INFINITY,
                        rtt_s: flow.propagation + queueing,
                    });
                }
            }
            if records(Recorded::Queue) || records(Recorded::Utilization) {
                let target = self.model.target;
                let used = &trace.used[target];
                traces.queue.push(QueueSample {
                    time_s,
                    packets: trace.queues[target][k],
                    delay_s: delay(target),
                    utilization: 0.5 * (used[k] + used[k.saturating_sub(1)]),
                });
            }
        }
        traces
    }
}

fn link_metrics(link: &LinkOutcome) -> BTreeMap<Metric, Estimate> {
    let mut metrics = BTreeMap::new();
    let mut put = |metric, value: f64| {
        metrics.insert(metric, Estimate::from(value));
    };
    put(Metric::Utilization, link.utilization);
    put(Metric::QueueMean, link.queue_mean);
    if link.arrived > 0.0 {
        put(Metric::LossRate, link.loss_rate);
    }
    if let Some(fraction) = link.synchronization {
        put(Metric::Synchronization, fraction);
    }
    if let Some(drains) = &link.drains {
        if let Some(longest) = drains.longest {
            put(Metric::DrainTimeMax, longest);
        }
        for (metrics, found) in Metric::DRAINS_BY_PHASE.into_iter().zip(drains.by_phase) {
            for (metric, drain) in metrics.into_iter().zip(found.into_iter().flatten()) {
                put(metric, drain);
            }
        }
    }
    if link.arrived > 0.0 {
        put_delays(&mut metrics, link);
    }
    metrics
}

/// Adds the queueing delays of a link.
fn put_delays(metrics: &mut BTreeMap<Metric, Estimate>, link: &LinkOutcome) {
    let mut put = |metric, value: f64| metrics.insert(metric, Estimate::from(value));
    put(Metric::QueueDelayMean, link.delay_mean);
    for (metric, delay) in link.delay_quantiles {
        put(metric, delay);
    }
    put(Metric::QueueDelayMax, link.delay_max);
}
