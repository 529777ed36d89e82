//! Hostile files: random bytes, damaged files and files that expand without end. Each frame becomes
//! a packet or a count, or the file fails once with a one-line error. The memory stays bounded.

mod common;

use std::io::{Cursor, Read};

use common::{
    Pcap, Pcapng, SECOND, ethernet, gzip, ipv4, ipv6, read, tcp, udp, zstd, zstd_of_zeros,
};
use forebay_attack::allocations::{Counted, peak_of};
use forebay_capture::{Notes, Reader};
use proptest::prelude::*;
use proptest::sample::Index;

#[global_allocator]
static COUNTED: Counted = Counted;

/// Files with every kind of content.
fn files() -> Vec<Vec<u8>> {
    let vxlan = [
        &[8, 0, 0, 0, 0, 0, 5, 0],
        &ethernet(0x0800, &ipv4(6, &tcp(&[], 9)))[..],
    ]
    .concat();
    let frames = [
        ethernet(
            0x0800,
            &ipv4(6, &tcp(&[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2], 60)),
        ),
        ethernet(
            0x86dd,
            &ipv6(0, &[&[6, 0, 1, 4, 0, 0, 0, 0], &tcp(&[], 9)[..]].concat()),
        ),
        ethernet(
            0x8100,
            &[&[0, 5, 8, 0], &ipv4(17, &udp(443, b"quic"))[..]].concat(),
        ),
        ethernet(
            0x8847,
            &[&[0, 1, 1, 1], &ipv4(47, &[0, 0, 8, 0, 0x45])[..]].concat(),
        ),
        ethernet(
            0x8864,
            &[&[0x11, 0, 0, 1, 0, 30, 0, 0x21], &ipv4(1, &[8; 20])[..]].concat(),
        ),
        ethernet(0x0800, &ipv4(17, &udp(4789, &vxlan))),
    ];
    let old = |big| {
        let put = |file: Pcap, frame: &Vec<u8>| file.frame(7 * SECOND, frame);
        frames.iter().fold(Pcap::new(big, big), put).bytes
    };
    let new = |big| {
        let empty = Pcapng::new(big).interface(1, 0, &[(2, b"eth0"), (9, &[9])]);
        let (flags, lost) = (empty.word(1), empty.long(1));
        let put =
            |file: Pcapng, frame: &Vec<u8>| file.packet(0, 5, frame, &[(2, &flags), (4, &lost)]);
        let file = frames.iter().fold(empty, put);
        let file = file.obsolete(0, 1, 9, &frames[0]).simple(&frames[1], 99);
        file.block(4, &[0; 8]).statistics(0, &[(5, &lost)]).bytes
    };
    let cooked = |link_type, ahead: &[u8]| {
        let frame = [ahead, &ipv4(6, &tcp(&[], 5))[..]].concat();
        Pcap::default().link(link_type).frame(SECOND, &frame).bytes
    };
    vec![
        old(false),
        old(true),
        new(false),
        new(true),
        cooked(113, &[0, 4, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 8, 0]),
        cooked(
            276,
            &[8, 0, 0, 0, 0, 0, 0, 3, 0, 1, 4, 6, 1, 2, 3, 4, 5, 6, 0, 0],
        ),
        gzip(&new(false)),
        zstd(&old(false)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn random_bytes_are_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        read(&bytes);
    }

    #[test]
    fn random_records_are_refused_or_read(
        file: Index, bytes in prop::collection::vec(any::<u8>(), 0..400)
    ) {
        let files = files();
        let whole = file.get(&files);
        let header = whole.len().min(48);
        read(&[&whole[..header], &bytes].concat());
    }

    #[test]
    fn random_frames_are_told_or_counted(
        link in prop::sample::select(vec![0_u16, 1, 9, 12, 50, 51, 101, 108, 113, 228, 276]),
        kind in prop::sample::select(vec![0x0800_u16, 0x86dd, 0x8100, 0x8847, 0x8864, 0x6558]),
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        more in 0..100_u32,
    ) {
        let wire = bytes.len() as u32 + more;
        let file = Pcap::default().link(link).snapped(5, &bytes, wire);
        prop_assert_eq!(read(&file.bytes).notes.frames, 1);
        let frame = ethernet(kind, &bytes);
        let file = Pcap::default().snapped(5, &frame, wire + 14);
        prop_assert_eq!(read(&file.bytes).notes.frames, 1);
    }

    #[test]
    fn damaged_files_are_refused_or_read(
        file: Index,
        damage in prop::collection::vec((any::<Index>(), any::<u8>()), 1..6),
        end: Option<Index>,
    ) {
        let files = files();
        let mut bytes = file.get(&files).clone();
        for (place, value) in damage {
            *place.get_mut(&mut bytes) = value;
        }
        if let Some(end) = end {
            bytes.truncate(end.index(bytes.len()));
        }
        read(&bytes);
    }
}

/// The notes of a source, and the largest memory in bytes while it was read.
fn peak(source: impl Read + Send + 'static) -> (Notes, usize) {
    peak_of(|| {
        let mut reader = Reader::new("test", source, None).expect("a capture");
        while reader.next().is_ok_and(|packet| packet.is_some()) {}
        reader.notes()
    })
}

/// A record of 16 zero bytes is an empty frame, so 128 MiB of zeros hold 8 Mi frames.
#[test]
fn bombs_are_read_within_a_bound() {
    const ZEROS: usize = 128 << 20;
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let header = Pcap::default().bytes;
    let whole = header
        .as_slice()
        .chain(std::io::repeat(0).take(ZEROS as u64));
    std::io::copy(&mut { whole }, &mut packer).unwrap();
    let gzipped = packer.finish().unwrap();
    assert!(gzipped.len() < ZEROS / 100);
    let (notes, peak_of_gzip) = peak(Cursor::new(gzipped));
    assert_eq!(notes.undecodable, (ZEROS / 16) as u64);
    assert!(peak_of_gzip < 2 << 20, "{peak_of_gzip} bytes");

    let blocks = ZEROS >> 17;
    let packed = [zstd(&header), zstd_of_zeros(blocks)].concat();
    assert!(packed.len() < 10_000);
    let (notes, peak_of_zstd) = peak(Cursor::new(packed));
    assert_eq!(notes.undecodable, (ZEROS / 16) as u64);
    // The bound covers the window, twice while it grows, and the tables.
    assert!(peak_of_zstd < 40 << 20, "{peak_of_zstd} bytes");
}

/// Four bytes that mean 128 KiB could go on for hours.
#[test]
fn expansion_without_end_is_refused() {
    let blocks = (1 << 28 >> 17) + 100;
    let packed = [zstd(&Pcap::default().bytes), zstd_of_zeros(blocks)].concat();
    let size = packed.len() as u64;
    let mut reader = Reader::new("test", Cursor::new(packed), Some(size)).unwrap();
    let evidence = reader.next().unwrap_err().to_string();
    assert!(
        evidence.ends_with("allowed: 400 times as many"),
        "{evidence}"
    );
    assert!(reader.notes().undecodable >= (1 << 28) / 16 - (1 << 17));
}

/// An announced window takes no memory before there are bytes for it.
#[test]
fn announcements_take_no_memory() {
    let mut block = Pcapng::new(false).interface(1, 0, &[]).bytes;
    block.extend([6, 0, 0, 0, 0, 0, 0, 1]);
    // The block is longer than one read, so the window has to grow.
    block.resize(300 << 10, 0);
    let (notes, held) = peak(Cursor::new(block));
    assert_eq!(notes.ended_early, 1);
    assert!(held < 2 << 20, "{held} bytes");
}

#[test]
fn memory_does_not_grow_with_a_file() {
    let frame = ethernet(0x0800, &ipv4(6, &tcp(&[], 1000)));
    let record = Pcap::default().frame(SECOND, &frame).bytes.split_off(24);
    let of = |records: usize| {
        let file = [Pcap::default().bytes, record.repeat(records)].concat();
        peak(Cursor::new(file))
    };
    let (few, some) = of(1000);
    let (many, more) = of(50_000);
    assert_eq!((few.packets, many.packets), (1000, 50_000));
    // The counter subtracts the file itself, because the cursor was made outside.
    assert_eq!(some, more);
}
