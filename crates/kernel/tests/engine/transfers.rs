//! Transfers carry exactly their bytes and take the expected time.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use forebay_scenario::{Metric, Report};

use crate::{plain, report, start, traced, turn};

/// Duration in seconds and packets of each completed transfer of the first group.
fn taken(report: &Report) -> Vec<(f64, u64)> {
    let transfers = &report.traces.as_ref().expect("traces").transfers;
    let complete = transfers.iter().filter(|one| one.completed_s.is_finite());
    let taken = complete.map(|one| (one.completed_s - one.begun_s, one.packets));
    taken.collect()
}

#[test]
fn a_transfer_delivers_its_bytes_in_no_less_than_a_handshake_a_round_trip_and_its_transmission() {
    let text = r#"
        [link]
        rate = "20Mbps"
        buffer = "30p"
        [[flows]]
        count = 3
        rtt = "20ms"
        stack = "linux"
        workload = { finite = { size = "144800B" } }
        [run]
        warmup = "0s"
        measure = "2s"
        [trace]
        record = ["transfers"]
    "#;
    let Some(report) = report(text, traced()) else {
        return;
    };
    let group = &report.groups[0];
    assert_eq!(group.completions.as_ref().expect("transfers").completed, 3);
    let taken = taken(&report);
    assert_eq!(taken.len(), 3);
    for (time, packets) in taken {
        assert_eq!(packets, 100);
        assert!(time >= 0.040 + 144_800.0 * 8.0 / 20e6, "{time}");
    }
    let goodput = group.metrics[&Metric::Goodput].mean;
    assert!(
        (goodput * 2.0 / 8.0 - 3.0 * 144_800.0).abs() < 1e-3,
        "{goodput}"
    );
    // All traffic of the link belongs to these transfers.
    let used = report.value(Metric::Utilization).expect("a metric");
    assert!(used * 20e6 * 2.0 / 8.0 >= 3.0 * 100.0 * 1500.0, "{used}");
}

#[test]
fn users_of_a_closed_loop_transfer_again_and_again() {
    let text = r#"
        [link]
        rate = "20Mbps"
        buffer = "30p"
        [[flows]]
        rtt = "5ms"
        stack = "linux"
        workload = { closed_loop = { users = 2, think = "5ms", size = "14480B" } }
        [run]
        warmup = "0s"
        measure = "1s"
        [trace]
        record = ["transfers"]
    "#;
    let Some(report) = report(text, traced()) else {
        return;
    };
    let completed = report.groups[0]
        .completions
        .as_ref()
        .expect("transfers")
        .completed;
    let taken = taken(&report);
    assert_eq!(completed, taken.len() as u64);
    // A transfer takes 10 ms, and 5 ms pass between them, so no user completes more. If packets
    // were read only once per sleep, each transfer would take at least 100 ms.
    assert!((40..=2 * 1000 / 15).contains(&completed), "{completed}");
    assert!(
        taken
            .iter()
            .all(|(time, packets)| *time >= 0.010 && *packets == 10)
    );
    let transfers = &report.traces.as_ref().expect("traces").transfers;
    for user in 0..2 {
        let own = || transfers.iter().filter(|one| one.user == user);
        for (before, after) in own().zip(own().skip(1)) {
            assert_eq!(after.transfer, before.transfer + 1);
            assert!(after.begun_s >= before.completed_s + 0.005 - 1e-9);
        }
    }
}

#[test]
fn transfers_one_after_the_other_on_one_connection_are_each_complete() {
    let text = r#"
        [link]
        rate = "20Mbps"
        buffer = "30p"
        [[flows]]
        rtt = "5ms"
        stack = "linux"
        start = "0s"
        workload = { periodic = { every = "100ms", size = "28960B" } }
        [run]
        warmup = "0s"
        measure = "1050ms"
        [trace]
        record = ["transfers"]
    "#;
    let Some(report) = report(text, traced()) else {
        return;
    };
    let taken = taken(&report);
    // The last transfer begins 50 ms before the end.
    assert!((9..=11).contains(&taken.len()), "{taken:?}");
    // Only the first transfer waits for a handshake.
    let least = 0.005 + 28_960.0 * 8.0 / 20e6;
    assert!(
        taken
            .iter()
            .all(|(time, packets)| *time >= least && *packets == 20)
    );
    assert!(taken[0].0 >= least + 0.005);
    let goodput = report.groups[0].metrics[&Metric::Goodput].mean;
    let whole = goodput * 1.05 / 8.0 / 28_960.0;
    assert!(
        whole >= taken.len() as f64 - 1e-6 && whole <= taken.len() as f64 + 1.0,
        "{whole}"
    );
}

#[test]
fn an_application_that_writes_slowly_is_no_faster() {
    let text = r#"
        [link]
        rate = "20Mbps"
        buffer = "30p"
        [[flows]]
        rtt = "5ms"
        stack = "linux"
        start = "0s"
        workload = { app_limited = { rate = "3Mbps" } }
        [run]
        warmup = "200ms"
        measure = "1s"
    "#;
    let Some(report) = report(text, plain()) else {
        return;
    };
    let used = report.value(Metric::Utilization).expect("a metric");
    assert!(used > 0.10 && used < 0.18, "{used}");
}

/// Ports and descriptors are released while the run continues.
#[test]
fn two_thousand_transfers_a_second_leak_nothing() {
    let text = r#"
        [link]
        rate = "100Mbps"
        buffer = "200p"
        [[flows]]
        rtt = "5ms"
        stack = "linux"
        workload = { open_loop = { interarrival = { exponential = "500us" }, size = "1448B" } }
        [run]
        warmup = "0s"
        measure = "3s"
    "#;
    let descriptors = || fs::read_dir("/proc/self/fd").expect("proc").count();
    let _turn = turn();
    let before = descriptors();
    let Some(emulation) = start(text, plain()) else {
        return;
    };
    let mut most = 0;
    while emulation.goes_on() {
        most = most.max(descriptors());
        sleep(Duration::from_millis(20));
    }
    // Descriptors are those made in advance, and two for each active transfer.
    assert!((before..before + 1000).contains(&most), "{before} {most}");
    let report = emulation.finish().expect("a report");
    let completions = report.groups[0].completions.as_ref().expect("transfers");
    // The number is Poisson: it is within six deviations, except for transfers that are active at
    // the end.
    assert!(
        (5_500..=6_500).contains(&completions.completed),
        "{completions:?}"
    );
    let median = completions.completion_time_s["p50"];
    assert!((0.010..0.5).contains(&median), "{median}");
    assert_eq!(descriptors(), before);
}
