//! Names of a model's quantities in tables of reference numbers, as data. They say how a quantity
//! is recognized and which columns hold its arguments.
//!
//! Cells are JSON: numbers, decimal strings, ratios such as "12500/3" and lists of those. RED
//! thresholds may be multiples of another column such as "0.4K". The name of a quantity may contain
//! an argument ("P(Q>=40)", "buffer for tail 0.01", "T0 = 4 RTT"). A column of that meaning has
//! priority.

use forebay_scenario::Unknown;
use serde_json::Value;

use crate::error::{FormulaError, representable};
use crate::quantity::{Arguments, Evaluate, Quantity};

/// A quantity as tables of reference numbers name it.
#[derive(Debug)]
pub struct Reference {
    /// The model's name in the tables.
    pub model: &'static str,
    /// The quantity's usual name in the tables.
    pub name: &'static str,
    /// Patterns, one of which must fit the quantity's name in lower case. Without patterns any name
    /// fits. `^` marks the beginning, `$` the end, `*` anything between two parts.
    pub patterns: &'static [&'static str],
    /// A column that must be filled for this reference to match.
    given: Option<&'static str>,
    /// The columns of the arguments, in their order.
    pub columns: &'static [Column],
    computes: Computes,
}

/// The source of the number.
#[derive(Clone, Copy, Debug)]
enum Computes {
    /// A quantity of the model, by its name.
    Quantity(&'static str),
    /// A formula that is not a quantity of its own.
    Formula(Evaluate),
}

/// A reference before its formula is set.
#[derive(Clone, Copy)]
pub(crate) struct Named {
    model: &'static str,
    name: &'static str,
    patterns: &'static [&'static str],
    given: Option<&'static str>,
}

/// The quantity `name` of the table's model `model`, recognized by one of `patterns`.
pub(crate) const fn named(
    model: &'static str,
    name: &'static str,
    patterns: &'static [&'static str],
) -> Named {
    Named {
        model,
        name,
        patterns,
        given: None,
    }
}

impl Named {
    /// Requires that this column is filled.
    pub(crate) const fn given(mut self, column: &'static str) -> Self {
        self.given = Some(column);
        self
    }

    /// Computes the model's own quantity with this name from these columns.
    pub(crate) const fn quantity(
        self,
        quantity: &'static str,
        columns: &'static [Column],
    ) -> Reference {
        self.computed(Computes::Quantity(quantity), columns)
    }

    /// Computes this function of these columns.
    pub(crate) const fn formula(self, formula: Evaluate, columns: &'static [Column]) -> Reference {
        self.computed(Computes::Formula(formula), columns)
    }

    const fn computed(self, computes: Computes, columns: &'static [Column]) -> Reference {
        Reference {
            model: self.model,
            name: self.name,
            patterns: self.patterns,
            given: self.given,
            columns,
            computes,
        }
    }
}

impl Reference {
    /// The model's quantity that it refers to; `None` if it has its own formula.
    pub fn model_quantity(&self) -> Option<&'static str> {
        match self.computes {
            Computes::Quantity(name) => Some(name),
            Computes::Formula(_) => None,
        }
    }

    /// A column that must be filled for this reference to match.
    pub fn given(&self) -> Option<&'static str> {
        self.given
    }

    /// Whether a row with this quantity's name (in lower case) and these cells matches.
    pub(crate) fn answers(&self, row: &Row) -> bool {
        let filled = self
            .given
            .is_none_or(|column| row.cells.get(column).is_some());
        let fits = |pattern: &&str| fits(pattern, &row.quantity);
        filled && (self.patterns.is_empty() || self.patterns.iter().any(fits))
    }

    /// The number for a row; `quantity` finds the quantities of the model of this reference.
    pub(crate) fn value(
        &self,
        quantity: impl FnOnce(&str) -> Result<&'static Quantity, FormulaError>,
        row: &Row,
    ) -> Result<f64, FormulaError> {
        let mut numbers = Vec::with_capacity(self.columns.len());
        let mut list = Vec::new();
        for column in self.columns {
            if matches!(column.reading, Reading::List) {
                list = column.list_of(row)?;
                numbers.push(f64::NAN);
            } else {
                numbers.push(column.number_of(row)?);
            }
        }
        let arguments = Arguments {
            numbers: &numbers,
            list: &list,
        };
        let evaluate = match self.computes {
            Computes::Formula(formula) => formula,
            Computes::Quantity(name) => quantity(name)?.evaluate,
        };
        representable("result", evaluate(&arguments)?)
    }
}

/// A row of a table.
pub(crate) struct Row<'a> {
    /// The quantity's name in lower case.
    pub(crate) quantity: String,
    /// The inputs, a JSON object.
    pub(crate) cells: &'a Value,
}

/// Whether `pattern` fits `name`.
fn fits(pattern: &str, name: &str) -> bool {
    let (whole, from_start) = match pattern.strip_prefix('^') {
        Some(rest) => (rest, true),
        None => (pattern, false),
    };
    let (whole, to_end) = match whole.strip_suffix('$') {
        Some(rest) => (rest, true),
        None => (whole, false),
    };
    let mut rest = name;
    for (index, part) in whole.split('*').enumerate() {
        let Some(at) = rest.find(part) else {
            return false;
        };
        if index == 0 && from_start && at > 0 {
            return false;
        }
        rest = &rest[at + part.len()..];
    }
    !to_end || rest.is_empty()
}

/// A column of a table: its names, the format of its cells, and its value if it is absent.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its names; the first that is filled is used.
    names: &'static [&'static str],
    reading: Reading,
    absent: Absent,
}

/// The format of a cell.
#[derive(Clone, Copy, Debug)]
enum Reading {
    /// A number.
    Number,
    /// A list of numbers, or one number.
    List,
    /// One of these words, in lower case, with its number.
    Word(&'static [(&'static str, f64)]),
    /// A number, or a multiple of this column: "0.4K".
    MultipleOf(&'static str),
    /// A flag: 1 if the cell is true or a text with this word, otherwise 0.
    Flag(&'static str),
}

/// The rule for a column that is absent.
#[derive(Clone, Copy, Debug)]
enum Absent {
    /// The row is refused.
    Refused,
    /// The row is refused if the other column is filled. Otherwise the argument is NaN.
    RefusedWith(&'static str),
    /// The row is refused if the other column is absent. Otherwise the argument is NaN.
    RefusedWithout(&'static str),
    /// This value.
    Value(f64),
    /// The number after this word in the quantity's name, otherwise the value.
    After(&'static str, Option<f64>),
    /// The percentage in the quantity's name, otherwise the value.
    Percent(f64),
    /// A flag: 1 if the quantity's name contains this word, otherwise 0.
    Word(&'static str),
}

impl Column {
    /// A number that every row must have.
    pub(crate) const fn of(names: &'static [&'static str]) -> Self {
        Self {
            names,
            reading: Reading::Number,
            absent: Absent::Refused,
        }
    }

    /// A list of numbers.
    pub(crate) const fn list(mut self) -> Self {
        self.reading = Reading::List;
        self
    }

    /// One of these words, each with its number.
    pub(crate) const fn word(mut self, words: &'static [(&'static str, f64)]) -> Self {
        self.reading = Reading::Word(words);
        self
    }

    /// A number, or a multiple of another column.
    pub(crate) const fn multiple_of(mut self, column: &'static str) -> Self {
        self.reading = Reading::MultipleOf(column);
        self
    }

    /// A flag: 1 if the cell is true or contains `word`, otherwise 0.
    pub(crate) const fn flag(mut self, word: &'static str) -> Self {
        self.reading = Reading::Flag(word);
        self.absent = Absent::Value(0.0);
        self
    }

    /// If absent, the argument is this value.
    pub(crate) const fn or(mut self, value: f64) -> Self {
        self.absent = Absent::Value(value);
        self
    }

    /// If absent, the argument is the number after `word` in the quantity's name, which must be
    /// there.
    pub(crate) const fn or_after(mut self, word: &'static str) -> Self {
        self.absent = Absent::After(word, None);
        self
    }

    /// If absent, the argument is the number after `word` in the quantity's name, otherwise this
    /// value.
    pub(crate) const fn or_after_or(mut self, word: &'static str, value: f64) -> Self {
        self.absent = Absent::After(word, Some(value));
        self
    }

    /// If absent, the argument is the percentage in the quantity's name, otherwise this value.
    pub(crate) const fn or_percent_or(mut self, value: f64) -> Self {
        self.absent = Absent::Percent(value);
        self
    }

    /// If absent, the argument is 1 if the quantity's name contains this word, otherwise 0.
    pub(crate) const fn or_named(mut self, word: &'static str) -> Self {
        self.absent = Absent::Word(word);
        self
    }

    /// Required if the other column is filled; otherwise NaN.
    pub(crate) const fn with(mut self, column: &'static str) -> Self {
        self.absent = Absent::RefusedWith(column);
        self
    }

    /// Required if the other column is absent; otherwise NaN.
    pub(crate) const fn without(mut self, column: &'static str) -> Self {
        self.absent = Absent::RefusedWithout(column);
        self
    }

    /// Its cell in the row, with the name of the column there.
    fn cell<'a>(&self, row: &Row<'a>) -> Option<(&'static str, &'a Value)> {
        self.names
            .iter()
            .find_map(|&name| Some((name, row.cells.get(name)?)))
    }

    fn missing(&self) -> FormulaError {
        FormulaError::Missing {
            parameter: self.names[0].to_owned(),
            needed: self.names.join(" or "),
        }
    }

    fn list_of(&self, row: &Row) -> Result<Vec<f64>, FormulaError> {
        let (name, value) = self.cell(row).ok_or_else(|| self.missing())?;
        match value {
            Value::Array(items) => items.iter().map(|item| number(name, item)).collect(),
            single => Ok(vec![number(name, single)?]),
        }
    }

    fn number_of(&self, row: &Row) -> Result<f64, FormulaError> {
        let Some((name, value)) = self.cell(row) else {
            return self.otherwise(row);
        };
        match self.reading {
            Reading::Number | Reading::List => number(name, value),
            Reading::Flag(word) => {
                let says = value.as_str().is_some_and(|text| text.contains(word));
                Ok(f64::from(u8::from(says || value.as_bool() == Some(true))))
            }
            Reading::MultipleOf(column) => {
                match value.as_str().and_then(|text| text.strip_suffix(column)) {
                    None => number(name, value),
                    Some(share) => {
                        let one = row.cells.get(column).ok_or_else(|| self.missing())?;
                        let share = if share.is_empty() { "1" } else { share };
                        Ok(number(name, &Value::from(share))? * number(column, one)?)
                    }
                }
            }
            Reading::Word(words) => {
                let text = value.as_str().unwrap_or_default().to_lowercase();
                let found = words.iter().find(|(word, _)| *word == text);
                found.map(|(_, number)| *number).ok_or_else(|| {
                    let known = words.iter().map(|(word, _)| *word);
                    FormulaError::Unknown(Unknown::among(name, &text, known))
                })
            }
        }
    }

    /// The argument if the column is absent.
    fn otherwise(&self, row: &Row) -> Result<f64, FormulaError> {
        let filled = |column| row.cells.get(column).is_some();
        let found = match self.absent {
            Absent::Refused => None,
            Absent::RefusedWith(column) => (!filled(column)).then_some(f64::NAN),
            Absent::RefusedWithout(column) => filled(column).then_some(f64::NAN),
            Absent::Value(value) => Some(value),
            Absent::After(word, value) => number_after(&row.quantity, word).or(value),
            Absent::Percent(value) => {
                Some(number_before(&row.quantity, " %").map_or(value, |percent| percent / 100.0))
            }
            Absent::Word(word) => Some(f64::from(u8::from(row.quantity.contains(word)))),
        };
        found.ok_or_else(|| self.missing())
    }
}

/// Parses a JSON number, a decimal string or a ratio of two decimals.
fn number(name: &str, value: &Value) -> Result<f64, FormulaError> {
    let malformed = || FormulaError::Malformed {
        parameter: name.to_owned(),
        found: value.to_string(),
        allowed: "a number, a decimal string or a ratio such as \"12500/3\"",
    };
    match value {
        Value::Number(number) => number.as_f64().ok_or_else(malformed),
        Value::String(text) => {
            let mut parts = text.split('/').map(|part| part.trim().parse::<f64>());
            match (parts.next(), parts.next(), parts.next()) {
                (Some(Ok(number)), None, None) => Ok(number),
                (Some(Ok(above)), Some(Ok(below)), None) => Ok(above / below),
                _ => Err(malformed()),
            }
        }
        _ => Err(malformed()),
    }
}

/// The number that follows `word` in `name`.
fn number_after(name: &str, word: &str) -> Option<f64> {
    let rest = &name[name.find(word)? + word.len()..];
    let digits = &rest[rest.find(|c: char| c.is_ascii_digit())?..];
    let numeric = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | '-');
    let end = digits.find(|c| !numeric(c)).unwrap_or(digits.len());
    (1..=end)
        .rev()
        .find_map(|end| digits.get(..end)?.parse().ok())
}

/// The number immediately before `word` in `name`.
fn number_before(name: &str, word: &str) -> Option<f64> {
    let head = &name[..name.find(word)?];
    head.rsplit([' ', ',']).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_parts_beginnings_and_ends() {
        assert!(fits("mean", "the mean queue") && !fits("mean", "the queue"));
        assert!(fits("^b(w)", "b(w)") && !fits("^b(w)", "1 - b(w)"));
        assert!(fits("^beta$", "beta") && !fits("^beta$", "beta0"));
        assert!(fits("mean queue*/ b0", "mean queue / b0") && !fits("a*b", "b then a"));
    }

    #[test]
    fn numbers_stand_in_names() {
        assert_eq!(number_after("p(q>=40)", "p(q"), Some(40.0));
        assert_eq!(number_after("buffer for tail 0.01", "tail"), Some(0.01));
        assert_eq!(number_after("buffer for tail", "tail"), None);
        assert_eq!(number_before("buffer, 99.9 % two-sided", " %"), Some(99.9));
        assert_eq!(number_before("buffer", " %"), None);
    }

    #[test]
    fn a_column_counts_more_than_the_name_and_the_name_more_than_the_default() {
        let column = Column::of(&["tail"]).or_after_or("tail", 0.5);
        let value = |quantity: &str, cells: &Value| {
            let quantity = quantity.to_owned();
            column.number_of(&Row { quantity, cells }).unwrap()
        };
        let empty = serde_json::json!({});
        assert_eq!(value("tail 0.1", &serde_json::json!({"tail": "1/4"})), 0.25);
        assert_eq!(value("tail 0.1", &empty), 0.1);
        assert_eq!(value("tail", &empty), 0.5);
    }

    #[test]
    fn thresholds_are_multiples_of_another_column() {
        let column = Column::of(&["min_th"]).multiple_of("K");
        let value = |text: &str| {
            let cells = serde_json::json!({"K": 50, "min_th": text});
            let quantity = String::new();
            column.number_of(&Row {
                quantity,
                cells: &cells,
            })
        };
        assert_eq!(value("0.4K").unwrap(), 20.0);
        assert_eq!(value("K").unwrap(), 50.0);
        assert_eq!(value("7").unwrap(), 7.0);
        assert!(value("manyK").is_err());
    }
}
