//! Renews the generated tables of the manual, between their two marks:
//!
//!     cargo run -p forebay-scenario --example manual

use std::io::{Error, Result};

/// A page, its mark and the function that writes its tables.
type Page = (&'static str, &'static str, fn() -> String);

const PAGES: [Page; 3] = [
    ("scenario-keys.md", "keys", forebay_scenario::manual),
    ("algorithms.md", "algorithms", forebay_scenario::algorithms),
    ("parameters.md", "parameters", forebay_scenario::parameters),
];

fn main() -> Result<()> {
    for (page, name, tables) in PAGES {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/");
        let file = format!("{folder}{page}");
        let text = std::fs::read_to_string(&file)?;
        let renewed = renewed(&text, name, &tables())
            .ok_or_else(|| Error::other(format!("{file}: found no marks `{name}`")))?;
        std::fs::write(&file, renewed)?;
    }
    Ok(())
}

/// The page with new tables between the marks of this name; none for a page without them.
fn renewed(page: &str, name: &str, tables: &str) -> Option<String> {
    let (begin, end) = (
        format!("<!-- {name}: begin -->\n"),
        format!("<!-- {name}: end -->\n"),
    );
    let (before, rest) = page.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{begin}{tables}{end}{after}"))
}
