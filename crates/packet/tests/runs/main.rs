//! Whole runs of the packet engine: against theory and other programs, and what must hold for every
//! scenario.

mod acknowledgments;
mod captures;
mod cellular;
mod classes;
mod controllers;
mod delay_based;
mod delays;
mod demand;
mod disciplines;
mod docsis;
mod drain_time;
mod engine;
mod equilibria;
mod fabric;
mod frto;
mod go_back_n;
mod hpcc;
mod leaf_spine;
mod linux;
mod lossless;
mod lossless_classes;
mod lossless_laws;
mod lossless_spread;
mod many_flows;
mod measurements;
mod media;
mod ns2;
mod outages;
mod phases;
mod policing;
mod random_states;
mod reverse;
mod shaping;
mod steps;
mod switch;
mod switch_fab;
mod switch_memory;
mod wifi;
mod workloads;

use forebay_packet::PacketEngine;
use forebay_scenario::{Engine, Format, Metric, Override, Report, RunOptions, Scenario, Seed};

/// A scenario from TOML text and `key=value` changes, which a failing test shows.
fn scenario<S: AsRef<str>>(text: &str, changes: &[S]) -> Scenario {
    let changes = changes.iter().map(AsRef::as_ref);
    eprintln!("{text}\n{:?}", changes.clone().collect::<Vec<_>>());
    let changes: Vec<Override> = changes
        .map(|change| Override::parse(change).expect("a change"))
        .collect();
    Scenario::parse(text, Format::Toml, "test", &changes).expect("a scenario")
}

/// Its first replication.
fn replication(scenario: &Scenario, seed: u64) -> Report {
    let seed = Seed {
        seed,
        replication: 0,
    };
    PacketEngine.run(scenario, &seed.into()).expect("a report")
}

fn run(text: &str) -> Report {
    run_with::<&str>(text, &[])
}

fn run_with<S: AsRef<str>>(text: &str, changes: &[S]) -> Report {
    replication(&scenario(text, changes), 0)
}

/// A run that records what its `[trace]` asks for.
fn traced(text: &str) -> Report {
    let options = RunOptions {
        traces: true,
        ..RunOptions::default()
    };
    let report = PacketEngine.run(&scenario::<&str>(text, &[]), &options);
    report.expect("a report")
}

fn value(report: &Report, metric: Metric) -> f64 {
    report
        .value(metric)
        .unwrap_or_else(|| panic!("{}", metric.name()))
}

fn of_group(report: &Report, group: usize, metric: Metric) -> f64 {
    let value = report.groups[group].metrics.get(&metric);
    value.unwrap_or_else(|| panic!("{}", metric.name())).mean
}
