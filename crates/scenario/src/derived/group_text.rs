//! Finds the lines of a flow group in the text of a scenario in TOML, to remove them or to add
//! others. [`crate::derived::edit`] edits all else by its key.

use std::ops::Range;

use toml_edit::{Item, Table};

use crate::model::scenario::Scenario;
use crate::text::naming::shortened;
use crate::text::tree::{Content, Format, Node, ScenarioError, Source, ValueError};

impl Scenario {
    /// The lines of the flow group of this number in a text in TOML, with the comment directly
    /// above them; `None` if the group has no head `[[flows]]`.
    pub fn group_text(text: &str, number: usize) -> Option<&str> {
        group_lines(text, number).map(|lines| &text[lines])
    }
}

/// The text without a group, named by its name or its number, and without the empty line above it.
pub(crate) fn without_group(text: &str, file: &str, group: &str) -> Result<String, ScenarioError> {
    let number = Node::read(text, Format::Toml, file)?.group_number(group);
    let lines = number.and_then(|number| group_lines(text, number));
    let lines =
        lines.ok_or_else(|| no_head(file, format!("no head for `{}`", shortened(group))))?;
    let before = &text[..lines.start];
    let before = before
        .strip_suffix("\n\n")
        .map_or(before, |_| &before[..before.len() - 1]);
    Ok(format!("{before}{}", &text[lines.end..]))
}

/// The text with one more group after the others.
pub(crate) fn with_group(text: &str, file: &str, group: &str) -> Result<String, ScenarioError> {
    let groups = match Node::read(text, Format::Toml, file)?.find("flows") {
        Some(Node {
            content: Content::List(groups),
            ..
        }) => groups.len(),
        _ => 0,
    };
    let last = groups
        .checked_sub(1)
        .and_then(|last| group_lines(text, last));
    let (before, after) = match last {
        Some(lines) => text.split_at(lines.end),
        None if groups == 0 => (text, ""),
        None => return Err(no_head(file, "groups as values".to_owned())),
    };
    let end = |part: &str| if part.ends_with('\n') { "" } else { "\n" };
    Ok(format!(
        "{before}{}\n{group}{}{after}",
        end(before),
        end(group)
    ))
}

fn no_head(file: &str, found: String) -> ScenarioError {
    ScenarioError {
        source: Source::File {
            name: file.to_owned(),
            line: None,
        },
        key: "flows".to_owned(),
        value_error: Box::new(ValueError::value(
            found,
            "groups with a head [[flows]] each",
        )),
    }
}

/// The lines of a group from the comment directly above its head to its last key.
fn group_lines(text: &str, number: usize) -> Option<Range<usize>> {
    let document = toml_edit::Document::parse(text).ok()?;
    let root = document.as_table();
    let group = root.get("flows")?.as_array_of_tables()?.get(number)?;
    let mut own = vec![group.span()?.start];
    add_heads(group, &mut own);
    let mut all = Vec::new();
    add_heads(root, &mut all);
    let last = own.iter().max()?;
    let next = all.into_iter().filter(|head| head > last).min();
    let line_of = |at: usize| text[..at].rfind('\n').map_or(0, |end| end + 1);
    let head = line_of(own[0]);
    let is_comment = |line: &&str| line.trim_start().starts_with('#');
    let above = text[..head].split_inclusive('\n').rev();
    let above: usize = above.take_while(is_comment).map(str::len).sum();
    let mut at = head;
    let mut end = head;
    for line in text[head..next.map_or(text.len(), line_of)].split_inclusive('\n') {
        at += line.len();
        if !line.trim().is_empty() && !is_comment(&line) {
            end = at;
        }
    }
    Some(head - above..end)
}

/// Adds where the heads of the tables in a table begin.
fn add_heads(table: &Table, heads: &mut Vec<usize>) {
    let mut add = |table: &Table| {
        if !table.is_dotted() && !table.is_implicit() {
            heads.extend(table.span().map(|span| span.start));
        }
        add_heads(table, heads);
    };
    for (_, item) in table {
        match item {
            Item::Table(table) => add(table),
            Item::ArrayOfTables(tables) => tables.iter().for_each(&mut add),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Edit;

    /// The first group, and all that follows it.
    const PARTS: [&str; 2] = [
        "# A file.\n\n[link]\nrate = \"1Mbps\"\nbuffer = \"9p\"\n\n# Of the first.\n[[flows]]\n\
         name = \"first\"\nrtt = \"10ms\"\n",
        "\n# Of the run.\n\n[run]\nwarmup = \"1s\"\nmeasure = \"1s\"\n",
    ];

    /// A group with a comment, values over several lines, and tables of its own.
    const OTHER: &str = "# Of the\n# second.\n  [[flows]]\nname = \"other\"  # short\n\n# [[flows]]\n\
                         rtt = \"\"\"\n# 20ms\"\"\"\n[flows.cca]\nkind = \"cubic\"\n";

    fn edited(text: &str, edits: &[Edit]) -> String {
        Scenario::edited(text, "a", edits).unwrap()
    }

    fn remove(key: &str) -> Edit {
        Edit::Remove(key.to_owned())
    }

    fn add(group: &str) -> Edit {
        Edit::AddGroup(group.to_owned())
    }

    #[test]
    fn a_group_that_is_added_and_removed_leaves_the_text_as_it_was() {
        let other = OTHER.replace("\"\"\"\n# 20ms\"\"\"", "\"\"\"\\\n\n20ms\"\"\"");
        let text = PARTS.concat();
        let added = edited(&text, &[add(&other)]);
        assert_eq!(added, PARTS.join(&format!("\n{other}")));
        assert_eq!(Scenario::group_text(&added, 1), Some(&*other));
        for key in ["flows.other", "flows.1"] {
            assert_eq!(edited(&added, &[remove(key)]), text);
        }
        assert_eq!(edited(&added, &[remove("flows.other"), add(&other)]), added);
        // At the end of a text, and without an end of the last line.
        for text in [PARTS[0], PARTS[0].trim_end()] {
            let added = edited(text, &[add(other.trim_end())]);
            assert_eq!(added, format!("{}\n{other}", PARTS[0]));
            assert_eq!(edited(&added, &[remove("flows.other")]), PARTS[0]);
        }
    }

    #[test]
    fn comments_and_strings_are_no_heads() {
        let text = PARTS.join(&format!("\n{OTHER}"));
        assert_eq!(Scenario::group_text(&text, 1), Some(OTHER));
        let first = &PARTS[0][PARTS[0].find("# Of").unwrap()..];
        assert_eq!(Scenario::group_text(&text, 0), Some(first));
        assert_eq!(Scenario::group_text(&text, 2), None);
    }

    #[test]
    fn the_last_group_and_an_unknown_one_are_not_removed() {
        let text = PARTS.concat();
        for key in ["flows.first", "flows.none"] {
            let error = Scenario::edited(&text, "a", &[remove(key)]).unwrap_err();
            assert!(error.at_key().contains("flows"), "{error}");
        }
    }

    #[test]
    fn groups_without_heads_are_neither_removed_nor_added() {
        let values = "flows = [{ name = \"a\", rtt = \"1ms\" }, { name = \"b\", rtt = \"1ms\" }]\n";
        let text = format!("{values}{}", PARTS.concat());
        let text = text.replace("[[flows]]\nname = \"first\"\nrtt = \"10ms\"\n", "");
        assert_eq!(edited(&text, &[]), text);
        assert_eq!(Scenario::group_text(&text, 0), None);
        for edit in [remove("flows.a"), add("[[flows]]\nrtt = \"1ms\"\n")] {
            let error = Scenario::edited(&text, "a", &[edit]).unwrap_err().at_key();
            assert!(error.contains("allowed: groups with a head"), "{error}");
        }
    }
}
