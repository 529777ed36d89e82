//! Requests as JSON: `{"do": "check", "text": "[link]\nrate = ..."}`. [`crate::laboratory`]
//! performs them.

use forebay_scenario::{Format, Override, Scenario, ScenarioError, Seed};
use serde::Deserialize;

/// A request. A field that is missing has the scenario's value, or none.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub(crate) enum Request {
    /// The version, the engines, the limits and the columns of pictures.
    Describe,
    /// The resolved scenario, or its first error.
    Check(Text),
    /// The verdict of every closed form on a scenario.
    Rules(Text),
    /// The report of an engine that answers at once: `fluid` or `closed_form`.
    Answer(Question),
    /// Prepares a packet-level run before its first event. It replaces the previous run.
    Begin(Question),
    /// The report of a run that has reached its end. The run is then over.
    Finish,
    /// Ends the run without a report and frees its memory.
    Stop,
}

/// A scenario as text.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Text {
    /// The text of the scenario.
    #[serde(rename = "text")]
    spelled: String,
    /// The format of the text.
    #[serde(default)]
    format: Spelling,
    /// The name of the text in errors.
    #[serde(default = "unnamed")]
    file: String,
    /// Changes `key=value`, in order.
    #[serde(default)]
    overrides: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Spelling {
    #[default]
    Toml,
    Json,
}

fn unnamed() -> String {
    "scenario".to_owned()
}

impl Text {
    /// Parses the scenario and applies the changes.
    pub(crate) fn read(&self) -> Result<Scenario, ScenarioError> {
        let changes = self.overrides.iter().map(|change| Override::parse(change));
        let changes = changes.collect::<Result<Vec<_>, _>>()?;
        let format = match self.format {
            Spelling::Toml => Format::Toml,
            Spelling::Json => Format::Json,
        };
        Scenario::parse(&self.spelled, format, &self.file, &changes)
    }
}

/// A scenario and the way to answer it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Question {
    /// The scenario.
    #[serde(flatten)]
    pub(crate) scenario: Text,
    /// The engine's name. Only `packet` runs in steps.
    pub(crate) engine: Option<String>,
    /// The model of an engine that has several.
    pub(crate) model: Option<String>,
    seed: Option<u64>,
    #[serde(default)]
    replication: u64,
}

impl Question {
    /// The seed of its random streams.
    pub(crate) fn seed(&self, scenario: &Scenario) -> Seed {
        Seed {
            seed: self.seed.unwrap_or(scenario.run().seed),
            replication: self.replication,
        }
    }
}
