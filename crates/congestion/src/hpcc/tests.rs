//! Algorithm 1 of the paper line by line, and the deviations that the module states.

use forebay_units::Rate;

use super::*;
use crate::packet::tests::{sample, window};
use crate::registration::tests::{default_controller, stream};

/// Base round trip, microseconds; a link of 8 Gb/s sends 10 000 bytes in it.
const T: f64 = 10.0;

const PATH: Path = Path {
    smoothed_rtt: 1e-5,
    min_rtt: 1e-5,
    max_rtt: 1e-5,
    flight: 10.0,
};

/// A statement of a link of 8 Gb/s: a byte per nanosecond.
fn link(queue: u64, sent: u64, time_us: f64) -> LinkTelemetry {
    LinkTelemetry {
        queue,
        sent,
        time: Time::from_secs_f64(1e-6 * time_us),
        rate: Rate::from_bits_per_second(8_000_000_000),
    }
}

/// A controller with packets of 1000 bytes, an increment of 100 bytes and T = 10 us.
fn with(parameters: &[(&'static str, Value)]) -> HpccController {
    let description = HpccController::DESCRIPTION;
    let mut all = Parameters::defaults(description.parameters());
    let own = [
        ("w_ai", Value::Bytes(Bytes::new(100))),
        ("base_rtt", Value::Time(Time::from_micros(10))),
    ];
    for &(name, value) in own.iter().chain(parameters) {
        assert!(all.set(name, value));
    }
    let mut made = HpccController::new(&all, stream(0));
    made.on_open(Bytes::new(1000));
    made
}

/// The window in bytes after an acknowledgment of all below `acknowledged` with these statements;
/// `next` is sent next.
fn after(
    hpcc: &mut HpccController,
    links: &[LinkTelemetry],
    (acknowledged, next): (u64, u64),
) -> f64 {
    let mut seen = sample(1e-6 * T);
    (seen.acknowledged, seen.next) = (acknowledged, next);
    let mut at = window(hpcc.window.packets.clamp(1.0, 1e9), 2.0);
    hpcc.on_telemetry(links);
    hpcc.on_sample(&mut at, &seen, &PATH);
    assert_eq!(at.cwnd, hpcc.window.packets.max(1.0));
    1000.0 * hpcc.window.packets
}

/// A flow that has had its first acknowledgment, with a reference window of 8000 bytes, at a load
/// of `load`.
fn settled(load: f64) -> HpccController {
    let mut hpcc = with(&[]);
    after(&mut hpcc, &[link(0, 0, 0.0)], (1, 10));
    (hpcc.reference, hpcc.load) = (Some(8000.0), load);
    hpcc
}

fn close(found: f64, expected: f64) {
    assert!(
        (found - expected).abs() < 1e-6 * expected,
        "{found} {expected}"
    );
}

#[test]
fn the_first_acknowledgment_sets_the_initial_window() {
    let mut hpcc = with(&[]);
    assert_eq!(hpcc.pacing(&window(1.0, 2.0), &PATH), None);
    close(after(&mut hpcc, &[link(5000, 0, 0.0)], (1, 10)), 10_000.0);
    // W/T: a packet per microsecond.
    close(hpcc.pacing(&window(1.0, 2.0), &PATH).unwrap().rate, 1e6);
    let card = Value::Rate(Rate::from_bits_per_second(4_000_000_000));
    let mut hpcc = with(&[("line_rate", card)]);
    close(after(&mut hpcc, &[link(5000, 0, 0.0)], (1, 10)), 5000.0);
}

/// Lines 2 to 10, with an interval of T, so that the average is the newest value.
#[test]
fn the_load_is_the_rate_and_the_smaller_queue_of_the_most_loaded_link() {
    for (before, now, expected) in [
        // Half of the rate and no queue.
        (0, (0, 5000), 0.5),
        // The smaller of the queues, 2000 of 10 000 bytes.
        (2000, (7000, 10_000), 1.2),
        (7000, (2000, 10_000), 1.2),
        (7000, (0, 10_000), 1.0),
    ] {
        let (queue, sent) = now;
        // The other link has a fifth of its rate to send.
        let mut first = [link(0, 0, 0.0), link(before, 0, 3.0)];
        let mut second = [link(0, 2000, T), link(queue, sent, T + 3.0)];
        for _ in 0..2 {
            let mut hpcc = with(&[]);
            after(&mut hpcc, &first, (1, 10));
            after(&mut hpcc, &second, (2, 11));
            close(hpcc.load, expected);
            // The same with the links in the other order.
            first.reverse();
            second.reverse();
        }
    }
}

/// Lines 8 and 9: the weight is the interval of the link that was chosen, at most T.
#[test]
fn the_load_is_averaged_over_a_round_trip() {
    let mut hpcc = settled(0.9);
    // A quarter of T at twice the target of half the rate.
    after(&mut hpcc, &[link(0, 1250, 2.5)], (2, 11));
    close(hpcc.load, 0.75 * 0.9 + 0.25 * 0.5);
    let before = hpcc.load;
    after(&mut hpcc, &[link(0, 1250 + 30_000, 42.5)], (3, 12));
    assert!((hpcc.load - 0.75).abs() < 1e-9, "{before} {}", hpcc.load);
}

/// Lines 12 to 20.
#[test]
fn the_window_is_divided_by_the_excess_and_grows_below_the_target() {
    // Rate 8/10 without a queue: below eta.
    let mut hpcc = settled(0.8);
    let links = |sent: u64, time| [link(0, sent, time)];
    close(after(&mut hpcc, &links(8000, T), (2, 11)), 8100.0);
    // The full rate: 8000/(1/0.95) + 100.
    let mut hpcc = settled(0.8);
    close(after(&mut hpcc, &links(10_000, T), (2, 11)), 7700.0);
    // From eta on the window is divided, here by nearly one.
    let mut hpcc = settled(0.8);
    after(&mut hpcc, &links(9501, T), (11, 20));
    assert_eq!(hpcc.stage, 0.0);
}

/// Lines 21 to 26: between two updates each acknowledgment computes from the same reference.
#[test]
fn the_reference_changes_once_per_round_trip() {
    let mut hpcc = settled(1.0);
    // Packets below 10 were sent before the first statements.
    for (number, acknowledged) in (2..=10).enumerate() {
        let time = T * (number + 1) as f64;
        let links = [link(0, 8000 * (number as u64 + 1), time)];
        close(after(&mut hpcc, &links, (acknowledged, 18)), 8100.0);
        assert_eq!(hpcc.reference, Some(8000.0));
    }
    after(&mut hpcc, &[link(0, 80_000, 100.0)], (11, 19));
    assert_eq!((hpcc.reference, hpcc.last_update), (Some(8100.0), 19));
    after(&mut hpcc, &[link(0, 88_000, 110.0)], (19, 27));
    assert_eq!(hpcc.reference, Some(8100.0));
    after(&mut hpcc, &[link(0, 96_000, 120.0)], (20, 28));
    assert_eq!(hpcc.reference, Some(8200.0));
}

/// Line 12: after five additive increases the window jumps to the target.
#[test]
fn the_sixth_increase_is_multiplicative() {
    let mut hpcc = settled(0.5);
    let mut windows = Vec::new();
    for round in 1..=7_u64 {
        let links = [link(0, 5000 * round, T * round as f64)];
        let acknowledged = hpcc.last_update + 1;
        let found = after(&mut hpcc, &links, (acknowledged, acknowledged + 10));
        windows.push(found.round());
        // Far below the largest window.
        hpcc.reference = hpcc.reference.map(|_| 1000.0);
    }
    // 8000 + 100, then 1000 + 100, and 1000/(0.5/0.95) + 100 as the sixth.
    let expected = [8100.0, 1100.0, 1100.0, 1100.0, 1100.0, 2000.0, 1100.0];
    assert_eq!(windows, expected);
}

#[test]
fn the_window_is_at_most_the_initial_one() {
    let mut hpcc = settled(0.1);
    hpcc.stage = 5.0;
    let found = after(&mut hpcc, &[link(0, 1000, T)], (11, 20));
    close(found, 10_000.0);
    assert_eq!(hpcc.reference, Some(found));
}

/// However high the load, the increment remains. It is less than a packet: the engine's window is
/// one packet, and the rate is that of the increment.
#[test]
fn the_window_never_falls_below_the_increment() {
    let mut hpcc = settled(1.0);
    let mut found = 0.0;
    for round in 1..=60_u64 {
        let links = [link(90_000, 10_000 * round, T * round as f64)];
        let acknowledged = hpcc.last_update + 1;
        found = after(&mut hpcc, &links, (acknowledged, acknowledged + 10));
        assert!(found >= 100.0);
    }
    assert!(found < 120.0, "{found}");
    let pace = hpcc.pacing(&window(1.0, 2.0), &PATH).unwrap();
    close(pace.rate, found / 1000.0 / (1e-6 * T));
}

/// W_init (1 - eta)/N of section 3.3: 10 000 x 0.05 / 100.
#[test]
fn the_automatic_increment_shares_what_the_target_leaves() {
    let mut hpcc = default_controller::<HpccController>();
    hpcc.on_open(Bytes::new(1000));
    after(&mut hpcc, &[link(0, 0, 0.0)], (1, 10));
    hpcc.reference = Some(1000.0);
    close(after(&mut hpcc, &[link(0, 1000, T)], (2, 11)), 1005.0);
}

#[test]
fn without_a_base_the_shortest_round_trip_counts() {
    let mut hpcc = default_controller::<HpccController>();
    hpcc.on_open(Bytes::new(1000));
    for (rtt_us, most) in [(30.0, 30_000.0), (20.0, 20_000.0), (25.0, 20_000.0)] {
        let mut seen = sample(1e-6 * rtt_us);
        seen.acknowledged = 1;
        let mut at = window(10.0, 2.0);
        hpcc.on_telemetry(&[link(0, 0, rtt_us)]);
        hpcc.on_sample(&mut at, &seen, &PATH);
        close(hpcc.initial(hpcc.base_rtt().unwrap()), most);
        assert!(1000.0 * hpcc.window.packets <= most + 1e-6);
    }
}

#[test]
fn another_number_of_links_starts_a_new_measurement() {
    let mut hpcc = settled(0.7);
    let both = [link(0, 8000, T), link(0, 0, T)];
    close(after(&mut hpcc, &both, (11, 20)), 8000.0);
    close(hpcc.load, 0.7);
    let both = [link(0, 10_000, 2.0 * T), link(0, 10_000, 2.0 * T)];
    after(&mut hpcc, &both, (12, 21));
    close(hpcc.load, 1.0);
}

#[test]
fn an_acknowledgment_without_statements_changes_nothing() {
    let mut hpcc = settled(1.2);
    close(after(&mut hpcc, &[link(0, 8000, T)], (2, 11)), 8100.0);
    close(after(&mut hpcc, &[], (30, 40)), 8100.0);
    // Statements of the same instant, too.
    close(after(&mut hpcc, &[link(0, 8000, T)], (30, 40)), 8000.0);
    assert_eq!((hpcc.reference, hpcc.stage), (Some(8000.0), 0.0));
}

#[test]
fn a_loss_changes_nothing_and_a_timeout_leaves_one_packet_until_the_next_acknowledgment() {
    let mut hpcc = settled(0.8);
    let mut at = window(10.0, 2.0);
    let now = Time::from_micros(20);
    for event in [CongestionEvent::Loss, CongestionEvent::Mark] {
        hpcc.on_congestion_event(&mut at, event, now, &PATH);
        assert_eq!(at.cwnd, 10.0);
    }
    let before = hpcc.clone();
    hpcc.on_congestion_event(&mut at, CongestionEvent::Timeout, now, &PATH);
    assert_eq!(at.cwnd, 1.0);
    let mut spurious = hpcc.clone();
    spurious.on_undo(&before);
    assert_eq!(spurious.window.packets, 10.0);
    close(after(&mut hpcc, &[link(0, 8000, T)], (2, 11)), 8100.0);
}
