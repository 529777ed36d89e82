//! The recorded pauses as a report has them, with the names of links and classes.

use forebay_scenario::{PauseRecord, Scenario};
use forebay_units::Time;

use crate::pause::LinkQueue;
use crate::pause_frame::Sender;
use crate::simulation::Simulation;
use crate::traffic::hosts::Hosts;

/// The name of a queue: that of its link, or `link.class`.
pub(super) fn queue_name(scenario: &Scenario, (link, class): LinkQueue) -> String {
    let link = &scenario.links()[link.index()];
    match link.classes.get(usize::from(class)) {
        Some(class) => format!("{}.{}", link.name, class.name),
        None => link.name.clone(),
    }
}

/// The pauses that the scenario's `[trace]` asks for.
pub(super) fn records<'a, H: Hosts<'a>>(
    scenario: &Scenario,
    simulation: &Simulation<'a, H>,
) -> Vec<PauseRecord> {
    let flows = simulation.traffic.hosts.flows();
    let records = simulation.network.recorded_pauses().map(|pause| {
        let (link, group, flow) = match pause.sender {
            Sender::Link(link, class) => (queue_name(scenario, (link, class)), -1, -1),
            Sender::Host(host) => {
                let flow = &flows[host];
                let group = flow.transit.group.index();
                let before = scenario.flows().iter().take(group);
                let first: u64 = before.map(|group| group.count).sum();
                (String::new(), group as i64, (first + flow.index) as i64)
            }
        };
        PauseRecord {
            link,
            group,
            flow,
            begun_s: pause.begun.as_secs_f64(),
            ended_s: pause.ended.map_or(f64::INFINITY, Time::as_secs_f64),
        }
    });
    records.collect()
}
