//! JSON Schema of scenario files, for editors, out of what the keys say of themselves.

use serde_json::{Map, Value, json};

use crate::assumed;
use crate::flows::FlowGroup;
use crate::keys::{Grammar, KeyText, Section};
use crate::law;
use crate::link::{Link, Memory};
use crate::metric::Metric;
use crate::observed;
use crate::options::{FluidOptions, RunPlan, TraceOptions};
use crate::scenario::{MAX_BOUNDS, MAX_TITLE};
use crate::uncertain;

/// The JSON Schema (draft 2020-12) of a scenario file.
pub fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "forebay scenario",
        "type": "object",
        "additionalProperties": false,
        "required": ["flows"],
        "oneOf": [{"required": ["link"]}, {"required": ["links"]}],
        "properties": {
            "title": {"type": "string", "maxLength": MAX_TITLE},
            "assumed": assumed::schema(),
            "link": {"$ref": "#/$defs/link"},
            "links": {"type": "array", "minItems": 1, "maxItems": 64, "items": {"$ref": "#/$defs/link"}},
            "flows": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/group"}},
            "memories": {"type": "array", "maxItems": 64, "items": object(&Memory::texts())},
            "run": object(&RunPlan::texts()),
            "goal": goals(),
            "fluid": object(&FluidOptions::texts()),
            "trace": object(&TraceOptions::texts()),
            "observed": observed::schema(),
        },
        "$defs": {
            "link": object(&Link::texts()),
            "group": object(&FlowGroup::texts()),
            "count": uncertain::schema(),
            "law": law::schema(),
        },
    })
}

fn goals() -> Value {
    let names: Vec<&str> = Metric::ALL.into_iter().map(Metric::goal_name).collect();
    let bound = text("^ *(>=|<=)", "\">= value\" or \"<= value\"");
    json!({
        "type": "object",
        "description": "metric (or group.metric) to \">= value\" or \"<= value\", or a list of them",
        "propertyNames": {"pattern": format!("^(.+\\.)?({})$", names.join("|"))},
        "additionalProperties": {"anyOf": [
            bound.clone(),
            {"type": "array", "minItems": 1, "maxItems": MAX_BOUNDS, "items": bound},
        ]},
    })
}

/// A table with these keys.
pub(crate) fn object(entries: &[KeyText]) -> Value {
    let properties: Map<String, Value> = entries
        .iter()
        .map(|entry| (entry.name.clone(), entry.schema.clone()))
        .collect();
    let mut schema =
        json!({"type": "object", "additionalProperties": false, "properties": properties});
    let required = entries.iter().filter(|entry| entry.required);
    let required: Vec<&str> = required.map(|entry| entry.name.as_str()).collect();
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// A table with these keys, all of which must be given.
pub(crate) fn required(entries: &[KeyText]) -> Value {
    let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    let mut schema = object(entries);
    schema["required"] = json!(names);
    schema
}

/// A key of which only the schema matters.
pub(crate) fn entry(name: &str, schema: Value) -> KeyText {
    KeyText::of(name, "", Grammar::new(schema, ""))
}

/// One of these words.
pub(crate) fn words(words: &[&str]) -> Value {
    json!({ "enum": words })
}

/// A text of this pattern.
pub(crate) fn text(pattern: &str, description: &str) -> Value {
    json!({"type": "string", "pattern": pattern, "description": description})
}
