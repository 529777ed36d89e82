//! One packet as a capture has it: when and where it was seen, and what its headers say.
//! Whoever reads files makes it, whoever follows connections takes it.

use std::net::IpAddr;

/// A packet that was seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packet {
    /// When, in nanoseconds since the epoch of the capture (usually 1970).
    pub time: u64,
    /// Where: the number of the interface, counted over all files in their order.
    pub interface: u16,
    /// Bytes of the IP packet on the wire, headers and payload: the total length that its header states.
    pub bytes: u32,
    /// Bytes of the frame on the wire, as the capture states them; equal to `bytes` for raw IP.
    pub frame_bytes: u32,
    /// Which way it went past the interface, where the capture knows (flags of pcapng, the packet type of
    /// Linux's cooked captures).
    pub inbound: Option<bool>,
    /// A short hash of source and of destination address of the link layer, where there are any.
    pub stations: Option<(u32, u32)>,
    /// The two ends, from the sender to the receiver.
    pub flow: FlowKey,
    /// Explicit Congestion Notification of the IP header.
    pub ecn: Ecn,
    /// Identification of the IPv4 header, for whoever finds the same packet at two places.
    pub identification: Option<u16>,
    /// Time to live, or hop limit.
    pub hops_left: u8,
    /// What the IP packet carries.
    pub transport: Transport,
}

/// The two ends of a packet's way, and its protocol. Ports are zero where there are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FlowKey {
    /// Address that it comes from.
    pub source: IpAddr,
    /// Address that it goes to.
    pub destination: IpAddr,
    /// Port that it comes from.
    pub source_port: u16,
    /// Port that it goes to.
    pub destination_port: u16,
    /// Number of the protocol (IANA): 6 is TCP, 17 is UDP.
    pub protocol: u8,
}

impl FlowKey {
    /// The same seen from the other end.
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

/// Codepoints of RFC 3168 section 5.
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

/// What an IP packet carries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Transport {
    /// TCP, whose header was captured at least up to its options; of those, the ones that were captured
    /// whole are told.
    Tcp(Tcp),
    /// UDP with a header that was captured.
    Udp(Udp),
    /// Something else, or a transport header that the capture cut off (its ports are told where they are
    /// there) or that contradicts itself.
    Other,
    /// A fragment behind the first: it has no transport header.
    Fragment,
}

/// A TCP header (RFC 9293) with the options that tell of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tcp {
    /// Sequence number of the first byte of payload.
    pub sequence: u32,
    /// Acknowledgment number.
    pub acknowledgment: u32,
    /// Control bits.
    pub flags: Flags,
    /// Receive window as the header has it: not scaled.
    pub window: u16,
    /// Bytes of payload on the wire.
    pub payload: u32,
    /// Largest segment that the end takes; on a SYN.
    pub segment_size: Option<u16>,
    /// Shift of the windows to come (RFC 7323 section 2); on a SYN.
    pub window_shift: Option<u8>,
    /// Whether selective acknowledgments are offered; on a SYN.
    pub selective: bool,
    /// Blocks of a selective acknowledgment (RFC 2018), as many as there are, at most 4.
    pub sacked: [Option<(u32, u32)>; 4],
    /// Timestamps (RFC 7323 section 3).
    pub timestamps: Option<Timestamps>,
}

/// TCP's timestamps option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamps {
    /// The sender's clock (`TSval`).
    pub value: u32,
    /// The clock of the other end that is echoed (`TSecr`).
    pub echo: u32,
}

/// Control bits of a TCP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u16);

impl Flags {
    const FIN: u16 = 0x01;
    const SYN: u16 = 0x02;
    const RST: u16 = 0x04;
    const PSH: u16 = 0x08;
    const ACK: u16 = 0x10;
    const ECE: u16 = 0x40;
    const CWR: u16 = 0x80;

    fn has(self, bit: u16) -> bool {
        self.0 & bit != 0
    }

    /// No more data from its sender.
    #[must_use]
    pub fn fin(self) -> bool {
        self.has(Self::FIN)
    }

    /// Opens a connection.
    #[must_use]
    pub fn syn(self) -> bool {
        self.has(Self::SYN)
    }

    /// Breaks a connection off.
    #[must_use]
    pub fn rst(self) -> bool {
        self.has(Self::RST)
    }

    /// The application is to have what has come.
    #[must_use]
    pub fn psh(self) -> bool {
        self.has(Self::PSH)
    }

    /// The acknowledgment number means something.
    #[must_use]
    pub fn ack(self) -> bool {
        self.has(Self::ACK)
    }

    /// A mark is echoed (RFC 3168).
    #[must_use]
    pub fn ece(self) -> bool {
        self.has(Self::ECE)
    }

    /// The window was reduced for an echoed mark (RFC 3168).
    #[must_use]
    pub fn cwr(self) -> bool {
        self.has(Self::CWR)
    }
}

/// A UDP header (RFC 768), and what of QUIC is in the clear.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Udp {
    /// Bytes of payload on the wire.
    pub payload: u32,
    /// First byte of the payload, where it was captured: form and spin bit of QUIC (RFC 9000 section 17).
    pub first: Option<u8>,
}
