//! Packet traces agree with the report.

use forebay_scenario::{HeaderRecord, Metric, Segment};

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
    // Accepted packets have left, except those that wait or are on the wire at the end.
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
    // Receive buffers have at most 64 MiB.
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
        // The kernel reports whole microseconds, and a late machine only increases the time.
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
    // The socket closes at once. Packets that it sent before may still be read from its device.
    assert!(of(0).all(|packet| packet.time_s < 0.5));
    assert!(of(1).any(|packet| packet.time_s > 1.2));
    let goodput = |at: usize| report.groups[at].metrics[&Metric::Goodput].mean;
    assert!(goodput(0) == 0.0 && goodput(1) > 0.0);
}

/// A capture of both directions has the packets of the kernel: real headers with timestamps, and
/// acknowledgments of data that crossed the link.
#[test]
fn a_capture_of_both_directions_has_real_headers() {
    let text = r#"
        [link]
        rate = "20Mbps"
        buffer = "8p"
        [[flows]]
        count = 2
        rtt = "10ms"
        stack = "linux"
        [run]
        warmup = "0s"
        measure = "1s"
        [trace]
        record = ["packets"]
        acknowledgments = true
    "#;
    let Some(report) = report(text, traced()) else {
        return;
    };
    let traces = report.traces.as_ref().expect("traces");
    assert_eq!(traces.headers.len(), traces.packets.len());
    assert!(traces.acknowledgments.len() > 100);
    let whole = |header: &HeaderRecord| match header {
        HeaderRecord::Whole(bytes) => bytes.to_vec(),
        other => panic!("{other:?}"),
    };
    let word = |bytes: &[u8], at: usize| {
        u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
    };
    let mut furthest = std::collections::BTreeMap::new();
    let mut seen: Vec<_> = traces.packets.iter().zip(&traces.headers).collect();
    seen.extend(
        traces
            .acknowledgments
            .iter()
            .map(|ack| (&ack.packet, &ack.header)),
    );
    seen.sort_by(|a, b| a.0.time_s.total_cmp(&b.0.time_s));
    for (packet, header) in seen {
        let bytes = whole(header);
        let opens = packet.segment.opens();
        // Headers are IPv4 and TCP with timestamps. A SYN has more options.
        assert!(
            bytes.len() >= if opens { 60 } else { 52 },
            "{packet:?} {bytes:?}"
        );
        assert_eq!(
            u32::from(u16::from_be_bytes([bytes[2], bytes[3]])),
            packet.bytes
        );
        assert_eq!(opens, bytes[33] & 2 != 0);
        let first = furthest
            .entry(packet.connection)
            .or_insert_with(|| word(&bytes, 24));
        if packet.segment.acknowledges() {
            assert!(
                (word(&bytes, 28).wrapping_sub(*first) as i32) <= 0,
                "{packet:?}"
            );
        } else {
            let payload = packet.bytes - bytes.len() as u32 + u32::from(opens);
            let end = word(&bytes, 24).wrapping_add(payload);
            if (end.wrapping_sub(*first) as i32) > 0 {
                *first = end;
            }
        }
    }
    let answers = traces.acknowledgments.iter();
    let answers = answers.filter(|ack| ack.packet.segment == Segment::SynAck);
    assert_eq!(answers.count(), 2);
}
