//! Every row of the reference table is computed by the models.

use forebay_closed_form::{REFERENCE_TOLERANCE, evaluate, models};
use serde_json::Value;

const TABLE: &str = include_str!("../../../../tests/reference/oracle.json");

fn rows() -> Vec<Value> {
    let table: Value = serde_json::from_str(TABLE).unwrap();
    table["rows"].as_array().unwrap().clone()
}

fn names(row: &Value) -> (&str, &str) {
    let text = |key: &str| row[key].as_str().unwrap();
    (text("model"), text("quantity"))
}

#[test]
fn every_reference_row_is_met() {
    let rows = rows();
    assert_eq!(rows.len(), 487);
    let mut failures = Vec::new();
    for row in &rows {
        let (model, quantity) = names(row);
        let value = row["value"].as_f64().unwrap();
        match evaluate(model, quantity, &row["inputs"]) {
            Ok(ours) if (ours - value).abs() <= REFERENCE_TOLERANCE * value.abs() => {}
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
fn every_model_of_the_table_is_known_and_every_known_one_is_in_the_table() {
    let rows = rows();
    let mut known: Vec<&str> = models()
        .flat_map(|model| model.references)
        .map(|reference| reference.model)
        .collect();
    let mut asked: Vec<&str> = rows.iter().map(|row| names(row).0).collect();
    known.sort_unstable();
    known.dedup();
    asked.sort_unstable();
    asked.dedup();
    assert_eq!(known, asked);
}

#[test]
fn nothing_panics_on_nonsense() {
    for row in rows() {
        let (model, quantity) = names(&row);
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
    let busy = evaluate("mm1k", "utilization", &inputs).unwrap();
    assert!((busy - 0.9 * (1.0 - loss)).abs() < 1e-14);
    let link = serde_json::json!({"throughput_form": "closed", "C_pkts_per_s": "12500",
        "rtts_s": ["0.1", "1/8"], "K": 100});
    let load = evaluate("barman-droptail", "offered load rho", &link).unwrap();
    let loss = evaluate("barman-droptail", "loss probability", &link).unwrap();
    let busy = evaluate("barman-droptail", "utilization", &link).unwrap();
    assert!((busy - load * (1.0 - loss)).abs() < 1e-12);
}

/// Beyond its upper threshold gentle RED does not drop every packet: the queue is longer, and fewer
/// packets are lost.
#[test]
fn gentle_is_gentler() {
    let row = |quantity: &str, gentle: bool| {
        let inputs = serde_json::json!({"rho": 1.5, "K": 80, "min_th": 5, "max_th": 15, "p_max": 0.1, "gentle": gentle});
        evaluate("red-chain", quantity, &inputs).unwrap()
    };
    assert!(row("mean_number", true) > row("mean_number", false) + 1.0);
    assert!(row("p_red", true) < row("p_red", false));
    assert!(row("utilization", true) > row("utilization", false));
}
