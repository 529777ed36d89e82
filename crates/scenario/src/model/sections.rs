//! The tables of scenario files, with the texts of all their keys.

use serde_json::Value;

use crate::model::distribution::form::distributions;
use crate::model::fabric::table::Fabric;
use crate::model::flows::FlowGroup;
use crate::model::link::Link;
use crate::model::memory::Memory;
use crate::model::metric::Metric;
use crate::model::options::{FluidOptions, RunPlan, TraceOptions};
use crate::text::grammar::{Grammar, KeyText};
use crate::text::keys::Section;

/// The tables of scenario files with their keys, and the distributions, as the section
/// `distribution`. The keys within a key's values are its [`KeyText::keys`]: the way to
/// `flows.workload.closed_loop.users` goes through four of these.
pub fn sections() -> Vec<KeyText> {
    let section = |name: &str, meaning: &str, keys: Vec<KeyText>| {
        let names: Vec<&str> = keys.iter().map(|key| key.name.as_str()).collect();
        let grammar = Grammar::new(Value::Null, format!("a table with {}", names.join(", ")));
        KeyText::of(name, meaning, grammar.with_keys(keys))
    };
    vec![
        section(
            "link",
            "The link, [link]; or several links, [[links]], one of them with `target = true`.",
            Link::texts(),
        ),
        section(
            "fabric",
            "A leaf-spine fabric in place of the links, [fabric]: it makes the links of all hosts and switches.",
            Fabric::texts(),
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
            "Distribution of a quantity: a value, a list with one value per flow, or a table with one distribution. \
                A table may also have `jitter`, a distribution whose random values are added.",
            distributions(),
        ),
        section(
            "run",
            "Duration and number of the simulations, [run].",
            RunPlan::texts(),
        ),
        section(
            "goal",
            "Bounds that `recommend` must meet, [goal]: \">= value\" or \"<= value\", or a list of them, for a metric of \
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
            "Data that `run --trace` records over time, [trace].",
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
