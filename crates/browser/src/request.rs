//! What may be asked, as JSON: `{"do": "check", "text": "[link]\nrate = ..."}`.

use forebay_scenario::{Format, Override, Scenario, ScenarioError, Seed};
use serde::Deserialize;

/// A request. What is not said has the scenario's value, or none.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub(crate) enum Request {
    /// The version, the engines, the limits and the columns of pictures.
    Describe,
    /// What a scenario says once it is resolved, or its first mistake.
    Check(Text),
    /// What every closed form makes of a scenario.
    Rules(Text),
    /// The report of an engine that answers at once: `fluid` or `closed_form`.
    Answer(Question),
    /// Sets a run of packets up before its first event, in the place of the one before.
    Begin(Question),
    /// The report of a run that has reached its end, which is then over.
    Finish,
    /// Ends the run without a report and gives its memory back.
    Stop,
}

/// A scenario as a page has it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Text {
    /// The scenario.
    #[serde(rename = "text")]
    spelled: String,
    /// How it is spelled.
    #[serde(default)]
    format: Spelling,
    /// What errors call it.
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
    /// The scenario that it spells.
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

/// A scenario, and how it is to be answered.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Question {
    /// The scenario.
    #[serde(flatten)]
    pub(crate) scenario: Text,
    /// Who answers; nothing else than `packet` runs in steps.
    pub(crate) engine: Option<String>,
    /// The model of an engine that has some.
    pub(crate) model: Option<String>,
    seed: Option<u64>,
    #[serde(default)]
    replication: u64,
}

impl Question {
    /// What its random streams are derived from.
    pub(crate) fn seed(&self, scenario: &Scenario) -> Seed {
        Seed {
            seed: self.seed.unwrap_or(scenario.run().seed),
            replication: self.replication,
        }
    }
}
