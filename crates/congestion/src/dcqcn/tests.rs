//! The equations of the paper by hand, and the fixed point of Zhu et al., CoNEXT 2016.

use super::*;
use crate::packet::tests::{sample, window};
use crate::registration::tests::{default_controller, stream};

const PATH: Path = Path {
    smoothed_rtt: 40e-6,
    min_rtt: 20e-6,
    max_rtt: 60e-6,
    flight: 10.0,
};

const GBPS: f64 = 1e9;

/// A flow of packets of 1000 bytes, 100 in flight.
struct Driven {
    dcqcn: DcqcnController,
    window: Window,
    next: u64,
}

impl Driven {
    fn new() -> Self {
        let mut dcqcn: DcqcnController = default_controller();
        dcqcn.on_open(Bytes::new(1000));
        Self {
            dcqcn,
            window: window(100.0, f64::INFINITY),
            next: 100,
        }
    }

    /// An acknowledgment at this time in us, after `sent` more packets: the rate in Gb/s.
    fn acknowledge(&mut self, at_us: u64, sent: u64, marked: bool) -> f64 {
        let mut seen = sample(20e-6);
        self.next += sent;
        seen.now = Time::from_micros(at_us);
        seen.next = self.next;
        seen.marked = f64::from(u8::from(marked));
        self.dcqcn.on_sample(&mut self.window, &seen, &PATH);
        let pace = self.dcqcn.pacing(&self.window, &PATH).unwrap();
        assert_eq!(pace.quantum, 1.0);
        pace.rate * 8000.0 / GBPS
    }

    fn limiter(&self) -> ReactionPoint {
        self.dcqcn.limiter.unwrap()
    }
}

fn near(found: f64, expected: f64) {
    assert!(
        (found - expected).abs() < 1e-9 * expected,
        "{found} {expected}"
    );
}

#[test]
fn a_flow_sends_at_the_line_rate_until_the_first_notification_halves_it() {
    let mut driven = Driven::new();
    near(driven.acknowledge(100, 10_000, false), 40.0);
    near(driven.acknowledge(200, 10_000, true), 20.0);
    near(driven.limiter().target, 40.0 * GBPS);
    assert_eq!(driven.limiter().alpha, 1.0);
}

/// Equations 1 and 2 with g = 1/256.
#[test]
fn notifications_raise_alpha_and_times_without_one_lower_it() {
    let mut driven = Driven::new();
    driven.acknowledge(1000, 0, true);
    driven.acknowledge(1054, 0, false);
    assert_eq!(driven.limiter().alpha, 1.0);
    let kept = 255.0 / 256.0;
    driven.acknowledge(1055, 0, false);
    near(driven.limiter().alpha, kept);
    // Two more times, in one step; then a cut by half of alpha, and the rise.
    driven.acknowledge(1165, 0, false);
    near(driven.limiter().alpha, kept * kept * kept);
    let (alpha, before) = (driven.limiter().alpha, driven.limiter().current);
    let after = driven.acknowledge(1166, 0, true);
    near(after * GBPS, before * (1.0 - 0.5 * alpha));
    near(driven.limiter().target, before);
    near(driven.limiter().alpha, alpha + (1.0 - alpha) / 256.0);
    // The time starts again with the notification.
    driven.acknowledge(1220, 0, false);
    near(driven.limiter().alpha, alpha + (1.0 - alpha) / 256.0);
}

#[test]
fn the_receiver_notifies_once_in_50_us() {
    let mut driven = Driven::new();
    near(driven.acknowledge(1000, 0, true), 20.0);
    near(driven.acknowledge(1049, 0, true), 20.0);
    near(driven.acknowledge(1050, 0, true), 10.0);
}

/// Equations 3 and 4: five halvings of the distance to the target, and then 40 Mb/s more of it for
/// each.
#[test]
fn the_timer_recovers_fast_five_times_and_then_adds() {
    let mut driven = Driven::new();
    driven.acknowledge(1000, 0, true);
    driven.acknowledge(1050, 0, true);
    // R_C = 10 and R_T = 20 Gb/s.
    let mut rates = Vec::new();
    for expiry in 1..=7 {
        rates.push(driven.acknowledge(1050 + 55 * expiry, 0, false));
    }
    let expected = [15.0, 17.5, 18.75, 19.375, 19.6875, 19.86375, 19.971875];
    for (found, expected) in rates.iter().zip(expected) {
        near(*found, expected);
    }
    near(driven.limiter().target, 20.08 * GBPS);
}

#[test]
fn the_byte_counter_does_the_same_and_both_together_hyper_increase() {
    let mut driven = Driven::new();
    driven.acknowledge(1000, 0, true);
    driven.acknowledge(1050, 0, true);
    near(driven.acknowledge(1051, 9999, false), 10.0);
    near(driven.acknowledge(1052, 1, false), 15.0);
    // Five more: the target rises once.
    driven.acknowledge(1053, 50_000, false);
    near(driven.limiter().target, 20.04 * GBPS);
    // Seven expiries of the timer beside six of the counter: the last one finds six of both.
    driven.acknowledge(1050 + 6 * 55, 0, false);
    near(driven.limiter().target, 20.28 * GBPS);
    driven.acknowledge(1050 + 7 * 55, 0, false);
    near(driven.limiter().target, 20.68 * GBPS);
    // The eighth: one of both more than six is two.
    driven.acknowledge(1050 + 7 * 55, 10_000, false);
    let after_seven_of_both = driven.limiter().target;
    near(after_seven_of_both, 21.08 * GBPS);
    driven.acknowledge(1050 + 8 * 55, 0, false);
    near(driven.limiter().target, after_seven_of_both + 0.8 * GBPS);
}

#[test]
fn a_notification_starts_the_counters_again() {
    let mut driven = Driven::new();
    driven.acknowledge(1000, 0, true);
    driven.acknowledge(1050, 0, true);
    driven.acknowledge(1050 + 6 * 55, 69_999, false);
    let rate = driven.acknowledge(1400, 0, true);
    let limiter = driven.limiter();
    assert_eq!((limiter.timer_count, limiter.byte_count), (0.0, 0.0));
    // Neither the timer nor the bytes of before count on.
    near(driven.acknowledge(1454, 9_999, false), rate);
    assert!(driven.acknowledge(1455, 0, false) > rate);
}

#[test]
fn the_rate_stays_between_its_bounds() {
    let mut driven = Driven::new();
    for k in 0..40 {
        driven.acknowledge(1000 + 50 * k, 0, true);
    }
    near(driven.limiter().current, 0.1 * GBPS);
    // An hour later the flow has found the line rate, without hours of expiries.
    near(driven.acknowledge(3_600_000_000, 0, false), 40.0);
    assert!(driven.limiter().alpha < 1e-6);
    near(driven.limiter().target, 40.0 * GBPS);
}

#[test]
fn a_packet_found_lost_notifies_whatever_the_state_of_recovery() {
    let mut driven = Driven::new();
    let mut seen = sample(20e-6);
    seen.now = Time::from_micros(1000);
    seen.lost = 1.0;
    seen.state = crate::packet::LossState::Recovery;
    let (loss, now) = (CongestionEvent::Loss, seen.now);
    driven
        .dcqcn
        .on_congestion_event(&mut driven.window, loss, now, &PATH);
    near(driven.dcqcn.rate(), 40.0 * GBPS);
    driven.dcqcn.on_sample(&mut driven.window, &seen, &PATH);
    near(driven.dcqcn.rate(), 20.0 * GBPS);
    assert_eq!(driven.window.cwnd, 100.0);
}

#[test]
fn a_timeout_notifies_and_leaves_a_window_of_one_packet() {
    let mut driven = Driven::new();
    driven.acknowledge(1000, 0, false);
    let before = driven.dcqcn.clone();
    let (timeout, now) = (CongestionEvent::Timeout, Time::from_micros(2000));
    driven
        .dcqcn
        .on_congestion_event(&mut driven.window, timeout, now, &PATH);
    assert_eq!(driven.window.cwnd, 1.0);
    near(driven.dcqcn.rate(), 20.0 * GBPS);
    // It was spurious.
    driven.dcqcn.on_undo(&before);
    near(driven.acknowledge(2001, 0, false), 40.0);
    assert_eq!(driven.window.cwnd, 102.0);
}

/// Parameters without a meaning do no harm.
#[test]
fn zeros_are_survived() {
    let mut parameters = Parameters::defaults(DcqcnController::DESCRIPTION.parameters());
    for name in ["timer", "alpha_timer", "cnp_interval"] {
        parameters.set(name, parameter::Value::Time(Time::ZERO));
    }
    for name in ["r_ai", "r_hai", "min_rate", "line_rate"] {
        parameters.set(name, parameter::Value::Rate(Rate::from_bits_per_second(0)));
    }
    parameters.set("byte_counter", parameter::Value::Bytes(Bytes::ZERO));
    let mut driven = Driven::new();
    driven.dcqcn = DcqcnController::new(&parameters, stream(0));
    driven.dcqcn.on_open(Bytes::new(1000));
    for k in 0..20 {
        let rate = driven.acknowledge(k * 1_000_000, 1_000_000, k % 3 == 0);
        assert!(rate > 0.0 && rate.is_finite());
    }
}

// --- The fixed point ---

/// A link of this many packets per second, whose queue marks at random as RED does with the
/// instantaneous queue: from `low` packets on, with probability `most` at `high` packets.
struct Bottleneck {
    rate: f64,
    low: f64,
    high: f64,
    most: f64,
    /// When the last packet in the queue has left, seconds.
    free: f64,
    random: u64,
}

impl Bottleneck {
    /// Probability of a mark with this many packets in the queue (figure 5 of the paper).
    fn probability(&self, queue: f64) -> f64 {
        if queue > self.high {
            return 1.0;
        }
        (self.most * (queue - self.low) / (self.high - self.low)).max(0.0)
    }

    /// A packet arrives: packets that wait, when it has left, and whether it is marked.
    fn serve(&mut self, at: f64) -> (f64, f64, bool) {
        let queue = (self.free - at).max(0.0) * self.rate;
        self.free = self.free.max(at) + 1.0 / self.rate;
        self.random = self
            .random
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(1);
        let drawn = (self.random >> 11) as f64 / (1_u64 << 53) as f64;
        (queue, self.free, drawn < self.probability(queue))
    }
}

/// Means of a run: share of marked packets, alpha of the flows, packets in the queue, and the rates
/// of the flows in packets per second.
#[derive(Debug)]
struct Means {
    marked: f64,
    alpha: f64,
    queue: f64,
    rates: Vec<f64>,
}

/// Flows of DCQCN over the bottleneck for one second, of which the second half counts. An
/// acknowledgment arrives `delay` seconds after its packet has left.
fn run(link: &mut Bottleneck, flows: usize, delay: f64) -> Means {
    let mut driven: Vec<Driven> = (0..flows).map(|_| Driven::new()).collect();
    let mut acknowledgments: Vec<std::collections::VecDeque<(f64, bool)>> =
        vec![std::collections::VecDeque::new(); flows];
    let mut next: Vec<f64> = (0..flows).map(|k| 1e-7 * k as f64).collect();
    let mut sent = vec![0_u64; flows];
    let mut counted = vec![0_u64; flows];
    let (mut marks, mut alpha, mut queue, mut count) = (0.0, 0.0, 0.0, 0.0);
    loop {
        let sender = (0..flows)
            .min_by(|a, b| next[*a].total_cmp(&next[*b]))
            .unwrap();
        let now = next[sender];
        if now > 1.0 {
            break;
        }
        let flow = &mut driven[sender];
        while let Some(&(at, marked)) = acknowledgments[sender].front()
            && at <= now
        {
            acknowledgments[sender].pop_front();
            let mut seen = sample(delay);
            seen.now = Time::from_secs_f64(at);
            seen.next = sent[sender];
            seen.marked = f64::from(u8::from(marked));
            flow.dcqcn.on_sample(&mut flow.window, &seen, &PATH);
        }
        let (waiting, left, marked) = link.serve(now);
        acknowledgments[sender].push_back((left + delay, marked));
        sent[sender] += 1;
        next[sender] = now + 8000.0 / flow.dcqcn.rate();
        if now > 0.5 {
            marks += f64::from(u8::from(marked));
            alpha += flow.dcqcn.limiter.map_or(1.0, |limiter| limiter.alpha);
            queue += waiting;
            count += 1.0;
            counted[sender] += 1;
        }
    }
    let rates = counted
        .iter()
        .map(|packets| *packets as f64 / 0.5)
        .collect();
    Means {
        marked: marks / count,
        alpha: alpha / count,
        queue: queue / count,
        rates,
    }
}

/// Equation 11 of Zhu et al. 2016: the marking probability at which flows of this rate, in packets
/// per second, rest. The parameters are the defaults with packets of 1000 bytes.
fn fixed_probability(rate: f64) -> f64 {
    let (timer, tau, bytes, fast, additive) = (55e-6, 50e-6, 1e4, 5.0, 5e3);
    let excess = |p: f64| {
        let kept = |packets: f64| libm::pow(1.0 - p, packets);
        let a = 1.0 - kept(tau * rate);
        let b = p / (1.0 / kept(bytes) - 1.0);
        let c = b * kept(fast * bytes);
        let d = p / (1.0 / kept(timer * rate) - 1.0);
        let e = d * kept(fast * timer * rate);
        a * a * fixed_alpha(p, rate) / ((b + d) * (c + e)) - tau * tau * additive * rate
    };
    let (mut low, mut high) = (1e-9, 0.5);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if excess(middle) < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// Alpha at rest: the probability of a mark within 55 us.
fn fixed_alpha(p: f64, rate: f64) -> f64 {
    1.0 - libm::pow(1.0 - p, 55e-6 * rate)
}

/// The same with notifications that lie at least 50 us apart, where the fluid model lets them come
/// at any time. Between two notifications lie N = 50 us and an exponential time of mean 1/m, with m
/// marks per second of a flow. Of the timer's k expiries the first five halve the distance to the
/// target, and each further one adds to it. At rest the mean cut is the mean growth. Returns the
/// marking probability and alpha.
fn fixed_point_of_renewals(rate: f64) -> (f64, f64) {
    let (timer, apart, additive) = (55e-6, 50e-6, 5e3);
    let balance = |marks: f64| {
        // The chance of k expiries of either timer before the next notification.
        let reached = |k: i32| {
            let time = (timer * f64::from(k) - apart).max(0.0);
            libm::exp(-marks * time)
        };
        let (mut kept, mut grown, mut decays) = (0.0, 0.0, 0.0);
        for k in 0..3000 {
            let chance = reached(k) - reached(k + 1);
            kept += chance * libm::exp2(-f64::from(k));
            let added = f64::from((k - 5).max(0));
            grown += chance * (added - 1.0 + libm::exp2(-added));
            decays += chance * f64::from(k);
        }
        let alpha = 1.0 / (1.0 + decays);
        (0.5 * alpha * rate * kept - additive * grown, alpha)
    };
    let (mut low, mut high) = (1.0, rate);
    for _ in 0..60 {
        let middle = (low * high).sqrt();
        if balance(middle).0 < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low / rate, balance(low).1)
}

/// Zhu et al. 2016, section 3, over a link of 40 Gb/s: the flows share it evenly, and marks, alpha
/// and queue rest at the fixed point. The renewals hold to a tenth, because the queue oscillates.
/// The equations of the fluid model have fewer marks: they lack the times without notifications.
#[test]
fn flows_rest_at_the_fixed_point() {
    for (flows, most) in [(2, 0.01), (4, 0.01), (4, 0.1), (10, 0.1)] {
        let mut link = Bottleneck {
            rate: 5e6,
            low: 5.0,
            high: 200.0,
            most,
            free: 0.0,
            random: 1,
        };
        let means = run(&mut link, flows, 4e-6);
        let rate = link.rate / flows as f64;
        let (marked, alpha) = fixed_point_of_renewals(rate);
        let queue = link.low + marked / most * (link.high - link.low);
        let context = format!("{flows} {most}: {means:?} {marked} {alpha} {queue}");
        let is_near = |found: f64, expected: f64| (found / expected - 1.0).abs() < 0.1;
        assert!(is_near(means.marked, marked), "{context}");
        assert!(is_near(means.alpha, alpha), "{context}");
        // A queue near the threshold is often below it, where nothing is marked.
        if queue > 4.0 * link.low {
            assert!(is_near(means.queue, queue), "{context}");
        }
        let fluid = fixed_probability(rate);
        assert!((1.0..1.5).contains(&(marked / fluid)), "{context} {fluid}");
        let fluid = fixed_alpha(fluid, rate);
        assert!((1.0..1.2).contains(&(alpha / fluid)), "{context} {fluid}");
        for each in means.rates {
            assert!(is_near(each, rate), "{context}");
        }
    }
}
