//! Texts of scenarios and of changes to them.

use forebay_scenario::{
    FlowGroup, Footprint, Format, MAX_FLOWS, Override, Scenario, ScenarioError, Source, Waiting,
};

use crate::check_sentence;
use crate::text;

/// Reads a scenario in TOML.
pub(crate) fn toml(bytes: &[u8]) {
    read(bytes, Format::Toml);
}

/// Reads a scenario in JSON.
pub(crate) fn json(bytes: &[u8]) {
    read(bytes, Format::Json);
}

fn read(bytes: &[u8], format: Format) {
    let Some(text) = text(bytes) else {
        return;
    };
    match Scenario::parse(text, format, "file", &[]) {
        Ok(scenario) => check_scenario(&scenario),
        Err(error) => {
            check_mistake(&error);
            let lines = text.lines().count().max(1);
            match error.source {
                Source::File { name, line } => {
                    assert_eq!(name, "file");
                    assert!(line.is_none_or(|line| (1..=lines + 1).contains(&line)));
                }
                Source::Argument(name) => panic!("no argument `{name}` was given"),
            }
        }
    }
}

/// Checks that an accepted scenario is the same after it is written and read. Every value in it is
/// resolved.
///
/// # Panics
/// If it is not so.
pub fn check_scenario(scenario: &Scenario) {
    let canonical = scenario.canonical_json();
    let again = Scenario::parse(&canonical, Format::Json, "again", &[]);
    let again = again.unwrap_or_else(|error| panic!("{error}\n{canonical}"));
    assert_eq!(again.canonical_json(), canonical);
    assert_eq!(again.sha256(), scenario.sha256());
    assert_eq!(&again, scenario, "{canonical}");
    let value: serde_json::Value =
        serde_json::from_str(&canonical).expect("it was written as JSON");
    assert_no_null(&value);
    check_buffers(scenario);
    for each in scenario.needs(&OneByteEach, true) {
        assert!(each.bytes >= 0.0 && !each.key.is_empty(), "{each:?}");
    }
    assert!(scenario.most_events() >= 0.0, "{}", scenario.most_events());
    let flows: u64 = scenario.flows().iter().map(|group| group.count).sum();
    assert!((1..=MAX_FLOWS).contains(&flows));
    for goal in scenario.goals() {
        assert!(goal.threshold.is_finite(), "{goal:?}");
        check_sentence(&goal.key());
    }
}

/// An engine that needs one byte for each item.
struct OneByteEach;

impl Footprint for OneByteEach {
    fn flow(&self, _: &FlowGroup) -> f64 {
        1.0
    }

    fn source(&self, _: &FlowGroup) -> f64 {
        1.0
    }

    fn waiting(&self, _: &Scenario, _: usize, waiting: Waiting) -> f64 {
        waiting.packets
    }

    fn under_way(&self, _: &Scenario) -> f64 {
        1.0
    }

    fn outstanding(&self, _: &FlowGroup) -> f64 {
        1.0
    }
}

/// Checks for nulls: a NaN would be one.
fn assert_no_null(value: &serde_json::Value) {
    match value {
        serde_json::Value::Null => panic!("a null"),
        serde_json::Value::Object(map) => map.values().for_each(assert_no_null),
        serde_json::Value::Array(items) => items.iter().for_each(assert_no_null),
        _ => {}
    }
}

/// Checks that each buffer has a size in every unit and can be set to another.
fn check_buffers(scenario: &Scenario) {
    let target = scenario.buffer();
    let mut all = vec![target];
    for key in scenario.buffer_keys() {
        all.push(scenario.buffer_of(&key).expect("a key that was listed"));
        let changed = scenario.with_packets(&key, 7);
        let changed = changed.unwrap_or_else(|error| panic!("{error}"));
        check_same_but_for_buffers(scenario, &changed);
    }
    for buffer in all {
        for figure in [buffer.packets, buffer.bytes, buffer.seconds] {
            assert!(figure.is_finite() && figure >= 0.0, "{buffer:?}");
        }
        assert!(buffer.bdp.is_none_or(|bdp| bdp >= 0.0), "{buffer:?}");
    }
}

fn check_same_but_for_buffers(one: &Scenario, other: &Scenario) {
    assert_eq!(one.flows(), other.flows());
    assert_eq!(one.goals(), other.goals());
    assert_eq!(one.run(), other.run());
    assert_eq!(one.links().len(), other.links().len());
}

/// Checks that an error is a sentence with the allowed values.
fn check_mistake(error: &ScenarioError) {
    check_sentence(&error.to_string());
    check_sentence(&error.at_key());
    assert!(!error.value_error.allowed().trim().is_empty(), "{error}");
}

/// A scenario with an entry in every section.
const WHOLE: &str = include_str!("whole.toml");

/// Each change is read, applied and written. A few changes test as much as many.
const MOST_CHANGES: usize = 8;

/// Applies changes to it, one per line. Accepted changes leave a valid scenario. The same change a
/// second time changes nothing.
pub(crate) fn overrides(bytes: &[u8]) {
    let Some(text) = text(bytes) else {
        return;
    };
    let start = Scenario::parse(WHOLE, Format::Toml, "whole.toml", &[]);
    let start = start.unwrap_or_else(|error| panic!("{error}"));
    let mut scenario = start.clone();
    for line in text.split('\n').take(MOST_CHANGES) {
        let change = match Override::for_argument("set", line) {
            Ok(change) => change,
            Err(error) => {
                check_asked(&error);
                continue;
            }
        };
        match scenario.with(std::slice::from_ref(&change)) {
            Ok(changed) => {
                if let Ok(twice) = changed.with(std::slice::from_ref(&change)) {
                    assert_eq!(twice, changed, "{line}");
                }
                scenario = changed;
            }
            Err(error) => check_asked(&error),
        }
    }
    if scenario != start {
        check_scenario(&scenario);
    }
}

/// Checks that the error names the change and not the file.
fn check_asked(error: &ScenarioError) {
    check_mistake(error);
    assert_eq!(error.source, Source::Argument("set".into()), "{error}");
}
