//! What an engine and a closed-form model must do.

use std::collections::BTreeMap;

use forebay_random::Seed;
use serde::Serialize;

use crate::link::BufferSize;
use crate::metric::{Goal, Metric};
use crate::report::Report;
use crate::scenario::Scenario;

/// Something that answers a scenario with a report.
pub trait Engine: Sync {
    /// Name on the command line.
    fn name(&self) -> &'static str;

    /// Whether an answer is about one replication's draws, or about the laws themselves.
    fn replicates(&self) -> bool {
        true
    }

    /// Runs one replication. Equal scenarios and seeds give equal reports on every machine.
    fn run(&self, scenario: &Scenario, seed: Seed) -> Result<Report, EngineError>;
}

/// Why an engine has no answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EngineError {
    /// The scenario uses something that the engine does not model.
    #[error("the {engine} engine does not support {feature}")]
    Unsupported {
        /// The engine.
        engine: &'static str,
        /// The feature, as a user would name it.
        feature: String,
    },
    /// The scenario would take too long or too much memory.
    #[error("the scenario is too large for the {engine} engine: {why}")]
    TooLarge {
        /// The engine.
        engine: &'static str,
        /// The quantity and its bound.
        why: String,
    },
    /// A closed-form model has no answer.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The run was stopped from outside.
    #[error("interrupted")]
    Interrupted,
}

/// Whether an assumption holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Holds {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// The scenario does not say.
    Unknown,
}

/// One assumption of a model, held against a scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// The assumption in a few words ("many unsynchronised long flows").
    pub assumption: &'static str,
    /// Whether it holds.
    pub holds: Holds,
    /// Why, with the scenario's figures.
    pub why: String,
}

/// What a model predicts at the scenario's buffer: only the metrics it speaks about.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Prediction {
    /// Values in the metrics' units.
    pub metrics: BTreeMap<Metric, f64>,
    /// Remarks that belong to the numbers ("an upper bound").
    pub notes: Vec<String>,
}

/// A published formula.
pub trait ClosedForm: Sync {
    /// Name on the command line ("bdp", "sqrt-n", ...).
    fn name(&self) -> &'static str;

    /// Its assumptions, each held against the scenario.
    fn assumptions(&self, scenario: &Scenario) -> Vec<Check>;

    /// What it predicts at the scenario's buffer.
    fn predict(&self, scenario: &Scenario) -> Result<Prediction, ModelError>;

    /// The buffer it asks for to meet `goals` (its own target where it knows only one); `None`
    /// where it does not size buffers.
    fn size(&self, scenario: &Scenario, goals: &[Goal]) -> Result<Option<BufferSize>, ModelError>;
}

/// Why a model has no number.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// An input is outside of the model's domain.
    #[error("{quantity}: found {found}; allowed: {allowed}")]
    OutOfRange {
        /// The quantity, with its symbol.
        quantity: String,
        /// Its value.
        found: String,
        /// The bound that it breaks.
        allowed: String,
    },
    /// The model does not speak about such scenarios.
    #[error("not applicable: {0}")]
    NotApplicable(String),
    /// There is no solution.
    #[error("no solution: {0}")]
    NoSolution(String),
    /// There is no such model, quantity or parameter.
    #[error("unknown {what} `{found}`; known: {known}")]
    Unknown {
        /// "model", "quantity" or "parameter".
        what: &'static str,
        /// What was asked for.
        found: String,
        /// What exists.
        known: String,
    },
}

/// Set from outside to stop all runs of this process soon; engines look at it now and then.
static INTERRUPT: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

/// Asks all runs of this process to stop with [`EngineError::Interrupted`], or (false) lets new
/// ones go ahead.
pub fn set_interrupt(stop: bool) {
    INTERRUPT.store(stop, std::sync::atomic::Ordering::Relaxed);
}

/// Whether runs should stop.
pub fn interrupted() -> bool {
    INTERRUPT.load(std::sync::atomic::Ordering::Relaxed)
}
