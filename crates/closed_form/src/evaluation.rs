//! Rows of tables of reference numbers, computed by the models with the names in the tables.

use forebay_scenario::Unknown;
use serde_json::Value;

use crate::error::FormulaError;
use crate::models::models;
use crate::reference::Row;

/// The largest relative difference from a reference number. A reference is a decimal of 16 digits
/// or the solution of a fixed point to 1e-12.
pub const REFERENCE_TOLERANCE: f64 = 1e-9;

/// The value of `quantity` of `model` at `inputs` (a JSON object). The names are those in tables of
/// reference numbers.
///
/// # Errors
///
/// Unknown names, missing or malformed inputs, and every error of the model itself.
///
/// ```
/// let inputs = serde_json::json!({"rho": "9/10", "K": 100});
/// let loss = forebay_closed_form::evaluate("mm1k", "blocking probability", &inputs).unwrap();
/// assert!((1.0 / loss - 376_477.0).abs() < 1.0);
/// ```
pub fn evaluate(model: &str, quantity: &str, inputs: &Value) -> Result<f64, FormulaError> {
    let row = Row {
        quantity: quantity.to_lowercase(),
        cells: inputs,
    };
    let all = || models().flat_map(|model| model.references.iter().map(move |r| (model, r)));
    let mut found = all().filter(|(_, reference)| reference.model == model);
    if let Some((published, reference)) = found.find(|(_, reference)| reference.answers(&row)) {
        return reference.value(|name| published.quantity(name), &row);
    }
    let mut known: Vec<&str> = all()
        .filter(|(_, reference)| reference.model == model)
        .map(|(_, reference)| reference.name)
        .collect();
    let (what, found) = if known.is_empty() {
        known = all().map(|(_, reference)| reference.model).collect();
        ("model", model.to_owned())
    } else {
        ("quantity", format!("{model} {quantity}"))
    };
    Err(FormulaError::Unknown(Unknown::among(what, &found, known)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reference to a quantity has a column for each of its parameters, or for the first of them
    /// if the others have defaults.
    #[test]
    fn references_fill_the_parameters_of_their_quantities() {
        for model in models() {
            for reference in model.references {
                let Some(name) = reference.model_quantity() else {
                    continue;
                };
                let quantity = model.quantity(name).unwrap();
                assert_eq!(
                    reference.columns.len(),
                    quantity.parameters.len(),
                    "{} {}",
                    reference.model,
                    reference.name
                );
            }
        }
    }

    /// A reference matches its own usual name, unless a column decides.
    #[test]
    fn references_answer_to_their_own_names() {
        for model in models() {
            for reference in model.references {
                let cells = reference
                    .given()
                    .map_or(Value::Null, |column| serde_json::json!({ column: 1.0 }));
                let quantity = reference.name.to_lowercase();
                let row = Row {
                    quantity,
                    cells: &cells,
                };
                assert!(
                    reference.answers(&row),
                    "{}: {}",
                    reference.model,
                    reference.name
                );
            }
        }
    }

    #[test]
    fn errors_list_what_exists() {
        let error = evaluate("gorinskij", "buffer", &Value::Null).unwrap_err();
        assert!(error.to_string().contains("gorinsky"), "{error}");
        let error = evaluate("bbr", "color", &Value::Null).unwrap_err();
        assert!(error.to_string().contains("standing queue"), "{error}");
        let error = evaluate("gorinsky", "buffer", &Value::Null).unwrap_err();
        assert!(error.to_string().contains("input_links"), "{error}");
    }

    #[test]
    fn columns_that_belong_together_are_asked_for_together() {
        let missing = |cells: Value| {
            let error = evaluate("hybrid-fluid", "B0", &cells).unwrap_err();
            error.to_string()
        };
        let outright = missing(serde_json::json!({"mu": 100, "alpha": 10}));
        assert!(outright.contains("`beta` is missing"), "{outright}");
        let equal = missing(serde_json::json!({"mu": 100, "rtt_s": 0.1}));
        assert!(equal.contains("`n` is missing"), "{equal}");
    }
}
