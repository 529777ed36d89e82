//! The descriptions of keys: in the manual, in the schema, and in `explain`.
use std::collections::BTreeSet;

use forebay_scenario::{
    Format, KeyText, Scenario, algorithms, manual, parameters, schema, sections,
};
use forebay_units::parameter::Description;
use serde_json::Value;

#[test]
fn the_manual_has_the_tables_of_keys_algorithms_and_parameters() {
    for (name, tables, file, page) in [
        (
            "keys",
            manual(),
            "docs/reference/scenario-keys.md",
            include_str!("../../../../docs/reference/scenario-keys.md"),
        ),
        (
            "algorithms",
            algorithms(),
            "docs/reference/algorithms.md",
            include_str!("../../../../docs/reference/algorithms.md"),
        ),
        (
            "parameters",
            parameters(),
            "docs/reference/parameters.md",
            include_str!("../../../../docs/reference/parameters.md"),
        ),
    ] {
        let (_, rest) = page
            .split_once(&format!("<!-- {name}: begin -->\n"))
            .unwrap();
        let (written, _) = rest.split_once(&format!("<!-- {name}: end -->\n")).unwrap();
        assert!(
            written == tables,
            "renew {file}: cargo run -p forebay-scenario --example manual"
        );
    }
}

/// Every algorithm states what it was compared with, and whether that was another program.
#[test]
fn every_algorithm_says_what_it_was_held_against() {
    const PROGRAMS: [&str; 4] = ["ns-2.35", "ns-3.48", "Linux 6.18", "Linux 5.5"];
    let known = [
        forebay_congestion::descriptions(),
        forebay_discipline::descriptions(),
    ]
    .concat();
    for one in known {
        let compared = one.checked.iter().any(|evidence| evidence.is_program());
        let lines = one.checks();
        assert_eq!(compared, lines[0] != Description::ALONE, "{}", one.name);
        assert_eq!(lines.len(), one.checked.len() + usize::from(!compared));
        for evidence in one.checked {
            let named = PROGRAMS
                .iter()
                .any(|program| evidence.what().starts_with(program));
            assert_eq!(evidence.is_program(), named, "{}: {evidence}", one.name);
            assert_eq!(
                one.checked
                    .iter()
                    .filter(|other| *other == evidence)
                    .count(),
                1
            );
        }
    }
}

/// Every key and word, with its dotted name.
fn all(texts: &[KeyText], within: &str) -> Vec<(String, KeyText)> {
    let mut found = Vec::new();
    for text in texts {
        let name = format!("{within}{}", text.name);
        found.extend(all(&text.keys, &format!("{name}.")));
        found.push((name, text.clone()));
    }
    found
}

#[test]
fn every_key_says_what_it_means_and_has_a_name_of_its_own() {
    let all = all(&sections(), "");
    let names: BTreeSet<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names.len(), all.len());
    for (name, text) in &all {
        assert!(
            text.meaning.ends_with('.') || name.starts_with("goal."),
            "{name}: {}",
            text.meaning
        );
        assert!(!text.meaning.contains("  "), "{name}: {}", text.meaning);
    }
    for name in [
        "link.buffer",
        "flows.recovery.rack",
        "flows.delayed_ack.timeout",
        "flows.workload.closed_loop.users",
        "flows.workload.voip.talk",
        "law.pareto",
        "memories.size",
        "fluid.victims",
        "trace.record.packets",
        "goal.utilization",
    ] {
        assert!(names.contains(name), "{name}");
    }
}

#[test]
fn the_schema_has_the_meanings_and_defaults_of_the_keys() {
    let schema = schema();
    let at = |pointer: &str| schema.pointer(pointer).unwrap_or(&Value::Null).clone();
    let group = "/$defs/group/properties";
    assert_eq!(at(&format!("{group}/min_rto/default")), "1s");
    assert_eq!(
        at(&format!("{group}/clock/description")),
        "Granularity of the sender's clock for round-trip times and timers; zero is exact. (a time such as \"100ms\")"
    );
    assert_eq!(
        at("/$defs/link/required"),
        serde_json::json!(["rate", "buffer"])
    );
    assert_eq!(at("/properties/run/properties/measure/default"), "60s");
    let sections = sections();
    let flows = sections.iter().find(|text| text.name == "flows").unwrap();
    for (name, text) in all(&flows.keys, "") {
        if !name.contains('.') {
            assert!(at(&format!("{group}/{}", text.name)).is_object(), "{name}");
        }
    }
}

/// A default that is written into the file is what the file says without it.
#[test]
fn what_stands_as_default_is_the_default() {
    let file = |key: &str, value: &str| {
        let (mut link, mut flows, mut rest) = (String::new(), String::new(), String::new());
        match key.split_once('.').unwrap() {
            ("link", key) => link = format!("{key} = {value}\n"),
            ("flows", key) => flows = format!("{key} = {value}\n"),
            (section, key) => rest = format!("[{section}]\n{key} = {value}\n"),
        }
        format!(
            "[link]\nrate = \"1Gbps\"\nbuffer = \"9p\"\n{link}[[flows]]\nrtt = \"9ms\"\n{flows}{rest}"
        )
    };
    let hash = |text: &str| Scenario::parse(text, Format::Toml, "test", &[]).map(|s| s.sha256());
    let without = hash(&file("run.seed", "1")).unwrap();
    let mut checked = 0;
    for section in ["link", "flows", "run", "fluid", "trace"] {
        let texts = sections();
        let section = texts.iter().find(|text| text.name == section).unwrap();
        for key in section.keys.iter().filter(|key| !key.default.is_empty()) {
            let name = format!("{}.{}", section.name, key.name);
            let same = [key.default.clone(), format!("\"{}\"", key.default)]
                .iter()
                .any(|value| hash(&file(&name, value)) == Ok(without.clone()));
            assert!(same, "{name} = {}", key.default);
            checked += 1;
        }
    }
    assert!(checked > 35, "{checked}");
}
