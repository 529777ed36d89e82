//! Laws of controllers that go by delays: the queue at rest, shares among each other, and shares beside flows that go by
//! losses.

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

/// The known flaw of LEDBAT (section 4.4; Rossi, Testa, Valenti and Muscariello 2010): a flow that begins when the queue is
/// at the target takes this queue for a part of the base delay. It queues for another target, and the first flow yields.
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
