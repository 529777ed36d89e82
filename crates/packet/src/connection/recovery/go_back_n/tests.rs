//! Go-back-N step by step: which packets are discarded, and which are sent again.

use forebay_congestion::packet::LossState;
use forebay_scenario::{DelayedAck, Recovery, Stack};

use crate::connection::behavior_tests::Wire;

const STACK: Stack = Stack {
    recovery: Recovery::GoBackN,
    ..Stack::RFC
};

/// Twenty packets have left. All before `lost` have arrived, and the window did not grow.
fn after_arrivals(lost: u64) -> Wire {
    let mut wire = Wire::new(STACK);
    assert_eq!(wire.send().len(), 20);
    wire.connection.control.sender.window.ssthresh = 20.0;
    for packet in 0..lost {
        wire.arrive(packet);
    }
    wire
}

#[test]
fn a_loss_sends_every_packet_in_flight_again() {
    let mut wire = after_arrivals(0);
    // 0 is lost. 1 causes a NACK, and the window of twenty halves to ten.
    let again = wire.arrive(1);
    assert_eq!(again, (0..10).collect::<Vec<_>>());
    assert_eq!(wire.connection.control.sender.state, LossState::Recovery);
    // The other packets of the first window are discarded without an acknowledgment.
    for packet in 2..20 {
        assert!(wire.arrive(packet).is_empty(), "{packet}");
    }
    assert_eq!(wire.connection.rcv_nxt(), 1);
    assert_eq!(wire.connection.control.receiver.out_of_order(), 0);
    // The repetitions arrive: each lets one more packet go, of the first window first.
    for packet in 0..10 {
        assert_eq!(wire.arrive(packet), [packet + 10]);
    }
    assert_eq!(wire.connection.control.sender.state, LossState::Recovery);
    for packet in 10..19 {
        wire.arrive(packet);
    }
    // All twenty were sent again, and nothing beyond them twice.
    assert_eq!(wire.connection.retransmissions(), 20);
    assert_eq!(wire.connection.control.sender.totals.losses, 1);
    wire.arrive(19);
    assert_eq!(wire.connection.control.sender.state, LossState::Open);
}

#[test]
fn the_receiver_sends_one_nack_per_gap() {
    let mut wire = after_arrivals(3);
    assert!(wire.arrive(4).starts_with(&[3]));
    let halved = wire.connection.control.sender.window;
    for packet in 5..20 {
        assert!(wire.arrive(packet).is_empty(), "{packet}");
    }
    // 3 arrives at the second attempt, 4 is lost this time: a new gap.
    wire.arrive(3);
    assert!(wire.arrive(5).starts_with(&[4]));
    let sender = &wire.connection.control.sender;
    assert_eq!(sender.totals.losses, 2);
    // The window was halved once: the recovery has not ended.
    assert_eq!(sender.window, halved);
    assert_eq!(sender.totals.timeouts, 0);
}

#[test]
fn a_lost_retransmission_waits_for_the_timer() {
    let mut wire = after_arrivals(3);
    let again = wire.arrive(4);
    assert_eq!(again[0], 3);
    // 3 is lost again; the repetitions behind it are discarded silently.
    for packet in 4..13 {
        assert!(wire.arrive(packet).is_empty(), "{packet}");
    }
    assert_eq!(wire.time_out(), [3]);
    assert_eq!(wire.connection.control.sender.state, LossState::Timeout);
    assert_eq!(wire.arrive(3), [4, 5]);
}

#[test]
fn a_duplicate_is_acknowledged_and_sends_nothing_again() {
    let mut wire = after_arrivals(5);
    let before = wire.connection.clone();
    wire.arrive(2);
    let (sender, earlier) = (&wire.connection.control.sender, &before.control.sender);
    assert_eq!(sender.totals.losses, earlier.totals.losses);
    assert_eq!(
        (sender.state, sender.window),
        (LossState::Open, earlier.window)
    );
}

/// A NACK says what has arrived in order although its acknowledgment was delayed.
#[test]
fn a_nack_acknowledges_what_has_arrived_in_order() {
    let mut wire = Wire::new(Stack {
        delayed_ack: DelayedAck {
            packets: 4,
            ..DelayedAck::AT_ONCE
        },
        ..STACK
    });
    wire.send();
    for packet in 0..3 {
        assert!(wire.arrive(packet).is_empty(), "{packet}");
    }
    let again = wire.arrive(4);
    assert_eq!(wire.connection.control.sender.unacknowledged, 4);
    assert_eq!(again[0], 3);
}

/// A packet that was sent for the first time in a recovery is sent again by a second NACK: its
/// acknowledgment does not tell which of the two arrived (Karn's algorithm).
#[test]
fn a_second_nack_ends_the_measurement_of_a_round_trip() {
    let mut wire = after_arrivals(0);
    wire.arrive(1);
    for packet in 0..13 {
        wire.arrive(packet);
    }
    let timed = |wire: &Wire| wire.connection.control.sender.timed;
    assert_eq!(timed(&wire).unwrap().packet.get(), 21);
    assert!(wire.arrive(14).starts_with(&[13]));
    assert_eq!(wire.connection.control.sender.state, LossState::Recovery);
    assert_eq!(timed(&wire), None);
}
