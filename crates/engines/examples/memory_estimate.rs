//! Prints the memory estimate of each scenario file and the peak of one replication, in bytes.
//!
//! Run `cargo run -p forebay-engines --example memory_estimate -- [--engine NAME]
//! [--set KEY=VALUE]... FILE...`

use std::path::Path;

use forebay_attack::allocations::{Counted, peak_of};
use forebay_engines::engine;
use forebay_scenario::{Format, Override, RunOptions, Scenario};
use forebay_units::Bytes;

#[global_allocator]
static ALLOCATOR: Counted = Counted;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (mut name, mut overrides, mut dry) = ("packet".to_owned(), Vec::new(), false);
    println!("{:>12} {:>12} {:>6}  scenario", "estimate", "peak", "ratio");
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--engine" => name = arguments.next().expect("an engine"),
            "--set" => overrides
                .push(Override::parse(&arguments.next().expect("KEY=VALUE")).expect("an override")),
            "--dry" => dry = true,
            file => report(&name, file, &overrides, dry),
        }
    }
}

fn report(name: &str, file: &str, overrides: &[Override], dry: bool) {
    let text = std::fs::read_to_string(file).expect("a text");
    let json = Path::new(file).extension().is_some_and(|it| it == "json");
    let format = if json { Format::Json } else { Format::Toml };
    let scenario = Scenario::parse(&text, format, file, overrides).expect("a scenario");
    let options = RunOptions {
        memory: Some(Bytes::new(u64::MAX)),
        ..RunOptions::default()
    };
    let engine = engine(name).expect("an engine");
    let needs = engine.needs(&scenario, &options);
    let estimate: f64 = needs.iter().map(|need| need.bytes).sum();
    let peak = if dry {
        0
    } else {
        let (answer, peak) = peak_of(|| engine.run(&scenario, &options));
        if let Err(error) = answer {
            println!("{file}: {error}");
        }
        peak
    };
    println!(
        "{estimate:12.0} {peak:12} {:6.2}  {file}",
        estimate / peak as f64
    );
    for need in needs {
        println!("    {:12.0} {} ({})", need.bytes, need.key, need.what);
    }
}
