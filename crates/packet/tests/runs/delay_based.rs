//! Laws of controllers that go by delays: the queue at rest, shares among each other, and shares
//! beside flows that go by losses.

use forebay_scenario::{Metric, Report};

use super::{of_group, run, value};

/// A run at 20 Mb/s with packets of 1500 bytes; the last 100 seconds are measured.
fn at_20_mbps(buffer: &str, groups: &[&str], warmup_s: u32) -> Report {
    let groups: Vec<String> = groups
        .iter()
        .map(|group| format!("[[flows]]\npacket = \"1500B\"\n{group}\n"))
        .collect();
    run(&format!(
        "[link]\nrate = \"20Mbps\"\nbuffer = \"{buffer}\"\n{}\n[run]\nwarmup = \"{warmup_s}s\"\nmeasure = \"100s\"\n",
        groups.concat()
    ))
}

/// Share of the first of two groups of flows.
fn share_of_first(report: &Report) -> f64 {
    let [first, second] = [0, 1].map(|group| of_group(report, group, Metric::Goodput));
    first / (first + second)
}

/// RFC 6817 section 2.4.2: the window rests where the queueing delay is the target.
#[test]
fn a_flow_of_ledbat_queues_for_its_target() {
    for (target_ms, rtt) in [(100.0, "40ms"), (100.0, "10ms"), (25.0, "40ms")] {
        let flow =
            format!("cca = {{ kind = \"ledbat\", target = \"{target_ms}ms\" }}\nrtt = \"{rtt}\"");
        let report = at_20_mbps("300ms", &[&flow], 60);
        let delay_ms = 1e3 * value(&report, Metric::QueueDelayMean);
        assert!(
            (delay_ms / target_ms - 1.0).abs() < 0.1,
            "{target_ms} {rtt}: {delay_ms}"
        );
        let utilization = value(&report, Metric::Utilization);
        assert!(utilization > 0.999, "{target_ms} {rtt}: {utilization}");
        assert_eq!(value(&report, Metric::LossRate), 0.0);
    }
}

/// Section 4.2: a flow of New Reno keeps the queue above the target, so that LEDBAT yields.
#[test]
fn ledbat_yields_to_new_reno_in_a_deep_buffer() {
    for rtt in ["20ms", "40ms"] {
        let groups = ["ledbat", "newreno"].map(|cca| format!("cca = \"{cca}\"\nrtt = \"{rtt}\""));
        let report = at_20_mbps("500ms", &groups.each_ref().map(String::as_str), 60);
        let share = share_of_first(&report);
        assert!(share < 0.1, "{rtt}: {share}");
    }
}

/// The known flaw of LEDBAT (section 4.4; Rossi, Testa, Valenti and Muscariello 2010): a flow that
/// begins when the queue is at the target takes this queue for a part of the base delay. It queues
/// for another target, and the first flow yields.
#[test]
fn a_latecomer_of_ledbat_queues_for_a_second_target_and_takes_the_link() {
    let groups =
        ["0s", "60s"].map(|start| format!("cca = \"ledbat\"\nrtt = \"40ms\"\nstart = \"{start}\""));
    let report = at_20_mbps("500ms", &groups.each_ref().map(String::as_str), 160);
    let share = share_of_first(&report);
    assert!(share < 0.1, "{share}");
    let delay = value(&report, Metric::QueueDelayMean);
    assert!((0.18..0.22).contains(&delay), "{delay}");
}

/// Packets of 1500 bytes per second at 20 Mb/s.
const RATE: f64 = 20e6 / 12e3;

/// Goodputs of the flows of all groups, each group of one flow.
fn goodputs(report: &Report) -> Vec<f64> {
    let groups = 0..report.groups.len();
    groups
        .map(|group| of_group(report, group, Metric::Goodput))
        .collect()
}

/// Jain's index of fairness.
fn fairness(rates: &[f64]) -> f64 {
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    sum * sum / (rates.len() as f64 * squares)
}

/// Copa's flows of one round-trip time each, which begin a second apart.
fn copa(mode: &str, delta: f64, rtts: &[&str]) -> Report {
    let groups: Vec<String> = rtts
        .iter()
        .enumerate()
        .map(|(number, rtt)| {
            format!("cca = {{ kind = \"copa\", mode = \"{mode}\", delta = {delta} }}\nrtt = \"{rtt}\"\nstart = \"{number}s\"")
        })
        .collect();
    let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
    at_20_mbps("500ms", &groups, 40)
}

/// Arun and Balakrishnan 2018, section 3: the queue of n flows goes up and down between nothing and
/// 2.5 n/delta packets, 1.25 n/delta in the mean.
#[test]
fn flows_of_copa_queue_for_about_one_over_delta_packets_each() {
    for (delta, rtts) in [(0.5, &["40ms"][..]), (0.1, &["40ms"]), (0.5, &["40ms"; 4])] {
        let report = copa("default", delta, rtts);
        let packets = value(&report, Metric::QueueDelayMean) * RATE;
        let each = packets * delta / rtts.len() as f64;
        assert!((1.0..1.5).contains(&each), "{delta} {rtts:?}: {each}");
        let utilization = value(&report, Metric::Utilization);
        assert!(utilization > 0.99, "{delta} {rtts:?}: {utilization}");
        assert_eq!(value(&report, Metric::LossRate), 0.0);
    }
}

/// Section 2 of the paper: the rates of equal flows are equal, and the target rate does not know
/// the round-trip time.
#[test]
fn flows_of_copa_share_evenly_over_equal_and_unequal_round_trip_times() {
    for (rtts, least) in [(&["40ms"; 4][..], 0.95), (&["20ms", "40ms", "80ms"], 0.9)] {
        let rates = goodputs(&copa("default", 0.5, rtts));
        let index = fairness(&rates);
        assert!(index > least, "{rtts:?}: {index} {rates:?}");
    }
}

/// Section 2.2: beside CUBIC the competitive mode keeps a share that the default mode loses.
#[test]
fn copa_competes_with_cubic_in_competitive_mode_only() {
    let share = |mode: &str| {
        let groups = [
            format!("cca = {{ kind = \"copa\", mode = \"{mode}\" }}\nrtt = \"40ms\""),
            "cca = \"cubic\"\nrtt = \"40ms\"".to_owned(),
        ];
        share_of_first(&at_20_mbps(
            "80ms",
            &groups.each_ref().map(String::as_str),
            60,
        ))
    };
    let [switching, default] = ["switching", "default"].map(share);
    assert!((0.2..0.8).contains(&switching), "{switching}");
    assert!(default < 0.1, "{default}");
}

/// A limit of section 2.2 as the paper states it: flows that switch take each other for flows that
/// fill the queue. Their 1/delta grows to some dozens of packets.
#[test]
fn flows_of_copa_that_switch_take_each_other_for_buffer_fillers() {
    let report = copa("switching", 0.5, &["40ms"; 2]);
    let packets = value(&report, Metric::QueueDelayMean) * RATE;
    assert!(packets > 10.0 * 2.0 / 0.5, "{packets}");
}

/// CDG's sawtooth on an empty link (`crates/congestion/src/cdg/alone.rs` has its law): after two
/// backoffs half of the window is left, and a climb from there has a mean of 3/4. New Reno fills
/// the buffer instead.
#[test]
fn a_flow_of_cdg_keeps_the_queue_short_and_leaves_a_part_of_the_link_unused() {
    for rtt in ["20ms", "40ms", "80ms"] {
        let run = |cca: &str| {
            let flow = format!("cca = \"{cca}\"\nrtt = \"{rtt}\"");
            at_20_mbps("200ms", &[&flow], 60)
        };
        let [cdg, reno] = ["cdg", "newreno"].map(run);
        let utilization = value(&cdg, Metric::Utilization);
        assert!((0.75..0.97).contains(&utilization), "{rtt}: {utilization}");
        let delays = [&cdg, &reno].map(|report| value(report, Metric::QueueDelayMean));
        assert!(delays[0] < 0.1 * delays[1], "{rtt}: {delays:?}");
        assert_eq!(value(&cdg, Metric::LossRate), 0.0);
    }
}

/// If losses are tolerated and the queue is not full, random losses do not reduce the window.
#[test]
fn cdg_with_its_tolerance_carries_more_than_new_reno_at_random_losses() {
    let goodput = |cca: &str| {
        let report = run(&format!(
            "[link]\nrate = \"20Mbps\"\nbuffer = \"200ms\"\nloss = {{ random = \"1%\" }}\n[[flows]]\npacket = \"1500B\"\ncca = {cca}\nrtt = \"40ms\"\n[run]\nwarmup = \"20s\"\nmeasure = \"100s\"\n"
        ));
        value(&report, Metric::Goodput)
    };
    let [tolerant, default, reno] = [
        "{ kind = \"cdg\", use_tolerance = true }",
        "\"cdg\"",
        "\"newreno\"",
    ]
    .map(goodput);
    assert!(tolerant > 1.1 * reno, "{tolerant} {reno}");
    assert!(tolerant > default, "{tolerant} {default}");
}
