//! Isolation of the namespaces in both directions.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::process::{Command, Stdio};

use forebay_kernel::namespaces::{Kind, Namespaces, Setup, Side};
use forebay_kernel::tcp::{Connection, Listener, Route};

use crate::make;
use crate::relay::{Relay, Transfer, connect};

/// The output of a program in a namespace.
fn output(namespaces: &Namespaces, side: Side, program: &str) -> String {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", program]).stdout(Stdio::piped());
    let mut running = namespaces.run(side, command).expect("running");
    let out = running.child().stdout.take().expect("a pipe");
    let text = io::read_to_string(out).expect("text");
    assert!(
        running.wait().expect("an end").success(),
        "{program}: {text}"
    );
    text
}

#[test]
fn nothing_inside_reaches_the_machine() {
    let Some(namespaces) = make(&Setup::default()) else {
        return;
    };
    let host = TcpListener::bind("0.0.0.0:0").expect("a listener");
    let port = host.local_addr().expect("an address").port();
    host.set_nonblocking(true).expect("nonblocking");
    for side in Side::BOTH {
        let from = namespaces.address(side, 0).expect("an address");
        let attempt = |from, to| {
            let socket = namespaces.socket(side, Kind::Tcp).expect("a socket");
            let to = SocketAddrV4::new(to, port);
            Connection::connect(socket, Route { from, to })?.is_connected()
        };
        let itself = attempt(Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST).expect_err("refused");
        assert_eq!(itself.kind(), io::ErrorKind::ConnectionRefused);
        for to in host_addresses()
            .into_iter()
            .chain([Ipv4Addr::new(192, 0, 2, 1)])
        {
            let error = attempt(from, to).expect_err("no route");
            assert_eq!(error.kind(), io::ErrorKind::NetworkUnreachable, "{to}");
        }
    }
    let nobody = host.accept().expect_err("nobody came");
    assert_eq!(nobody.kind(), io::ErrorKind::WouldBlock);
}

/// The addresses of the machine in its routing table, except those of its loopback device.
fn host_addresses() -> Vec<Ipv4Addr> {
    let table = fs::read_to_string("/proc/self/net/fib_trie").expect("a table");
    let mut lines = table.lines().map(str::trim).peekable();
    let mut addresses = Vec::new();
    while let Some(line) = lines.next() {
        let Some(address) = line.strip_prefix("|-- ") else {
            continue;
        };
        if lines
            .peek()
            .is_some_and(|next| next.starts_with("/32 host LOCAL"))
            && let Ok(address) = address.parse::<Ipv4Addr>()
            && !address.is_loopback()
        {
            addresses.push(address);
        }
    }
    addresses
}

#[test]
fn what_listens_inside_listens_nowhere_else() {
    let Some(namespaces) = make(&Setup::default()) else {
        return;
    };
    let socket = namespaces.socket(Side::Near, Kind::Tcp).expect("a socket");
    let any = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0);
    let listener = Listener::listen(socket, any, 1).expect("listening");
    let port = format!(":{:04X} ", listener.address().expect("an address").port());
    let listens = |table: &str| {
        let listening = |line: &&str| line.contains(" 0A ") && line.contains(&port);
        table.lines().filter(listening).count()
    };
    let table = |path: &str| fs::read_to_string(path).expect("a table");
    assert_eq!(
        listens(&output(&namespaces, Side::Near, "cat /proc/net/tcp")),
        1
    );
    assert_eq!(
        listens(&output(&namespaces, Side::Far, "cat /proc/net/tcp")),
        0
    );
    assert_eq!(listens(&table("/proc/self/net/tcp")), 0);
}

#[test]
fn a_namespace_has_its_device_and_the_loopback_and_no_ipv6() {
    let Some(namespaces) = make(&Setup::default()) else {
        return;
    };
    for side in Side::BOTH {
        let devices = output(&namespaces, side, "cat /proc/net/dev");
        let names: Vec<_> = devices
            .lines()
            .filter_map(|line| line.split_once(':').map(|(name, _)| name.trim().to_owned()))
            // When a tunnel module is loaded, the kernel adds such devices to every namespace; they
            // are down.
            .filter(|name| !name.ends_with('0'))
            .collect();
        assert_eq!(names, ["lo".to_owned(), side.to_string()]);
        let disabled = namespaces.sysctl(side, &format!("net.ipv6.conf.{side}.disable_ipv6"));
        if let Ok(disabled) = disabled {
            assert_eq!(disabled, "1");
            assert_eq!(output(&namespaces, side, "cat /proc/net/if_inet6"), "");
        }
    }
}

#[test]
fn no_queueing_discipline_stands_before_a_device() {
    let Some(namespaces) = make(&Setup::default()) else {
        return;
    };
    let listed = output(
        &namespaces,
        Side::Near,
        "tc qdisc show dev near || echo none",
    );
    if listed.trim() == "none" {
        return eprintln!("skipped: no tc");
    }
    assert!(listed.starts_with("qdisc noqueue "), "{listed}");
}

#[test]
fn two_at_once_do_not_disturb_each_other() {
    let (Some(one), Some(other)) = (make(&Setup::default()), make(&Setup::default())) else {
        return;
    };
    let (mut first, mut second) = (Relay::new(&one), Relay::new(&other));
    let mut transfers = [
        Transfer::new(connect(&mut first, (0, 0)), 11, 2_000_000),
        Transfer::new(connect(&mut second, (0, 0)), 12, 2_000_000),
    ];
    first.until(|| {
        second.carry();
        let [one, other] = &mut transfers;
        let done = (one.step(), other.step());
        done.0.and(done.1)
    });
    drop(one);
    // The other pair of namespaces still works.
    let mut relay = Relay::new(&other);
    let mut transfer = Transfer::new(connect(&mut relay, (0, 0)), 13, 100_000);
    relay.until(|| transfer.step());
}

#[test]
fn the_caller_stays_where_it_was() {
    let own = || {
        let links = ["net", "pid", "pid_for_children", "user", "mnt"];
        links.map(|name| fs::read_link(format!("/proc/thread-self/ns/{name}")).expect("a link"))
    };
    let mask = || {
        let status = fs::read_to_string("/proc/thread-self/status").expect("proc");
        let blocked = status.lines().find(|line| line.starts_with("SigBlk:"));
        blocked.expect("a line").to_owned()
    };
    let (before, unblocked) = (own(), mask());
    let Some(namespaces) = make(&Setup::default()) else {
        return;
    };
    assert_eq!(output(&namespaces, Side::Near, "echo x"), "x\n");
    assert_eq!((own(), mask()), (before.clone(), unblocked));
    let inside = |side| namespaces.entry(side).pid;
    let net = |pid: i32| fs::read_link(format!("/proc/{pid}/ns/net")).expect("a link");
    let (near, far) = (net(inside(Side::Near)), net(inside(Side::Far)));
    assert!(near != far && near != before[0] && far != before[0]);
}
