//! Forward RTO recovery (RFC 5682): finds out whether a retransmission timeout was spurious before
//! anything but the first packet is sent again; the basic algorithm (section 2.1) without SACK, the
//! enhanced one (section 3.1) with it. A spurious timeout is undone as Linux does it
//! (`tcp_try_undo_loss`): window and threshold as they were, at least, and no back-off of the timer.
//!
//! As in Linux, with SACK an acknowledgement that moves on and also covers a packet that was not
//! sent again is proof enough, before any new data is sent: delayed acknowledgements often do. The
//! response of RFC 4015 would also start the estimate of the round trip anew; here, as in Linux, the
//! late answers are measured like any other.

use forebay_congestion::Controller;
use forebay_congestion::packet::Window;
use forebay_scenario::Recovery;
use forebay_units::Time;

use super::ledger::Ledger;
use super::{Connection, Phase, Transmission};
use crate::timing::RoundTrip;

/// New packets that the first acknowledgement allows (RFC 5682 section 2.1 step 2b).
const NEW_PACKETS: u32 = 2;

/// The window at most where the second acknowledgement says that the loss was real, packets (RFC
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
    before: Before,
}

/// What is left to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The first packet must be sent again.
    Repeat,
    /// The first acknowledgement is awaited.
    First,
    /// So many new packets may leave; the second acknowledgement is awaited.
    Second { new: u32 },
}

/// The sender before the timeout.
#[derive(Clone, Debug)]
struct Before {
    window: Window,
    controller: Controller,
    round_trip: RoundTrip,
    recover: u64,
    timed: u64,
    timed_since: Time,
    first_cut: Time,
}

/// What an acknowledgement means for an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It was the first one, and moves on: new data may tell more.
    Open,
    Genuine,
    Spurious,
}

/// What an acknowledgement makes known to have arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct News {
    /// In-order packets whose acknowledgement was delayed.
    pub(super) delayed: u64,
    /// The new packet that caused it.
    pub(super) packet: Option<u64>,
}

impl Connection {
    /// The timer expires: begins an attempt, where no loss is under repair (RFC 5682 section 2.1 step
    /// 1, and Linux) and this is not the same packet again. To be called before anything is reduced.
    pub(super) fn begin_attempt(&mut self) -> bool {
        self.attempt = None;
        let first = self.unacknowledged;
        let begins = self.settings.frto && self.phase == Phase::Open && self.timed_out != first;
        if begins {
            self.attempt = Some(Box::new(Attempt {
                step: Step::Repeat,
                repeated: first,
                end: self.next,
                before: Before {
                    window: self.window,
                    controller: self.controller.clone(),
                    round_trip: self.round_trip,
                    recover: self.recover,
                    timed: self.timed,
                    timed_since: self.timed_since,
                    first_cut: self.first_cut,
                },
            }));
        }
        begins
    }

    /// The first packet alone counts as lost.
    pub(super) fn lose_first(&mut self, now: Time) {
        let first = self.unacknowledged;
        match self.recovery {
            Recovery::NewReno => self.losses += 1,
            Recovery::Fack | Recovery::Rack => {
                if let Some(mut ledger) = self.ledger.take() {
                    self.lose_by_timeout(&mut ledger, first..first + 1, now);
                    if let Some(rack) = &mut ledger.rack {
                        rack.doubt(first);
                    }
                    self.ledger = Some(ledger);
                }
            }
            Recovery::Sack => {
                self.losses += 1;
                self.lost = 1;
                self.lost_below = first + 1;
                self.repaired_below = first;
                self.repairing = 0;
            }
        }
    }

    /// What may leave during an attempt, whatever the window.
    pub(super) fn next_of_attempt(
        &mut self,
        ledger: Option<&mut Ledger>,
        now: Time,
    ) -> Option<Transmission> {
        let attempt = self.attempt.as_mut()?;
        match attempt.step {
            Step::Repeat => {
                attempt.step = Step::First;
                let packet = attempt.repeated;
                Some(self.repeat_first(ledger, packet))
            }
            Step::First | Step::Second { new: 0 } => None,
            Step::Second { new } => {
                attempt.step = Step::Second { new: new - 1 };
                self.send_another(now)
            }
        }
    }

    fn repeat_first(&mut self, ledger: Option<&mut Ledger>, packet: u64) -> Transmission {
        match (self.recovery, ledger) {
            (Recovery::Fack | Recovery::Rack, Some(ledger)) => {
                // It is the only one lost.
                let lost = self.next_lost(ledger).unwrap_or(packet);
                self.repair_lost(ledger, lost)
            }
            (Recovery::Sack, _) => self.repair(packet),
            _ => {
                self.retransmissions += 1;
                Transmission {
                    packet,
                    again: true,
                }
            }
        }
    }

    /// Whether a timeout under way may still prove spurious; the phase lies nearer at hand.
    #[inline]
    pub(super) fn doubts_timeout(&self) -> bool {
        self.phase == Phase::Loss && self.attempt.is_some()
    }

    /// What an acknowledgement says about the timeout, before anything else is done with it. A
    /// spurious timeout is undone.
    #[cold]
    pub(super) fn judge_attempt(&mut self, news: News) -> Option<Verdict> {
        let attempt = self.attempt.as_ref()?;
        let moves = self.expected > self.unacknowledged;
        let original = self.recovery != Recovery::NewReno && self.has_original(attempt, news);
        let verdict = match attempt.step {
            Step::First if moves && original => Verdict::Spurious,
            Step::First if moves && self.expected < attempt.end => Verdict::Open,
            Step::Second { .. } if original => Verdict::Spurious,
            Step::Second { .. } if self.recovery == Recovery::NewReno && moves => Verdict::Spurious,
            Step::Repeat | Step::First | Step::Second { .. } => Verdict::Genuine,
        };
        if verdict == Verdict::Spurious {
            self.undo_timeout();
        }
        Some(verdict)
    }

    /// Whether one of the packets that newly arrived was sent before the timeout and never again.
    fn has_original(&self, attempt: &Attempt, news: News) -> bool {
        let to = self.unacknowledged + news.delayed;
        let direct = news.packet.filter(|packet| *packet >= to);
        let repeated = |packet: u64| {
            let ledger = self.ledger.as_ref();
            ledger.is_some_and(|ledger| ledger.sent.get(packet).repeated)
        };
        (self.unacknowledged..to)
            .chain(direct)
            .any(|packet| packet < attempt.end && packet != attempt.repeated && !repeated(packet))
    }

    /// The timeout was spurious: as if the timer had not expired (RFC 4015 with Linux's
    /// `tcp_undo_cwnd_reduction`).
    fn undo_timeout(&mut self) {
        let Some(attempt) = self.attempt.take() else {
            return;
        };
        let before = attempt.before;
        if !self.controller.needs().own_recovery {
            self.window.cwnd = self.window.cwnd.max(before.window.cwnd);
        }
        self.window.ssthresh = self.window.ssthresh.max(before.window.ssthresh);
        self.controller.on_undo(&before.controller);
        self.round_trip.undo_back_off(&before.round_trip);
        if before.timed != u64::MAX && before.timed >= self.unacknowledged {
            self.timed = before.timed;
            self.timed_since = before.timed_since;
        }
        self.recover = before.recover;
        self.first_cut = before.first_cut;
        self.timed_out = u64::MAX;
        self.phase = Phase::Open;
    }

    /// Goes on after an acknowledgement that was not a proof of a spurious timeout: with new data, or
    /// with conventional recovery.
    #[cold]
    pub(super) fn follow_verdict(&mut self, verdict: Verdict, now: Time) {
        let Some(mut attempt) = self.attempt.take() else {
            return;
        };
        if verdict == Verdict::Open && self.unsent() > 0 {
            attempt.step = Step::Second { new: NEW_PACKETS };
            self.attempt = Some(attempt);
            return;
        }
        let owned = self.controller.needs().own_recovery;
        if matches!(attempt.step, Step::Second { .. }) && !owned {
            self.window.cwnd = self.window.cwnd.min(WINDOW_AFTER_LOSS);
        }
        if self.phase == Phase::Loss {
            self.recover_conventionally(&attempt, now);
            self.report_timeout();
        }
    }

    /// Everything sent before the timeout is lost; what was sent again is under way.
    fn recover_conventionally(&mut self, attempt: &Attempt, now: Time) {
        let repeats = attempt.step != Step::Repeat && attempt.repeated >= self.expected;
        let from = self.expected + u64::from(repeats);
        match self.recovery {
            Recovery::NewReno => {
                self.next = from;
                self.recover = self.highest;
            }
            Recovery::Fack | Recovery::Rack => {
                if let Some(mut ledger) = self.ledger.take() {
                    self.lose_by_timeout(&mut ledger, from..attempt.end, now);
                    self.ledger = Some(ledger);
                }
            }
            Recovery::Sack => {
                let known = self.lost;
                self.lost_below = self.lost_below.max(attempt.end);
                self.lost = self.received.count_clear(self.expected, self.lost_below);
                self.losses += self.lost.saturating_sub(known);
                self.repaired_below = from;
                self.repairing = u64::from(repeats);
            }
        }
    }
}
