//! When the namespaces end, all processes in them end, in each way of ending.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use forebay_kernel::namespaces::{Kind, Namespaces, Running, Setup, Side};
use rustix::process::{Pid, Signal};

use crate::ignored::is_ignored;
use crate::make;
use crate::relay::PATIENCE;

/// A program that forks twice, with a session of its own, and exits at once.
const DAEMON: &str = "setsid sh -c 'setsid sleep 1000 </dev/null >/dev/null 2>&1 &' & exit 0";

/// The network namespaces of both sides.
fn inodes(namespaces: &Namespaces) -> [PathBuf; 2] {
    Side::BOTH.map(|side| {
        let pid = namespaces.entry(side).pid;
        fs::read_link(format!("/proc/{pid}/ns/net")).expect("a link")
    })
}

/// A process and its start time, because PIDs and numbers of namespaces are reused.
type Process = (PathBuf, String);

fn process(folder: PathBuf) -> Option<Process> {
    let stat = fs::read_to_string(folder.join("stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    // The start time is field 22 (proc_pid_stat(5)); the first field after the name is the third.
    let start = fields.split_whitespace().nth(22 - 3)?.to_owned();
    Some((folder, start))
}

/// Processes of these namespaces.
fn inhabitants(namespaces: &[PathBuf]) -> Vec<Process> {
    let entries = fs::read_dir("/proc").expect("proc").filter_map(Result::ok);
    let lives = |folder: &PathBuf| {
        fs::read_link(folder.join("ns/net")).is_ok_and(|link| namespaces.contains(&link))
    };
    let folders = entries.map(|entry| entry.path()).filter(lives);
    folders.filter_map(process).collect()
}

/// The processes that still exist.
fn left(processes: &[Process]) -> Vec<&Process> {
    let same = |known: &&Process| process(known.0.clone()).as_ref() == Some(known);
    processes.iter().filter(same).collect()
}

fn gone(processes: &[Process], patience: Duration) {
    let start = Instant::now();
    while !left(processes).is_empty() {
        assert!(start.elapsed() < patience, "left: {:?}", left(processes));
        thread::sleep(Duration::from_millis(5));
    }
}

fn daemon(namespaces: &Namespaces) -> Running {
    let mut command = Command::new("sh");
    command.args(["-c", DAEMON]);
    let mut running = namespaces.run(Side::Far, command).expect("running");
    assert!(running.wait().expect("an end").success());
    let start = Instant::now();
    // The processes are a keeper for each side and the daemon; the first process is in the caller's
    // network namespace.
    while inhabitants(&inodes(namespaces)).len() < 3 {
        assert!(start.elapsed() < PATIENCE, "no daemon");
        thread::sleep(Duration::from_millis(1));
    }
    running
}

#[test]
fn what_a_program_left_behind_ends_with_the_namespaces() {
    let Some(namespaces) = make(&Setup::default()) else {
        return;
    };
    let inodes = inodes(&namespaces);
    let _ended = daemon(&namespaces);
    let command = Command::new("sh");
    let mut waiting = namespaces
        .run(Side::Near, with(command, "sleep 1000; true"))
        .expect("running");
    let processes = inhabitants(&inodes);
    assert!(processes.len() >= 4);
    drop(namespaces);
    // Its outer process is the caller's child and outside, until it is waited for.
    assert!(!waiting.wait().expect("an end").success());
    assert_eq!(left(&processes), Vec::<&Process>::new());
}

fn with(mut command: Command, text: &str) -> Command {
    command.args(["-c", text]);
    command
}

#[test]
fn fifty_times_leak_no_descriptor_process_or_namespace() {
    another("endings::make_and_drop_fifty_times", &["done"]);
}

#[test]
#[ignore = "run by another test, in a process of its own"]
fn make_and_drop_fifty_times() {
    let Some(first) = make(&Setup::default()) else {
        say("skipped");
        return;
    };
    drop(first);
    let descriptors = || fs::read_dir("/proc/self/fd").expect("proc").count();
    let before = descriptors();
    for _ in 0..50 {
        let namespaces = make(&Setup::default()).expect("again");
        let processes = inhabitants(&inodes(&namespaces));
        assert_eq!(processes.len(), 2);
        drop(namespaces);
        assert_eq!(left(&processes), Vec::<&Process>::new());
        assert_eq!(descriptors(), before);
    }
    // No child is left, not even a zombie.
    let children = rustix::process::waitpid(None, rustix::process::WaitOptions::NOHANG);
    assert!(children.is_err_and(|error| error == rustix::io::Errno::CHILD));
    say("done");
}

#[test]
fn a_killed_caller_leaves_nothing() {
    for signal in [Signal::KILL, Signal::INT, Signal::TERM, Signal::ABORT] {
        if is_ignored(signal) {
            eprintln!("skipped: {signal:?} is ignored here, as in a shell's background");
            continue;
        }
        let Some((mut caller, namespaces)) = caller() else {
            return;
        };
        let processes = inhabitants(&namespaces);
        assert!(processes.len() >= 4);
        let group = Pid::from_child(&caller);
        match signal {
            // As in a terminal, the signal goes to the caller and to the programs inside.
            Signal::INT => rustix::process::kill_process_group(group, signal),
            _ => rustix::process::kill_process(group, signal),
        }
        .expect("a signal");
        caller.wait().expect("an end");
        gone(&processes, PATIENCE);
    }
}

#[test]
fn a_killed_keeper_or_first_process_is_an_error_and_not_a_wait() {
    let Some(namespaces) = make(&Setup::default()) else {
        return;
    };
    let processes = inhabitants(&inodes(&namespaces));
    let namespace_process = Pid::from_raw(namespaces.entry(Side::Near).pid).expect("a PID");
    rustix::process::kill_process(namespace_process, Signal::KILL).expect("killed");
    let start = Instant::now();
    while namespaces.socket(Side::Near, Kind::Tcp).is_ok() {
        assert!(start.elapsed() < PATIENCE);
    }
    assert!(start.elapsed() < Duration::from_secs(10));
    assert!(namespaces.socket(Side::Far, Kind::Tcp).is_ok());
    drop(namespaces);
    assert_eq!(left(&processes), Vec::<&Process>::new());
}

#[test]
fn signals_of_a_terminal_do_not_end_the_namespaces() {
    let Some(namespaces) = make(&Setup::default()) else {
        return;
    };
    for side in Side::BOTH {
        let namespace_process = namespaces.entry(side).pid;
        let status = fs::read_to_string(format!("/proc/{namespace_process}/status")).expect("proc");
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"));
        let parent = parent
            .and_then(|parent| parent.trim().parse().ok())
            .expect("a parent");
        for pid in [namespace_process, parent] {
            for signal in [
                Signal::INT,
                Signal::TERM,
                Signal::HUP,
                Signal::QUIT,
                Signal::TSTP,
            ] {
                let pid = Pid::from_raw(pid).expect("a PID");
                rustix::process::kill_process(pid, signal).expect("a signal");
            }
        }
    }
    thread::sleep(Duration::from_millis(50));
    for side in Side::BOTH {
        assert!(namespaces.socket(side, Kind::Tcp).is_ok());
    }
}

#[test]
fn they_outlive_the_thread_that_made_them() {
    let made = thread::spawn(|| make(&Setup::default()))
        .join()
        .expect("the thread");
    let Some(namespaces) = made else { return };
    thread::sleep(Duration::from_millis(50));
    for side in Side::BOTH {
        assert!(namespaces.socket(side, Kind::Tcp).is_ok());
    }
    assert!(daemon(&namespaces).wait().expect("an end").success());
}

/// A copy of a process whose threads hold the allocator's lock waits forever if it allocates.
#[test]
fn threads_that_allocate_do_not_stop_a_keeper() {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let pieces: Vec<_> = (0..100).map(|size| vec![1_u8; size * 97]).collect();
                    std::hint::black_box(pieces);
                }
            });
        }
        let made = (0..20).all(|_| {
            let Some(namespaces) = make(&Setup::default()) else {
                return true;
            };
            let command = with(Command::new("sh"), "exit 0");
            let mut running = namespaces.run(Side::Near, command).expect("running");
            namespaces
                .sockets(Side::Far, Kind::Tcp, 200)
                .is_ok_and(|all| all.len() == 200)
                && running.wait().expect("an end").success()
        });
        stop.store(true, Ordering::Relaxed);
        assert!(made);
    });
}

#[test]
fn a_full_table_of_descriptors_is_an_error_that_passes() {
    another("endings::ask_for_too_many", &["done"]);
}

#[test]
#[ignore = "run by another test, in a process of its own"]
fn ask_for_too_many() {
    let Some(namespaces) = make(&Setup::default()) else {
        say("skipped");
        return;
    };
    let limit = rustix::process::Rlimit {
        current: Some(100),
        maximum: None,
    };
    let old = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let limit = rustix::process::Rlimit {
        maximum: old.maximum,
        ..limit
    };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, limit).expect("a limit");
    for count in [120, 300] {
        let error = namespaces
            .sockets(Side::Near, Kind::Tcp, count)
            .expect_err("too many");
        assert_eq!(
            error.raw_os_error(),
            Some(rustix::io::Errno::MFILE.raw_os_error())
        );
        assert_eq!(
            namespaces
                .sockets(Side::Near, Kind::Tcp, 20)
                .expect("sockets")
                .len(),
            20
        );
    }
    say("done");
}

#[test]
fn a_caller_that_ignores_its_children_does_not_wait_forever() {
    let alone = alone("endings::ignore_children");
    let mut command = Command::new("env");
    command
        .args(["--ignore-signal=CHLD"])
        .arg(alone.get_program())
        .args(alone.get_args());
    let output = command.output().expect("a run");
    let text = String::from_utf8_lossy(&output.stdout);
    let said: Vec<_> = text.lines().filter_map(said).collect();
    if output.status.code() == Some(125) {
        return eprintln!("skipped: env(1) cannot ignore signals");
    }
    assert!(said == ["done"] || said == ["skipped"], "{said:?}: {text}");
}

#[test]
#[ignore = "run by another test, in a process of its own"]
fn ignore_children() {
    let Some(namespaces) = make(&Setup::default()) else {
        say("skipped");
        return;
    };
    // The kernel discards the exit status of such a caller's children, but not their ends.
    let mut running = namespaces
        .run(Side::Near, with(Command::new("sh"), "exit 7"))
        .expect("running");
    let ended = running.wait();
    assert!(
        ended.is_err_and(
            |error| error.raw_os_error() == Some(rustix::io::Errno::CHILD.raw_os_error())
        )
    );
    drop(running);
    drop(namespaces);
    say("done");
}

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

fn said(line: &str) -> Option<String> {
    line.strip_prefix(MARK).map(str::to_owned)
}

fn another(test: &str, expected: &[&str]) {
    let output = alone(test).output().expect("a run");
    let text = String::from_utf8_lossy(&output.stdout);
    let said: Vec<_> = text.lines().filter_map(said).collect();
    assert!(output.status.success(), "{text}");
    assert!(said == expected || said == ["skipped"], "{said:?}: {text}");
}

/// A process that has namespaces with programs inside and does not end on its own.
fn caller() -> Option<(Child, Vec<PathBuf>)> {
    let mut caller = alone("endings::have_namespaces").spawn().expect("a caller");
    let out = BufReader::new(caller.stdout.take().expect("a pipe"));
    let mut lines = out
        .lines()
        .map_while(Result::ok)
        .filter_map(|line| said(&line));
    let first = lines.next().expect("a line");
    if first == "skipped" {
        caller.wait().expect("an end");
        return None;
    }
    let second = lines.next().expect("a line");
    Some((caller, vec![first.into(), second.into()]))
}

#[test]
#[ignore = "run by another test, in a process of its own"]
fn have_namespaces() {
    let Some(namespaces) = make(&Setup::default()) else {
        say("skipped");
        return;
    };
    let _ended = daemon(&namespaces);
    let stubborn = with(
        Command::new("sh"),
        "trap '' INT TERM HUP; while :; do sleep 1000; done",
    );
    let _running = namespaces.run(Side::Near, stubborn).expect("running");
    for inode in inodes(&namespaces) {
        say(&inode.display().to_string());
    }
    thread::sleep(Duration::from_secs(600));
}
