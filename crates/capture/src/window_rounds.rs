//! The congestion window of a sender per round trip: before each loss, after its recovery, falls
//! without a loss, and visits to a few segments. Each direction of a connection uses it.
//!
//! A round ends with the first packet that was sent when all of the round was acknowledged.
//! Therefore no length of a round trip is needed.

use crate::budget::Budget;
use crate::flight::Flight;

/// Maximum number of reductions and of visits that are stored.
const REDUCTIONS: usize = 256;
const VISITS: usize = 64;
/// Least window of BBR, in segments (draft-cardwell-iccrg-bbr-congestion-control-00 section 4.2.1,
/// `BBRMinPipeCwnd`).
const LEAST: u32 = 4;
/// Shortest visit, in nanoseconds. BBR stays for 200 ms; shorter times are bursts of a sender
/// without more data.
const SHORTEST_VISIT: u64 = 100_000_000;
/// A window falls if it loses more than one segment plus the window divided by this number.
const FALL: u32 = 14;

/// An event at which a sender reduces its window: the first retransmission of a loss, or the
/// reaction to a mark. Windows are in bytes, and 0 if they are not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reduction {
    /// Time of the retransmission or reaction, in nanoseconds.
    pub time: u64,
    /// Time when all data in flight at that time was acknowledged, in nanoseconds.
    pub repaired: u64,
    /// Largest flight in the last full round before the event, in bytes.
    pub before: u32,
    /// Largest flight in the round before that one, in bytes.
    pub earlier: u32,
    /// Largest flight in the first full round after the recovery, in bytes.
    pub after: u32,
    /// Largest flight in the second one, in bytes.
    pub later: u32,
    /// Number of full rounds since the reduction before, without those of the recovery.
    pub window_rounds: u32,
    /// Longest time without a packet up to the end of the recovery, in nanoseconds.
    pub silence: u64,
}

/// A time with at most BBR's least window in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Visit {
    /// Start of the visit, in nanoseconds.
    pub time: u64,
    /// Length of the visit, in nanoseconds.
    pub length: u64,
    /// Largest flight in the round before the visit, in bytes.
    pub former: u32,
    /// Largest flight in the first rounds after the visit, in bytes.
    pub regained: u32,
    /// Longest time without a packet during the visit and on the way down to it, in nanoseconds.
    pub silence: u64,
}

/// The congestion window of a sender over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Windows {
    /// Reductions of the window, in order of time.
    pub reductions: Vec<Reduction>,
    /// Visits to the least window, in order of time.
    pub visits: Vec<Visit>,
    /// Number of full rounds that follow another one without a reduction between them.
    pub compared: u32,
    /// Number of these rounds whose window fell by more than one segment plus 1/14 (7 %).
    pub falls: u32,
}

/// A packet of new data, or a retransmission.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) time: u64,
    pub(crate) echo: u32,
    /// Sequence numbers of the first byte and after the last byte.
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// Sequence number after the last byte that was sent.
    pub(crate) end: u64,
    /// Largest payload so far, in bytes.
    pub(crate) segment: u32,
    pub(crate) kind: Kind,
    /// Whether the packet says that the window was reduced (CWR).
    pub(crate) reduced: bool,
}

/// Kind of data in a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    New,
    Again,
    /// Neither new data nor a retransmission; it carries no information.
    Other,
}

/// Measures the window of a sender.
#[derive(Clone, Debug, Default)]
pub(crate) struct WindowRounds {
    flight: Flight,
    state: State,
    /// Current round: its end, and its largest flight.
    round: Round,
    /// Current round, recovery or not.
    any: Round,
    /// Windows of the last two full rounds, the latest first.
    last: [u32; 2],
    /// Window of the last round of any kind.
    former: u32,
    full: u32,
    latest: Option<u64>,
    silence: u64,
    visiting: Option<Visit>,
    /// Number of rounds in which the window after a visit is measured.
    regaining: u8,
    told: Windows,
}

#[derive(Clone, Copy, Debug, Default)]
struct Round {
    end: u64,
    most: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// The flight at the beginning of the capture is not known.
    #[default]
    Beginning,
    Open,
    /// Recovery, until this number is acknowledged.
    Repairing(u64),
    /// First round after a recovery.
    Settling,
    /// Second round after a recovery.
    Settled,
}

impl Round {
    /// Processes a packet. Returns the window of the round that it ends, if it ends one.
    fn take(&mut self, acknowledged: u64, end: u64, outstanding: u32) -> Option<u32> {
        if acknowledged < self.end {
            self.most = self.most.max(outstanding);
            return None;
        }
        let most = self.most;
        *self = Self {
            end,
            most: outstanding,
        };
        Some(most)
    }
}

impl WindowRounds {
    /// Processes an acknowledgment. `number` is the highest acknowledged number.
    pub(crate) fn acknowledge(&mut self, timestamp: u32, number: u64, budget: &mut Budget) {
        let (before, generous) = (self.flight.len(), budget.generous());
        self.flight.acknowledge(timestamp, number, generous);
        budget.follow(before, self.flight.len());
    }

    /// Processes a packet with payload.
    pub(crate) fn send(&mut self, sent: &Sent, budget: &mut Budget) {
        let silence = self.latest.map_or(0, |it| sent.time.saturating_sub(it));
        self.latest = Some(sent.time);
        self.silence = self.silence.max(silence);
        if sent.kind == Kind::Again || sent.reduced {
            self.reduce(sent, silence);
        }
        if let (State::Repairing(_), Some(last)) = (self.state, self.told.reductions.last_mut()) {
            last.silence = last.silence.max(silence);
        }
        if sent.kind != Kind::New {
            return;
        }
        let before = self.flight.len();
        let found = self.flight.of(sent.echo, sent.end);
        budget.follow(before, self.flight.len());
        let Some(bytes) = found else {
            return;
        };
        let acknowledged = sent.end - bytes;
        let outstanding = bytes.min(u64::from(u32::MAX)) as u32;
        self.visit(sent, acknowledged, outstanding);
        self.follow(sent, acknowledged, outstanding);
    }

    pub(crate) fn len(&self) -> usize {
        self.flight.len()
    }

    /// The results.
    pub(crate) fn finish(mut self) -> Windows {
        self.told.reductions.shrink_to_fit();
        self.told.visits.shrink_to_fit();
        self.told
    }

    fn reduce(&mut self, sent: &Sent, silence: u64) {
        let reduction = Reduction {
            time: sent.time,
            before: self.last[0],
            earlier: self.last[1],
            window_rounds: self.full,
            silence,
            ..Reduction::default()
        };
        if let State::Repairing(point) = self.state {
            // A loss at the edge was sent before the recovery and not seen here, so the sender's
            // recovery ends after it. A loss beyond the edge is an event of its own, whose window
            // before is not known.
            if sent.kind != Kind::Again || sent.from <= point {
                let to = if sent.kind == Kind::Again { sent.to } else { 0 };
                self.state = State::Repairing(point.max(to));
                return;
            }
        }
        self.push(reduction);
        self.state = State::Repairing(sent.end);
        self.last = [0; 2];
        self.full = 0;
    }

    /// Stores a reduction. If the list is full, the last entry keeps only its time.
    fn push(&mut self, reduction: Reduction) {
        let reductions = &mut self.told.reductions;
        if reductions.len() < REDUCTIONS {
            reductions.push(reduction);
        } else if let Some(last) = reductions.last_mut() {
            *last = Reduction {
                time: last.time,
                ..Reduction::default()
            };
        }
    }

    fn follow(&mut self, sent: &Sent, acknowledged: u64, outstanding: u32) {
        match self.state {
            State::Repairing(point) if acknowledged < point => return,
            State::Beginning | State::Repairing(_) => {
                self.round = Round {
                    end: sent.end,
                    most: outstanding,
                };
                if self.state == State::Beginning {
                    self.state = State::Open;
                    return;
                }
                self.state = State::Settling;
                if let Some(last) = self.told.reductions.last_mut() {
                    last.repaired = sent.time;
                }
                return;
            }
            State::Open | State::Settling | State::Settled => {}
        }
        let Some(most) = self.round.take(acknowledged, sent.end, outstanding) else {
            return;
        };
        let finished = self.told.reductions.len() < REDUCTIONS;
        let settling = self.told.reductions.last_mut().filter(|_| finished);
        match (self.state, settling) {
            (State::Settling, Some(last)) => last.after = most,
            (State::Settled, Some(last)) => last.later = most,
            _ => {}
        }
        self.state = match self.state {
            State::Settling => State::Settled,
            _ => State::Open,
        };
        if self.last[0] > 0 {
            self.told.compared = self.told.compared.saturating_add(1);
            let least = (self.last[0] - self.last[0] / FALL).saturating_sub(sent.segment);
            self.told.falls += u32::from(most < least);
        }
        self.last = [most, self.last[0]];
        self.full = self.full.saturating_add(1);
    }

    fn visit(&mut self, sent: &Sent, acknowledged: u64, outstanding: u32) {
        let few = outstanding <= LEAST.saturating_mul(sent.segment);
        let done = self.any.take(acknowledged, sent.end, outstanding);
        match &mut self.visiting {
            None if few && self.former > LEAST.saturating_mul(2 * sent.segment) => {
                self.visiting = Some(Visit {
                    time: sent.time,
                    former: self.former,
                    ..Visit::default()
                });
                self.regaining = 0;
            }
            Some(visit) if self.regaining == 0 && few => visit.length = sent.time - visit.time,
            Some(visit) if visit.length < SHORTEST_VISIT => self.visiting = None,
            Some(visit) => {
                if self.regaining == 0 {
                    visit.silence = self.silence;
                    self.regaining = 1;
                }
                visit.regained = visit.regained.max(outstanding);
                self.regaining += u8::from(done.is_some());
                if self.regaining > 3 {
                    if self.told.visits.len() < VISITS {
                        self.told.visits.push(*visit);
                    }
                    self.visiting = None;
                }
            }
            None => {}
        }
        if let Some(most) = done {
            self.former = most;
            if self.visiting.is_none() {
                self.silence = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SEGMENT: u32 = 1000;

    /// A sender whose packets are acknowledged a round later, all with one timestamp.
    struct Sender {
        window_rounds: WindowRounds,
        budget: Budget,
        /// Segments sent and acknowledged.
        sent: u64,
        acknowledged: u64,
        round: u32,
    }

    impl Sender {
        fn new() -> Self {
            Self {
                window_rounds: WindowRounds::default(),
                budget: Budget::default(),
                sent: 0,
                acknowledged: 0,
                round: 0,
            }
        }

        /// Acknowledges all data in flight and sends a window. The first packet may be a
        /// retransmission.
        fn round(&mut self, window: u64, again: bool) {
            self.round += 1;
            if !again {
                self.acknowledged = self.sent;
            }
            let number = self.acknowledged * u64::from(SEGMENT);
            self.window_rounds
                .acknowledge(self.round, number, &mut self.budget);
            if again {
                self.send(Kind::Again, 0);
            }
            for index in 0..window {
                if self.sent < self.acknowledged + window {
                    self.sent += 1;
                    self.send(Kind::New, index);
                }
            }
        }

        fn send(&mut self, kind: Kind, index: u64) {
            let sent = Sent {
                time: u64::from(self.round) * 100_000_000 + index,
                echo: self.round,
                from: self.acknowledged * u64::from(SEGMENT),
                to: (self.acknowledged + 1) * u64::from(SEGMENT),
                end: self.sent * u64::from(SEGMENT),
                segment: SEGMENT,
                kind,
                reduced: false,
            };
            self.window_rounds.send(&sent, &mut self.budget);
        }
    }

    proptest! {
        #[test]
        fn a_reduction_is_told_with_its_windows(top in 20u64..500, finished in 1u64..10, grown in 3u64..20, losses in 1usize..6) {
            let bottom = (top * finished / 10).max(1);
            let grown = grown.min(top - bottom);
            let mut sender = Sender::new();
            for more in 0..4 {
                sender.round(top + more, false);
            }
            for _ in 0..losses {
                sender.round(top, true);
                for more in 0..grown {
                    sender.round(bottom + more, false);
                }
                for more in 0..4 {
                    sender.round(top + more, false);
                }
            }
            let told = sender.window_rounds.finish();
            prop_assert_eq!(told.reductions.len(), losses);
            let segments = |bytes: u32| u64::from(bytes / SEGMENT);
            for (index, reduction) in told.reductions.iter().enumerate() {
                // The last round had not ended when its loss showed.
                prop_assert_eq!((segments(reduction.earlier), segments(reduction.before)), (top + 1, top + 2));
                prop_assert_eq!((segments(reduction.after), segments(reduction.later)), (bottom, bottom + 1));
                prop_assert!(reduction.repaired > reduction.time);
                if index > 0 {
                    prop_assert_eq!(u64::from(reduction.window_rounds), grown + 3);
                }
            }
            prop_assert_eq!(told.falls, 0);
        }

        #[test]
        fn what_falls_without_a_loss_is_counted(window in 20u64..500, falls in 1u32..20) {
            let mut sender = Sender::new();
            for _ in 0..falls {
                sender.round(window, false);
                sender.round(window, false);
                sender.round(window * 3 / 4, false);
            }
            sender.round(window, false);
            let told = sender.window_rounds.finish();
            prop_assert_eq!(told.falls, falls);
            prop_assert!(told.reductions.is_empty());
        }

        #[test]
        fn nothing_panics_and_memory_is_bounded(packets in prop::collection::vec((any::<u32>(), any::<u32>(), 0u8..4), 0..3000)) {
            let (mut window_rounds, mut budget) = (WindowRounds::default(), Budget::default());
            for (time, (echo, end, kind)) in (0..).zip(packets) {
                let kind = [Kind::New, Kind::Again, Kind::Other].get(usize::from(kind)).copied();
                match kind {
                    Some(kind) => window_rounds.send(
                        &Sent { time, echo: echo % 64, from: u64::from(end / 2), to: u64::from(end), end: u64::from(end), segment: 1, kind, reduced: echo & 1 == 1 },
                        &mut budget,
                    ),
                    None => window_rounds.acknowledge(echo % 64, u64::from(end), &mut budget),
                }
            }
            let told = window_rounds.finish();
            prop_assert!(told.reductions.len() <= REDUCTIONS && told.visits.len() <= VISITS);
            prop_assert!(told.falls <= told.compared);
        }
    }

    #[test]
    fn what_is_lost_at_the_edge_is_of_the_same_repair_and_what_is_lost_beyond_is_not() {
        for (beyond, reductions) in [(0, 1), (1, 2)] {
            let mut sender = Sender::new();
            for _ in 0..4 {
                sender.round(10, false);
            }
            sender.round(10, true);
            let point = sender.sent;
            sender.sent += 5;
            sender.acknowledged = point + beyond;
            sender.send(Kind::Again, 0);
            // All data before the edge is acknowledged, and the edge itself is not.
            sender.acknowledged = point;
            sender.round += 1;
            let number = point * u64::from(SEGMENT);
            sender
                .window_rounds
                .acknowledge(sender.round, number, &mut sender.budget);
            sender.sent += 1;
            sender.send(Kind::New, 0);
            assert!(
                sender
                    .window_rounds
                    .told
                    .reductions
                    .iter()
                    .all(|it| it.repaired == 0)
            );
            for _ in 0..3 {
                sender.round(5, false);
            }
            let told = sender.window_rounds.finish().reductions;
            assert_eq!(told.len(), reductions);
            // If there are two events, neither has known windows on both sides.
            let known = told.iter().filter(|it| it.before > 0 && it.after > 0);
            assert_eq!(known.count(), 2 - reductions);
        }
    }

    #[test]
    fn a_visit_to_the_least_window_is_told_with_what_it_regains() {
        let mut sender = Sender::new();
        for _ in 0..2 {
            for _ in 0..5 {
                sender.round(40, false);
            }
            for _ in 0..3 {
                sender.round(4, false);
            }
            for _ in 0..5 {
                sender.round(30, false);
            }
        }
        let told = sender.window_rounds.finish();
        assert_eq!(told.visits.len(), 2, "{told:?}");
        for visit in &told.visits {
            assert_eq!((visit.former, visit.regained), (40_000, 30_000));
            assert!((200_000_000..310_000_000).contains(&visit.length));
        }
    }
}
