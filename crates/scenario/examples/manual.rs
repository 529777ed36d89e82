//! Renews the tables of all keys in a page of the manual, between its two marks:
//!
//!     cargo run -p forebay-scenario --example manual -- docs/scenario.md

use std::io::{Error, Result};

const BEGIN: &str = "<!-- keys: begin -->\n";
const END: &str = "<!-- keys: end -->\n";

fn main() -> Result<()> {
    for file in std::env::args().skip(1) {
        let page = std::fs::read_to_string(&file)?;
        let parts = page
            .split_once(BEGIN)
            .and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
        let (before, after) = parts.ok_or_else(|| Error::other(format!("{file}: no marks")))?;
        let tables = forebay_scenario::manual();
        std::fs::write(&file, format!("{before}{BEGIN}{tables}{END}{after}"))?;
    }
    Ok(())
}
