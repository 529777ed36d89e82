//! Runs a scenario file with the machine's own TCP and prints its report, to examine the engine
//! alone.

use forebay_kernel::KernelEngine;
use forebay_scenario::{Engine, Format, Override, Scenario, Seed};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let file = args
        .next()
        .ok_or("usage: run_in_kernel FILE [key=value ...]")?;
    let text = std::fs::read_to_string(&file)?;
    let overrides = args
        .map(|arg| Override::parse(&arg))
        .collect::<Result<Vec<_>, _>>()?;
    let scenario = Scenario::parse(&text, Format::Toml, &file, &overrides)?;
    let seed = Seed {
        seed: scenario.run().seed,
        replication: 0,
    };
    let report = KernelEngine.run(&scenario, &seed.into())?;
    println!("{}", serde_json::to_string_pretty(&report)?);
    Ok(())
}
