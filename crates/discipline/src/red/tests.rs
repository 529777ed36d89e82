//! Tests of RED against its papers: the curve, the average, the spacing and the adaptation.

use super::*;
use crate::admission::testing::found;
use crate::packet::testing::{packet, with_ecn};
use crate::port::testing::{port, setting};
use forebay_units::Bytes;

fn red(changes: &[(&str, Value)]) -> Red {
    let mut parameters = Parameters::defaults(Red::DESCRIPTION.parameters);
    for (name, value) in changes {
        assert!(parameters.set(name, *value), "{name}");
    }
    Red::new(&parameters, &setting(Limit::Packets(100)))
}

fn fixed(changes: &[(&str, Value)]) -> Red {
    let mut all = vec![
        ("min", Value::Threshold(Threshold::Packets(20.0))),
        ("max", Value::Threshold(Threshold::Packets(60.0))),
        ("adaptive", Value::Switch(false)),
        ("weight", Value::Number(0.002)),
    ];
    all.extend_from_slice(changes);
    red(&all)
}

/// ns-2.35: 80000 bits divided by the link's rate in bits/s, whatever the packets, and at most
/// 0.01.
#[test]
fn the_smallest_probability_is_one_over_what_a_link_sends_in_100_ms_in_packets_of_1000_bytes() {
    let parameters = Parameters::defaults(Red::DESCRIPTION.parameters);
    for (bits_per_second, bottom) in [(50e6, 0.0016), (1e9, 8e-5), (1e6, 0.01)] {
        let curve = DropCurve::with_levels(&parameters, bits_per_second / 8.0, |_| 10.0);
        assert_eq!(curve.range, Some((bottom, 0.5)));
    }
}

#[test]
fn the_average_is_the_geometric_sum() {
    let (mut red, mut port) = (fixed(&[]), port());
    for _ in 0..1000 {
        red.admit(&packet(0, 0, 1000), &found(10), &mut port);
    }
    // The average is 10 (1 - (1 - w)^n).
    let expected = 10.0 * (1.0 - libm::pow(0.998, 1000.0));
    assert!(
        (red.average / expected - 1.0).abs() < 1e-9,
        "{}",
        red.average
    );
}

#[test]
fn an_idle_link_ages_the_average_by_the_packets_it_could_have_sent() {
    let (mut red, mut port) = (fixed(&[]), port());
    red.average = 50.0;
    port.now = Time::from_secs(1);
    let arrival = Arrival {
        idle_since: Some(Time::from_millis(500)),
        empty_since: Some(Time::from_millis(500)),
        ..found(0)
    };
    red.admit(&packet(0, 0, 1000), &arrival, &mut port);
    // The average decays over 500 packets of a millisecond each and this arrival.
    let expected = 50.0 * libm::pow(0.998, 501.0);
    assert!(
        (red.average / expected - 1.0).abs() < 1e-9,
        "{}",
        red.average
    );
}

/// 1993 paper, figure 2: an average equal to `min` counts as above it. The first packet that finds
/// it so is accepted; the next one is no longer the first.
#[test]
fn the_packet_at_the_lower_threshold_begins_the_count() {
    for (first, second) in [(19, Verdict::Accept), (20, Verdict::Drop)] {
        let all_at_once = [
            ("weight", Value::Number(1.0)),
            ("max_p", Value::Number(1.0)),
        ];
        let (mut red, mut port) = (fixed(&all_at_once), port());
        let mut admit = |waiting| red.admit(&packet(0, 0, 1000), &found(waiting), &mut port);
        assert_eq!(admit(first), Verdict::Accept);
        assert_eq!(admit(59), second);
    }
}

#[test]
fn the_gentle_curve_has_its_two_slopes() {
    let curve = fixed(&[]).curve;
    for (average, p) in [
        (19.9, 0.0),
        (20.0, 0.0),
        (40.0, 0.05),
        (60.0, 0.1),
        (90.0, 0.55),
        (120.0, 1.0),
        (500.0, 1.0),
    ] {
        assert!((curve.probability(average) - p).abs() < 1e-12, "{average}");
    }
    let abrupt = fixed(&[("gentle", Value::Switch(false))]).curve;
    assert_eq!(abrupt.probability(60.0), 1.0);
}

/// The gaps between drops at a constant average of 40, where p = 0.05.
fn gaps(wait: bool) -> Vec<u32> {
    let mut red = fixed(&[
        ("wait", Value::Switch(wait)),
        ("weight", Value::Number(1e-12)),
    ]);
    red.average = 40.0;
    let mut port = port();
    let (mut gaps, mut gap) = (Vec::new(), 0);
    for _ in 0..400_000 {
        gap += 1;
        if red.admit(&packet(0, 0, 1000), &found(40), &mut port) == Verdict::Drop {
            gaps.push(std::mem::take(&mut gap));
        }
    }
    gaps
}

#[test]
fn drops_are_spread_uniformly() {
    // The gaps are 1 to 1/p - 1 arrivals, or 1/p to 2/p - 1 with `wait`; p = 0.05. The standard
    // error of the mean is 5.8 / sqrt(10^4).
    for (wait, least, most, mean) in [(false, 1, 19, 10.0), (true, 20, 39, 29.5)] {
        let gaps = gaps(wait);
        let gaps = &gaps[1..];
        let ours = gaps.iter().sum::<u32>() as f64 / gaps.len() as f64;
        assert!((ours - mean).abs() < 0.25, "{wait} {ours}");
        assert!(gaps.iter().all(|&g| g >= least && g <= most));
    }
}

#[test]
fn capable_packets_are_marked_until_the_probability_is_one() {
    let mut red = fixed(&[("weight", Value::Number(1.0))]);
    let mut port = port();
    let capable = with_ecn(Ecn::Classic, 0);
    let verdicts: Vec<Verdict> = (0..1000)
        .map(|_| red.admit(&capable, &found(50), &mut port))
        .collect();
    assert!(verdicts.contains(&Verdict::Mark));
    assert!(!verdicts.contains(&Verdict::Drop));
    assert_eq!(red.admit(&capable, &found(130), &mut port), Verdict::Drop);
}

#[test]
fn the_largest_probability_follows_the_average() {
    let changes = [
        ("adaptive", Value::Switch(true)),
        ("weight", Value::Number(1.0)),
    ];
    let mut red = fixed(&changes);
    let mut port = port();
    let mut run = |red: &mut Red, packets: u64, seconds: u64| {
        for _ in 0..seconds * 100 {
            port.now += Time::from_millis(10);
            red.admit(&packet(0, 0, 1000), &found(packets), &mut port);
        }
    };
    // Below 0.4 of the way `max_p` is multiplied by 0.9 every 0.51 s (at the first arrival after
    // half a second).
    run(&mut red, 30, 10);
    assert!(
        (red.curve.max_p / (0.1 * libm::pow(0.9, 19.0)) - 1.0).abs() < 1e-9,
        "{}",
        red.curve.max_p
    );
    let low = red.curve.max_p;
    // In the middle it is unchanged. Above it grows by a quarter of itself, at most 0.01, up to the
    // top.
    run(&mut red, 40, 10);
    assert_eq!(red.curve.max_p, low);
    run(&mut red, 50, 2);
    assert!(red.curve.max_p > low * 1.9 && red.curve.max_p < low + 0.04);
    run(&mut red, 50, 60);
    assert!((0.5..0.51).contains(&red.curve.max_p));
}

/// Adaptive RED 2001, section 3: `max_p` is unchanged if the average is 0.4 to 0.6 of the way from
/// `min` (20) to `max` (60). That is 36 to 44.
#[test]
fn the_largest_probability_rests_in_the_middle_fifth() {
    let changes = [
        ("adaptive", Value::Switch(true)),
        ("weight", Value::Number(1.0)),
    ];
    for (level, moves) in [(35, -1.0), (36, 0.0), (44, 0.0), (45, 1.0)] {
        let (mut red, mut port) = (fixed(&changes), port());
        let before = red.curve.max_p;
        for _ in 0..100 {
            port.now += Time::from_millis(10);
            red.admit(&packet(0, 0, 1000), &found(level), &mut port);
        }
        let moved = red.curve.max_p - before;
        assert_eq!(
            if moved == 0.0 { 0.0 } else { moved.signum() },
            moves,
            "{level}"
        );
    }
}

#[test]
fn automatic_parameters_are_those_of_the_paper() {
    let red = red(&[]);
    // At 8 Mb/s and 1000 B, 5 ms are 5 packets. The thresholds are therefore 5 and 15.
    assert_eq!((red.curve.min, red.curve.max), (5.0, 15.0));
    assert!((red.weight - (1.0 - libm::exp(-1.0 / 1000.0))).abs() < 1e-12);
    let bottom = red.adaptation.map(|a| a.bottom);
    assert_eq!(bottom, Some(0.01));
}

#[test]
fn a_byte_limit_counts_bytes() {
    let mut parameters = Parameters::defaults(Red::DESCRIPTION.parameters);
    parameters.set(
        "min",
        Value::Threshold(Threshold::Bytes(Bytes::new(20_000))),
    );
    parameters.set("max", Value::Threshold(Threshold::Packets(60.0)));
    let red = Red::new(&parameters, &setting(Limit::Bytes(100_000)));
    assert_eq!((red.curve.min, red.curve.max), (20_000.0, 60_000.0));
}
