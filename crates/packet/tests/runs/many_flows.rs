//! A million flows: memory and time are those of the flows alive.

use forebay_scenario::Metric;

use super::{of_group, run};

/// A million transfers of one packet each, of which a few are alive at once.
#[test]
fn a_million_transfers_come_and_go() {
    let report = run(r#"
[link]
rate = "1Gbps"
buffer = "1000p"
[[flows]]
name = "mice"
cca = "newreno"
rtt = "1ms"
packet = "1000B"
workload = { open_loop = { rate = "800Mbps", size = "1p" } }
[run]
warmup = "0s"
measure = "10s"
"#);
    let mice = &report.groups[0];
    let completed = mice.completions.as_ref().expect("transfers").completed;
    assert!((990_000..1_010_000).contains(&completed), "{completed}");
    // A round trip and a transmission, and next to no wait.
    let median = of_group(&report, 0, Metric::CompletionTimeP50);
    assert!((1.008e-3..1.1e-3).contains(&median), "{median}");
}

/// A million users, most of whom think.
#[test]
fn a_million_users_think() {
    let report = run(r#"
[link]
rate = "1Gbps"
buffer = "1000p"
[[flows]]
name = "users"
cca = "newreno"
rtt = "10ms"
packet = "1000B"
workload = { closed_loop = { users = 1000000, think = { exponential = "100s" }, size = "1p" } }
start = { exponential = "100s" }
[run]
warmup = "1s"
measure = "10s"
"#);
    let completed = report.groups[0]
        .completions
        .as_ref()
        .expect("transfers")
        .completed;
    // Ten thousand a second, one standard deviation is 316.
    assert!((98_500..101_500).contains(&completed), "{completed}");
}
