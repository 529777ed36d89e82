//! The engine as a whole: against theory, and what must hold for every scenario.

use forebay_scenario::{Metric, Report, Scenario};
use proptest::prelude::*;

use super::{replication, scenario, value};

const ELEPHANT: &str = r#"
[link]
rate = "50Mbps"
buffer = "5p"
[[flows]]
name = "elephants"
cca = "newreno"
recovery = "sack"
rtt = "100ms"
packet = "1000B"
start = { uniform = ["0s", "1s"] }
[run]
warmup = "200s"
measure = "1500s"
"#;

/// With the scenario's own seed.
fn run(scenario: &Scenario) -> Report {
    replication(scenario, scenario.run().seed)
}

fn utilization(buffer: u32) -> f64 {
    let report = run(&scenario(ELEPHANT, &[format!("link.buffer={buffer}p")]));
    value(&report, Metric::Utilization)
}

/// Mean utilization of one AIMD flow whose window falls to one half: x = B / BDP (Villamizar and
/// Song's sawtooth integrated over one cycle).
fn sawtooth(x: f64) -> f64 {
    let floor = 0.5 * (1.0 + x);
    if floor >= 1.0 {
        return 1.0;
    }
    let rise = x + 0.5 * x * x;
    ((1.0 - floor * floor) / 2.0 + rise) / (1.0 - floor + rise)
}

/// BDP 625 packets, an acknowledgment per packet, no other traffic.
#[test]
fn one_flow_follows_the_sawtooth_from_five_packets_to_one_and_a_half_bdp() {
    for buffer in [5, 20, 62, 125, 312, 625, 937] {
        let (ours, theory) = (utilization(buffer), sawtooth(f64::from(buffer) / 625.0));
        assert!(
            (ours - theory).abs() < 0.02,
            "{buffer} packets: {ours} against {theory}"
        );
    }
}

/// Each window increase sends two packets back to back: without room for the second one every
/// increase ends in a loss.
#[test]
fn without_room_for_two_packets_back_to_back_utilization_collapses() {
    assert!(utilization(0) < 0.05);
    assert!(utilization(1) < 0.05);
    assert!(utilization(2) > 0.7);
}

/// Packets of these flows meet in exact ties (2 ms are twelve and a half, 4 ms twenty-five
/// transmission times): what was sent first, over the longest way, comes first, wherever the
/// scenario states it, and finds room more often than the rest.
#[test]
fn ties_do_not_depend_on_the_order_of_the_scenario() {
    let flows = |rtts: &str, starts: &str| {
        let report = run(&scenario(
            ELEPHANT,
            &[
                "flows.0.count=5".to_owned(),
                "link.buffer=60p".into(),
                format!("flows.0.rtt={rtts}"),
                format!("flows.0.start={{list={starts}}}"),
                "run.warmup=20s".into(),
                "run.measure=60s".into(),
            ],
        ));
        report.groups[0].per_flow.clone()
    };
    let rising = flows(
        r#"["96ms", "100ms", "104ms", "108ms", "112ms"]"#,
        r#"["0s", "1s", "2s", "3s", "4s"]"#,
    );
    let mut falling = flows(
        r#"["112ms", "108ms", "104ms", "100ms", "96ms"]"#,
        r#"["4s", "3s", "2s", "1s", "0s"]"#,
    );
    falling.reverse();
    assert_eq!(rising, falling);
    assert!(rising[4].loss_rate < rising[0].loss_rate, "{rising:?}");
}

fn any_scenario() -> impl Strategy<Value = Vec<String>> {
    (
        prop::sample::select(vec![
            "newreno", "hstcp", "cubic", "htcp", "scalable", "aimd",
        ]),
        prop::sample::select(vec!["newreno", "sack"]),
        prop::sample::select(vec!["rfc", "ns2"]),
        1u32..20,
        0u32..200,
        prop::sample::select(vec![
            "\"20ms\"",
            "{ linspace = [\"5ms\", \"80ms\"] }",
            "{ uniform = [\"10ms\", \"50ms\"] }",
        ]),
        prop::sample::select(vec![
            "\"persistent\"",
            "{ finite = { size = { exponential = \"100p\" } } }",
            "{ finite = { size = \"1p\" } }",
        ]),
        prop::sample::select(vec!["", "access={ rate = \"20Mbps\", queue = \"10p\" }"]),
        prop::sample::select(vec![1u32, 2]),
        0u64..1000,
    )
        .prop_map(
            |(cca, recovery, stack, count, buffer, rtt, workload, access, acks, seed)| {
                let mut changes = vec![
                    "link.rate=10Mbps".to_owned(),
                    format!("link.buffer={buffer}p"),
                    "run.warmup=2s".to_owned(),
                    "run.measure=5s".to_owned(),
                    format!("run.seed={seed}"),
                ];
                for (key, value) in [
                    ("cca", cca),
                    ("recovery", recovery),
                    ("stack", stack),
                    ("count", &count.to_string()),
                    ("rtt", rtt),
                    ("workload", workload),
                    ("delayed_ack.packets", &acks.to_string()),
                ] {
                    changes.push(format!("flows.elephants.{key}={value}"));
                }
                if !access.is_empty() {
                    changes.push(format!("flows.elephants.{access}"));
                }
                changes
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Equal seeds give equal reports.
    #[test]
    fn a_run_repeats(changes in any_scenario()) {
        let scenario = scenario(ELEPHANT, &changes);
        prop_assert_eq!(run(&scenario), run(&scenario));
    }

    /// Every accepted packet left the link or still waits there, and no more payload arrived than
    /// packets that left.
    #[test]
    fn packets_are_conserved(changes in any_scenario()) {
        // Measured from the start: a receiver may hold any number of packets when a warm-up ends.
        let changes = [changes, vec!["run.warmup=0s".to_owned()]].concat();
        let scenario = scenario(ELEPHANT, &changes);
        let report = run(&scenario);
        let value = |metric| report.value(metric).unwrap_or(0.0);
        let arrived = report.cost.data_packets as f64;
        let accepted = arrived * (1.0 - value(Metric::LossRate));
        let seconds = scenario.run().measure.as_secs_f64();
        let departed = value(Metric::Utilization) * 10e6 * seconds / 8000.0;
        let room = report.buffer.packets + 2.0;
        // A SYN is counted like a packet but is smaller: one per flow.
        let syns = scenario.flows()[0].count as f64 * 8.0;
        prop_assert!((accepted - departed).abs() <= room + syns, "{} {}", accepted, departed);
        let delivered = value(Metric::Goodput) * seconds / (960.0 * 8.0);
        prop_assert!(delivered <= departed + syns, "{} {}", delivered, departed);
        prop_assert!((0.0..=1.0).contains(&value(Metric::LossRate)));
        prop_assert!((0.0..=1.0 + 1e-9).contains(&value(Metric::Utilization)));
    }
}

/// Round trips, pauses and delays that no run lives to see never come early: the flows that have
/// them take no part, and the others see the link that they would see without them.
#[test]
fn times_beyond_the_end_of_the_clock_never_come() {
    let late = |distribution: &str, key: &str| {
        let group = match key {
            "rtt" => return format!("rtt = {distribution}"),
            "think" => "workload = { closed_loop = { users = 20, think = LAW, size = \"2p\" } }",
            "every" => "workload = { periodic = { every = LAW, size = \"2p\" } }\nstart = \"0s\"",
            "pause" => "workload = { incast = { servers = 20, pause = LAW, size = \"2p\" } }",
            "delay" => {
                "workload = { incast = { servers = 20, pause = \"0s\", delay = LAW, size = \"2p\" } }"
            }
            "start" => "start = LAW",
            _ => "stop = LAW",
        };
        format!("rtt = \"20ms\"\n{}", group.replace("LAW", distribution))
    };
    let text = |distribution: &str, key: &str| {
        format!(
            r#"
[link]
rate = "10Mbps"
buffer = "50p"
[[flows]]
name = "late"
count = 20
packet = "1000B"
{}
[[flows]]
name = "bulk"
count = 2
rtt = "20ms"
packet = "1000B"
[run]
warmup = "0s"
measure = "5s"
"#,
            late(distribution, key)
        )
    };
    let distributions = [
        "{ exponential = \"200d\" }",
        "{ pareto = { shape = 0.05, minimum = \"1d\" } }",
        "{ lognormal = { median = \"200d\", sigma = 20.0 } }",
        "{ weibull = { shape = 0.1, scale = \"100d\" } }",
        "{ mixture = [{ weight = 1, exponential = \"1ms\" }, { weight = 1, exponential = \"213d\" }] }",
    ];
    for distribution in distributions {
        for key in ["rtt", "start", "stop", "think", "every", "pause", "delay"] {
            let report = run(&scenario::<&str>(&text(distribution, key), &[]));
            let (goodput, busy) = (
                value(&report, Metric::Goodput),
                value(&report, Metric::Utilization),
            );
            assert!(
                goodput <= 10e6 && busy <= 1.0,
                "{key} = {distribution}: {goodput}"
            );
        }
    }
}
