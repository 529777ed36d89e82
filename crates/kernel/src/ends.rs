//! Both ends of a connection as the path sees them: two sockets, of which it knows what their packets say and
//! what the kernel tells of the sender.

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

/// No sender is further ahead of what was acknowledged (RFC 7323 section 2.3): what claims to be was forged.
const MOST_WINDOW: u64 = 1 << 30;

/// The two ends of a flow's connection, and its packets on their way.
#[derive(Debug)]
pub(crate) struct SocketEnds {
    /// Payload of a full packet.
    payload: u64,
    /// Where its acknowledgments stand among the unresponsive flows.
    pub(crate) acknowledgments: UnresponsiveId,
    /// Whether they cross links.
    pub(crate) cross_links: bool,
    /// From the last link of their path, or from the receiver, to the sender.
    pub(crate) delay_back: Time,
    pub(crate) data: Slots,
    pub(crate) answers: Slots,
    open: Option<Open>,
    /// What the connections before have done.
    before: Progress,
    transfer: Transfer,
    pub(crate) limits: Limits,
}

/// What has held a sender back that is not the path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    /// Time for which the receiver's window had, when it was inspected first, and last.
    by_window: Option<(Time, Time)>,
    /// Whether it was seen with nothing left to send.
    pub(crate) starved: bool,
}

impl Limits {
    /// What the kernel says of a sender that always has something to send.
    fn add(&mut self, info: &TcpInfo) {
        let limited = info.receive_window_limited.unwrap_or_default();
        let first = self.by_window.map_or(limited, |(first, _)| first);
        self.by_window = Some((first, limited));
        self.starved |= info.not_sent == Some(Bytes::ZERO);
    }

    /// For how long the receiver's window held it back in between.
    pub(crate) fn by_window(&self) -> Time {
        self.by_window
            .map_or(Time::ZERO, |(first, last)| last.saturating_sub(first))
    }
}

/// The connection that a flow has.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    /// The sender's socket, as the thread of the applications knows it.
    pub(crate) key: u64,
    pub(crate) sender: Arc<Connection>,
    /// The sender's address and port.
    pub(crate) near: (Ipv4Addr, u16),
    /// Sequence number of the SYN, once it was seen.
    initial: Option<u32>,
    /// Payload that was sent at least once.
    sent: u64,
    /// Payload that the receiver has acknowledged, in order: where it stands, and where the sender
    /// knows.
    received: u64,
    acknowledged: u64,
}

/// The transfer that a flow is at: which part of the connection's payload it is.
#[derive(Clone, Copy, Debug, Default)]
struct Transfer {
    from: u64,
    /// None where there is no end.
    to: Option<u64>,
    first_signal: Option<Time>,
}

impl SocketEnds {
    /// Of a flow that has not started, whose full packets carry so many bytes.
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

    /// Payload of so many packets.
    pub(crate) fn bytes(&self, packets: u64) -> u64 {
        packets.saturating_mul(self.payload)
    }

    /// A connection is opened for so much payload, or without an end.
    pub(crate) fn open(&mut self, open: Open, bytes: Option<u64>) {
        self.open = Some(open);
        self.transfer = Transfer {
            to: bytes,
            ..Transfer::default()
        };
    }

    /// The next transfer begins on the connection that there is.
    pub(crate) fn begin(&mut self, bytes: u64) {
        let from = self.transfer.to.unwrap_or(0);
        self.transfer = Transfer {
            from,
            to: Some(from + bytes),
            first_signal: None,
        };
    }

    /// The transfer grows.
    pub(crate) fn write(&mut self, bytes: u64) {
        self.transfer.to = self.transfer.to.map(|to| to + bytes);
    }

    /// Its connection, as the applications know it.
    pub(crate) fn key(&self) -> Option<u64> {
        self.open.as_ref().map(|open| open.key)
    }

    /// Packets written and not sent.
    pub(crate) fn backlog(&self) -> u64 {
        let sent = self.open.as_ref().map_or(0, |open| open.sent);
        let written = self.transfer.to.unwrap_or(u64::MAX);
        written.saturating_sub(sent) / self.payload
    }

    /// The connection ends: what it has done is kept.
    pub(crate) fn close(&mut self) -> Option<Open> {
        self.before = self.progress();
        self.open.take()
    }

    /// Whether a segment belongs to the connection that there is, and not to one before.
    pub(crate) fn has(&self, segment: &Segment) -> bool {
        self.open.as_ref().is_some_and(|o| o.near == segment.near)
    }

    /// Looks at what holds the sender back, once it sends.
    pub(crate) fn inspect(&mut self) {
        if self.open.as_ref().is_some_and(|open| open.sent > 0)
            && let Some(info) = self.info()
        {
            self.limits.add(&info);
        }
    }

    /// What the kernel says of the sender, where there is one.
    fn info(&self) -> Option<TcpInfo> {
        self.open.as_ref()?.sender.info().ok()
    }

    // --- What its packets say ---

    /// The sender sends a segment at `now`: whether it does so again.
    pub(crate) fn sends(&mut self, segment: &Segment, now: Time) -> bool {
        let Some(open) = &mut self.open else {
            return false;
        };
        if segment.syn() {
            let again = open.initial == Some(segment.sequence);
            // Behind data comes no other SYN on this connection: one that does was forged.
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
            self.transfer.first_signal.get_or_insert(now);
        }
        again
    }

    /// The receiver answers with a segment.
    pub(crate) fn answers(&mut self, segment: &Segment) {
        if let Some(open) = &mut self.open
            && segment.acknowledges()
        {
            open.received = open.received.max(open.acknowledged_by(segment));
        }
    }

    /// An answer reaches the sender: whether the transfer is complete only now.
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

    /// Payload before a sequence number, which stands for the one of all with these low bits that is
    /// nearest to what was sent. What is before the first byte has none.
    fn payload_before(&self, sequence: u32) -> u64 {
        let Some(initial) = self.initial else {
            return 0;
        };
        let low = sequence.wrapping_sub(initial).wrapping_sub(1);
        let ahead = low.wrapping_sub(self.sent as u32) as i32;
        self.sent.checked_add_signed(i64::from(ahead)).unwrap_or(0)
    }

    /// Payload that a segment acknowledges; none where it was not sent yet (RFC 9293 section 3.10.7.4).
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

    /// What the packet itself says.
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

    fn first_signal(&self) -> Option<Time> {
        self.transfer.first_signal
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

    /// Of what has arrived, bytes.
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
