//! Explanations of models: a model with its worked number for `explain`, and its quantities by
//! name.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::error::FormulaError;
use crate::model::Model;
use crate::models::model;

/// A model with its worked number, as `explain` prints it.
#[derive(Debug, Serialize)]
pub struct Explanation {
    /// Always "model".
    pub kind: &'static str,
    /// The model.
    #[serde(flatten)]
    pub model: &'static Model,
    /// The example's value, computed by this version.
    pub example_value: f64,
    /// The example as a sentence with its number and unit.
    pub worked: String,
}

/// Explains the model with this name or alias.
///
/// # Errors
/// The existing names, if `name` is unknown.
///
/// ```
/// let told = forebay_closed_form::explain("gorinsky").unwrap();
/// assert_eq!(told.worked, "Buffer of a router with 4 input links: 8 packets");
/// ```
pub fn explain(name: &str) -> Result<Explanation, FormulaError> {
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

/// Formats five significant digits, without trailing zeros.
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
///
/// ```
/// let given = [("load", vec![0.5, 0.9]), ("system_capacity", vec![1.0])];
/// let given = given.map(|(name, values)| (name.to_owned(), values)).into();
/// let losses = forebay_closed_form::call("mm1k", "loss", &given).unwrap();
/// assert!((losses[0] - 1.0 / 3.0).abs() < 1e-15 && losses.len() == 2);
/// ```
pub fn call(
    name: &str,
    quantity: &str,
    parameters: &BTreeMap<String, Vec<f64>>,
) -> Result<Vec<f64>, FormulaError> {
    model(name)?.quantity(quantity)?.call(parameters)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::models;

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
        let two = given(&[("beta", &[0.5]), ("buffer_bdp", &[0.0, 1.0])]);
        assert_eq!(call("one-flow", "utilization", &two).unwrap(), [0.75, 1.0]);
        let bad = given(&[("beta", &[0.5, 0.6]), ("buffer_bdp", &[0.0, 0.5, 1.0])]);
        assert!(matches!(
            call("one-flow", "utilization", &bad),
            Err(FormulaError::Length { .. })
        ));
        let unknown = given(&[("gamma", &[0.5])]);
        assert!(matches!(
            call("one-flow", "utilization", &unknown),
            Err(FormulaError::Unknown(_))
        ));
        let missing = given(&[]);
        assert!(matches!(
            call("one-flow", "utilization", &missing),
            Err(FormulaError::Missing { .. })
        ));
    }

    #[test]
    fn a_million_evaluations_at_once_rise_with_the_buffer() {
        let buffers: Vec<f64> = (0..1_000_000).map(f64::from).map(|k| k * 1e-6).collect();
        let arguments = given(&[("beta", &[0.5]), ("buffer_bdp", &buffers)]);
        let values = call("one-flow", "utilization", &arguments).unwrap();
        assert_eq!(values.len(), 1_000_000);
        assert!(values.windows(2).all(|pair| pair[0] <= pair[1] + 1e-15));
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
