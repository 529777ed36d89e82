//! The descriptions of the keys for people: the tables of the manual and the answers of `explain`.

use std::fmt::Write as _;

use forebay_units::parameter::Description;

use crate::model::sections::sections;
use crate::text::grammar::KeyText;

/// The manual's tables of all keys, in Markdown.
pub fn manual() -> String {
    let mut page = String::new();
    for section in sections() {
        // The metrics have a page of their own.
        if section.name == "goal" {
            continue;
        }
        let title = match section.name.as_str() {
            "law" => "Distributions".to_owned(),
            name => format!("`{name}`"),
        };
        let _ = write!(page, "\n### {title}\n\n{}\n\n", wrapped(&section.meaning));
        page.push_str("| key | values | default | meaning |\n|---|---|---|---|\n");
        for key in &section.keys {
            rows(&mut page, key, "");
        }
        if let Some(workload) = section.keys.iter().find(|key| key.name == "workload") {
            page.push_str("\n### Workloads\n\n`persistent` (data is always available), `voip`, or a table with one of these:\n\n");
            page.push_str("| key | values | default | meaning |\n|---|---|---|---|\n");
            for kind in &workload.keys {
                rows(&mut page, kind, "");
            }
        }
    }
    page
}

/// The registered algorithms under the title of their kind.
fn algorithms_by_kind() -> [(&'static str, &'static [&'static Description]); 2] {
    [
        ("Congestion controls", forebay_congestion::descriptions()),
        ("Queue disciplines", forebay_discipline::descriptions()),
    ]
}

/// The manual's tables of congestion controls and queue disciplines, in Markdown: a description of
/// each, its source, and the comparisons that checked it.
pub fn algorithms() -> String {
    let mut page = String::new();
    for (title, known) in algorithms_by_kind() {
        let _ = write!(
            page,
            "\n### {title}\n\n| name | description | source | compared with |\n|---|---|---|---|\n"
        );
        for one in known {
            let checks = one.checks().join("; ");
            let (what, source, checks) = (cell(one.title), cell(one.source), cell(&checks));
            let _ = writeln!(page, "| `{}` | {what} | {source} | {checks} |", one.name);
        }
    }
    page
}

/// The manual's tables of the parameters of congestion controls and queue disciplines, in Markdown.
/// The algorithms without parameters share a sentence.
pub fn parameters() -> String {
    let mut page = String::new();
    for (title, known) in algorithms_by_kind() {
        let _ = write!(page, "\n## {title}\n");
        let mut plain = Vec::new();
        for one in known {
            if one.parameters.is_empty() {
                plain.push(format!("`{}`", one.name));
                continue;
            }
            let _ = write!(page, "\n### `{}`\n\n{PARAMETERS}", one.name);
            for parameter in one.parameters {
                let (kind, meaning) = (parameter.kind, cell(parameter.meaning));
                let (name, default) = (parameter.name, parameter.default);
                let (unit, range) = (kind.unit(), kind.range());
                let _ = writeln!(
                    page,
                    "| `{name}` | {default} | {unit} | {range} | {meaning} |"
                );
            }
        }
        if !plain.is_empty() {
            let names = plain.join(", ");
            let _ = write!(page, "\nThese have no parameters: {names}.\n");
        }
    }
    page
}

/// The head of a table of parameters.
const PARAMETERS: &str =
    "| parameter | default | unit | values | meaning |\n|---|---|---|---|---|\n";

/// The row of a key, and those of the keys within its values.
fn rows(page: &mut String, key: &KeyText, within: &str) {
    let name = format!("{within}{}", key.name);
    let default = match key.default.as_str() {
        _ if key.required => "required".to_owned(),
        "" => String::new(),
        default => format!("`{}`", cell(default)),
    };
    if key.allowed.is_empty() {
        // One of the words that the key before takes.
        let _ = writeln!(page, "| | `{}` | | {} |", key.name, cell(&key.meaning));
    } else {
        let (allowed, meaning) = (cell(&key.allowed), cell(&key.meaning));
        let _ = writeln!(page, "| `{name}` | {allowed} | {default} | {meaning} |");
    }
    if key.name != "workload" {
        for inner in &key.keys {
            rows(page, inner, &format!("{name}."));
        }
    }
}

/// The text in lines of at most 100 columns.
fn wrapped(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= 100 => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
