//! The rooms of the crate: no circle between modules, and no file too long to read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Lines of the longest file.
const LONGEST: usize = 600;

/// Enters the text of each module by its path in the crate, the root left out.
fn enter(folder: &Path, prefix: &str, found: &mut BTreeMap<String, String>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let name = match (&*stem, prefix) {
            ("mod", _) => prefix.to_owned(),
            (stem, "") => stem.to_owned(),
            (stem, _) => format!("{prefix}::{stem}"),
        };
        if path.is_dir() {
            enter(&path, &name, found)?;
        } else if name != "lib" {
            found.insert(name, std::fs::read_to_string(&path)?);
        }
    }
    Ok(())
}

fn modules() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    enter(&source, "", &mut found).expect("the sources are there");
    found
}

/// The modules that a text names after `crate::`, unit tests and comments left out.
fn named(text: &str, known: &BTreeSet<&str>) -> BTreeSet<String> {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or("");
    let code = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    let code = code.collect::<Vec<_>>().join("\n");
    let paths = code.split("crate::").skip(1).filter_map(|rest| {
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
        let mut path = rest[..end.unwrap_or(rest.len())].trim_end_matches(':');
        while !known.contains(path) {
            path = path.rsplit_once("::")?.0;
        }
        Some(path.to_owned())
    });
    paths.collect()
}

#[test]
fn no_module_builds_on_what_builds_on_it() {
    let texts = modules();
    let known: BTreeSet<&str> = texts.keys().map(String::as_str).collect();
    assert!(known.contains("adaptive::step") && known.contains("run"));
    let mut left: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (name, text) in &texts {
        let tests = text.find("#[cfg(test)]").unwrap_or(text.len());
        assert!(!text[..tests].contains("super::"), "{name}: say crate::");
        assert!(!text[..tests].contains("crate::{"), "{name}: a line each");
        let mut uses = named(text, &known);
        uses.remove(name);
        left.insert(name, uses);
    }
    assert!(left["adaptive::stages"].contains("adaptive::step"));
    while !left.is_empty() {
        let before = left.len();
        let waiting: BTreeSet<String> = left.keys().map(|&name| name.to_owned()).collect();
        left.retain(|_, uses| !uses.is_disjoint(&waiting));
        assert!(left.len() < before, "a circle among {left:?}");
    }
}

#[test]
fn no_file_is_too_long_to_read() {
    for (name, text) in modules() {
        let lines = text.lines().count();
        assert!(lines <= LONGEST, "{name}: {lines} lines");
    }
}
