//! A scenario file as a tree whose nodes remember their line, and the error that points at one.

/// A mistake in a scenario: where it is, what was found and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {}: found {found}; allowed: {allowed}", line_suffix(*.line), if .key.is_empty() { "(top level)" } else { .key })]
pub struct ScenarioError {
    /// The file, or what stands for one ("--set", "<text>").
    pub file: String,
    /// Line in the file, where it is known (not for JSON values and overrides).
    pub line: Option<usize>,
    /// Dotted path of the key.
    pub key: String,
    /// What was found there.
    pub found: String,
    /// What would be accepted.
    pub allowed: String,
}

impl ScenarioError {
    /// Where it is: file, line and key.
    pub(crate) fn place(&self) -> String {
        format!("{}{}: {}", self.file, line_suffix(self.line), self.key)
    }
}

fn line_suffix(line: Option<usize>) -> String {
    line.map(|line| format!(":{line}")).unwrap_or_default()
}

/// Text format of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// TOML.
    Toml,
    /// The same keys as JSON.
    Json,
}

/// A change to a scenario: `key = value` with a dotted key ("link.buffer", "flows.bulk.cca").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// Dotted key. A flow group or link is named by its name or its number.
    pub key: String,
    /// The value as TOML, or as bare text where it is not TOML (`100p`).
    pub value: String,
}

impl Override {
    /// Reads `key=value`.
    ///
    /// ```
    /// use forebay_scenario::Override;
    ///
    /// let change = Override::parse("link.buffer = 50p")?;
    /// assert_eq!((change.key.as_str(), change.value.as_str()), ("link.buffer", "50p"));
    /// assert!(Override::parse("link.buffer").is_err());
    /// # Ok::<(), forebay_scenario::ScenarioError>(())
    /// ```
    ///
    /// # Errors
    /// A text without `=`, or without a key before it.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let error = || ScenarioError {
            file: "--set".into(),
            line: None,
            key: text.to_owned(),
            found: format!("`{text}`"),
            allowed: "key=value, as in link.buffer=100p".into(),
        };
        let (key, value) = text.split_once('=').ok_or_else(error)?;
        let (key, value) = (key.trim().to_owned(), value.trim().to_owned());
        if key.is_empty() {
            Err(error())
        } else {
            Ok(Self { key, value })
        }
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
    pub(crate) line: Option<usize>,
}

impl Node {
    /// Reads a whole file.
    pub(crate) fn read(text: &str, format: Format, file: &str) -> Result<Self, ScenarioError> {
        match format {
            Format::Toml => read_toml(text, file),
            Format::Json => read_json(text, file),
        }
    }

    /// Applies one override, creating tables on the way.
    pub(crate) fn apply(&mut self, change: &Override) -> Result<(), ScenarioError> {
        let parsed = format!("x = {}", change.value);
        let mut value = read_toml(&parsed, "--set")
            .ok()
            .and_then(|mut node| node.entries_mut().and_then(Vec::pop).map(|(_, node)| node))
            .unwrap_or(Node {
                content: Content::Text(change.value.clone()),
                line: None,
            });
        value.forget_lines();
        let error = |found: &str, allowed: String| ScenarioError {
            file: "--set".into(),
            line: None,
            key: change.key.clone(),
            found: format!("`{found}`"),
            allowed,
        };
        let mut parts: Vec<&str> = change.key.split('.').collect();
        if parts[0] == "goal" && parts.len() > 2 {
            // A goal on a group's metric is one key with a dot in it.
            parts = vec!["goal", &change.key["goal.".len()..]];
        }
        if parts[0] == "link" && self.find("link").is_none() && self.find("links").is_some() {
            parts[0] = "links";
            let target = self
                .find("links")
                .and_then(Node::target_name)
                .unwrap_or_default();
            return self.descend(&["links", &target], &parts[1..], value, &error);
        }
        if let [list, "*", rest @ ..] = &parts[..] {
            return self.apply_to_each(list, rest, &value, &error);
        }
        self.descend(&[], &parts, value, &error)
    }

    /// The same change in every table of a list, as in `flows.*.min_rto`.
    fn apply_to_each(
        &mut self,
        list: &str,
        rest: &[&str],
        value: &Self,
        error: &dyn Fn(&str, String) -> ScenarioError,
    ) -> Result<(), ScenarioError> {
        let items = match self.find(list).map(|node| &node.content) {
            Some(Content::List(items)) => items.len(),
            _ => 0,
        };
        if items == 0 || rest.is_empty() {
            return Err(error("*", "LIST.*.KEY with a list of tables".into()));
        }
        for at in 0..items {
            self.descend(&[list, &at.to_string()], rest, value.clone(), error)?;
        }
        Ok(())
    }

    fn descend(
        &mut self,
        first: &[&str],
        rest: &[&str],
        value: Node,
        error: &dyn Fn(&str, String) -> ScenarioError,
    ) -> Result<(), ScenarioError> {
        let path: Vec<&str> = first.iter().chain(rest).copied().collect();
        let Some((last, parents)) = path.split_last() else {
            return Err(error("", "key=value".into()));
        };
        let mut node = self;
        for part in parents {
            node = node.child(part, error)?;
        }
        match &mut node.content {
            Content::Table(entries) => {
                match entries.iter_mut().find(|(key, _)| key == last) {
                    Some(entry) => entry.1 = value,
                    None => entries.push(((*last).to_owned(), value)),
                }
                Ok(())
            }
            Content::List(items) => {
                let count = items.len();
                let slot = last.parse::<usize>().ok().and_then(|at| items.get_mut(at));
                *slot.ok_or_else(|| error(last, format!("a number below {count}")))? = value;
                Ok(())
            }
            _ => Err(error(last, "a key inside a table".into())),
        }
    }

    /// The child `part` of a table (created where missing) or of a list (by name or number).
    fn child(
        &mut self,
        part: &str,
        error: &dyn Fn(&str, String) -> ScenarioError,
    ) -> Result<&mut Self, ScenarioError> {
        match &mut self.content {
            Content::Table(entries) => {
                let at = entries
                    .iter()
                    .position(|(key, _)| key == part)
                    .unwrap_or_else(|| {
                        entries.push((part.to_owned(), Self::empty_table()));
                        entries.len() - 1
                    });
                let child = &mut entries[at].1;
                if let Content::Text(kind) = &child.content {
                    // `queue = "red"` is short for `queue = { kind = "red" }`.
                    let kind = Self {
                        content: Content::Text(kind.clone()),
                        line: child.line,
                    };
                    child.content = Content::Table(vec![("kind".into(), kind)]);
                }
                Ok(child)
            }
            Content::List(items) => {
                let names: Vec<String> = items.iter().filter_map(Self::name).collect();
                let at = items
                    .iter()
                    .position(|item| item.name().as_deref() == Some(part))
                    .or_else(|| part.parse().ok().filter(|&at: &usize| at < items.len()))
                    .ok_or_else(|| error(part, format!("one of {}", names.join(", "))))?;
                Ok(&mut items[at])
            }
            _ => Err(error(part, "a key of a table".into())),
        }
    }

    fn empty_table() -> Self {
        Self {
            content: Content::Table(Vec::new()),
            line: None,
        }
    }

    fn name(&self) -> Option<String> {
        match &self.find("name")?.content {
            Content::Text(name) => Some(name.clone()),
            _ => None,
        }
    }

    /// The name (or number) of the link marked as target in a list of links.
    fn target_name(&self) -> Option<String> {
        let Content::List(items) = &self.content else {
            return None;
        };
        let at = items
            .iter()
            .position(|item| {
                item.find("target")
                    .is_some_and(|t| t.content == Content::Bool(true))
            })
            .unwrap_or(0);
        Some(items.get(at)?.name().unwrap_or_else(|| at.to_string()))
    }

    fn forget_lines(&mut self) {
        self.line = None;
        match &mut self.content {
            Content::List(items) => items.iter_mut().for_each(Self::forget_lines),
            Content::Table(entries) => entries.iter_mut().for_each(|(_, n)| n.forget_lines()),
            _ => {}
        }
    }

    fn entries_mut(&mut self) -> Option<&mut Vec<(String, Self)>> {
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
        match &self.content {
            Content::Bool(x) => format!("`{x}`"),
            Content::Integer(x) => format!("`{x}`"),
            Content::Float(x) => format!("`{x}`"),
            Content::Text(x) if x.chars().count() > 60 => {
                format!("`{}...`", x.chars().take(60).collect::<String>())
            }
            Content::Text(x) => format!("`{x}`"),
            Content::List(items) => format!("a list of {}", items.len()),
            Content::Table(entries) => {
                let keys: Vec<&str> = entries.iter().map(|(key, _)| key.as_str()).collect();
                format!("a table with {{{}}}", keys.join(", "))
            }
        }
    }
}

/// Reads TOML, keeping the line of every value.
fn read_toml(text: &str, file: &str) -> Result<Node, ScenarioError> {
    let document = toml_edit::Document::parse(text).map_err(|error| ScenarioError {
        file: file.into(),
        line: error.span().map(|span| line_of(text, span.start)),
        key: String::new(),
        found: "text that is not TOML".into(),
        allowed: error.message().trim().replace('\n', ", "),
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
        line,
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
            line,
        };
    }
    match item.as_table_like() {
        Some(table) => table_node(text, table, line),
        None => Node::empty_table(),
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
    Node { content, line }
}

/// Reads JSON. Syntax errors have a line; values do not.
fn read_json(text: &str, file: &str) -> Result<Node, ScenarioError> {
    let error = |line, allowed: String| ScenarioError {
        file: file.into(),
        line,
        key: String::new(),
        found: "text that is not a JSON scenario".into(),
        allowed,
    };
    let value: serde_json::Value =
        serde_json::from_str(text).map_err(|e| error(Some(e.line()), e.to_string()))?;
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
    Ok(Node {
        content,
        line: None,
    })
}
