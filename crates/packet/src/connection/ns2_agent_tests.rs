//! Differences of ns-2.35's agents from the RFCs: New Reno (tcp-newreno.cc), Sack1 (tcp-sack1.cc)
//! and Linux (tcp-linux.cc, scoreboard1.cc).

use forebay_congestion::packet::LossState;
use forebay_scenario::{FastRetransmitTimer, FullAckWindow, LimitedTransmit, Recovery, Stack};
use forebay_units::Time;

use super::behavior_tests::Wire;

/// Packets 0 to 6 are lost, and of their repetitions the first again.
#[test]
fn forward_acknowledgment_sees_that_a_repetition_is_lost_by_those_sent_five_after_it() {
    let mut wire = Wire::new(Stack {
        recovery: Recovery::Fack,
        ..Stack::RFC
    });
    wire.send();
    wire.now += Time::from_millis(100);
    let sent: Vec<u64> = (7..20).flat_map(|packet| wire.arrive(packet)).collect();
    assert!((0..7).all(|lost| sent.contains(&lost)), "{sent:?}");
    wire.now += Time::from_millis(100);
    for repeated in 1..=6 {
        let sent = wire.arrive(repeated);
        assert_eq!(sent.contains(&0), repeated == 5, "{repeated}");
    }
}

/// Acknowledgments that move nothing restart the timer, too (tcp-linux.cc: `time_processing`).
#[test]
fn forward_acknowledgment_times_out_only_in_silence() {
    for (recovery, moves) in [(Recovery::Fack, true), (Recovery::Sack, false)] {
        let mut wire = Wire::new(Stack {
            recovery,
            ..Stack::RFC
        });
        wire.send();
        let before = wire.connection.deadline().unwrap();
        wire.now += Time::from_millis(100);
        wire.arrive(5);
        assert_eq!(wire.connection.deadline().unwrap() > before, moves);
    }
}

/// The third duplicate restarts the timer of ns-2's New Reno (tcp-newreno.cc: `dupack_action`), and
/// not that of RFC 6298 section 5. The first two restart neither.
#[test]
fn a_fast_retransmission_restarts_the_timer_of_ns_2() {
    for (fast_retransmit_timer, restarts) in [
        (FastRetransmitTimer::Keep, false),
        (FastRetransmitTimer::Restart, true),
    ] {
        let mut wire = Wire::new(Stack {
            recovery: Recovery::NewReno,
            fast_retransmit_timer,
            ..Stack::RFC
        });
        wire.send();
        let before = wire.connection.deadline().unwrap();
        wire.now += Time::from_millis(100);
        wire.arrive(1);
        wire.arrive(2);
        assert_eq!(wire.connection.deadline().unwrap(), before);
        let sent = wire.arrive(3);
        assert!(sent.contains(&0), "{sent:?}");
        assert_eq!(wire.connection.deadline().unwrap() > before, restarts);
    }
}

/// Three duplicates inflate a window of 10 by 3, and the partial acknowledgment is for 4 packets:
/// ns-2 takes the difference off the window itself (tcp-newreno.cc: `partialnewack`), and leaves it
/// there at the full acknowledgment, which opens the window as any other. RFC 6582 section 3.2 sets
/// the threshold.
#[test]
fn a_window_that_partial_acknowledgments_deflate_stays_deflated_in_ns_2() {
    for (full_ack_window, during, after) in [
        (FullAckWindow::Threshold, 10.0, 10.0),
        (FullAckWindow::Deflated, 9.0, 10.0),
    ] {
        let mut wire = Wire::new(Stack {
            recovery: Recovery::NewReno,
            full_ack_window,
            ..Stack::RFC
        });
        wire.send();
        for packet in [1, 2, 3, 0] {
            wire.arrive(packet);
        }
        assert_eq!(wire.connection.control.sender.window.cwnd, during);
        (4..22).for_each(|packet| drop(wire.arrive(packet)));
        assert_eq!(wire.connection.control.sender.state, LossState::Open);
        assert_eq!(wire.connection.control.sender.window.cwnd, after);
    }
}

/// More duplicates than the partial acknowledgment is for deflate nothing but the inflation: the
/// window is the threshold, and the full acknowledgment adds 1/10 in ns-2 (tcp.cc:
/// `recv_newack_helper`).
#[test]
fn a_full_acknowledgment_opens_the_window_in_ns_2() {
    for (full_ack_window, after) in [
        (FullAckWindow::Threshold, 10.0),
        (FullAckWindow::Deflated, 10.1),
    ] {
        let mut wire = Wire::new(Stack {
            recovery: Recovery::NewReno,
            full_ack_window,
            ..Stack::RFC
        });
        wire.send();
        (1..22).for_each(|packet| drop(wire.arrive(packet)));
        wire.arrive(0);
        assert_eq!(wire.connection.control.sender.state, LossState::Open);
        assert_eq!(wire.connection.control.sender.window.cwnd, after);
    }
}

/// After a timeout the window is one packet. The first duplicates let the next ones in order go as
/// well (tcp.cc: `send_one`), the third none.
#[test]
fn duplicates_after_a_timeout_send_in_ns_2() {
    for (limited_transmit, sent) in [
        (LimitedTransmit::Open, [vec![], vec![], vec![]]),
        (LimitedTransmit::Always, [vec![1], vec![2], vec![]]),
    ] {
        let mut wire = Wire::new(Stack {
            recovery: Recovery::NewReno,
            limited_transmit,
            ..Stack::RFC
        });
        wire.send();
        assert_eq!(wire.time_out(), [0]);
        assert_eq!([5, 6, 7].map(|packet| wire.arrive(packet)), sent);
    }
}

/// The timed packet arrives beyond a hole: RFC 6298 may measure that with SACK, and ns-2's Sack1
/// waits until everything below has arrived, too (tcp-sack1.cc: `recv`).
#[test]
fn sack1_measures_round_trips_by_acknowledgments_in_order() {
    for (recovery, waits) in [
        (Recovery::Sack, false),
        (Recovery::Pipe, true),
        (Recovery::NewReno, true),
    ] {
        let mut wire = Wire::new(Stack {
            recovery,
            ..Stack::RFC
        });
        wire.send();
        let sent = wire.arrive(0);
        wire.arrive(sent[0]);
        // Packets are numbered from 1 on in the connection.
        let times = |packet| wire.connection.control.sender.times(packet);
        assert_eq!(times(sent[0] + 1), waits, "{recovery:?}");
    }
}

/// Twenty packets are in flight, and 0, 9 and 10 are lost. Each stays in the pipe until its repair
/// is acknowledged in order.
#[test]
fn a_pipe_holds_every_loss_until_its_repair_is_acknowledged() {
    let mut wire = Wire::new(Stack {
        recovery: Recovery::Pipe,
        ..Stack::RFC
    });
    assert_eq!(wire.send().len(), 20);
    wire.now += Time::from_millis(100);
    let mut sent = Vec::new();
    for arrival in [1, 2, 3, 4, 5, 6, 7, 8] {
        sent.push(wire.arrive(arrival));
    }
    // Two by limited transmit, then the repair alone: the pipe is 22 - 3.
    assert_eq!(sent[..4], [vec![20], vec![21], vec![0], vec![]]);
    // Packets 9 and 10 are lost, too: found at once when 11 arrives, sent when the pipe has room.
    let later: Vec<u64> = (11..22).flat_map(|packet| wire.arrive(packet)).collect();
    assert_eq!(later[..2], [9, 10], "{later:?}");
    // 16 arrivals leave 3 of 19, which are the losses, and the window of 10 has room for 7.
    assert_eq!(later.len(), 7, "{later:?}");
    // Each repair that moves on in order takes itself and its loss out of the pipe.
    wire.now += Time::from_millis(100);
    assert_eq!(wire.arrive(0).len(), 2);
    assert_eq!(wire.connection.control.sender.state, LossState::Recovery);
}

#[test]
fn a_pipe_repairs_nothing_after_a_timeout_before_a_packet_sent_since_is_acknowledged() {
    let mut wire = Wire::new(Stack {
        recovery: Recovery::Pipe,
        ..Stack::RFC
    });
    wire.send();
    wire.time_out();
    wire.now += Time::from_millis(100);
    // All packets in flight before are acknowledged except the last one; the following packets are
    // beyond it.
    for packet in 0..19 {
        wire.arrive(packet);
    }
    let recover = wire.connection.control.sender.recover;
    assert!(wire.connection.control.sender.unacknowledged < recover);
    let before = wire.connection.retransmissions();
    for packet in 20..24 {
        wire.arrive(packet);
    }
    assert_ne!(wire.connection.control.sender.state, LossState::Recovery);
    assert!(wire.connection.retransmissions() <= before + 1);
}
