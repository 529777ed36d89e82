//! Frames of every link layer, with tags, labels and tunnels, as packets.

use std::net::IpAddr;

use crate::common::{
    DESTINATION, ETHERNET, Pcap, Pcapng, RAW, SECOND, SOURCE, ethernet, ipv4, ipv6, of_frame, one,
    read, tcp, tcp_of, udp, udp_of,
};
use forebay_capture::{Ecn, FlowKey, Packet, Tcp, Timestamps, Transport, Udp};

/// The IP packet inside all frames below.
fn inner() -> Vec<u8> {
    ipv4(6, &tcp(&[1, 1, 8, 10, 0, 0, 0, 9, 0, 0, 0, 7], 100))
}

/// The fields of the inner packet that are equal in all frames.
fn same(packet: Packet) -> Packet {
    Packet {
        frame_bytes: 0,
        inbound: None,
        stations: None,
        ..packet
    }
}

#[test]
fn every_field_of_a_packet_is_its_own() {
    let packet = one(ETHERNET, &ethernet(0x0800, &inner()));
    let expected = Packet {
        time: SECOND,
        interface: 0,
        bytes: 152,
        frame_bytes: 166,
        inbound: None,
        stations: packet.stations,
        flow: FlowKey {
            source: IpAddr::from(SOURCE),
            destination: IpAddr::from(DESTINATION),
            source_port: 1234,
            destination_port: 443,
            protocol: 6,
        },
        ecn: Ecn::Capable0,
        identification: Some(0x1234),
        hops_left: 61,
        transport: packet.transport,
    };
    assert_eq!(packet, expected);
    let tcp = tcp_of(&packet);
    let expected = Tcp {
        sequence: 0x0102_0304,
        acknowledgment: 0x0506_0708,
        flags: tcp.flags,
        window: 0xabcd,
        payload: 100,
        timestamps: Some(Timestamps { value: 9, echo: 7 }),
        ..Tcp::default()
    };
    assert_eq!((tcp, tcp.flags.0), (expected, 0x10));
}

#[test]
fn version_6_is_told_as_version_4_is() {
    let packet = one(RAW, &ipv6(6, &tcp(&[], 7)));
    assert_eq!((packet.bytes, packet.frame_bytes), (67, 67));
    assert_eq!((packet.ecn, packet.hops_left), (Ecn::Capable1, 63));
    assert_eq!(packet.identification, None);
    assert_eq!(packet.flow.source, "2001:db8::1".parse::<IpAddr>().unwrap());
    assert_eq!(
        packet.flow.destination,
        "2001:db8::2".parse::<IpAddr>().unwrap()
    );
    assert_eq!(tcp_of(&packet).payload, 7);
}

#[test]
fn codepoints_are_those_of_rfc_3168() {
    for (bits, expected) in [
        (0, Ecn::NotCapable),
        (1, Ecn::Capable1),
        (2, Ecn::Capable0),
        (3, Ecn::Marked),
    ] {
        let mut packet = inner();
        packet[1] = 0xb8 | bits;
        assert_eq!(one(RAW, &packet).ecn, expected);
        let mut packet = ipv6(6, &tcp(&[], 0));
        packet[1] = bits << 4;
        assert_eq!(one(RAW, &packet).ecn, expected);
    }
}

#[test]
fn every_link_type_leads_to_the_same_packet() {
    let expected = same(one(RAW, &inner()));
    let with = |head: &[u8]| [head, &inner()].concat();
    let cooked = |kind: u8| {
        let mut head = vec![0, kind, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0];
        head.extend([0x08, 0]);
        with(&head)
    };
    let snap = {
        let mut frame = ethernet(160, &[0xaa, 0xaa, 3, 0, 0, 0, 0x08, 0]);
        frame.extend(inner());
        frame
    };
    for (link_type, frame) in [
        (12, inner()),
        (14, inner()),
        (101, inner()),
        (228, inner()),
        (ETHERNET, ethernet(0x0800, &inner())),
        (ETHERNET, snap),
        (113, cooked(0)),
        (0, with(&[2, 0, 0, 0])),
        (0, with(&[0, 0, 0, 2])),
        (108, with(&[0, 0, 0, 2])),
        (9, with(&[0, 0x21])),
        (9, with(&[0x21])),
        (9, with(&[0xff, 3, 0, 0x21])),
        (50, with(&[0xff, 3, 0, 0x21])),
        (50, with(&[0x0f, 0, 8, 0])),
        (51, with(&[0x11, 0, 0, 1, 0, 154, 0, 0x21])),
    ] {
        let packet = one(link_type, &frame);
        assert_eq!(same(packet), expected, "{link_type}");
        assert_eq!(packet.frame_bytes, frame.len() as u32);
        assert_eq!(packet.stations.is_some(), link_type == ETHERNET);
    }
    for (number, inbound) in [
        (0, Some(true)),
        (3, Some(true)),
        (4, Some(false)),
        (5, None),
    ] {
        assert_eq!(one(113, &cooked(number)).inbound, inbound);
    }
    let six = ipv6(17, &udp(53, b"hello"));
    let expected = same(one(229, &six));
    for family in [10, 24, 28, 30] {
        let frame = [&[family, 0, 0, 0], &six[..]].concat();
        assert_eq!(same(one(0, &frame)), expected);
    }
    let frame = [&[0, 0x57], &six[..]].concat();
    assert_eq!(same(one(9, &frame)), expected);
    assert_eq!(same(one(ETHERNET, &ethernet(0x86dd, &six))), expected);
}

#[test]
fn cooked_packets_of_the_second_kind_have_interfaces_and_directions() {
    let frame = |index: u8, kind: u8| {
        let mut frame = vec![0x08, 0, 0, 0, 0, 0, 0, index, 0, 1, kind, 6];
        frame.extend([0; 8]);
        frame.extend(inner());
        frame
    };
    let file = Pcap::default()
        .link(276)
        .frame(SECOND, &frame(3, 0))
        .frame(SECOND, &frame(7, 4))
        .frame(SECOND, &frame(3, 4))
        .frame(SECOND, &frame(9, 3));
    let outcome = read(&file.bytes);
    let evidence: Vec<_> = outcome
        .packets
        .iter()
        .map(|one| (one.interface, one.inbound))
        .collect();
    let (came, went) = (Some(true), Some(false));
    assert_eq!(evidence, [(0, came), (1, went), (0, went), (2, came)]);
    let indices: Vec<_> = outcome
        .interfaces
        .iter()
        .map(|one| one.kernel_index)
        .collect();
    assert_eq!(indices, [Some(3), Some(7), Some(9)]);
    assert_eq!(same(outcome.packets[0]), same(one(RAW, &inner())));
}

#[test]
fn flags_of_a_capture_count_for_more_than_a_cooked_header() {
    let cooked = [
        &[0, 4, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 8, 0],
        &inner()[..],
    ]
    .concat();
    let file = Pcapng::new(false).interface(113, 0, &[]);
    let came = file.word(1);
    let file = file
        .packet(0, 5, &cooked, &[(2, &came)])
        .packet(0, 5, &cooked, &[]);
    let evidence: Vec<_> = read(&file.bytes)
        .packets
        .iter()
        .map(|one| one.inbound)
        .collect();
    assert_eq!(evidence, [Some(true), Some(false)]);
}

/// Ethernet frames that hold the inner packet, with their names.
fn wrapped() -> Vec<(&'static str, Vec<u8>)> {
    let inside = inner();
    let whole = ethernet(0x0800, &inside);
    let on = |kind: u16, head: &[u8]| ethernet(kind, &[head, &inside[..]].concat());
    let ip = |protocol: u8, head: &[u8], inside: &[u8]| {
        ethernet(0x0800, &ipv4(protocol, &[head, inside].concat()))
    };
    let vxlan = [&[8, 0, 0, 0, 0, 0, 5, 0], &whole[..]].concat();
    vec![
        ("VLAN", on(0x8100, &[0, 5, 0x08, 0])),
        ("QinQ", on(0x88a8, &[0, 5, 0x81, 0, 0, 6, 0x08, 0])),
        ("QinQ of old", on(0x9100, &[0, 5, 0x81, 0, 0, 6, 0x08, 0])),
        ("MPLS", on(0x8847, &[0, 1, 0x01, 64])),
        (
            "a stack of MPLS",
            on(0x8848, &[0, 1, 0, 64, 0, 2, 0, 64, 0, 3, 1, 9]),
        ),
        ("PPPoE", on(0x8864, &[0x11, 0, 0, 9, 0, 154, 0, 0x21])),
        (
            "VLAN and PPPoE",
            on(0x8100, &[0, 5, 0x88, 0x64, 0x11, 0, 0, 9, 0, 154, 0, 0x21]),
        ),
        (
            "PPPoE and MPLS",
            on(0x8864, &[0x11, 0, 0, 9, 0, 158, 2, 0x81, 0, 0, 1, 0]),
        ),
        ("IP in IP", ip(4, &[], &inside)),
        ("IP in IP in IP", ip(4, &[], &ipv4(4, &inside))),
        ("MPLS in IP", ip(137, &[0, 0, 1, 0], &inside)),
        ("Ethernet in IP", ip(143, &[], &whole)),
        ("GRE", ip(47, &[0, 0, 0x08, 0], &inside)),
        (
            "GRE with all fields",
            ip(47, &[&[0xb0, 0, 0x08, 0][..], &[7; 12]].concat(), &inside),
        ),
        (
            "GRE with Ethernet",
            ip(47, &[0x20, 0, 0x65, 0x58, 0, 0, 1, 0], &whole),
        ),
        (
            "GRE with PPP",
            ip(
                47,
                &[
                    0x30, 0x81, 0x88, 0x0b, 0, 9, 0, 9, 0, 0, 0, 1, 0, 0, 0, 2, 0x21,
                ],
                &inside,
            ),
        ),
        (
            "a mirror, first version",
            ip(47, &[0, 0, 0x88, 0xbe], &whole),
        ),
        (
            "a mirror, second version",
            ip(47, &[&[0x10, 0, 0x88, 0xbe][..], &[1; 12]].concat(), &whole),
        ),
        (
            "a mirror, third version",
            ip(47, &[&[0x10, 0, 0x22, 0xeb][..], &[2; 16]].concat(), &whole),
        ),
        (
            "a mirror with a platform's header",
            ip(47, &[&[0x10, 0, 0x22, 0xeb][..], &[1; 24]].concat(), &whole),
        ),
        ("VXLAN", ip(17, &[], &udp(4789, &vxlan))),
        (
            "version 4 in version 6",
            ethernet(0x86dd, &ipv6(4, &inside)),
        ),
    ]
}

#[test]
fn tags_labels_and_tunnels_are_passed() {
    let expected = same(one(RAW, &inner()));
    for (name, frame) in wrapped() {
        let outcome = of_frame(ETHERNET, &frame);
        assert_eq!(outcome.packets.len(), 1, "{name}: {:?}", outcome.notes);
        assert_eq!(same(outcome.packets[0]), expected, "{name}");
        assert_eq!(outcome.packets[0].frame_bytes, frame.len() as u32);
        let through = frame[12..14] == [0x08, 0] || frame[12..14] == [0x86, 0xdd];
        assert_eq!(outcome.notes.tunneled, u64::from(through), "{name}");
    }
}

#[test]
fn a_tunnel_whose_inside_is_no_packet_is_told_itself() {
    let arp = ethernet(0x0806, &[0; 28]);
    let mut no_network = [&[8, 0, 0, 0, 0, 0, 5, 0], &ethernet(0x0800, &inner())[..]].concat();
    no_network[0] = 0;
    for (protocol, payload) in [
        (47, vec![0, 0, 0x65, 0x58, 1]),
        (47, [&[0, 0, 0x65, 0x58], &arp[..]].concat()),
        (47, vec![0x40, 0, 0x08, 0, 0, 0, 0, 0]),
        (4, vec![]),
        (4, vec![0x45; 3]),
        (17, udp(4789, &no_network)),
        (17, udp(4789, &[8, 0, 0])),
        (
            17,
            udp(
                4790,
                &[&[8, 0, 0, 0, 0, 0, 5, 0], &ethernet(0x0800, &inner())[..]].concat(),
            ),
        ),
    ] {
        let outcome = of_frame(RAW, &ipv4(protocol, &payload));
        assert_eq!(outcome.packets.len(), 1);
        let packet = outcome.packets[0];
        assert_eq!(packet.flow.protocol, protocol);
        assert_eq!(packet.bytes, 20 + payload.len() as u32);
        assert_eq!(outcome.notes.tunneled, 0);
        let port = if protocol == 17 { 1234 } else { 0 };
        assert_eq!(packet.flow.source_port, port);
    }
}

#[test]
fn a_mark_on_a_tunnel_marks_what_can_be_marked_inside() {
    let evidence = |outer: u8, inner_bits: u8| {
        let mut inside = inner();
        inside[1] = inner_bits;
        let mut packet = ipv4(4, &inside);
        packet[1] = outer;
        one(RAW, &packet).ecn
    };
    assert_eq!(evidence(3, 2), Ecn::Marked);
    assert_eq!(evidence(3, 1), Ecn::Marked);
    assert_eq!(evidence(3, 0), Ecn::NotCapable);
    assert_eq!(evidence(2, 1), Ecn::Capable1);
    assert_eq!(evidence(0, 3), Ecn::Marked);
}

#[test]
fn headers_without_end_end() {
    let mut frame = ethernet(0x8100, &[]);
    for _ in 0..1000 {
        frame.extend([0, 1, 0x81, 0]);
    }
    frame.extend(inner());
    assert_eq!(of_frame(ETHERNET, &frame).notes.undecodable, 1);
    let mut packet = inner();
    for _ in 0..60 {
        packet = ipv4(4, &packet);
    }
    let outcome = of_frame(RAW, &packet);
    assert_eq!(
        (outcome.packets.len(), outcome.packets[0].flow.protocol),
        (1, 4)
    );
    let labels = ethernet(0x8847, &[0; 4000]);
    assert_eq!(of_frame(ETHERNET, &labels).notes.undecodable, 1);
}

#[test]
fn padding_of_ethernet_belongs_to_no_packet() {
    let mut frame = ethernet(0x0800, &ipv4(6, &tcp(&[], 0)));
    frame.resize(60, 0);
    let packet = one(ETHERNET, &frame);
    assert_eq!((packet.bytes, packet.frame_bytes), (40, 60));
    assert_eq!(tcp_of(&packet).payload, 0);
    let mut frame = ethernet(0x0800, &ipv4(17, &udp(9, b"")));
    frame.resize(60, 7);
    let expected = Udp {
        payload: 0,
        first: None,
    };
    assert_eq!(udp_of(&one(ETHERNET, &frame)), expected);
}

#[test]
fn no_length_means_that_of_the_frame() {
    let mut packet = ipv4(6, &tcp(&[], 40_000));
    packet[2..4].copy_from_slice(&[0, 0]);
    let outcome = of_frame(ETHERNET, &ethernet(0x0800, &packet));
    let evidence = outcome.packets[0];
    assert_eq!(
        (evidence.bytes, tcp_of(&evidence).payload),
        (40_040, 40_000)
    );
    assert_eq!(outcome.notes.unstated_length, 1);

    let mut packet = ipv6(6, &tcp(&[], 100_000));
    packet[4..6].copy_from_slice(&[0, 0]);
    let outcome = of_frame(RAW, &packet);
    let evidence = outcome.packets[0];
    assert_eq!(
        (evidence.bytes, tcp_of(&evidence).payload),
        (100_060, 100_000)
    );
    assert_eq!(outcome.notes.unstated_length, 1);

    // One packet is a jumbogram of RFC 2675, and one says that it has no payload.
    let option = [6, 0, 0xc2, 4, 0, 1, 0x86, 0xbc];
    let mut packet = ipv6(0, &[&option[..], &tcp(&[], 100_000)].concat());
    packet[4..6].copy_from_slice(&[0, 0]);
    let evidence = one(RAW, &packet);
    assert_eq!(
        (evidence.bytes, tcp_of(&evidence).payload),
        (100_068, 100_000)
    );
    let outcome = of_frame(
        ETHERNET,
        &ethernet(0x86dd, &[&ipv6(59, &[])[..], &[0; 6]].concat()),
    );
    assert_eq!(
        (outcome.packets[0].bytes, outcome.notes.unstated_length),
        (40, 0)
    );
}

#[test]
fn fragments_behind_the_first_have_no_ports() {
    let evidence = |offset: u16, payload: &[u8]| {
        let mut packet = ipv4(6, payload);
        packet[6..8].copy_from_slice(&offset.to_be_bytes());
        let outcome = of_frame(RAW, &packet);
        (outcome.packets[0], outcome.notes.fragments)
    };
    let (first, count) = evidence(0x2000, &tcp(&[], 100));
    assert_eq!((tcp_of(&first).payload, count), (100, 1));
    for offset in [0x2001, 0x0001, 0x1fff] {
        let (packet, count) = evidence(offset, &tcp(&[], 100));
        assert_eq!((packet.transport, count), (Transport::Fragment, 1));
        assert_eq!(
            (packet.flow.source_port, packet.flow.protocol, packet.bytes),
            (0, 6, 140)
        );
    }
    assert_eq!(evidence(0x4000, &tcp(&[], 100)).1, 0);
    // The payload of a fragment is not followed, because the rest of it is in other fragments.
    let mut tunnel = ipv4(4, &inner());
    tunnel[6] = 0x20;
    assert_eq!(one(RAW, &tunnel).flow.protocol, 4);

    let six = |word: u16, next: u8| {
        let mut payload = vec![next, 0];
        payload.extend(word.to_be_bytes());
        payload.extend([0, 0, 0, 9]);
        payload.extend(tcp(&[], 100));
        let outcome = of_frame(RAW, &ipv6(44, &payload));
        (outcome.packets[0], outcome.notes.fragments)
    };
    let (whole, count) = six(0, 6);
    assert_eq!((tcp_of(&whole).payload, whole.bytes, count), (100, 168, 0));
    let (first, count) = six(1, 6);
    assert_eq!((tcp_of(&first).payload, count), (100, 1));
    // Headers after the fragment header belong to the whole datagram, even if they are truncated.
    let destination = [6, 0, 1, 4, 0, 0, 0, 0];
    let behind = |next: u8, rest: &[u8]| {
        let packet = ipv6(44, &[&[next, 0, 0, 1, 0, 0, 0, 9], rest].concat());
        of_frame(RAW, &packet).packets[0]
    };
    let first = behind(60, &[&destination[..], &tcp(&[], 9)].concat());
    assert_eq!((tcp_of(&first).payload, first.flow.protocol), (9, 6));
    for cut in [&[][..], &[6, 200, 0, 0], &[0; 7]] {
        for next in [0, 43, 44, 51, 60] {
            assert_eq!(behind(next, cut).transport, Transport::Other);
        }
    }
    for next in [6, 60, 17] {
        let (other, count) = six(8, next);
        assert_eq!((other.transport, count), (Transport::Fragment, 1));
        assert_eq!((other.flow.protocol, other.flow.source_port), (next, 0));
    }
}

#[test]
fn extension_headers_are_passed() {
    let authentication = |next: u8| {
        vec![
            next, 4, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
        ]
    };
    let segment = tcp(&[], 10);
    let hop = [60, 0, 1, 4, 0, 0, 0, 0];
    let options = [43, 0, 1, 4, 0, 0, 0, 0];
    let routing = [51, 0, 0, 0, 0, 0, 0, 0];
    let chain = [&hop[..], &options, &routing, &authentication(6), &segment].concat();
    let packet = one(RAW, &ipv6(0, &chain));
    assert_eq!(
        (packet.flow.protocol, packet.flow.destination_port),
        (6, 443)
    );
    assert_eq!((tcp_of(&packet).payload, packet.bytes), (10, 118));
    let packet = one(RAW, &ipv4(51, &[&authentication(6)[..], &segment].concat()));
    assert_eq!((tcp_of(&packet).payload, packet.flow.protocol), (10, 6));
    // The payload is encrypted, so no transport header is read.
    let packet = one(RAW, &ipv4(50, &segment));
    assert_eq!(
        (packet.transport, packet.flow.source_port),
        (Transport::Other, 0)
    );
}

#[test]
fn options_of_ip_move_what_is_behind() {
    let mut packet = ipv4(6, &[&[1; 8][..], &tcp(&[], 10)].concat());
    packet[0] = 0x47;
    let evidence = one(RAW, &packet);
    assert_eq!(
        (
            tcp_of(&evidence).payload,
            evidence.flow.source_port,
            evidence.bytes
        ),
        (10, 1234, 58)
    );
}

/// For every tag and tunnel, the result is the inner packet or one around it, never a third.
#[test]
fn tunnels_that_are_cut_tell_one_of_their_packets() {
    for (name, frame) in wrapped() {
        let inside = one(RAW, &inner()).bytes;
        for end in 0..frame.len() {
            let file = Pcap::default().snapped(SECOND, &frame[..end], frame.len() as u32);
            let outcome = read(&file.bytes);
            assert_eq!(outcome.notes.undecodable, 0, "{name} at {end}");
            let Some(packet) = outcome.packets.first() else {
                continue;
            };
            let ends = IpAddr::from(SOURCE) == packet.flow.source || packet.flow.source.is_ipv6();
            assert!(
                ends && packet.bytes >= inside,
                "{name} at {end}: {packet:?}"
            );
        }
    }
}

#[test]
fn stations_are_told_apart_and_both_ways() {
    let frame = ethernet(0x0800, &inner());
    let mut back = frame.clone();
    back[..12].rotate_left(6);
    let (source, destination) = one(ETHERNET, &frame).stations.unwrap();
    assert_eq!(one(ETHERNET, &back).stations, Some((destination, source)));
    assert_ne!(source, destination);
    let mut seen = std::collections::BTreeSet::from([source]);
    for place in 6..12 {
        for bit in 0..8 {
            let mut other = frame.clone();
            other[place] ^= 1 << bit;
            seen.insert(one(ETHERNET, &other).stations.unwrap().0);
        }
    }
    assert_eq!(seen.len(), 49);
}

#[test]
fn frames_of_anything_else_are_not_ip() {
    for (link_type, frame) in [
        (ETHERNET, ethernet(0x0806, &[0; 40])),
        (ETHERNET, ethernet(0x8863, &[0; 40])),
        (
            ETHERNET,
            ethernet(0x8864, &[0x11, 9, 0, 0, 0, 0, 0, 0x21, 0x45]),
        ),
        (ETHERNET, ethernet(38, &[0x42; 40])),
        (ETHERNET, ethernet(0x8847, &[0, 0, 1, 0, 0x01, 0, 0, 0])),
        (9, vec![0xc0, 0x21, 1, 2]),
        (0, vec![7, 0, 0, 0, 0x45]),
        (
            113,
            [
                &[0, 0, 3, 56, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 8, 0],
                &inner()[..],
            ]
            .concat(),
        ),
    ] {
        let notes = of_frame(link_type, &frame).notes;
        assert_eq!(
            (notes.not_ip, notes.packets),
            (1, 0),
            "{link_type} {frame:?}"
        );
    }
    for packet in [
        vec![],
        vec![0x35; 40],
        vec![0x44; 40],
        vec![0x45; 19],
        vec![0x60; 39],
    ] {
        let notes = of_frame(RAW, &packet).notes;
        assert_eq!((notes.undecodable, notes.packets), (1, 0), "{packet:?}");
    }
    let mut short = inner();
    short[2..4].copy_from_slice(&[0, 19]);
    assert_eq!(of_frame(RAW, &short).notes.undecodable, 1);
}
