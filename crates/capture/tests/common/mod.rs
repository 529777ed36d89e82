//! Packets, frames and files, built byte by byte, and the result of reading them.

#![allow(dead_code, reason = "two programs share this, and each uses a part")]

use std::io::{Cursor, Write};

use forebay_capture::{CaptureError, Interface, Notes, Packet, Reader, Tcp, Transport, Udp};

pub(crate) const SOURCE: [u8; 4] = [10, 0, 0, 1];
pub(crate) const DESTINATION: [u8; 4] = [192, 0, 2, 9];
/// Link type of Ethernet.
pub(crate) const ETHERNET: u16 = 1;
/// Link type of IP without a link layer.
pub(crate) const RAW: u16 = 101;
pub(crate) const SECOND: u64 = 1_000_000_000;

/// All packets of a file, the error that stopped the reading, and the notes up to then.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) packets: Vec<Packet>,
    pub(crate) notes: Notes,
    pub(crate) interfaces: Vec<Interface>,
    pub(crate) error: Option<CaptureError>,
}

/// Reads a file to its end.
pub(crate) fn read(file: &[u8]) -> Outcome {
    let mut outcome = Outcome {
        packets: Vec::new(),
        notes: Notes::default(),
        interfaces: Vec::new(),
        error: None,
    };
    match Reader::new("test", Cursor::new(file.to_vec()), Some(file.len() as u64)) {
        Ok(mut reader) => {
            loop {
                match reader.next() {
                    Ok(Some(packet)) => outcome.packets.push(packet),
                    Ok(None) => break,
                    Err(error) => {
                        outcome.error = Some(error);
                        assert_eq!(reader.next(), Ok(None), "one error");
                        break;
                    }
                }
            }
            outcome.notes = reader.notes();
            outcome.interfaces = reader.interfaces().to_vec();
        }
        Err(error) => outcome.error = Some(error),
    }
    check(&outcome);
    outcome
}

/// The only packet of a frame.
pub(crate) fn one(link_type: u16, frame: &[u8]) -> Packet {
    let outcome = of_frame(link_type, frame);
    assert_eq!(outcome.packets.len(), 1, "{:?}", outcome.notes);
    outcome.packets[0]
}

/// The outcome of reading a frame.
pub(crate) fn of_frame(link_type: u16, frame: &[u8]) -> Outcome {
    let outcome = read(&Pcap::default().link(link_type).frame(SECOND, frame).bytes);
    assert_eq!(outcome.error, None);
    outcome
}

/// Properties of every file: each frame has one class, and a message is one line.
fn check(outcome: &Outcome) {
    let notes = &outcome.notes;
    let became =
        notes.packets + notes.not_ip + notes.undecodable + notes.cut_before_ip + notes.unknown_link;
    assert_eq!(notes.frames, became, "{notes:?}");
    assert_eq!(notes.packets, outcome.packets.len() as u64);
    assert_eq!(notes.steps_back > 0, notes.largest_step_back > 0);
    for packet in &outcome.packets {
        assert!(usize::from(packet.interface) < outcome.interfaces.len());
    }
    if let Some(error) = &outcome.error {
        forebay_attack::check_sentence(&error.to_string());
    }
}

/// An IPv4 header of 20 bytes before a payload. Tests change fields of it in place.
pub(crate) fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let length = (20 + payload.len()) as u16;
    let mut packet = vec![0x45, 0x02];
    packet.extend(length.to_be_bytes());
    packet.extend([0x12, 0x34, 0x40, 0x00, 61, protocol, 0, 0]);
    packet.extend(SOURCE);
    packet.extend(DESTINATION);
    packet.extend(payload);
    packet
}

/// An IPv6 header before a payload.
pub(crate) fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0x10, 0, 0];
    packet.extend((payload.len() as u16).to_be_bytes());
    packet.extend([next, 63]);
    packet.extend([0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    packet.extend([0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
    packet.extend(payload);
    packet
}

/// A TCP header from port 1234 to 443 with options (a multiple of four bytes), and a payload.
pub(crate) fn tcp(options: &[u8], payload: usize) -> Vec<u8> {
    assert_eq!(options.len() % 4, 0);
    let words = (5 + options.len() / 4) as u8;
    let mut segment = Vec::new();
    segment.extend(1234_u16.to_be_bytes());
    segment.extend(443_u16.to_be_bytes());
    segment.extend(0x0102_0304_u32.to_be_bytes());
    segment.extend(0x0506_0708_u32.to_be_bytes());
    segment.extend([words << 4, 0x10, 0xab, 0xcd, 0, 0, 0, 0]);
    segment.extend(options);
    segment.resize(segment.len() + payload, 0x55);
    segment
}

/// A UDP header from port 1234 and a payload.
pub(crate) fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let mut datagram = Vec::new();
    datagram.extend(1234_u16.to_be_bytes());
    datagram.extend(port.to_be_bytes());
    datagram.extend((8 + payload.len() as u16).to_be_bytes());
    datagram.extend([0, 0]);
    datagram.extend(payload);
    datagram
}

/// An Ethernet frame.
pub(crate) fn ethernet(kind: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1];
    frame.extend(kind.to_be_bytes());
    frame.extend(payload);
    frame
}

/// A file in the pcap format.
#[derive(Clone, Debug)]
pub(crate) struct Pcap {
    pub(crate) big: bool,
    pub(crate) nano: bool,
    pub(crate) bytes: Vec<u8>,
}

impl Default for Pcap {
    fn default() -> Self {
        Self::new(false, true)
    }
}

impl Pcap {
    /// A file without packets, of link type 1.
    pub(crate) fn new(big: bool, nano: bool) -> Self {
        let magic: u32 = if nano { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
        let mut file = Self {
            big,
            nano,
            bytes: Vec::new(),
        };
        file.u32(magic);
        file.u16(2);
        file.u16(4);
        for field in [0, 0, 262_144, 1] {
            file.u32(field);
        }
        file
    }

    /// Changes the link type.
    pub(crate) fn link(mut self, link_type: u16) -> Self {
        let rest = self.bytes.split_off(24);
        self.bytes.truncate(20);
        self.u32(u32::from(link_type));
        self.bytes.extend(rest);
        self
    }

    /// Adds a frame that was captured whole.
    pub(crate) fn frame(self, time: u64, frame: &[u8]) -> Self {
        let wire = frame.len() as u32;
        self.snapped(time, frame, wire)
    }

    /// Adds a truncated frame with `wire` bytes on the wire.
    pub(crate) fn snapped(mut self, time: u64, captured: &[u8], wire: u32) -> Self {
        let unit = if self.nano { 1 } else { 1000 };
        self.u32((time / SECOND) as u32);
        self.u32((time % SECOND / unit) as u32);
        self.u32(captured.len() as u32);
        self.u32(wire);
        self.bytes.extend(captured);
        self
    }

    fn u32(&mut self, number: u32) {
        self.bytes.extend(ordered(self.big, number));
    }

    fn u16(&mut self, number: u16) {
        let bytes = number.to_le_bytes();
        let turned = number.to_be_bytes();
        self.bytes.extend(if self.big { turned } else { bytes });
    }
}

fn ordered(big: bool, number: u32) -> [u8; 4] {
    if big {
        number.to_be_bytes()
    } else {
        number.to_le_bytes()
    }
}

/// An option of a pcapng block: its code and its value.
pub(crate) type Choice<'a> = (u16, &'a [u8]);

/// A file in the pcapng format.
#[derive(Clone, Debug)]
pub(crate) struct Pcapng {
    pub(crate) big: bool,
    pub(crate) bytes: Vec<u8>,
}

impl Pcapng {
    /// A file with one section.
    pub(crate) fn new(big: bool) -> Self {
        let empty = Self {
            big,
            bytes: Vec::new(),
        };
        empty.section(big)
    }

    /// Adds a section with its own byte order.
    pub(crate) fn section(mut self, big: bool) -> Self {
        self.big = big;
        let mut body = Vec::new();
        body.extend(ordered(big, 0x1a2b_3c4d));
        body.extend(if big { [0, 1, 0, 0] } else { [1, 0, 0, 0] });
        body.extend([0xff; 8]);
        self.block(0x0a0d_0d0a, &body)
    }

    pub(crate) fn interface(self, link_type: u16, snap: u32, options: &[Choice<'_>]) -> Self {
        let mut body = Vec::new();
        body.extend(self.half(link_type));
        body.extend([0, 0]);
        body.extend(ordered(self.big, snap));
        body.extend(self.options(options));
        self.block(1, &body)
    }

    /// Adds an enhanced packet.
    pub(crate) fn packet(
        self,
        interface: u32,
        ticks: u64,
        frame: &[u8],
        options: &[Choice<'_>],
    ) -> Self {
        let mut body = Vec::new();
        let length = frame.len() as u32;
        for field in [
            interface,
            (ticks >> 32) as u32,
            ticks as u32,
            length,
            length,
        ] {
            body.extend(ordered(self.big, field));
        }
        body.extend(padded(frame));
        body.extend(self.options(options));
        self.block(6, &body)
    }

    /// Adds a simple packet whose captured bytes are given.
    pub(crate) fn simple(self, captured: &[u8], wire: u32) -> Self {
        let mut body = ordered(self.big, wire).to_vec();
        body.extend(padded(captured));
        self.block(3, &body)
    }

    /// Adds an obsolete packet block.
    pub(crate) fn obsolete(self, interface: u16, lost: u16, ticks: u64, frame: &[u8]) -> Self {
        let mut body = Vec::new();
        body.extend(self.half(interface));
        body.extend(self.half(lost));
        let length = frame.len() as u32;
        for field in [(ticks >> 32) as u32, ticks as u32, length, length] {
            body.extend(ordered(self.big, field));
        }
        body.extend(padded(frame));
        self.block(2, &body)
    }

    pub(crate) fn statistics(self, interface: u32, options: &[Choice<'_>]) -> Self {
        let mut body = Vec::new();
        for field in [interface, 0, 0] {
            body.extend(ordered(self.big, field));
        }
        body.extend(self.options(options));
        self.block(5, &body)
    }

    pub(crate) fn block(mut self, kind: u32, body: &[u8]) -> Self {
        let length = 12 + padded(body).len() as u32;
        self.bytes.extend(ordered(self.big, kind));
        self.bytes.extend(ordered(self.big, length));
        self.bytes.extend(padded(body));
        self.bytes.extend(ordered(self.big, length));
        self
    }

    /// A 64-bit number in the byte order of the section.
    pub(crate) fn long(&self, number: u64) -> [u8; 8] {
        if self.big {
            number.to_be_bytes()
        } else {
            number.to_le_bytes()
        }
    }

    /// A 32-bit number in the byte order of the section.
    pub(crate) fn word(&self, number: u32) -> [u8; 4] {
        ordered(self.big, number)
    }

    fn half(&self, number: u16) -> [u8; 2] {
        if self.big {
            number.to_be_bytes()
        } else {
            number.to_le_bytes()
        }
    }

    fn options(&self, options: &[Choice<'_>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (code, value) in options {
            bytes.extend(self.half(*code));
            bytes.extend(self.half(value.len() as u16));
            bytes.extend(padded(value));
        }
        if !options.is_empty() {
            bytes.extend([0; 4]);
        }
        bytes
    }
}

fn padded(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// One gzip member.
pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(bytes).expect("memory takes it");
    packer.finish().expect("memory takes it")
}

/// One Zstandard frame.
pub(crate) fn zstd(bytes: &[u8]) -> Vec<u8> {
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    ruzstd::encoding::compress_to_vec(bytes, level)
}

/// A skippable Zstandard frame.
pub(crate) fn skippable(bytes: usize) -> Vec<u8> {
    let mut frame = vec![0x53, 0x2a, 0x4d, 0x18];
    frame.extend((bytes as u32).to_le_bytes());
    frame.resize(8 + bytes, 0xee);
    frame
}

/// A Zstandard frame of `blocks` times 128 KiB of zeros, with four bytes for each (RFC 8878 section
/// 3.1.1.2).
pub(crate) fn zstd_of_zeros(blocks: usize) -> Vec<u8> {
    // The header states a window of 8 MiB, no size and no checksum.
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 13 << 3];
    for block in 0..blocks {
        let last = u32::from(block + 1 == blocks);
        let header: u32 = (128 << 10) << 3 | 1 << 1 | last;
        frame.extend(&header.to_le_bytes()[..3]);
        frame.push(0);
    }
    frame
}

/// Time of the first packet of `frames`.
pub(crate) const EPOCH: u64 = 1_700_000_000 * SECOND;

/// Three packets of different lengths, a microsecond and 7 s apart.
pub(crate) fn frames() -> Vec<(u64, Vec<u8>)> {
    vec![
        (EPOCH, ethernet(0x0800, &ipv4(6, &tcp(&[], 0)))),
        (EPOCH + 1000, ethernet(0x0800, &ipv4(6, &tcp(&[1; 8], 99)))),
        (
            EPOCH + 7 * SECOND,
            ethernet(0x0800, &ipv4(17, &udp(53, b"?"))),
        ),
    ]
}

/// The packets of `frames` in the pcap format.
pub(crate) fn pcap(big: bool, nano: bool) -> Vec<u8> {
    let file = Pcap::new(big, nano);
    let whole = frames()
        .iter()
        .fold(file, |file, (time, frame)| file.frame(*time, frame));
    whole.bytes
}

/// The packets of `frames` in the pcapng format.
pub(crate) fn pcapng(big: bool) -> Vec<u8> {
    let file = Pcapng::new(big).interface(1, 0, &[]);
    let put =
        |file: Pcapng, (time, frame): &(u64, Vec<u8>)| file.packet(0, time / 1000, frame, &[]);
    frames().iter().fold(file, put).bytes
}

/// The packets of a file without damage.
pub(crate) fn packets(file: &[u8]) -> Vec<Packet> {
    let outcome = read(file);
    assert_eq!(outcome.error, None);
    assert_eq!(outcome.notes.ended_early, 0);
    outcome.packets
}

/// The TCP header of a packet.
pub(crate) fn tcp_of(packet: &Packet) -> Tcp {
    let Transport::Tcp(tcp) = packet.transport else {
        panic!("{packet:?}");
    };
    tcp
}

/// The UDP header of a packet.
pub(crate) fn udp_of(packet: &Packet) -> Udp {
    let Transport::Udp(udp) = packet.transport else {
        panic!("{packet:?}");
    };
    udp
}
