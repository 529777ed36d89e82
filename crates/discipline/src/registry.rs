//! The registry of queue disciplines: one line per file, the default first.

use forebay_units::parameter::Description;

static DROPTAIL: Description = Description {
    name: "droptail",
    title: "First in, first out; arrivals at a full buffer are dropped",
    source: "the classical router queue",
    parameters: &[],
};

static ALL: [&Description; 1] = [&DROPTAIL];

/// All disciplines; the first is the default.
pub fn descriptions() -> &'static [&'static Description] {
    &ALL
}
