//! Renews the tables of all keys, or of all congestion controls and queue disciplines, between two
//! marks in pages of the manual:
//!
//!     cargo run -p forebay-scenario --example manual -- docs/reference/scenario-keys.md docs/reference/algorithms.md

use std::io::{Error, Result};

fn main() -> Result<()> {
    for file in std::env::args().skip(1) {
        let page = std::fs::read_to_string(&file)?;
        let renewed = renewed(&page, "keys", forebay_scenario::manual)
            .or_else(|| renewed(&page, "algorithms", forebay_scenario::algorithms))
            .ok_or_else(|| Error::other(format!("{file}: no marks")))?;
        std::fs::write(&file, renewed)?;
    }
    Ok(())
}

/// The page with new tables between the marks of this name; none for a page without them.
fn renewed(page: &str, name: &str, tables: fn() -> String) -> Option<String> {
    let (begin, end) = (
        format!("<!-- {name}: begin -->\n"),
        format!("<!-- {name}: end -->\n"),
    );
    let (before, rest) = page.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{begin}{}{end}{after}", tables()))
}
