//! Files that end early, are damaged or are no captures: the packets before the damage are
//! returned, then one error in a line.

use crate::common::{Pcapng, frames, gzip, packets, pcap, pcapng, read, zstd};
use forebay_capture::{CaptureError, Progress, Reader, Transport};

#[test]
fn what_stands_before_the_end_of_a_file_cut_anywhere_is_told() {
    let plain = [
        pcap(false, false),
        pcap(true, true),
        pcapng(false),
        pcapng(true),
    ];
    for file in plain {
        let whole = packets(&file);
        let mut most = 0;
        for end in 0..file.len() {
            let outcome = read(&file[..end]);
            let evidence = outcome.packets.len();
            assert!(evidence >= most, "{evidence} at {end}");
            most = evidence;
            assert_eq!(outcome.packets, whole[..evidence]);
            // A truncated header is an error; all else is read.
            assert_eq!(outcome.error.is_some(), end < header(&file), "{end}");
            let between = outcome.error.is_some() || boundaries(&file).contains(&end);
            assert_eq!(outcome.notes.ended_early, u64::from(!between), "{end}");
        }
        assert_eq!(most, whole.len() - 1);
    }
}

/// Length of a file's header.
fn header(file: &[u8]) -> usize {
    if file[0] == 0x0a { 28 } else { 24 }
}

/// Ends of the records of a file of this test.
fn boundaries(file: &[u8]) -> Vec<usize> {
    let ng = file[0] == 0x0a;
    let mut ends = vec![header(file)];
    if ng {
        ends.push(48);
    }
    let mut end = ends[ends.len() - 1];
    for (_, frame) in frames() {
        end += if ng {
            32 + frame.len().next_multiple_of(4)
        } else {
            16 + frame.len()
        };
        ends.push(end);
    }
    assert_eq!(end, file.len());
    ends
}

#[test]
fn packed_files_that_are_cut_tell_what_could_be_unpacked() {
    let plain: Vec<u8> = pcap(false, false);
    let whole = packets(&plain);
    // Gzip members and Zstandard frames of a few bytes each can be unpacked up to the cut.
    for pack in [gzip as fn(&[u8]) -> Vec<u8>, zstd] {
        let pieces: Vec<Vec<u8>> = plain.chunks(40).map(pack).collect();
        let file = pieces.concat();
        assert_eq!(packets(&file), whole);
        let mut most = 0;
        for end in 0..file.len() {
            let outcome = read(&file[..end]);
            let evidence = outcome.packets.len();
            assert_eq!(outcome.packets, whole[..evidence]);
            if outcome.error.is_none() {
                assert!(evidence >= most, "{evidence} at {end}");
                most = evidence;
            } else {
                assert_eq!(most, 0, "{:?} at {end}", outcome.error);
            }
        }
        // If only a checksum is missing, all packets may have come.
        assert!(most >= whole.len() - 1);
        let last = read(&file[..file.len() - 1]);
        assert_eq!((last.error, last.notes.ended_early), (None, 1));
    }
}

#[test]
fn damage_in_what_packs_is_told_after_the_packets_before() {
    let plain = pcap(false, false);
    for (pack, name) in [(gzip as fn(&[u8]) -> Vec<u8>, "gzip"), (zstd, "zstd")] {
        let (first, second) = plain.split_at(plain.len() - 10);
        let mut damaged = pack(second);
        let last = damaged.len() - 6;
        damaged[last] ^= 0x40;
        let file = [pack(first), damaged].concat();
        let outcome = read(&file);
        let Some(CaptureError::Packed { packing, .. }) = outcome.error else {
            panic!("{outcome:?}");
        };
        assert_eq!((packing, outcome.packets.len() >= 2), (name, true));
    }
    let behind = [gzip(&plain), b"what is this".to_vec()].concat();
    let outcome = read(&behind);
    assert_eq!(outcome.packets.len(), 3);
    assert!(matches!(outcome.error, Some(CaptureError::Packed { .. })));
}

#[test]
fn a_checksum_of_zstandard_is_compared() {
    let plain = pcap(false, false);
    let mut packed = zstd(&plain);
    // The checksum of a frame is its last four bytes, if its header says that there is one.
    assert_ne!(packed[4] & 0x04, 0, "no checksum");
    *packed.last_mut().unwrap() ^= 1;
    let outcome = read(&packed);
    assert_eq!(outcome.packets.len(), 3);
    let evidence = outcome.error.unwrap().to_string();
    assert!(evidence.contains("checksum"), "{evidence}");
}

#[test]
fn windows_and_dictionaries_beyond_what_is_allowed_are_refused() {
    let mut window = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 18 << 3, 1, 0, 0];
    window.extend([0; 64]);
    let evidence = read(&window).error.unwrap().to_string();
    let expected = "test: near byte 73, in what zstd has packed: found a window of 268435456 bytes; \
                    allowed: at most 134217728";
    assert_eq!(evidence, expected);
    let dictionary = [0x28, 0xb5, 0x2f, 0xfd, 0x01, 0, 7, 1, 0, 0];
    let evidence = read(&dictionary).error.unwrap().to_string();
    assert!(
        evidence.ends_with("found dictionary 7; allowed: frames that need none"),
        "{evidence}"
    );
}

#[test]
fn lengths_that_cannot_be_are_refused_where_they_stand() {
    let plain = pcap(false, false);
    let evidence = |at: usize, value: u32, file: &[u8]| {
        let mut file = file.to_vec();
        file[at..at + 4].copy_from_slice(&value.to_le_bytes());
        read(&file)
    };
    let outcome = evidence(32, u32::MAX, &plain);
    let expected = "test: at byte 24: found a frame of 4294967295 bytes; allowed: at most 262144";
    assert_eq!(outcome.error.unwrap().to_string(), expected);
    assert_eq!(evidence(32, 262_145, &plain).packets.len(), 0);
    assert_eq!(evidence(32, 262_144, &plain).notes.ended_early, 1);

    let file = pcapng(false);
    let block = 48;
    for length in [0, 11, (1 << 24) + 1, u32::MAX] {
        let outcome = evidence(block + 4, length, &file);
        let expected =
            format!("test: at byte 48: found a block of {length} bytes; allowed: 12 to 16777216");
        assert_eq!(outcome.error.unwrap().to_string(), expected);
    }
    assert_eq!(evidence(block + 4, 1 << 24, &file).notes.ended_early, 1);
    // The block is shorter than its header, but its two lengths are equal.
    let short = Pcapng::new(false).interface(1, 0, &[]).block(6, &[0; 12]);
    let bytes = read(&short.bytes).error.unwrap().to_string();
    assert!(bytes.contains("lengths do not fit"), "{bytes}");
    // The captured length exceeds the block.
    for captured in [1 << 20, u32::MAX] {
        let error = evidence(block + 20, captured, &file)
            .error
            .unwrap()
            .to_string();
        assert!(error.contains("at byte 48"), "{error}");
        let outcome = Pcapng::new(false)
            .interface(1, 0, &[])
            .obsolete(0, 0, 0, &[0; 40]);
        let error = evidence(48 + 20, captured, &outcome.bytes)
            .error
            .unwrap()
            .to_string();
        assert!(error.contains("at byte 48"), "{error}");
    }
    let outcome = evidence(file.len() - 4, 99, &file);
    assert_eq!(outcome.packets.len(), 2);
    let error = outcome.error.unwrap().to_string();
    assert!(error.contains("that states 99 at its end"), "{error}");
}

#[test]
fn packets_of_interfaces_that_nobody_declared_are_refused() {
    let (_, frame) = frames().remove(0);
    let evidence = |file: Pcapng| read(&file.bytes).error.unwrap().to_string();
    let empty = Pcapng::new(false);
    let expected = "found interface 0; allowed: none: the section has declared no interface";
    assert!(evidence(empty.clone().packet(0, 0, &frame, &[])).ends_with(expected));
    assert!(evidence(empty.clone().simple(&frame, 60)).ends_with(expected));
    let one = empty.interface(1, 0, &[]);
    assert!(
        evidence(one.clone().packet(1, 0, &frame, &[])).ends_with("found interface 1; allowed: 0")
    );
    let two = one.interface(1, 0, &[]);
    let many = evidence(two.clone().statistics(9, &[]));
    assert!(
        many.ends_with("found interface 9; allowed: 0 to 1"),
        "{many}"
    );
    // A new section starts with no interfaces.
    let anew = two.section(false).packet(0, 0, &frame, &[]);
    assert!(evidence(anew).ends_with(expected));
}

#[test]
fn as_many_interfaces_as_there_are_numbers_are_read() {
    let (_, frame) = frames().remove(0);
    let all = (0..1 << 16).fold(Pcapng::new(false), |file, _| file.interface(1, 0, &[]));
    let outcome = read(&all.clone().packet(0xffff, 5, &frame, &[]).bytes);
    assert_eq!(
        (outcome.error, outcome.packets[0].interface),
        (None, 0xffff)
    );
    let evidence = read(&all.interface(1, 0, &[]).bytes)
        .error
        .unwrap()
        .to_string();
    assert!(
        evidence.ends_with("found interface 65537; allowed: at most 65536"),
        "{evidence}"
    );
}

#[test]
fn what_is_no_capture_is_refused_in_a_line() {
    let allowed =
        "; allowed: a capture in the format pcap or pcapng, plain or packed with gzip or zstd";
    let evidence = |bytes: &[u8]| read(bytes).error.unwrap().to_string();
    assert_eq!(evidence(b""), format!("test: found no byte{allowed}"));
    let text = evidence(b"time,bytes\n");
    assert_eq!(
        text,
        format!("test: found bytes 74 69 6d 65 at the beginning{allowed}")
    );
    let packed = evidence(&gzip(b"time,bytes\n"));
    let expected = "test: found bytes 74 69 6d 65 at the beginning within gzip";
    assert_eq!(packed, format!("{expected}{allowed}"));
    // The file is packed twice.
    assert!(evidence(&gzip(&gzip(&pcap(false, false)))).contains("1f 8b 08"));
    let mut version = pcap(false, false);
    version[4] = 3;
    assert_eq!(
        evidence(&version),
        "test: at byte 0: found pcap of version 3.4; allowed: 2.4"
    );
    let mut big = pcap(true, false);
    big[..4].copy_from_slice(&0xa1b2_cd34_u32.to_be_bytes());
    assert!(evidence(&big).contains("Kuznetzov"));
    let mut version = pcapng(false);
    version[12] = 2;
    assert_eq!(
        evidence(&version),
        "test: at byte 0: found pcapng of version 2.0; allowed: 1.0"
    );
    let mut order = pcapng(false);
    order[8] = 0;
    assert!(evidence(&order).contains("byte-order magic 003c2b1a"));
}

#[test]
fn files_are_opened_and_their_progress_told() {
    let folder = std::env::temp_dir();
    let missing = folder.join("forebay no such\u{1b}[31m file.pcap");
    let error = Reader::open(&missing).unwrap_err().to_string();
    forebay_attack::check_sentence(&error);
    assert!(
        error.ends_with("cannot be read: No such file or directory"),
        "{error}"
    );
    let error = Reader::open(&folder).unwrap_err().to_string();
    assert!(error.ends_with("cannot be read: Is a directory"), "{error}");

    let path = folder.join(format!("forebay-files-{}.pcap.gz", std::process::id()));
    let bytes = gzip(&pcap(false, false));
    std::fs::write(&path, &bytes).unwrap();
    let mut reader = Reader::open(&path).unwrap();
    let mut evidence = 0;
    while reader.next().unwrap().is_some() {
        evidence += 1;
    }
    std::fs::remove_file(&path).unwrap();
    let size = bytes.len() as u64;
    let whole = Progress {
        read: size,
        size: Some(size),
    };
    assert_eq!((evidence, reader.progress()), (3, whole));
}

#[test]
fn a_source_that_fails_is_told_after_the_packets_before() {
    struct Failing(Vec<u8>);
    impl std::io::Read for Failing {
        fn read(&mut self, space: &mut [u8]) -> std::io::Result<usize> {
            let some = self.0.len().min(space.len()).min(50);
            if some == 0 {
                return Err(std::io::Error::from_raw_os_error(5));
            }
            space[..some].copy_from_slice(&self.0[..some]);
            self.0.drain(..some);
            Ok(some)
        }
    }
    let plain = pcap(false, false);
    let packed = [zstd(&plain), zstd(&[0; 1000])[..9].to_vec()].concat();
    for bytes in [plain.clone(), gzip(&plain), packed] {
        let mut reader = Reader::new("disk", Failing(bytes), None).unwrap();
        for _ in 0..3 {
            let packet = reader.next().unwrap().unwrap();
            assert_ne!(packet.transport, Transport::Other);
        }
        let error = reader.next().unwrap_err().to_string();
        assert_eq!(error, "disk: cannot be read: Input/output error");
        assert_eq!(reader.next(), Ok(None));
    }
}
