//! Properties of every slow start with every window growth, also for pairs that no scenario asks
//! for: the parts do not know each other.

use forebay_units::Time;

use crate::aimd::AimdController;
use crate::bic::{Bic, BicGrowth, Linux26Bic};
use crate::classic::{Classic, SlowStart, WindowGrowth};
use crate::cubic::{Cubic, CubicGrowth, Linux26Cubic, LinuxCubic};
use crate::dctcp::DctcpController;
use crate::fast::FastController;
use crate::hstcp::{HstcpGrowth, HstcpResponse, LinuxHstcp};
use crate::htcp::{Htcp, HtcpGrowth, LinuxHtcp};
use crate::illinois::IllinoisController;
use crate::newreno::{LinuxReno, RenoGrowth};
use crate::packet::tests::{rounds, sample, window};
use crate::packet::{Ack, CongestionControl, CongestionEvent, Idle, Path, Window};
use crate::registration::tests::default_controller;
use crate::scalable::{Count, LinuxScalable, ScalableGrowth};
use crate::slow_start::{
    EveryOtherRound, Hystart, HystartPlusPlus, Limited, MillisecondHystart, Standard, UpToThreshold,
};
use crate::vegas::{LinuxVegas, Thresholds, VegasGrowth};
use crate::westwood::{LinuxWestwood, WestwoodGrowth};

/// A question about a pair.
trait Question {
    fn ask<S: SlowStart, G: WindowGrowth>(&mut self, pair: Classic<S, G>, name: &str);
}

/// Asks it of a growth with every slow start, the one of RFC 5681 first.
fn with_all<G: WindowGrowth>(question: &mut impl Question, name: &str, growth: &G) {
    let growth = || growth.clone();
    question.ask(Classic::of(Standard, growth()), &format!("{name} Standard"));
    let limited = Limited::above(1000.0);
    question.ask(Classic::of(limited, growth()), &format!("{name} Limited"));
    let every_other = EveryOtherRound::default();
    question.ask(
        Classic::of(every_other, growth()),
        &format!("{name} EveryOtherRound"),
    );
    question.ask(
        Classic::of(UpToThreshold, growth()),
        &format!("{name} UpToThreshold"),
    );
    let hystart = <Hystart>::default();
    question.ask(Classic::of(hystart, growth()), &format!("{name} Hystart"));
    let hystart = MillisecondHystart::default();
    question.ask(
        Classic::of(hystart, growth()),
        &format!("{name} MillisecondHystart"),
    );
    let hystart = HystartPlusPlus::default();
    question.ask(Classic::of(hystart, growth()), &format!("{name} HyStart++"));
}

/// Asks it of every pair.
fn of_all(question: &mut impl Question) {
    let (cubic, htcp) = (Cubic::default(), Htcp::default());
    let functions = HstcpResponse::default();
    with_all(question, "cubic", &CubicGrowth::new(&cubic, 0.7));
    with_all(question, "linux cubic", &LinuxCubic::new(&cubic, 0.7));
    let linux = Linux26Cubic::new(&cubic, 0.8);
    with_all(question, "linux 2.6 cubic", &linux);
    with_all(question, "reno", &RenoGrowth);
    with_all(question, "linux reno", &LinuxReno::default());
    with_all(question, "hstcp", &HstcpGrowth::by(functions));
    with_all(question, "linux hstcp", &LinuxHstcp::default());
    with_all(question, "htcp", &HtcpGrowth::new(&htcp));
    with_all(question, "linux htcp", &LinuxHtcp::new(&htcp));
    with_all(question, "scalable", &ScalableGrowth::default());
    for count in [Count::LINUX_5_6, Count::LINUX_5_7] {
        with_all(question, "linux scalable", &LinuxScalable::new(count));
    }
    let bic = Bic::default();
    with_all(question, "bic", &BicGrowth::new(bic));
    with_all(question, "linux 2.6 bic", &Linux26Bic::new(&bic));
    with_all(question, "westwood", &WestwoodGrowth::default());
    with_all(question, "linux westwood", &LinuxWestwood::default());
    let vegas = Thresholds::default();
    with_all(question, "vegas", &VegasGrowth::new(vegas));
    with_all(question, "linux vegas", &LinuxVegas::new(vegas));
    macro_rules! with_all_of {
        ($($controller:ty),+) => {
            $({
                let made: $controller = default_controller();
                with_all(question, stringify!($controller), &made.growth);
            })+
        };
    }
    with_all_of!(AimdController);
    with_all_of!(IllinoisController, FastController);
    with_all_of!(DctcpController);
}

const PATH: Path = Path {
    smoothed_rtt: 0.1,
    min_rtt: 0.1,
    max_rtt: 0.1,
    flight: 100.0,
};

/// A packet acknowledged each 10 ms from `from` on, a hundred in all.
fn acknowledge(pair: &mut impl CongestionControl, window: &mut Window, from: u64) {
    for k in 0..100 {
        let now = Time::from_millis(from + 10 * k);
        pair.on_ack(window, &Ack { acked: 1.0, now }, &PATH);
    }
}

/// Below the threshold only slow start moves the window, whose first round is RFC 5681's.
#[test]
fn nothing_but_slow_start_grows_a_window_below_the_threshold() {
    struct Grows;
    impl Question for Grows {
        fn ask<S: SlowStart, G: WindowGrowth>(&mut self, mut pair: Classic<S, G>, name: &str) {
            let mut window = window(10.0, f64::INFINITY);
            acknowledge(&mut pair, &mut window, 0);
            assert_eq!(window.cwnd, 110.0, "{name}");
        }
    }
    of_all(&mut Grows);
}

/// In congestion avoidance and at a congestion the slow start makes no difference.
#[test]
fn slow_start_leaves_a_window_above_the_threshold_alone() {
    struct Compares {
        standard: Vec<f64>,
    }
    impl Question for Compares {
        fn ask<S: SlowStart, G: WindowGrowth>(&mut self, mut pair: Classic<S, G>, name: &str) {
            let mut window = window(100.0, 50.0);
            let mut sizes = Vec::new();
            for (number, event) in [
                CongestionEvent::Loss,
                CongestionEvent::Mark,
                CongestionEvent::Loss,
            ]
            .into_iter()
            .enumerate()
            {
                let from = 2000 * number as u64;
                acknowledge(&mut pair, &mut window, from);
                sizes.push(window.cwnd);
                let now = Time::from_millis(from + 1500);
                pair.on_congestion_event(&mut window, event, now, &PATH);
                sizes.push(window.cwnd);
                assert_eq!(window.cwnd, window.ssthresh, "{name}");
                // Above it, also where slow start goes on at the threshold.
                window.ssthresh -= 0.5;
            }
            assert!(sizes[1] < sizes[0], "{name}");
            if name.ends_with("Standard") {
                self.standard = sizes;
            } else {
                assert_eq!(sizes, self.standard, "{name}");
            }
        }
    }
    let standard = Vec::new();
    of_all(&mut Compares { standard });
}

/// All HyStarts look at the round-trip times with any growth, and the others never do.
#[test]
fn a_delay_that_grows_ends_slow_start_where_that_looks_for_it() {
    struct Ends;
    impl Question for Ends {
        fn ask<S: SlowStart, G: WindowGrowth>(&mut self, mut pair: Classic<S, G>, name: &str) {
            let requirements = pair.requirements();
            assert!(
                requirements.samples >= S::SAMPLES.max(G::NEEDS.samples),
                "{name}"
            );
            assert_eq!(requirements.accurate_ecn, G::NEEDS.accurate_ecn, "{name}");
            let mut window = window(40.0, f64::INFINITY);
            rounds(&mut pair, &mut window, 0.1, &[0.1, 0.1, 0.1]);
            // Vegas and FAST end it by themselves once packets queue.
            assert!(window.ssthresh.is_infinite(), "{name}");
            rounds(&mut pair, &mut window, 0.1, &[0.15; 10]);
            let looks = name.contains("ystart") || name.contains("HyStart++");
            let own = name.contains("vegas") || name.contains("Fast");
            assert_eq!(window.ssthresh.is_finite(), looks || own, "{name}");
        }
    }
    of_all(&mut Ends);
}

/// Both parts hear of a congestion, of its undoing and of what the growth holds of the path.
#[test]
fn each_part_hears_what_the_controller_hears() {
    let mut pair = Classic::of(
        HystartPlusPlus::default(),
        CubicGrowth::new(&Cubic::default(), 0.7),
    );
    let before = pair.clone();
    let state = |pair: &Classic<HystartPlusPlus, CubicGrowth>| format!("{pair:?}");
    let mut at = window(100.0, f64::INFINITY);
    pair.on_congestion_event(&mut at, CongestionEvent::Timeout, Time::ZERO, &PATH);
    let (slow_start, growth) = (
        format!("{:?}", pair.slow_start),
        format!("{:?}", pair.growth),
    );
    assert_ne!(slow_start, format!("{:?}", before.slow_start));
    assert_ne!(growth, format!("{:?}", before.growth));
    pair.on_undo(&before);
    assert_eq!(state(&pair), state(&before));
    // An idle hour moves the epoch, and the pair applies the restart window.
    let mut at = window(100.0, 50.0);
    acknowledge(&mut pair, &mut at, 0);
    let growth = format!("{:?}", pair.growth);
    let idle = Idle {
        time: Time::from_secs(3600),
        now: Time::from_secs(7200),
        restart_window: Some(10.0),
    };
    pair.on_idle(&mut at, &idle);
    assert_eq!(at.cwnd, 10.0);
    assert_ne!(growth, format!("{:?}", pair.growth));

    // Linux's CUBIC tells nothing of round trips right after a recovery.
    let growth = LinuxCubic::new(&Cubic::default(), 0.7);
    let mut pair = Classic::of(HystartPlusPlus::default(), growth);
    let mut at = window(100.0, 50.0);
    acknowledge(&mut pair, &mut at, 500);
    at.ssthresh = f64::INFINITY;
    let before = format!("{:?}", pair.slow_start);
    // The first acknowledgment began an epoch.
    pair.on_sample(&mut at, &sample(0.1), &PATH);
    assert_eq!(before, format!("{:?}", pair.slow_start));
    let mut later = sample(0.1);
    later.now = Time::from_secs(2);
    pair.on_sample(&mut at, &later, &PATH);
    assert_ne!(before, format!("{:?}", pair.slow_start));
    // And slow start goes by the growth's smallest round trip, not by the path's.
    let growth = LinuxCubic::new(&Cubic::default(), 0.7);
    let mut pair = Classic::of(<Hystart>::default(), growth);
    let mut at = window(100.0, f64::INFINITY);
    let shorter = Path {
        min_rtt: 0.01,
        ..PATH
    };
    let mut seen = sample(0.1);
    for millis in 0..30 {
        seen.now = Time::from_millis(1000 + 10 * millis);
        pair.on_sample(&mut at, &seen, &shorter);
    }
    assert_eq!(at.ssthresh, f64::INFINITY);
}
