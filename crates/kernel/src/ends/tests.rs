//! The 32-bit sequence numbers of a connection, compared with a model that counts in 64 bits.

use std::net::{Ipv4Addr, SocketAddrV4};

use proptest::prelude::*;
use rustix::net::{AddressFamily, SocketType};

use super::*;
use crate::tcp::Route;

const NEAR: (Ipv4Addr, u16) = (Ipv4Addr::new(198, 18, 0, 1), 40_000);
const PAYLOAD: u64 = 1448;

/// A socket without TCP information, so that only packets show the state.
fn mute() -> Arc<Connection> {
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None).unwrap();
    let (from, to) = (
        Ipv4Addr::LOCALHOST,
        SocketAddrV4::new(Ipv4Addr::LOCALHOST, 9),
    );
    Arc::new(Connection::connect(socket, Route { from, to }).unwrap())
}

fn opened(initial: u32, bytes: Option<u64>) -> SocketEnds {
    let mut ends = SocketEnds::new(PAYLOAD);
    ends.open(Open::new(0, mute(), NEAR), bytes);
    assert!(!ends.sends(&Segment::of_syn(NEAR, initial), Time::ZERO));
    ends
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Sends this number of bytes for the first time.
    Send(u32),
    /// Retransmits from this distance before the newest byte on, with this length or up to beyond
    /// the newest byte.
    Resend(u32, u32),
    /// The receiver gets this number of further bytes and acknowledges them.
    Receive(u32),
    /// The receiver repeats an acknowledgment.
    Repeat(u32),
    /// An acknowledgment of further bytes reaches the sender.
    Learn(u32),
    /// Acknowledges payload that was not sent yet.
    Forge(u32),
    /// Retransmits the SYN.
    Syn,
    /// Starts the next transfer if the current one is complete, and extends it otherwise.
    Write(u32),
}

fn step() -> impl Strategy<Value = Step> {
    let some = || 0_u32..1 << 29;
    prop_oneof![
        6 => some().prop_map(Step::Send),
        2 => (some(), some()).prop_map(|(behind, length)| Step::Resend(behind, length)),
        5 => some().prop_map(Step::Receive),
        1 => some().prop_map(Step::Repeat),
        5 => some().prop_map(Step::Learn),
        1 => some().prop_map(Step::Forge),
        1 => Just(Step::Syn),
        3 => (1_u32..1 << 29).prop_map(Step::Write),
    ]
}

/// The same connection in numbers that do not wrap around.
#[derive(Debug, Default)]
struct Model {
    initial: u32,
    sent: u64,
    received: u64,
    acknowledged: u64,
    from: u64,
    to: u64,
    first_congestion_event: Option<Time>,
}

impl Model {
    fn sequence(&self, payload: u64) -> u32 {
        self.initial.wrapping_add(1).wrapping_add(payload as u32)
    }

    fn finished(&self) -> bool {
        self.acknowledged >= self.to
    }

    /// Applies a step to both. Returns whether a transfer is complete only now.
    fn step(&mut self, ends: &mut SocketEnds, (step, now): (Step, Time)) -> bool {
        match step {
            Step::Send(bytes) => {
                let window = (self.acknowledged + MOST_WINDOW).min(self.to);
                let bytes = u64::from(bytes).min(window.saturating_sub(self.sent));
                let segment = Segment::of_data(NEAR, self.sequence(self.sent), bytes as u32);
                assert!(!ends.sends(&segment, now));
                self.sent += bytes;
            }
            Step::Resend(behind, length) => {
                let behind = u64::from(behind).min(self.sent - self.acknowledged);
                let (start, length) = (self.sent - behind, u64::from(length));
                let window = (self.acknowledged + MOST_WINDOW).min(self.to);
                let end = (start + length).min(window.max(self.sent));
                let segment = Segment::of_data(NEAR, self.sequence(start), (end - start) as u32);
                let again = end > start && end <= self.sent;
                assert_eq!(ends.sends(&segment, now), again);
                self.sent = self.sent.max(end);
                if again {
                    self.first_congestion_event.get_or_insert(now);
                }
            }
            Step::Receive(bytes) => {
                self.received = self.sent.min(self.received + u64::from(bytes));
                ends.answers(&Segment::of_answer(NEAR, self.sequence(self.received)));
            }
            Step::Repeat(behind) => {
                let old = self.received.saturating_sub(u64::from(behind));
                ends.answers(&Segment::of_answer(NEAR, self.sequence(old)));
            }
            Step::Learn(bytes) => {
                let before = self.finished();
                let heard = self.received.min(self.acknowledged + u64::from(bytes));
                self.acknowledged = heard;
                let segment = Segment::of_answer(NEAR, self.sequence(heard));
                let complete = ends.learns(&segment);
                assert_eq!(complete, !before && self.finished());
                // A repeated acknowledgment changes nothing, and neither does a reset.
                assert!(!ends.learns(&segment) && !ends.learns(&segment.cut_off()));
                return complete;
            }
            Step::Forge(ahead) => {
                let number = self.sequence(self.sent + 1 + u64::from(ahead));
                let forged = Segment::of_answer(NEAR, number);
                ends.answers(&forged);
                assert!(!ends.learns(&forged));
                let syn = Segment::of_syn(NEAR, number);
                assert!(self.sent == 0 || !ends.sends(&syn, now));
                if self.sent == 0 {
                    ends.sends(&Segment::of_syn(NEAR, self.initial), now);
                }
                // The segment is further ahead than any window.
                let beyond = self.sequence(self.acknowledged + MOST_WINDOW + u64::from(ahead));
                assert!(!ends.sends(&Segment::of_data(NEAR, beyond, 1), now));
            }
            Step::Syn => assert!(ends.sends(&Segment::of_syn(NEAR, self.initial), now)),
            Step::Write(bytes) if self.finished() => {
                ends.begin(u64::from(bytes));
                (self.from, self.to) = (self.to, self.to + u64::from(bytes));
                self.first_congestion_event = None;
            }
            Step::Write(bytes) => {
                ends.write(u64::from(bytes));
                self.to += u64::from(bytes);
            }
        }
        false
    }
}

proptest! {
    /// Sequence numbers wrap around after 4 GiB, and all counts continue.
    #[test]
    fn the_ends_count_as_a_model_of_64_bits_does(
        initial in prop_oneof![any::<u32>(), (u32::MAX - 3000)..=u32::MAX],
        first in 1_u64..1 << 30,
        steps in prop::collection::vec(step(), 1..300),
    ) {
        let mut model = Model { initial, to: first, ..Model::default() };
        let mut ends = opened(initial, Some(first));
        let (mut transfers, mut completions) = (1, 0);
        for (number, step) in steps.into_iter().enumerate() {
            transfers += u64::from(matches!(step, Step::Write(_)) && model.finished());
            let now = Time::from_micros(1 + number as u64);
            completions += u64::from(model.step(&mut ends, (step, now)));
            let open = ends.open.as_ref().unwrap();
            prop_assert_eq!(open.sent, model.sent, "{:?}", step);
            prop_assert_eq!(open.received, model.received);
            prop_assert_eq!(open.acknowledged, model.acknowledged);
            prop_assert_eq!(ends.progress().delivered, model.received);
            prop_assert_eq!(ends.finished(), model.finished());
            prop_assert_eq!(ends.begun(), model.to > model.from);
            prop_assert_eq!(ends.backlog(), model.to.saturating_sub(model.sent) / PAYLOAD);
            prop_assert_eq!(ends.transfer_packets(), (model.to - model.from).div_ceil(PAYLOAD));
            prop_assert_eq!(ends.first_congestion_event(), model.first_congestion_event);
            // Each transfer is complete once, and the current one at most once.
            prop_assert_eq!(completions, transfers - u64::from(!model.finished()));
        }
    }
}

#[test]
fn a_transfer_without_an_end_is_never_complete() {
    let mut ends = opened(u32::MAX, None);
    for round in 0..6_u32 {
        let sequence = round.wrapping_mul(1 << 30);
        assert!(!ends.sends(&Segment::of_data(NEAR, sequence, 1 << 30), Time::ZERO));
        let answer = Segment::of_answer(NEAR, sequence.wrapping_add(1 << 30));
        ends.answers(&answer);
        assert!(!ends.learns(&answer) && !ends.finished() && ends.begun());
    }
    assert_eq!(ends.progress().delivered, 6 << 30);
    assert_eq!(ends.transfer_packets(), 0);
    ends.write(9);
    assert!(ends.backlog() > u64::MAX / PAYLOAD - (1 << 30));
}

#[test]
fn a_fin_counts_as_a_byte_and_no_payload_is_no_retransmission() {
    let mut ends = opened(7, Some(100));
    let data = Segment::of_data(NEAR, 8, 100);
    assert!(!ends.sends(&data, Time::ZERO));
    assert!(!ends.sends(&Segment::of_data(NEAR, 108, 0).last(), Time::ZERO));
    assert!(!ends.sends(&Segment::of_data(NEAR, 108, 0), Time::ZERO));
    assert_eq!(ends.open.as_ref().unwrap().sent, 101);
    assert_eq!(ends.first_congestion_event(), None);
    assert!(ends.sends(&data, Time::from_micros(3)));
    assert_eq!(ends.first_congestion_event(), Some(Time::from_micros(3)));
}

#[test]
fn what_a_connection_has_done_stays_when_another_follows() {
    let mut ends = opened(u32::MAX - 10, Some(500));
    ends.sends(&Segment::of_data(NEAR, u32::MAX - 9, 500), Time::ZERO);
    let answer = Segment::of_answer(NEAR, 490);
    ends.answers(&answer);
    assert!(ends.learns(&answer) && ends.finished());
    assert_eq!(ends.close().map(|open| open.near), Some(NEAR));
    assert!(ends.close().is_none() && ends.key().is_none());
    assert_eq!(ends.progress().delivered, 500);
    // A closed connection has no progress.
    assert!(!ends.sends(&Segment::of_data(NEAR, 490, 99), Time::ZERO));
    ends.answers(&Segment::of_answer(NEAR, 600));
    assert!(!ends.learns(&answer));

    let next = (NEAR.0, 40_001);
    ends.open(Open::new(5, mute(), next), Some(300));
    assert_eq!(ends.key(), Some(5));
    let stray = Segment::of_answer(NEAR, 490);
    assert!(!ends.has(&stray) && ends.has(&Segment::of_answer(next, 1)));
    // Before its SYN a segment has no place, even if it belongs to an earlier connection on the
    // same port.
    ends.sends(&Segment::of_data(next, 1 << 20, 80), Time::ZERO);
    ends.answers(&Segment::of_answer(next, 1 << 20));
    assert_eq!(ends.progress().delivered, 500);
    ends.sends(&Segment::of_syn(next, 99), Time::ZERO);
    ends.sends(&Segment::of_data(next, 100, 300), Time::ZERO);
    ends.answers(&Segment::of_answer(next, 250));
    assert!(!ends.learns(&Segment::of_answer(next, 250)));
    assert_eq!(ends.progress().delivered, 650);
    ends.answers(&Segment::of_answer(next, 400));
    assert!(ends.learns(&Segment::of_answer(next, 400)));
    assert_eq!(
        (ends.progress().delivered, ends.transfer_packets()),
        (800, 1)
    );
}

#[test]
fn a_second_syn_before_any_data_is_the_one_that_counts() {
    let mut ends = opened(10, Some(50));
    assert!(ends.sends(&Segment::of_syn(NEAR, 10), Time::ZERO));
    assert!(!ends.sends(&Segment::of_syn(NEAR, 70), Time::ZERO));
    assert!(!ends.sends(&Segment::of_data(NEAR, 71, 50), Time::ZERO));
    assert!(ends.learns(&Segment::of_answer(NEAR, 121)));
}

#[test]
fn a_receiver_s_window_is_counted_between_two_looks() {
    let mut limits = Limits::default();
    assert_eq!(limits.by_window(), Time::ZERO);
    limits.by_window = Some((Time::from_millis(30), Time::from_millis(70)));
    assert_eq!(limits.by_window(), Time::from_millis(40));
    assert!(!limits.starved);
}
