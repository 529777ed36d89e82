//! A live connection. It measures the handshake and passes each packet to the direction that sent
//! it and to the direction that it acknowledges.

use crate::bins::Amount;
use crate::budget::Budget;
use crate::direction::{Answer, ConnectionDirection};
use crate::packet::{Packet, Tcp, Transport};
use crate::stream::{Ending, Stream};

/// A TCP connection, or a UDP flow and its answers.
#[derive(Debug)]
pub(crate) struct Connection {
    /// Number of the connection, in the order in which connections began.
    pub(crate) number: u64,
    pub(crate) interface: u16,
    pub(crate) protocol: u8,
    /// Hash of each half, which is the same at every interface.
    paths: [u64; 2],
    /// Side that the packets of half 0 come from, as far as it was known when the connection began.
    pub(crate) side: u8,
    pub(crate) directions: [ConnectionDirection; 2],
    handshake: Handshake,
}

/// Result of one direction of an ended connection.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Side that the packets of the direction came from.
    pub(crate) side: u8,
    /// All packets of the direction.
    pub(crate) carried: Amount,
    /// The stream; `None` if no packet had payload.
    pub(crate) stream: Option<Stream>,
}

/// State of the handshake, with times in nanoseconds. If one of its packets is repeated, it is
/// unknown which copy was answered (Karn and Partridge, SIGCOMM 1987).
#[derive(Clone, Copy, Debug, Default)]
enum Handshake {
    #[default]
    None,
    /// Half that sent the SYN, and the time of the SYN.
    Asked(u8, u64),
    /// Half that sent the SYN, and the time of the SYN-ACK.
    Answered(u8, u64),
    Over,
}

/// Class of the time after which a silent connection is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeoutClass {
    /// A UDP flow: 60 s.
    Datagrams,
    /// An open connection: 300 s.
    Open,
    /// A connection that one end has closed: 5 s.
    Closed,
}

/// Longest time between a timestamp and its echo, in nanoseconds. A later echo is no round trip.
const LONGEST: u64 = 60_000_000_000;

impl Connection {
    pub(crate) fn new(
        number: u64,
        interface: u16,
        protocol: u8,
        paths: [u64; 2],
        side: u8,
    ) -> Self {
        Self {
            number,
            interface,
            protocol,
            paths,
            side,
            directions: [
                ConnectionDirection::default(),
                ConnectionDirection::default(),
            ],
            handshake: Handshake::None,
        }
    }

    /// Whether this packet of a half opens another connection with the same addresses and ports.
    pub(crate) fn is_reused_by(&self, direction: usize, packet: &Packet) -> bool {
        let Transport::Tcp(tcp) = packet.transport else {
            return false;
        };
        if !tcp.flags.syn() || tcp.flags.ack() {
            return false;
        }
        let ConnectionDirection {
            opening,
            data_packets,
            ..
        } = &self.directions[direction];
        match opening {
            Some(opening) => opening.sequence != tcp.sequence,
            None => *data_packets > 0 || self.is_closed(),
        }
    }

    /// Processes a packet of a half. Returns whether it is the first packet of that half with
    /// payload.
    pub(crate) fn take(
        &mut self,
        time: u64,
        direction: usize,
        packet: &Packet,
        budget: &mut Budget,
    ) -> bool {
        let silent = self.directions[direction].data_packets == 0;
        self.directions[direction].count(time, packet);
        match packet.transport {
            Transport::Tcp(tcp) => self.take_tcp(time, direction, &tcp, packet, budget),
            Transport::Udp(udp) if udp.payload > 0 => {
                self.directions[direction].send(time, packet, budget);
            }
            Transport::Udp(_) | Transport::Other | Transport::Fragment => {}
        }
        silent && self.directions[direction].data_packets > 0
    }

    /// The class of the time that the connection may be silent.
    pub(crate) fn timeout_class(&self) -> TimeoutClass {
        if self.protocol != TCP {
            TimeoutClass::Datagrams
        } else if self.is_closed() {
            TimeoutClass::Closed
        } else {
            TimeoutClass::Open
        }
    }

    /// The results of both halves, half 0 first.
    pub(crate) fn finish(self, reason: Ending, budget: &mut Budget) -> [Ended; 2] {
        let reset = self.directions.iter().any(|direction| direction.reset);
        let openings = self
            .directions
            .each_ref()
            .map(|direction| direction.opening);
        let [first, second] = self.directions;
        let mut finish = |direction: ConnectionDirection, other, side, path| {
            let ending = match reason {
                _ if direction.fin => Ending::Fin,
                _ if reset => Ending::Reset,
                reason => reason,
            };
            Ended {
                side,
                carried: Amount {
                    packets: direction.packets,
                    bytes: direction.bytes,
                },
                stream: direction.finish((self.number, self.protocol, path), other, ending, budget),
            }
        };
        [
            finish(first, openings[1], self.side, self.paths[0]),
            finish(second, openings[0], 1 - self.side, self.paths[1]),
        ]
    }

    fn is_closed(&self) -> bool {
        self.directions
            .iter()
            .any(|direction| direction.fin || direction.reset)
    }

    fn take_tcp(
        &mut self,
        time: u64,
        direction: usize,
        tcp: &Tcp,
        packet: &Packet,
        budget: &mut Budget,
    ) {
        if tcp.flags.syn() {
            self.directions[direction].open(tcp);
        }
        self.shake_hands(time, direction, tcp);
        let scale = self.scale(direction, tcp);
        let [first, second] = &mut self.directions;
        let (own, other) = if direction == 0 {
            (first, second)
        } else {
            (second, first)
        };
        // The data of this packet counts as in flight before its echo is read.
        let fresh = own.distinct();
        // A RST may carry text, which is not in the sequence.
        if tcp.payload > 0 && !tcp.flags.rst() {
            own.send(time, packet, budget);
        }
        own.flags(tcp);
        own.tick(time, tcp, budget);
        // RFC 9293 section 3.5.2: a RST that answers a SYN acknowledges data that does not exist.
        if !tcp.flags.ack() || tcp.flags.rst() {
            return;
        }
        let fresh = own.distinct() > fresh;
        other.acknowledge(
            Answer {
                time,
                window: scale.map(|shift| u32::from(tcp.window) << shift),
            },
            tcp,
            budget,
        );
        let Some(stamps) = tcp.timestamps else {
            return;
        };
        let Some(answered) = other.echoed(stamps.echo, budget) else {
            return;
        };
        let sample = time.saturating_sub(answered.time);
        if sample > LONGEST || tcp.flags.syn() {
            return;
        }
        if answered.payload {
            other.see_behind_timestamps(sample);
        } else if fresh {
            own.see_before(time, sample, budget);
        }
    }

    /// Measures the times between SYN, SYN-ACK and the first packet after them.
    fn shake_hands(&mut self, time: u64, direction: usize, tcp: &Tcp) {
        let (syn, ack, from) = (tcp.flags.syn(), tcp.flags.ack(), direction as u8);
        self.handshake = match self.handshake {
            Handshake::None if syn && !ack => Handshake::Asked(from, time),
            Handshake::Asked(opener, asked) if syn && ack && from != opener => {
                let behind = time.saturating_sub(asked);
                self.directions[direction].handshake.1 = Some(behind);
                self.directions[1 - direction].handshake.0 = Some(behind);
                Handshake::Answered(opener, time)
            }
            Handshake::Answered(opener, answered) if !syn && ack && from == opener => {
                let before = time.saturating_sub(answered);
                self.directions[direction].handshake.1 = Some(before);
                self.directions[1 - direction].handshake.0 = Some(before);
                Handshake::Over
            }
            // A repeated SYN-ACK shows that SYN and SYN-ACK passed once, but not which copy is
            // answered.
            Handshake::Answered(..) if syn => Handshake::Over,
            Handshake::None | Handshake::Asked(..) if syn || self.directions[0].packets > 1 => {
                Handshake::Over
            }
            other => other,
        };
    }

    /// The shift of the window of this packet (RFC 7323 section 2.2). `None` if a SYN was not seen,
    /// and for a SYN: its window is never shifted and seldom the real one.
    fn scale(&self, direction: usize, tcp: &Tcp) -> Option<u8> {
        if tcp.flags.syn() {
            return None;
        }
        let (own, other) = (
            self.directions[direction].opening?,
            self.directions[1 - direction].opening?,
        );
        match (own.shift, other.shift) {
            (Some(shift), Some(_)) => Some(shift.min(14)),
            _ => Some(0),
        }
    }
}

/// Protocol number of TCP (IANA).
pub(crate) const TCP: u8 = 6;
