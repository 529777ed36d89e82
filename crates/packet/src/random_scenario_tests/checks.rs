//! The properties of every run.

use forebay_attack::answers;
use forebay_scenario::{
    Cancel, Engine, EngineError, Format, Report, RunOptions, Scenario, Seed, Workload,
};

use forebay_simulation::{Account, report};

use crate::hosts::SimulatedHosts;
use crate::{NAME, PacketEngine, PacketSimulation, prepare, refused};

/// Each packet is counted once, at every link and for every flow.
fn check_conservation(simulation: &PacketSimulation<'_>) {
    for link in &simulation.network.links {
        let counted = link.statistics();
        let accepted = counted.arrivals - counted.drops.min(counted.arrivals);
        assert!(counted.drops <= counted.arrivals);
        // Packets of the queue that a discipline would discard after the run's end are not served.
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

/// Before the end is counted out: of what arrived at each link all was dropped, has begun to leave
/// or is still held there.
fn check_what_is_left(scenario: &Scenario, seed: Seed) {
    let mut simulation = PacketSimulation::new(scenario, seed, SimulatedHosts::new(scenario))
        .expect("it ran before");
    simulation
        .advance(&Cancel::default())
        .expect("it ran before");
    for link in &simulation.network.links {
        let counted = link.statistics();
        if counted.since == forebay_units::Time::ZERO {
            let left = counted.waits().histogram.count();
            assert_eq!(counted.arrivals, counted.drops + left + link.held());
        }
    }
}

/// For each group, the number of packets that have waited at the target equals the number taken in.
/// It is smaller if its discipline would discard packets only after the run's end.
fn check_waits(simulation: &PacketSimulation<'_>) {
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
        assert!(waits.sum <= u128::from(waits.longest().as_picos()) * u128::from(waited));
    }
}

/// Runs a scenario and checks all that must hold.
pub(super) fn check(text: &str) {
    let scenario = match Scenario::parse(text, Format::Toml, "random", &[]) {
        Ok(scenario) => scenario,
        // An error names the mistake; the generator hardly ever makes such scenarios.
        Err(error) => return assert!(!error.value_error.allowed().is_empty()),
    };
    let seed = Seed {
        seed: scenario.run().seed,
        replication: 0,
    };
    let options = RunOptions::from(seed);
    let outcome = PacketEngine.run(&scenario, &options);
    let mut simulation = match prepare(&scenario, &options) {
        Ok(simulation) => simulation,
        Err(error) => return check_refusal(&error, &outcome),
    };
    if let Err(refusal) = simulation.run(&Cancel::default()) {
        return check_refusal(&refused(refusal), &outcome);
    }
    check_conservation(&simulation);
    check_what_is_left(&scenario, seed);
    check_memory(&scenario, &simulation);
    let report = report(NAME, (&scenario, seed), simulation);
    answers::check(&scenario, &report);
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

/// Flows stay in memory only while they live: there are no more of them than the groups have, or
/// than open-loop transfers were ever alive at once.
fn check_memory(scenario: &Scenario, simulation: &PacketSimulation<'_>) {
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
