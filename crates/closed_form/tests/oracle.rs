//! Every reference row against [`forebay_closed_form::oracle::evaluate`].

use forebay_closed_form::oracle::{MODELS, evaluate};
use serde_json::Value;

const ROWS: &str = include_str!("data/oracle.json");

/// Quantities whose reference number came from an iterative solution with 1e-12 at best.
fn is_fixed_point(model: &str, quantity: &str) -> bool {
    matches!(
        model,
        "barman-droptail" | "barman-red" | "red-chain" | "pftk-saturation"
    ) || model.starts_with("hybrid-fluid-opt5")
        || quantity.contains("self-consistent")
}

#[test]
fn every_reference_row_is_met() {
    let file: Value = serde_json::from_str(ROWS).unwrap();
    let rows = file["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 487);
    let mut failures = Vec::new();
    for row in rows {
        let (model, quantity) = (
            row["model"].as_str().unwrap(),
            row["quantity"].as_str().unwrap(),
        );
        let value = row["value"].as_f64().unwrap();
        let tolerance = if is_fixed_point(model, quantity) {
            1e-6
        } else {
            1e-9
        };
        match evaluate(model, quantity, &row["inputs"]) {
            Ok(ours) if (ours - value).abs() <= tolerance * value.abs() => {}
            found => failures.push(format!("{}: {found:?}, reference {value}", row["id"])),
        }
    }
    assert!(
        failures.is_empty(),
        "{} rows fail:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[test]
fn every_model_of_the_table_is_in_the_list_and_nothing_panics_on_nonsense() {
    let file: Value = serde_json::from_str(ROWS).unwrap();
    let rows = file["rows"].as_array().unwrap();
    for row in rows {
        let model = row["model"].as_str().unwrap();
        assert!(MODELS.contains(&model), "{model}");
        let quantity = row["quantity"].as_str().unwrap();
        let keys: Vec<&String> = row["inputs"].as_object().unwrap().keys().collect();
        for key in keys {
            for nonsense in [-1.0, 0.0, 1e300, 1e-300, 1.5] {
                let mut inputs = row["inputs"].clone();
                inputs[key] = Value::from(nonsense);
                if let Ok(value) = evaluate(model, quantity, &inputs) {
                    assert!(value.is_finite(), "{model} {quantity} {inputs}");
                }
            }
            let mut inputs = row["inputs"].clone();
            inputs[key] = Value::from("many");
            let _ = evaluate(model, quantity, &inputs);
        }
    }
    assert!(evaluate("unheard-of", "x", &Value::Null).is_err());
}

#[test]
fn ratios_strings_and_siblings() {
    let inputs = serde_json::json!({"rho": "9/10", "K": "20"});
    let loss = evaluate("mm1k", "blocking probability", &inputs).unwrap();
    let busy = evaluate("mm1k", "utilisation", &inputs).unwrap();
    assert!((busy - 0.9 * (1.0 - loss)).abs() < 1e-14);
    let link = serde_json::json!({"throughput_form": "closed", "C_pkts_per_s": "12500",
        "rtts_s": ["0.1", "1/8"], "K": 100});
    let load = evaluate("barman-droptail", "offered load rho", &link).unwrap();
    let loss = evaluate("barman-droptail", "loss probability", &link).unwrap();
    let busy = evaluate("barman-droptail", "utilisation", &link).unwrap();
    assert!((busy - load * (1.0 - loss)).abs() < 1e-12);
}
