//! Feeds files to a target: `feed TARGET FILE...` repeats on stable what the fuzzer found.

use std::process::ExitCode;

use forebay_attack::TARGETS;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let named = |name: &String| TARGETS.iter().find(|target| target.name == name);
    let Some((Some(target), files)) = arguments
        .split_first()
        .map(|(name, files)| (named(name), files))
    else {
        let known: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        eprintln!(
            "feed: allowed: TARGET FILE..., with a target out of {}",
            known.join(", ")
        );
        return ExitCode::from(2);
    };
    for file in files {
        match std::fs::read(file) {
            Ok(bytes) => (target.feed)(&bytes),
            Err(error) => {
                eprintln!("feed: {file}: {error}");
                return ExitCode::from(2);
            }
        }
        println!("{file}: no law is broken");
    }
    ExitCode::SUCCESS
}
