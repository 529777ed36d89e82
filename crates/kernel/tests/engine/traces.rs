//! What is recorded packet by packet agrees with what is reported of them.

use forebay_scenario::Metric;

use crate::{report, traced, value};

#[test]
fn every_packet_is_counted_once() {
    let text = r#"
        [link]
        rate = "20Mbps"
        buffer = "8p"
        [[flows]]
        count = 3
        rtt = "10ms"
        stack = "linux"
        [run]
        warmup = "0s"
        measure = "1s"
        [trace]
        record = ["packets", "cwnd", "queue"]
        every = "10ms"
    "#;
    let Some(report) = report(text, traced()) else {
        return;
    };
    let traces = report.traces.as_ref().expect("traces");
    let arrived = traces.packets.len() as u64;
    let dropped = traces.packets.iter().filter(|packet| packet.dropped);
    let dropped = dropped.count() as u64;
    assert!(arrived > 200 && dropped > 0, "{arrived} {dropped}");
    assert_eq!(arrived, report.cost.data_packets);
    let loss = dropped as f64 / arrived as f64;
    assert!((value(&report, Metric::LossRate) - loss).abs() < 1e-12);
    // What was accepted has left, but for what waits or is on the wire at the end.
    let accepted = traces.packets.iter().filter(|packet| !packet.dropped);
    let bits: f64 = accepted.map(|packet| f64::from(packet.bytes) * 8.0).sum();
    let sent = value(&report, Metric::Utilization) * 20e6;
    assert!(
        sent <= bits + 1e-3 && bits - sent <= 9.0 * 1500.0 * 8.0,
        "{sent} {bits}"
    );
    let waits = traces.packets.iter().filter(|packet| !packet.dropped);
    let longest = waits.map(|packet| packet.wait_s).fold(0.0, f64::max);
    assert!((value(&report, Metric::QueueDelayMax) - longest).abs() < 1e-9);
    assert!(traces.queue.iter().all(|sample| sample.packets <= 9.0));
    // Receive buffers are of 64 MiB at most.
    let most = 67_108_864.0 / 1448.0;
    assert!(traces.flows.iter().all(|flow| flow.cwnd_packets <= most));
}

#[test]
fn each_flow_sees_its_own_base_delay_and_none_below_it() {
    let text = r#"
        [link]
        rate = "20Mbps"
        buffer = "20p"
        [[flows]]
        rtt = "15ms"
        stack = "linux"
        [[flows]]
        rtt = "60ms"
        stack = "linux"
        [run]
        warmup = "0s"
        measure = "1500ms"
        [trace]
        record = ["cwnd"]
        every = "5ms"
    "#;
    let Some(report) = report(text, traced()) else {
        return;
    };
    let flows = &report.traces.as_ref().expect("traces").flows;
    for (group, rtt) in [(0, 0.015), (1, 0.060)] {
        let of_group = flows.iter().filter(|sample| sample.group == group);
        let seen = of_group.map(|sample| sample.rtt_s).filter(|&rtt| rtt > 0.0);
        let least = seen.fold(f64::INFINITY, f64::min);
        // In whole microseconds; a late machine only adds to it.
        assert!(least >= rtt - 2e-6 && least < 2.0 * rtt, "{group}: {least}");
    }
}

#[test]
fn a_flow_that_stops_sends_nothing_more() {
    let text = r#"
        [link]
        rate = "20Mbps"
        buffer = "20p"
        [[flows]]
        name = "short"
        rtt = "10ms"
        stack = "linux"
        stop = "400ms"
        [[flows]]
        name = "long"
        rtt = "10ms"
        stack = "linux"
        [run]
        warmup = "800ms"
        measure = "500ms"
        [trace]
        record = ["packets"]
    "#;
    let Some(report) = report(text, traced()) else {
        return;
    };
    let packets = &report.traces.as_ref().expect("traces").packets;
    let of = |group| packets.iter().filter(move |packet| packet.group == group);
    assert!(of(0).any(|packet| packet.time_s < 0.4));
    // The socket closes at once; what it had sent before may still be read from its device.
    assert!(of(0).all(|packet| packet.time_s < 0.5));
    assert!(of(1).any(|packet| packet.time_s > 1.2));
    let goodput = |at: usize| report.groups[at].metrics[&Metric::Goodput].mean;
    assert!(goodput(0) == 0.0 && goodput(1) > 0.0);
}
