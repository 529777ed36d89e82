//! The packet engine: a discrete-event simulation of every packet, acknowledgment and timer.
//! Events, traffic, links and measurements are those of [`forebay_simulation`]; this crate has the
//! two ends of every connection.
//!
//! 1. A delivery reaches the `hosts`, which hold all connections.
//! 2. A `connection` is a sender and its receiver. Its guide follows an acknowledgment through
//!    them. Receivers whose acknowledgments cross links are in `reverse`.
//! 3. The packets that it may send enter the network through the access link of the flow.
//!
//! `stepwise` lets a caller watch a run while it goes on. `tcp_options` records the TCP headers
//! of packets. `memory_estimate` states the memory of a run. Each file uses only files below it.

mod connection;
mod ends;
#[cfg(test)]
mod equality_tests;
mod hosts;
#[cfg(test)]
mod link_and_mark_tests;
mod memory_estimate;
#[cfg(test)]
mod random_scenario_tests;
mod reverse;
mod stepwise;
mod tcp_options;

use forebay_scenario::{
    Engine, EngineDescription, EngineError, Need, Report, RunOptions, Scenario,
};
use forebay_units::Time;

use forebay_simulation::{
    Refusal, Simulation, mixed_classes, report, takes_part, takes_turns, unsupported,
};

use crate::hosts::SimulatedHosts;

pub use stepwise::{
    Chart, FlowPicture, LinkPicture, SenderState, StateHistory, Stepwise, WINDOW_UNIT,
};

/// The packet engine.
#[derive(Clone, Copy, Debug, Default)]
pub struct PacketEngine;

/// The engine's name.
const NAME: &str = "packet";

/// The most packets that a run may send: weeks of computing.
const MAX_PACKETS: f64 = 1e14;

impl Engine for PacketEngine {
    fn description(&self) -> &'static EngineDescription {
        const {
            &EngineDescription {
                name: NAME,
                title: "A discrete-event simulation of every packet, acknowledgment and timer; an answer takes seconds.",
                source: "RFC 9293, RFC 5681, RFC 6298 and what each controller and queue discipline names",
                cheap: false,
                replicates: true,
                traces: true,
                real_time: false,
                simulates_hosts: true,
                assumes_losses: false,
                models: Vec::new,
            }
        }
    }

    fn needs(&self, scenario: &Scenario, options: &RunOptions) -> Vec<Need> {
        scenario.needs(&memory_estimate::PacketMemory, options.traces)
    }

    fn run(&self, scenario: &Scenario, options: &RunOptions) -> Result<Report, EngineError> {
        let mut simulation = prepare(scenario, options)?;
        simulation.run(&options.cancel).map_err(refused)?;
        Ok(report(NAME, (scenario, options.seed), simulation))
    }
}

/// A run of this engine.
type PacketSimulation<'a> = Simulation<'a, SimulatedHosts<'a>>;

fn refused(refusal: Refusal) -> EngineError {
    refusal.of(NAME)
}

/// The simulation of a run that may be held in memory, before its first event.
fn prepare<'a>(
    scenario: &'a Scenario,
    options: &RunOptions,
) -> Result<PacketSimulation<'a>, EngineError> {
    let needs = admit(scenario, options)?;
    let hosts = SimulatedHosts::new(scenario);
    let mut simulation = Simulation::new(scenario, options.seed, hosts).map_err(refused)?;
    simulation.traffic.most_flows = memory_estimate::most_flows(scenario, &needs, options.memory);
    if options.traces {
        simulation.record();
    }
    Ok(simulation)
}

/// The memory that a run may need; refuses what the engine does not model and what is too large.
fn admit(scenario: &Scenario, options: &RunOptions) -> Result<Vec<Need>, EngineError> {
    options.check(PacketEngine.description())?;
    check(scenario)?;
    let needs = PacketEngine.needs(scenario, options);
    scenario.afford(NAME, &needs, options.memory)?;
    Ok(needs)
}

/// Refuses by name what the engine does not model.
fn check(scenario: &Scenario) -> Result<(), EngineError> {
    let run = scenario.run();
    let links = scenario.links().iter();
    let rates = links.map(|link| link.mean_rate(Time::ZERO, run.end()) / 8.0);
    let packets = rates.sum::<f64>() * run.end().as_secs_f64() / 64.0;
    if packets > MAX_PACKETS {
        return Err(EngineError::TooLarge {
            engine: NAME,
            why: format!("it may send {packets:.0e} packets, more than {MAX_PACKETS:.0e}"),
        });
    }
    scenario.check_arrivals(NAME)?;
    check_lossless(scenario)?;
    check_ticks(scenario)
}

/// Refuses lossless queues whose senders cannot be paused.
fn check_lossless(scenario: &Scenario) -> Result<(), EngineError> {
    let links = scenario.links();
    let refuse = |why: String| Err(refused(unsupported(&why)));
    for group in scenario.flows() {
        let reverse = group.reverse.first();
        let first = reverse.or_else(|| group.path.first().filter(|_| !group.responsive()));
        if let Some(link) = first
            .map(|&at| &links[at])
            .filter(|link| link.pfc_of(&group.name).is_some())
        {
            let sender = if reverse.is_some() {
                "acknowledgments"
            } else {
                "sources without congestion control"
            };
            return refuse(format!(
                "{sender} of group `{}` in the lossless queue of link `{}` (`pfc`), which cannot pause them; allowed: a link before it",
                group.name, link.name
            ));
        }
    }
    if let Some(mixed) = mixed_classes(scenario) {
        return refuse(mixed);
    }
    match (0..links.len()).find(|&at| takes_turns(&links[at]) && takes_part(scenario, at)) {
        Some(at) => refuse(format!(
            "a medium, a shaper, opportunities or outages that flush at link `{}`, which is lossless or before a lossless link (`pfc`)",
            links[at].name
        )),
        None => Ok(()),
    }
}

/// Packets leave a link at different ticks: none may take less than one.
fn check_ticks(scenario: &Scenario) -> Result<(), EngineError> {
    for group in scenario.flows() {
        let smallest = group.packet.infimum();
        let paths = group.path.iter().chain(&group.reverse);
        for link in paths.map(|&at| &scenario.links()[at]) {
            let rate = link.highest_rate();
            if smallest / rate.as_bytes_per_second() < 1e-12 {
                let why = format!(
                    "packets of {smallest} B in group `{}`, which take less than 1 ps at {rate}",
                    group.name
                );
                return Err(refused(unsupported(&why)));
            }
        }
    }
    Ok(())
}
