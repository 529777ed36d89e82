//! Algorithms of users, which a program registers while it runs: the parts that controllers and
//! queue disciplines share. `forebay-congestion` and `forebay-discipline` have the registries.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::str::FromStr;
use std::sync::{OnceLock, PoisonError, RwLock};

use crate::parameter::{Description, Parameter, ParameterKind, Value};

/// Largest window of a user's controller, in packets: 24 GB of full packets, which is 120 ms at 1.6
/// Tb/s. A sender of a larger one would send at one instant for minutes.
pub const MOST_WINDOW: f64 = (1_u64 << 24) as f64;

/// Algorithms that a program registers while it runs, by their names.
#[derive(Debug)]
pub struct Registry<T>(RwLock<BTreeMap<&'static str, T>>);

impl<T> Registry<T> {
    /// The registry without an algorithm.
    #[expect(
        clippy::new_without_default,
        reason = "a registry is a static, and a default is no constant"
    )]
    pub const fn new() -> Self {
        Self(RwLock::new(BTreeMap::new()))
    }

    /// Registers an algorithm. It replaces one of the same name.
    pub fn register(&self, name: &'static str, algorithm: T) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        known.insert(name, algorithm);
    }

    /// The result of `of` for the algorithm of this name; none if there is no such algorithm.
    pub fn find<R>(&self, name: &str, of: impl FnOnce(&T) -> R) -> Option<R> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        known.get(name).map(of)
    }
}

/// The reason for which the code of a user ended a run. It is the payload of an unwinding, because
/// the callbacks of an algorithm return no errors. The batch of runs catches it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CodeError(pub String);

/// See [`CodeError::tell_first`].
static TELL: OnceLock<fn(&CodeError)> = OnceLock::new();

impl CodeError {
    /// Calls `tell` with each error before it ends a run. A program that cannot unwind, such as a
    /// page, keeps the text this way. Only the first call has an effect.
    pub fn tell_first(tell: fn(&Self)) {
        TELL.get_or_init(|| tell);
    }

    /// Ends the run. No panic hook is called, because the code of forebay is not at fault.
    ///
    /// # Panics
    /// Always: the payload is the error.
    pub fn raise(self) -> ! {
        if let Some(tell) = TELL.get() {
            tell(&self);
        }
        resume_unwind(Box::new(self))
    }
}

/// The description of an algorithm of a user, with texts that live as long as the program.
///
/// Each call uses memory that is never returned. A caller keeps the result for equal input.
pub fn described(name: &str, title: &str, parameters: Vec<Described>) -> &'static Description {
    let parameters: Vec<Parameter> = parameters.into_iter().map(Described::leaked).collect();
    Box::leak(Box::new(Description {
        name: leaked(name),
        aliases: &[],
        title: leaked(title),
        formula: &[],
        source: "the code of a user",
        checked: &[],
        parameters: parameters.leak(),
    }))
}

/// A parameter of an algorithm of a user.
#[derive(Clone, Debug)]
pub struct Described {
    /// Key in the scenario file.
    pub name: String,
    /// The parameter's meaning.
    pub meaning: String,
    /// The kind of its values.
    pub kind: ParameterKind,
    /// The value if the scenario gives none.
    pub default: Value,
}

impl Described {
    fn leaked(self) -> Parameter {
        Parameter {
            name: leaked(&self.name),
            meaning: leaked(&self.meaning),
            kind: self.kind,
            default: self.default,
        }
    }
}

/// A parameter as a user's file declares it, in texts and numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Declaration {
    /// Key in the scenario file.
    pub name: String,
    /// The parameter's meaning.
    pub meaning: String,
    /// "number", "time", "bytes", "rate" or "switch".
    pub kind: String,
    /// The default as a scenario would write it; none if the algorithm chooses.
    pub default: Option<String>,
    /// Smallest number.
    pub least: Option<f64>,
    /// Largest number.
    pub most: Option<f64>,
}

impl Declaration {
    /// The parameter, or the text found and the texts allowed if its default is no such value.
    pub fn described(self) -> Result<Described, String> {
        let text = self.default.as_deref();
        let (kind, allowed, default) = match self.kind.as_str() {
            "time" => (
                ParameterKind::Time,
                "a time such as 15ms",
                parsed(text, Value::Time),
            ),
            "bytes" => (
                ParameterKind::Bytes,
                "a size such as 1500B",
                parsed(text, Value::Bytes),
            ),
            "rate" => (
                ParameterKind::Rate,
                "a rate such as 10Mbps",
                parsed(text, Value::Rate),
            ),
            "switch" => (
                ParameterKind::Switch,
                "true or false",
                parsed(text, Value::Switch),
            ),
            _ => {
                let number = ParameterKind::Number {
                    min: self.least.unwrap_or(f64::MIN),
                    max: self.most.unwrap_or(f64::MAX),
                    unit: "",
                };
                (number, "a number", parsed(text, Value::Number))
            }
        };
        let default = default.ok_or_else(|| {
            let found = text.unwrap_or_default();
            format!("found `{found}`; allowed: {allowed}")
        })?;
        Ok(Described {
            name: self.name,
            meaning: self.meaning,
            kind,
            default,
        })
    }
}

/// The value of a text, automatic without one; none if the text is no such value.
fn parsed<T: FromStr>(text: Option<&str>, value: impl FnOnce(T) -> Value) -> Option<Value> {
    match text {
        None => Some(Value::Automatic),
        Some(text) => text.parse().ok().map(value),
    }
}

fn leaked(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_error_reaches_the_catcher_with_its_text() {
        let caught = std::panic::catch_unwind(|| CodeError("mine.py:3: no".to_owned()).raise());
        let error = caught.expect_err("it unwinds");
        assert_eq!(
            error.downcast_ref::<CodeError>().map(ToString::to_string),
            Some("mine.py:3: no".to_owned())
        );
    }

    #[test]
    fn a_code_error_is_told_before_it_ends_the_run() {
        static TOLD: RwLock<Vec<String>> = RwLock::new(Vec::new());
        CodeError::tell_first(|error| TOLD.write().unwrap().push(error.0.clone()));
        let caught = std::panic::catch_unwind(|| CodeError("mine.py:4: no".to_owned()).raise());
        assert!(caught.is_err());
        assert!(TOLD.read().unwrap().contains(&"mine.py:4: no".to_owned()));
    }

    #[test]
    fn a_registry_has_the_last_algorithm_of_each_name() {
        static KNOWN: Registry<u32> = Registry::new();
        KNOWN.register("a", 1);
        KNOWN.register("b", 2);
        KNOWN.register("a", 3);
        let found = ["a", "b", "c"].map(|name| KNOWN.find(name, |it| *it));
        assert_eq!(found, [Some(3), Some(2), None]);
    }

    #[test]
    fn a_declared_default_must_be_a_value_of_its_kind() {
        let of = |kind: &str, default: Option<&str>| {
            let declaration = Declaration {
                name: "x".to_owned(),
                kind: kind.to_owned(),
                default: default.map(str::to_owned),
                ..Declaration::default()
            };
            declaration.described().map(|described| described.default)
        };
        assert_eq!(of("number", Some("2.5")), Ok(Value::Number(2.5)));
        assert_eq!(
            of("time", Some("5ms")),
            Ok(Value::Time(crate::Time::from_millis(5)))
        );
        assert_eq!(of("switch", Some("true")), Ok(Value::Switch(true)));
        assert_eq!(of("rate", None), Ok(Value::Automatic));
        for (kind, text) in [
            ("number", "5ms"),
            ("time", "5"),
            ("bytes", "x"),
            ("switch", "1"),
        ] {
            let refused = of(kind, Some(text)).expect_err(kind);
            assert!(
                refused.starts_with(&format!("found `{text}`; allowed: ")),
                "{refused}"
            );
        }
    }

    #[test]
    fn a_description_has_the_parameters_in_order() {
        let parameter = |name: &str| Described {
            name: name.to_owned(),
            meaning: "A gain.".to_owned(),
            kind: ParameterKind::Switch,
            default: Value::Switch(true),
        };
        let made = described("mine.py:Mine", "Mine", vec![parameter("b"), parameter("a")]);
        let names: Vec<_> = made.parameters.iter().map(|each| each.name).collect();
        assert_eq!((made.name, names), ("mine.py:Mine", vec!["b", "a"]));
    }
}
