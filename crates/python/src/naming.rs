//! Names as users write them: one way to see through them for Rust and Python.

use forebay_scenario::Unknown;
use pyo3::prelude::*;

/// The name out of `known` that was likely meant by one that does not exist, or None.
#[pyfunction]
pub(crate) fn likeliest(found: &str, known: Vec<String>) -> Option<String> {
    let spellings = known.iter().map(|name| (name.as_str(), name.as_str()));
    forebay_scenario::likeliest(found, spellings).map(str::to_owned)
}

/// The sentence on a name that does not exist: the name that was likely meant, and those that exist.
/// `aliases` are other spellings, each with the name that it stands for.
#[pyfunction]
#[pyo3(signature = (what, found, known, aliases=Vec::new()))]
pub(crate) fn unknown(
    what: &str,
    found: &str,
    known: Vec<String>,
    aliases: Vec<(String, String)>,
) -> String {
    let names = known.iter().map(|name| {
        let others = aliases.iter().filter(move |(_, of)| of == name);
        (name.as_str(), others.map(|(alias, _)| alias.as_str()))
    });
    Unknown::spelled(what, found, names).to_string()
}

/// The American spelling of a name, which is the one that forebay has.
#[pyfunction]
pub(crate) fn american(name: &str) -> String {
    forebay_scenario::american(name).into_owned()
}
