//! The facts that a module tells about itself in JSON: title, parameters, capabilities.

use forebay_congestion::packet::{Capabilities, Requirements};
use forebay_units::custom::{Declaration, Described};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ABI;
use crate::exchange::MOST_PARAMETERS;
use crate::running::Running;

/// Largest state of a connection, in bytes.
const MOST_STATE: u32 = 1 << 16;
/// Keys of a scenario that no parameter may have.
const RESERVED: [&str; 5] = ["kind", "python", "wasm", "source", "kernel"];
/// Longest text of a title or a meaning, in characters.
const MOST_TEXT: usize = 200;

/// Name, meaning, kind, default, smallest and largest number of a parameter.
pub type Declared = (
    String,
    String,
    String,
    Option<String>,
    Option<f64>,
    Option<f64>,
);

/// The facts about a controller.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Facts {
    /// One sentence.
    pub title: String,
    /// Size of a connection's state, in bytes.
    pub state_bytes: u32,
    /// Whether it counts marks by itself.
    pub scalable: bool,
    /// "none", "round_trips" or "rates".
    pub samples: &'static str,
    /// Whether it sets the window during loss recovery, too.
    pub own_recovery: bool,
    /// The parameters in their order.
    pub parameters: Vec<Declared>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Told {
    title: String,
    state_bytes: u32,
    #[serde(default)]
    parameters: Vec<ToldParameter>,
    #[serde(default)]
    ecn: Option<String>,
    #[serde(default)]
    delivery_rate: bool,
    #[serde(default)]
    own_recovery: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToldParameter {
    name: String,
    #[serde(default)]
    meaning: String,
    #[serde(default)]
    unit: String,
    #[serde(default)]
    default: Value,
    least: Option<f64>,
    most: Option<f64>,
}

impl Facts {
    /// Asks an instance for the version of its interface and for its description.
    ///
    /// # Errors
    /// A text of one line: another version, or a wrong key.
    pub(crate) fn of(running: &mut Running, has_samples: bool) -> Result<Self, String> {
        let abi = running.number("forebay_abi")?;
        if abi != ABI {
            return Err(format!("`forebay_abi` returned {abi}; allowed: {ABI}"));
        }
        Self::read(&running.description()?, has_samples)
    }

    /// Reads the description of a module that has `on_sample` or has it not.
    ///
    /// # Errors
    /// A text of one line that names the wrong key.
    pub fn read(text: &str, has_on_sample: bool) -> Result<Self, String> {
        let told: Told = serde_json::from_str(text)
            .map_err(|error| format!("`forebay_describe`: {}", line(&error.to_string())))?;
        let wrong = |key: &str, found: &str, allowed: &str| {
            Err(format!(
                "`forebay_describe`: `{key}`: found {}; allowed: {allowed}",
                line(found)
            ))
        };
        if told.title.trim().is_empty() {
            return wrong("title", "no text", "one sentence");
        }
        if told.state_bytes > MOST_STATE {
            let found = told.state_bytes.to_string();
            return wrong("state_bytes", &found, "0 to 65536");
        }
        if told.parameters.len() > MOST_PARAMETERS {
            let found = told.parameters.len().to_string();
            return wrong("parameters", &found, "at most 32");
        }
        let scalable = match told.ecn.as_deref() {
            None | Some("classic") => false,
            Some("scalable") => true,
            Some(other) => {
                return wrong("ecn", &format!("`{other}`"), "\"classic\" or \"scalable\"");
            }
        };
        let mut facts = Self {
            title: line(&told.title),
            state_bytes: told.state_bytes,
            scalable,
            samples: match (told.delivery_rate, has_on_sample) {
                (true, _) => "rates",
                (false, true) => "round_trips",
                (false, false) => "none",
            },
            own_recovery: told.own_recovery,
            parameters: Vec::new(),
        };
        for parameter in told.parameters {
            let name = parameter.name.clone();
            let is_key = !name.is_empty()
                && name.len() <= 40
                && !name.starts_with(|c: char| c.is_ascii_digit())
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            let taken = RESERVED.contains(&name.as_str())
                || facts.parameters.iter().any(|known| known.0 == name);
            if !is_key || taken {
                let allowed = "a name of its own of letters, digits and `_`";
                return wrong("name", &format!("`{name}`"), allowed);
            }
            let declaration = match parameter.declared() {
                Ok(declaration) => declaration,
                Err(found) => {
                    let allowed = "a number, a truth, or a text with `unit`";
                    return wrong(&format!("{name}.default"), &found, allowed);
                }
            };
            if let Err(text) = declaration.clone().described() {
                return Err(format!(
                    "`forebay_describe`: `{name}.default`: {}",
                    line(&text)
                ));
            }
            let d = declaration;
            facts
                .parameters
                .push((d.name, d.meaning, d.kind, d.default, d.least, d.most));
        }
        Ok(facts)
    }

    /// The parameters for a registry.
    ///
    /// # Errors
    /// A text if a default is no value; [`Self::read`] has refused those.
    pub fn described(&self) -> Result<Vec<Described>, String> {
        let each = self.parameters.iter().cloned();
        each.map(|(name, meaning, kind, default, least, most)| {
            let declaration = Declaration {
                name,
                meaning,
                kind,
                default,
                least,
                most,
            };
            declaration.described()
        })
        .collect()
    }

    /// The requirements of the engine.
    pub fn requirements(&self) -> Requirements {
        Requirements {
            samples: match self.samples {
                "rates" => Capabilities::Rates,
                "round_trips" => Capabilities::RoundTrips,
                _ => Capabilities::None,
            },
            accurate_ecn: self.scalable,
            own_recovery: self.own_recovery,
            line_rate: None,
            telemetry: false,
        }
    }
}

impl ToldParameter {
    /// The declaration, or a wrong default as text.
    fn declared(self) -> Result<Declaration, String> {
        let kind = match self.unit.as_str() {
            "" => "number",
            unit @ ("time" | "bytes" | "rate") => unit,
            unit => return Err(format!("the unit `{unit}`")),
        };
        let (kind, default) = match &self.default {
            Value::Bool(value) => ("switch", Some(value.to_string())),
            Value::Number(value) => ("number", Some(value.to_string())),
            Value::String(text) if kind != "number" => (kind, Some(text.clone())),
            Value::Null => (kind, None),
            other => return Err(other.to_string()),
        };
        if let (Value::Number(number), "number") = (&self.default, kind) {
            let number = number.as_f64().unwrap_or(f64::NAN);
            let (least, most) = (
                self.least.unwrap_or(f64::MIN),
                self.most.unwrap_or(f64::MAX),
            );
            if !(least <= number && number <= most) {
                return Err(format!("{number}, outside of `least` and `most`"));
            }
        }
        Ok(Declaration {
            name: self.name,
            meaning: line(&self.meaning),
            kind: kind.to_owned(),
            default,
            least: self.least,
            most: self.most,
        })
    }
}

/// A text of the module in one line, without control characters.
pub(crate) fn line(text: &str) -> String {
    let clean = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    clean.take(MOST_TEXT).collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_have_kinds_ranges_and_defaults() {
        let text = r#"{"title": "Mine", "state_bytes": 8, "ecn": "scalable", "parameters": [
            {"name": "gain", "default": 2, "least": 0, "most": 10, "meaning": "Gain"},
            {"name": "target", "unit": "time", "default": "5ms"},
            {"name": "fast", "default": true}, {"name": "free"}]}"#;
        let facts = Facts::read(text, true).expect("it is valid");
        let kinds: Vec<_> = facts.parameters.iter().map(|p| p.2.as_str()).collect();
        assert_eq!(kinds, ["number", "time", "switch", "number"]);
        assert_eq!((facts.samples, facts.scalable), ("round_trips", true));
        assert!(facts.requirements().accurate_ecn);
        assert_eq!(facts.described().map(|all| all.len()), Ok(4));
    }

    #[test]
    fn wrong_descriptions_are_refused_in_one_line() {
        let parameter =
            |text: &str| format!(r#"{{"title": "M", "state_bytes": 8, "parameters": [{text}]}}"#);
        for (text, word) in [
            ("", "EOF"),
            ("[]", "invalid"),
            ("{\"title\":\n\"\"}", "state_bytes"),
            (r#"{"title": " ", "state_bytes": 8}"#, "title"),
            (r#"{"title": "M", "state_bytes": 70000}"#, "state_bytes"),
            (r#"{"title": "M", "state_bytes": -1}"#, "invalid value"),
            (r#"{"title": "M", "state_bytes": 8, "ecn": "x"}"#, "ecn"),
            (
                r#"{"title": "M", "state_bytes": 8, "x": 1}"#,
                "unknown field",
            ),
            (&parameter(r#"{"name": "kind"}"#), "name"),
            (&parameter(r#"{"name": "a b"}"#), "name"),
            (&parameter(r#"{"name": "a"}, {"name": "a"}"#), "name"),
            (&parameter(r#"{"name": "a", "default": "5ms"}"#), "default"),
            (
                &parameter(r#"{"name": "a", "default": 5, "most": 4}"#),
                "outside",
            ),
            (
                &parameter(r#"{"name": "a", "unit": "time", "default": "5"}"#),
                "a time such as",
            ),
            (&parameter(r#"{"name": "a", "unit": "miles"}"#), "unit"),
            (
                &parameter(&vec![r#"{"name": "a"}"#; 33].join(",")),
                "at most 32",
            ),
        ] {
            let refused = Facts::read(text, false).expect_err(text);
            assert!(refused.contains(word), "{refused}");
            assert!(!refused.contains('\n'), "{refused}");
        }
    }
}
