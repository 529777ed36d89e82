//! Tests of the orders of convergence of all methods, and of the work limit.

use forebay_congestion::aimd::Aimd;
use forebay_congestion::cubic::{Cubic, FriendlyRegion};
use forebay_congestion::fluid::FluidLaw;
use forebay_congestion::hstcp::{HstcpResponse, HstcpTrajectory};
use forebay_congestion::htcp::Htcp;
use forebay_congestion::scalable::Scalable;
use forebay_random::Seed;

use crate::adaptive::location::Ending;
use crate::adaptive::{Adaptive, WORK_LIMIT, integrate, integrate_by};
use crate::error::FluidError;
use crate::euler::integrate_euler;
use crate::methods::{METHODS, STANDARD};
use crate::model::{
    Background, FluidFlow, FluidLink, FluidModel, Limits, Measure, QueueDistribution,
};
use crate::rosenbrock::Rosenbrock;
use crate::run::Run;
use crate::synchronization::Synchronization;

/// Flows of all smooth laws that fill a deep queue, without any event for seconds.
fn filling(laws: Vec<FluidLaw>) -> FluidModel {
    let count = laws.len();
    FluidModel {
        links: vec![FluidLink {
            capacity: 10_000.0,
            steps: None,
            buffer: 1e5,
            background: Background::Constant(1000.0),
            queue: QueueDistribution::DropTail,
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
        synchronization: Synchronization::default(),
        measure: Measure::Fixed { start: 0.0 },
        horizon: 2.0,
        tolerance: 1e-4,
        trace: None,
        cancel: forebay_scenario::Cancel::default(),
        seed: Seed::default(),
    }
}

/// Every law without its kinks: H-TCP after its low-speed period, CUBIC without its friendly
/// region.
pub(crate) fn smooth() -> FluidModel {
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

/// Method of the steps of a test.
#[derive(Clone, Copy)]
enum By {
    Euler,
    Taylor,
    Rosenbrock(&'static Rosenbrock),
}

/// Every method with its name and order.
fn methods() -> Vec<(&'static str, u32, By)> {
    let mut all = vec![("Euler", 1, By::Euler), ("Taylor", 2, By::Taylor)];
    all.extend(METHODS.iter().map(|m| (m.name, m.order, By::Rosenbrock(m))));
    all
}

/// The queue at 0.64 s by steps of one size and method.
fn queue_by(model: &FluidModel, steps: u32, by: By) -> f64 {
    let h = 0.64 / f64::from(steps);
    let table = match by {
        By::Euler => return queue_by_euler(model, h),
        By::Taylor => STANDARD,
        By::Rosenbrock(table) => table,
    };
    let mut run = Run::new(model, model.measure).unwrap();
    let mut step = Adaptive::new(&mut run, table).step;
    for k in 1..=steps {
        step.prepare(&mut run);
        if let By::Taylor = by {
            let _ = step.try_taylor(&mut run, h);
        } else {
            let _ = step.try_rosenbrock(&mut run, h);
        }
        let (theta, ending) = step.first_ending(&mut run, h);
        assert_eq!((theta, ending), (1.0, Ending::None));
        step.commit(&mut run, (h, theta)).unwrap();
        run.now = f64::from(k) * h;
    }
    run.links[0].queue
}

/// The last sample of the queue, at the beginning of a step at 0.64 s.
fn queue_by_euler(model: &FluidModel, step: f64) -> f64 {
    let mut model = model.clone();
    model.horizon = 0.64 + 0.9 * step;
    model.trace = Some(0.64);
    let outcome = integrate_euler(&model, step).unwrap();
    outcome.trace.queues[0][1]
}

fn order(error: impl Fn(u32) -> f64, steps: u32) -> f64 {
    libm::log2(error(steps) / error(2 * steps))
}

#[test]
fn every_method_has_its_order() {
    let model = smooth();
    let exact = queue_by(&model, 4096, By::Rosenbrock(STANDARD));
    for (name, expected, by) in methods() {
        let error = |steps| (queue_by(&model, steps, by) - exact).abs();
        let steps = if expected == 1 { 256 } else { 64 };
        let found = order(error, steps);
        assert!((found - f64::from(expected)).abs() < 0.2, "{name}: {found}");
    }
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
    // A step cut short by the dense output and a step of that length agree to the order of the
    // dense output.
    let model = smooth();
    for table in METHODS {
        let short = |h: f64, theta: f64| {
            let mut run = Run::new(&model, model.measure).unwrap();
            let mut step = Adaptive::new(&mut run, table).step;
            step.prepare(&mut run);
            let _ = step.try_rosenbrock(&mut run, h);
            let _ = step.first_ending(&mut run, h);
            step.commit(&mut run, (h, theta)).unwrap();
            run.links[0].queue
        };
        let error = |steps: u32| {
            let h = 0.64 / f64::from(steps);
            (short(h, 0.5) - short(0.5 * h, 1.0)).abs()
        };
        let found = order(error, 64);
        let expected = f64::from(table.dense_order + 1);
        assert!(
            (found - expected).abs() < 0.2,
            "{}: local order {found}",
            table.name
        );
    }
}

#[test]
fn every_method_gives_the_same_answer() {
    let mut model = smooth();
    model.links[0].buffer = 2000.0;
    model.horizon = 60.0;
    let expected = integrate(&model).unwrap().links[0].clone();
    assert!(expected.events > 2);
    for table in METHODS {
        let link = &integrate_by(table, &model, &[]).unwrap().links[0];
        assert_eq!(link.events, expected.events, "{}", table.name);
        let apart = (link.utilization - expected.utilization).abs();
        assert!(apart < model.tolerance, "{}: {apart}", table.name);
        let queues = link.queue_mean / expected.queue_mean - 1.0;
        assert!(queues.abs() < 10.0 * model.tolerance, "{queues}");
    }
}

#[test]
fn a_run_that_takes_too_long_is_given_up() {
    let model = smooth();
    let mut run = Run::new(&model, model.measure).unwrap();
    let mut adaptive = Adaptive::new(&mut run, STANDARD);
    run.refused = WORK_LIMIT / model.flows.len() as u64;
    let found = run.complete(&mut adaptive);
    assert!(matches!(found, Err(FluidError::TooLong { .. })));
}
