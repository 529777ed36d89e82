//! Names as users write them, interpreted in the same way for Rust and Python.

use forebay_scenario::Unknown;
use pyo3::prelude::*;

/// Return the name out of `known` that an unknown name was likely meant to be, or None.
#[pyfunction]
pub(crate) fn likeliest(found: &str, known: Vec<String>) -> Option<String> {
    let spellings = known.iter().map(|name| (name.as_str(), name.as_str()));
    forebay_scenario::likeliest(found, spellings).map(str::to_owned)
}

/// Return the sentence about an unknown name: the name that was likely meant, and the existing
/// names. `aliases` are other spellings, each with the name that it replaces.
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

/// Return the American spelling of a name, which forebay uses.
#[pyfunction]
pub(crate) fn american(name: &str) -> String {
    forebay_scenario::american(name).into_owned()
}
