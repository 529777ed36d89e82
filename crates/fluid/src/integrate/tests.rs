//! Orders of convergence, and the limit on work.

use forebay_congestion::aimd::Aimd;
use forebay_congestion::cubic::{Cubic, FriendlyRegion};
use forebay_congestion::fluid::FluidLaw;
use forebay_congestion::hstcp::{HstcpResponse, HstcpTrajectory};
use forebay_congestion::htcp::Htcp;
use forebay_congestion::scalable::Scalable;
use forebay_random::Seed;

use super::location::Ending;
use super::*;
use crate::integrate_euler;
use crate::model::{Background, FluidFlow, FluidLink, Limits, QueueLaw};
use crate::synchronisation::Synchronisation;

/// Flows of every smooth law that fill a deep queue, without any event for seconds.
fn filling(laws: Vec<FluidLaw>) -> FluidModel {
    let count = laws.len();
    FluidModel {
        links: vec![FluidLink {
            capacity: 10_000.0,
            buffer: 1e5,
            background: Background::Constant(1000.0),
            queue: QueueLaw::DropTail,
        }],
        target: 0,
        paths: vec![vec![0]],
        laws,
        flows: (0..8)
            .map(|i| FluidFlow {
                propagation: 0.2 + 0.03 * i as f64,
                law: i % count,
                path: 0,
                size: 1.0,
                initial_window: Some(400.0 + 30.0 * i as f64),
                limits: Limits::default(),
            })
            .collect(),
        synchronisation: Synchronisation::default(),
        measure: Measure::Fixed { start: 0.0 },
        horizon: 2.0,
        tolerance: 1e-4,
        trace: None,
        seed: Seed::default(),
    }
}

/// Every law without its kinks: H-TCP past its low-speed period, CUBIC without its friendly
/// region.
fn smooth() -> FluidModel {
    filling(vec![
        FluidLaw::Aimd(Aimd::default()),
        FluidLaw::Hstcp(HstcpTrajectory::new(HstcpResponse::default()).unwrap()),
        FluidLaw::Cubic(Cubic {
            scale: 4.0,
            friendly_region: FriendlyRegion::Off,
            ..Cubic::default()
        }),
        FluidLaw::Htcp(Htcp {
            low_speed_period: 0.0,
            ..Htcp::default()
        }),
        FluidLaw::Scalable(Scalable {
            increase: 0.3,
            decrease: 0.125,
        }),
    ])
}

/// The queue at 0.64 s by steps of one size and method.
fn queue_by(model: &FluidModel, steps: u32, method: Method) -> f64 {
    let mut run = Run::new(model);
    run.place_links();
    let h = 0.64 / f64::from(steps);
    for k in 1..=steps {
        run.prepare();
        run.method = method;
        match method {
            Method::Rosenbrock => _ = run.try_step(h),
            Method::Taylor => {
                run.restart = 1.0;
                let _ = run.try_taylor(h);
            }
        }
        let (theta, ending) = run.first_ending(h);
        assert_eq!((theta, ending), (1.0, Ending::None));
        run.commit(h, theta).unwrap();
        run.now = f64::from(k) * h;
    }
    run.links[0].queue
}

fn order(error: impl Fn(u32) -> f64, steps: u32) -> f64 {
    libm::log2(error(steps) / error(2 * steps))
}

#[test]
fn the_rosenbrock_step_has_order_four() {
    let model = smooth();
    let exact = queue_by(&model, 4096, Method::Rosenbrock);
    let error = |steps| (queue_by(&model, steps, Method::Rosenbrock) - exact).abs();
    let found = order(error, 64);
    assert!((found - 4.0).abs() < 0.2, "{found}");
}

#[test]
fn the_taylor_step_has_order_two() {
    let model = smooth();
    let exact = queue_by(&model, 4096, Method::Rosenbrock);
    let error = |steps| (queue_by(&model, steps, Method::Taylor) - exact).abs();
    let found = order(error, 64);
    assert!((found - 2.0).abs() < 0.2, "{found}");
}

#[test]
fn forward_euler_has_order_one() {
    let mut model = smooth();
    model.horizon = 0.64;
    let mean = |step: f64| integrate_euler(&model, step).unwrap().links[0].queue_mean;
    let exact = 2.0 * mean(0.64 / 65_536.0) - mean(0.64 / 32_768.0);
    let error = |steps: u32| (mean(0.64 / f64::from(steps)) - exact).abs();
    let found = order(error, 256);
    assert!((found - 1.0).abs() < 0.2, "{found}");
}

#[test]
fn dense_output_meets_the_step_it_belongs_to() {
    // A step cut short by the dense output and a step of that length agree to order 3.
    let model = smooth();
    let short = |h: f64, theta: f64| {
        let mut run = Run::new(&model);
        run.place_links();
        run.prepare();
        run.method = Method::Rosenbrock;
        let _ = run.try_step(h);
        let _ = run.first_ending(h);
        run.commit(h, theta).unwrap();
        run.links[0].queue
    };
    let error = |steps: u32| {
        let h = 0.64 / f64::from(steps);
        (short(h, 0.5) - short(0.5 * h, 1.0)).abs()
    };
    let found = order(error, 64);
    assert!((found - 4.0).abs() < 0.2, "local order {found}");
}

#[test]
fn a_run_that_takes_too_long_is_given_up() {
    let model = smooth();
    let mut run = Run::new(&model);
    run.work = WORK_LIMIT;
    assert!(matches!(run.go(), Err(FluidError::TooLong { .. })));
}
