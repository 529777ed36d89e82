//! New Reno: recovery without SACK (RFC 6582). A loss is what three duplicate acknowledgments mean;
//! in recovery each partial acknowledgment names the next hole.
//!
//! RFC 6298 section 5 restarts the timer for acknowledgments of new data, and RFC 6582 section 3.2
//! for partial ones. Neither restarts it for the fast retransmission, whose repair so has the rest
//! of a timeout only. ns-2 restarts it (tcp-newreno.cc: `dupack_action`), and RFC 6675 section 6
//! allows that to senders with SACK.

use forebay_congestion::packet::LossState;
use forebay_scenario::{
    FastRetransmitTimer, FullAckWindow, LimitedTransmit, PartialAckTimer, Stack,
};
use forebay_units::Time;

use super::algorithm::{AFTER_TIMEOUT, Algorithm, DUP_THRESHOLD, Genuine};
use crate::connection::ack::AckEvent;
use crate::connection::control_block::ControlBlock;
use crate::connection::sender::Transmission;

/// Packets that may leave beyond the window on duplicate acknowledgments (RFC 3042).
pub(super) const LIMITED_TRANSMIT: u64 = 2;

/// The state of New Reno.
#[derive(Clone, Debug)]
pub(in crate::connection) struct NewReno {
    /// Window inflation in packets (RFC 6582 section 3.2).
    inflation: f64,
    partial_acks: u32,
    timer: PartialAckTimer,
    fast_retransmit_timer: FastRetransmitTimer,
    full_ack_window: FullAckWindow,
    limited_transmit: LimitedTransmit,
}

impl NewReno {
    pub(super) fn new(stack: &Stack) -> Self {
        Self {
            inflation: 0.0,
            partial_acks: 0,
            timer: stack.partial_ack_timer,
            fast_retransmit_timer: stack.fast_retransmit_timer,
            full_ack_window: stack.full_ack_window,
            limited_transmit: stack.limited_transmit,
        }
    }

    fn on_duplicate(&mut self, control: &mut ControlBlock, now: Time) {
        let sender = &mut control.sender;
        control.scoreboard.sacked += 1;
        let third = control.scoreboard.sacked == DUP_THRESHOLD;
        match sender.state {
            LossState::Recovery => self.inflation += 1.0,
            // Beyond `recover` by a new packet at least: duplicates of what was sent again after a
            // timeout must not look like a loss (RFC 6582 section 3.2 step 2).
            LossState::Open if third && sender.unacknowledged > sender.recover => {
                sender.totals.losses += 1;
                sender.enter_recovery(now);
                sender.urgent = true;
                if self.fast_retransmit_timer == FastRetransmitTimer::Restart {
                    sender.restart_timer(now);
                }
                self.inflation = DUP_THRESHOLD as f64;
                self.partial_acks = 0;
            }
            LossState::Open | LossState::Timeout => {}
        }
    }

    /// RFC 6582 section 3.2 step 3: repair the next hole, deflate by what was acknowledged less
    /// one packet, and restart the timer at the first partial acknowledgment or at each.
    fn on_partial_ack(&mut self, control: &mut ControlBlock, ack: &AckEvent) {
        let sender = &mut control.sender;
        sender.totals.losses += 1;
        self.partial_acks += 1;
        let deflation = ack.acked as f64;
        match self.full_ack_window {
            FullAckWindow::Threshold => {
                self.inflation = (self.inflation - deflation + 1.0).max(1.0 - sender.window.cwnd);
            }
            FullAckWindow::Deflated if self.inflation > deflation => {
                self.inflation -= deflation - 1.0;
            }
            FullAckWindow::Deflated => {
                let cwnd = sender.window.cwnd - (deflation - self.inflation);
                sender.window.cwnd = cwnd.max(1.0);
                self.inflation = 1.0;
            }
        }
        sender.urgent = true;
        if self.partial_acks == 1 || self.timer == PartialAckTimer::Every {
            sender.restart_timer(ack.now);
        }
    }

    /// After a timeout the information of duplicates is void.
    fn forget_duplicates(&mut self, control: &mut ControlBlock) {
        control.scoreboard.sacked = 0;
        self.inflation = 0.0;
    }
}

impl Algorithm for NewReno {
    #[inline]
    fn on_ack(&mut self, control: &mut ControlBlock, ack: &AckEvent) {
        let &AckEvent {
            now,
            acked,
            limited,
            ..
        } = ack;
        if acked == 0 {
            if control.sender.outstanding() > 0 {
                self.on_duplicate(control, now);
            }
            return;
        }
        let sender = &mut control.sender;
        sender.advance_to(control.receiver.rcv_nxt());
        match sender.state {
            LossState::Recovery if sender.unacknowledged < sender.recover => {
                self.on_partial_ack(control, ack);
                return;
            }
            LossState::Recovery => {
                self.inflation = 0.0;
                sender.state = LossState::Open;
                match self.full_ack_window {
                    _ if sender.controller.requirements().own_recovery => {}
                    FullAckWindow::Threshold => sender.window.cwnd = sender.window.ssthresh,
                    // It counts as any other acknowledgment of new data.
                    FullAckWindow::Deflated => sender.grow(1, true, now),
                }
            }
            LossState::Open => sender.grow(acked, limited, now),
            LossState::Timeout => {
                sender.grow(acked.min(AFTER_TIMEOUT), limited, now);
                if sender.unacknowledged >= sender.recover {
                    sender.state = LossState::Open;
                }
            }
        }
        control.scoreboard.sacked = 0;
        sender.restart_timer(now);
    }

    /// All packets in flight are sent again in order.
    fn on_timeout(&mut self, control: &mut ControlBlock, _now: Time) {
        self.forget_duplicates(control);
        control.sender.totals.losses += 1;
        control.sender.next = control.sender.unacknowledged;
    }

    fn on_doubtful_timeout(&mut self, control: &mut ControlBlock, _now: Time) {
        self.forget_duplicates(control);
        control.sender.totals.losses += 1;
    }

    fn on_genuine_timeout(&mut self, control: &mut ControlBlock, genuine: Genuine, _now: Time) {
        let sender = &mut control.sender;
        sender.next = genuine.missing(control.receiver.rcv_nxt()).start;
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
        let after_timeout =
            self.limited_transmit == LimitedTransmit::Always && sender.state == LossState::Timeout;
        if sender.state == LossState::Open || after_timeout {
            let allowance = control.scoreboard.sacked.min(LIMITED_TRANSMIT);
            return (sender.quota(allowance) > 0).then(|| sender.send_next(now));
        }
        let inflation = if sender.state == LossState::Recovery {
            self.inflation
        } else {
            0.0
        };
        let usable = sender.window.cwnd + inflation;
        (sender.outstanding() as f64 + 1.0 <= usable)
            .then(|| sender.send_another(now))
            .flatten()
    }
}
