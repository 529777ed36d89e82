//! Traffic between the namespaces.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::AsFd;

use forebay_kernel::counters::Event;
use forebay_kernel::namespaces::{Kind, Namespaces, Setup, Side, Sysctl};
use forebay_kernel::tcp::{
    self, CongestionControlError, Connection, Listener, Route, send_at_once,
};
use forebay_kernel::tcp_info::RecoveryState;
use forebay_units::{Bytes, Time};
use rustix::net::sockopt;

use crate::make;
use crate::relay::{Relay, Transfer, connect};

const MEGABYTES: usize = 20_000_000;

#[test]
fn twenty_megabytes_arrive_byte_for_byte_in_packets_of_at_most_the_mtu() {
    let setup = Setup {
        mtu: 1400,
        ..Setup::default()
    };
    let Some(namespaces) = make(&setup) else {
        return;
    };
    let before = namespaces.counters(Side::Near).expect("counters");
    let mut relay = Relay::new(&namespaces);
    let ends = connect(&mut relay, (0, 0));
    let fresh = ends.0.info().expect("info");
    assert_eq!(fresh.slow_start_threshold_packets, None);
    let mut transfer = Transfer::new(ends, 1, MEGABYTES);
    relay.until(|| transfer.step());
    let sender = &transfer.ends.0;
    let all = Bytes::new(MEGABYTES as u64);
    relay.until(|| (sender.info().expect("info").unacknowledged_packets == 0).then_some(()));

    assert_eq!(relay.largest, 1400);
    assert!(relay.carried > MEGABYTES / 1400);
    let near = namespaces
        .counters(Side::Near)
        .expect("counters")
        .since(&before);
    let far = namespaces.counters(Side::Far).expect("counters");
    // No packet was lost, but a timer may expire on a busy machine.
    let again = near.count(Event::SegmentsRetransmitted).expect("a count");
    for counters in [&near, &far] {
        let device = counters.device();
        assert_eq!(
            (device.sent_dropped_packets, device.received_dropped_packets),
            (0, 0)
        );
    }
    assert_eq!(near.device().sent_packets, far.device().received_packets);
    assert_eq!(far.device().sent_packets, near.device().received_packets);
    let carried = near.device().sent_packets + far.device().sent_packets;
    assert_eq!(relay.carried as u64, carried);

    let info = sender.info().expect("info");
    assert!(again > 0 || info.recovery_state == RecoveryState::Open);
    // The headers are 20 bytes of IP and 20 of TCP with 12 of timestamps.
    assert!(
        info.segment_size >= Bytes::new(1400 - 52) && info.segment_size <= Bytes::new(1400 - 40)
    );
    assert!(info.congestion_window_packets >= 10, "{info:?}");
    assert!(info.smoothed_rtt > Time::ZERO && info.smoothed_rtt < Time::from_secs(60));
    assert!(
        info.min_rtt.expect("a time") <= Time::from_secs(1),
        "{info:?}"
    );
    assert_eq!(u64::from(info.total_retransmissions), again);
    assert_eq!(info.not_sent, Some(Bytes::ZERO));
    // RFC 4898 counts the SYN and the FIN.
    let acknowledged = info.bytes_acknowledged.expect("a count").get();
    assert!((0..=2).contains(&(acknowledged - all.get())), "{info:?}");
    let resent = info.bytes_retransmitted.expect("a count");
    assert_eq!(info.bytes_sent, Some(all + resent));
    assert_eq!(again == 0, resent == Bytes::ZERO);
    let busy = info.busy.expect("a time");
    let limited = (info.receive_window_limited, info.send_buffer_limited);
    assert!(busy > Time::ZERO && limited.0.expect("a time") + limited.1.expect("a time") <= busy);
    assert!(u64::from(info.delivered_packets.expect("a count")) >= all.get() / 1400);
    assert_eq!(info.delivered_marked_packets, Some(0));
    let received = transfer.ends.1.info().expect("info").bytes_received;
    assert!((0..=1).contains(&(received.expect("a count").get() - all.get())));
}

#[test]
fn every_congestion_control_carries_and_an_unknown_one_lists_those_that_there_are() {
    let Some(namespaces) = make(&Setup::default()) else {
        return;
    };
    let available = namespaces.congestion_controls(Side::Near).expect("a list");
    assert!(available.iter().any(|name| name == "reno"), "{available:?}");
    for name in &available {
        let mut relay = Relay::new(&namespaces);
        let ends = connect(&mut relay, (0, 0));
        match tcp::set_congestion_control(&ends.0, name, &available) {
            Ok(()) => {}
            Err(CongestionControlError::NotAllowed { .. }) => {
                eprintln!("skipped: {name} is not allowed");
                continue;
            }
            Err(error) => panic!("{error}"),
        }
        assert_eq!(sockopt::tcp_congestion(&ends.0).expect("a name"), *name);
        let mut transfer = Transfer::new(ends, 2, 300_000);
        relay.until(|| transfer.step());
        if name == "bbr" {
            assert!(transfer.ends.0.info().expect("info").pacing_rate.is_some());
        }
    }
    let socket = namespaces.socket(Side::Near, Kind::Tcp).expect("a socket");
    match tcp::set_congestion_control(&socket, "nosuch", &available) {
        Err(CongestionControlError::Unknown {
            name,
            available: listed,
        }) => {
            assert_eq!((name.as_str(), &listed), ("nosuch", &available));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn flows_can_be_told_apart_by_their_addresses() {
    let setup = Setup {
        addresses: 600,
        ..Setup::default()
    };
    let Some(namespaces) = make(&setup) else {
        return;
    };
    let mut relay = Relay::new(&namespaces);
    for addresses in [(0, 0), (1, 0), (253, 254), (599, 599)] {
        let ends = connect(&mut relay, addresses);
        let mut transfer = Transfer::new(ends, u64::from(addresses.0), 30_000);
        relay.until(|| transfer.step());
    }
    assert_eq!(namespaces.address(Side::Near, 600), None);
}

#[test]
fn without_further_addresses_a_side_has_one() {
    let Some(namespaces) = make(&Setup::default()) else {
        return;
    };
    let second = Side::Near.address(1).expect("an address");
    let socket = namespaces.socket(Side::Near, Kind::Tcp).expect("a socket");
    let listening = Listener::listen(socket, SocketAddrV4::new(second, 0), 1);
    let error = listening.expect_err("no such address");
    assert_eq!(error.kind(), io::ErrorKind::AddrNotAvailable);
}

#[test]
fn a_port_without_a_listener_refuses() {
    let Some(namespaces) = make(&Setup::default()) else {
        return;
    };
    let mut relay = Relay::new(&namespaces);
    let route = Route {
        from: namespaces.address(Side::Near, 0).expect("an address"),
        to: SocketAddrV4::new(Ipv4Addr::new(198, 18, 1, 1), 9),
    };
    let socket = namespaces.socket(Side::Near, Kind::Tcp).expect("a socket");
    let connection = Connection::connect(socket, route).expect("connecting");
    assert!(!connection.is_connected().expect("not yet"));
    let error = relay.until(|| connection.is_connected().err());
    assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
}

#[test]
fn a_thousand_sockets_of_either_side_are_quickly_there() {
    let Some(namespaces) = make(&Setup::default()) else {
        return;
    };
    let start = std::time::Instant::now();
    for side in Side::BOTH {
        let sockets = namespaces.sockets(side, Kind::Tcp, 1_000).expect("sockets");
        assert_eq!(sockets.len(), 1_000);
        let own = namespaces.address(side, 0).expect("an address");
        let others = namespaces.address(side.other(), 0).expect("an address");
        for socket in sockets.into_iter().step_by(111) {
            let flags = rustix::fs::fcntl_getfl(&socket).expect("flags");
            assert!(flags.contains(rustix::fs::OFlags::NONBLOCK));
            let flags = rustix::io::fcntl_getfd(&socket).expect("flags");
            assert!(flags.contains(rustix::io::FdFlags::CLOEXEC));
            assert!(Listener::listen(socket, SocketAddrV4::new(own, 0), 1).is_ok());
            let wrong = namespaces.socket(side, Kind::Tcp).expect("a socket");
            assert!(Listener::listen(wrong, SocketAddrV4::new(others, 0), 1).is_err());
        }
    }
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
    assert!(
        namespaces
            .sockets(Side::Near, Kind::Udp, 0)
            .expect("none")
            .is_empty()
    );
}

#[test]
fn a_datagram_arrives() {
    let Some(namespaces) = make(&Setup::default()) else {
        return;
    };
    let mut relay = Relay::new(&namespaces);
    let to = SocketAddrV4::new(namespaces.address(Side::Far, 0).expect("an address"), 4_000);
    let far = namespaces.socket(Side::Far, Kind::Udp).expect("a socket");
    rustix::net::bind(&far, &to).expect("bound");
    let near = namespaces.socket(Side::Near, Kind::Udp).expect("a socket");
    rustix::net::sendto(&near, b"over", rustix::net::SendFlags::empty(), &to).expect("sent");
    let mut bytes = [0; 8];
    let length = relay.until(|| rustix::io::read(&far, &mut bytes).ok());
    assert_eq!(&bytes[..length], b"over");
}

#[test]
fn a_bounded_send_buffer_takes_no_more() {
    let Some(namespaces) = make(&Setup::default()) else {
        return;
    };
    let mut relay = Relay::new(&namespaces);
    let (sender, _receiver) = connect(&mut relay, (0, 0));
    sockopt::set_socket_send_buffer_size(&sender, 50_000).expect("a bound");
    assert!(!sockopt::tcp_nodelay(&sender).expect("an option"));
    send_at_once(&sender).expect("no delay");
    assert!(sockopt::tcp_nodelay(&sender).expect("an option"));
    let mut taken = 0;
    while let Some(count) = sender.write(&[7; 10_000]).expect("written") {
        taken += count;
    }
    // No packet is carried, so all data is in the buffer; the last write may exceed the bound.
    assert!((10_000..=200_000).contains(&taken), "{taken}");
    assert!(sender.info().expect("info").not_sent > Some(Bytes::ZERO));
}

#[test]
fn a_full_device_drops_and_counts() {
    let setup = Setup {
        queue_packets: 8,
        ..Setup::default()
    };
    let Some(namespaces) = make(&setup) else {
        return;
    };
    let near = namespaces.socket(Side::Near, Kind::Udp).expect("a socket");
    let to = SocketAddrV4::new(namespaces.address(Side::Far, 0).expect("an address"), 4_000);
    for _ in 0..20 {
        let _ = rustix::net::sendto(&near, b"x", rustix::net::SendFlags::empty(), &to);
    }
    let mut packet = [0; 1_500];
    let device = namespaces.device(Side::Near);
    let mut held = 0;
    while device.read(&mut packet).expect("read").is_some() {
        held += 1;
    }
    let counted = namespaces.counters(Side::Near).expect("counters").device();
    assert_eq!(held, 8);
    assert_eq!(
        (counted.sent_packets, counted.sent_dropped_packets),
        (8, 12)
    );
}

#[test]
fn a_device_takes_packets_and_whole_ones_only() {
    let Some(namespaces) = make(&Setup::default()) else {
        return;
    };
    let device = namespaces.device(Side::Far);
    let error = device.read(&mut [0; 1_499]).expect_err("too short");
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    assert_eq!(device.read(&mut [0; 1_500]).expect("nothing"), None);
    assert_eq!(device.mtu(), 1_500);
    assert!(
        device.write(&[0x10; 40]).is_err(),
        "that is neither IPv4 nor IPv6"
    );
    assert!(device.as_fd().try_clone_to_owned().is_ok());
}

#[test]
fn sysctls_are_each_namespace_s_own() {
    let name = "net.ipv4.tcp_rmem";
    let host = || std::fs::read_to_string("/proc/sys/net/ipv4/tcp_rmem").expect("a sysctl");
    let before = host();
    let setup = Setup {
        near: vec![
            Sysctl::new(name, "4096 50000 60000"),
            Sysctl::optional("net.ipv4.no_such", "1"),
        ],
        far: vec![
            Sysctl::new(name, "4096 70000 80000"),
            Sysctl::new("net.ipv4.tcp_sack", "0"),
        ],
        ..Setup::default()
    };
    let Some(namespaces) = make(&setup) else {
        return;
    };
    let read = |side, name| namespaces.sysctl(side, name).expect("a sysctl");
    assert_eq!(read(Side::Near, name), "4096\t50000\t60000");
    assert_eq!(read(Side::Far, name), "4096\t70000\t80000");
    assert_eq!(read(Side::Near, "net.ipv4.tcp_sack"), "1");
    assert_eq!(read(Side::Far, "net.ipv4.tcp_sack"), "0");
    assert_eq!(host(), before);
    for (wrong, why) in [
        (Sysctl::new("net.ipv4.no_such", "1"), "does not have it"),
        (Sysctl::new("kernel.hostname", "x"), "belong to a namespace"),
        (
            Sysctl::optional("net.ipv4.tcp_sack", "many"),
            "Invalid argument",
        ),
    ] {
        let name = wrong.name.clone();
        let setup = Setup {
            far: vec![wrong],
            ..Setup::default()
        };
        let text = Namespaces::make(&setup).expect_err("refused").to_string();
        assert!(
            text.contains(&name) && text.contains(why) && text.contains("far"),
            "{text}"
        );
    }
}
