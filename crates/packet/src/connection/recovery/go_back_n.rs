//! Go-back-N, the loss recovery of RoCE: the receiver discards packets out of order, and the sender
//! goes back to the missing packet (InfiniBand Architecture Specification, volume 1, section 9.7;
//! Mittal et al., "Revisiting network support for RDMA", SIGCOMM 2018, section 2.1).
//!
//! The receiver sends one NACK per gap ([`Receiver`](crate::connection::receiver::Receiver)). If
//! the first retransmission is lost, no further NACK comes, and the retransmission timer expires.
//! The retransmission timeout is that of RFC 6298. RoCE has a constant one; `min_rto` and
//! `initial_rto` set it.
//!
//! RoCE has no congestion window. A congestion control with a window is told of one loss per
//! recovery, which ends when everything sent before the NACK is acknowledged.

use forebay_congestion::packet::LossState;
use forebay_units::Time;

use super::algorithm::{Algorithm, Genuine};
use crate::connection::ack::AckEvent;
use crate::connection::control_block::ControlBlock;
use crate::connection::sender::{Sender, Transmission};

/// Go-back-N: all of its state is the sender's.
#[derive(Clone, Copy, Debug)]
pub(in crate::connection) struct GoBackN;

/// All packets from the lowest one not acknowledged are sent again in order.
fn go_back(sender: &mut Sender) {
    sender.totals.losses += 1;
    sender.next = sender.unacknowledged;
}

impl Algorithm for GoBackN {
    fn on_ack(&mut self, control: &mut ControlBlock, ack: &AckEvent) {
        let &AckEvent {
            now,
            acked,
            limited,
            ..
        } = ack;
        let nack = control.receiver.take_nack();
        let sender = &mut control.sender;
        if acked > 0 {
            sender.advance_to(control.receiver.rcv_nxt());
            if sender.unacknowledged >= sender.recover {
                sender.state = LossState::Open;
            }
            if sender.state != LossState::Recovery {
                sender.grow(acked, limited, now);
            }
            sender.restart_timer(now);
        }
        if nack && sender.outstanding() > 0 {
            if sender.state == LossState::Open {
                sender.enter_recovery(now);
            }
            sender.timed = None;
            go_back(sender);
        }
    }

    fn on_timeout(&mut self, control: &mut ControlBlock, _now: Time) {
        go_back(&mut control.sender);
    }

    fn on_doubtful_timeout(&mut self, control: &mut ControlBlock, _now: Time) {
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

    fn next_packet(&mut self, control: &mut ControlBlock, now: Time) -> Option<Transmission> {
        let sender = &mut control.sender;
        (sender.quota(0) > 0).then(|| sender.send_next(now))
    }
}

#[cfg(test)]
mod tests;
