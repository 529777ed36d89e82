//! Algorithm 1 of the paper and the correction of Zhu et al. 2016, by hand.

use super::*;
use crate::packet::tests::{sample, window};
use crate::registration::tests::{default_controller, stream};

const GBPS: f64 = 1e9;

/// The controller with these parameters beside the defaults, at 4 Gb/s with packets of 1000 bytes.
fn with(changes: &[(&str, Value)]) -> TimelyController {
    let mut parameters = Parameters::defaults(TimelyController::DESCRIPTION.parameters());
    for (name, value) in changes {
        assert!(parameters.set(name, *value));
    }
    let mut timely = TimelyController::new(&parameters, stream(0));
    timely.on_open(Bytes::new(1000));
    timely.rate = 4.0 * GBPS;
    timely
}

/// A minimum of 20 us, and differences without memory.
fn plain(variant: &'static str) -> TimelyController {
    with(&[
        ("variant", Value::Word(variant)),
        ("alpha", Value::Number(1.0)),
        ("min_rtt", Value::Time(Time::from_micros(20))),
    ])
}

/// The rate in Gb/s after completions with these round-trip times in us.
fn after(timely: &mut TimelyController, rtts_us: &[f64]) -> f64 {
    for rtt in rtts_us {
        timely.complete(rtt / 1e6);
    }
    timely.rate / GBPS
}

fn near(found: f64, expected: f64) {
    assert!(
        (found - expected).abs() < 1e-9 * expected,
        "{found} {expected}"
    );
}

#[test]
fn a_completion_changes_the_rate_as_algorithm_1_does() {
    for (rtts_us, expected) in [
        // Below T_low, though the round-trip time rises.
        (&[30.0, 49.0][..], 4.02),
        // Above T_high, though it falls: (4 x 0.84 + ...) each time 1 - 0.8 (1 - 500/RTT).
        (&[625.0], 4.0 * 0.84),
        (&[1000.0, 625.0], 4.0 * 0.6 * 0.84),
        // Between both: falling or equal, and rising by a tenth of the minimum.
        (&[100.0, 100.0, 90.0], 4.03),
        (&[100.0, 102.0], 4.01 * 0.92),
        // A gradient of 2 leaves nothing but the smallest rate.
        (&[100.0, 140.0], 0.01),
    ] {
        near(after(&mut plain("original"), rtts_us), expected);
    }
}

#[test]
fn the_fifth_completion_without_a_rise_adds_five_increments() {
    let mut timely = plain("original");
    near(after(&mut timely, &[100.0; 4]), 4.04);
    near(after(&mut timely, &[100.0]), 4.09);
    near(after(&mut timely, &[99.0]), 4.14);
    // A rise by a tenth of the minimum ends the row.
    near(after(&mut timely, &[101.0]), 4.14 * 0.92);
    near(after(&mut timely, &[101.0]), 4.14 * 0.92 + 0.01);
}

/// Differences of 8 and 0 us with alpha = 1/4: the average is 2 and then 1.5 us of 20.
#[test]
fn the_gradient_is_a_moving_average() {
    let mut timely = plain("original");
    timely.settings.alpha = 0.25;
    near(after(&mut timely, &[100.0]), 4.01);
    near(after(&mut timely, &[108.0]), 4.01 * 0.92);
    near(after(&mut timely, &[108.0]), 4.01 * 0.92 * 0.94);
}

/// Zhu et al. 2016, section 4.3, with beta = 0.008 and a reference of 50 us.
#[test]
fn the_patched_rate_weighs_increment_and_error() {
    for (rtts_us, expected) in [
        // No gradient: half of each.
        (&[100.0][..], 0.005 + 4.0 * (1.0 - 0.008 * 0.5)),
        (&[50.0], 4.005),
        // A gradient of -1/4 only adds, one of 1/4 only decreases.
        (&[45.0, 40.0], 4.02),
        (
            &[105.0, 100.0],
            0.01 + 0.005 + 4.0 * (1.0 - 0.008 * 0.5 * 1.1),
        ),
        (
            &[100.0, 105.0],
            (0.005 + 4.0 * (1.0 - 0.008 * 0.5)) * (1.0 - 0.008 * 1.1),
        ),
        (&[1000.0], 4.0 * (1.0 - 0.008 * 0.5)),
    ] {
        near(after(&mut plain("patched"), rtts_us), expected);
    }
}

#[test]
fn the_rate_stays_between_its_bounds() {
    let mut timely = plain("original");
    for _ in 0..100 {
        after(&mut timely, &[10.0; 10]);
    }
    near(timely.rate / GBPS, 10.0);
    near(after(&mut timely, &[1e6; 30]), 0.01);
    let initial = Rate::from_bits_per_second(3_000_000_000);
    let parameters = |rate| {
        let mut parameters = Parameters::defaults(TimelyController::DESCRIPTION.parameters());
        assert!(parameters.set("initial_rate", Value::Rate(rate)));
        TimelyController::new(&parameters, stream(0)).rate
    };
    assert_eq!(parameters(initial), 3.0 * GBPS);
    assert_eq!(
        parameters(Rate::from_bits_per_second(u64::MAX)),
        10.0 * GBPS
    );
    let timely: TimelyController = default_controller();
    assert_eq!(timely.rate, 10.0 * GBPS);
}

/// 16 packets of 1000 bytes are a segment; the round-trip time is that of the last one.
#[test]
fn a_segment_completes_with_its_last_packet() {
    let mut timely = plain("original");
    let mut at = window(10.0, f64::INFINITY);
    let mut rates = Vec::new();
    for packet in 1..=50 {
        let mut seen = sample(if packet % 16 == 0 { 625e-6 } else { 100e-6 });
        seen.arrived = 1.0;
        timely.on_sample(&mut at, &seen, &Path::default());
        if packet % 16 == 0 {
            rates.push(timely.rate / GBPS);
        }
    }
    let mut expected = 4.0;
    for found in rates {
        expected *= 0.84;
        near(found, expected);
    }
    // An answer to a repeated packet tells no time; the completion waits for the next.
    let mut seen = sample(625e-6);
    seen.arrived = 14.0;
    seen.rtt = None;
    let before = timely.rate;
    timely.on_sample(&mut at, &seen, &Path::default());
    assert_eq!(timely.rate, before);
    seen.rtt = Some(625e-6);
    seen.arrived = 0.0;
    timely.on_sample(&mut at, &seen, &Path::default());
    near(timely.rate, 0.84 * before);
    assert_eq!((timely.bytes, at.cwnd), (0.0, 74.0));
    let pace = timely.pacing(&at, &Path::default()).unwrap();
    assert_eq!((pace.rate, pace.quantum), (timely.rate / 8000.0, 1.0));
}

/// Segments of 2500 bytes: the third packet completes one, and 500 bytes are left for the next.
#[test]
fn bytes_beyond_a_segment_count_for_the_next() {
    let mut timely = with(&[("segment", Value::Bytes(Bytes::new(2500)))]);
    let mut at = window(10.0, f64::INFINITY);
    let mut rates = Vec::new();
    for _ in 0..5 {
        timely.on_sample(&mut at, &sample(40e-6), &Path::default());
        rates.push((timely.rate / 1e7).round());
    }
    assert_eq!(rates, [400.0, 400.0, 401.0, 401.0, 402.0]);
}

#[test]
fn without_a_minimum_the_gradient_is_relative_to_the_shortest_round_trip() {
    let mut timely = with(&[("alpha", Value::Number(1.0))]);
    let mut at = window(10.0, f64::INFINITY);
    for (rtt_us, expected) in [(80.0, 4.01), (60.0, 4.02), (66.0, 4.02 * 0.92)] {
        let mut seen = sample(rtt_us / 1e6);
        seen.arrived = 16.0;
        timely.on_sample(&mut at, &seen, &Path::default());
        near(timely.rate / GBPS, expected);
    }
}

#[test]
fn losses_halve_the_rate_and_a_timeout_leaves_one_packet() {
    for (event, cwnd) in [
        (CongestionEvent::Loss, 10.0),
        (CongestionEvent::Timeout, 1.0),
    ] {
        let mut timely = plain("original");
        let mut at = window(10.0, f64::INFINITY);
        timely.window.adopt(&at);
        let before = timely.clone();
        timely.on_congestion_event(&mut at, event, Time::from_secs(1), &Path::default());
        assert_eq!((timely.rate, at.cwnd), (2.0 * GBPS, cwnd), "{event:?}");
        timely.on_undo(&before);
        let mut seen = sample(100e-6);
        seen.arrived = 0.0;
        timely.on_sample(&mut at, &seen, &Path::default());
        assert_eq!((timely.rate, at.cwnd), (4.0 * GBPS, 10.0), "{event:?}");
    }
}
