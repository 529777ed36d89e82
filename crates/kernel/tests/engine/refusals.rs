//! Runs that are refused, canceled or queued.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use forebay_kernel::KernelEngine;
use forebay_scenario::{Engine, EngineError, RunOptions};

use crate::{plain, scenario, start, turn};

const SLOW: &str =
    "[link]\nrate = \"2Mbps\"\nbuffer = \"30p\"\n[[flows]]\nrtt = \"10ms\"\nstack = \"linux\"\n";

/// A run alone; `None` if this machine cannot run it. An untrusted result on a busy machine is no
/// failure.
fn run(text: &str, options: &RunOptions) -> Option<Result<(), EngineError>> {
    match KernelEngine.run(&scenario(text), options) {
        Err(error @ EngineError::Unavailable { .. }) => {
            eprintln!("skipped: {error}");
            assert!(std::env::var_os("FOREBAY_NO_SKIP").is_none(), "{error}");
            None
        }
        Err(error @ EngineError::Untrusted { .. }) => {
            eprintln!("{error}");
            Some(Ok(()))
        }
        other => Some(other.map(|_| ())),
    }
}

#[test]
fn an_algorithm_that_the_kernel_lacks_is_refused_with_what_there_is() {
    let path = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let available = fs::read_to_string(path).expect("proc");
    let lacks = |name: &&str| !available.split_whitespace().any(|known| known == *name);
    let Some(lacking) = ["illinois", "vegas", "westwood", "scalable"]
        .into_iter()
        .find(lacks)
    else {
        return eprintln!("skipped: this kernel has them all");
    };
    let _turn = turn();
    let text = format!("{SLOW}cca = \"{lacking}\"\n[run]\nmeasure = \"1s\"");
    let Some(refused) = run(&text, &plain()) else {
        return;
    };
    let text = refused.expect_err("a refusal").to_string();
    assert!(
        text.contains(lacking) && text.contains("reno") && !text.contains('\n'),
        "{text}"
    );
}

#[test]
fn more_packets_than_the_machine_holds_are_refused_with_both_figures() {
    let _turn = turn();
    let text = SLOW.replace("2Mbps", "100Gbps") + "[run]\nmeasure = \"1s\"";
    let Some(refused) = run(&text, &plain()) else {
        return;
    };
    let Err(EngineError::TooLarge { why, .. }) = refused else {
        panic!("{refused:?}");
    };
    // The link carries 100 Gb/s in packets of 1500 bytes, with half as many acknowledgments.
    assert!(why.contains("up to 12500000 packets per second"), "{why}");
    let held = why
        .split("holds ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next());
    let held: f64 = held.and_then(|word| word.parse().ok()).expect("a figure");
    assert!(held > 100.0 && held < 12_500_000.0, "{why}");
}

#[test]
fn a_canceled_run_ends_soon() {
    let _turn = turn();
    let options = plain();
    let cancel = options.cancel.clone();
    let text = format!("{SLOW}[run]\nmeasure = \"60s\"");
    let running = thread::spawn(move || run(&text, &options));
    thread::sleep(Duration::from_millis(2500));
    let asked = Instant::now();
    cancel.request();
    let ended = running.join().expect("an end");
    let took = asked.elapsed();
    let Some(ended) = ended else { return };
    // A run that the machine made untrustworthy has ended before.
    assert!(
        matches!(ended, Ok(()) | Err(EngineError::Interrupted)),
        "{ended:?}"
    );
    eprintln!("ended {took:?} after it was asked to");
    assert!(took < Duration::from_secs(1), "{took:?}");
}

#[test]
fn two_runs_at_once_wait_for_each_other() {
    let _turn = turn();
    let text = format!("{SLOW}[run]\nwarmup = \"0s\"\nmeasure = \"700ms\"");
    let begun = Instant::now();
    let all: Vec<_> = thread::scope(|scope| {
        let runs = [0; 2].map(|_| scope.spawn(|| run(&text, &plain())));
        runs.map(|one| one.join().expect("an end")).into()
    });
    if all.iter().all(Option::is_some) {
        // Neither run ended early. A run that the machine made untrustworthy may.
        assert!(
            begun.elapsed() > Duration::from_millis(700),
            "{:?}",
            begun.elapsed()
        );
    }
}

#[test]
fn a_dropped_emulation_ends_soon() {
    let _turn = turn();
    let text = format!("{SLOW}[run]\nmeasure = \"60s\"");
    let Some(emulation) = start(&text, plain()) else {
        return;
    };
    thread::sleep(Duration::from_millis(300));
    assert!(emulation.goes_on());
    let asked = Instant::now();
    drop(emulation);
    assert!(
        asked.elapsed() < Duration::from_secs(2),
        "{:?}",
        asked.elapsed()
    );
}
