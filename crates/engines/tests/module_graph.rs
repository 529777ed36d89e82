//! Rules of the source files. No file exceeds a number of lines, and the files of an engine have no
//! cyclic dependencies. Each file uses only files below it and can be read, tested and changed
//! without those above. A file and its child modules count separately. Code for tests and
//! visibility modifiers do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The largest number of lines of a source file.
const LONGEST: usize = 600;

#[test]
fn no_file_of_an_engine_stands_in_a_circle() {
    for engine in ["scenario", "simulation", "packet", "kernel", "fluid"] {
        let graph = Graph::read(&crate_folder(engine).join("src"));
        let circles = graph.circles();
        let told: Vec<_> = circles.iter().map(|circle| graph.explain(circle)).collect();
        assert!(
            circles.is_empty(),
            "{engine}: circles of files:\n{}",
            told.join("\n")
        );
    }
}

#[test]
fn the_layers_of_the_scenario_crate_import_downward_only() {
    const LAYERS: [&str; 4] = ["text", "model", "answer", "derived"];
    let graph = Graph::read(&crate_folder("scenario").join("src"));
    let layer = |file: &str| {
        LAYERS
            .iter()
            .position(|name| file.split("::").next() == Some(name))
    };
    for (file, uses) in &graph.0 {
        for used in uses {
            let upward = layer(file).is_some_and(|own| layer(used).is_none_or(|other| other > own));
            assert!(!upward, "{file} uses {used}");
        }
    }
    assert!(LAYERS.iter().all(|name| graph.0.contains_key(*name)));
}

#[test]
fn no_source_file_is_too_long_to_read() {
    let crates = fs::read_dir(crate_folder("")).expect("the crates");
    for folder in crates.map(|entry| entry.expect("an entry").path().join("src")) {
        let mut sources = BTreeMap::new();
        collect(&folder, &[], &mut sources);
        assert!(!sources.is_empty(), "no sources in {}", folder.display());
        for (module, text) in sources {
            let (lines, name) = (text.lines().count(), name(&module));
            let place = folder.display();
            assert!(lines <= LONGEST, "{place}: {name} has {lines} lines");
        }
    }
}

fn crate_folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

/// The uses of each file, by module path such as `calendar::wheel`; the crate's root is `crate`.
#[derive(Debug, Default)]
struct Graph(BTreeMap<String, BTreeSet<String>>);

impl Graph {
    /// Reads the graph of the source files in a folder.
    fn read(folder: &Path) -> Self {
        let mut sources = BTreeMap::new();
        collect(folder, &[], &mut sources);
        let graph = Self::of(&sources);
        assert!(graph.0.len() > 5, "no sources in {}", folder.display());
        graph
    }

    /// The graph of module paths and their texts.
    fn of(sources: &BTreeMap<Vec<String>, String>) -> Self {
        let code: BTreeMap<&Vec<String>, (String, Vec<String>)> = sources
            .iter()
            .map(|(module, text)| (module, without_tests(text)))
            .collect();
        let tests: BTreeSet<Vec<String>> = code
            .iter()
            .flat_map(|(module, (_, tests))| tests.iter().map(|test| child(module, test)))
            .collect();
        let counts = |module: &[String]| (1..=module.len()).all(|k| !tests.contains(&module[..k]));
        let modules: BTreeSet<&Vec<String>> = sources.keys().filter(|m| counts(m)).collect();
        let mut graph = Self::default();
        for (module, (text, _)) in &code {
            if !counts(module) {
                continue;
            }
            let uses = paths(text)
                .into_iter()
                .filter_map(|path| resolve(module, &path))
                .map(|path| owner(&modules, path))
                .filter(|used| used != *module);
            let uses = uses.map(|used| name(&used)).collect();
            graph.0.insert(name(module), uses);
        }
        graph
    }

    /// The cycles: sets of files of which each uses each other, directly or through others.
    fn circles(&self) -> Vec<BTreeSet<String>> {
        let reach: BTreeMap<&String, BTreeSet<&String>> =
            self.0.keys().map(|file| (file, self.reach(file))).collect();
        let mut circles: Vec<BTreeSet<String>> = Vec::new();
        for (file, reached) in &reach {
            if !reached.contains(*file) || circles.iter().any(|circle| circle.contains(*file)) {
                continue;
            }
            let circle = reached
                .iter()
                .filter(|other| reach[**other].contains(*file));
            circles.push(circle.map(|other| (*other).clone()).collect());
        }
        circles
    }

    /// All files that a file uses, directly or through others.
    fn reach(&self, file: &String) -> BTreeSet<&String> {
        let mut reached = BTreeSet::new();
        let mut next: Vec<&String> = self.0[file].iter().collect();
        while let Some(file) = next.pop() {
            if reached.insert(file) {
                next.extend(&self.0[file]);
            }
        }
        reached
    }

    /// The uses that form a cycle, one file per line.
    fn explain(&self, circle: &BTreeSet<String>) -> String {
        let lines = circle.iter().map(|file| {
            let used: Vec<_> = self.0[file].intersection(circle).cloned().collect();
            format!("  {file} uses {}", used.join(", "))
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// Reads the source files below a folder. `lib.rs` is the root, `mod.rs` the file of its folder.
fn collect(folder: &Path, module: &[String], sources: &mut BTreeMap<Vec<String>, String>) {
    let entries = fs::read_dir(folder).expect("a folder of sources");
    for entry in entries.map(|entry| entry.expect("an entry").path()) {
        let stem = entry.file_stem().expect("a name").to_string_lossy();
        if entry.is_dir() {
            collect(&entry, &child(module, &stem), sources);
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            let module = match &*stem {
                "lib" | "mod" => module.to_vec(),
                stem => child(module, stem),
            };
            let text = fs::read_to_string(&entry).expect("a source");
            sources.insert(module, text);
        }
    }
}

fn child(module: &[String], name: &str) -> Vec<String> {
    let mut path = module.to_vec();
    path.push(name.to_owned());
    path
}

fn name(module: &[String]) -> String {
    if module.is_empty() {
        "crate".to_owned()
    } else {
        module.join("::")
    }
}

/// The text without comments and test code, and the child modules that only tests use.
fn without_tests(text: &str) -> (String, Vec<String>) {
    let (mut code, mut tests) = (String::new(), Vec::new());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim() != "#[cfg(test)]" {
            code.push_str(line.split("//").next().unwrap_or_default());
            code.push('\n');
            continue;
        }
        // The item after the attribute ends when its braces close, or at a semicolon if it has
        // none.
        let mut depth = 0;
        for line in lines.by_ref() {
            let item = line.trim();
            if depth == 0
                && let Some(module) = item.strip_suffix(';').and_then(|i| i.split_once("mod "))
            {
                tests.push(module.1.to_owned());
            }
            let closed = line.matches('}').count();
            depth = (depth + line.matches('{').count()).saturating_sub(closed);
            let attribute = item.starts_with("#[") || item.ends_with(',');
            if depth == 0 && !attribute {
                break;
            }
        }
    }
    (code, tests)
}

/// The paths in a text that begin with `crate`, `super` or `self`. A tree in braces gives one path
/// per leaf.
fn paths(text: &str) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    for start in ["crate::", "super::", "self::"] {
        for (at, _) in text.match_indices(start) {
            let before = text[..at].chars().next_back();
            let visibility = text[..at].ends_with("pub(in ");
            if !visibility && before.is_none_or(|c| !c.is_alphanumeric() && c != '_' && c != ':') {
                expand(&text[at..], &[], &mut paths);
            }
        }
    }
    paths
}

/// Parses one path, or a tree of paths in braces, after `prefix`. Returns the rest of the text.
fn expand<'a>(text: &'a str, prefix: &[String], paths: &mut Vec<Vec<String>>) -> &'a str {
    let mut path = prefix.to_vec();
    let mut text = text.trim_start();
    loop {
        let end = text
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(text.len());
        if end > 0 {
            path.push(text[..end].to_owned());
        }
        text = text[end..].trim_start();
        let Some(rest) = text.strip_prefix("::") else {
            break;
        };
        text = rest.trim_start();
        if let Some(rest) = text.strip_prefix('{') {
            text = rest;
            while !text.trim_start().starts_with('}') && !text.is_empty() {
                text = expand(text, &path, paths).trim_start();
                text = text.trim_start_matches('*').trim_start();
                text = text.strip_prefix(',').unwrap_or(text);
            }
            return text.trim_start().strip_prefix('}').unwrap_or("");
        }
    }
    if let Some(rest) = text.strip_prefix("as ") {
        let end = rest.find([',', '}', ';']).unwrap_or(rest.len());
        text = &rest[end..];
    }
    paths.push(path);
    text
}

/// A path of `module` as seen from the crate's root.
fn resolve(module: &[String], path: &[String]) -> Option<Vec<String>> {
    let mut base = module.to_vec();
    let mut rest = path;
    match path.first()?.as_str() {
        "crate" => base.clear(),
        "self" => {}
        _ => {
            while rest.first().is_some_and(|part| part == "super") {
                base.pop()?;
                rest = &rest[1..];
            }
            base.extend_from_slice(rest);
            return Some(base);
        }
    }
    base.extend_from_slice(&rest[1..]);
    Some(base)
}

/// The file that contains a path: that of the longest module on it.
fn owner(modules: &BTreeSet<&Vec<String>>, mut path: Vec<String>) -> Vec<String> {
    while !path.is_empty() && !modules.contains(&path) {
        path.pop();
    }
    path
}

// --- The test's own tests ---

fn graph(sources: &[(&str, &str)]) -> Graph {
    let sources = sources.iter().map(|(module, text)| {
        let parts = module.split("::").filter(|part| !part.is_empty());
        (parts.map(str::to_owned).collect(), (*text).to_owned())
    });
    Graph::of(&sources.collect())
}

#[test]
fn a_circle_is_found_however_it_is_written() {
    for back in [
        "use crate::a::X;",
        "use crate::{b::Y, a::{X, Z}};",
        "use super::a;",
        "fn f() { super::a::g() }",
        "fn f(x: crate::a::X) {}",
        "use super::{c::W as V, a::*};",
        "use crate::c::{self, W};\nuse crate::a as other;",
    ] {
        let graph = graph(&[("", ""), ("a", "use crate::b::Y;"), ("b", back), ("c", "")]);
        let circles = graph.circles();
        let expected = BTreeSet::from(["a".to_owned(), "b".to_owned()]);
        assert_eq!(circles, [expected], "{back}");
    }
}

#[test]
fn parents_and_children_count_each_for_itself() {
    let graph = graph(&[
        ("", "mod a;"),
        ("a", "mod b;\nuse self::b::B;"),
        ("a::b", "use super::A;"),
        ("c", "use crate::a::b::B;"),
    ]);
    let expected = BTreeSet::from(["a".to_owned(), "a::b".to_owned()]);
    assert_eq!(graph.circles(), [expected]);
}

#[test]
fn tests_and_comments_do_not_count() {
    let above = "pub(in crate::b) fn f() {}\n// use crate::b;\n/// [`crate::b`]\n#[cfg(test)]\nuse crate::b::Y;\n#[cfg(test)]\nmod t;";
    let below = "use crate::a::X;\n#[cfg(test)]\nmod tests {\n    use super::*;\n    fn f() {}\n}";
    let graph = graph(&[
        ("", "#[cfg(test)]\nmod whole;\nmod a;"),
        ("a", above),
        ("a::t", "use crate::b::Y;"),
        ("b", below),
        ("whole", "use crate::a::X;\nuse crate::b::Y;"),
    ]);
    assert_eq!(graph.circles(), Vec::<BTreeSet<String>>::new());
    assert_eq!(graph.0.keys().collect::<Vec<_>>(), ["a", "b", "crate"]);
}
