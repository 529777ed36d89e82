//! Algorithm 1 and the target of section 3.5, by hand.

use super::*;
use crate::packet::tests::{sample, window};
use crate::registration::tests::{default_controller, stream};

const PATH: Path = Path {
    smoothed_rtt: 40e-6,
    min_rtt: 20e-6,
    max_rtt: 60e-6,
    flight: 10.0,
};

/// The controller with these parameters beside the defaults.
fn with(changes: &[(&str, Value)]) -> SwiftController {
    let mut parameters = Parameters::defaults(SwiftController::DESCRIPTION.parameters());
    for (name, value) in changes {
        assert!(parameters.set(name, *value));
    }
    SwiftController::new(&parameters, stream(0))
}

/// A flow of this window with a target of 50 us and no scaling.
fn with_window(cwnd: f64) -> SwiftController {
    let mut swift = with(&[
        ("base_target", Value::Time(Time::from_micros(50))),
        ("fs_range", Value::Time(Time::ZERO)),
    ]);
    swift.window.packets = cwnd;
    swift
}

/// The window after an acknowledgment of one packet after this round-trip time, at this time in us.
fn after(swift: &mut SwiftController, rtt_us: f64, now_us: u64) -> f64 {
    let mut seen = sample(rtt_us / 1e6);
    seen.now = Time::from_micros(now_us);
    let mut at = window(swift.window.packets.max(1.0), 2.0);
    swift.on_sample(&mut at, &seen, &PATH);
    assert_eq!(at.cwnd, swift.window.packets.max(1.0));
    swift.window.packets
}

#[test]
fn an_acknowledgment_changes_the_window_as_algorithm_1_does() {
    for (cwnd, rtt_us, expected) in [
        // Line 8: 10 + 1/10.
        (10.0, 30.0, 10.1),
        (1.0, 30.0, 2.0),
        // Line 10: 0.25 + 1.
        (0.25, 30.0, 1.25),
        // Line 13: at the target nothing is taken away; 10 (1 - 0.8 x 12.5 / 62.5).
        (10.0, 50.0, 10.0),
        (10.0, 62.5, 8.4),
        (0.5, 62.5, 0.42),
        // 1 - 0.8 x 150/200 = 0.4 is below 1 - max_mdf.
        (10.0, 200.0, 5.0),
    ] {
        let found = after(&mut with_window(cwnd), rtt_us, 1000);
        assert!((found - expected).abs() < 1e-9, "{cwnd} {rtt_us}: {found}");
    }
}

#[test]
fn the_window_falls_once_per_round_trip_and_grows_at_once() {
    let mut swift = with_window(10.0);
    assert!((after(&mut swift, 100.0, 1000) - 6.0).abs() < 1e-9);
    // Less than the 40 us of the smoothed round-trip time later.
    assert!((after(&mut swift, 100.0, 1039) - 6.0).abs() < 1e-9);
    assert!((after(&mut swift, 30.0, 1039) - (6.0 + 1.0 / 6.0)).abs() < 1e-9);
    assert!(after(&mut swift, 100.0, 1040) < 3.8);
}

#[test]
fn the_window_stays_within_its_bounds() {
    let mut swift = with(&[
        ("min_cwnd", Value::Number(0.4)),
        ("max_cwnd", Value::Number(12.0)),
    ]);
    swift.window.packets = 0.6;
    assert_eq!(after(&mut swift, 20.0, 1), 1.6);
    swift.window.packets = 0.6;
    assert_eq!(after(&mut swift, 1e5, 2000), 0.4);
    swift.window.packets = 11.99;
    assert_eq!(after(&mut swift, 20.0, 3000), 12.0);
}

/// The targets at both ends of the range of windows are exact, and in the middle
/// a/sqrt(4) + b = 100 us x (1/2 - 1/10) / (1/sqrt(0.1) - 1/10).
#[test]
fn the_target_adds_hops_and_shrinks_with_the_window() {
    let mut swift = with(&[
        ("base_target", Value::Time(Time::from_micros(25))),
        ("hops", Value::Number(5.0)),
        ("hop_scale", Value::Time(Time::from_micros(2))),
    ]);
    let middle = 100.0 * 0.4 / (10_f64.sqrt() - 0.1);
    for (cwnd, scaled_us) in [
        (0.01, 100.0),
        (0.1, 100.0),
        (4.0, middle),
        (100.0, 0.0),
        (1000.0, 0.0),
    ] {
        swift.window.packets = cwnd;
        let found = 1e6 * swift.target();
        assert!((found - 35.0 - scaled_us).abs() < 1e-6, "{cwnd}: {found}");
    }
}

#[test]
fn without_a_base_the_target_follows_the_shortest_round_trip() {
    let mut swift: SwiftController = default_controller();
    swift.window.packets = 1000.0;
    for (rtt_us, target_us) in [(90.0, 135.0), (40.0, 60.0), (50.0, 60.0)] {
        after(&mut swift, rtt_us, 1000);
        let found = 1e6 * swift.target();
        assert!((found - target_us).abs() < 1e-6, "{rtt_us}: {found}");
    }
}

/// Section 3.4: a window of 0.5 packets is a packet every two round trips.
#[test]
fn a_window_below_one_packet_is_paced() {
    let at = window(1.0, 2.0);
    let pace = with_window(0.5).pacing(&at, &PATH).unwrap();
    assert_eq!((pace.rate, pace.quantum), (0.5 / 40e-6, 1.0));
    assert_eq!(with_window(1.0).pacing(&at, &PATH), None);
}

#[test]
fn losses_marks_and_timeouts_halve_once_per_round_trip() {
    for event in [
        CongestionEvent::Loss,
        CongestionEvent::Mark,
        CongestionEvent::Timeout,
    ] {
        let mut swift = with_window(10.0);
        let mut at = window(10.0, 2.0);
        for (now_us, expected) in [
            (100, 5.0),
            (139, 5.0),
            (140, 2.5),
            (180, 1.25),
            (220, 0.625),
        ] {
            swift.on_congestion_event(&mut at, event, Time::from_micros(now_us), &PATH);
            assert_eq!(swift.window.packets, expected, "{event:?}");
            assert_eq!(at.cwnd, expected.max(1.0));
            if event == CongestionEvent::Timeout {
                // An acknowledgment ends the row of timeouts.
                swift.timeouts = 0.0;
            }
        }
    }
}

#[test]
fn five_timeouts_in_a_row_leave_the_smallest_window() {
    let mut swift = with_window(1000.0);
    let mut at = window(1000.0, 2.0);
    let mut sizes = Vec::new();
    for second in 1..=5 {
        let now = Time::from_secs(second);
        swift.on_congestion_event(&mut at, CongestionEvent::Timeout, now, &PATH);
        sizes.push(swift.window.packets);
    }
    assert_eq!(sizes, [500.0, 250.0, 125.0, 62.5, 0.001]);
    after(&mut swift, 20.0, 6_000_000);
    assert_eq!(swift.timeouts, 0.0);
}

#[test]
fn a_window_that_does_not_limit_the_sender_stays() {
    let mut swift = with_window(10.0);
    let mut at = window(10.0, 2.0);
    let mut seen = sample(30e-6);
    seen.limited = false;
    swift.on_sample(&mut at, &seen, &PATH);
    assert_eq!(at.cwnd, 10.0);
    // A repeated packet tells no delay.
    seen.limited = true;
    seen.rtt = None;
    swift.on_sample(&mut at, &seen, &PATH);
    assert_eq!(at.cwnd, 10.0);
}

#[test]
fn a_spurious_timeout_gives_the_window_back() {
    let mut swift = with_window(10.0);
    let before = swift.clone();
    let mut at = window(10.0, 2.0);
    let now = Time::from_micros(100);
    swift.on_congestion_event(&mut at, CongestionEvent::Timeout, now, &PATH);
    assert_eq!(at.cwnd, 5.0);
    swift.on_undo(&before);
    let mut seen = sample(30e-6);
    seen.arrived = 0.0;
    swift.on_sample(&mut at, &seen, &PATH);
    assert_eq!((at.cwnd, swift.timeouts), (10.0, 0.0));
    assert_eq!(swift.decreased, None);
}
