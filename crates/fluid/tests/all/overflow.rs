//! Properties of continuing overflows: many flows of unequal round trips over small buffers.

use crate::settings::{ONE_GIGABIT, laws};
use forebay_congestion::aimd::Aimd;
use forebay_congestion::cubic::Cubic;
use forebay_congestion::fluid::FluidLaw;
use forebay_congestion::scalable::Scalable;
use forebay_fluid::{
    Background, FluidFlow, FluidLink, FluidModel, FluidOutcome, Limits, Measure, QueueDistribution,
    Synchronization, Victims, integrate, integrate_euler_with, integrate_with,
};
use forebay_random::Seed;
use forebay_scenario::Cancel;
use proptest::prelude::*;

/// Flows with evenly spaced round trips from `shortest` to `longest` seconds, and with alternating
/// laws.
fn shared(
    (capacity, buffer): (f64, f64),
    flows: u32,
    (shortest, longest): (f64, f64),
    laws: Vec<FluidLaw>,
) -> FluidModel {
    let flow = |i: u32| FluidFlow {
        propagation: shortest + (longest - shortest) * f64::from(i) / f64::from(flows.max(2) - 1),
        law: i as usize % laws.len(),
        path: 0,
        size: 1.0,
        initial_window: None,
        limits: Limits::default(),
    };
    FluidModel {
        links: vec![FluidLink {
            capacity,
            steps: None,
            buffer,
            background: Background::Constant(0.0),
            queue: QueueDistribution::DropTail,
        }],
        target: 0,
        paths: vec![vec![0]],
        flows: (0..flows).map(flow).collect(),
        laws,
        synchronization: Synchronization {
            minimum: 0.3,
            ..Synchronization::default()
        },
        measure: Measure::Fixed { start: 20.0 },
        horizon: 80.0,
        tolerance: 1e-4,
        trace: None,
        seed: Seed::default(),
        cancel: Cancel::default(),
    }
}

fn aimd() -> Vec<FluidLaw> {
    vec![FluidLaw::Aimd(Aimd::default())]
}

/// Checks properties of every outcome: packets are conserved, delays are means of waiting times,
/// and losses do not exceed the excess.
fn assert_sound(model: &FluidModel, outcome: &FluidOutcome) -> Result<(), TestCaseError> {
    let (link, of) = (&outcome.links[0], &model.links[0]);
    let time = outcome.to - outcome.from;
    prop_assert!(outcome.conservation < 1e-9, "{}", outcome.conservation);
    prop_assert!(
        link.delay_mean <= link.delay_max,
        "{} {}",
        link.delay_mean,
        link.delay_max
    );
    prop_assert!(link.delay_max <= of.buffer / of.capacity * (1.0 + 1e-12));
    prop_assert!(link.queue_mean <= of.buffer * (1.0 + 1e-12));
    let (lost, carried) = (
        link.loss_rate * link.arrived,
        link.utilization * of.capacity * time,
    );
    prop_assert!(
        (link.arrived - lost - carried).abs() <= of.buffer + 1e-6 * link.arrived,
        "{lost} {carried}"
    );
    prop_assert!(lost <= (link.arrived - carried).max(0.0) + of.buffer + 1e-6 * link.arrived);
    // While the queue is full all arrivals are lost alike. Therefore a flow's losses are at most
    // what it sent then, and the sum over flows is that of the link.
    let of_flows: f64 = outcome
        .loss
        .iter()
        .zip(&outcome.sent)
        .map(|(p, n)| p * n)
        .sum();
    let sent: f64 = outcome.sent.iter().sum();
    prop_assert!(outcome.loss.iter().all(|p| (0.0..=1.0).contains(p)));
    prop_assert!(
        (of_flows - lost).abs() <= 1e-6 * link.arrived + 1e-6,
        "{of_flows} {lost}"
    );
    prop_assert!((sent - link.arrived).abs() <= 1e-6 * link.arrived + 1e-6);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn figures_are_sound_however_flows_differ(
        capacity in 500.0..20_000.0_f64,
        buffer in 0.0..400.0_f64,
        flows in 1..40_u32,
        shortest in 0.001..0.05_f64,
        ratio in 1.0..50.0_f64,
        first in prop_oneof![Just(None), Just(Some(1e9)), Just(Some(0.01))],
        timeout in prop_oneof![Just(0.0), Just(0.2), Just(1.0)],
    ) {
        let mut all = laws().to_vec();
        all.push(FluidLaw::Scalable(Scalable::default()));
        let mut model = shared((capacity, buffer), flows, (shortest, shortest * ratio), all);
        model.flows[0].initial_window = first;
        let outcome = integrate_with(&model, &vec![timeout; flows as usize]).unwrap();
        assert_sound(&model, &outcome)?;
    }
}

/// Kumar's count law cuts a flow once an event, and an event lasts the longest round trip. A flow
/// with a fiftieth of it would grow fifty rounds per cut, so Scalable TCP would gain a factor of
/// 1.4 per event.
#[test]
fn a_flow_of_a_short_round_trip_does_not_run_away_beside_a_long_one() {
    for buffer in [4.0, 20.0, 100.0, 500.0] {
        let both = vec![
            FluidLaw::Scalable(Scalable::default()),
            FluidLaw::Cubic(Cubic::default()),
        ];
        let model = shared((4166.0, buffer), 2, (0.002, 0.1), both);
        let outcome = integrate(&model).unwrap();
        assert!(
            outcome.links[0].loss_rate < 0.01,
            "{buffer}: {}",
            outcome.links[0].loss_rate
        );
        for (flow, peak) in model.flows.iter().zip(&outcome.peak_window) {
            let room = 4166.0 * flow.propagation + buffer;
            assert!(*peak < 1.3 * room + 10.0, "{buffer}: {peak} in {room}");
        }
    }
}

/// A window beyond the network's capacity is cut to the acknowledged packets, not by repeated
/// halving.
#[test]
fn a_window_beyond_all_room_falls_to_it_at_the_first_cut() {
    let mut model = shared((1000.0, 50.0), 2, (0.1, 0.1), aimd());
    model.flows[0].initial_window = Some(1e9);
    model.trace = Some(0.01);
    let outcome = integrate(&model).unwrap();
    let trace = &outcome.trace;
    let after = trace.times.iter().position(|time| *time > 0.35).unwrap();
    assert!(trace.windows[0][after] <= 1000.0 * 0.1 + 50.0 + 5.0);
}

/// Flows of equal round trips answer an event at the same instant, which closes it. The result
/// equals the published law bit for bit. So a sawtooth of AIMD keeps its closed form, for many
/// flows as for one.
#[test]
fn equal_round_trips_leave_the_published_law_alone() {
    for flows in [1, 4, 50] {
        for buffer in [0.05, 0.3] {
            let bdp = 100.0 * f64::from(flows);
            let mut model = shared((bdp / 0.1, buffer * bdp), flows, (0.1, 0.1), aimd());
            model.synchronization.minimum = 1.0;
            for flow in &mut model.flows {
                flow.initial_window = Some(50.0);
            }
            model.measure = Measure::WholeCycles {
                start: 50.0,
                duration: 200.0,
            };
            model.horizon = 300.0;
            let plain = integrate(&model).unwrap();
            let (w0, x): (f64, f64) = (0.5 * (1.0 + buffer), buffer);
            let quadratic = x + 0.5 * x * x;
            let exact = (0.5 * (1.0 - w0 * w0) + quadratic) / (1.0 - w0 + quadratic);
            let link = &plain.links[0];
            assert!(
                (link.utilization - exact).abs() < 0.02,
                "{} {exact}",
                link.utilization
            );
            // The queue follows the windows. When it is full, already one packet a round trip is
            // too many, and another half until the cut. A cycle has 3/8 W^2 packets.
            let peak = 100.0 * (1.0 + buffer) + 1.0;
            let expected = 1.5 / (0.375 * peak * peak);
            assert!(
                (link.loss_rate / expected - 1.0).abs() < 0.1,
                "{} {expected}",
                link.loss_rate
            );
            assert_eq!(link.synchronization, Some(1.0));
            // No window comes near to a timeout.
            let timeouts = vec![1.0; flows as usize];
            assert_eq!(integrate_with(&model, &timeouts).unwrap(), plain);
        }
    }
}

/// In a continuing overflow all senders lose. A flow that the event's law always spares is cut all
/// the same, in proportion to its packets.
#[test]
fn a_flow_that_an_event_spares_loses_once_it_overflows_the_link_itself() {
    let mut model = shared((1000.0, 30.0), 2, (0.02, 0.2), aimd());
    model.synchronization.minimum = 0.0;
    model.synchronization.count = forebay_fluid::CutCountDistribution::Fixed;
    // The second flow loses in every event. The first one, with a tenth of its round trip, loses in
    // none.
    model.synchronization.victims = Victims::Priority(vec![vec![0.0, 1.0]]);
    let outcome = integrate(&model).unwrap();
    let room = 1000.0 * 0.02 + 30.0;
    assert!(
        outcome.peak_window[0] < 2.0 * room,
        "{}",
        outcome.peak_window[0]
    );
    assert!(
        outcome.links[0].loss_rate < 0.05,
        "{}",
        outcome.links[0].loss_rate
    );
    assert!(outcome.goodput[0] > 3.0 * outcome.goodput[1]);
    assert!(outcome.links[0].synchronization.unwrap() > 0.5);
}

/// Unresponsive traffic above the capacity causes losses for any behavior of the flows. Each flow
/// is cut at most once in a round trip and keeps a window.
#[test]
fn an_overflow_without_end_leaves_every_flow_some_window() {
    let mut model = shared((1000.0, 50.0), 5, (0.01, 0.1), aimd());
    model.links[0].background = Background::Constant(1200.0);
    let outcome = integrate(&model).unwrap();
    assert!((outcome.links[0].utilization - 1.0).abs() < 1e-9);
    for (flow, sent) in model.flows.iter().zip(&outcome.sent) {
        let window = sent / (outcome.to - outcome.from) * (flow.propagation + 0.05);
        // The window grows by one packet a round trip and halves at most once a round trip, so it
        // is above 1.
        assert!(window > 1.0 && window < 10.0, "{window}");
    }
}

/// Timeouts reduce the load of losses at windows below four packets. Without them, windows of a
/// packet or two overflow the link permanently.
#[test]
fn timeouts_relieve_a_link_that_windows_of_a_packet_overflow() {
    let model = shared((833.0, 20.0), 50, (0.005, 0.1), aimd());
    let without = integrate(&model).unwrap().links[0].loss_rate;
    let with = integrate_with(&model, &[1.0; 50]).unwrap().links[0].clone();
    assert!(without > 0.4, "{without}");
    assert!(
        with.loss_rate > 0.05 && with.loss_rate < 0.2,
        "{}",
        with.loss_rate
    );
    assert!(with.utilization > 0.99);
    // A longer timer reduces the load more.
    let longer = integrate_with(&model, &[4.0; 50]).unwrap().links[0].loss_rate;
    assert!(longer < 0.8 * with.loss_rate, "{longer} {}", with.loss_rate);
}

#[test]
fn small_euler_steps_lose_as_much_as_the_adaptive_integrator() {
    let base = shared(
        (4166.0, 20.0),
        30,
        (0.005, 0.2),
        vec![FluidLaw::Cubic(Cubic::default())],
    );
    for timeout in [0.0, 1.0] {
        let mean = |run: &dyn Fn(&FluidModel) -> FluidOutcome| {
            let of_seed = |replication| {
                let seed = Seed {
                    seed: 1,
                    replication,
                };
                run(&FluidModel {
                    seed,
                    ..base.clone()
                })
                .links[0]
                    .loss_rate
            };
            (0..4).map(of_seed).sum::<f64>() / 4.0
        };
        let timeouts = [timeout; 30];
        let ours = mean(&|model| integrate_with(model, &timeouts).unwrap());
        let euler = mean(&|model| integrate_euler_with(model, 2e-4, &timeouts).unwrap());
        assert!(
            (ours / euler - 1.0).abs() < 0.1,
            "{timeout}: {ours} {euler}"
        );
    }
}

#[test]
fn timeouts_are_none_or_one_for_each_flow() {
    let model = crate::settings::model(&ONE_GIGABIT, &laws()[0], 1.0, 0.1);
    let text = |timeouts: &[f64]| integrate_with(&model, timeouts).unwrap_err().to_string();
    assert!(text(&[1.0; 3]).starts_with("timeouts is 3, allowed is none, or one for each flow"));
    assert!(text(&[-1.0; 10]).starts_with("timeout of flow 0 is -1"));
}

/// If nearly all packets are lost (all but one in 1e9), the accepted packets are not the difference
/// of arrivals and losses.
#[test]
fn delays_keep_their_digits_where_nearly_all_is_lost() {
    let mut model = shared((1000.0, 50.0), 1, (0.1, 0.1), aimd());
    model.links[0].background = Background::Resampled {
        mean: 1e13,
        deviation: 1e12,
        interval: 0.037,
    };
    let link = integrate(&model).unwrap().links[0].clone();
    assert!(link.delay_mean <= link.delay_max);
    assert!(
        (link.delay_mean / 0.05 - 1.0).abs() < 1e-9,
        "{}",
        link.delay_mean
    );
}

/// A long step after a cut once seemed exact, because its error was about to change its sign. The
/// queue was then considered full when it ran empty.
#[test]
fn a_step_that_seems_exact_by_accident_is_not_taken() {
    let mut all = laws().to_vec();
    all.push(FluidLaw::Scalable(Scalable::default()));
    let round_trips = (0.004_655_704_375_075_858, 0.189_476_908_982_106_8);
    let link = (17_822.929_218_479_247, 58.846_170_189_867_67);
    let model = shared(link, 4, round_trips, all);
    let outcome = integrate(&model).unwrap();
    assert_sound(&model, &outcome).unwrap();
    let fine = integrate_euler_with(&model, 2e-5, &[]).unwrap();
    let apart = outcome.links[0].utilization - fine.links[0].utilization;
    assert!(apart.abs() < 1e-3, "{apart}");
}

/// Forward Euler takes at least ten steps, and no step below a tenth of a microsecond.
#[test]
fn steps_of_forward_euler_are_a_tenth_of_the_run_at_most() {
    let model = shared((4166.0, 20.0), 2, (0.1, 0.2), aimd());
    for (step, allowed) in [(8.0, true), (8.1, false), (80.0, false), (1e-8, false)] {
        let outcome = integrate_euler_with(&model, step, &[]);
        let refused = matches!(outcome, Err(forebay_fluid::FluidError::OutOfRange { .. }));
        assert_eq!(refused, !allowed, "{step}: {:?}", outcome.err());
    }
}
