//! The behavior of one connection, step by step: a test per behavior of recovery and timeouts.

use forebay_congestion::packet::LossState;
use forebay_random::{Purpose, Seed, StreamKey};
use forebay_scenario::{DelayedAck, Recovery, Reduction, Stack, TimeoutSsthresh};
use forebay_units::parameter::Parameters;
use forebay_units::{Bytes, Time};

use super::{Connection, LossRecovery, Next, TransferSetup};

/// Connections number packets from there on.
const FIRST: u64 = 1;

/// A Reno connection and its clock; its first packet is number 0 here.
pub(super) struct Wire {
    pub(super) connection: Connection,
    pub(super) now: Time,
}

impl Wire {
    /// Twenty packets leave at once, and more without end.
    pub(super) fn new(stack: Stack) -> Self {
        Self::of(stack, None)
    }

    /// Twenty packets leave at once, of `packets` in all.
    pub(super) fn of(stack: Stack, packets: Option<u64>) -> Self {
        let description = forebay_congestion::descriptions()
            .iter()
            .find(|description| description.name == "newreno")
            .unwrap();
        let parameters = Parameters::defaults(description.parameters);
        let random = StreamKey::new(Seed::default(), 0, Purpose::Controller);
        let opening = TransferSetup {
            stack: Stack {
                initial_window: 20.0,
                ..stack
            },
            controller: forebay_congestion::controller("newreno", &parameters, random).unwrap(),
            payload: Bytes::new(1448),
            host_delay: None,
            packets,
        };
        Self {
            connection: Connection::new(opening, FIRST),
            now: Time::from_secs(1),
        }
    }

    /// Everything that may leave now; the short way of a plain repair gives the first of it.
    pub(super) fn send(&mut self) -> Vec<u64> {
        let Connection {
            control, recovery, ..
        } = &self.connection;
        let is_plain =
            control.sender.repairs_plainly() && matches!(recovery, LossRecovery::Sack(_));
        let repaired = is_plain.then(|| self.connection.clone().repair(self.now));
        let mut sent = Vec::new();
        while let Next::Send(transmission) = self.connection.next_to_send(self.now) {
            sent.push(transmission);
        }
        assert!(repaired.is_none_or(|first| first == sent.first().copied()));
        sent.iter().map(|sent| sent.packet - FIRST).collect()
    }

    /// A packet arrives a tenth of a millisecond later; what leaves then.
    pub(super) fn arrive(&mut self, packet: u64) -> Vec<u64> {
        self.now += Time::from_micros(100);
        self.connection.deliver(packet + FIRST, self.now);
        self.send()
    }

    /// Losses that a sample would report now.
    fn flow_stats(&mut self) -> u64 {
        let losses = self.connection.control.sender.totals.losses;
        self.connection
            .control
            .sent_packets
            .as_mut()
            .unwrap()
            .report(losses)
    }

    pub(super) fn time_out(&mut self) -> Vec<u64> {
        self.now = self.connection.deadline().unwrap();
        self.connection.time_out(self.now);
        self.send()
    }
}

#[test]
fn forward_acknowledgment_repairs_what_is_four_below_the_furthest_arrival() {
    let mut wire = Wire::new(Stack {
        recovery: Recovery::Fack,
        ..Stack::RFC
    });
    assert_eq!(wire.send().len(), 20);
    wire.now += Time::from_millis(100);
    // 0, 1 and 2 are lost: each is found when the packet four beyond arrives.
    assert!(!wire.arrive(3).contains(&0));
    for (arrival, lost) in [(4, 1), (5, 2), (6, 3)] {
        let sent = wire.arrive(arrival);
        assert_eq!(wire.connection.control.scoreboard.lost, lost);
        assert_eq!(wire.connection.control.sender.state, LossState::Recovery);
        assert_eq!(sent.contains(&0), arrival == 4);
    }
}

#[test]
fn forward_acknowledgment_sees_that_a_repetition_is_lost() {
    let mut wire = Wire::new(Stack {
        recovery: Recovery::Fack,
        reduction: Some(Reduction::Prr),
        ..Stack::RFC
    });
    wire.send();
    wire.now += Time::from_millis(100);
    let mut repeated = 0;
    let mut new = Vec::new();
    for packet in 1..20 {
        for sent in wire.arrive(packet) {
            if sent == 0 {
                repeated += 1;
            } else {
                new.push(sent);
            }
        }
    }
    assert_eq!(repeated, 1);
    // A packet first sent after the repetition arrives, the repetition has not.
    wire.now += Time::from_millis(100);
    let last = *new.last().unwrap();
    let sent = wire.arrive(last);
    assert!(sent.contains(&0), "{sent:?}");
    assert_eq!(wire.connection.timeouts(), 0);
}

#[test]
fn rate_halving_leaves_half_as_much_under_way_after_a_round_trip() {
    let mut wire = Wire::new(Stack {
        recovery: Recovery::Fack,
        ..Stack::RFC
    });
    wire.send();
    wire.now += Time::from_millis(100);
    let sent: usize = (1..20).map(|packet| wire.arrive(packet).len()).sum();
    // Three before the loss is noticed, then one for two.
    assert!((9..=12).contains(&sent), "{sent}");
}

#[test]
fn at_once_falls_silent_and_prr_does_not() {
    for (reduction, expected) in [(Reduction::AtOnce, 0), (Reduction::Prr, 3)] {
        for recovery in [Recovery::Sack, Recovery::Fack, Recovery::Rack] {
            let mut wire = Wire::new(Stack {
                recovery,
                reduction: Some(reduction),
                ..Stack::RFC
            });
            wire.send();
            wire.now += Time::from_millis(100);
            for packet in 1..=4 {
                wire.arrive(packet);
            }
            // Between the repetition and half a window of arrivals.
            let sent: usize = (5..=10).map(|packet| wire.arrive(packet).len()).sum();
            assert!(
                sent.abs_diff(expected) <= expected / 3,
                "{reduction:?} {recovery:?} {sent}"
            );
        }
    }
}

#[test]
fn only_the_first_timeout_of_a_packet_lowers_the_threshold_unless_every_one_does() {
    for (timeout_ssthresh, expected) in [
        (TimeoutSsthresh::First, 10.0),
        (TimeoutSsthresh::Every, 2.0),
    ] {
        for recovery in [
            Recovery::NewReno,
            Recovery::Sack,
            Recovery::Pipe,
            Recovery::Fack,
            Recovery::Rack,
        ] {
            let mut wire = Wire::new(Stack {
                recovery,
                timeout_ssthresh,
                ..Stack::RFC
            });
            wire.send();
            let mut thresholds = Vec::new();
            while thresholds.len() < 2 {
                let before = wire.connection.timeouts();
                wire.time_out();
                if wire.connection.timeouts() > before {
                    thresholds.push(wire.connection.window().ssthresh);
                }
            }
            assert!((thresholds[0] - 10.0).abs() <= 0.5, "{thresholds:?}");
            assert!(
                (thresholds[1] - expected).abs() <= 0.5,
                "{recovery:?} {timeout_ssthresh:?} {thresholds:?}"
            );
        }
    }
}

#[test]
fn every_loss_is_reported_once_and_those_of_a_timeout_with_it() {
    for recovery in RECOVERIES {
        // Found from arrivals.
        let mut wire = behind_a_loss(Stack {
            recovery,
            timestamps: true,
            ..Stack::RFC
        });
        assert_eq!(wire.flow_stats(), 1, "{recovery:?}");
        assert_eq!(wire.flow_stats(), 0, "{recovery:?}");
        // The losses of a timeout are counted, and reported with it.
        let before = wire.connection.control.sender.totals.losses;
        while wire.connection.timeouts() == 0 {
            wire.time_out();
        }
        let found = wire.connection.control.sender.totals.losses - before;
        let in_order = matches!(recovery, Recovery::NewReno | Recovery::Pipe);
        let expected = if in_order { 1 } else { 10 };
        assert!(found >= expected, "{recovery:?} {found}");
        assert_eq!(wire.flow_stats(), 0, "{recovery:?}");
    }
}

#[test]
fn a_loss_found_by_the_reordering_timer_is_reported() {
    let mut wire = Wire::new(Stack {
        recovery: Recovery::Rack,
        ..Stack::RFC
    });
    wire.send();
    wire.now += Time::from_millis(100);
    // Two arrivals above the hole leave it to the timer.
    wire.arrive(1);
    wire.arrive(2);
    assert_eq!(wire.flow_stats(), 0);
    wire.time_out();
    assert_eq!(wire.connection.timeouts(), 0);
    assert_eq!(wire.flow_stats(), 1);
}

const RECOVERIES: [Recovery; 5] = [
    Recovery::NewReno,
    Recovery::Sack,
    Recovery::Pipe,
    Recovery::Fack,
    Recovery::Rack,
];

/// Twenty packets were sent, and the ten after the first have arrived.
fn behind_a_loss(stack: Stack) -> Wire {
    let mut wire = Wire::new(stack);
    wire.send();
    wire.now += Time::from_millis(100);
    for packet in 1..=10 {
        wire.arrive(packet);
    }
    wire
}

/// The timer of twenty packets has expired: with F-RTO only the first of them has left again.
fn after_timeout(recovery: Recovery, frto: bool) -> Wire {
    let mut wire = Wire::new(Stack {
        recovery,
        frto,
        ..Stack::RFC
    });
    assert_eq!(wire.send().len(), 20);
    let mut sent = Vec::new();
    while wire.connection.timeouts() == 0 {
        sent.extend(wire.time_out());
    }
    assert_eq!(sent, [0], "{recovery:?}");
    assert_eq!(wire.connection.control.sender.state, LossState::Timeout);
    assert_eq!(wire.connection.window().ssthresh, 10.0);
    wire
}

#[test]
fn a_spurious_timeout_is_undone_and_nothing_else_sent_again() {
    for recovery in RECOVERIES {
        let mut wire = after_timeout(recovery, true);
        // The first transmissions were only late.
        assert_eq!(wire.arrive(0), [20, 21], "{recovery:?}");
        assert_eq!(wire.connection.control.sender.state, LossState::Timeout);
        wire.arrive(1);
        let window = wire.connection.window();
        assert_eq!(
            wire.connection.control.sender.state,
            LossState::Open,
            "{recovery:?}"
        );
        assert!((20.0..=22.0).contains(&window.cwnd), "{window:?}");
        assert_eq!(window.ssthresh, f64::INFINITY);
        let mut next = 22;
        for packet in 2..20 {
            for sent in wire.arrive(packet) {
                assert!(sent >= 20, "{recovery:?} {sent}");
                next = sent + 1;
            }
        }
        // The packet that was sent again comes last.
        for sent in wire.arrive(0) {
            assert!(sent >= 20, "{recovery:?} {sent}");
        }
        assert_eq!(wire.connection.retransmissions(), 1);
        assert!(next > 38, "{recovery:?} {next}");
        assert!(wire.connection.consistent());
    }
}

#[test]
fn the_timer_of_a_spurious_timeout_is_not_backed_off() {
    for (recovery, timestamps) in [
        (Recovery::NewReno, false),
        (Recovery::Sack, false),
        (Recovery::NewReno, true),
        (Recovery::Rack, true),
    ] {
        let mut wire = Wire::new(Stack {
            recovery,
            timestamps,
            frto: true,
            ..Stack::RFC
        });
        wire.send();
        while wire.connection.timeouts() == 0 {
            wire.time_out();
        }
        assert_eq!(
            wire.connection.control.sender.round_trip.timeout(),
            Time::from_secs(2)
        );
        wire.arrive(0);
        wire.arrive(1);
        let timeout = wire.connection.control.sender.round_trip.timeout();
        if timestamps {
            // A packet that was not retransmitted is measured: the timeout is R plus four times R /
            // 2.
            let seconds = timeout.as_secs_f64();
            assert!((seconds - 3.0).abs() < 0.01, "{recovery:?} {seconds}");
        } else {
            assert_eq!(timeout, Time::from_secs(1), "{recovery:?}");
        }
    }
}

/// Everything sent arrives a tenth of a second later, until nothing below 30 is missing; how many
/// packets left again in all.
fn repair(mut wire: Wire) -> (u64, f64) {
    let mut in_flight = vec![0];
    for _ in 0..20 {
        wire.now += Time::from_millis(100);
        let arriving = std::mem::take(&mut in_flight);
        for packet in arriving {
            in_flight.extend(wire.arrive(packet));
        }
        assert!(wire.connection.consistent());
        if wire.connection.control.receiver.rcv_nxt() > FIRST + 30 {
            break;
        }
    }
    assert!(wire.connection.control.receiver.rcv_nxt() > FIRST + 30);
    assert_eq!(wire.connection.timeouts(), 1);
    let ssthresh = wire.connection.window().ssthresh;
    (wire.connection.retransmissions(), ssthresh)
}

#[test]
fn a_lost_window_is_repaired_as_without() {
    for recovery in RECOVERIES {
        let (without, threshold) = repair(after_timeout(recovery, false));
        let (with, same) = repair(after_timeout(recovery, true));
        assert_eq!(threshold, same, "{recovery:?}");
        assert_eq!(without, 20, "{recovery:?}");
        // Where all is sent again in order the two new packets may be, too.
        let in_order = matches!(recovery, Recovery::NewReno | Recovery::Pipe);
        let most = if in_order { 22 } else { 20 };
        assert!((20..=most).contains(&with), "{recovery:?} {with}");
    }
}

#[test]
fn a_duplicate_first_means_that_the_loss_was_real() {
    for recovery in RECOVERIES {
        let mut wire = after_timeout(recovery, true);
        assert_eq!(wire.arrive(1), [0; 0], "{recovery:?}");
        let window = wire.connection.window();
        assert_eq!((window.cwnd, window.ssthresh), (1.0, 10.0), "{recovery:?}");
        assert_eq!(wire.connection.control.sender.state, LossState::Timeout);
        // The repetition fills the hole: what follows is sent again.
        let sent = wire.arrive(0);
        assert!(sent.starts_with(&[2]), "{recovery:?} {sent:?}");
    }
}

#[test]
fn new_data_that_arrives_beyond_a_hole_means_that_the_loss_was_real() {
    for recovery in RECOVERIES {
        let mut wire = after_timeout(recovery, true);
        assert_eq!(wire.arrive(0), [20, 21]);
        let sent = wire.arrive(20);
        assert!(sent.starts_with(&[1]), "{recovery:?} {sent:?}");
        assert!(wire.connection.window().cwnd <= 3.0, "{recovery:?}");
        assert_eq!(wire.connection.window().ssthresh, 10.0);
    }
}

#[test]
fn a_second_timeout_of_the_same_packet_is_believed() {
    for recovery in RECOVERIES {
        let mut wire = after_timeout(recovery, true);
        assert_eq!(wire.time_out(), [0], "{recovery:?}");
        assert_eq!(wire.connection.timeouts(), 2);
        let sent = wire.arrive(0);
        assert!(sent.starts_with(&[1]), "{recovery:?} {sent:?}");
        assert_eq!(wire.connection.window().ssthresh, 10.0);
    }
}

#[test]
fn a_timeout_while_the_second_acknowledgment_is_awaited_is_believed() {
    for recovery in RECOVERIES {
        let mut wire = after_timeout(recovery, true);
        assert_eq!(wire.arrive(0), [20, 21]);
        let sent = wire.time_out();
        assert!(sent.starts_with(&[1]), "{recovery:?} {sent:?}");
        assert!(wire.connection.timeout.attempt.is_none());
        assert!(wire.connection.consistent());
    }
}

#[test]
fn without_new_data_the_first_acknowledgment_leads_to_conventional_recovery() {
    for recovery in RECOVERIES {
        let mut wire = after_timeout(recovery, true);
        wire.connection.stop();
        let sent = wire.arrive(0);
        assert!(sent.starts_with(&[1]), "{recovery:?} {sent:?}");
    }
}

#[test]
fn with_sack_one_acknowledgment_may_be_proof_enough() {
    for recovery in [Recovery::Sack, Recovery::Fack, Recovery::Rack] {
        let mut wire = Wire::new(Stack {
            recovery,
            frto: true,
            delayed_ack: DelayedAck {
                packets: 2,
                timeout: Time::from_millis(40),
                ..DelayedAck::AT_ONCE
            },
            ..Stack::RFC
        });
        wire.send();
        while wire.connection.timeouts() == 0 {
            wire.time_out();
        }
        wire.connection.stop();
        assert_eq!(wire.arrive(0), [0; 0]);
        // One acknowledgment for two packets, and nothing new to send.
        assert_eq!(wire.arrive(1), [0; 0], "{recovery:?}");
        assert_eq!(wire.connection.control.sender.state, LossState::Open);
        assert!(wire.connection.window().cwnd >= 20.0);
    }
}

#[test]
fn a_timeout_in_recovery_is_believed() {
    for recovery in RECOVERIES {
        let mut wire = behind_a_loss(Stack {
            recovery,
            frto: true,
            ..Stack::RFC
        });
        assert_eq!(wire.connection.control.sender.state, LossState::Recovery);
        while wire.connection.timeouts() == 0 {
            wire.time_out();
        }
        assert!(wire.connection.timeout.attempt.is_none(), "{recovery:?}");
    }
}

#[test]
fn a_loss_behind_a_spurious_timeout_is_repaired_by_fast_recovery() {
    for recovery in RECOVERIES {
        let mut wire = after_timeout(recovery, true);
        wire.arrive(0);
        wire.arrive(1);
        assert_eq!(wire.connection.control.sender.state, LossState::Open);
        // Packet 2 is lost.
        let mut is_retransmission = Vec::new();
        for packet in 3..20 {
            is_retransmission.extend(wire.arrive(packet).into_iter().filter(|sent| *sent < 20));
        }
        assert_eq!(is_retransmission, [2], "{recovery:?}");
        assert_eq!(wire.connection.control.sender.state, LossState::Recovery);
        assert_eq!(wire.connection.timeouts(), 1);
    }
}

#[test]
fn three_arrivals_beyond_a_hole_mean_a_loss_and_two_do_not() {
    for recovery in [Recovery::NewReno, Recovery::Sack, Recovery::Pipe] {
        let mut wire = Wire::new(Stack {
            recovery,
            ..Stack::RFC
        });
        wire.send();
        wire.now += Time::from_millis(100);
        for packet in [1, 2] {
            assert!(!wire.arrive(packet).contains(&0), "{recovery:?}");
            assert_eq!(wire.connection.control.sender.state, LossState::Open);
        }
        assert!(wire.arrive(3).contains(&0), "{recovery:?}");
        assert_eq!(wire.connection.control.sender.state, LossState::Recovery);
    }
}

#[test]
fn marks_of_one_round_trip_are_heeded_once() {
    let mut wire = Wire::new(Stack::RFC);
    let sent = wire.send();
    wire.now += Time::from_millis(100);
    let mut cuts = Vec::new();
    let mut next = Vec::new();
    for packets in [sent, Vec::new()] {
        for packet in packets.into_iter().chain(std::mem::take(&mut next)) {
            let before = wire.connection.window().ssthresh;
            wire.now += Time::from_micros(100);
            wire.connection.deliver_marked(packet + FIRST, wire.now);
            next.extend(wire.send());
            if wire.connection.window().ssthresh < before {
                cuts.push(packet);
            }
        }
    }
    // The first packet, and then the last one of each round: what was sent before is acknowledged.
    assert_eq!(cuts, [0, 19, 29]);
}

#[test]
fn a_late_answer_to_a_packet_sent_again_says_nothing_about_those_sent_before() {
    let mut wire = Wire::new(Stack {
        recovery: Recovery::Rack,
        frto: true,
        ..Stack::RFC
    });
    wire.send();
    wire.now += Time::from_millis(100);
    let mut in_flight: Vec<u64> = (5..20).collect();
    for packet in 0..5 {
        in_flight.extend(wire.arrive(packet));
    }
    while wire.connection.timeouts() == 0 {
        in_flight.extend(wire.time_out().into_iter().filter(|sent| *sent >= 20));
    }
    // Longer than the shortest round trip after the repetition the first transmissions arrive.
    wire.now += Time::from_millis(150);
    let before = wire.connection.retransmissions();
    for packet in in_flight {
        for sent in wire.arrive(packet) {
            assert!(sent >= 20, "{sent}");
        }
    }
    assert_eq!(wire.connection.retransmissions(), before);
    assert_eq!(wire.connection.control.sender.state, LossState::Open);
}
