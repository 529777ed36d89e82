//! The traits of an engine and of a closed-form model, with their descriptions. Each engine
//! implements one, and `crates/engines` registers it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use forebay_random::Seed;
use forebay_units::Bytes;
use serde::Serialize;

use crate::answer::footprint::Need;
use crate::answer::report::Report;
use crate::model::buffer::BufferSize;
use crate::model::metric::{Goal, Metric};
use crate::model::scenario::Scenario;
use crate::text::naming::Unknown;

/// Something that answers a scenario with a report.
pub trait Engine: Sync {
    /// Its name, title and capabilities.
    fn description(&self) -> &'static EngineDescription;

    /// The memory that one replication may need at most, by the key that causes it.
    fn needs(&self, _scenario: &Scenario, _options: &RunOptions) -> Vec<Need> {
        Vec::new()
    }

    /// Runs one replication. Equal scenarios and seeds give equal reports on every machine, with
    /// traces and without, unless the engine runs in real time.
    ///
    /// # Errors
    /// An unsupported feature, by name; a run that would be too large; a canceled run; a machine
    /// that cannot run it, or could not keep up with it.
    fn run(&self, scenario: &Scenario, options: &RunOptions) -> Result<Report, EngineError>;
}

/// The description of an engine for users: its name, its title and its capabilities.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, each asked for by its name"
)]
pub struct EngineDescription {
    /// Name on the command line.
    pub name: &'static str,
    /// Title of the engine, in a sentence.
    pub title: &'static str,
    /// Origin of its method.
    pub source: &'static str,
    /// Whether an answer takes milliseconds at most, so that many are asked for where others stand
    /// beside it.
    pub cheap: bool,
    /// Whether an answer is about one replication's draws, or about the laws themselves.
    pub replicates: bool,
    /// Whether it records over time what `[trace]` asks for.
    pub traces: bool,
    /// Whether a run takes as long as it says by this machine's clock. Whatever runs beside it
    /// would falsify it, and equal seeds give similar reports instead of equal ones.
    pub real_time: bool,
    /// Whether it simulates hosts and each of their packets.
    pub simulates_hosts: bool,
    /// Whether it assumes which share of the flows loses at a congestion event, instead of
    /// simulating it.
    pub assumes_losses: bool,
    /// Names of the models among which one may choose; none where there is only the engine.
    pub models: fn() -> Vec<&'static str>,
}

/// How one replication is to be run.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// The seed and the replication's number: what all random streams are derived from.
    pub seed: Seed,
    /// Whether to record over time what the scenario's `[trace]` asks for.
    pub traces: bool,
    /// The model to answer with, instead of the one that the engine would choose.
    pub model: Option<String>,
    /// Bytes that the run may need; [`crate::DEFAULT_MEMORY`] where nothing is said.
    pub memory: Option<Bytes>,
    /// Looked at now and then; a canceled run ends with [`EngineError::Interrupted`].
    pub cancel: Cancel,
}

impl From<Seed> for RunOptions {
    /// The plain run of this seed: no traces, the engine's own choice of model.
    fn from(seed: Seed) -> Self {
        Self {
            seed,
            ..Self::default()
        }
    }
}

impl RunOptions {
    /// Refuses what `engine` cannot do, before anything runs.
    ///
    /// # Errors
    /// An unknown model with those that exist, or a feature that the engine lacks.
    pub fn check(&self, engine: &EngineDescription) -> Result<(), EngineError> {
        let unsupported = |feature: &str| EngineError::Unsupported {
            engine: engine.name,
            feature: feature.to_owned(),
        };
        if self.traces && !engine.traces {
            return Err(unsupported("traces"));
        }
        let Some(model) = &self.model else {
            return Ok(());
        };
        let known = (engine.models)();
        if known.is_empty() {
            return Err(unsupported("a choice of models"));
        }
        if known.contains(&model.as_str()) {
            return Ok(());
        }
        Err(EngineError::Model(ModelError::Unknown(Unknown::among(
            "model", model, known,
        ))))
    }
}

/// A request to stop. The caller that makes it shares it with the runs that check it.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

/// Two requests are equal where they ask the same.
impl PartialEq for Cancel {
    fn eq(&self, other: &Self) -> bool {
        self.requested() == other.requested()
    }
}

impl Cancel {
    /// Asks all runs that share this to end soon.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether that was asked.
    pub fn requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Ends a run that was asked to stop.
    ///
    /// # Errors
    /// [`EngineError::Interrupted`] where it was.
    pub fn check(&self) -> Result<(), EngineError> {
        if self.requested() {
            return Err(EngineError::Interrupted);
        }
        Ok(())
    }
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
    /// This machine cannot run the engine.
    #[error("the {engine} engine cannot run here: {what}")]
    Unavailable {
        /// The engine.
        engine: &'static str,
        /// Missing part and remedy: one line.
        what: String,
    },
    /// The engine ran, and what it measured is not to be believed.
    #[error("the {engine} engine refuses its own run: {why}")]
    Untrusted {
        /// The engine.
        engine: &'static str,
        /// Reason that spoiled the run, with its figures: one line.
        why: String,
    },
    /// The code of a user ended the run.
    #[error("{why}")]
    Code {
        /// File, line and error, and the state of the run.
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
    /// For more than half of the flows, or of the load.
    Partly,
    /// It does not, or for half of them at most.
    No,
    /// The scenario does not say.
    Unknown,
}

/// One assumption of a model, compared with a scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// The assumption in a few words ("many unsynchronized long flows").
    pub assumption: &'static str,
    /// Whether it holds.
    pub holds: Holds,
    /// For which share of the flows it does, 0 to 1, or of the load; none where it is about
    /// neither.
    pub share: Option<f64>,
    /// Why, with the scenario's figures: what an engineer reads behind "does not apply: ", or
    /// behind "applies: ".
    pub why: String,
}

/// The prediction of a model at the scenario's buffer: only the metrics that the model covers.
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

    /// Its assumptions, each compared with the scenario.
    fn assumptions(&self, scenario: &Scenario) -> Vec<Check>;

    /// The prediction at the scenario's buffer.
    fn predict(&self, scenario: &Scenario) -> Result<Prediction, ModelError>;

    /// The buffer it asks for to meet `goals` (its own target where it knows only one); `None`
    /// where it does not size buffers.
    fn size(&self, scenario: &Scenario, goals: &[Goal]) -> Result<Option<BufferSize>, ModelError>;
}

/// Why a model has no number: what an engineer reads behind "does not apply: ".
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// An input is outside of the model's domain.
    #[error("the {quantity} is {found}; the formula needs {allowed}")]
    OutOfRange {
        /// The quantity in words.
        quantity: String,
        /// Its value.
        found: String,
        /// Allowed values, in words.
        allowed: String,
    },
    /// The model does not speak about such scenarios.
    #[error("{0}")]
    NotApplicable(String),
    /// There is no solution.
    #[error("{0}")]
    NoSolution(String),
    /// There is no such model, quantity or parameter.
    #[error("{0}")]
    Unknown(Unknown),
}
