//! Forward RTO recovery (RFC 5682): finds out whether a retransmission timeout was spurious before
//! anything but the first packet is sent again; the basic algorithm (section 2.1) without SACK, the
//! enhanced one (section 3.1) with it. A spurious timeout is undone as Linux does it
//! (`tcp_try_undo_loss`): window and threshold as they were, at least, and no back-off of the
//! timer.
//!
//! As in Linux, with SACK an acknowledgment that moves on and also covers a packet that was not
//! sent again is proof enough, before any new data is sent: delayed acknowledgments often do. The
//! response of RFC 4015 would also restart the estimate of the round trip; here, as in Linux, the
//! late answers are measured like any other.

use forebay_congestion::Controller;
use forebay_congestion::packet::{LossState, Window};
use forebay_units::Time;

use super::ack::AckEvent;
use super::control_block::ControlBlock;
use super::recovery::LossRecovery;
use super::recovery::algorithm::Genuine;
use super::round_trip::RoundTrip;
use super::sender::{Timed, Transmission};

/// New packets that the first acknowledgment allows (RFC 5682 section 2.1 step 2b).
const NEW_PACKETS: u32 = 2;

/// The window at most where the second acknowledgment says that the loss was real, packets (RFC
/// 5682 section 2.1 step 3a).
const WINDOW_AFTER_LOSS: f64 = 3.0;

/// A timeout that may prove spurious.
#[derive(Clone, Debug)]
pub(super) struct Attempt {
    step: Step,
    /// The packet sent again.
    repeated: u64,
    /// Everything below was sent before the timeout.
    end: u64,
    before: PriorState,
}

/// The next step of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The first packet must be sent again.
    Repeat,
    /// The first acknowledgment is awaited.
    First,
    /// The second acknowledgment is awaited; `new` new packets may leave.
    Second { new: u32 },
}

/// The sender before the timeout.
#[derive(Clone, Debug)]
struct PriorState {
    window: Window,
    controller: Controller,
    round_trip: RoundTrip,
    recover: u64,
    timed: Option<Timed>,
    first_cut: Option<Time>,
}

/// The verdict of an acknowledgment about an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It was the first one, and moves on: new data may tell more.
    Open,
    Genuine,
    Spurious,
}

impl Attempt {
    /// The timer expires, and no loss is under repair (RFC 5682 section 2.1 step 1, and Linux). To
    /// be called before anything is reduced.
    pub(super) fn begin(control: &ControlBlock) -> Self {
        let sender = &control.sender;
        Self {
            step: Step::Repeat,
            repeated: sender.unacknowledged,
            end: sender.next,
            before: PriorState {
                window: sender.window,
                controller: sender.controller.clone(),
                round_trip: sender.round_trip,
                recover: sender.recover,
                timed: sender.timed,
                first_cut: sender.first_cut,
            },
        }
    }

    /// The packet that may leave now, whatever the window.
    pub(super) fn next_packet(
        &mut self,
        control: &mut ControlBlock,
        recovery: &mut LossRecovery,
        now: Time,
    ) -> Option<Transmission> {
        match self.step {
            Step::Repeat => {
                self.step = Step::First;
                Some(recovery.repeat_first(control, self.repeated))
            }
            Step::First | Step::Second { new: 0 } => None,
            Step::Second { new } => {
                self.step = Step::Second { new: new - 1 };
                control.sender.send_another(now)
            }
        }
    }

    /// The verdict of an acknowledgment about the timeout, before anything else is done with it.
    #[cold]
    pub(super) fn evaluate(
        &self,
        control: &ControlBlock,
        recovery: &LossRecovery,
        ack: &AckEvent,
    ) -> Verdict {
        let moves = ack.acked > 0;
        let selective = recovery.is_selective();
        let original = selective && self.covers_original(control, ack);
        match self.step {
            Step::First if moves && original => Verdict::Spurious,
            Step::First if moves && control.receiver.rcv_nxt() < self.end => Verdict::Open,
            Step::Second { .. } if original => Verdict::Spurious,
            Step::Second { .. } if !selective && moves => Verdict::Spurious,
            Step::Repeat | Step::First | Step::Second { .. } => Verdict::Genuine,
        }
    }

    /// Whether one of the packets that newly arrived was sent before the timeout and never again.
    fn covers_original(&self, control: &ControlBlock, ack: &AckEvent) -> bool {
        let repeated = |packet| control.sent(packet).is_some_and(|sent| sent.repeated);
        ack.arrivals()
            .any(|packet| packet < self.end && packet != self.repeated && !repeated(packet))
    }

    /// The timeout was spurious: as if the timer had not expired (RFC 4015 with Linux's
    /// `tcp_undo_cwnd_reduction`).
    pub(super) fn undo(self, control: &mut ControlBlock) {
        let before = self.before;
        let sender = &mut control.sender;
        if !sender.controller.requirements().own_recovery {
            sender.window.cwnd = sender.window.cwnd.max(before.window.cwnd);
        }
        sender.window.ssthresh = sender.window.ssthresh.max(before.window.ssthresh);
        sender.controller.on_undo(&before.controller);
        sender.round_trip.undo_back_off(&before.round_trip);
        let unanswered = |timed: &Timed| timed.packet.get() >= sender.unacknowledged;
        if let Some(timed) = before.timed.filter(unanswered) {
            sender.timed = Some(timed);
        }
        sender.recover = before.recover;
        sender.first_cut = before.first_cut;
        sender.state = LossState::Open;
    }

    /// The first acknowledgment moves on: the second will tell more, where new data can be sent.
    pub(super) fn awaits_second(&mut self, control: &ControlBlock) -> bool {
        let can = control.sender.unsent() > 0;
        if can {
            self.step = Step::Second { new: NEW_PACKETS };
        }
        can
    }

    /// The timeout was not spurious, as far as can be known: conventional recovery follows.
    #[cold]
    pub(super) fn give_up(
        self,
        control: &mut ControlBlock,
        recovery: &mut LossRecovery,
        now: Time,
    ) {
        let sender = &mut control.sender;
        let owned = sender.controller.requirements().own_recovery;
        if matches!(self.step, Step::Second { .. }) && !owned {
            sender.window.cwnd = sender.window.cwnd.min(WINDOW_AFTER_LOSS);
        }
        if sender.state == LossState::Timeout {
            let missing = self.repeated >= control.receiver.rcv_nxt();
            let genuine = Genuine {
                repeated: self.step != Step::Repeat && missing,
                end: self.end,
            };
            recovery.on_genuine_timeout(control, genuine, now);
            control.report_losses();
        }
    }
}
