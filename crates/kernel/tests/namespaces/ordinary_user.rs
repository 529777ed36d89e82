//! The same tests for a user without privileges: a run of root repeats all tests as the user with
//! ID 65534.

use std::process::{Command, Stdio};

use forebay_kernel::missing::Missing;
use forebay_kernel::namespaces::{Namespaces, Setup};

/// Gives the run a TUN device that any user may open, in a mount namespace of its own.
const OPEN_TUN: &str =
    "mount -t tmpfs tmpfs /dev/net && mknod -m 666 /dev/net/tun c 10 200 && exec \"$@\"";
const NOBODY: [&str; 4] = [
    "setpriv",
    "--reuid=65534",
    "--regid=65534",
    "--clear-groups",
];

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether a command works here.
fn works(command: &[&str]) -> bool {
    let [program, arguments @ ..] = command else {
        return false;
    };
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn this() -> String {
    let this = std::env::current_exe().expect("this program");
    this.into_os_string().into_string().expect("a name")
}

#[test]
fn the_same_holds_for_nobody() {
    if !is_root() {
        return eprintln!("skipped: not root's run");
    }
    let this = this();
    let mut command = vec!["unshare", "--mount", "sh", "-c", OPEN_TUN, "sh"];
    command.extend(NOBODY);
    let able = [&command[..], &["unshare", "--user", "--net", "true"]].concat();
    let readable = [&NOBODY[..], &["test", "-x", &this]].concat();
    if !works(&able) || !works(&readable) {
        return eprintln!("skipped: nobody may make no user namespace or not run this program");
    }
    command.extend([&this, "--test-threads=2"]);
    let output = Command::new(command[0])
        .args(&command[1..])
        .env("FOREBAY_NO_SKIP", "1")
        .current_dir("/")
        .output()
        .expect("a run");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(
        text.contains("twenty_megabytes_arrive_byte_for_byte"),
        "{text}"
    );
}

#[test]
fn who_may_not_open_the_device_is_told_so() {
    if !is_root() {
        return eprintln!("skipped: not root's run");
    }
    let shut = "mount -t tmpfs tmpfs /dev/net && mknod -m 600 /dev/net/tun c 10 200 && exec \"$@\"";
    let absent = "mount -t tmpfs tmpfs /dev/net && exec \"$@\"";
    for (devices, expected) in [(shut, "TunNotOpened"), (absent, "NoTunDevice")] {
        let mut command = vec!["unshare", "--mount", "sh", "-c", devices, "sh"];
        command.extend(NOBODY);
        tell(&command, expected);
    }
    let forbidden = "echo 0 >/proc/sys/user/max_user_namespaces && exec \"$@\"";
    let mut command = vec![
        "unshare",
        "--user",
        "--map-root-user",
        "sh",
        "-c",
        forbidden,
        "sh",
    ];
    command.extend(["setpriv", "--bounding-set=-all", "--inh-caps=-all"]);
    tell(&command, "user.max_user_namespaces");
}

/// Runs [`say_what_is_missing`] under `command` and compares its output with the expected one.
fn tell(command: &[&str], expected: &str) {
    let this = this();
    let test = [
        "--ignored",
        "--exact",
        "--nocapture",
        "ordinary_user::say_what_is_missing",
    ];
    if !works(&[command, &["test", "-x", &this]].concat()) {
        return eprintln!("skipped: {command:?} does not work here");
    }
    let output = Command::new(command[0])
        .args(&command[1..])
        .arg(&this)
        .args(test)
        .output();
    let output = output.expect("a run");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains(expected),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
#[ignore = "run by another test, as another user"]
fn say_what_is_missing() {
    match Namespaces::make(&Setup::default()) {
        Ok(_) => println!("nothing"),
        Err(Missing::UserNamespaces { help, .. }) => println!("UserNamespaces {help}"),
        Err(missing) => println!("{missing:?}"),
    }
}
