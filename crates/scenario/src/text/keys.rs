//! Keys of scenario files, each declared once: the reader, the canonical form, the JSON Schema,
//! `explain` and the manual's tables all come from the declaration.
//!
//! A table of a scenario file is a struct that [`keys!`] declares. A new key is one field of it:
//!
//! ```text
//! /// Simulated time before the measured time.         <- text of `explain` and the manual
//! warmup: Time = Time::from_secs(10), key(WARMUP);     <- field, type, default, form
//! ```
//!
//! The *form* (`form.rs`) says which values the key takes: it reads them, refuses the others,
//! writes them and describes them. `key` leaves the default out of the canonical form; `always`
//! writes it, too, as the oldest keys do. So a new key is a `key`: scenarios without it keep their
//! SHA-256.

use forebay_units::{Bytes, Rate};
use serde_json::{Map, Value};

use crate::text::cursor::Cursor;
use crate::text::grammar::{Grammar, KeyText};
use crate::text::naming::documented_key;
use crate::text::tree::ScenarioError;

/// The other parts of a scenario that decide the meaning of a value.
#[derive(Clone, Copy, Default)]
pub(crate) struct Context<'a> {
    /// Names of the links, which files use and the scenario numbers.
    pub(crate) links: &'a [String],
    /// Names of the memories, likewise.
    pub(crate) memories: &'a [String],
    /// Rate that a load is a part of: of the target link, or of all hosts that send into a fabric.
    pub(crate) rate: Rate,
    /// Number of persistent flows.
    pub(crate) persistent: u64,
    /// Whether the packets of the group have no acknowledgments.
    pub(crate) unresponsive: bool,
    /// Header bytes in a packet of the group.
    pub(crate) header: Bytes,
    /// Mean full packet of the group.
    pub(crate) packet: Bytes,
    /// Payload of that packet: the meaning of `p` in sizes of transfers.
    pub(crate) payload: Bytes,
    /// The group's preset of its `stack`, possibly empty.
    pub(crate) preset: &'a str,
    /// The group's number of flows in the canonical form, when it is written.
    pub(crate) count: Option<&'a Value>,
}

/// Which values a key takes: how they are read, written and described.
pub(crate) trait Form<T> {
    /// The value at the cursor.
    fn read(&self, at: &Cursor<'_>, context: &Context<'_>) -> Result<T, ScenarioError>;

    /// Reads over what a default or a preset left in `slot`.
    fn update(
        &self,
        slot: &mut T,
        at: &Cursor<'_>,
        context: &Context<'_>,
    ) -> Result<(), ScenarioError> {
        *slot = self.read(at, context)?;
        Ok(())
    }

    /// The value in the canonical form; none where nothing is to be written.
    fn write(&self, value: &T, context: &Context<'_>) -> Option<Value>;

    /// The allowed values.
    fn grammar(&self) -> Grammar;
}

/// The treatment of a key that is not in the file, and its presence in the canonical form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// Has a default, which the canonical form leaves out.
    Optional,
    /// Has a default, which the canonical form has like any other value.
    Written,
    /// Must be given, as in this example.
    Required(&'static str),
}

/// The declaration of a key, apart from the place of its value.
pub(crate) struct Key<F> {
    pub(crate) name: &'static str,
    /// Lines of its documentation.
    pub(crate) meaning: &'static [&'static str],
    pub(crate) presence: Presence,
    pub(crate) form: F,
}

impl<F> Key<F> {
    /// The cursor at this key's value in the table at `table`, where it is given.
    pub(crate) fn find<'a>(&self, table: &Cursor<'a>) -> Result<Option<Cursor<'a>>, ScenarioError> {
        match self.presence {
            Presence::Required(example) => table.require(self.name, example).map(Some),
            Presence::Optional | Presence::Written => Ok(table.get(self.name)),
        }
    }

    /// Writes `value` into `map` unless it is a default that is left out.
    pub(crate) fn write<T: PartialEq>(
        &self,
        (value, default): (&T, &T),
        context: &Context<'_>,
        map: &mut Map<String, Value>,
    ) where
        F: Form<T>,
    {
        if (self.presence != Presence::Optional || value != default)
            && let Some(shown) = self.form.write(value, context)
        {
            map.insert(self.name.into(), shown);
        }
    }

    /// Its description.
    pub(crate) fn text<T>(&self, default: &T) -> KeyText
    where
        F: Form<T>,
    {
        let required = matches!(self.presence, Presence::Required(_));
        let meaning: Vec<&str> = self.meaning.iter().map(|line| line.trim()).collect();
        let mut text = KeyText::of(
            documented_key(self.name),
            &meaning.join(" "),
            self.form.grammar(),
        );
        text.required = required;
        text.schema["description"] = match text.schema["description"].as_str() {
            Some(more) => format!("{} ({more})", text.meaning).into(),
            None => text.meaning.as_str().into(),
        };
        if !required && let Some(default) = self.form.write(default, &Context::default()) {
            text.default = as_written(&default);
            if !text.default.is_empty() {
                text.schema["default"] = default;
            }
        }
        text
    }
}

/// A value as a scenario file has it; texts without their quotes.
fn as_written(value: &Value) -> String {
    match value {
        // The text of `Time::ZERO`.
        Value::String(text) if text == "0ps" => "0s".into(),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() => String::new(),
        // A controller or queue discipline: its parameters are explained under its own name.
        Value::Object(map) if map.contains_key("kind") => as_written(&map["kind"]),
        Value::Object(map) => {
            let entries = map.iter().map(|(key, value)| format!("{key} = {value}"));
            format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// One key of a table that is read into an `S`, or several that belong together.
pub(crate) trait Part<S> {
    /// The names of the keys.
    fn names(&self) -> Vec<&'static str>;
    /// Reads those that the table has.
    fn read(
        &self,
        section: &mut S,
        table: &Cursor<'_>,
        context: &Context<'_>,
    ) -> Result<(), ScenarioError>;
    /// Adds them to the canonical form.
    fn write(&self, section: &S, context: &Context<'_>, map: &mut Map<String, Value>);
    /// Their descriptions.
    fn texts(&self) -> Vec<KeyText>;
}

/// A key whose value is a field of `S`.
pub(crate) struct Field<S, T, F> {
    pub(crate) key: Key<F>,
    pub(crate) get: fn(&S) -> &T,
    pub(crate) get_mut: fn(&mut S) -> &mut T,
}

impl<S: Section, T: PartialEq, F: Form<T>> Part<S> for Field<S, T, F> {
    fn names(&self) -> Vec<&'static str> {
        vec![self.key.name]
    }

    fn read(
        &self,
        section: &mut S,
        table: &Cursor<'_>,
        context: &Context<'_>,
    ) -> Result<(), ScenarioError> {
        match self.key.find(table)? {
            Some(at) => (self.key.form).update((self.get_mut)(section), &at, context),
            None => Ok(()),
        }
    }

    fn write(&self, section: &S, context: &Context<'_>, map: &mut Map<String, Value>) {
        let defaults = S::defaults();
        let values = ((self.get)(section), (self.get)(&defaults));
        self.key.write(values, context, map);
    }

    fn texts(&self) -> Vec<KeyText> {
        vec![self.key.text((self.get)(&S::defaults()))]
    }
}

/// A key whose value is in several fields of `S`.
pub(crate) struct Joint<S, T, F> {
    pub(crate) key: Key<F>,
    pub(crate) get: fn(&S) -> T,
    pub(crate) set: fn(&mut S, T),
}

impl<S: Section, T: PartialEq, F: Form<T>> Part<S> for Joint<S, T, F> {
    fn names(&self) -> Vec<&'static str> {
        vec![self.key.name]
    }

    fn read(
        &self,
        section: &mut S,
        table: &Cursor<'_>,
        context: &Context<'_>,
    ) -> Result<(), ScenarioError> {
        if let Some(at) = self.key.find(table)? {
            (self.set)(section, self.key.form.read(&at, context)?);
        }
        Ok(())
    }

    fn write(&self, section: &S, context: &Context<'_>, map: &mut Map<String, Value>) {
        let values = (&(self.get)(section), &(self.get)(&S::defaults()));
        self.key.write(values, context, map);
    }

    fn texts(&self) -> Vec<KeyText> {
        vec![self.key.text(&(self.get)(&S::defaults()))]
    }
}

/// A table of a scenario file.
pub(crate) trait Section: Sized + 'static {
    /// Its keys in the order of the canonical form.
    const PARTS: &'static [&'static dyn Part<Self>];

    /// The values of a table without keys. Those of required keys stand for nothing.
    fn defaults() -> Self;

    /// The names of its keys.
    fn names() -> Vec<&'static str> {
        Self::PARTS.iter().flat_map(|part| part.names()).collect()
    }

    /// The names of its keys in documents and messages.
    fn documented_names() -> Vec<&'static str> {
        Self::names().into_iter().map(documented_key).collect()
    }

    /// Reads a table that has no other keys.
    fn read(table: &Cursor<'_>, context: &Context<'_>) -> Result<Self, ScenarioError> {
        let mut section = Self::defaults();
        section.update(table, context)?;
        Ok(section)
    }

    /// Reads a table that has these other keys, too.
    fn read_beside(
        table: &Cursor<'_>,
        others: &[&str],
        context: &Context<'_>,
    ) -> Result<Self, ScenarioError> {
        let mut section = Self::defaults();
        section.update_beside(table, others, context)?;
        Ok(section)
    }

    /// Reads a table over what is there already.
    fn update(&mut self, table: &Cursor<'_>, context: &Context<'_>) -> Result<(), ScenarioError> {
        self.update_beside(table, &[], context)
    }

    /// The same of a table that has these other keys, too.
    fn update_beside(
        &mut self,
        table: &Cursor<'_>,
        others: &[&str],
        context: &Context<'_>,
    ) -> Result<(), ScenarioError> {
        table.only(&[&Self::names(), others].concat())?;
        for part in Self::PARTS {
            part.read(self, table, context)?;
        }
        Ok(())
    }

    /// Its canonical form.
    fn write(&self, context: &Context<'_>) -> Map<String, Value> {
        let mut map = Map::new();
        for part in Self::PARTS {
            part.write(self, context, &mut map);
        }
        map
    }

    /// The descriptions of its keys.
    fn texts() -> Vec<KeyText> {
        Self::PARTS.iter().flat_map(|part| part.texts()).collect()
    }
}

/// Declares a struct that is a table of scenario files, one line for each field:
///
/// ```text
/// FIELD: TYPE = DEFAULT, key(FORM);                   a key; the canonical form leaves its default out
/// FIELD: TYPE = DEFAULT, always(FORM);                a key; the canonical form always has it
/// FIELD: TYPE = PLACEHOLDER, required(EXAMPLE, FORM); a key that must be given
/// FIELD: TYPE = DEFAULT, parts(PART);                 several keys, read by hand: see `Part`
/// FIELD: TYPE = DEFAULT, derived;                     no key: follows from others
/// ```
///
/// `key(FORM, "name")` and its like name a key differently from its field. The documentation of a
/// field is what `explain`, the schema and the manual say of its key.
macro_rules! keys {
    (
        $(#[$attribute:meta])*
        pub struct $section:ident $(: $constant:tt)? {
            $(
                $(#[doc = $doc:literal])+
                $field:ident : $type:ty = $default:expr, $kind:ident $(($($declared:tt)+))?;
            )+
        }
    ) => {
        $(#[$attribute])*
        pub struct $section {
            $( $(#[doc = $doc])+ pub $field: $type, )+
        }

        impl $section {
            /// The values where a scenario says nothing.
            $($constant)? fn without_keys() -> Self {
                Self { $( $field: $default, )+ }
            }
        }

        impl $crate::text::keys::Section for $section {
            const PARTS: &'static [&'static dyn $crate::text::keys::Part<Self>] = keys!(
                @parts [] $( { $field [$($doc)+] $kind $($($declared)+)? } )+
            );

            fn defaults() -> Self {
                Self::without_keys()
            }
        }
    };

    // One part after the other; a derived field has none.
    (@parts [$($done:expr,)*]) => { &[$($done),*] };
    (@parts [$($done:expr,)*] { $field:ident $doc:tt derived } $($rest:tt)*) => {
        keys!(@parts [$($done,)*] $($rest)*)
    };
    (@parts [$($done:expr,)*] { $field:ident $doc:tt parts $part:expr } $($rest:tt)*) => {
        keys!(@parts [$($done,)* &$part,] $($rest)*)
    };
    (@parts [$($done:expr,)*] { $field:ident $doc:tt $($key:tt)+ } $($rest:tt)*) => {
        keys!(@parts [
            $($done,)*
            &$crate::text::keys::Field::<Self, _, _> {
                key: keys!(@key $field $doc $($key)+),
                get: |section| &section.$field,
                get_mut: |section| &mut section.$field,
            },
        ] $($rest)*)
    };

    (@key $field:ident $doc:tt key $form:expr $(, $name:literal)?) => {
        keys!(@named $field $doc ($form) ($crate::text::keys::Presence::Optional) $($name)?)
    };
    (@key $field:ident $doc:tt always $form:expr $(, $name:literal)?) => {
        keys!(@named $field $doc ($form) ($crate::text::keys::Presence::Written) $($name)?)
    };
    (@key $field:ident $doc:tt required $example:literal, $form:expr $(, $name:literal)?) => {
        keys!(@named $field $doc ($form) ($crate::text::keys::Presence::Required($example)) $($name)?)
    };
    (@named $field:ident $doc:tt $form:tt $presence:tt) => {
        keys!(@declared (stringify!($field)) $doc $form $presence)
    };
    (@named $field:ident $doc:tt $form:tt $presence:tt $name:literal) => {
        keys!(@declared ($name) $doc $form $presence)
    };
    (@declared ($name:expr) [$($doc:literal)+] ($form:expr) ($presence:expr)) => {
        $crate::text::keys::Key {
            name: $name,
            meaning: &[$($doc),+],
            presence: $presence,
            form: $form,
        }
    };
}
pub(crate) use keys;
