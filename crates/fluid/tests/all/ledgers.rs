//! The packets that flows send, lose and deliver add up to those of their link, for every
//! integrator.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use forebay_congestion::aimd::Aimd;
use forebay_congestion::cubic::Cubic;
use forebay_congestion::fluid::FluidLaw;
use forebay_congestion::hstcp::{HstcpResponse, HstcpTrajectory};
use forebay_congestion::htcp::Htcp;
use forebay_discipline::{AboveThreshold, DropCurve};
use forebay_fluid::{
    Background, FluidFlow, FluidLink, FluidModel, FluidOutcome, Limits, Measure, QueueDistribution,
    Red, Synchronization, integrate, integrate_coupled, integrate_euler,
};
use forebay_random::Seed;

fn laws() -> [FluidLaw; 4] {
    let hstcp = HstcpTrajectory::new(HstcpResponse::default()).unwrap();
    [
        FluidLaw::Aimd(Aimd::default()),
        FluidLaw::Cubic(Cubic::of_2008()),
        FluidLaw::Hstcp(hstcp),
        FluidLaw::Htcp(Htcp::default()),
    ]
}

/// Three flows of unequal packets and round trips on a link of 5000 packets/s. A stream takes a
/// fifth of it.
fn shared(law: usize, queue: QueueDistribution) -> FluidModel {
    let flow = |(size, propagation)| FluidFlow {
        propagation,
        law: 0,
        path: 0,
        size,
        initial_window: None,
        limits: Limits::default(),
    };
    FluidModel {
        links: vec![FluidLink {
            capacity: 5000.0,
            steps: None,
            buffer: 150.0,
            background: Background::Constant(1000.0),
            queue,
        }],
        target: 0,
        paths: vec![vec![0]],
        laws: vec![laws()[law].clone()],
        flows: [(1.0, 0.04), (2.0, 0.06), (0.5, 0.1)].map(flow).to_vec(),
        synchronization: Synchronization {
            minimum: 0.4,
            ..Synchronization::default()
        },
        measure: Measure::Fixed { start: 20.0 },
        horizon: 60.0,
        tolerance: 1e-4,
        trace: None,
        cancel: forebay_scenario::Cancel::default(),
        seed: Seed {
            seed: 1,
            replication: 0,
        },
    }
}

fn red() -> QueueDistribution {
    QueueDistribution::Red(Red {
        curve: DropCurve {
            min: 20.0,
            max: 120.0,
            max_p: 0.1,
            beyond: AboveThreshold::Gentle,
            range: None,
        },
        follow: 10.0,
    })
}

/// An integrator.
type Method = fn(&FluidModel) -> FluidOutcome;

const METHODS: [(&str, Method); 3] = [
    ("adaptive", |model| integrate(model).unwrap()),
    ("euler", |model| integrate_euler(model, 5e-4).unwrap()),
    ("coupled", |model| integrate_coupled(model).unwrap()),
];

#[test]
fn flows_and_link_keep_the_same_books() {
    for law in 0..laws().len() {
        for (early, queue) in [(false, QueueDistribution::DropTail), (true, red())] {
            let shared = shared(law, queue);
            for (name, method) in METHODS {
                let outcome = method(&shared);
                let link = &outcome.links[0];
                let time = outcome.to - outcome.from;
                assert!((time - 40.0).abs() < 1e-9 && outcome.conservation < 1e-9);
                let sized = |values: &[f64]| -> f64 {
                    let flows = values.iter().zip(&shared.flows);
                    flows.map(|(value, flow)| value * flow.size).sum()
                };
                let stream = 1000.0 * time;
                let what = format!("{} {name} {early} {outcome:?}", laws()[law].name());
                let near = |ours: f64, theirs: f64, tolerance: f64| {
                    assert!(
                        (ours / theirs - 1.0).abs() < tolerance,
                        "{ours} {theirs} {what}"
                    );
                };
                near(sized(&outcome.sent) + stream, link.arrived, 1e-6);
                assert!(link.loss_rate > 0.0, "{what}");
                // RED's expected early drops count only at the link, except in the coupled model.
                if !early || name == "coupled" {
                    let lost = outcome.sent.iter().zip(&outcome.loss);
                    let lost: Vec<f64> = lost.map(|(sent, loss)| sent * loss).collect();
                    near(sized(&lost) / sized(&outcome.sent), link.loss_rate, 0.03);
                }
                let delivered = sized(&outcome.goodput)
                    + 1000.0 * (1.0 - link.background_loss_rate) * link.delivered;
                near(delivered, link.utilization * 5000.0, 1e-3);
                // Little's law: the mean queue is the accepted rate times the mean waiting time.
                let accepted = link.arrived * (1.0 - link.loss_rate) / time;
                near(link.queue_mean, accepted * link.delay_mean, 0.01);
                assert!(link.delay_max <= 150.0 / 5000.0 * (1.0 + 1e-9), "{what}");
                let squares: f64 = outcome
                    .goodput
                    .iter()
                    .zip(&shared.flows)
                    .map(|(g, f)| g * f.size * g * f.size)
                    .sum();
                let sum = sized(&outcome.goodput);
                near(outcome.jain, sum * sum / (3.0 * squares), 1e-9);
            }
        }
    }
}

/// A link twice as fast, with half the round trips and the same windows, gives the same result in
/// half the time.
#[test]
fn a_faster_clock_changes_nothing() {
    // CUBIC and H-TCP grow with the clock, so they are excluded.
    for law in [0, 2] {
        for queue in [QueueDistribution::DropTail, red()] {
            let slow = shared(law, queue);
            let mut fast = slow.clone();
            for flow in &mut fast.flows {
                flow.propagation /= 2.0;
            }
            fast.links[0].capacity *= 2.0;
            fast.links[0].background = Background::Constant(2000.0);
            if let QueueDistribution::Red(red) = &mut fast.links[0].queue {
                red.follow *= 2.0;
            }
            fast.measure = Measure::Fixed { start: 10.0 };
            fast.horizon = 30.0;
            for (name, method) in METHODS {
                if name == "euler" {
                    continue; // The step is given in seconds.
                }
                let (one, two) = (method(&slow), method(&fast));
                let (a, b) = (&one.links[0], &two.links[0]);
                let near = |x: f64, y: f64| {
                    assert!(
                        (x / y - 1.0).abs() < 2e-3,
                        "{x} {y} {name} {law} {a:?} {b:?}"
                    );
                };
                near(a.utilization, b.utilization);
                near(a.arrived, b.arrived);
                near(a.queue_mean, b.queue_mean);
                near(a.delay_mean, 2.0 * b.delay_mean);
                near(one.jain, two.jain);
            }
        }
    }
}
