//! Every model as data: what it says, under which assumptions, from where, what is wrong in print,
//! and each of its quantities callable with arrays of plain numbers.

mod controllers;
mod queues;
mod sizing;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::error::{ModelError, representable};

/// A published model.
#[derive(Debug, Serialize)]
pub struct Model {
    /// Name on the command line; rules that size buffers have the same name there.
    pub name: &'static str,
    /// Other names by which it is found.
    pub aliases: &'static [&'static str],
    /// Its subject in a few words.
    pub title: &'static str,
    /// What it says, in a sentence.
    pub summary: &'static str,
    /// The corrected formula, for a terminal; a list of lines in JSON.
    #[serde(serialize_with = "lines")]
    pub formula: &'static str,
    /// The formula's symbols.
    pub symbols: &'static [Symbol],
    /// What must hold for it to apply.
    pub assumptions: &'static [&'static str],
    /// Paper or RFC with section or equation, and how the formula was checked.
    pub source: &'static str,
    /// What is wrong in the printed version.
    pub errata: &'static [&'static str],
    /// Named alternatives to the default formula.
    pub variants: &'static [Variant],
    /// What can be computed.
    pub quantities: &'static [Quantity],
    /// The worked number of `explain`.
    pub example: Example,
}

/// A text as the list of its lines.
fn lines<S: serde::Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(text.lines())
}

/// A symbol of a formula.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Symbol {
    /// As it stands in the formula.
    pub symbol: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// Its unit; 1 for a plain number.
    pub unit: &'static str,
}

/// An alternative to a model's default formula.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Variant {
    /// Suffix of the quantity, after a colon: `loss:printed`.
    pub name: &'static str,
    /// How it differs.
    pub meaning: &'static str,
}

/// Something a model computes.
#[derive(Debug, Serialize)]
pub struct Quantity {
    /// Name, with `:variant` where it is not the default formula.
    pub name: &'static str,
    /// Unit of the result.
    pub unit: &'static str,
    /// Parameters in the order in which `evaluate` takes them.
    pub parameters: &'static [Parameter],
    #[serde(skip)]
    evaluate: fn(&Arguments) -> Result<f64, ModelError>,
}

/// A parameter of a quantity.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Parameter {
    /// Name.
    pub name: &'static str,
    /// Unit; 1 for a plain number.
    pub unit: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// Values allowed.
    pub bounds: &'static str,
    /// Value where none is given.
    pub default: Option<f64>,
    /// Whether the whole array is one argument (a list of round-trip times) instead of one value
    /// per evaluation.
    pub list: bool,
}

impl Parameter {
    const fn new(
        name: &'static str,
        unit: &'static str,
        meaning: &'static str,
        bounds: &'static str,
    ) -> Self {
        Self {
            name,
            unit,
            meaning,
            bounds,
            default: None,
            list: false,
        }
    }

    /// The same with a default.
    const fn or(mut self, default: f64) -> Self {
        self.default = Some(default);
        self
    }

    /// The same as a list that is one argument.
    const fn list(mut self) -> Self {
        self.list = true;
        self
    }
}

/// A computed example.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Example {
    /// What is computed, in words.
    pub text: &'static str,
    /// The quantity.
    pub quantity: &'static str,
    /// Its arguments.
    pub arguments: &'static [(&'static str, &'static [f64])],
}

/// The arguments of one evaluation: a number per parameter, and the list where one is a list.
struct Arguments<'a> {
    numbers: &'a [f64],
    list: &'a [f64],
}

impl std::ops::Index<usize> for Arguments<'_> {
    type Output = f64;
    fn index(&self, index: usize) -> &f64 {
        &self.numbers[index]
    }
}

/// All models.
pub fn models() -> impl Iterator<Item = &'static Model> {
    queues::MODELS
        .iter()
        .chain(controllers::MODELS.iter())
        .chain(sizing::MODELS.iter())
}

/// The model of this name or alias; underscores and case do not matter.
pub fn model(name: &str) -> Result<&'static Model, ModelError> {
    let wanted = name.trim().to_lowercase().replace(['_', ' '], "-");
    let is = |model: &&Model| model.name == wanted || model.aliases.contains(&wanted.as_str());
    models().find(is).ok_or_else(|| ModelError::Unknown {
        what: "model",
        found: name.to_owned(),
        known: models()
            .map(|model| model.name)
            .collect::<Vec<_>>()
            .join(", "),
    })
}

/// A model with its worked number, as `explain` shows it.
#[derive(Debug, Serialize)]
pub struct Explanation {
    /// Always "model".
    pub kind: &'static str,
    /// The model.
    #[serde(flatten)]
    pub model: &'static Model,
    /// The example's value, computed now.
    pub example_value: f64,
    /// The example as a sentence with its number and unit.
    pub worked: String,
}

/// Explains the model of this name or alias.
pub fn explain(name: &str) -> Result<Explanation, ModelError> {
    let model = model(name)?;
    let example = &model.example;
    let quantity = model.quantity(example.quantity)?;
    let given: BTreeMap<String, Vec<f64>> = example
        .arguments
        .iter()
        .map(|(name, values)| ((*name).to_owned(), values.to_vec()))
        .collect();
    let value = quantity.call(&given)?[0];
    let unit = if quantity.unit == "1" {
        String::new()
    } else {
        format!(" {}", quantity.unit)
    };
    let worked = format!("{}: {}{unit}", example.text, rounded(value));
    Ok(Explanation {
        kind: "model",
        model,
        example_value: value,
        worked,
    })
}

/// Five significant digits, without trailing zeros.
fn rounded(value: f64) -> String {
    if value == 0.0 || !(1e-4..1e7).contains(&value.abs()) {
        return format!("{value:.4e}").replace(".0000e", "e");
    }
    let digits = (4 - libm::log10(value.abs()).floor() as i32).clamp(0, 12) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// Values of `quantity` of the model `name`; arrays of one value are repeated.
///
/// # Errors
/// Unknown or missing names, arrays of different lengths, and the first element that the model
/// refuses.
pub fn call(
    name: &str,
    quantity: &str,
    parameters: &BTreeMap<String, Vec<f64>>,
) -> Result<Vec<f64>, ModelError> {
    model(name)?.quantity(quantity)?.call(parameters)
}

impl Model {
    /// The quantity of this name.
    pub fn quantity(&self, name: &str) -> Result<&'static Quantity, ModelError> {
        let found = self
            .quantities
            .iter()
            .find(|quantity| quantity.name == name);
        found.ok_or_else(|| ModelError::Unknown {
            what: "quantity",
            found: name.to_owned(),
            known: self
                .quantities
                .iter()
                .map(|q| q.name)
                .collect::<Vec<_>>()
                .join(", "),
        })
    }
}

impl Quantity {
    /// Values for arrays of parameters, broadcast against each other.
    pub fn call(&self, given: &BTreeMap<String, Vec<f64>>) -> Result<Vec<f64>, ModelError> {
        let names = || {
            self.parameters
                .iter()
                .map(|p| p.name)
                .collect::<Vec<_>>()
                .join(", ")
        };
        if let Some(name) = given
            .keys()
            .find(|name| self.parameters.iter().all(|p| p.name != **name))
        {
            let found = name.clone();
            return Err(ModelError::Unknown {
                what: "parameter",
                found,
                known: names(),
            });
        }
        let mut columns: Vec<&[f64]> = Vec::with_capacity(self.parameters.len());
        let mut list: &[f64] = &[];
        let mut length = 1;
        for parameter in self.parameters {
            let values = match (given.get(parameter.name), &parameter.default) {
                (Some(values), _) => values.as_slice(),
                (None, Some(default)) => std::slice::from_ref(default),
                (None, None) => {
                    let parameter = parameter.name.to_owned();
                    return Err(ModelError::Missing {
                        parameter,
                        needed: names(),
                    });
                }
            };
            if parameter.list {
                list = values;
                columns.push(&[f64::NAN]);
                continue;
            }
            if values.len() != 1 && length != 1 && values.len() != length {
                let parameter = parameter.name.to_owned();
                let found = values.len();
                return Err(ModelError::Length {
                    parameter,
                    found,
                    allowed: length,
                });
            }
            if values.len() != 1 {
                length = values.len();
            }
            columns.push(values);
        }
        self.evaluate_all(&columns, list, length)
    }

    fn evaluate_all(
        &self,
        columns: &[&[f64]],
        list: &[f64],
        length: usize,
    ) -> Result<Vec<f64>, ModelError> {
        let mut numbers = vec![0.0; columns.len()];
        (0..length)
            .map(|row| {
                for (number, column) in numbers.iter_mut().zip(columns) {
                    *number = if column.len() == 1 {
                        column[0]
                    } else {
                        column[row]
                    };
                }
                let value = (self.evaluate)(&Arguments {
                    numbers: &numbers,
                    list,
                })?;
                representable("result", value)
            })
            .collect()
    }
}

// Parameters that many quantities share.

const LOAD: Parameter = Parameter::new(
    "load",
    "1",
    "offered load, arrival rate / capacity",
    "above 0",
);
const STABLE_LOAD: Parameter = Parameter::new(
    "load",
    "1",
    "offered load, arrival rate / capacity",
    "0 to below 1",
);
const LOSS: Parameter = Parameter::new(
    "loss",
    "1",
    "probability that a packet is lost",
    "0 < x < 1",
);
const RTT: Parameter = Parameter::new("rtt_s", "s", "round-trip propagation time", "above 0");
const RTTS: Parameter = Parameter::new(
    "rtts_s",
    "s",
    "round-trip propagation times, one per flow",
    "above 0",
)
.list();
const CAPACITY: Parameter =
    Parameter::new("capacity_pps", "packets/s", "rate of the link", "above 0");
const FLOWS: Parameter = Parameter::new("flows", "flows", "number of long flows", "above 0");
const KEPT: Parameter = Parameter::new(
    "kept",
    "1",
    "fraction of the window kept at a cut",
    "0 < x < 1",
)
.or(0.5);
const BUFFER_BDP: Parameter = Parameter::new(
    "buffer_bdp",
    "BDP",
    "buffer over bandwidth-delay product",
    "0 and more",
);
const BUFFER: Parameter =
    Parameter::new("buffer", "packets", "packets that may wait", "0 and more");
const BDP: Parameter = Parameter::new("bdp", "packets", "bandwidth-delay product", "above 0");
const SYSTEM: Parameter = Parameter::new(
    "system_capacity",
    "packets",
    "K, packets in the system at most, the one in transmission included (buffer + 1)",
    "0 and more",
);
const PER_ACK: Parameter = Parameter::new(
    "packets_per_ack",
    "packets",
    "1, or 2 with delayed ACKs",
    "above 0",
);

/// A symbol.
const fn symbol(symbol: &'static str, meaning: &'static str, unit: &'static str) -> Symbol {
    Symbol {
        symbol,
        meaning,
        unit,
    }
}

/// A variant.
const fn variant(name: &'static str, meaning: &'static str) -> Variant {
    Variant { name, meaning }
}

/// A quantity.
const fn quantity(
    name: &'static str,
    unit: &'static str,
    parameters: &'static [Parameter],
    evaluate: fn(&Arguments) -> Result<f64, ModelError>,
) -> Quantity {
    Quantity {
        name,
        unit,
        parameters,
        evaluate,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(pairs: &[(&str, &[f64])]) -> BTreeMap<String, Vec<f64>> {
        pairs
            .iter()
            .map(|(name, values)| ((*name).to_owned(), values.to_vec()))
            .collect()
    }

    #[test]
    fn every_model_explains_itself() {
        let mut names = Vec::new();
        for model in models() {
            let explained = explain(model.name).unwrap();
            assert!(explained.example_value.is_finite(), "{}", model.name);
            assert!(
                !model.formula.is_empty() && !model.source.is_empty(),
                "{}",
                model.name
            );
            assert!(
                !model.symbols.is_empty() && !model.assumptions.is_empty(),
                "{}",
                model.name
            );
            assert!(!model.quantities.is_empty(), "{}", model.name);
            let json = serde_json::to_value(&explained).unwrap();
            assert_eq!(json["name"], model.name);
            names.push(model.name);
            names.extend(model.aliases);
            for variant in model.variants {
                let suffix = format!(":{}", variant.name);
                let used = model.quantities.iter().any(|q| q.name.ends_with(&suffix));
                assert!(used, "{} has no quantity {suffix}", model.name);
            }
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "a name stands for two models");
    }

    #[test]
    fn every_rule_has_an_explanation() {
        for rule in crate::rules() {
            assert_eq!(model(rule.name()).unwrap().name, rule.name());
        }
    }

    #[test]
    fn no_quantity_panics_or_gives_nan_on_odd_numbers() {
        for model in models() {
            for quantity in model.quantities {
                for value in [
                    f64::NAN,
                    f64::INFINITY,
                    -1.0,
                    0.0,
                    1e-300,
                    0.3,
                    1.0,
                    7.0,
                    1e6,
                    1e300,
                ] {
                    let all: Vec<(&str, Vec<f64>)> = quantity
                        .parameters
                        .iter()
                        .map(|p| (p.name, vec![value]))
                        .collect();
                    let pairs: Vec<(&str, &[f64])> = all
                        .iter()
                        .map(|(name, values)| (*name, values.as_slice()))
                        .collect();
                    if let Ok(values) = quantity.call(&given(&pairs)) {
                        assert!(values[0].is_finite(), "{} {}", model.name, quantity.name);
                    }
                }
            }
        }
    }

    #[test]
    fn arrays_broadcast() {
        let two = given(&[("kept", &[0.5]), ("buffer_bdp", &[0.0, 1.0])]);
        assert_eq!(call("one-flow", "utilization", &two).unwrap(), [0.75, 1.0]);
        let bad = given(&[("kept", &[0.5, 0.6]), ("buffer_bdp", &[0.0, 0.5, 1.0])]);
        assert!(matches!(
            call("one-flow", "utilization", &bad),
            Err(ModelError::Length { .. })
        ));
        let unknown = given(&[("beta", &[0.5])]);
        assert!(matches!(
            call("one-flow", "utilization", &unknown),
            Err(ModelError::Unknown { .. })
        ));
        let missing = given(&[]);
        assert!(matches!(
            call("one-flow", "utilization", &missing),
            Err(ModelError::Missing { .. })
        ));
    }

    #[test]
    fn a_million_evaluations_take_well_under_a_second() {
        let buffers: Vec<f64> = (0..1_000_000).map(f64::from).map(|k| k * 1e-6).collect();
        let arguments = given(&[("kept", &[0.5]), ("buffer_bdp", &buffers)]);
        let start = std::time::Instant::now();
        let values = call("one-flow", "utilization", &arguments).unwrap();
        assert_eq!(values.len(), 1_000_000);
        assert!(values.windows(2).all(|pair| pair[0] <= pair[1] + 1e-15));
        assert!(start.elapsed().as_secs_f64() < 0.8);
    }

    #[test]
    fn numbers_are_rounded_to_five_digits() {
        assert_eq!(rounded(12345.678), "12346");
        assert_eq!(rounded(0.98990), "0.9899");
        assert_eq!(rounded(2.6561e-5), "2.6561e-5");
        assert_eq!(rounded(1.0), "1");
        assert_eq!(rounded(150.0), "150");
    }
}
