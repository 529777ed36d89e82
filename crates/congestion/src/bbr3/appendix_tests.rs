//! The test cases of the draft's appendix A, as tables of what an acknowledgment says and what must
//! follow. Left out are the cases that need a network (A.12, A.13, A.17), and spurious fast
//! recovery (A.18), which no sender of this project detects. A.5 is in `tests.rs`.

use super::*;
use crate::packet::LostPacket;
use crate::packet::tests::{sample, window};
use crate::registration::tests::default_controller;

/// One acknowledgment for the test cases of the draft's appendix A: a path of 1000 packets per
/// second and 100 ms.
#[derive(Clone, Copy)]
pub(super) struct AppendixAck {
    pub(super) rate: f64,
    pub(super) in_flight: f64,
    pub(super) lost: f64,
    pub(super) round: bool,
    pub(super) seconds: f64,
    pub(super) app_limited: bool,
}

pub(super) const CALM: AppendixAck = AppendixAck {
    rate: 1000.0,
    in_flight: 100.0,
    lost: 0.0,
    round: true,
    seconds: 0.1,
    app_limited: false,
};

/// A flow that a test drives by one acknowledgment at a time.
pub(super) struct Case {
    pub(super) bbr: Bbr3Controller,
    pub(super) window: Window,
    pub(super) now: Time,
    delivered: u64,
    /// Lost packet that the next acknowledgment shows.
    pub(super) lost_packet: Option<LostPacket>,
    /// Packets by which an acknowledgment lowers what is in flight.
    pub(super) acked_in_flight: f64,
}

impl Case {
    pub(super) fn new() -> Self {
        Self {
            bbr: default_controller(),
            window: window(10.0, f64::INFINITY),
            now: Time::from_secs(1),
            delivered: 0,
            lost_packet: None,
            acked_in_flight: 0.0,
        }
    }

    /// The application writes again after nothing was in flight.
    pub(super) fn pause(&mut self) {
        let idle = Idle {
            time: Time::from_secs(1),
            now: self.now,
            restart_window: None,
        };
        self.bbr.on_idle(&mut self.window, &idle);
    }

    /// A flow in this state behind a start-up that found the path, with a window of two products.
    pub(super) fn in_state(mode: Mode) -> Self {
        let mut case = Self::new();
        for rate in [500.0, 1000.0, 1000.0, 1000.0, 1000.0] {
            case.tell(AppendixAck { rate, ..CALM });
        }
        case.window.cwnd = 200.0;
        case.bbr.mode = mode;
        case.bbr.cycle.stamp = case.now;
        case.bbr.cycle.ack_phase = AckPhase::None;
        case
    }

    pub(super) fn tell(&mut self, told: AppendixAck) -> Mode {
        let state = if told.lost > 0.0 {
            LossState::Recovery
        } else {
            LossState::Open
        };
        self.tell_in(told, state)
    }

    pub(super) fn tell_in(&mut self, told: AppendixAck, state: LossState) -> Mode {
        self.now += Time::from_secs_f64(told.seconds);
        let prior = if told.round { self.delivered } else { 0 };
        let arrived = told.in_flight.min(10.0);
        self.delivered += arrived as u64;
        let mut seen = sample(0.1);
        seen.now = self.now;
        seen.arrived = arrived;
        seen.lost = told.lost;
        (seen.in_flight, seen.prior_in_flight) = (told.in_flight, told.in_flight);
        seen.delivered = self.delivered;
        seen.in_flight -= self.acked_in_flight;
        seen.lost_packet = self.lost_packet.take();
        seen.state = state;
        seen.delivery = Some(Delivery {
            rate: told.rate,
            delivered: told.in_flight - told.lost,
            interval: 0.1,
            prior_delivered: prior,
            app_limited: told.app_limited,
            in_flight: told.in_flight,
            lost: told.lost,
        });
        let path = Path {
            smoothed_rtt: 0.1,
            min_rtt: 0.1,
            ..Path::default()
        };
        self.bbr.on_sample(&mut self.window, &seen, &path);
        self.bbr.mode
    }
}

/// A.1: start-up ends with the third round in a row that grows by less than a quarter over the
/// baseline; growth of a quarter moves the baseline and restarts the count.
#[test]
fn appendix_a_1_start_up_ends_at_a_plateau() {
    let rounds = [
        (400.0, Mode::Startup),
        (500.0, Mode::Startup),
        (600.0, Mode::Startup),
        (620.0, Mode::Startup),
        (625.0, Mode::Startup),
        (780.0, Mode::Startup),
        (781.0, Mode::Startup),
        (700.0, Mode::Drain),
    ];
    let mut case = Case::new();
    for (rate, expected) in rounds {
        // Within a round nothing is counted.
        let within = AppendixAck {
            round: false,
            in_flight: 300.0,
            ..CALM
        };
        case.tell(AppendixAck {
            rate,
            in_flight: 300.0,
            ..CALM
        });
        assert_eq!(
            case.tell(AppendixAck { rate, ..within }),
            expected,
            "{rate}"
        );
    }
    assert!(case.bbr.full_bw_reached);
}

/// A.2: six acknowledgments with losses by the end of the round of the first one, and more
/// than 2 % lost.
#[test]
fn appendix_a_2_start_up_ends_with_losses() {
    for (before, lost, app_limited, expected) in [
        (5, 3.1, false, Mode::Drain),
        (5, 3.1, true, Mode::Drain),
        (4, 3.1, false, Mode::Startup),
        (5, 3.0, false, Mode::Startup),
    ] {
        let mut case = Case::new();
        case.tell(CALM);
        let told = AppendixAck {
            app_limited,
            lost,
            in_flight: 150.0,
            ..CALM
        };
        for _ in 0..before {
            assert_eq!(
                case.tell(AppendixAck {
                    round: false,
                    ..told
                }),
                Mode::Startup
            );
        }
        assert_eq!(case.tell(told), expected, "{before} {lost}");
    }
}

/// A.3 and A.4: draining ends at half the rate once one product is in flight, or after three
/// rounds.
#[test]
fn appendix_a_3_and_4_draining_ends_with_a_product_or_after_three_rounds() {
    let mut case = Case::in_state(Mode::Drain);
    case.bbr.drain_start_round = case.bbr.rounds.count;
    let many = AppendixAck {
        in_flight: 150.0,
        round: false,
        ..CALM
    };
    assert_eq!(case.tell(many), Mode::Drain);
    assert!((case.bbr.pacing_rate - 0.5 * 990.0).abs() < 1e-9);
    assert_eq!(
        case.tell(AppendixAck {
            in_flight: 101.0,
            ..many
        }),
        Mode::Drain
    );
    assert!(
        case.tell(AppendixAck {
            in_flight: 100.0,
            ..many
        })
        .probes_bandwidth()
    );
    let mut case = Case::in_state(Mode::Drain);
    case.bbr.drain_start_round = case.bbr.rounds.count;
    for _ in 0..3 {
        assert_eq!(
            case.tell(AppendixAck {
                round: true,
                ..many
            }),
            Mode::Drain
        );
    }
    assert_eq!(
        case.tell(AppendixAck {
            round: true,
            ..many
        }),
        Mode::Down
    );
}

/// A.8 and A.9: Down ends once the headroom is free and one product is in flight, or after the
/// wait.
#[test]
fn appendix_a_8_and_9_the_way_down_ends_with_the_headroom_or_the_wait() {
    let down = |bound: f64| {
        let mut case = Case::in_state(Mode::Down);
        case.bbr.bounds.inflight_longterm = bound;
        case.bbr.cycle.bw_probe_wait = Time::from_secs(2);
        case.bbr.cycle.rounds_since_bw_probe = 0;
        case
    };
    let told = |in_flight| AppendixAck {
        in_flight,
        round: false,
        ..CALM
    };
    // 15 % of 110 packets is left to others.
    let mut case = down(110.0);
    assert_eq!(case.tell(told(94.0)), Mode::Down);
    assert!((case.bbr.pacing_rate - 0.9 * 990.0).abs() < 1e-9);
    assert_eq!(case.tell(told(93.5)), Mode::Cruise);
    let mut case = down(400.0);
    assert_eq!(case.tell(told(101.0)), Mode::Down);
    assert_eq!(case.tell(told(100.0)), Mode::Cruise);
    let mut case = down(110.0);
    assert_eq!(
        case.tell(AppendixAck {
            seconds: 2.0,
            ..told(150.0)
        }),
        Mode::Down
    );
    assert_eq!(
        case.tell(AppendixAck {
            seconds: 0.001,
            ..told(150.0)
        }),
        Mode::Refill
    );
}

/// A.14: on a path of half a packet three send quanta of two packets are the least, two packets
/// more while probing up (section 5.6.4), and `ProbeRTT` leaves the four of MinPipeCwnd.
#[test]
fn appendix_a_14_a_few_packets_are_the_least() {
    let told = AppendixAck {
        rate: 5.0,
        in_flight: 1.0,
        seconds: 0.2,
        ..CALM
    };
    let mut case = Case::new();
    for _ in 0..6 {
        // Without the probe that so small a window would begin.
        case.bbr.cycle.rounds_since_bw_probe = 0;
        case.tell(told);
    }
    assert!((case.bbr.max_bw() - 5.0).abs() < 1e-9);
    for (mode, expected) in [
        (Mode::Cruise, 6.0),
        (Mode::Up, 8.0),
        (Mode::ProbeRoundTrip, 4.0),
    ] {
        case.bbr.mode = mode;
        let mut seen = sample(0.1);
        seen.arrived = 10.0;
        case.bbr.set_window(&mut case.window, &seen);
        assert_eq!(case.window.cwnd, expected, "{mode:?}");
    }
}

/// A.15: rounds of a probe raise the bound by 1, 2, 4, 8 packets per window acknowledged.
#[test]
fn appendix_a_15_the_bound_grows_twice_as_fast_each_round() {
    let mut case = Case::in_state(Mode::Up);
    case.bbr.bounds.inflight_longterm = 100.0;
    case.bbr.cycle.bw_probe_up_rounds = 0;
    case.bbr.cycle.steepen(80.0);
    let mut slopes = vec![case.bbr.cycle.probe_up_cnt];
    for _ in 0..8 {
        case.bbr.cycle.steepen(80.0);
        slopes.push(case.bbr.cycle.probe_up_cnt);
    }
    // Packets acknowledged per packet of growth, one at least.
    assert_eq!(slopes, [80.0, 40.0, 20.0, 10.0, 5.0, 2.5, 1.25, 1.0, 1.0]);
}

/// A.16: a round with losses, which begins with the first of them, lowers the short-term bound to
/// 0.7 of itself, and not below what was delivered, of which the first round still saw the rate of
/// before. The largest rate of before is forgotten with the second cycle.
#[test]
fn appendix_a_16_a_tenth_of_the_bandwidth_is_found() {
    let mut case = Case::in_state(Mode::Cruise);
    case.bbr.cycle.bw_probe_wait = Time::from_secs(100);
    // Found in this cycle.
    case.bbr.max_bw_filter = [0.0, 1000.0];
    let slow = AppendixAck {
        rate: 100.0,
        in_flight: 10.0,
        lost: 1.0,
        seconds: 0.01,
        ..CALM
    };
    for expected in [
        1000.0, 700.0, 490.0, 343.0, 240.1, 168.07, 117.649, 100.0, 100.0,
    ] {
        // Without the probe that so small a flow would begin.
        case.bbr.cycle.rounds_since_bw_probe = 0;
        case.tell(slow);
        case.tell(slow);
        let bound = case.bbr.bounds.bw_shortterm;
        assert!((bound - expected).abs() < 1e-6, "{bound} {expected}");
    }
    assert_eq!(case.bbr.max_bw(), 1000.0);
    for left in [true, false] {
        case.bbr.mode = Mode::Down;
        case.bbr.cycle.ack_phase = AckPhase::Stopping;
        case.tell(AppendixAck { lost: 0.0, ..slow });
        assert_eq!(case.bbr.max_bw() > 100.0, left);
        case.tell(AppendixAck { lost: 0.0, ..slow });
    }
}

/// A.10 and A.20: `ProbeRTT` lasts 200 ms and a round with half a product in flight. It leads back
/// to start-up if the pipe was never full.
#[test]
fn appendix_a_10_and_20_probing_the_round_trip_ends_where_it_began() {
    for full in [true, false] {
        let mut case = if full {
            Case::in_state(Mode::Cruise)
        } else {
            Case::new()
        };
        case.bbr.cycle.bw_probe_wait = Time::from_secs(100);
        case.tell(CALM);
        let due = AppendixAck {
            seconds: 5.1,
            in_flight: 100.0,
            round: false,
            ..CALM
        };
        assert_eq!(case.tell(due), Mode::ProbeRoundTrip);
        let few = AppendixAck {
            in_flight: 4.0,
            seconds: 0.001,
            ..due
        };
        assert_eq!(case.tell(few), Mode::ProbeRoundTrip);
        assert_eq!(
            case.tell(AppendixAck {
                seconds: 0.1,
                round: true,
                ..few
            }),
            Mode::ProbeRoundTrip
        );
        assert_eq!(
            case.tell(AppendixAck {
                seconds: 0.099,
                ..few
            }),
            Mode::ProbeRoundTrip
        );
        let expected = if full { Mode::Cruise } else { Mode::Startup };
        assert_eq!(
            case.tell(AppendixAck {
                seconds: 0.002,
                ..few
            }),
            expected
        );
    }
}

/// A.21: more than 2 % lost ends a probe. The bound becomes the flight, at least 0.7 of the target.
#[test]
fn appendix_a_21_losses_end_a_probe_and_bound_what_is_under_way() {
    for (in_flight, lost, expected, bound) in [
        (120.0, 2.4, Mode::Up, 130.0),
        (120.0, 2.5, Mode::Down, 120.0),
        (40.0, 2.0, Mode::Down, 70.0),
    ] {
        let mut case = Case::in_state(Mode::Up);
        case.bbr.bounds.inflight_longterm = 130.0;
        case.bbr.cycle.bw_probe_samples = true;
        let told = AppendixAck {
            in_flight,
            lost,
            round: false,
            ..CALM
        };
        assert_eq!(case.tell(told), expected, "{lost}");
        assert!((case.bbr.bounds.inflight_longterm - bound).abs() < 1e-9);
    }
}

/// A.6 and A.21: losses end a probe of a flow that the application limits, and leave its bound.
#[test]
fn appendix_a_6_losses_end_a_probe_that_the_application_limits() {
    let mut case = Case::in_state(Mode::Up);
    case.bbr.bounds.inflight_longterm = 130.0;
    case.bbr.cycle.bw_probe_samples = true;
    let told = AppendixAck {
        in_flight: 40.0,
        lost: 2.0,
        round: false,
        app_limited: true,
        ..CALM
    };
    assert_eq!(case.tell(told), Mode::Down);
    assert!(case.bbr.cycle.prev_probe_too_high);
    assert_eq!(case.bbr.bounds.inflight_longterm, 130.0);
}

/// A.7: without losses a flow that the application limits stays in Up and in start-up.
#[test]
fn appendix_a_7_rounds_that_the_application_limits_end_no_probe() {
    let told = AppendixAck {
        app_limited: true,
        seconds: 0.01,
        ..CALM
    };
    for mut case in [Case::in_state(Mode::Up), Case::new()] {
        let mode = case.bbr.mode;
        case.bbr.plateau.restart(1000.0);
        for _ in 0..20 {
            assert_eq!(case.tell(told), mode);
        }
    }
}

/// A.11 and section 5.4.1: after a pause the flow sends at the bandwidth and does not drain the
/// queue, which is empty.
#[test]
fn appendix_a_11_a_pause_takes_the_place_of_draining() {
    let due = AppendixAck {
        seconds: 5.1,
        round: false,
        ..CALM
    };
    for paused in [true, false] {
        let mut case = Case::in_state(Mode::Up);
        case.bbr.plateau.restart(1000.0);
        case.tell(CALM);
        case.bbr.cycle.bw_probe_wait = Time::from_secs(100);
        assert!((case.bbr.pacing_rate - 1.25 * 990.0).abs() < 1e-9);
        if paused {
            case.pause();
            assert!((case.bbr.pacing_rate - 990.0).abs() < 1e-9);
        }
        assert_eq!(case.tell(due) == Mode::ProbeRoundTrip, !paused);
        assert!(!case.bbr.idle_restart);
    }
}

/// A.19 and section 5.5.11: what a recovery lowered is restored when it proves spurious, and a flow
/// returns to the state that its losses ended.
#[test]
fn appendix_a_19_a_spurious_recovery_is_undone() {
    let lossy = AppendixAck {
        lost: 4.0,
        in_flight: 120.0,
        round: false,
        ..CALM
    };
    let mut case = Case::in_state(Mode::Up);
    case.bbr.bounds.inflight_longterm = 500.0;
    case.bbr.cycle.bw_probe_samples = true;
    assert_eq!(case.tell(lossy), Mode::Down);
    assert_eq!(case.bbr.bounds.inflight_longterm, 120.0);
    let before = case.bbr.clone();
    case.bbr.on_undo(&before);
    assert_eq!(case.bbr.mode, Mode::Refill);
    assert_eq!(case.bbr.bounds.inflight_longterm, 500.0);
    assert!(!case.bbr.latest.loss_in_round);

    let mut case = Case::new();
    case.tell(CALM);
    for _ in 0..5 {
        case.tell(lossy);
    }
    assert_eq!(
        case.tell(AppendixAck {
            round: true,
            ..lossy
        }),
        Mode::Drain
    );
    case.bbr.on_undo(&before);
    assert_eq!(case.bbr.mode, Mode::Startup);
    assert!(!case.bbr.full_bw_reached);
    assert_eq!(case.bbr.bounds.inflight_longterm, f64::INFINITY);
}

/// A.22: samples that the application limits do not change the bandwidth, and the refilled pipe is
/// probed.
#[test]
fn appendix_a_22_a_pause_while_refilling_leaves_the_bandwidth() {
    let mut case = Case::in_state(Mode::Refill);
    let told = AppendixAck {
        rate: 100.0,
        app_limited: true,
        ..CALM
    };
    case.bbr.max_bw_filter = [0.0, 1000.0];
    assert_eq!(case.tell(told), Mode::Up);
    assert_eq!(case.bbr.max_bw(), 1000.0);
}
