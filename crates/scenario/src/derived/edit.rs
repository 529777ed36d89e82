//! A scenario's text as TOML with changes in it, for whoever edits it further: what they leave alone
//! stays as it was written, comments and order included.

use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, TableLike, Value};

use crate::model::scenario::Scenario;
use crate::text::naming::american_key;
use crate::text::overrides::Override;
use crate::text::tree::{Content, Format, Node, ScenarioError};

impl Scenario {
    /// The text of a scenario as TOML, with changes put where their keys stand. Of TOML the rest stays as it is;
    /// JSON has no comments and is written anew.
    ///
    /// ```
    /// use forebay_scenario::{Format, Override, Scenario};
    ///
    /// let text = "[link]\nrate = \"1Mbps\"  # of the line\nbuffer = \"9p\"\n[[flows]]\nrtt = \"10ms\"\n";
    /// let change = Override::parse("link.rate=2Mbps")?;
    /// assert_eq!(
    ///     Scenario::as_toml(text, Format::Toml, "access.toml", &[change])?,
    ///     text.replace("1Mbps", "2Mbps")
    /// );
    /// # Ok::<(), forebay_scenario::ScenarioError>(())
    /// ```
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn as_toml(
        text: &str,
        format: Format,
        file: &str,
        overrides: &[Override],
    ) -> Result<String, ScenarioError> {
        Self::parse(text, format, file, overrides)?;
        if format == Format::Toml && overrides.is_empty() {
            return Ok(text.to_owned());
        }
        let mut node = Node::read(text, format, file)?;
        for change in overrides {
            node.apply(change)?;
        }
        let read = match format {
            Format::Toml => toml_edit::Document::parse(text).ok(),
            Format::Json => None,
        };
        let mut document = read.map_or_else(DocumentMut::new, toml_edit::Document::into_mut);
        if let Content::Table(entries) = &node.content {
            settle(document.as_table_mut(), entries, Form::Sections);
        }
        Ok(document.to_string())
    }
}

/// How a new table is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Under a head of its own.
    Sections,
    /// In braces.
    Inline,
}

/// Lets a table say what these entries say.
fn settle(table: &mut dyn TableLike, entries: &[(String, Node)], form: Form) {
    let keys: Vec<String> = table.iter().map(|(key, _)| key.to_owned()).collect();
    for key in &keys {
        let name = american_key(key);
        if entries.iter().all(|(known, _)| *known != name) {
            table.remove(key);
        }
    }
    for (name, node) in entries {
        let own = keys.iter().find(|key| american_key(key) == *name);
        match own.and_then(|key| table.get_mut(key)) {
            Some(item) => settle_item(item, node),
            None => {
                table.insert(name, new_item(node, form));
            }
        }
    }
}

fn settle_item(item: &mut Item, node: &Node) {
    if let Item::Value(value) = item {
        return settle_value(value, node);
    }
    match (&node.content, &mut *item) {
        (Content::Table(entries), Item::Table(table)) => settle(table, entries, Form::Inline),
        (Content::List(nodes), Item::ArrayOfTables(tables)) if nodes.len() == tables.len() => {
            for (table, node) in tables.iter_mut().zip(nodes) {
                if let Content::Table(entries) = &node.content {
                    settle(table, entries, Form::Inline);
                }
            }
        }
        _ => *item = new_item(node, Form::Sections),
    }
}

fn settle_value(value: &mut Value, node: &Node) {
    match (&node.content, &mut *value) {
        (Content::Table(entries), Value::InlineTable(table)) if has_keys(table, entries) => {
            return settle(table, entries, Form::Inline);
        }
        (Content::List(nodes), Value::Array(array)) if nodes.len() == array.len() => {
            for (value, node) in array.iter_mut().zip(nodes) {
                settle_value(value, node);
            }
            return;
        }
        (content, value) if says(value, content) => return,
        _ => {}
    }
    // Its comment stands behind it.
    let decor = value.decor().clone();
    *value = new_value(node);
    *value.decor_mut() = decor;
}

/// Whether a table has these keys and no others.
fn has_keys(table: &InlineTable, entries: &[(String, Node)]) -> bool {
    let known = |key: &str| entries.iter().any(|(name, _)| *name == american_key(key));
    table.len() == entries.len() && table.iter().all(|(key, _)| known(key))
}

/// Whether a plain value is this one.
fn says(value: &Value, content: &Content) -> bool {
    match (content, value) {
        (Content::Bool(x), Value::Boolean(own)) => x == own.value(),
        (Content::Integer(x), Value::Integer(own)) => x == own.value(),
        (Content::Float(x), Value::Float(own)) => x.to_bits() == own.value().to_bits(),
        (Content::Text(x), Value::String(own)) => x == own.value(),
        (Content::Text(x), Value::Datetime(own)) => *x == own.value().to_string(),
        _ => false,
    }
}

fn new_item(node: &Node, form: Form) -> Item {
    match &node.content {
        Content::Table(entries) if form == Form::Sections => Item::Table(section(entries)),
        Content::List(nodes) if form == Form::Sections => {
            let tables: Option<ArrayOfTables> = nodes
                .iter()
                .map(|node| match &node.content {
                    Content::Table(entries) => Some(section(entries)),
                    _ => None,
                })
                .collect();
            match tables.filter(|tables| !tables.is_empty()) {
                Some(tables) => Item::ArrayOfTables(tables),
                None => Item::Value(new_value(node)),
            }
        }
        _ => Item::Value(new_value(node)),
    }
}

fn section(entries: &[(String, Node)]) -> Table {
    let mut table = Table::new();
    settle(&mut table, entries, Form::Inline);
    table.decor_mut().set_prefix("\n");
    table
}

fn new_value(node: &Node) -> Value {
    match &node.content {
        Content::Bool(x) => Value::from(*x),
        Content::Integer(x) => Value::from(*x),
        Content::Float(x) => Value::from(*x),
        Content::Text(x) => Value::from(x.as_str()),
        Content::List(nodes) => Value::Array(nodes.iter().map(new_value).collect::<Array>()),
        Content::Table(entries) => {
            let mut table = InlineTable::new();
            settle(&mut table, entries, Form::Inline);
            Value::InlineTable(table)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a text says, wherever it stands there.
    fn said(text: &str, format: Format, overrides: &[Override]) -> Content {
        let mut node = Node::read(text, format, "").unwrap();
        for change in overrides {
            node.apply(change).unwrap();
        }
        bare(node).content
    }

    fn bare(node: Node) -> Node {
        let content = match node.content {
            Content::List(nodes) => Content::List(nodes.into_iter().map(bare).collect()),
            Content::Table(entries) => {
                let mut entries: Vec<_> = entries
                    .into_iter()
                    .map(|(key, node)| (key, bare(node)))
                    .collect();
                // In TOML plain values stand before tables.
                entries.sort_by(|one, other| one.0.cmp(&other.0));
                Content::Table(entries)
            }
            plain => plain,
        };
        Node::of(content, None)
    }

    fn change(text: &str) -> Override {
        Override::parse(text).unwrap()
    }

    const LINK: &str = r#"# A link.
title = "one" # its name

[link]
rate = { steps = [["0s", "2Mbps"], ["1s", "1Mbps"]], repeat = "4s" }   # falls
buffer = "50p"

# Below the link.
[[flows]]
"name" = 'a_b'
rtt = ["10ms", "20ms"]   # two
count = 2
[[flows]]
name = "other"
rtt = "30ms"
[run]
warmup = "1s"
measure = "2s"
[goal]
utilization = ">= 95%"
"a_b.loss_rate" = "<= 1%"
"#;

    #[test]
    fn what_is_not_changed_is_not_touched() {
        let written = Scenario::as_toml(LINK, Format::Toml, "", &[]).unwrap();
        assert_eq!(written, LINK);
    }

    #[test]
    fn changes_stand_where_their_keys_stand_and_nothing_else_moves() {
        for (key, from, to) in [
            ("link.buffer=60p", "\"50p\"", "\"60p\""),
            ("flows.other.rtt=31ms", "\"30ms\"", "\"31ms\""),
            ("flows.1.name=third", "\"other\"", "\"third\""),
            ("run.measure=3s", "\"2s\"", "\"3s\""),
            ("flows.0.rtt.1=25ms", "\"20ms\"", "\"25ms\""),
            ("goal.utilization=>= 90%", ">= 95%", ">= 90%"),
            (
                "link.rate=3Mbps",
                r#"{ steps = [["0s", "2Mbps"], ["1s", "1Mbps"]], repeat = "4s" }"#,
                "\"3Mbps\"",
            ),
        ] {
            let written = Scenario::as_toml(LINK, Format::Toml, "", &[change(key)]).unwrap();
            let from = LINK.rfind(from).map(|at| (at, from.len())).unwrap();
            let mut expected = LINK.to_owned();
            expected.replace_range(from.0..from.0 + from.1, to);
            assert_eq!(written, expected, "{key}");
        }
    }

    #[test]
    fn a_changed_text_says_what_the_changes_say() {
        for changes in [
            vec!["run.seed=7", "link.queue=codel", "trace.every=1ms"],
            vec!["link.queue.target=3ms", "flows.*.min_rto=1s"],
            vec![
                "link.rate={ steps = [[\"0s\", \"1Mbps\"]] }",
                "title=other \" one",
            ],
            vec!["link.rate.steps.1.1=500kbps"],
            // A table in the place of one with other keys.
            vec!["goal={ utilization = \">= 90%\" }"],
        ] {
            let changes: Vec<Override> = changes.into_iter().map(change).collect();
            let text = LINK.replace("buffer = \"50p\"", "buffer = \"50p\"\nqueue = \"codel\"");
            let Ok(scenario) = Scenario::parse(&text, Format::Toml, "", &changes) else {
                panic!(
                    "{changes:?}: {:?}",
                    Scenario::parse(&text, Format::Toml, "", &changes)
                );
            };
            let written = Scenario::as_toml(&text, Format::Toml, "", &changes).unwrap();
            assert_eq!(
                Scenario::parse(&written, Format::Toml, "", &[]).unwrap(),
                scenario
            );
            assert_eq!(
                said(&written, Format::Toml, &[]),
                said(&text, Format::Toml, &changes)
            );
            assert!(written.contains("# falls"), "{written}");
            assert!(written.contains("# Below the link."));
        }
    }

    #[test]
    fn plain_values_are_told_apart() {
        let value = |text: &str| text.parse::<Value>().unwrap();
        let contents = [
            Content::Bool(true),
            Content::Integer(1),
            Content::Float(0.5),
            Content::Text("1979-05-27".into()),
        ];
        for (at, text) in ["true", "1", "0.5", "1979-05-27"].into_iter().enumerate() {
            for (other, content) in contents.iter().enumerate() {
                assert_eq!(
                    says(&value(text), content),
                    at == other,
                    "{text} {content:?}"
                );
            }
        }
        for (text, content) in [
            ("false", Content::Bool(true)),
            ("2", Content::Integer(1)),
            ("0.25", Content::Float(0.5)),
            ("\"b\"", Content::Text("a".into())),
        ] {
            assert!(!says(&value(text), &content), "{text}");
        }
    }

    #[test]
    fn the_canonical_form_is_toml_that_says_the_same() {
        let scenario = Scenario::parse(LINK, Format::Toml, "", &[]).unwrap();
        let canonical = scenario.canonical_json();
        let written = Scenario::as_toml(&canonical, Format::Json, "", &[]).unwrap();
        assert_eq!(
            said(&written, Format::Toml, &[]),
            said(&canonical, Format::Json, &[])
        );
        assert_eq!(
            Scenario::parse(&written, Format::Toml, "", &[]).unwrap(),
            scenario
        );
        assert!(
            written.starts_with("title = \"one\"\n\n[[links]]\n"),
            "{written}"
        );
    }

    #[test]
    fn mistakes_are_those_of_the_scenario() {
        let text = LINK.replace("\"50p\"", "\"50\"");
        assert_eq!(
            Scenario::as_toml(&text, Format::Toml, "a", &[]).unwrap_err(),
            Scenario::parse(&text, Format::Toml, "a", &[]).unwrap_err()
        );
    }
}
