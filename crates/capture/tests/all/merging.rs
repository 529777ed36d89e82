//! Several files merged in order of time, with interfaces counted over all of them.

use std::io::Cursor;

use crate::common::{Pcap, Pcapng, SECOND, ethernet, ipv4, tcp};
use forebay_capture::{Packet, Reader, merged, merged_level};
use proptest::prelude::*;

fn reader(name: &str, bytes: &[u8]) -> Reader {
    let size = bytes.len() as u64;
    Reader::new(name, Cursor::new(bytes.to_vec()), Some(size)).expect("a capture")
}

fn frame(payload: usize) -> Vec<u8> {
    ethernet(0x0800, &ipv4(6, &tcp(&[], payload)))
}

fn pcap(times: &[u64]) -> Vec<u8> {
    let put = |file: Pcap, time: &u64| file.frame(*time, &frame(0));
    times.iter().fold(Pcap::default(), put).bytes
}

fn all(readers: Vec<Reader>) -> Vec<Packet> {
    let mut merged = merged(readers).expect("captures");
    let mut packets = Vec::new();
    while let Some(packet) = merged.next().expect("no damage") {
        packets.push(packet);
    }
    packets
}

proptest! {
    #[test]
    fn packets_come_in_order_and_all_of_them(
        mut times in prop::collection::vec(prop::collection::vec(0..20_u64, 0..12), 0..5)
    ) {
        for times in &mut times {
            times.sort_unstable();
        }
        let readers = times.iter().map(|times| reader("file", &pcap(times))).collect();
        let evidence: Vec<_> = all(readers).iter().map(|one| (one.time, one.interface)).collect();
        let mut expected: Vec<_> = times
            .iter()
            .zip(0..)
            .flat_map(|(times, file)| times.iter().map(move |time| (*time, file)))
            .collect();
        // Among packets of the same time, those of the first file come first.
        expected.sort_unstable();
        prop_assert_eq!(evidence, expected);
    }
}

#[test]
fn a_clock_that_is_ahead_is_put_back() {
    let files = [pcap(&[100, 200, 300]), pcap(&[1150, 1250])];
    for (ahead_by, expected) in [
        (
            &[0, 1000][..],
            vec![(100, 0), (150, 1), (200, 0), (250, 1), (300, 0)],
        ),
        (
            &[-1000],
            vec![(1100, 0), (1150, 1), (1200, 0), (1250, 1), (1300, 0)],
        ),
        // Times before the epoch become zero.
        (&[250, 1200], vec![(0, 0), (0, 0), (0, 1), (50, 0), (50, 1)]),
        (
            &[],
            vec![(100, 0), (200, 0), (300, 0), (1150, 1), (1250, 1)],
        ),
    ] {
        let readers = files.iter().map(|bytes| reader("file", bytes)).collect();
        let mut level = merged_level(readers, ahead_by).expect("captures");
        let mut evidence = Vec::new();
        while let Some(packet) = level.next().expect("no damage") {
            evidence.push((packet.time, packet.interface));
        }
        assert_eq!(evidence, expected, "{ahead_by:?}");
    }
}

#[test]
fn interfaces_are_counted_over_the_files_in_their_order() {
    let late = Pcapng::new(false)
        .interface(1, 0, &[(2, b"a"), (9, &[9])])
        .packet(0, 50, &frame(0), &[])
        .interface(1, 0, &[(2, b"b"), (9, &[9])])
        .packet(1, 60, &frame(0), &[(1, b"dropped")]);
    let early = Pcapng::new(true)
        .interface(1, 0, &[(2, b"c"), (9, &[9])])
        .interface(1, 0, &[(2, b"d"), (9, &[9])])
        .packet(1, 10, &frame(0), &[])
        .packet(0, 55, &frame(0), &[])
        .statistics(0, &[(5, &4_u64.to_be_bytes())]);
    let mut both = merged(vec![
        reader("late", &late.bytes),
        reader("early", &early.bytes),
    ])
    .unwrap();
    let mut evidence = Vec::new();
    while let Some(packet) = both.next().unwrap() {
        let (file, interface) = both.interface(packet.interface).unwrap();
        let name = interface.name.clone().unwrap();
        evidence.push((
            packet.time,
            packet.interface,
            file,
            name,
            both.was_dropped(),
        ));
    }
    let expected = [
        (10, 2, 1, "d", false),
        (50, 0, 0, "a", false),
        (55, 1, 1, "c", false),
        (60, 3, 0, "b", true),
    ];
    let expected = expected
        .map(|(time, number, file, name, dropped)| (time, number, file, name.to_owned(), dropped));
    assert_eq!(evidence, expected);
    assert!(both.interface(4).is_none());
    let notes = both.notes();
    assert_eq!(
        (notes.packets, notes.frames, notes.lost, notes.dropped),
        (4, 4, 4, 1)
    );
    let progress = both.progress();
    let size = (late.bytes.len() + early.bytes.len()) as u64;
    assert_eq!((progress.read, progress.size), (size, Some(size)));
    let names: Vec<_> = both.readers().map(Reader::name).collect();
    assert_eq!(names, ["late", "early"]);
}

#[test]
fn an_error_comes_once_behind_the_packets_before_it() {
    let mut damaged = pcap(&[SECOND, 3 * SECOND, 5 * SECOND]);
    let last = damaged.len() - frame(0).len() - 8;
    damaged[last..last + 4].copy_from_slice(&[0xff; 4]);
    let whole = pcap(&[2 * SECOND, 4 * SECOND]);
    let mut both = merged(vec![reader("damaged", &damaged), reader("whole", &whole)]).unwrap();
    let times: Vec<u64> = (0..3)
        .map(|_| both.next().unwrap().unwrap().time / SECOND)
        .collect();
    assert_eq!(times, [1, 2, 3]);
    let error = both.next().unwrap_err().to_string();
    assert!(error.starts_with("damaged: at byte "), "{error}");
    assert_eq!(both.next(), Ok(None));
}

#[test]
fn more_interfaces_than_numbers_are_refused() {
    let many = (0..40_000).fold(Pcapng::new(false), |file, _| file.interface(1, 0, &[]));
    let many = many.packet(0, 5, &frame(0), &[]).bytes;
    let error = merged(vec![reader("first", &many), reader("second", &many)]).unwrap_err();
    let expected =
        "second: found interface 65537 with those of the files before; allowed: at most 65536";
    assert_eq!(error.to_string(), expected);
}
