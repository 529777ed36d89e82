//! A captured packet: time, place and headers. Readers of files create packets, and the observer
//! consumes them.

use std::net::IpAddr;

/// A captured packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packet {
    /// Time in nanoseconds since the epoch of the capture (usually 1970).
    pub time: u64,
    /// Number of the interface, counted over all files in their order.
    pub interface: u16,
    /// Bytes of the IP packet on the wire: the total length in its header.
    pub bytes: u32,
    /// Bytes of the frame on the wire, as the capture states them. Equal to `bytes` for raw IP.
    pub frame_bytes: u32,
    /// Whether the packet came in; `None` if the capture does not say so. The source is the flags
    /// of pcapng or the packet type of Linux cooked captures.
    pub inbound: Option<bool>,
    /// Short hashes of the source and destination address of the link layer, if there are any.
    pub stations: Option<(u32, u32)>,
    /// Endpoints of the packet, from sender to receiver.
    pub flow: FlowKey,
    /// ECN codepoint of the IP header.
    pub ecn: Ecn,
    /// Identification of the IPv4 header, which identifies the same packet at two places.
    pub identification: Option<u16>,
    /// Time to live, or hop limit, of the IP header.
    pub hops_left: u8,
    /// Payload of the IP packet.
    pub transport: Transport,
}

/// Endpoints and protocol of a packet. Ports are zero if there are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FlowKey {
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// Protocol number (IANA): 6 is TCP, 17 is UDP.
    pub protocol: u8,
}

impl FlowKey {
    /// The same flow in the opposite direction.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self {
            source: self.destination,
            destination: self.source,
            source_port: self.destination_port,
            destination_port: self.source_port,
            protocol: self.protocol,
        }
    }
}

/// ECN codepoints of RFC 3168 section 5.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotCapable,
    /// ECT(0).
    Capable0,
    /// ECT(1).
    Capable1,
    /// Congestion experienced.
    Marked,
}

/// Payload of an IP packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Transport {
    /// TCP with at least the 20 bytes of header before the options. Only options that were captured
    /// whole are included.
    Tcp(Tcp),
    /// UDP with a captured header.
    Udp(Udp),
    /// Another protocol, or a transport header that was truncated or contradicts itself. The ports
    /// are included if they were captured.
    Other,
    /// A later fragment, which has no transport header.
    Fragment,
}

/// A TCP header (RFC 9293) with the options that describe a path.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tcp {
    /// Sequence number of the header.
    pub sequence: u32,
    /// Acknowledgment number.
    pub acknowledgment: u32,
    /// Control bits.
    pub flags: Flags,
    /// Receive window of the header, not scaled.
    pub window: u16,
    /// Bytes of payload on the wire.
    pub payload: u32,
    /// Maximum segment size that the end announces, in bytes; only on a SYN.
    pub segment_size: Option<u16>,
    /// Window shift of later packets (RFC 7323 section 2); only on a SYN.
    pub window_shift: Option<u8>,
    /// Whether selective acknowledgments are permitted; only on a SYN.
    pub selective: bool,
    /// Blocks of a selective acknowledgment (RFC 2018), at most 4.
    pub sacked: [Option<(u32, u32)>; 4],
    /// Timestamps (RFC 7323 section 3).
    pub timestamps: Option<Timestamps>,
}

/// TCP's timestamps option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamps {
    /// Clock of the sender (`TSval`).
    pub value: u32,
    /// Echoed clock of the other end (`TSecr`).
    pub echo: u32,
}

/// Control bits of a TCP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u16);

impl Flags {
    const FIN: u16 = 0x01;
    const SYN: u16 = 0x02;
    const RST: u16 = 0x04;
    const ACK: u16 = 0x10;
    const ECE: u16 = 0x40;
    const CWR: u16 = 0x80;

    fn has(self, bit: u16) -> bool {
        self.0 & bit != 0
    }

    /// Whether the sender sends no more data (FIN).
    #[must_use]
    pub fn fin(self) -> bool {
        self.has(Self::FIN)
    }

    /// Whether the packet opens a connection (SYN).
    #[must_use]
    pub fn syn(self) -> bool {
        self.has(Self::SYN)
    }

    /// Whether the packet resets the connection (RST).
    #[must_use]
    pub fn rst(self) -> bool {
        self.has(Self::RST)
    }

    /// Whether the acknowledgment number is valid (ACK).
    #[must_use]
    pub fn ack(self) -> bool {
        self.has(Self::ACK)
    }

    /// Whether the packet echoes a congestion mark (ECE, RFC 3168).
    #[must_use]
    pub fn ece(self) -> bool {
        self.has(Self::ECE)
    }

    /// Whether the sender has reduced its window because of an echoed mark (CWR, RFC 3168).
    #[must_use]
    pub fn cwr(self) -> bool {
        self.has(Self::CWR)
    }
}

/// A UDP header (RFC 768) with the first byte of its payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Udp {
    /// Bytes of payload on the wire.
    pub payload: u32,
    /// First byte of the payload, if it was captured. It holds the form and the spin bit of QUIC
    /// (RFC 9000 section 17).
    pub first: Option<u8>,
}
