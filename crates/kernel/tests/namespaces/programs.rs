//! Programs in the namespaces.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use forebay_kernel::namespaces::{Namespaces, Setup, Side};

use rustix::thread::CapabilitySet;

use crate::make;

fn shell(text: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", text]);
    command
}

/// The exit status and output of a program.
fn outcome(namespaces: &Namespaces, mut command: Command) -> (ExitStatus, String) {
    command.stdout(Stdio::piped());
    let mut running = namespaces.run(Side::Far, command).expect("running");
    let out = running.child().stdout.take().expect("a pipe");
    let text = io::read_to_string(out).expect("text");
    (running.wait().expect("an end"), text)
}

#[test]
fn a_program_ends_as_it_ends() {
    let Some(namespaces) = make(&Setup::default()) else {
        return;
    };
    for code in [0, 7, 130, 255] {
        let (status, _) = outcome(&namespaces, shell(&format!("exit {code}")));
        assert_eq!(status.code(), Some(code));
    }
    for signal in [9, 15, 10, 13, 6] {
        let (status, _) = outcome(&namespaces, shell(&format!("kill -{signal} $$; sleep 9")));
        assert_eq!(status.signal(), Some(signal), "{status}");
    }
    let none = namespaces.run(Side::Near, Command::new("/no-such-program"));
    assert_eq!(none.expect_err("nothing").kind(), io::ErrorKind::NotFound);
}

#[test]
fn a_program_has_the_caller_s_folder_and_what_its_command_says() {
    let Some(namespaces) = make(&Setup::default()) else {
        return;
    };
    let mut command = shell("echo $WORD; pwd; cat");
    let folder = std::env::current_dir().expect("a folder");
    command.env("WORD", "given").stdin(Stdio::null());
    let (_, text) = outcome(&namespaces, command);
    assert_eq!(text, format!("given\n{}\n", folder.display()));
    let mut elsewhere = shell("pwd");
    elsewhere.current_dir("/");
    assert_eq!(outcome(&namespaces, elsewhere).1, "/\n");
}

#[test]
fn a_program_is_in_the_namespaces_of_its_side() {
    let Some(namespaces) = make(&Setup::default()) else {
        return;
    };
    let pid = namespaces.entry(Side::Far).pid;
    for name in ["net", "pid", "user"] {
        let link = std::fs::read_link(format!("/proc/{pid}/ns/{name}")).expect("a link");
        let (_, text) = outcome(
            &namespaces,
            shell(&format!("readlink /proc/self/ns/{name}")),
        );
        assert_eq!(text.trim(), link.display().to_string());
    }
    // The first process, two keepers, the shell and its children are visible, unless /proc could
    // not be mounted.
    let (_, listed) = outcome(&namespaces, shell("echo $$; ls -d /proc/[0-9]*"));
    let (own, listed) = listed.split_once('\n').expect("lines");
    if listed.lines().any(|line| line == format!("/proc/{own}")) && listed.lines().count() < 10 {
        assert!(listed.lines().any(|line| line == "/proc/1"));
    } else {
        eprintln!("skipped: no /proc of its own");
    }
}

#[test]
fn a_killed_program_is_dead() {
    let Some(namespaces) = make(&Setup::default()) else {
        return;
    };
    let mut running = namespaces
        .run(Side::Near, shell("exec sleep 1000"))
        .expect("running");
    assert!(running.try_wait().expect("still there").is_none());
    let start = Instant::now();
    running.kill().expect("killed");
    assert_eq!(running.wait().expect("an end").signal(), Some(9));
    assert!(start.elapsed() < Duration::from_secs(10));
    let text = "cat /proc/[0-9]*/comm 2>/dev/null | grep -cx sleep";
    assert_eq!(outcome(&namespaces, shell(text)).1, "0\n");
}

#[test]
fn a_pipe_ends_when_the_program_closes_it() {
    let Some(namespaces) = make(&Setup::default()) else {
        return;
    };
    let mut command = shell("echo x; exec >/dev/null; exec sleep 1000");
    command.stdout(Stdio::piped());
    let mut running = namespaces.run(Side::Near, command).expect("running");
    let out = running.child().stdout.take().expect("a pipe");
    assert_eq!(io::read_to_string(out).expect("text"), "x\n");
    assert!(running.try_wait().expect("still there").is_none());
}

#[test]
fn nsenter_enters() {
    let Some(namespaces) = make(&Setup::default()) else {
        return;
    };
    let entry = namespaces.entry(Side::Far);
    // A privileged process needs no user namespace, and an unprivileged one cannot do without.
    let needed = CapabilitySet::SYS_ADMIN | CapabilitySet::NET_ADMIN | CapabilitySet::SETPCAP;
    let own = rustix::thread::capabilities(None)
        .expect("capabilities")
        .effective;
    let of_a_user = entry.command.iter().any(|word| word == "--user");
    assert_eq!(of_a_user, !own.contains(needed));
    let [program, arguments @ ..] = &entry.command[..] else {
        panic!("{entry:?}")
    };
    let entered = Command::new(program)
        .args(arguments)
        .args(["cat", "/proc/net/dev"])
        .output();
    let Ok(entered) = entered else {
        eprintln!("skipped: no nsenter");
        return;
    };
    let text = String::from_utf8_lossy(&entered.stdout);
    assert!(
        text.contains("far:"),
        "{text} {}",
        String::from_utf8_lossy(&entered.stderr)
    );
}

/// A set of capabilities in a status file of /proc.
fn capabilities(status: &str, name: &str) -> CapabilitySet {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let digits = line.expect("a line").trim_start_matches(':').trim();
    CapabilitySet::from_bits_retain(u64::from_str_radix(digits, 16).expect("a set"))
}

#[test]
fn a_program_of_root_keeps_what_programs_of_the_network_need() {
    let Some(namespaces) = make(&Setup::default()) else {
        return;
    };
    if namespaces
        .entry(Side::Far)
        .command
        .contains(&"--user".to_owned())
    {
        return eprintln!("skipped: a user's capabilities end with the user namespace");
    }
    // In the second case, shells execute the program as root.
    for text in [
        "cat /proc/self/status",
        "sh -c 'sh -c \"cat /proc/self/status\"'",
    ] {
        let (_, status) = outcome(&namespaces, shell(text));
        for name in ["CapPrm", "CapEff", "CapBnd", "CapInh", "CapAmb"] {
            let found = capabilities(&status, name);
            let lost = CapabilitySet::SYS_ADMIN
                | CapabilitySet::SYS_MODULE
                | CapabilitySet::SYS_RAWIO
                | CapabilitySet::SYS_PTRACE
                | CapabilitySet::SYS_TIME
                | CapabilitySet::SYS_BOOT
                | CapabilitySet::SYS_NICE
                | CapabilitySet::MKNOD
                | CapabilitySet::BPF
                | CapabilitySet::DAC_READ_SEARCH;
            assert!(!found.intersects(lost), "{name}: {found:?}");
        }
        let kept = CapabilitySet::NET_ADMIN
            | CapabilitySet::NET_RAW
            | CapabilitySet::NET_BIND_SERVICE
            | CapabilitySet::SETUID
            | CapabilitySet::DAC_OVERRIDE;
        assert!(capabilities(&status, "CapEff").contains(kept), "{status}");
    }
    // The programs cannot make another namespace or enter those of the machine.
    for text in [
        "unshare --net true",
        "unshare --mount true",
        "nsenter --target=1 --net true",
        "mount -t tmpfs tmpfs /mnt",
    ] {
        let (status, _) = outcome(&namespaces, shell(&format!("{text} 2>/dev/null")));
        assert!(!status.success(), "{text}");
    }
}
