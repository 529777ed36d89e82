//! The test cases of the draft's appendix A (editors' copy that followed version 06), as tables of what an
//! acknowledgment says and what must follow. Left out are those of features that this BBR does not have (A.6 and A.20:
//! applications that limit; A.10: restart from idle; A.17: spurious recovery) and those that need a network (A.11, A.12,
//! A.16); A.5 is in `tests.rs`.

use super::*;
use crate::packet::tests::{sample, window};
use crate::registration::tests::default_controller;

/// One acknowledgment for the test cases of the draft's appendix A (editors' copy): a path of 1000 packets per second
/// and 100 ms.
#[derive(Clone, Copy)]
struct Told {
    rate: f64,
    in_flight: f64,
    lost: f64,
    round: bool,
    seconds: f64,
}

const CALM: Told = Told {
    rate: 1000.0,
    in_flight: 100.0,
    lost: 0.0,
    round: true,
    seconds: 0.1,
};

/// A flow that is told acknowledgment by acknowledgment.
struct Case {
    bbr: Bbr3Controller,
    window: Window,
    now: Time,
    delivered: u64,
}

impl Case {
    fn new() -> Self {
        Self {
            bbr: default_controller(),
            window: window(10.0, f64::INFINITY),
            now: Time::from_secs(1),
            delivered: 0,
        }
    }

    /// A flow in this state behind a start-up that found the path, with a window of two products.
    fn in_state(mode: Mode) -> Self {
        let mut case = Self::new();
        for rate in [500.0, 1000.0, 1000.0, 1000.0, 1000.0] {
            case.tell(Told { rate, ..CALM });
        }
        case.window.cwnd = 200.0;
        case.bbr.mode = mode;
        case.bbr.cycle.stamp = case.now;
        case.bbr.cycle.ack_phase = AckPhase::None;
        case
    }

    fn tell(&mut self, told: Told) -> Mode {
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
        if told.lost > 0.0 {
            seen.state = LossState::Recovery;
        }
        seen.delivery = Some(Delivery {
            rate: told.rate,
            delivered: told.in_flight - told.lost,
            interval: 0.1,
            prior_delivered: prior,
            app_limited: false,
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

/// A.1: start-up ends with the third round in a row that grows by less than a quarter over the baseline; growth of a
/// quarter moves the baseline and starts the count anew.
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
        let within = Told {
            round: false,
            in_flight: 300.0,
            ..CALM
        };
        case.tell(Told {
            rate,
            in_flight: 300.0,
            ..CALM
        });
        assert_eq!(case.tell(Told { rate, ..within }), expected, "{rate}");
    }
    assert!(case.bbr.full_bw_reached);
}

/// A.2, with a window that limits: six acknowledgments with losses by the end of the round of the first one, and more
/// than 2 % lost.
#[test]
fn appendix_a_2_start_up_ends_with_losses() {
    for (before, lost, expected) in [
        (5, 3.1, Mode::Drain),
        (4, 3.1, Mode::Startup),
        (5, 3.0, Mode::Startup),
    ] {
        let mut case = Case::new();
        case.tell(CALM);
        let told = Told {
            lost,
            in_flight: 150.0,
            ..CALM
        };
        for _ in 0..before {
            assert_eq!(
                case.tell(Told {
                    round: false,
                    ..told
                }),
                Mode::Startup
            );
        }
        assert_eq!(case.tell(told), expected, "{before} {lost}");
    }
}

/// A.3 and A.4: draining ends with a product under way, at half the rate, or behind three rounds.
#[test]
fn appendix_a_3_and_4_draining_ends_with_a_product_or_after_three_rounds() {
    let mut case = Case::in_state(Mode::Drain);
    case.bbr.drain_start_round = case.bbr.rounds.count;
    let many = Told {
        in_flight: 150.0,
        round: false,
        ..CALM
    };
    assert_eq!(case.tell(many), Mode::Drain);
    assert!((case.bbr.pacing_rate - 0.5 * 990.0).abs() < 1e-9);
    assert_eq!(
        case.tell(Told {
            in_flight: 101.0,
            ..many
        }),
        Mode::Drain
    );
    assert!(
        case.tell(Told {
            in_flight: 100.0,
            ..many
        })
        .probes_bandwidth()
    );
    let mut case = Case::in_state(Mode::Drain);
    case.bbr.drain_start_round = case.bbr.rounds.count;
    for _ in 0..3 {
        assert_eq!(
            case.tell(Told {
                round: true,
                ..many
            }),
            Mode::Drain
        );
    }
    assert_eq!(
        case.tell(Told {
            round: true,
            ..many
        }),
        Mode::Down
    );
}

/// A.7 and A.8: the way down ends with the headroom free and a product under way, or with the wait.
#[test]
fn appendix_a_7_and_8_the_way_down_ends_with_the_headroom_or_the_wait() {
    let down = |bound: f64| {
        let mut case = Case::in_state(Mode::Down);
        case.bbr.bounds.inflight_longterm = bound;
        case.bbr.cycle.bw_probe_wait = Time::from_secs(2);
        case.bbr.cycle.rounds_since_bw_probe = 0;
        case
    };
    let told = |in_flight| Told {
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
        case.tell(Told {
            seconds: 2.0,
            ..told(150.0)
        }),
        Mode::Down
    );
    assert_eq!(
        case.tell(Told {
            seconds: 0.001,
            ..told(150.0)
        }),
        Mode::Refill
    );
}

/// A.13: on a path of half a packet three send quanta of two packets are the least, two packets more while probing up
/// (section 5.6.4), and `ProbeRTT` leaves the four of MinPipeCwnd.
#[test]
fn appendix_a_13_a_few_packets_are_the_least() {
    let told = Told {
        rate: 5.0,
        in_flight: 1.0,
        seconds: 0.2,
        ..CALM
    };
    let mut case = Case::new();
    for _ in 0..6 {
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

/// A.14: rounds of a probe raise the bound by 1, 2, 4, 8 packets per window acknowledged.
#[test]
fn appendix_a_14_the_bound_grows_twice_as_fast_each_round() {
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

/// A.15: a round with losses, which begins with the first of them, lowers the short-term bound to 0.7 of itself, and not
/// below what was delivered, of which the first round still saw the rate of before. The largest rate of before is
/// forgotten with the second cycle.
#[test]
fn appendix_a_15_a_tenth_of_the_bandwidth_is_found() {
    let mut case = Case::in_state(Mode::Cruise);
    case.bbr.cycle.bw_probe_wait = Time::from_secs(100);
    // Found in this cycle.
    case.bbr.max_bw_filter = [0.0, 1000.0];
    let slow = Told {
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
        case.tell(Told { lost: 0.0, ..slow });
        assert_eq!(case.bbr.max_bw() > 100.0, left);
        case.tell(Told { lost: 0.0, ..slow });
    }
}

/// A.9 and A.18: what drains the queue lasts 200 ms and a round, with half a product under way, and leads back to
/// start-up where the pipe was never full.
#[test]
fn appendix_a_9_and_18_probing_the_round_trip_ends_where_it_began() {
    for full in [true, false] {
        let mut case = if full {
            Case::in_state(Mode::Cruise)
        } else {
            Case::new()
        };
        case.bbr.cycle.bw_probe_wait = Time::from_secs(100);
        case.tell(CALM);
        let due = Told {
            seconds: 5.1,
            in_flight: 100.0,
            round: false,
            ..CALM
        };
        assert_eq!(case.tell(due), Mode::ProbeRoundTrip);
        let few = Told {
            in_flight: 4.0,
            seconds: 0.001,
            ..due
        };
        assert_eq!(case.tell(few), Mode::ProbeRoundTrip);
        assert_eq!(
            case.tell(Told {
                seconds: 0.1,
                round: true,
                ..few
            }),
            Mode::ProbeRoundTrip
        );
        assert_eq!(
            case.tell(Told {
                seconds: 0.099,
                ..few
            }),
            Mode::ProbeRoundTrip
        );
        let expected = if full { Mode::Cruise } else { Mode::Startup };
        assert_eq!(
            case.tell(Told {
                seconds: 0.002,
                ..few
            }),
            expected
        );
    }
}

/// A.19: more than 2 % lost in a probe ends it, and the bound is what was under way, 0.7 of the target at least.
#[test]
fn appendix_a_19_losses_end_a_probe_and_bound_what_is_under_way() {
    for (in_flight, lost, expected, bound) in [
        (120.0, 2.4, Mode::Up, 130.0),
        (120.0, 2.5, Mode::Down, 120.0),
        (40.0, 2.0, Mode::Down, 70.0),
    ] {
        let mut case = Case::in_state(Mode::Up);
        case.bbr.bounds.inflight_longterm = 130.0;
        case.bbr.cycle.bw_probe_samples = true;
        let told = Told {
            in_flight,
            lost,
            round: false,
            ..CALM
        };
        assert_eq!(case.tell(told), expected, "{lost}");
        assert!((case.bbr.bounds.inflight_longterm - bound).abs() < 1e-9);
    }
}
