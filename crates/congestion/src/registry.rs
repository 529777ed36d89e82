//! The registry of controllers: one line per file.

use forebay_units::parameter::{Description, Parameter, ParameterKind, Value};

static NEWRENO: Description = Description {
    name: "newreno",
    title: "Reno's additive increase and halving",
    source: "RFC 5681, RFC 6582",
    parameters: &[],
};

static CUBIC: Description = Description {
    name: "cubic",
    title: "CUBIC: window as a cubic function of the time since the last cut",
    source: "RFC 9438",
    parameters: &[Parameter {
        name: "beta",
        meaning: "kept fraction of the window at a cut (RFC 9438 section 4.6)",
        kind: ParameterKind::Number {
            min: 0.1,
            max: 0.99,
        },
        default: Value::Number(0.7),
    }],
};

static HSTCP: Description = Description {
    name: "hstcp",
    title: "HighSpeed TCP: larger increases and smaller cuts at large windows",
    source: "RFC 3649",
    parameters: &[],
};

static ALL: [&Description; 3] = [&NEWRENO, &HSTCP, &CUBIC];

/// All controllers.
pub fn descriptions() -> &'static [&'static Description] {
    &ALL
}

/// The controller of a group that names none.
pub fn default_description() -> &'static Description {
    &CUBIC
}
