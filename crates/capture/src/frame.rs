//! Converts a frame to a packet. It descends from the link layer through tags, labels and tunnels
//! to the innermost readable IP packet.

mod internet;
mod link;
mod transport;

use crate::notes::Notes;
use crate::packet::{Ecn, FlowKey, Packet, Transport};
use internet::{Internet, Part};
use link::{Bytes, Facts, Layer, ParseError};
use transport::Segment;

pub(crate) use link::kernel_index;

/// Maximum number of headers that are followed. A real frame has about five; the limit ends each
/// loop of a forged one.
const MOST_LAYERS: usize = 24;

/// Protocol numbers of the IP header (IANA).
mod protocol {
    pub(super) const IPV4: u8 = 4;
    pub(super) const UDP: u8 = 17;
    pub(super) const IPV6: u8 = 41;
    pub(super) const GRE: u8 = 47;
    pub(super) const MPLS: u8 = 137;
    pub(super) const ETHERNET: u8 = 143;
}

/// UDP port of VXLAN (RFC 7348 section 5).
const VXLAN: u16 = 4789;

/// A frame of a capture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    /// Time in nanoseconds since 1970.
    pub(crate) time: u64,
    /// Number of the interface at which the frame was captured.
    pub(crate) interface: u16,
    /// Whether the frame came in; `None` if the flags of the capture do not say so.
    pub(crate) inbound: Option<bool>,
    /// Number of its link type (the list of tcpdump.org).
    pub(crate) link_type: u16,
    /// Captured bytes of the frame.
    pub(crate) captured: &'a [u8],
    /// Bytes of the frame on the wire.
    pub(crate) wire: u32,
}

/// The packet of a frame; `None` if the frame is counted as something else.
#[inline]
pub(crate) fn packet(frame: &Frame<'_>, notes: &mut Notes) -> Option<Packet> {
    notes.frames += 1;
    let captured = frame.captured.len() as u32;
    notes.snapped += u64::from(captured < frame.wire);
    let bytes = Bytes {
        captured: frame.captured,
        // If more bytes were captured than the stated length, the captured length counts.
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
                ParseError::NotIp => notes.not_ip += 1,
                ParseError::Malformed => notes.undecodable += 1,
                ParseError::Truncated => notes.cut_before_ip += 1,
            }
            None
        }
    }
}

/// A packet and the facts that are counted in the notes.
struct Found {
    packet: Packet,
    part: Part,
    tunneled: bool,
    unstated_length: bool,
    cut: bool,
}

/// Descends from a layer to the innermost IP packet.
#[inline]
fn innermost(layer: Layer, bytes: Bytes<'_>, frame: &Frame<'_>) -> Result<Found, ParseError> {
    let mut facts = Facts {
        inbound: frame.inbound,
        stations: None,
    };
    let (mut layer, mut bytes) = (layer, bytes);
    let mut outer: Option<Found> = None;
    let mut end = ParseError::Malformed;
    for _ in 0..MOST_LAYERS {
        let step = if matches!(layer, Layer::Internet) {
            Internet::read(bytes).map(|internet| {
                let (found, inner) = packet_and_payload(&internet, outer.as_ref(), frame, &facts);
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

/// The packet of an IP header, and its payload if that may be another packet.
#[inline]
fn packet_and_payload<'a>(
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
    // A fragment holds only a part of its payload, so the payload is not followed.
    let inner = (internet.part == Part::Whole).then(|| carried(internet, &segment));
    (found, inner.flatten())
}

/// The payload of a packet, if it may be another packet.
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

/// The ECN codepoint of the inner packet. A mark on the tunnel's header counts if the inner packet
/// is ECN-capable (RFC 6040 section 4.2).
fn marked_through(outer: Option<Ecn>, inner: Ecn) -> Ecn {
    match (outer, inner) {
        (Some(Ecn::Marked), Ecn::Capable0 | Ecn::Capable1) => Ecn::Marked,
        (_, inner) => inner,
    }
}
