//! The sender's reaction to an expired retransmission timer (RFC 6298 section 5, RFC 5681 section
//! 3.1), and its behavior as long as the timeout may prove spurious.

use forebay_congestion::packet::{CongestionEvent, LossState};
use forebay_scenario::{Stack, TimeoutSsthresh};
use forebay_units::Time;

use super::ack::AckEvent;
use super::control_block::ControlBlock;
use super::frto::{Attempt, Verdict};
use super::recovery::LossRecovery;

/// The state of the last timeout.
#[derive(Clone, Debug)]
pub(super) struct Timeout {
    cut: TimeoutSsthresh,
    /// Whether timeouts are looked at before they are believed (RFC 5682).
    pub(super) frto: bool,
    /// The packet for which the timer expired last.
    packet: Option<u64>,
    /// A timeout that may prove spurious.
    pub(super) attempt: Option<Box<Attempt>>,
}

impl Timeout {
    pub(super) fn new(stack: &Stack) -> Self {
        Self {
            cut: stack.timeout_ssthresh,
            frto: stack.frto,
            packet: None,
            attempt: None,
        }
    }

    /// The retransmission timer has expired.
    pub(super) fn expire(
        &mut self,
        control: &mut ControlBlock,
        recovery: &mut LossRecovery,
        now: Time,
    ) {
        control.sender.totals.timeouts += 1;
        self.attempt = self.begin_attempt(control);
        let sender = &mut control.sender;
        sender.timed = None;
        sender.round_trip.back_off();
        sender.restart_timer(now);
        if sender.connecting() {
            sender.totals.losses += 1;
            sender.next = sender.unacknowledged;
            return;
        }
        if self.packet == Some(sender.unacknowledged) && self.cut == TimeoutSsthresh::First {
            // The same packet again: the threshold stays (RFC 5681 section 3.1).
            sender.window.cwnd = 1.0;
        } else {
            self.packet = Some(sender.unacknowledged);
            sender.congestion(CongestionEvent::Timeout, now);
        }
        sender.state = LossState::Timeout;
        sender.recover = sender.highest;
        sender.urgent = false;
        control.set_pace();
        if self.attempt.is_some() {
            recovery.on_doubtful_timeout(control, now);
        } else {
            recovery.on_timeout(control, now);
        }
        control.report_losses();
    }

    /// A timeout is doubted where no loss is under repair (RFC 5682 section 2.1 step 1, and Linux)
    /// and this is not the same packet again.
    fn begin_attempt(&self, control: &ControlBlock) -> Option<Box<Attempt>> {
        let sender = &control.sender;
        let is_retransmission = self.packet == Some(sender.unacknowledged);
        let calm = sender.state == LossState::Open && !sender.connecting();
        (self.frto && calm && !is_retransmission).then(|| Box::new(Attempt::begin(control)))
    }

    /// The timeout that may still prove spurious; the state lies nearer at hand than it.
    #[inline]
    pub(super) fn spurious_candidate(&mut self, state: LossState) -> Option<&mut Attempt> {
        if state == LossState::Timeout {
            self.attempt.as_deref_mut()
        } else {
            None
        }
    }

    /// The verdict of an acknowledgment about a timeout that may prove spurious. A spurious timeout
    /// is undone.
    #[inline]
    pub(super) fn evaluate(
        &mut self,
        control: &mut ControlBlock,
        recovery: &LossRecovery,
        ack: &AckEvent,
    ) -> Option<Verdict> {
        let attempt = self.spurious_candidate(control.sender.state)?;
        let verdict = attempt.evaluate(control, recovery, ack);
        if verdict == Verdict::Spurious
            && let Some(attempt) = self.attempt.take()
        {
            attempt.undo(control);
            self.packet = None;
        }
        Some(verdict)
    }

    /// Goes on after an acknowledgment that was not a proof of a spurious timeout: with new data,
    /// or with conventional recovery.
    pub(super) fn follow(
        &mut self,
        verdict: Verdict,
        control: &mut ControlBlock,
        recovery: &mut LossRecovery,
        now: Time,
    ) {
        let Some(mut attempt) = self.attempt.take() else {
            return;
        };
        if verdict == Verdict::Open && attempt.awaits_second(control) {
            self.attempt = Some(attempt);
        } else {
            attempt.give_up(control, recovery, now);
        }
    }
}
