//! The pcapng format (draft-ietf-opsawg-pcapng): sections of blocks with a type and a length.
//! Sections, interfaces, packets of all three kinds and statistics are read; other blocks are
//! skipped.

use pcap_parser::pcapng::{
    EnhancedPacketBlock, InterfaceDescriptionBlock, InterfaceStatisticsBlock, PcapNGOption,
    SimplePacketBlock, parse_enhancedpacketblock_be, parse_enhancedpacketblock_le,
    parse_interfacedescriptionblock_be, parse_interfacedescriptionblock_le,
    parse_interfacestatisticsblock_be, parse_interfacestatisticsblock_le, parse_sectionheaderblock,
    parse_simplepacketblock_be, parse_simplepacketblock_le,
};

use super::clock::Clock;
use super::interfaces::{Interface, Interfaces, MOST_INTERFACES};
use super::record::{Order, Record, Stop, array, need};
use super::window::Window;
use crate::notes::Notes;

/// Largest block that is read, in bytes; Wireshark has the same limit. A block that states more is
/// damaged.
const MOST_BLOCK: u32 = 1 << 24;
/// Bytes of the smallest block: type, length, and the repeated length.
const LEAST_BLOCK: u32 = 12;

const SECTION: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
const INTERFACE: u32 = 1;
/// The obsolete packet block, which occurs in old files and in files of hardware.
const PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;

/// Offset of the packet's bytes in its block.
const IN_ENHANCED: usize = 28;
const IN_SIMPLE: usize = 12;

/// Codes of options. Their meaning depends on the block.
const COMMENT: u16 = 1;
const NAME: u16 = 2;
const FLAGS: u16 = 2;
const DROP_COUNT: u16 = 4;
const RESOLUTION: u16 = 9;
const OFFSET: u16 = 14;
const DROPPED_BY_INTERFACE: u16 = 5;
const DROPPED_BY_SYSTEM: u16 = 7;

/// Whether a stream begins like a pcapng file.
pub(super) fn begins(head: [u8; 4]) -> bool {
    head == SECTION
}

/// A file in the pcapng format.
#[derive(Debug)]
pub(super) struct Pcapng {
    order: Order,
    /// Interfaces of the current section.
    section: Vec<Declared>,
    /// Time of the last packet with a time, in nanoseconds.
    latest: u64,
}

/// An interface of a section.
#[derive(Clone, Copy, Debug)]
struct Declared {
    /// Number of the interface in the file.
    number: u16,
    link_type: u16,
    snap_length: u32,
    clock: Clock,
}

/// Fields of a packet block.
struct PacketBlock<'a> {
    place: u32,
    ticks: Option<u64>,
    /// Offset of the packet's bytes in the block.
    begins: usize,
    captured: u32,
    wire: u32,
    lost: u64,
    options: Option<&'a [PcapNGOption<'a>]>,
}

impl Pcapng {
    /// Reads the header of the first section.
    pub(super) fn begin(window: &mut Window) -> Result<Self, Stop> {
        let mut file = Self {
            order: Order::Little,
            section: Vec::new(),
            latest: 0,
        };
        let (_, length) = file.block(window)?;
        file.enter(window, length)?;
        window.take(length);
        Ok(file)
    }

    /// The next packet.
    pub(super) fn next(
        &mut self,
        window: &mut Window,
        interfaces: &mut Interfaces,
        notes: &mut Notes,
    ) -> Result<Record, Stop> {
        loop {
            let (kind, length) = self.block(window)?;
            let record = match kind {
                None => {
                    self.enter(window, length)?;
                    None
                }
                Some(INTERFACE) => {
                    self.declare(window, length, interfaces)?;
                    None
                }
                Some(STATISTICS) => {
                    self.statistics(window, length, interfaces)?;
                    None
                }
                Some(ENHANCED_PACKET) => Some(self.enhanced(window, length, interfaces, notes)?),
                Some(SIMPLE_PACKET) => Some(self.simple(window, length, interfaces, notes)?),
                Some(PACKET) => Some(self.obsolete(window, length, interfaces, notes)?),
                Some(_) => None,
            };
            let place = window.take(length);
            if let Some(mut record) = record {
                record.captured.start += place.start;
                record.captured.end += place.start;
                return Ok(record);
            }
        }
    }

    /// Reads the next block to the beginning of the window. Returns its type, which is `None` for a
    /// section header, and its length.
    fn block(&mut self, window: &mut Window) -> Result<(Option<u32>, usize), Stop> {
        need(window, LEAST_BLOCK as usize)?;
        let data = window.data();
        let header = data.starts_with(&SECTION);
        if header {
            self.order = match array(data, 8) {
                [0x4d, 0x3c, 0x2b, 0x1a] => Order::Little,
                [0x1a, 0x2b, 0x3c, 0x4d] => Order::Big,
                [a, b, c, d] => {
                    let found = format!("byte-order magic {a:02x}{b:02x}{c:02x}{d:02x}");
                    return Err(Stop::malformed(window, found, "1a2b3c4d, either way round"));
                }
            };
        }
        let kind = self.order.u32(array(data, 0));
        let length = self.order.u32(array(data, 4));
        if !(LEAST_BLOCK..=MOST_BLOCK).contains(&length) {
            let found = format!("a block of {length} bytes");
            let allowed = format!("{LEAST_BLOCK} to {MOST_BLOCK}");
            return Err(Stop::malformed(window, found, allowed));
        }
        let whole = length as usize;
        need(window, whole)?;
        let again = self.order.u32(array(window.data(), whole - 4));
        if again != length {
            let found = format!("a block of {length} bytes that states {again} at its end");
            return Err(Stop::malformed(window, found, "the same at both ends"));
        }
        Ok(((!header).then_some(kind), whole))
    }

    /// Begins a section.
    fn enter(&mut self, window: &Window, length: usize) -> Result<(), Stop> {
        let parsed = parse_sectionheaderblock(&window.data()[..length]);
        let (_, header) = parsed.map_err(|_| damaged(window, "header of a section"))?;
        if header.major_version != 1 {
            let found = format!(
                "pcapng of version {}.{}",
                header.major_version, header.minor_version
            );
            return Err(Stop::malformed(window, found, "1.0"));
        }
        self.section.clear();
        Ok(())
    }

    fn declare(
        &mut self,
        window: &Window,
        length: usize,
        interfaces: &mut Interfaces,
    ) -> Result<(), Stop> {
        let data = &window.data()[..length];
        let parsed = match self.order {
            Order::Little => parse_interfacedescriptionblock_le(data),
            Order::Big => parse_interfacedescriptionblock_be(data),
        };
        let (_, block) = parsed.map_err(|_| damaged(window, "description of an interface"))?;
        let InterfaceDescriptionBlock {
            linktype,
            snaplen,
            options,
            ..
        } = block;
        let (link_type, snap_length) = (linktype.0 as u16, snaplen);
        let name = value(&options, NAME);
        let place = self.section.len();
        let number = (place < MOST_INTERFACES)
            .then(|| interfaces.declare(place, Interface::new(name, link_type, snap_length)));
        let Some(number) = number.flatten() else {
            return Err(too_many(window));
        };
        let resolution = value(&options, RESOLUTION).and_then(|value| value.first());
        let offset = number_of(&options, OFFSET, self.order);
        self.section.push(Declared {
            number,
            link_type,
            snap_length,
            // The default resolution is microseconds.
            clock: Clock::new(resolution.copied().unwrap_or(6), offset.unwrap_or(0) as i64),
        });
        Ok(())
    }

    fn statistics(
        &self,
        window: &Window,
        length: usize,
        interfaces: &mut Interfaces,
    ) -> Result<(), Stop> {
        let data = &window.data()[..length];
        let parsed = match self.order {
            Order::Little => parse_interfacestatisticsblock_le(data),
            Order::Big => parse_interfacestatisticsblock_be(data),
        };
        let (_, block) = parsed.map_err(|_| damaged(window, "statistics of an interface"))?;
        let InterfaceStatisticsBlock { if_id, options, .. } = block;
        let interface = self.interface(window, if_id)?;
        let of = |code| number_of(&options, code, self.order).unwrap_or(0);
        let lost = of(DROPPED_BY_INTERFACE).saturating_add(of(DROPPED_BY_SYSTEM));
        interfaces.lost_so_far(interface.number, lost);
        Ok(())
    }

    fn enhanced(
        &mut self,
        window: &Window,
        length: usize,
        interfaces: &mut Interfaces,
        notes: &mut Notes,
    ) -> Result<Record, Stop> {
        let data = &window.data()[..length];
        let parsed = match self.order {
            Order::Little => parse_enhancedpacketblock_le(data),
            Order::Big => parse_enhancedpacketblock_be(data),
        };
        let (_, block) = parsed.map_err(|_| damaged(window, "packet"))?;
        let EnhancedPacketBlock {
            if_id,
            ts_high,
            ts_low,
            caplen,
            origlen,
            options,
            ..
        } = block;
        let block = PacketBlock {
            place: if_id,
            ticks: Some(u64::from(ts_high) << 32 | u64::from(ts_low)),
            begins: IN_ENHANCED,
            captured: caplen,
            wire: origlen,
            lost: number_of(&options, DROP_COUNT, self.order).unwrap_or(0),
            options: Some(&options),
        };
        self.record(window, &block, interfaces, notes)
    }

    /// Reads a simple packet: it belongs to the first interface and has no time.
    fn simple(
        &mut self,
        window: &Window,
        length: usize,
        interfaces: &mut Interfaces,
        notes: &mut Notes,
    ) -> Result<Record, Stop> {
        let data = &window.data()[..length];
        let parsed = match self.order {
            Order::Little => parse_simplepacketblock_le(data),
            Order::Big => parse_simplepacketblock_be(data),
        };
        let (_, block) = parsed.map_err(|_| damaged(window, "simple packet"))?;
        let SimplePacketBlock { origlen, data, .. } = block;
        let snap_length = match self.interface(window, 0)?.snap_length {
            0 => u32::MAX,
            limit => limit,
        };
        let block = PacketBlock {
            place: 0,
            ticks: None,
            begins: IN_SIMPLE,
            captured: origlen.min(snap_length).min(data.len() as u32),
            wire: origlen,
            lost: 0,
            options: None,
        };
        self.record(window, &block, interfaces, notes)
    }

    /// Reads the packet block from before 2009, which the parser crate does not support. Its
    /// options are skipped.
    fn obsolete(
        &mut self,
        window: &Window,
        length: usize,
        interfaces: &mut Interfaces,
        notes: &mut Notes,
    ) -> Result<Record, Stop> {
        let data = &window.data()[..length];
        let captured = if length < IN_ENHANCED + 4 {
            u32::MAX
        } else {
            self.order.u32(array(data, 20))
        };
        if captured as usize > length.saturating_sub(IN_ENHANCED + 4) {
            return Err(damaged(window, "packet"));
        }
        let lost = self.order.u16(array(data, 10));
        let high = self.order.u32(array(data, 12));
        let low = self.order.u32(array(data, 16));
        let block = PacketBlock {
            place: u32::from(self.order.u16(array(data, 8))),
            ticks: Some(u64::from(high) << 32 | u64::from(low)),
            begins: IN_ENHANCED,
            captured,
            wire: self.order.u32(array(data, 24)),
            // All ones mean that the number is unknown.
            lost: if lost == u16::MAX { 0 } else { u64::from(lost) },
            options: None,
        };
        self.record(window, &block, interfaces, notes)
    }

    /// The record of a packet block. Its range is counted from the first byte of the block.
    fn record(
        &mut self,
        window: &Window,
        block: &PacketBlock<'_>,
        interfaces: &mut Interfaces,
        notes: &mut Notes,
    ) -> Result<Record, Stop> {
        let interface = self.interface(window, block.place)?;
        let number = interface.number;
        if let Some(ticks) = block.ticks {
            self.latest = interface
                .clock
                .nanoseconds(ticks)
                .unwrap_or_else(|nearest| {
                    notes.beyond_time += 1;
                    nearest
                });
            interfaces.clock(number, self.latest, notes);
        } else {
            notes.untimed += 1;
        }
        if block.lost > 0 {
            interfaces.lost_before_packet(number, block.lost);
        }
        let options = block.options.unwrap_or_default();
        let flags = value(options, FLAGS).filter(|value| value.len() == 4);
        let direction = flags.map(|value| self.order.u32(array(value, 0)) & 0b11);
        Ok(Record {
            time: self.latest,
            interface: number,
            link_type: interface.link_type,
            captured: block.begins..block.begins + block.captured as usize,
            wire: block.wire,
            inbound: match direction {
                Some(1) => Some(true),
                Some(2) => Some(false),
                _ => None,
            },
            dropped: options.iter().any(reports_drop),
        })
    }

    #[inline]
    fn interface(&self, window: &Window, place: u32) -> Result<Declared, Stop> {
        let found = usize::try_from(place)
            .ok()
            .and_then(|place| self.section.get(place));
        found.copied().ok_or_else(|| {
            let allowed = match self.section.len() {
                0 => "none: the section has declared no interface".to_owned(),
                1 => "0".to_owned(),
                many => format!("0 to {}", many - 1),
            };
            Stop::malformed(window, format!("interface {place}"), allowed)
        })
    }
}

fn damaged(window: &Window, what: &str) -> Stop {
    let found = format!("a {what} whose lengths do not fit into its block");
    Stop::malformed(window, found, "lengths that do")
}

/// The error for more interfaces than there are numbers.
pub(super) fn too_many(window: &Window) -> Stop {
    let found = format!("interface {}", MOST_INTERFACES + 1);
    Stop::malformed(window, found, format!("at most {MOST_INTERFACES}"))
}

/// The value of the first option of a code.
fn value<'a>(options: &'a [PcapNGOption<'_>], code: u16) -> Option<&'a [u8]> {
    let option = options.iter().find(|option| option.code.0 == code)?;
    option.as_bytes().ok()
}

/// The value as a number of 64 bits. The reader of the parser crate supports only one byte order.
fn number_of(options: &[PcapNGOption<'_>], code: u16, order: Order) -> Option<u64> {
    let value = value(options, code)?;
    (value.len() == 8).then(|| order.u64(array(value, 0)))
}

fn reports_drop(option: &PcapNGOption<'_>) -> bool {
    let comment = option.code.0 == COMMENT;
    comment
        && option
            .value
            .windows(7)
            .any(|word| word.eq_ignore_ascii_case(b"dropped"))
}
