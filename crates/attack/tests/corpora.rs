//! Runs every target over every file of its corpus, without a fuzzer.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use forebay_attack::{TARGETS, Target, target};

fn corpus(target: &Target) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let files = fs::read_dir(folder.join(target.name)).expect("a corpus for every target");
    let mut found: Vec<PathBuf> = files.map(|file| file.expect("an entry").path()).collect();
    found.sort();
    found
}

#[test]
fn what_the_fuzzer_found_stays_mended() {
    for target in &TARGETS {
        let files = corpus(target);
        assert!(files.len() >= 10, "{}: {} files", target.name, files.len());
        for path in files {
            let bytes = fs::read(&path).expect("a readable file");
            println!("{} {}", target.name, path.display());
            (target.feed)(&bytes);
        }
    }
}

/// Damages one byte at a time, at many places, as a fuzzer does first.
#[test]
fn damage_of_a_byte_breaks_no_law() {
    for target in &TARGETS {
        for (number, path) in corpus(target).iter().enumerate() {
            let whole = fs::read(path).expect("a readable file");
            // Other places in each file, so that all kinds of places are tried within seconds.
            let step = 1 + whole.len() / 8;
            for at in (number % step..whole.len()).step_by(step) {
                for change in [b'"', b'\n', 0xff, b'9', b'[', 0x1b] {
                    let mut bytes = whole.clone();
                    bytes[at] = change;
                    (target.feed)(&bytes);
                }
                (target.feed)(&whole[..at]);
            }
        }
    }
}

/// Each line of a scenario is repeated ten thousand times. It is refused within a time proportional
/// to the text.
#[test]
fn repeated_lines_take_no_more_than_their_share_of_time() {
    let target = target("scenario");
    let started = Instant::now();
    let mut lines: Vec<String> = corpus(target)
        .iter()
        .filter_map(|path| fs::read_to_string(path).ok())
        .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
        .filter(|line| line.len() < 200 && !line.trim().is_empty())
        .collect();
    lines.sort();
    lines.dedup();
    let step = 1 + lines.len() / 60;
    for line in lines.iter().step_by(step) {
        let many = format!("{line}\n").repeat(10_000);
        let read = || {
            forebay_scenario::Scenario::parse(&many, forebay_scenario::Format::Toml, "many", &[])
        };
        let error = read().expect_err("no scenario consists of one line");
        forebay_attack::check_sentence(&error.to_string());
    }
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}
