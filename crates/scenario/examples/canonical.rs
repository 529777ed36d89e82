//! The guard of the scenario format: prints what each file is read as (SHA-256 and canonical JSON),
//! then what each change read from standard input (one `key=value` a line) makes of it: a hash, or
//! the mistake that it is. Two versions that print the same read, write and refuse the same.
//!
//!     cargo run -p forebay-scenario --example canonical -- scenarios/*.toml < changes.txt

use std::io::{BufRead, IsTerminal};

use forebay_scenario::{Format, Override, Scenario, ScenarioError};

fn main() -> std::io::Result<()> {
    let input = std::io::stdin();
    let mut changes: Vec<String> = Vec::new();
    if !input.is_terminal() {
        changes = input.lock().lines().collect::<Result<_, _>>()?;
    }
    for file in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&file)?;
        match read(&text, &file, &[]) {
            Ok(scenario) => println!("{file} {} {}", scenario.sha256(), scenario.canonical_json()),
            Err(error) => println!("{error}"),
        }
        for change in &changes {
            let said =
                match Override::parse(change).and_then(|change| read(&text, &file, &[change])) {
                    Ok(scenario) => scenario.sha256(),
                    Err(error) => error.to_string(),
                };
            println!("{file} {change} {said}");
        }
    }
    Ok(())
}

fn read(text: &str, file: &str, changes: &[Override]) -> Result<Scenario, ScenarioError> {
    Scenario::parse(text, Format::Toml, file, changes)
}
