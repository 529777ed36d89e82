//! One run between two namespaces: applications, loop, report and the evidence for the verdict.

use std::io;
use std::net::SocketAddrV4;

use forebay_scenario::{EngineError, Report, RunOptions, Scenario};
use forebay_simulation::{GroupId, Simulation, report};

use crate::NAME;
use crate::applications::Applications;
use crate::hosts::SocketHosts;
use crate::namespaces::{Kind, Namespaces, Setup, Sysctl};
use crate::path::{Ended, KernelSimulation, Observer, Path};
use crate::priority::{
    Policy, allow_descriptors, lock_memory, set_exact_timers, set_policy, thread_cpu_time,
};
use crate::side::Side;
use crate::tcp::Listener;
use crate::translation::{
    FIRST_PORT, check_controllers, largest_packet, notes, segments_at_once, settings,
};
use crate::verdict::Evidence;

/// Real-time priority of the loop, above that of the applications.
const PRIORITY: u8 = 50;

/// Number of descriptors that a run may need: two per flow up to the maximum, and those of
/// open-loop transfers. Usual soft limits allow 1024.
const DESCRIPTORS: u64 = 8192;

/// Maximum number of connections that wait to be accepted.
const BACKLOG: u16 = 4096;

/// Namespaces in which a scenario can run.
pub(crate) fn namespaces_for(scenario: &Scenario) -> Result<Namespaces, EngineError> {
    // If the limit is lower, a run that needs more fails with an error.
    let _ = allow_descriptors(DESCRIPTORS);
    let made = Namespaces::make(&setup(scenario));
    let namespaces = made.map_err(|missing| EngineError::Unavailable {
        engine: NAME,
        what: missing.to_string(),
    })?;
    let available = namespaces.congestion_controls(Side::Near).map_err(failed)?;
    check_controllers(scenario, &available)?;
    Ok(namespaces)
}

/// A report and its evidence.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) report: Report,
    pub(crate) evidence: Evidence,
}

/// A group whose flows carry packets of programs, and an observer of the run.
#[derive(Debug)]
pub(crate) struct Visit<'r> {
    pub(crate) group: GroupId,
    pub(crate) observer: &'r mut dyn Observer,
}

fn setup(scenario: &Scenario) -> Setup {
    let sysctls = set(scenario);
    let sysctls = sysctls.iter().map(|(name, value)| Sysctl::new(name, value));
    let sysctls: Vec<Sysctl> = sysctls.collect();
    Setup {
        mtu: largest_packet(scenario),
        segments_at_once: segments_at_once(scenario),
        near: sysctls.clone(),
        far: sysctls,
        ..Setup::default()
    }
}

/// Sysctls of a scenario with their full names.
pub(crate) fn set(scenario: &Scenario) -> Vec<(String, String)> {
    let named = |(name, value)| (format!("net.ipv4.{name}"), value);
    settings(scenario).into_iter().map(named).collect()
}

/// The error for a failure of the operating system during a run.
#[expect(clippy::needless_pass_by_value, reason = "what `map_err` wants")]
pub(crate) fn failed(error: io::Error) -> EngineError {
    EngineError::Untrusted {
        engine: NAME,
        why: format!("the operating system fails: {error}"),
    }
}

/// Runs a scenario in the current thread, which becomes the thread of the loop.
pub(crate) fn run_between(
    namespaces: &Namespaces,
    (scenario, options): (&Scenario, &RunOptions),
    visit: Option<Visit<'_>>,
) -> Result<Outcome, EngineError> {
    let begun = thread_cpu_time();
    let listeners = listen(namespaces, scenario).map_err(failed)?;
    let applications = Applications::start(listeners).map_err(failed)?;
    // Without these privileges the machine is late more often, and the verdict reports it.
    let _ = lock_memory();
    let _ = set_exact_timers();
    let _ = set_policy(Policy::Fifo(PRIORITY));
    let hosts = SocketHosts::new(scenario, namespaces, applications).map_err(failed)?;
    let refused = |refusal: forebay_simulation::Refusal| refusal.of(NAME);
    let mut simulation = Simulation::new(scenario, options.seed, hosts).map_err(refused)?;
    if options.traces {
        simulation.record();
    }
    let ended = match visit {
        Some(Visit { group, observer }) => {
            simulation.traffic.hosts.welcome(group);
            let path = Path::new(namespaces, &mut simulation, &options.cancel);
            path.followed(observer).run()
        }
        None => Path::new(namespaces, &mut simulation, &options.cancel).run(),
    };
    ended.map_err(|ended| match ended {
        Ended::Refused(refusal) => refusal.of(NAME),
        Ended::Failed(error) => failed(error),
    })?;
    simulation.finish().map_err(refused)?;
    let evidence = evidence(namespaces, &mut simulation).map_err(failed)?;
    let mut report = report(NAME, (scenario, options.seed), simulation);
    report.cost.lateness = Some(evidence.cost());
    report.cost.cpu_s = (thread_cpu_time() - begun).as_secs_f64();
    report.warnings.extend(notes(scenario));
    Ok(Outcome { report, evidence })
}

/// Makes one listener per group, so that each group may have its own settings.
fn listen(namespaces: &Namespaces, scenario: &Scenario) -> io::Result<Vec<Listener>> {
    let address = namespaces.address(Side::Far, 0);
    let address = address.ok_or_else(|| io::Error::other("no address"))?;
    let groups = scenario.flows().iter().enumerate();
    let of_sockets = groups.filter(|(_, group)| group.responsive());
    of_sockets
        .map(|(number, _)| {
            let socket = namespaces.socket(Side::Far, Kind::Tcp)?;
            let at = SocketAddrV4::new(address, FIRST_PORT + number as u16);
            Listener::listen(socket, at, BACKLOG)
        })
        .collect()
}

fn evidence(
    namespaces: &Namespaces,
    simulation: &mut KernelSimulation<'_>,
) -> io::Result<Evidence> {
    let length = simulation.end();
    let hosts = &mut simulation.traffic.hosts;
    let (window_limited, starved) = hosts.limits();
    Ok(Evidence {
        lateness: hosts.lateness.clone(),
        frozen: hosts.clock.frozen(),
        freezes: hosts.clock.freezes(),
        length,
        window_limited,
        starved,
        strays: hosts.strays,
        counters: [
            namespaces.counters(Side::Near)?,
            namespaces.counters(Side::Far)?,
        ],
    })
}
