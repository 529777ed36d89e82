//! Values that keys allow, as a JSON Schema for programs and as words for people.
//!
//! A form gives the [`Grammar`] of its values. The schema, `explain` and the manual collect the
//! texts of all keys.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::text::naming::deprecated_key;

/// Values that a form allows.
pub(crate) struct Grammar {
    /// JSON Schema of the values.
    pub(crate) schema: Value,
    /// The same in words.
    pub(crate) allowed: String,
    /// Texts of the keys or words within the values.
    pub(crate) keys: Vec<KeyText>,
}

impl Grammar {
    pub(crate) fn new(schema: Value, allowed: impl Into<String>) -> Self {
        Self {
            schema,
            allowed: allowed.into(),
            keys: Vec::new(),
        }
    }

    pub(crate) fn with_keys(self, keys: Vec<KeyText>) -> Self {
        Self { keys, ..self }
    }
}

/// The text of one key of scenario files, or of one word that a key takes.
#[derive(Clone, Debug, Serialize)]
pub struct KeyText {
    /// The key.
    pub name: String,
    /// The deprecated name of the key, if there is one.
    pub deprecated: Option<&'static str>,
    /// Meaning of the key, in sentences.
    pub meaning: String,
    /// Allowed values, in words.
    pub allowed: String,
    /// Default value as in a file; empty if there is none.
    pub default: String,
    /// Whether the key is required.
    pub required: bool,
    /// The keys or words within its values.
    pub keys: Vec<KeyText>,
    /// JSON Schema of its values.
    #[serde(skip)]
    pub(crate) schema: Value,
}

impl KeyText {
    /// A name without values: a word, a kind, a law.
    pub(crate) fn of(name: &str, meaning: &str, grammar: Grammar) -> Self {
        Self {
            name: name.into(),
            deprecated: deprecated_key(name),
            meaning: meaning.into(),
            allowed: grammar.allowed,
            default: String::new(),
            required: false,
            keys: grammar.keys,
            schema: grammar.schema,
        }
    }

    /// With a further sentence on its meaning.
    pub(crate) fn add(&mut self, sentence: &str) {
        let longer = format!("{} {sentence}", self.meaning);
        if let Some(Value::String(description)) = self.schema.get_mut("description") {
            *description = description.replacen(&self.meaning, &longer, 1);
        }
        self.meaning = longer;
    }
}

/// A table with these keys.
pub(crate) fn object(entries: &[KeyText]) -> Value {
    let mut properties = Map::new();
    for entry in entries {
        if let Some(old) = entry.deprecated {
            let mut schema = entry.schema.clone();
            schema["deprecated"] = true.into();
            properties.insert(old.into(), schema);
        }
        properties.insert(entry.name.clone(), entry.schema.clone());
    }
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
