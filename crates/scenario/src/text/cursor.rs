//! The position of a reader in a scenario: a node of the file with the path that led to it.

use std::fmt::Write as _;

use crate::text::naming::{Unknown, american, documented_key, is_control, likeliest_quantity};
use crate::text::tree::{Content, Node, ScenarioError, Source, Span, ValueError};

/// A node, its path and its file: what every reader takes, and what a mistake points at.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    pub(crate) node: &'a Node,
    pub(crate) key: String,
    pub(crate) file: &'a str,
}

impl<'a> Cursor<'a> {
    pub(crate) fn root(node: &'a Node, file: &'a str) -> Self {
        Self {
            node,
            key: String::new(),
            file,
        }
    }

    /// Its position, as errors name it.
    pub(crate) fn place(&self) -> String {
        self.error("").place()
    }

    /// The error "found this value; allowed: ...".
    pub(crate) fn error(&self, allowed: impl Into<String>) -> ScenarioError {
        self.error_found(self.node.shown(), allowed)
    }

    pub(crate) fn error_found(
        &self,
        found: impl Into<String>,
        allowed: impl Into<String>,
    ) -> ScenarioError {
        self.value_error(ValueError::value(found, allowed))
    }

    /// The error for a quantity in a text that `valid` refuses, with what was likely meant.
    pub(crate) fn quantity_error(
        &self,
        valid: impl Fn(&str) -> bool,
        allowed: impl Into<String>,
    ) -> ScenarioError {
        self.value_error(ValueError::Value {
            found: self.node.shown(),
            meant: self.text().and_then(|text| likeliest_quantity(text, valid)),
            allowed: allowed.into(),
        })
    }

    /// The error for a name that is none of these.
    pub(crate) fn unknown<'n>(
        &self,
        what: &str,
        found: &str,
        known: impl IntoIterator<Item = &'n str>,
    ) -> ScenarioError {
        self.value_error(ValueError::Name(Unknown::among(what, found, known)))
    }

    /// A mistake here: at the line of the file, or at the argument that put the value here.
    pub(crate) fn value_error(&self, value_error: ValueError) -> ScenarioError {
        let in_file = |line| Source::File {
            name: self.file.to_owned(),
            line,
        };
        let (source, key) = match &self.node.place {
            Span::Line(line) => (in_file(Some(*line)), &self.key),
            Span::Nowhere => (in_file(None), &self.key),
            Span::Argument(argument, key) => (Source::Argument(argument.clone()), key),
        };
        ScenarioError {
            source,
            key: key.clone(),
            value_error: Box::new(value_error),
        }
    }

    /// The noun for the value here: the last part of its key.
    pub(crate) fn noun(&self) -> &str {
        let key = self.key.strip_suffix(".kind").unwrap_or(&self.key);
        let last = key.rsplit('.').next().unwrap_or(key);
        last.split('[').next().unwrap_or(last)
    }

    fn step(&self, part: &str, node: &'a Node) -> Self {
        let mut key = self.key.clone();
        if !key.is_empty() {
            key.push('.');
        }
        key.push_str(documented_key(part));
        Self {
            node,
            key,
            file: self.file,
        }
    }

    /// The entries of a table.
    pub(crate) fn entries(&self) -> Result<Vec<(&'a str, Self)>, ScenarioError> {
        match &self.node.content {
            Content::Table(entries) => Ok(entries
                .iter()
                .map(|(k, n)| (k.as_str(), self.step(k, n)))
                .collect()),
            _ => Err(self.error("a table")),
        }
    }

    /// Checks that this is a table with no other keys than `known`.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), ScenarioError> {
        for (key, entry) in self.entries()? {
            if !known.contains(&key) {
                let known = known.iter().map(|key| documented_key(key));
                return Err(entry.unknown("key", key, known));
            }
        }
        Ok(())
    }

    pub(crate) fn get(&self, key: &str) -> Option<Self> {
        self.node.find(key).map(|node| self.step(key, node))
    }

    pub(crate) fn require(&self, key: &str, example: &str) -> Result<Self, ScenarioError> {
        self.get(key)
            .ok_or_else(|| self.error_found(format!("no `{key}`"), format!("{key} = {example}")))
    }

    pub(crate) fn items(&self) -> Option<Vec<Self>> {
        match &self.node.content {
            Content::List(items) => Some(
                items
                    .iter()
                    .enumerate()
                    .map(|(at, node)| {
                        let mut key = self.key.clone();
                        let _ = write!(key, "[{at}]");
                        Self {
                            node,
                            key,
                            file: self.file,
                        }
                    })
                    .collect(),
            ),
            _ => None,
        }
    }

    /// The value as it would be written, shortened.
    pub(crate) fn shown(&self) -> String {
        self.node.shown()
    }

    pub(crate) fn text(&self) -> Option<&'a str> {
        match &self.node.content {
            Content::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A text of this place, if it has at most `most` characters and none of them is a control
    /// character.
    pub(crate) fn short<T: AsRef<str>>(
        &self,
        text: Option<T>,
        most: usize,
    ) -> Result<T, ScenarioError> {
        let is_short = |text: &T| {
            let text = text.as_ref();
            text.chars().count() <= most && !text.contains(is_control)
        };
        text.filter(is_short).ok_or_else(|| {
            self.error(format!(
                "a text of at most {most} characters, none of them a control character"
            ))
        })
    }

    pub(crate) fn number(&self) -> Option<f64> {
        match self.node.content {
            Content::Integer(x) => Some(x as f64),
            Content::Float(x) => Some(x),
            _ => None,
        }
    }

    /// Text parsed as a unit type, its error turned into one that points here.
    pub(crate) fn unit<T>(&self) -> Result<T, ScenarioError>
    where
        T: std::str::FromStr<Err = forebay_units::UnitError>,
    {
        match self.text() {
            Some(text) => text.parse().map_err(|e: forebay_units::UnitError| {
                self.quantity_error(|text| text.parse::<T>().is_ok(), e.allowed)
            }),
            None => match "".parse::<T>() {
                Err(e) => Err(self.error(format!("text with a unit: {}", e.allowed))),
                Ok(value) => Ok(value),
            },
        }
    }

    pub(crate) fn number_in(&self, min: f64, max: f64) -> Result<f64, ScenarioError> {
        self.number()
            .filter(|x| (min..=max).contains(x))
            .ok_or_else(|| self.error(format!("a number from {min} to {max}")))
    }

    pub(crate) fn integer_in(&self, min: u64, max: u64) -> Result<u64, ScenarioError> {
        match self.node.content {
            Content::Integer(x) => u64::try_from(x).ok().filter(|x| (min..=max).contains(x)),
            _ => None,
        }
        .ok_or_else(|| self.error(format!("a whole number from {min} to {max}")))
    }

    pub(crate) fn switch(&self) -> Result<bool, ScenarioError> {
        match self.node.content {
            Content::Bool(x) => Ok(x),
            _ => Err(self.error("true or false")),
        }
    }

    /// One of a few words, mapped to values.
    pub(crate) fn word<T: Copy>(&self, words: &[(&str, T)]) -> Result<T, ScenarioError> {
        let known = || words.iter().map(|(word, _)| *word);
        let Some(text) = self.text() else {
            return Err(self.error(known().collect::<Vec<_>>().join(", ")));
        };
        let wanted = american(text);
        let found = words.iter().find(|(word, _)| *word == wanted);
        let found = found.map(|(_, value)| *value);
        found.ok_or_else(|| self.unknown(self.noun(), text, known()))
    }
}
