//! BBR, version 1: what it does sample by sample.

use super::*;
use crate::packet::Delivery;
use crate::packet::tests::{sample, window};
use crate::registration::tests::{default_controller, stream};

/// A path of 1000 packets per second and 100 ms, acknowledged packet by packet.
fn drive(bbr: &mut BbrController, window: &mut Window, from: u64, to: u64, rtt: f64) {
    drive_lossy(bbr, window, (from, to), rtt, u64::MAX);
}

/// Does the same, and loses one packet in every `between`.
fn drive_lossy(
    bbr: &mut BbrController,
    window: &mut Window,
    (from, to): (u64, u64),
    rtt: f64,
    between: u64,
) {
    let path = Path {
        smoothed_rtt: rtt,
        min_rtt: rtt,
        ..Path::default()
    };
    for k in from..to {
        let sample = Sample {
            now: Time::from_millis(100 + k),
            lost: f64::from(u8::from(k % between == 0)),
            acknowledged: k,
            next: k + 100,
            prior_in_flight: 140.0,
            in_flight: window.cwnd.min(100.0),
            delivered: k,
            losses: k / between,
            delivery: Some(Delivery {
                rate: 1000.0,
                delivered: 100.0,
                interval: 0.1,
                prior_delivered: k.saturating_sub(100),
                app_limited: false,
                in_flight: 100.0,
                lost: 0.0,
            }),
            ..sample(rtt)
        };
        bbr.on_sample(window, &sample, &path);
    }
}

fn start() -> (BbrController, Window) {
    let window = window(10.0, f64::INFINITY);
    (default_controller(), window)
}

#[test]
fn start_up_ends_after_three_rounds_without_growth() {
    let (mut bbr, mut window) = start();
    drive(&mut bbr, &mut window, 1, 250, 0.1);
    assert_eq!(bbr.mode, Mode::Startup);
    drive(&mut bbr, &mut window, 250, 700, 0.1);
    assert_eq!(bbr.mode, Mode::ProbeBandwidth);
    assert_eq!(bbr.max_bw.get(), 1000.0);
}

/// In start-up the rate of sending doubles each round, as 2/ln 2 times the rate of delivery does
/// (BBR 2016; the pace is a hundredth less, `bbr_pacing_margin_percent`).
#[test]
fn start_up_sends_two_over_ln_two_times_the_bandwidth() {
    let (mut bbr, mut window) = start();
    drive(&mut bbr, &mut window, 1, 150, 0.1);
    assert_eq!(bbr.mode, Mode::Startup);
    let gain = bbr.pacing_rate / (0.99 * bbr.max_bw.get());
    assert!((gain - 2.0 / std::f64::consts::LN_2).abs() < 1e-3, "{gain}");
}

/// Rounds of a hundred packets at this rate of delivery, after many at 1000 packets per second; the
/// bandwidth after each.
fn bandwidths(rate: f64, app_limited: bool, rounds: u64) -> Vec<f64> {
    let (mut bbr, mut window) = start();
    drive(&mut bbr, &mut window, 1, 2001, 0.1);
    let path = Path::default();
    (0..rounds)
        .map(|round| {
            for k in 2001 + 100 * round..2101 + 100 * round {
                let sample = Sample {
                    now: Time::from_millis(100 + k),
                    prior_in_flight: 100.0,
                    in_flight: 100.0,
                    delivered: k,
                    delivery: Some(Delivery {
                        rate,
                        prior_delivered: k - 100,
                        app_limited,
                        ..Delivery::default()
                    }),
                    ..sample(0.1)
                };
                bbr.on_sample(&mut window, &sample, &path);
            }
            bbr.max_bw.get()
        })
        .collect()
}

/// The bandwidth is the largest of ten rounds, and what the application held back lowers it never.
#[test]
fn a_bandwidth_is_remembered_for_ten_rounds() {
    let fallen = bandwidths(500.0, false, 15);
    let kept = fallen
        .iter()
        .take_while(|bandwidth| **bandwidth == 1000.0)
        .count();
    assert!(
        (9..=10).contains(&kept) && fallen[14] == 500.0,
        "{fallen:?}"
    );
    assert!(
        bandwidths(500.0, true, 15)
            .iter()
            .all(|bandwidth| *bandwidth == 1000.0)
    );
    assert!(
        bandwidths(2000.0, true, 1) == [2000.0],
        "held back and still faster"
    );
}

/// `bbr_ack_aggregation_cwnd`: the window holds what acknowledgments that come together leave
/// unsent.
#[test]
fn the_window_has_room_for_what_is_acknowledged_at_once() {
    let window_of = |together: u64| {
        let (mut bbr, mut window) = start();
        let path = Path {
            smoothed_rtt: 0.1,
            min_rtt: 0.1,
            ..Path::default()
        };
        for k in (together..4000).step_by(together as usize) {
            let sample = Sample {
                now: Time::from_millis(100 + k),
                arrived: together as f64,
                acknowledged: k,
                next: k + 100,
                prior_in_flight: 140.0,
                in_flight: 100.0,
                delivered: k,
                delivery: Some(Delivery {
                    rate: 1000.0,
                    prior_delivered: k.saturating_sub(100),
                    ..Delivery::default()
                }),
                ..sample(0.1)
            };
            bbr.on_sample(&mut window, &sample, &path);
        }
        window.cwnd
    };
    let more = window_of(50) - window_of(1);
    assert!((40.0..=55.0).contains(&more), "{more}");
}

/// The second packet arrives when 0.4 packets are expected: `bbr_update_ack_aggregation` expects
/// none.
#[test]
fn aggregation_is_counted_in_whole_packets() {
    let (mut bbr, mut window) = start();
    for (us, delivered) in [(100_000, 1), (100_400, 2)] {
        let sample = Sample {
            now: Time::from_micros(us),
            arrived: 1.0,
            delivered,
            delivery: Some(Delivery {
                rate: 1000.0,
                ..Delivery::default()
            }),
            ..sample(0.1)
        };
        bbr.on_sample(&mut window, &sample, &Path::default());
    }
    assert_eq!(bbr.aggregation.most(), 2.0);
}

#[test]
fn the_window_settles_at_two_products_and_the_pace_cycles_around_the_bandwidth() {
    let (mut bbr, mut window) = start();
    drive(&mut bbr, &mut window, 1, 700, 0.1);
    let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
    for k in 700..1700 {
        drive(&mut bbr, &mut window, k, k + 1, 0.1);
        least = least.min(bbr.pacing_rate);
        most = most.max(bbr.pacing_rate);
    }
    assert!((200.0..220.0).contains(&window.cwnd), "{}", window.cwnd);
    assert!((least - 742.5).abs() < 1e-6 && (most - 1237.5).abs() < 1e-6);
}

#[test]
fn a_fifth_of_the_packets_lost_looks_like_a_policer_and_ends_the_probing() {
    let (mut bbr, mut window) = start();
    drive(&mut bbr, &mut window, 1, 2000, 0.1);
    drive_lossy(&mut bbr, &mut window, (2000, 3000), 0.1, 4);
    assert_eq!(bbr.policer.rate().map(f64::round), Some(1000.0));
    let pace = 990.0;
    for k in 3000..4000 {
        drive(&mut bbr, &mut window, k, k + 1, 0.1);
        assert!(
            (bbr.pacing_rate / pace - 1.0).abs() < 0.01,
            "{}",
            bbr.pacing_rate
        );
    }
    // After 48 rounds it probes again.
    drive(&mut bbr, &mut window, 4000, 8000, 0.1);
    assert_eq!(bbr.policer.rate(), None);
}

/// `bbr_reset_probe_bw_mode`: any phase but the one that drains what the first has put there.
#[test]
fn flows_of_one_instant_begin_to_probe_in_different_phases() {
    let now = Time::from_secs(3);
    let phase = |flow| {
        let parameters = Parameters::defaults(BbrController::DESCRIPTION.parameters());
        let mut bbr = BbrController::new(&parameters, stream(flow));
        bbr.probe_bandwidth(now);
        bbr.cycle_idx
    };
    let mut flows = [0_u32; CYCLE.len()];
    for flow in 0..700 {
        assert_eq!(phase(flow), phase(flow));
        flows[phase(flow)] += 1;
    }
    assert_eq!(flows[1], 0);
    // A hundred each, to five standard errors.
    let others = flows.iter().filter(|count| **count > 0);
    assert!(others.clone().count() == 7 && others.clone().all(|n| n.abs_diff(100) < 47));
}

#[test]
fn bursts_are_a_millisecond_long_and_slow_packets_leave_singly() {
    let of = |payload| Segmentation::of(Bytes::new(payload));
    let ethernet = |rate| quantum(of(1448), rate);
    assert_eq!([ethernet(50.0), ethernet(200.0)], [1.0, 2.0]);
    assert_eq!([ethernet(5200.0), ethernet(1e300)], [5.0, 45.0]);
    // 1.2 Mb/s are fewer of larger packets, and tiny ones are 127 at most.
    assert_eq!(
        [quantum(of(8948), 16.0), quantum(of(8948), 17.0)],
        [1.0, 2.0]
    );
    assert_eq!(
        [quantum(of(8948), 1e300), quantum(of(88), 1e300)],
        [7.0, 127.0]
    );
}

#[test]
fn after_ten_seconds_it_drains_to_four_packets() {
    let (mut bbr, mut window) = start();
    drive(&mut bbr, &mut window, 1, 9000, 0.1);
    assert!(window.cwnd > 100.0);
    drive(&mut bbr, &mut window, 9000, 10_200, 0.1);
    assert_eq!(window.cwnd, MIN_WINDOW);
    drive(&mut bbr, &mut window, 10_200, 11_000, 0.1);
    assert!(window.cwnd > 100.0, "{}", window.cwnd);
}

/// At short round trips `PROBE_RTT` lasts for more rounds than the bandwidth filter covers.
#[test]
fn a_probe_of_the_round_trip_forgets_no_bandwidth() {
    let (mut bbr, mut window) = start();
    drive(&mut bbr, &mut window, 1, 10_010, 0.1);
    assert_eq!(bbr.mode, Mode::ProbeRoundTrip);
    let probe = |k: u64| Sample {
        now: Time::from_millis(10_110 + k),
        prior_in_flight: 4.0,
        in_flight: 4.0,
        delivered: 10_010 + k,
        delivery: Some(Delivery {
            rate: 40.0,
            prior_delivered: 10_006 + k,
            ..Delivery::default()
        }),
        ..sample(0.1)
    };
    let path = Path::default();
    let mut k = 0;
    while bbr.mode == Mode::ProbeRoundTrip {
        bbr.on_sample(&mut window, &probe(k), &path);
        k += 1;
    }
    // Dozens of rounds of four packets.
    assert!(k > 150 && bbr.mode == Mode::ProbeBandwidth, "{k}");
    assert_eq!(bbr.max_bw.get(), 1000.0);
    // Packets that leave after `PROBE_RTT` count again.
    for k in k..k + 100 {
        bbr.on_sample(&mut window, &probe(k), &path);
    }
    assert_eq!(bbr.max_bw.get(), 40.0);
}

#[test]
fn the_handshake_s_round_trip_is_the_first_one() {
    let (mut bbr, mut window) = start();
    let path = Path {
        min_rtt: 0.08,
        smoothed_rtt: 0.09,
        ..Path::default()
    };
    bbr.on_sample(&mut window, &sample(0.1), &path);
    assert_eq!(bbr.min_rtt, 0.08);
    bbr.on_sample(&mut window, &sample(0.07), &path);
    assert_eq!(bbr.min_rtt, 0.07);
}

/// `bbr_set_cwnd_to_recover_or_restore`: in the first round of recovery the window is the packets
/// in flight plus the packets that arrived. One packet leaves for each arrival, and losses lower
/// the window no further.
#[test]
fn packets_are_conserved_in_the_first_round_of_recovery() {
    let (mut bbr, mut window) = start();
    drive(&mut bbr, &mut window, 1, 2000, 0.1);
    let before = window.cwnd;
    let mut seen = Sample {
        now: Time::from_secs(3),
        lost: 1.0,
        arrived: 2.0,
        in_flight: 90.0,
        acknowledged: 2000,
        next: 2100,
        state: LossState::Recovery,
        ..sample(0.1)
    };
    assert!(bbr.follow_losses(&mut window, &seen));
    assert_eq!(window.cwnd, 92.0);
    // More packets arrive than were lost: the window follows upwards, and not down to the flight.
    for (arrived, lost, in_flight, expected) in [
        (3.0, 0.0, 91.0, 94.0),
        (1.0, 1.0, 80.0, 93.0),
        (4.0, 5.0, 86.0, 90.0),
    ] {
        (seen.arrived, seen.lost, seen.in_flight) = (arrived, lost, in_flight);
        assert!(bbr.follow_losses(&mut window, &seen));
        assert_eq!(window.cwnd, expected, "{arrived} {lost} {in_flight}");
    }
    // Recovery is over: the window that was saved, not conserved any more.
    bbr.save_window(before);
    (seen.state, seen.lost) = (LossState::Open, 0.0);
    assert!(!bbr.follow_losses(&mut window, &seen));
    assert!(window.cwnd >= before);
}

#[test]
fn a_loss_leaves_the_estimate_alone_and_the_window_returns() {
    let (mut bbr, mut window) = start();
    drive(&mut bbr, &mut window, 1, 2000, 0.1);
    let before = window.cwnd;
    bbr.on_congestion_event(
        &mut window,
        CongestionEvent::Loss,
        Time::from_secs(2),
        &Path::default(),
    );
    assert_eq!(window.cwnd, before);
    bbr.on_congestion_event(
        &mut window,
        CongestionEvent::Timeout,
        Time::from_secs(2),
        &Path::default(),
    );
    assert_eq!(window.cwnd, 1.0);
    drive(&mut bbr, &mut window, 2000, 2002, 0.1);
    assert!(window.cwnd >= before);
}

/// A flow that knows its path, 1000 packets per second and 100 ms, in this phase of PROBE_BW.
fn in_phase(phase: usize) -> BbrController {
    let (mut bbr, mut window) = start();
    drive(&mut bbr, &mut window, 1, 700, 0.1);
    bbr.mode = Mode::ProbeBandwidth;
    bbr.cycle_idx = phase;
    bbr.update_gains();
    bbr
}

/// `bbr_quantization_budget`: three bursts more, an even number of packets, and two more while it
/// probes.
#[test]
fn the_window_has_room_for_three_bursts_and_is_even() {
    for rate in [100.0, 5e3, 5e5] {
        for product in [4.0, 100.0, 101.0, 200.0] {
            for phase in 0..8 {
                let mut bbr = in_phase(phase);
                bbr.pacing_rate = rate;
                let bare = product + 3.0 * bbr.quantum();
                let probes = if phase == 0 { 2.0 } else { 0.0 };
                let room = bbr.with_bursts(product) - probes - bare;
                assert!(
                    (0.0..2.0).contains(&room),
                    "{rate} {product} {phase} {room}"
                );
                assert_eq!(bbr.with_bursts(product) % 2.0, 0.0);
                bbr.mode = Mode::Startup;
                assert_eq!(bbr.with_bursts(product), bare + room);
            }
        }
    }
}

/// `bbr_is_next_cycle_phase`: a phase lasts a round trip. The phase that probes goes on until its
/// target is in flight or a packet is lost. The phase that drains ends as soon as at most one
/// bandwidth-delay product is in flight.
#[test]
fn phases_end_as_in_the_kernel() {
    for phase in 0..8 {
        for (elapsed, long) in [(99, false), (100, false), (101, true)] {
            for lost in [0.0, 1.0] {
                for share in [0.5, 0.99, 1.01, 1.24, 1.26, 2.0] {
                    let mut bbr = in_phase(phase);
                    let gain = bbr.pacing_gain;
                    let of_product = |gain: f64| bbr.with_bursts((gain * 100.0_f64).ceil());
                    // The estimate of the packets in the network when the next packet leaves: one
                    // burst more where the phase probes, less the packets that arrive while pacing
                    // holds packets back.
                    let burst = if gain > 1.0 { bbr.quantum() } else { 0.0 };
                    let enough = share >= 1.25;
                    let few = share <= 1.0;
                    let bound = of_product(if gain > 1.0 { 1.25 } else { 1.0 });
                    let wanted = share / if gain > 1.0 { 1.25 } else { 1.0 } * bound;
                    let seen = Sample {
                        now: bbr.cycle_stamp.saturating_add(Time::from_millis(elapsed)),
                        prior_in_flight: wanted - burst + 1000.0 * 0.01,
                        held: 0.01,
                        lost,
                        ..sample(0.1)
                    };
                    let expected = match gain {
                        gain if gain > 1.0 => long && (lost > 0.0 || enough),
                        gain if gain < 1.0 => long || few,
                        _ => long,
                    };
                    bbr.update_phase(&seen);
                    let next = if expected { (phase + 1) % 8 } else { phase };
                    assert_eq!(bbr.cycle_idx, next, "{phase} {elapsed} {lost} {share}");
                    assert_eq!(expected, bbr.cycle_stamp == seen.now);
                }
            }
        }
    }
}

/// `bbr_reset_probe_bw_mode`: any phase but the one that drains, each of the seven about as often.
#[test]
fn probing_begins_in_any_phase_but_the_second() {
    let mut bbr = in_phase(0);
    let mut begun = [0; 8];
    for _ in 0..7000 {
        bbr.probe_bandwidth(Time::from_secs(9));
        begun[bbr.cycle_idx] += 1;
    }
    assert_eq!(begun[1], 0);
    let others = begun.iter().enumerate().filter(|(phase, _)| *phase != 1);
    assert!(
        others.clone().all(|(_, count)| (850..1150).contains(count)),
        "{begun:?}"
    );
    assert_eq!(others.map(|(_, count)| count).sum::<i32>(), 7000);
}
