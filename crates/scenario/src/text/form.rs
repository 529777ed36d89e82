//! Forms: the values that keys take. The plain forms are here; a form that belongs to one kind of
//! value (laws, buffers, workloads, ...) is beside it.

use std::str::FromStr;

use forebay_units::{Bytes, Rate, Time, UnitError};
use serde_json::{Value, json};

use crate::text::cursor::Cursor;
use crate::text::dimension::Dimension;
use crate::text::grammar::{Grammar, KeyText};
use crate::text::grammar::{object, text};
use crate::text::keys::{Context, Form, Section};
use crate::text::naming::is_control;
use crate::text::quantity::packets;
use crate::text::tree::ScenarioError;

/// true or false.
pub(crate) struct Switch;

impl Form<bool> for Switch {
    fn read(&self, at: &Cursor<'_>, _: &Context<'_>) -> Result<bool, ScenarioError> {
        at.switch()
    }

    fn write(&self, value: &bool, _: &Context<'_>) -> Option<Value> {
        Some((*value).into())
    }

    fn grammar(&self) -> Grammar {
        Grammar::new(json!({"type": "boolean"}), "true or false")
    }
}

/// A number within closed bounds.
pub(crate) struct Number(pub(crate) f64, pub(crate) f64);

impl Form<f64> for Number {
    fn read(&self, at: &Cursor<'_>, _: &Context<'_>) -> Result<f64, ScenarioError> {
        at.number_in(self.0, self.1)
    }

    fn write(&self, value: &f64, _: &Context<'_>) -> Option<Value> {
        Some((*value).into())
    }

    fn grammar(&self) -> Grammar {
        let schema = json!({"type": "number", "minimum": self.0, "maximum": self.1});
        Grammar::new(schema, format!("a number from {} to {}", self.0, self.1))
    }
}

/// A part of a whole, such as "0.1%".
pub(crate) struct Share {
    pub(crate) least: f64,
    pub(crate) most: f64,
    /// The bounds in words.
    pub(crate) allowed: &'static str,
}

impl Form<f64> for Share {
    fn read(&self, at: &Cursor<'_>, _: &Context<'_>) -> Result<f64, ScenarioError> {
        let read = |text: &str| Dimension::Share.parse(text).ok();
        let value = at.text().and_then(read).or_else(|| at.number());
        value
            .filter(|value| (self.least..=self.most).contains(value))
            .ok_or_else(|| at.error(self.allowed))
    }

    fn write(&self, value: &f64, _: &Context<'_>) -> Option<Value> {
        Some(percentage(*value).into())
    }

    fn grammar(&self) -> Grammar {
        let schema = json!({
            "anyOf": [
                {"type": "string", "pattern": "^[0-9.eE+-]+ ?%?$"},
                {"type": "number", "minimum": self.least, "maximum": self.most},
            ],
            "description": "a share such as \"0.1%\"",
        });
        Grammar::new(schema, self.allowed)
    }
}

/// The shortest percentage that reads back as the same fraction.
pub(crate) fn percentage(fraction: f64) -> String {
    let text = format!("{}", fraction * 100.0);
    if text.parse::<f64>().is_ok_and(|p| p / 100.0 == fraction) {
        format!("{text}%")
    } else {
        format!("{:.17}%", fraction * 100.0)
    }
}

/// A whole number within closed bounds.
pub(crate) struct WholeNumber(pub(crate) u64, pub(crate) u64);

impl<T> Form<T> for WholeNumber
where
    T: Copy + Into<u64> + TryFrom<u64>,
{
    fn read(&self, at: &Cursor<'_>, _: &Context<'_>) -> Result<T, ScenarioError> {
        let number = at.integer_in(self.0, self.1)?;
        number.try_into().map_err(|_| at.error("a smaller number"))
    }

    fn write(&self, value: &T, _: &Context<'_>) -> Option<Value> {
        Some((*value).into().into())
    }

    fn grammar(&self) -> Grammar {
        let schema = json!({"type": "integer", "minimum": self.0, "maximum": self.1});
        Grammar::new(
            schema,
            format!("a whole number from {} to {}", self.0, self.1),
        )
    }
}

/// A quantity that is written with its unit.
pub(crate) trait Unit:
    Copy + PartialOrd + std::fmt::Display + FromStr<Err = UnitError>
{
    /// Allowed values, in words.
    const ALLOWED: &'static str;
    /// JSON Schema of the text.
    fn schema() -> Value;
}

impl Unit for Time {
    const ALLOWED: &'static str = "a time such as 100ms";
    fn schema() -> Value {
        text(
            "^[0-9.eE+-]+ ?(ps|ns|us|µs|ms|s|min|h|d)$",
            "a time such as \"100ms\"",
        )
    }
}

impl Unit for Rate {
    const ALLOWED: &'static str = "a bit rate such as 50Mbps";
    fn schema() -> Value {
        text(
            "^[0-9.eE+-]+ ?[kMGT]?bps$",
            "a bit rate such as \"50Mbps\" (powers of 1000)",
        )
    }
}

impl Unit for Bytes {
    const ALLOWED: &'static str = "a size such as 1500B or 64KiB";
    fn schema() -> Value {
        text(
            "^[0-9.eE+-]+ ?([kMGT]?B|[KMGT]iB)$",
            "a size such as \"1500B\" or \"64KiB\"",
        )
    }
}

/// A time, rate or size, any.
pub(crate) struct Any;

impl<T: Unit> Form<T> for Any {
    fn read(&self, at: &Cursor<'_>, _: &Context<'_>) -> Result<T, ScenarioError> {
        at.unit()
    }

    fn write(&self, value: &T, _: &Context<'_>) -> Option<Value> {
        Some(value.to_string().into())
    }

    fn grammar(&self) -> Grammar {
        Grammar::new(T::schema(), T::ALLOWED)
    }
}

/// A time, rate or size within closed bounds.
pub(crate) struct Within<T> {
    pub(crate) least: T,
    pub(crate) most: T,
    /// The bounds in words.
    pub(crate) allowed: &'static str,
}

impl<T: Unit> Form<T> for Within<T> {
    fn read(&self, at: &Cursor<'_>, _: &Context<'_>) -> Result<T, ScenarioError> {
        let value: T = at.unit()?;
        if value < self.least || value > self.most {
            return Err(at.error(self.allowed));
        }
        Ok(value)
    }

    fn write(&self, value: &T, _: &Context<'_>) -> Option<Value> {
        Some(value.to_string().into())
    }

    fn grammar(&self) -> Grammar {
        Grammar::new(T::schema(), self.allowed)
    }
}

/// A number of packets as text: "10p", or where `bare` a plain number, too.
pub(crate) struct Packets {
    pub(crate) least: f64,
    pub(crate) bare: bool,
    pub(crate) allowed: &'static str,
}

impl Packets {
    /// A window of at least `least` packets: "10p" or 10.
    pub(crate) const fn window(least: f64, allowed: &'static str) -> Self {
        Self {
            least,
            bare: true,
            allowed,
        }
    }
}

impl Form<f64> for Packets {
    fn read(&self, at: &Cursor<'_>, _: &Context<'_>) -> Result<f64, ScenarioError> {
        let number = || at.number().filter(|_| self.bare);
        let count = at.text().and_then(packets).or_else(number);
        count
            .filter(|x| (self.least..=1e9).contains(x))
            .ok_or_else(|| at.error(self.allowed))
    }

    fn write(&self, value: &f64, _: &Context<'_>) -> Option<Value> {
        Some(format!("{value}p").into())
    }

    fn grammar(&self) -> Grammar {
        let schema = if self.bare {
            json!({"type": ["string", "number"], "description": "packets, as in \"10p\""})
        } else {
            json!({"type": "string"})
        };
        Grammar::new(schema, self.allowed)
    }
}

impl Form<u64> for Packets {
    fn read(&self, at: &Cursor<'_>, context: &Context<'_>) -> Result<u64, ScenarioError> {
        let count: f64 = self.read(at, context)?;
        if count.fract() != 0.0 {
            let whole = |text: &str| packets(text).is_some_and(|count| count.fract() == 0.0);
            return Err(at.quantity_error(whole, format!("whole {}", self.allowed)));
        }
        Ok(count as u64)
    }

    fn write(&self, value: &u64, _: &Context<'_>) -> Option<Value> {
        Some(format!("{value}p").into())
    }

    fn grammar(&self) -> Grammar {
        Form::<f64>::grammar(self)
    }
}

/// A text that fulfils a condition.
pub(crate) struct Text {
    pub(crate) valid: fn(&str) -> bool,
    pub(crate) allowed: &'static str,
}

impl Form<String> for Text {
    fn read(&self, at: &Cursor<'_>, _: &Context<'_>) -> Result<String, ScenarioError> {
        let text = at.text().filter(|text| (self.valid)(text));
        text.map(str::to_owned)
            .ok_or_else(|| at.error(self.allowed))
    }

    fn write(&self, value: &String, _: &Context<'_>) -> Option<Value> {
        Some(value.as_str().into())
    }

    fn grammar(&self) -> Grammar {
        Grammar::new(json!({"type": "string"}), self.allowed)
    }
}

/// An enumeration whose variants are words: declared by `words!`.
pub(crate) trait Word: Copy + PartialEq + 'static {
    /// Words, values and what they mean.
    const WORDS: &'static [(&'static str, Self, &'static [&'static str])];

    /// All words in their order.
    fn words() -> Vec<&'static str> {
        Self::WORDS.iter().map(|(word, ..)| *word).collect()
    }
}

/// One word of an enumeration.
pub(crate) struct Words;

impl<T: Word> Form<T> for Words {
    fn read(&self, at: &Cursor<'_>, _: &Context<'_>) -> Result<T, ScenarioError> {
        let words: Vec<(&str, T)> = T::WORDS
            .iter()
            .map(|(word, value, _)| (*word, *value))
            .collect();
        at.word(&words)
    }

    fn write(&self, value: &T, _: &Context<'_>) -> Option<Value> {
        let found = T::WORDS.iter().find(|(_, known, _)| known == value);
        found.map(|(word, ..)| (*word).into())
    }

    fn grammar(&self) -> Grammar {
        let keys = T::WORDS.iter().map(|(word, _, meaning)| {
            let meaning: Vec<&str> = meaning.iter().map(|line| line.trim()).collect();
            let grammar = Grammar::new(json!({"const": word}), "");
            KeyText::of(word, &meaning.join(" "), grammar)
        });
        Grammar::new(json!({"enum": T::words()}), T::words().join(", ")).with_keys(keys.collect())
    }
}

/// The form of a value that may be missing.
pub(crate) struct Maybe<F>(pub(crate) F);

impl<T, F: Form<T>> Form<Option<T>> for Maybe<F> {
    fn read(&self, at: &Cursor<'_>, context: &Context<'_>) -> Result<Option<T>, ScenarioError> {
        self.0.read(at, context).map(Some)
    }

    fn write(&self, value: &Option<T>, context: &Context<'_>) -> Option<Value> {
        self.0.write(value.as_ref()?, context)
    }

    fn grammar(&self) -> Grammar {
        self.0.grammar()
    }
}

/// A list of values of one form.
pub(crate) struct List<F> {
    pub(crate) of: F,
    /// The smallest number of values.
    pub(crate) least: usize,
    pub(crate) allowed: &'static str,
}

impl<T, F: Form<T>> Form<Vec<T>> for List<F> {
    fn read(&self, at: &Cursor<'_>, context: &Context<'_>) -> Result<Vec<T>, ScenarioError> {
        let items = at.items().filter(|items| items.len() >= self.least);
        let items = items.ok_or_else(|| at.error(self.allowed))?;
        items
            .iter()
            .map(|item| self.of.read(item, context))
            .collect()
    }

    fn write(&self, value: &Vec<T>, context: &Context<'_>) -> Option<Value> {
        let items = value.iter().filter_map(|item| self.of.write(item, context));
        Some(Value::Array(items.collect()))
    }

    fn grammar(&self) -> Grammar {
        let items = self.of.grammar();
        let mut schema = json!({"type": "array", "items": items.schema});
        if self.least > 0 {
            schema["minItems"] = self.least.into();
        }
        Grammar::new(schema, self.allowed).with_keys(items.keys)
    }
}

/// A table whose keys change what is there already.
pub(crate) struct Table;

impl<S: Section> Form<S> for Table {
    fn read(&self, at: &Cursor<'_>, context: &Context<'_>) -> Result<S, ScenarioError> {
        S::read(at, context)
    }

    fn update(
        &self,
        slot: &mut S,
        at: &Cursor<'_>,
        context: &Context<'_>,
    ) -> Result<(), ScenarioError> {
        slot.update(at, context)
    }

    fn write(&self, value: &S, context: &Context<'_>) -> Option<Value> {
        Some(value.write(context).into())
    }

    fn grammar(&self) -> Grammar {
        let allowed = format!("{{ {} }}", S::documented_names().join(", "));
        Grammar::new(object(&S::texts()), allowed).with_keys(S::texts())
    }
}

/// Names of links, memories and classes.
pub(crate) const NAME: Text = Text {
    valid: |text| {
        !text.is_empty() && text.len() <= 64 && !text.contains('.') && !text.contains(is_control)
    },
    allowed: "a name without dots and control characters",
};

/// Declares an enumeration whose variants are words of scenario files. The documentation of a
/// variant is what `explain`, the schema and the manual say of the word.
macro_rules! words {
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $name:ident {
            $( $(#[doc = $doc:literal])+ $variant:ident = $word:literal, )+
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visibility enum $name {
            $( $(#[doc = $doc])+ $variant, )+
        }

        impl $crate::text::form::Word for $name {
            const WORDS: &'static [(&'static str, Self, &'static [&'static str])] =
                &[$( ($word, Self::$variant, &[$($doc),+]), )+];
        }
    };
}
pub(crate) use words;
