//! The packet engine: a discrete-event simulation of every packet, acknowledgement and timer.
//!
//! Files follow a packet: [`connection`] (a sender and its receiver), the flow's
//! access link in [`flow`], the bottleneck in [`link`] and [`queued`] (with [`network`] between them
//! and the flows), back through the [`calendar`]; [`simulation`] is the event loop and [`report`] what it leaves.

mod bursts;
mod calendar;
mod connection;
#[cfg(test)]
mod equality;
mod flow;
mod incast;
mod link;
mod memory;
mod network;
mod prefetch;
mod queued;
#[cfg(test)]
mod random_scenarios;
mod report;
mod reverse;
mod sampler;
mod simulation;
mod statistics;
mod transfers;

use forebay_scenario::{Engine, EngineError, Report, Scenario, Seed};

use crate::simulation::Simulation;

/// The packet engine.
#[derive(Clone, Copy, Debug, Default)]
pub struct PacketEngine;

/// The packet engine recording traces over time, as the scenario's `[trace]` asks.
#[derive(Clone, Copy, Debug, Default)]
pub struct TracingPacketEngine;

/// The most packets that a run may send: weeks of computing.
const MAX_PACKETS: f64 = 1e14;

impl Engine for PacketEngine {
    fn name(&self) -> &'static str {
        "packet"
    }

    fn run(&self, scenario: &Scenario, seed: Seed) -> Result<Report, EngineError> {
        check(scenario)?;
        let mut simulation = Simulation::new(scenario, seed)?;
        simulation.run()?;
        Ok(report::report(scenario, seed, simulation))
    }
}

impl Engine for TracingPacketEngine {
    fn name(&self) -> &'static str {
        "packet"
    }

    fn run(&self, scenario: &Scenario, seed: Seed) -> Result<Report, EngineError> {
        check(scenario)?;
        let mut simulation = Simulation::new(scenario, seed)?;
        simulation.record();
        simulation.run()?;
        Ok(report::report(scenario, seed, simulation))
    }
}

/// Refuses by name what the engine does not model.
fn check(scenario: &Scenario) -> Result<(), EngineError> {
    let run = scenario.run();
    let rates = scenario
        .links()
        .iter()
        .map(|link| link.rate.as_bytes_per_second());
    let packets = rates.sum::<f64>() * (run.warmup + run.measure).as_secs_f64() / 64.0;
    if packets > MAX_PACKETS {
        return Err(EngineError::TooLarge {
            engine: "packet",
            why: format!("it may send {packets:.0e} packets, more than {MAX_PACKETS:.0e}"),
        });
    }
    check_ticks(scenario)
}

/// Packets leave a link at different ticks: none may take less than one.
fn check_ticks(scenario: &Scenario) -> Result<(), EngineError> {
    for group in scenario.flows() {
        let smallest = group.packet.infimum();
        let paths = group.path.iter().chain(&group.reverse);
        for link in paths.map(|&at| &scenario.links()[at]) {
            if smallest / link.rate.as_bytes_per_second() < 1e-12 {
                return Err(simulation::unsupported(&format!(
                    "packets of {smallest} B in group `{}`, which take less than 1 ps at {}",
                    group.name, link.rate
                )));
            }
        }
    }
    Ok(())
}
