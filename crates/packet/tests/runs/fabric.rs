//! Laws of controllers for data centers: the states at which their papers say that they rest.

use forebay_scenario::{Metric, Report};

use super::{of_group, run, value};

/// Bits in a packet of the runs of Swift.
const BITS: f64 = 12e3;

/// Flows of Swift over a link of this rate whose round trip without a queue is 10 us.
fn swift(gbps: f64, flows: usize, parameters: &str) -> Report {
    run(&format!(
        r#"
[link]
rate = "{gbps}Gbps"
buffer = "10MB"
[[flows]]
count = {flows}
cca = {{ kind = "swift", {parameters} }}
rtt = "10us"
packet = "1500B"
initial_window = "1p"
min_rto = "1ms"
start = {{ uniform = ["0s", "1ms"] }}
[run]
warmup = "20ms"
measure = "30ms"
"#
    ))
}

/// Mean round-trip time in microseconds: 10 us, the queue, and the packet's own transmission.
fn round_trip_us(report: &Report, gbps: f64) -> f64 {
    10.0 + 1e6 * value(report, Metric::QueueDelayMean) + BITS / gbps / 1e3
}

/// Microseconds in which a link sends a packet of each flow: one additive increment of all.
fn increment_us(gbps: f64, flows: usize) -> f64 {
    flows as f64 * BITS / gbps / 1e3
}

/// The target of section 3.5 with the default range of scaling, where the flows fill the link
/// evenly: `t = base + fs(W)`, and `W` of each of N flows is the Nth part of what the link carries
/// in `t`.
fn scaled_target_us(base_us: f64, gbps: f64, flows: usize) -> f64 {
    let (low, high) = (0.1_f64.sqrt().recip(), 100_f64.sqrt().recip());
    let scaling = |t: f64| {
        let window = t / increment_us(gbps, flows);
        (100.0 * (window.sqrt().recip() - high) / (low - high)).clamp(0.0, 100.0)
    };
    // The right side falls with t: halving the interval finds the only solution.
    let (mut least, mut most) = (base_us, base_us + 100.0);
    for _ in 0..60 {
        let t = 0.5 * (least + most);
        if base_us + scaling(t) > t {
            least = t;
        } else {
            most = t;
        }
    }
    least
}

/// Kumar et al. 2020, section 5.1 and figure 17: the round-trip time tracks the target. It goes up
/// by the increments of one round trip and down by a part of them, so that the mean lies within the
/// increments of a round trip. The throughput is saturated.
#[test]
fn the_round_trip_of_swift_is_its_target() {
    for (gbps, flows) in [(50.0, 1), (50.0, 20), (50.0, 100), (10.0, 4)] {
        for base_us in [25.0, 50.0, 70.0] {
            let bound = increment_us(gbps, flows);
            for (range, target_us) in [
                ("0us", base_us),
                ("100us", scaled_target_us(base_us, gbps, flows)),
            ] {
                let parameters = format!("base_target = \"{base_us}us\", fs_range = \"{range}\"");
                let report = swift(gbps, flows, &parameters);
                let error = round_trip_us(&report, gbps) - target_us;
                assert!(error.abs() < bound, "{flows} {base_us} {range}: {error}");
                let utilization = value(&report, Metric::Utilization);
                assert!(utilization > 0.995, "{flows} {base_us} {range}");
                assert_eq!(value(&report, Metric::LossRate), 0.0);
            }
        }
    }
}

/// Section 3.4: with more flows than packets in a round trip a window of one packet is too much.
/// Without smaller windows each of N flows has a packet in flight, so that a round trip takes N
/// packets of the link. Table 3 has 8.7 Gb/s and 28.7 % of losses, and 49.5 Gb/s with 110 us.
///
/// The largest target is 25 us + 100 us. Each acknowledgment adds a packet to a window below one.
/// In a round trip the queue therefore grows by another target at most.
#[test]
fn windows_below_a_packet_hold_the_target_in_a_large_incast() {
    let run = |min_cwnd| {
        let parameters = format!("base_target = \"25us\", min_cwnd = {min_cwnd}");
        swift(50.0, 2000, &parameters)
    };
    let (small, whole) = (run("0.001"), run("1.0"));
    let round_trip = round_trip_us(&small, 50.0);
    assert!((25.0..250.0).contains(&round_trip), "{round_trip}");
    assert!(value(&small, Metric::Utilization) > 0.99);
    assert_eq!(value(&small, Metric::LossRate), 0.0);
    let round_trip = round_trip_us(&whole, 50.0);
    let packets = increment_us(50.0, 2000);
    assert!((round_trip / packets - 1.0).abs() < 0.01, "{round_trip}");
}

/// Section 5.5 and figure 21: flow scaling makes many flows fair, with an index of 0.91.
#[test]
fn flow_scaling_makes_flows_of_swift_fair() {
    let index = |flows, range| {
        let parameters = format!("base_target = \"25us\", fs_range = \"{range}\"");
        value(&swift(50.0, flows, &parameters), Metric::JainIndex)
    };
    assert!(index(4, "0us") > 0.99);
    let (with, without) = (index(1000, "100us"), index(1000, "0us"));
    assert!(with > 0.91, "{with}");
    assert!(without < 0.6, "{without}");
}

/// Section 5.5 and figure 22: over paths of unequal lengths flows are fair if the target grows with
/// the hops. Here 20 hops of 1 us are the 20 us by which one path is longer.
#[test]
fn hops_make_flows_of_swift_over_unequal_paths_fair() {
    let share = |hops| {
        let report = run(&format!(
            r#"
[link]
rate = "50Gbps"
buffer = "10MB"
[[flows]]
name = "near"
cca = {{ kind = "swift", base_target = "40us" }}
rtt = "10us"
packet = "1500B"
[[flows]]
name = "far"
cca = {{ kind = "swift", base_target = "40us", hop_scale = "1us", hops = {hops} }}
rtt = "30us"
packet = "1500B"
[run]
warmup = "20ms"
measure = "30ms"
"#
        ));
        let [near, far] = [0, 1].map(|group| of_group(&report, group, Metric::Goodput));
        far / (near + far)
    };
    let (with, without) = (share(20), share(0));
    assert!((0.4..0.6).contains(&with), "{with}");
    assert!(without < 0.1, "{without}");
}

/// Flows of DCQCN with packets of 1000 bytes of payload, of which the link carries 5 million per
/// second.
fn dcqcn(flows: usize, slope: f64) -> Report {
    run(&format!(
        r#"
[link]
rate = "41.6Gbps"
buffer = "20MB"
queue = {{ kind = "red", min = "5p", max = "5005p", max_p = {}, weight = 1.0, gentle = false, adaptive = false, wait = false }}
[[flows]]
count = {flows}
cca = "dcqcn"
ecn = true
rtt = "8us"
packet = "1040B"
initial_window = "100p"
start = {{ uniform = ["0s", "1ms"] }}
[run]
warmup = "100ms"
measure = "200ms"
"#,
        slope * 5e3
    ))
}

/// Zhu et al. 2016, section 3: the marking probability at rest, approximately.
fn dcqcn_probability(flows: usize) -> f64 {
    let (rate, additive, timer, bytes, alpha_timer) = (5e6, 5e3, 55e-6, 1e4, 55e-6);
    let flows = flows as f64;
    let increases = 1.0 / bytes + flows / (timer * rate);
    let cube = additive * flows * flows / (alpha_timer * rate * rate) * increases * increases;
    libm::cbrt(cube)
}

/// Zhu et al. 2016, section 3: flows of DCQCN share a link evenly, at a marking probability that
/// the flows alone decide. Its approximation neglects the iterations of fast recovery and the time
/// between notifications, a fifth at these rates. The queue is as long as these marks need: RED
/// spreads them evenly, which doubles their number (Floyd and Jacobson 1993, section 7).
#[test]
fn flows_of_dcqcn_rest_at_the_marks_of_the_fluid_model() {
    for flows in [2, 4, 10, 20] {
        for slope in [5e-5, 2e-4] {
            let report = dcqcn(flows, slope);
            let expected = dcqcn_probability(flows);
            let marked = value(&report, Metric::MarkRate);
            let context = format!("{flows} {slope}: {marked} {expected}");
            assert!((marked / expected - 1.0).abs() < 0.2, "{context}");
            let queue = value(&report, Metric::QueueMean);
            let marking = 5.0 + marked / (2.0 * slope);
            assert!((queue / marking - 1.0).abs() < 0.15, "{context} {queue}");
            assert!(value(&report, Metric::JainIndex) > 0.99, "{context}");
            assert!(value(&report, Metric::Utilization) > 0.99, "{context}");
            assert_eq!(value(&report, Metric::LossRate), 0.0);
        }
    }
}

/// Zhu et al. 2015, section 3.1: a flow starts at the line rate, and nothing but a mark lowers it.
#[test]
fn one_flow_of_dcqcn_stays_at_the_line_rate() {
    let report = dcqcn(1, 5e-5);
    assert_eq!(value(&report, Metric::MarkRate), 0.0);
    assert!(value(&report, Metric::Utilization) > 0.999);
    assert!(value(&report, Metric::QueueMean) < 1.0);
}

/// Flows of TIMELY over 10 Gb/s of payload, a group each, at these initial rates in Gb/s.
fn timely(variant: &str, rates: &[f64]) -> Report {
    let groups: Vec<String> = rates
        .iter()
        .map(|rate| {
            format!(
                r#"
[[flows]]
cca = {{ kind = "timely", variant = "{variant}", initial_rate = "{rate}Gbps" }}
rtt = "20us"
packet = "1040B"
initial_window = "100p"
start = {{ uniform = ["0s", "100us"] }}
"#
            )
        })
        .collect();
    run(&format!(
        r#"
[link]
rate = "10.4Gbps"
buffer = "20MB"
{}
[run]
warmup = "100ms"
measure = "100ms"
"#,
        groups.concat()
    ))
}

/// Microseconds of a round trip of TIMELY with this queueing delay.
fn timely_us(report: &Report, queueing: Metric) -> f64 {
    20.8 + 1e6 * value(report, queueing)
}

/// Zhu et al. 2016, section 4.3: the only fixed point of the patched variant has a gradient of zero
/// and a weight of 1/2. There `delta = R beta (RTT - T_low) / T_low` with `R = C/N`, so that the
/// round trip is `T_low (1 + N delta / (beta C))`. Flows share evenly, whatever their first rates.
#[test]
fn flows_of_patched_timely_rest_at_their_fixed_point() {
    for (rates, error) in [
        (&[5.0; 2][..], 0.01),
        (&[9.0, 1.0], 0.01),
        (&[4.0, 3.0, 2.0, 1.0], 0.01),
        (&[1.0; 10], 0.01),
        // The rounds of 40 flows take longer than the gradient looks back.
        (&[0.25; 40], 0.1),
    ] {
        let report = timely("patched", rates);
        let flows = rates.len() as f64;
        let expected = 50.0 * (1.0 + flows * 10e6 / (0.008 * 10e9));
        let found = timely_us(&report, Metric::QueueDelayMean);
        let context = format!("{rates:?}: {found} {expected}");
        assert!((found / expected - 1.0).abs() < error, "{context}");
        assert!(value(&report, Metric::Utilization) > 0.999, "{context}");
        for group in 0..rates.len() {
            let share = of_group(&report, group, Metric::Goodput) * flows / 10e9;
            assert!((share - 1.0).abs() < 0.1, "{context} {group} {share}");
        }
    }
}

/// Zhu et al. 2016, section 4: the original has no fixed point, and shares may be as uneven as
/// they happen to be. The round trip goes up and down around the lower threshold, far below the
/// upper one, and the link is nearly full.
#[test]
fn flows_of_timely_stay_around_the_lower_threshold_and_do_not_share_evenly() {
    for rates in [&[5.0; 2][..], &[7.0, 3.0], &[2.5; 4]] {
        let report = timely("original", rates);
        let low = timely_us(&report, Metric::QueueDelayP05);
        let high = timely_us(&report, Metric::QueueDelayP99);
        let context = format!("{rates:?}: {low} {high}");
        // The increments of a round trip of 50 us come after it has passed the threshold.
        assert!(low < 50.0 && (45.0..100.0).contains(&high), "{context}");
        assert!(value(&report, Metric::Utilization) > 0.95, "{context}");
        assert_eq!(value(&report, Metric::LossRate), 0.0);
        let shares: Vec<f64> = (0..rates.len())
            .map(|group| of_group(&report, group, Metric::Goodput))
            .collect();
        let [least, most] = [
            shares.iter().fold(f64::INFINITY, |a, b| a.min(*b)),
            shares.iter().fold(0.0_f64, |a, b| a.max(*b)),
        ];
        assert!(most > 1.5 * least, "{context} {shares:?}");
    }
}
