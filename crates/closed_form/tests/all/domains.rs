//! Every quantity of every model accepts exactly the inputs that its bounds state.

use std::collections::BTreeMap;

use forebay_closed_form::{FormulaError, models};

type Arguments = BTreeMap<String, Vec<f64>>;

/// A range from an input's bounds: the ends, and whether each belongs to it.
#[derive(Clone, Copy, Debug)]
struct Range {
    low: (f64, bool),
    high: (f64, bool),
}

/// The ranges that do not depend on other inputs.
fn range(bounds: &str) -> Option<Range> {
    let of = |low, high| Some(Range { low, high });
    let none = (f64::INFINITY, false);
    match bounds {
        "above 0" => of((0.0, false), none),
        "0 and more" => of((0.0, true), none),
        "1 and more" => of((1.0, true), none),
        "0 to below 1" | "0 <= x < 1" => of((0.0, true), (1.0, false)),
        "0 to 1" => of((0.0, true), (1.0, true)),
        "0 < x <= 1" => of((0.0, false), (1.0, true)),
        "0 < x < 1" => of((0.0, false), (1.0, false)),
        "0 < x < 2" => of((0.0, false), (2.0, false)),
        "0 < x < 0.5" => of((0.0, false), (0.5, false)),
        "1 to 1e12" | "1 <= x <= 1e12" => of((1.0, true), (1e12, true)),
        "1 <= x <= 1e15" => of((1.0, true), (1e15, true)),
        _ => None,
    }
}

impl Range {
    fn outside(self) -> Vec<f64> {
        let mut values = vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, self.low.0 - 1.0];
        values.push(self.low.0 - 1e-9);
        if !self.low.1 {
            values.push(self.low.0);
        }
        if self.high.0.is_finite() {
            values.push(self.high.0 * (1.0 + 1e-9));
            if !self.high.1 {
                values.push(self.high.0);
            }
        }
        values
    }

    fn inside(self) -> Vec<f64> {
        let mut values = vec![self.low.0 + 1e-3];
        if self.low.1 {
            values.push(self.low.0);
        }
        if self.high.1 {
            values.push(self.high.0);
        } else if self.high.0.is_finite() {
            values.push(self.high.0 - 1e-3);
        } else {
            values.push(self.low.0 + 3.0);
        }
        values
    }
}

/// Arguments with which a quantity can be computed, found by trying values of every size. `names`
/// has each argument's name, whether it is optional, and whether it is a list.
fn accepted(names: &[(&str, bool, bool)], call: impl Fn(&Arguments) -> bool) -> Option<Arguments> {
    let choices = [
        0.5, 2.0, 0.1, 20.0, 0.01, 100.0, 1.5, 1e-3, 1000.0, 1.0, 1e5,
    ];
    let mut state = 1_u64;
    (0..20_000).find_map(|round| {
        let given: Arguments = names
            .iter()
            .filter(|(_, optional, _)| !optional || round > 1000)
            .map(|&(name, _, list)| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let value = choices[(state >> 33) as usize % choices.len()];
                (name.to_owned(), vec![value; if list { 3 } else { 1 }])
            })
            .collect();
        call(&given).then_some(given)
    })
}

#[test]
fn every_input_takes_what_it_says_and_nothing_else() {
    let mut examined = 0;
    let mut wrong = Vec::new();
    for model in models() {
        for quantity in model.quantities {
            let said = format!("{} {}", model.name, quantity.name);
            let names: Vec<_> = quantity
                .parameters
                .iter()
                .map(|parameter| (parameter.name, parameter.default.is_some(), parameter.list))
                .collect();
            let Some(base) = accepted(&names, |given| quantity.call(given).is_ok()) else {
                wrong.push(format!("{said}: takes nothing"));
                continue;
            };
            for parameter in quantity.parameters {
                let Some(range) = range(parameter.bounds) else {
                    continue;
                };
                let with = |value: f64| {
                    let mut given = base.clone();
                    given.insert(
                        parameter.name.to_owned(),
                        vec![value; if parameter.list { 3 } else { 1 }],
                    );
                    quantity.call(&given)
                };
                for value in range.outside() {
                    if let Ok(found) = with(value) {
                        wrong.push(format!(
                            "{said}: {} = {value} gives {found:?}",
                            parameter.name
                        ));
                    }
                }
                for value in range.inside() {
                    // Another input may exclude this value.
                    if let Err(FormulaError::OutOfRange { allowed, found, .. }) = with(value)
                        && found == value
                    {
                        wrong.push(format!(
                            "{said}: {} = {value} is refused: {allowed}",
                            parameter.name
                        ));
                    }
                }
                examined += 1;
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(examined > 150, "{examined}");
}
