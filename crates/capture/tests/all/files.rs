//! Files of both formats, in both byte orders, plain and packed: the same packets are read from
//! each.

use crate::common::{
    EPOCH, Pcap, Pcapng, SECOND, ethernet, frames, gzip, packets, pcap, pcapng, read, skippable,
    zstd,
};
use forebay_capture::Reader;

#[test]
fn times_lengths_and_order_are_those_of_the_file() {
    let evidence = packets(&pcap(false, true));
    let expected: Vec<(u64, u32)> = frames()
        .iter()
        .map(|(time, frame)| (*time, frame.len() as u32))
        .collect();
    let found: Vec<(u64, u32)> = evidence
        .iter()
        .map(|one| (one.time, one.frame_bytes))
        .collect();
    assert_eq!(found, expected);
    assert!(evidence.iter().all(|one| one.bytes == one.frame_bytes - 14));
}

#[test]
fn each_format_and_order_tells_the_same_packets() {
    let expected = packets(&pcap(false, true));
    for file in [
        pcap(false, false),
        pcap(true, false),
        pcap(true, true),
        pcapng(false),
        pcapng(true),
    ] {
        assert_eq!(packets(&file), expected);
    }
}

#[test]
fn nanoseconds_are_told_where_the_file_has_them() {
    let (_, frame) = frames().remove(0);
    let evidence = |nano| {
        let file = Pcap::new(false, nano).frame(EPOCH + 123_456_789, &frame);
        packets(&file.bytes)[0].time
    };
    assert_eq!(evidence(true), EPOCH + 123_456_789);
    assert_eq!(evidence(false), EPOCH + 123_456_000);
}

#[test]
fn packed_files_tell_the_same_packets() {
    for plain in [pcap(false, false), pcapng(true)] {
        let expected = packets(&plain);
        let (first, second) = plain.split_at(plain.len() / 3);
        let pieces = |pack: fn(&[u8]) -> Vec<u8>| [pack(first), pack(second)].concat();
        assert_eq!(packets(&gzip(&plain)), expected);
        assert_eq!(packets(&zstd(&plain)), expected);
        assert_eq!(packets(&pieces(gzip)), expected);
        assert_eq!(packets(&pieces(zstd)), expected);
        let around = [
            skippable(5),
            zstd(first),
            skippable(0),
            zstd(second),
            skippable(300),
        ];
        assert_eq!(packets(&around.concat()), expected);
    }
}

#[test]
fn kuznetzovs_records_are_read() {
    let plain = pcap(false, false);
    let mut modified = plain[..24].to_vec();
    modified[..4].copy_from_slice(&0xa1b2_cd34_u32.to_le_bytes());
    for (time, frame) in frames() {
        let record = Pcap::new(false, false).frame(time, &frame).bytes;
        modified.extend(&record[24..40]);
        modified.extend([7, 0, 0, 0, 0, 8, 4, 0]);
        modified.extend(&record[40..]);
    }
    assert_eq!(packets(&modified), packets(&plain));
}

#[test]
fn upper_bits_of_the_link_type_tell_of_check_sequences() {
    let mut file = pcap(false, false);
    file[20..24].copy_from_slice(&0x2400_0001_u32.to_le_bytes());
    assert_eq!(packets(&file), packets(&pcap(false, false)));
}

#[test]
fn a_section_has_its_own_order_and_interfaces() {
    let (time, frame) = frames().remove(1);
    let raw = &frame[14..];
    let file = Pcapng::new(false)
        .interface(1, 0, &[(2, b"eth0")])
        .interface(101, 64, &[(2, b"tun0"), (9, &[9])])
        .packet(1, time, raw, &[])
        .packet(0, time / 1000, &frame, &[])
        .section(true)
        .interface(1, 0, &[(2, b"eth0")])
        .interface(101, 64, &[(2, b"wg0"), (9, &[0])])
        .packet(0, time / 1000, &frame, &[])
        .packet(1, time / SECOND, raw, &[]);
    let outcome = read(&file.bytes);
    assert_eq!(outcome.error, None);
    let evidence: Vec<(u16, u64)> = outcome
        .packets
        .iter()
        .map(|one| (one.interface, one.time))
        .collect();
    // The first interface is that of the section before; the second one is new.
    let seconds = time / SECOND * SECOND;
    assert_eq!(evidence, [(1, time), (0, time), (0, time), (2, seconds)]);
    let names: Vec<_> = outcome
        .interfaces
        .iter()
        .map(|one| one.name.as_deref())
        .collect();
    assert_eq!(names, [Some("eth0"), Some("tun0"), Some("wg0")]);
    let links: Vec<_> = outcome.interfaces.iter().map(|one| one.link_type).collect();
    assert_eq!(links, [1, 101, 101]);
    assert_eq!(outcome.interfaces[0].snap_length, None);
    assert_eq!(outcome.interfaces[1].snap_length, Some(64));
}

#[test]
fn clocks_have_their_own_ticks_and_beginnings() {
    let (_, frame) = frames().remove(0);
    let evidence = |big: bool, resolution: u8, offset: i64, ticks: u64| {
        let empty = Pcapng::new(big);
        let offset = empty.long(offset as u64);
        let file = empty
            .interface(1, 0, &[(9, &[resolution]), (14, &offset)])
            .packet(0, ticks, &frame, &[]);
        let outcome = read(&file.bytes);
        (outcome.packets[0].time, outcome.notes.beyond_time)
    };
    for big in [false, true] {
        assert_eq!(evidence(big, 6, 0, 1_500_000), (SECOND * 3 / 2, 0));
        assert_eq!(evidence(big, 0x8a, 0, 1536), (SECOND * 3 / 2, 0));
        assert_eq!(evidence(big, 12, 1, 2500), (SECOND + 2, 0));
        assert_eq!(evidence(big, 3, -1, 2500), (SECOND * 3 / 2, 0));
        assert_eq!(evidence(big, 9, 0, u64::MAX), (u64::MAX, 0));
        assert_eq!(evidence(big, 9, 1, u64::MAX), (u64::MAX, 1));
        assert_eq!(evidence(big, 0, 0, u64::MAX), (u64::MAX, 1));
        assert_eq!(evidence(big, 6, i64::MIN, 5), (0, 1));
        assert_eq!(evidence(big, 0x7f, i64::MAX, u64::MAX), (u64::MAX, 1));
        assert_eq!(evidence(big, 0xff, 3, u64::MAX), (3 * SECOND, 0));
    }
    // This is the latest time of pcap.
    let file = Pcap::default()
        .frame(u64::from(u32::MAX) * SECOND, &frame)
        .bytes;
    assert_eq!(packets(&file)[0].time, u64::from(u32::MAX) * SECOND);
    let mut beyond = file.clone();
    beyond[28..32].copy_from_slice(&[0xff; 4]);
    let evidence = packets(&beyond)[0].time;
    assert_eq!(evidence, u64::from(u32::MAX) * SECOND + u64::from(u32::MAX));
}

#[test]
fn flags_and_comments_and_losses_are_told() {
    let (time, frame) = frames().remove(0);
    for big in [false, true] {
        let empty = Pcapng::new(big).interface(1, 0, &[]).interface(1, 0, &[]);
        let flags = [1, 2, 0, 0xffff_fffd].map(|flags| empty.word(flags));
        let two = empty.long(2);
        let nine = empty.long(9);
        let file = empty
            .packet(0, time, &frame, &[(2, &flags[0])])
            .packet(
                0,
                time,
                &frame,
                &[(1, b"tail drop: Dropped"), (2, &flags[1])],
            )
            .packet(0, time, &frame, &[(2, &flags[2]), (4, &two)])
            .packet(0, time, &frame, &[(2, &flags[3]), (4, &two), (1, b"drop")])
            .statistics(0, &[(5, &two), (7, &two)])
            .statistics(0, &[(5, &nine), (7, &two)])
            .statistics(1, &[(5, &two)]);
        let outcome = read(&file.bytes);
        let inbound: Vec<_> = outcome.packets.iter().map(|one| one.inbound).collect();
        assert_eq!(inbound, [Some(true), Some(false), None, Some(true)]);
        assert_eq!(outcome.notes.dropped, 1);
        // The losses that packets report and those in the statistics are the same.
        assert_eq!(outcome.notes.lost, 9 + 2 + 2);
        assert_eq!(outcome.interfaces[0].lost, 11);
        assert_eq!(outcome.interfaces[1].lost, 2);
    }
}

#[test]
fn the_packet_that_was_dropped_is_known() {
    let (time, frame) = frames().remove(0);
    let file = Pcapng::new(false)
        .interface(1, 0, &[])
        .packet(0, time, &frame, &[(1, b"dropped")])
        .packet(0, time, &frame, &[]);
    let mut reader = Reader::new("test", std::io::Cursor::new(file.bytes), None).unwrap();
    let mut evidence = Vec::new();
    while reader.next().unwrap().is_some() {
        evidence.push(reader.was_dropped());
    }
    assert_eq!(evidence, [true, false]);
}

#[test]
fn losses_of_sections_are_added() {
    let empty = Pcapng::new(false).interface(1, 0, &[(2, b"eth0")]);
    let five = empty.long(5);
    let file = empty
        .statistics(0, &[(5, &five)])
        .section(false)
        .interface(1, 0, &[(2, b"eth0")])
        .statistics(0, &[(5, &five)]);
    let outcome = read(&file.bytes);
    assert_eq!((outcome.notes.lost, outcome.interfaces.len()), (10, 1));
}

#[test]
fn simple_and_obsolete_packets_are_read_and_other_blocks_passed_over() {
    let (_, frame) = frames().remove(1);
    let cut = &frame[..60];
    for big in [false, true] {
        let file = Pcapng::new(big)
            .interface(1, 60, &[])
            .block(4, &[1, 2, 3, 4])
            .obsolete(0, 3, 5_000_000, &frame)
            .block(0x0bad, &[])
            .simple(cut, frame.len() as u32)
            .obsolete(0, 0xffff, 6_000_000, &frame)
            .block(0x8000_0001, &[9; 33]);
        let outcome = read(&file.bytes);
        assert_eq!(outcome.error, None);
        let evidence: Vec<_> = outcome
            .packets
            .iter()
            .map(|one| (one.time, one.frame_bytes, one.bytes))
            .collect();
        let length = frame.len() as u32;
        let expected = [5, 5, 6].map(|seconds| (seconds * SECOND, length, length - 14));
        assert_eq!(evidence, expected);
        let notes = outcome.notes;
        assert_eq!((notes.untimed, notes.snapped, notes.lost), (1, 1, 3));
    }
}

#[test]
fn frames_that_are_no_packets_are_counted() {
    let (time, frame) = frames().remove(1);
    let file = Pcap::default()
        .frame(time, &ethernet(0x0806, &[0; 28]))
        .frame(time, &frame)
        .frame(time, &ethernet(0x0800, &[0x95; 40]))
        .snapped(time, &frame[..20], frame.len() as u32)
        .snapped(time, &frame[..60], frame.len() as u32);
    let notes = read(&file.bytes).notes;
    assert_eq!(notes.frames, 5);
    assert_eq!((notes.packets, notes.not_ip, notes.undecodable), (2, 1, 1));
    assert_eq!((notes.cut_before_ip, notes.snapped), (1, 2));
    assert_eq!((notes.cut_in_transport, notes.unknown_link), (1, 0));
    let notes = read(&Pcap::default().link(127).frame(time, &frame).bytes).notes;
    assert_eq!(
        (notes.unknown_link, notes.unknown_link_type),
        (1, Some(127))
    );
}

#[test]
fn steps_of_a_clock_are_told_for_each_interface() {
    let (_, frame) = frames().remove(0);
    let file = Pcapng::new(false)
        .interface(1, 0, &[])
        .interface(1, 0, &[])
        .packet(0, 9_000_000, &frame, &[])
        .packet(1, 2_000_000, &frame, &[])
        .packet(0, 8_000_000, &frame, &[])
        .packet(0, 4_500_000, &frame, &[])
        .packet(0, 4_400_000, &frame, &[])
        .packet(1, 2_000_000, &frame, &[]);
    let notes = read(&file.bytes).notes;
    assert_eq!(
        (notes.steps_back, notes.largest_step_back),
        (3, SECOND * 7 / 2)
    );
}
