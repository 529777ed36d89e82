//! Connections with known round trips, losses and windows, as a capture point on their path sees
//! them. Sender, path and receiver are as simple as possible and use nothing of the crate.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};
use std::net::{IpAddr, Ipv4Addr};

use forebay_capture::{Ecn, Flags, FlowKey, Packet, Tcp, Timestamps, Transport, Udp};

pub(crate) const MILLISECOND: u64 = 1_000_000;
pub(crate) const SECOND: u64 = 1_000_000_000;
pub(crate) const SEGMENT: u32 = 1448;

pub(crate) const FIN: u16 = 0x01;
pub(crate) const SYN: u16 = 0x02;
pub(crate) const RST: u16 = 0x04;
pub(crate) const ACK: u16 = 0x10;

/// The two ends of a connection by number: data goes from 10/8 to 192.168/16.
pub(crate) fn ends(number: u32) -> FlowKey {
    FlowKey {
        source: IpAddr::V4(Ipv4Addr::from(0x0a00_0000 | number >> 12)),
        destination: IpAddr::V4(Ipv4Addr::new(192, 168, 0, 1)),
        source_port: 20_000 + (number & 0xfff) as u16,
        destination_port: 443,
        protocol: 6,
    }
}

/// A TCP packet without options.
pub(crate) fn packet(time: u64, flow: FlowKey, tcp: Tcp) -> Packet {
    let options = if tcp.timestamps.is_some() { 12 } else { 0 };
    let bytes = 40 + options + tcp.payload;
    Packet {
        time,
        interface: 0,
        bytes,
        frame_bytes: bytes + 14,
        inbound: None,
        stations: None,
        flow,
        ecn: Ecn::NotCapable,
        identification: None,
        hops_left: 60,
        transport: Transport::Tcp(tcp),
    }
}

/// A datagram.
pub(crate) fn datagram(time: u64, flow: FlowKey, payload: u32) -> Packet {
    let flow = FlowKey {
        protocol: 17,
        ..flow
    };
    let udp = Udp {
        payload,
        first: None,
    };
    Packet {
        bytes: 28 + payload,
        frame_bytes: 42 + payload,
        transport: Transport::Udp(udp),
        ..packet(time, flow, Tcp::default())
    }
}

/// A transfer and its path.
#[derive(Clone, Debug)]
pub(crate) struct Transfer {
    pub(crate) number: u32,
    pub(crate) start: u64,
    pub(crate) segments: u64,
    /// Round trips from the capture point to the sender and to the receiver.
    pub(crate) before: u64,
    pub(crate) behind: u64,
    /// Time between two packets of the sender.
    pub(crate) gap: u64,
    /// Segments in flight.
    pub(crate) window: u64,
    /// First sequence number: that of the SYN.
    pub(crate) first: u32,
    pub(crate) timestamps: bool,
    /// Segments whose first copy is lost between the sender and the capture point.
    pub(crate) lost_before: BTreeSet<u64>,
    /// Segments whose first copy is lost between the capture point and the receiver.
    pub(crate) lost_behind: BTreeSet<u64>,
    /// Receive window in segments.
    pub(crate) receive_window: u64,
    pub(crate) shift: u8,
}

impl Default for Transfer {
    fn default() -> Self {
        Self {
            number: 0,
            start: SECOND,
            segments: 2000,
            before: 10 * MILLISECOND,
            behind: 30 * MILLISECOND,
            gap: 50_000,
            window: 40,
            first: 1_000,
            timestamps: true,
            lost_before: BTreeSet::new(),
            lost_behind: BTreeSet::new(),
            receive_window: 1000,
            shift: 7,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// An acknowledgment reaches the sender: number of acknowledged segments, value of the
    /// receiver's clock.
    Acknowledged(u64, u32),
    /// A segment reaches the receiver with the value of the sender's clock.
    Received(u64, u32),
}

impl Transfer {
    /// The packets in the order in which the capture point sees them, from SYN to FIN.
    pub(crate) fn packets(&self) -> Vec<Packet> {
        let mut seen = self.handshake();
        let begin = self.start + self.before + self.behind;
        let (mut events, mut ready) = (BinaryHeap::new(), begin);
        let mut sender = Sender {
            newest: stamp(begin - self.before / 2 - self.behind / 2, 77),
            ..Sender::default()
        };
        let (mut next, mut above, mut recent) = (0u64, BTreeSet::new(), 0u32);
        self.send(begin, &mut ready, &mut sender, &mut events, &mut seen);
        while let Some(Reverse((time, event))) = events.pop() {
            match event {
                Event::Received(segment, value) => {
                    // RFC 7323 section 4.3: the echo advances with the data in order.
                    if segment == next {
                        recent = value;
                        next += 1;
                        while above.remove(&next) {
                            next += 1;
                        }
                    } else if segment > next {
                        above.insert(segment);
                    }
                    let mine = stamp(time, 77);
                    let here = time + self.behind / 2;
                    seen.push(self.acknowledgment(here, next, mine, recent));
                    let there = here + self.before / 2;
                    events.push(Reverse((there, Event::Acknowledged(next, mine))));
                }
                Event::Acknowledged(number, value) => {
                    if sender.newest.wrapping_sub(value) as i32 <= 0 {
                        sender.newest = value;
                    }
                    if number > sender.acknowledged {
                        sender.acknowledged = number;
                        if sender.duplicates >= 3 && number < sender.recover {
                            sender.again.push_back(number);
                        } else {
                            sender.duplicates = 0;
                        }
                    } else {
                        sender.duplicates += 1;
                        if sender.duplicates == 3 {
                            sender.recover = sender.sent;
                            sender.again.push_back(number);
                        }
                    }
                    self.send(time, &mut ready, &mut sender, &mut events, &mut seen);
                }
            }
        }
        assert_eq!(sender.acknowledged, self.segments, "the transfer ends");
        seen.sort_by_key(|it| it.time);
        let last = seen.last().map_or(self.start, |it| it.time);
        let flags = Flags(FIN | ACK);
        let end = self.tcp(self.segments, flags, 0);
        seen.push(packet(last + MILLISECOND, ends(self.number), end));
        seen
    }

    fn handshake(&self) -> Vec<Packet> {
        let (flow, syn) = (ends(self.number), self.start + self.before / 2);
        let opening = |sequence, acknowledgment, flags| Tcp {
            sequence,
            acknowledgment,
            flags: Flags(flags),
            window: 65_535,
            segment_size: Some(1460),
            window_shift: Some(self.shift),
            ..Tcp::default()
        };
        let first = self.first;
        let (asked, answered) = (
            opening(first, 0, SYN),
            opening(5_000, first.wrapping_add(1), SYN | ACK),
        );
        let last = self.tcp(0, Flags(ACK), 0);
        vec![
            packet(syn, flow, asked),
            packet(syn + self.behind, flow.reversed(), answered),
            packet(syn + self.behind + self.before, flow, last),
        ]
    }

    fn send(
        &self,
        now: u64,
        ready: &mut u64,
        sender: &mut Sender,
        events: &mut BinaryHeap<Reverse<(u64, Event)>>,
        seen: &mut Vec<Packet>,
    ) {
        loop {
            let flight = sender.sent - sender.acknowledged;
            let segment = if let Some(segment) = sender.again.pop_front() {
                segment
            } else if flight.saturating_sub(sender.duplicates) < self.window
                && sender.sent < self.segments
            {
                sender.sent += 1;
                sender.sent - 1
            } else {
                return;
            };
            let time = now.max(*ready);
            *ready = time + self.gap;
            let first_time = sender.tried.insert(segment);
            if first_time && self.lost_before.contains(&segment) {
                continue;
            }
            let (here, value) = (time + self.before / 2, stamp(time, 0));
            let mut tcp = self.tcp(segment, Flags(ACK), SEGMENT);
            tcp.timestamps = self.timestamps.then_some(Timestamps {
                value,
                echo: sender.newest,
            });
            seen.push(packet(here, ends(self.number), tcp));
            if first_time && self.lost_behind.contains(&segment) {
                continue;
            }
            let there = here + self.behind / 2;
            events.push(Reverse((there, Event::Received(segment, value))));
        }
    }

    fn acknowledgment(&self, time: u64, next: u64, value: u32, echo: u32) -> Packet {
        let bytes = self.receive_window * u64::from(SEGMENT);
        let tcp = Tcp {
            sequence: 5_001,
            acknowledgment: self.number_of(next),
            flags: Flags(ACK),
            window: (bytes >> self.shift).min(65_535) as u16,
            timestamps: self.timestamps.then_some(Timestamps { value, echo }),
            ..Tcp::default()
        };
        packet(time, ends(self.number).reversed(), tcp)
    }

    fn tcp(&self, segment: u64, flags: Flags, payload: u32) -> Tcp {
        Tcp {
            sequence: self.number_of(segment),
            acknowledgment: 5_001,
            flags,
            window: 500,
            payload,
            ..Tcp::default()
        }
    }

    fn number_of(&self, segment: u64) -> u32 {
        let bytes = (segment * u64::from(SEGMENT)) as u32;
        self.first.wrapping_add(1).wrapping_add(bytes)
    }
}

#[derive(Debug, Default)]
struct Sender {
    sent: u64,
    acknowledged: u64,
    duplicates: u64,
    recover: u64,
    again: VecDeque<u64>,
    tried: BTreeSet<u64>,
    newest: u32,
}

/// A clock with a tick of a millisecond and an offset.
fn stamp(time: u64, offset: u32) -> u32 {
    ((time / MILLISECOND) as u32).wrapping_add(offset)
}

/// Packets of several connections in order of time.
pub(crate) fn merged(all: impl IntoIterator<Item = Vec<Packet>>) -> Vec<Packet> {
    let mut packets: Vec<_> = all.into_iter().flatten().collect();
    packets.sort_by_key(|it| it.time);
    packets
}
