//! Parameters of controllers and queue disciplines: meaning, unit, default and bounds of each name.
//! One description serves the scenario parser, the JSON Schema and `explain`.

use std::cmp::Ordering;
use std::fmt;

use crate::{Bytes, Rate, Time};
use serde::Serialize;

/// The kind of value that a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ParameterKind {
    /// A plain number within closed bounds.
    Number {
        /// Smallest allowed value.
        min: f64,
        /// Largest allowed value.
        max: f64,
        /// Unit; empty for a plain ratio.
        unit: &'static str,
    },
    /// A time such as "15ms".
    Time,
    /// A size such as "1500B".
    Bytes,
    /// A bit rate such as "10Mbps".
    Rate,
    /// A threshold on a queue: "40%" of its buffer, packets, bytes, or time at link rate.
    Threshold,
    /// `true` or `false`.
    Switch,
    /// A word from a short list.
    Choice {
        /// The allowed words.
        words: &'static [&'static str],
    },
}

impl ParameterKind {
    /// The unit of the values; empty for words and for plain ratios.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Number { unit, .. } => unit,
            Self::Time => "s, ms, us or ns",
            Self::Bytes => "B, kB, KiB, ...",
            Self::Rate => "kbps, Mbps, ...",
            Self::Threshold => "%, p, B, kB, ms, ...",
            Self::Switch | Self::Choice { .. } => "",
        }
    }

    /// The allowed values, without their unit.
    pub fn range(self) -> String {
        match self {
            Self::Number { min, max, .. } => format!("{} to {}", number(min), number(max)),
            Self::Time | Self::Bytes | Self::Rate | Self::Threshold => "0 or more".to_owned(),
            Self::Switch => "true, false".to_owned(),
            Self::Choice { words } => words.join(", "),
        }
    }
}

/// The number, in powers of ten if it is small.
fn number(x: f64) -> String {
    if x > 0.0 && x < 1e-4 {
        format!("{x:e}")
    } else {
        x.to_string()
    }
}

/// A threshold on a queue, as written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    /// A fraction of the queue's buffer.
    Fraction(f64),
    /// A number of packets.
    Packets(f64),
    /// A number of bytes.
    Bytes(Bytes),
    /// Time at link rate.
    Time(Time),
}

/// Thresholds of the same unit only. The link decides about thresholds of different units.
impl PartialOrd for Threshold {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Fraction(a), Self::Fraction(b)) | (Self::Packets(a), Self::Packets(b)) => {
                a.partial_cmp(b)
            }
            (Self::Bytes(a), Self::Bytes(b)) => a.partial_cmp(b),
            (Self::Time(a), Self::Time(b)) => a.partial_cmp(b),
            _ => None,
        }
    }
}

/// The value of one parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A plain number.
    Number(f64),
    /// A time.
    Time(Time),
    /// A size.
    Bytes(Bytes),
    /// A bit rate.
    Rate(Rate),
    /// A threshold on a queue.
    Threshold(Threshold),
    /// `true` or `false`.
    Switch(bool),
    /// A word out of the list in [`ParameterKind::Choice`].
    Word(&'static str),
    /// Not set: the algorithm chooses.
    Automatic,
}

/// The value as a person reads it; `automatic` if the algorithm chooses.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(x) => f.write_str(&number(*x)),
            Self::Time(Time::ZERO) => f.write_str("0s"),
            Self::Time(x) | Self::Threshold(Threshold::Time(x)) => write!(f, "{x}"),
            Self::Bytes(x) | Self::Threshold(Threshold::Bytes(x)) => write!(f, "{x}"),
            Self::Rate(x) => write!(f, "{x}"),
            Self::Threshold(Threshold::Fraction(x)) => write!(f, "{}%", x * 100.0),
            Self::Threshold(Threshold::Packets(x)) => write!(f, "{x}p"),
            Self::Switch(x) => write!(f, "{x}"),
            Self::Word(x) => f.write_str(x),
            Self::Automatic => f.write_str("automatic"),
        }
    }
}

/// A parameter: its name, meaning, kind and default.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Key in the scenario file.
    pub name: &'static str,
    /// The parameter's meaning and source, as a noun phrase or a clause with `whether`.
    pub meaning: &'static str,
    /// The kind of value that the parameter takes.
    pub kind: ParameterKind,
    /// The value if the scenario gives none.
    pub default: Value,
}

/// The values of all parameters of one algorithm, in the order of its description.
///
/// ```
/// use forebay_units::parameter::{Parameter, ParameterKind, Parameters, Value};
///
/// let described = [Parameter {
///     name: "beta",
///     meaning: "Part of the window that remains after a reduction.",
///     kind: ParameterKind::Number { min: 0.0, max: 1.0, unit: "fraction" },
///     default: Value::Number(0.7),
/// }];
/// let mut parameters = Parameters::defaults(&described);
/// assert!(parameters.set("beta", Value::Number(0.5)));
/// assert!(!parameters.set("gamma", Value::Number(0.5)));
/// assert_eq!(parameters.number("beta"), 0.5);
/// assert_eq!(parameters.get("gamma"), Value::Automatic);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters(Vec<(&'static str, Value)>);

impl Parameters {
    /// The defaults of `description`.
    pub fn defaults(description: &[Parameter]) -> Self {
        Self(description.iter().map(|p| (p.name, p.default)).collect())
    }

    /// Names and values in order.
    pub fn iter(&self) -> impl Iterator<Item = &(&'static str, Value)> {
        self.0.iter()
    }

    /// Sets the parameter `name`. Returns `false` if the name is unknown.
    pub fn set(&mut self, name: &str, value: Value) -> bool {
        let slot = self.0.iter_mut().find(|(known, _)| *known == name);
        slot.map(|slot| slot.1 = value).is_some()
    }

    /// The value of `name`; [`Value::Automatic`] for an unknown name.
    pub fn get(&self, name: &str) -> Value {
        self.0
            .iter()
            .find(|(known, _)| *known == name)
            .map_or(Value::Automatic, |slot| slot.1)
    }

    /// The number `name`.
    ///
    /// # Panics
    /// If the algorithm's description does not declare `name` as a number with a default. That is
    /// an error in the algorithm's own file, and its contract test finds it.
    pub fn number(&self, name: &str) -> f64 {
        match self.get(name) {
            Value::Number(x) => x,
            other => panic!("parameter `{name}` is {other:?}, not a number"),
        }
    }

    /// The time `name`.
    ///
    /// # Panics
    /// In the same case as [`Self::number`].
    pub fn time(&self, name: &str) -> Time {
        match self.get(name) {
            Value::Time(x) => x,
            other => panic!("parameter `{name}` is {other:?}, not a time"),
        }
    }

    /// The size `name`.
    ///
    /// # Panics
    /// In the same case as [`Self::number`].
    pub fn bytes(&self, name: &str) -> Bytes {
        match self.get(name) {
            Value::Bytes(x) => x,
            other => panic!("parameter `{name}` is {other:?}, not a size"),
        }
    }

    /// The bit rate `name`.
    ///
    /// # Panics
    /// In the same case as [`Self::number`].
    pub fn rate(&self, name: &str) -> Rate {
        match self.get(name) {
            Value::Rate(x) => x,
            other => panic!("parameter `{name}` is {other:?}, not a rate"),
        }
    }

    /// The threshold `name`.
    ///
    /// # Panics
    /// In the same case as [`Self::number`].
    pub fn threshold(&self, name: &str) -> Threshold {
        match self.get(name) {
            Value::Threshold(x) => x,
            other => panic!("parameter `{name}` is {other:?}, not a threshold"),
        }
    }

    /// The switch `name`.
    ///
    /// # Panics
    /// In the same case as [`Self::number`].
    pub fn switch(&self, name: &str) -> bool {
        match self.get(name) {
            Value::Switch(x) => x,
            other => panic!("parameter `{name}` is {other:?}, not a switch"),
        }
    }

    /// The word `name`.
    ///
    /// # Panics
    /// In the same case as [`Self::number`].
    pub fn word(&self, name: &str) -> &'static str {
        match self.get(name) {
            Value::Word(x) => x,
            other => panic!("parameter `{name}` is {other:?}, not a word"),
        }
    }
}

/// A comparison that checked an algorithm. It runs with the tests or with `make reference`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Numbers from another program or a real stack. A failed comparison fails the check.
    Program(&'static str),
    /// Numbers from another program that are printed but do not decide the check.
    Trend(&'static str),
    /// A result of theory: a closed form, or a law that follows from the algorithm.
    Theory(&'static str),
    /// Equations or pseudo-code of the source, traced by hand into a table of expected values.
    Trace(&'static str),
}

impl Evidence {
    /// Whether the numbers come from another program.
    pub fn is_program(self) -> bool {
        matches!(self, Self::Program(_) | Self::Trend(_))
    }

    /// The text of the comparison, without its kind.
    pub fn what(self) -> &'static str {
        let (Self::Program(what) | Self::Trend(what) | Self::Theory(what) | Self::Trace(what)) =
            self;
        what
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program(what) => f.write_str(what),
            Self::Trend(what) => write!(f, "{what} (trends, not counted)"),
            Self::Theory(what) => write!(f, "theory: {what}"),
            Self::Trace(what) => write!(f, "traced by hand: {what}"),
        }
    }
}

/// The registry's record of an algorithm: enough to read it from a scenario and explain it.
#[derive(Clone, Copy, Debug)]
pub struct Description {
    /// Name in scenario files.
    pub name: &'static str,
    /// Other names of the same algorithm.
    pub aliases: &'static [&'static str],
    /// One sentence that says what the algorithm is.
    pub title: &'static str,
    /// The algorithm's rule: equations and conditions, one per line, with their symbols in words.
    pub formula: &'static [&'static str],
    /// RFC or paper, with section.
    pub source: &'static str,
    /// The comparisons that checked it; empty if only its own tests do.
    pub checked: &'static [Evidence],
    /// Its parameters in the order they are printed.
    pub parameters: &'static [Parameter],
}

impl Description {
    /// Whether `name` is its name or one of its aliases.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }

    /// The comparisons that checked it, one per line. If no other program is among them, the first
    /// line says so.
    pub fn checks(&self) -> Vec<String> {
        let compared = self.checked.iter().any(|evidence| evidence.is_program());
        let alone = (!compared).then(|| Self::ALONE.to_owned());
        let lines = self.checked.iter().map(ToString::to_string);
        alone.into_iter().chain(lines).collect()
    }

    /// The line for an algorithm that was not compared with another program.
    pub const ALONE: &'static str = "not checked against another program";
}
