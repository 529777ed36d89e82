//! The header of an IP packet of either version, with the extension headers behind it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use etherparse::{IpEcn, LaxIpPayloadSlice, LaxIpv4Slice, LaxIpv6Slice, ip_number};

use super::link::{Bytes, Unread};
use crate::packet::Ecn;

/// What an IP header says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Internet<'a> {
    pub(super) source: IpAddr,
    pub(super) destination: IpAddr,
    /// Bytes of the packet on the wire.
    pub(super) bytes: u32,
    pub(super) ecn: Ecn,
    pub(super) identification: Option<u16>,
    pub(super) hops_left: u8,
    /// What the payload is (IANA).
    pub(super) protocol: u8,
    pub(super) part: Part,
    /// Behind all headers of IP.
    pub(super) payload: Bytes<'a>,
    /// Whether the length is the frame's, since the header states none.
    pub(super) unstated_length: bool,
    /// Whether extension headers were cut off.
    pub(super) cut: bool,
}

/// What of a datagram a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Whole,
    /// The first of several fragments.
    First,
    /// Another.
    Behind,
}

impl<'a> Internet<'a> {
    /// The packet that begins here.
    #[inline]
    pub(super) fn read(bytes: Bytes<'a>) -> Result<Self, Unread> {
        match bytes.captured.first().map(|first| first >> 4) {
            Some(4) => Self::version_4(bytes),
            Some(6) => Self::version_6(bytes),
            Some(_) => Err(Unread::Malformed),
            None => Err(bytes.short()),
        }
    }

    #[inline]
    fn version_4(bytes: Bytes<'a>) -> Result<Self, Unread> {
        let Ok((slice, stopped)) = LaxIpv4Slice::from_slice(bytes.captured) else {
            // The version is right: what is wrong is the length, or that there is too little.
            let header = 4 * usize::from(bytes.captured[0] & 0x0f);
            return Err(match header {
                0..20 => Unread::Malformed,
                header if bytes.captured.len() < header => bytes.short(),
                _ => Unread::Malformed,
            });
        };
        let header = slice.header();
        let ahead = header.slice().len() as u32;
        let stated = u32::from(header.total_len());
        // A card that cuts up what it is given (segmentation offload) is given no length, or none that fits
        // (Linux's BIG TCP).
        let unstated_length = stated == 0;
        let whole = if unstated_length { bytes.wire } else { stated };
        if whole < ahead {
            return Err(Unread::Malformed);
        }
        let extensions = slice.extensions().auth.map_or(0, |auth| auth.slice().len());
        let behind = header.fragments_offset().value() != 0;
        Ok(Self {
            source: IpAddr::V4(Ipv4Addr::from(header.source())),
            destination: IpAddr::V4(Ipv4Addr::from(header.destination())),
            bytes: whole,
            ecn: codepoint(header.ecn()),
            identification: Some(header.identification()),
            hops_left: header.ttl(),
            // Within a fragment, what looks like another header is data.
            protocol: if behind {
                header.protocol().0
            } else {
                slice.payload().ip_number.0
            },
            part: match (behind, header.more_fragments()) {
                (true, _) => Part::Behind,
                (false, true) => Part::First,
                (false, false) => Part::Whole,
            },
            payload: payload(slice.payload(), whole, ahead as usize + extensions),
            unstated_length,
            cut: !behind && stopped.is_some() && (bytes.captured.len() as u32) < whole,
        })
    }

    #[inline]
    fn version_6(bytes: Bytes<'a>) -> Result<Self, Unread> {
        let Ok((slice, stopped)) = LaxIpv6Slice::from_slice(bytes.captured) else {
            return Err(bytes.short());
        };
        let header = slice.header();
        let stated = u32::from(header.payload_length());
        // A packet without payload says so; another without a length is a jumbogram (RFC 2675), whose option
        // only repeats the frame's length, or one that a card is to cut up.
        let unstated_length = stated == 0 && header.next_header() != ip_number::IPV6_NO_NEXT_HEADER;
        let whole = if unstated_length {
            bytes.wire
        } else {
            HEADER_6 + stated
        };
        let extensions = slice.extensions();
        let fragment = if extensions.is_fragmenting_payload() {
            fragment(header.next_header().0, extensions.slice())
        } else {
            None
        };
        let (part, protocol) = match fragment {
            Some((0, _)) => (Part::First, slice.payload().ip_number.0),
            // Within a fragment, what looks like another header is data.
            Some((_, next)) => (Part::Behind, next),
            None => (Part::Whole, slice.payload().ip_number.0),
        };
        let ahead = HEADER_6 as usize + extensions.slice().len();
        Ok(Self {
            source: IpAddr::V6(Ipv6Addr::from(header.source())),
            destination: IpAddr::V6(Ipv6Addr::from(header.destination())),
            bytes: whole,
            ecn: codepoint(header.ecn()),
            identification: None,
            hops_left: header.hop_limit(),
            protocol,
            part,
            payload: payload(slice.payload(), whole, ahead),
            unstated_length,
            cut: part != Part::Behind && stopped.is_some() && (bytes.captured.len() as u32) < whole,
        })
    }
}

const HEADER_6: u32 = 40;

/// The largest offset that a fragment header states among these extension headers (one of none says that
/// the packet is the first fragment), and what that header says comes next. The crate's own iterator reads
/// behind its end, without a check, where the headers were cut off (etherparse 0.20.3).
#[cold]
fn fragment(first: u8, headers: &[u8]) -> Option<(u16, u8)> {
    const FRAGMENT: u8 = 44;
    const AUTHENTICATION: u8 = 51;
    let (mut kind, mut rest) = (first, headers);
    let mut found: Option<(u16, u8)> = None;
    while let &[next, length, high, low, ..] = rest {
        let bytes = match kind {
            FRAGMENT => {
                let offset = u16::from_be_bytes([high, low]) >> 3;
                if found.is_none_or(|(most, _)| offset > most) {
                    found = Some((offset, next));
                }
                8
            }
            AUTHENTICATION => 4 * (usize::from(length) + 2),
            _ => 8 * (usize::from(length) + 1),
        };
        let Some(behind) = rest.get(bytes..) else {
            break;
        };
        (kind, rest) = (next, behind);
    }
    found
}

/// What is behind the headers, of a packet of so many bytes.
#[inline]
fn payload<'a>(slice: &LaxIpPayloadSlice<'a>, whole: u32, ahead: usize) -> Bytes<'a> {
    let captured = slice.payload;
    let wire = whole.saturating_sub(ahead as u32);
    Bytes {
        captured: &captured[..captured.len().min(wire as usize)],
        wire,
    }
}

#[inline]
fn codepoint(ecn: IpEcn) -> Ecn {
    match ecn {
        IpEcn::NotEct => Ecn::NotCapable,
        IpEcn::Ect1 => Ecn::Capable1,
        IpEcn::Ect0 => Ecn::Capable0,
        IpEcn::CongestionExperienced => Ecn::Marked,
    }
}
