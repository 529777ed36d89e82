//! Pipe: the first recovery with selective acknowledgments (Fall and Floyd 1996, "Simulation-based
//! comparisons of Tahoe, Reno, and SACK TCP", section 3.3), as ns-2.35's Sack1 agent has it
//! (tcp-sack1.cc, scoreboard-rq.cc).
//!
//! It differs from RFC 6675 in three points:
//!
//! - A sender counts the packets in flight, and a lost packet stays in that count until its repair
//!   is acknowledged in order. Every loss therefore costs a packet of the window.
//! - Every hole below an arrival is repaired without waiting for three arrivals.
//! - After a timeout the sender sends again in order, and repairs nothing until a packet sent since
//!   is acknowledged.

use forebay_congestion::packet::LossState;
use forebay_units::Time;

use super::algorithm::{AFTER_TIMEOUT, Algorithm, DUP_THRESHOLD, Genuine};
use crate::connection::ack::AckEvent;
use crate::connection::control_block::ControlBlock;
use crate::connection::sender::Transmission;

/// The state of Sack1.
#[derive(Clone, Debug)]
pub(in crate::connection) struct Pipe {
    /// Packets in flight in recovery (`pipe_`).
    in_flight: u64,
    /// Acknowledgments since the last one in order that reported an arrival beyond a hole.
    dupacks: u64,
    /// Every hole below has been repaired (`h_seqno_`).
    repaired_below: u64,
    /// The highest packet that arrived beyond a hole.
    top: u64,
    /// Whether recovery has begun with this acknowledgment, which then sends only the repair.
    begins: bool,
}

impl Pipe {
    pub(super) fn new(first: u64) -> Self {
        Self {
            in_flight: 0,
            dupacks: 0,
            repaired_below: first,
            top: 0,
            begins: false,
        }
    }

    /// An acknowledgment reported an arrival beyond a hole, outside of recovery.
    fn on_duplicate(&mut self, control: &mut ControlBlock, now: Time) {
        self.dupacks += 1;
        let sender = &mut control.sender;
        // Beyond `recover` by a new packet at least, where a timeout set it (`bugFix_`).
        let calm = sender.state == LossState::Open && sender.unacknowledged > sender.recover;
        if self.dupacks != DUP_THRESHOLD || !calm {
            return;
        }
        self.in_flight = (sender.highest - sender.unacknowledged).saturating_sub(DUP_THRESHOLD);
        self.repaired_below = sender.unacknowledged + 1;
        self.begins = true;
        sender.totals.losses += 1;
        control.enter_recovery(now);
        control.sender.urgent = true;
        control.sender.restart_timer(now);
    }

    /// An acknowledgment in recovery: what it answers has left the pipe, and where it moves on in
    /// order so has the packet whose repair it answers.
    fn on_ack_in_recovery(&mut self, control: &mut ControlBlock, ack: &AckEvent) {
        self.in_flight = self.in_flight.saturating_sub(1);
        if ack.acked == 0 {
            return;
        }
        control.advance(ack);
        let sender = &mut control.sender;
        if sender.unacknowledged < sender.recover {
            self.in_flight = self.in_flight.saturating_sub(1);
            return;
        }
        sender.state = LossState::Open;
        // The next loss is a new congestion, whichever packet it is.
        sender.recover = sender.unacknowledged - 1;
        self.dupacks = 0;
    }

    /// The first hole below an arrival that has not been repaired.
    fn next_hole(&self, control: &ControlBlock) -> Option<u64> {
        let from = self.repaired_below.max(control.receiver.last_ack_sent());
        control.receiver.next_missing(from, self.top.max(from))
    }
}

impl Algorithm for Pipe {
    #[inline]
    fn on_ack(&mut self, control: &mut ControlBlock, ack: &AckEvent) {
        self.begins = false;
        let sacked = ack
            .packet
            .filter(|&p| p >= control.receiver.last_ack_sent());
        self.top = self.top.max(sacked.unwrap_or(0));
        if control.sender.state == LossState::Recovery {
            self.on_ack_in_recovery(control, ack);
            return;
        }
        if ack.acked == 0 {
            if sacked.is_some() {
                self.on_duplicate(control, ack.now);
            }
            return;
        }
        self.dupacks = 0;
        control.advance(ack);
        let sender = &mut control.sender;
        if sender.state == LossState::Timeout {
            sender.grow(ack.acked.min(AFTER_TIMEOUT), ack.limited, ack.now);
            if sender.unacknowledged >= sender.recover {
                sender.state = LossState::Open;
            }
        } else {
            sender.grow(ack.acked, ack.limited, ack.now);
        }
    }

    /// All packets in flight are sent again in order.
    fn on_timeout(&mut self, control: &mut ControlBlock, _now: Time) {
        self.dupacks = 0;
        control.sender.totals.losses += 1;
        control.sender.next = control.sender.unacknowledged;
    }

    fn on_doubtful_timeout(&mut self, control: &mut ControlBlock, _now: Time) {
        self.dupacks = 0;
        control.sender.totals.losses += 1;
    }

    fn on_genuine_timeout(&mut self, control: &mut ControlBlock, genuine: Genuine, _now: Time) {
        let sender = &mut control.sender;
        sender.next = genuine.missing(control.receiver.last_ack_sent()).start;
        sender.recover = sender.highest;
    }

    fn repeat_first(&mut self, control: &mut ControlBlock, packet: u64) -> Transmission {
        control.sender.retransmit(packet)
    }

    #[inline]
    fn next_packet(&mut self, control: &mut ControlBlock, now: Time) -> Option<Transmission> {
        let sender = &mut control.sender;
        if let Some(repeated) = sender.repeat_urgent() {
            return Some(repeated);
        }
        match sender.state {
            LossState::Open => {
                let allowance = self.dupacks.min(DUP_THRESHOLD - 1);
                return (sender.quota(allowance) > 0).then(|| sender.send_next(now));
            }
            LossState::Timeout => {
                let room = sender.outstanding() as f64 + 1.0 <= sender.window.cwnd;
                return room.then(|| sender.send_another(now)).flatten();
            }
            LossState::Recovery => {}
        }
        if self.begins || self.in_flight >= sender.window.cwnd as u64 {
            return None;
        }
        let sent = if let Some(hole) = self.next_hole(control) {
            self.repaired_below = hole + 1;
            control.sender.totals.losses += 1;
            Some(control.sender.retransmit(hole))
        } else {
            control.sender.send_another(now)
        };
        self.in_flight += u64::from(sent.is_some());
        sent
    }
}
