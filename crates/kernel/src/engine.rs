//! One run from beginning to end, alone on the machine: whether it can be, and whether to believe it.

use std::sync::{Mutex, PoisonError};

use forebay_scenario::{EngineError, Report, RunOptions, Scenario};

use crate::calibration;
use crate::run::{failed, namespaces_for, run_between};
use crate::translation::check;

/// One run at a time: two would be late for each other.
static ALONE: Mutex<()> = Mutex::new(());

/// Runs one replication in real time.
pub(crate) fn run(scenario: &Scenario, options: &RunOptions) -> Result<Report, EngineError> {
    check(scenario)?;
    options.cancel.check()?;
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    options.cancel.check()?;
    let namespaces = namespaces_for(scenario)?;
    calibration::check(scenario, options)?;
    // In a thread of its own: the priority is not the caller's to keep.
    let outcome = std::thread::scope(|scope| {
        let run = || run_between(&namespaces, (scenario, options), None);
        let thread = std::thread::Builder::new().name("path".into());
        let thread = thread.spawn_scoped(scope, run).map_err(failed)?;
        thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    outcome.evidence.judge()?;
    Ok(outcome.report)
}
