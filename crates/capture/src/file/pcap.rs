//! The pcap format (draft-ietf-opsawg-pcap): a header, then records of a time, two lengths and a
//! frame. Both byte orders, both time units and the little-endian form of Kuznetzov's longer
//! records are read.

use pcap_parser::pcap::{
    LegacyPcapBlock, PcapHeader, parse_pcap_frame, parse_pcap_frame_be, parse_pcap_frame_modified,
    parse_pcap_header,
};

use super::interfaces::{Interface, Interfaces};
use super::record::{Order, Record, Stop, array, need};
use super::window::Window;
use crate::notes::Notes;

/// Bytes of the file header.
const HEADER: usize = 24;

/// Largest frame that libpcap accepts (`MAXIMUM_SNAPLEN` of version 1.10), in bytes. A record that
/// states more is damaged.
const MOST_FRAME: u32 = 262_144;

const MODIFIED_BIG_ENDIAN: [u8; 4] = [0xa1, 0xb2, 0xcd, 0x34];

/// Whether a stream begins like a pcap file.
pub(super) fn begins(head: [u8; 4]) -> bool {
    matches!(
        u32::from_be_bytes(head),
        0xa1b2_c3d4 | 0xd4c3_b2a1 | 0xa1b2_3c4d | 0x4d3c_b2a1 | 0xa1b2_cd34 | 0x34cd_b2a1
    )
}

/// A file in the pcap format.
#[derive(Debug)]
pub(super) struct Pcap {
    order: Order,
    modified: bool,
    /// Nanoseconds per unit of the second's fraction.
    unit: u64,
    link_type: u16,
}

impl Pcap {
    /// Reads the file header.
    pub(super) fn begin(window: &mut Window, interfaces: &mut Interfaces) -> Result<Self, Stop> {
        need(window, HEADER)?;
        if window.data().starts_with(&MODIFIED_BIG_ENDIAN) {
            let found = "the modified pcap of Kuznetzov in the order of big-endian machines";
            let allowed = "the same in little-endian order; editcap turns it into pcapng";
            return Err(Stop::malformed(window, found, allowed));
        }
        let Ok((_, header)) = parse_pcap_header(window.data()) else {
            return Err(Stop::malformed(window, "no header of pcap", "one"));
        };
        let PcapHeader {
            version_major: major,
            version_minor: minor,
            ..
        } = header;
        // Before version 2.3 the two lengths of a record were in the other order.
        if major != 2 || minor < 3 {
            let found = format!("pcap of version {major}.{minor}");
            return Err(Stop::malformed(window, found, "2.4"));
        }
        // The upper bits describe frame check sequences.
        let link_type = header.network.0 as u16;
        interfaces.declare(0, Interface::new(None, link_type, header.snaplen));
        window.take(HEADER);
        Ok(Self {
            order: if header.is_bigendian() {
                Order::Big
            } else {
                Order::Little
            },
            modified: header.is_modified_format(),
            unit: if header.is_nanosecond_precision() {
                1
            } else {
                1000
            },
            link_type,
        })
    }

    /// The next record.
    #[inline]
    pub(super) fn next(
        &mut self,
        window: &mut Window,
        interfaces: &mut Interfaces,
        notes: &mut Notes,
    ) -> Result<Record, Stop> {
        let ahead = if self.modified { 24 } else { 16 };
        need(window, ahead)?;
        let length = self.order.u32(array(window.data(), 8));
        if length > MOST_FRAME {
            let found = format!("a frame of {length} bytes");
            let allowed = format!("at most {MOST_FRAME}");
            return Err(Stop::malformed(window, found, allowed));
        }
        let whole = ahead + length as usize;
        need(window, whole)?;
        let Some(frame) = self.frame(&window.data()[..whole]) else {
            return Err(Stop::malformed(window, "no record of pcap", "one"));
        };
        // 2^32 s and 2^32 us are less than 2^63 ns.
        let time = u64::from(frame.ts_sec) * 1_000_000_000 + u64::from(frame.ts_usec) * self.unit;
        let wire = frame.origlen;
        let place = window.take(whole);
        interfaces.clock(0, time, notes);
        Ok(Record {
            time,
            interface: 0,
            link_type: self.link_type,
            captured: place.start + ahead..place.end,
            wire,
            inbound: None,
            dropped: false,
        })
    }

    #[inline]
    fn frame<'a>(&self, record: &'a [u8]) -> Option<LegacyPcapBlock<'a>> {
        let parsed = match (self.modified, self.order) {
            (true, _) => parse_pcap_frame_modified(record),
            (false, Order::Little) => parse_pcap_frame(record),
            (false, Order::Big) => parse_pcap_frame_be(record),
        };
        parsed.ok().map(|(_, frame)| frame)
    }
}
