//! Limits of flows: access links and receive windows, with both integrators.

use crate::physics::single_flow;
use crate::settings::{ONE_GIGABIT, laws, model};
use forebay_fluid::{
    Background, FluidLink, FluidModel, Limits, Measure, QueueDistribution, integrate,
    integrate_euler,
};

/// The model with limits for the flow with this number.
fn limited(model: &FluidModel, flow: usize, limits: Limits) -> FluidModel {
    let mut changed = model.clone();
    changed.flows[flow].limits = limits;
    changed
}

#[test]
fn an_access_link_holds_its_flow_to_its_rate_and_leaves_the_rest_to_the_others() {
    let mut base = model(&ONE_GIGABIT, &laws()[0], 1.0, 0.2);
    base.measure = Measure::WholeCycles {
        start: 2000.0,
        duration: 2000.0,
    };
    base.horizon = 5000.0;
    let access_rate = 0.03 * base.links[0].capacity;
    let held = Limits {
        access_rate,
        ..Limits::default()
    };
    let fixed = integrate_euler(&limited(&base, 0, held), 0.002).unwrap();
    assert!(
        (fixed.goodput[0] / access_rate - 1.0).abs() < 2e-3,
        "{}",
        fixed.goodput[0]
    );
    // The same access link is a link of the flow's path, with the adaptive integrator.
    let mut chain = base.clone();
    chain.links.push(FluidLink {
        capacity: access_rate,
        steps: None,
        buffer: 1e4,
        background: Background::Constant(0.0),
        queue: QueueDistribution::DropTail,
    });
    chain.paths.push(vec![1, 0]);
    chain.flows[0].path = 1;
    chain.flows[0].initial_window = Some(100.0);
    let adaptive = integrate(&chain).unwrap();
    let (one, other) = (fixed.links[0].utilization, adaptive.links[0].utilization);
    assert!((one - other).abs() < 1e-3, "{one} {other}");
    for (one, other) in fixed.goodput.iter().zip(&adaptive.goodput) {
        assert!((one / other - 1.0).abs() < 5e-3, "{one} {other}");
    }
}

#[test]
fn a_full_access_queue_makes_the_sawtooth_of_its_own_link() {
    // One flow has an access link of half the rate: its closed form is that of the lower rate.
    let (bdp, x) = (20_000.0, 0.3);
    let exact = {
        let w0 = 0.5 * (1.0 + x);
        let quadratic = x + 0.5 * x * x;
        (0.5 * (1.0 - w0 * w0) + quadratic) / (1.0 - w0 + quadratic)
    };
    let mut base = single_flow(bdp, 1.0, 0.5);
    base.links[0].capacity *= 2.0;
    let cycle = 0.1 * bdp * (1.0 + x) * (1.0 + x);
    base.measure = Measure::Fixed { start: 2.0 * cycle };
    base.horizon = 22.0 * cycle;
    base.flows[0].limits = Limits {
        access_rate: bdp / 0.1,
        access_buffer: x * bdp,
        ..Limits::default()
    };
    let outcome = integrate_euler(&base, 0.002).unwrap();
    let found = 2.0 * outcome.links[0].utilization;
    assert!((found - exact).abs() < 5e-3, "{found} {exact}");
    assert_eq!(outcome.links[0].events, 0);
}

#[test]
fn a_receive_window_bounds_the_rate() {
    let mut base = model(&ONE_GIGABIT, &laws()[2], 1.0, 0.2);
    base.measure = Measure::Fixed { start: 100.0 };
    base.horizon = 200.0;
    for flow in &mut base.flows {
        flow.limits.receive_window = 1000.0;
    }
    let outcome = integrate_euler(&base, 0.002).unwrap();
    let expected: f64 = base.flows.iter().map(|f| 1000.0 / f.propagation).sum();
    let found: f64 = outcome.goodput.iter().sum();
    assert!((found / expected - 1.0).abs() < 1e-6, "{found} {expected}");
    assert!(outcome.peak_window.iter().all(|&w| w == 1000.0));
}

#[test]
fn limits_that_cannot_be_met_are_recognized() {
    let base = model(&ONE_GIGABIT, &laws()[1], 0.3, 0.1);
    let plain = integrate(&base).unwrap();
    let rates = |flow: usize| plain.peak_window[flow] / base.flows[flow].propagation;
    let with = |access_rate: f64| {
        let limits = Limits {
            access_rate,
            ..Limits::default()
        };
        plain.within_limits(&limited(&base, 3, limits))
    };
    assert!(with(1.001 * rates(3)) && !with(0.999 * rates(3)));
    // Loose limits do not change forward Euler.
    let loose = limited(
        &base,
        3,
        Limits {
            access_rate: 1.001 * rates(3) * 2.0,
            access_buffer: 10.0,
            receive_window: 2.0 * plain.peak_window[3],
        },
    );
    let short = |model: &FluidModel| FluidModel {
        horizon: 200.0,
        measure: Measure::Fixed { start: 50.0 },
        ..model.clone()
    };
    let (one, other) = (
        integrate_euler(&short(&base), 0.002).unwrap(),
        integrate_euler(&short(&loose), 0.002).unwrap(),
    );
    assert!((one.links[0].utilization - other.links[0].utilization).abs() < 1e-9);
}
