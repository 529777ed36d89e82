//! The shared part of the algorithms that judge each transmission by itself, from the records of
//! [`crate::connection::sent_packets`]: the transmissions that remain to be judged, and the packets
//! to send again.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;

use forebay_congestion::packet::LossState;
use forebay_units::Time;

use crate::connection::ack::AckEvent;
use crate::connection::control_block::ControlBlock;
use crate::connection::reduction::SafeAck;
use crate::connection::sender::Transmission;
use crate::connection::sent_packets::Sent;

/// A transmission whose packet has not arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) packet: u64,
    /// When it left.
    pub(super) time: Time,
    /// How it was sent again; none for a first transmission.
    pub(super) is_retransmission: Option<Retransmission>,
}

/// How a packet was sent again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Retransmission {
    /// The next packet to be sent for the first time then.
    pub(super) next: u64,
    /// Its place among all that were sent again.
    pub(super) number: u64,
}

/// A packet sent again.
#[derive(Clone, Copy, Debug)]
struct Repeat {
    time: Time,
    packet: u64,
    how: Retransmission,
}

/// Transmissions that are to be judged, and packets that are to be sent again.
#[derive(Clone, Debug)]
pub(super) struct Records {
    /// First transmissions of all packets below are judged.
    examined: u64,
    /// Packets sent again, in the order of sending.
    is_retransmission: VecDeque<Repeat>,
    /// How many were, ever.
    repeats: u64,
    /// The latest of them to arrive.
    latest_arrived: u64,
    /// Packets to send again; some may have arrived since.
    holes: BinaryHeap<Reverse<u64>>,
}

impl Records {
    pub(super) fn new(first: u64) -> Self {
        Self {
            examined: first,
            is_retransmission: VecDeque::new(),
            repeats: 0,
            latest_arrived: 0,
            holes: BinaryHeap::new(),
        }
    }

    /// Judges first transmissions in order, and repetitions in the order of sending, each until one
    /// is not lost; how many are.
    #[inline]
    pub(super) fn detect(
        &mut self,
        control: &mut ControlBlock,
        mut is_lost: impl FnMut(Candidate) -> bool,
    ) -> u64 {
        let before = control.sender.totals.losses;
        while self.examined < control.sender.next {
            let packet = self.examined.max(control.receiver.last_ack_sent());
            if packet >= control.sender.next {
                break;
            }
            let Some(sent) = control.sent(packet) else {
                break;
            };
            let judged = sent.repeated || sent.lost || control.receiver.has(packet);
            if !judged {
                let candidate = Candidate {
                    packet,
                    time: sent.time,
                    is_retransmission: None,
                };
                if !is_lost(candidate) {
                    break;
                }
                self.lose(control, packet);
            }
            self.examined = packet + 1;
        }
        while let Some(&Repeat { time, packet, how }) = self.is_retransmission.front() {
            let newer = |sent: Sent| sent.time != time;
            if !control.receiver.has(packet) && !control.sent(packet).is_some_and(newer) {
                let candidate = Candidate {
                    packet,
                    time,
                    is_retransmission: Some(how),
                };
                if !is_lost(candidate) {
                    break;
                }
                self.lose(control, packet);
            }
            self.is_retransmission.pop_front();
        }
        control.sender.totals.losses - before
    }

    fn lose(&mut self, control: &mut ControlBlock, packet: u64) {
        control.lose(packet);
        self.holes.push(Reverse(packet));
    }

    /// On a timeout those of `packets` are lost that are `old`.
    pub(super) fn mark_lost(
        &mut self,
        control: &mut ControlBlock,
        packets: Range<u64>,
        old: impl Fn(u64, &Sent) -> bool,
    ) {
        for packet in packets {
            let Some(sent) = control.sent(packet) else {
                return;
            };
            let waits = sent.lost && !sent.repaired;
            if !control.receiver.has(packet) && !waits && old(packet, &sent) {
                self.lose(control, packet);
            }
        }
    }

    /// The place, among all that were sent again, of the latest that has arrived; zero before any
    /// has. To be asked before the packets of this acknowledgment are settled.
    pub(super) fn latest_arrived(&mut self, control: &ControlBlock, ack: &AckEvent) -> u64 {
        for packet in ack.arrivals() {
            let Some(sent) = control.sent(packet).filter(|sent| sent.repeated) else {
                continue;
            };
            let from = self
                .is_retransmission
                .partition_point(|repeat| repeat.time < sent.time);
            let mut then = self.is_retransmission.range(from..);
            if let Some(repeat) = then.find(|repeat| repeat.packet == packet) {
                self.latest_arrived = self.latest_arrived.max(repeat.how.number);
            }
        }
        self.latest_arrived
    }

    /// Everything is lost, what was sent again included: nothing of it is left to judge.
    pub(super) fn forget_repetitions(&mut self) {
        self.is_retransmission.clear();
    }

    /// A packet leaves; `next` is then the next one to be sent for the first time.
    pub(super) fn on_send(&mut self, transmission: Transmission, next: u64, now: Time) {
        if transmission.is_retransmission {
            self.repeats += 1;
            let how = Retransmission {
                next,
                number: self.repeats,
            };
            self.is_retransmission.push_back(Repeat {
                time: now,
                packet: transmission.packet,
                how,
            });
        }
    }

    /// The next packet to send, lost ones first.
    pub(super) fn next_packet(
        &mut self,
        control: &mut ControlBlock,
        now: Time,
    ) -> Option<Transmission> {
        let urgent = std::mem::take(&mut control.sender.urgent);
        if control.window_is_full() && !urgent {
            return None;
        }
        if let Some(packet) = self.next_lost(control) {
            return Some(self.repair(control, packet));
        }
        control.sender.send_another(now)
    }

    /// The first lost packet that has not been sent again.
    fn next_lost(&mut self, control: &ControlBlock) -> Option<u64> {
        while let Some(&Reverse(packet)) = self.holes.peek() {
            let waits = |sent: Sent| sent.lost && !sent.repaired;
            if !control.receiver.has(packet) && control.sent(packet).is_some_and(waits) {
                return Some(packet);
            }
            self.holes.pop();
        }
        None
    }

    /// Sends the packet again that [`Self::next_lost`] named.
    fn repair(&mut self, control: &mut ControlBlock, packet: u64) -> Transmission {
        self.holes.pop();
        control.scoreboard.repair();
        control.sender.retransmit(packet)
    }

    /// Sends the only packet again that counts as lost; it should be `packet`.
    pub(super) fn repeat_first(&mut self, control: &mut ControlBlock, packet: u64) -> Transmission {
        let lost = self.next_lost(control).unwrap_or(packet);
        self.repair(control, lost)
    }
}

/// Whether recovery begins with an acknowledgment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    Begins,
    No,
}

/// Takes packets that have just become known as arrived off the counts of lost packets.
pub(super) fn settle(control: &mut ControlBlock, ack: &AckEvent) {
    ack.arrivals().for_each(|packet| {
        if let Some(sent) = control.sent(packet).filter(|sent| sent.lost) {
            control.scoreboard.settle(sent.repaired);
        }
    });
    control.advance(ack);
}

/// Updates the sender's state after an acknowledgment that showed `found` losses.
pub(super) fn react(control: &mut ControlBlock, ack: &AckEvent, found: u64) -> Entry {
    let now = ack.now;
    let sender = &mut control.sender;
    if sender.state != LossState::Open && sender.unacknowledged >= sender.recover {
        if sender.state == LossState::Recovery {
            control.end_reduction();
        }
        control.sender.state = LossState::Open;
    }
    // The packets that have just arrived count, not those that a repaired hole uncovers (Linux:
    // acked_sacked), and only if the cumulative acknowledgment moves (tcp_may_raise_cwnd).
    let arrived = ack.arrived();
    let grown = if ack.acked > 0 { arrived } else { 0 };
    let mut entry = Entry::No;
    match control.sender.state {
        LossState::Open if control.scoreboard.lost > 0 => {
            enter_recovery(control, now);
            entry = Entry::Begins;
        }
        LossState::Open => control.sender.grow(grown, ack.limited, now),
        LossState::Timeout => control.sender.grow(grown, true, now),
        LossState::Recovery => {}
    }
    if control.sender.state == LossState::Recovery {
        control.reduce(arrived, SafeAck::of(ack.acked, found));
    }
    entry
}

/// Fast recovery begins.
pub(super) fn enter_recovery(control: &mut ControlBlock, now: Time) {
    control.enter_recovery(now);
    // If the window falls at once, only the first repetition goes out before the pipe drains.
    control.sender.urgent = control
        .sent_packets
        .as_ref()
        .is_some_and(|sent_packets| sent_packets.reduction.is_none());
}
