//! One run between two namespaces: applications, the loop, the report, and what there is to believe it by.

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
    FIRST_PORT, check_controllers, largest_packet, remarks, segments_at_once, settings,
};
use crate::verdict::Evidence;

/// Real-time priority of the loop: above that of the applications.
const PRIORITY: u8 = 50;

/// Descriptors that a run may need: two for each of the most flows, and those of transfers that come as they
/// come. Usual soft limits allow 1024 of them.
const DESCRIPTORS: u64 = 8192;

/// Connections that wait until they are accepted.
const BACKLOG: u16 = 4096;

/// Namespaces in which a scenario can run.
pub(crate) fn namespaces_for(scenario: &Scenario) -> Result<Namespaces, EngineError> {
    // Where fewer are allowed, whoever needs more is told.
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

/// A report, and whether to believe it.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) report: Report,
    pub(crate) evidence: Evidence,
}

/// Programs whose packets are carried as if they were of a group's flows, and who follows the run.
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

/// Sysctls by their full names.
pub(crate) fn set(scenario: &Scenario) -> Vec<(String, String)> {
    let named = |(name, value)| (format!("net.ipv4.{name}"), value);
    settings(scenario).into_iter().map(named).collect()
}

/// The operating system refuses what it has allowed before.
#[expect(clippy::needless_pass_by_value, reason = "what `map_err` wants")]
pub(crate) fn failed(error: io::Error) -> EngineError {
    EngineError::Untrusted {
        engine: NAME,
        why: format!("the operating system fails: {error}"),
    }
}

/// The run itself, in the thread that is to be the loop's.
pub(crate) fn run_between(
    namespaces: &Namespaces,
    (scenario, options): (&Scenario, &RunOptions),
    visit: Option<Visit<'_>>,
) -> Result<Outcome, EngineError> {
    let begun = thread_cpu_time();
    let listeners = listen(namespaces, scenario).map_err(failed)?;
    let applications = Applications::start(listeners).map_err(failed)?;
    // Without these privileges the machine is late more often, which the verdict sees.
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
    report.warnings.extend(remarks(scenario));
    Ok(Outcome { report, evidence })
}

/// A listener for each group, so that each may have settings of its own.
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
