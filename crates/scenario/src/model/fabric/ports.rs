//! The tables of a fabric's ports, each with keys of many links.

use serde_json::{Map, Value};

use crate::model::link::Link;
use crate::model::pfc::CableLength;
use crate::text::cursor::Cursor;
use crate::text::grammar::{Grammar, KeyText, object};
use crate::text::keys::{Context, Form, Section};
use crate::text::tree::ScenarioError;

/// Keys of a link that all ports of a role can share.
const KEYS: [&str; 9] = [
    "rate",
    "buffer",
    "queue",
    "delay",
    "rate_layer",
    "loss",
    "memory_alpha",
    "memory_reserved",
    "pfc",
];

/// A length in place of a `delay`.
pub(crate) const CABLE: &str = "cable";

/// Keys of ports, as written. Two fabrics are equal if their links are.
#[derive(Clone, Debug, Default)]
pub struct PortTable(Map<String, Value>);

impl PartialEq for PortTable {
    fn eq(&self, other: &Self) -> bool {
        self.0.is_empty() == other.0.is_empty()
    }
}

impl PortTable {
    /// The value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// Changes the value of a key.
    pub(crate) fn set(&mut self, key: &str, value: Value) {
        self.0.insert(key.into(), value);
    }
}

/// The form of a table of ports.
pub(crate) struct PortForm;

impl PortForm {
    fn names() -> Vec<&'static str> {
        KEYS.into_iter().chain([CABLE]).collect()
    }

    fn texts() -> Vec<KeyText> {
        let of_link = Link::texts().into_iter();
        let mut texts: Vec<KeyText> = of_link
            .filter(|text| KEYS.contains(&text.name.as_str()))
            .collect();
        for text in &mut texts {
            text.required = false;
        }
        let meaning = "Length of the cable, in place of `delay`: 198,000 km/s.";
        texts.push(KeyText::of(CABLE, meaning, CableLength.grammar()));
        texts
    }
}

impl Form<PortTable> for PortForm {
    fn read(&self, at: &Cursor<'_>, _: &Context<'_>) -> Result<PortTable, ScenarioError> {
        at.only(&Self::names())?;
        match at.node.value() {
            Value::Object(map) => Ok(PortTable(map)),
            _ => Err(at.error("a table")),
        }
    }

    fn write(&self, table: &PortTable, _: &Context<'_>) -> Option<Value> {
        (!table.0.is_empty()).then(|| table.0.clone().into())
    }

    fn grammar(&self) -> Grammar {
        let allowed = format!("{{ {} }}", Self::names().join(", "));
        Grammar::new(object(&Self::texts()), allowed)
    }
}
