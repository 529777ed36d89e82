//! The behavior of BBR version 3 on a path that a test makes.

use super::*;
use crate::packet::tests::{sample, window};
use crate::registration::tests::{default_controller, stream};

/// A path of 1000 packets per second and 100 ms without queue, which holds `room` packets
/// and loses what is beyond, at the rate at which the flow sends.
struct Driven {
    bbr: Bbr3Controller,
    window: Window,
    now: Time,
    delivered: u64,
    lost: u64,
    room: f64,
    under_way: f64,
    modes: Vec<Mode>,
}

impl Driven {
    fn new(room: f64) -> Self {
        Self {
            bbr: default_controller(),
            window: window(10.0, f64::INFINITY),
            now: Time::from_secs(1),
            delivered: 0,
            lost: 0,
            room,
            under_way: 10.0,
            modes: vec![Mode::Startup],
        }
    }

    /// Acknowledges packets for `seconds`. In start-up and in Up the packets in flight grow until
    /// the window is full; otherwise they are a bandwidth-delay product at most.
    fn run(&mut self, seconds: f64) {
        let end = self.now + Time::from_secs_f64(seconds);
        while self.now < end {
            let under_way = match self.bbr.mode {
                Mode::Startup => self.under_way + 1.0,
                Mode::Up => self.under_way + 0.25,
                _ => 100.0,
            };
            self.under_way = self.window.cwnd.min(under_way);
            self.step(self.under_way);
        }
    }

    fn step(&mut self, under_way: f64) {
        let queued = (under_way.min(self.room) - 100.0).max(0.0);
        let rtt = 0.1 + queued / 1000.0;
        let rate = (under_way / rtt).min(1000.0);
        self.now += Time::from_secs_f64(1.0 / rate);
        self.delivered += 1;
        let share = ((under_way - self.room) / under_way).max(0.0);
        let lost = (share * under_way).ceil();
        self.lost += u64::from(lost > 0.0);
        let mut seen = sample(rtt);
        seen.now = self.now;
        seen.lost = f64::from(u8::from(lost > 0.0));
        seen.in_flight = under_way;
        seen.prior_in_flight = under_way;
        seen.delivered = self.delivered;
        seen.state = if lost > 0.0 {
            LossState::Recovery
        } else {
            LossState::Open
        };
        seen.limited = under_way >= self.window.cwnd.floor();
        seen.delivery = Some(Delivery {
            rate,
            delivered: under_way.min(self.room),
            interval: rtt,
            prior_delivered: self.delivered.saturating_sub(under_way as u64),
            app_limited: false,
            in_flight: under_way,
            lost,
        });
        if lost > 0.0 && self.bbr.state == LossState::Open {
            let path = Path::default();
            self.bbr
                .on_congestion_event(&mut self.window, CongestionEvent::Loss, self.now, &path);
        }
        let path = Path {
            smoothed_rtt: rtt,
            min_rtt: 0.1,
            ..Path::default()
        };
        self.bbr.on_sample(&mut self.window, &seen, &path);
        if self.modes.last() != Some(&self.bbr.mode) {
            self.modes.push(self.bbr.mode);
        }
    }
}

#[test]
fn start_up_ends_at_the_plateau_and_the_states_follow_each_other() {
    let mut driven = Driven::new(f64::INFINITY);
    driven.run(4.5);
    let expected = [
        Mode::Startup,
        Mode::Drain,
        // The flow passes through Down: less than a product is in flight.
        Mode::Cruise,
        Mode::Refill,
        Mode::Up,
        Mode::Down,
        Mode::Cruise,
    ];
    assert_eq!(driven.modes, expected);
    assert_eq!(driven.bbr.max_bw(), 1000.0);
    assert_eq!(driven.bbr.bounds.inflight_longterm, f64::INFINITY);
}

#[test]
fn gains_are_those_of_the_draft() {
    let mut driven = Driven::new(f64::INFINITY);
    let mut seen = Vec::new();
    for _ in 0..4500 {
        driven.run(1e-9);
        if driven.bbr.full_bw_reached {
            seen.push((driven.bbr.mode, driven.bbr.pacing_rate));
        }
    }
    let pace = |mode| {
        let of_mode = seen.iter().filter(|(m, _)| *m == mode);
        of_mode.map(|(_, rate)| *rate).next_back().unwrap()
    };
    for (mode, expected) in [
        (Mode::Drain, 495.0),
        (Mode::Down, 891.0),
        (Mode::Cruise, 990.0),
        (Mode::Up, 1237.5),
    ] {
        assert!((pace(mode) - expected).abs() < 1e-9, "{mode:?}");
    }
}

#[test]
fn losses_end_start_up_and_bound_what_is_under_way() {
    let mut driven = Driven::new(150.0);
    while driven.bbr.mode == Mode::Startup && driven.now < Time::from_secs(4) {
        driven.run(1e-9);
    }
    // Two products would fit into the window.
    assert!(driven.lost > 0 && driven.bbr.full_bw_reached);
    let bound = driven.bbr.bounds.inflight_longterm;
    assert!((100.0..=150.0).contains(&bound), "{bound}");
}

#[test]
fn a_probe_that_loses_lowers_the_bound_and_the_next_one_is_cautious() {
    let mut driven = Driven::new(f64::INFINITY);
    driven.run(2.0);
    driven.room = 130.0;
    while !driven.bbr.cycle.prev_probe_too_high {
        driven.run(1e-9);
    }
    assert_eq!(driven.bbr.mode, Mode::Down);
    let bound = driven.bbr.bounds.inflight_longterm;
    // 2 % beyond the room.
    assert!((130.0..=135.0).contains(&bound), "{bound}");
    assert!(!driven.bbr.cycle.bw_probe_samples, "one reaction per probe");
    while driven.bbr.mode != Mode::Cruise {
        driven.run(1e-9);
    }
    driven.run(1e-3);
    assert!(driven.window.cwnd <= 0.85 * bound + 1e-9);
    while driven.bbr.mode != Mode::Up {
        driven.run(1e-9);
    }
    // The bound grows only once it is in flight, and no further.
    let mut most: f64 = 0.0;
    while driven.bbr.mode == Mode::Up {
        most = most.max(driven.under_way);
        driven.run(1e-9);
    }
    assert!(
        (0.99 * bound..=bound + 1.0).contains(&driven.under_way),
        "{most} {bound}"
    );
    assert!(driven.bbr.cycle.stopped_risky_probe || driven.bbr.cycle.prev_probe_too_high);
}

#[test]
fn the_bound_grows_by_one_two_and_four_packets_in_successive_rounds() {
    let mut driven = Driven::new(f64::INFINITY);
    driven.run(2.0);
    driven.bbr.bounds.inflight_longterm = 90.0;
    while driven.bbr.mode != Mode::Up {
        driven.run(1e-9);
    }
    let start = driven.bbr.bounds.inflight_longterm;
    let mut grown = Vec::new();
    let mut round = driven.bbr.rounds.count;
    while grown.len() < 4 {
        driven.run(1e-9);
        if driven.bbr.rounds.count > round {
            round = driven.bbr.rounds.count;
            grown.push((driven.bbr.bounds.inflight_longterm - start).round());
        }
    }
    let steps: Vec<_> = grown.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(steps[1] > steps[0] && steps[2] > steps[1], "{grown:?}");
}

#[test]
fn losses_while_cruising_cut_to_seven_tenths_at_most_until_the_next_probe() {
    let mut driven = Driven::new(f64::INFINITY);
    driven.run(2.0);
    assert_eq!(driven.bbr.mode, Mode::Cruise);
    driven.room = 50.0;
    driven.run(0.25);
    let low = driven.bbr.bounds.inflight_shortterm;
    assert!((50.0..200.0).contains(&low), "{low}");
    assert!(driven.window.cwnd <= low);
    assert_eq!(driven.bbr.bounds.inflight_longterm, f64::INFINITY);
    driven.room = f64::INFINITY;
    while driven.bbr.mode != Mode::Refill {
        driven.run(1e-9);
    }
    assert_eq!(driven.bbr.bounds.inflight_shortterm, f64::INFINITY);
}

#[test]
fn every_five_seconds_half_a_product_is_under_way() {
    let mut driven = Driven::new(f64::INFINITY);
    driven.run(4.9);
    assert!(!driven.modes.contains(&Mode::ProbeRoundTrip));
    let mut least = f64::INFINITY;
    for _ in 0..2000 {
        driven.run(1e-9);
        least = least.min(driven.window.cwnd);
    }
    assert!((45.0..=55.0).contains(&least), "{least}");
    assert_eq!(driven.bbr.mode, Mode::Cruise);
    assert!(driven.window.cwnd > 150.0, "{}", driven.window.cwnd);
}

#[test]
fn probes_wait_two_to_three_seconds_or_63_rounds() {
    let mut driven = Driven::new(f64::INFINITY);
    let mut waits = Vec::new();
    driven.run(2.0);
    for _ in 0..20 {
        let mut at = sample(0.1);
        at.now = driven.now;
        driven.bbr.go_down(at.now, at.delivered);
        waits.push(driven.bbr.cycle.bw_probe_wait.as_secs_f64());
        driven.run(0.01);
    }
    assert!(waits.iter().all(|wait| (2.0..3.0).contains(wait)));
    let (least, most) = waits
        .iter()
        .fold((3.0, 0.0), |(l, m): (f64, f64), w| (l.min(*w), m.max(*w)));
    assert!(most - least > 0.3, "{waits:?}");
    driven.bbr.cycle.rounds_since_bw_probe = 63;
    let mut at = sample(0.1);
    at.now = driven.bbr.cycle.stamp;
    assert!(driven.bbr.probe_is_due(&at, driven.window.cwnd));
    driven.bbr.cycle.rounds_since_bw_probe = 62;
    assert!(!driven.bbr.probe_is_due(&at, driven.window.cwnd));
    // A small flow does not wait longer than Reno's would.
    assert!(driven.bbr.probe_is_due(&at, 40.0));
}

#[test]
fn flows_of_one_instant_wait_differently_for_their_probes() {
    let drawn = |flow| {
        let parameters = Parameters::defaults(Bbr3Controller::DESCRIPTION.parameters());
        let mut bbr = Bbr3Controller::new(&parameters, stream(flow));
        bbr.go_down(Time::from_secs(1), 1);
        (bbr.cycle.bw_probe_wait, bbr.cycle.rounds_since_bw_probe)
    };
    let mut all: Vec<_> = (0..400).map(drawn).collect();
    let odd = all.iter().filter(|(_, rounds)| *rounds == 1).count();
    assert!(all.iter().all(|(_, rounds)| *rounds < 2) && odd.abs_diff(200) < 50);
    let mean = all.iter().map(|(wait, _)| wait.as_secs_f64()).sum::<f64>() / 400.0;
    // Uniform on [2, 3), to five standard errors.
    assert!((mean - 2.5).abs() < 5.0 * 0.2887 / 20.0, "{mean}");
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 400);
    assert_eq!(drawn(7), drawn(7));
}

#[test]
fn a_timeout_restarts_from_one_packet_and_the_window_returns() {
    let mut driven = Driven::new(f64::INFINITY);
    driven.run(2.0);
    let before = driven.window.cwnd;
    let (now, path) = (driven.now, Path::default());
    driven
        .bbr
        .on_congestion_event(&mut driven.window, CongestionEvent::Timeout, now, &path);
    assert_eq!(driven.window.cwnd, 1.0);
    driven.step(1.0);
    assert!(driven.window.cwnd >= before - 1.0);
}

/// Sections 5.6.2 and 5.6.4: the pace is a hundredth below the gain times the bandwidth, and falls
/// only once the pipe is full; the window is the gain times the product, what is acknowledged at
/// once, and room for bursts.
#[test]
fn pace_and_window_are_what_the_draft_computes() {
    let mut driven = Driven::new(f64::INFINITY);
    driven.run(2.0);
    for mode in [
        Mode::Startup,
        Mode::Drain,
        Mode::Down,
        Mode::Cruise,
        Mode::Refill,
        Mode::Up,
    ] {
        let bbr = &mut driven.bbr;
        bbr.mode = mode;
        let (pacing_gain, gain) = mode.gains();
        for full in [true, false] {
            bbr.full_bw_reached = full;
            for before in [1.0, 1e9] {
                bbr.pacing_rate = before;
                bbr.set_pace(&driven.window, &Path::default());
                let rate = 0.99 * pacing_gain * 1000.0;
                let expected = if full { rate } else { rate.max(before) };
                assert!(
                    (bbr.pacing_rate / expected - 1.0).abs() < 1e-12,
                    "{mode:?} {full}"
                );
            }
        }
        bbr.full_bw_reached = true;
        bbr.pacing_rate = 1000.0;
        // A burst of 30 packets was acknowledged at once.
        bbr.aggregation = Aggregation::default();
        let burst = Sample {
            arrived: 30.0,
            delivery: Some(Delivery::default()),
            ..sample(0.1)
        };
        let expectation = Expectation {
            bandwidth: 1000.0,
            window: 1000.0,
            rounds: 10,
            round: false,
        };
        bbr.aggregation.update(&burst, expectation);
        let mut window = window(1e6, f64::INFINITY);
        bbr.set_window(&mut window, &burst);
        let probes = if mode == Mode::Up { 2.0 } else { 0.0 };
        assert!(
            (window.cwnd - (100.0 * gain + 30.0 + probes)).abs() < 1e-9,
            "{mode:?} {}",
            window.cwnd
        );
    }
}

#[test]
fn a_small_window_holds_three_bursts_and_four_packets() {
    let mut bbr = Driven::new(f64::INFINITY).bbr;
    for (rate, packets, expected) in [
        (100.0, 1.0, 6.0),
        (100.0, 7.0, 7.0),
        (10_000.0, 7.0, 30.0),
        (10_000.0, 31.0, 31.0),
    ] {
        bbr.pacing_rate = rate;
        assert_eq!(bbr.with_budget(packets), expected, "{rate} {packets}");
        bbr.mode = Mode::Up;
        assert_eq!(bbr.with_budget(packets), expected + 2.0, "{rate} {packets}");
        bbr.mode = Mode::Startup;
    }
}
