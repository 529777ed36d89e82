//! Requests as JSON: `{"do": "check", "text": "[link]\nrate = ..."}`. [`crate::laboratory`]
//! performs them.

use forebay_scenario::{Edit, Format, Override, Scenario, ScenarioError, Seed};
use serde::Deserialize;
use serde_json::Value;

use crate::answer::Refusal;
use crate::modules::{admit_all, mentions_module};

/// A request. A field that is missing has the scenario's value, or none.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub(crate) enum Request {
    /// The version, the engines, the limits and the columns of pictures.
    Describe,
    /// The resolved scenario, or its first error.
    Check(Text),
    /// The text of the scenario, in TOML, after changes in their order.
    Edit(Changes),
    /// The verdict of every closed form on a scenario.
    Rules(Text),
    /// Checks and registers the WebAssembly module of a file that the user has opened.
    Open(ModuleFile),
    /// The report of an engine that answers at once: `fluid` or `closed_form`.
    Answer(Question),
    /// Prepares a packet-level run before its first event. It replaces the previous run.
    Begin(Question),
    /// Whether the page can play a scenario, without a run.
    Playable(Text),
    /// Packets that the target link of the run has lost or marked. They remain until the next run.
    Signals(Listing),
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
    /// SHA-256 of the modules that the user lets run.
    #[serde(default)]
    modules: Vec<String>,
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
    /// Parses the scenario, applies the changes and registers the modules.
    pub(crate) fn read(&self) -> Result<Scenario, Refusal> {
        let mut texts = self.overrides.iter().chain([&self.spelled]);
        // The parser tells the error of a text that is damaged.
        if texts.any(|text| mentions_module(text))
            && let Ok(written) = self.written()
        {
            admit_all(&written, &self.modules)?;
        }
        let changes = self.changes()?;
        Ok(Scenario::parse(
            &self.spelled,
            self.format(),
            &self.file,
            &changes,
        )?)
    }

    /// The same text with one more change, `key=value`.
    pub(crate) fn changed(&self, change: String) -> Self {
        let mut changed = self.clone();
        changed.overrides.push(change);
        changed
    }

    /// The values as the text writes them, with the changes.
    pub(crate) fn written(&self) -> Result<Value, ScenarioError> {
        Scenario::written(&self.spelled, self.format(), &self.file, &self.changes()?)
    }

    /// The lines of a flow group in the text.
    pub(crate) fn group(&self, number: usize) -> Option<&str> {
        let is_toml = self.format == Spelling::Toml;
        is_toml.then(|| Scenario::group_text(&self.spelled, number))?
    }

    fn format(&self) -> Format {
        match self.format {
            Spelling::Toml => Format::Toml,
            Spelling::Json => Format::Json,
        }
    }

    fn changes(&self) -> Result<Vec<Override>, ScenarioError> {
        let changes = self.overrides.iter().map(|change| Override::parse(change));
        changes.collect()
    }
}

/// A WebAssembly module.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct ModuleFile {
    /// Name of the file.
    pub(crate) file: String,
    /// The bytes in Base64.
    pub(crate) source: String,
}

/// A scenario in TOML and changes to its text.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Changes {
    text: String,
    changes: Vec<Change>,
}

/// A change to a scenario's text: `{"set": "link.rate=2Mbps"}`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Change {
    /// Sets a key, `key=value`.
    Set(String),
    /// Removes a key or a flow group.
    Remove(String),
    /// Adds flow groups, written as in the text.
    AddGroup(String),
}

impl Changes {
    /// The text after the changes.
    pub(crate) fn apply(&self) -> Result<String, ScenarioError> {
        let edits = self.changes.iter().map(|change| {
            Ok(match change {
                Change::Set(change) => Edit::Set(Override::parse(change)?),
                Change::Remove(key) => Edit::Remove(key.clone()),
                Change::AddGroup(group) => Edit::AddGroup(group.clone()),
            })
        });
        let edits = edits.collect::<Result<Vec<_>, ScenarioError>>()?;
        Scenario::edited(&self.text, &unnamed(), &edits)
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
    /// The chart of a run in steps.
    pub(crate) chart: Option<ChartSize>,
}

/// The size of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct ChartSize {
    /// The largest number of columns.
    pub(crate) columns: usize,
    /// Number of flows whose windows are drawn.
    pub(crate) flows: usize,
}

/// A part of a list of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Listing {
    pub(crate) kind: SignalKind,
    /// Number of the first packet, counted from 0 since the beginning of the run.
    pub(crate) from: u64,
    /// The largest number of packets.
    pub(crate) count: u64,
}

/// The kind of a list of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SignalKind {
    /// Lost packets.
    Dropped,
    /// Packets with a mark.
    Marked,
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
