//! A connection while it lives: its handshake, and how each packet is told to the direction that it
//! belongs to and to the one that it acknowledges.

use crate::bins::Amount;
use crate::budget::Budget;
use crate::half::{Answer, Half};
use crate::packet::{Packet, Tcp, Transport};
use crate::stream::{Ending, Stream};

/// A connection of TCP, or a flow of UDP and its answers.
#[derive(Debug)]
pub(crate) struct Connection {
    /// Its number, in the order in which connections began.
    pub(crate) number: u64,
    pub(crate) interface: u16,
    pub(crate) protocol: u8,
    /// What tells either half at another interface.
    paths: [u64; 2],
    /// The side that packets of half 0 come from, by what was known when it began.
    pub(crate) side: u8,
    pub(crate) halves: [Half; 2],
    handshake: Handshake,
}

/// What one direction of a connection that has ended comes to.
#[derive(Debug)]
pub(crate) struct Ended {
    /// The side that it came from.
    pub(crate) side: u8,
    /// All its packets.
    pub(crate) carried: Amount,
    /// None where nothing had payload.
    pub(crate) stream: Option<Stream>,
}

/// Times of a handshake. Where one of its packets was repeated, no one knows which one was answered
/// (Karn and Partridge, SIGCOMM 1987).
#[derive(Clone, Copy, Debug, Default)]
enum Handshake {
    #[default]
    None,
    /// The half that opens, and when.
    Asked(u8, u64),
    /// The half that opens, and when it was answered.
    Answered(u8, u64),
    Over,
}

/// How long a connection may be silent before it is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// A flow of UDP: 60 s.
    Datagrams,
    /// A connection that is open: 300 s.
    Open,
    /// A connection that one end has closed: 5 s.
    Closed,
}

/// Timestamps are that long apart at most, in nanoseconds, else an echo is not an answer.
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
            halves: [Half::default(), Half::default()],
            handshake: Handshake::None,
        }
    }

    /// Whether this packet of a half opens another connection with the same addresses and ports.
    pub(crate) fn is_reused_by(&self, half: usize, packet: &Packet) -> bool {
        let Transport::Tcp(tcp) = packet.transport else {
            return false;
        };
        if !tcp.flags.syn() || tcp.flags.ack() {
            return false;
        }
        let Half {
            opening,
            data_packets,
            ..
        } = &self.halves[half];
        match opening {
            Some(opening) => opening.sequence != tcp.sequence,
            None => *data_packets > 0 || self.is_closed(),
        }
    }

    /// Tells a packet of a half; whether it is the first one with payload.
    pub(crate) fn take(
        &mut self,
        time: u64,
        half: usize,
        packet: &Packet,
        budget: &mut Budget,
    ) -> bool {
        let silent = self.halves[half].data_packets == 0;
        self.halves[half].count(time, packet);
        match packet.transport {
            Transport::Tcp(tcp) => self.take_tcp(time, half, &tcp, packet, budget),
            Transport::Udp(udp) if udp.payload > 0 => self.halves[half].send(time, packet, budget),
            Transport::Udp(_) | Transport::Other | Transport::Fragment => {}
        }
        silent && self.halves[half].data_packets > 0
    }

    /// How long it may be silent.
    pub(crate) fn patience(&self) -> Patience {
        if self.protocol != TCP {
            Patience::Datagrams
        } else if self.is_closed() {
            Patience::Closed
        } else {
            Patience::Open
        }
    }

    /// What its halves come to, the first one first.
    pub(crate) fn finish(self, reason: Ending, budget: &mut Budget) -> [Ended; 2] {
        let reset = self.halves.iter().any(|half| half.reset);
        let openings = self.halves.each_ref().map(|half| half.opening);
        let [first, second] = self.halves;
        let mut finish = |half: Half, other, side, path| {
            let ending = match reason {
                _ if half.fin => Ending::Fin,
                _ if reset => Ending::Reset,
                reason => reason,
            };
            Ended {
                side,
                carried: Amount {
                    packets: half.packets,
                    bytes: half.bytes,
                },
                stream: half.finish((self.number, self.protocol, path), other, ending, budget),
            }
        };
        [
            finish(first, openings[1], self.side, self.paths[0]),
            finish(second, openings[0], 1 - self.side, self.paths[1]),
        ]
    }

    fn is_closed(&self) -> bool {
        self.halves.iter().any(|half| half.fin || half.reset)
    }

    fn take_tcp(
        &mut self,
        time: u64,
        half: usize,
        tcp: &Tcp,
        packet: &Packet,
        budget: &mut Budget,
    ) {
        if tcp.flags.syn() {
            self.halves[half].open(tcp);
        }
        self.shake_hands(time, half, tcp);
        let scale = self.scale(half, tcp);
        let [first, second] = &mut self.halves;
        let (own, other) = if half == 0 {
            (first, second)
        } else {
            (second, first)
        };
        // Data of this packet is in flight before what it echoes is known, so that both count.
        let fresh = own.distinct();
        // A packet that breaks a connection off may carry text, which is not in the sequence.
        if tcp.payload > 0 && !tcp.flags.rst() {
            own.send(time, packet, budget);
        }
        own.flags(tcp);
        own.tick(time, tcp, budget);
        // RFC 9293 section 3.5.2: a RST that answers a SYN acknowledges what never was.
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

    /// Times of SYN, SYN-ACK and the first packet behind them.
    fn shake_hands(&mut self, time: u64, half: usize, tcp: &Tcp) {
        let (syn, ack, from) = (tcp.flags.syn(), tcp.flags.ack(), half as u8);
        self.handshake = match self.handshake {
            Handshake::None if syn && !ack => Handshake::Asked(from, time),
            Handshake::Asked(opener, asked) if syn && ack && from != opener => {
                let behind = time.saturating_sub(asked);
                self.halves[half].handshake.1 = Some(behind);
                self.halves[1 - half].handshake.0 = Some(behind);
                Handshake::Answered(opener, time)
            }
            Handshake::Answered(opener, answered) if !syn && ack && from == opener => {
                let before = time.saturating_sub(answered);
                self.halves[half].handshake.1 = Some(before);
                self.halves[1 - half].handshake.0 = Some(before);
                Handshake::Over
            }
            // A repeated SYN-ACK tells that SYN and SYN-ACK passed once; what answers which is unknown.
            Handshake::Answered(..) if syn => Handshake::Over,
            Handshake::None | Handshake::Asked(..) if syn || self.halves[0].packets > 1 => {
                Handshake::Over
            }
            other => other,
        };
    }

    /// By how much the window of this packet is shifted (RFC 7323 section 2.2); None where a SYN was
    /// not seen, and for a SYN, whose window is never shifted and seldom the real one.
    fn scale(&self, half: usize, tcp: &Tcp) -> Option<u8> {
        if tcp.flags.syn() {
            return None;
        }
        let (own, other) = (self.halves[half].opening?, self.halves[1 - half].opening?);
        match (own.shift, other.shift) {
            (Some(shift), Some(_)) => Some(shift.min(14)),
            _ => Some(0),
        }
    }
}

/// Number of TCP (IANA).
pub(crate) const TCP: u8 = 6;
