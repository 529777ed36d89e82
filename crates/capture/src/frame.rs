//! A frame as a packet: from the link layer down through tags, labels and tunnels to the innermost IP packet,
//! which is the one that is told. Where nothing inside a tunnel can be read, its own packet is.

mod internet;
mod link;
mod transport;

use crate::notes::Notes;
use crate::packet::{Ecn, FlowKey, Packet, Transport};
use internet::{Internet, Part};
use link::{Bytes, Facts, Layer, Unread};
use transport::Segment;

pub(crate) use link::kernel_index;

/// Headers that are followed at most: a real frame has five, and each loop of a forged one ends.
const MOST_LAYERS: usize = 24;

/// Number of a protocol in the IP header (IANA).
mod protocol {
    pub(super) const IPV4: u8 = 4;
    pub(super) const UDP: u8 = 17;
    pub(super) const IPV6: u8 = 41;
    pub(super) const GRE: u8 = 47;
    pub(super) const MPLS: u8 = 137;
    pub(super) const ETHERNET: u8 = 143;
}

/// VXLAN's port (RFC 7348 section 5).
const VXLAN: u16 = 4789;

/// A frame as a capture has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    /// When, in nanoseconds since 1970.
    pub(crate) time: u64,
    /// Number of the interface that it was seen at.
    pub(crate) interface: u16,
    /// Which way it went, where the capture's flags say so.
    pub(crate) inbound: Option<bool>,
    /// Number of its link type (the list of tcpdump.org).
    pub(crate) link_type: u16,
    /// What was captured of it.
    pub(crate) captured: &'a [u8],
    /// Its bytes on the wire.
    pub(crate) wire: u32,
}

/// The packet that a frame carries; none where it is counted as something else.
#[inline]
pub(crate) fn packet(frame: &Frame<'_>, notes: &mut Notes) -> Option<Packet> {
    notes.frames += 1;
    let captured = frame.captured.len() as u32;
    notes.snapped += u64::from(captured < frame.wire);
    let bytes = Bytes {
        captured: frame.captured,
        // A frame of which more was captured than there was has at least what was captured.
        wire: frame.wire.max(captured),
    };
    let Some(layer) = link::first(frame.link_type) else {
        notes.unknown_link += 1;
        notes.unknown_link_type.get_or_insert(frame.link_type);
        return None;
    };
    match innermost(layer, bytes, frame) {
        Ok(found) => {
            notes.packets += 1;
            notes.fragments += u64::from(found.part != Part::Whole);
            notes.tunneled += u64::from(found.tunneled);
            notes.unstated_length += u64::from(found.unstated_length);
            notes.cut_in_transport += u64::from(found.cut);
            Some(found.packet)
        }
        Err(why) => {
            match why {
                Unread::NotIp => notes.not_ip += 1,
                Unread::Malformed => notes.undecodable += 1,
                Unread::Cut => notes.cut_before_ip += 1,
            }
            None
        }
    }
}

/// A packet, and what is counted of it.
struct Found {
    packet: Packet,
    part: Part,
    tunneled: bool,
    unstated_length: bool,
    cut: bool,
}

/// Goes down from a layer to the innermost IP packet.
#[inline]
fn innermost(layer: Layer, bytes: Bytes<'_>, frame: &Frame<'_>) -> Result<Found, Unread> {
    let mut facts = Facts {
        inbound: frame.inbound,
        stations: None,
    };
    let (mut layer, mut bytes) = (layer, bytes);
    let mut outer: Option<Found> = None;
    let mut end = Unread::Malformed;
    for _ in 0..MOST_LAYERS {
        let step = if matches!(layer, Layer::Internet) {
            Internet::read(bytes).map(|internet| {
                let (found, inner) = told(&internet, outer.as_ref(), frame, &facts);
                outer = Some(found);
                inner
            })
        } else {
            link::below(layer, bytes, &mut facts).map(Some)
        };
        match step {
            Ok(Some(below)) => (layer, bytes) = below,
            Ok(None) => break,
            Err(why) => {
                end = why;
                break;
            }
        }
    }
    outer.ok_or(end)
}

/// An IP packet that was found, and what it carries where that may be another.
#[inline]
fn told<'a>(
    internet: &Internet<'a>,
    outer: Option<&Found>,
    frame: &Frame<'_>,
    facts: &Facts,
) -> (Found, Option<(Layer, Bytes<'a>)>) {
    let segment = match internet.part {
        Part::Behind => Segment::fragment(),
        Part::Whole | Part::First => Segment::read(internet.protocol, internet.payload),
    };
    let packet = Packet {
        time: frame.time,
        interface: frame.interface,
        bytes: internet.bytes,
        frame_bytes: frame.wire.max(frame.captured.len() as u32),
        inbound: facts.inbound,
        stations: facts.stations,
        flow: FlowKey {
            source: internet.source,
            destination: internet.destination,
            source_port: segment.source_port,
            destination_port: segment.destination_port,
            protocol: internet.protocol,
        },
        ecn: marked_through(outer.map(|found| found.packet.ecn), internet.ecn),
        identification: internet.identification,
        hops_left: internet.hops_left,
        transport: segment.transport,
    };
    let found = Found {
        packet,
        part: internet.part,
        tunneled: outer.is_some(),
        unstated_length: internet.unstated_length,
        cut: segment.cut || internet.cut,
    };
    // A fragment holds a part of what it carries only.
    let inner = (internet.part == Part::Whole).then(|| carried(internet, &segment));
    (found, inner.flatten())
}

/// What a packet carries, where that may be another packet.
#[inline]
fn carried<'a>(internet: &Internet<'a>, segment: &Segment) -> Option<(Layer, Bytes<'a>)> {
    let layer = match internet.protocol {
        protocol::IPV4 | protocol::IPV6 => Layer::Internet,
        protocol::GRE => Layer::Gre,
        protocol::MPLS => Layer::Mpls,
        protocol::ETHERNET => Layer::Ethernet,
        protocol::UDP
            if segment.destination_port == VXLAN
                && matches!(segment.transport, Transport::Udp(_)) =>
        {
            Layer::Vxlan
        }
        _ => return None,
    };
    Some((layer, internet.payload))
}

/// A mark on a tunnel's header is one on what it carries, where that can be marked (RFC 6040 section 4.2).
fn marked_through(outer: Option<Ecn>, inner: Ecn) -> Ecn {
    match (outer, inner) {
        (Some(Ecn::Marked), Ecn::Capable0 | Ecn::Capable1) => Ecn::Marked,
        (_, inner) => inner,
    }
}
