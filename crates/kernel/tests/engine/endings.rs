//! Each way of ending a run leaves no process behind.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use forebay_kernel::emulation::Emulation;
use forebay_kernel::side::Side;
use forebay_scenario::{EngineError, WarningKind};
use rustix::process::{Pid, Resource, Rlimit, Signal};

use crate::ignored::is_ignored;
use crate::{plain, scenario, start, turn};

const LONG: &str = "[link]\nrate = \"5Mbps\"\nbuffer = \"30p\"\n[[flows]]\nrtt = \"10ms\"\nstack = \"linux\"\n[run]\nmeasure = \"600s\"";

/// Maximum time until all processes inside are gone.
const SOON: Duration = Duration::from_secs(2);

/// Start of a line from a test to the test that runs it.
const MARK: &str = "<<";

fn say(text: &str) {
    let mut out = std::io::stdout();
    writeln!(out, "\n{MARK}{text}")
        .and_then(|()| out.flush())
        .expect("said");
}

/// This program with only one test, in a process group of its own.
fn alone(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--ignored", "--exact", "--nocapture", test]);
    command.stdout(Stdio::piped()).process_group(0);
    command
}

fn shell(text: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", text]);
    command
}

fn inodes(emulation: &Emulation) -> Vec<PathBuf> {
    let of = |side| fs::read_link(format!("/proc/{}/ns/net", emulation.entry(side).pid));
    Side::BOTH.map(|side| of(side).expect("a link")).into()
}

/// Number of processes in these network namespaces.
fn inhabitants(namespaces: &[PathBuf]) -> usize {
    let entries = fs::read_dir("/proc").expect("proc").filter_map(Result::ok);
    let links = entries.filter_map(|entry| fs::read_link(entry.path().join("ns/net")).ok());
    links.filter(|link| namespaces.contains(link)).count()
}

fn gone(namespaces: &[PathBuf]) {
    let begun = Instant::now();
    while inhabitants(namespaces) > 0 {
        assert!(
            begun.elapsed() < SOON,
            "{} are left",
            inhabitants(namespaces)
        );
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_killed_run_leaves_nothing() {
    let _turn = turn();
    for signal in [Signal::KILL, Signal::INT] {
        if is_ignored(signal) {
            eprintln!("skipped: {signal:?} is ignored here, as in a shell's background");
            continue;
        }
        let mut caller = alone("endings::run_for_long").spawn().expect("a caller");
        let out = BufReader::new(caller.stdout.take().expect("a pipe"));
        let lines = out.lines().map_while(Result::ok);
        let mut said = lines.filter_map(|line| line.strip_prefix(MARK).map(str::to_owned));
        let first = said.next().expect("a line");
        if first == "skipped" {
            caller.wait().expect("an end");
            return;
        }
        let namespaces: Vec<PathBuf> = vec![first.into(), said.next().expect("a line").into()];
        // The processes are two keepers and the programs.
        assert!(inhabitants(&namespaces) >= 4);
        let process = Pid::from_child(&caller);
        rustix::process::kill_process(process, signal).expect("a signal");
        let ended = caller.wait().expect("an end");
        assert!(!ended.success());
        gone(&namespaces);
    }
}

#[test]
#[ignore = "run by another test, in a process of its own"]
fn run_for_long() {
    let Some(emulation) = start(LONG, plain()) else {
        return say("skipped");
    };
    let namespaces = inodes(&emulation);
    let daemon = shell("setsid sh -c 'setsid sleep 1000 </dev/null >/dev/null 2>&1 &' & exit 0");
    let mut daemon = emulation.run(Side::Far, daemon).expect("running");
    daemon.wait().expect("an end");
    let stubborn = shell("trap '' INT TERM HUP; while :; do sleep 1000; done");
    let _running = emulation.run(Side::Near, stubborn).expect("running");
    while inhabitants(&namespaces) < 5 {
        thread::sleep(Duration::from_millis(5));
    }
    for inode in namespaces {
        say(&inode.display().to_string());
    }
    thread::sleep(Duration::from_secs(600));
}

#[test]
fn programs_end_with_a_dropped_emulation_though_nobody_reads_them() {
    let _turn = turn();
    let Some(emulation) = start(LONG, plain()) else {
        return;
    };
    let namespaces = inodes(&emulation);
    let mut endless = shell("while :; do echo nobody reads this; done");
    endless.stdout(Stdio::piped());
    let mut running = emulation.run(Side::Near, endless).expect("running");
    thread::sleep(Duration::from_millis(200));
    assert!(emulation.goes_on() && running.try_wait().expect("a state").is_none());
    let asked = Instant::now();
    drop(emulation);
    gone(&namespaces);
    assert!(asked.elapsed() < SOON, "{:?}", asked.elapsed());
    assert!(!running.wait().expect("an end").success());
}

#[test]
fn too_few_descriptors_are_more_or_one_line() {
    let _turn = turn();
    let output = alone("endings::have_few_descriptors")
        .output()
        .expect("a run");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{text} {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
#[ignore = "run by another test, in a process of its own"]
fn have_few_descriptors() {
    let text = LONG.replace("[[flows]]", "[[flows]]\ncount = 200");
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let set = |limit| rustix::process::setrlimit(Resource::Nofile, limit).expect("a limit");
    // A soft limit is raised as needed.
    set(Rlimit {
        current: Some(64),
        ..limit
    });
    let Some(emulation) = start(&text, plain()) else {
        return;
    };
    thread::sleep(Duration::from_millis(300));
    assert!(emulation.goes_on());
    emulation.finish().expect("a report");
    // A hard limit ends the run with an error.
    set(Rlimit {
        current: Some(64),
        maximum: Some(64),
    });
    let ended = Emulation::start(scenario(&text), 0, plain()).and_then(Emulation::finish);
    let Err(error @ (EngineError::Untrusted { .. } | EngineError::Unavailable { .. })) = ended
    else {
        panic!("{ended:?}");
    };
    let text = error.to_string();
    assert!(
        text.contains("open files") && !text.contains('\n'),
        "{text}"
    );
}

#[test]
fn a_clock_stands_while_the_machine_is_elsewhere() {
    let _turn = turn();
    let output = alone("endings::be_stopped").output().expect("a run");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
}

#[test]
#[ignore = "run by another test, in a process of its own"]
fn be_stopped() {
    let Some(emulation) = start(LONG, plain()) else {
        return;
    };
    let stop = "kill -STOP $PPID; sleep 0.3; kill -CONT $PPID";
    thread::sleep(Duration::from_millis(300));
    let before = emulation.live().time_s;
    let begun = Instant::now();
    assert!(shell(stop).status().expect("an end").success());
    thread::sleep(Duration::from_millis(200));
    let passed = emulation.live().time_s - before;
    let real = begun.elapsed().as_secs_f64();
    assert!(real > 0.45 && passed < real - 0.2, "{passed} of {real}");
    let report = emulation.finish().expect("a report");
    let lateness = report.cost.lateness.expect("lateness");
    assert!(
        lateness.frozen_s > 0.2 && lateness.freezes > 0,
        "{lateness:?}"
    );
    // The clock was frozen for a larger share of less than a second than the verdict permits.
    assert!(
        report
            .warnings
            .iter()
            .any(|one| one.kind == WarningKind::Late)
    );
}
