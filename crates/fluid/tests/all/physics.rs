//! Properties for any numbers: theory if it exists, conservation, monotonicity, the promised
//! tolerance, and no panic on any input.

use crate::settings::{FRACTIONS, ONE_GIGABIT, TEN_GIGABIT, laws, model};
use forebay_congestion::aimd::Aimd;
use forebay_congestion::fluid::FluidLaw;
use forebay_congestion::newreno::NewReno;
use forebay_congestion::scalable::Scalable;
use forebay_discipline::{AboveThreshold, DropCurve};
use forebay_fluid::{
    Background, CutCountDistribution, FluidFlow, FluidLink, FluidModel, Limits, Measure,
    QueueDistribution, Red, Synchronization, Victims, integrate, integrate_coupled,
    integrate_euler,
};
use forebay_random::Seed;
use proptest::prelude::*;

/// One AIMD flow over a path of `bdp` packets with a buffer of `x` BDP, for the mean utilization of
/// a whole cycle.
pub(crate) fn single_flow(bdp: f64, x: f64, decrease: f64) -> FluidModel {
    let mut model = model(
        &ONE_GIGABIT,
        &FluidLaw::Aimd(Aimd {
            increase: 1.0,
            decrease,
        }),
        1.0,
        1.0,
    );
    model.links[0].capacity = bdp / 0.1;
    model.links[0].buffer = x * bdp;
    model.flows.truncate(1);
    model.flows[0].propagation = 0.1;
    let cycle = 0.1 * bdp * (1.0 + x) * (1.0 + x);
    model.measure = Measure::WholeCycles {
        start: 2.0 * cycle,
        duration: 3.0 * cycle,
    };
    model.horizon = 6.0 * cycle;
    model
}

#[test]
fn one_aimd_flow_meets_the_closed_form_as_the_path_grows() {
    for decrease in [0.5, 0.3, 0.125] {
        for x in [0.0, 0.05, 0.3, 0.7, 1.2] {
            let w0 = (1.0 - decrease) * (1.0 + x);
            let quadratic = x + 0.5 * x * x;
            let exact = if w0 >= 1.0 {
                1.0
            } else {
                (0.5 * (1.0 - w0 * w0) + quadratic) / (1.0 - w0 + quadratic)
            };
            let error = |bdp: f64| {
                let outcome = integrate(&single_flow(bdp, x, decrease)).unwrap();
                (outcome.links[0].utilization - exact).abs()
            };
            // The closed form holds to O(1/BDP).
            assert!(error(1600.0) < 1.5e-3, "{decrease} {x}: {}", error(1600.0));
            assert!(
                error(160_000.0) < 3e-5,
                "{decrease} {x}: {}",
                error(160_000.0)
            );
        }
    }
}

#[test]
fn more_buffer_is_never_worse_at_full_synchronization() {
    for setting in [ONE_GIGABIT, TEN_GIGABIT] {
        for law in laws() {
            let mut last = 0.0;
            for fraction in FRACTIONS {
                let outcome = integrate(&model(&setting, &law, 1.0, fraction)).unwrap();
                let link = &outcome.links[0];
                assert!(link.utilization > last - 1e-4 && link.utilization <= 1.0 + 1e-12);
                let delays = link.delay_quantiles.map(|(_, delay)| delay);
                assert!(delays.is_sorted() && delays.iter().all(|&delay| delay <= link.delay_max));
                assert!(link.delay_mean <= link.delay_max);
                assert_eq!(link.synchronization, Some(1.0));
                last = link.utilization;
            }
        }
    }
}

#[test]
fn full_synchronization_cuts_all_alike() {
    // Equal paths start unequally: equal cuts and equal growth make AIMD's shares equal.
    let mut base = model(&ONE_GIGABIT, &laws()[0], 1.0, 0.2);
    for flow in &mut base.flows {
        flow.propagation = 0.12;
    }
    base.measure = Measure::WholeCycles {
        start: 3000.0,
        duration: 1000.0,
    };
    let outcome = integrate(&base).unwrap();
    assert!(outcome.jain > 1.0 - 1e-9, "{}", outcome.jain);
}

#[test]
fn halving_the_tolerance_changes_utilization_by_less_than_it_promises() {
    for setting in [ONE_GIGABIT, TEN_GIGABIT] {
        for law in laws() {
            for fraction in [0.01, 0.1, 0.3] {
                let run = |tolerance: f64| {
                    let base = model(&setting, &law, 1.0, fraction);
                    integrate(&FluidModel { tolerance, ..base }).unwrap().links[0].utilization
                };
                for tolerance in [1e-3, 1e-4, 1e-5] {
                    let change = (run(tolerance) - run(0.5 * tolerance)).abs();
                    let name = (setting.name, law.name(), fraction);
                    assert!(change < tolerance, "{name:?}: {change:e} at {tolerance:e}");
                }
            }
        }
    }
}

#[test]
fn the_default_tolerance_is_kept_against_small_euler_steps() {
    // Richardson's extrapolation of forward Euler approximates the converged solution.
    for law in laws() {
        for (setting, fraction) in [(ONE_GIGABIT, 0.02), (TEN_GIGABIT, 0.1)] {
            let mut base = model(&setting, &law, 1.0, fraction);
            base.measure = match base.measure {
                Measure::FromFirstEvent { .. } => Measure::WholeCycles {
                    start: 0.0,
                    duration: 300.0,
                },
                _ => Measure::WholeCycles {
                    start: 0.0,
                    duration: 1500.0,
                },
            };
            let euler = |step| integrate_euler(&base, step).unwrap().links[0].utilization;
            let converged = 2.0 * euler(2.5e-4) - euler(5e-4);
            let found = integrate(&base).unwrap().links[0].utilization;
            let error = (found - converged).abs();
            assert!(error < 1e-4, "{} {}: {error:e}", setting.name, law.name());
        }
    }
}

#[test]
fn euler_and_the_adaptive_integrator_agree_on_everything_they_measure() {
    for law in laws() {
        let mut base = model(&ONE_GIGABIT, &law, 0.3, 0.05);
        // Random victims do not depend on rounding, so both follow the same history.
        base.synchronization.victims = Victims::Random;
        base.links[0].background = Background::Resampled {
            mean: 25_000.0,
            deviation: 1000.0,
            interval: 0.5,
        };
        base.measure = Measure::Fixed { start: 20.0 };
        base.horizon = 120.0;
        let fine = integrate_euler(&base, 2.5e-4).unwrap();
        let ours = integrate(&base).unwrap();
        let (a, b) = (&fine.links[0], &ours.links[0]);
        assert_eq!(a.events, b.events, "{}", law.name());
        assert_eq!(a.synchronization, b.synchronization);
        let near = |x: f64, y: f64, relative: f64| (x - y).abs() <= relative * y.abs();
        assert!(
            near(a.utilization, b.utilization, 2e-4),
            "{} {}",
            a.utilization,
            b.utilization
        );
        assert!(
            near(a.loss_rate, b.loss_rate, 0.02),
            "{} {}",
            a.loss_rate,
            b.loss_rate
        );
        assert!(
            near(a.queue_mean, b.queue_mean, 0.02),
            "{} {}",
            a.queue_mean,
            b.queue_mean
        );
        assert!(
            near(a.delay_mean, b.delay_mean, 0.02),
            "{} {}",
            a.delay_mean,
            b.delay_mean
        );
        assert!(
            near(a.delay_max, b.delay_max, 1e-6),
            "{} {}",
            a.delay_max,
            b.delay_max
        );
        for ((metric, a), (_, of_b)) in a.delay_quantiles.iter().zip(&b.delay_quantiles) {
            assert!((a - of_b).abs() < 0.02 * b.delay_max, "{metric:?}");
        }
        assert!((fine.jain - ours.jain).abs() < 1e-3);
        for (x, y) in fine.goodput.iter().zip(&ours.goodput) {
            assert!(near(*x, *y, 5e-3), "{x} {y}");
        }
    }
}

#[test]
fn a_continuous_loss_rate_leaves_no_room_unused_at_any_buffer() {
    // Without delayed events the queue slides along its limit.
    for law in laws() {
        for fraction in [0.01, 0.2] {
            let mut base = model(&ONE_GIGABIT, &law, 1.0, fraction);
            base.measure = Measure::Fixed { start: 300.0 };
            base.horizon = 400.0;
            let outcome = integrate_coupled(&base).unwrap();
            let link = &outcome.links[0];
            assert!(
                link.utilization > 0.9999,
                "{} {}",
                law.name(),
                link.utilization
            );
            assert!(link.loss_rate > 0.0 && outcome.conservation < 1e-9);
            // The sent packets of the flows less their losses equal the departures of the link.
            let carried = link.utilization * base.links[0].capacity;
            let goodput: f64 = outcome.goodput.iter().sum();
            assert!(
                (goodput / carried - 1.0).abs() < 1e-6,
                "{} {goodput} {carried}",
                law.name()
            );
            for loss in &outcome.loss {
                let apart = (loss / link.loss_rate - 1.0).abs();
                assert!(apart < 1e-4, "{} {loss} {}", law.name(), link.loss_rate);
            }
        }
    }
}

#[test]
fn the_continuous_aimd_window_follows_the_square_root_law() {
    // The balance of a/R and b W lambda with lambda = p W / R gives W^2 p = a / b.
    let mut base = model(&ONE_GIGABIT, &laws()[0], 1.0, 0.1);
    base.links[0].capacity = 5000.0;
    base.links[0].buffer = 300.0;
    base.flows
        .iter_mut()
        .for_each(|flow| flow.propagation = 0.1);
    base.measure = Measure::Fixed { start: 200.0 };
    base.horizon = 300.0;
    let link = integrate_coupled(&base).unwrap().links[0].clone();
    let window = 5000.0 * (0.1 + 300.0 / 5000.0) / 10.0;
    let ratio = window * window * link.loss_rate / 2.0;
    assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
}

fn red(follow: f64) -> QueueDistribution {
    QueueDistribution::Red(Red {
        curve: DropCurve {
            min: 100.0,
            max: 1250.0,
            max_p: 0.1,
            beyond: AboveThreshold::Gentle,
            range: None,
        },
        follow,
    })
}

#[test]
fn red_signals_before_the_buffer_is_full() {
    let mut base = model(&ONE_GIGABIT, &laws()[1], 0.6, 0.1);
    base.horizon = 300.0;
    base.measure = Measure::Fixed { start: 50.0 };
    let tail = integrate(&base).unwrap();
    base.links[0].queue = red(10.0);
    let early = integrate(&base).unwrap();
    assert!(tail.links[0].delay_max > 0.0099);
    assert!(early.links[0].delay_max < 0.8 * tail.links[0].delay_max);
    assert!(early.links[0].queue_mean < tail.links[0].queue_mean);
    assert!(early.links[0].events > 5 && early.links[0].loss_rate > 0.0);
    assert!(early.conservation < 1e-9);
}

#[test]
fn a_run_without_congestion_measures_the_whole_of_it() {
    let mut base = model(&ONE_GIGABIT, &laws()[0], 1.0, 1.0);
    base.flows.clear();
    base.links[0].background = Background::Constant(25_000.0);
    base.horizon = 10.0;
    let outcome = integrate(&base).unwrap();
    assert!((outcome.links[0].utilization - 0.2).abs() < 1e-12);
    assert_eq!(outcome.links[0].synchronization, None);
    assert_eq!((outcome.from, outcome.to), (0.0, 10.0));
}

/// Plausible models of every kind: conservation and bounds must hold.
fn any_model() -> impl Strategy<Value = FluidModel> {
    let flow = (0.005..0.3_f64, 0..6_usize, 0..3_usize, 0.05..1.0_f64);
    let counts = prop_oneof![
        Just(CutCountDistribution::Fixed),
        Just(CutCountDistribution::Uniform),
        Just(CutCountDistribution::TruncatedNormal),
        Just(CutCountDistribution::Empirical(vec![0.2, 0.5, 1.0])),
    ];
    let victims = prop_oneof![
        Just(Victims::HighestRate),
        Just(Victims::Random),
        Just(Victims::RateProportional),
    ];
    (
        prop::collection::vec(flow, 1..12),
        (
            500.0..2e5_f64,
            0.0..2000.0_f64,
            0.3..3.0_f64,
            0.0..500.0_f64,
        ),
        (0.0..1.0_f64, counts, victims),
        (prop::bool::ANY, 0.0..0.5_f64, 0..1000_u64),
    )
        .prop_map(
            |(flows, (capacity, buffer, ratio, other), (minimum, count, victims), rest)| {
                let (use_red, load, seed) = rest;
                let queue = if use_red {
                    red(2.0)
                } else {
                    QueueDistribution::DropTail
                };
                let mean = load * capacity;
                let background = Background::Resampled {
                    mean,
                    deviation: 0.1 * mean,
                    interval: 0.7,
                };
                let mut all = laws().to_vec();
                all.push(FluidLaw::NewReno(NewReno {
                    packets_per_ack: 2.0,
                }));
                all.push(FluidLaw::Scalable(Scalable::default()));
                FluidModel {
                    cancel: forebay_scenario::Cancel::default(),
                    links: vec![
                        FluidLink {
                            capacity,
                            steps: None,
                            buffer,
                            background,
                            queue,
                        },
                        FluidLink {
                            capacity: ratio * capacity,
                            steps: None,
                            buffer: other,
                            background: Background::Constant(0.0),
                            queue: QueueDistribution::DropTail,
                        },
                    ],
                    target: 0,
                    paths: vec![vec![0], vec![0, 1], vec![1, 0]],
                    laws: all,
                    flows: flows
                        .into_iter()
                        .map(|(propagation, law, path, size)| FluidFlow {
                            propagation,
                            law,
                            path,
                            size,
                            initial_window: None,
                            limits: Limits::default(),
                        })
                        .collect(),
                    synchronization: Synchronization {
                        minimum,
                        count,
                        victims,
                    },
                    measure: Measure::Fixed { start: 5.0 },
                    horizon: 40.0,
                    tolerance: 1e-4,
                    trace: Some(1.0),
                    seed: Seed {
                        seed,
                        replication: 0,
                    },
                }
            },
        )
}

/// Any number that a caller may pass.
fn wild() -> impl Strategy<Value = f64> {
    prop_oneof![
        prop::num::f64::ANY,
        Just(0.0),
        Just(-1.0),
        Just(1e300),
        Just(f64::NAN),
        Just(f64::INFINITY),
        1e-9..1e9_f64,
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn packets_are_conserved_and_figures_bounded(model in any_model()) {
        let outcome = integrate(&model).unwrap();
        prop_assert!(outcome.conservation < 1e-9, "{}", outcome.conservation);
        for (link, given) in outcome.links.iter().zip(&model.links) {
            prop_assert!(link.utilization >= 0.0 && link.utilization <= 1.0 + 1e-9);
            prop_assert!(link.queue_mean <= given.buffer * (1.0 + 1e-9));
            prop_assert!(link.delay_max <= given.buffer / given.capacity * (1.0 + 1e-9));
            for (metric, delay) in link.delay_quantiles {
                prop_assert!(delay <= link.delay_max * (1.0 + 1e-2) + 1e-12, "{metric:?}");
            }
            prop_assert!((0.0..=1.0).contains(&link.loss_rate));
        }
        prop_assert!(outcome.goodput.iter().all(|x| x.is_finite() && *x >= -1e-9));
        prop_assert!(outcome.jain > 0.0 && outcome.jain <= 1.0 + 1e-12);
        prop_assert_eq!(outcome.trace.times.len(), 41);
        prop_assert!(outcome.trace.windows.iter().flatten().all(|w| w.is_finite() && *w > 0.0));
        prop_assert_eq!(&integrate(&model).unwrap(), &outcome);
        // Recording does not change the run.
        let quiet = integrate(&FluidModel { trace: None, ..model }).unwrap();
        prop_assert_eq!(&quiet.links, &outcome.links);
    }

    #[test]
    fn no_input_makes_it_panic(
        mut model in any_model(),
        numbers in prop::collection::vec((0..13_usize, wild()), 1..3),
    ) {
        for (which, x) in numbers {
            match which {
                0 => model.links[0].capacity = x,
                1 => model.links[0].buffer = x,
                2 => model.links[1].background = Background::Constant(x),
                3 => model.flows[0].propagation = x,
                4 => model.flows[0].size = x,
                5 => model.flows[0].initial_window = Some(x),
                6 => model.synchronization.minimum = x,
                7 => model.horizon = x.min(1e3),
                8 => model.tolerance = x,
                9 => model.measure = Measure::WholeCycles { start: x, duration: 10.0 },
                10 => model.trace = Some(x),
                11 => model.links[0].queue = red(x),
                _ => model.laws[0] = FluidLaw::Aimd(Aimd { increase: x, decrease: 0.5 }),
            }
        }
        model.horizon = model.horizon.min(1.0);
        if let Ok(outcome) = integrate(&model) {
            prop_assert!(outcome.links[0].utilization.is_finite());
        }
    }
}

#[test]
fn both_integrators_agree_on_red() {
    let mut base = model(&ONE_GIGABIT, &laws()[1], 1.0, 0.3);
    base.links[0].queue = QueueDistribution::Red(Red {
        curve: DropCurve {
            min: 500.0,
            max: 2500.0,
            max_p: 0.02,
            beyond: AboveThreshold::Gentle,
            range: None,
        },
        follow: 2.0,
    });
    base.measure = Measure::FromFirstEvent {
        start: 100.0,
        duration: 300.0,
    };
    let adaptive = integrate(&base).unwrap();
    let fixed = integrate_euler(&base, 0.0005).unwrap();
    let of = |outcome: &forebay_fluid::FluidOutcome| {
        let link = &outcome.links[0];
        (link.utilization, link.queue_mean, link.events)
    };
    let (a, b) = (of(&adaptive), of(&fixed));
    assert!(
        (a.0 - b.0).abs() < 3e-4 && (a.1 / b.1 - 1.0).abs() < 0.01,
        "{a:?} {b:?}"
    );
    assert!(a.2.abs_diff(b.2) <= 1, "{a:?} {b:?}");
}

#[test]
fn the_highest_rate_is_cut_and_not_the_largest_window() {
    let mut base = model(
        &ONE_GIGABIT,
        &FluidLaw::NewReno(NewReno::default()),
        0.0,
        0.0,
    );
    base.synchronization.count = CutCountDistribution::Fixed;
    base.flows.truncate(2);
    // 1000 and 500 packets/s exceed 1200: the queue is clipped from the start.
    base.links[0].capacity = 1200.0;
    for (flow, (propagation, window)) in base.flows.iter_mut().zip([(0.1, 100.0), (0.3, 150.0)]) {
        flow.propagation = propagation;
        flow.initial_window = Some(window);
    }
    base.measure = Measure::Fixed { start: 0.0 };
    base.horizon = 0.16;
    base.trace = Some(0.15);
    for outcome in [integrate(&base), integrate_euler(&base, 0.001)] {
        let windows = outcome.unwrap().trace.windows;
        assert!(windows[0][1] < 55.0 && windows[1][1] > 149.0, "{windows:?}");
    }
}
