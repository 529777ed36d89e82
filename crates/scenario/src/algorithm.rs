//! A controller or queue discipline as chosen in a scenario: its name and parameter values.

use forebay_units::Bytes;
use forebay_units::parameter::{
    Description, Parameter, ParameterKind, Parameters, Threshold, Value,
};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::law::packets;
use crate::node::{Cursor, ScenarioError};

/// Parameters that bound a range, where an algorithm has both: its lower and its upper end.
const ORDERED: [(&str, &str); 2] = [("min", "max"), ("bottom", "top")];

/// A registered algorithm with its parameters.
#[derive(Clone, Debug)]
pub struct Algorithm {
    description: &'static Description,
    parameters: Parameters,
}

impl PartialEq for Algorithm {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name() && self.parameters == other.parameters
    }
}

impl Algorithm {
    /// An algorithm with its default parameters.
    pub(crate) fn new(description: &'static Description) -> Self {
        Self {
            description,
            parameters: Parameters::defaults(description.parameters),
        }
    }

    /// Reads a name, or a table with `kind` and parameters.
    pub(crate) fn read(
        cursor: &Cursor<'_>,
        registry: &[&'static Description],
    ) -> Result<Self, ScenarioError> {
        Self::read_within(cursor, registry, "")
    }

    /// The same within a preset of that name: where nothing else is written, parameters that know
    /// it as a word take it.
    pub(crate) fn read_within(
        cursor: &Cursor<'_>,
        registry: &[&'static Description],
        preset: &str,
    ) -> Result<Self, ScenarioError> {
        let kind = match cursor.text() {
            Some(_) => cursor.clone(),
            None => cursor.require("kind", "\"...\"")?,
        };
        let found = registry.iter().find(|d| kind.text() == Some(d.name));
        let description = found.ok_or_else(|| {
            let known: Vec<&str> = registry.iter().map(|d| d.name).collect();
            kind.error(known.join(", "))
        })?;
        let mut algorithm = Self::new(description).within(preset);
        if cursor.text().is_none() {
            let mut known = vec!["kind"];
            known.extend(description.parameters.iter().map(|p| p.name));
            cursor.only(&known)?;
            for parameter in description.parameters {
                if let Some(value) = cursor.get(parameter.name) {
                    algorithm
                        .parameters
                        .set(parameter.name, read_value(&value, parameter)?);
                }
            }
            for (low, high) in ORDERED {
                algorithm.in_order(cursor, low, high)?;
            }
        }
        Ok(algorithm)
    }

    /// Refuses a range that is written upside down. Thresholds of different units compare only
    /// once the link is known; there the discipline raises the upper one.
    fn in_order(&self, cursor: &Cursor<'_>, low: &str, high: &str) -> Result<(), ScenarioError> {
        let (Some(lower), Some(upper)) = (cursor.get(low), cursor.get(high)) else {
            return Ok(());
        };
        let upside_down = match (self.parameters.get(low), self.parameters.get(high)) {
            (Value::Number(least), Value::Number(most)) => most < least,
            (Value::Threshold(least), Value::Threshold(most)) => most < least,
            _ => false,
        };
        if upside_down {
            return Err(upper.error(format!("at least {low}, which is {}", lower.shown())));
        }
        Ok(())
    }

    /// With the word `preset` for every parameter that knows it.
    pub(crate) fn within(mut self, preset: &str) -> Self {
        for parameter in self.description.parameters {
            if let ParameterKind::Choice { words } = parameter.kind
                && let Some(word) = words.iter().find(|word| **word == preset)
            {
                self.parameters.set(parameter.name, Value::Word(word));
            }
        }
        self
    }

    /// Name in the registry.
    pub fn name(&self) -> &'static str {
        self.description.name
    }

    /// What the registry says of it.
    pub fn description(&self) -> &'static Description {
        self.description
    }

    /// The values of its parameters.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }
}

fn read_value(cursor: &Cursor<'_>, parameter: &Parameter) -> Result<Value, ScenarioError> {
    match parameter.kind {
        ParameterKind::Number { min, max } => cursor.number_in(min, max).map(Value::Number),
        ParameterKind::Time => cursor.unit().map(Value::Time),
        ParameterKind::Bytes => cursor.unit().map(Value::Bytes),
        ParameterKind::Rate => cursor.unit().map(Value::Rate),
        ParameterKind::Threshold => read_threshold(cursor).map(Value::Threshold),
        ParameterKind::Switch => cursor.switch().map(Value::Switch),
        ParameterKind::Choice { words } => {
            let pairs: Vec<(&str, &'static str)> = words.iter().map(|w| (*w, *w)).collect();
            cursor.word(&pairs).map(Value::Word)
        }
    }
}

fn read_threshold(cursor: &Cursor<'_>) -> Result<Threshold, ScenarioError> {
    let allowed =
        "a share of the buffer (\"40%\"), packets (\"100p\"), bytes (\"150kB\") or time (\"5ms\")";
    let text = cursor.text().ok_or_else(|| cursor.error(allowed))?;
    if let Some(percent) = text.strip_suffix('%') {
        let percent = percent
            .trim()
            .parse::<f64>()
            .ok()
            .filter(|x| (0.0..=1e6).contains(x));
        return percent
            .map(|x| Threshold::Fraction(x / 100.0))
            .ok_or_else(|| cursor.error(allowed));
    }
    if let Some(count) = packets(text) {
        return Ok(Threshold::Packets(count));
    }
    let bytes = text.parse::<Bytes>().map(Threshold::Bytes);
    bytes
        .or_else(|_| text.parse().map(Threshold::Time))
        .map_err(|_| cursor.error(allowed))
}

impl Serialize for Algorithm {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("kind", self.name())?;
        for (name, value) in self.parameters.iter() {
            match value {
                Value::Number(x) => map.serialize_entry(name, x)?,
                Value::Time(x) => map.serialize_entry(name, x)?,
                Value::Bytes(x) => map.serialize_entry(name, x)?,
                Value::Rate(x) => map.serialize_entry(name, x)?,
                Value::Threshold(x) => map.serialize_entry(name, &threshold_text(*x))?,
                Value::Switch(x) => map.serialize_entry(name, x)?,
                Value::Word(x) => map.serialize_entry(name, x)?,
                Value::Automatic => {}
            }
        }
        map.end()
    }
}

fn threshold_text(threshold: Threshold) -> String {
    match threshold {
        Threshold::Fraction(x) => {
            // The shortest percentage that reads back as the same fraction.
            let text = format!("{}", x * 100.0);
            if text.parse::<f64>().is_ok_and(|p| p / 100.0 == x) {
                format!("{text}%")
            } else {
                format!("{:.17}%", x * 100.0)
            }
        }
        Threshold::Packets(x) => format!("{x}p"),
        Threshold::Bytes(x) => x.to_string(),
        Threshold::Time(x) => x.to_string(),
    }
}
