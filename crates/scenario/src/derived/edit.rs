//! Edits the text of a scenario in TOML. The parts that an edit does not name stay as they were,
//! with their comments and their order. The command line writes scenarios with it, and the
//! laboratory's page changes its text with it.

use serde_json::Value as Json;
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, TableLike, Value};

use crate::derived::group_text::{with_group, without_group};
use crate::model::scenario::Scenario;
use crate::text::naming::canonical_key;
use crate::text::overrides::Override;
use crate::text::tree::{Content, Format, Node, ScenarioError};

/// A change to the text of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// Sets the value of a key.
    Set(Override),
    /// Removes the key of this name, or a flow group: "link.queue", "flows.background".
    Remove(String),
    /// Adds flow groups after the others: TOML with a head `[[flows]]` for each.
    AddGroup(String),
}

impl Scenario {
    /// The text of a scenario as TOML, with changes at the places of their keys. The rest of a TOML
    /// text stays as it is; JSON has no comments and is rewritten.
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
        rewritten(text, format, file, |node| {
            overrides.iter().try_for_each(|change| node.apply(change))
        })
    }

    /// The text of a scenario in TOML after edits, in their order. The result is a valid scenario.
    ///
    /// ```
    /// use forebay_scenario::{Edit, Override, Scenario};
    ///
    /// let text = "[link]\nrate = \"1Mbps\"\nbuffer = \"9p\"  # small\n\n[[flows]]\nrtt = \"10ms\"\n";
    /// let load = "[[flows]]\nname = \"load\"\nworkload = { cbr = { rate = \"1kbps\" } }\n";
    /// let set = Edit::Set(Override::parse("link.rate=2Mbps")?);
    /// let edited = Scenario::edited(text, "access.toml", &[set, Edit::AddGroup(load.into())])?;
    /// assert_eq!(edited, text.replace("1Mbps", "2Mbps") + "\n" + load);
    ///
    /// let removed = Scenario::edited(&edited, "access.toml", &[Edit::Remove("flows.load".into())])?;
    /// assert_eq!(removed, text.replace("1Mbps", "2Mbps"));
    /// # Ok::<(), forebay_scenario::ScenarioError>(())
    /// ```
    ///
    /// # Errors
    /// As [`Self::parse`], with the lines of the result. Groups are removed and added only if each
    /// has a head `[[flows]]`.
    pub fn edited(text: &str, file: &str, edits: &[Edit]) -> Result<String, ScenarioError> {
        let mut edited = text.to_owned();
        for edit in edits {
            let rewritten = |change: &dyn Fn(&mut Node) -> Result<(), ScenarioError>| {
                rewritten(&edited, Format::Toml, file, change)
            };
            edited = match edit {
                Edit::Set(change) => rewritten(&|node| node.apply(change))?,
                Edit::Remove(key) => match key.strip_prefix("flows.") {
                    Some(group) if !group.contains('.') => without_group(&edited, file, group)?,
                    _ => rewritten(&|node| {
                        node.remove(key);
                        Ok(())
                    })?,
                },
                Edit::AddGroup(group) => with_group(&edited, file, group)?,
            };
        }
        Self::parse(&edited, Format::Toml, file, &[])?;
        Ok(edited)
    }

    /// The values of a scenario as its text writes them, with changes.
    ///
    /// # Errors
    /// A text or a change that cannot be read. Values are not checked.
    pub fn written(
        text: &str,
        format: Format,
        file: &str,
        overrides: &[Override],
    ) -> Result<Json, ScenarioError> {
        let mut node = Node::read(text, format, file)?;
        for change in overrides {
            node.apply(change)?;
        }
        Ok(node.value())
    }
}

/// The text as TOML after a change to its tree.
fn rewritten(
    text: &str,
    format: Format,
    file: &str,
    change: impl FnOnce(&mut Node) -> Result<(), ScenarioError>,
) -> Result<String, ScenarioError> {
    let mut node = Node::read(text, format, file)?;
    change(&mut node)?;
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
        let name = canonical_key(key);
        if entries.iter().all(|(known, _)| *known != name) {
            table.remove(key);
        }
    }
    for (name, node) in entries {
        let own = keys.iter().find(|key| canonical_key(key) == *name);
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
        (content, value) if equals(value, content) => return,
        _ => {}
    }
    // The comment comes after the value.
    let decor = value.decor().clone();
    *value = new_value(node);
    *value.decor_mut() = decor;
}

/// Whether a table has these keys and no others.
fn has_keys(table: &InlineTable, entries: &[(String, Node)]) -> bool {
    let known = |key: &str| entries.iter().any(|(name, _)| *name == canonical_key(key));
    table.len() == entries.len() && table.iter().all(|(key, _)| known(key))
}

/// Whether a plain value is this one.
fn equals(value: &Value, content: &Content) -> bool {
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

    /// The content of a text, whatever its layout.
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
                    equals(&value(text), content),
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
            assert!(!equals(&value(text), &content), "{text}");
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

    fn edited(text: &str, edits: &[Edit]) -> String {
        Scenario::edited(text, "a", edits).unwrap()
    }

    fn remove(key: &str) -> Edit {
        Edit::Remove(key.to_owned())
    }

    #[test]
    fn keys_are_removed_and_what_is_not_there_is_left_alone() {
        let text = LINK.replace(
            "buffer = \"50p\"",
            "buffer = \"50p\"\nqueue = { kind = \"codel\", target = \"3ms\" }",
        );
        assert_eq!(edited(&text, &[remove("link.queue")]), LINK);
        assert!(edited(&text, &[remove("link.queue.target")]).contains("{ kind = \"codel\" }"));
        assert_eq!(
            edited(LINK, &[remove("goal.a_b.loss_rate")]),
            LINK.replace("\"a_b.loss_rate\" = \"<= 1%\"\n", "")
        );
        assert_eq!(
            edited(LINK, &[remove("flows.other.name")]),
            LINK.replace("name = \"other\"\n", "")
        );
        for key in [
            "link.medium",
            "flows.none.cca",
            "title.x",
            "trace.every",
            "flows.0.rtt.1",
        ] {
            assert_eq!(edited(LINK, &[remove(key)]), LINK, "{key}");
        }
    }

    #[test]
    fn edits_come_in_their_order_and_only_the_result_has_to_be_valid() {
        let set = |text: &str| Edit::Set(change(text));
        let edits = [
            set("link.buffer=fast"),
            set("flows.a_b.count=3"),
            set("link.buffer=60p"),
            set("flows.a_b.rtt=20ms"),
        ];
        let expected = LINK
            .replace("\"50p\"", "\"60p\"")
            .replace("[\"10ms\", \"20ms\"]", "\"20ms\"")
            .replace("count = 2", "count = 3");
        assert_eq!(edited(LINK, &edits), expected);
        let error = Scenario::edited(LINK, "a", &edits[..3]).unwrap_err();
        assert!(error.at_key().starts_with("flows[0].rtt: "), "{error}");
    }

    #[test]
    fn values_are_those_that_the_text_writes() {
        let written = Scenario::written(LINK, Format::Toml, "", &[change("link.buffer=1e3 kB")]);
        let written = written.unwrap();
        assert_eq!(written["link"]["buffer"], "1e3 kB");
        assert_eq!(written["flows"][0]["rtt"][1], "20ms");
        assert_eq!(written["run"]["seed"], Json::Null);
    }
}
