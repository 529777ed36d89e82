//! The layers before an IP packet: link layers, tags, labels and tunnel headers. Each function
//! returns the next layer and its bytes.

/// Bytes of a frame from the beginning of a layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes<'a> {
    /// Captured bytes.
    pub(super) captured: &'a [u8],
    /// Bytes on the wire; never fewer than the captured ones.
    pub(super) wire: u32,
}

impl<'a> Bytes<'a> {
    /// Splits off the first `N` bytes. Returns them and the rest.
    #[inline]
    fn split<const N: usize>(self) -> Result<(&'a [u8; N], Self), ParseError> {
        let Some((head, captured)) = self.captured.split_first_chunk::<N>() else {
            return Err(self.short());
        };
        let wire = self.wire.saturating_sub(N as u32);
        Ok((head, Self { captured, wire }))
    }

    /// The bytes after the first `bytes` bytes.
    #[inline]
    pub(super) fn behind(self, bytes: usize) -> Result<Self, ParseError> {
        let Some(captured) = self.captured.get(bytes..) else {
            return Err(self.short());
        };
        let wire = self.wire.saturating_sub(bytes as u32);
        Ok(Self { captured, wire })
    }

    /// The reason why there are too few bytes.
    #[cold]
    pub(super) fn short(self) -> ParseError {
        if (self.captured.len() as u32) < self.wire {
            ParseError::Truncated
        } else {
            ParseError::Malformed
        }
    }
}

/// Reason why a frame is no packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ParseError {
    /// The frame carries something else.
    NotIp,
    /// The headers contradict each other.
    Malformed,
    /// The capture cut the frame off before the packet.
    Truncated,
}

/// Kind of header at a place of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layer {
    Ethernet,
    /// The protocol of an Ethernet type.
    Type(u16),
    /// Linux cooked captures of both versions.
    Cooked,
    Cooked2,
    /// Loopback of BSD, in both byte orders.
    Loopback,
    /// PPP, with or without HDLC framing.
    Ppp,
    Pppoe,
    Mpls,
    Gre,
    Vxlan,
    /// IP; the header states the version.
    Internet,
}

/// Facts about a packet from its link layers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    pub(super) inbound: Option<bool>,
    pub(super) stations: Option<(u32, u32)>,
}

/// Ethernet types (IEEE 802's list).
mod ether_type {
    pub(super) const IPV4: u16 = 0x0800;
    pub(super) const IPV6: u16 = 0x86dd;
    pub(super) const VLAN: u16 = 0x8100;
    pub(super) const SERVICE_VLAN: u16 = 0x88a8;
    /// QinQ before 802.1ad.
    pub(super) const OLD_VLANS: [u16; 2] = [0x9100, 0x9200];
    pub(super) const MPLS: [u16; 2] = [0x8847, 0x8848];
    pub(super) const PPPOE_SESSION: u16 = 0x8864;
    /// Ethernet in GRE (RFC 1701).
    pub(super) const BRIDGED: u16 = 0x6558;
    /// Mirrored ports (ERSPAN, draft-foschiano-erspan).
    pub(super) const MIRRORED_2: u16 = 0x88be;
    pub(super) const MIRRORED_3: u16 = 0x22eb;
    /// PPP in GRE (RFC 2637).
    pub(super) const PPP: u16 = 0x880b;
    /// Smallest type. A smaller number is the length of an 802.3 frame.
    pub(super) const FIRST: u16 = 0x0600;
}

/// Linux's `ARPHRD_NETLINK`: cooked packets between programs and the kernel.
const NETLINK: u16 = 824;

/// The first layer of a link type; `None` if the link type is not supported.
#[inline]
pub(super) fn first(link_type: u16) -> Option<Layer> {
    Some(match link_type {
        1 => Layer::Ethernet,
        12 | 14 | 101 | 228 | 229 => Layer::Internet,
        0 | 108 => Layer::Loopback,
        9 | 50 => Layer::Ppp,
        51 => Layer::Pppoe,
        COOKED => Layer::Cooked,
        COOKED_2 => Layer::Cooked2,
        _ => return None,
    })
}

const COOKED: u16 = 113;
const COOKED_2: u16 = 276;

/// The kernel index of the interface of a frame, if its link layer has one.
#[inline]
pub(crate) fn kernel_index(link_type: u16, captured: &[u8]) -> Option<u32> {
    if link_type != COOKED_2 {
        return None;
    }
    let index = captured.get(4..8)?;
    Some(u32::from_be_bytes([index[0], index[1], index[2], index[3]]))
}

/// Reads a layer that is not IP. Returns the layer below it and its bytes.
#[inline]
pub(super) fn below<'a>(
    layer: Layer,
    bytes: Bytes<'a>,
    facts: &mut Facts,
) -> Result<(Layer, Bytes<'a>), ParseError> {
    match layer {
        Layer::Ethernet => ethernet(bytes, facts),
        Layer::Type(number) => typed(number, bytes),
        Layer::Cooked => cooked(bytes, facts),
        Layer::Cooked2 => cooked_2(bytes, facts),
        Layer::Loopback => loopback(bytes),
        Layer::Ppp => ppp(bytes),
        Layer::Pppoe => pppoe(bytes),
        Layer::Mpls => mpls(bytes),
        Layer::Gre => gre(bytes),
        Layer::Vxlan => vxlan(bytes),
        Layer::Internet => Ok((layer, bytes)),
    }
}

#[inline]
fn ethernet<'a>(bytes: Bytes<'a>, facts: &mut Facts) -> Result<(Layer, Bytes<'a>), ParseError> {
    let (head, rest) = bytes.split::<14>()?;
    // If Ethernet is tunneled in Ethernet, the outer stations count, because this link joins them.
    if facts.stations.is_none() {
        facts.stations = Some((station(head, 6), station(head, 0)));
    }
    let number = be16(head, 12);
    if number >= ether_type::FIRST {
        return typed(number, rest);
    }
    // An 802.3 frame with the headers of 802.2 and SNAP also states a type (RFC 1042).
    let (head, rest) = rest.split::<8>()?;
    if head[..6] == [0xaa, 0xaa, 0x03, 0, 0, 0] {
        return typed(be16(head, 6), rest);
    }
    Err(ParseError::NotIp)
}

/// A short hash of a six-byte address. In Fibonacci hashing, the upper bits depend on all bytes.
#[inline]
fn station(head: &[u8; 14], at: usize) -> u32 {
    let mut address = [0; 8];
    address[..6].copy_from_slice(&head[at..at + 6]);
    (u64::from_le_bytes(address).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}

#[inline]
fn typed(number: u16, bytes: Bytes<'_>) -> Result<(Layer, Bytes<'_>), ParseError> {
    if ether_type::MPLS.contains(&number) {
        return Ok((Layer::Mpls, bytes));
    }
    if ether_type::OLD_VLANS.contains(&number) {
        return tagged(bytes);
    }
    match number {
        ether_type::IPV4 | ether_type::IPV6 => Ok((Layer::Internet, bytes)),
        ether_type::VLAN | ether_type::SERVICE_VLAN => tagged(bytes),
        ether_type::PPPOE_SESSION => Ok((Layer::Pppoe, bytes)),
        ether_type::BRIDGED => Ok((Layer::Ethernet, bytes)),
        _ => Err(ParseError::NotIp),
    }
}

fn tagged(bytes: Bytes<'_>) -> Result<(Layer, Bytes<'_>), ParseError> {
    let (head, rest) = bytes.split::<4>()?;
    Ok((Layer::Type(be16(head, 2)), rest))
}

fn cooked<'a>(bytes: Bytes<'a>, facts: &mut Facts) -> Result<(Layer, Bytes<'a>), ParseError> {
    let (head, rest) = bytes.split::<16>()?;
    cooked_way(be16(head, 0), facts);
    if be16(head, 2) == NETLINK {
        return Err(ParseError::NotIp);
    }
    typed(be16(head, 14), rest)
}

fn cooked_2<'a>(bytes: Bytes<'a>, facts: &mut Facts) -> Result<(Layer, Bytes<'a>), ParseError> {
    let (head, rest) = bytes.split::<20>()?;
    cooked_way(u16::from(head[10]), facts);
    if be16(head, 8) == NETLINK {
        return Err(ParseError::NotIp);
    }
    typed(be16(head, 0), rest)
}

/// Sets the direction. Types 0 to 3 (to this host, broadcast, multicast, to another host) came in;
/// type 4 was sent by this host.
fn cooked_way(packet_type: u16, facts: &mut Facts) {
    let way = match packet_type {
        0..=3 => Some(true),
        4 => Some(false),
        _ => None,
    };
    facts.inbound = facts.inbound.or(way);
}

/// Reads a loopback header. The family number has the byte order of the capturing machine and
/// differs between systems.
fn loopback(bytes: Bytes<'_>) -> Result<(Layer, Bytes<'_>), ParseError> {
    let (head, rest) = bytes.split::<4>()?;
    let family = match u32::from_le_bytes(*head) {
        small @ 0..=0xffff => small,
        _ => u32::from_be_bytes(*head),
    };
    match family {
        2 | 10 | 24 | 28 | 30 => Ok((Layer::Internet, rest)),
        _ => Err(ParseError::NotIp),
    }
}

fn ppp(bytes: Bytes<'_>) -> Result<(Layer, Bytes<'_>), ParseError> {
    let Some(first) = bytes.captured.first_chunk::<2>() else {
        return Err(bytes.short());
    };
    let bytes = match first {
        // The address and control field of HDLC (RFC 1662 section 3.1).
        [0xff, 0x03] => bytes.behind(2)?,
        // HDLC of Cisco has an Ethernet type.
        [0x0f | 0x8f, 0] => {
            let (head, rest) = bytes.split::<4>()?;
            return typed(be16(head, 2), rest);
        }
        _ => bytes,
    };
    let Some(&first) = bytes.captured.first() else {
        return Err(bytes.short());
    };
    // An odd first byte is the whole protocol number (RFC 1661 section 6.5).
    let (number, rest) = if first & 1 == 1 {
        (u16::from(first), bytes.behind(1)?)
    } else {
        let (head, rest) = bytes.split::<2>()?;
        (be16(head, 0), rest)
    };
    match number {
        0x0021 | 0x0057 => Ok((Layer::Internet, rest)),
        0x0281 | 0x0283 => Ok((Layer::Mpls, rest)),
        _ => Err(ParseError::NotIp),
    }
}

/// Reads a PPPoE header (RFC 2516 section 4).
fn pppoe(bytes: Bytes<'_>) -> Result<(Layer, Bytes<'_>), ParseError> {
    let (head, rest) = bytes.split::<6>()?;
    match head[..2] {
        [0x11, 0] => Ok((Layer::Ppp, rest)),
        _ => Err(ParseError::NotIp),
    }
}

/// Reads labels to the bottom of the stack (RFC 3032 section 2.1). Only the first nibble of the
/// payload identifies its protocol.
fn mpls(bytes: Bytes<'_>) -> Result<(Layer, Bytes<'_>), ParseError> {
    let mut bytes = bytes;
    loop {
        let (label, rest) = bytes.split::<4>()?;
        bytes = rest;
        if label[2] & 1 == 1 {
            break;
        }
    }
    match bytes.captured.first().map(|byte| byte >> 4) {
        Some(4 | 6) => Ok((Layer::Internet, bytes)),
        Some(_) => Err(ParseError::NotIp),
        None => Err(bytes.short()),
    }
}

/// Reads a GRE header: RFC 2784 with RFC 2890, or version 1 of RFC 2637.
fn gre(bytes: Bytes<'_>) -> Result<(Layer, Bytes<'_>), ParseError> {
    const CHECKSUM: u16 = 0x8000;
    const ROUTING: u16 = 0x4000;
    const KEY: u16 = 0x2000;
    const SEQUENCE: u16 = 0x1000;
    const ACKNOWLEDGMENT: u16 = 0x0080;
    let (head, rest) = bytes.split::<4>()?;
    let (flags, kind) = (be16(head, 0), be16(head, 2));
    let fields = |bits: &[u16]| 4 * bits.iter().filter(|&&bit| flags & bit != 0).count();
    match flags & 0x0007 {
        0 if flags & ROUTING == 0 => {
            let rest = rest.behind(fields(&[CHECKSUM, KEY, SEQUENCE]))?;
            match kind {
                // The first version of ERSPAN has no header of its own and no sequence numbers.
                ether_type::MIRRORED_2 if flags & SEQUENCE == 0 => Ok((Layer::Ethernet, rest)),
                ether_type::MIRRORED_2 => Ok((Layer::Ethernet, rest.behind(8)?)),
                ether_type::MIRRORED_3 => mirrored_3(rest),
                kind => typed(kind, rest),
            }
        }
        1 if kind == ether_type::PPP => {
            let rest = rest.behind(4 + fields(&[SEQUENCE, ACKNOWLEDGMENT]))?;
            Ok((Layer::Ppp, rest))
        }
        _ => Err(ParseError::NotIp),
    }
}

fn mirrored_3(bytes: Bytes<'_>) -> Result<(Layer, Bytes<'_>), ParseError> {
    let (head, rest) = bytes.split::<12>()?;
    // The last bit says whether eight more bytes follow.
    let more = if head[11] & 1 == 1 { 8 } else { 0 };
    Ok((Layer::Ethernet, rest.behind(more)?))
}

/// Reads the headers of UDP and VXLAN. The I bit says that there is a network identifier (RFC 7348
/// section 5). It distinguishes VXLAN from other traffic to the same port.
fn vxlan(bytes: Bytes<'_>) -> Result<(Layer, Bytes<'_>), ParseError> {
    let (head, rest) = bytes.split::<16>()?;
    if head[8] & 0x08 == 0 {
        return Err(ParseError::NotIp);
    }
    Ok((Layer::Ethernet, rest))
}

#[inline]
fn be16<const N: usize>(head: &[u8; N], at: usize) -> u16 {
    u16::from_be_bytes([head[at], head[at + 1]])
}
