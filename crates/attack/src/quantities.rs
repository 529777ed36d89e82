//! Quantities and names as they are written outside of scenario files.

use forebay_scenario::{Dimension, Metric, Unknown, american, likeliest, split_quantity};
use forebay_units::{Bytes, Rate, Time};

use crate::{check_sentence, text};

/// Reads a quantity and a name.
pub(crate) fn feed(bytes: &[u8]) {
    let Some(text) = text(bytes) else {
        return;
    };
    for dimension in Dimension::ALL {
        match dimension.read(text) {
            Ok(value) => {
                assert!(value.is_finite() && value >= 0.0, "{dimension:?}: {value}");
                assert_eq!(dimension.read(&format!(" {text} ")), Ok(value));
            }
            Err(value_error) => check_sentence(&value_error.to_string()),
        }
    }
    check_units(text);
    if let Some((number, unit)) = split_quantity(text) {
        assert!(!number.is_nan(), "{number}");
        assert!(text.trim().ends_with(unit), "{unit}");
    }
    check_names(text);
}

/// Checks that a value that was read is printed as a text that reads as the same value.
fn check_units(text: &str) {
    macro_rules! again {
        ($($unit:ty),+) => {$(
            match text.parse::<$unit>() {
                Ok(value) => assert_eq!(value.to_string().parse(), Ok(value), "{text}"),
                Err(error) => check_sentence(&error.allowed),
            }
        )+};
    }
    again!(Time, Bytes, Rate);
}

fn check_names(text: &str) {
    let spelled = american(text);
    assert_eq!(american(&spelled), spelled, "{text}");
    // Names are compared with every known one in a time that grows with both.
    if text.len() > 512 {
        return;
    }
    let names = || Metric::ALL.into_iter().map(Metric::name);
    if let Some(meant) = likeliest(text, names().map(|name| (name, name))) {
        assert!(names().any(|name| name == meant));
    }
    let unknown = Unknown::among("metric", text, names());
    check_sentence(&unknown.to_string());
    check_sentence(&unknown.listed());
}
