//! One direction of a live connection, measured from its packets and from the acknowledgments of
//! the other end. The second packet of payload adds the measurements of longer transfers.

use crate::budget::Budget;
use crate::detail::Detail;
use crate::pacing::Pacing;
use crate::packet::{Ecn, Packet, Tcp, Transport, Udp};
use crate::pauses::{Trip, Watch};
use crate::round_trip::{Least, Outstanding, Ticks, Times, Waiting};
use crate::sequence::{Brought, Segment, Sequence, unwrapped};
use crate::series::Series;
use crate::stream::{Ending, Stream};
use crate::window_rounds::{Kind, Sent, WindowRounds, Windows};

/// Time within which a filled gap is reordering for any round trip, in nanoseconds.
const REORDERING: u64 = 3_000_000;

/// One direction of a connection.
#[derive(Debug, Default)]
pub(crate) struct ConnectionDirection {
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    pub(crate) data_packets: u64,
    payload: u64,
    distinct: u64,
    unseen: u64,
    /// Times of the first and last packet, then those of packets with payload, in nanoseconds.
    between: Option<(u64, u64)>,
    data_between: Option<(u64, u64)>,
    /// Bytes of the first packet with payload.
    first_bytes: u32,
    sequence: Sequence,
    largest_payload: u32,
    capable: u64,
    marks: u64,
    reduced: u64,
    echoes: u64,
    selective_acks: u64,
    duplicate_selective_acks: u64,
    duplicate_acks: u64,
    zero_windows: u64,
    /// Packets that may be QUIC, and whether long headers occurred.
    quic: (u64, bool),
    /// Fields of the SYN of this direction.
    pub(crate) opening: Option<Opening>,
    pub(crate) fin: bool,
    pub(crate) reset: bool,
    behind: Least,
    behind_timestamps: Least,
    before: Least,
    /// Round trips from the capture point to the other end and to this end, from the handshake
    /// (ns).
    pub(crate) handshake: (Option<u64>, Option<u64>),
    /// Latest receive window, then the smallest and largest ones, in bytes.
    window: Option<u32>,
    receive_window: Option<(u32, u32)>,
    pub(crate) dropped: u64,
    pub(crate) marked_inside: u64,
    detail: Option<Box<Detail>>,
    ticks: Option<Box<Ticks>>,
}

/// Fields of a SYN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Opening {
    pub(crate) sequence: u32,
    pub(crate) segment_size: Option<u16>,
    pub(crate) shift: Option<u8>,
}

/// Facts about an acknowledgment beside its header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub(crate) time: u64,
    /// Receive window in bytes; `None` if its scale is unknown.
    pub(crate) window: Option<u32>,
}

impl ConnectionDirection {
    /// Counts a packet of this direction with any content.
    pub(crate) fn count(&mut self, time: u64, packet: &Packet) {
        self.packets += 1;
        self.bytes += u64::from(packet.bytes);
        self.between = Some((self.between.map_or(time, |(first, _)| first), time));
        match packet.ecn {
            Ecn::NotCapable => {}
            Ecn::Capable0 | Ecn::Capable1 => self.capable += 1,
            Ecn::Marked => {
                self.capable += 1;
                self.marks += 1;
            }
        }
    }

    /// Processes a SYN of this direction.
    pub(crate) fn open(&mut self, tcp: &Tcp) {
        self.sequence.syn(tcp.sequence);
        self.opening.get_or_insert(Opening {
            sequence: tcp.sequence,
            segment_size: tcp.segment_size,
            shift: tcp.window_shift,
        });
    }

    /// Processes the flags of a packet of this direction, after its payload.
    pub(crate) fn flags(&mut self, tcp: &Tcp) {
        if tcp.flags.fin() {
            self.fin = true;
            self.sequence.fin(tcp.sequence, tcp.payload);
        }
        self.reset |= tcp.flags.rst();
        self.reduced += u64::from(tcp.flags.cwr() && !tcp.flags.syn());
    }

    /// Processes a packet of this direction with payload.
    pub(crate) fn send(&mut self, time: u64, packet: &Packet, budget: &mut Budget) {
        let payload = match packet.transport {
            Transport::Tcp(tcp) => tcp.payload,
            Transport::Udp(udp) => udp.payload,
            Transport::Other | Transport::Fragment => return,
        };
        if self.data_packets == 0 {
            self.first_bytes = packet.bytes;
        } else if self.detail.is_none() {
            self.detail = Some(Box::new(self.lengthen(budget)));
        }
        let before = self.data_between;
        self.data_between = Some((before.map_or(time, |(first, _)| first), time));
        self.data_packets += 1;
        self.payload += u64::from(payload);
        self.largest_payload = self.largest_payload.max(payload);
        let last = before.map(|(_, last)| last);
        match packet.transport {
            Transport::Tcp(tcp) => self.send_tcp(time, last, &tcp, packet, budget),
            Transport::Udp(udp) => self.send_udp(time, last, udp),
            Transport::Other | Transport::Fragment => {}
        }
        let before = last.filter(|_| self.sequence.flight().is_none());
        let paused = self
            .detail
            .as_ref()
            .is_some_and(|it| it.watch.is_paused(time, before));
        let trip = if paused { self.trip() } else { Trip::default() };
        if let Some(detail) = &mut self.detail {
            detail.watch.send(time, before, trip);
            let window = detail.series.at(time, budget);
            window.bytes += u64::from(packet.bytes);
            window.packets += 1;
            window.marks += u32::from(packet.ecn == Ecn::Marked);
        }
        self.see_flight(time, budget);
    }

    /// Bytes of payload; each byte of the sequence counts once.
    pub(crate) fn distinct(&self) -> u64 {
        self.distinct
    }

    /// Processes an acknowledgment of the other end.
    pub(crate) fn acknowledge(&mut self, answer: Answer, tcp: &Tcp, budget: &mut Budget) {
        let time = answer.time;
        let gaps = self.sequence.gaps();
        let said = self.sequence.acknowledge(tcp.acknowledgment);
        budget.follow(gaps, self.sequence.gaps());
        self.unseen += said.unseen;
        self.echoes += u64::from(tcp.flags.ece() && !tcp.flags.syn());
        self.zero_windows += u64::from(tcp.window == 0 && !tcp.flags.rst());
        if let Some((begin, end)) = tcp.sacked[0] {
            self.selective_acks += 1;
            // RFC 2883 section 4: the first block is below the acknowledgment number, or within the
            // second block.
            let below = (begin.wrapping_sub(tcp.acknowledgment) as i32) < 0;
            let inside = tcp.sacked[1].is_some_and(|(first, last)| {
                begin.wrapping_sub(first) as i32 >= 0 && last.wrapping_sub(end) as i32 >= 0
            });
            self.duplicate_selective_acks += u64::from(below || inside);
        }
        self.duplicate_acks += u64::from(said.same && tcp.payload == 0);
        self.window = answer.window;
        if let Some(window) = answer.window {
            let (least, most) = self.receive_window.unwrap_or((window, window));
            self.receive_window = Some((least.min(window), most.max(window)));
        }
        let sample = self.answered(time, said.new > 0, said.unseen > 0, budget);
        if let Some(sample) = sample {
            self.behind.add(sample);
        }
        if let Some(detail) = &mut self.detail {
            if let (Some(stamps), Some(flight)) = (tcp.timestamps, self.sequence.flight()) {
                let number = self.sequence.high() - flight;
                detail
                    .window_rounds
                    .acknowledge(stamps.value, number, budget);
            }
            let window = detail.series.at(time, budget);
            if let Some(sample) = sample {
                detail.behind.add(sample);
                window.see_behind(sample);
            }
            if let Some(bytes) = answer.window {
                window.see_receive_window(bytes);
            }
        }
        self.see_flight(time, budget);
    }

    /// Processes the timestamp of a packet of this direction. The first packet with a value waits
    /// for its echo.
    pub(crate) fn tick(&mut self, time: u64, tcp: &Tcp, budget: &mut Budget) {
        let Some(stamps) = tcp.timestamps else {
            return;
        };
        let ticks = self.ticks.get_or_insert_default();
        let (before, generous) = (ticks.len(), budget.generous());
        ticks.see(time, stamps.value, tcp.payload > 0, generous);
        budget.follow(before, ticks.len());
    }

    /// Processes the echo of a timestamp of this direction in a packet of the other end.
    pub(crate) fn echoed(&mut self, echo: u32, budget: &mut Budget) -> Option<Waiting> {
        let ticks = self.ticks.as_mut()?;
        let before = ticks.len();
        let found = ticks.echo(echo);
        budget.follow(before, ticks.len());
        found
    }

    /// Adds a time from data of this direction to the echo of its timestamp, in nanoseconds.
    pub(crate) fn see_behind_timestamps(&mut self, sample: u64) {
        self.behind_timestamps.add(sample);
    }

    /// Adds a time from an acknowledgment to the data that it released, in nanoseconds.
    pub(crate) fn see_before(&mut self, time: u64, sample: u64, budget: &mut Budget) {
        self.before.add(sample);
        if let Some(detail) = &mut self.detail {
            detail.before.add(sample);
            detail.series.at(time, budget).see_before(sample);
        }
    }

    /// The stream of this direction; `None` if no packet had payload. Memory returns to the budget,
    /// except that of the windows.
    pub(crate) fn finish(
        mut self,
        connection: (u64, u8, u64),
        other: Option<Opening>,
        ending: Ending,
        budget: &mut Budget,
    ) -> Option<Stream> {
        let ticks = self.ticks.as_ref().map_or(0, |it| it.len());
        budget.follow(ticks + self.sequence.gaps(), 0);
        let tick = self.ticks.as_ref().and_then(|it| it.tick());
        let (first, last) = self.between?;
        let (first_data, last_data) = self.data_between?;
        let (behind, trip) = ((self.behind, self.behind_timestamps), self.trip());
        let mut stream = Stream {
            connection: connection.0,
            protocol: connection.1,
            path: connection.2,
            quic: self.quic_share(),
            begun: self.opening.is_some(),
            ending,
            first,
            last,
            first_data,
            last_data,
            packets: self.packets,
            bytes: self.bytes,
            data_packets: self.data_packets,
            payload: self.payload,
            distinct: self.distinct,
            unseen: self.unseen,
            largest_payload: self.largest_payload,
            announced_segment: other.and_then(|it| it.segment_size),
            capable: self.capable,
            marks: self.marks,
            echoes: self.echoes,
            reduced: self.reduced,
            repeated_packets: 0,
            repeated: 0,
            filled_packets: 0,
            filled: 0,
            reordered_packets: 0,
            losses: 0,
            loss_times: Vec::new(),
            selective_acks: self.selective_acks,
            duplicate_selective_acks: self.duplicate_selective_acks,
            duplicate_acks: self.duplicate_acks,
            zero_windows: self.zero_windows,
            behind: behind.0,
            behind_timestamps: behind.1,
            before: self.before,
            handshake_behind: self.handshake.0,
            handshake_before: self.handshake.1,
            spin: Least::default(),
            behind_quantiles: [None; 3],
            before_quantiles: [None; 3],
            tick,
            largest_flight: None,
            receive_window: self.receive_window,
            scale_known: self.opening.is_some() && other.is_some(),
            spent: crate::pauses::Spent::default(),
            pauses: Vec::new(),
            evenness: None,
            windows: Windows::default(),
            series: None,
            dropped: self.dropped,
            marked_inside: self.marked_inside,
        };
        if let Some(detail) = self.detail.take() {
            budget.follow(detail.sent.len() + detail.window_rounds.len(), 0);
            detail.finish(&mut stream, trip, budget);
        }
        Some(stream)
    }

    /// The measurements from the second packet on, as if they had seen the first one.
    fn lengthen(&self, budget: &mut Budget) -> Detail {
        let (first, last) = self.data_between.unwrap_or_default();
        let mut series = Series::new(first);
        let window = series.at(first, budget);
        window.bytes += u64::from(self.first_bytes);
        window.packets += 1;
        window.marks += u32::from(self.marks > 0);
        let mut sent = Outstanding::default();
        if self.sequence.flight().is_none_or(|flight| flight > 0) {
            let waiting = Waiting {
                number: self.sequence.high(),
                time: last,
                payload: true,
            };
            sent.push(waiting, true);
            budget.follow(0, 1);
        }
        let mut watch = Watch::default();
        watch.send(first, None, Trip::default());
        if self.sequence.flight() == Some(0) {
            watch.see(last, 0, None);
        }
        Detail {
            sent,
            behind: Times::default(),
            before: Times::default(),
            window_rounds: WindowRounds::default(),
            watch,
            pacing: Pacing::default(),
            series,
            repeated: (0, 0),
            filled: (0, 0),
            reordered: 0,
            losses: 0,
            loss_times: Vec::new(),
            last_loss: None,
            largest_flight: None,
            spin: None,
            spins: Least::default(),
        }
    }

    fn send_tcp(
        &mut self,
        time: u64,
        last: Option<u64>,
        tcp: &Tcp,
        packet: &Packet,
        budget: &mut Budget,
    ) {
        let smoothed = self.detail.as_ref().map_or(0.0, |it| it.behind.smoothed());
        let gaps = self.sequence.gaps();
        let brought = self.sequence.take(&Segment {
            time,
            // RFC 7413: a SYN may carry data, which follows its own sequence number.
            sequence: tcp.sequence.wrapping_add(u32::from(tcp.flags.syn())),
            payload: tcp.payload,
            identification: packet.identification,
            reordering: REORDERING.max((smoothed / 8.0) as u64),
            generous: budget.generous(),
        });
        budget.follow(gaps, self.sequence.gaps());
        self.distinct +=
            u64::from(brought.new) + u64::from(brought.filled) + u64::from(brought.reordered);
        let base = if brought.repeated > 0 || brought.filled > 0 {
            self.base_round_trip()
        } else {
            None
        };
        let high = self.sequence.high();
        let Some(detail) = &mut self.detail else {
            return;
        };
        if let Some(last) = last.filter(|_| !brought.probe) {
            detail.pacing.add(time - last);
        }
        let outstanding = detail.sent.len();
        if brought.repeated > 0 || brought.filled > 0 || brought.strange {
            detail.sent.clear();
        } else if brought.new > 0 {
            let waiting = Waiting {
                number: high,
                time,
                payload: true,
            };
            detail.sent.push(waiting, budget.generous());
        }
        budget.follow(outstanding, detail.sent.len());
        if let Some(stamps) = tcp.timestamps {
            let from = unwrapped(high, tcp.sequence);
            let sent = Sent {
                time,
                echo: stamps.echo,
                from,
                to: from + u64::from(tcp.payload),
                end: high,
                segment: self.largest_payload,
                kind: brought.kind(),
                reduced: tcp.flags.cwr() && !tcp.flags.syn(),
            };
            detail.window_rounds.send(&sent, budget);
        }
        detail.note(time, brought, base, budget);
    }

    fn send_udp(&mut self, time: u64, last: Option<u64>, udp: Udp) {
        self.distinct += u64::from(udp.payload);
        if let (Some(detail), Some(last)) = (&mut self.detail, last) {
            detail.pacing.add(time - last);
        }
        let Some(first) = udp.first else {
            return;
        };
        // RFC 9000 section 17 defines the fixed bit, the long header and the spin bit.
        self.quic.0 += u64::from(first & 0x40 != 0);
        self.quic.1 |= first & 0xc0 == 0xc0;
        if let Some(detail) = &mut self.detail
            && first & 0xc0 == 0x40
        {
            detail.spin(time, first & 0x20 != 0);
        }
    }

    /// The time from data to its acknowledgment; `None` if this acknowledgment is no valid sample.
    fn answered(&mut self, time: u64, new: bool, unseen: bool, budget: &mut Budget) -> Option<u64> {
        let high = self.sequence.high();
        let flight = self.sequence.flight()?;
        if !new {
            return None;
        }
        if let Some(detail) = &mut self.detail {
            let before = detail.sent.len();
            let found = detail.sent.answer(high - flight);
            if unseen {
                detail.sent.clear();
            }
            budget.follow(before, detail.sent.len());
            return found
                .filter(|_| !unseen)
                .map(|it| time.saturating_sub(it.time));
        }
        let (_, last) = self.data_between?;
        (flight == 0 && !unseen && self.data_packets == 1).then(|| time.saturating_sub(last))
    }

    fn see_flight(&mut self, time: u64, budget: &mut Budget) {
        let Some(flight) = self.sequence.flight() else {
            return;
        };
        let Some(detail) = &mut self.detail else {
            return;
        };
        detail.largest_flight = Some(detail.largest_flight.unwrap_or(0).max(flight));
        detail.series.at(time, budget).see_flight(flight);
        detail.watch.see(time, flight, self.window);
    }

    fn base_round_trip(&self) -> Option<u64> {
        let behind = [
            self.behind.least(),
            self.behind_timestamps.least(),
            self.handshake.0,
        ];
        let behind = behind.into_iter().flatten().min()?;
        Some(behind.saturating_add(self.least_before().unwrap_or(0)))
    }

    fn trip(&self) -> Trip {
        Trip {
            round: self.base_round_trip(),
            before: self.least_before(),
        }
    }

    /// The smallest round trip from the capture point to the sender, in nanoseconds.
    fn least_before(&self) -> Option<u64> {
        let before = [self.before.least(), self.handshake.1];
        before.into_iter().flatten().min()
    }

    /// The share of packets with QUIC's fixed bit, halved if no handshake was seen.
    fn quic_share(&self) -> f64 {
        let (fixed, long) = self.quic;
        let share = fixed as f64 / self.data_packets.max(1) as f64;
        if long { share } else { share / 2.0 }
    }
}

impl Brought {
    fn kind(self) -> Kind {
        if self.repeated > 0 || self.filled > 0 {
            Kind::Again
        } else if self.new > 0 && !self.strange {
            Kind::New
        } else {
            Kind::Other
        }
    }
}
