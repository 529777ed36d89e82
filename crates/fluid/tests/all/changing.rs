//! Links whose capacity changes: queues and waiting times by hand, windows, and properties of every
//! integrator.

use std::sync::Arc;

use forebay_congestion::aimd::Aimd;
use forebay_congestion::fluid::FluidLaw;
use forebay_congestion::newreno::NewReno;
use forebay_fluid::{
    Background, CapacitySteps, FluidError, FluidFlow, FluidLink, FluidModel, FluidOutcome, Limits,
    LinkOutcome, Measure, QueueDistribution, Synchronization, integrate, integrate_coupled,
    integrate_euler,
};
use forebay_random::Seed;
use forebay_scenario::{Cancel, Metric};
use forebay_units::{Rate, RateSteps, Time};
use proptest::prelude::*;

/// Repeating steps of the given seconds and packets per second.
fn steps(list: &[(f64, f64)]) -> RateSteps {
    let mut end = Time::ZERO;
    let mut all = Vec::new();
    for (seconds, packets) in list {
        all.push((end, Rate::from_bits_per_second((8.0 * packets) as u64)));
        end += Time::from_picos((seconds * 1e12).round() as u64);
    }
    RateSteps::new(&all, Some(end)).expect("steps")
}

/// One link with the steps `list`, for `flows` New Reno flows of 100 ms and `load` packets per
/// second.
fn changing(list: &[(f64, f64)], buffer: f64, (flows, load): (usize, f64)) -> FluidModel {
    let served: f64 = list.iter().map(|(seconds, rate)| seconds * rate).sum();
    let period: f64 = list.iter().map(|(seconds, _)| seconds).sum();
    let steps = CapacitySteps::new(&steps(list), Rate::as_bytes_per_second);
    let flow = FluidFlow {
        propagation: 0.1,
        law: 0,
        path: 0,
        size: 1.0,
        initial_window: None,
        limits: Limits::default(),
    };
    FluidModel {
        links: vec![FluidLink {
            capacity: served / period,
            steps: Some(Arc::new(steps)),
            buffer,
            background: Background::Constant(load),
            queue: QueueDistribution::DropTail,
        }],
        target: 0,
        paths: vec![vec![0]],
        laws: vec![FluidLaw::NewReno(NewReno::default())],
        flows: vec![flow; flows],
        synchronization: Synchronization::default(),
        measure: Measure::Fixed { start: 40.0 },
        horizon: 100.0,
        tolerance: 1e-4,
        trace: None,
        seed: Seed::default(),
        cancel: Cancel::default(),
    }
}

/// The same with a constant window.
fn steady(list: &[(f64, f64)], window: f64) -> FluidModel {
    let mut model = changing(list, 1e6, (1, 0.0));
    model.laws = vec![FluidLaw::Aimd(Aimd {
        increase: 1e-9,
        decrease: 0.5,
    })];
    model.flows[0].initial_window = Some(window);
    model
}

/// A load beside a nearly empty flow, whose round trip sets the steps of the coupled model.
fn loaded(list: &[(f64, f64)], buffer: f64, load: f64) -> FluidModel {
    let mut model = steady(list, 1e-6);
    model.links[0].buffer = buffer;
    model.links[0].background = Background::Constant(load);
    model
}

/// The outcomes of every integrator. Multiples of the fixed step do not fall on the changes.
fn by_all(model: &FluidModel) -> [(&'static str, FluidOutcome); 3] {
    [
        ("adaptive", integrate(model).expect("a solution")),
        ("euler", integrate_euler(model, 0.0013).expect("a solution")),
        ("coupled", integrate_coupled(model).expect("a solution")),
    ]
}

fn near(found: f64, expected: f64, tolerance: f64, what: &str) {
    let error = (found - expected).abs();
    assert!(error <= tolerance, "{what}: {found} {expected}");
}

/// A constant load on an alternating link, packet by packet. A packet waits until the rate has sent
/// all packets before it (Lindley).
struct ByHand {
    utilization: f64,
    loss_rate: f64,
    queue_mean: f64,
    /// Longest drain time from a fall on, in seconds.
    drain: f64,
    /// Quantiles over time of the drain time, while the rate is below its average and while it is
    /// not.
    phases: [Option<[f64; 2]>; 2],
    /// Waiting times with their packets, the shortest first.
    waits: Vec<(f64, f64)>,
}

impl ByHand {
    fn new(list: &[(f64, f64)], buffer: f64, load: f64) -> Self {
        let (from, to, parts) = (40.0, 100.0, 2000);
        let (mut queue, mut waiting, mut departed, mut lost) = (0.0_f64, 0.0, 0.0, 0.0);
        let mut waits = Vec::new();
        let period: f64 = list.iter().map(|(seconds, _)| seconds).sum();
        let capacity = |time: f64| {
            let mut within = libm::fmod(time, period);
            let at = list.iter().position(|(seconds, _)| {
                within -= seconds;
                within < 0.0
            });
            list[at.unwrap_or(0)].1
        };
        let h = 1.0 / f64::from(parts);
        let middle = |k: i64| (k as f64 + 0.5) * h;
        let served_by = |time: f64, packets: f64| {
            let (mut left, mut at) = (packets, time);
            while left > 0.0 {
                left -= capacity(at) * h;
                at += h;
            }
            at - time
        };
        let (mut entered, mut drain) = (Vec::new(), 0.0_f64);
        let average = list.iter().map(|(s, rate)| s * rate).sum::<f64>() / period;
        let mut drains = [Vec::new(), Vec::new()];
        for k in 0..(to / h) as i64 {
            if capacity(middle(k)) < capacity(middle(k - 1)) && middle(k) > from {
                drain = drain.max(served_by(middle(k), queue));
            }
            if middle(k) > from && k % 7 == 0 {
                let fast = capacity(middle(k)) >= average;
                drains[usize::from(fast)].push(served_by(middle(k), queue));
            }
            let free = queue + (load - capacity(middle(k))) * h;
            let after = free.clamp(0.0, buffer);
            if middle(k) > from {
                waiting += 0.5 * (queue + after) * h;
                lost += (free - buffer).max(0.0);
                departed += load * h - (free - buffer).max(0.0) - (after - queue);
                let accepted = load * h - (free - buffer).max(0.0);
                entered.push((middle(k), 0.5 * (queue + after), accepted));
            }
            queue = after;
        }
        // An accepted packet waits until all packets before it have been sent.
        for (time, ahead, packets) in entered.into_iter().step_by(7) {
            waits.push((served_by(time, ahead), packets));
        }
        waits.sort_by(|a, b| a.0.total_cmp(&b.0));
        let possible: f64 = (0..((to - from) / h) as i64)
            .map(|k| capacity(from + middle(k)) * h)
            .sum();
        Self {
            utilization: departed / possible,
            loss_rate: lost / (load * (to - from)),
            queue_mean: waiting / (to - from),
            drain,
            phases: drains.map(|mut drains| {
                drains.sort_by(f64::total_cmp);
                let at = |share: f64| drains[(share * (drains.len() - 1) as f64) as usize];
                (!drains.is_empty()).then(|| [at(0.5), at(0.99)])
            }),
            waits,
        }
    }

    fn mean(&self) -> f64 {
        let sum: f64 = self
            .waits
            .iter()
            .map(|(wait, packets)| wait * packets)
            .sum();
        sum / self.waits.iter().map(|(_, packets)| packets).sum::<f64>()
    }

    fn quantile(&self, share: f64) -> f64 {
        let mut left = share * self.waits.iter().map(|(_, packets)| packets).sum::<f64>();
        let mut waits = self.waits.iter();
        let found = waits.find(|(_, packets)| {
            left -= packets;
            left <= 0.0
        });
        found.map_or(0.0, |(wait, _)| *wait)
    }

    /// Compares the figures of a link.
    fn compare(&self, outcome: &FluidOutcome, what: &str) {
        let link = &outcome.links[0];
        near(link.utilization, self.utilization, 1e-3, what);
        near(link.loss_rate, self.loss_rate, 1e-3, what);
        near(
            link.queue_mean,
            self.queue_mean,
            2e-3 * self.queue_mean + 1.0,
            what,
        );
        near(link.delay_mean, self.mean(), 0.01 * self.mean(), what);
        for (metric, share) in [(Metric::QueueDelayP50, 0.5), (Metric::QueueDelayP99, 0.99)] {
            let expected = self.quantile(share);
            near(
                quantile(link, metric),
                expected,
                0.01 * expected + 0.004,
                what,
            );
        }
        near(
            link.delay_max,
            self.waits[self.waits.len() - 1].0,
            0.01,
            what,
        );
        let drains = link.drains.expect("a rate that changes");
        near(drains.longest.expect("a fall"), self.drain, 0.01, what);
        for (found, expected) in drains.by_phase.into_iter().zip(self.phases) {
            let pairs = found
                .expect("time")
                .into_iter()
                .zip(expected.expect("time"));
            for (found, expected) in pairs {
                near(found, expected, 0.01 * expected + 0.005, what);
            }
        }
        assert!(outcome.conservation < 1e-12, "{what}");
    }
}

fn quantile(link: &LinkOutcome, metric: Metric) -> f64 {
    let mut all = link.delay_quantiles.iter();
    all.find(|(of, _)| *of == metric)
        .map_or(f64::NAN, |(_, found)| *found)
}

/// The queue is the integral of load less capacity, reflected at 0 and clipped. Waiting times are
/// those of accepted packets.
#[test]
fn a_constant_load_queues_as_by_hand() {
    for (list, load) in [
        (&[(5.0, 1500.0), (5.0, 500.0)][..], 900.0),
        (&[(4.0, 1500.0), (1.0, 0.0)], 900.0),
        (
            &[(3.0, 300.0), (0.7, 0.0), (1.0, 4000.0), (0.3, 50.0)],
            800.0,
        ),
    ] {
        let hand = ByHand::new(list, 1e6, load);
        for (name, outcome) in by_all(&loaded(list, 1e6, load)) {
            hand.compare(&outcome, &format!("{name} {list:?}"));
            assert_eq!(outcome.links[0].loss_rate, 0.0, "{name} {list:?}");
        }
    }
}

/// In 5 s the queue would grow by 2000 packets, but only 700 fit: the rest is lost.
#[test]
fn a_full_queue_loses_the_rest_of_the_integral() {
    let list = [(5.0, 1500.0), (5.0, 500.0)];
    let hand = ByHand::new(&list, 700.0, 900.0);
    near(hand.loss_rate, 1300.0 / 9000.0, 1e-4, "by hand");
    near(hand.utilization, 7700.0 / 10_000.0, 1e-4, "by hand");
    for (name, outcome) in by_all(&loaded(&list, 700.0, 900.0)) {
        hand.compare(&outcome, name);
        // When the faster half begins, the waiting packets are sent faster.
        near(outcome.links[0].delay_max, 1.4, 0.01, name);
    }
    let list = [(3.0, 1500.0), (1.5, 0.0), (0.5, 700.0)];
    let hand = ByHand::new(&list, 300.0, 800.0);
    for (name, outcome) in by_all(&loaded(&list, 300.0, 800.0)) {
        hand.compare(&outcome, name);
    }
}

/// A fall counts from the instant on at which the measurement begins until it ends. A link with a
/// constant capacity has none.
#[test]
fn a_fall_is_measured_where_it_is() {
    // 600 packets a second arrive at 300: after 10 s there are 3000, which 1000 a second would send
    // in 3 s.
    for (fast, start, horizon, expected) in [
        (20.0, 20.0, 50.0, Some(0.0)),
        (20.0, 20.001, 49.0, None),
        (20.0, 20.001, 50.0, None),
        (20.0, 20.001, 50.01, Some(0.0)),
    ] {
        let mut model = loaded(&[(fast, 1000.0), (10.0, 300.0)], 1e6, 600.0);
        (model.measure, model.horizon) = (Measure::Fixed { start }, horizon);
        for (name, outcome) in by_all(&model) {
            let found = outcome.links[0].drains.and_then(|drains| drains.longest);
            assert_eq!(
                found.map(|found| found < 0.01),
                expected.map(|_| true),
                "{name} {start} {horizon}: {found:?}"
            );
        }
    }
    let mut constant = loaded(&[(10.0, 1000.0)], 1e6, 600.0);
    constant.links[0].steps = None;
    for (name, outcome) in by_all(&constant) {
        assert_eq!(outcome.links[0].drains, None, "{name}");
    }
}

/// A constant window W holds a queue of W - C T. After a step it holds that of the new capacity
/// within about T, and an outage fills the queue with all of W.
#[test]
fn windows_clock_the_queue_of_each_capacity() {
    let list = [(10.0, 2000.0), (10.0, 500.0), (2.0, 0.0), (10.0, 4000.0)];
    let mut model = steady(&list, 600.0);
    model.trace = Some(0.05);
    for (name, outcome) in by_all(&model) {
        let queue = |at: f64| {
            let queues = &outcome.trace.queues[0];
            queues[(at / 0.05).round() as usize]
        };
        // The samples are half a round trip, one and a half, and more after each change of the
        // second period.
        for (change, before, after) in [
            (42.0, 400.0, 550.0),
            (52.0, 550.0, 600.0),
            (54.0, 600.0, 200.0),
        ] {
            near(queue(change), before, 6.0, name);
            let half = 0.5 * (before + after);
            near(
                queue(change + 0.05),
                half,
                0.25 * (after - before).abs(),
                name,
            );
            // Until the change is known, a growing queue delays the flow slightly. The rest of this
            // delay vanishes within a round trip, which is long if the capacity is low.
            let step = (after - before).abs();
            near(queue(change + 0.15), after, 0.15 * step, name);
            near(queue(change + 1.5), after, 0.1 * step, name);
        }
        assert!(outcome.links[0].utilization > 0.9999, "{name}");
    }
}

/// A loss just after a fall is detected when the earlier arrivals have been served at the low
/// capacity. There, 100 packets take a second, and the round trip is 100 ms. The cuts of the
/// coupled model are immediate.
#[test]
fn news_of_a_loss_waits_for_the_service_that_comes() {
    let mut model = steady(&[(20.0, 1000.0), (20.0, 100.0)], 150.0);
    model.links[0].buffer = 100.0;
    model.trace = Some(0.05);
    let [adaptive, euler, _] = by_all(&model);
    for (name, outcome) in [adaptive, euler] {
        let window = |at: f64| outcome.trace.windows[0][(at / 0.05_f64).round() as usize];
        near(window(20.0), 150.0, 0.1, name);
        near(window(21.0), 150.0, 0.1, name);
        near(window(21.4), 75.0, 0.1, name);
    }
}

/// Steps with equal capacities equal a constant capacity.
#[test]
fn changes_that_change_nothing_change_nothing() {
    for flows in [1, 5] {
        let mut model = changing(&[(0.7, 1200.0), (0.4, 1300.0)], 60.0, (flows, 50.0));
        let steps = steps(&[(0.7, 1.0), (0.4, 2.0)]);
        model.links[0].capacity = 1250.0;
        model.links[0].steps = Some(Arc::new(CapacitySteps::new(&steps, |_| 1250.0)));
        let changed = by_all(&model);
        model.links[0].steps = None;
        for ((name, with), (_, without)) in changed.iter().zip(by_all(&model)) {
            let (with, without) = (&with.links[0], &without.links[0]);
            // Until senders know that nothing has changed, the growth of the queue does not delay
            // them.
            near(with.utilization, without.utilization, 1e-3, name);
            near(
                with.queue_mean,
                without.queue_mean,
                0.02 * without.queue_mean,
                name,
            );
            near(
                with.delay_mean,
                without.delay_mean,
                0.02 * without.delay_mean,
                name,
            );
            let [a, b] = [with, without].map(|link| quantile(link, Metric::QueueDelayP50));
            near(a, b, 0.05 * b + 1e-4, name);
            near(with.delay_max, without.delay_max, 1e-3, name);
        }
    }
}

/// A link that alternates slowly is a mixture of both constant links.
#[test]
fn a_slow_alternation_is_a_mixture() {
    let (fast, slow) = (4000.0, 2500.0);
    let of = |list: &[(f64, f64)]| {
        let mut model = changing(list, 150.0, (5, 0.0));
        (model.measure, model.horizon) = (Measure::Fixed { start: 800.0 }, 2400.0);
        integrate(&model).unwrap().links[0].clone()
    };
    let mixed = of(&[(400.0, fast), (400.0, slow)]);
    let [one, other] = [fast, slow].map(|rate| of(&[(400.0, rate), (400.0, rate + 1.0)]));
    let utilization = (fast * one.utilization + slow * other.utilization) / (fast + slow);
    near(mixed.utilization, utilization, 4e-3, "utilization");
    let queue = 0.5 * (one.queue_mean + other.queue_mean);
    near(mixed.queue_mean, queue, 0.05 * queue, "queue");
    // Delays are weighted by packets, and more packets come while the link is fast.
    let packets = |link: &LinkOutcome| link.arrived * (1.0 - link.loss_rate);
    let delay = (packets(&one) * one.delay_mean + packets(&other) * other.delay_mean)
        / (packets(&one) + packets(&other));
    near(mixed.delay_mean, delay, 0.05 * delay, "delay");
}

/// Too many changes are refused before the run.
#[test]
fn too_many_changes_are_refused() {
    let mut model = changing(&[(1e-6, 1000.0), (1e-6, 2000.0)], 100.0, (1, 0.0));
    let refused = [
        integrate(&model),
        integrate_euler(&model, 0.01),
        integrate_coupled(&model),
    ];
    for found in refused {
        let Err(FluidError::TooManyChanges {
            found,
            horizon,
            most,
        }) = found
        else {
            panic!("{found:?}");
        };
        assert!(found > 9.99e7 && horizon == 100.0 && most == 2e6);
    }
    model.horizon = 0.4;
    model.measure = Measure::Fixed { start: 0.1 };
    let link = &integrate(&model).unwrap().links[0];
    // Changes faster than any queue moves equal their mean.
    model.links[0].steps = None;
    model.links[0].capacity = 1500.0;
    let mean = &integrate(&model).unwrap().links[0];
    near(link.utilization, mean.utilization, 2e-3, "utilization");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// For any steps, each arriving packet leaves, is lost or waits, and all integrators agree
    /// approximately.
    #[test]
    fn every_integrator_conserves_packets(
        list in prop::collection::vec((0.02..8.0_f64, prop::sample::select(vec![0.0, 40.0, 900.0, 5000.0])), 1..6),
        buffer in prop::sample::select(vec![0.0, 3.0, 80.0, 1e4]),
        flows in 0_usize..6,
        load in prop::sample::select(vec![0.0, 300.0, 2000.0]),
    ) {
        prop_assume!(list.iter().any(|(_, rate)| *rate > 0.0));
        let mut model = changing(&list, buffer, (flows, load));
        model.trace = Some(0.3);
        let all = by_all(&model);
        for (name, outcome) in &all {
            let link = &outcome.links[0];
            prop_assert!(outcome.conservation < 1e-9, "{} {}", name, outcome.conservation);
            prop_assert!(link.utilization >= 0.0 && link.utilization <= 1.0 + 1e-9, "{} {:?}", name, link);
            prop_assert!(link.delay_mean >= 0.0 && link.delay_mean <= link.delay_max, "{} {:?}", name, link);
            prop_assert!(link.queue_mean >= 0.0 && link.queue_mean <= buffer + 1e-9, "{} {:?}", name, link);
            prop_assert!(link.loss_rate >= 0.0 && link.loss_rate <= 1.0, "{} {:?}", name, link);
            prop_assert!(outcome.goodput.iter().all(|rate| rate.is_finite() && *rate >= 0.0));
            let used = outcome.trace.used[0].iter();
            prop_assert!(used.clone().all(|share| (0.0..=1.0).contains(share)));
        }
        // Without flows the methods have no differences.
        if flows == 0 {
            let [(_, a), (_, b), _] = &all;
            let (a, b) = (&a.links[0], &b.links[0]);
            prop_assert!((a.utilization - b.utilization).abs() < 1e-4, "{:?} {:?}", a, b);
            prop_assert!((a.delay_mean - b.delay_mean).abs() < 1e-3 * (a.delay_mean + 1e-2), "{:?} {:?}", a, b);
        }
    }
}
