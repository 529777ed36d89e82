//! One run from beginning to end, alone on the machine: whether it can be, and whether to believe it.

use std::sync::{Mutex, PoisonError};

use forebay_scenario::{EngineError, Report, RunOptions, Scenario, Warning, WarningKind};

use crate::calibration;
use crate::run::{Outcome, failed, namespaces_for, run_between};
use crate::translation::check;

/// One run at a time: two would be late for each other.
static ALONE: Mutex<()> = Mutex::new(());

/// How often a run is made at most where the machine was late.
const ATTEMPTS: u32 = 3;

/// Runs one replication in real time, again where the machine was late: what held it up may be over.
pub(crate) fn run(scenario: &Scenario, options: &RunOptions) -> Result<Report, EngineError> {
    check(scenario)?;
    options.cancel.check()?;
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    options.cancel.check()?;
    calibration::check(scenario, options)?;
    let mut attempt = 1;
    let mut outcome = run_once(scenario, options)?;
    while outcome.evidence.is_late() && attempt < ATTEMPTS {
        options.cancel.check()?;
        attempt += 1;
        outcome = run_once(scenario, options)?;
    }
    outcome.evidence.judge()?;
    let warnings = outcome.evidence.warnings();
    outcome.report.warnings.extend(warnings);
    if attempt > 1 {
        outcome.report.warnings.push(repeated(attempt));
    }
    Ok(outcome.report)
}

/// That it is not the first run that is believed.
fn repeated(attempt: u32) -> Warning {
    let text = format!(
        "this is run number {attempt} of the same replication: the machine was too late at those before"
    );
    let warning = Warning::new(WarningKind::Late, text).about("attempts");
    warning.with("attempts", f64::from(attempt))
}

fn run_once(scenario: &Scenario, options: &RunOptions) -> Result<Outcome, EngineError> {
    let namespaces = namespaces_for(scenario)?;
    // In a thread of its own: the priority is not the caller's to keep.
    std::thread::scope(|scope| {
        let run = || run_between(&namespaces, (scenario, options), None);
        let thread = std::thread::Builder::new().name("path".into());
        let thread = thread.spawn_scoped(scope, run).map_err(failed)?;
        thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
