//! A second implementation of loss recovery, as the RFCs' text has it: on sets of packets that are
//! searched again at each acknowledgment. The packets that the connection sends are compared with
//! it one by one. The size of the window belongs to the controller and is taken from there.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

use forebay_congestion::packet::LossState;
use forebay_scenario::{Recovery, Stack};
use forebay_units::Time;
use proptest::prelude::*;

use super::behavior_tests::Wire;

/// Duplicate acknowledgments, or packets beyond, that make a packet lost (RFC 5681, RFC 6675).
const DUP_THRESH: usize = 3;

/// The sender's knowledge; packets are numbered from 1.
#[derive(Debug)]
struct ReferenceSender {
    /// The packets that have arrived.
    arrived: BTreeSet<u64>,
    /// HighACK + 1: the lowest packet that has not.
    rcv_nxt: u64,
    /// HighData + 1.
    next: u64,
    /// The furthest packet ever sent, and one.
    highest: u64,
    /// The last packet that there is, and one.
    end: u64,
    /// RecoveryPoint: with it acknowledged, recovery or the time after a timeout ends.
    recover: u64,
    recovering: bool,
    timed_out: bool,
}

impl ReferenceSender {
    /// A first window of `sent` packets is in flight, of `packets` in all.
    fn new(sent: u64, packets: u64) -> Self {
        Self {
            arrived: BTreeSet::new(),
            rcv_nxt: 1,
            next: sent + 1,
            highest: sent + 1,
            end: packets + 1,
            recover: 0,
            recovering: false,
            timed_out: false,
        }
    }

    /// Sends the next packet, where there is one.
    fn send_next(&mut self) -> Option<u64> {
        let packet = self.next;
        (packet < self.end).then(|| {
            self.next += 1;
            self.highest = self.highest.max(self.next);
            packet
        })
    }

    /// A packet arrives: how many it acknowledges in order.
    fn arrive(&mut self, packet: u64) -> u64 {
        let before = self.rcv_nxt;
        self.arrived.insert(packet);
        while self.arrived.contains(&self.rcv_nxt) {
            self.rcv_nxt += 1;
        }
        self.next = self.next.max(self.rcv_nxt);
        self.rcv_nxt - before
    }

    fn missing(&self) -> impl DoubleEndedIterator<Item = u64> {
        let outstanding: Range<u64> = self.rcv_nxt..self.next;
        outstanding.filter(|packet| !self.arrived.contains(packet))
    }

    /// Packets that arrived beyond one.
    fn sack_blocks(&self, packet: u64) -> usize {
        self.arrived.range(packet + 1..).count()
    }
}

/// A sender of whom one can ask what leaves.
trait Sender {
    fn new(known: ReferenceSender) -> Self;
    fn known(&self) -> &ReferenceSender;
    /// An acknowledgment for this arrival; afterwards the window holds `cwnd` packets. Returns the
    /// packets that leave.
    fn acknowledge(&mut self, packet: u64, cwnd: f64) -> Vec<u64>;
    /// The timer expires, and the window holds `cwnd` packets. Returns the packets that leave.
    fn time_out(&mut self, cwnd: f64) -> Vec<u64>;
}

/// RFC 6675 without its rescue retransmission.
#[derive(Debug)]
struct Sack {
    known: ReferenceSender,
    /// HighRxt + 1: every lost packet below was sent again.
    repaired: u64,
    /// Lost whatever arrived beyond: by a timeout, or sent again as suspects.
    written_off: BTreeSet<u64>,
}

impl Sack {
    /// `IsLost`.
    fn is_lost(&self, packet: u64) -> bool {
        self.written_off.contains(&packet) || self.known.sack_blocks(packet) >= DUP_THRESH
    }

    /// `SetPipe`; a suspect that was sent again counts once.
    fn pipe(&self) -> usize {
        let kept = self
            .known
            .missing()
            .filter(|packet| !self.is_lost(*packet))
            .count();
        let is_retransmission = |packet: &u64| self.is_lost(*packet) && *packet < self.repaired;
        kept + self.known.missing().filter(is_retransmission).count()
    }

    /// Rule 1 of `NextSeg`.
    fn hole(&self) -> Option<u64> {
        self.known
            .missing()
            .find(|packet| *packet >= self.repaired && self.is_lost(*packet))
    }

    /// Rule 3: in recovery a packet below the highest arrival, though it does not count as lost.
    fn suspect(&self) -> Option<u64> {
        let last = *self.known.arrived.last()?;
        let mut missing = self.known.missing();
        self.known
            .recovering
            .then(|| missing.find(|packet| (self.repaired..last).contains(packet)))?
    }

    fn repair(&mut self, packet: u64) -> u64 {
        self.repaired = packet + 1;
        packet
    }

    /// Whatever leaves: `NextSeg` while the pipe has room, the first at once where recovery begins.
    fn send(&mut self, cwnd: f64, mut at_once: bool) -> Vec<u64> {
        let mut sent = Vec::new();
        loop {
            let full = self.pipe() as f64 + 1.0 > cwnd;
            let hole = self.hole().filter(|_| !full || at_once);
            at_once = false;
            if let Some(hole) = hole {
                sent.push(self.repair(hole));
            } else if full {
                return sent;
            } else if let Some(packet) = self.known.send_next() {
                sent.push(packet);
            } else if let Some(suspect) = self.suspect() {
                self.written_off.insert(suspect);
                sent.push(self.repair(suspect));
            } else {
                return sent;
            }
        }
    }
}

impl Sender for Sack {
    fn new(known: ReferenceSender) -> Self {
        Self {
            known,
            repaired: 1,
            written_off: BTreeSet::new(),
        }
    }

    fn known(&self) -> &ReferenceSender {
        &self.known
    }

    fn acknowledge(&mut self, packet: u64, cwnd: f64) -> Vec<u64> {
        self.known.arrive(packet);
        let over = self.known.rcv_nxt >= self.known.recover;
        if (self.known.recovering || self.known.timed_out) && over {
            (self.known.recovering, self.known.timed_out) = (false, false);
        }
        let lost = self.known.missing().any(|packet| self.is_lost(packet));
        let begins = lost && !self.known.recovering && !self.known.timed_out;
        if begins {
            self.known.recovering = true;
            self.known.recover = self.known.next;
        }
        self.send(cwnd, begins)
    }

    fn time_out(&mut self, cwnd: f64) -> Vec<u64> {
        self.written_off = self.known.missing().collect();
        self.repaired = self.known.rcv_nxt;
        self.known.recover = self.known.next;
        (self.known.recovering, self.known.timed_out) = (false, true);
        self.send(cwnd, false)
    }
}

/// RFC 6582 (its option 2, the careful variant of section 4.1) with the limited transmit of RFC
/// 3042.
#[derive(Debug)]
struct NewReno {
    known: ReferenceSender,
    duplicates: usize,
    /// Packets by which recovery inflates the window (section 3.2 steps 2 and 3).
    inflation: f64,
}

impl NewReno {
    fn outstanding(&self) -> u64 {
        self.known.next - self.known.rcv_nxt
    }

    fn send_new(&mut self, window: f64) -> Vec<u64> {
        let mut sent = Vec::new();
        while self.outstanding() as f64 + 1.0 <= window
            && let Some(packet) = self.known.send_next()
        {
            sent.push(packet);
        }
        sent
    }
}

impl Sender for NewReno {
    fn new(known: ReferenceSender) -> Self {
        Self {
            known,
            duplicates: 0,
            inflation: 0.0,
        }
    }

    fn known(&self) -> &ReferenceSender {
        &self.known
    }

    fn acknowledge(&mut self, packet: u64, cwnd: f64) -> Vec<u64> {
        let acked = self.known.arrive(packet);
        let mut sent = Vec::new();
        let known = &mut self.known;
        if acked == 0 {
            if known.next > known.rcv_nxt {
                self.duplicates += 1;
                let past_recovery = known.rcv_nxt > known.recover;
                if known.recovering {
                    self.inflation += 1.0;
                } else if self.duplicates == DUP_THRESH && past_recovery && !known.timed_out {
                    known.recovering = true;
                    known.recover = known.next;
                    self.inflation = DUP_THRESH as f64;
                    sent.push(known.rcv_nxt);
                }
            }
        } else if known.recovering && known.rcv_nxt < known.recover {
            // A partial acknowledgment: the next hole, and the window by what was acknowledged
            // less.
            self.inflation -= acked as f64 - 1.0;
            sent.push(known.rcv_nxt);
        } else {
            if known.rcv_nxt >= known.recover {
                (known.recovering, known.timed_out) = (false, false);
            }
            self.inflation = 0.0;
            self.duplicates = 0;
        }
        let window = if self.known.recovering {
            cwnd + self.inflation
        } else if self.known.timed_out {
            cwnd
        } else {
            cwnd.floor() + self.duplicates.min(2) as f64
        };
        sent.extend(self.send_new(window));
        sent
    }

    /// All is sent again in order.
    fn time_out(&mut self, cwnd: f64) -> Vec<u64> {
        self.known.recover = self.known.highest;
        self.known.next = self.known.rcv_nxt;
        (self.known.recovering, self.known.timed_out) = (false, true);
        (self.inflation, self.duplicates) = (0.0, 0);
        self.send_new(cwnd)
    }
}

/// Drives a connection and a sender by an RFC through the same losses: `lost` says of each
/// transmission in turn whether it is, and the timer expires too early after as many arrivals as
/// `early` says. With timestamps the connection keeps records, and must send the same.
fn side_by_side<S: Sender>(recovery: Recovery, packets: u64, lost: &[bool], early: usize) {
    for timestamps in [false, true] {
        let stack = Stack {
            recovery,
            timestamps,
            ..Stack::RFC
        };
        follow::<S>(stack, packets, lost, early);
    }
}

fn follow<S: Sender>(stack: Stack, packets: u64, lost: &[bool], early: usize) {
    let recovery = stack.recovery;
    let mut wire = Wire::of(stack, Some(packets));
    let mut fates = lost.iter();
    let mut fly = |sent: &[u64], in_flight: &mut VecDeque<u64>| {
        let kept = sent.iter().filter(|_| fates.next() != Some(&true));
        in_flight.extend(kept);
    };
    let mut in_flight = VecDeque::new();
    let first = wire.send();
    fly(&first, &mut in_flight);
    let mut other = S::new(ReferenceSender::new(first.len() as u64, packets));
    for step in 0.. {
        let arriving = in_flight.pop_front_if(|_| step != early);
        if let Some(packet) = arriving {
            wire.now += Time::from_micros(100);
            wire.connection.deliver(packet + 1, wire.now);
        } else {
            wire.now = wire.connection.deadline().unwrap();
            wire.connection.time_out(wire.now);
        }
        let cwnd = wire.connection.window().cwnd;
        let expected = match arriving {
            Some(packet) => other.acknowledge(packet + 1, cwnd),
            None => other.time_out(cwnd),
        };
        let known = other.known();
        if known.rcv_nxt == known.end {
            return;
        }
        let sent = wire.send();
        let numbers: Vec<u64> = sent.iter().map(|packet| packet + 1).collect();
        assert_eq!(
            numbers, expected,
            "{recovery:?} step {step} {arriving:?}: {known:?}"
        );
        let state = match (known.recovering, known.timed_out) {
            (true, _) => LossState::Recovery,
            (_, true) => LossState::Timeout,
            _ => LossState::Open,
        };
        let ours = wire.connection.control.sender.state;
        assert_eq!(ours, state, "{recovery:?} step {step}: {known:?}");
        assert!(wire.connection.consistent());
        fly(&sent, &mut in_flight);
    }
}

/// Up to ten losses among a few dozen transmissions, or one of three of them.
fn losses() -> impl Strategy<Value = Vec<bool>> {
    let few = prop::collection::btree_set(0usize..60, 1..10)
        .prop_map(|lost| (0..60).map(|number| lost.contains(&number)).collect());
    let many = prop::collection::vec(prop::bool::weighted(0.3), 150);
    prop_oneof![3 => few, 1 => many]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn sack_sends_what_rfc_6675_says(lost in losses(), packets in 25u64..120, early in 1usize..400) {
        side_by_side::<Sack>(Recovery::Sack, packets, &lost, early);
    }

    #[test]
    fn new_reno_sends_what_rfc_6582_says(lost in losses(), packets in 25u64..120, early in 1usize..400) {
        side_by_side::<NewReno>(Recovery::NewReno, packets, &lost, early);
    }
}
