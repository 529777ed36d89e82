//! A quantity of a model, as a function of arrays of plain numbers.

use std::collections::BTreeMap;

use forebay_scenario::Unknown;
use serde::Serialize;

use crate::error::{FormulaError, representable};

/// A formula as a function of its arguments.
pub(crate) type Evaluate = fn(&Arguments) -> Result<f64, FormulaError>;

/// A quantity that a model computes.
#[derive(Debug, Serialize)]
pub struct Quantity {
    /// Name, with `:variant` if it is not the default formula.
    pub name: &'static str,
    /// Unit of the result.
    pub unit: &'static str,
    /// Parameters in the order in which `evaluate` takes them.
    pub parameters: &'static [Input],
    #[serde(skip)]
    pub(crate) evaluate: Evaluate,
}

/// An input of a quantity.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Input {
    /// Name.
    pub name: &'static str,
    /// Unit; 1 for a plain number.
    pub unit: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
    /// Values allowed.
    pub bounds: &'static str,
    /// Default value, if there is one.
    pub default: Option<f64>,
    /// Whether the whole array is one argument (a list of round-trip times) instead of one value
    /// per evaluation.
    pub list: bool,
}

impl Input {
    pub(crate) const fn new(
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

    /// The same input with a default.
    pub(crate) const fn or(mut self, default: f64) -> Self {
        self.default = Some(default);
        self
    }

    /// The same input with other allowed values.
    pub(crate) const fn within(mut self, bounds: &'static str) -> Self {
        self.bounds = bounds;
        self
    }

    /// The same input as a list that is one argument.
    pub(crate) const fn list(mut self) -> Self {
        self.list = true;
        self
    }
}

/// The arguments of one evaluation: a number per input, and the list if one input is a list.
pub(crate) struct Arguments<'a> {
    pub(crate) numbers: &'a [f64],
    pub(crate) list: &'a [f64],
}

impl std::ops::Index<usize> for Arguments<'_> {
    type Output = f64;
    fn index(&self, index: usize) -> &f64 {
        &self.numbers[index]
    }
}

impl Quantity {
    /// Returns values, in the quantity's unit, for arrays of its parameters by name. Arrays of one
    /// value are repeated.
    ///
    /// # Errors
    /// Unknown or missing names, arrays of different lengths, and the first element that the model
    /// refuses.
    pub fn call(&self, given: &BTreeMap<String, Vec<f64>>) -> Result<Vec<f64>, FormulaError> {
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
            let known = self.parameters.iter().map(|p| p.name);
            let unknown = Unknown::among("parameter", name, known);
            return Err(FormulaError::Unknown(unknown));
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
                    return Err(FormulaError::Missing {
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
                return Err(FormulaError::Length {
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
    ) -> Result<Vec<f64>, FormulaError> {
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

/// A quantity.
pub(crate) const fn quantity(
    name: &'static str,
    unit: &'static str,
    parameters: &'static [Input],
    evaluate: Evaluate,
) -> Quantity {
    Quantity {
        name,
        unit,
        parameters,
        evaluate,
    }
}
