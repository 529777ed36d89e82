//! The kernel engine: real TCP of Linux behind the links of a scenario.
//!
//! Two network namespaces with one TUN device each hold the senders and the receivers. Between them
//! a real-time loop carries their packets through the links of [`forebay_simulation`]. Queues,
//! rates, counts and reports are therefore those of the packet engine.
//!
//! 1. `engine` runs a replication from beginning to end, and `translation` converts the scenario to
//!    kernel settings.
//!
//! 2. [`namespaces`] makes the namespaces with `namespace_process`, `namespace_requests`, `network`
//!    and `process`. [`program`] runs programs in them with the capabilities of `privileges`.
//!
//! 3. `path` is the loop. `hosts` and `ends` implement the hosts of the simulation, and
//!    `applications` write and read data. `wire` and `slots` handle single packets. [`emulation`]
//!    runs the loop for packets of arbitrary programs.
//!
//! 4. `verdict` decides whether the result is trusted.
//!
//! Modules of step 2 do not depend on scenarios, queues or links. [`side`] names the two ends, and
//! [`missing`] describes what a machine lacks. [`lateness`] and [`clock`] measure time on any
//! system. [`priority`], [`wait`], [`device`], [`tcp_info`], [`tcp`] and [`counters`] wrap single
//! facilities of Linux.

pub mod clock;
pub mod lateness;
pub mod missing;
pub mod side;

#[cfg(target_os = "linux")]
mod applications;
#[cfg(target_os = "linux")]
mod calibration;
#[cfg(target_os = "linux")]
pub mod counters;
#[cfg(target_os = "linux")]
pub mod device;
#[cfg(target_os = "linux")]
pub mod emulation;
#[cfg(target_os = "linux")]
mod ends;
#[cfg(target_os = "linux")]
mod engine;
#[cfg(target_os = "linux")]
mod external_flows;
#[cfg(target_os = "linux")]
mod hosts;
#[cfg(target_os = "linux")]
mod namespace_process;
#[cfg(target_os = "linux")]
mod namespace_requests;
#[cfg(target_os = "linux")]
pub mod namespaces;
#[cfg(target_os = "linux")]
mod network;
#[cfg(target_os = "linux")]
mod path;
#[cfg(target_os = "linux")]
pub mod priority;
#[cfg(target_os = "linux")]
mod privileges;
#[cfg(target_os = "linux")]
mod process;
#[cfg(target_os = "linux")]
pub mod program;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod slots;
#[cfg(target_os = "linux")]
pub mod tcp;
#[cfg(target_os = "linux")]
pub mod tcp_info;
#[cfg(target_os = "linux")]
mod translation;
#[cfg(target_os = "linux")]
mod verdict;
#[cfg(target_os = "linux")]
pub mod wait;
#[cfg(target_os = "linux")]
mod wire;

use forebay_scenario::{Engine, EngineDescription, EngineError, Report, RunOptions, Scenario};

/// The kernel engine.
#[derive(Clone, Copy, Debug, Default)]
pub struct KernelEngine;

/// The engine's name.
const NAME: &str = "kernel";

impl Engine for KernelEngine {
    fn description(&self) -> &'static EngineDescription {
        const {
            &EngineDescription {
                name: NAME,
                title: "Real TCP of this machine's kernel behind the simulated links; an answer takes as long as the run.",
                source: "the running kernel's TCP; links and queues of the packet engine",
                cheap: false,
                replicates: true,
                real_time: true,
                traces: true,
                simulates_hosts: false,
                assumes_losses: false,
                models: Vec::new,
            }
        }
    }

    fn run(&self, scenario: &Scenario, options: &RunOptions) -> Result<Report, EngineError> {
        options.check(self.description())?;
        run_engine(scenario, options)
    }
}

/// The sysctls that a run sets in both namespaces before it begins: names and values, as the kernel
/// takes them. All others keep the machine's defaults for a new namespace. Empty if the system is
/// not Linux.
#[must_use]
pub fn sysctls(scenario: &Scenario) -> Vec<(String, String)> {
    set(scenario)
}

#[cfg(target_os = "linux")]
use engine::run as run_engine;
#[cfg(target_os = "linux")]
use run::set;

/// Other systems have no such sysctls.
#[cfg(not(target_os = "linux"))]
fn set(_: &Scenario) -> Vec<(String, String)> {
    Vec::new()
}

/// Other systems have no such namespaces.
#[cfg(not(target_os = "linux"))]
fn run_engine(_: &Scenario, _: &RunOptions) -> Result<Report, EngineError> {
    Err(EngineError::Unavailable {
        engine: NAME,
        what: missing::Missing::NotLinux {
            found: std::env::consts::OS,
        }
        .to_string(),
    })
}
