//! A published model as one value. It contains the formula, its assumptions, its source, its
//! errata, its quantities as functions of arrays, and, for some models, a rule for buffer sizes.

use forebay_scenario::{Check, Metric, ModelError, Unknown};
use serde::Serialize;

use crate::error::FormulaError;
use crate::quantity::Quantity;
use crate::reference::Reference;
use crate::situation::{Situation, Targets};

/// A published model.
#[derive(Debug, Serialize)]
pub struct Model {
    /// Name on the command line, also of the rule if there is one.
    pub name: &'static str,
    /// Other names of the model.
    pub aliases: &'static [&'static str],
    /// Its subject in a few words.
    pub title: &'static str,
    /// Its statement, in a sentence.
    pub summary: &'static str,
    /// The corrected formula as a text for terminals; a list of lines in JSON.
    #[serde(serialize_with = "lines")]
    pub formula: &'static str,
    /// The formula's symbols.
    pub symbols: &'static [Symbol],
    /// The conditions under which it applies.
    pub assumptions: &'static [&'static str],
    /// Paper or RFC with section or equation, and how the formula was checked.
    pub source: &'static str,
    /// The errors of the printed version.
    pub errata: &'static [&'static str],
    /// Named alternatives to the default formula.
    pub variants: &'static [Variant],
    /// The quantities that can be computed.
    pub quantities: &'static [Quantity],
    /// The worked number of `explain`.
    pub example: Example,
    /// The model's rule for links, if it describes links.
    #[serde(skip)]
    pub(crate) sizing: Option<Sizing>,
    /// Its quantities by their names in tables of reference numbers. The first that fits is used.
    #[serde(skip)]
    pub references: &'static [Reference],
}

/// A text as the list of its lines.
fn lines<S: serde::Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(text.lines())
}

/// Metrics in their units.
pub(crate) type Numbers = Result<Vec<(Metric, f64)>, ModelError>;

/// A buffer in waiting packets; `None` if the model recommends none.
pub(crate) type Packets = Result<Option<f64>, ModelError>;

/// A model's rule for a scenario. Packets are of the scenario's mean size; buffers count waiting
/// packets.
#[derive(Debug)]
pub(crate) struct Sizing {
    /// Checks each of its assumptions.
    pub(crate) assumptions: fn(&Situation) -> Vec<Check>,
    /// Predicts the metrics at the scenario's buffer; `None` if the model only sizes buffers.
    pub(crate) predict: Option<fn(&Situation) -> Numbers>,
    /// Recommends a buffer; `None` if the model only predicts.
    pub(crate) size: Option<fn(&Situation, &Targets) -> Packets>,
    /// A note on every prediction; may be empty.
    pub(crate) note: &'static str,
}

/// A symbol of a formula.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Symbol {
    /// The symbol as written in the formula.
    pub symbol: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
    /// Its unit; 1 for a plain number.
    pub unit: &'static str,
}

/// An alternative to a model's default formula.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Variant {
    /// Suffix of the quantity, after a colon: `loss:printed`.
    pub name: &'static str,
    /// Its difference from the default.
    pub meaning: &'static str,
}

/// A computed example.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Example {
    /// The computed quantity, in words.
    pub text: &'static str,
    /// The quantity.
    pub quantity: &'static str,
    /// Its arguments.
    pub arguments: &'static [(&'static str, &'static [f64])],
}

impl Model {
    /// The quantity with this name.
    ///
    /// # Errors
    /// The existing names, if `name` is unknown.
    pub fn quantity(&self, name: &str) -> Result<&'static Quantity, FormulaError> {
        let found = self
            .quantities
            .iter()
            .find(|quantity| quantity.name == name);
        found.ok_or_else(|| {
            let known = self.quantities.iter().map(|quantity| quantity.name);
            FormulaError::Unknown(Unknown::among("quantity", name, known))
        })
    }
}

/// A symbol.
pub(crate) const fn symbol(
    symbol: &'static str,
    meaning: &'static str,
    unit: &'static str,
) -> Symbol {
    Symbol {
        symbol,
        meaning,
        unit,
    }
}

/// A variant.
pub(crate) const fn variant(name: &'static str, meaning: &'static str) -> Variant {
    Variant { name, meaning }
}
