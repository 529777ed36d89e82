//! A scenario file as a tree whose nodes remember their line, and the error that points at one.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::text::naming::{Unknown, canonical_key, documented_key, shortened, shortened_to};

/// A mistake in a scenario: where it is, what was found and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// Origin of the wrong value: a file or an argument.
    pub source: Source,
    /// Dotted path of the key; empty for none.
    pub key: String,
    /// Mistake at the key.
    pub value_error: Box<ValueError>,
}

/// The origin of a wrong value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file, or a text in place of one (`<text>`).
    File {
        /// Its name.
        name: String,
        /// The line, where it is known (not for JSON values).
        line: Option<usize>,
    },
    /// An argument of a function or the option of the same name: "overrides", "also".
    Argument(Arc<str>),
}

/// The mistake in a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueError {
    /// It is none of those that are allowed.
    Value {
        /// Value that was found.
        found: String,
        /// Value that was likely meant.
        meant: Option<String>,
        /// Values that would be accepted.
        allowed: String,
    },
    /// It names what does not exist.
    Name(Unknown),
}

impl ValueError {
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

    /// The values that would be accepted.
    pub fn allowed(&self) -> String {
        match self {
            Self::Value { allowed, .. } => allowed.clone(),
            Self::Name(unknown) => unknown.known.join(", "),
        }
    }
}

impl fmt::Display for ValueError {
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
    /// The position of the error: file and line, or the argument, and the key.
    pub(crate) fn place(&self) -> String {
        format!("{}{}", self.source, shortened(&self.key))
    }

    /// The mistake and its key, without the file or argument.
    pub fn at_key(&self) -> String {
        let colon = if self.key.is_empty() { "" } else { ": " };
        format!("{}{colon}{}", shortened(&self.key), self.value_error)
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

/// The origin of a node.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Span {
    /// This line of the file.
    Line(usize),
    /// The file, no line being known.
    Nowhere,
    /// An argument, under the key that was written there.
    Argument(Arc<str>, String),
}

impl From<Option<usize>> for Span {
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
    pub(crate) place: Span,
}

impl Node {
    /// Reads a whole file.
    pub(crate) fn read(text: &str, format: Format, file: &str) -> Result<Self, ScenarioError> {
        let mut node = match format {
            Format::Toml => read_toml(text, file)?,
            Format::Json => read_json(text, file)?,
        };
        node.name_keys("", file)?;
        Ok(node)
    }

    /// Gives keys their canonical names: `utilisation` is taken for `utilization`.
    fn name_keys(&mut self, within: &str, file: &str) -> Result<(), ScenarioError> {
        match &mut self.content {
            Content::List(items) => items
                .iter_mut()
                .try_for_each(|item| item.name_keys(within, file)),
            Content::Table(entries) => {
                if entries.iter().any(|(key, _)| canonical_key(key) != *key) {
                    rename_keys(entries, within, file)?;
                }
                entries
                    .iter_mut()
                    .try_for_each(|(key, node)| node.name_keys(key, file))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn of(content: Content, place: impl Into<Span>) -> Self {
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

    /// The value as JSON.
    pub(crate) fn value(&self) -> Value {
        match &self.content {
            Content::Bool(value) => (*value).into(),
            Content::Integer(value) => (*value).into(),
            Content::Float(value) => (*value).into(),
            Content::Text(value) => value.as_str().into(),
            Content::List(items) => items.iter().map(Self::value).collect(),
            Content::Table(entries) => {
                let entries = entries
                    .iter()
                    .map(|(key, node)| (key.clone(), node.value()));
                Value::Object(entries.collect())
            }
        }
    }
}

/// The most keys of a table that a message lists.
const MOST_KEYS: usize = 12;

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
                let keys = entries.iter().take(MOST_KEYS);
                let mut keys: Vec<Cow<'_, str>> = keys.map(|(key, _)| shortened(key)).collect();
                if entries.len() > MOST_KEYS {
                    keys.push(format!("{} more", entries.len() - MOST_KEYS).into());
                }
                format!("a table with {{{}}}", keys.join(", "))
            }
        }
    }
}

/// Gives the keys of a table their canonical names, which must differ from each other.
fn rename_keys(
    entries: &mut [(String, Node)],
    within: &str,
    file: &str,
) -> Result<(), ScenarioError> {
    let mut seen = HashSet::with_capacity(entries.len());
    for (key, node) in entries {
        *key = canonical_key(key).into_owned();
        if !seen.insert(key.clone()) {
            let line = match node.place {
                Span::Line(line) => Some(line),
                _ => None,
            };
            let found = format!("`{}` in two spellings", shortened(documented_key(key)));
            let name = file.to_owned();
            return Err(ScenarioError {
                source: Source::File { name, line },
                key: within.to_owned(),
                value_error: ValueError::boxed(found, "each key once"),
            });
        }
    }
    Ok(())
}

/// Where the lines of a text begin: what says the line of a place without going through the text.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(at, _)| at).collect())
    }

    /// The number of the line at this place of the text, from 1 on.
    fn at(&self, offset: usize) -> usize {
        1 + self.0.partition_point(|end| *end < offset)
    }
}

/// Reads TOML, keeping the line of every value.
fn read_toml(text: &str, file: &str) -> Result<Node, ScenarioError> {
    let lines = Lines::of(text);
    let document = toml_edit::Document::parse(text).map_err(|error| ScenarioError {
        source: Source::File {
            name: file.into(),
            line: error.span().map(|span| lines.at(span.start)),
        },
        key: String::new(),
        value_error: ValueError::boxed(
            "text that is not TOML",
            format!("TOML ({})", error.message().trim().replace('\n', ", ")),
        ),
    })?;
    Ok(table_node(&lines, document.as_table(), Some(1)))
}

fn table_node(lines: &Lines, table: &dyn toml_edit::TableLike, line: Option<usize>) -> Node {
    let entries = table
        .iter()
        .filter(|(_, item)| !item.is_none())
        .map(|(key, item)| (key.to_owned(), item_node(lines, item, line)))
        .collect();
    Node {
        content: Content::Table(entries),
        place: line.into(),
    }
}

fn item_node(lines: &Lines, item: &toml_edit::Item, parent: Option<usize>) -> Node {
    let line = item.span().map(|span| lines.at(span.start)).or(parent);
    if let Some(value) = item.as_value() {
        return value_node(lines, value, line);
    }
    if let Some(tables) = item.as_array_of_tables() {
        let items = tables
            .iter()
            .map(|table| {
                let line = table.span().map(|span| lines.at(span.start)).or(line);
                table_node(lines, table, line)
            })
            .collect();
        return Node {
            content: Content::List(items),
            place: line.into(),
        };
    }
    match item.as_table_like() {
        Some(table) => table_node(lines, table, line),
        None => Node::of(Content::Table(Vec::new()), Span::Nowhere),
    }
}

fn value_node(lines: &Lines, value: &toml_edit::Value, parent: Option<usize>) -> Node {
    let line = value.span().map(|span| lines.at(span.start)).or(parent);
    let content = match value {
        toml_edit::Value::String(x) => Content::Text(x.value().clone()),
        toml_edit::Value::Integer(x) => Content::Integer(*x.value()),
        toml_edit::Value::Float(x) => Content::Float(*x.value()),
        toml_edit::Value::Boolean(x) => Content::Bool(*x.value()),
        toml_edit::Value::Datetime(x) => Content::Text(x.value().to_string()),
        toml_edit::Value::Array(x) => Content::List(
            x.iter()
                .map(|value| value_node(lines, value, line))
                .collect(),
        ),
        toml_edit::Value::InlineTable(x) => return table_node(lines, x, line),
    };
    Node::of(content, line)
}

/// Reads JSON. Syntax errors and keys that stand twice have a line; values do not.
fn read_json(text: &str, file: &str) -> Result<Node, ScenarioError> {
    let read: Result<Json, _> = serde_json::from_str(text);
    read.map(|Json(node)| node).map_err(|error| ScenarioError {
        source: Source::File {
            name: file.into(),
            line: Some(error.line()),
        },
        key: String::new(),
        value_error: ValueError::boxed(
            "text that is not a scenario in JSON",
            format!("JSON ({})", shortened_to(&error.to_string(), 200)),
        ),
    })
}

/// A node out of JSON.
struct Json(Node);

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let content = deserializer.deserialize_any(JsonContent)?;
        Ok(Self(Node::of(content, Span::Nowhere)))
    }
}

/// Makes content of JSON values: of all but null, and of no object that has a key twice.
struct JsonContent;

impl<'de> Visitor<'de> for JsonContent {
    type Value = Content;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value other than null")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Content, E> {
        Ok(Content::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Content, E> {
        Ok(Content::Integer(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Content, E> {
        let small = i64::try_from(value).map(Content::Integer);
        Ok(small.unwrap_or(Content::Float(value as f64)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Content, E> {
        Ok(Content::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Content, E> {
        Ok(Content::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Content, A::Error> {
        let mut items = Vec::new();
        while let Some(Json(item)) = list.next_element()? {
            items.push(item);
        }
        Ok(Content::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Content, A::Error> {
        let mut entries = Vec::new();
        let mut seen = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            if !seen.insert(key.clone()) {
                let twice = format!("the key `{}` twice", shortened(&key));
                return Err(A::Error::custom(twice));
            }
            let Json(value) = map.next_value()?;
            entries.push((key, value));
        }
        Ok(Content::Table(entries))
    }
}
