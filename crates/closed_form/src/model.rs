//! A published model as one value: what it says, under which assumptions, from where, what is wrong
//! in print, its quantities as functions of arrays of plain numbers, and where it has one its rule
//! for the size of a buffer.

use forebay_scenario::{Check, Metric, ModelError, Unknown};
use serde::Serialize;

use crate::error::FormulaError;
use crate::quantity::Quantity;
use crate::reference::Reference;
use crate::situation::{Situation, Targets};

/// A published model.
#[derive(Debug, Serialize)]
pub struct Model {
    /// Name on the command line, of the rule as well where it has one.
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
    /// The model held against a scenario, where it speaks about links.
    #[serde(skip)]
    pub(crate) sizing: Option<Sizing>,
    /// Its quantities as tables of reference numbers name them; the first that fits counts.
    #[serde(skip)]
    pub references: &'static [Reference],
}

/// A text as the list of its lines.
fn lines<S: serde::Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(text.lines())
}

/// Metrics in their units.
pub(crate) type Numbers = Result<Vec<(Metric, f64)>, ModelError>;

/// A buffer in packets that may wait; none where the model asks for none.
pub(crate) type Packets = Result<Option<f64>, ModelError>;

/// A model held against a scenario: packets are of the scenario's mean size, buffers what may wait.
#[derive(Debug)]
pub(crate) struct Sizing {
    /// Its assumptions, each checked.
    pub(crate) assumptions: fn(&Situation) -> Vec<Check>,
    /// What it predicts at the scenario's buffer; none where it only sizes buffers.
    pub(crate) predict: Option<fn(&Situation) -> Numbers>,
    /// The buffer that it asks for; none where it only predicts.
    pub(crate) size: Option<fn(&Situation, &Targets) -> Packets>,
    /// A remark that belongs to every prediction; may be empty.
    pub(crate) note: &'static str,
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

impl Model {
    /// The quantity of this name.
    ///
    /// # Errors
    /// The names that exist.
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
