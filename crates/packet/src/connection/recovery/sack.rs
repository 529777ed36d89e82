//! SACK: recovery with selective acknowledgments (RFC 6675). A packet is lost when three beyond it
//! have arrived; what is lost goes out first. Rule 4 of NextSeg, the optional rescue
//! retransmission, is left out.
//!
//! As links never reorder a flow's packets, losses and repairs go upwards: two marks say which of
//! the packets that have not arrived are lost, and which of those were sent again.

use forebay_congestion::packet::LossState;
use forebay_units::Time;

use super::algorithm::{AFTER_TIMEOUT, Algorithm, Genuine};
use crate::connection::ack::AckEvent;
use crate::connection::control_block::ControlBlock;
use crate::connection::reduction::SafeAck;
use crate::connection::sender::Transmission;

/// The marks of RFC 6675 recovery.
#[derive(Clone, Debug)]
pub(in crate::connection) struct Sack {
    /// Every packet below that has not arrived counts as lost.
    lost_below: u64,
    /// Every lost packet below has been sent again.
    repaired_below: u64,
    /// The three highest packets that arrived out of order, the highest first; 0 before that.
    top: [u64; 3],
}

impl Sack {
    pub(super) fn new(first: u64) -> Self {
        Self {
            lost_below: first,
            repaired_below: first,
            top: [0; 3],
        }
    }

    /// One packet has become known to have arrived beyond a hole while losses are under repair, and
    /// nothing else has.
    #[inline]
    pub(in crate::connection) fn on_one_beyond(&mut self, control: &mut ControlBlock, packet: u64) {
        control.scoreboard.sacked = control.receiver.out_of_order();
        self.settle(control, packet);
        self.on_arrival_beyond(control, packet);
    }

    /// Takes a packet that has just become known as arrived off the counts of lost packets.
    #[inline]
    fn settle(&self, control: &mut ControlBlock, packet: u64) {
        if control.scoreboard.lost > 0 && packet < self.lost_below {
            control.scoreboard.settle(packet < self.repaired_below);
        }
    }

    /// A packet arrived beyond a hole: packets with three arrivals above them are lost (RFC 6675
    /// section 4, IsLost).
    fn on_arrival_beyond(&mut self, control: &mut ControlBlock, packet: u64) {
        let [first, second, third] = self.top;
        if packet > first {
            self.top = [packet, first, second];
        } else if packet > second {
            self.top = [first, packet, second];
        } else if packet > third {
            self.top = [first, second, packet];
        }
        let below = self.top[2];
        let from = self.lost_below.max(control.receiver.last_ack_sent());
        if below > from {
            let found = control.receiver.count_missing(from, below);
            control.scoreboard.lost += found;
            control.sender.totals.losses += found;
            self.lost_below = below;
        }
    }

    fn enter_recovery(control: &mut ControlBlock, now: Time) {
        control.enter_recovery(now);
        // Only a hole not yet sent again may go out before the pipe has drained.
        control.sender.urgent = control.scoreboard.has_hole();
    }

    /// An acknowledgment in recovery or after a timeout: both end at the recovery point.
    fn end_at_recovery_point(control: &mut ControlBlock, now: Time) {
        if control.sender.unacknowledged < control.sender.recover {
            return;
        }
        if control.sender.state == LossState::Recovery {
            control.end_reduction();
        }
        control.sender.state = LossState::Open;
        // Losses beyond the recovery point are a new congestion.
        if control.scoreboard.lost > 0 {
            Self::enter_recovery(control, now);
        }
    }

    /// The first lost packet that has not been sent again (NextSeg rule 1).
    fn next_hole(&self, control: &ControlBlock) -> Option<u64> {
        if !control.scoreboard.has_hole() {
            return None;
        }
        let from = self.repaired_below.max(control.receiver.last_ack_sent());
        control.receiver.next_missing(from, self.lost_below)
    }

    fn repair(&mut self, control: &mut ControlBlock, hole: u64) -> Transmission {
        self.repaired_below = hole + 1;
        control.scoreboard.repair();
        control.sender.retransmit(hole)
    }

    /// NextSeg rule 3: without new data, a packet below the highest arrival although it does not
    /// count as lost yet.
    fn retransmit_suspect(&mut self, control: &mut ControlBlock) -> Option<Transmission> {
        let has_sacked = control.scoreboard.sacked > 0;
        if control.sender.state != LossState::Recovery || !has_sacked {
            return None;
        }
        let from = self.lost_below.max(control.receiver.last_ack_sent());
        let hole = control.receiver.next_missing(from, self.top[0])?;
        control.scoreboard.lost += 1;
        self.lost_below = hole + 1;
        Some(self.repair(control, hole))
    }
}

impl Algorithm for Sack {
    #[inline]
    fn on_ack(&mut self, control: &mut ControlBlock, ack: &AckEvent) {
        let &AckEvent {
            now,
            acked,
            limited,
            ..
        } = ack;
        let losses = control.sender.totals.losses;
        ack.arrivals()
            .for_each(|packet| self.settle(control, packet));
        control.advance(ack);
        let cumulative = control.sender.unacknowledged;
        let sacked = ack.arrivals().filter(|packet| *packet >= cumulative);
        sacked.for_each(|packet| self.on_arrival_beyond(control, packet));
        match control.sender.state {
            LossState::Open if control.scoreboard.lost > 0 => Self::enter_recovery(control, now),
            LossState::Open => control.sender.grow(acked, limited, now),
            LossState::Recovery => Self::end_at_recovery_point(control, now),
            LossState::Timeout => {
                let acked = acked.min(AFTER_TIMEOUT);
                control.sender.grow(acked, limited, now);
                Self::end_at_recovery_point(control, now);
            }
        }
        if control.sender.state == LossState::Recovery && control.sent_packets.is_some() {
            let found = control.sender.totals.losses - losses;
            control.reduce(ack.arrived(), SafeAck::of(acked, found));
        }
    }

    /// Every packet that no acknowledgment has reported is lost.
    fn on_timeout(&mut self, control: &mut ControlBlock, _now: Time) {
        let (sender, board) = (&mut control.sender, &mut control.scoreboard);
        let lowest = control.receiver.last_ack_sent();
        let known = board.lost - board.repairing;
        board.lost = control.receiver.count_missing(lowest, sender.next);
        board.repairing = 0;
        sender.totals.losses += board.lost - known;
        self.lost_below = sender.next;
        self.repaired_below = lowest;
    }

    fn on_doubtful_timeout(&mut self, control: &mut ControlBlock, _now: Time) {
        let first = control.sender.unacknowledged;
        control.sender.totals.losses += 1;
        control.scoreboard.lost = 1;
        control.scoreboard.repairing = 0;
        self.lost_below = first + 1;
        self.repaired_below = first;
    }

    fn on_genuine_timeout(&mut self, control: &mut ControlBlock, genuine: Genuine, _now: Time) {
        let lowest = control.receiver.last_ack_sent();
        let board = &mut control.scoreboard;
        let known = board.lost;
        self.lost_below = self.lost_below.max(genuine.end);
        board.lost = control.receiver.count_missing(lowest, self.lost_below);
        board.repairing = u64::from(genuine.repeated);
        control.sender.totals.losses += board.lost.saturating_sub(known);
        self.repaired_below = lowest + u64::from(genuine.repeated);
    }

    fn repeat_first(&mut self, control: &mut ControlBlock, packet: u64) -> Transmission {
        self.repair(control, packet)
    }

    #[inline]
    fn next_packet(&mut self, control: &mut ControlBlock, now: Time) -> Option<Transmission> {
        let urgent = std::mem::take(&mut control.sender.urgent);
        if control.sender.state == LossState::Open && !urgent {
            let allowance = control.scoreboard.sacked;
            let sender = &mut control.sender;
            return (sender.quota(allowance) > 0).then(|| sender.send_next(now));
        }
        let full = control.window_is_full();
        if full && !urgent {
            return None;
        }
        if let Some(hole) = self.next_hole(control) {
            return Some(self.repair(control, hole));
        }
        if full {
            return None;
        }
        let another = control.sender.send_another(now);
        another.or_else(|| self.retransmit_suspect(control))
    }
}
