//! A scenario file as a tree whose nodes remember their line, and the error that points at one.

use std::fmt;
use std::sync::Arc;

use crate::naming::{Unknown, american_key, shortened};

/// A mistake in a scenario: where it is, what was found and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// Who asked for what is wrong.
    pub source: Source,
    /// Dotted path of the key; empty for none.
    pub key: String,
    /// What is wrong there.
    pub mistake: Box<Mistake>,
}

/// Where a wrong value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file, or what stands for one ("<text>").
    File {
        /// Its name.
        name: String,
        /// The line, where it is known (not for JSON values).
        line: Option<usize>,
    },
    /// An argument of a function or the option of the same name: "overrides", "also".
    Argument(Arc<str>),
}

/// What is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// It is none of those that are allowed.
    Value {
        /// What was found.
        found: String,
        /// What was likely meant.
        meant: Option<String>,
        /// What would be accepted.
        allowed: String,
    },
    /// It names what does not exist.
    Name(Unknown),
}

impl Mistake {
    /// A value, and what is allowed instead.
    pub(crate) fn value(found: impl Into<String>, allowed: impl Into<String>) -> Self {
        Self::Value {
            found: found.into(),
            meant: None,
            allowed: allowed.into(),
        }
    }

    /// The same as an error has it.
    fn boxed(found: impl Into<String>, allowed: impl Into<String>) -> Box<Self> {
        Box::new(Self::value(found, allowed))
    }

    /// What would be accepted.
    pub fn allowed(&self) -> String {
        match self {
            Self::Value { allowed, .. } => allowed.clone(),
            Self::Name(unknown) => unknown.known.join(", "),
        }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(unknown) => unknown.fmt(f),
            Self::Value {
                found,
                meant,
                allowed,
            } => {
                write!(f, "found {found}; ")?;
                if let Some(meant) = meant {
                    write!(f, "did you mean `{meant}`? ")?;
                }
                write!(f, "allowed: {allowed}")
            }
        }
    }
}

impl ScenarioError {
    /// Where it is: file and line, or the argument, and the key.
    pub(crate) fn place(&self) -> String {
        format!("{}{}", self.source, self.key)
    }

    /// What is wrong at which key, without the file or argument.
    pub fn at_key(&self) -> String {
        let colon = if self.key.is_empty() { "" } else { ": " };
        format!("{}{colon}{}", self.key, self.mistake)
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.source, self.at_key())
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { name, line: None } => write!(f, "{name}: "),
            Self::File {
                name,
                line: Some(line),
            } => write!(f, "{name}:{line}: "),
            Self::Argument(name) => write!(f, "{name}: "),
        }
    }
}

impl std::error::Error for ScenarioError {}

/// Text format of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// TOML.
    Toml,
    /// The same keys as JSON.
    Json,
}

/// Where a node comes from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Place {
    /// This line of the file.
    Line(usize),
    /// The file, no line being known.
    Nowhere,
    /// An argument, under the key that was written there.
    Argument(Arc<str>, String),
}

impl From<Option<usize>> for Place {
    fn from(line: Option<usize>) -> Self {
        line.map_or(Self::Nowhere, Self::Line)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Content {
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Table(Vec<(String, Node)>),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) content: Content,
    pub(crate) place: Place,
}

impl Node {
    /// Reads a whole file.
    pub(crate) fn read(text: &str, format: Format, file: &str) -> Result<Self, ScenarioError> {
        let mut node = match format {
            Format::Toml => read_toml(text, file)?,
            Format::Json => read_json(text, file)?,
        };
        node.spell_american("", file)?;
        Ok(node)
    }

    /// Gives keys their American spelling: `utilisation` is taken for `utilization`.
    fn spell_american(&mut self, within: &str, file: &str) -> Result<(), ScenarioError> {
        match &mut self.content {
            Content::List(items) => items
                .iter_mut()
                .try_for_each(|item| item.spell_american(within, file)),
            Content::Table(entries) => {
                for at in 0..entries.len() {
                    let key = american_key(&entries[at].0).into_owned();
                    let twice = entries[..at].iter().any(|(before, _)| *before == key);
                    if twice {
                        let line = match entries[at].1.place {
                            Place::Line(line) => Some(line),
                            _ => None,
                        };
                        let (found, key) = (format!("`{key}` in two spellings"), within.to_owned());
                        let name = file.to_owned();
                        return Err(ScenarioError {
                            source: Source::File { name, line },
                            key,
                            mistake: Mistake::boxed(found, "each key once"),
                        });
                    }
                    entries[at].1.spell_american(&key, file)?;
                    entries[at].0 = key;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn of(content: Content, place: impl Into<Place>) -> Self {
        Self {
            content,
            place: place.into(),
        }
    }

    /// The name that a table has.
    pub(crate) fn name(&self) -> Option<&str> {
        match &self.find("name")?.content {
            Content::Text(name) => Some(name),
            _ => None,
        }
    }

    pub(crate) fn entries_mut(&mut self) -> Option<&mut Vec<(String, Self)>> {
        match &mut self.content {
            Content::Table(entries) => Some(entries),
            _ => None,
        }
    }

    pub(crate) fn find(&self, key: &str) -> Option<&Self> {
        match &self.content {
            Content::Table(entries) => entries.iter().find(|(k, _)| k == key).map(|(_, n)| n),
            _ => None,
        }
    }

    /// The value as it would be written, shortened.
    pub(crate) fn shown(&self) -> String {
        self.content.shown()
    }
}

impl Content {
    /// The value as it would be written, shortened.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Bool(x) => format!("`{x}`"),
            Self::Integer(x) => format!("`{x}`"),
            Self::Float(x) => format!("`{x}`"),
            Self::Text(x) => format!("`{}`", shortened(x)),
            Self::List(items) => format!("a list of {}", items.len()),
            Self::Table(entries) => {
                let keys: Vec<&str> = entries.iter().map(|(key, _)| key.as_str()).collect();
                format!("a table with {{{}}}", keys.join(", "))
            }
        }
    }
}

/// Reads TOML, keeping the line of every value.
fn read_toml(text: &str, file: &str) -> Result<Node, ScenarioError> {
    let document = toml_edit::Document::parse(text).map_err(|error| ScenarioError {
        source: Source::File {
            name: file.into(),
            line: error.span().map(|span| line_of(text, span.start)),
        },
        key: String::new(),
        mistake: Mistake::boxed(
            "text that is not TOML",
            format!("TOML ({})", error.message().trim().replace('\n', ", ")),
        ),
    })?;
    Ok(table_node(text, document.as_table(), Some(1)))
}

fn line_of(text: &str, offset: usize) -> usize {
    1 + text.get(..offset).unwrap_or(text).matches('\n').count()
}

fn table_node(text: &str, table: &dyn toml_edit::TableLike, line: Option<usize>) -> Node {
    let entries = table
        .iter()
        .filter(|(_, item)| !item.is_none())
        .map(|(key, item)| (key.to_owned(), item_node(text, item, line)))
        .collect();
    Node {
        content: Content::Table(entries),
        place: line.into(),
    }
}

fn item_node(text: &str, item: &toml_edit::Item, parent: Option<usize>) -> Node {
    let line = item.span().map(|span| line_of(text, span.start)).or(parent);
    if let Some(value) = item.as_value() {
        return value_node(text, value, line);
    }
    if let Some(tables) = item.as_array_of_tables() {
        let items = tables
            .iter()
            .map(|table| {
                let line = table.span().map(|span| line_of(text, span.start)).or(line);
                table_node(text, table, line)
            })
            .collect();
        return Node {
            content: Content::List(items),
            place: line.into(),
        };
    }
    match item.as_table_like() {
        Some(table) => table_node(text, table, line),
        None => Node::of(Content::Table(Vec::new()), Place::Nowhere),
    }
}

fn value_node(text: &str, value: &toml_edit::Value, parent: Option<usize>) -> Node {
    let line = value
        .span()
        .map(|span| line_of(text, span.start))
        .or(parent);
    let content = match value {
        toml_edit::Value::String(x) => Content::Text(x.value().clone()),
        toml_edit::Value::Integer(x) => Content::Integer(*x.value()),
        toml_edit::Value::Float(x) => Content::Float(*x.value()),
        toml_edit::Value::Boolean(x) => Content::Bool(*x.value()),
        toml_edit::Value::Datetime(x) => Content::Text(x.value().to_string()),
        toml_edit::Value::Array(x) => Content::List(
            x.iter()
                .map(|value| value_node(text, value, line))
                .collect(),
        ),
        toml_edit::Value::InlineTable(x) => return table_node(text, x, line),
    };
    Node::of(content, line)
}

/// Reads JSON. Syntax errors have a line; values do not.
fn read_json(text: &str, file: &str) -> Result<Node, ScenarioError> {
    let error = |line, allowed: String| ScenarioError {
        source: Source::File {
            name: file.into(),
            line,
        },
        key: String::new(),
        mistake: Mistake::boxed("text that is not a scenario in JSON", allowed),
    };
    let value: serde_json::Value =
        serde_json::from_str(text).map_err(|e| error(Some(e.line()), format!("JSON ({e})")))?;
    json_node(&value, "").map_err(|key| error(None, format!("no null (it is at `{key}`)")))
}

fn json_node(value: &serde_json::Value, path: &str) -> Result<Node, String> {
    let content = match value {
        serde_json::Value::Null => return Err(path.to_owned()),
        serde_json::Value::Bool(x) => Content::Bool(*x),
        serde_json::Value::Number(x) => match x.as_i64() {
            Some(x) => Content::Integer(x),
            None => Content::Float(x.as_f64().unwrap_or(f64::NAN)),
        },
        serde_json::Value::String(x) => Content::Text(x.clone()),
        serde_json::Value::Array(items) => Content::List(
            items
                .iter()
                .map(|item| json_node(item, path))
                .collect::<Result<_, _>>()?,
        ),
        serde_json::Value::Object(entries) => {
            let mut table = Vec::with_capacity(entries.len());
            for (key, value) in entries {
                table.push((key.clone(), json_node(value, key)?));
            }
            Content::Table(table)
        }
    };
    Ok(Node::of(content, Place::Nowhere))
}
