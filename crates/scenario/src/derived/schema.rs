//! JSON Schema of scenario files, for editors, out of what the keys say of themselves.

use serde_json::{Value, json};

use crate::model::assumed;
use crate::model::distribution::form as distribution;
use crate::model::fabric::table::Fabric;
use crate::model::flow_count;
use crate::model::flows::FlowGroup;
use crate::model::link::Link;
use crate::model::memory::Memory;
use crate::model::metric::Metric;
use crate::model::observed;
use crate::model::options::{FluidOptions, RunPlan, TraceOptions};
use crate::model::scenario::{MAX_BOUNDS, MAX_TITLE};
use crate::text::grammar::{object, text};
use crate::text::keys::Section;

/// The JSON Schema (draft 2020-12) of a scenario file.
pub fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "forebay scenario",
        "type": "object",
        "additionalProperties": false,
        "required": ["flows"],
        "oneOf": [{"required": ["link"]}, {"required": ["links"]}, {"required": ["fabric"]}],
        "properties": {
            "title": {"type": "string", "maxLength": MAX_TITLE},
            "assumed": assumed::schema(),
            "link": {"$ref": "#/$defs/link"},
            "links": {"type": "array", "minItems": 1, "maxItems": 64, "items": {"$ref": "#/$defs/link"}},
            "fabric": object(&Fabric::texts()),
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
            "count": flow_count::schema(),
            "law": distribution::schema(),
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
