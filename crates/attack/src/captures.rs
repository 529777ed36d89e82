//! Captures of packets: written by a mirror port, damaged by a disk or invented.

use std::io::Cursor;

use forebay_capture::{Packet, Reader, Transport};

use crate::check_sentence;

/// Reads a capture. Each frame is counted once, as a packet or as something else. The reader
/// refuses the file at most once, with one line.
pub(crate) fn feed(bytes: &[u8]) {
    let size = bytes.len() as u64;
    let mut reader = match Reader::new("capture", Cursor::new(bytes.to_vec()), Some(size)) {
        Ok(reader) => reader,
        Err(error) => return check_sentence(&error.to_string()),
    };
    let mut packets = 0;
    loop {
        match reader.next() {
            Ok(Some(packet)) => {
                packets += 1;
                check(&packet, &reader);
            }
            Ok(None) => break,
            Err(error) => {
                check_sentence(&error.to_string());
                assert_eq!(reader.next(), Ok(None), "it was refused before");
                break;
            }
        }
    }
    let notes = reader.notes();
    assert_eq!(notes.packets, packets);
    let others = notes.not_ip + notes.undecodable + notes.cut_before_ip + notes.unknown_link;
    assert_eq!(notes.frames, packets + others, "{notes:?}");
    assert_eq!(notes.unknown_link > 0, notes.unknown_link_type.is_some());
    assert_eq!(notes.steps_back > 0, notes.largest_step_back > 0);
    let parts = [
        notes.fragments,
        notes.tunneled,
        notes.unstated_length,
        notes.cut_in_transport,
        notes.dropped,
    ];
    assert!(parts.iter().all(|part| *part <= packets), "{notes:?}");
    assert!(notes.snapped <= notes.frames && notes.untimed <= notes.frames);
    assert!(reader.progress().read <= size);
}

fn check(packet: &Packet, reader: &Reader) {
    assert!(usize::from(packet.interface) < reader.interfaces().len());
    let least = if packet.flow.source.is_ipv4() { 20 } else { 40 };
    assert!(packet.bytes >= least, "{packet:?}");
    let (header, payload) = match packet.transport {
        Transport::Tcp(tcp) => (20, tcp.payload),
        Transport::Udp(udp) => (8, udp.payload),
        Transport::Other => (0, 0),
        Transport::Fragment => {
            assert_eq!(
                (packet.flow.source_port, packet.flow.destination_port),
                (0, 0)
            );
            (0, 0)
        }
    };
    assert!(header + payload <= packet.bytes - least, "{packet:?}");
}
