//! JSON Schema of scenario files, generated from the registries and metric list, for editors.

use forebay_units::parameter::{Description, ParameterKind};
use serde_json::{Map, Value, json};

use crate::measured::MEASURED;
use crate::metric::Metric;

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
            "title": {"type": "string"},
            "link": {"$ref": "#/$defs/link"},
            "links": {"type": "array", "minItems": 1, "maxItems": 64, "items": {"$ref": "#/$defs/link"}},
            "flows": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/group"}},
            "memories": {"type": "array", "maxItems": 64, "items": object(&[
                ("name", json!({"type": "string"})),
                ("size", text("^[0-9.eE+-]+ ?(p|B|[kMGT]B|[KMGT]iB)$",
                    "what may wait at all links of this memory together: packets \"1000p\" or bytes \"12MB\"")),
            ])},
            "run": object(&[
                ("warmup", time()), ("measure", time()),
                ("seed", json!({"type": "integer", "minimum": 0})),
                ("replications", json!({"type": "integer", "minimum": 1})),
            ]),
            "goal": goals(),
            "fluid": object(&[
                ("minimum_synchronization", json!({"type": "number", "minimum": 0, "maximum": 1})),
                ("law", words(&["truncated_normal", "uniform", "fixed", "empirical", "continuous"])),
                ("victims", victims()),
                ("window", words(&["whole_cycles", "fixed"])),
                ("tolerance", json!({"type": "number", "minimum": 1e-9, "maximum": 0.1})),
                ("empirical", json!({"type": "array", "items": {"type": "integer", "minimum": 1},
                    "description": "numbers of flows that lost in observed events; each event draws one"})),
                ("background", json!({"oneOf": [words(&["constant"]), required("redrawn", time())]})),
            ]),
            "trace": object(&[
                ("every", time()), ("from", time()), ("until", time()),
                ("record", json!({"type": "array",
                    "items": words(&["cwnd", "queue", "utilization", "packets", "transfers"])})),
            ]),
        },
        "$defs": {
            "link": link(),
            "group": group(),
            "count": count(),
            "law": {
                "description": law_description(),
                "type": ["string", "array", "object"],
            },
        },
    })
}

fn law_description() -> String {
    let names: Vec<_> = MEASURED
        .iter()
        .map(|law| format!("{} ({})", law.name, law.source))
        .collect();
    format!(
        "a value, a list with one value per flow, or a table with one law; of sizes also \
        {{ measured = NAME }} with a name out of: {}",
        names.join("; ")
    )
}

fn link() -> Value {
    let mut schema = object(&[
        ("name", json!({"type": "string"})),
        ("rate", rate()),
        (
            "buffer",
            text(
                "^[0-9.eE+-]+ ?(p|B|[kMGT]B|[KMGT]iB|BDP|ps|ns|us|ms|s|min|h|d)$",
                "packets \"100p\", bytes \"150kB\", time \"5ms\" or \"0.5BDP\"; what waits, without the packet in transmission",
            ),
        ),
        ("queue", algorithm(forebay_discipline::descriptions())),
        ("delay", time()),
        ("rate_layer", words(&["l1", "l2", "l3"])),
        (
            "memory",
            json!({"type": "string", "description": "one of [[memories]]: what waits here takes its place together with what waits at the other links of it"}),
        ),
        ("target", json!({"type": "boolean"})),
    ]);
    schema["required"] = json!(["rate", "buffer"]);
    schema
}

fn group() -> Value {
    let law = || json!({"$ref": "#/$defs/law"});
    let window = || json!({"type": ["string", "number"], "description": "packets, as in \"10p\""});
    let switch = || json!({"type": "boolean"});
    object(&[
        ("name", json!({"type": "string"})),
        ("count", json!({"$ref": "#/$defs/count"})),
        ("cca", algorithm(forebay_congestion::descriptions())),
        ("rtt", law()),
        ("packet", law()),
        ("workload", workload()),
        ("start", law()),
        ("stop", law()),
        ("stack", words(&["rfc", "ns2", "linux"])),
        ("recovery", words(&["newreno", "sack", "fack", "rack"])),
        ("reduction", words(&["at_once", "prr", "rate_halving"])),
        ("partial_ack_timer", words(&["first", "every"])),
        ("timeout_cut", words(&["first", "every"])),
        ("min_rto", time()),
        ("initial_rto", time()),
        ("clock", time()),
        (
            "delayed_ack",
            object(&[
                (
                    "packets",
                    json!({"type": "integer", "minimum": 1, "maximum": 1000}),
                ),
                ("timeout", time()),
            ]),
        ),
        ("initial_window", window()),
        ("initial_ssthresh", window()),
        ("receive_window", window()),
        ("header", bytes()),
        ("timestamps", switch()),
        ("handshake", switch()),
        ("pacing", switch()),
        ("offload", switch()),
        ("ecn", switch()),
        ("frto", switch()),
        (
            "access",
            object(&[("rate", rate()), ("queue", json!({"type": "string"}))]),
        ),
        (
            "path",
            json!({"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 15}),
        ),
        (
            "reverse",
            json!({"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 15,
                "description": "links that the acknowledgements cross"}),
        ),
    ])
}

fn workload() -> Value {
    let law = || json!({"$ref": "#/$defs/law"});
    let one = required;
    json!({"oneOf": [
        words(&["persistent", "voip"]),
        one("finite", object(&[("size", law())])),
        one("closed_loop", object(&[
            ("users", json!({"$ref": "#/$defs/count"})), ("think", law()), ("size", law()),
        ])),
        one("open_loop", object(&[
            ("load", json!({"type": "number", "exclusiveMinimum": 0})), ("rate", rate()),
            ("interarrival", law()), ("size", law()),
        ])),
        one("incast", object(&[
            ("servers", json!({"$ref": "#/$defs/count"})), ("pause", law()), ("delay", law()), ("size", law()),
        ])),
        one("app_limited", object(&[("rate", rate())])),
        one("voip", object(&[("interval", time()), ("talk", time()), ("silence", time())])),
        one("poisson", object(&[("rate", rate())])),
        one("cbr", object(&[("rate", rate())])),
        one("on_off", object(&[("peak", rate()), ("on", law()), ("off", law())])),
    ]})
}

/// A number of flows, or how each replication draws it.
fn count() -> Value {
    let whole = || json!({"type": "integer", "minimum": 1});
    let list = |least: u32| json!({"type": "array", "minItems": least, "items": whole()});
    json!({"oneOf": [
        whole(),
        object(&[("poisson", json!({"type": "number", "minimum": 0.1, "maximum": 1e6}))]),
        object(&[("uniform", list(2))]),
        object(&[("choice", list(1))]),
    ]})
}

fn victims() -> Value {
    let row = json!({"type": "array", "items": {"type": "number"}});
    let rows = json!({"type": "array", "minItems": 1, "items": row,
        "description": "rows used in turn, one number per persistent flow; the largest lose"});
    json!({"oneOf": [
        words(&["highest_rate", "random", "rate_proportional"]), required("priority", rows),
    ]})
}

/// A table with this one key.
fn required(name: &str, body: Value) -> Value {
    let mut schema = object(&[(name, body)]);
    schema["required"] = json!([name]);
    schema
}

fn goals() -> Value {
    let names: Vec<&str> = Metric::ALL.into_iter().map(Metric::goal_name).collect();
    json!({
        "type": "object",
        "description": "metric (or group.metric) to \">= value\" or \"<= value\"",
        "propertyNames": {"pattern": format!("^(.+\\.)?({})$", names.join("|"))},
        "additionalProperties": {"type": "string", "pattern": "^ *(>=|<=)"},
    })
}

/// A name out of a registry, or a table with `kind` and that algorithm's parameters.
fn algorithm(registry: &[&'static Description]) -> Value {
    let mut forms = vec![words(&registry.iter().map(|d| d.name).collect::<Vec<_>>())];
    for description in registry {
        let mut entries = vec![("kind", json!({"const": description.name}))];
        for parameter in description.parameters {
            let mut schema = match parameter.kind {
                ParameterKind::Number { min, max } => {
                    json!({"type": "number", "minimum": min, "maximum": max})
                }
                ParameterKind::Time => time(),
                ParameterKind::Bytes => bytes(),
                ParameterKind::Rate => rate(),
                ParameterKind::Threshold => json!({"type": "string"}),
                ParameterKind::Switch => json!({"type": "boolean"}),
                ParameterKind::Choice { words: allowed } => words(allowed),
            };
            schema["description"] = parameter.meaning.into();
            entries.push((parameter.name, schema));
        }
        let mut schema = object(&entries);
        schema["required"] = json!(["kind"]);
        schema["description"] = description.title.into();
        forms.push(schema);
    }
    json!({ "oneOf": forms })
}

fn object(entries: &[(&str, Value)]) -> Value {
    let properties: Map<String, Value> = entries
        .iter()
        .map(|(key, value)| ((*key).to_owned(), value.clone()))
        .collect();
    json!({"type": "object", "additionalProperties": false, "properties": properties})
}

fn words(words: &[&str]) -> Value {
    json!({ "enum": words })
}

fn text(pattern: &str, description: &str) -> Value {
    json!({"type": "string", "pattern": pattern, "description": description})
}

fn time() -> Value {
    text(
        "^[0-9.eE+-]+ ?(ps|ns|us|µs|ms|s|min|h|d)$",
        "a time such as \"100ms\"",
    )
}

fn rate() -> Value {
    text(
        "^[0-9.eE+-]+ ?[kMGT]?bps$",
        "a bit rate such as \"50Mbps\" (powers of 1000)",
    )
}

fn bytes() -> Value {
    text(
        "^[0-9.eE+-]+ ?([kMGT]?B|[KMGT]iB)$",
        "a size such as \"1500B\" or \"64KiB\"",
    )
}
