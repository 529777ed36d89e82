//! Headers of TCP and UDP: whole, truncated, or contradicting themselves.

use crate::common::{
    ETHERNET, Pcap, RAW, SECOND, ethernet, ipv4, one, read, tcp, tcp_of, udp, udp_of,
};
use forebay_capture::{Tcp, Timestamps, Transport, Udp};

#[test]
fn options_of_tcp_are_told_around_those_that_are_not_known() {
    let syn = [
        2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 1, 0, 0, 0, 0, 3, 1, 3, 3, 7,
    ];
    let evidence = tcp_of(&one(RAW, &ipv4(6, &tcp(&syn, 0))));
    assert_eq!(
        (evidence.segment_size, evidence.window_shift),
        (Some(1460), Some(7))
    );
    assert!(evidence.selective);
    assert_eq!(
        evidence.timestamps,
        Some(Timestamps {
            value: 256,
            echo: 3
        })
    );
    let blocks = [1, 1, 5, 18, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4];
    let evidence = tcp_of(&one(RAW, &ipv4(6, &tcp(&blocks, 0))));
    assert_eq!(evidence.sacked, [Some((1, 2)), Some((3, 4)), None, None]);
    // Four blocks fill the header.
    let four: Vec<u8> = [1, 1, 5, 34].into_iter().chain(0..32).collect();
    let evidence = tcp_of(&one(RAW, &ipv4(6, &tcp(&four, 0))));
    assert_eq!(evidence.sacked[3], Some((0x1819_1a1b, 0x1c1d_1e1f)));
    // Multipath TCP comes before timestamps, and an end before other options.
    let unknown = [
        30, 4, 9, 9, 34, 2, 8, 10, 0, 0, 0, 5, 0, 0, 0, 6, 0, 3, 3, 7,
    ];
    let evidence = tcp_of(&one(RAW, &ipv4(6, &tcp(&unknown, 0))));
    assert_eq!(evidence.timestamps, Some(Timestamps { value: 5, echo: 6 }));
    assert_eq!(evidence.window_shift, None);
    // The lengths are zero, one, or beyond the header.
    for options in [[8, 0, 1, 1], [8, 1, 1, 1], [8, 10, 0, 0], [1, 1, 1, 8]] {
        let evidence = tcp_of(&one(RAW, &ipv4(6, &tcp(&options, 20))));
        assert_eq!((evidence.timestamps, evidence.payload), (None, 20));
    }
}

#[test]
fn control_bits_are_all_told() {
    for bit in 0..9 {
        let mut segment = tcp(&[], 0);
        segment[12] |= (1_u16 << bit >> 8) as u8;
        segment[13] = (1_u16 << bit) as u8;
        assert_eq!(tcp_of(&one(RAW, &ipv4(6, &segment))).flags.0, 1 << bit);
    }
}

#[test]
fn headers_of_tcp_that_contradict_themselves_have_ports_only() {
    for offset in [0x40, 0xf0] {
        let mut segment = tcp(&[], 4);
        segment[12] = offset;
        let packet = one(RAW, &ipv4(6, &segment));
        assert_eq!(packet.transport, Transport::Other);
        assert_eq!(
            (packet.flow.source_port, packet.flow.destination_port),
            (1234, 443)
        );
    }
    let mut datagram = udp(53, b"12345");
    datagram[5] = 3;
    assert_eq!(one(RAW, &ipv4(17, &datagram)).transport, Transport::Other);
}

#[test]
fn datagrams_tell_their_length_and_first_byte() {
    let evidence = |stated: u16| {
        let mut datagram = udp(443, &[0x60, 1, 2, 3]);
        datagram[4..6].copy_from_slice(&stated.to_be_bytes());
        udp_of(&one(RAW, &ipv4(17, &datagram)))
    };
    let first = Some(0x60);
    assert_eq!(evidence(12), Udp { payload: 4, first });
    assert_eq!(evidence(10), Udp { payload: 2, first });
    // A length of zero means a jumbogram; a length beyond the packet is cut.
    assert_eq!(evidence(0), Udp { payload: 4, first });
    assert_eq!(evidence(900), Udp { payload: 4, first });
    let nothing = Udp {
        payload: 0,
        first: None,
    };
    assert_eq!(evidence(8), nothing);
}

#[test]
fn other_protocols_tell_ports_where_they_have_them() {
    for protocol in [33, 132, 136] {
        let packet = one(RAW, &ipv4(protocol, &tcp(&[], 0)));
        assert_eq!(
            (packet.flow.source_port, packet.transport),
            (1234, Transport::Other)
        );
    }
    let packet = one(RAW, &ipv4(1, &tcp(&[], 0)));
    assert_eq!(
        (packet.flow.source_port, packet.transport),
        (0, Transport::Other)
    );
}

/// At each snap length, only captured fields are returned, and lengths are those of the wire.
#[test]
fn a_snap_length_takes_away_no_more_than_it_cuts_off() {
    let options = [2, 4, 5, 180, 1, 1, 8, 10, 0, 0, 0, 9, 0, 0, 0, 7];
    let whole = ethernet(0x0800, &ipv4(6, &tcp(&options, 1000)));
    let complete = tcp_of(&one(ETHERNET, &whole));
    for end in 0..whole.len() {
        let file = Pcap::default().snapped(SECOND, &whole[..end], whole.len() as u32);
        let outcome = read(&file.bytes);
        let notes = outcome.notes;
        assert_eq!(
            (notes.snapped, notes.undecodable, notes.not_ip),
            (1, 0, 0),
            "{end}"
        );
        if end < 34 {
            assert_eq!(notes.cut_before_ip, 1);
            continue;
        }
        let packet = outcome.packets[0];
        assert_eq!((packet.bytes, packet.frame_bytes), (1056, 1070));
        assert_eq!(packet.flow.source_port, if end < 38 { 0 } else { 1234 });
        assert_eq!(notes.cut_in_transport, u64::from(end < 70), "{end}");
        if end < 54 {
            assert_eq!(packet.transport, Transport::Other);
            continue;
        }
        let expected = Tcp {
            segment_size: complete.segment_size.filter(|_| end >= 58),
            timestamps: complete.timestamps.filter(|_| end >= 70),
            ..complete
        };
        assert_eq!(tcp_of(&packet), expected, "{end}");
    }
}
