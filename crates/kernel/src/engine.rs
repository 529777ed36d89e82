//! One run from beginning to end, alone on the machine, with the checks before it and the verdict
//! after it.

use std::sync::{Mutex, PoisonError};

use forebay_scenario::{EngineError, Report, RunOptions, Scenario, Warning, WarningKind};

use crate::calibration;
use crate::run::{Outcome, failed, namespaces_for, run_between};
use crate::translation::check;

/// Lock for one run at a time, because two runs would delay each other.
static ALONE: Mutex<()> = Mutex::new(());

/// Maximum number of attempts of a run if the machine was late.
const ATTEMPTS: u32 = 3;

/// Runs one replication in real time. If the machine was late, the run is repeated, because the
/// cause may be over.
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

/// The warning that this report is not from the first attempt.
fn repeated(attempt: u32) -> Warning {
    let text = format!(
        "this is attempt {attempt} of the replication, because the machine was too late in the earlier attempts"
    );
    let warning = Warning::new(WarningKind::Late, text).about("attempts");
    warning.with("attempts", f64::from(attempt))
}

fn run_once(scenario: &Scenario, options: &RunOptions) -> Result<Outcome, EngineError> {
    let namespaces = namespaces_for(scenario)?;
    // The run has its own thread, because the caller must not keep the real-time priority.
    std::thread::scope(|scope| {
        let run = || run_between(&namespaces, (scenario, options), None);
        let thread = std::thread::Builder::new().name("path".into());
        let thread = thread.spawn_scoped(scope, run).map_err(failed)?;
        thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
