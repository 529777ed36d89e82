//! FACK: recovery by forward acknowledgment (Mathis and Mahdavi 1996, "Forward acknowledgement:
//! refining TCP congestion control", section 2.2), which goes by packet numbers: what is far enough
//! below the furthest packet that arrived is lost. As ns-2.35's Linux agent has it (tcp-linux.cc,
//! scoreboard1.cc: `UpdateScoreBoard`): four below it, where the paper says three; and every
//! acknowledgment restarts the retransmission timer, also one that moves nothing.

use forebay_units::Time;

use super::algorithm::{Algorithm, DUP_THRESHOLD, Genuine};
use super::records::{self, Records, Retransmission};
use crate::connection::ack::AckEvent;
use crate::connection::control_block::ControlBlock;
use crate::connection::sender::Transmission;

/// The state of forward acknowledgment.
#[derive(Clone, Debug)]
pub(in crate::connection) struct Fack {
    /// The packet beyond the furthest that arrived (snd.fack).
    forward: u64,
    records: Records,
}

impl Fack {
    pub(super) fn new(first: u64) -> Self {
        Self {
            forward: first,
            records: Records::new(first),
        }
    }

    /// A packet leaves.
    pub(super) fn on_send(
        &mut self,
        control: &ControlBlock,
        transmission: Transmission,
        now: Time,
    ) {
        self.records.on_send(transmission, control.sender.next, now);
    }

    /// A first transmission four below the furthest arrival is lost; a repetition is when a packet
    /// first sent after it has arrived (Linux: lost_retrans), or a repetition sent five after it.
    /// How many are.
    fn detect(&mut self, control: &mut ControlBlock, latest_repeat: u64) -> u64 {
        let forward = self.forward;
        let below = forward.saturating_sub(DUP_THRESHOLD + 1);
        self.records
            .detect(control, |candidate| match candidate.is_retransmission {
                None => candidate.packet < below,
                Some(Retransmission { next, number }) => {
                    forward > next || number + DUP_THRESHOLD + 1 < latest_repeat
                }
            })
    }
}

impl Algorithm for Fack {
    fn on_ack(&mut self, control: &mut ControlBlock, ack: &AckEvent) {
        if let Some(last) = ack.arrivals().max() {
            self.forward = self.forward.max(last + 1);
        }
        let latest_repeat = self.records.latest_arrived(control, ack);
        records::settle(control, ack);
        control.sender.restart_timer(ack.now);
        let found = self.detect(control, latest_repeat);
        records::react(control, ack, found);
    }

    fn on_timeout(&mut self, control: &mut ControlBlock, _now: Time) {
        self.records.forget_repetitions();
        let packets = control.receiver.last_ack_sent()..control.sender.next;
        self.records.mark_lost(control, packets, |_, _| true);
    }

    fn on_doubtful_timeout(&mut self, control: &mut ControlBlock, _now: Time) {
        let first = control.sender.unacknowledged;
        self.records
            .mark_lost(control, first..first + 1, |_, _| true);
    }

    fn on_genuine_timeout(&mut self, control: &mut ControlBlock, genuine: Genuine, _now: Time) {
        let packets = genuine.missing(control.receiver.last_ack_sent());
        self.records.mark_lost(control, packets, |_, _| true);
    }

    fn repeat_first(&mut self, control: &mut ControlBlock, packet: u64) -> Transmission {
        self.records.repeat_first(control, packet)
    }

    fn next_packet(&mut self, control: &mut ControlBlock, now: Time) -> Option<Transmission> {
        self.records.next_packet(control, now)
    }
}
