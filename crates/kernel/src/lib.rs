//! The kernel engine: real TCP of Linux behind the links of a scenario.
//!
//! Two network namespaces with one TUN device each hold the senders and the receivers; between them a
//! loop in real time ([`path`]) carries their packets through the links of [`forebay_simulation`], so that
//! queues, rates, counts and reports are the packet engine's own. [`engine`] is one run from beginning to
//! end, [`verdict`] says whether to believe it, [`hosts`] and [`ends`] are what the simulation asks of
//! whoever sends, `applications` writes and reads, `translation` is what the kernel is told of a scenario,
//! `wire` and `slots` are about single packets.
//!
//! Below these nothing knows of scenarios, queues or links: [`side`] names the two ends, [`missing`] says
//! what the machine lacks; [`lateness`] and [`clock`] measure time anywhere. The rest is Linux's:
//! [`priority`], [`wait`], [`device`], [`tcp_info`], [`tcp`] and [`counters`] are small and know of
//! nothing but themselves; `process` starts processes that only make system calls, `keeper` is what
//! such a process does in a network namespace, `keeping` what the caller asks of it, `network`
//! configures a namespace through it, [`program`] runs programs inside with what `privileges` leaves them; [`namespaces`] puts them together.

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
mod guests;
#[cfg(target_os = "linux")]
mod hosts;
#[cfg(target_os = "linux")]
mod keeper;
#[cfg(target_os = "linux")]
mod keeping;
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
                models: Vec::new,
            }
        }
    }

    fn run(&self, scenario: &Scenario, options: &RunOptions) -> Result<Report, EngineError> {
        options.check(self.description())?;
        run_engine(scenario, options)
    }
}

/// What a run sets in both namespaces before it begins: sysctls and their values, without units as the
/// kernel takes them. All others are the machine's defaults for a new namespace. Empty where the system is
/// not Linux.
#[must_use]
pub fn sysctls(scenario: &Scenario) -> Vec<(String, String)> {
    set(scenario)
}

#[cfg(target_os = "linux")]
use engine::run as run_engine;
#[cfg(target_os = "linux")]
use run::set;

/// Elsewhere there is nothing to set.
#[cfg(not(target_os = "linux"))]
fn set(_: &Scenario) -> Vec<(String, String)> {
    Vec::new()
}

/// Elsewhere there are no such namespaces.
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
