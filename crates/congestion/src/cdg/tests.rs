//! Laws of CDG by itself; `crates/packet/tests/runs/delay_based.rs` has those of its flows.

use super::*;
use crate::packet::LossState;
use crate::packet::tests::{sample, window};
use crate::registration::tests::{default_controller, stream};

const LOSS: CongestionEvent = CongestionEvent::Loss;

/// A controller with some parameters other than the default.
fn with(changes: &[(&'static str, Value)]) -> CdgController {
    let mut parameters = Parameters::defaults(CdgController::DESCRIPTION.parameters());
    for (name, value) in changes {
        assert!(parameters.set(name, *value));
    }
    CdgController::new(&parameters, stream(0))
}

/// A flow of twenty packets per round, and its newest acknowledgment.
struct Driven {
    cdg: CdgController,
    window: Window,
    seen: Sample,
}

impl Driven {
    fn new(cdg: CdgController) -> Self {
        Self {
            cdg,
            window: window(20.0, 20.0),
            seen: sample(0.1),
        }
    }

    fn acknowledge(&mut self, rtt: f64) {
        self.seen.acknowledged += 1;
        self.seen.next = self.seen.acknowledged + 20;
        self.seen.rtt = Some(rtt);
        let (mut window, path) = (self.window, Path::default());
        self.cdg.on_sample(&mut window, &self.seen, &path);
        self.window = window;
    }

    /// A round trip of this length, in seconds; whether the window falls.
    fn round(&mut self, rtt: f64) -> bool {
        let before = self.window.cwnd;
        for _ in 0..21 {
            self.acknowledge(rtt);
        }
        self.window.cwnd < before
    }

    fn lose(&mut self) {
        let path = Path::default();
        self.cdg
            .on_congestion_event(&mut self.window, LOSS, Time::ZERO, &path);
    }
}

/// The paper's equation (4) with G = 3 ms and a window of 8: a backoff has the probability 1 -
/// exp(-g/G), where g is the mean gradient. 1000/(3 · 8) is 41.7; the module has 42.
#[test]
fn the_backoff_probability_is_that_of_the_paper() {
    let mut cdg = with(&[("use_ineff", Value::Number(0.0))]);
    for (mean_gradient_us, expected) in [(300.0, 0.0960), (3000.0, 0.6351), (9000.0, 0.9514)] {
        let sum = (8.0 * mean_gradient_us) as i64;
        let count = 20_000;
        let backoffs = (0..count).filter(|_| cdg.backs_off(sum)).count();
        let share = backoffs as f64 / f64::from(count);
        let error = (expected * (1.0 - expected) / f64::from(count)).sqrt();
        assert!(
            (share - expected).abs() < 5.0 * error,
            "{mean_gradient_us}: {share}"
        );
    }
    assert!(!(0..1000).any(|_| cdg.backs_off(0) || cdg.backs_off(-10_000)));
}

#[test]
fn a_backoff_leaves_the_root_of_one_half_and_lasts_a_round_trip() {
    let mut driven = Driven::new(default_controller());
    driven.round(0.1);
    driven.cdg.shadow = 10.0;
    // A second more: the probability is 1 - exp(-42).
    while driven.window.cwnd >= 20.0 {
        driven.acknowledge(1.1);
    }
    assert!((driven.window.cwnd - 14.140_625).abs() < 1e-9);
    assert_eq!(driven.window.ssthresh, driven.window.cwnd);
    assert_eq!(driven.cdg.shadow, 20.0);
    let until = driven.seen.next;
    let ack = Ack {
        acked: 1.0,
        now: Time::ZERO,
    };
    while driven.seen.acknowledged < until {
        let before = driven.window.cwnd;
        let mut window = driven.window;
        driven.cdg.on_ack(&mut window, &ack, &Path::default());
        assert_eq!(window.cwnd, before);
        driven.lose();
        assert_eq!(driven.window.cwnd, before, "one reduction per round trip");
        driven.acknowledge(5.0);
        assert_eq!(driven.window.cwnd, before);
    }
    driven.acknowledge(1.1);
    assert!(driven.cdg.backing_off.is_none());
    // The round-trip times of the reduction are those of the round before.
    assert_eq!(driven.cdg.before.map(|seen| seen.max), Some(5_000_000));
}

#[test]
fn after_five_backoffs_without_effect_delays_are_ignored_until_one_has_an_effect() {
    let mut driven = Driven::new(default_controller());
    let mut rtt = 0.1;
    let mut backoffs = 0;
    for _ in 0..40 {
        rtt += 1.0;
        driven.window.cwnd = 20.0;
        backoffs += u32::from(driven.round(rtt));
    }
    assert_eq!(backoffs, 5);
    let mut driven = Driven::new(with(&[("use_ineff", Value::Number(0.0))]));
    let grows = |driven: &mut Driven, rtt: &mut f64| {
        *rtt += 1.0;
        driven.window.cwnd = 20.0;
        driven.round(*rtt)
    };
    rtt = 0.1;
    assert!((0..40).filter(|_| grows(&mut driven, &mut rtt)).count() > 15);
    // An effect.
    let mut driven = Driven::new(with(&[("window", Value::Number(1.0))]));
    driven.cdg.backoffs = 9.0;
    driven.round(0.2);
    driven.round(0.1);
    assert_eq!(driven.cdg.backoffs, 0.0);
}

/// `tcp_cdg_ssthresh`: half of the shadow window where backoffs had lowered the window below that.
#[test]
fn a_loss_returns_to_half_of_the_shadow_window() {
    for (cwnd, shadow, expected, shadow_after) in [
        (20.0, 20.0, 10.0, 10.0),
        (20.0, 36.0, 18.0, 18.0),
        (20.0, 90.0, 20.0, 20.0),
        (20.0, 4.0, 10.0, 2.0),
        (3.0, 3.0, 2.0, 1.5),
    ] {
        let mut driven = Driven::new(default_controller());
        driven.window.cwnd = cwnd;
        driven.cdg.shadow = shadow;
        driven.lose();
        assert_eq!(driven.window.cwnd, expected, "{cwnd} {shadow}");
        assert_eq!(driven.cdg.shadow, shadow_after);
    }
    let mut driven = Driven::new(with(&[("use_shadow", Value::Switch(false))]));
    driven.cdg.shadow = 90.0;
    driven.lose();
    assert_eq!(driven.window.cwnd, 10.0);
}

#[test]
fn the_shadow_window_grows_with_the_window_and_is_never_more_than_an_unused_window() {
    let mut driven = Driven::new(default_controller());
    let ack = Ack {
        acked: 4.0,
        now: Time::ZERO,
    };
    driven.cdg.shadow = 30.0;
    driven
        .cdg
        .on_ack(&mut driven.window, &ack, &Path::default());
    assert!((driven.window.cwnd - 20.2).abs() < 1e-12);
    assert!((driven.cdg.shadow - 30.2).abs() < 1e-12);
    driven.seen.limited = false;
    driven.acknowledge(0.1);
    assert!((driven.cdg.shadow - 20.2).abs() < 1e-12);
}

/// Losses without a full queue leave the window where they are tolerated.
#[test]
fn tolerated_losses_leave_the_window() {
    for (tolerance, queue, expected) in [
        (true, Fullness::NotFull, 20.0),
        (true, Fullness::Full, 10.0),
        (true, Fullness::Unknown, 10.0),
        (false, Fullness::NotFull, 10.0),
    ] {
        let mut driven = Driven::new(with(&[("use_tolerance", Value::Switch(tolerance))]));
        driven.cdg.queue = queue;
        driven.lose();
        assert_eq!(driven.window.cwnd, expected, "{tolerance} {queue:?}");
    }
}

#[test]
fn gradients_of_a_recovery_do_not_count() {
    let mut driven = Driven::new(with(&[("window", Value::Number(1.0))]));
    driven.round(0.1);
    driven.lose();
    driven.cdg.round_trips.forget();
    driven.seen.state = LossState::Recovery;
    driven.round(3.0);
    driven.seen.state = LossState::Open;
    driven.acknowledge(3.0);
    let reduced = driven.window.cwnd;
    driven.round(3.0);
    driven.round(3.0);
    assert_eq!(driven.window.cwnd, reduced);
    assert!(driven.round(6.0));
}

#[test]
fn a_long_pause_forgets_the_gradients() {
    let mut driven = Driven::new(default_controller());
    driven.round(0.1);
    driven.cdg.shadow = 50.0;
    let idle = Idle {
        time: Time::from_secs(9),
        now: Time::from_secs(9),
        restart_window: Some(10.0),
    };
    driven.cdg.on_idle(&mut driven.window, &idle);
    assert_eq!(driven.window.cwnd, 10.0);
    assert_eq!(driven.cdg.shadow, 10.0);
    assert!(driven.cdg.before.is_none());
}
