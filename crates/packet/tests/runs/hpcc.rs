//! Laws of HPCC (Li et al., SIGCOMM 2019): the share of the rate that it fills, its queues, and how
//! flows share links.

use forebay_scenario::{Metric, Report};

use super::{of_group, run, value};

/// Flows of HPCC over a link of this rate whose round trip without a queue is 12 us. All are there
/// after a millisecond.
fn hpcc(gbps: f64, flows: usize, parameters: &str) -> Report {
    run(&format!(
        r#"
[link]
rate = "{gbps}Gbps"
buffer = "10MB"
[[flows]]
count = {flows}
cca = {{ kind = "hpcc", base_rtt = "13us", {parameters} }}
rtt = "12us"
packet = "1000B"
header = "0B"
min_rto = "1ms"
processing = "0s"
start = {{ uniform = ["0s", "1ms"] }}
[run]
warmup = "10ms"
measure = "10ms"
"#
    ))
}

/// The load at rest. Algorithm 1 rests where `W = W eta/U + W_AI`. With `N` windows that fill `U`
/// of `B T`, and the automatic `W_AI = B T (1 - eta)/100`, this is `U = eta + N (1 - eta)/100`. As
/// long as U is below eta, the window grows without the division, so that the mean of several flows
/// that do not move together lies between eta and this load (section 3.3: N W_AI is what remains).
#[test]
fn flows_fill_eta_of_the_rate_with_nearly_no_queue() {
    for (gbps, flows) in [(25.0, 1), (100.0, 1), (100.0, 2), (100.0, 10), (100.0, 50)] {
        for eta in [0.95, 0.8] {
            let report = hpcc(gbps, flows, &format!("eta = {eta}"));
            let utilization = value(&report, Metric::Utilization);
            let rest = eta + flows as f64 * (1.0 - eta) / 100.0;
            let named = format!("{gbps} {flows} {eta}: {utilization}");
            assert!(utilization < rest + 1e-4, "{named}");
            assert!(
                utilization > if flows == 1 { rest } else { eta } - 1e-4,
                "{named}"
            );
            // Less than a packet of each tenth flow waits on average.
            let packet = 8e3 / (1e9 * gbps);
            let waiting = value(&report, Metric::QueueDelayMean) / packet;
            assert!(waiting < 1.0 + 0.1 * flows as f64, "{named} {waiting}");
            assert_eq!(value(&report, Metric::LossRate), 0.0);
            assert!(value(&report, Metric::JainIndex) > 0.99, "{named}");
        }
    }
}

/// Section 3.3: twice as many flows as `flows` have increments of `2 (1 - eta)` in all, of which
/// eta leaves room for a half. The other half, 0.05 of the base round trip, waits. The smaller of
/// two queues counts, so that the mean queue is longer, here at most twice as long.
#[test]
fn more_flows_than_expected_have_a_queue_of_their_increments() {
    let report = hpcc(100.0, 50, "eta = 0.95, flows = 25");
    let delay = value(&report, Metric::QueueDelayMean);
    assert!(value(&report, Metric::Utilization) > 0.98);
    let waiting = 0.05 * 13e-6;
    assert!(delay > waiting && delay < 2.0 * waiting, "{delay}");
}

/// Two flows of one link each and one over both: algorithm 1 looks at the most loaded link, so that
/// the long flow is not punished twice (section 3.2: max-min).
fn parking_lot(rates: [f64; 2], expected: usize) -> [f64; 3] {
    let [first, second] = rates;
    let group = |name: &str, path: &str, count: usize| {
        format!(
            r#"
[[flows]]
name = "{name}"
count = {count}
path = {path}
cca = {{ kind = "hpcc", base_rtt = "24us", line_rate = "100Gbps", flows = {expected} }}
rtt = "20us"
packet = "1000B"
header = "0B"
min_rto = "1ms"
processing = "0s"
"#
        )
    };
    let report = run(&format!(
        r#"
[[links]]
name = "first"
target = true
rate = "{first}Gbps"
delay = "1us"
buffer = "10MB"
[[links]]
name = "second"
rate = "{second}Gbps"
delay = "1us"
buffer = "10MB"
{}{}{}
[run]
warmup = "60ms"
measure = "40ms"
"#,
        group("long", r#"["first", "second"]"#, 1),
        group("near", r#"["first"]"#, 1),
        group("far", r#"["second"]"#, 2),
    ));
    [0, 1, 2].map(|number| of_group(&report, number, Metric::Goodput) / 1e9)
}

/// The max-min shares of the loads at rest. The link with more flows per rate decides the share of
/// the long flow.
#[test]
fn flows_over_two_links_share_by_the_most_loaded_one() {
    for (rates, shares) in [
        ([100.0, 100.0], [32.0, 64.0, 64.0]),
        ([40.0, 100.0], [19.5, 19.5, 78.0]),
    ] {
        let found = parking_lot(rates, 4);
        for (found, share) in found.into_iter().zip(shares) {
            assert!(
                (found / share - 1.0).abs() < 0.15,
                "{rates:?} {found} {share}"
            );
        }
    }
}

/// With small increments the noise of two loads decides instead: the long flow reacts to the larger
/// of the two at each acknowledgment, and each other flow to one of them.
#[test]
fn with_small_increments_the_flow_over_two_links_has_less_than_its_share() {
    let [long, near, _] = parking_lot([100.0, 100.0], 100);
    assert!(long < 16.0 && near > 80.0, "{long} {near}");
    assert!(long + near > 94.0, "{long} {near}");
}

/// A flow that joins has half of the rate after the time constant of the increments: the difference
/// of two windows falls by `W_AI/W` per round trip. With `flows = 4` the windows of two flows
/// differ by less than a tenth after 40 round trips of 13 us, and the link stays full.
#[test]
fn a_flow_that_joins_has_its_share_soon() {
    let report = run(r#"
[link]
rate = "100Gbps"
buffer = "10MB"
[[flows]]
name = "first"
cca = { kind = "hpcc", base_rtt = "13us", flows = 4 }
rtt = "12us"
packet = "1000B"
header = "0B"
processing = "0s"
[[flows]]
name = "second"
cca = { kind = "hpcc", base_rtt = "13us", flows = 4 }
rtt = "12us"
packet = "1000B"
header = "0B"
processing = "0s"
start = "3ms"
[run]
warmup = "3.52ms"
measure = "1ms"
"#);
    let [first, second] = [0, 1].map(|number| of_group(&report, number, Metric::Goodput));
    assert!((first / second - 1.0).abs() < 0.1, "{first} {second}");
    assert!(value(&report, Metric::Utilization) > 0.95);
    // Less than a tenth of the base round trip waits.
    assert!(value(&report, Metric::QueueDelayP99) < 1.3e-6);
}

/// Links that drop at the end of a short buffer: all flows begin at the line rate, and lose packets
/// then only.
#[test]
fn an_incast_loses_packets_in_the_first_round_trips_only() {
    let incast = |warmup: &str| {
        run(&format!(
            r#"
[link]
rate = "100Gbps"
buffer = "200kB"
[[flows]]
count = 16
cca = {{ kind = "hpcc", base_rtt = "13us" }}
rtt = "12us"
packet = "1000B"
header = "0B"
min_rto = "1ms"
initial_window = "160p"
[run]
warmup = "{warmup}"
measure = "5ms"
"#
        ))
    };
    assert!(value(&incast("0s"), Metric::LossRate) > 0.0);
    assert_eq!(value(&incast("2ms"), Metric::LossRate), 0.0);
}

/// Telemetry on the acknowledgments' own path changes nothing: links of the reverse path state no
/// load.
#[test]
fn acknowledgments_over_links_carry_the_statements() {
    let report = run(r#"
[[links]]
name = "there"
target = true
rate = "100Gbps"
buffer = "1MB"
[[links]]
name = "back"
rate = "100Gbps"
buffer = "1MB"
[[flows]]
count = 4
path = ["there"]
reverse = ["back"]
cca = { kind = "hpcc", base_rtt = "13us" }
rtt = "12us"
packet = "1000B"
min_rto = "1ms"
start = { uniform = ["0s", "1ms"] }
[run]
warmup = "10ms"
measure = "10ms"
"#);
    let utilization = value(&report, Metric::Utilization);
    assert!((utilization - 0.95).abs() < 0.005, "{utilization}");
    assert_eq!(value(&report, Metric::LossRate), 0.0);
}

/// The statements count the packets of all flows: HPCC fills what traffic without congestion
/// control leaves of eta.
#[test]
fn a_flow_fills_what_other_traffic_leaves_of_eta() {
    let report = run(r#"
[link]
rate = "100Gbps"
buffer = "10MB"
[[flows]]
name = "hpcc"
cca = { kind = "hpcc", base_rtt = "13us" }
rtt = "12us"
packet = "1000B"
header = "0B"
processing = "0s"
[[flows]]
name = "noise"
packet = "500B"
workload = { poisson = { rate = "40Gbps" } }
[run]
warmup = "10ms"
measure = "10ms"
"#);
    let goodput = of_group(&report, 0, Metric::Goodput);
    assert!((0.52..0.56).contains(&(goodput / 1e11)), "{goodput}");
    let utilization = value(&report, Metric::Utilization);
    assert!((0.92..0.96).contains(&utilization), "{utilization}");
    // Less than ten packets wait.
    assert!(value(&report, Metric::QueueDelayMean) < 0.8e-6);
}
