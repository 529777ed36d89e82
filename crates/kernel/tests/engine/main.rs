//! Properties of runs with this machine's own TCP that hold for any lateness of the machine. If the
//! machine allows no namespaces, each test prints why it was skipped.
#![cfg(target_os = "linux")]

mod attacks;
mod endings;
#[path = "../common/ignored.rs"]
mod ignored;
mod laws;
mod refusals;
mod traces;
mod transfers;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use forebay_kernel::emulation::Emulation;
use forebay_scenario::{EngineError, Format, Metric, Report, RunOptions, Scenario, Seed};

/// Lock for one run at a time, because two runs would delay each other.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn scenario(text: &str) -> Scenario {
    Scenario::parse(text, Format::Toml, "test", &[]).expect("a scenario")
}

fn traced() -> RunOptions {
    RunOptions {
        traces: true,
        ..plain()
    }
}

fn plain() -> RunOptions {
    RunOptions::from(Seed {
        seed: 1,
        replication: 0,
    })
}

/// A path that carries packets; `None` after printing why it is not available.
fn start(text: &str, options: RunOptions) -> Option<Emulation> {
    available(Emulation::start(scenario(text), 0, options))
}

/// The result, or `None` if this machine lacks a requirement.
fn available<T>(result: Result<T, EngineError>) -> Option<T> {
    match result {
        Ok(made) => Some(made),
        Err(error @ EngineError::Unavailable { .. }) => {
            eprintln!("skipped: {error}");
            assert!(std::env::var_os("FOREBAY_NO_SKIP").is_none(), "{error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// The report of a scenario at its end, even if the machine was late.
fn report(text: &str, options: RunOptions) -> Option<Report> {
    let _turn = turn();
    let emulation = start(text, options)?;
    while emulation.goes_on() {
        std::thread::sleep(Duration::from_millis(5));
    }
    Some(emulation.finish().expect("a report"))
}

fn value(report: &Report, metric: Metric) -> f64 {
    report.value(metric).expect("a metric")
}
