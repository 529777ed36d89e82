//! Rules of the draft beside the test cases of its appendix: pauses, lost packets, recoveries that
//! were not needed, and the initial pace.

use super::appendix_tests::{AppendixAck, CALM, Case};
use super::*;
use crate::packet::LostPacket;

/// Section 5.4.1: a pause in `ProbeRTT` ends it where its time is over.
#[test]
fn a_pause_ends_a_probe_of_the_round_trip_that_has_lasted() {
    for (seconds, expected) in [(0.3, Mode::Cruise), (0.1, Mode::ProbeRoundTrip)] {
        let mut case = Case::in_state(Mode::ProbeRoundTrip);
        case.bbr.save_window(200.0);
        case.tell(AppendixAck {
            in_flight: 4.0,
            round: false,
            ..CALM
        });
        case.window.cwnd = 50.0;
        case.now += Time::from_secs_f64(seconds);
        case.pause();
        assert_eq!(case.bbr.mode, expected, "{seconds}");
    }
}

/// The short-term bounds after a spurious timeout are those of before, and so is the window.
#[test]
fn a_spurious_timeout_leaves_the_short_term_bounds_and_the_window() {
    let mut case = Case::in_state(Mode::Cruise);
    case.bbr.cycle.bw_probe_wait = Time::from_secs(100);
    let path = Path::default();
    let slow = AppendixAck {
        rate: 500.0,
        in_flight: 50.0,
        seconds: 0.01,
        ..CALM
    };
    case.tell(slow);
    case.tell(slow);
    let cwnd = case.window.cwnd;
    case.bbr
        .on_congestion_event(&mut case.window, CongestionEvent::Timeout, case.now, &path);
    // A window of one packet would begin a probe.
    case.window.cwnd = 100.0;
    case.tell_in(slow, LossState::Timeout);
    case.tell_in(slow, LossState::Timeout);
    assert!((case.bbr.bounds.bw_shortterm - 700.0).abs() < 1e-9);
    assert!(case.bbr.bounds.inflight_shortterm < 200.0);
    let before = case.bbr.clone();
    case.bbr.on_undo(&before);
    assert_eq!(case.bbr.bounds.bw_shortterm, f64::INFINITY);
    assert_eq!(case.bbr.bounds.inflight_shortterm, f64::INFINITY);
    case.tell(slow);
    assert!(
        case.window.cwnd >= cwnd.min(200.0),
        "{cwnd} {}",
        case.window.cwnd
    );
}

/// Section 5.5.10.2: a lost packet of a probe is judged by its own flight, whatever the
/// acknowledged packet says.
#[test]
fn a_lost_packet_is_judged_by_its_own_flight() {
    for (in_flight, lost, probing, expected, bound) in [
        (150.0, 4.0, true, Mode::Down, 149.0),
        (150.0, 3.0, true, Mode::Up, 200.0),
        (150.0, 4.0, false, Mode::Up, 200.0),
        (50.0, 4.0, true, Mode::Down, 70.0),
    ] {
        let mut case = Case::in_state(Mode::Up);
        case.bbr.bounds.inflight_longterm = 200.0;
        case.bbr.cycle.bw_probe_samples = probing;
        case.lost_packet = Some(LostPacket {
            in_flight,
            lost,
            app_limited: false,
        });
        let told = AppendixAck {
            in_flight: 0.95 * bound,
            round: false,
            ..CALM
        };
        assert_eq!(case.tell(told), expected, "{in_flight} {lost}");
        assert!((case.bbr.bounds.inflight_longterm - bound).abs() < 1e-9);
    }
}

/// Section 5.3.3.4.2: a cautious probe ends when a window of the bound was in flight, and the next
/// one begins at once.
#[test]
fn a_cautious_probe_ends_at_the_bound() {
    for (in_flight, ends) in [(130.0, true), (129.0, false)] {
        let mut case = Case::in_state(Mode::Up);
        case.bbr.bounds.inflight_longterm = 130.5;
        case.bbr.cycle.prev_probe_too_high = true;
        case.acked_in_flight = 10.0;
        let told = AppendixAck {
            in_flight,
            round: false,
            ..CALM
        };
        assert_eq!(case.tell(told) == Mode::Down, ends, "{in_flight}");
        assert_eq!(case.bbr.cycle.stopped_risky_probe, ends);
        if ends {
            assert_eq!(
                case.tell(AppendixAck {
                    round: true,
                    ..told
                }),
                Mode::Refill
            );
        }
    }
}

/// Section 5.6.2: the first samples, of single packets, do not lower the initial pace.
#[test]
fn the_initial_pace_is_the_least_of_start_up() {
    let mut case = Case::new();
    for rate in [10.0, 20.0, 100.0] {
        case.tell(AppendixAck {
            rate,
            in_flight: 10.0,
            round: false,
            ..CALM
        });
        let initial = STARTUP_GAIN * 10.0 / 0.1;
        assert!((case.bbr.pacing_rate - initial).abs() < 1e-9, "{rate}");
    }
    case.tell(AppendixAck {
        rate: 200.0,
        ..CALM
    });
    assert!((case.bbr.pacing_rate - STARTUP_GAIN * 198.0).abs() < 1e-9);
}
