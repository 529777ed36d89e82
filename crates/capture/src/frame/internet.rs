//! The IP header of either version with its extension headers. The frame decoder reads each IP
//! layer with it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use etherparse::{IpEcn, LaxIpPayloadSlice, LaxIpv4Slice, LaxIpv6Slice, ip_number};

use super::link::{Bytes, ParseError};
use crate::packet::Ecn;

/// Fields of an IP header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Internet<'a> {
    pub(super) source: IpAddr,
    pub(super) destination: IpAddr,
    /// Bytes of the packet on the wire.
    pub(super) bytes: u32,
    pub(super) ecn: Ecn,
    pub(super) identification: Option<u16>,
    pub(super) hops_left: u8,
    /// Protocol number of the payload (IANA).
    pub(super) protocol: u8,
    pub(super) part: Part,
    /// Payload after all IP headers.
    pub(super) payload: Bytes<'a>,
    /// Whether the length is that of the frame, because the header states none.
    pub(super) unstated_length: bool,
    /// Whether extension headers were cut off.
    pub(super) cut: bool,
}

/// Part of a datagram that a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Whole,
    /// The first of several fragments.
    First,
    /// A later fragment.
    Behind,
}

impl<'a> Internet<'a> {
    /// Reads the packet at the beginning of the bytes.
    #[inline]
    pub(super) fn read(bytes: Bytes<'a>) -> Result<Self, ParseError> {
        match bytes.captured.first().map(|first| first >> 4) {
            Some(4) => Self::version_4(bytes),
            Some(6) => Self::version_6(bytes),
            Some(_) => Err(ParseError::Malformed),
            None => Err(bytes.short()),
        }
    }

    #[inline]
    fn version_4(bytes: Bytes<'a>) -> Result<Self, ParseError> {
        let Ok((slice, stopped)) = LaxIpv4Slice::from_slice(bytes.captured) else {
            // The version is right, so the length is wrong or too few bytes are there.
            let header = 4 * usize::from(bytes.captured[0] & 0x0f);
            return Err(match header {
                0..20 => ParseError::Malformed,
                header if bytes.captured.len() < header => bytes.short(),
                _ => ParseError::Malformed,
            });
        };
        let header = slice.header();
        let ahead = header.slice().len() as u32;
        let stated = u32::from(header.total_len());
        // Segmentation offload leaves the length to the card: the header states zero, also if the
        // length does not fit (Linux's BIG TCP).
        let unstated_length = stated == 0;
        let whole = if unstated_length { bytes.wire } else { stated };
        if whole < ahead {
            return Err(ParseError::Malformed);
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
            // In a later fragment, bytes that look like another header are data.
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
    fn version_6(bytes: Bytes<'a>) -> Result<Self, ParseError> {
        let Ok((slice, stopped)) = LaxIpv6Slice::from_slice(bytes.captured) else {
            return Err(bytes.short());
        };
        let header = slice.header();
        let stated = u32::from(header.payload_length());
        // A packet without payload states "no next header". Any other packet with length zero is a
        // jumbogram (RFC 2675) or waits for segmentation offload. A jumbogram's option only repeats
        // the frame's length.
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
            // In a later fragment, bytes that look like another header are data.
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

/// The largest offset of the fragment headers among these extension headers, and the protocol after
/// that header. An offset of zero means the first fragment. The iterator of etherparse 0.20.3 reads
/// past its end without a check if the headers were cut off.
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

/// The payload after `ahead` bytes of headers of a packet of `whole` bytes.
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
