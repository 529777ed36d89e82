//! The packet engine: a discrete-event simulation of every packet, acknowledgment and timer.
//!
//! A packet passes the files in this order. The event loop in [`simulation`] pops its delivery from the
//! [`calendar`] and hands it to the [`traffic`], whose [`hosts`] hold both ends: a [`connection`] (a
//! sender and its receiver, or one apart in [`reverse`]) says what may be sent, and
//! that goes through the flow's [`access`] link into the [`network`]. There each packet is offered to
//! one [`link`] after the other ([`fifo`] where nearly all go, [`gated`] and [`queued`] where a
//! discipline decides), and its departure is the next event. The [`recorder`] notes what happens, and
//! [`report`] is what a run leaves. Each file uses only files below it.

mod access;
mod backlogged;
mod bursts;
mod calendar;
mod codepoint;
mod congestion_events;
mod connection;
mod delivery_lanes;
mod demand;
mod draws;
#[cfg(test)]
mod equality;
mod event;
mod falls;
mod fifo;
mod flow;
mod flushing;
mod gated;
mod group;
mod histogram;
mod hop;
mod hosts;
mod ids;
mod incast;
mod lanes;
mod link;
mod media;
mod medium;
mod memory;
mod network;
mod opportune;
mod outlet;
mod policer;
mod prefetch;
mod queued;
#[cfg(test)]
mod random_scenarios;
mod recorder;
mod refusal;
mod report;
mod reverse;
mod sampler;
mod shaper;
mod simulation;
mod source;
mod statistics;
mod stepping;
mod timeline;
mod token_bucket;
mod traffic;
mod transfers;
mod transmitter;
mod turns;

use forebay_scenario::{
    Engine, EngineDescription, EngineError, Need, Report, RunOptions, Scenario,
};
use forebay_units::Time;

use crate::simulation::Simulation;

/// The packet engine.
#[derive(Clone, Copy, Debug, Default)]
pub struct PacketEngine;

/// The most packets that a run may send: weeks of computing.
const MAX_PACKETS: f64 = 1e14;

impl Engine for PacketEngine {
    fn description(&self) -> &'static EngineDescription {
        const {
            &EngineDescription {
                name: "packet",
                title: "A discrete-event simulation of every packet, acknowledgment and timer; an answer takes seconds.",
                source: "RFC 9293, RFC 5681, RFC 6298 and what each controller and queue discipline names",
                cheap: false,
                replicates: true,
                traces: true,
                models: Vec::new,
            }
        }
    }

    fn needs(&self, scenario: &Scenario, options: &RunOptions) -> Vec<Need> {
        scenario.needs(&demand::Kept, options.traces)
    }

    fn run(&self, scenario: &Scenario, options: &RunOptions) -> Result<Report, EngineError> {
        let mut simulation = prepare(scenario, options)?;
        simulation.run(&options.cancel)?;
        Ok(report::report(scenario, options.seed, simulation))
    }
}

/// The simulation of a run that may be held in memory, before its first event.
fn prepare<'a>(
    scenario: &'a Scenario,
    options: &RunOptions,
) -> Result<Simulation<'a>, EngineError> {
    options.check(PacketEngine.description())?;
    check(scenario)?;
    let needs = PacketEngine.needs(scenario, options);
    scenario.afford("packet", &needs, options.memory)?;
    let mut simulation = Simulation::new(scenario, options.seed)?;
    simulation.traffic.most_flows = demand::most_flows(scenario, &needs, options.memory);
    if options.traces {
        simulation.record();
    }
    Ok(simulation)
}

/// Refuses by name what the engine does not model.
fn check(scenario: &Scenario) -> Result<(), EngineError> {
    let run = scenario.run();
    let links = scenario.links().iter();
    let rates = links.map(|link| link.mean_rate(Time::ZERO, run.end()) / 8.0);
    let packets = rates.sum::<f64>() * run.end().as_secs_f64() / 64.0;
    if packets > MAX_PACKETS {
        return Err(EngineError::TooLarge {
            engine: "packet",
            why: format!("it may send {packets:.0e} packets, more than {MAX_PACKETS:.0e}"),
        });
    }
    scenario.check_arrivals("packet")?;
    check_ticks(scenario)
}

/// Packets leave a link at different ticks: none may take less than one.
fn check_ticks(scenario: &Scenario) -> Result<(), EngineError> {
    for group in scenario.flows() {
        let smallest = group.packet.infimum();
        let paths = group.path.iter().chain(&group.reverse);
        for link in paths.map(|&at| &scenario.links()[at]) {
            let rate = link.highest_rate();
            if smallest / rate.as_bytes_per_second() < 1e-12 {
                return Err(simulation::unsupported(&format!(
                    "packets of {smallest} B in group `{}`, which take less than 1 ps at {rate}",
                    group.name
                )));
            }
        }
    }
    Ok(())
}
