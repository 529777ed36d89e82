//! What the keys say of themselves, for people: the tables of the manual and the answers of
//! `explain`.

use std::fmt::Write as _;

use serde_json::Value;

use crate::flows::FlowGroup;
use crate::keys::{Grammar, KeyText, Section};
use crate::law::laws;
use crate::link::{Link, Memory};
use crate::metric::Metric;
use crate::options::{FluidOptions, RunPlan, TraceOptions};

/// The tables of scenario files with their keys, and the laws, as the section `law`. The keys within
/// a key's values are its [`KeyText::keys`]: the way to `flows.workload.closed_loop.users` goes
/// through four of these.
pub fn sections() -> Vec<KeyText> {
    let section = |name: &str, meaning: &str, keys: Vec<KeyText>| {
        let names: Vec<&str> = keys.iter().map(|key| key.name.as_str()).collect();
        let grammar = Grammar::new(Value::Null, format!("a table with {}", names.join(", ")));
        KeyText::of(name, meaning, grammar.with_keys(keys))
    };
    vec![
        section(
            "link",
            "The link, [link]; or several of them, [[links]], one with `target = true`.",
            Link::texts(),
        ),
        section(
            "memories",
            "Memories that links share, [[memories]].",
            Memory::texts(),
        ),
        section(
            "flows",
            "Groups of flows, [[flows]], at least one.",
            FlowGroup::texts(),
        ),
        section(
            "law",
            "How a quantity varies, wherever one may: a value, a list with one value per flow, or a table with one \
                law and perhaps `jitter`, a law whose draws are added.",
            laws(),
        ),
        section(
            "run",
            "How long and how often the scenario is simulated, [run].",
            RunPlan::texts(),
        ),
        section(
            "goal",
            "What `recommend` must meet, [goal]: \">= value\" or \"<= value\", or a list of such bounds, for a metric of \
                the target link, or of a group as \"group.metric\".",
            goals(),
        ),
        section(
            "fluid",
            "Options of the fluid engine, [fluid].",
            FluidOptions::texts(),
        ),
        section(
            "trace",
            "What `run --trace` records over time, [trace].",
            TraceOptions::texts(),
        ),
    ]
}

/// The names of all keys of tables, each with its table: "run.seed".
pub(crate) fn dotted_keys() -> Vec<String> {
    let of = |section: KeyText| {
        let name = section.name;
        let dotted = move |key: &KeyText| format!("{name}.{}", key.name);
        section.keys.iter().map(dotted).collect::<Vec<_>>()
    };
    sections().into_iter().flat_map(of).collect()
}

fn goals() -> Vec<KeyText> {
    let goal = |metric: Metric| {
        let grammar = Grammar::new(Value::Null, "\">= value\" or \"<= value\", or a list");
        KeyText::of(metric.goal_name(), metric.meaning(), grammar)
    };
    Metric::ALL.into_iter().map(goal).collect()
}

/// The manual's tables of all keys, in Markdown.
pub fn manual() -> String {
    let mut page = String::new();
    for section in sections() {
        // The metrics have a page of their own.
        if section.name == "goal" {
            continue;
        }
        let title = match section.name.as_str() {
            "law" => "Laws".to_owned(),
            name => format!("`{name}`"),
        };
        let _ = write!(page, "\n### {title}\n\n{}\n\n", section.meaning);
        page.push_str("| key | values | without it | meaning |\n|---|---|---|---|\n");
        for key in &section.keys {
            rows(&mut page, key, "");
        }
        if let Some(workload) = section.keys.iter().find(|key| key.name == "workload") {
            page.push_str("\n### Workloads\n\n`persistent` (always something), `voip`, or a table with one of these:\n\n");
            page.push_str("| key | values | without it | meaning |\n|---|---|---|---|\n");
            for kind in &workload.keys {
                rows(&mut page, kind, "");
            }
        }
    }
    page
}

/// The manual's tables of controllers and queue disciplines, in Markdown: what each is, and what it
/// was held against.
pub fn algorithms() -> String {
    let mut page = String::new();
    for (title, known) in [
        ("Congestion controllers", forebay_congestion::descriptions()),
        ("Queue disciplines", forebay_discipline::descriptions()),
    ] {
        let _ = write!(
            page,
            "\n### {title}\n\n| name | what | source | held against |\n|---|---|---|---|\n"
        );
        for one in known {
            let checks = one.checks().join("; ");
            let (what, source, checks) = (cell(one.title), cell(one.source), cell(&checks));
            let _ = writeln!(page, "| `{}` | {what} | {source} | {checks} |", one.name);
        }
    }
    page
}

/// The row of a key, and those of the keys within its values.
fn rows(page: &mut String, key: &KeyText, within: &str) {
    let name = format!("{within}{}", key.name);
    let default = match key.default.as_str() {
        _ if key.required => "must be given".to_owned(),
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

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
