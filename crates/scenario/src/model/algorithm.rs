//! A controller or queue discipline as chosen in a scenario: its name and parameter values. Links
//! and flow groups have them, and engines look the name up in a registry. `{ python = "FILE:CLASS"
//! }` and `{ wasm = "FILE" }` name the code of a user, which is part of the scenario.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use forebay_congestion::LossDetection;
use forebay_units::custom::described;
use forebay_units::parameter::{
    Description, Parameter, ParameterKind, Parameters, Threshold, Value as Parametric,
};
use forebay_units::{Bytes, Rate, Time};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::text::cursor::Cursor;
use crate::text::form::{Unit, percentage};
use crate::text::grammar::Grammar;
use crate::text::grammar::{entry, object, words};
use crate::text::keys::{Context, Form};
use crate::text::naming::Unknown;
use crate::text::quantity::packets;
use crate::text::tree::{ScenarioError, ValueError};

/// Parameters that bound a range, where an algorithm has both: its lower and its upper end.
const ORDERED: [(&str, &str); 2] = [("min", "max"), ("bottom", "top")];

/// A registered algorithm with its parameters.
#[derive(Clone, Debug)]
pub struct Algorithm {
    description: &'static Description,
    parameters: Parameters,
    code: Option<Arc<Code>>,
}

/// An algorithm that does not come with forebay: the code of a user, a congestion control of the
/// running kernel, or both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// File and class, such as "mine.py:Mine", or a WebAssembly module, such as "mine.wasm". Empty
    /// if only the kernel has the algorithm.
    pub place: String,
    /// Text of the file; the bytes of a WebAssembly module in Base64.
    pub source: String,
    /// The kernel's name of the same congestion control.
    pub kernel: Option<String>,
}

/// Keys of the place of a user's code, of its text, and of the kernel's name.
const PYTHON: &str = "python";
const WASM: &str = "wasm";
const SOURCE: &str = "source";
const KERNEL: &str = "kernel";

/// Largest length of the kernel's names (`TCP_CA_NAME_MAX` in Linux's include/net/tcp.h, less one).
const MAX_KERNEL_NAME: usize = 15;

/// The description of a congestion control of the running kernel. Equal names have the same one.
fn of_kernel(name: &str) -> &'static Description {
    static KNOWN: Mutex<BTreeMap<String, &'static Description>> = Mutex::new(BTreeMap::new());

    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.entry(name.to_owned()).or_insert_with(|| {
        let title = "A congestion control of the running kernel";
        described(&format!("kernel:{name}"), title, Vec::new())
    })
}

impl Code {
    /// Whether it is a WebAssembly module: no class of Python has such a name.
    pub fn is_wasm(&self) -> bool {
        is_wasm(&self.place)
    }

    /// The name of the algorithm in registries: its file without folders, its class, and the start
    /// of the text's SHA-256.
    pub fn name(&self) -> String {
        format!("{}@{}", self.file(), &self.sha256()[..8])
    }

    /// File and class without folders.
    pub fn file(&self) -> &str {
        self.place.rsplit(['/', '\\']).next().unwrap_or_default()
    }

    /// SHA-256 of the text, in hexadecimal.
    pub fn sha256(&self) -> String {
        use std::fmt::Write as _;

        let mut digits = String::new();
        for byte in Sha256::digest(&self.source) {
            let _ = write!(digits, "{byte:02x}");
        }
        digits
    }
}

fn is_wasm(place: &str) -> bool {
    place.strip_suffix(".wasm").is_some()
}

impl PartialEq for Algorithm {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
            && self.parameters == other.parameters
            && self.code == other.code
    }
}

impl Algorithm {
    /// An algorithm with its default parameters.
    pub(crate) fn new(description: &'static Description) -> Self {
        Self {
            description,
            parameters: Parameters::defaults(description.parameters),
            code: None,
        }
    }

    /// Reads a name, or a table with `kind`, parameters and perhaps keys `beside` them that another
    /// reads. Where nothing else is written, parameters that know `preset` as a word take it.
    pub(crate) fn read_within(
        cursor: &Cursor<'_>,
        registered: &Registered,
        (beside, preset): (&[&str], &str),
    ) -> Result<Self, ScenarioError> {
        let has = |key: &str| cursor.get(key).is_some();
        if has(PYTHON) || (registered.in_kernel && (has(WASM) || has(KERNEL))) {
            return Self::read_code(cursor, registered);
        }
        let registry = (registered.built_in)();
        let kind = if cursor.entries().is_ok() {
            let first = registry.first().map_or("", |d| d.name);
            cursor.require("kind", &format!("\"{first}\", beside its parameters"))?
        } else {
            cursor.clone()
        };
        let Some(name) = kind.text() else {
            let known: Vec<&str> = registry.iter().map(|d| d.name).collect();
            return Err(kind.error(known.join(", ")));
        };
        let found = registry.iter().find(|d| d.is_called(name));
        let description = found.ok_or_else(|| {
            let names = registry.iter();
            let names = names.map(|d| (d.name, d.aliases.iter().copied()));
            kind.value_error(ValueError::Name(Unknown::spelled(
                cursor.noun(),
                name,
                names,
            )))
        })?;
        let mut algorithm = Self::new(description).within(preset);
        if cursor.text().is_none() {
            let mut known = vec!["kind"];
            known.extend(description.parameters.iter().map(|p| p.name));
            known.extend(beside);
            cursor.only(&known)?;
            algorithm.read_parameters(cursor)?;
        }
        Ok(algorithm)
    }

    /// Reads the code of a user, which a registry must know already, and the kernel's name.
    fn read_code(cursor: &Cursor<'_>, registered: &Registered) -> Result<Self, ScenarioError> {
        let controls = |_: &Cursor<'_>| registered.in_kernel;
        let (python, wasm) = (cursor.get(PYTHON), cursor.get(WASM).filter(controls));
        if let (Some(_), Some(wasm)) = (&python, &wasm) {
            return Err(wasm.error(format!("one of `{PYTHON}` and `{WASM}`")));
        }
        if let Some(at) = wasm.as_ref().filter(|at| !at.text().is_some_and(is_wasm)) {
            return Err(at.error("\"FILE.wasm\""));
        }
        let (place, kernel) = (python.or(wasm), cursor.get(KERNEL).filter(controls));
        let text = |at: &Cursor<'_>, allowed: &str| {
            let found = at.text().filter(|text| !text.is_empty());
            found.map(str::to_owned).ok_or_else(|| at.error(allowed))
        };
        let kernel = kernel.map(|at| kernel_name(&at)).transpose()?;
        let source = cursor.get(SOURCE);
        let code = Code {
            place: place
                .as_ref()
                .map(|at| text(at, "\"FILE.py:CLASS\""))
                .transpose()?
                .unwrap_or_default(),
            source: source
                .map(|at| text(&at, "the text of the file"))
                .transpose()?
                .unwrap_or_default(),
            kernel,
        };
        let description = match (&place, &code.kernel) {
            (None, Some(name)) => of_kernel(name),
            _ => (registered.custom)(&code.name()).ok_or_else(|| {
                let allowed = "built-in algorithms, because this program runs no code of users";
                place.as_ref().unwrap_or(cursor).error(allowed)
            })?,
        };
        // The canonical form has the name, too.
        if let Some(kind) = cursor.get("kind")
            && kind.text() != Some(description.name)
        {
            return Err(kind.error(format!(
                "no `kind` beside `{PYTHON}`, `{WASM}` and `{KERNEL}`"
            )));
        }
        let mut known = vec!["kind", PYTHON, SOURCE];
        if registered.in_kernel {
            known.extend([WASM, KERNEL]);
        }
        known.extend(description.parameters.iter().map(|p| p.name));
        cursor.only(&known)?;
        let mut algorithm = Self::new(description);
        algorithm.code = Some(Arc::new(code));
        algorithm.read_parameters(cursor)?;
        Ok(algorithm)
    }

    /// Reads the parameters that a table has.
    fn read_parameters(&mut self, cursor: &Cursor<'_>) -> Result<(), ScenarioError> {
        for parameter in self.description.parameters {
            if let Some(value) = cursor.get(parameter.name) {
                let value = read_value(&value, parameter)?;
                self.parameters.set(parameter.name, value);
            }
        }
        ORDERED
            .into_iter()
            .try_for_each(|ends| self.in_order(cursor, ends))
    }

    /// Refuses a range that is written upside down; where one end is written and the other's
    /// default lies beyond it, that end is the same. Thresholds of different units compare only
    /// once the link is known; there the discipline raises the upper one.
    fn in_order(
        &mut self,
        cursor: &Cursor<'_>,
        (low, high): (&'static str, &'static str),
    ) -> Result<(), ScenarioError> {
        let (least, most) = (self.parameters.get(low), self.parameters.get(high));
        let upside_down = match (least, most) {
            (Parametric::Number(least), Parametric::Number(most)) => most < least,
            (Parametric::Threshold(least), Parametric::Threshold(most)) => most < least,
            _ => false,
        };
        if !upside_down {
            return Ok(());
        }
        match (cursor.get(low), cursor.get(high)) {
            (Some(lower), Some(upper)) => {
                return Err(upper.error(format!("at least {low}, which is {}", lower.shown())));
            }
            (_, None) => self.parameters.set(high, least),
            (None, Some(_)) => self.parameters.set(low, most),
        };
        Ok(())
    }

    /// With the word `preset` for every parameter that knows it.
    pub(crate) fn within(mut self, preset: &str) -> Self {
        for parameter in self.description.parameters {
            if let ParameterKind::Choice { words } = parameter.kind
                && let Some(word) = words.iter().find(|word| **word == preset)
            {
                self.parameters.set(parameter.name, Parametric::Word(word));
            }
        }
        self
    }

    /// Name in the registry.
    pub fn name(&self) -> &'static str {
        self.description.name
    }

    /// Its description in the registry.
    pub fn description(&self) -> &'static Description {
        self.description
    }

    /// Whether it is a controller whose implementations detect losses by time.
    pub(crate) fn detects_losses_by_time(&self) -> bool {
        time_based(self.name())
    }

    /// The code, if it is that of a user.
    pub fn code(&self) -> Option<&Code> {
        self.code.as_deref()
    }

    /// The values of its parameters.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }
}

/// Whether the implementations of the controller `name` detect losses by time.
pub(crate) fn time_based(name: &str) -> bool {
    forebay_congestion::description(name)
        .is_some_and(|known| known.loss_detection == LossDetection::TimeBased)
}

/// The name of a congestion control in the kernel.
fn kernel_name(at: &Cursor<'_>) -> Result<String, ScenarioError> {
    let valid = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let name = at
        .text()
        .filter(|name| (1..=MAX_KERNEL_NAME).contains(&name.len()) && name.chars().all(valid));
    let allowed = "a name of 1 to 15 letters, digits, '-' and '_', as in `sysctl \
                   net.ipv4.tcp_available_congestion_control`";
    name.map(str::to_owned).ok_or_else(|| at.error(allowed))
}

fn read_value(cursor: &Cursor<'_>, parameter: &Parameter) -> Result<Parametric, ScenarioError> {
    match parameter.kind {
        ParameterKind::Number { min, max, .. } => {
            cursor.number_in(min, max).map(Parametric::Number)
        }
        ParameterKind::Time => cursor.unit().map(Parametric::Time),
        ParameterKind::Bytes => cursor.unit().map(Parametric::Bytes),
        ParameterKind::Rate => cursor.unit().map(Parametric::Rate),
        ParameterKind::Threshold => read_threshold(cursor).map(Parametric::Threshold),
        ParameterKind::Switch => cursor.switch().map(Parametric::Switch),
        ParameterKind::Choice { words } => {
            let pairs: Vec<(&str, &'static str)> = words.iter().map(|w| (*w, *w)).collect();
            cursor.word(&pairs).map(Parametric::Word)
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

/// The form of a controller or queue discipline out of this registry.
pub(crate) struct Registered {
    /// The algorithms that come with forebay.
    pub(crate) built_in: fn() -> &'static [&'static Description],
    /// The algorithm of a user with this name.
    pub(crate) custom: fn(&str) -> Option<&'static Description>,
    /// Whether these are controllers: `kernel` names one of the running kernel, `wasm` a module.
    pub(crate) in_kernel: bool,
}

/// The registered controller of a user.
pub(crate) fn custom_controller(name: &str) -> Option<&'static Description> {
    let known = forebay_congestion::custom::registered(name);
    known.map(|custom| &custom.description.algorithm)
}

/// The registered queue discipline of a user.
pub(crate) fn custom_discipline(name: &str) -> Option<&'static Description> {
    forebay_discipline::custom::registered(name).map(|custom| custom.description)
}

impl Registered {
    /// Reads a table that has other keys, too.
    pub(crate) fn read_beside(
        &self,
        at: &Cursor<'_>,
        others: &[&str],
        context: &Context<'_>,
    ) -> Result<Algorithm, ScenarioError> {
        Algorithm::read_within(at, self, (others, context.preset))
    }
}

impl Form<Algorithm> for Registered {
    fn read(&self, at: &Cursor<'_>, context: &Context<'_>) -> Result<Algorithm, ScenarioError> {
        self.read_beside(at, &[], context)
    }

    fn write(&self, algorithm: &Algorithm, _: &Context<'_>) -> Option<Value> {
        let mut map = Map::from_iter([("kind".to_owned(), algorithm.name().into())]);
        if let Some(code) = &algorithm.code {
            if !code.place.is_empty() {
                let key = if code.is_wasm() { WASM } else { PYTHON };
                map.insert(key.to_owned(), code.place.as_str().into());
                map.insert(SOURCE.to_owned(), code.source.as_str().into());
            }
            if let Some(kernel) = &code.kernel {
                map.insert(KERNEL.to_owned(), kernel.as_str().into());
            }
        }
        for (name, value) in algorithm.parameters.iter() {
            let shown: Value = match value {
                Parametric::Number(x) => (*x).into(),
                Parametric::Time(x) => x.to_string().into(),
                Parametric::Bytes(x) => x.to_string().into(),
                Parametric::Rate(x) => x.to_string().into(),
                Parametric::Threshold(x) => threshold_text(*x).into(),
                Parametric::Switch(x) => (*x).into(),
                Parametric::Word(x) => (*x).into(),
                Parametric::Automatic => continue,
            };
            map.insert((*name).to_owned(), shown);
        }
        Some(map.into())
    }

    fn grammar(&self) -> Grammar {
        let names: Vec<&str> = (self.built_in)().iter().map(|d| d.name).collect();
        let aliases = (self.built_in)().iter().flat_map(|d| d.aliases);
        let spellings: Vec<&str> = names.iter().chain(aliases).copied().collect();
        let mut forms = vec![words(&spellings)];
        for description in (self.built_in)() {
            let name = description.name;
            let kind = if description.aliases.is_empty() {
                json!({"const": name})
            } else {
                let aliases = description.aliases.iter().copied();
                words(&[name].into_iter().chain(aliases).collect::<Vec<_>>())
            };
            let mut entries = vec![entry("kind", kind)];
            entries.extend(description.parameters.iter().map(|parameter| {
                let mut schema = parameter_schema(parameter.kind);
                schema["description"] = parameter.meaning.into();
                entry(parameter.name, schema)
            }));
            let mut schema = object(&entries);
            schema["required"] = json!(["kind"]);
            schema["description"] = description.title.into();
            forms.push(schema);
        }
        forms.push(code_schema(self.in_kernel));
        let allowed = format!(
            "{}, or a table with `kind` and parameters",
            names.join(", ")
        );
        Grammar::new(json!({ "oneOf": forms }), allowed)
    }
}

/// The schema of the code of a user, whose parameters are not known here.
fn code_schema(controls: bool) -> Value {
    let text = json!({"type": "string"});
    let names = [PYTHON, SOURCE, KERNEL].map(|name| entry(name, text.clone()));
    let mut schema = object(&names);
    schema["anyOf"] = json!([{"required": [PYTHON]}, {"required": [KERNEL]}]);
    if controls {
        schema["properties"][WASM] = json!({"type": "string", "pattern": "\\.wasm$"});
        schema["anyOf"] =
            json!([{"required": [PYTHON]}, {"required": [WASM]}, {"required": [KERNEL]}]);
    }
    schema["additionalProperties"] = true.into();
    schema["description"] = "Your own algorithm: file and class, and its parameters.".into();
    schema
}

fn parameter_schema(kind: ParameterKind) -> Value {
    match kind {
        ParameterKind::Number { min, max, .. } => {
            json!({"type": "number", "minimum": min, "maximum": max})
        }
        ParameterKind::Time => Time::schema(),
        ParameterKind::Bytes => Bytes::schema(),
        ParameterKind::Rate => Rate::schema(),
        ParameterKind::Threshold => json!({"type": "string"}),
        ParameterKind::Switch => json!({"type": "boolean"}),
        ParameterKind::Choice { words: allowed } => words(allowed),
    }
}

fn threshold_text(threshold: Threshold) -> String {
    match threshold {
        Threshold::Fraction(x) => percentage(x),
        Threshold::Packets(x) => format!("{x}p"),
        Threshold::Bytes(x) => x.to_string(),
        Threshold::Time(x) => x.to_string(),
    }
}
