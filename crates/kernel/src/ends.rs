//! The two ends of a connection as the path sees them: two sockets. Its knowledge comes from packet
//! headers and from the kernel's `tcp_info` of the sender.

use std::net::Ipv4Addr;
use std::sync::Arc;

use forebay_congestion::packet::Window;
use forebay_discipline::{Ecn, Label};
use forebay_scenario::{HeaderRecord, Segment as SegmentKind};
use forebay_simulation::{Direction, Ends, Identity, Progress, UnresponsiveId};
use forebay_units::{Bytes, Time};

use crate::side::Side;
use crate::slots::Slots;
use crate::tcp::Connection;
use crate::tcp_info::TcpInfo;
use crate::wire::{Segment, codepoint, headers};

/// Largest window (RFC 7323 section 2.3). A segment further beyond the acknowledged data is forged.
const MOST_WINDOW: u64 = 1 << 30;

/// The two ends of a flow's connection, and its packets in flight.
#[derive(Debug)]
pub(crate) struct SocketEnds {
    /// Payload of a full packet, in bytes.
    payload: u64,
    /// Flow of the acknowledgments among the unresponsive flows.
    pub(crate) acknowledgments: UnresponsiveId,
    /// Whether the acknowledgments cross links.
    pub(crate) cross_links: bool,
    /// Delay from the last link of the reverse path, or from the receiver, to the sender.
    pub(crate) delay_back: Time,
    pub(crate) data: Slots,
    pub(crate) answers: Slots,
    open: Option<Open>,
    /// Progress of the earlier connections.
    before: Progress,
    transfer: Transfer,
    pub(crate) limits: Limits,
}

/// Limits of a sender other than the path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    /// Time limited by the receiver's window, at the first and at the last inspection.
    by_window: Option<(Time, Time)>,
    /// Whether an inspection found no unsent data.
    pub(crate) starved: bool,
}

impl Limits {
    /// Adds the kernel's state of a persistent sender.
    fn add(&mut self, info: &TcpInfo) {
        let limited = info.receive_window_limited.unwrap_or_default();
        let first = self.by_window.map_or(limited, |(first, _)| first);
        self.by_window = Some((first, limited));
        self.starved |= info.not_sent == Some(Bytes::ZERO);
    }

    /// The time between first and last inspection in which the receiver's window limited the
    /// sender.
    pub(crate) fn by_window(&self) -> Time {
        self.by_window
            .map_or(Time::ZERO, |(first, last)| last.saturating_sub(first))
    }
}

/// The current connection of a flow.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    /// Key of the sender's socket in the thread of the applications.
    pub(crate) key: u64,
    pub(crate) sender: Arc<Connection>,
    /// Address and port of the sender.
    pub(crate) near: (Ipv4Addr, u16),
    /// Sequence number of the SYN, once it was seen.
    initial: Option<u32>,
    /// Payload that was sent at least once, in bytes.
    sent: u64,
    /// Payload that was acknowledged in order, in bytes: by the receiver, and as far as the sender
    /// knows.
    received: u64,
    acknowledged: u64,
}

/// The current transfer of a flow, as a range of the connection's payload.
#[derive(Clone, Copy, Debug, Default)]
struct Transfer {
    from: u64,
    /// End of the transfer, in bytes of payload; `None` means without end.
    to: Option<u64>,
    first_congestion_event: Option<Time>,
}

impl SocketEnds {
    /// The ends of a flow that has not started. Its full packets carry `payload` bytes.
    pub(crate) fn new(payload: u64) -> Self {
        Self {
            payload,
            acknowledgments: UnresponsiveId::default(),
            cross_links: false,
            delay_back: Time::ZERO,
            data: Slots::default(),
            answers: Slots::default(),
            open: None,
            before: Progress::default(),
            transfer: Transfer {
                to: Some(0),
                ..Transfer::default()
            },
            limits: Limits::default(),
        }
    }

    /// Payload of `packets` packets, in bytes.
    pub(crate) fn bytes(&self, packets: u64) -> u64 {
        packets.saturating_mul(self.payload)
    }

    /// Opens a connection for `bytes` bytes of payload, or without end if `None`.
    pub(crate) fn open(&mut self, open: Open, bytes: Option<u64>) {
        self.open = Some(open);
        self.transfer = Transfer {
            to: bytes,
            ..Transfer::default()
        };
    }

    /// Begins the next transfer on the existing connection.
    pub(crate) fn begin(&mut self, bytes: u64) {
        let from = self.transfer.to.unwrap_or(0);
        self.transfer = Transfer {
            from,
            to: Some(from + bytes),
            first_congestion_event: None,
        };
    }

    /// Extends the current transfer.
    pub(crate) fn write(&mut self, bytes: u64) {
        self.transfer.to = self.transfer.to.map(|to| to + bytes);
    }

    /// Key of the connection in the applications.
    pub(crate) fn key(&self) -> Option<u64> {
        self.open.as_ref().map(|open| open.key)
    }

    /// Number of packets that were written and not sent.
    pub(crate) fn backlog(&self) -> u64 {
        let sent = self.open.as_ref().map_or(0, |open| open.sent);
        let written = self.transfer.to.unwrap_or(u64::MAX);
        written.saturating_sub(sent) / self.payload
    }

    /// Closes the connection and stores its progress.
    pub(crate) fn close(&mut self) -> Option<Open> {
        self.before = self.progress();
        self.open.take()
    }

    /// Whether a segment belongs to the current connection, and not to an earlier one.
    pub(crate) fn has(&self, segment: &Segment) -> bool {
        self.open.as_ref().is_some_and(|o| o.near == segment.near)
    }

    /// Inspects the limits of the sender, once it has sent.
    pub(crate) fn inspect(&mut self) {
        if self.open.as_ref().is_some_and(|open| open.sent > 0)
            && let Some(info) = self.info()
        {
            self.limits.add(&info);
        }
    }

    /// The kernel's state of the sender, if there is one.
    fn info(&self) -> Option<TcpInfo> {
        self.open.as_ref()?.sender.info().ok()
    }

    // --- Packets of the connection ---

    /// Processes a segment of the sender at `now`. Returns whether it is a retransmission.
    pub(crate) fn sends(&mut self, segment: &Segment, now: Time) -> bool {
        let Some(open) = &mut self.open else {
            return false;
        };
        if segment.syn() {
            let again = open.initial == Some(segment.sequence);
            // After data, the connection has no other SYN, so a later SYN is forged.
            if open.sent == 0 {
                open.initial = Some(segment.sequence);
            }
            return again;
        }
        let end = open.payload_before(segment.end());
        if end > open.acknowledged + MOST_WINDOW {
            return false;
        }
        let again = segment.payload > 0 && end <= open.sent;
        open.sent = open.sent.max(end);
        if again {
            self.transfer.first_congestion_event.get_or_insert(now);
        }
        again
    }

    /// Processes a segment from the receiver.
    pub(crate) fn answers(&mut self, segment: &Segment) {
        if let Some(open) = &mut self.open
            && segment.acknowledges()
        {
            open.received = open.received.max(open.acknowledged_by(segment));
        }
    }

    /// Processes a segment that reaches the sender. Returns whether it completes the transfer.
    pub(crate) fn learns(&mut self, segment: &Segment) -> bool {
        let done = self.finished();
        if let Some(open) = &mut self.open
            && segment.acknowledges()
        {
            open.acknowledged = open.acknowledged.max(open.acknowledged_by(segment));
        }
        !done && self.finished()
    }
}

impl Open {
    /// A connection that is being opened.
    pub(crate) fn new(key: u64, sender: Arc<Connection>, near: (Ipv4Addr, u16)) -> Self {
        Self {
            key,
            sender,
            near,
            initial: None,
            sent: 0,
            received: 0,
            acknowledged: 0,
        }
    }

    /// Payload before a sequence number, in bytes. The number is extended to the value nearest to
    /// the sent bytes. A number before the first byte gives zero.
    fn payload_before(&self, sequence: u32) -> u64 {
        let Some(initial) = self.initial else {
            return 0;
        };
        let low = sequence.wrapping_sub(initial).wrapping_sub(1);
        let ahead = low.wrapping_sub(self.sent as u32) as i32;
        self.sent.checked_add_signed(i64::from(ahead)).unwrap_or(0)
    }

    /// Payload that a segment acknowledges; zero if it was not sent yet (RFC 9293 section
    /// 3.10.7.4).
    fn acknowledged_by(&self, segment: &Segment) -> u64 {
        let payload = self.payload_before(segment.acknowledgment);
        if payload > self.sent { 0 } else { payload }
    }
}

impl Ends for SocketEnds {
    fn size(&self, number: u32, _full: u32) -> u32 {
        self.data
            .get(number)
            .map_or(0, |packet| packet.len() as u32)
    }

    fn acknowledgment_size(&self, number: u32, _full: u32) -> u32 {
        let packet = self.answers.get(number);
        packet.map_or(0, |packet| packet.len() as u32)
    }

    /// Reads ECN capability from the packet itself.
    fn label(&self, number: u32, label: Label) -> Label {
        match self.data.get(number).map(codepoint) {
            Some(Ecn::NotCapable) | None => label.not_capable(),
            Some(_) => label,
        }
    }

    fn identify(&self, number: u32, direction: Direction) -> Identity {
        let (slots, from) = match direction {
            Direction::Data => (&self.data, Side::Near),
            Direction::Acknowledgment => (&self.answers, Side::Far),
        };
        let segment = slots
            .get(number)
            .and_then(|packet| Segment::read(packet, from).ok());
        let (Some(segment), Some(open)) = (segment, &self.open) else {
            return Identity {
                number: 0,
                segment: SegmentKind::Data,
            };
        };
        let (sequence, kind) = match (direction, segment.syn()) {
            (Direction::Data, true) => (None, SegmentKind::Syn),
            (Direction::Data, false) => (Some(segment.sequence), SegmentKind::Data),
            (Direction::Acknowledgment, true) => (None, SegmentKind::SynAck),
            (Direction::Acknowledgment, false) => (Some(segment.acknowledgment), SegmentKind::Ack),
        };
        // Packets are counted from the SYN on.
        let behind = sequence.map(|s| 1 + open.payload_before(s).div_ceil(self.payload));
        Identity {
            number: behind.unwrap_or(0),
            segment: kind,
        }
    }

    fn header(&mut self, number: u32, direction: Direction) -> HeaderRecord {
        let slots = match direction {
            Direction::Data => &self.data,
            Direction::Acknowledgment => &self.answers,
        };
        let packet = slots.get(number).map(headers);
        packet.map_or(HeaderRecord::Plain, |header| {
            HeaderRecord::Whole(header.into())
        })
    }

    fn lose(&mut self, number: u32, direction: Direction) {
        match direction {
            Direction::Data => self.data.take(number),
            Direction::Acknowledgment => self.answers.take(number),
        };
    }

    fn delay_back(&self) -> Time {
        self.delay_back
    }

    fn begun(&self) -> bool {
        self.transfer.to.is_none_or(|to| to > self.transfer.from)
    }

    fn finished(&self) -> bool {
        let acknowledged = self.open.as_ref().map_or(0, |open| open.acknowledged);
        self.transfer.to.is_some_and(|to| acknowledged >= to)
    }

    fn transfer_packets(&self) -> u64 {
        let to = self.transfer.to.unwrap_or(0);
        to.saturating_sub(self.transfer.from).div_ceil(self.payload)
    }

    fn first_congestion_event(&self) -> Option<Time> {
        self.transfer.first_congestion_event
    }

    fn window(&self) -> Window {
        let info = self.info();
        let info = info.as_ref();
        let threshold = info.and_then(|info| info.slow_start_threshold_packets);
        Window {
            cwnd: info.map_or(0.0, |info| f64::from(info.congestion_window_packets)),
            ssthresh: threshold.map_or(f64::INFINITY, f64::from),
        }
    }

    fn smoothed_rtt(&self) -> f64 {
        let info = self.info();
        info.map_or(0.0, |info| info.smoothed_rtt.as_secs_f64())
    }

    /// The progress of the flow; delivered data is in bytes.
    fn progress(&self) -> Progress {
        let info = self.info();
        let counted = info.map_or((0, 0), |info| {
            let timeouts = info.timeouts.unwrap_or(0);
            (info.total_retransmissions, timeouts)
        });
        let received = self.open.as_ref().map_or(0, |open| open.received);
        Progress {
            delivered: self.before.delivered + received,
            retransmissions: self.before.retransmissions + u64::from(counted.0),
            timeouts: self.before.timeouts + u64::from(counted.1),
        }
    }

    fn goodput_bytes(&self, delivered: u64, _payload: u64) -> f64 {
        delivered as f64
    }
}

#[cfg(test)]
#[path = "ends/tests.rs"]
mod tests;
